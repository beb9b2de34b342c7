/*
 * polygon.c: the crossing test and its index.
 *
 * A point is inside when a ray to the east crosses an odd number of edges (W. R.
 * Franklin's PNPOLY). Only edges with one end above the point's latitude and one not
 * above can flip the answer, so it is enough to look at those: the index cuts the
 * bounding box into stripes of latitude and lists for each the edges that reach into it.
 * The stripe of a latitude is computed by one monotone expression, for vertices and
 * points alike, so an edge that spans a point's latitude is in the point's stripe,
 * whatever is rounded; and the comparisons are those of the plain test. A polygon of
 * 10,000 vertices costs about as many comparisons a point as it has edges in a stripe.
 *
 * The number of stripes is halved until the lists hold no more than ENTRIES_PER_EDGE
 * entries an edge: tall edges in many stripes must not cost memory without limit.
 */
#include "core/polygon.h"

#include <math.h>
#include <string.h>

#define INDEX_MIN 16 /* fewer vertices are tested one by one */
#define ENTRIES_PER_EDGE 8
#define EDGE_MARGIN_DEG 1e-9

void yn_polygon_init(struct yn_polygon *polygon, const struct yn_point *vertices,
                     size_t n)
{
    *polygon = (struct yn_polygon){
        .vertices = vertices, .n_vertices = n, .low = vertices[0], .high = vertices[0]};
    for (size_t i = 1; i < n; i++) {
        polygon->low.lon = fmin(polygon->low.lon, vertices[i].lon);
        polygon->low.lat = fmin(polygon->low.lat, vertices[i].lat);
        polygon->high.lon = fmax(polygon->high.lon, vertices[i].lon);
        polygon->high.lat = fmax(polygon->high.lat, vertices[i].lat);
    }
}

/* ---- the index ---- */

static size_t stripe_of(const struct yn_polygon *polygon, double lat)
{
    double stripe = (lat - polygon->low.lat) * polygon->stripes_per_deg;
    if (!(stripe > 0))
        return 0;
    return stripe < (double)polygon->n_stripes ? (size_t)stripe : polygon->n_stripes - 1;
}

static struct yn_point edge_end(const struct yn_polygon *polygon, size_t i)
{
    return polygon->vertices[i > 0 ? i - 1 : polygon->n_vertices - 1];
}

static void edge_stripes(const struct yn_polygon *polygon, size_t i, size_t *out_low,
                         size_t *out_high)
{
    size_t a = stripe_of(polygon, polygon->vertices[i].lat);
    size_t b = stripe_of(polygon, edge_end(polygon, i).lat);
    *out_low = a < b ? a : b;
    *out_high = a < b ? b : a;
}

static void set_stripes(struct yn_polygon *polygon, size_t n)
{
    double span = polygon->high.lat - polygon->low.lat;
    polygon->n_stripes = n;
    polygon->stripes_per_deg = span > 0 ? (double)n / span : 0;
}

static size_t count_entries(const struct yn_polygon *polygon)
{
    size_t n = 0, low, high;
    for (size_t i = 0; i < polygon->n_vertices; i++) {
        edge_stripes(polygon, i, &low, &high);
        n += high - low + 1;
    }
    return n;
}

/* Lists each edge in its stripes: counted, summed up, filled. */
static void fill_index(struct yn_polygon *polygon)
{
    size_t low, high;
    uint32_t *first = polygon->first;
    memset(first, 0, (polygon->n_stripes + 1) * sizeof *first);
    for (size_t i = 0; i < polygon->n_vertices; i++) {
        edge_stripes(polygon, i, &low, &high);
        for (size_t s = low; s <= high; s++)
            first[s + 1]++;
    }
    for (size_t s = 0; s < polygon->n_stripes; s++)
        first[s + 1] += first[s];
    for (size_t i = polygon->n_vertices; i-- > 0;) {
        edge_stripes(polygon, i, &low, &high);
        for (size_t s = low; s <= high; s++)
            polygon->edges[--first[s + 1]] = (uint32_t)i;
    }
    /* each first[s + 1] has gone down to where stripe s starts */
    memmove(first, first + 1, polygon->n_stripes * sizeof *first);
    first[polygon->n_stripes] = (uint32_t)polygon->n_edges;
}

void yn_polygon_index(struct yn_polygon *polygon, const struct yn_allocator *hook)
{
    size_t n = polygon->n_vertices;
    if (n < INDEX_MIN || n > UINT32_MAX / ENTRIES_PER_EDGE)
        return;
    set_stripes(polygon, n);
    polygon->n_edges = count_entries(polygon);
    while (polygon->n_edges > n * ENTRIES_PER_EDGE) {
        set_stripes(polygon, polygon->n_stripes / 2);
        polygon->n_edges = count_entries(polygon);
    }
    polygon->first = hook->alloc(hook->ctx, (polygon->n_stripes + 1) * sizeof(uint32_t));
    polygon->edges = hook->alloc(hook->ctx, polygon->n_edges * sizeof(uint32_t));
    if (polygon->first != NULL && polygon->edges != NULL)
        fill_index(polygon);
    else
        yn_polygon_clear(polygon, hook);
}

void yn_polygon_clear(struct yn_polygon *polygon, const struct yn_allocator *hook)
{
    if (polygon->first != NULL)
        hook->free(hook->ctx, polygon->first,
                   (polygon->n_stripes + 1) * sizeof(uint32_t));
    if (polygon->edges != NULL)
        hook->free(hook->ctx, polygon->edges, polygon->n_edges * sizeof(uint32_t));
    polygon->first = polygon->edges = NULL;
    polygon->n_stripes = 0;
}

/* ---- points ---- */

/* Whether the ray from p to the east crosses edge i; half-open, so that a vertex on the
 * ray counts once. */
static bool is_crossed(const struct yn_polygon *polygon, size_t i, struct yn_point p)
{
    struct yn_point a = polygon->vertices[i], b = edge_end(polygon, i);
    return (a.lat > p.lat) != (b.lat > p.lat) &&
           p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon;
}

bool yn_polygon_contains(const struct yn_polygon *polygon, struct yn_point p)
{
    bool is_inside = false;
    if (polygon->n_stripes == 0) {
        for (size_t i = 0; i < polygon->n_vertices; i++)
            is_inside ^= is_crossed(polygon, i, p);
        return is_inside;
    }
    size_t stripe = stripe_of(polygon, p.lat);
    for (size_t k = polygon->first[stripe]; k < polygon->first[stripe + 1]; k++)
        is_inside ^= is_crossed(polygon, polygon->edges[k], p);
    return is_inside;
}

/* ---- rectangles ---- */

/* Which side of the line a -> b the point is on: the sign of the cross product. */
static double side_of(struct yn_point a, struct yn_point b, double lon, double lat)
{
    return (b.lon - a.lon) * (lat - a.lat) - (b.lat - a.lat) * (lon - a.lon);
}

/* Whether edge i meets the rectangle: separating axes. */
static bool meets(const struct yn_polygon *polygon, size_t i, const struct yn_bounds *r)
{
    struct yn_point a = polygon->vertices[i], b = edge_end(polygon, i);
    if (fmax(a.lat, b.lat) < r->lat_min || fmin(a.lat, b.lat) > r->lat_max ||
        fmax(a.lon, b.lon) < r->lon_min || fmin(a.lon, b.lon) > r->lon_max)
        return false;
    double s1 = side_of(a, b, r->lon_min, r->lat_min);
    double s2 = side_of(a, b, r->lon_min, r->lat_max);
    double s3 = side_of(a, b, r->lon_max, r->lat_min);
    double s4 = side_of(a, b, r->lon_max, r->lat_max);
    return !((s1 > 0 && s2 > 0 && s3 > 0 && s4 > 0) ||
             (s1 < 0 && s2 < 0 && s3 < 0 && s4 < 0));
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
    if (polygon->n_stripes == 0) {
        for (size_t i = 0; i < polygon->n_vertices; i++)
            if (meets(polygon, i, &r))
                return true;
        return false;
    }
    size_t from = polygon->first[stripe_of(polygon, r.lat_min)];
    size_t to = polygon->first[stripe_of(polygon, r.lat_max) + 1];
    for (size_t k = from; k < to; k++)
        if (meets(polygon, polygon->edges[k], &r))
            return true;
    return false;
}
