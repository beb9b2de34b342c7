/*
 * keydir.h: the dictionary of keys: where entries lie, without their values' meaning.
 *
 * A directory owns its segments; entries are made and freed by keyspace.c, which alone
 * knows their values and expiry. An empty directory takes no memory.
 */
#ifndef KEYDIR_H
#define KEYDIR_H

#include <stdatomic.h>
#include <stddef.h>

#include "cmd/host.h"

struct string_value;
struct segment;

union entry_value {
    struct yn_zset *zset;
    struct string_value *string;
    struct host_blob *blob; /* a large string */
};

struct key_entry {
    struct key_entry *next;
    union entry_value value;
    uint32_t key_len;
    /* When it was used last: seconds, modulo 2^24. The one thing that reads change. */
    _Atomic uint32_t used_s;
    uint32_t type : 3;       /* enum host_type */
    uint32_t has_expiry : 1; /* then the tail has room for the number of its heap slot */
    uint32_t is_blob : 1;
    uint32_t form : 2; /* enum host_form */
    char tail[]; /* number of the heap slot if has_expiry (size_t, unaligned); the key */
};

/* Without its tail. */
#define KEY_ENTRY_BYTES offsetof(struct key_entry, tail)

/* Of places for entries, about: a segment has room for 256 chains and some 180 keys. */
#define KEYDIR_BYTES_A_KEY 12

struct keydir {
    struct segment **slots; /* NULL until the first key */
    unsigned depth;
    size_t count;
    uint64_t seed;
};

static inline size_t key_entry_offset(bool has_expiry)
{
    return has_expiry ? sizeof(size_t) : 0;
}

static inline struct yn_bytes key_entry_name(const struct key_entry *e)
{
    return (struct yn_bytes){e->tail + key_entry_offset(e->has_expiry), e->key_len};
}

uint64_t keydir_hash(const struct keydir *dir, struct yn_bytes key);

/* Makes sure that keys can be added. Returns false when out of memory. */
bool keydir_prepare(struct keydir *dir);
/* The link that points to the key's entry, or to NULL at the end of its chain. Good until
 * an entry is added or unlinked. The directory must be prepared. */
struct key_entry **keydir_find(const struct keydir *dir, struct yn_bytes key,
                               uint64_t hash);
/* Adds an entry whose key is not there. Never fails. */
void keydir_add(struct keydir *dir, struct key_entry *e, uint64_t hash);
/* Takes an entry out; it is the caller's from then on. */
struct key_entry *keydir_unlink(struct keydir *dir, struct key_entry **link,
                                uint64_t hash);

/* Hands out whole chains from the cursor on until visit has returned true `count` times.
 * Returns the next cursor, 0 at the end. */
typedef bool (*keydir_visit_fn)(void *ctx, const struct key_entry *e);
uint64_t keydir_scan(const struct keydir *dir, uint64_t cursor, size_t count,
                     keydir_visit_fn visit, void *ctx);

/* One of the entries of a random part of the directory (some hundreds of them) for which
 * is_wanted returns true: each entry of the directory is as likely as another. Takes two
 * random numbers. NULL when the part has none. The directory must not be empty. */
struct key_entry *keydir_random(const struct keydir *dir, uint64_t random,
                                uint64_t random_too, keydir_visit_fn is_wanted,
                                void *ctx);

/* Frees segments from *next on, at most max of them, each of their entries by `give`.
 * Returns true when all are gone; the directory is empty then. Nothing else may be done
 * with a directory that is being freed. */
typedef void (*keydir_give_fn)(void *ctx, struct key_entry *e);
bool keydir_free_some(struct keydir *dir, size_t *next, size_t max, keydir_give_fn give,
                      void *ctx);

/* Verifies counts and places, and calls check for every entry. Returns NULL, or what is
 * wrong. */
typedef const char *(*keydir_check_fn)(void *ctx, const struct key_entry *e);
const char *keydir_check(const struct keydir *dir, keydir_check_fn check, void *ctx);

#endif
