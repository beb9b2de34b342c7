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
#define LEAF_NS 35
#define CROSSED_NS 150
#define LEAF_ENTRIES 90
/* Sorted: for each result, to be measured and sorted; among the n nearest: to be kept in
 * a heap, and to find the first. */
#define SORTED_NS 30
#define NEAREST_NS 130
#define FIRST_NS 6000
/* Polygons: for each vertex, for a leaf that an edge crosses, and for each such edge. */
#define VERTEX_NS 18
#define POLYGON_LEAF_NS 3000
#define EDGE_NS 700
#define EDGES_SAMPLED 64

/* No search of a circle or a box costs more for each entry of a small set. */
#define SMALL_NS 1000

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
        .fine = (enough < (double)view->count ? enough : (double)view->count) / 16,
    };
    if (view->root == NULL || view->root->level == 0)
        return (double)view->count;
    count_inner(&tally, yn_as_inner(view->root));
    return tally.entries;
}

/* About how long a polygon's outline is, as the sum of its ways along both axes. */
static double outline_deg(const struct yn_shape *shape)
{
    size_t n = shape->n_vertices, n_sampled = n < EDGES_SAMPLED ? n : EDGES_SAMPLED;
    double sum = 0;
    for (size_t k = 0; k < n_sampled; k++) {
        size_t i = (size_t)((double)k * (double)n / (double)n_sampled);
        struct yn_point a = shape->vertices[i],
                        b = shape->vertices[i > 0 ? i - 1 : n - 1];
        sum += fabs(a.lon - b.lon) + fabs(a.lat - b.lat);
    }
    return sum * (double)n / (double)n_sampled;
}

/* What it costs to test the leaves that a polygon's edges cross, of those in its bounding
 * box. */
static double outline_cost(const struct yn_region *region, double leaves)
{
    const struct yn_polygon *polygon = &region->polygon;
    double width = polygon->high.lon - polygon->low.lon;
    double height = polygon->high.lat - polygon->low.lat;
    double side = sqrt(width * height / (leaves + 1));
    double crossings = side > 0 ? outline_deg(&region->shape) / side : leaves;
    double crossed = crossings < leaves ? crossings : leaves;
    return (crossed + 1) * POLYGON_LEAF_NS + crossings * EDGE_NS;
}

/* What planning costs when the cover holds so many entries. */
static double cost_of(const struct yn_search *search, double entries)
{
    const struct yn_query *query = &search->query;
    bool is_polygon = query->shape.kind == YN_POLYGON, is_nearest = false;
    double results = entries,
           cost = is_polygon ? (double)query->shape.n_vertices * VERTEX_NS : 0;
    if (query->limit > 0 && (double)query->limit < entries) {
        results = (double)query->limit;
        is_nearest = query->order != YN_ORDER_CELLS && !query->any;
    }
    if (is_nearest)
        cost += FIRST_NS + NEAREST_NS * results;
    else if (query->order != YN_ORDER_CELLS)
        cost += SORTED_NS * results;
    /* With a limit a polygon's leaves without results are tested all the same, unless
     * the nearest ones are looked for. */
    double leaves = (is_polygon && !is_nearest ? entries : results) / LEAF_ENTRIES;
    if (!is_polygon)
        return cost + leaves * LEAF_NS + (4 * sqrt(leaves) + 1) * CROSSED_NS;
    return cost + leaves * LEAF_NS +
           (is_nearest ? (leaves + 8) * POLYGON_LEAF_NS
                       : outline_cost(&search->region, leaves));
}

uint64_t yn_search_cost_ns(const struct yn_search *search, const struct yn_view *view,
                           uint64_t enough_ns, size_t *out_n_results)
{
    size_t limit = search->query.limit;
    if (out_n_results == NULL && view->count < enough_ns / SMALL_NS &&
        search->query.shape.kind != YN_POLYGON)
        return 0;
    double entries = (double)view->count, enough = (double)enough_ns;
    double cost = cost_of(search, entries);
    if (cost >= enough || out_n_results != NULL) {
        /* so many that they cost more than enough, at the least */
        entries = count_covered(&search->region, view,
                                out_n_results != NULL ? entries
                                                      : enough / LEAF_NS * LEAF_ENTRIES);
        cost = cost_of(search, entries);
    }
    if (out_n_results != NULL) {
        *out_n_results = (size_t)entries + 1;
        if (limit > 0 && limit < *out_n_results)
            *out_n_results = limit;
    }
    return cost < 1e18 ? (uint64_t)cost : UINT64_C(1000000000000000000);
}
