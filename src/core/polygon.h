/*
 * polygon.h: polygons in degrees: the crossing test, and rectangles, with an index of
 * edges.
 *
 * Edges are straight in longitude and latitude; the last vertex joins the first. The
 * index is optional: answers are the same without it.
 */
#ifndef YN_POLYGON_H
#define YN_POLYGON_H

#include "core/mem.h"

struct yn_polygon {
    const struct yn_point *vertices; /* borrowed */
    size_t n_vertices;
    struct yn_point low, high; /* corners of the bounding box */

    /* The index: edges by stripes of latitude. Edge i goes from vertex i to the one
     * before it. 0 stripes: none. */
    size_t n_stripes;
    double stripes_per_deg;
    uint32_t *first; /* n_stripes + 1: where a stripe's edges start in `edges` */
    uint32_t *edges;
    size_t n_edges; /* entries of `edges` */
};

/* Degrees, closed. */
struct yn_bounds {
    double lat_min, lat_max, lon_min, lon_max;
};

/* Prepares a polygon of at least 3 valid vertices, without an index. */
void yn_polygon_init(struct yn_polygon *polygon, const struct yn_point *vertices,
                     size_t n);
/* Makes the index where it helps. Without memory for it there is none. */
void yn_polygon_index(struct yn_polygon *polygon, const struct yn_allocator *hook);
/* Frees the index. */
void yn_polygon_clear(struct yn_polygon *polygon, const struct yn_allocator *hook);

/* The crossing test (see polygon.c): decides every search. */
bool yn_polygon_contains(const struct yn_polygon *polygon, struct yn_point p);

/* Whether some edge comes near the rectangle: if none does, it lies inside or outside as
 * a whole. */
bool yn_polygon_cuts(const struct yn_polygon *polygon, const struct yn_bounds *bounds);

#endif
