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

struct yn_chain;

#define YN_CHAIN_LEVELS_MAX 11

struct yn_polygon {
    const struct yn_point *vertices; /* borrowed */
    size_t n_vertices;
    struct yn_point low, high; /* corners of the bounding box */

    /* The index, see polygon.c. 0 levels: none. */
    size_t n_levels;
    bool is_scribble;
    struct yn_chain *chains;                  /* level by level */
    size_t level_at[YN_CHAIN_LEVELS_MAX + 1]; /* where a level begins, and the end */
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

/* The crossing test of n points, neighbours for the most part: out_is_in becomes 0 or 1.
 */
void yn_polygon_test(const struct yn_polygon *polygon, const double *lat,
                     const double *lon, size_t n, uint8_t *out_is_in);

/* Whether some edge comes near the rectangle: if none does, it lies inside or outside as
 * a whole. */
bool yn_polygon_cuts(const struct yn_polygon *polygon, const struct yn_bounds *bounds);

#endif
