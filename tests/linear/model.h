/*
 * model.h: what a server with no concurrency at all would answer: a sequential model of a
 * few commands on three keys with a handful of members.
 *
 * Members stand at one of a few places, and searches have one of a few shapes; which
 * places a shape holds, and in which order, the recorder asks the server beforehand, so
 * the model knows no geometry: it is about the order of things, not about where they are.
 */
#ifndef LINEAR_MODEL_H
#define LINEAR_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_KEYS 3
#define MODEL_MEMBERS 6
#define MODEL_PLACES 12
#define MODEL_SHAPES 5
#define MODEL_CLIENTS 8
#define MODEL_PARTS 4  /* commands of a transaction */
#define MODEL_ABSENT 0 /* places are counted from 1 */
#define MODEL_NOT_SHOWN 255

enum op_kind {
    OP_GEOADD,
    OP_ZREM,
    OP_GEOPOS,
    OP_GEOSEARCH,
    OP_GEOSEARCHSTORE, /* from other to key */
    OP_ZRANGE,         /* all members, by score */
    OP_ZCARD,
    OP_DEL,
    OP_RENAME, /* other becomes key */
    OP_COPY,   /* other to key, REPLACE */
    OP_ZPOPMIN,
    OP_BZPOPMIN, /* key, then other */
    OP_WATCH,
    OP_UNWATCH,
    OP_EXEC,
    N_OP_KINDS,
};

enum op_order { ORDER_NONE, ORDER_ASC, ORDER_DESC };

struct op {
    enum op_kind kind;
    uint8_t key, other;
    uint8_t n; /* members, or parts of a transaction */
    uint8_t member[MODEL_MEMBERS];
    uint8_t place[MODEL_MEMBERS]; /* GEOADD */
    bool is_nx, is_xx, is_ch;     /* GEOADD */
    uint8_t shape, count;         /* searches; count 0: all */
    enum op_order order;
    bool is_any, with_coord;
    bool is_broken; /* EXEC: one of the commands could not be queued */
};

enum answer_kind {
    ANSWER_INTEGER,
    ANSWER_ITEMS,
    ANSWER_NULL,
    ANSWER_ERROR,
    ANSWER_OK,
};

struct answer {
    enum answer_kind kind;
    uint8_t n;
    uint8_t key; /* BZPOPMIN */
    int64_t integer;
    /* GEOPOS: places of the members asked for; else members and their places */
    uint8_t member[MODEL_MEMBERS], place[MODEL_MEMBERS];
};

/* One operation of a history. Times are places in the order in which the recorder saw
 * things: an operation was over before another one began if out_at < the other's in_at.
 */
struct record {
    uint8_t client;
    uint32_t in_at, out_at;
    struct op op;
    struct answer answer;
    struct op parts[MODEL_PARTS]; /* EXEC */
    struct answer answers[MODEL_PARTS];
};

/* What the server said about places and shapes. */
struct model_world {
    uint16_t inside[MODEL_SHAPES]; /* a bit a place (place 1: bit 0) */
    uint8_t distance_rank[MODEL_SHAPES][MODEL_PLACES]; /* equal distances: equal ranks */
    uint8_t score_rank[MODEL_PLACES];
};

/* Bytes only, so that states can be compared and hashed as they lie there. */
struct model_state {
    uint8_t place[MODEL_KEYS][MODEL_MEMBERS];
    uint8_t watched[MODEL_CLIENTS]; /* a bit a key */
    uint8_t is_dirty[MODEL_CLIENTS];
};

/* Lets the operation happen. Returns whether the model answers as the server did; if not,
 * the state is of no use any more. */
bool model_step(const struct model_world *world, struct model_state *state,
                const struct record *record);

/* The keys that the operation reads or changes, a bit each; those that its client watches
 * not counted. */
unsigned model_keys(const struct record *record);

/* The record as one line of text. */
void model_format(const struct record *record, char *out_text, size_t size);
void model_format_state(const struct model_state *state, char *out_text, size_t size);

#endif
