/*
 * keyspace.h: one database: keys to values (a sorted set or a string), with optional
 * expiry.
 *
 * Time is passed in (milliseconds since 1970): a key whose expiry is not after
 * now_ms is invisible to every read. Reads remove nothing; writes remove
 * an expired key that they meet, and keyspace_expire removes those that are due.
 *
 * Borrowed: what keyspace_find returns is valid until the next change.
 */
#ifndef KEYSPACE_H
#define KEYSPACE_H

#include "cmd/host.h"

struct keyspace;

/* Why a set has lost its key. */
enum keyspace_drop {
    KEYSPACE_UNLINKED,
    KEYSPACE_DELETED,
    KEYSPACE_EXPIRED,
    KEYSPACE_REPLACED,
    KEYSPACE_FLUSHED,
    KEYSPACE_FLUSHED_AT_ONCE
};

/* What a keyspace tells its owner. Each may be NULL. */
struct keyspace_hooks {
    void *ctx;
    /* A key has come into being: it was not there, or another key's value came to it. The
     * hook must not change the keyspace. */
    void (*added)(void *ctx, size_t number, struct yn_bytes key);
    /* A key's time has passed, and it is being removed. The one place where that is told,
     * whoever met the key. The hook must not change the keyspace. */
    void (*expired)(void *ctx, size_t number, struct yn_bytes key);
    /* Takes over a set that has lost its key, to free it now or later. NULL: now. */
    void (*drop_zset)(void *ctx, struct yn_zset *set, enum keyspace_drop why);
};

/* Creates an empty database; memory for keys is taken with the first one. Every database
 * of a process should have the same random seed. NULL when out of memory. */
struct keyspace *keyspace_new(uint64_t hash_seed);
void keyspace_free(struct keyspace *ks);
/* The hooks are borrowed. `number` is what the database is called by them. */
void keyspace_set_hooks(struct keyspace *ks, const struct keyspace_hooks *hooks,
                        size_t number);
void keyspace_set_number(struct keyspace *ks, size_t number);

/* Returns the value of the key; type HOST_NONE when there is none (or it is expired).
 * The second one notes that the key was used. */
struct host_value keyspace_find(const struct keyspace *ks, struct yn_bytes key,
                                int64_t now_ms);
struct host_value keyspace_use(struct keyspace *ks, struct yn_bytes key, int64_t now_ms);
/* Seconds since the key was used (put, or looked up by keyspace_use), up to 194 days; -1:
 * no such key. */
int64_t keyspace_idle_s(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms);

/* Stores a value whatever was there before, with an expiry (a time, or a HOST_EXPIRY_*).
 * The set is taken. Return false when out of memory: nothing is changed and the caller
 * still owns the set. */
bool keyspace_put_zset(struct keyspace *ks, struct yn_bytes key, struct yn_zset *set,
                       int64_t expiry_ms, int64_t now_ms);
bool keyspace_put_string(struct keyspace *ks, struct yn_bytes key, struct yn_bytes value,
                         int64_t expiry_ms, int64_t now_ms);
/* The same with the bytes of a blob, which is taken on success. */
bool keyspace_put_blob(struct keyspace *ks, struct yn_bytes key, struct host_blob *blob,
                       int64_t expiry_ms, int64_t now_ms);
void keyspace_set_form(struct keyspace *ks, struct yn_bytes key, enum host_form form,
                       int64_t now_ms);
/* As host_key_put_strings. */
bool keyspace_put_strings(struct keyspace *ks, size_t n, const struct yn_bytes *pairs,
                          int64_t now_ms);
/* As host_key_edit_string. */
char *keyspace_edit_string(struct keyspace *ks, struct yn_bytes key, size_t len,
                           int64_t now_ms);
/* Removes the key. Returns false when there was none, or only an expired one. */
bool keyspace_remove(struct keyspace *ks, struct yn_bytes key, enum keyspace_drop why,
                     int64_t now_ms);
/* Removes the key if it is expired. Returns true if it did. */
bool keyspace_has_expired(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms);
bool keyspace_drop_expired(struct keyspace *ks, struct yn_bytes key, int64_t now_ms);
/* Moves value and expiry to another name, in another database or this one; what was there
 * goes. Returns false, nothing changed, when there is no such key or memory is out. */
bool keyspace_move(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, int64_t now_ms);
/* The same for a copy. `set` is a copy of the key's set, if it holds one, else NULL; it
 * is taken on success. */
bool keyspace_copy(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, struct yn_zset *set, int64_t now_ms);

/* Milliseconds since 1970; -1: no expiry; -2: no such key. */
int64_t keyspace_expiry_ms(const struct keyspace *ks, struct yn_bytes key,
                           int64_t now_ms);
/* Sets the expiry, or drops it (at_ms == -1). A time that is past is kept: the key
 * is expired at once. Returns false when there is no such key, or memory is out. */
bool keyspace_set_expiry_ms(struct keyspace *ks, struct yn_bytes key, int64_t at_ms,
                            int64_t now_ms);

/* Keys, expired ones that are not removed yet included. */
size_t keyspace_count(const struct keyspace *ks);
/* Keys with an expiry, and the mean time they have left (of a sample of some thousand).
 */
size_t keyspace_n_volatile(const struct keyspace *ks);
int64_t keyspace_mean_ttl_ms(const struct keyspace *ks, int64_t now_ms);
/* Bytes of one key and its entry, value not included; of all keys' entries and places,
 * about. */
size_t keyspace_key_memory(const struct keyspace *ks, struct yn_bytes key,
                           int64_t now_ms);
size_t keyspace_overhead(const struct keyspace *ks);

/* As host_key_scan. Every key that is there during the whole scan is handed out exactly
 * once. Cursors are below 2^48. */
uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor, size_t count,
                       int64_t now_ms, host_key_fn visit, void *ctx);
/* As host_key_random. random: for yn_random_next. */
bool keyspace_random(const struct keyspace *ks, uint64_t *random, int64_t now_ms,
                     struct yn_bytes *out_key);

/* Removes keys that are due, at most max of them. Returns how many it removed. */
size_t keyspace_expire(struct keyspace *ks, size_t max, int64_t now_ms);
/* Keys that expired so far: by keyspace_expire and by writes that met them. */
uint64_t keyspace_n_expired(const struct keyspace *ks);
void keyspace_reset_stats(struct keyspace *ks);

/* Removes every key: at once, or by taking a large database out of sight. Then its memory
 * is given back by keyspace_collect. */
void keyspace_flush(struct keyspace *ks, bool at_once);
/* Gives back memory of flushed keys, some hundred keys a call. Returns true when none is
 * left. */
bool keyspace_collect(struct keyspace *ks);

/* Keys that were flushed and are not freed yet, and those that were freed. */
size_t keyspace_n_garbage(const struct keyspace *ks);
uint64_t keyspace_n_collected(const struct keyspace *ks);

/* Verifies counts, places and the heap. Returns NULL, or what is wrong. For tests. */
const char *keyspace_check(const struct keyspace *ks);

#endif
