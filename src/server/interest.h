/*
 * interest.h: who has to hear of which key: a table from (database, name) to those who
 * are interested, in the order in which they came. WATCH (watch.h) and blocking
 * commands (blocked.h) are built on it.
 *
 * A key is in the table as long as somebody is interested in it, whether or not the
 * keyspace has such a key. An interest is the caller's memory, and is in two lists: the
 * key's and its owner's.
 */
#ifndef INTEREST_H
#define INTEREST_H

#include "server/list.h"
#include "yonder.h"

struct interest_key {
    struct interest_key *next; /* of the same bucket */
    struct link in_all;
    struct link in_marked; /* for the table's owner */
    struct link interests; /* in order of arrival */
    size_t n;
    size_t db;
    size_t name_len;
    char name[];
};

struct interest {
    struct link in_key, in_owner;
    struct interest_key *key;
    void *owner;
};

struct interest_table {
    struct interest_key **buckets;
    size_t n_buckets;
    size_t n; /* keys */
    struct link all;
    uint64_t seed;
};

void interest_init(struct interest_table *table, uint64_t hash_seed);
/* Nobody may be interested any more. */
void interest_clear(struct interest_table *table);

/* The key, or NULL when nobody is interested in it. */
struct interest_key *interest_find(const struct interest_table *table, size_t db,
                                   struct yn_bytes name);
/* Puts the interest at the end of the key's list and of the owner's. Returns false,
 * nothing changed, when out of memory. */
bool interest_add(struct interest_table *table, struct interest *interest, void *owner,
                  struct link *owner_list, size_t db, struct yn_bytes name);
/* Takes it out; the key goes with its last interest. */
void interest_remove(struct interest_table *table, struct interest *interest);

static inline struct yn_bytes interest_name(const struct interest_key *key)
{
    return (struct yn_bytes){key->name, key->name_len};
}

#endif
