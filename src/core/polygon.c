/*
 * polygon.c: the crossing test and its index.
 *
 * A point is inside when a ray to the east crosses an odd number of edges (W. R.
 * Franklin's PNPOLY). is_crossed decides each crossing; the index only saves decisions
 * whose outcome is certain.
 *
 * The index follows the outline: chains of CHAIN edges, of CHAIN such chains, and so on,
 * each with its bounding box; a chain that goes back and forth, like a spike, has a strip
 * along one of its edges, too, since it may fill its box badly. It takes one pass over
 * the vertices to make. With respect to a point, or to all points of a rectangle, a chain
 * is
 *
 *     level   wholly above or not above: none of its edges is crossed;
 *     west    on the near side, by its longitudes or by its strip: none is crossed;
 *     east    on the far side: every edge that spans the point's latitude is crossed.
 *             Vertices inside the chain end one such edge and begin another, so that the
 *             number is odd when just one of the chain's ends is above the point;
 *     open    none of these: look at its parts.
 *
 * East and west keep AXIS_MARGIN_DEG, far beyond any rounding of the crossing test
 * (docs/point-test.md).
 *
 * Points of a leaf share most of it (struct front): as long as few chains are open to the
 * leaf's rectangle they are split, those left are related to the rectangles of a few
 * points in a row, neighbours since leaves are in Morton order, and each point looks only
 * at what is open to those. East chains in a row make a run with two ends, and ends above
 * or below the whole rectangle are counted once.
 *
 * In a scribble, whose chains cover much of the bounding box each, chains are of no use.
 * There every edge is related by itself, BLOCK of them at a time, first to the leaf, then
 * to a few points in a row.
 *
 * HOT: fill_chain (each vertex), relate and cross_edges (each point).
 */
#include "core/polygon.h"

#include <string.h>

#define INDEX_MIN 16 /* fewer vertices are tested one by one */
#define BLOCK 256    /* edges that are looked at together in a scribble */
#define CHAIN 8      /* edges, or chains, in a chain */
#define GROUP 8      /* points in a row that share a list */
#define FEW 4        /* open chains that points look at together */
#define SCRIBBLE (1.0 / 32)
#define STRIP_LEVEL_MAX 1 /* longer chains fan out */
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
    struct yn_point low = vertices[0], high = vertices[0], low_2 = low, high_2 = high;
    /* two of each, so that one comparison does not wait for the one before */
    for (size_t i = 1; i <= n - i; i++) {
        struct yn_point p = vertices[i], q = vertices[n - i];
        low.lon = lesser(low.lon, p.lon);
        low.lat = lesser(low.lat, p.lat);
        high.lon = greater(high.lon, p.lon);
        high.lat = greater(high.lat, p.lat);
        low_2.lon = lesser(low_2.lon, q.lon);
        low_2.lat = lesser(low_2.lat, q.lat);
        high_2.lon = greater(high_2.lon, q.lon);
        high_2.lat = greater(high_2.lat, q.lat);
    }
    *polygon = (struct yn_polygon){
        .vertices = vertices,
        .n_vertices = n,
        .low = {lesser(low.lon, low_2.lon), lesser(low.lat, low_2.lat)},
        .high = {greater(high.lon, high_2.lon), greater(high.lat, high_2.lat)}};
}

/* Edge i goes from vertex i to the one before it. */
static struct yn_point edge_end(const struct yn_polygon *polygon, size_t i)
{
    return polygon->vertices[i > 0 ? i - 1 : polygon->n_vertices - 1];
}

/* ---- the index ---- */

/* A bounding box: of a chain, of points, or a rectangle. */
struct extent {
    struct yn_point low, high;
};

struct yn_chain {
    struct extent extent;
    /* A strip around the chain: low <= axis.lon * lon + axis.lat * lat <= high, with
     * 0 <= axis.lon and |axis.lon| + |axis.lat| = 1, or axis 0: no strip. */
    struct yn_point axis;
    double low, high;
};

static inline void extend(struct extent *extent, struct yn_point low,
                          struct yn_point high)
{
    extent->low.lon = lesser(extent->low.lon, low.lon);
    extent->low.lat = lesser(extent->low.lat, low.lat);
    extent->high.lon = greater(extent->high.lon, high.lon);
    extent->high.lat = greater(extent->high.lat, high.lat);
}

static inline double along(struct yn_point axis, struct yn_point p)
{
    return axis.lon * p.lon + axis.lat * p.lat;
}

static inline double length_of(struct yn_point a, struct yn_point b)
{
    double lon = b.lon - a.lon, lat = b.lat - a.lat;
    return (lon < 0 ? -lon : lon) + (lat < 0 ? -lat : lat);
}

/* The axis across a line from a to b. */
static struct yn_point axis_across(struct yn_point a, struct yn_point b)
{
    double length = length_of(a, b);
    if (!(length > 0))
        return (struct yn_point){0, 0};
    double scale = b.lat < a.lat ? -1 / length : 1 / length;
    return (struct yn_point){(b.lat - a.lat) * scale, (a.lon - b.lon) * scale};
}

/* The number of chains of a level. */
static size_t level_size(const struct yn_polygon *polygon, size_t level)
{
    return polygon->level_at[level + 1] - polygon->level_at[level];
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

/* Sets the strip around the vertices [first, end) and the one before them. */
static void set_strip(const struct yn_polygon *polygon, struct yn_chain *chain,
                      size_t first, size_t end, struct yn_point axis)
{
    double low = along(axis, edge_end(polygon, first)), high = low;
    for (size_t i = first; i < end; i++) {
        double at = along(axis, polygon->vertices[i]);
        low = lesser(low, at);
        high = greater(high, at);
    }
    chain->axis = axis;
    chain->low = low;
    chain->high = high;
}

/* Whether the chain goes back and forth, so that the box around it may be much larger
 * than a strip. */
static bool is_folded(const struct extent *extent, struct yn_point from,
                      struct yn_point to)
{
    return length_of(from, to) < 0.75 * length_of(extent->low, extent->high);
}

static void fill_chain(const struct yn_polygon *polygon, struct yn_chain *chain,
                       size_t first, size_t end)
{
    struct yn_point from = edge_end(polygon, first), to = polygon->vertices[end - 1];
    struct extent extent = {from, from};
    for (size_t i = first; i < end; i++)
        extend(&extent, polygon->vertices[i], polygon->vertices[i]);
    *chain = (struct yn_chain){extent, {0, 0}, 0, 0};
    if (is_folded(&extent, from, to))
        set_strip(polygon, chain, first, end,
                  axis_across(from, polygon->vertices[first]));
}

/* Makes chain i of a level above the lowest. */
static void join_chains(const struct yn_polygon *polygon, size_t level, size_t i)
{
    struct yn_chain *chain = polygon->chains + polygon->level_at[level] + i;
    const struct yn_chain *part =
        polygon->chains + polygon->level_at[level - 1] + i * CHAIN;
    size_t n_parts = level_size(polygon, level - 1) - i * CHAIN, first, end;
    *chain = (struct yn_chain){part->extent, {0, 0}, 0, 0};
    for (size_t k = 1; k < CHAIN && k < n_parts; k++)
        extend(&chain->extent, part[k].extent.low, part[k].extent.high);
    if (level > STRIP_LEVEL_MAX || part->axis.lon + part->axis.lat == 0)
        return;
    chain_edges(polygon, level, i, &first, &end);
    if (is_folded(&chain->extent, edge_end(polygon, first), polygon->vertices[end - 1]))
        set_strip(polygon, chain, first, end, part->axis);
}

static void fill_chains(struct yn_polygon *polygon)
{
    struct yn_chain *chain = polygon->chains;
    size_t n = polygon->n_vertices;
    for (size_t i = 0; i < n; i += CHAIN, chain++)
        fill_chain(polygon, chain, i, i + CHAIN < n ? i + CHAIN : n);
    for (size_t level = 1; level < polygon->n_levels; level++)
        for (size_t i = 0; i < level_size(polygon, level); i++)
            join_chains(polygon, level, i);
}

/* Whether many chains are open to an average point: by what the lowest ones cover of the
 * bounding box. */
static bool chains_overlap(const struct yn_polygon *polygon)
{
    double covered = 0;
    size_t n = level_size(polygon, 0);
    for (size_t i = 0; i < n; i++) {
        const struct yn_chain *chain = &polygon->chains[i];
        double width = chain->extent.high.lon - chain->extent.low.lon;
        double height = chain->extent.high.lat - chain->extent.low.lat;
        double area = width * height,
               strip = (chain->high - chain->low) * (width + height);
        covered += strip > 0 ? lesser(area, strip) : area;
    }
    double lon = polygon->high.lon - polygon->low.lon;
    return covered > SCRIBBLE * (double)n * lon * (polygon->high.lat - polygon->low.lat);
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
    polygon->chains = hook->alloc(hook->ctx, n_chains * sizeof *polygon->chains);
    if (polygon->chains == NULL) {
        polygon->n_levels = 0;
        return;
    }
    fill_chains(polygon);
    polygon->is_scribble = chains_overlap(polygon);
}

void yn_polygon_clear(struct yn_polygon *polygon, const struct yn_allocator *hook)
{
    size_t n_chains = polygon->level_at[polygon->n_levels];
    if (polygon->n_levels > 0)
        hook->free(hook->ctx, polygon->chains, n_chains * sizeof *polygon->chains);
    polygon->chains = NULL;
    polygon->n_levels = 0;
}

enum side { LEVEL, WEST, EAST, OPEN };

/* Where a chain lies as seen from every point of an extent. */
static inline enum side relate(const struct yn_chain *chain, const struct extent *points)
{
    struct yn_point axis = chain->axis;
    if (chain->extent.high.lat <= points->low.lat ||
        chain->extent.low.lat > points->high.lat)
        return LEVEL;
    if (chain->extent.high.lon < points->low.lon - AXIS_MARGIN_DEG)
        return WEST;
    if (chain->extent.low.lon > points->high.lon + AXIS_MARGIN_DEG)
        return EAST;
    bool is_up = axis.lat >= 0;
    double low = axis.lon * points->low.lon +
                 axis.lat * (is_up ? points->low.lat : points->high.lat);
    double high = axis.lon * points->high.lon +
                  axis.lat * (is_up ? points->high.lat : points->low.lat);
    if (chain->high < low - AXIS_MARGIN_DEG)
        return WEST;
    return chain->low > high + AXIS_MARGIN_DEG ? EAST : OPEN;
}

/* ---- one point ---- */

/* Whether the ray from p to the east crosses the edge; half-open, so that a vertex on the
 * ray counts once. */
static inline bool is_crossed(struct yn_point a, struct yn_point b, struct yn_point p)
{
    return (a.lat > p.lat) != (b.lat > p.lat) &&
           p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon;
}

/* The same without a branch: for edges of which nothing can be foretold. */
static inline bool is_crossed_each(struct yn_point a, struct yn_point b,
                                   struct yn_point p)
{
    bool spans = (a.lat > p.lat) != (b.lat > p.lat);
    return spans & (p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon);
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
    enum side side = relate(chain, point);
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
    struct extent point = {p, p};
    size_t top = polygon->n_levels - 1;
    bool is_odd = false;
    for (size_t i = 0; i < level_size(polygon, top); i++)
        is_odd ^= cross_chain(polygon, top, i, &point);
    return is_odd;
}

/* ---- many points ---- */

static struct extent extent_of_points(const double *lat, const double *lon, size_t n)
{
    struct yn_point first = {lon[0], lat[0]};
    struct extent extent = {first, first};
    for (size_t i = 1; i < n; i++) {
        struct yn_point p = {lon[i], lat[i]};
        extend(&extent, p, p);
    }
    return extent;
}

/* Open chains are split while there are at most FEW. */
#define OPEN_MAX (FEW * CHAIN)
/* Two for each chain that is not open: of the first ones, of each split, and of the open
 * ones once more for a group. */
#define TURNS_MAX (2 * (CHAIN + OPEN_MAX * (YN_CHAIN_LEVELS_MAX + 1)))

/* What all points of an extent have in common. */
struct front {
    struct extent points;
    bool is_odd; /* crossings that all of them have */
    size_t level;
    uint32_t open[OPEN_MAX]; /* chains to look at, of this level */
    size_t n_open;
    double turns[TURNS_MAX]; /* each one above a point makes for one more crossing */
    size_t n_turns;
    size_t run_end; /* the edge after a run of east chains */
};

static void init_front(struct front *front, size_t level, const double *lat,
                       const double *lon, size_t n)
{
    front->points = extent_of_points(lat, lon, n);
    front->is_odd = false;
    front->level = level;
    front->n_open = front->n_turns = front->run_end = 0;
}

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
static bool add_chain(const struct yn_polygon *polygon, struct front *front, size_t i)
{
    size_t first, end, level = front->level;
    const struct yn_chain *chain = &polygon->chains[polygon->level_at[level] + i];
    enum side side = relate(chain, &front->points);
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

/* Adds these chains; lists the open ones. */
static void add_chains(const struct yn_polygon *polygon, struct front *front,
                       const uint32_t *chains, size_t n)
{
    front->n_open = 0;
    for (size_t k = 0; k < n; k++)
        if (!add_chain(polygon, front, chains[k]))
            front->open[front->n_open++] = chains[k];
    end_run(polygon, front);
}

/* Looks at the parts of open chains, as long as there are few. */
static void split_open(const struct yn_polygon *polygon, struct front *front)
{
    while (front->level > 0 && front->n_open <= FEW) {
        uint32_t whole[FEW];
        size_t n_whole = front->n_open, n = level_size(polygon, --front->level);
        memcpy(whole, front->open, sizeof whole);
        front->n_open = 0;
        for (size_t k = 0; k < n_whole; k++) {
            size_t first = (size_t)whole[k] * CHAIN;
            for (size_t i = first; i < first + CHAIN && i < n; i++)
                if (!add_chain(polygon, front, i))
                    front->open[front->n_open++] = (uint32_t)i;
        }
        end_run(polygon, front);
    }
}

/* Tests a few neighbours: `all` holds for them and others. */
static void test_group(const struct yn_polygon *polygon, const struct front *all,
                       const double *lat, const double *lon, size_t n, uint8_t *out_is_in)
{
    struct front front;
    init_front(&front, all->level, lat, lon, n);
    front.is_odd = all->is_odd;
    for (size_t i = 0; i < all->n_turns; i++)
        add_turn(&front, all->turns[i]);
    add_chains(polygon, &front, all->open, all->n_open);
    split_open(polygon, &front);
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = {lon[i], lat[i]};
        struct extent point = {p, p};
        bool is_odd = front.is_odd;
        for (size_t t = 0; t < front.n_turns; t++)
            is_odd ^= front.turns[t] > lat[i];
        for (size_t k = 0; k < front.n_open; k++)
            is_odd ^= cross_chain(polygon, front.level, front.open[k], &point);
        out_is_in[i] = is_odd;
    }
}

/* ---- many points, edges anywhere ---- */

/* Some edges in a row with respect to the points of an extent. */
struct block {
    bool is_odd;
    uint32_t open[BLOCK + 1];
    size_t n_open;
    double turns[2 * BLOCK + 1]; /* the last is written to in vain */
    size_t n_turns;
};

/* Adds an end of an edge in the east. */
static inline void add_end(struct block *block, const struct extent *points, double lat,
                           bool is_east)
{
    bool is_above = lat > points->high.lat;
    block->is_odd ^= is_east & is_above;
    block->turns[block->n_turns] = lat;
    block->n_turns += is_east & !is_above & (lat > points->low.lat);
}

/* Relates edge i, by its box and by its line: a strip of no width, see relate. */
static inline void add_edge(const struct yn_polygon *polygon, struct block *block,
                            const struct extent *points, uint32_t i)
{
    struct yn_point a = polygon->vertices[i], b = edge_end(polygon, i);
    struct yn_point low = a.lat < b.lat ? a : b, high = a.lat < b.lat ? b : a;
    double u = high.lat - low.lat, v = low.lon - high.lon;
    double margin = AXIS_MARGIN_DEG * (u + (v < 0 ? -v : v));
    double at = u * low.lon + v * low.lat;
    double near = u * points->low.lon + v * (v < 0 ? points->high.lat : points->low.lat);
    double far = u * points->high.lon + v * (v < 0 ? points->low.lat : points->high.lat);
    bool is_level = (high.lat <= points->low.lat) | (low.lat > points->high.lat);
    bool is_west = (greater(a.lon, b.lon) < points->low.lon - AXIS_MARGIN_DEG) |
                   (at < near - margin);
    bool is_east =
        (lesser(a.lon, b.lon) > points->high.lon + AXIS_MARGIN_DEG) | (at > far + margin);
    block->open[block->n_open] = i;
    block->n_open += !(is_level | is_west | is_east);
    add_end(block, points, a.lat, is_east & !is_level & !is_west);
    add_end(block, points, b.lat, is_east & !is_level & !is_west);
}

/* Adds the crossings with the edges of a block, which is related to all points, to those
 * of a few neighbours. */
static void cross_block(const struct yn_polygon *polygon, const struct block *all,
                        const double *lat, const double *lon, size_t n,
                        uint8_t *inout_is_in)
{
    struct extent points = extent_of_points(lat, lon, n);
    struct block block;
    block.is_odd = all->is_odd;
    block.n_open = block.n_turns = 0;
    for (size_t t = 0; t < all->n_turns; t++)
        add_end(&block, &points, all->turns[t], true);
    for (size_t k = 0; k < all->n_open; k++)
        add_edge(polygon, &block, &points, all->open[k]);
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = {lon[i], lat[i]};
        bool is_odd = block.is_odd;
        for (size_t t = 0; t < block.n_turns; t++)
            is_odd ^= block.turns[t] > p.lat;
        for (size_t k = 0; k < block.n_open; k++) {
            size_t edge = block.open[k];
            is_odd ^=
                is_crossed_each(polygon->vertices[edge], edge_end(polygon, edge), p);
        }
        inout_is_in[i] ^= is_odd;
    }
}

static void test_scribble(const struct yn_polygon *polygon, const double *lat,
                          const double *lon, size_t n, uint8_t *out_is_in)
{
    struct extent points = extent_of_points(lat, lon, n);
    memset(out_is_in, 0, n);
    for (size_t first = 0; first < polygon->n_vertices; first += BLOCK) {
        struct block block;
        block.is_odd = false;
        block.n_open = block.n_turns = 0;
        for (size_t i = first; i < first + BLOCK && i < polygon->n_vertices; i++)
            add_edge(polygon, &block, &points, (uint32_t)i);
        for (size_t i = 0; i < n; i += GROUP)
            cross_block(polygon, &block, lat + i, lon + i, n - i < GROUP ? n - i : GROUP,
                        out_is_in + i);
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
    if (polygon->is_scribble) {
        test_scribble(polygon, lat, lon, n, out_is_in);
        return;
    }
    uint32_t top[CHAIN];
    size_t level = polygon->n_levels - 1, n_top = level_size(polygon, level);
    struct front front;
    init_front(&front, level, lat, lon, n);
    for (size_t i = 0; i < n_top; i++)
        top[i] = (uint32_t)i;
    add_chains(polygon, &front, top, n_top);
    split_open(polygon, &front);
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
    if (relate(chain, points) != OPEN)
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
    struct extent points = {{r.lon_min, r.lat_min}, {r.lon_max, r.lat_max}};
    size_t top = polygon->n_levels - 1;
    for (size_t i = 0; i < level_size(polygon, top); i++)
        if (chain_meets(polygon, top, i, &points, &r))
            return true;
    return false;
}
