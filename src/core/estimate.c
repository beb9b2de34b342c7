/*
 * estimate.c: how long a search will take, before it is planned.
 *
 * The counts in inner nodes tell how many entries lie where: nodes that lie in the
 * shape's cover count as a whole, those that it cuts are looked into as long as they are
 * large, and then count by the part of their rectangle that is covered. It goes down two
 * or three levels, through nodes that the search will read anyway, and stops when there
 * is more than enough. A circle fills 79 % of its cover, a polygon any part of it: the
 * number is rather too high, which only makes a search move to another thread early.
 *
 * The constants below are what bench/search_cost.c measures, in nanoseconds, on a machine
 * of about 3 GHz; what they have to tell apart is some microseconds and some
 * milliseconds.
 */
#include "core/search.h"

/* Unsorted: for each leaf that is taken whole, and that the edge crosses. */
#define LEAF_NS 40
#define CROSSED_NS 300
#define LEAF_ENTRIES 90
/* Sorted: for each result, to be measured and sorted; among the n nearest: to be kept in
 * a heap. */
#define SORTED_NS 100
#define NEAREST_NS 350
/* Polygons: for each vertex; and for a leaf that is tested. */
#define VERTEX_NS 12
#define POLYGON_LEAF_NS 6000

struct tally {
    const struct yn_region *region;
    bool is_banded; /* the cover goes all around the world: shapes are looked at */
    double entries, enough;
    double fine; /* nodes of so many entries are not looked into */
};

static double overlap_of(uint32_t a_min, uint32_t a_max, uint32_t b_min, uint32_t b_max)
{
    double low = a_min > b_min ? a_min : b_min, high = a_max < b_max ? a_max : b_max;
    return high < low ? 0 : (high - low + 1) / ((double)b_max - b_min + 1);
}

/* The part of the rectangle that is covered. */
static double part_of(const struct yn_rect *cover, const struct yn_rect *rect)
{
    return overlap_of(cover->lat_min, cover->lat_max, rect->lat_min, rect->lat_max) *
           overlap_of(cover->lon_min, cover->lon_max, rect->lon_min, rect->lon_max);
}

static const double part_of_relation[] = {
    [YN_OUTSIDE] = 0, [YN_CROSSING] = 0.5, [YN_INSIDE] = 1};

static void count_inner(struct tally *tally, const struct yn_inner *inner)
{
    const struct yn_region *region = tally->region;
    size_t n = inner->head.n;
    uint8_t relations[YN_TREE_FANOUT];
    uint64_t left = yn_kernel()->overlap(&region->cover, &inner->rects, n);
    if (tally->is_banded)
        yn_kernel()->relate(region, &inner->rects, n, relations);
    for (; left != 0 && tally->entries < tally->enough; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        struct yn_rect rect = yn_rects_get(&inner->rects, i);
        double count = (double)inner->count[i];
        double part = tally->is_banded ? part_of_relation[relations[i]]
                                       : part_of(&region->cover, &rect);
        if (part > 0 && part < 1 && count > tally->fine && inner->head.level > 1)
            count_inner(tally, yn_as_inner(inner->child[i]));
        else
            tally->entries += count * part;
    }
}

/* About how many entries the cover holds, up to `enough`. */
static double count_covered(const struct yn_region *region, const struct yn_view *view,
                            double enough)
{
    const struct yn_rect *cover = &region->cover;
    struct tally tally = {
        .region = region,
        .is_banded = region->shape.kind != YN_POLYGON && cover->lon_min == 0 &&
                     cover->lon_max >= YN_CELL_AXIS_MAX,
        .enough = enough,
        .fine = enough / 16,
    };
    if (view->root == NULL || view->root->level == 0)
        return (double)view->count;
    count_inner(&tally, yn_as_inner(view->root));
    return tally.entries;
}

/* What planning costs when the cover holds so many entries. */
static double cost_of(const struct yn_query *query, double entries)
{
    double n_vertices = (double)query->shape.n_vertices;
    double leaf_ns = query->shape.kind == YN_POLYGON ? POLYGON_LEAF_NS : CROSSED_NS;
    double results = entries, measured_ns = 0;
    bool is_limited = query->limit > 0 && (double)query->limit < entries;
    if (is_limited)
        results = (double)query->limit;
    if (query->order != YN_ORDER_CELLS)
        measured_ns = (is_limited && !query->any ? NEAREST_NS : SORTED_NS) * results;
    /* the edge of a polygon may have any length, and with a limit leaves without results
     * are tested all the same */
    double leaves = (query->shape.kind == YN_POLYGON ? entries : results) / LEAF_ENTRIES;
    double crossed = 4 * sqrt(leaves) + n_vertices;
    if (crossed > leaves + 4)
        crossed = leaves + 4;
    return n_vertices * VERTEX_NS + leaves * LEAF_NS + crossed * leaf_ns + measured_ns;
}

uint64_t yn_search_cost_ns(const struct yn_search *search, const struct yn_view *view,
                           uint64_t enough_ns, size_t *out_n_results)
{
    const struct yn_query *query = &search->query;
    double entries = (double)view->count, enough = (double)enough_ns;
    double cost = cost_of(query, entries);
    if (cost >= enough || out_n_results != NULL) {
        /* so many that they cost more than enough, at the least */
        entries = count_covered(&search->region, view,
                                out_n_results != NULL ? entries
                                                      : enough / LEAF_NS * LEAF_ENTRIES);
        cost = cost_of(query, entries);
    }
    if (out_n_results != NULL) {
        *out_n_results = (size_t)entries + 1;
        if (query->limit > 0 && query->limit < *out_n_results)
            *out_n_results = query->limit;
    }
    return cost < 1e18 ? (uint64_t)cost : UINT64_C(1000000000000000000);
}
