/*
 * geohash.h: the nine cells that order an unsorted search.
 *
 * Compatible servers answer a search by walking up to nine cells of one size around
 * the centre, in a fixed sequence: centre, N, S, E, W, NE, NW, SE, SW. Yonder's answers
 * do not depend on these cells, only their order does. Pure functions, any thread.
 * yn_geohash_format is declared in yonder.h.
 */
#ifndef YN_GEOHASH_H
#define YN_GEOHASH_H

#include <stdint.h>

#include "yonder.h"

#define YN_CELLS_MAX 9

/*
 * The cells in walking order, as ranges [min, max) of scores: a member is in a range
 * when min <= score < max, compared as doubles (both limits are exact doubles). A centre
 * on longitude 180 or latitude 85.05112878 has a cell past the last one, from 2^52 on.
 */
struct yn_cells {
    int n;
    struct {
        uint64_t min, max;
    } range[YN_CELLS_MAX];
};

/*
 * Gives the 1 to 9 cells of a shape. The centre is a valid point; of a polygon it must
 * be set, and its latitude may be up to 90. Sizes from 0 to infinity.
 */
void yn_cells_of_shape(const struct yn_shape *shape, struct yn_cells *out_cells);
/* The same for a polygon with this bounding box and a centre that is good to error_deg in
 * latitude and in longitude. False if the cells depend on where it is exactly. */
bool yn_cells_of_polygon(struct yn_point center, double error_deg, struct yn_point low,
                         struct yn_point high, struct yn_cells *out_cells);

#endif
