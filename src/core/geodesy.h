/*
 * geodesy.h: positions, cells and distances, inside the engine.
 *
 * Each axis is cut into 2^26 slices; a position's two slice numbers, interleaved
 * (latitude in the even bits, longitude in the odd ones), are its code. A score
 * that is an integer in [0, 2^52) is such a code; other scores decode too, to
 * whatever an x86-64 cast makes of them, clamped to the limits.
 *
 * Everything here is a pure function, safe from any thread. The order of
 * operations in the decoding and in the distance is part of the contract: results
 * agree bit for bit with compatible servers, so this code must be compiled with
 * -ffp-contract=off. See also yonder.h for the public half.
 */
#ifndef YN_GEODESY_H
#define YN_GEODESY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "yonder.h"

#define YN_CELL_BITS 26                      /* bits an axis */
#define YN_CELL_AXIS_MAX ((uint32_t)1 << 26) /* slices an axis */
#define YN_CELL_CODE_MAX ((uint64_t)1 << 52) /* codes are below this */
#define YN_LAT_SPAN_DEG (YN_LAT_MAX_DEG - -YN_LAT_MAX_DEG)
#define YN_LON_SPAN_DEG (YN_LON_MAX_DEG - -YN_LON_MAX_DEG)
/* One degree in radians, as pi / 180 rounds to a double. */
#define YN_RAD_PER_DEG (3.14159265358979323846 / 180.0)

/* ---- cells --------------------------------------------------------------- */

/* Middle of slice `index`, clamped to +-limit. Slices from 2^26 on exist only in
 * odd scores; the successor of the last 32-bit number is 0, as peers have it. */
static inline double yn_cell_axis_deg(uint32_t index, double limit_deg, double span_deg)
{
    double min = -limit_deg + (index * 1.0 / YN_CELL_AXIS_MAX) * span_deg;
    double max = -limit_deg + ((index + 1U) * 1.0 / YN_CELL_AXIS_MAX) * span_deg;
    double mid = (min + max) / 2;

    if (mid > limit_deg)
        mid = limit_deg;
    if (mid < -limit_deg)
        mid = -limit_deg;
    return mid;
}

static inline double yn_cell_lat_deg(uint32_t index)
{
    return yn_cell_axis_deg(index, YN_LAT_MAX_DEG, YN_LAT_SPAN_DEG);
}

static inline double yn_cell_lon_deg(uint32_t index)
{
    return yn_cell_axis_deg(index, YN_LON_MAX_DEG, YN_LON_SPAN_DEG);
}

/* The slice that a coordinate falls into when its axis has 2^bits of them (bits
 * <= 26). The upper limit itself gives 2^bits, one past the last slice. The
 * coordinate must lie on the axis; anything else gives some slice, no fault. */
static inline uint32_t yn_cell_encode_axis(double deg, double limit_deg, int bits)
{
    double offset = (deg - -limit_deg) / (limit_deg - -limit_deg);

    offset *= (double)((uint32_t)1 << bits);
    if (!(offset >= 0.0))
        return 0;
    if (offset >= 4294967295.0)
        return UINT32_MAX;
    return (uint32_t)offset;
}

static inline uint32_t yn_cell_encode_lat(double lat_deg)
{
    return yn_cell_encode_axis(lat_deg, YN_LAT_MAX_DEG, YN_CELL_BITS);
}

static inline uint32_t yn_cell_encode_lon(double lon_deg)
{
    return yn_cell_encode_axis(lon_deg, YN_LON_MAX_DEG, YN_CELL_BITS);
}

/* Moves bit i of a 32-bit number to bit 2i. */
static inline uint64_t yn_cell_spread(uint32_t value)
{
    uint64_t x = value;

    x = (x | (x << 16)) & 0x0000FFFF0000FFFFULL;
    x = (x | (x << 8)) & 0x00FF00FF00FF00FFULL;
    x = (x | (x << 4)) & 0x0F0F0F0F0F0F0F0FULL;
    x = (x | (x << 2)) & 0x3333333333333333ULL;
    x = (x | (x << 1)) & 0x5555555555555555ULL;
    return x;
}

/* The reverse of yn_cell_spread; odd bits are ignored. */
static inline uint32_t yn_cell_squeeze(uint64_t x)
{
    x &= 0x5555555555555555ULL;
    x = (x | (x >> 1)) & 0x3333333333333333ULL;
    x = (x | (x >> 2)) & 0x0F0F0F0F0F0F0F0FULL;
    x = (x | (x >> 4)) & 0x00FF00FF00FF00FFULL;
    x = (x | (x >> 8)) & 0x0000FFFF0000FFFFULL;
    x = (x | (x >> 16)) & 0x00000000FFFFFFFFULL;
    return (uint32_t)x;
}

static inline uint64_t yn_cell_interleave(uint32_t lat, uint32_t lon)
{
    return yn_cell_spread(lat) | (yn_cell_spread(lon) << 1);
}

static inline void yn_cell_deinterleave(uint64_t code, uint32_t *out_lat,
                                        uint32_t *out_lon)
{
    *out_lat = yn_cell_squeeze(code);
    *out_lon = yn_cell_squeeze(code >> 1);
}

/* ---- scores -------------------------------------------------------------- */

/* True when the score is the number of a cell: an integer in [0, 2^52), and not
 * -0, so that the score can be restored from the code bit for bit. */
static inline bool yn_score_is_cell(double score, uint64_t *out_code)
{
    if (!(score >= 0.0 && score < (double)YN_CELL_CODE_MAX))
        return false;

    /* -0 is the one double here that equals a code and has other bits. */
    uint64_t code = (uint64_t)score;
    uint64_t bits;
    memcpy(&bits, &score, sizeof bits);
    if ((double)code != score || bits >> 63 != 0)
        return false;
    *out_code = code;
    return true;
}

/* The score as a signed integer, as the x86-64 instruction cvttsd2si gives it:
 * truncated, and the lowest number for everything that does not fit. */
static inline int64_t yn_score_to_int64(double score)
{
    if (score >= -9223372036854775808.0 && score < 9223372036854775808.0)
        return (int64_t)score;
    return INT64_MIN;
}

/*
 * The score as an unsigned integer, as compilers for x86-64 cast it: below 2^63
 * through the signed conversion (so -1 has all bits set and -inf only the
 * highest), from 2^63 on by taking 2^63 away first and putting it back as the
 * highest bit (so 2^64, 1e300 and inf are 0). Not NaN.
 */
static inline uint64_t yn_score_to_bits(double score)
{
    if (score < 9223372036854775808.0)
        return (uint64_t)yn_score_to_int64(score);
    return (uint64_t)yn_score_to_int64(score - 9223372036854775808.0) ^
           0x8000000000000000ULL;
}

/* ---- distance ------------------------------------------------------------ */

static inline double yn_rad_from_deg(double deg)
{
    return deg * YN_RAD_PER_DEG;
}

static inline double yn_deg_from_rad(double rad)
{
    return rad / YN_RAD_PER_DEG;
}

/* Distance in metres between two parallels, as the exact predicate of a box and the
 * distance along one meridian use it. */
double yn_lat_distance_m(double lat1_deg, double lat2_deg);

#endif
