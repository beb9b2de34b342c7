/*
 * combine_cost.c: how long combining sets takes, told from their numbers.
 *
 * A union goes through everything. Otherwise each source is held against the smallest
 * (of a difference: the first): by look-ups, or by walking through both where all scores
 * of each are one; in frozen views, which have no dictionaries, through a table.
 */
#include "core/combine_parts.h"

/* Nanoseconds for an entry that is walked past, looked up (slowly: where all scores are
 * one), taken through a table, and built into the result; and all of that in a union. */
#define WALKED_NS 15
#define LOOKED_UP_NS 120
#define SLOW_NS 600
#define TABLED_NS 60
#define BUILT_NS 120
#define UNITED_NS 200

/* The source that the others are held against. */
static size_t find_driver(const struct yn_combination *how)
{
    size_t driver = 0;
    for (size_t i = 1; how->kind == YN_INTERSECTION && i < how->n_sources; i++) {
        struct part part = part_of(how, i), best = part_of(how, driver);
        if (count_of(&part) < count_of(&best))
            driver = i;
    }
    return driver;
}

/* What it costs to hold the others against the driver. */
static struct yn_combine_cost compare_cost(const struct yn_combination *how)
{
    size_t driver = find_driver(how);
    struct part first = part_of(how, driver);
    double n = (double)count_of(&first), live = 0, frozen = n, tabled = n;
    for (size_t i = 0; n > 0 && i < how->n_sources; i++) {
        struct part part = part_of(how, i);
        double count = (double)count_of(&part);
        struct yn_join join;
        if (i == driver || count == 0)
            continue;
        yn_join_init(&join, first.view, part.set, part.view);
        tabled += count;
        frozen += count * (join.is_merge ? WALKED_NS : TABLED_NS);
        live += join.is_merge ? (n + count) * WALKED_NS
                              : n * (join.is_slow ? SLOW_NS : LOOKED_UP_NS);
    }
    if (how->kind == YN_DIFFERENCE && live > tabled * TABLED_NS)
        live = tabled * TABLED_NS;
    return (struct yn_combine_cost){(uint64_t)(live + n * BUILT_NS),
                                    (uint64_t)(frozen + n * (TABLED_NS + BUILT_NS))};
}

struct yn_combine_cost yn_combination_cost(const struct yn_combination *how)
{
    double total = 0;
    if (how->kind != YN_UNION)
        return compare_cost(how);
    for (size_t i = 0; i < how->n_sources; i++) {
        struct part part = part_of(how, i);
        total += (double)count_of(&part);
    }
    uint64_t cost_ns = (uint64_t)(total * UNITED_NS);
    return (struct yn_combine_cost){cost_ns, cost_ns};
}
