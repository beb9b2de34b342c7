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
 * Flush: the directory as a whole is set aside and freed a few segments at a time.
 * Rejected: to free it in another thread. That thread and this one then wait for each
 * other at the allocator, which millions of small blocks keep busy: the longest PING took
 * ten times as long as with slices. Large sets are few large blocks, and do go to a
 * thread; that is the owner's business, through the hooks.
 */
#include "server/keyspace.h"

#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "server/blob.h"
#include "server/keyspace_parts.h"

#define COLLECT_SEGMENTS 4 /* freed in one call; flushed at once if there are no more */
/* Random places that are tried before all keys are gone through, and places in one step
 * of that, and steps. */
#define RANDOM_TRIES 64
#define RANDOM_WALK_COUNT 16
#define RANDOM_WALK_STEPS 512

struct keyspace_garbage {
    struct keyspace_garbage *older;
    struct keydir keys;
    size_t next;          /* slots before it are freed already */
    bool has_no_keys;     /* all are */
    struct due_heap heap; /* freed behind the keys */
};

const struct keyspace_hooks keyspace_no_hooks;

/* ---- entries ---- */

static void entry_place(void *owner, size_t slot)
{
    memcpy(((struct key_entry *)owner)->tail, &slot, sizeof slot);
}

size_t keyspace_slot_of(const struct key_entry *e)
{
    size_t slot;
    memcpy(&slot, e->tail, sizeof slot);
    return slot;
}

uint32_t keyspace_clock_s(int64_t now_ms)
{
    return (uint32_t)(now_ms / 1000) & CLOCK_MASK;
}

struct key_entry *keyspace_entry_new(struct yn_bytes key, bool has_expiry, int64_t now_ms)
{
    size_t at = key_entry_offset(has_expiry);
    struct key_entry *e = malloc(KEY_ENTRY_BYTES + at + key.len);
    if (e == NULL)
        return NULL;
    memset(e, 0, KEY_ENTRY_BYTES);
    e->key_len = (uint32_t)key.len;
    e->used_s = keyspace_clock_s(now_ms);
    e->has_expiry = has_expiry;
    if (key.len > 0)
        memcpy(e->tail + at, key.data, key.len);
    return e;
}

/* Gives an entry another one's value; it is in both then. */
void keyspace_entry_take(struct key_entry *e, const struct key_entry *old)
{
    e->value = old->value;
    e->type = old->type;
    e->is_blob = old->is_blob;
    e->form = old->form;
    atomic_init(&e->used_s, old->used_s);
}

void keyspace_value_drop(const struct keyspace_hooks *hooks, struct key_entry *e,
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
    return e->has_expiry && due_at_ms(&ks->heap, keyspace_slot_of(e)) <= now_ms;
}

/* HOT: inline for look-ups. */
static inline struct key_entry *entry_find(const struct keyspace *ks, struct yn_bytes key,
                                           int64_t now_ms)
{
    if (ks->keys.slots == NULL)
        return NULL;
    struct key_entry *e = *keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key));
    return e == NULL || is_expired(ks, e, now_ms) ? NULL : e;
}

struct key_entry *keyspace_entry(const struct keyspace *ks, struct yn_bytes key,
                                 int64_t now_ms)
{
    return entry_find(ks, key, now_ms);
}

/* ---- life ---- */

struct keyspace *keyspace_new(uint64_t hash_seed)
{
    struct keyspace *ks = calloc(1, sizeof *ks);
    if (ks == NULL)
        return NULL;
    ks->keys.seed = hash_seed;
    ks->hooks = &keyspace_no_hooks;
    due_init(&ks->heap, entry_place);
    return ks;
}

void keyspace_set_hooks(struct keyspace *ks, const struct keyspace_hooks *hooks,
                        size_t number)
{
    ks->hooks = hooks != NULL ? hooks : &keyspace_no_hooks;
    ks->number = number;
}

void keyspace_set_number(struct keyspace *ks, size_t number)
{
    ks->number = number;
}

static void flushed_free(void *ctx, struct key_entry *e)
{
    struct keyspace *ks = ctx;
    keyspace_value_drop(ks->hooks, e, KEYSPACE_FLUSHED);
    free(e);
    ks->n_garbage--;
    ks->n_collected++;
}

static void flushed_free_at_once(void *ctx, struct key_entry *e)
{
    const struct keyspace *ks = ctx;
    keyspace_value_drop(ks->hooks, e, KEYSPACE_FLUSHED_AT_ONCE);
    free(e);
}

/* Frees some of it. Returns true when nothing is left. */
static bool garbage_free_some(struct keyspace *ks, struct keyspace_garbage *g)
{
    if (!g->has_no_keys) {
        g->has_no_keys =
            keydir_free_some(&g->keys, &g->next, COLLECT_SEGMENTS, flushed_free, ks);
        return g->has_no_keys && g->heap.n_chunks == 0 && due_free_some(&g->heap);
    }
    return due_free_some(&g->heap);
}

bool keyspace_collect(struct keyspace *ks)
{
    struct keyspace_garbage *g = ks->garbage;
    if (g != NULL && garbage_free_some(ks, g)) {
        ks->garbage = g->older;
        free(g);
    }
    return ks->garbage == NULL;
}

void keyspace_flush(struct keyspace *ks, bool at_once)
{
    struct keyspace_garbage flushed = {.keys = ks->keys, .heap = ks->heap};
    ks->keys = (struct keydir){.seed = flushed.keys.seed};
    due_init(&ks->heap, flushed.heap.place);
    if (at_once) {
        keydir_free_some(&flushed.keys, &flushed.next, SIZE_MAX, flushed_free_at_once,
                         ks);
        due_clear(&flushed.heap);
        return;
    }
    ks->n_garbage += flushed.keys.count;
    if (garbage_free_some(ks, &flushed))
        return;
    struct keyspace_garbage *g = malloc(sizeof *g);
    if (g == NULL) { /* then all at once */
        while (!garbage_free_some(ks, &flushed))
            continue;
        return;
    }
    *g = flushed;
    g->older = ks->garbage;
    ks->garbage = g;
}

void keyspace_free(struct keyspace *ks)
{
    if (ks == NULL)
        return;
    ks->hooks = &keyspace_no_hooks;
    keyspace_flush(ks, true);
    while (!keyspace_collect(ks))
        continue;
    free(ks);
}

/* ---- reading ---- */

static inline struct host_value value_of(const struct key_entry *e)
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

struct host_value keyspace_value_of(const struct key_entry *e)
{
    return value_of(e);
}

struct host_value keyspace_find(const struct keyspace *ks, struct yn_bytes key,
                                int64_t now_ms)
{
    return value_of(entry_find(ks, key, now_ms));
}

struct host_value keyspace_use(struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    struct key_entry *e = entry_find(ks, key, now_ms);
    uint32_t now_s = keyspace_clock_s(now_ms);
    if (e != NULL && atomic_load_explicit(&e->used_s, memory_order_relaxed) != now_s)
        atomic_store_explicit(&e->used_s, now_s, memory_order_relaxed);
    return value_of(e);
}

int64_t keyspace_idle_s(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct key_entry *e = keyspace_entry(ks, key, now_ms);
    return e == NULL ? -1
                     : (int64_t)((keyspace_clock_s(now_ms) - e->used_s) & CLOCK_MASK);
}

int64_t keyspace_expiry_ms(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct key_entry *e = keyspace_entry(ks, key, now_ms);
    if (e == NULL)
        return -2;
    return e->has_expiry ? due_at_ms(&ks->heap, keyspace_slot_of(e)) : -1;
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
    const struct key_entry *e = keyspace_entry(ks, key, now_ms);
    if (e == NULL)
        return 0;
    size_t bytes = KEY_ENTRY_BYTES + key_entry_offset(e->has_expiry) + e->key_len +
                   (e->has_expiry ? sizeof(struct due_slot) : 0);
    if (e->type == HOST_STRING && !e->is_blob)
        bytes += sizeof(struct string_value);
    return bytes;
}

size_t keyspace_overhead(const struct keyspace *ks)
{
    return ks->keys.count * (KEY_ENTRY_BYTES + KEYDIR_BYTES_A_KEY) +
           ks->heap.n * (sizeof(size_t) + sizeof(struct due_slot));
}

uint64_t keyspace_n_expired(const struct keyspace *ks)
{
    return ks->n_expired;
}

size_t keyspace_n_garbage(const struct keyspace *ks)
{
    return ks->n_garbage;
}

uint64_t keyspace_n_collected(const struct keyspace *ks)
{
    return ks->n_collected;
}

void keyspace_reset_stats(struct keyspace *ks)
{
    ks->n_collected = 0;
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

/* Nearly all keys are expired: looks for one that is not, from a random place on. */
static const struct key_entry *walk_to_live(const struct keyspace *ks, uint64_t *random,
                                            int64_t now_ms)
{
    struct walk walk = {.ks = ks, .now_ms = now_ms};
    uint64_t cursor = yn_random_next(random) >> 16;
    bool was_round = false;
    for (size_t i = 0; walk.first == NULL && i < RANDOM_WALK_STEPS; i++) {
        cursor = keydir_scan(&ks->keys, cursor, RANDOM_WALK_COUNT, visit_live, &walk);
        if (cursor == 0 && was_round)
            break;
        was_round = was_round || cursor == 0;
    }
    return walk.first;
}

bool keyspace_random(const struct keyspace *ks, uint64_t *random, int64_t now_ms,
                     struct yn_bytes *out_key)
{
    struct walk walk = {.ks = ks, .now_ms = now_ms};
    const struct key_entry *e = NULL;
    if (ks->keys.count == 0)
        return false;
    for (size_t i = 0; e == NULL && i < RANDOM_TRIES; i++)
        e = keydir_random(&ks->keys, yn_random_next(random), yn_random_next(random),
                          visit_live, &walk);
    if (e == NULL)
        e = walk_to_live(ks, random, now_ms);
    if (e != NULL)
        *out_key = key_entry_name(e);
    return e != NULL;
}

/* ---- changing ---- */

/* Takes the entry out of its chain and frees it. */
void keyspace_remove_at(struct keyspace *ks, struct key_entry **link, uint64_t hash,
                        enum keyspace_drop why)
{
    struct key_entry *e = keydir_unlink(&ks->keys, link, hash);
    if (e->has_expiry)
        due_remove(&ks->heap, keyspace_slot_of(e));
    keyspace_value_drop(ks->hooks, e, why);
    free(e);
}

static void remove_expired(struct keyspace *ks, struct key_entry **link, uint64_t hash)
{
    if (ks->hooks->expired != NULL)
        ks->hooks->expired(ks->hooks->ctx, ks->number, key_entry_name(*link));
    keyspace_remove_at(ks, link, hash, KEYSPACE_EXPIRED);
    ks->n_expired++;
}

bool keyspace_has_expired(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    if (ks->heap.n == 0)
        return false;
    const struct key_entry *e = *keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key));
    return e != NULL && is_expired(ks, e, now_ms);
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
    keyspace_remove_at(ks, link, hash, why);
    return true;
}

/* Replaces the entry by one with or without room for a heap slot. The heap itself is the
 * caller's. Returns the new entry, or NULL when out of memory. */
static struct key_entry *reshape(struct key_entry **link, bool has_expiry)
{
    struct key_entry *old = *link;
    struct key_entry *e = keyspace_entry_new(key_entry_name(old), has_expiry, 0);
    if (e == NULL)
        return NULL;
    e->next = old->next;
    keyspace_entry_take(e, old);
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
bool keyspace_drop_expiry(struct keyspace *ks, struct key_entry **link)
{
    size_t slot = keyspace_slot_of(*link);
    if (reshape(link, false) == NULL)
        forget_slot(*link);
    /* The slot still names the old entry; removing it does not look at its owner. */
    due_remove(&ks->heap, slot);
    return true;
}

bool keyspace_add_expiry(struct keyspace *ks, struct key_entry **link, int64_t at_ms)
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
        return !(*link)->has_expiry || keyspace_drop_expiry(ks, link);
    if (!(*link)->has_expiry)
        return keyspace_add_expiry(ks, link, at_ms);
    due_change(&ks->heap, keyspace_slot_of(*link), at_ms);
    return true;
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
    if (keyspace_slot_of(e) >= check->ks->heap.n)
        return "heap slot out of range";
    return due_owner(&check->ks->heap, keyspace_slot_of(e)) == e
               ? NULL
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
