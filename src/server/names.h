/*
 * names.h: a hash table of things that have a name: channels, watched keys, tracked keys.
 *
 * A thing embeds a struct name; its bytes are the thing's own and do not change while it
 * is in the table. Names in different spaces (databases) are different names. The table
 * owns its buckets only. The seed is random, so that nobody can choose names that share a
 * bucket.
 */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "server/list.h"
#include "yonder.h"

struct name {
    struct name *next;  /* of the same bucket */
    struct link in_all; /* in the order in which they were added */
    size_t space;
    struct yn_bytes bytes;
};

struct names {
    struct name **buckets;
    size_t n_buckets; /* a power of two, or 0 */
    size_t n;
    uint64_t seed;
    struct link all;
};

#define NAME_OF(link_ptr) LIST_ITEM(link_ptr, struct name, in_all)

void names_init(struct names *names, uint64_t hash_seed);
/* Gives the buckets back; what is in the table is the caller's. */
void names_clear(struct names *names);
/* The name, or NULL. In a table that is not empty: */
struct name *names_search(const struct names *names, size_t space, struct yn_bytes bytes);
/* In any; inline, since every change of a key asks tables that are nearly always empty.
 */
static inline struct name *names_find(const struct names *names, size_t space,
                                      struct yn_bytes bytes)
{
    return names->n == 0 ? NULL : names_search(names, space, bytes);
}

/* Adds a name that is not there yet; space and bytes are filled in. Returns false when
 * out of memory. */
bool names_add(struct names *names, struct name *name);
void names_remove(struct names *names, struct name *name);

#endif
