/*
 * zset_add.h: adding entries to the set of a key, the common half of ZADD and
 * GEOADD. All entries are applied, or, when memory runs out, none.
 */
#ifndef ZSET_ADD_H
#define ZSET_ADD_H

#include "cmd/cmd.h"

struct zset_add {
    struct yn_bytes key;
    struct yn_entry *entries; /* at least one; scores are not NaN */
    size_t n_entries;
    bool only_new, only_old;      /* NX, XX */
    bool only_greater, only_less; /* GT, LT: about members that exist */
    bool counts_changed;          /* CH: the reply counts updates too */
    bool increments;              /* INCR: one entry; the reply is its score, or null */
    const char *event;
};

/* Applies and answers. */
void zset_add_run(struct cmd_call *call, const struct zset_add *add);

#endif
