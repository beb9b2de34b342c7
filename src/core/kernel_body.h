/*
 * kernel_body.h: the kernels, in plain C; included once by each kernel_<set>.c, which is
 * compiled for its instruction set and defines KERNEL_TABLE, the name of its table, and
 * KERNEL_STEP, the entries that its vectors hold as bytes.
 *
 * There are no intrinsics: the loops run over arrays without branches, and the compiler
 * makes vector code of them (-O3). One source, so that all sets decide alike. Fused
 * multiply-adds are off (-ffp-contract=off): a result does not depend on the set.
 *
 * The kernels.
 *
 * overlap, and the entries in a cover: integers only. A shape's cover (region.h) leaves
 * nothing out that is in the shape; what is not in it needs no test, and where few
 * entries of a leaf are, these are tested by themselves, in doubles.
 *
 * relate: where many rectangles lie. In doubles, with a margin for rounding (region.c).
 * For a difference of longitude L and latitudes in [lat1, lat2],
 *
 *     a >= sin^2(least dlat / 2) + cos(lat0) * least cos(lat) * sin^2(least L / 2)
 *
 * and the same with "greatest" from above: not the tightest bounds, but without a
 * branch, an arctangent, or a case for poles and the antimeridian.
 *
 * test in floats: on offsets of cells from the centre, 16 or more at a time. With H the
 * largest half-angle (HALF_MAX at most) and e = 2^-21 * H, the a computed in floats
 * differs from the one of the exact predicate by at most
 *
 *     2.7 * sqrt(a) * e + 2 * e^2 + 1e-6 * a
 *
 * whether or not multiplications and additions are fused; docs/point-test.md derives it.
 * The band around the limit a* is wider by half and more (float_width):
 *
 *     4 * sqrt(a*) * e + 4 * e^2 + 4e-6 * a*
 *
 * Entries within it are settled exactly. Where the band would be wide (BAND_MAX: the
 * derivation needs that, too) or the angles large, the leaf is tested
 *
 * in doubles: sin^2 from the Taylor series of sin to x^21 (error below 2e-18
 * up to pi/2), the cosine of a latitude from 1 - 2 sin^2(lat/2).
 *
 * measure: distances in doubles, from offsets of cells where the half-angles are at most
 * HALF_MAX, which saves the decoding and most terms of the series. round: what is printed
 * of distances, where their slack leaves no doubt.
 */
#include <math.h>

#include "core/kernel.h"

#define HALF_MAX 0.12              /* radians */
#define BAND_MAX 0.05              /* of the limit */
#define N_MAX (YN_MASK_WORDS * 64) /* entries of a leaf, to whole words of a mask */

enum { FLAG_IN = 1, FLAG_MAYBE = 2 };

/* ---- doubles ---- */

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

/* A difference of longitude the short way round: 0..180, from -360..360. */
static inline double short_way(double deg)
{
    double d = fabs(deg);
    return d > 180 ? 360 - d : d;
}

static inline double sin_squared_half(double deg)
{
    return sin_squared(deg * YN_HALF_RAD_PER_DEG);
}

static inline double cos_of_lat(double lat_deg)
{
    return 1 - 2 * sin_squared_half(lat_deg);
}

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- rectangles ---- */

/* Differences of latitude and longitude between the centre and rectangles, and the
 * cosines of their latitudes: least and greatest. */
struct spans {
    double lat_low[YN_TREE_FANOUT], lat_high[YN_TREE_FANOUT];
    double lon_low[YN_TREE_FANOUT], lon_high[YN_TREE_FANOUT];
    double cos_low[YN_TREE_FANOUT], cos_high[YN_TREE_FANOUT];
};

static void measure(const struct yn_region *region, const struct yn_rects *rects,
                    size_t n, struct spans *out)
{
    const double lat0 = region->shape.center.lat, lon0 = region->shape.center.lon;
    const double far1 = lon0 > 0 ? lon0 - 180 : lon0 + 180; /* the opposite meridian */
    const double far2 = lon0 == 0 ? -180 : far1;
    for (size_t i = 0; i < n; i++) {
        double lat1 = yn_cell_lat_deg(rects->lat_min[i]);
        double lat2 = yn_cell_lat_deg(rects->lat_max[i]);
        double lon1 = yn_cell_lon_deg(rects->lon_min[i]);
        double lon2 = yn_cell_lon_deg(rects->lon_max[i]);
        double d1 = short_way(lon1 - lon0), d2 = short_way(lon2 - lon0);
        double low = larger(lat1 - lat0, lat0 - lat2);
        out->lat_low[i] = low > 0 ? low : 0;
        out->lat_high[i] = larger(lat2 - lat0, lat0 - lat1);
        /* 0 or less when the meridian runs through the rectangle */
        double abeam = larger(lon1 - lon0, lon0 - lon2);
        double opposite =
            smaller(larger(lon1 - far1, far1 - lon2), larger(lon1 - far2, far2 - lon2));
        double lon_low = smaller(d1, d2), lon_high = larger(d1, d2);
        out->lon_low[i] = abeam <= 0 ? 0 : lon_low;
        out->lon_high[i] = opposite <= 0 ? 180 : lon_high;
        double cos1 = cos_of_lat(lat1), cos2 = cos_of_lat(lat2);
        double cos_high = larger(cos1, cos2);
        out->cos_low[i] = smaller(cos1, cos2);
        out->cos_high[i] = larger(lat1, -lat2) <= 0 ? 1 : cos_high;
    }
}

static void kernel_bounds(const struct yn_region *region, const struct yn_rects *rects,
                          size_t n, double *out_min_a, double *out_max_a)
{
    struct spans s;
    measure(region, rects, n, &s);
    for (size_t i = 0; i < n; i++) {
        double low = sin_squared_half(s.lat_low[i]) +
                     region->cos_lat * s.cos_low[i] * sin_squared_half(s.lon_low[i]);
        double high = sin_squared_half(s.lat_high[i]) +
                      region->cos_lat * s.cos_high[i] * sin_squared_half(s.lon_high[i]);
        out_min_a[i] = low - yn_a_slack(low);
        out_max_a[i] = high + yn_a_slack(high);
    }
}

static void relate_circle(const struct yn_region *region, const struct yn_rects *rects,
                          size_t n, uint8_t *out_relations)
{
    double low[YN_TREE_FANOUT], high[YN_TREE_FANOUT];
    kernel_bounds(region, rects, n, low, high);
    for (size_t i = 0; i < n; i++)
        out_relations[i] = low[i] > region->circle.out   ? YN_OUTSIDE
                           : high[i] < region->circle.in ? YN_INSIDE
                                                         : YN_CROSSING;
}

static void relate_box(const struct yn_region *region, const struct yn_rects *rects,
                       size_t n, uint8_t *out_relations)
{
    struct spans s;
    measure(region, rects, n, &s);
    for (size_t i = 0; i < n; i++) {
        double low = s.cos_low[i] * s.cos_low[i] * sin_squared_half(s.lon_low[i]);
        double high = s.cos_high[i] * s.cos_high[i] * sin_squared_half(s.lon_high[i]);
        bool is_out = (s.lat_low[i] > region->dlat_deg.out) |
                      (low - yn_a_slack(low) > region->parallel.out);
        bool is_in = (s.lat_high[i] < region->dlat_deg.in) &
                     (high + yn_a_slack(high) < region->parallel.in);
        out_relations[i] = is_out ? YN_OUTSIDE : is_in ? YN_INSIDE : YN_CROSSING;
    }
}

/* Lowest bit of each of eight bytes, gathered. */
static inline uint64_t gather_bits(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return (word & 0x0101010101010101u) * 0x0102040810204080u >> 56;
}

/* Lowest bit of each of 64 bytes. */
static inline uint64_t gather_word(const uint8_t *bytes)
{
    uint64_t bits = 0;
    for (size_t b = 0; b < 8; b++)
        bits |= gather_bits(bytes + b * 8) << 8 * b;
    return bits;
}

static uint64_t kernel_overlap(const struct yn_rect *box, const struct yn_rects *rects,
                               size_t n)
{
    const struct yn_rect of = *box;
    uint8_t flags[64] = {0};
    for (size_t i = 0; i < n; i++)
        flags[i] = (rects->lat_min[i] <= of.lat_max) & (rects->lat_max[i] >= of.lat_min) &
                   (rects->lon_min[i] <= of.lon_max) & (rects->lon_max[i] >= of.lon_min);
    return gather_word(flags);
}

static void kernel_relate(const struct yn_region *region, const struct yn_rects *rects,
                          size_t n, uint8_t *out_relations)
{
    if (region->shape.kind == YN_CIRCLE)
        relate_circle(region, rects, n, out_relations);
    else if (region->shape.kind == YN_BOX)
        relate_box(region, rects, n, out_relations);
    else
        yn_region_relate_polygon(region, rects, n, out_relations);
}

/* ---- positions in doubles ---- */

static void kernel_decode(const struct yn_leaf *leaf, struct yn_positions *out)
{
    size_t n = leaf->head.n;
    if (leaf->head.format == YN_LEAF_NARROW) {
        const uint16_t *lat = (const uint16_t *)(const void *)leaf->data, *lon = lat + n;
        for (size_t i = 0; i < n; i++)
            out->lat[i] = yn_cell_lat_deg(leaf->base_lat + lat[i]);
        for (size_t i = 0; i < n; i++)
            out->lon[i] = yn_cell_lon_deg(leaf->base_lon + lon[i]);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t lat, lon;
        yn_leaf_cell(leaf, i, &lat, &lon);
        out->lat[i] = yn_cell_lat_deg(lat);
        out->lon[i] = yn_cell_lon_deg(lon);
    }
}

static void kernel_haversine(const struct yn_region *region,
                             const struct yn_positions *at, size_t n, double *out_a)
{
    const struct yn_point center = region->shape.center;
    for (size_t i = 0; i < n; i++) {
        double u2 = sin_squared_half(at->lat[i] - center.lat);
        double v2 = sin_squared_half(short_way(at->lon[i] - center.lon));
        out_a[i] = u2 + region->cos_lat * cos_of_lat(at->lat[i]) * v2;
    }
}

/* asin(x) = x + x^3 * P(x^2) for x up to 1/2, P by Chebyshev interpolation of the Taylor
 * series (error below 1e-18); above, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
static inline double arcsine(double x)
{
    double z = x > 0.5 ? (1 - x) * 0.5 : x * x;
    double t = x > 0.5 ? sqrt(z) : x;
    double p = 0.0297378456439969;
    p = p * z - 0.01944563642504257;
    p = p * z + 0.01970071180526169;
    p = p * z + 0.0029838811037374503;
    p = p * z + 0.009335970060991405;
    p = p * z + 0.009618864779963437;
    p = p * z + 0.011566830427132645;
    p = p * z + 0.013963748435199949;
    p = p * z + 0.01735281834070849;
    p = p * z + 0.02237215737767329;
    p = p * z + 0.030381944476963723;
    p = p * z + 0.04464285714253574;
    p = p * z + 0.07500000000000125;
    p = p * z + 0.16666666666666666;
    double asin_t = t + t * z * p;
    return x > 0.5 ? 1.5707963267948966 - 2 * asin_t : asin_t;
}

static void kernel_distances(const double *a, size_t n, double *out_m)
{
    for (size_t i = 0; i < n; i++)
        out_m[i] = 2 * YN_EARTH_RADIUS_M * arcsine(sqrt(a[i] < 1 ? a[i] : 1));
}

static void flags_of_band(const double *a, size_t n, struct yn_band band,
                          uint8_t *out_flags)
{
    for (size_t i = 0; i < n; i++)
        out_flags[i] = a[i] < band.in ? FLAG_IN : a[i] <= band.out ? FLAG_MAYBE : 0;
}

static void test_circle_double(const struct yn_region *region,
                               const struct yn_positions *at, size_t n,
                               uint8_t *out_flags)
{
    double a[N_MAX];
    kernel_haversine(region, at, n, a);
    flags_of_band(a, n, region->circle, out_flags);
}

static void test_box_double(const struct yn_region *region, const struct yn_positions *at,
                            size_t n, uint8_t *out_flags)
{
    const struct yn_point center = region->shape.center;
    double a[N_MAX];
    for (size_t i = 0; i < n; i++) {
        double cos_lat = cos_of_lat(at->lat[i]);
        a[i] = cos_lat * cos_lat * sin_squared_half(short_way(at->lon[i] - center.lon));
    }
    flags_of_band(a, n, region->parallel, out_flags);
    for (size_t i = 0; i < n; i++) {
        double dlat = fabs(at->lat[i] - center.lat);
        bool is_out = dlat > region->dlat_deg.out;
        bool is_open = dlat >= region->dlat_deg.in;
        uint8_t flag = is_open && out_flags[i] != 0 ? FLAG_MAYBE : out_flags[i];
        out_flags[i] = is_out ? 0 : flag;
    }
}

/* ---- positions in floats ---- */

/* A leaf as the float test sees it: half-angles are offset * factor. */
struct frame {
    int32_t base_lat, base_lon; /* of the offsets that are converted */
    float lat_shift, lon_shift; /* from the centre to the base, in cells */
    float lat_factor, lon_factor;
    double half_max; /* H: no half-angle in the leaf is larger, radians */
};

static double cells_of_deg(double deg, double limit_deg)
{
    return (deg + limit_deg) / (2 * limit_deg) * YN_CELL_AXIS_MAX - 0.5;
}

static void frame_of(const struct yn_region *region, const struct yn_leaf *leaf,
                     struct frame *out)
{
    const struct yn_rect *rect = &leaf->rect;
    const double lat_factor = YN_LAT_SPAN_DEG / YN_CELL_AXIS_MAX * YN_HALF_RAD_PER_DEG;
    const double lon_factor = YN_LON_SPAN_DEG / YN_CELL_AXIS_MAX * YN_HALF_RAD_PER_DEG;
    bool is_narrow = leaf->head.format == YN_LEAF_NARROW;
    double lat0 = cells_of_deg(region->shape.center.lat, YN_LAT_MAX_DEG);
    double lon0 = cells_of_deg(region->shape.center.lon, YN_LON_MAX_DEG);
    double middle = ((double)rect->lon_min + rect->lon_max) / 2;
    if (middle - lon0 > YN_CELL_AXIS_MAX / 2)
        lon0 += YN_CELL_AXIS_MAX; /* the short way is over the antimeridian */
    else if (middle - lon0 < -(double)(YN_CELL_AXIS_MAX / 2))
        lon0 -= YN_CELL_AXIS_MAX;
    out->base_lat = is_narrow ? (int32_t)leaf->base_lat : (int32_t)rect->lat_min;
    out->base_lon = is_narrow ? (int32_t)leaf->base_lon : (int32_t)rect->lon_min;
    out->lat_shift = (float)(out->base_lat - lat0);
    out->lon_shift = (float)(out->base_lon - lon0);
    out->lat_factor = (float)lat_factor;
    out->lon_factor = (float)lon_factor;
    double lat =
        larger(fabs(rect->lat_min - lat0), fabs(rect->lat_max - lat0)) * lat_factor;
    double lon =
        larger(fabs(rect->lon_min - lon0), fabs(rect->lon_max - lon0)) * lon_factor;
    /* Narrow offsets count from a base outside the rectangle: their size matters, too.
     * And a wide leaf may have shrunk to the very centre, where the rounding of lat0 and
     * lon0 would be all there is. */
    double span = 65535 * lon_factor;
    out->half_max = larger(larger(lat, lon), span);
}

/* Half-angles of all entries. */
static void half_angles(const struct yn_leaf *leaf, const struct frame *frame,
                        float *out_y, float *out_x)
{
    size_t n = leaf->head.n;
    const uint16_t *narrow = (const uint16_t *)(const void *)leaf->data;
    const uint32_t *wide = (const uint32_t *)(const void *)leaf->data;
    if (leaf->head.format == YN_LEAF_NARROW) {
        for (size_t i = 0; i < n; i++)
            out_y[i] = ((float)narrow[i] + frame->lat_shift) * frame->lat_factor;
        for (size_t i = 0; i < n; i++)
            out_x[i] = ((float)narrow[n + i] + frame->lon_shift) * frame->lon_factor;
        return;
    }
    for (size_t i = 0; i < n; i++)
        out_y[i] = ((float)((int32_t)wide[i] - frame->base_lat) + frame->lat_shift) *
                   frame->lat_factor;
    for (size_t i = 0; i < n; i++)
        out_x[i] = ((float)((int32_t)wide[n + i] - frame->base_lon) + frame->lon_shift) *
                   frame->lon_factor;
}

/* Adds entries at the centre up to a multiple of KERNEL_STEP: a loop over as many has no
 * remainder, which may take as long as all the rest of it. Returns their number. */
static size_t fill_up(size_t n, float *y, float *x)
{
    size_t n_filled = (n + KERNEL_STEP - 1) / KERNEL_STEP * KERNEL_STEP;
    for (size_t i = n; i < n_filled; i++)
        y[i] = x[i] = 0;
    return n_filled;
}

static inline float float_sin(float x)
{
    float z = x * x;
    return x * (1 + z * (-1.6666667e-1f + z * 8.3333333e-3f));
}

static inline float float_cos(float x)
{
    float z = x * x;
    return 1 + z * (-0.5f + z * 4.1666667e-2f);
}

/* The cosine of the latitude y half-angles from the centre, sy being float_sin(y). */
static inline float float_cos_lat(float y, float sy, float cos0, float sin0)
{
    float twice = 2 * sy;
    return cos0 * (1 - twice * sy) - sin0 * (twice * float_cos(y));
}

static inline float float_circle_a(float y, float x, float cos0, float sin0)
{
    float sy = float_sin(y), sx = float_sin(x);
    return sy * sy + cos0 * float_cos_lat(y, sy, cos0, sin0) * (sx * sx);
}

static inline float float_parallel_a(float y, float x, float cos0, float sin0)
{
    float sx = float_sin(x), cos_lat = float_cos_lat(y, float_sin(y), cos0, sin0);
    return cos_lat * cos_lat * (sx * sx);
}

static double float_error(double half_max)
{
    return half_max * 0x1p-21;
}

static double float_width(double a, double half_max)
{
    double e = float_error(half_max);
    return 4 * sqrt(a) * e + 4 * e * e + 4e-6 * a;
}

/* The band of floats around a limit, or false when floats will not do. */
static bool float_band(double limit_a, double half_max, float *out_in, float *out_out)
{
    double width = float_width(limit_a, half_max);
    if (!(half_max <= HALF_MAX) || !(width <= BAND_MAX * limit_a))
        return false;
    *out_in = (float)(limit_a - width);
    *out_out = (float)(limit_a + width);
    return true;
}

static bool test_circle_float(const struct yn_region *region, const struct yn_leaf *leaf,
                              uint8_t *out_flags)
{
    struct frame frame;
    float in, out, y[N_MAX], x[N_MAX];
    frame_of(region, leaf, &frame);
    if (!float_band(region->limit_a, frame.half_max, &in, &out))
        return false;
    half_angles(leaf, &frame, y, x);
    size_t n = fill_up(leaf->head.n, y, x);
    const float cos0 = (float)region->cos_lat, sin0 = (float)region->sin_lat;
    for (size_t i = 0; i < n; i++) {
        float a = float_circle_a(y[i], x[i], cos0, sin0);
        out_flags[i] = a < in ? FLAG_IN : a <= out ? FLAG_MAYBE : 0;
    }
    return true;
}

static bool test_box_float(const struct yn_region *region, const struct yn_leaf *leaf,
                           uint8_t *out_flags)
{
    struct frame frame;
    float in, out, y[N_MAX], x[N_MAX];
    frame_of(region, leaf, &frame);
    if (!float_band(region->limit_a, frame.half_max, &in, &out))
        return false;
    half_angles(leaf, &frame, y, x);
    size_t n = fill_up(leaf->head.n, y, x);
    const float cos0 = (float)region->cos_lat, sin0 = (float)region->sin_lat;
    /* Latitude: an error of 5/8 e in y, the rest for the rounding of these limits. They
     * are clamped where no latitude reaches, so that none is too large for a float. */
    const float e = (float)float_error(frame.half_max);
    const double lat_factor = YN_HALF_RAD_PER_DEG;
    const double dlat_in = smaller(region->dlat_deg.in, 360) * lat_factor;
    const double dlat_out = smaller(region->dlat_deg.out, 360) * lat_factor;
    const float lat_in = (float)dlat_in * (1 - 1e-5f) - e;
    const float lat_out = (float)dlat_out * (1 + 1e-5f) + e;
    for (size_t i = 0; i < n; i++) {
        float a = float_parallel_a(y[i], x[i], cos0, sin0), dlat = fabsf(y[i]);
        bool is_in = (a < in) & (dlat < lat_in), is_out = (a > out) | (dlat > lat_out);
        out_flags[i] = is_out ? 0 : is_in ? FLAG_IN : FLAG_MAYBE;
    }
    return true;
}

/* ---- distances of a leaf ---- */

/* Offsets of all entries from the frame's base, to whole vectors of doubles with entries
 * at the base. Returns their number. */
static size_t offsets_of(const struct yn_leaf *leaf, const struct frame *frame,
                         double *out_lat, double *out_lon)
{
    const size_t n = leaf->head.n, step = KERNEL_STEP / 8;
    const uint16_t *narrow = (const uint16_t *)(const void *)leaf->data;
    const uint32_t *wide = (const uint32_t *)(const void *)leaf->data;
    if (leaf->head.format == YN_LEAF_NARROW) {
        for (size_t i = 0; i < n; i++)
            out_lat[i] = narrow[i];
        for (size_t i = 0; i < n; i++)
            out_lon[i] = narrow[n + i];
    } else {
        for (size_t i = 0; i < n; i++)
            out_lat[i] = (int32_t)wide[i] - frame->base_lat;
        for (size_t i = 0; i < n; i++)
            out_lon[i] = (int32_t)wide[n + i] - frame->base_lon;
    }
    size_t n_filled = (n + step - 1) / step * step;
    for (size_t i = n; i < n_filled; i++)
        out_lat[i] = out_lon[i] = 0;
    return n_filled;
}

/* sin(x) for |x| <= HALF_MAX: Taylor, the rest below 2e-17 of it. */
static inline double near_sin(double x)
{
    double z = x * x;
    double s = 2.755731922398589e-06;
    s = s * z - 0.0001984126984126984;
    s = s * z + 0.008333333333333333;
    s = s * z - 0.1666666666666667;
    return x + x * z * s;
}

/* cos(x) for |x| <= HALF_MAX: the rest is below 2e-16. */
static inline double near_cos(double x)
{
    double z = x * x;
    double c = 2.48015873015873e-05;
    c = c * z - 0.001388888888888889;
    c = c * z + 0.041666666666666664;
    c = c * z - 0.5;
    return 1 + z * c;
}

/* asin of the root of z for z <= 2 HALF_MAX^2: Taylor, the rest below 7e-15 of it. The
 * series does not wait for the root. */
static inline double near_arcsine(double z)
{
    double t = sqrt(z);
    double p = 0.01396484375;
    p = p * z + 0.017352764423076924;
    p = p * z + 0.022372159090909092;
    p = p * z + 0.030381944444444444;
    p = p * z + 0.044642857142857144;
    p = p * z + 0.075;
    p = p * z + 0.16666666666666666;
    return t + t * z * p;
}

/* Half-angles count from the base, as exact as the decoded positions are; the rest is the
 * haversine in doubles, with series that are as short as these angles allow. */
static void measure_near(const struct yn_region *region, const struct yn_leaf *leaf,
                         const struct frame *frame, double *out_m)
{
    const double lat_factor = YN_LAT_SPAN_DEG / YN_CELL_AXIS_MAX * YN_HALF_RAD_PER_DEG;
    const double lon_factor = YN_LON_SPAN_DEG / YN_CELL_AXIS_MAX * YN_HALF_RAD_PER_DEG;
    const struct yn_point center = region->shape.center;
    const double cos0 = region->cos_lat, sin0 = region->sin_lat;
    double lon_deg = yn_cell_lon_deg((uint32_t)frame->base_lon) - center.lon;
    if (lon_deg > 180)
        lon_deg -= 360; /* the short way is over the antimeridian */
    else if (lon_deg < -180)
        lon_deg += 360;
    const double base_x = lon_deg * YN_HALF_RAD_PER_DEG;
    const double base_y =
        (yn_cell_lat_deg((uint32_t)frame->base_lat) - center.lat) * YN_HALF_RAD_PER_DEG;
    double lat[N_MAX], lon[N_MAX];
    size_t n = offsets_of(leaf, frame, lat, lon);
    for (size_t i = 0; i < n; i++) {
        double y = base_y + lat[i] * lat_factor, x = base_x + lon[i] * lon_factor;
        double sy = near_sin(y), sx = near_sin(x), twice = 2 * sy;
        double cos_lat = cos0 * (1 - twice * sy) - sin0 * (twice * near_cos(y));
        double a = sy * sy + cos0 * cos_lat * (sx * sx);
        out_m[i] = 2 * YN_EARTH_RADIUS_M * near_arcsine(a);
    }
}

static void kernel_measure(const struct yn_region *region, const struct yn_leaf *leaf,
                           double *out_m)
{
    if (leaf->head.format != YN_LEAF_GENERAL) {
        struct frame frame;
        frame_of(region, leaf, &frame);
        if (frame.half_max <= HALF_MAX) {
            measure_near(region, leaf, &frame, out_m);
            return;
        }
    }
    struct yn_positions at;
    double a[N_MAX];
    kernel_decode(leaf, &at);
    kernel_haversine(region, &at, leaf->head.n, a);
    kernel_distances(a, leaf->head.n, out_m);
}

/* From here on a double has no quarters, which the nearest integer needs. */
#define PARTS_MAX 0x1p50

/*
 * Every distance within the slack rounds to the same integer, unless its parts lie near
 * the middle between two. The printer divides by the unit and multiplies by 10^4, here is
 * one product with a rounded factor: together less than 5e-16 of the parts apart. Adding
 * 1.5 * 2^52 leaves no bits for a fraction, and the integer in the lowest ones.
 */
static bool kernel_round(const double *distance_m, size_t n, double parts_per_m,
                         uint64_t *out_parts)
{
    uint64_t open = 0;
    for (size_t i = 0; i < n; i++) {
        double parts = distance_m[i] * parts_per_m, sum = parts + 0x1.8p52;
        double slack = yn_distance_slack_m(distance_m[i]) * parts_per_m + parts * 1e-15;
        double off = fabs(parts - (sum - 0x1.8p52)) + slack;
        off = parts < PARTS_MAX ? off : 1;
        uint64_t bits;
        memcpy(&bits, &sum, sizeof bits);
        out_parts[i] = off < 0.5 ? bits & 0x0007ffffffffffff : YN_PARTS_OPEN;
    }
    for (size_t i = 0; i < n; i++)
        open |= out_parts[i];
    return open >> 63 == 0;
}

/* ---- the test ---- */

static bool settle(const struct yn_region *region, const struct yn_leaf *leaf, size_t i)
{
    uint32_t lat, lon;
    yn_leaf_cell(leaf, i, &lat, &lon);
    return yn_region_contains(
        region, (struct yn_point){yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)});
}

static size_t mask_of_flags(const struct yn_region *region, const struct yn_leaf *leaf,
                            uint8_t *flags, uint64_t *out_mask)
{
    size_t n = leaf->head.n, n_hits = 0;
    memset(flags + n, 0, YN_MASK_WORDS * 64 - n);
    for (size_t w = 0; w * 64 < n; w++) {
        uint8_t *word = flags + w * 64;
        uint8_t open = 0;
        for (size_t i = 0; i < 64; i++)
            open |= word[i];
        for (size_t i = 0; (open & FLAG_MAYBE) != 0 && i < 64; i++)
            if (word[i] == FLAG_MAYBE)
                word[i] = settle(region, leaf, w * 64 + i);
        out_mask[w] = gather_word(word);
        n_hits += (size_t)__builtin_popcountll(out_mask[w]);
    }
    return n_hits;
}

/* ---- entries in the cover ---- */

/* So few entries are looked at by themselves. */
#define FEW_ENTRIES 16

/* Whether the cover may leave out entries of the leaf: where it is smaller than the
 * leaf's rectangle. */
static bool has_small_cover(const struct yn_region *region, const struct yn_leaf *leaf)
{
    const struct yn_rect *cover = &region->cover, *rect = &leaf->rect;
    return leaf->head.format != YN_LEAF_GENERAL &&
           (cover->lat_max - cover->lat_min < rect->lat_max - rect->lat_min ||
            cover->lon_max - cover->lon_min < rect->lon_max - rect->lon_min);
}

/* What is left of [*min, *max] of 16-bit offsets from a base; false: nothing. */
static bool narrow_limits(uint32_t min, uint32_t max, uint32_t base, uint16_t *out_min,
                          uint16_t *out_max)
{
    if (max < base || (min > base && min - base > UINT16_MAX))
        return false;
    *out_min = (uint16_t)(min > base ? min - base : 0);
    *out_max = (uint16_t)(max - base > UINT16_MAX ? UINT16_MAX : max - base);
    return true;
}

/* Flags the entries in the cover. Returns false when there are none for certain. */
static bool flag_covered(const struct yn_rect *cover, const struct yn_leaf *leaf,
                         uint8_t *out_flags)
{
    size_t n = leaf->head.n;
    if (leaf->head.format == YN_LEAF_NARROW) {
        const uint16_t *lat = (const uint16_t *)(const void *)leaf->data, *lon = lat + n;
        uint16_t lat_min, lat_max, lon_min, lon_max;
        if (!narrow_limits(cover->lat_min, cover->lat_max, leaf->base_lat, &lat_min,
                           &lat_max) ||
            !narrow_limits(cover->lon_min, cover->lon_max, leaf->base_lon, &lon_min,
                           &lon_max))
            return false;
        for (size_t i = 0; i < n; i++)
            out_flags[i] = (lat[i] >= lat_min) & (lat[i] <= lat_max) &
                           (lon[i] >= lon_min) & (lon[i] <= lon_max);
    } else {
        const uint32_t *lat = (const uint32_t *)(const void *)leaf->data, *lon = lat + n;
        const struct yn_rect of = *cover;
        for (size_t i = 0; i < n; i++)
            out_flags[i] = (lat[i] >= of.lat_min) & (lat[i] <= of.lat_max) &
                           (lon[i] >= of.lon_min) & (lon[i] <= of.lon_max);
    }
    memset(out_flags + n, 0, N_MAX - n);
    return true;
}

/* Tests the entries of the mask, few of them, and leaves those in it that are in the
 * region. Returns their number. */
static size_t test_few(const struct yn_region *region, const struct yn_leaf *leaf,
                       uint64_t *mask)
{
    struct yn_positions at;
    uint8_t numbers[FEW_ENTRIES], flags[N_MAX];
    size_t n = 0, n_hits = 0;
    for (size_t w = 0; w < YN_MASK_WORDS; w++) {
        for (uint64_t left = mask[w]; left != 0; left &= left - 1) {
            uint32_t lat, lon;
            numbers[n] = (uint8_t)(w * 64 + (size_t)__builtin_ctzll(left));
            yn_leaf_cell(leaf, numbers[n], &lat, &lon);
            at.lat[n] = yn_cell_lat_deg(lat);
            at.lon[n++] = yn_cell_lon_deg(lon);
        }
        mask[w] = 0;
    }
    if (region->shape.kind == YN_CIRCLE)
        test_circle_double(region, &at, n, flags);
    else if (region->shape.kind == YN_BOX)
        test_box_double(region, &at, n, flags);
    else
        memset(flags, FLAG_MAYBE, n);
    for (size_t k = 0; k < n; k++) {
        if (flags[k] == 0 ||
            (flags[k] == FLAG_MAYBE && !settle(region, leaf, numbers[k])))
            continue;
        mask[numbers[k] / 64] |= (uint64_t)1 << numbers[k] % 64;
        n_hits++;
    }
    return n_hits;
}

/* Where the cover leaves few entries of the leaf, tests only these. Returns false, and
 * nothing is decided, where it does not. */
static bool test_covered(const struct yn_region *region, const struct yn_leaf *leaf,
                         uint64_t *out_mask, size_t *out_hits)
{
    uint8_t flags[N_MAX];
    size_t n = 0;
    *out_hits = 0;
    if (!flag_covered(&region->cover, leaf, flags))
        return true;
    for (size_t w = 0; w * 64 < leaf->head.n; w++) {
        out_mask[w] = gather_word(flags + w * 64);
        n += (size_t)__builtin_popcountll(out_mask[w]);
    }
    if (n > FEW_ENTRIES)
        return false;
    if (n > 0)
        *out_hits = test_few(region, leaf, out_mask);
    return true;
}

static size_t kernel_test(const struct yn_region *region, const struct yn_leaf *leaf,
                          uint64_t *out_mask)
{
    uint8_t flags[YN_MASK_WORDS * 64];
    struct yn_positions at;
    size_t n = leaf->head.n;
    enum yn_shape_kind kind = region->shape.kind;
    size_t n_hits;
    memset(out_mask, 0, YN_MASK_WORDS * sizeof *out_mask);
    if (has_small_cover(region, leaf) && test_covered(region, leaf, out_mask, &n_hits))
        return n_hits;
    if (kind == YN_POLYGON) {
        kernel_decode(leaf, &at);
        yn_polygon_test(&region->polygon, at.lat, at.lon, n, flags);
        return mask_of_flags(region, leaf, flags, out_mask);
    }
    bool is_done = false;
    if (leaf->head.format != YN_LEAF_GENERAL)
        is_done = kind == YN_CIRCLE ? test_circle_float(region, leaf, flags)
                                    : test_box_float(region, leaf, flags);
    if (!is_done) {
        kernel_decode(leaf, &at);
        if (kind == YN_CIRCLE)
            test_circle_double(region, &at, n, flags);
        else
            test_box_double(region, &at, n, flags);
    }
    return mask_of_flags(region, leaf, flags, out_mask);
}

const struct yn_kernel KERNEL_TABLE = {
    KERNEL_NAME,      kernel_overlap,   kernel_relate, kernel_bounds,  kernel_decode,
    kernel_haversine, kernel_distances, kernel_test,   kernel_measure, kernel_round,
};
