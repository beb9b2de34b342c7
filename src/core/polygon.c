/*
 * polygon.c: the crossing test and its index.
 *
 * A point is inside when a ray to the east crosses an odd number of edges (W. R.
 * Franklin's PNPOLY). is_crossed decides each crossing; the index only saves decisions
 * whose outcome is certain.
 *
 * The index follows the outline: chains of CHAIN edges, of CHAIN such chains, and so on,
 * each with its extent along four axes: latitude, longitude, and their sum and
 * difference, which keep the extent of a slanting spike thin. It takes one pass over the
 * vertices to make. With respect to a point, or to all points of a rectangle, a chain is
 *
 *     level   wholly above or not above: none of its edges is crossed;
 *     west    before the point along longitude, sum or difference: none is crossed;
 *     east    behind the point along one of them: every edge that spans the point's
 *             latitude is crossed. Vertices inside the chain begin one such edge and end
 *             another, so that the number is odd when just one of the chain's ends is
 *             above the point;
 *     open    none of these: look at its parts.
 *
 * East and west keep AXIS_MARGIN_DEG, far beyond any rounding of the crossing test
 * (docs/point-test.md).
 *
 * Points of a leaf share most of it: first the chains that are open to the leaf's
 * rectangle are listed, from those the ones open to the rectangle of a few points in a
 * row, neighbours since leaves are in Morton order; each point looks at these only. East
 * chains in a row make a run with two ends, and ends above or below the whole rectangle
 * are counted once.
 *
 * HOT: fill_chains (each vertex), relate and count_crossed (each point).
 */
#include "core/polygon.h"

#include <string.h>

#define INDEX_MIN 16 /* fewer vertices are tested one by one */
#define CHAIN 8      /* edges, or chains, in a chain */
#define GROUP 8      /* points in a row that share a list */
#define EDGE_MARGIN_DEG 1e-9
#define AXIS_MARGIN_DEG 1e-9

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

void yn_polygon_init(struct yn_polygon *polygon, const struct yn_point *vertices,
                     size_t n)
{
    struct yn_point low = vertices[0], high = vertices[0];
    for (size_t i = 1; i < n; i++) {
        low.lon = lesser(low.lon, vertices[i].lon);
        low.lat = lesser(low.lat, vertices[i].lat);
        high.lon = greater(high.lon, vertices[i].lon);
        high.lat = greater(high.lat, vertices[i].lat);
    }
    *polygon = (struct yn_polygon){
        .vertices = vertices, .n_vertices = n, .low = low, .high = high};
}

/* Edge i goes from vertex i to the one before it. */
static struct yn_point edge_end(const struct yn_polygon *polygon, size_t i)
{
    return polygon->vertices[i > 0 ? i - 1 : polygon->n_vertices - 1];
}

/* ---- the index ---- */

/* An extent along the axes: of a chain of edges, of points, or of a rectangle. */
struct extent {
    struct yn_point low, high;
    double sum_low, diff_low, sum_high, diff_high; /* longitude + and - latitude */
};

struct yn_chain {
    struct extent extent;
};

static struct extent extent_of_point(struct yn_point p)
{
    double sum = p.lon + p.lat, diff = p.lon - p.lat;
    return (struct extent){p, p, sum, diff, sum, diff};
}

static inline void extend(struct extent *extent, const struct extent *other)
{
    extent->low.lon = lesser(extent->low.lon, other->low.lon);
    extent->low.lat = lesser(extent->low.lat, other->low.lat);
    extent->high.lon = greater(extent->high.lon, other->high.lon);
    extent->high.lat = greater(extent->high.lat, other->high.lat);
    extent->sum_low = lesser(extent->sum_low, other->sum_low);
    extent->diff_low = lesser(extent->diff_low, other->diff_low);
    extent->sum_high = greater(extent->sum_high, other->sum_high);
    extent->diff_high = greater(extent->diff_high, other->diff_high);
}

/* The number of chains of a level. */
static size_t level_size(const struct yn_polygon *polygon, size_t level)
{
    return polygon->level_at[level + 1] - polygon->level_at[level];
}

static void fill_chains(struct yn_polygon *polygon)
{
    struct yn_chain *chain = polygon->chains;
    for (size_t i = 0; i < polygon->n_vertices; i += CHAIN, chain++) {
        size_t end = i + CHAIN < polygon->n_vertices ? i + CHAIN : polygon->n_vertices;
        struct extent extent = extent_of_point(edge_end(polygon, i));
        for (size_t k = i; k < end; k++) {
            struct extent point = extent_of_point(polygon->vertices[k]);
            extend(&extent, &point);
        }
        chain->extent = extent;
    }
    for (size_t level = 1; level < polygon->n_levels; level++) {
        const struct yn_chain *part = polygon->chains + polygon->level_at[level - 1];
        const struct yn_chain *end = polygon->chains + polygon->level_at[level];
        for (; part < end; part += CHAIN, chain++) {
            *chain = *part;
            for (size_t k = 1; k < CHAIN && part + k < end; k++)
                extend(&chain->extent, &part[k].extent);
        }
    }
}

void yn_polygon_index(struct yn_polygon *polygon, const struct yn_allocator *hook)
{
    size_t n = polygon->n_vertices, n_levels = 0, n_chains = 0;
    if (n < INDEX_MIN || n > UINT32_MAX)
        return;
    do {
        n = (n + CHAIN - 1) / CHAIN;
        polygon->level_at[n_levels++] = n_chains;
        n_chains += n;
    } while (n > CHAIN);
    polygon->level_at[n_levels] = n_chains;
    polygon->n_levels = n_levels;
    size_t n_first = level_size(polygon, 0);
    polygon->chains = hook->alloc(hook->ctx, n_chains * sizeof *polygon->chains);
    polygon->open = hook->alloc(hook->ctx, 2 * n_first * sizeof *polygon->open);
    polygon->turns = hook->alloc(hook->ctx, 4 * n_first * sizeof *polygon->turns);
    if (polygon->chains != NULL && polygon->open != NULL && polygon->turns != NULL)
        fill_chains(polygon);
    else
        yn_polygon_clear(polygon, hook);
}

void yn_polygon_clear(struct yn_polygon *polygon, const struct yn_allocator *hook)
{
    if (polygon->n_levels == 0)
        return;
    size_t n_first = level_size(polygon, 0);
    size_t n_chains = polygon->level_at[polygon->n_levels];
    if (polygon->chains != NULL)
        hook->free(hook->ctx, polygon->chains, n_chains * sizeof *polygon->chains);
    if (polygon->open != NULL)
        hook->free(hook->ctx, polygon->open, 2 * n_first * sizeof *polygon->open);
    if (polygon->turns != NULL)
        hook->free(hook->ctx, polygon->turns, 4 * n_first * sizeof *polygon->turns);
    polygon->chains = NULL;
    polygon->open = NULL;
    polygon->turns = NULL;
    polygon->n_levels = 0;
}

/* The edges [first, end) of a chain. */
static inline void chain_edges(const struct yn_polygon *polygon, size_t level, size_t i,
                               size_t *out_first, size_t *out_end)
{
    size_t length = CHAIN;
    for (; level > 0; level--)
        length *= CHAIN;
    *out_first = i * length;
    *out_end = *out_first + length;
    if (*out_end > polygon->n_vertices)
        *out_end = polygon->n_vertices;
}

enum side { LEVEL, WEST, EAST, OPEN };

/* Where a chain lies as seen from every point of an extent. */
static inline enum side relate(const struct extent *chain, const struct extent *points)
{
    if (chain->high.lat <= points->low.lat || chain->low.lat > points->high.lat)
        return LEVEL;
    if (chain->high.lon < points->low.lon - AXIS_MARGIN_DEG ||
        chain->sum_high < points->sum_low - AXIS_MARGIN_DEG ||
        chain->diff_high < points->diff_low - AXIS_MARGIN_DEG)
        return WEST;
    if (chain->low.lon > points->high.lon + AXIS_MARGIN_DEG ||
        chain->sum_low > points->sum_high + AXIS_MARGIN_DEG ||
        chain->diff_low > points->diff_high + AXIS_MARGIN_DEG)
        return EAST;
    return OPEN;
}

/* ---- one point ---- */

/* Whether the ray from p to the east crosses the edge; half-open, so that a vertex on the
 * ray counts once. */
static inline bool is_crossed(struct yn_point a, struct yn_point b, struct yn_point p)
{
    return (a.lat > p.lat) != (b.lat > p.lat) &&
           p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon;
}

/* Whether the ray crosses an odd number of the edges [first, end). */
static bool cross_edges(const struct yn_polygon *polygon, size_t first, size_t end,
                        struct yn_point p)
{
    struct yn_point before = edge_end(polygon, first);
    bool is_odd = false;
    for (size_t i = first; i < end; i++) {
        is_odd ^= is_crossed(polygon->vertices[i], before, p);
        before = polygon->vertices[i];
    }
    return is_odd;
}

/* The same for the edges of a chain. */
static bool cross_chain(const struct yn_polygon *polygon, size_t level, size_t i,
                        const struct extent *point)
{
    size_t first, end;
    const struct yn_chain *chain = &polygon->chains[polygon->level_at[level] + i];
    enum side side = relate(&chain->extent, point);
    if (side < EAST)
        return false;
    if (side == EAST || level == 0) {
        chain_edges(polygon, level, i, &first, &end);
        if (side == EAST)
            return (edge_end(polygon, first).lat > point->low.lat) !=
                   (polygon->vertices[end - 1].lat > point->low.lat);
        return cross_edges(polygon, first, end, point->low);
    }
    bool is_odd = false;
    size_t n = level_size(polygon, level - 1);
    for (size_t k = i * CHAIN; k < (i + 1) * CHAIN && k < n; k++)
        is_odd ^= cross_chain(polygon, level - 1, k, point);
    return is_odd;
}

bool yn_polygon_contains(const struct yn_polygon *polygon, struct yn_point p)
{
    if (polygon->n_levels == 0)
        return cross_edges(polygon, 0, polygon->n_vertices, p);
    struct extent point = extent_of_point(p);
    size_t top = polygon->n_levels - 1;
    bool is_odd = false;
    for (size_t i = 0; i < level_size(polygon, top); i++)
        is_odd ^= cross_chain(polygon, top, i, &point);
    return is_odd;
}

/* ---- many points ---- */

/* What all points of an extent have in common. */
struct front {
    struct extent points;
    bool is_odd;    /* crossings that all of them have */
    uint32_t *open; /* chains of the lowest level to look at */
    size_t n_open;
    double *turns; /* each one above a point makes for one more crossing */
    size_t n_turns;
    size_t run_end; /* the edge after a run of east chains */
};

static void add_turn(struct front *front, double lat)
{
    if (lat > front->points.high.lat)
        front->is_odd = !front->is_odd;
    else if (lat > front->points.low.lat)
        front->turns[front->n_turns++] = lat;
}

static void end_run(const struct yn_polygon *polygon, struct front *front)
{
    if (front->run_end > 0)
        add_turn(front, polygon->vertices[front->run_end - 1].lat);
    front->run_end = 0;
}

/* Adds a chain to what the points have in common. Returns false, nothing done, if it is
 * open. */
static bool add_chain(const struct yn_polygon *polygon, struct front *front, size_t level,
                      size_t i)
{
    size_t first, end;
    const struct yn_chain *chain = &polygon->chains[polygon->level_at[level] + i];
    enum side side = relate(&chain->extent, &front->points);
    if (side == OPEN)
        return false;
    if (side == WEST)
        return true;
    chain_edges(polygon, level, i, &first, &end);
    bool goes_on = front->run_end == first && first > 0;
    if (side == LEVEL && !goes_on)
        return true;
    if (!goes_on) {
        end_run(polygon, front);
        add_turn(front, edge_end(polygon, first).lat);
    }
    front->run_end = end;
    return true;
}

static void descend(const struct yn_polygon *polygon, struct front *front, size_t level,
                    size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        if (add_chain(polygon, front, level, i))
            continue;
        if (level == 0) {
            front->open[front->n_open++] = (uint32_t)i;
            continue;
        }
        size_t n = level_size(polygon, level - 1);
        size_t part_end = (i + 1) * CHAIN < n ? (i + 1) * CHAIN : n;
        descend(polygon, front, level - 1, i * CHAIN, part_end);
    }
}

static struct extent extent_of_points(const double *lat, const double *lon, size_t n)
{
    struct extent extent = extent_of_point((struct yn_point){lon[0], lat[0]});
    for (size_t i = 1; i < n; i++) {
        struct extent point = extent_of_point((struct yn_point){lon[i], lat[i]});
        extend(&extent, &point);
    }
    return extent;
}

/* Tests a few neighbours: `all` holds for them and others. */
static void test_group(const struct yn_polygon *polygon, const struct front *all,
                       const double *lat, const double *lon, size_t n, uint8_t *out_is_in)
{
    struct front front = {.points = extent_of_points(lat, lon, n),
                          .is_odd = all->is_odd,
                          .open = all->open + level_size(polygon, 0),
                          .turns = all->turns + 2 * level_size(polygon, 0)};
    for (size_t i = 0; i < all->n_turns; i++)
        add_turn(&front, all->turns[i]);
    for (size_t k = 0; k < all->n_open; k++)
        if (!add_chain(polygon, &front, 0, all->open[k]))
            front.open[front.n_open++] = all->open[k];
    end_run(polygon, &front);
    for (size_t i = 0; i < n; i++) {
        struct extent point = extent_of_point((struct yn_point){lon[i], lat[i]});
        bool is_odd = front.is_odd;
        for (size_t t = 0; t < front.n_turns; t++)
            is_odd ^= front.turns[t] > lat[i];
        for (size_t k = 0; k < front.n_open; k++)
            is_odd ^= cross_chain(polygon, 0, front.open[k], &point);
        out_is_in[i] = is_odd;
    }
}

void yn_polygon_test(const struct yn_polygon *polygon, const double *lat,
                     const double *lon, size_t n, uint8_t *out_is_in)
{
    if (polygon->n_levels == 0) {
        for (size_t i = 0; i < n; i++)
            out_is_in[i] =
                yn_polygon_contains(polygon, (struct yn_point){lon[i], lat[i]});
        return;
    }
    if (n == 0)
        return;
    struct front front = {.points = extent_of_points(lat, lon, n),
                          .open = polygon->open,
                          .turns = polygon->turns};
    size_t top = polygon->n_levels - 1;
    descend(polygon, &front, top, 0, level_size(polygon, top));
    end_run(polygon, &front);
    for (size_t i = 0; i < n; i += GROUP)
        test_group(polygon, &front, lat + i, lon + i, n - i < GROUP ? n - i : GROUP,
                   out_is_in + i);
}

/* ---- rectangles ---- */

/* Which side of the line a -> b the point is on: the sign of the cross product. */
static double side_of(struct yn_point a, struct yn_point b, double lon, double lat)
{
    return (b.lon - a.lon) * (lat - a.lat) - (b.lat - a.lat) * (lon - a.lon);
}

/* Whether an edge meets the rectangle: separating axes. */
static bool meets(struct yn_point a, struct yn_point b, const struct yn_bounds *r)
{
    if ((a.lat < r->lat_min && b.lat < r->lat_min) ||
        (a.lat > r->lat_max && b.lat > r->lat_max) ||
        (a.lon < r->lon_min && b.lon < r->lon_min) ||
        (a.lon > r->lon_max && b.lon > r->lon_max))
        return false;
    double s1 = side_of(a, b, r->lon_min, r->lat_min);
    double s2 = side_of(a, b, r->lon_min, r->lat_max);
    double s3 = side_of(a, b, r->lon_max, r->lat_min);
    double s4 = side_of(a, b, r->lon_max, r->lat_max);
    return !((s1 > 0 && s2 > 0 && s3 > 0 && s4 > 0) ||
             (s1 < 0 && s2 < 0 && s3 < 0 && s4 < 0));
}

/* Whether one of the edges [first, end) meets the rectangle. */
static bool edges_meet(const struct yn_polygon *polygon, size_t first, size_t end,
                       const struct yn_bounds *r)
{
    for (size_t i = first; i < end; i++)
        if (meets(polygon->vertices[i], edge_end(polygon, i), r))
            return true;
    return false;
}

static bool chain_meets(const struct yn_polygon *polygon, size_t level, size_t i,
                        const struct extent *points, const struct yn_bounds *r)
{
    const struct yn_chain *chain = &polygon->chains[polygon->level_at[level] + i];
    if (relate(&chain->extent, points) != OPEN)
        return false;
    if (level == 0) {
        size_t first, end;
        chain_edges(polygon, 0, i, &first, &end);
        return edges_meet(polygon, first, end, r);
    }
    size_t n = level_size(polygon, level - 1);
    for (size_t k = i * CHAIN; k < (i + 1) * CHAIN && k < n; k++)
        if (chain_meets(polygon, level - 1, k, points, r))
            return true;
    return false;
}

bool yn_polygon_cuts(const struct yn_polygon *polygon, const struct yn_bounds *bounds)
{
    /* enlarged far beyond any rounding of the crossing test */
    struct yn_bounds r = {
        bounds->lat_min - EDGE_MARGIN_DEG, bounds->lat_max + EDGE_MARGIN_DEG,
        bounds->lon_min - EDGE_MARGIN_DEG, bounds->lon_max + EDGE_MARGIN_DEG};
    if (polygon->high.lat < r.lat_min || polygon->low.lat > r.lat_max ||
        polygon->high.lon < r.lon_min || polygon->low.lon > r.lon_max)
        return false;
    if (polygon->n_levels == 0)
        return edges_meet(polygon, 0, polygon->n_vertices, &r);
    struct extent points = {{r.lon_min, r.lat_min}, {r.lon_max, r.lat_max},
                            r.lon_min + r.lat_min,  r.lon_min - r.lat_max,
                            r.lon_max + r.lat_max,  r.lon_max - r.lat_min};
    size_t top = polygon->n_levels - 1;
    for (size_t i = 0; i < level_size(polygon, top); i++)
        if (chain_meets(polygon, top, i, &points, &r))
            return true;
    return false;
}
