/*
 * hits.c: results many at a time, with their distances.
 *
 * For a reply that shows distances the work per result is small, so the ways between
 * the layers would cost as much as the work. Here results are handed out in batches: the
 * distances of a leaf are measured together (measure.c), those that might be printed
 * wrongly are found in one pass without branches, and only these are computed exactly.
 *
 * HOT: all of it. Guarded by the outlet-georadius-withdist benchmark.
 */
#include <math.h>

#include "core/search.h"

/* Measuring a whole leaf pays from about so many of its entries on. */
#define MEASURE_MIN 8

/* From here on a double has no quarters, which nearest_integer needs. */
#define PARTS_MAX 0x1p50

/* The nearest integer of a number in [0, PARTS_MAX]: the sum has no bits for a fraction.
 */
static inline double nearest_integer(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* Distances within the slack of distance k may be printed in different ways, because its
 * ten-thousandths lie near the middle between two: unless out_off[k] < 0.5. */
static void measure_off(const double *distance_m, size_t n, double unit_m,
                        double *out_off)
{
    double slack_scale = 10000 / unit_m * (1 + 1e-9);
    for (size_t k = 0; k < n; k++) {
        double parts = distance_m[k] / unit_m * 10000;
        double slack = yn_distance_slack_m(distance_m[k]) * slack_scale + parts * 1e-15;
        double off = fabs(parts - nearest_integer(parts)) + slack;
        out_off[k] = parts < PARTS_MAX ? off : 1;
    }
}

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

/* The numbers of the next hits of a pick, from entry i on. Moves i behind them. */
static size_t take_hits(const struct yn_search *search, const struct yn_pick *pick,
                        size_t *i, uint8_t *out_numbers)
{
    size_t n = 0, at = *i;
    if (pick->mask == YN_PICK_ALL) {
        for (; at < pick->last && n < YN_HITS_MAX; at++)
            out_numbers[n++] = (uint8_t)at;
        *i = at;
        return n;
    }
    const uint64_t *mask = search->masks + pick->mask;
    while (at < pick->last && n < YN_HITS_MAX) {
        uint64_t word = mask[at / 64] >> at % 64;
        if (word == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        at += (size_t)__builtin_ctzll(word);
        if (at >= pick->last) /* the mask may go on with another pick's */
            break;
        out_numbers[n++] = (uint8_t)at++;
    }
    *i = at;
    return n;
}

/* The numbers of the next hits of one pick. */
static size_t take_pick(struct yn_search *search, const struct yn_leaf **out_leaf,
                        uint8_t *out_numbers)
{
    size_t n = 0;
    while (n == 0 && search->at_pick < search->n_picks) {
        const struct yn_pick *pick = &search->picks[search->at_pick];
        size_t i = search->at_entry > pick->first ? search->at_entry : pick->first;
        n = take_hits(search, pick, &i, out_numbers);
        *out_leaf = pick->leaf;
        search->at_entry = i;
        if (n == 0) {
            search->at_pick++;
            search->at_entry = 0;
        }
    }
    return n;
}

/* The members with these numbers. */
static void find_wires(const struct yn_leaf *leaf, const uint8_t *numbers, size_t n,
                       struct yn_bytes *out_wires)
{
    if (leaf->entry_len != 0 && leaf->n_long == 0) {
        const char *wires = yn_leaf_wires(leaf);
        size_t len = leaf->entry_len;
        for (size_t k = 0; k < n; k++)
            out_wires[k] = (struct yn_bytes){wires + numbers[k] * len, len};
        return;
    }
    for (size_t k = 0; k < n; k++)
        out_wires[k] = wire_of(leaf, numbers[k]);
}

static size_t next_planned(struct yn_search *search)
{
    double unit_m = search->query.rounding_unit_m;
    yn_region_settle_center(&search->region);
    struct yn_point center = search->region.shape.center;
    uint8_t numbers[YN_HITS_MAX];
    double off[YN_HITS_MAX];
    const struct yn_leaf *leaf = NULL;
    size_t n = take_pick(search, &leaf, numbers);
    if (n == 0)
        return 0;
    find_wires(leaf, numbers, n, search->hit_wire);
    if (unit_m <= 0 || (n < MEASURE_MIN && search->measured != leaf)) {
        for (size_t k = 0; k < n; k++)
            search->hit_m[k] = yn_leaf_distance_m(leaf, numbers[k], center);
        return n;
    }
    yn_search_measure(search, leaf, 0);
    for (size_t k = 0; k < n; k++)
        search->hit_m[k] = search->measured_m[numbers[k]];
    measure_off(search->hit_m, n, unit_m, off);
    for (size_t k = 0; k < n; k++) {
        if (!(off[k] < 0.5))
            search->hit_m[k] = yn_leaf_distance_m(leaf, numbers[k], center);
    }
    return n;
}

static size_t next_ranked(struct yn_search *search)
{
    double unit_m = search->query.rounding_unit_m;
    double off[YN_HITS_MAX];
    const struct yn_ranked *ranked = search->ranked + search->at_ranked;
    size_t n = search->n_ranked - search->at_ranked;
    if (n > YN_HITS_MAX)
        n = YN_HITS_MAX;
    search->at_ranked += n;
    for (size_t k = 0; k < n; k++) {
        search->hit_wire[k] = wire_of(ranked[k].leaf, ranked[k].i);
        search->hit_m[k] = ranked[k].distance_m;
    }
    if (unit_m > 0)
        measure_off(search->hit_m, n, unit_m, off);
    for (size_t k = 0; k < n; k++) {
        if (unit_m <= 0 || !(off[k] < 0.5))
            search->hit_m[k] = yn_leaf_distance_m(ranked[k].leaf, ranked[k].i,
                                                  search->region.shape.center);
    }
    return n;
}

bool yn_search_next_hits(struct yn_search *search, struct yn_hits *out_hits)
{
    out_hits->n = search->is_ranked ? next_ranked(search) : next_planned(search);
    out_hits->wire = search->hit_wire;
    out_hits->distance_m = search->hit_m;
    return out_hits->n > 0;
}
