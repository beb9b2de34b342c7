/*
 * zset_remove.h: removing a run of entries from the set of a key.
 */
#ifndef ZSET_REMOVE_H
#define ZSET_REMOVE_H

#include "cmd/zrange.h"

/* Looks a key up for removing from its set. *out_set is NULL when there is no such key.
 * Returns false, and answers, when the key holds something else. */
bool zset_remove_find_or_reply(struct cmd_call *call, struct yn_bytes key,
                               struct yn_zset **out_set);

/* Removes the entries of these ranks, at least one, and tells the host of `event`; the
 * key goes with its last entry. Returns false when out of memory: then all are there. */
bool zset_remove_ranks(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                       struct zrange_ranks ranks, const char *event);

#endif
