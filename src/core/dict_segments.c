/*
 * dict_segments.c: the main table of a dictionary, and how it grows: a small segment is
 * put into a larger one, a full one splits, and every fourth time its tags are made anew
 * from the members in the tree. dict.c tells what entries and tags are.
 */
#include "core/dict_parts.h"

#include <assert.h>

/* ---- directory ---- */

bool yn_dict_start(struct directory *dir, struct yn_mem *mem, void *segment)
{
    dir->segment = yn_mem_take(mem, sizeof *dir->segment);
    if (dir->segment == NULL)
        return false;
    dir->segment[0] = segment;
    dir->depth = 0;
    return true;
}

bool yn_dict_double(struct directory *dir, struct yn_mem *mem)
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

void yn_dict_set_upper(struct directory *dir, uint64_t hash, int depth, void *upper)
{
    size_t span = (size_t)1 << (dir->depth - depth);
    size_t first = (slot_of(depth, hash) | 1) << (dir->depth - depth);
    for (size_t i = 0; i < span; i++)
        dir->segment[first + i] = upper;
}

/* ---- segments ---- */

/* The buckets are a block of their own, of a size that allocators have without waste. */
static size_t buckets_size(int bits)
{
    return ((size_t)1 << bits) * SLOTS * sizeof(uint64_t);
}

void yn_dict_segment_free(struct yn_mem *mem, struct segment *segment)
{
    yn_mem_give(mem, segment->bucket, buckets_size(segment->bits));
    yn_mem_give(mem, segment, sizeof *segment);
}

struct segment *yn_dict_segment_new(struct yn_mem *mem, int depth, int tag_depth,
                                    int bits)
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

/* ---- growing ---- */

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
                     yn_dict_side_add(r->dict, r->mem, hash,
                                      yn_key_of_score((double)r->code)) == YN_OK)
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
        struct segment *segment = yn_dict_segment_new(mem, old->depth, old->depth, bits);
        if (segment == NULL)
            return false;
        struct refresh r = {.dict = dict, .mem = mem, .segment = old, .into = segment};
        refresh_walk(&r, view);
        if (!r.has_failed) {
            dict->main.segment[0] = segment;
            yn_dict_segment_free(mem, old);
            return true;
        }
        yn_dict_segment_free(mem, segment); /* unlucky: larger still */
    }
    return false;
}

static bool segment_split(struct yn_dict *dict, struct yn_mem *mem,
                          const struct yn_view *view, struct segment *segment,
                          uint64_t hash)
{
    if (segment->depth - segment->tag_depth == WINDOW)
        segment_refresh(dict, mem, view, segment);
    if (segment->depth == dict->main.depth && !yn_dict_double(&dict->main, mem))
        return false;
    struct segment *upper =
        yn_dict_segment_new(mem, segment->depth + 1, segment->tag_depth, segment->bits);
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
    yn_dict_set_upper(&dict->main, hash, segment->depth, upper);
    return true;
}

enum yn_status yn_dict_main_add(struct yn_dict *dict, struct yn_mem *mem,
                                const struct yn_view *view, uint64_t hash, uint64_t code)
{
    if (dict->main.segment == NULL) {
        struct segment *segment = yn_dict_segment_new(mem, 0, 0, BUCKET_BITS_MIN);
        if (segment == NULL)
            return YN_ENOMEM;
        if (!yn_dict_start(&dict->main, mem, segment)) {
            yn_dict_segment_free(mem, segment);
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
            return yn_dict_side_add(dict, mem, hash, yn_key_of_score((double)code));
        bool is_grown = segment->bits < YN_DICT_BUCKET_BITS_MAX
                            ? segment_enlarge(dict, mem, view, segment)
                            : segment_split(dict, mem, view, segment, hash);
        if (!is_grown)
            return YN_ENOMEM;
    }
}
