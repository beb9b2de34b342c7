/*
 * hits.c: results many at a time, with their distances.
 *
 * For a reply that shows distances the work per result is small, so the ways between
 * the layers would cost as much as the work. Here results are handed out in batches: the
 * distances of a leaf are measured together (measure.c), one pass without branches rounds
 * them to what is printed and marks those that might be rounded wrongly, and only these
 * are computed exactly. Where a leaf lies in the shape as a whole nothing is copied: the
 * distances are handed out as they were measured.
 *
 * HOT: all of it. Guarded by the outlet-georadius-withdist benchmark.
 */
#include "core/search.h"

/* Measuring a whole leaf pays from about so many of its entries on. */
#define MEASURE_MIN 8

/* Entry i of a leaf that may hold long members. */
static struct yn_bytes wire_of(const struct yn_leaf *leaf, size_t i)
{
    struct yn_bytes entry = yn_leaf_entry(leaf, i);
    if (leaf->n_long > 0 && yn_entry_is_long(entry.data)) {
        const struct yn_long *block = yn_entry_long(entry.data);
        entry = (struct yn_bytes){block->wire, block->wire_len};
    }
    return entry;
}

/* The members of n entries from `first` on. */
static void find_run(const struct yn_leaf *leaf, size_t first, size_t n,
                     struct yn_bytes *out_wires)
{
    if (leaf->n_long > 0) {
        for (size_t k = 0; k < n; k++)
            out_wires[k] = wire_of(leaf, first + k);
        return;
    }
    const char *wires = yn_leaf_wires(leaf);
    size_t at = yn_leaf_offset(leaf, first);
    if (leaf->entry_len != 0) {
        for (size_t k = 0; k < n; k++, at += leaf->entry_len)
            out_wires[k] = (struct yn_bytes){wires + at, leaf->entry_len};
        return;
    }
    const char *offsets = yn_leaf_offsets(leaf) + 2 * (first + 1);
    size_t n_plain = first + n < leaf->head.n ? n : n - 1; /* the last one has no next */
    for (size_t k = 0; k < n_plain; k++) {
        uint16_t next;
        memcpy(&next, offsets + 2 * k, sizeof next);
        out_wires[k] = (struct yn_bytes){wires + at, next - at};
        at = next;
    }
    if (n_plain < n)
        out_wires[n_plain] = (struct yn_bytes){wires + at, leaf->wire_len - at};
}

/* The numbers of the next hits of a mask, from entry i on. Moves i behind them. */
static size_t take_masked(const uint64_t *mask, size_t last, size_t *i,
                          uint8_t *out_numbers)
{
    size_t n = 0, at = *i;
    while (at < last && n < YN_HITS_MAX) {
        uint64_t word = mask[at / 64] >> at % 64;
        if (word == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        /* the mask may go on with the entries of another pick of the leaf */
        if (last - at < 64)
            word &= ((uint64_t)1 << (last - at)) - 1;
        if (word == 0)
            break;
        for (size_t first = at; word != 0 && n < YN_HITS_MAX; word &= word - 1) {
            at = first + (size_t)__builtin_ctzll(word);
            out_numbers[n++] = (uint8_t)at++;
        }
    }
    *i = at;
    return n;
}

/* The next entries of the plan, of one leaf: numbers[0] to [n - 1] or, when
 * *out_is_run, as many from numbers[0] on. Returns their number. */
static size_t take(struct yn_search *search, const struct yn_leaf **out_leaf,
                   uint8_t *out_numbers, bool *out_is_run)
{
    for (; search->at_pick < search->n_picks; search->at_pick++, search->at_entry = 0) {
        const struct yn_pick *pick = &search->picks[search->at_pick];
        size_t i = search->at_entry > pick->first ? search->at_entry : pick->first, n = 0;
        *out_leaf = pick->leaf;
        *out_is_run = pick->mask == YN_PICK_ALL;
        if (*out_is_run && i < pick->last) {
            n = pick->last - i < YN_HITS_MAX ? pick->last - i : YN_HITS_MAX;
            out_numbers[0] = (uint8_t)i;
            i += n;
        } else if (!*out_is_run) {
            n = take_masked(search->masks + pick->mask, pick->last, &i, out_numbers);
        }
        search->at_entry = i;
        if (n > 0)
            return n;
    }
    return 0;
}

/* Number of the k-th of the entries that were taken. */
static inline size_t number_of(const uint8_t *numbers, bool is_run, size_t k)
{
    return is_run ? numbers[0] + k : numbers[k];
}

static void next_planned(struct yn_search *search, struct yn_hits *out)
{
    yn_region_settle_center(&search->region);
    struct yn_point center = search->region.shape.center;
    uint8_t numbers[YN_HITS_MAX];
    const struct yn_leaf *leaf = NULL;
    bool is_run = false;
    size_t n = out->n = take(search, &leaf, numbers, &is_run);
    if (n == 0)
        return;
    if (is_run) {
        find_run(leaf, numbers[0], n, search->hit_wire);
    } else {
        for (size_t k = 0; k < n; k++)
            search->hit_wire[k] = wire_of(leaf, numbers[k]);
    }
    if (search->parts_per_m <= 0 || (n < MEASURE_MIN && search->measured != leaf)) {
        for (size_t k = 0; k < n; k++)
            search->hit_m[k] =
                yn_leaf_distance_m(leaf, number_of(numbers, is_run, k), center);
        return;
    }
    yn_search_measure(search, leaf, 0);
    double *distance_m = search->hit_m;
    if (is_run) {
        distance_m = search->measured_m + numbers[0];
    } else {
        for (size_t k = 0; k < n; k++)
            distance_m[k] = search->measured_m[numbers[k]];
    }
    out->distance_m = distance_m;
    out->parts = search->hit_parts;
    if (yn_kernel()->round(distance_m, n, search->parts_per_m, search->hit_parts))
        return;
    for (size_t k = 0; k < n; k++) {
        if (search->hit_parts[k] == YN_PARTS_OPEN)
            distance_m[k] =
                yn_leaf_distance_m(leaf, number_of(numbers, is_run, k), center);
    }
}

static void next_ranked(struct yn_search *search, struct yn_hits *out)
{
    bool is_exact = search->parts_per_m <= 0;
    const struct yn_ranked *ranked = search->ranked + search->at_ranked;
    size_t n = search->n_ranked - search->at_ranked;
    if (n > YN_HITS_MAX)
        n = YN_HITS_MAX;
    out->n = n;
    search->at_ranked += n;
    for (size_t k = 0; k < n; k++) {
        search->hit_wire[k] = wire_of(ranked[k].leaf, ranked[k].i);
        search->hit_m[k] = ranked[k].distance_m;
    }
    if (!is_exact) {
        out->parts = search->hit_parts;
        if (yn_kernel()->round(search->hit_m, n, search->parts_per_m, search->hit_parts))
            return;
    }
    for (size_t k = 0; k < n; k++) {
        if (is_exact || search->hit_parts[k] == YN_PARTS_OPEN)
            search->hit_m[k] = yn_leaf_distance_m(ranked[k].leaf, ranked[k].i,
                                                  search->region.shape.center);
    }
}

bool yn_search_next_hits(struct yn_search *search, struct yn_hits *out_hits)
{
    *out_hits = (struct yn_hits){0, search->hit_wire, search->hit_m, NULL};
    if (search->is_ranked)
        next_ranked(search, out_hits);
    else
        next_planned(search, out_hits);
    return out_hits->n > 0;
}
