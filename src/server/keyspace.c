/*
 * One database: what the entries of a directory of keys (keydir.h) mean: values, expiry,
 * last use, and what becomes of values that have lost their key.
 *
 * Expiry: keys that have one carry the number of their slot in a heap (due.h),
 * in front of the key's bytes; the others pay nothing for it.
 *
 * Last use: a clock of seconds modulo 2^24, in bits of the entry that were spare: it
 * costs no memory, and a write to a cache line that the look-up has just read, once a
 * second.
 *
 * Flush: the directory as a whole is set aside. Another thread frees it, or this one
 * does, a few segments at a time; large sets that lose their key one by one go to that
 * thread, too. Both are the owner's business, through the hooks.
 */
#include "server/keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "server/blob.h"
#include "server/due.h"
#include "server/keydir.h"

#define COLLECT_SEGMENTS 4 /* freed in one call; flushed at once if there are no more */
#define CLOCK_MASK 0xffffffu
/* Random places that are tried before all keys are gone through, and places in one step
 * of that, and steps. */
#define RANDOM_TRIES 64
#define RANDOM_WALK_COUNT 16
#define RANDOM_WALK_STEPS 512

struct string_value {
    size_t len;
    char data[];
};

struct keyspace_garbage {
    struct keyspace_garbage *older;
    struct keydir keys;
    size_t n;
    size_t next;            /* slots before it are freed already */
    struct key_entry *held; /* large strings, which one thread only may touch */
};

struct keyspace {
    struct keyspace_garbage *garbage;
    struct keydir keys;
    uint64_t n_expired;
    uint64_t random; /* state of the generator */
    struct due_heap heap;
    const struct keyspace_hooks *hooks;
    size_t number;
};

static const struct keyspace_hooks no_hooks;

/* ---- entries ---- */

static void entry_place(void *owner, size_t slot)
{
    memcpy(((struct key_entry *)owner)->tail, &slot, sizeof slot);
}

static size_t entry_slot(const struct key_entry *e)
{
    size_t slot;
    memcpy(&slot, e->tail, sizeof slot);
    return slot;
}

static uint32_t clock_s(int64_t now_ms)
{
    return (uint32_t)(now_ms / 1000) & CLOCK_MASK;
}

static struct key_entry *entry_new(struct yn_bytes key, bool has_expiry, int64_t now_ms)
{
    size_t at = key_entry_offset(has_expiry);
    struct key_entry *e = malloc(sizeof *e + at + key.len);
    if (e == NULL)
        return NULL;
    *e = (struct key_entry){.key_len = (uint32_t)key.len,
                            .used_s = clock_s(now_ms) & CLOCK_MASK,
                            .has_expiry = has_expiry};
    if (key.len > 0)
        memcpy(e->tail + at, key.data, key.len);
    return e;
}

/* Gives an entry another one's value; it is in both then. */
static void entry_take_value(struct key_entry *e, const struct key_entry *old)
{
    e->value = old->value;
    e->type = old->type;
    e->is_blob = old->is_blob;
    e->form = old->form;
    e->used_s = old->used_s;
}

static void value_drop(const struct keyspace_hooks *hooks, struct key_entry *e,
                       enum keyspace_drop why)
{
    if (e->type == HOST_ZSET && hooks->drop_zset != NULL)
        hooks->drop_zset(hooks->ctx, e->value.zset, why);
    else if (e->type == HOST_ZSET)
        yn_zset_free(e->value.zset);
    else if (e->is_blob)
        host_blob_drop(e->value.blob);
    else if (e->type == HOST_STRING)
        free(e->value.string);
    e->type = HOST_NONE;
    e->is_blob = false;
    e->form = HOST_FORM_PLAIN;
}

static bool is_expired(const struct keyspace *ks, const struct key_entry *e,
                       int64_t now_ms)
{
    return e->has_expiry && due_at_ms(&ks->heap, entry_slot(e)) <= now_ms;
}

static struct key_entry *find(const struct keyspace *ks, struct yn_bytes key,
                              int64_t now_ms)
{
    if (ks->keys.slots == NULL)
        return NULL;
    struct key_entry *e = *keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key));
    return e == NULL || is_expired(ks, e, now_ms) ? NULL : e;
}

/* ---- life ---- */

struct keyspace *keyspace_new(uint64_t hash_seed)
{
    struct keyspace *ks = calloc(1, sizeof *ks);
    if (ks == NULL)
        return NULL;
    ks->keys.seed = hash_seed;
    ks->random = hash_seed;
    ks->hooks = &no_hooks;
    due_init(&ks->heap, entry_place);
    return ks;
}

void keyspace_set_hooks(struct keyspace *ks, const struct keyspace_hooks *hooks,
                        size_t number)
{
    ks->hooks = hooks != NULL ? hooks : &no_hooks;
    ks->number = number;
}

void keyspace_set_number(struct keyspace *ks, size_t number)
{
    ks->number = number;
}

static void flushed_free(void *ctx, struct key_entry *e)
{
    const struct keyspace *ks = ctx;
    value_drop(ks->hooks, e, KEYSPACE_FLUSHED);
    free(e);
}

static void flushed_free_at_once(void *ctx, struct key_entry *e)
{
    const struct keyspace *ks = ctx;
    value_drop(ks->hooks, e, KEYSPACE_FLUSHED_AT_ONCE);
    free(e);
}

/* In another thread: the owner has made sure that nobody looks at the sets. */
static void garbage_give(void *ctx, struct key_entry *e)
{
    struct keyspace_garbage *garbage = ctx;
    if (e->is_blob) {
        e->next = garbage->held;
        garbage->held = e;
        return;
    }
    value_drop(&no_hooks, e, KEYSPACE_FLUSHED);
    free(e);
}

size_t keyspace_garbage_count(const struct keyspace_garbage *garbage)
{
    return garbage->n;
}

void keyspace_garbage_free(struct keyspace_garbage *garbage)
{
    keydir_free_some(&garbage->keys, &garbage->next, SIZE_MAX, garbage_give, garbage);
}

void keyspace_garbage_finish(struct keyspace_garbage *garbage)
{
    struct key_entry *next;
    for (struct key_entry *e = garbage->held; e != NULL; e = next) {
        next = e->next;
        value_drop(&no_hooks, e, KEYSPACE_FLUSHED);
        free(e);
    }
    free(garbage);
}

bool keyspace_collect(struct keyspace *ks)
{
    struct keyspace_garbage *g = ks->garbage;
    if (g != NULL &&
        keydir_free_some(&g->keys, &g->next, COLLECT_SEGMENTS, flushed_free, ks)) {
        ks->garbage = g->older;
        free(g);
    }
    return ks->garbage == NULL;
}

void keyspace_flush(struct keyspace *ks, bool at_once)
{
    struct keyspace_garbage flushed = {.keys = ks->keys, .n = ks->keys.count};
    ks->keys = (struct keydir){.seed = flushed.keys.seed};
    due_clear(&ks->heap);
    if (at_once) {
        keydir_free_some(&flushed.keys, &flushed.next, SIZE_MAX, flushed_free_at_once,
                         ks);
        return;
    }
    if (keydir_free_some(&flushed.keys, &flushed.next, COLLECT_SEGMENTS, flushed_free,
                         ks))
        return;
    struct keyspace_garbage *g = malloc(sizeof *g);
    if (g == NULL) { /* then all at once */
        keydir_free_some(&flushed.keys, &flushed.next, SIZE_MAX, flushed_free, ks);
        return;
    }
    *g = flushed;
    if (ks->hooks->drop_keys != NULL && ks->hooks->drop_keys(ks->hooks->ctx, g))
        return;
    g->older = ks->garbage;
    ks->garbage = g;
}

void keyspace_free(struct keyspace *ks)
{
    if (ks == NULL)
        return;
    ks->hooks = &no_hooks;
    keyspace_flush(ks, true);
    while (!keyspace_collect(ks))
        continue;
    free(ks);
}

/* ---- reading ---- */

static struct host_value value_of(const struct key_entry *e)
{
    struct host_value value = {.type = HOST_NONE};
    if (e == NULL)
        return value;
    value.type = (enum host_type)e->type;
    value.form = (enum host_form)e->form;
    if (e->type == HOST_ZSET) {
        value.zset = e->value.zset;
    } else if (e->is_blob) {
        value.blob = e->value.blob;
        value.string = e->value.blob->bytes;
    } else {
        value.string = (struct yn_bytes){e->value.string->data, e->value.string->len};
    }
    return value;
}

struct host_value keyspace_find(const struct keyspace *ks, struct yn_bytes key,
                                int64_t now_ms)
{
    return value_of(find(ks, key, now_ms));
}

struct host_value keyspace_use(struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    struct key_entry *e = find(ks, key, now_ms);
    uint32_t now_s = clock_s(now_ms);
    if (e != NULL && e->used_s != now_s)
        e->used_s = now_s & CLOCK_MASK;
    return value_of(e);
}

int64_t keyspace_idle_s(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct key_entry *e = find(ks, key, now_ms);
    return e == NULL ? -1 : (int64_t)((clock_s(now_ms) - e->used_s) & CLOCK_MASK);
}

int64_t keyspace_expiry_ms(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct key_entry *e = find(ks, key, now_ms);
    if (e == NULL)
        return -2;
    return e->has_expiry ? due_at_ms(&ks->heap, entry_slot(e)) : -1;
}

size_t keyspace_count(const struct keyspace *ks)
{
    return ks->keys.count;
}

size_t keyspace_n_volatile(const struct keyspace *ks)
{
    return ks->heap.n;
}

int64_t keyspace_mean_ttl_ms(const struct keyspace *ks, int64_t now_ms)
{
    return due_mean_left_ms(&ks->heap, now_ms);
}

size_t keyspace_key_memory(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct key_entry *e = find(ks, key, now_ms);
    if (e == NULL)
        return 0;
    size_t bytes = sizeof *e + key_entry_offset(e->has_expiry) + e->key_len +
                   (e->has_expiry ? sizeof(struct due_slot) : 0);
    if (e->type == HOST_STRING && !e->is_blob)
        bytes += sizeof(struct string_value);
    return bytes;
}

size_t keyspace_overhead(const struct keyspace *ks)
{
    return ks->keys.count * (sizeof(struct key_entry) + KEYDIR_BYTES_A_KEY) +
           ks->heap.n * (sizeof(size_t) + sizeof(struct due_slot));
}

uint64_t keyspace_n_expired(const struct keyspace *ks)
{
    return ks->n_expired;
}

void keyspace_reset_stats(struct keyspace *ks)
{
    ks->n_expired = 0;
}

/* ---- walking ---- */

struct walk {
    const struct keyspace *ks;
    int64_t now_ms;
    host_key_fn visit; /* or NULL: keep the first */
    void *ctx;
    const struct key_entry *first;
};

static bool visit_live(void *ctx, const struct key_entry *e)
{
    struct walk *walk = ctx;
    if (is_expired(walk->ks, e, walk->now_ms))
        return false;
    if (walk->visit != NULL)
        walk->visit(walk->ctx, key_entry_name(e), (enum host_type)e->type);
    else if (walk->first == NULL)
        walk->first = e;
    return true;
}

uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor, size_t count,
                       int64_t now_ms, host_key_fn visit, void *ctx)
{
    struct walk walk = {.ks = ks, .now_ms = now_ms, .visit = visit, .ctx = ctx};
    return keydir_scan(&ks->keys, cursor, count, visit_live, &walk);
}

/* splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
 * 2014). */
static uint64_t next_random(struct keyspace *ks)
{
    uint64_t x = ks->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Nearly all keys are expired: looks for one that is not, from a random place on. */
static const struct key_entry *walk_to_live(struct keyspace *ks, int64_t now_ms)
{
    struct walk walk = {.ks = ks, .now_ms = now_ms};
    uint64_t cursor = next_random(ks) >> 16;
    bool was_round = false;
    for (size_t i = 0; walk.first == NULL && i < RANDOM_WALK_STEPS; i++) {
        cursor = keydir_scan(&ks->keys, cursor, RANDOM_WALK_COUNT, visit_live, &walk);
        if (cursor == 0 && was_round)
            break;
        was_round = was_round || cursor == 0;
    }
    return walk.first;
}

bool keyspace_random(struct keyspace *ks, int64_t now_ms, struct yn_bytes *out_key)
{
    struct walk walk = {.ks = ks, .now_ms = now_ms};
    const struct key_entry *e = NULL;
    if (ks->keys.count == 0)
        return false;
    for (size_t i = 0; e == NULL && i < RANDOM_TRIES; i++)
        e = keydir_random(&ks->keys, next_random(ks), next_random(ks), visit_live, &walk);
    if (e == NULL)
        e = walk_to_live(ks, now_ms);
    if (e != NULL)
        *out_key = key_entry_name(e);
    return e != NULL;
}

/* ---- changing ---- */

/* Takes the entry out of its chain and frees it. */
static void remove_at(struct keyspace *ks, struct key_entry **link, uint64_t hash,
                      enum keyspace_drop why)
{
    struct key_entry *e = keydir_unlink(&ks->keys, link, hash);
    if (e->has_expiry)
        due_remove(&ks->heap, entry_slot(e));
    value_drop(ks->hooks, e, why);
    free(e);
}

static void remove_expired(struct keyspace *ks, struct key_entry **link, uint64_t hash)
{
    if (ks->hooks->expired != NULL)
        ks->hooks->expired(ks->hooks->ctx, ks->number, key_entry_name(*link));
    remove_at(ks, link, hash, KEYSPACE_EXPIRED);
    ks->n_expired++;
}

bool keyspace_drop_expired(struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    if (ks->heap.n == 0)
        return false;
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    if (*link == NULL || !is_expired(ks, *link, now_ms))
        return false;
    remove_expired(ks, link, hash);
    return true;
}

bool keyspace_remove(struct keyspace *ks, struct yn_bytes key, enum keyspace_drop why,
                     int64_t now_ms)
{
    if (ks->keys.slots == NULL || keyspace_drop_expired(ks, key, now_ms))
        return false;
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    if (*link == NULL)
        return false;
    remove_at(ks, link, hash, why);
    return true;
}

/* Replaces the entry by one with or without room for a heap slot. The heap itself is the
 * caller's. Returns the new entry, or NULL when out of memory. */
static struct key_entry *reshape(struct key_entry **link, bool has_expiry)
{
    struct key_entry *old = *link;
    struct key_entry *e = entry_new(key_entry_name(old), has_expiry, 0);
    if (e == NULL)
        return NULL;
    e->next = old->next;
    entry_take_value(e, old);
    *link = e;
    free(old);
    return e;
}

/* Moving the key to where the slot was is always possible; only the room stays. */
static void forget_slot(struct key_entry *e)
{
    memmove(e->tail, e->tail + sizeof(size_t), e->key_len);
    e->has_expiry = false;
}

/* Never fails. */
static bool drop_expiry(struct keyspace *ks, struct key_entry **link)
{
    size_t slot = entry_slot(*link);
    if (reshape(link, false) == NULL)
        forget_slot(*link);
    /* The slot still names the old entry; removing it does not look at its owner. */
    due_remove(&ks->heap, slot);
    return true;
}

static bool add_expiry(struct keyspace *ks, struct key_entry **link, int64_t at_ms)
{
    struct key_entry *e = reshape(link, true);
    if (e == NULL)
        return false;
    if (due_add(&ks->heap, at_ms, e))
        return true;
    forget_slot(e);
    return false;
}

bool keyspace_set_expiry_ms(struct keyspace *ks, struct yn_bytes key, int64_t at_ms,
                            int64_t now_ms)
{
    if (ks->keys.slots == NULL || keyspace_drop_expired(ks, key, now_ms))
        return false;
    struct key_entry **link = keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key));
    if (*link == NULL)
        return false;
    if (at_ms == -1)
        return !(*link)->has_expiry || drop_expiry(ks, link);
    if (!(*link)->has_expiry)
        return add_expiry(ks, link, at_ms);
    due_change(&ks->heap, entry_slot(*link), at_ms);
    return true;
}

/* Gives the entry this expiry, or what a HOST_EXPIRY_* says. False: out of memory. */
static bool put_expiry(struct keyspace *ks, struct key_entry **link, int64_t expiry_ms)
{
    if (expiry_ms == HOST_EXPIRY_KEEP)
        return true;
    if (expiry_ms == HOST_EXPIRY_NONE)
        return !(*link)->has_expiry || drop_expiry(ks, link);
    if (!(*link)->has_expiry)
        return add_expiry(ks, link, expiry_ms);
    due_change(&ks->heap, entry_slot(*link), expiry_ms);
    return true;
}

/* The entry for a key that is to get a new value: an old one, or a new one of type
 * HOST_NONE. It has the new expiry. NULL when out of memory, nothing changed. */
static struct key_entry *entry_for_put(struct keyspace *ks, struct yn_bytes key,
                                       int64_t expiry_ms, int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return NULL;
    keyspace_drop_expired(ks, key, now_ms);
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    bool is_new = *link == NULL;
    if (is_new) {
        struct key_entry *e = entry_new(key, false, now_ms);
        if (e == NULL)
            return NULL;
        keydir_add(&ks->keys, e, hash);
        link = keydir_find(&ks->keys, key, hash);
    }
    if (put_expiry(ks, link, expiry_ms)) {
        (*link)->used_s = clock_s(now_ms) & CLOCK_MASK;
        return *link;
    }
    if (is_new)
        remove_at(ks, link, hash, KEYSPACE_DELETED);
    return NULL;
}

bool keyspace_put_zset(struct keyspace *ks, struct yn_bytes key, struct yn_zset *set,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    if (e->type == HOST_ZSET && e->value.zset == set)
        return true;
    value_drop(ks->hooks, e, KEYSPACE_REPLACED);
    e->type = HOST_ZSET;
    e->value.zset = set;
    return true;
}

/* A string that belongs to no key yet. */
struct loose_string {
    bool is_blob;
    union entry_value value;
};

static bool loose_string_init(struct loose_string *loose, struct yn_bytes text)
{
    loose->is_blob = text.len >= BLOB_LEN_MIN;
    if (loose->is_blob) {
        loose->value.blob = blob_new(text);
        return loose->value.blob != NULL;
    }
    struct string_value *string = malloc(sizeof *string + text.len);
    loose->value.string = string;
    if (string == NULL)
        return false;
    string->len = text.len;
    if (text.len > 0)
        memcpy(string->data, text.data, text.len);
    return true;
}

static void loose_string_clear(struct loose_string *loose)
{
    if (loose->is_blob)
        host_blob_drop(loose->value.blob);
    else
        free(loose->value.string);
}

static void entry_take_string(struct keyspace *ks, struct key_entry *e,
                              const struct loose_string *loose)
{
    value_drop(ks->hooks, e, KEYSPACE_REPLACED);
    e->type = HOST_STRING;
    e->is_blob = loose->is_blob;
    e->value = loose->value;
}

bool keyspace_put_string(struct keyspace *ks, struct yn_bytes key, struct yn_bytes value,
                         int64_t expiry_ms, int64_t now_ms)
{
    struct loose_string loose;
    if (!loose_string_init(&loose, value))
        return false;
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL) {
        loose_string_clear(&loose);
        return false;
    }
    entry_take_string(ks, e, &loose);
    return true;
}

bool keyspace_put_blob(struct keyspace *ks, struct yn_bytes key, struct host_blob *blob,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct loose_string loose = {.is_blob = true, .value.blob = blob};
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    entry_take_string(ks, e, &loose);
    return true;
}

/* What a put of one of several strings needs: its value, and an entry for its key. */
struct prepared_string {
    struct loose_string loose;
    struct key_entry *fresh; /* NULL: the key is there */
};

static bool prepare_string(struct keyspace *ks, struct yn_bytes key,
                           struct yn_bytes value, struct prepared_string *out_prepared,
                           int64_t now_ms)
{
    out_prepared->fresh = NULL;
    if (!loose_string_init(&out_prepared->loose, value))
        return false;
    if (*keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key)) != NULL)
        return true;
    out_prepared->fresh = entry_new(key, false, now_ms);
    if (out_prepared->fresh != NULL)
        return true;
    loose_string_clear(&out_prepared->loose);
    return false;
}

/* Cannot fail. */
static void put_prepared(struct keyspace *ks, struct yn_bytes key,
                         const struct prepared_string *prepared)
{
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    if (*link == NULL) {
        keydir_add(&ks->keys, prepared->fresh, hash);
        link = keydir_find(&ks->keys, key, hash);
    } else {
        free(prepared->fresh);
        put_expiry(ks, link, HOST_EXPIRY_NONE);
    }
    entry_take_string(ks, *link, &prepared->loose);
}

bool keyspace_put_strings(struct keyspace *ks, size_t n, const struct yn_bytes *pairs,
                          int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return false;
    struct prepared_string *prepared = malloc(n * sizeof *prepared);
    if (prepared == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        keyspace_drop_expired(ks, pairs[2 * i], now_ms);
        if (prepare_string(ks, pairs[2 * i], pairs[2 * i + 1], &prepared[i], now_ms))
            continue;
        while (i-- > 0) {
            loose_string_clear(&prepared[i].loose);
            free(prepared[i].fresh);
        }
        free(prepared);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        put_prepared(ks, pairs[2 * i], &prepared[i]);
    free(prepared);
    return true;
}

/* Makes a string of this length or a longer one out of a shorter one, or out of none. */
static char *entry_grow_string(struct key_entry *e, size_t len)
{
    struct string_value *string = e->type == HOST_NONE ? NULL : e->value.string;
    if (e->is_blob || len >= BLOB_LEN_MIN) {
        struct yn_bytes small = {NULL, 0};
        if (!e->is_blob && string != NULL)
            small = (struct yn_bytes){string->data, string->len};
        struct host_blob *blob =
            e->is_blob ? blob_grow(e->value.blob, len) : blob_new_growing(small, len);
        if (blob == NULL)
            return NULL;
        if (!e->is_blob)
            free(string);
        e->is_blob = true;
        e->value.blob = blob;
        e->type = HOST_STRING;
        return blob_bytes(blob);
    }
    if (string != NULL && len <= string->len)
        return string->data;
    string = realloc(string, sizeof *string + len);
    if (string == NULL)
        return NULL;
    string->len = len;
    e->type = HOST_STRING;
    e->value.string = string;
    return string->data;
}

char *keyspace_edit_string(struct keyspace *ks, struct yn_bytes key, size_t len,
                           int64_t now_ms)
{
    struct key_entry *e = entry_for_put(ks, key, HOST_EXPIRY_KEEP, now_ms);
    if (e == NULL)
        return NULL;
    bool is_new = e->type == HOST_NONE;
    char *bytes = entry_grow_string(e, len);
    if (bytes == NULL && is_new) {
        uint64_t hash = keydir_hash(&ks->keys, key);
        remove_at(ks, keydir_find(&ks->keys, key, hash), hash, KEYSPACE_DELETED);
    }
    return bytes;
}

void keyspace_set_form(struct keyspace *ks, struct yn_bytes key, enum host_form form,
                       int64_t now_ms)
{
    struct key_entry *e = find(ks, key, now_ms);
    if (e != NULL)
        e->form = (unsigned)form & 3;
}

/* ---- moving, copying ---- */

/* Puts an entry that is complete, and whose value is the caller's to give, in the place
 * of what the database has under its key. Returns false, nothing changed, when out of
 * memory. */
static bool install(struct keyspace *ks, struct key_entry *e, int64_t at_ms,
                    int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return false;
    if (e->has_expiry && !due_add(&ks->heap, at_ms, e))
        return false;
    struct yn_bytes key = key_entry_name(e);
    keyspace_remove(ks, key, KEYSPACE_REPLACED, now_ms);
    keydir_add(&ks->keys, e, keydir_hash(&ks->keys, key));
    return true;
}

static int64_t entry_at_ms(const struct keyspace *ks, const struct key_entry *e)
{
    return e->has_expiry ? due_at_ms(&ks->heap, entry_slot(e)) : -1;
}

static bool is_same_name(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool keyspace_move(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, int64_t now_ms)
{
    struct key_entry *old = find(ks, from, now_ms);
    if (old == NULL)
        return false;
    if (ks == to_ks && is_same_name(from, to))
        return true;
    struct key_entry *e = entry_new(to, old->has_expiry, now_ms);
    if (e == NULL)
        return false;
    entry_take_value(e, old);
    if (!install(to_ks, e, entry_at_ms(ks, old), now_ms)) {
        free(e);
        return false;
    }
    uint64_t hash = keydir_hash(&ks->keys, from);
    old = keydir_unlink(&ks->keys, keydir_find(&ks->keys, from, hash), hash);
    if (old->has_expiry)
        due_remove(&ks->heap, entry_slot(old));
    free(old);
    return true;
}

bool keyspace_copy(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, struct yn_zset *set, int64_t now_ms)
{
    const struct key_entry *old = find(ks, from, now_ms);
    struct key_entry *e = old == NULL ? NULL : entry_new(to, old->has_expiry, now_ms);
    if (e == NULL)
        return false;
    entry_take_value(e, old);
    e->used_s = clock_s(now_ms) & CLOCK_MASK;
    struct loose_string loose = {.is_blob = old->is_blob, .value = old->value};
    bool has_value = true;
    if (old->type == HOST_ZSET)
        e->value.zset = set;
    else if (old->is_blob)
        host_blob_hold(old->value.blob);
    else
        has_value = loose_string_init(&loose, value_of(old).string);
    if (old->type != HOST_ZSET)
        e->value = loose.value;
    if (has_value && install(to_ks, e, entry_at_ms(ks, old), now_ms))
        return true;
    if (old->type != HOST_ZSET && has_value)
        loose_string_clear(&loose);
    free(e);
    return false;
}

/* ---- expiry ---- */

size_t keyspace_expire(struct keyspace *ks, size_t max, int64_t now_ms)
{
    size_t n = 0;
    while (n < max) {
        const struct key_entry *e = due_first(&ks->heap, now_ms);
        if (e == NULL)
            break;
        uint64_t hash = keydir_hash(&ks->keys, key_entry_name(e));
        remove_expired(ks, keydir_find(&ks->keys, key_entry_name(e), hash), hash);
        n++;
    }
    return n;
}

/* ---- check ---- */

struct check {
    const struct keyspace *ks;
    size_t n_volatile;
};

static const char *check_entry(void *ctx, const struct key_entry *e)
{
    struct check *check = ctx;
    if (e->type != HOST_ZSET && e->type != HOST_STRING)
        return "key without a value";
    if (!e->has_expiry)
        return NULL;
    check->n_volatile++;
    if (entry_slot(e) >= check->ks->heap.n)
        return "heap slot out of range";
    return due_owner(&check->ks->heap, entry_slot(e)) == e ? NULL
                                                           : "heap slot of another key";
}

const char *keyspace_check(const struct keyspace *ks)
{
    struct check check = {.ks = ks};
    const char *wrong = keydir_check(&ks->keys, check_entry, &check);
    if (wrong != NULL)
        return wrong;
    if (check.n_volatile != ks->heap.n)
        return "wrong count of keys with an expiry";
    return due_check(&ks->heap);
}
