/*
 * region.c: shapes: the exact predicate, and certified answers for rectangles.
 *
 * Distances are compared through a = sin^2(d/2R), the haversine, which needs no
 * arcsine. Two kinds of error separate an a computed here from the one in the exact
 * predicate: that one rounds its coordinates to radians first, an absolute error
 * of at most 4e-16 in each half-angle; and every product and polynomial here and
 * there rounds, a relative error below 1e-14. So with e = 1e-15
 *
 *     |a - a'| <= 2*sqrt(a)*2e + 4e^2 + 1e-13*a
 *
 * and the band around a limit a* is made of these terms with room to spare
 * (yn_band_of_a). Close to the antipode, where a is nearly 1, arcsine
 * magnifies rounding; there a itself is still good to 1e-13, and nothing is
 * called outside within 1e-12 of 1.
 *
 * A rectangle of positions spans a range of latitudes and longitudes. For a given
 * difference of longitude L, cos(d) = A*cos(lat - psi) with psi = atan2(sin lat0,
 * cos lat0 cos L): the nearest latitude is psi or an end of the range, the
 * farthest is psi +- 180 degrees or an end. And a grows with L. That gives exact
 * bounds without a case for poles or the antimeridian.
 *
 * Polygons: when no edge meets the rectangle (enlarged by 1e-9 degrees, far above
 * any rounding), the crossing test has one answer for all of it.
 */
#include "core/region.h"

#include <math.h>

#define ANTIPODE_A (1 - 1e-12)
#define EVERYWHERE 2.0 /* above every a */
#define NEAR_MIN 64    /* a polygon's vertices from which its centre is taken nearly */

/* ---- bands ---- */

struct yn_band yn_band_of_a(double a)
{
    struct yn_band band = {a - yn_a_slack(a), a + yn_a_slack(a)};
    if (band.out > ANTIPODE_A)
        band.out = EVERYWHERE;
    return band;
}

double yn_a_of_distance_m(double distance_m)
{
    double half_angle = distance_m / (2 * YN_EARTH_RADIUS_M);
    if (!(half_angle < 1.5707963267948966))
        return 1;
    double s = sin(half_angle);
    return s * s;
}

/* The band of "distance <= limit_m". */
static struct yn_band band_of_distance(double limit_m, double *out_limit_a)
{
    *out_limit_a = EVERYWHERE;
    /* no distance is above half the circumference, and rounding adds little */
    if (limit_m > 3.141592653589794 * YN_EARTH_RADIUS_M * (1 + 1e-9))
        return (struct yn_band){EVERYWHERE, EVERYWHERE};
    *out_limit_a = yn_a_of_distance_m(limit_m);
    struct yn_band band = yn_band_of_a(*out_limit_a);
    /* nearly at the antipode the arcsine decides */
    if (band.in > ANTIPODE_A)
        band.in = ANTIPODE_A;
    return band;
}

/* ---- making ---- */

static bool is_size(double value)
{
    return value >= 0; /* false for NaN */
}

static struct yn_point exact_mean(const struct yn_shape *shape)
{
    double x = 0, y = 0, z = 0;
    for (size_t i = 0; i < shape->n_vertices; i++) {
        struct yn_point p = shape->vertices[i];
        double lon = yn_rad_from_deg(p.lon), lat = yn_rad_from_deg(p.lat);
        x += cos(lat) * cos(lon);
        y += cos(lat) * sin(lon);
        z += sin(lat);
    }
    return (struct yn_point){yn_deg_from_rad(atan2(y, x)),
                             yn_deg_from_rad(atan2(z, sqrt(x * x + y * y)))};
}

/* Sums over the vertices, by their distance from a point in degrees. */
struct moments {
    double u, v, uu, uv, vv; /* u: latitude, v: longitude */
};

static struct moments moments_about(const struct yn_shape *shape, struct yn_point about)
{
    struct moments sum = {0, 0, 0, 0, 0};
    for (size_t i = 0; i < shape->n_vertices; i++) {
        double u = shape->vertices[i].lat - about.lat;
        double v = shape->vertices[i].lon - about.lon;
        sum.u += u;
        sum.v += v;
        sum.uu += u * u;
        sum.uv += u * v;
        sum.vv += v * v;
    }
    return sum;
}

/*
 * The mean of a small polygon without a sine for each vertex. From the middle of the
 * bounding box, turned to longitude 0, a vertex is u north and v east:
 *
 *     x = cos(lat0 + u) cos v  = c - s u - c u^2/2 - c v^2/2     c, s: of lat0
 *     y = cos(lat0 + u) sin v  = c v - s u v
 *     z = sin(lat0 + u)        = s + c u - s u^2/2
 *
 * each but for r^3/6, where r bounds |u| + |v|: derivatives of products of sines are at
 * most 1. So the mean vector is good to 0.3 r^3; that angle, doubled for its length below
 * 1 and for all rounding, and divided by the cosine of the latitude for longitudes, is
 * the error. Leaves the region alone if that is not worth it.
 */
static void set_near_mean(struct yn_region *region, const struct yn_point *about,
                          const struct moments *sum)
{
    const struct yn_polygon *polygon = &region->polygon;
    double n = (double)polygon->n_vertices, rad = YN_RAD_PER_DEG;
    double r =
        (polygon->high.lon - polygon->low.lon + polygon->high.lat - polygon->low.lat) *
        rad / 2;
    double c = cos(about->lat * rad), s = sin(about->lat * rad);
    double error = 0.6 * r * r * r + 1e-9;
    double u = sum->u * rad / n, v = sum->v * rad / n;
    double uu = sum->uu * rad * rad / n, uv = sum->uv * rad * rad / n;
    double vv = sum->vv * rad * rad / n;
    double x = c - s * u - c * (uu + vv) / 2;
    double y = c * v - s * uv;
    double z = s + c * u - s * uu / 2;
    double parallel = sqrt(x * x + y * y);
    if (r > 0.2 || parallel < 0.05 || error > parallel / 4)
        return;
    region->shape.center.lon = about->lon + yn_deg_from_rad(atan2(y, x));
    region->shape.center.lat = yn_deg_from_rad(atan2(z, parallel));
    region->center_error_deg = yn_deg_from_rad(2 * error / parallel);
}

static enum yn_status init_polygon(struct yn_region *region)
{
    struct yn_shape *shape = &region->shape;
    struct yn_polygon *polygon = &region->polygon;
    if (shape->n_vertices < 3)
        return YN_ESHAPE;
    yn_polygon_init(polygon, shape->vertices, shape->n_vertices);
    if (!yn_point_is_valid(polygon->low) || !yn_point_is_valid(polygon->high))
        return YN_ESHAPE;
    struct yn_point about = {(polygon->low.lon + polygon->high.lon) / 2,
                             (polygon->low.lat + polygon->high.lat) / 2};
    struct moments sum = moments_about(shape, about);
    /* comparisons do not find a NaN, sums do */
    if (!isfinite(sum.u) || !isfinite(sum.v))
        return YN_ESHAPE;
    /* Few vertices are not worth the error. */
    region->center_error_deg = 0;
    if (shape->n_vertices >= NEAR_MIN)
        set_near_mean(region, &about, &sum);
    if (region->center_error_deg == 0)
        shape->center = exact_mean(shape);
    return YN_OK;
}

/* ---- the cover ---- */

/* At least arcsin(s) for 0 <= s <= COVER_SIN_MAX: the series has s^3 / 6 + 3/40 s^5 + ...
 */
#define COVER_SIN_MAX 0.3

static double arcsine_above(double s)
{
    return s * (1 + 0.2 * s * s) * (1 + 1e-9);
}

/* The slices of an axis within `reach` degrees of a coordinate, and two more at either
 * end for all rounding. Slices behind the last one all mean the limit. Beyond a limit
 * longitudes go on at the other end. */
static void cover_axis(double deg, double limit_deg, double reach_deg, bool wraps,
                       uint32_t *out_min, uint32_t *out_max)
{
    double scale = YN_CELL_AXIS_MAX / (2 * limit_deg);
    double low = (deg - reach_deg + limit_deg) * scale - 3;
    double high = (deg + reach_deg + limit_deg) * scale + 3;
    bool is_low = low < 0, is_high = high >= YN_CELL_AXIS_MAX - 1;
    *out_min = is_low || (wraps && is_high) ? 0 : (uint32_t)low;
    *out_max = is_high || (wraps && is_low) ? UINT32_MAX : (uint32_t)high;
}

/*
 * The cells around the shape, from bounds that take no sine: with s the sine of half the
 * reach in latitude, no point is further north or south than 2 arcsin(s). The least
 * cosine of a latitude in reach, c, is at least cos(lat0) cos(reach) - sin|lat0|
 * sin(reach), and half a difference of longitude has a sine of at most s / sqrt(cos(lat0)
 * c) in a circle, s / c in a box.
 */
static void init_cover(struct yn_region *region)
{
    struct yn_rect *cover = &region->cover;
    const struct yn_shape *shape = &region->shape;
    bool is_box = shape->kind == YN_BOX;
    *cover = (struct yn_rect){0, UINT32_MAX, 0, UINT32_MAX};
    if (shape->kind == YN_POLYGON) {
        struct yn_point low = region->polygon.low, high = region->polygon.high;
        cover_axis((low.lat + high.lat) / 2, YN_LAT_MAX_DEG, (high.lat - low.lat) / 2,
                   false, &cover->lat_min, &cover->lat_max);
        cover_axis((low.lon + high.lon) / 2, YN_LON_MAX_DEG, (high.lon - low.lon) / 2,
                   false, &cover->lon_min, &cover->lon_max);
        return;
    }
    double s = sqrt(is_box ? region->parallel.out : region->circle.out);
    double reach = is_box ? yn_rad_from_deg(region->dlat_deg.out) : 2 * arcsine_above(s);
    if (!(s <= COVER_SIN_MAX && reach <= 2 * COVER_SIN_MAX))
        return;
    cover_axis(shape->center.lat, YN_LAT_MAX_DEG, yn_deg_from_rad(reach), false,
               &cover->lat_min, &cover->lat_max);
    double c = region->cos_lat * (1 - reach * reach / 2) - fabs(region->sin_lat) * reach;
    if (!(c > 0.01))
        return;
    double s_lon = is_box ? s / c : s / sqrt(region->cos_lat * c);
    if (s_lon <= COVER_SIN_MAX)
        cover_axis(shape->center.lon, YN_LON_MAX_DEG,
                   yn_deg_from_rad(2 * arcsine_above(s_lon)), true, &cover->lon_min,
                   &cover->lon_max);
}

/* ---- the region ---- */

static void set_center_terms(struct yn_region *region)
{
    region->cos_lat = cos(yn_rad_from_deg(region->shape.center.lat));
    region->sin_lat = sin(yn_rad_from_deg(region->shape.center.lat));
}

void yn_region_settle_center(struct yn_region *region)
{
    if (region->center_error_deg == 0)
        return;
    region->shape.center = exact_mean(&region->shape);
    region->center_error_deg = 0;
    set_center_terms(region);
}

enum yn_status yn_region_init_near(struct yn_region *out_region,
                                   const struct yn_shape *shape)
{
    struct yn_region region = {.shape = *shape};
    if (shape->kind == YN_POLYGON) {
        enum yn_status status = init_polygon(&region);
        if (status != YN_OK)
            return status;
    } else if (!yn_point_is_valid(shape->center)) {
        return YN_ESHAPE;
    }
    if (shape->kind == YN_CIRCLE) {
        if (!is_size(shape->radius_m))
            return YN_ESHAPE;
        region.circle = band_of_distance(shape->radius_m, &region.limit_a);
    } else if (shape->kind == YN_BOX) {
        if (!is_size(shape->width_m) || !is_size(shape->height_m))
            return YN_ESHAPE;
        double dlat_deg = yn_deg_from_rad(shape->height_m / 2 / YN_EARTH_RADIUS_M);
        double slack_deg = dlat_deg * 1e-12 + 1e-12;
        region.parallel = band_of_distance(shape->width_m / 2, &region.limit_a);
        region.dlat_deg = (struct yn_band){dlat_deg - slack_deg, dlat_deg + slack_deg};
        if (isinf(dlat_deg))
            region.dlat_deg = (struct yn_band){360, 360};
    }
    set_center_terms(&region);
    init_cover(&region);
    *out_region = region;
    return YN_OK;
}

enum yn_status yn_region_init(struct yn_region *out_region, const struct yn_shape *shape)
{
    enum yn_status status = yn_region_init_near(out_region, shape);
    if (status == YN_OK)
        yn_region_settle_center(out_region);
    return status;
}

/* ---- the exact predicate ---- */

bool yn_region_contains(const struct yn_region *region, struct yn_point point)
{
    const struct yn_shape *shape = &region->shape;
    struct yn_point center = shape->center;
    if (shape->kind == YN_CIRCLE)
        return !(yn_distance_m(center, point) > shape->radius_m);
    if (shape->kind == YN_POLYGON)
        return yn_polygon_contains(&region->polygon, point);
    if (yn_lat_distance_m(center.lat, point.lat) > shape->height_m / 2)
        return false;
    struct yn_point abeam = {center.lon, point.lat};
    return !(yn_distance_m(point, abeam) > shape->width_m / 2);
}

/* ---- rectangles ---- */

static struct yn_bounds bounds_of(const struct yn_rect *rect)
{
    return (struct yn_bounds){
        yn_cell_lat_deg(rect->lat_min), yn_cell_lat_deg(rect->lat_max),
        yn_cell_lon_deg(rect->lon_min), yn_cell_lon_deg(rect->lon_max)};
}

/* Difference of two longitudes the short way round, 0..180. */
static double lon_difference(double a_deg, double b_deg)
{
    double d = fabs(a_deg - b_deg);
    return d > 180 ? 360 - d : d;
}

/* Least and greatest difference of longitude between the centre and the rectangle. */
static double min_dlon_deg(const struct yn_bounds *b, double lon_deg)
{
    if (b->lon_min <= lon_deg && lon_deg <= b->lon_max)
        return 0;
    return fmin(lon_difference(b->lon_min, lon_deg), lon_difference(b->lon_max, lon_deg));
}

static double max_dlon_deg(const struct yn_bounds *b, double lon_deg)
{
    double opposite = lon_deg > 0 ? lon_deg - 180 : lon_deg + 180;
    if ((b->lon_min <= opposite && opposite <= b->lon_max) ||
        (lon_deg == 0 && (b->lon_min <= -180 || b->lon_max >= 180)))
        return 180;
    return fmax(lon_difference(b->lon_min, lon_deg), lon_difference(b->lon_max, lon_deg));
}

static double square(double x)
{
    return x * x;
}

static double a_at(const struct yn_region *region, double lat_deg, double sin2_half_dlon)
{
    double u = sin((lat_deg - region->shape.center.lat) * YN_HALF_RAD_PER_DEG);
    return u * u + region->cos_lat * cos(yn_rad_from_deg(lat_deg)) * sin2_half_dlon;
}

static double psi_deg(const struct yn_region *region, double dlon_deg)
{
    return yn_deg_from_rad(
        atan2(region->sin_lat, region->cos_lat * cos(yn_rad_from_deg(dlon_deg))));
}

static double min_a(const struct yn_region *region, const struct yn_bounds *b)
{
    double dlon = min_dlon_deg(b, region->shape.center.lon);
    double h = square(sin(dlon * YN_HALF_RAD_PER_DEG));
    double psi = dlon == 0 ? region->shape.center.lat : psi_deg(region, dlon);
    if (b->lat_min <= psi && psi <= b->lat_max)
        return a_at(region, psi, h);
    return fmin(a_at(region, b->lat_min, h), a_at(region, b->lat_max, h));
}

static double max_a(const struct yn_region *region, const struct yn_bounds *b)
{
    double dlon = max_dlon_deg(b, region->shape.center.lon);
    double h = square(sin(dlon * YN_HALF_RAD_PER_DEG));
    double a = fmax(a_at(region, b->lat_min, h), a_at(region, b->lat_max, h));
    if (dlon > 90) {
        double psi = psi_deg(region, dlon);
        double far = psi > 0 ? psi - 180 : psi + 180;
        if (b->lat_min <= far && far <= b->lat_max)
            a = fmax(a, a_at(region, far, h));
    }
    return a;
}

double yn_region_min_a(const struct yn_region *region, const struct yn_rect *rect)
{
    struct yn_bounds b = bounds_of(rect);
    double a = min_a(region, &b);
    return a - yn_a_slack(a);
}

double yn_region_max_a(const struct yn_region *region, const struct yn_rect *rect)
{
    struct yn_bounds b = bounds_of(rect);
    double a = max_a(region, &b);
    return a + yn_a_slack(a);
}

static enum yn_relation relate_circle(const struct yn_region *region,
                                      const struct yn_bounds *b)
{
    double low = min_a(region, b);
    if (low - yn_a_slack(low) > region->circle.out)
        return YN_OUTSIDE;
    double high = max_a(region, b);
    return high + yn_a_slack(high) < region->circle.in ? YN_INSIDE : YN_CROSSING;
}

static enum yn_relation relate_box(const struct yn_region *region,
                                   const struct yn_bounds *b)
{
    struct yn_point center = region->shape.center;
    double above = b->lat_min - center.lat, below = center.lat - b->lat_max;
    double min_dlat = fmax(0, fmax(above, below));
    if (min_dlat > region->dlat_deg.out)
        return YN_OUTSIDE;
    double cos_1 = cos(yn_rad_from_deg(b->lat_min)),
           cos_2 = cos(yn_rad_from_deg(b->lat_max));
    double cos_max = b->lat_min <= 0 && b->lat_max >= 0 ? 1 : fmax(cos_1, cos_2);
    double s_min = sin(min_dlon_deg(b, center.lon) * YN_HALF_RAD_PER_DEG);
    double low = square(fmin(cos_1, cos_2) * s_min);
    if (low - yn_a_slack(low) > region->parallel.out)
        return YN_OUTSIDE;
    double s_max = sin(max_dlon_deg(b, center.lon) * YN_HALF_RAD_PER_DEG);
    double high = square(cos_max * s_max);
    double max_dlat = fmax(b->lat_max - center.lat, center.lat - b->lat_min);
    return max_dlat < region->dlat_deg.in && high + yn_a_slack(high) < region->parallel.in
               ? YN_INSIDE
               : YN_CROSSING;
}

static enum yn_relation relate_polygon(const struct yn_region *region,
                                       const struct yn_bounds *b)
{
    if (yn_polygon_cuts(&region->polygon, b))
        return YN_CROSSING;
    /* no edge is near: one answer holds for all of it */
    struct yn_point corner = {b->lon_min, b->lat_min};
    return yn_polygon_contains(&region->polygon, corner) ? YN_INSIDE : YN_OUTSIDE;
}

void yn_region_relate_polygon(const struct yn_region *region,
                              const struct yn_rects *rects, size_t n,
                              uint8_t *out_relations)
{
    for (size_t i = 0; i < n; i++) {
        struct yn_rect rect = yn_rects_get(rects, i);
        struct yn_bounds b = bounds_of(&rect);
        out_relations[i] = (uint8_t)relate_polygon(region, &b);
    }
}

enum yn_relation yn_region_relate(const struct yn_region *region,
                                  const struct yn_rect *rect)
{
    struct yn_bounds b = bounds_of(rect);
    switch (region->shape.kind) {
    case YN_CIRCLE:
        return relate_circle(region, &b);
    case YN_BOX:
        return relate_box(region, &b);
    case YN_POLYGON:
        break;
    }
    return relate_polygon(region, &b);
}
