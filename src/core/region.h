/*
 * region.h: a shape made ready for searching: the exact predicate, and where a
 * rectangle lies with respect to the shape.
 *
 * The exact predicate (yn_region_contains) decides every borderline case. The
 * faster answers given here and in kernel.h are certified: they say "inside" or
 * "outside" only where the exact predicate would, whatever it rounds, and leave
 * the rest open.
 */
#ifndef YN_REGION_H
#define YN_REGION_H

#include <math.h>

#include "core/leaf.h"
#include "core/polygon.h"

/* Bounds on a value that the exact predicate compares: surely in below `in`, surely out
 * above `out`, in between only the exact expression knows. */
struct yn_band {
    double in, out;
};

struct yn_region {
    struct yn_shape shape; /* centre set for polygons too */
    /* a polygon's centre is so near in latitude and in longitude; 0: it is exact */
    double center_error_deg;
    double cos_lat; /* of the centre */
    double sin_lat;
    double limit_a;          /* the limit itself: circle's or parallel's */
    struct yn_band circle;   /* haversine a = sin^2(d / 2R) */
    struct yn_band parallel; /* box: the same along the point's parallel */
    struct yn_band dlat_deg; /* box: difference of latitude */
    struct yn_rect cover;    /* no position of a cell outside is in the shape */
    struct yn_polygon polygon;
};

enum yn_relation { YN_OUTSIDE, YN_CROSSING, YN_INSIDE };

/* Returns YN_OK, or YN_ESHAPE for a shape that is none (see yn_search_new). */
enum yn_status yn_region_init(struct yn_region *out_region, const struct yn_shape *shape);

/* The same, but a polygon's centre, which takes a while, may be left to settle. Nothing
 * that is measured from the centre may be asked for before. */
enum yn_status yn_region_init_near(struct yn_region *out_region,
                                   const struct yn_shape *shape);
void yn_region_settle_center(struct yn_region *region);

/* The exact predicate. */
bool yn_region_contains(const struct yn_region *region, struct yn_point point);

/* How the positions of cells in a rectangle lie; certified. */
enum yn_relation yn_region_relate(const struct yn_region *region,
                                  const struct yn_rect *rect);

/* The same for n rectangles of a polygon's search. */
void yn_region_relate_polygon(const struct yn_region *region,
                              const struct yn_rects *rects, size_t n,
                              uint8_t *out_relations);

/* Lower and upper bound on the haversine a between the centre and any position in the
 * rectangle. */
double yn_region_min_a(const struct yn_region *region, const struct yn_rect *rect);
double yn_region_max_a(const struct yn_region *region, const struct yn_rect *rect);

#define YN_HALF_RAD_PER_DEG (YN_RAD_PER_DEG / 2)

/* How far a computed a may be from the one of the exact predicate: see region.c. All
 * certainty rests on this one expression. */
static inline double yn_a_slack(double a)
{
    return 8e-15 * sqrt(a) + 1e-28 + 1e-12 * a;
}

/* The haversine a of a distance, and the band in which a computed a may stand for it. */
double yn_a_of_distance_m(double distance_m);
struct yn_band yn_band_of_a(double a);

/*
 * How far a distance from a kernel may be from the exact one. Infinite near the antipode.
 *
 * An error e in a makes one of R * e / (sqrt(a) * sqrt(1 - a)) in the distance. With the
 * error of a from above, and a below 0.98, that is R * (4e-15 + 1e-13 * sqrt(a)) * 7.1,
 * and sqrt(a) is at most distance / 2R * 1.45; square root and arcsine add a few units in
 * the last place.
 */
static inline double yn_distance_slack_m(double distance_m)
{
    return distance_m < 18.2e6 ? 2e-7 + 6e-13 * distance_m : HUGE_VAL;
}

#endif
