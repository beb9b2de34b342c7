/*
 * The dictionary of keys: extendible hashing over small chained segments.
 *
 * A key's place is its 64-bit seeded hash read from the top. The first bits choose a
 * slot of the directory, which points to a segment; the segment knows how many bits
 * it answers for (its depth), and the next eight bits choose one of its 256 chains.
 * So the chains of all segments, in directory order, are the hash space in order.
 *
 * Growth: a segment that holds more than 256 keys splits in two by its next bit.
 * Nothing else moves; when the segment is as deep as the directory, the directory
 * doubles first (a copy of pointers, 8 bytes for some 180 keys). No operation ever
 * rehashes more than 257 keys. Two sibling segments that are nearly empty merge.
 *
 * Scan: the cursor is a position in the hash space (its top 48 bits). A call hands out
 * whole chains from there on. A split or a merge changes where chains begin, never
 * the order of the hash space, and cursors are always on the border of a chain of
 * their time: a border of a coarser layout is one of the finer ones too, and after a
 * merge the cursor may point into the middle of a chain, which is then handed out from
 * the hash position on. So each key that stays is seen exactly once.
 *
 * Flush: the directory as a whole is set aside and freed a few segments at a time.
 *
 * Expiry: keys that have one carry the number of their slot in a heap (due.h),
 * in front of the key's bytes; the others pay nothing for it.
 *
 * Cost: 24 bytes an entry and about 12 bytes of chain head, plus the key.
 * Rejected: one table with incremental rehashing (twice the look-ups while it grows,
 * and a scan that sees keys twice); open addressing in segments (removal and scan are
 * both harder, for 4 bytes a key).
 */
#include "server/keyspace.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "server/blob.h"
#include "server/due.h"

#define CHAIN_BITS 8
#define CHAINS (1u << CHAIN_BITS)
#define SPLIT_ABOVE 256 /* keys: one a chain */
#define MERGE_BELOW 64  /* keys of two siblings together */
#define DEPTH_MAX 40    /* with CHAIN_BITS: 48 bits, what a cursor holds */
#define CURSOR_SHIFT 16
#define COLLECT_SEGMENTS 16 /* freed in one call */

struct string_value {
    size_t len;
    char data[];
};

union entry_value {
    struct yn_zset *zset;
    struct string_value *string;
    struct host_blob *blob; /* a large string */
};

struct entry {
    struct entry *next;
    union entry_value value;
    uint32_t key_len;
    uint8_t type; /* enum host_type */
    bool has_expiry;
    bool is_blob;
    uint8_t unused;
    char tail[]; /* number of the heap slot if has_expiry (size_t, unaligned); the key */
};

struct segment {
    unsigned depth;
    unsigned count;
    struct entry *chain[CHAINS];
};

/* A directory whose keys were flushed; slots before `next` are freed already. */
struct garbage {
    struct garbage *older;
    struct segment **dir;
    unsigned dir_depth;
    size_t next;
};

struct keyspace {
    struct garbage *garbage;
    struct segment **dir; /* NULL until the first key */
    unsigned dir_depth;
    size_t count;
    uint64_t seed;
    uint64_t n_expired;
    struct due_heap heap;
};

/* ---- entries ---- */

static size_t tail_offset(bool has_expiry)
{
    return has_expiry ? sizeof(size_t) : 0;
}

static struct yn_bytes entry_key(const struct entry *e)
{
    return (struct yn_bytes){e->tail + tail_offset(e->has_expiry), e->key_len};
}

static void entry_place(void *owner, size_t slot)
{
    memcpy(((struct entry *)owner)->tail, &slot, sizeof slot);
}

static size_t entry_slot(const struct entry *e)
{
    size_t slot;
    memcpy(&slot, e->tail, sizeof slot);
    return slot;
}

static struct entry *entry_new(struct yn_bytes key, bool has_expiry)
{
    size_t at = tail_offset(has_expiry);
    struct entry *e = malloc(sizeof *e + at + key.len);
    if (e == NULL)
        return NULL;
    *e = (struct entry){.key_len = (uint32_t)key.len, .has_expiry = has_expiry};
    if (key.len > 0)
        memcpy(e->tail + at, key.data, key.len);
    return e;
}

static void value_free(struct entry *e)
{
    if (e->type == HOST_ZSET)
        yn_zset_free(e->value.zset);
    else if (e->is_blob)
        host_blob_drop(e->value.blob);
    else if (e->type == HOST_STRING)
        free(e->value.string);
    e->type = HOST_NONE;
    e->is_blob = false;
}

static bool is_expired(const struct keyspace *ks, const struct entry *e, int64_t now_ms)
{
    return e->has_expiry && due_at_ms(&ks->heap, entry_slot(e)) <= now_ms;
}

/* ---- places ---- */

static uint64_t hash_of(const struct keyspace *ks, struct yn_bytes key)
{
    return XXH3_64bits_withSeed(key.data, key.len, ks->seed);
}

static size_t dir_index(const struct keyspace *ks, uint64_t hash)
{
    return ks->dir_depth == 0 ? 0 : (size_t)(hash >> (64 - ks->dir_depth));
}

static unsigned chain_index(unsigned depth, uint64_t hash)
{
    return (unsigned)((hash << depth) >> (64 - CHAIN_BITS));
}

/* The link that points to the key's entry, or to NULL at the end of its chain. The
 * directory must exist. */
static struct entry **find_link(const struct keyspace *ks, struct yn_bytes key,
                                uint64_t hash)
{
    struct segment *seg = ks->dir[dir_index(ks, hash)];
    struct entry **link = &seg->chain[chain_index(seg->depth, hash)];
    while (*link != NULL) {
        struct yn_bytes have = entry_key(*link);
        if (have.len == key.len &&
            (key.len == 0 || memcmp(have.data, key.data, key.len) == 0))
            break;
        link = &(*link)->next;
    }
    return link;
}

static struct entry *find(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    if (ks->dir == NULL)
        return NULL;
    struct entry *e = *find_link(ks, key, hash_of(ks, key));
    return e == NULL || is_expired(ks, e, now_ms) ? NULL : e;
}

/* ---- growing and shrinking ---- */

static struct segment *segment_new(unsigned depth)
{
    struct segment *seg = calloc(1, sizeof *seg);
    if (seg != NULL)
        seg->depth = depth;
    return seg;
}

static bool dir_create(struct keyspace *ks)
{
    ks->dir = malloc(sizeof(struct segment *));
    if (ks->dir == NULL)
        return false;
    ks->dir[0] = segment_new(0);
    if (ks->dir[0] == NULL) {
        free(ks->dir);
        ks->dir = NULL;
        return false;
    }
    ks->dir_depth = 0;
    return true;
}

static bool dir_double(struct keyspace *ks)
{
    size_t n = (size_t)1 << ks->dir_depth;
    struct segment **dir = malloc(2 * n * sizeof(struct segment *));
    if (dir == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        dir[2 * i] = dir[2 * i + 1] = ks->dir[i];
    free(ks->dir);
    ks->dir = dir;
    ks->dir_depth++;
    return true;
}

/* Points the directory slots of all hashes that share the first `depth` bits to seg. */
static void dir_fill(struct keyspace *ks, uint64_t hash, unsigned depth,
                     struct segment *seg)
{
    size_t n = (size_t)1 << (ks->dir_depth - depth);
    size_t first = dir_index(ks, hash) & ~(n - 1);
    for (size_t i = 0; i < n; i++)
        ks->dir[first + i] = seg;
}

static void segment_add(struct segment *seg, struct entry *e, uint64_t hash)
{
    struct entry **chain = &seg->chain[chain_index(seg->depth, hash)];
    e->next = *chain;
    *chain = e;
    seg->count++;
}

/* Splits the segment of this hash if it is too full. Without memory it just stays full:
 * chains get longer, nothing fails. */
static void split_if_full(struct keyspace *ks, uint64_t hash)
{
    struct segment *low = ks->dir[dir_index(ks, hash)];
    unsigned depth = low->depth;
    if (low->count <= SPLIT_ABOVE || depth >= DEPTH_MAX)
        return;
    if (depth == ks->dir_depth && !dir_double(ks))
        return;
    struct segment *high = segment_new(depth + 1);
    if (high == NULL)
        return;
    uint64_t bit = (uint64_t)1 << (63 - depth);
    struct segment old = *low;
    memset(low, 0, sizeof *low);
    low->depth = depth + 1;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct entry *next;
        for (struct entry *e = old.chain[i]; e != NULL; e = next) {
            next = e->next;
            uint64_t h = hash_of(ks, entry_key(e));
            segment_add((h & bit) != 0 ? high : low, e, h);
        }
    }
    dir_fill(ks, hash | bit, depth + 1, high);
}

static void chain_append(struct entry **chain, struct entry *more)
{
    while (*chain != NULL)
        chain = &(*chain)->next;
    *chain = more;
}

/* Merges the segment of this hash with its sibling if both are nearly empty. Pairs of
 * chains become one: chain i of the lower sibling goes to i/2, of the upper one to 128 +
 * i/2. */
static void merge_if_empty(struct keyspace *ks, uint64_t hash)
{
    struct segment *seg = ks->dir[dir_index(ks, hash)];
    if (seg->depth == 0 || seg->count >= MERGE_BELOW)
        return;
    uint64_t bit = (uint64_t)1 << (64 - seg->depth);
    struct segment *low = ks->dir[dir_index(ks, hash & ~bit)];
    struct segment *high = ks->dir[dir_index(ks, hash | bit)];
    if (low->depth != high->depth || low->count + high->count >= MERGE_BELOW)
        return;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct entry *chain = low->chain[i];
        low->chain[i] = NULL;
        chain_append(&low->chain[i / 2], chain);
    }
    for (unsigned i = 0; i < CHAINS; i++)
        chain_append(&low->chain[CHAINS / 2 + i / 2], high->chain[i]);
    low->count += high->count;
    low->depth--;
    dir_fill(ks, hash, low->depth, low);
    free(high);
}

/* ---- life ---- */

struct keyspace *keyspace_new(uint64_t hash_seed)
{
    struct keyspace *ks = calloc(1, sizeof *ks);
    if (ks == NULL)
        return NULL;
    ks->seed = hash_seed;
    due_init(&ks->heap, entry_place);
    return ks;
}

static void segment_free(struct segment *seg)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        struct entry *next;
        for (struct entry *e = seg->chain[i]; e != NULL; e = next) {
            next = e->next;
            value_free(e);
            free(e);
        }
    }
    free(seg);
}

/* Frees at most max segments. Returns true when all are gone, the directory too. */
static bool garbage_free_some(struct garbage *g, size_t max)
{
    size_t n_slots = (size_t)1 << g->dir_depth;
    for (size_t n = 0; n < max && g->next < n_slots; n++) {
        struct segment *seg = g->dir[g->next];
        g->next += (size_t)1 << (g->dir_depth - seg->depth);
        segment_free(seg);
    }
    if (g->next < n_slots)
        return false;
    free(g->dir);
    return true;
}

bool keyspace_collect(struct keyspace *ks)
{
    struct garbage *g = ks->garbage;
    if (g != NULL && garbage_free_some(g, COLLECT_SEGMENTS)) {
        ks->garbage = g->older;
        free(g);
    }
    return ks->garbage == NULL;
}

void keyspace_flush(struct keyspace *ks)
{
    if (ks->dir == NULL)
        return;
    struct garbage flushed = {.dir = ks->dir, .dir_depth = ks->dir_depth};
    ks->dir = NULL;
    ks->dir_depth = 0;
    ks->count = 0;
    due_clear(&ks->heap);
    if (garbage_free_some(&flushed, COLLECT_SEGMENTS))
        return;
    struct garbage *g = malloc(sizeof *g);
    if (g == NULL) { /* then all at once */
        garbage_free_some(&flushed, SIZE_MAX);
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
    keyspace_flush(ks);
    while (!keyspace_collect(ks))
        continue;
    free(ks);
}

/* ---- reading ---- */

struct host_value keyspace_find(const struct keyspace *ks, struct yn_bytes key,
                                int64_t now_ms)
{
    struct host_value value = {.type = HOST_NONE};
    const struct entry *e = find(ks, key, now_ms);
    if (e == NULL)
        return value;
    value.type = (enum host_type)e->type;
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

int64_t keyspace_expiry_ms(const struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    const struct entry *e = find(ks, key, now_ms);
    if (e == NULL)
        return -2;
    return e->has_expiry ? due_at_ms(&ks->heap, entry_slot(e)) : -1;
}

size_t keyspace_count(const struct keyspace *ks)
{
    return ks->count;
}

size_t keyspace_n_volatile(const struct keyspace *ks)
{
    return ks->heap.n;
}

int64_t keyspace_mean_ttl_ms(const struct keyspace *ks, int64_t now_ms)
{
    const size_t sample_max = 4096;
    size_t n = ks->heap.n, step = n / sample_max + 1, n_seen = 0;
    double sum_ms = 0;
    for (size_t i = 0; i < n; i += step, n_seen++) {
        int64_t left_ms = due_at_ms(&ks->heap, i) - now_ms;
        sum_ms += left_ms > 0 ? (double)left_ms : 0;
    }
    return n_seen > 0 ? (int64_t)(sum_ms / (double)n_seen) : 0;
}

uint64_t keyspace_n_expired(const struct keyspace *ks)
{
    return ks->n_expired;
}

void keyspace_reset_stats(struct keyspace *ks)
{
    ks->n_expired = 0;
}

/* Hands out the keys of one chain at or after the hash position. Returns how many. */
static size_t visit_chain(const struct keyspace *ks, const struct entry *e, uint64_t from,
                          int64_t now_ms, host_key_fn visit, void *ctx)
{
    size_t n = 0;
    for (; e != NULL; e = e->next) {
        if (is_expired(ks, e, now_ms) || hash_of(ks, entry_key(e)) < from)
            continue;
        visit(ctx, entry_key(e), (enum host_type)e->type);
        n++;
    }
    return n;
}

uint64_t keyspace_scan(const struct keyspace *ks, uint64_t cursor, size_t count,
                       int64_t now_ms, host_key_fn visit, void *ctx)
{
    if (ks->dir == NULL)
        return 0;
    uint64_t at = cursor << CURSOR_SHIFT;
    size_t seen = 0;
    /* Empty chains cost too: a sparse database must not make one call endless. */
    size_t chains_left = count > SIZE_MAX / 10 ? SIZE_MAX : 10 * (count > 0 ? count : 1);
    do {
        const struct segment *seg = ks->dir[dir_index(ks, at)];
        seen += visit_chain(ks, seg->chain[chain_index(seg->depth, at)], at, now_ms,
                            visit, ctx);
        unsigned shift = 64 - CHAIN_BITS - seg->depth;
        at = ((at >> shift) + 1) << shift;
        chains_left--;
    } while (at != 0 && seen < count && chains_left > 0);
    return at >> CURSOR_SHIFT;
}

/* ---- changing ---- */

/* Takes the entry out of its chain and frees it. */
static void remove_at(struct keyspace *ks, struct entry **link, uint64_t hash)
{
    struct entry *e = *link;
    *link = e->next;
    if (e->has_expiry)
        due_remove(&ks->heap, entry_slot(e));
    value_free(e);
    free(e);
    ks->dir[dir_index(ks, hash)]->count--;
    ks->count--;
    merge_if_empty(ks, hash);
}

bool keyspace_drop_expired(struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    if (ks->heap.n == 0)
        return false;
    uint64_t hash = hash_of(ks, key);
    struct entry **link = find_link(ks, key, hash);
    if (*link == NULL || !is_expired(ks, *link, now_ms))
        return false;
    remove_at(ks, link, hash);
    ks->n_expired++;
    return true;
}

bool keyspace_remove(struct keyspace *ks, struct yn_bytes key, int64_t now_ms)
{
    if (ks->dir == NULL || keyspace_drop_expired(ks, key, now_ms))
        return false;
    uint64_t hash = hash_of(ks, key);
    struct entry **link = find_link(ks, key, hash);
    if (*link == NULL)
        return false;
    remove_at(ks, link, hash);
    return true;
}

/* Replaces the entry by one with or without room for a heap slot. The heap itself is the
 * caller's. Returns the new entry, or NULL when out of memory. */
static struct entry *reshape(struct entry **link, bool has_expiry)
{
    struct entry *old = *link;
    struct entry *e = entry_new(entry_key(old), has_expiry);
    if (e == NULL)
        return NULL;
    e->next = old->next;
    e->value = old->value;
    e->type = old->type;
    e->is_blob = old->is_blob;
    *link = e;
    free(old);
    return e;
}

/* Moving the key to where the slot was is always possible; only the room stays. */
static void forget_slot(struct entry *e)
{
    memmove(e->tail, e->tail + sizeof(size_t), e->key_len);
    e->has_expiry = false;
}

/* Never fails. */
static bool drop_expiry(struct keyspace *ks, struct entry **link)
{
    size_t slot = entry_slot(*link);
    if (reshape(link, false) == NULL)
        forget_slot(*link);
    /* The slot still names the old entry; removing it does not look at its owner. */
    due_remove(&ks->heap, slot);
    return true;
}

static bool add_expiry(struct keyspace *ks, struct entry **link, int64_t at_ms)
{
    struct entry *e = reshape(link, true);
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
    if (ks->dir == NULL || keyspace_drop_expired(ks, key, now_ms))
        return false;
    struct entry **link = find_link(ks, key, hash_of(ks, key));
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
static bool put_expiry(struct keyspace *ks, struct entry **link, int64_t expiry_ms)
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

/* Adds an entry that has no value yet. */
static void entry_add(struct keyspace *ks, struct entry *e, uint64_t hash)
{
    segment_add(ks->dir[dir_index(ks, hash)], e, hash);
    ks->count++;
    split_if_full(ks, hash);
}

/* The entry for a key that is to get a new value: an old one, or a new one of type
 * HOST_NONE. It has the new expiry. NULL when out of memory, nothing changed. */
static struct entry *entry_for_put(struct keyspace *ks, struct yn_bytes key,
                                   int64_t expiry_ms, int64_t now_ms)
{
    if (ks->dir == NULL && !dir_create(ks))
        return NULL;
    keyspace_drop_expired(ks, key, now_ms);
    uint64_t hash = hash_of(ks, key);
    struct entry **link = find_link(ks, key, hash);
    bool is_new = *link == NULL;
    if (is_new) {
        struct entry *e = entry_new(key, false);
        if (e == NULL)
            return NULL;
        entry_add(ks, e, hash);
        link = find_link(ks, key, hash);
    }
    if (put_expiry(ks, link, expiry_ms))
        return *link;
    if (is_new)
        remove_at(ks, link, hash);
    return NULL;
}

bool keyspace_put_zset(struct keyspace *ks, struct yn_bytes key, struct yn_zset *set,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    if (e->type == HOST_ZSET && e->value.zset == set)
        return true;
    value_free(e);
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

static void entry_take_string(struct entry *e, const struct loose_string *loose)
{
    value_free(e);
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
    struct entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL) {
        loose_string_clear(&loose);
        return false;
    }
    entry_take_string(e, &loose);
    return true;
}

bool keyspace_put_blob(struct keyspace *ks, struct yn_bytes key, struct host_blob *blob,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct loose_string loose = {.is_blob = true, .value.blob = blob};
    struct entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    entry_take_string(e, &loose);
    return true;
}

/* What a put of one of several strings needs: its value, and an entry for its key. */
struct prepared_string {
    struct loose_string loose;
    struct entry *fresh; /* NULL: the key is there */
};

static bool prepare_string(struct keyspace *ks, struct yn_bytes key,
                           struct yn_bytes value, struct prepared_string *out_prepared)
{
    out_prepared->fresh = NULL;
    if (!loose_string_init(&out_prepared->loose, value))
        return false;
    if (*find_link(ks, key, hash_of(ks, key)) != NULL)
        return true;
    out_prepared->fresh = entry_new(key, false);
    if (out_prepared->fresh != NULL)
        return true;
    loose_string_clear(&out_prepared->loose);
    return false;
}

/* Cannot fail. */
static void put_prepared(struct keyspace *ks, struct yn_bytes key,
                         const struct prepared_string *prepared)
{
    uint64_t hash = hash_of(ks, key);
    struct entry **link = find_link(ks, key, hash);
    if (*link == NULL) {
        entry_add(ks, prepared->fresh, hash);
        link = find_link(ks, key, hash);
    } else {
        free(prepared->fresh);
        put_expiry(ks, link, HOST_EXPIRY_NONE);
    }
    entry_take_string(*link, &prepared->loose);
}

bool keyspace_put_strings(struct keyspace *ks, size_t n, const struct yn_bytes *pairs,
                          int64_t now_ms)
{
    if (ks->dir == NULL && !dir_create(ks))
        return false;
    struct prepared_string *prepared = malloc(n * sizeof *prepared);
    if (prepared == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        keyspace_drop_expired(ks, pairs[2 * i], now_ms);
        if (prepare_string(ks, pairs[2 * i], pairs[2 * i + 1], &prepared[i]))
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
static char *entry_grow_string(struct entry *e, size_t len)
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
    struct entry *e = entry_for_put(ks, key, HOST_EXPIRY_KEEP, now_ms);
    if (e == NULL)
        return NULL;
    bool is_new = e->type == HOST_NONE;
    char *bytes = entry_grow_string(e, len);
    if (bytes == NULL && is_new) {
        uint64_t hash = hash_of(ks, key);
        remove_at(ks, find_link(ks, key, hash), hash);
    }
    return bytes;
}

size_t keyspace_expire(struct keyspace *ks, size_t max, int64_t now_ms)
{
    size_t n = 0;
    while (n < max) {
        const struct entry *e = due_first(&ks->heap, now_ms);
        if (e == NULL)
            break;
        uint64_t hash = hash_of(ks, entry_key(e));
        remove_at(ks, find_link(ks, entry_key(e), hash), hash);
        ks->n_expired++;
        n++;
    }
    return n;
}

/* ---- check ---- */

static const char *check_segment(const struct keyspace *ks, size_t first,
                                 size_t *n_volatile)
{
    const struct segment *seg = ks->dir[first];
    size_t n = 0;
    for (unsigned c = 0; c < CHAINS; c++) {
        for (const struct entry *e = seg->chain[c]; e != NULL; e = e->next) {
            uint64_t hash = hash_of(ks, entry_key(e));
            if (ks->dir[dir_index(ks, hash)] != seg || chain_index(seg->depth, hash) != c)
                return "key in a wrong chain";
            if (e->type != HOST_ZSET && e->type != HOST_STRING)
                return "key without a value";
            if (e->has_expiry) {
                size_t slot = entry_slot(e);
                if (slot >= ks->heap.n || ks->heap.n_chunks == 0)
                    return "heap slot out of range";
                *n_volatile += 1;
            }
            n++;
        }
    }
    return n == seg->count ? NULL : "wrong count of a segment";
}

const char *keyspace_check(const struct keyspace *ks)
{
    size_t n_slots = ks->dir == NULL ? 0 : (size_t)1 << ks->dir_depth;
    size_t n = 0, n_volatile = 0;
    for (size_t i = 0; i < n_slots;) {
        const struct segment *seg = ks->dir[i];
        if (seg->depth > ks->dir_depth)
            return "segment deeper than the directory";
        size_t width = (size_t)1 << (ks->dir_depth - seg->depth);
        for (size_t k = 0; k < width; k++) {
            if (ks->dir[i + k] != seg)
                return "directory slots of a segment differ";
        }
        const char *wrong = check_segment(ks, i, &n_volatile);
        if (wrong != NULL)
            return wrong;
        n += seg->count;
        i += width;
    }
    if (n != ks->count)
        return "wrong count of keys";
    return n_volatile == ks->heap.n ? NULL : "wrong count of keys with an expiry";
}
