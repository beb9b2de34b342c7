/*
 * combine_parts.h: what combining sets is made of, for the files that do it:
 *
 *     combine.c        union, intersection, difference, counting
 *     combine_cost.c   how long that will take
 */
#ifndef YN_COMBINE_PARTS_H
#define YN_COMBINE_PARTS_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/join.h"
#include "core/refs.h"
#include "core/zset.h"

#define BATCH YN_AHEAD_MAX

/* ---- sources ---- */

/* A source: what is read, and, unless that is frozen, its set, where members are looked
 * up. */
struct part {
    const struct yn_view *view; /* NULL: an empty one */
    const struct yn_zset *set;
    double weight;
};

static inline size_t count_of(const struct part *source)
{
    return source->view == NULL ? 0 : source->view->count;
}

static inline struct part part_of(const struct yn_combination *how, size_t i)
{
    const struct yn_source *source = &how->sources[i];
    struct part part = {.weight = source->weight};
    if (source->set == NULL)
        return part;
    part.set = how->views == NULL ? source->set : NULL;
    part.view = how->views == NULL ? yn_zset_view(source->set) : how->views[i];
    return part;
}

/* Whether two sources are one set. */
static inline bool are_same(const struct part *a, const struct part *b)
{
    return a->view->tree == b->view->tree;
}

/* ---- the table ---- */

struct table {
    uint64_t *slots; /* upper half of the hash, number of the ref + 1; 0: free */
    size_t n_slots;  /* a power of two */
    uint64_t seed;
};

/* A table for n refs. False: out of memory, or too many for their numbers. */
static inline bool table_init(struct table *table, struct yn_mem *mem, size_t n,
                              uint64_t seed)
{
    table->n_slots = 16;
    table->seed = seed;
    while (table->n_slots < 2 * n)
        table->n_slots *= 2;
    table->slots = NULL;
    if (n < UINT32_MAX)
        table->slots = yn_mem_take(mem, table->n_slots * sizeof *table->slots);
    if (table->slots == NULL)
        return false;
    memset(table->slots, 0, table->n_slots * sizeof *table->slots);
    return true;
}

static inline void table_clear(struct table *table, struct yn_mem *mem)
{
    yn_mem_give(mem, table->slots, table->n_slots * sizeof *table->slots);
    table->slots = NULL;
}

static inline uint64_t hash_of(const struct table *table, struct yn_bytes member)
{
    return XXH3_64bits_withSeed(member.len > 0 ? member.data : "", member.len,
                                table->seed);
}

static inline void table_add(struct table *table, uint64_t hash, size_t ref)
{
    size_t mask = table->n_slots - 1, i = hash & mask;
    while (table->slots[i] != 0)
        i = (i + 1) & mask;
    table->slots[i] = hash >> 32 << 32 | (uint64_t)(ref + 1);
}

#define NO_REF SIZE_MAX

static inline bool is_member(const struct yn_ref *ref, struct yn_bytes member)
{
    struct yn_bytes at = yn_ref_member(ref->entry);
    return at.len == member.len &&
           (at.len == 0 || memcmp(at.data, member.data, at.len) == 0);
}

/* The number of the member's ref, or NO_REF. Without a member: of the first whose hash is
 * like it. */
static inline size_t table_find(const struct table *table, const struct yn_ref *refs,
                                uint64_t hash, const struct yn_bytes *member)
{
    size_t mask = table->n_slots - 1;
    for (size_t i = hash & mask; table->slots[i] != 0; i = (i + 1) & mask) {
        size_t ref = (table->slots[i] & UINT32_MAX) - 1;
        if (table->slots[i] >> 32 == hash >> 32 &&
            (member == NULL || is_member(&refs[ref], *member)))
            return ref;
    }
    return NO_REF;
}

/* Finds n members side by side. */
static inline void table_find_many(const struct table *table, const struct yn_ref *refs,
                                   const struct yn_bytes *members, const uint64_t *hashes,
                                   size_t n, size_t *out_refs)
{
    for (size_t i = 0; i < n; i++) {
        out_refs[i] = table_find(table, refs, hashes[i], NULL);
        if (out_refs[i] != NO_REF)
            __builtin_prefetch(&refs[out_refs[i]]);
    }
    for (size_t i = 0; i < n; i++)
        if (out_refs[i] != NO_REF)
            __builtin_prefetch(refs[out_refs[i]].entry);
    for (size_t i = 0; i < n; i++)
        if (out_refs[i] != NO_REF)
            out_refs[i] = table_find(table, refs, hashes[i], &members[i]);
}

/* ---- reading a source ---- */

/* Some entries of a leaf, one after the other. */
struct batch {
    size_t n;
    const char *entries[BATCH];
    struct yn_bytes members[BATCH];
    double scores[BATCH];
};

static inline void start_reading(struct yn_cursor *cursor, const struct yn_view *view)
{
    yn_cursor_seek(cursor, view, 0);
}

/* Reads the entries from the cursor on, and moves it behind them. False: there are none.
 */
static inline bool read_batch(struct yn_cursor *cursor, struct batch *batch)
{
    if (cursor->depth < 0)
        return false;
    const struct yn_leaf *leaf = cursor->node[cursor->depth];
    size_t from = cursor->slot[cursor->depth], n = leaf->head.n - from;
    batch->n = n < BATCH ? n : BATCH;
    for (size_t i = 0; i < batch->n; i++) {
        struct yn_bytes entry = yn_leaf_entry(leaf, from + i);
        batch->entries[i] = entry.data;
        batch->members[i] = yn_entry_member(entry.data, entry.len);
        batch->scores[i] = yn_leaf_score(leaf, from + i);
    }
    cursor->slot[cursor->depth] = (uint16_t)(from + batch->n - 1);
    yn_cursor_next(cursor);
    return true;
}

/* Hashes of a batch's members; what the table holds for them is asked for. */
static inline void hash_batch(const struct table *table, const struct batch *batch,
                              uint64_t *out_hashes)
{
    for (size_t i = 0; i < batch->n; i++) {
        out_hashes[i] = hash_of(table, batch->members[i]);
        __builtin_prefetch(&table->slots[out_hashes[i] & (table->n_slots - 1)]);
    }
}

#endif
