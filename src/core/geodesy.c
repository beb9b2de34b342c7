/*
 * Positions to scores and back, and the haversine distance.
 *
 * Bit-identity with compatible servers rests on three things, all of them in the
 * order in which the expressions below are written:
 *  - encoding divides by the span and multiplies by 2^26 (no reciprocal), then
 *    truncates; decoding takes the mean of the slice's two edges, each computed on
 *    its own. Longitudes come out exact, latitudes carry rounding errors that are
 *    part of the value;
 *  - the distance is 2R*asin(sqrt(u*u + cos(lat1)*cos(lat2)*v*v)), products from
 *    left to right, where u and v are the sines of half the differences; points on
 *    one meridian (v exactly 0) use R*|dlat| instead, which is not the same double;
 *  - no operation is fused with another (-ffp-contract=off), and sin, cos, asin and
 *    sqrt are the C library's.
 *
 * A distance depends on the order of its two points only through the sign of the
 * differences, and sin is odd, so it is symmetric but for the product
 * cos(lat1)*cos(lat2), which commutes: yn_distance_m(a, b) == yn_distance_m(b, a).
 * For opposite points rounding takes the sum under the root to at most one unit above 1,
 * the root of which rounds to 1, so asin never sees more (tried on 30 million pairs).
 */
#include "core/geodesy.h"

#include <math.h>

bool yn_point_is_valid(struct yn_point point)
{
    return point.lon >= -YN_LON_MAX_DEG && point.lon <= YN_LON_MAX_DEG &&
           point.lat >= -YN_LAT_MAX_DEG && point.lat <= YN_LAT_MAX_DEG;
}

double yn_score_encode(struct yn_point point)
{
    uint64_t code =
        yn_cell_interleave(yn_cell_encode_lat(point.lat), yn_cell_encode_lon(point.lon));

    return (double)code;
}

struct yn_point yn_score_decode(double score)
{
    uint32_t lat, lon;

    yn_cell_deinterleave(yn_score_to_bits(score), &lat, &lon);
    return (struct yn_point){yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
}

double yn_lat_distance_m(double lat1_deg, double lat2_deg)
{
    return YN_EARTH_RADIUS_M *
           fabs(yn_rad_from_deg(lat2_deg) - yn_rad_from_deg(lat1_deg));
}

double yn_distance_m(struct yn_point a, struct yn_point b)
{
    double lon1 = yn_rad_from_deg(a.lon);
    double lon2 = yn_rad_from_deg(b.lon);
    double v = sin((lon2 - lon1) / 2);

    if (v == 0.0)
        return yn_lat_distance_m(a.lat, b.lat);

    double lat1 = yn_rad_from_deg(a.lat);
    double lat2 = yn_rad_from_deg(b.lat);
    double u = sin((lat2 - lat1) / 2);
    double h = u * u + cos(lat1) * cos(lat2) * v * v;

    if (h > 1.0) /* rounding, at the antipode: asin would make it NaN */
        h = 1.0;
    return 2.0 * YN_EARTH_RADIUS_M * asin(sqrt(h));
}
