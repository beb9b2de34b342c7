/*
 * distance_error.c: what error a distance of lower precision makes, as a Markdown table.
 *
 * Pairs of points at random places, bearings and about the stated distance apart; the
 * exact distance is that of the engine. Three cheaper ones: square root and arcsine in
 * floats (as in distance-float.patch), everything in floats, and the plane approximation
 * (the difference of longitude shrunk by the cosine of the middle latitude).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "core/geodesy.h"

#define PAIRS 200000
#define LAT_MAX_DEG 70

static uint64_t state = 1;

/* splitmix64 (Steele, Lea, Flood 2014), as a number in 0..1 */
static double next_random(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double float_arcsine_m(struct yn_point a, struct yn_point b)
{
    double v = sin(yn_rad_from_deg(b.lon - a.lon) / 2);
    double u = sin(yn_rad_from_deg(b.lat - a.lat) / 2);
    double h = u * u + cos(yn_rad_from_deg(a.lat)) * cos(yn_rad_from_deg(b.lat)) * v * v;
    return 2 * YN_EARTH_RADIUS_M * (double)asinf(sqrtf((float)h));
}

static double all_floats_m(struct yn_point a, struct yn_point b)
{
    const float rad = (float)YN_RAD_PER_DEG;
    float lat1 = (float)a.lat * rad, lat2 = (float)b.lat * rad;
    float v = sinf(((float)b.lon * rad - (float)a.lon * rad) / 2);
    float u = sinf((lat2 - lat1) / 2);
    float h = u * u + cosf(lat1) * cosf(lat2) * v * v;
    return 2 * YN_EARTH_RADIUS_M * (double)asinf(sqrtf(h));
}

static double plane_m(struct yn_point a, struct yn_point b)
{
    double x = yn_rad_from_deg(b.lon - a.lon) * cos(yn_rad_from_deg((a.lat + b.lat) / 2));
    double y = yn_rad_from_deg(b.lat - a.lat);
    return YN_EARTH_RADIUS_M * sqrt(x * x + y * y);
}

/* A point at a distance and a bearing from a, on the sphere. */
static struct yn_point go(struct yn_point a, double distance_m, double bearing_rad)
{
    double d = distance_m / YN_EARTH_RADIUS_M, lat = yn_rad_from_deg(a.lat);
    double sin_lat = sin(lat) * cos(d) + cos(lat) * sin(d) * cos(bearing_rad);
    double dlon =
        atan2(sin(bearing_rad) * sin(d) * cos(lat), cos(d) - sin(lat) * sin_lat);
    return (struct yn_point){a.lon + dlon / YN_RAD_PER_DEG,
                             asin(sin_lat) / YN_RAD_PER_DEG};
}

int main(void)
{
    static double (*const measures[])(struct yn_point a, struct yn_point b) = {
        float_arcsine_m, all_floats_m, plane_m};
    static const double distances_km[] = {1, 10, 50, 100, 200, 500, 1000, 2000};
    puts("| distance | float arcsine: most, typical | texts in km that differ "
         "| all in floats: most, typical | plane: most, typical |\n"
         "| ---: | ---: | ---: | ---: | ---: |");
    for (size_t k = 0; k < sizeof distances_km / sizeof *distances_km; k++) {
        double most[3] = {0}, squares[3] = {0};
        int n_other = 0;
        for (int i = 0; i < PAIRS; i++) {
            struct yn_point a = {next_random() * 300 - 150,
                                 (next_random() * 2 - 1) * (LAT_MAX_DEG - 18)};
            struct yn_point b =
                go(a, distances_km[k] * 1000 * (0.9 + 0.1 * next_random()),
                   next_random() * 6.283185307179586);
            double exact_m = yn_distance_m(a, b);
            for (int m = 0; m < 3; m++) {
                double error_m = fabs(measures[m](a, b) - exact_m);
                most[m] = fmax(most[m], error_m);
                squares[m] += error_m * error_m;
            }
            n_other += llrint(float_arcsine_m(a, b) * 10) != llrint(exact_m * 10);
        }
        printf(
            "| %.0f km | %.2g m, %.1g m | %.1f %% | %.2g m, %.1g m | %.2g m, %.1g m |\n",
            distances_km[k], most[0], sqrt(squares[0] / PAIRS), 100.0 * n_other / PAIRS,
            most[1], sqrt(squares[1] / PAIRS), most[2], sqrt(squares[2] / PAIRS));
    }
    return 0;
}
