/*
 * dict.c: an extendible hash table of eight-byte entries.
 *
 * Main table. The top bits of the hash choose a segment through a directory; a
 * segment has up to 256 buckets of eight entries, one cache line each. An entry
 * stands in one of two buckets: b1 from the low bits of the hash, or b2 = b1 ^
 * f(tag), so that it can move between the two without its hash (partial-key
 * cuckoo hashing; Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014). A full
 * segment splits in two, alone: growth has no stop.
 *
 * A split needs one more bit of each hash, which an entry does not hold whole.
 * The tag is therefore two parts: eight fixed bits, and a window of the next four
 * directory bits after `tag_depth`, so four splits in a row only read tags. Every
 * fourth time the segment's hashes are made anew from the members in the
 * tree ("refresh"). Over its life an entry is refreshed N/15 times.
 *
 * Side table: (hash, key), 16 bytes, linear probing in segments that split the
 * same way, without refresh. For scores that are no cells; and for members of
 * crowded cells, since a refresh has to look at every member of a cell. A
 * member never goes from the side table back to the main one while it lives,
 * so that a scan (main, then side) misses none.
 *
 * Rejected: pointers to leaves (every split of a leaf would touch them); whole
 * hashes in the entry (12 bytes, half as much again); rehashing all at once
 * (seconds at 60 million members).
 *
 * HOT: yn_dict_find: two cache lines here, then the descent.
 */
#include "core/dict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef YN_DICT_BUCKET_BITS_MAX
#define YN_DICT_BUCKET_BITS_MAX \
    8 /* 256 buckets: 16 KB a segment, refreshed in a millisecond */
#endif
#define BUCKET_BITS_MIN 2
#define SLOTS 8
#define DEPTH_MAX 32 /* so that a scan cursor fits 53 bits */
#define WINDOW 4     /* directory bits held in a tag */
#define CODE_MASK (((uint64_t)1 << 52) - 1)
#define CROWD 512 /* members of one cell that a refresh walks before it moves them */
#define SIDE_BITS_MAX 10 /* 1024 entries a side segment */
#define SIDE_BITS_MIN 4

#define MAIN_SLOTS (((size_t)1 << YN_DICT_BUCKET_BITS_MAX) * SLOTS)
#define SIDE_SLOTS ((size_t)1 << SIDE_BITS_MAX)
#define GENERATIONS 64 /* told apart by scan cursors */

struct segment {
    uint8_t depth;     /* directory bits that lead here */
    uint8_t tag_depth; /* the tags' window starts at this directory bit */
    uint8_t bits;      /* 2^bits buckets */
    uint32_t n;
    uint64_t (*bucket)[SLOTS]; /* a cache line each where the allocator aligns so */
};

struct side_entry {
    uint64_t hash;
    uint64_t key; /* 0: empty; no score has key 0 (it would be a NaN) */
};

struct side_segment {
    uint8_t depth;
    uint8_t bits;
    uint32_t n;
    struct side_entry entry[];
};

struct directory {
    void **segment; /* 2^depth pointers */
    int depth;
};

struct yn_dict {
    uint64_t seed;
    struct directory main, side; /* segment NULL: no entries yet */
    size_t n_main, n_side;
    unsigned generation; /* see "scan" */
    const struct yn_entry
        *limit; /* while it is built: entries from here on are not in it */
};

/* ---- directory ---- */

static size_t slot_of(int depth, uint64_t hash)
{
    return depth == 0 ? 0 : hash >> (64 - depth);
}

static void *directory_find(const struct directory *dir, uint64_t hash)
{
    return dir->segment[slot_of(dir->depth, hash)];
}

static bool directory_start(struct directory *dir, struct yn_mem *mem, void *segment)
{
    dir->segment = yn_mem_take(mem, sizeof *dir->segment);
    if (dir->segment == NULL)
        return false;
    dir->segment[0] = segment;
    dir->depth = 0;
    return true;
}

static bool directory_double(struct directory *dir, struct yn_mem *mem)
{
    size_t n = (size_t)1 << dir->depth;
    void **twice = yn_mem_take(mem, 2 * n * sizeof *twice);
    if (twice == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        twice[2 * i] = twice[2 * i + 1] = dir->segment[i];
    yn_mem_give(mem, dir->segment, n * sizeof *twice);
    dir->segment = twice;
    dir->depth++;
    return true;
}

/* Points the upper half of a segment's directory range, now of depth `depth`, to `upper`.
 */
static void directory_set_upper(struct directory *dir, uint64_t hash, int depth,
                                void *upper)
{
    size_t span = (size_t)1 << (dir->depth - depth);
    size_t first = (slot_of(depth, hash) | 1) << (dir->depth - depth);
    for (size_t i = 0; i < span; i++)
        dir->segment[first + i] = upper;
}

/* ---- segments of the main table ---- */

/* The buckets are a block of their own, of a size that allocators have without waste. */
static size_t buckets_size(int bits)
{
    return ((size_t)1 << bits) * SLOTS * sizeof(uint64_t);
}

static void segment_free(struct yn_mem *mem, struct segment *segment)
{
    yn_mem_give(mem, segment->bucket, buckets_size(segment->bits));
    yn_mem_give(mem, segment, sizeof *segment);
}

static struct segment *segment_new(struct yn_mem *mem, int depth, int tag_depth, int bits)
{
    struct segment *segment = yn_mem_take(mem, sizeof *segment);
    if (segment == NULL)
        return NULL;
    *segment = (struct segment){.depth = (uint8_t)depth,
                                .tag_depth = (uint8_t)tag_depth,
                                .bits = (uint8_t)bits,
                                .bucket = yn_mem_take(mem, buckets_size(bits))};
    if (segment->bucket == NULL) {
        yn_mem_give(mem, segment, sizeof *segment);
        return NULL;
    }
    memset(segment->bucket, 0, buckets_size(bits));
    return segment;
}

static uint64_t tag_fixed(uint64_t hash)
{
    uint64_t fixed = hash >> YN_DICT_BUCKET_BITS_MAX & 0xff;
    return fixed == 0 ? 1 : fixed; /* a used entry is never 0 */
}

static uint64_t tag_of(uint64_t hash, int tag_depth)
{
    return (hash << tag_depth) >> (64 - WINDOW) << 8 | tag_fixed(hash);
}

static uint64_t entry_of(uint64_t hash, int tag_depth, uint64_t code)
{
    return tag_of(hash, tag_depth) << 52 | code;
}

static size_t bucket_mask(const struct segment *segment)
{
    return ((size_t)1 << segment->bits) - 1;
}

/* The other bucket of an entry that stands in bucket b. Its own inverse. */
static size_t bucket_other(const struct segment *segment, size_t b, uint64_t tag)
{
    return b ^ (((tag & 0xff) * 0x5bd1 | 1) & bucket_mask(segment));
}

static size_t bucket_first(const struct segment *segment, uint64_t hash)
{
    return hash & bucket_mask(segment);
}

static int bucket_find(const struct segment *segment, size_t b, uint64_t entry)
{
    for (int i = 0; i < SLOTS; i++)
        if (segment->bucket[b][i] == entry)
            return i;
    return -1;
}

static uint64_t *segment_find(const struct segment *segment, uint64_t hash, uint64_t code)
{
    uint64_t entry = entry_of(hash, segment->tag_depth, code);
    size_t b = bucket_first(segment, hash);
    for (int pass = 0; pass < 2; pass++) {
        int i = bucket_find(segment, b, entry);
        if (i >= 0)
            return &segment->bucket[b][i];
        b = bucket_other(segment, b, entry >> 52);
    }
    return NULL;
}

static bool bucket_put(struct segment *segment, size_t b, uint64_t entry)
{
    int i = bucket_find(segment, b, 0);
    if (i < 0)
        return false;
    segment->bucket[b][i] = entry;
    return true;
}

/* Makes room in bucket b by sending one of its entries to its other bucket, or, with
 * `steps` left, to where another makes room for it. */
static bool bucket_make_room(struct segment *segment, size_t b, int steps)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t entry = segment->bucket[b][i];
        size_t other = bucket_other(segment, b, entry >> 52);
        if (other != b && bucket_put(segment, other, entry)) {
            segment->bucket[b][i] = 0;
            return true;
        }
    }
    for (int i = 0; steps > 0 && i < SLOTS; i++) {
        uint64_t entry = segment->bucket[b][i];
        size_t other = bucket_other(segment, b, entry >> 52);
        if (other == b || !bucket_make_room(segment, other, steps - 1))
            continue;
        /* the way there may have touched this bucket too: look again */
        int at = bucket_find(segment, b, entry);
        if (at >= 0 && bucket_put(segment, other, entry))
            segment->bucket[b][at] = 0;
        if (bucket_find(segment, b, 0) >= 0)
            return true;
    }
    return false;
}

static bool segment_put(struct segment *segment, uint64_t hash, uint64_t code)
{
    uint64_t entry = entry_of(hash, segment->tag_depth, code);
    size_t b1 = bucket_first(segment, hash);
    size_t b2 = bucket_other(segment, b1, entry >> 52);
    if (bucket_put(segment, b1, entry) || bucket_put(segment, b2, entry) ||
        (bucket_make_room(segment, b1, 1) && bucket_put(segment, b1, entry)) ||
        (bucket_make_room(segment, b2, 1) && bucket_put(segment, b2, entry))) {
        segment->n++;
        return true;
    }
    return false;
}

/* ---- the side table ---- */

static size_t side_size(int bits)
{
    return sizeof(struct side_segment) + ((size_t)1 << bits) * sizeof(struct side_entry);
}

static struct side_segment *side_new(struct yn_mem *mem, int depth, int bits)
{
    struct side_segment *side = yn_mem_take(mem, side_size(bits));
    if (side == NULL)
        return NULL;
    memset(side, 0, side_size(bits));
    side->depth = (uint8_t)depth;
    side->bits = (uint8_t)bits;
    return side;
}

static void side_put(struct side_segment *side, uint64_t hash, uint64_t key)
{
    size_t mask = ((size_t)1 << side->bits) - 1, i = hash & mask;
    while (side->entry[i].key != 0)
        i = (i + 1) & mask;
    side->entry[i] = (struct side_entry){hash, key};
    side->n++;
}

static struct side_entry *side_find(const struct yn_dict *dict, uint64_t hash,
                                    uint64_t key)
{
    if (dict->side.segment == NULL)
        return NULL;
    struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash && side->entry[i].key == key)
            return &side->entry[i];
    return NULL;
}

static bool is_in_side(const struct yn_dict *dict, uint64_t hash, uint64_t key)
{
    return dict->n_side > 0 && side_find(dict, hash, key) != NULL;
}

/* Closes the gap at entry i: later entries of the run move up when their home allows it.
 */
static void side_erase(struct side_segment *side, size_t i)
{
    size_t mask = ((size_t)1 << side->bits) - 1, gap = i;
    side->n--;
    for (i = (i + 1) & mask; side->entry[i].key != 0; i = (i + 1) & mask) {
        size_t home = side->entry[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            side->entry[gap] = side->entry[i];
            gap = i;
        }
    }
    side->entry[gap] = (struct side_entry){0, 0};
}

/* Puts a larger segment, or two, in the place of a full one. */
static bool side_grow(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash)
{
    struct side_segment *old = directory_find(&dict->side, hash);
    bool is_split = old->bits >= SIDE_BITS_MAX && old->depth < DEPTH_MAX;
    int depth = old->depth + is_split, bits = old->bits + !is_split;
    if (is_split && old->depth == dict->side.depth && !directory_double(&dict->side, mem))
        return false;
    struct side_segment *lower = side_new(mem, depth, bits);
    struct side_segment *upper = is_split ? side_new(mem, depth, bits) : NULL;
    if (lower == NULL || (is_split && upper == NULL)) {
        if (lower != NULL)
            yn_mem_give(mem, lower, side_size(bits));
        return false;
    }
    for (size_t i = 0; i < (size_t)1 << old->bits; i++) {
        const struct side_entry *entry = &old->entry[i];
        if (entry->key != 0)
            side_put(is_split && entry->hash >> (64 - depth) & 1 ? upper : lower,
                     entry->hash, entry->key);
    }
    size_t first = slot_of(old->depth, hash) << (dict->side.depth - old->depth);
    for (size_t i = 0; i < (size_t)1 << (dict->side.depth - old->depth); i++)
        dict->side.segment[first + i] = lower;
    if (is_split)
        directory_set_upper(&dict->side, hash, depth, upper);
    yn_mem_give(mem, old, side_size(old->bits));
    return true;
}

static enum yn_status side_add(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                               uint64_t key)
{
    if (dict->side.segment == NULL) {
        struct side_segment *side = side_new(mem, 0, SIDE_BITS_MIN);
        if (side == NULL)
            return YN_ENOMEM;
        if (!directory_start(&dict->side, mem, side)) {
            yn_mem_give(mem, side, side_size(SIDE_BITS_MIN));
            return YN_ENOMEM;
        }
    }
    struct side_segment *side = directory_find(&dict->side, hash);
    while (side->n + 1 > ((size_t)13 << side->bits) / 16) {
        if (!side_grow(dict, mem, hash))
            return YN_ENOMEM;
        side = directory_find(&dict->side, hash);
    }
    side_put(side, hash, key);
    dict->n_side++;
    return YN_OK;
}

static void side_remove(struct yn_dict *dict, struct side_entry *entry)
{
    struct side_segment *side = directory_find(&dict->side, entry->hash);
    side_erase(side, (size_t)(entry - side->entry));
    dict->n_side--;
}

/* ---- growing the main table ---- */

/* A walk over the members of one cell, for a refresh. */
struct refresh {
    struct yn_dict *dict;
    struct yn_mem *mem;
    struct segment *segment;
    struct segment *into; /* grow: the larger segment; else NULL: tags change in place */
    uint64_t code;
    uint64_t done[MAIN_SLOTS / 64 + 1]; /* a bit for each slot that is refreshed */
    size_t n_walked, n_done;
    bool has_failed;
};

/* Whether (code, member) stands at or after the entry. */
static bool is_from(const struct yn_entry *entry, uint64_t code, struct yn_bytes member)
{
    uint64_t key = yn_key_of_score((double)code), limit = yn_key_of_score(entry->score);
    return key > limit || (key == limit && yn_bytes_compare(member, entry->member) >= 0);
}

static bool refresh_member(void *ctx, struct yn_bytes member)
{
    struct refresh *r = ctx;
    uint64_t hash = yn_dict_hash(r->dict, member);
    struct segment *segment = r->segment;
    r->n_walked++;
    if (r->dict->limit != NULL && is_from(r->dict->limit, r->code, member))
        return false;
    if (directory_find(&r->dict->main, hash) != segment ||
        is_in_side(r->dict, hash, yn_key_of_score((double)r->code)))
        return true;
    uint64_t old = entry_of(hash, segment->tag_depth, r->code);
    size_t b = bucket_first(segment, hash);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < SLOTS; i++) {
            size_t at = b * SLOTS + i;
            if (segment->bucket[b][i] != old || r->done[at / 64] >> at % 64 & 1)
                continue;
            if (r->into != NULL)
                r->has_failed |= !segment_put(r->into, hash, r->code);
            else if (r->n_walked > CROWD &&
                     side_add(r->dict, r->mem, hash, yn_key_of_score((double)r->code)) ==
                         YN_OK)
                segment->bucket[b][i] = 0;
            else
                segment->bucket[b][i] = entry_of(hash, segment->depth, r->code);
            r->done[at / 64] |= (uint64_t)1 << at % 64;
            r->n_done++;
            return true;
        }
        b = bucket_other(segment, b, old >> 52);
    }
    return true;
}

/* Asks for the leaves of the entries in YN_AHEAD_MAX slots. */
static void prefetch_slots(const struct segment *segment, size_t first,
                           const struct yn_view *view)
{
    uint64_t keys[YN_AHEAD_MAX];
    size_t n = 0;
    for (size_t at = first; at < first + YN_AHEAD_MAX; at++) {
        uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
        if (entry != 0)
            keys[n++] = yn_key_of_score((double)(entry & CODE_MASK));
    }
    struct yn_place places[YN_AHEAD_MAX];
    yn_tree_seek_many(view, keys, n, places);
}

/* Visits the members behind all entries of r->segment. */
static void refresh_walk(struct refresh *r, const struct yn_view *view)
{
    struct segment *segment = r->segment;
    size_t n_slots = (bucket_mask(segment) + 1) * SLOTS;
    memset(r->done, 0, sizeof r->done);
    for (size_t at = 0; at < n_slots; at++) {
        if (at % YN_AHEAD_MAX == 0) /* the members of a segment lie anywhere */
            prefetch_slots(segment, at, view);
        uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
        if (entry == 0 || r->done[at / 64] >> at % 64 & 1)
            continue;
        r->code = entry & CODE_MASK;
        r->n_walked = 0;
        yn_tree_visit_key(view, yn_key_of_score((double)r->code), refresh_member, r);
        assert(r->done[at / 64] >> at % 64 & 1);
    }
}

/* Starts the window of the tags anew at the segment's depth. */
static void segment_refresh(struct yn_dict *dict, struct yn_mem *mem,
                            const struct yn_view *view, struct segment *segment)
{
    size_t side_before = dict->n_side;
    struct refresh r = {.dict = dict, .mem = mem, .segment = segment};
    refresh_walk(&r, view);
    segment->tag_depth = segment->depth;
    segment->n -= (uint32_t)(dict->n_side - side_before);
    dict->n_main -= dict->n_side - side_before;
}

/* Doubles the buckets of the only segment, which is still small. */
static bool segment_enlarge(struct yn_dict *dict, struct yn_mem *mem,
                            const struct yn_view *view, struct segment *old)
{
    for (int bits = old->bits + 1; bits <= YN_DICT_BUCKET_BITS_MAX; bits++) {
        struct segment *segment = segment_new(mem, old->depth, old->depth, bits);
        if (segment == NULL)
            return false;
        struct refresh r = {.dict = dict, .mem = mem, .segment = old, .into = segment};
        refresh_walk(&r, view);
        if (!r.has_failed) {
            dict->main.segment[0] = segment;
            segment_free(mem, old);
            return true;
        }
        segment_free(mem, segment); /* unlucky: larger still */
    }
    return false;
}

static bool segment_split(struct yn_dict *dict, struct yn_mem *mem,
                          const struct yn_view *view, struct segment *segment,
                          uint64_t hash)
{
    if (segment->depth - segment->tag_depth == WINDOW)
        segment_refresh(dict, mem, view, segment);
    if (segment->depth == dict->main.depth && !directory_double(&dict->main, mem))
        return false;
    struct segment *upper =
        segment_new(mem, segment->depth + 1, segment->tag_depth, segment->bits);
    if (upper == NULL)
        return false;
    int bit = 52 + 8 + WINDOW - 1 - (segment->depth - segment->tag_depth);
    for (size_t at = 0; at < (bucket_mask(segment) + 1) * SLOTS; at++) {
        uint64_t *entry = &segment->bucket[at / SLOTS][at % SLOTS];
        if (*entry != 0 && *entry >> bit & 1) {
            upper->bucket[at / SLOTS][at % SLOTS] = *entry;
            *entry = 0;
            segment->n--;
            upper->n++;
        }
    }
    segment->depth++;
    directory_set_upper(&dict->main, hash, segment->depth, upper);
    return true;
}

static enum yn_status main_add(struct yn_dict *dict, struct yn_mem *mem,
                               const struct yn_view *view, uint64_t hash, uint64_t code)
{
    if (dict->main.segment == NULL) {
        struct segment *segment = segment_new(mem, 0, 0, BUCKET_BITS_MIN);
        if (segment == NULL)
            return YN_ENOMEM;
        if (!directory_start(&dict->main, mem, segment)) {
            segment_free(mem, segment);
            return YN_ENOMEM;
        }
    }
    while (true) {
        struct segment *segment = directory_find(&dict->main, hash);
        if (segment_put(segment, hash, code)) {
            dict->n_main++;
            return YN_OK;
        }
        /* many members with one tag in one bucket, which no split parts */
        if (segment->bits == YN_DICT_BUCKET_BITS_MAX &&
            (segment->depth == DEPTH_MAX || segment->n < (bucket_mask(segment) + 1) * 2))
            return side_add(dict, mem, hash, yn_key_of_score((double)code));
        bool is_grown = segment->bits < YN_DICT_BUCKET_BITS_MAX
                            ? segment_enlarge(dict, mem, view, segment)
                            : segment_split(dict, mem, view, segment, hash);
        if (!is_grown)
            return YN_ENOMEM;
    }
}

/* ---- interface ---- */

struct yn_dict *yn_dict_new(struct yn_mem *mem, uint64_t seed, unsigned generation)
{
    struct yn_dict *dict = yn_mem_take(mem, sizeof *dict);
    if (dict != NULL)
        *dict = (struct yn_dict){.seed = seed, .generation = generation % GENERATIONS};
    return dict;
}

void yn_dict_free(struct yn_mem *mem, struct yn_dict *dict)
{
    if (dict == NULL)
        return;
    for (size_t i = 0; dict->main.segment != NULL && i < (size_t)1 << dict->main.depth;) {
        struct segment *segment = dict->main.segment[i];
        i += (size_t)1 << (dict->main.depth - segment->depth);
        segment_free(mem, segment);
    }
    for (size_t i = 0; dict->side.segment != NULL && i < (size_t)1 << dict->side.depth;) {
        struct side_segment *side = dict->side.segment[i];
        i += (size_t)1 << (dict->side.depth - side->depth);
        yn_mem_give(mem, side, side_size(side->bits));
    }
    yn_mem_give(mem, dict->main.segment, sizeof(void *) << dict->main.depth);
    yn_mem_give(mem, dict->side.segment, sizeof(void *) << dict->side.depth);
    yn_mem_give(mem, dict, sizeof *dict);
}

uint64_t yn_dict_hash(const struct yn_dict *dict, struct yn_bytes member)
{
    return XXH3_64bits_withSeed(member.len > 0 ? member.data : "", member.len,
                                dict->seed);
}

size_t yn_dict_count(const struct yn_dict *dict)
{
    return dict->n_main + dict->n_side;
}

/* Finds the member at another key than `except` (0: none is excepted). */
static bool find_except(const struct yn_dict *dict, const struct yn_view *view,
                        struct yn_bytes member, uint64_t hash, uint64_t except,
                        struct yn_path *out_path)
{
    if (dict->main.segment != NULL) {
        const struct segment *segment = directory_find(&dict->main, hash);
        uint64_t tag = tag_of(hash, segment->tag_depth);
        size_t b = bucket_first(segment, hash);
        __builtin_prefetch(segment->bucket[bucket_other(segment, b, tag)]);
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < SLOTS; i++) {
                uint64_t entry = segment->bucket[b][i];
                if (entry >> 52 != tag)
                    continue;
                uint64_t key = yn_key_of_score((double)(entry & CODE_MASK));
                if (key != except && yn_tree_find_entry(view, key, member, out_path))
                    return true;
            }
            b = bucket_other(segment, b, tag);
        }
    }
    if (dict->n_side == 0)
        return false;
    const struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash && side->entry[i].key != except &&
            yn_tree_find_entry(view, side->entry[i].key, member, out_path))
            return true;
    return false;
}

bool yn_dict_find(const struct yn_dict *dict, const struct yn_view *view,
                  struct yn_bytes member, uint64_t hash, struct yn_path *out_path)
{
    return find_except(dict, view, member, hash, 0, out_path);
}

/* ---- many at once ---- */

/* Where in a bucket an entry with this tag stands, or -1. */
static int bucket_find_tag(const struct segment *segment, size_t b, uint64_t tag)
{
    for (int i = 0; i < SLOTS; i++)
        if (segment->bucket[b][i] >> 52 == tag)
            return i;
    return -1;
}

/* The key that the side table has for a hash; 0: none. */
static uint64_t side_key(const struct yn_dict *dict, uint64_t hash)
{
    const struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash)
            return side->entry[i].key;
    return 0;
}

/* The keys that the main table has for these hashes, by their tags; 0: none. Each step
 * asks for what the next one reads, for all of them. */
static void main_keys(const struct yn_dict *dict, const uint64_t *hashes, size_t n,
                      uint64_t *out_keys)
{
    const struct segment *segment[YN_AHEAD_MAX];
    uint64_t tag[YN_AHEAD_MAX];
    for (size_t i = 0; i < n; i++) {
        segment[i] = directory_find(&dict->main, hashes[i]);
        __builtin_prefetch(segment[i]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t b = bucket_first(segment[i], hashes[i]);
        tag[i] = tag_of(hashes[i], segment[i]->tag_depth);
        __builtin_prefetch(segment[i]->bucket[b]);
        __builtin_prefetch(segment[i]->bucket[bucket_other(segment[i], b, tag[i])]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t b = bucket_first(segment[i], hashes[i]);
        int at = bucket_find_tag(segment[i], b, tag[i]);
        if (at < 0) {
            b = bucket_other(segment[i], b, tag[i]);
            at = bucket_find_tag(segment[i], b, tag[i]);
        }
        out_keys[i] =
            at < 0 ? 0 : yn_key_of_score((double)(segment[i]->bucket[b][at] & CODE_MASK));
    }
}

/* The keys at which these members probably stand; 0 for one that neither table knows. A
 * key from the side table is almost certainly right: it has the whole hash. */
static void probable_keys(const struct yn_dict *dict, const struct yn_bytes *members,
                          size_t n, uint64_t *out_keys)
{
    uint64_t hashes[YN_AHEAD_MAX];
    for (size_t i = 0; i < n; i++) {
        hashes[i] = yn_dict_hash(dict, members[i]);
        out_keys[i] = 0;
    }
    if (dict->main.segment != NULL)
        main_keys(dict, hashes, n, out_keys);
    if (dict->n_side == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (out_keys[i] == 0)
            __builtin_prefetch(directory_find(&dict->side, hashes[i]));
    for (size_t i = 0; i < n; i++) {
        const struct side_segment *side = directory_find(&dict->side, hashes[i]);
        if (out_keys[i] == 0)
            __builtin_prefetch(&side->entry[hashes[i] & (((size_t)1 << side->bits) - 1)]);
    }
    for (size_t i = 0; i < n; i++)
        if (out_keys[i] == 0)
            out_keys[i] = side_key(dict, hashes[i]);
}

/* Removes the zeros from n keys; out_index tells where the others were. */
static size_t squeeze_keys(uint64_t *keys, size_t n, size_t *out_index)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        if (keys[i] == 0)
            continue;
        keys[n_left] = keys[i];
        out_index[n_left++] = i;
    }
    return n_left;
}

static bool is_member_at(const struct yn_place *place, struct yn_bytes member)
{
    return place->i < place->leaf->head.n &&
           yn_bytes_compare(yn_leaf_member(place->leaf, place->i), member) == 0;
}

void yn_dict_find_many(const struct yn_dict *dict, const struct yn_view *view,
                       const struct yn_bytes *members, size_t n, double *out_scores)
{
    uint64_t keys[YN_AHEAD_MAX];
    size_t index[YN_AHEAD_MAX];
    struct yn_place places[YN_AHEAD_MAX];
    struct yn_path path;
    bool is_found[YN_AHEAD_MAX] = {false};
    const uint64_t zero = yn_key_of_score(0);
    probable_keys(dict, members, n, keys);
    size_t n_keys = squeeze_keys(keys, n, index);
    yn_tree_seek_many(view, keys, n_keys, places);
    for (size_t k = 0; k < n_keys; k++) {
        size_t i = index[k];
        is_found[i] = is_member_at(&places[k], members[i]);
        if (is_found[i]) /* a key says all of a score, but for the sign of a zero */
            out_scores[i] = keys[k] == zero ? yn_leaf_score(places[k].leaf, places[k].i)
                                            : yn_score_of_key(keys[k]);
    }
    /* others with its tag, members that share its cell, or nothing */
    for (size_t i = 0; i < n; i++) {
        if (!is_found[i])
            out_scores[i] = yn_dict_find(dict, view, members[i],
                                         yn_dict_hash(dict, members[i]), &path)
                                ? yn_leaf_score(path.leaf, path.i)
                                : (double)NAN;
    }
}

void yn_dict_probable_keys(const struct yn_dict *dict, const struct yn_bytes *members,
                           size_t n, uint64_t *keys)
{
    uint64_t found[YN_AHEAD_MAX];
    probable_keys(dict, members, n, found);
    for (size_t i = 0; i < n; i++)
        keys[i] = found[i] != 0 ? found[i] : keys[i];
}

enum yn_status yn_dict_add(struct yn_dict *dict, struct yn_mem *mem,
                           const struct yn_view *view, uint64_t hash, double score,
                           bool prefer_side)
{
    uint64_t code;
    if (!prefer_side && yn_score_is_cell(score, &code))
        return main_add(dict, mem, view, hash, code);
    return side_add(dict, mem, hash, yn_key_of_score(score));
}

/* The entry of a member in the main table, or NULL. */
static uint64_t *main_find(const struct yn_dict *dict, uint64_t hash, double score)
{
    uint64_t code;
    if (dict->main.segment == NULL || !yn_score_is_cell(score, &code))
        return NULL;
    return segment_find(directory_find(&dict->main, hash), hash, code);
}

void yn_dict_remove(struct yn_dict *dict, uint64_t hash, double score)
{
    /* side first: entries there have the whole hash, so none of another member can be
     * taken for this one. In the main table two members with the same tag, code and
     * buckets have equal entries, and either may go. */
    struct side_entry *side = side_find(dict, hash, yn_key_of_score(score));
    if (side != NULL) {
        side_remove(dict, side);
        return;
    }
    uint64_t *entry = main_find(dict, hash, score);
    assert(entry != NULL);
    *entry = 0;
    dict->n_main--;
    ((struct segment *)directory_find(&dict->main, hash))->n--;
}

/* Asks for what a look-up of these hashes in either table reads first. */
static void prefetch_hashes(const struct yn_dict *dict, const uint64_t *hashes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dict->main.segment != NULL)
            __builtin_prefetch(directory_find(&dict->main, hashes[i]));
        if (dict->side.segment != NULL)
            __builtin_prefetch(directory_find(&dict->side, hashes[i]));
    }
    for (size_t i = 0; i < n; i++) {
        if (dict->main.segment != NULL) {
            const struct segment *segment = directory_find(&dict->main, hashes[i]);
            size_t b = bucket_first(segment, hashes[i]);
            __builtin_prefetch(segment->bucket[b]);
            __builtin_prefetch(
                segment->bucket[bucket_other(segment, b, tag_fixed(hashes[i]))]);
        }
        if (dict->side.segment != NULL) {
            const struct side_segment *side = directory_find(&dict->side, hashes[i]);
            size_t mask = ((size_t)1 << side->bits) - 1;
            __builtin_prefetch(&side->entry[hashes[i] & mask]);
        }
    }
}

void yn_dict_remove_many(struct yn_dict *dict, const struct yn_entry *entries, size_t n)
{
    uint64_t hashes[YN_AHEAD_MAX];
    assert(n <= YN_AHEAD_MAX);
    for (size_t i = 0; i < n; i++)
        hashes[i] = yn_dict_hash(dict, entries[i].member);
    prefetch_hashes(dict, hashes, n);
    for (size_t i = 0; i < n; i++)
        yn_dict_remove(dict, hashes[i], entries[i].score);
}

enum yn_status yn_dict_move(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                            double old_score, double score, bool prefer_side)
{
    uint64_t code;
    struct side_entry *side = side_find(dict, hash, yn_key_of_score(old_score));
    if (side != NULL) {
        side->key = yn_key_of_score(score);
        return YN_OK;
    }
    uint64_t *entry = main_find(dict, hash, old_score);
    assert(entry != NULL);
    if (!prefer_side && yn_score_is_cell(score, &code)) {
        *entry = (*entry & ~CODE_MASK) | code;
        return YN_OK;
    }
    if (side_add(dict, mem, hash, yn_key_of_score(score)) != YN_OK)
        return YN_ENOMEM;
    *entry = 0;
    dict->n_main--;
    ((struct segment *)directory_find(&dict->main, hash))->n--;
    return YN_OK;
}

/* ---- building ---- */

/*
 * A dictionary for a tree that is there already: all segments are made at once, as many
 * as the entries fill, so that none is ever refreshed; then the entries are added in the
 * order of the tree, some at a time, with the buckets asked for early. A segment that
 * gets more than it holds splits, as it always does: making more at the start would be a
 * little faster and take up to twice the memory.
 */

/* The leaves around a place in the tree. */
struct leaf_walk {
    struct yn_cursor cursor; /* in the leaf that comes next */
    const struct yn_leaf *before, *leaf, *after;
};

static const struct yn_leaf *cursor_leaf(const struct yn_cursor *cursor)
{
    return cursor->depth < 0 ? NULL : cursor->node[cursor->depth];
}

static void walk_next(struct leaf_walk *walk)
{
    walk->before = walk->leaf;
    walk->leaf = walk->after;
    if (walk->after != NULL) {
        struct yn_cursor *cursor = &walk->cursor;
        cursor->slot[cursor->depth] = (uint16_t)(walk->after->head.n - 1);
        yn_cursor_next(cursor);
        walk->after = cursor_leaf(cursor);
    }
}

static void walk_start(struct leaf_walk *walk, const struct yn_view *view)
{
    yn_cursor_seek(&walk->cursor, view, 0);
    walk->before = walk->leaf = NULL;
    walk->after = cursor_leaf(&walk->cursor);
    walk_next(walk);
}

/* The key of which a leaf is full, or 0. */
static uint64_t crowd_of(const struct yn_leaf *leaf)
{
    if (leaf == NULL || leaf->head.n < YN_LEAF_ENTRIES_MIN)
        return 0;
    uint64_t key = yn_leaf_key(leaf, 0);
    return yn_leaf_key(leaf, leaf->head.n - 1u) == key ? key : 0;
}

/* How many entries the tables are likely to get. */
static void count_tables(const struct yn_view *view, size_t *out_main, size_t *out_side)
{
    struct leaf_walk walk;
    *out_main = *out_side = 0;
    for (walk_start(&walk, view); walk.leaf != NULL; walk_next(&walk)) {
        size_t n = walk.leaf->head.n, n_cells = 0;
        uint64_t code;
        if (crowd_of(walk.leaf) == 0 && walk.leaf->head.format != YN_LEAF_GENERAL)
            n_cells = n;
        else if (crowd_of(walk.leaf) == 0)
            for (size_t i = 0; i < n; i++)
                n_cells += yn_score_is_cell(yn_leaf_score(walk.leaf, i), &code);
        *out_main += n_cells;
        *out_side += n - n_cells;
    }
}

/* Frees the first n segments of a directory that is not complete, and the directory. */
static void directory_give_up(struct directory *dir, struct yn_mem *mem, size_t n,
                              bool is_main)
{
    while (n-- > 0) {
        struct side_segment *side = dir->segment[n];
        if (is_main)
            segment_free(mem, dir->segment[n]);
        else
            yn_mem_give(mem, side, side_size(side->bits));
    }
    yn_mem_give(mem, dir->segment, sizeof(void *) << dir->depth);
    *dir = (struct directory){.segment = NULL};
}

/* Makes the segments of an empty table for n entries. */
static enum yn_status reserve(struct directory *dir, struct yn_mem *mem, size_t n,
                              bool is_main)
{
    size_t full = is_main ? MAIN_SLOTS : SIDE_SLOTS;
    int bits = is_main ? BUCKET_BITS_MIN : SIDE_BITS_MIN;
    int bits_max = is_main ? YN_DICT_BUCKET_BITS_MAX : SIDE_BITS_MAX;
    if (n == 0)
        return YN_OK;
    while (bits < bits_max && n > full >> (bits_max - bits))
        bits++;
    while (dir->depth < DEPTH_MAX && n >> dir->depth > full)
        dir->depth++;
    dir->segment = yn_mem_take(mem, sizeof(void *) << dir->depth);
    if (dir->segment == NULL) {
        dir->depth = 0;
        return YN_ENOMEM;
    }
    for (size_t i = 0; i < (size_t)1 << dir->depth; i++) {
        dir->segment[i] = is_main ? (void *)segment_new(mem, dir->depth, dir->depth, bits)
                                  : (void *)side_new(mem, dir->depth, bits);
        if (dir->segment[i] == NULL) {
            directory_give_up(dir, mem, i, is_main);
            return YN_ENOMEM;
        }
    }
    return YN_OK;
}

/* Adds entries from..from+n-1 of the walk's leaf. */
static enum yn_status add_entries(struct yn_dict *dict, struct yn_mem *mem,
                                  const struct yn_view *view,
                                  const struct leaf_walk *walk, size_t from, size_t n)
{
    uint64_t hashes[YN_AHEAD_MAX];
    uint64_t crowds[] = {crowd_of(walk->before), crowd_of(walk->leaf),
                         crowd_of(walk->after)};
    for (size_t i = 0; i < n; i++)
        hashes[i] = yn_dict_hash(dict, yn_leaf_member(walk->leaf, from + i));
    prefetch_hashes(dict, hashes, n);
    enum yn_status status = YN_OK;
    for (size_t i = 0; status == YN_OK && i < n; i++) {
        struct yn_entry entry = {yn_leaf_member(walk->leaf, from + i),
                                 yn_leaf_score(walk->leaf, from + i)};
        uint64_t key = yn_key_of_score(entry.score);
        struct yn_path path;
        /* the tree holds the entry itself already: look for another one */
        if (find_except(dict, view, entry.member, hashes[i], key, &path))
            return YN_EEXIST;
        dict->limit = &entry;
        status = yn_dict_add(dict, mem, view, hashes[i], entry.score,
                             key == crowds[0] || key == crowds[1] || key == crowds[2]);
        dict->limit = NULL;
    }
    return status;
}

enum yn_status yn_dict_build(struct yn_dict *dict, struct yn_mem *mem,
                             const struct yn_view *view)
{
    size_t n_main, n_side;
    count_tables(view, &n_main, &n_side);
    enum yn_status status = reserve(&dict->main, mem, n_main, true);
    if (status == YN_OK)
        status = reserve(&dict->side, mem, n_side, false);
    struct leaf_walk walk;
    for (walk_start(&walk, view); status == YN_OK && walk.leaf != NULL;
         walk_next(&walk)) {
        size_t n = walk.leaf->head.n;
        for (size_t from = 0; status == YN_OK && from < n; from += YN_AHEAD_MAX)
            status = add_entries(dict, mem, view, &walk, from,
                                 n - from < YN_AHEAD_MAX ? n - from : YN_AHEAD_MAX);
    }
    return status;
}

/* ---- scan ---- */

/*
 * A scan goes through the main table and then through the side table, each in an order
 * that growth keeps: by directory prefix, and in a segment by owner. The owner of an
 * entry is the lower one of its two buckets (side: its home), which does not change when
 * it is sent from one to the other. A cursor holds table, prefix, owner and the segment's
 * size: if that has changed, the segment is scanned again from its start. It also holds
 * the dictionary's generation: in a new dictionary a member may be in the other table, so
 * the scan starts anew.
 *
 * Entries say which cells to walk, and members of those cells are handed out if they are
 * of the group that is visited. Where cells are crowded that is many members looked at
 * for one handed out, so groups grow until the walks are worth it: up to whole runs of
 * segments, for which each cell is walked once.
 */
struct place {
    int table;           /* 0: main, 1: side */
    unsigned bits;       /* of the segment at `prefix`; 0: not known */
    uint64_t owner;      /* next owner */
    unsigned generation; /* of the dictionary */
    uint64_t prefix;     /* top 32 bits of the hash */
};

#define PREFIX_END ((uint64_t)1 << 32)
#define OWNER_END UINT64_MAX
/* As many members are looked at for one handed out, at most, if that many groups a call
 * can get there. */
#define WALKS_PER_HIT 64
#define GROUPS_MAX 4

_Static_assert(SIDE_BITS_MAX <= 10 && YN_DICT_BUCKET_BITS_MAX <= 10,
               "an owner takes ten bits of a cursor");

static struct place place_of(uint64_t cursor)
{
    return (struct place){.table = (int)(cursor & 1),
                          .bits = cursor >> 1 & 15,
                          .owner = cursor >> 5 & 0x3ff,
                          .generation = cursor >> 15 & (GENERATIONS - 1),
                          .prefix = cursor >> 21 & (PREFIX_END - 1)};
}

static uint64_t cursor_of(const struct place *place)
{
    return place->prefix << 21 | (uint64_t)place->generation << 15 | place->owner << 5 |
           (uint64_t)place->bits << 1 | (uint64_t)place->table;
}

#define SEGMENT_SLOTS (MAIN_SLOTS > SIDE_SLOTS ? MAIN_SLOTS : SIDE_SLOTS)
#define KEYS_MAX (2 * SEGMENT_SLOTS)

struct scan {
    const struct yn_dict *dict;
    const struct yn_view *view;
    struct place place;
    /* the group visited: owners [place.owner, owner_end) of the segments with prefixes
     * [place.prefix, prefix_end) */
    uint64_t owner_end, prefix_end;
    uint64_t keys[KEYS_MAX]; /* of its entries, once each */
    size_t n_keys;
    uint64_t key; /* being visited */
    size_t n_walked, n_visited;
    yn_scan_fn visit;
    void *ctx;
};

static bool is_owner_visited(const struct scan *scan, uint64_t owner)
{
    return owner >= scan->place.owner && owner < scan->owner_end;
}

static uint64_t main_owner(const struct segment *segment, size_t b, uint64_t tag)
{
    size_t other = bucket_other(segment, b, tag);
    return b < other ? b : other;
}

static uint64_t owner_of(const struct scan *scan, uint64_t hash)
{
    if (scan->place.table == 0) {
        const struct segment *segment = directory_find(&scan->dict->main, hash);
        return main_owner(segment, bucket_first(segment, hash), tag_fixed(hash));
    }
    const struct side_segment *side = directory_find(&scan->dict->side, hash);
    return hash & (((size_t)1 << side->bits) - 1);
}

static bool scan_member(void *ctx, struct yn_bytes member)
{
    struct scan *scan = ctx;
    uint64_t hash = yn_dict_hash(scan->dict, member), prefix = hash >> 32;
    scan->n_walked++;
    if (prefix < scan->place.prefix || prefix >= scan->prefix_end ||
        !is_owner_visited(scan, owner_of(scan, hash)) ||
        is_in_side(scan->dict, hash, scan->key) != (scan->place.table == 1))
        return true;
    struct yn_path path;
    yn_tree_find(scan->view, scan->key, member, &path);
    scan->visit(scan->ctx, member, yn_leaf_score(path.leaf, path.i));
    scan->n_visited++;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds the keys of a segment's entries whose owners are visited. */
static void collect_keys(struct scan *scan, const void *any_segment)
{
    if (scan->place.table == 1) {
        const struct side_segment *side = any_segment;
        size_t mask = ((size_t)1 << side->bits) - 1;
        for (size_t i = 0; i <= mask; i++)
            if (side->entry[i].key != 0 &&
                is_owner_visited(scan, side->entry[i].hash & mask))
                scan->keys[scan->n_keys++] = side->entry[i].key;
    } else {
        const struct segment *segment = any_segment;
        for (size_t at = 0; at < (bucket_mask(segment) + 1) * SLOTS; at++) {
            uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
            if (entry != 0 &&
                is_owner_visited(scan, main_owner(segment, at / SLOTS, entry >> 52)))
                scan->keys[scan->n_keys++] = yn_key_of_score((double)(entry & CODE_MASK));
        }
    }
    if (scan->n_keys == 0)
        return;
    qsort(scan->keys, scan->n_keys, sizeof scan->keys[0], compare_keys);
    size_t n = 1;
    for (size_t i = 1; i < scan->n_keys; i++)
        if (scan->keys[i] != scan->keys[n - 1])
            scan->keys[n++] = scan->keys[i];
    scan->n_keys = n;
}

/* What a scan has to know of a segment of either table. */
struct extent {
    const void *segment;
    unsigned bits;
    size_t n;
    uint64_t end; /* of its prefixes */
};

static struct extent extent_of(const struct scan *scan, uint64_t prefix)
{
    struct extent extent;
    unsigned depth;
    if (scan->place.table == 0) {
        const struct segment *segment = directory_find(&scan->dict->main, prefix << 32);
        extent = (struct extent){segment, segment->bits, segment->n, 0};
        depth = segment->depth;
    } else {
        const struct side_segment *side = directory_find(&scan->dict->side, prefix << 32);
        extent = (struct extent){side, side->bits, side->n, 0};
        depth = side->depth;
    }
    uint64_t span = PREFIX_END >> depth;
    extent.end = prefix / span * span + span;
    return extent;
}

/* Chooses a group of about `wanted` entries at the scan's place, and collects its keys.
 */
static void choose_group(struct scan *scan, size_t wanted)
{
    struct place *place = &scan->place;
    struct extent extent = extent_of(scan, place->prefix);
    if (place->bits != extent.bits)
        place->owner = 0;
    place->bits = extent.bits;
    scan->n_keys = 0;
    scan->prefix_end = extent.end;
    if (place->owner > 0 || extent.n > wanted) {
        uint64_t n_owners = ((uint64_t)wanted << extent.bits) / (extent.n + 1) + 1;
        scan->owner_end = place->owner + n_owners;
        collect_keys(scan, extent.segment);
        return;
    }
    scan->owner_end = OWNER_END;
    size_t n = extent.n;
    collect_keys(scan, extent.segment);
    while (scan->prefix_end < PREFIX_END && scan->n_keys <= KEYS_MAX - SEGMENT_SLOTS) {
        extent = extent_of(scan, scan->prefix_end);
        if (n + extent.n > wanted)
            break;
        n += extent.n;
        collect_keys(scan, extent.segment);
        scan->prefix_end = extent.end;
    }
}

/* Visits one group; moves the place on. Returns false at the end. */
static bool scan_step(struct scan *scan, size_t wanted)
{
    struct place *place = &scan->place;
    const struct directory *dir =
        place->table == 0 ? &scan->dict->main : &scan->dict->side;
    scan->prefix_end = PREFIX_END;
    if (dir->segment != NULL) {
        choose_group(scan, wanted);
        for (size_t i = 0; i < scan->n_keys; i++) {
            scan->key = scan->keys[i];
            yn_tree_visit_key(scan->view, scan->key, scan_member, scan);
        }
        place->owner = scan->owner_end;
        if (place->owner < (uint64_t)1 << place->bits)
            return true;
    }
    place->owner = 0;
    place->bits = 15; /* of the next segment: not known, but a cursor is never 0 */
    place->prefix = scan->prefix_end;
    if (place->prefix < PREFIX_END)
        return true;
    place->prefix = 0;
    return place->table++ == 0;
}

uint64_t yn_dict_scan(const struct yn_dict *dict, const struct yn_view *view,
                      uint64_t cursor, size_t count, yn_scan_fn visit, void *ctx)
{
    struct scan scan; /* large: the keys are set when they are collected */
    scan.dict = dict;
    scan.view = view;
    scan.place = place_of(cursor);
    scan.n_walked = scan.n_visited = 0;
    scan.visit = visit;
    scan.ctx = ctx;
    if (scan.place.generation != dict->generation)
        scan.place = (struct place){.generation = dict->generation};
    if (count > (size_t)1 << 30)
        count = (size_t)1 << 30;
    size_t wanted = count;
    for (int n_groups = 1; scan_step(&scan, wanted); n_groups++) {
        size_t worth = scan.n_walked / WALKS_PER_HIT;
        if (scan.n_visited >= count &&
            (scan.n_visited >= worth || n_groups >= GROUPS_MAX))
            return cursor_of(&scan.place);
        /* twice, since the next group's walks will have to be worth it too */
        wanted = worth > count ? 2 * worth : count;
    }
    return 0;
}

/* ---- check ---- */

static const char *check_segment(const struct segment *segment,
                                 const struct directory *dir)
{
    size_t n = 0;
    if (segment->depth > dir->depth || segment->tag_depth > segment->depth ||
        segment->depth - segment->tag_depth > WINDOW)
        return "dictionary: depth of a segment is wrong";
    for (size_t at = 0; at < (bucket_mask(segment) + 1) * SLOTS; at++) {
        uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
        n += entry != 0;
        if (entry != 0 && (entry >> 52 & 0xff) == 0)
            return "dictionary: entry without a tag";
    }
    return n == segment->n ? NULL : "dictionary: count of a segment is wrong";
}

const char *yn_dict_check(const struct yn_dict *dict)
{
    size_t n_main = 0, n_side = 0;
    for (size_t i = 0; dict->main.segment != NULL && i < (size_t)1 << dict->main.depth;) {
        const struct segment *segment = dict->main.segment[i];
        const char *wrong = check_segment(segment, &dict->main);
        if (wrong != NULL)
            return wrong;
        n_main += segment->n;
        size_t span = (size_t)1 << (dict->main.depth - segment->depth);
        for (size_t k = 0; k < span; k++)
            if (i % span != 0 || dict->main.segment[i + k] != segment)
                return "dictionary: directory is wrong";
        i += span;
    }
    for (size_t i = 0; dict->side.segment != NULL && i < (size_t)1 << dict->side.depth;) {
        const struct side_segment *side = dict->side.segment[i];
        size_t n = 0;
        for (size_t k = 0; k < (size_t)1 << side->bits; k++)
            n += side->entry[k].key != 0;
        if (n != side->n)
            return "dictionary: count of a side segment is wrong";
        n_side += n;
        i += (size_t)1 << (dict->side.depth - side->depth);
    }
    if (n_main != dict->n_main || n_side != dict->n_side)
        return "dictionary: count is wrong";
    return NULL;
}
