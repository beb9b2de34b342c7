/*
 * kernel_scalar.c: the point test in plain C, on doubles.
 *
 * No trigonometric call for a point that is clearly in or out: sin^2 comes from a
 * polynomial (the Taylor series of sin to x^21, error below 2e-18 up to pi/2), the
 * cosine of a latitude from 1 - 2 sin^2(lat/2). The sums stay far inside the band
 * of region.c; entries inside the band go to the exact predicate.
 *
 * HOT: plain loops over arrays, which the compiler turns into vector code.
 */
#include <math.h>

#include "core/kernel.h"

#define HALF_RAD_PER_DEG (YN_RAD_PER_DEG / 2)

void yn_kernel_decode(const struct yn_leaf *leaf, struct yn_positions *out_positions)
{
    for (size_t i = 0; i < leaf->head.n; i++) {
        uint32_t lat, lon;
        yn_leaf_cell(leaf, i, &lat, &lon);
        out_positions->lat[i] = yn_cell_lat_deg(lat);
        out_positions->lon[i] = yn_cell_lon_deg(lon);
    }
}

/* sin^2(x) for |x| <= pi/2. */
static inline double sin_squared(double x)
{
    double z = x * x;
    double s = 1.957294106339126e-20; /* 1/21! */
    s = s * z - 8.22063524662433e-18; /* -1/19! */
    s = s * z + 2.811457254345521e-15;
    s = s * z - 7.647163731819816e-13;
    s = s * z + 1.605904383682161e-10;
    s = s * z - 2.505210838544172e-08;
    s = s * z + 2.755731922398589e-06;
    s = s * z - 0.0001984126984126984;
    s = s * z + 0.008333333333333333;
    s = s * z - 0.1666666666666667;
    s = s * z + 1;
    return s * s * z;
}

/* sin^2 of half a difference of longitude, degrees: -360..360. */
static inline double sin_squared_half(double deg)
{
    double d = fabs(deg);
    d = d > 180 ? 360 - d : d; /* sin^2 of the half is the same */
    return sin_squared(d * HALF_RAD_PER_DEG);
}

static inline double cos_of_lat(double lat_deg)
{
    return 1 - 2 * sin_squared(lat_deg * HALF_RAD_PER_DEG);
}

void yn_kernel_haversine(const struct yn_region *region,
                         const struct yn_positions *positions, size_t n, double *out_a)
{
    struct yn_point center = region->shape.center;
    for (size_t i = 0; i < n; i++) {
        double u2 = sin_squared((positions->lat[i] - center.lat) * HALF_RAD_PER_DEG);
        double v2 = sin_squared_half(positions->lon[i] - center.lon);
        out_a[i] = u2 + region->cos_lat * cos_of_lat(positions->lat[i]) * v2;
    }
}

static bool settle(const struct yn_region *region, const struct yn_positions *positions,
                   size_t i)
{
    return yn_region_contains(region,
                              (struct yn_point){positions->lon[i], positions->lat[i]});
}

static size_t test_circle(const struct yn_region *region,
                          const struct yn_positions *positions, size_t n,
                          uint64_t *out_mask)
{
    double a[YN_LEAF_ENTRIES_MAX];
    size_t n_hits = 0;
    yn_kernel_haversine(region, positions, n, a);
    for (size_t i = 0; i < n; i++) {
        bool is_in = a[i] < region->circle.in;
        if (!is_in && a[i] <= region->circle.out)
            is_in = settle(region, positions, i);
        out_mask[i / 64] |= (uint64_t)is_in << i % 64;
        n_hits += is_in;
    }
    return n_hits;
}

static size_t test_box(const struct yn_region *region,
                       const struct yn_positions *positions, size_t n, uint64_t *out_mask)
{
    struct yn_point center = region->shape.center;
    size_t n_hits = 0;
    for (size_t i = 0; i < n; i++) {
        double dlat = fabs(positions->lat[i] - center.lat);
        if (dlat > region->dlat_deg.out)
            continue;
        double cos_lat = cos_of_lat(positions->lat[i]);
        double a = cos_lat * cos_lat * sin_squared_half(positions->lon[i] - center.lon);
        if (a > region->parallel.out)
            continue;
        bool is_in = (dlat < region->dlat_deg.in && a < region->parallel.in) ||
                     settle(region, positions, i);
        out_mask[i / 64] |= (uint64_t)is_in << i % 64;
        n_hits += is_in;
    }
    return n_hits;
}

static size_t test_polygon(const struct yn_region *region,
                           const struct yn_positions *positions, size_t n,
                           uint64_t *out_mask)
{
    size_t n_hits = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_in = settle(region, positions, i);
        out_mask[i / 64] |= (uint64_t)is_in << i % 64;
        n_hits += is_in;
    }
    return n_hits;
}

size_t yn_kernel_test(const struct yn_region *region, const struct yn_leaf *leaf,
                      uint64_t *out_mask)
{
    struct yn_positions positions;
    yn_kernel_decode(leaf, &positions);
    memset(out_mask, 0, YN_MASK_WORDS * sizeof *out_mask);
    switch (region->shape.kind) {
    case YN_CIRCLE:
        return test_circle(region, &positions, leaf->head.n, out_mask);
    case YN_BOX:
        return test_box(region, &positions, leaf->head.n, out_mask);
    case YN_POLYGON:
        break;
    }
    return test_polygon(region, &positions, leaf->head.n, out_mask);
}
