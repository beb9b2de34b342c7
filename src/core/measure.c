/*
 * measure.c: distances of results.
 *
 * The exact distance takes six calls of the C library. The kernels give all distances of
 * a leaf at once, ten to twenty times faster, and good to yn_distance_slack_m; that is
 * enough wherever a decision is not close: for the order of two results further apart,
 * and for the four decimals of a printed distance unless it lies near the middle between
 * two.
 */
#include <math.h>

#include "core/search.h"

struct yn_point yn_leaf_point(const struct yn_leaf *leaf, size_t i)
{
    uint32_t lat, lon;
    yn_leaf_cell(leaf, i, &lat, &lon);
    return (struct yn_point){yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
}

double yn_leaf_distance_m(const struct yn_leaf *leaf, size_t i, struct yn_point from)
{
    return yn_distance_m(from, yn_leaf_point(leaf, i));
}

double yn_search_measure(struct yn_search *search, const struct yn_leaf *leaf, size_t i)
{
    if (search->measured != leaf) {
        yn_kernel()->measure(&search->region, leaf, search->measured_m);
        search->measured = leaf;
    }
    return search->measured_m[i];
}

/*
 * Whether every distance within the slack rounds to the same four decimals. Parts are
 * units of the last decimal. The printer divides by the unit and multiplies by 10^4, here
 * is one product with a rounded factor: together less than 5e-16 of the parts apart.
 *
 * HOT: once a result of WITHDIST; no division, no call. Adding 2^52 rounds to an integer
 * where parts are below 2^51; above, the slack alone says no.
 */
static bool is_rounding_sure(double measured_m, double parts_per_m)
{
    double parts = measured_m * parts_per_m;
    double off = parts - ((parts + 0x1p52) - 0x1p52); /* from the nearest integer */
    double slack = yn_distance_slack_m(measured_m) * parts_per_m + parts * 1e-15;
    return 0.5 - fabs(off) > slack; /* false for an infinite slack */
}

double yn_search_refine(const struct yn_search *search, const struct yn_leaf *leaf,
                        size_t i, double measured_m)
{
    if (search->parts_per_m > 0 && is_rounding_sure(measured_m, search->parts_per_m))
        return measured_m;
    return yn_leaf_distance_m(leaf, i, search->region.shape.center);
}
