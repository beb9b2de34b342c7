/*
 * wire.h: the operations of the model as commands, and replies as the model's answers.
 */
#ifndef LINEAR_WIRE_H
#define LINEAR_WIRE_H

#include "linear/model.h"
#include "tools/cli_link.h"

struct wire {
    struct model_world world;
    char position[MODEL_PLACES][64]; /* "longitude latitude", as the server prints them */
    char score[MODEL_PLACES][32];
    int64_t n_ballast; /* members of a and b that the model does not know */
};

/* Asks the server about places and shapes, by a key that is deleted again. Returns false,
 * with a text in link->error, if it does not answer as it should. */
bool wire_learn(struct wire *wire, struct cli_link *link);

/* Queues the command of an operation. Of OP_EXEC: EXEC alone. */
bool wire_queue(struct cli_link *link, const struct op *op);
bool wire_queue_text(struct cli_link *link, const char *text); /* words and blanks */

/* Makes an answer of a reply; parts and their answers for OP_EXEC. Returns false if it is
 * none that the operation can have. */
bool wire_parse(const struct wire *wire, struct record *record,
                const struct yn_reply *reply);
/* The same of an operation that stands in a transaction or is sent alone. */
bool wire_parse_op(const struct wire *wire, const struct op *op,
                   const struct yn_reply *reply, struct answer *out_answer);

#endif
