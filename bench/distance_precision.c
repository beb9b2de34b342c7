/*
 * What would distances of lower precision gain, and what would they cost?
 *
 * For each way to compute a distance: its time for a point, and its error, largest and
 * mean, at distances from 1 to 2,000 km from centres at several latitudes, against the
 * exact expression (yn_distance_m). Prints Markdown tables; docs/point-test.md shows
 * them.
 *
 *   exact                six calls of the C library
 *   double kernel        what searches measure with; exact where four decimals need it
 *   float haversine      coordinates and all arithmetic in floats
 *   float offsets        the same, but differences from integer cells, as the point test
 *   equirectangular      a plane with the scale of the mean latitude, in doubles
 *   float plane          the same in floats, from integer cells
 *   float chord          unit vectors from float sines and cosines, and their chord
 *
 * All loops but the first are AVX2 code where that is to be had, the double kernel too.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/search.h"

#if defined(__x86_64__)
#define VECTOR __attribute__((target("avx2")))
#else
#define VECTOR
#endif

#define N_POINTS 4080 /* 16 leaves of 255 */
#define N_LEAF 255
#define N_RUNS 15
#define EARTH_M ((float)YN_EARTH_RADIUS_M)
#define RAD ((float)YN_RAD_PER_DEG)

/* The same points in every form that a way starts from. */
struct points {
    struct yn_positions leaf[N_POINTS / N_LEAF];
    double lat[N_POINTS], lon[N_POINTS];
    float flat[N_POINTS], flon[N_POINTS];
    uint32_t cell_lat[N_POINTS], cell_lon[N_POINTS];
};

struct centre {
    struct yn_point point;
    struct yn_region region;
    int32_t cell_lat, cell_lon;   /* the cell it is in */
    float lat_shift, lon_shift;   /* from it to that cell's position, in cells */
    float lat_factor, lon_factor; /* half-angle of one cell */
};

typedef void measure_fn(const struct centre *centre, const struct points *points,
                        double *out_m);

/* ---- arithmetic in floats ---- */

/* |x| <= 0.2 */
static inline float short_sin(float x)
{
    float z = x * x;
    return x * (1 + z * (-1.6666667e-1f + z * (8.3333333e-3f - z * 1.984127e-4f)));
}

static inline float short_cos(float x)
{
    float z = x * x;
    return 1 + z * (-0.5f + z * (4.1666667e-2f - z * 1.3888889e-3f));
}

static inline float short_asin(float x)
{
    float z = x * x;
    return x + x * z * (1.6666667e-1f + z * (7.5e-2f + z * (4.4642857e-2f + z * 3e-2f)));
}

/* |x| <= pi/2, Taylor */
static inline float wide_sin(float x)
{
    float z = x * x;
    float s = -2.5052108e-8f;
    s = s * z + 2.7557319e-6f;
    s = s * z - 1.9841270e-4f;
    s = s * z + 8.3333333e-3f;
    s = s * z - 1.6666667e-1f;
    return x * (s * z + 1);
}

static inline float wide_cos(float x)
{
    float s = wide_sin(0.5f * x);
    return 1 - 2 * s * s;
}

/* ---- the ways ---- */

static void exact(const struct centre *centre, const struct points *points, double *out_m)
{
    for (size_t i = 0; i < N_POINTS; i++)
        out_m[i] = yn_distance_m(centre->point,
                                 (struct yn_point){points->lon[i], points->lat[i]});
}

static const struct yn_kernel *kernel;

static void double_kernel(const struct centre *centre, const struct points *points,
                          double *out_m)
{
    double a[N_LEAF];
    for (size_t k = 0; k < N_POINTS / N_LEAF; k++) {
        kernel->haversine(&centre->region, &points->leaf[k], N_LEAF, a);
        kernel->distances(a, N_LEAF, out_m + k * N_LEAF);
    }
}

/* And what printing four decimals of a metre needs: the test of measure.c. */
static void double_refined(const struct centre *centre, const struct points *points,
                           double *out_m)
{
    double_kernel(centre, points, out_m);
    for (size_t i = 0; i < N_POINTS; i++) {
        double parts = out_m[i] * 10000;
        double slack = yn_distance_slack_m(out_m[i]) * 10000 + parts * 1e-15;
        if (!(fabs(parts - floor(parts) - 0.5) > slack))
            out_m[i] = yn_distance_m(centre->point,
                                     (struct yn_point){points->lon[i], points->lat[i]});
    }
}

VECTOR static void float_haversine(const struct centre *centre,
                                   const struct points *points, double *out_m)
{
    const float lat0 = (float)centre->point.lat, lon0 = (float)centre->point.lon;
    const float cos0 = wide_cos(lat0 * RAD);
    for (size_t i = 0; i < N_POINTS; i++) {
        float u = short_sin((points->flat[i] - lat0) * (0.5f * RAD));
        float v = wide_sin((points->flon[i] - lon0) * (0.5f * RAD));
        float a = u * u + cos0 * wide_cos(points->flat[i] * RAD) * (v * v);
        out_m[i] = (double)(2 * EARTH_M * short_asin(sqrtf(a)));
    }
}

VECTOR static void float_offsets(const struct centre *centre, const struct points *points,
                                 double *out_m)
{
    const float cos0 = (float)centre->region.cos_lat,
                sin0 = (float)centre->region.sin_lat;
    for (size_t i = 0; i < N_POINTS; i++) {
        int32_t dlat = (int32_t)points->cell_lat[i] - centre->cell_lat;
        int32_t dlon = (int32_t)points->cell_lon[i] - centre->cell_lon;
        float y = ((float)dlat + centre->lat_shift) * centre->lat_factor;
        float x = ((float)dlon + centre->lon_shift) * centre->lon_factor;
        float sy = short_sin(y), sx = wide_sin(x);
        float cos_lat = cos0 * (1 - 2 * (sy * sy)) - sin0 * (2 * sy * short_cos(y));
        float a = sy * sy + cos0 * cos_lat * (sx * sx);
        out_m[i] = (double)(2 * EARTH_M * short_asin(sqrtf(a)));
    }
}

VECTOR static void equirectangular(const struct centre *centre,
                                   const struct points *points, double *out_m)
{
    for (size_t i = 0; i < N_POINTS; i++) {
        double dlat = (points->lat[i] - centre->point.lat) * YN_RAD_PER_DEG;
        double dlon = (points->lon[i] - centre->point.lon) * YN_RAD_PER_DEG;
        double middle = (points->lat[i] + centre->point.lat) * YN_HALF_RAD_PER_DEG;
        double z = middle * middle; /* cos to x^16 */
        double c = 4.779477332387385e-14;
        c = c * z - 1.1470745597729725e-11;
        c = c * z + 2.08767569878681e-09;
        c = c * z - 2.755731922398589e-07;
        c = c * z + 2.48015873015873e-05;
        c = c * z - 0.001388888888888889;
        c = c * z + 0.041666666666666664;
        c = c * z - 0.5;
        double x = dlon * (c * z + 1);
        out_m[i] = YN_EARTH_RADIUS_M * sqrt(dlat * dlat + x * x);
    }
}

VECTOR static void float_plane(const struct centre *centre, const struct points *points,
                               double *out_m)
{
    const float cos0 = (float)centre->region.cos_lat,
                sin0 = (float)centre->region.sin_lat;
    for (size_t i = 0; i < N_POINTS; i++) {
        int32_t dlat = (int32_t)points->cell_lat[i] - centre->cell_lat;
        int32_t dlon = (int32_t)points->cell_lon[i] - centre->cell_lon;
        float y = ((float)dlat + centre->lat_shift) * centre->lat_factor;
        float x = ((float)dlon + centre->lon_shift) * centre->lon_factor;
        x *= cos0 * short_cos(y) - sin0 * short_sin(y); /* cosine of the mean latitude */
        out_m[i] = (double)(2 * EARTH_M * sqrtf(y * y + x * x));
    }
}

VECTOR static void float_chord(const struct centre *centre, const struct points *points,
                               double *out_m)
{
    const double lat0 = yn_rad_from_deg(centre->point.lat);
    const double lon0 = yn_rad_from_deg(centre->point.lon);
    const float x0 = (float)(cos(lat0) * cos(lon0)), y0 = (float)(cos(lat0) * sin(lon0));
    const float z0 = (float)sin(lat0);
    for (size_t i = 0; i < N_POINTS; i++) {
        float lat = points->flat[i] * RAD, half = points->flon[i] * (0.5f * RAD);
        float cos_lat = wide_cos(lat), s = wide_sin(half), c = wide_cos(half);
        float x = cos_lat * (1 - 2 * s * s) - x0, y = cos_lat * (2 * s * c) - y0;
        float z = wide_sin(lat) - z0;
        float half_chord = 0.5f * sqrtf(x * x + y * y + z * z);
        out_m[i] = (double)(2 * EARTH_M * short_asin(half_chord));
    }
}

static const struct {
    const char *name;
    measure_fn *measure;
} ways[] = {
    {"exact expression (libm)", exact},
    {"double kernel", double_kernel},
    {"double kernel, exact near ties", double_refined},
    {"float haversine", float_haversine},
    {"float haversine from cell offsets", float_offsets},
    {"equirectangular, doubles", equirectangular},
    {"equirectangular, floats from cell offsets", float_plane},
    {"float sin/cos, chord", float_chord},
};
#define N_WAYS (sizeof ways / sizeof ways[0])

/* ---- points ---- */

static uint64_t random_state = 1;

/* 0..1; SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) */
static double random_unit(void)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void set_centre(struct centre *centre, double lat)
{
    struct yn_shape shape = {.kind = YN_CIRCLE, .center = {109.1234567, lat}};
    if (yn_region_init(&centre->region, &shape) != YN_OK)
        abort();
    centre->point = shape.center;
    uint32_t cell_lat = yn_cell_encode_lat(lat);
    uint32_t cell_lon = yn_cell_encode_lon(shape.center.lon);
    const double lat_cell = YN_LAT_SPAN_DEG / YN_CELL_AXIS_MAX;
    const double lon_cell = YN_LON_SPAN_DEG / YN_CELL_AXIS_MAX;
    centre->cell_lat = (int32_t)cell_lat;
    centre->cell_lon = (int32_t)cell_lon;
    centre->lat_shift = (float)((yn_cell_lat_deg(cell_lat) - lat) / lat_cell);
    centre->lon_shift =
        (float)((yn_cell_lon_deg(cell_lon) - shape.center.lon) / lon_cell);
    centre->lat_factor = (float)(lat_cell * YN_HALF_RAD_PER_DEG);
    centre->lon_factor = (float)(lon_cell * YN_HALF_RAD_PER_DEG);
}

/* Points at a distance in all directions that stay on this side of the poles' caps and
 * of the antimeridian. */
static void set_points(struct points *points, const struct centre *centre, double metres)
{
    double angle = metres / YN_EARTH_RADIUS_M, lat0 = yn_rad_from_deg(centre->point.lat);
    for (size_t i = 0; i < N_POINTS;) {
        double bearing = random_unit() * 6.283185307179586;
        double s = sin(lat0) * cos(angle) + cos(lat0) * sin(angle) * cos(bearing);
        double dlon =
            atan2(sin(bearing) * sin(angle) * cos(lat0), cos(angle) - sin(lat0) * s);
        struct yn_point p = {centre->point.lon + yn_deg_from_rad(dlon),
                             yn_deg_from_rad(asin(s))};
        if (fabs(p.lat) >= YN_LAT_MAX_DEG || fabs(p.lon) >= YN_LON_MAX_DEG)
            continue;
        points->cell_lat[i] = yn_cell_encode_lat(p.lat);
        points->cell_lon[i] = yn_cell_encode_lon(p.lon);
        points->lat[i] = yn_cell_lat_deg(points->cell_lat[i]);
        points->lon[i] = yn_cell_lon_deg(points->cell_lon[i]);
        points->flat[i] = (float)points->lat[i];
        points->flon[i] = (float)points->lon[i];
        points->leaf[i / N_LEAF].lat[i % N_LEAF] = points->lat[i];
        points->leaf[i / N_LEAF].lon[i % N_LEAF] = points->lon[i];
        i++;
    }
}

/* ---- measuring ---- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nanoseconds a point: the best of some runs of about 2 ms. */
static double ns_per_point(measure_fn *measure, const struct centre *centre,
                           const struct points *points)
{
    static double metres[N_POINTS];
    double best = HUGE_VAL;
    for (int run = 0; run < N_RUNS; run++) {
        double start = now_s(), spent = 0;
        size_t n = 0;
        while (spent < 2e-3) {
            measure(centre, points, metres);
            n += N_POINTS;
            spent = now_s() - start;
        }
        best = fmin(best, spent * 1e9 / (double)n);
    }
    return best;
}

static void print_times(void)
{
    static struct points points;
    struct centre centre;
    set_centre(&centre, 55);
    set_points(&points, &centre, 200e3);
    printf("| distance | ns a point |\n| --- | ---: |\n");
    for (size_t w = 0; w < N_WAYS; w++)
        printf("| %s | %.2f |\n", ways[w].name,
               ns_per_point(ways[w].measure, &centre, &points));
}

/* In the unit that takes few digits. */
static void print_metres(double metres)
{
    static const struct {
        double unit_m;
        const char *name;
    } units[] = {{1000, "km"}, {1, "m"}, {1e-2, "cm"}, {1e-3, "mm"}, {1e-6, "µm"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (metres >= units[i].unit_m) {
            double value = metres / units[i].unit_m;
            printf("%.*f %s", value < 10 ? 1 : 0, value, units[i].name);
            return;
        }
    printf("%.1f nm", metres * 1e9);
}

static void print_errors(size_t way, double lat)
{
    static const double distances_km[] = {1, 10, 100, 500, 1000, 2000};
    static struct points points;
    static double right[N_POINTS], metres[N_POINTS];
    struct centre centre;
    set_centre(&centre, lat);
    printf("| %s | %g° |", ways[way].name, lat);
    for (size_t d = 0; d < sizeof distances_km / sizeof distances_km[0]; d++) {
        double largest = 0, sum = 0;
        set_points(&points, &centre, distances_km[d] * 1000);
        exact(&centre, &points, right);
        ways[way].measure(&centre, &points, metres);
        for (size_t i = 0; i < N_POINTS; i++) {
            double error = fabs(metres[i] - right[i]);
            largest = fmax(largest, error);
            sum += error;
        }
        putchar(' ');
        print_metres(largest);
        printf(" / ");
        print_metres(sum / N_POINTS);
        printf(" |");
    }
    putchar('\n');
}

int main(void)
{
    static const double lats[] = {0, 45, 75};
    kernel = yn_kernel_find("avx2");
#if defined(__x86_64__)
    if (kernel == NULL) {
        fprintf(stderr, "distance_precision: this processor has no AVX2\n");
        return 1;
    }
#else
    kernel = yn_kernel();
#endif
    print_times();
    printf(
        "\n| distance | latitude | 1 km | 10 km | 100 km | 500 km | 1,000 km | 2,000 km |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t w = 1; w < N_WAYS; w++)
        if (ways[w].measure != double_refined) /* its errors are less than the kernel's */
            for (size_t l = 0; l < sizeof lats / sizeof lats[0]; l++)
                print_errors(w, lats[l]);
    return 0;
}
