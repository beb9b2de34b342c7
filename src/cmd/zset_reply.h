/*
 * zset_reply.h: replies that are a run of entries of a sorted set. They may be large: a
 * reply is a job (cmd.h) that walks along the set.
 */
#ifndef ZSET_REPLY_H
#define ZSET_REPLY_H

#include "cmd/zrange.h"

enum zset_reply_shape {
    ZSET_REPLY_MEMBERS, /* members only */
    ZSET_REPLY_SCORES,  /* and scores: a flat array in RESP2, one of pairs in RESP3 */
    ZSET_REPLY_PAIRS,   /* and scores, always in pairs */
    ZSET_REPLY_FLAT,    /* and scores, always flat */
};

/* Answers with the entries of these ranks: writes the header of the array and leaves the
 * job in the call, or the error that memory is out. The set must not change before the
 * host has held the job. */
void zset_reply_run(struct cmd_call *call, struct yn_zset *set, struct zrange_ranks ranks,
                    bool is_reverse, enum zset_reply_shape shape);

/* About how long a reply with n entries of the set is. */
size_t zset_reply_bytes(const struct yn_zset *set, uint64_t n);

/* The same in two pieces, for entries that are removed before they are sent: the job
 * reads from a frozen view, which is its own from now on (with NULL, out of memory, it
 * stays the caller's). The header is written by the second. */
struct cmd_job *zset_reply_new(struct yn_view *view, struct zrange_ranks ranks,
                               bool is_reverse, enum zset_reply_shape shape);
void zset_reply_header(struct host *h, size_t n, enum zset_reply_shape shape);
/* One entry in that shape, as the job sends it. */
void zset_reply_entry(struct host *h, struct yn_entry entry, enum zset_reply_shape shape);

#endif
