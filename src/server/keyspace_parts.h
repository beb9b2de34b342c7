/*
 * keyspace_parts.h: the inside of a database, for the files that it is made of:
 * keyspace.c and keyspace_put.c.
 */
#ifndef KEYSPACE_PARTS_H
#define KEYSPACE_PARTS_H

#include "server/due.h"
#include "server/keydir.h"
#include "server/keyspace.h"

#define CLOCK_MASK 0xffffffu /* of key_entry.used_s */

struct string_value {
    size_t len;
    char data[];
};

struct keyspace {
    struct keyspace_garbage *garbage;
    struct keydir keys;
    uint64_t n_expired;
    size_t n_garbage;
    uint64_t n_collected;
    struct due_heap heap;
    const struct keyspace_hooks *hooks;
    size_t number;
};

/* For values that no owner is told of. */
extern const struct keyspace_hooks keyspace_no_hooks;

uint32_t keyspace_clock_s(int64_t now_ms);
size_t keyspace_slot_of(const struct key_entry *e);

/* The key's entry; NULL when there is none, or it is expired. */
struct key_entry *keyspace_entry(const struct keyspace *ks, struct yn_bytes key,
                                 int64_t now_ms);
struct host_value keyspace_value_of(const struct key_entry *e);

/* An entry of no value, in no directory. NULL: out of memory. */
struct key_entry *keyspace_entry_new(struct yn_bytes key, bool has_expiry,
                                     int64_t now_ms);
/* Gives an entry another one's value and last use; the value is in both then. */
void keyspace_entry_take(struct key_entry *e, const struct key_entry *old);
/* Frees the entry's value, or hands it to who does. */
void keyspace_value_drop(const struct keyspace_hooks *hooks, struct key_entry *e,
                         enum keyspace_drop why);
/* Takes the entry out of its chain and frees it. */
void keyspace_remove_at(struct keyspace *ks, struct key_entry **link, uint64_t hash,
                        enum keyspace_drop why);

/* Give an entry an expiry, which has none, or take it. The entry may get another place;
 * the link leads there. Taking it never fails; adding it does when memory is out. */
bool keyspace_add_expiry(struct keyspace *ks, struct key_entry **link, int64_t at_ms);
bool keyspace_drop_expiry(struct keyspace *ks, struct key_entry **link);

#endif
