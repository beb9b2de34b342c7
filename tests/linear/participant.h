/*
 * participant.h: one client of a history: sends its operations and notes when each began
 * and ended, and what was answered.
 *
 * Not blocking: the caller polls link.fd. Time is a counter that all participants of a
 * program share: it is read right before bytes are sent and right after a reply was
 * taken, so what it orders was ordered in truth.
 */
#ifndef LINEAR_PARTICIPANT_H
#define LINEAR_PARTICIPANT_H

#include "linear/check.h"
#include "linear/wire.h"

#define EXPECTED_MAX 64

/* Faults that the recorder itself makes, to show that the check finds them. */
enum plant {
    PLANT_NONE,
    PLANT_TORN_EXEC,    /* a transaction's commands are sent one after the other */
    PLANT_SPLIT_GEOADD, /* and so are the members of a GEOADD */
    PLANT_STALE_READ,   /* GEOPOS now and then has the answer of the one before */
    PLANT_LOST_MOVE,    /* GEOADD now and then is answered and does nothing */
    N_PLANTS,
};

struct clock {
    uint32_t now;
    uint64_t random;
    enum plant plant;
};

struct participant {
    struct cli_link link;
    const struct wire *wire;
    struct clock *clock;
    struct record *records; /* its operations, in order */
    unsigned n_records, n_started;
    /* replies that are owed: of which record (NULL: OK or QUEUED), or of which piece */
    struct record *expected[EXPECTED_MAX];
    unsigned n_expected, n_taken;
    struct record *exec_left; /* queued in the server; EXEC is still to be sent */
    struct record *torn;      /* sent in pieces, that they are planted faults */
    struct op pieces[MODEL_MEMBERS];
    unsigned n_pieces, n_pieces_done;
    bool is_watching;
    struct record stale; /* the last GEOPOS; n 0: none */
    char error[700];
};

/* Takes operations to send; nothing is sent yet. */
void participant_give(struct participant *participant, struct record *records,
                      unsigned n);

/* Sends what can be sent now. Returns false on failure (participant->error). */
bool participant_go_on(struct participant *participant);

/* Reads replies, then goes on. */
bool participant_receive(struct participant *participant);

bool participant_is_done(const struct participant *participant);

#endif
