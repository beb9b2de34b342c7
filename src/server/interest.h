/*
 * interest.h: who has to hear of which key: from (database, name) to those who are
 * interested, in the order in which they came. WATCH (watch.h) and blocking
 * commands (blocked.h) are built on it.
 *
 * A key is in the table as long as somebody is interested in it, whether or not the
 * keyspace has such a key. An interest is the caller's memory, and is in two lists: the
 * key's and its owner's.
 */
#ifndef INTEREST_H
#define INTEREST_H

#include "server/names.h"

struct interest_key {
    struct name name;      /* in the table; its space is the database */
    struct link in_marked; /* for the table's owner */
    struct link interests; /* in order of arrival */
    size_t n;
    char text[];
};

struct interest {
    struct link in_key, in_owner;
    struct interest_key *key;
    void *owner;
};

/* Puts the interest at the end of the key's list and of the owner's. Returns false,
 * nothing changed, when out of memory. */
bool interest_add(struct names *table, struct interest *interest, void *owner,
                  struct link *owner_list, size_t db, struct yn_bytes name);
/* Takes it out; the key goes with its last interest. */
void interest_remove(struct names *table, struct interest *interest);

static inline struct interest_key *interest_key_of(struct name *name)
{
    return name == NULL ? NULL : LIST_ITEM(name, struct interest_key, name);
}

/* The key, or NULL when nobody is interested in it. */
static inline struct interest_key *interest_find(const struct names *table, size_t db,
                                                 struct yn_bytes name)
{
    return interest_key_of(names_find(table, db, name));
}

#endif
