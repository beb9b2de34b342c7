/*
 * Certified answers against the exact predicate, on the edge of shapes.
 *
 * Along lines of cells the edge is bisected to a last cell inside and a first one
 * outside. The cells about it then go through the kernel, which must agree with the exact
 * predicate in each, and into rectangles, of which yn_region_relate may call inside or
 * outside only those that are so in every cell looked at. Seed: YN_SEED; YN_ROUNDS in per
 * cent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/geohash.h"
#include "core/kernel.h"
#include "model/model.h"

#define AXIS_MAX (YN_CELL_AXIS_MAX - 1)
#define HALF_TURN_M (3.141592653589793 * YN_EARTH_RADIUS_M)

static struct rng rng;
static size_t n_cases; /* cells compared */

struct cell {
    uint32_t lat, lon;
};

static struct yn_point position_of(struct cell cell)
{
    return (struct yn_point){yn_cell_lon_deg(cell.lon), yn_cell_lat_deg(cell.lat)};
}

static bool contains(const struct yn_region *region, struct cell cell)
{
    return yn_region_contains(region, position_of(cell));
}

/* ---- random places and shapes ---- */

static uint32_t random_index(void)
{
    switch (rng_below(&rng, 6)) {
    case 0:
        return (uint32_t)rng_below(&rng, 3);
    case 1:
        return AXIS_MAX - (uint32_t)rng_below(&rng, 3) + (uint32_t)rng_below(&rng, 3);
    case 2: /* about the equator, or the meridian of 0 */
        return AXIS_MAX / 2 - 2 + (uint32_t)rng_below(&rng, 5);
    default:
        return (uint32_t)rng_below(&rng, AXIS_MAX + 1);
    }
}

static struct cell random_cell(void)
{
    return (struct cell){random_index(), random_index()};
}

static struct yn_point random_center(void)
{
    static const double lons[] = {-180, 180, 0, 90, -90};
    static const double lats[] = {-YN_LAT_MAX_DEG, YN_LAT_MAX_DEG, 0, 85, -85};
    struct yn_point center = {rng_between(&rng, -180, 180),
                              rng_between(&rng, -YN_LAT_MAX_DEG, YN_LAT_MAX_DEG)};
    if (rng_below(&rng, 4) == 0)
        center = position_of(random_cell());
    if (rng_below(&rng, 6) == 0)
        center.lon = lons[rng_below(&rng, 5)];
    if (rng_below(&rng, 6) == 0)
        center.lat = lats[rng_below(&rng, 5)];
    return center;
}

/* Sizes from nothing to beyond the globe; some are `exact_m` or its neighbours. */
static double random_size(double exact_m)
{
    switch (rng_below(&rng, 8)) {
    case 0:
        return exact_m;
    case 1:
        return nextafter(exact_m, rng_below(&rng, 2) ? (double)INFINITY : 0);
    case 2: /* about the antipode */
        return HALF_TURN_M - pow(10, rng_between(&rng, -9, 3));
    case 3:
        return HALF_TURN_M * rng_unit(&rng);
    default:
        return pow(10, rng_between(&rng, -3, 7.4));
    }
}

static struct yn_shape random_circle(void)
{
    struct yn_shape shape = {.kind = YN_CIRCLE, .center = random_center()};
    shape.radius_m = random_size(yn_distance_m(shape.center, position_of(random_cell())));
    return shape;
}

static struct yn_shape random_box(void)
{
    struct yn_shape shape = {.kind = YN_BOX, .center = random_center()};
    struct yn_point p = position_of(random_cell());
    struct yn_point abeam = {shape.center.lon, p.lat};
    shape.width_m = random_size(2 * yn_distance_m(p, abeam));
    shape.height_m = random_size(2 * yn_lat_distance_m(shape.center.lat, p.lat));
    return shape;
}

#define VERTICES_MAX 9
static struct yn_point vertices[VERTICES_MAX];

/* Vertices anywhere or close together, some on positions of cells, some level or plumb
 * with the one before. */
static struct yn_shape random_polygon(void)
{
    size_t n = 3 + rng_below(&rng, VERTICES_MAX - 2);
    struct yn_point center = random_center();
    double spread = pow(10, rng_between(&rng, -6, 2.5));
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = {center.lon + rng_between(&rng, -spread, spread),
                             center.lat + rng_between(&rng, -spread, spread)};
        p.lon = fmax(-180, fmin(p.lon, 180));
        p.lat = fmax(-YN_LAT_MAX_DEG, fmin(p.lat, YN_LAT_MAX_DEG));
        if (rng_below(&rng, 2))
            p = yn_score_decode(yn_score_encode(p));
        if (i > 0 && rng_below(&rng, 4) == 0)
            p.lat = vertices[i - 1].lat;
        if (i > 0 && rng_below(&rng, 4) == 0)
            p.lon = vertices[i - 1].lon;
        vertices[i] = p;
    }
    return (struct yn_shape){.kind = YN_POLYGON, .vertices = vertices, .n_vertices = n};
}

/* ---- comparing ---- */

static void fail_at(const struct yn_region *region, const char *what, struct cell cell)
{
    const struct yn_shape *s = &region->shape;
    fail_msg("%s at cell %u %u: kind %d centre %.17g %.17g sizes %.17g %.17g %.17g", what,
             cell.lat, cell.lon, s->kind, s->center.lon, s->center.lat, s->radius_m,
             s->width_m, s->height_m);
}

static void compare_cover(const struct yn_region *region, struct cell cell)
{
    const struct yn_rect *cover = &region->cover;
    bool is_covered = cover->lat_min <= cell.lat && cell.lat <= cover->lat_max &&
                      cover->lon_min <= cell.lon && cell.lon <= cover->lon_max;
    if (!is_covered && contains(region, cell))
        fail_at(region, "cover", cell);
}

#define N_ABOUT 8

/* The kernel over a leaf of these cells. */
static void compare_kernel(const struct yn_region *region, const struct cell *cells)
{
    static uint64_t space[512];
    struct yn_leaf *leaf = (struct yn_leaf *)(void *)space;
    struct yn_item items[N_ABOUT];
    struct yn_leaf_plan plan;
    uint64_t mask[YN_MASK_WORDS];
    size_t n_in = 0;
    for (size_t i = 0; i < N_ABOUT; i++) {
        yn_item_set_score(&items[i],
                          (double)yn_cell_interleave(cells[i].lat, cells[i].lon));
        items[i].wire = "$0\r\n\r\n";
        items[i].wire_len = 6;
    }
    yn_leaf_plan(items, N_ABOUT, &plan);
    yn_leaf_pack(leaf, sizeof space, 1, items, &plan);
    size_t n_hits = yn_kernel()->test(region, leaf, mask);
    for (size_t i = 0; i < N_ABOUT; i++) {
        /* beyond the last cell of an axis a score is too coarse for every index */
        struct cell cell = {items[i].lat, items[i].lon};
        bool is_in = contains(region, cell);
        compare_cover(region, cell);
        n_in += is_in;
        if (is_in != (mask[0] >> i & 1))
            fail_at(region, "kernel", cell);
    }
    assert_int_equal(n_hits, n_in);
    n_cases += N_ABOUT;
}

static uint32_t between(uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(&rng, (uint64_t)high - low + 1);
}

/* One rectangle: what is said of it must hold for its corners, for random cells of it,
 * and for the cell on the edge that it was made of. */
static void compare_rect(const struct yn_region *region, struct yn_rect rect,
                         struct cell on_edge)
{
    enum yn_relation relation = yn_region_relate(region, &rect);
    if (relation == YN_CROSSING)
        return;
    struct cell cells[12] = {{rect.lat_min, rect.lon_min},
                             {rect.lat_min, rect.lon_max},
                             {rect.lat_max, rect.lon_min},
                             {rect.lat_max, rect.lon_max},
                             on_edge};
    for (size_t i = 5; i < 12; i++)
        cells[i] = (struct cell){between(rect.lat_min, rect.lat_max),
                                 between(rect.lon_min, rect.lon_max)};
    for (size_t i = 0; i < 12; i++)
        if (contains(region, cells[i]) != (relation == YN_INSIDE))
            fail_at(region, relation == YN_INSIDE ? "inside" : "outside", cells[i]);
}

/* An end of a rectangle on one side of an index: near, far, or at the end of the axis. */
static uint32_t random_reach(uint32_t index, bool is_up)
{
    uint32_t most = is_up ? (index < AXIS_MAX ? AXIS_MAX - index : 0) : index;
    uint32_t reach = (uint32_t)pow(2, rng_between(&rng, 0, 26.5)) - 1;
    if (rng_below(&rng, 3) == 0 || most == 0)
        reach = 0;
    reach = reach < most ? reach : most;
    return is_up ? index + reach : index - reach;
}

static void compare_rects(const struct yn_region *region, struct cell at)
{
    compare_cover(region, at);
    compare_rect(region, (struct yn_rect){at.lat, at.lat, at.lon, at.lon}, at);
    for (int i = 0; i < 3; i++) {
        struct yn_rect rect = {random_reach(at.lat, false), random_reach(at.lat, true),
                               random_reach(at.lon, false), random_reach(at.lon, true)};
        compare_rect(region, rect, at);
    }
}

/* Bisects from a cell inside to one outside, along one axis. */
static void compare_about_edge(const struct yn_region *region, struct cell in,
                               struct cell out, bool is_along_lat)
{
    uint32_t *a = is_along_lat ? &in.lat : &in.lon;
    uint32_t *b = is_along_lat ? &out.lat : &out.lon;
    while (*a + 1 != *b && *b + 1 != *a) {
        struct cell middle = in;
        *(is_along_lat ? &middle.lat : &middle.lon) = (uint32_t)(((uint64_t)*a + *b) / 2);
        *(contains(region, middle) ? &in : &out) = middle;
    }
    struct cell cells[N_ABOUT] = {in, out};
    for (size_t i = 2; i < N_ABOUT; i++) {
        cells[i] = in;
        cells[i].lat += (uint32_t)rng_below(&rng, 5);
        cells[i].lon += (uint32_t)rng_below(&rng, 5);
        cells[i].lat -= cells[i].lat < 2 ? cells[i].lat : 2;
        cells[i].lon -= cells[i].lon < 2 ? cells[i].lon : 2;
    }
    compare_kernel(region, cells);
    compare_rects(region, in);
    compare_rects(region, out);
}

static void compare_shape(const struct yn_shape *shape)
{
    struct yn_region region;
    assert_int_equal(yn_region_init(&region, shape), YN_OK);
    for (int line = 0; line < 6; line++) {
        bool is_along_lat = rng_below(&rng, 2);
        struct cell a = random_cell(), b = a;
        if (rng_below(&rng, 2)) { /* a line through the shape rather than anywhere */
            double score = yn_score_encode(yn_point_is_valid(region.shape.center)
                                               ? region.shape.center
                                               : vertices[0]);
            yn_cell_deinterleave((uint64_t)score, &a.lat, &a.lon);
            b = a;
            *(is_along_lat ? &a.lon : &a.lat) =
                random_reach(is_along_lat ? a.lon : a.lat, rng_below(&rng, 2));
            b = a;
        }
        *(is_along_lat ? &b.lat : &b.lon) = random_index();
        bool is_in = contains(&region, a);
        if (is_in != contains(&region, b))
            compare_about_edge(&region, is_in ? a : b, is_in ? b : a, is_along_lat);
        else
            compare_rects(&region, a);
    }
}

static void compare_shapes(struct yn_shape (*random_shape)(void))
{
    size_t wanted = model_rounds(350000);
    n_cases = 0;
    while (n_cases < wanted) {
        struct yn_shape shape = random_shape();
        compare_shape(&shape);
    }
}

static void circles_at_their_edge(void **state)
{
    (void)state;
    compare_shapes(random_circle);
}

static void boxes_at_their_edge(void **state)
{
    (void)state;
    compare_shapes(random_box);
}

static void polygons_at_their_edge(void **state)
{
    (void)state;
    compare_shapes(random_polygon);
}

/* ---- many vertices ---- */

#define MANY_MAX 3000
static struct yn_point many[MANY_MAX];

/* Outlines of all kinds: smooth, spikes, walls, scribble, and vertices in few places. */
static struct yn_shape random_outline(struct yn_point center, double spread)
{
    size_t n = 3 + rng_below(&rng, rng_below(&rng, 3) ? 200 : MANY_MAX - 2);
    unsigned kind = (unsigned)rng_below(&rng, 5);
    for (size_t i = 0; i < n; i++) {
        double turn = 6.283185307179586 * (double)i / (double)n;
        double reach = 1 - 0.2 * cos(9 * turn);
        if (kind == 1 && i % 2 == 0)
            reach = rng_between(&rng, 0.3, 0.7);
        struct yn_point p = {cos(turn) * reach, sin(turn) * reach};
        if (kind == 2)
            p = (struct yn_point){2 * (double)i / (double)n - 1, i % 2 == 0 ? -1 : 1};
        if (kind == 3)
            p = (struct yn_point){rng_between(&rng, -1, 1), rng_between(&rng, -1, 1)};
        if (kind == 4)
            p = (struct yn_point){(double)rng_below(&rng, 3) - 1,
                                  (double)rng_below(&rng, 3) - 1};
        many[i].lon = fmax(-180, fmin(center.lon + spread * p.lon, 180));
        many[i].lat =
            fmax(-YN_LAT_MAX_DEG, fmin(center.lat + spread * p.lat, YN_LAT_MAX_DEG));
    }
    return (struct yn_shape){.kind = YN_POLYGON, .vertices = many, .n_vertices = n};
}

/* In and about the outline, some at vertices or level with them. */
static struct yn_point random_about(const struct yn_shape *shape, struct yn_point center,
                                    double spread)
{
    struct yn_point p = {center.lon + spread * rng_between(&rng, -1.3, 1.3),
                         center.lat + spread * rng_between(&rng, -1.3, 1.3)};
    struct yn_point vertex = shape->vertices[rng_below(&rng, shape->n_vertices)];
    if (rng_below(&rng, 4) == 0)
        p.lat = vertex.lat;
    if (rng_below(&rng, 8) == 0)
        p.lon = vertex.lon;
    return p;
}

/* The index, for one point and for many, and rectangles, against all edges. */
static void compare_outline(const struct yn_shape *shape, struct yn_point center,
                            double spread)
{
    struct yn_polygon plain, indexed;
    struct yn_mem mem;
    double lat[100], lon[100];
    uint8_t is_in[100];
    size_t n = rng_below(&rng, 100);
    double zoom = rng_below(&rng, 2) ? 1 : pow(10, rng_between(&rng, -3, 0));
    struct yn_point middle = random_about(shape, center, spread);
    struct yn_bounds bounds = {middle.lat, middle.lat, middle.lon, middle.lon};
    yn_mem_init(&mem, NULL);
    yn_polygon_init(&plain, shape->vertices, shape->n_vertices);
    indexed = plain;
    yn_polygon_index(&indexed, mem.hook);
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = random_about(shape, middle, spread * zoom);
        lon[i] = p.lon;
        lat[i] = p.lat;
        bounds.lon_min = fmin(bounds.lon_min, p.lon);
        bounds.lon_max = fmax(bounds.lon_max, p.lon);
        bounds.lat_min = fmin(bounds.lat_min, p.lat);
        bounds.lat_max = fmax(bounds.lat_max, p.lat);
    }
    yn_polygon_test(&indexed, lat, lon, n, is_in);
    bool is_cut = yn_polygon_cuts(&indexed, &bounds);
    assert_int_equal(is_cut, yn_polygon_cuts(&plain, &bounds));
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = {lon[i], lat[i]};
        bool want = yn_polygon_contains(&plain, p);
        if (yn_polygon_contains(&indexed, p) != want || is_in[i] != want ||
            (!is_cut && want != yn_polygon_contains(&plain, middle)))
            fail_msg("point %.17g %.17g of %zu, %zu vertices", p.lon, p.lat, n,
                     shape->n_vertices);
    }
    yn_polygon_clear(&indexed, mem.hook);
}

/* A centre that is not settled is as near as it says, and gives the same cells. */
static bool compare_center(const struct yn_shape *shape)
{
    struct yn_region near, exact;
    struct yn_cells got, want;
    assert_int_equal(yn_region_init_near(&near, shape), YN_OK);
    assert_int_equal(yn_region_init(&exact, shape), YN_OK);
    double error = near.center_error_deg;
    assert_true(exact.center_error_deg == 0);
    assert_true(fabs(near.shape.center.lon - exact.shape.center.lon) <= error);
    assert_true(fabs(near.shape.center.lat - exact.shape.center.lat) <= error);
    yn_cells_of_shape(&exact.shape, &want);
    if (yn_cells_of_polygon(near.shape.center, error, near.polygon.low, near.polygon.high,
                            &got)) {
        assert_int_equal(got.n, want.n);
        assert_memory_equal(got.range, want.range, (size_t)got.n * sizeof got.range[0]);
    } else {
        assert_true(error > 0);
    }
    yn_region_settle_center(&near);
    assert_true(near.shape.center.lon == exact.shape.center.lon);
    assert_true(near.cos_lat == exact.cos_lat && near.sin_lat == exact.sin_lat);
    return error > 0;
}

static void outlines(void **state)
{
    (void)state;
    size_t n_near = 0;
    for (size_t round = model_rounds(3000); round > 0; round--) {
        struct yn_point center = random_center();
        double spread = pow(10, rng_between(&rng, -4, 2));
        struct yn_shape shape = random_outline(center, spread);
        compare_outline(&shape, center, spread);
        n_near += compare_center(&shape);
    }
    assert_true(n_near > 0);
}

static void vertices_that_are_none(void **state)
{
    (void)state;
    static const double wrong[] = {(double)NAN, (double)INFINITY, -(double)INFINITY,
                                   181,         -1e308,           1e308};
    for (size_t i = 0; i < 6 * 100; i++) {
        struct yn_region region;
        struct yn_shape shape = random_outline((struct yn_point){0, 0}, 1);
        size_t k = rng_below(&rng, shape.n_vertices);
        *(i % 2 ? &many[k].lon : &many[k].lat) = wrong[i % 6];
        assert_int_equal(yn_region_init(&region, &shape), YN_ESHAPE);
    }
}

/* ---- bounds ---- */

/* The bounds on a must hold for every position of a rectangle. */
static void bounds_hold(void **state)
{
    (void)state;
    for (size_t round = model_rounds(100000); round > 0; round--) {
        struct yn_shape shape = {.kind = YN_CIRCLE, .center = random_center()};
        struct yn_region region;
        assert_int_equal(yn_region_init(&region, &shape), YN_OK);
        struct cell at = random_cell();
        struct yn_rect rect = {random_reach(at.lat, false), random_reach(at.lat, true),
                               random_reach(at.lon, false), random_reach(at.lon, true)};
        double low = yn_region_min_a(&region, &rect);
        double high = yn_region_max_a(&region, &rect);
        for (int i = 0; i < 4; i++) {
            struct cell cell = {between(rect.lat_min, rect.lat_max),
                                between(rect.lon_min, rect.lon_max)};
            double distance_m = yn_distance_m(shape.center, position_of(cell));
            struct yn_band band = yn_band_of_a(yn_a_of_distance_m(distance_m));
            if (band.out < low || band.in > high)
                fail_at(&region, "bound", cell);
        }
    }
}

/* ---- ends of the range ---- */

static void sizes_without_end(void **state)
{
    (void)state;
    static const double sizes[] = {(double)INFINITY, 1e308, 1.7976931348623157e308, 1e9};
    const struct yn_rect world = {0, UINT32_MAX, 0, UINT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        struct yn_shape circle = {
            .kind = YN_CIRCLE, .center = random_center(), .radius_m = sizes[i]};
        struct yn_shape box = {.kind = YN_BOX,
                               .center = circle.center,
                               .width_m = sizes[i],
                               .height_m = sizes[3 - i]};
        struct yn_region region;
        assert_int_equal(yn_region_init(&region, &circle), YN_OK);
        assert_int_equal(yn_region_relate(&region, &world), YN_INSIDE);
        assert_int_equal(yn_region_init(&region, &box), YN_OK);
        assert_int_equal(yn_region_relate(&region, &world), YN_INSIDE);
    }
}

static void sizes_of_nothing(void **state)
{
    (void)state;
    static const double sizes[] = {0, 4.9406564584124654e-324, 1e-300, 1e-12};
    for (size_t i = 0; i < 400; i++) {
        struct cell at = random_cell();
        struct yn_shape circle = {
            .kind = YN_CIRCLE, .center = position_of(at), .radius_m = sizes[i % 4]};
        struct yn_shape box = {.kind = YN_BOX,
                               .center = circle.center,
                               .width_m = sizes[i % 4],
                               .height_m = sizes[3 - i % 4]};
        const struct yn_shape *shapes[] = {&circle, &box};
        for (size_t k = 0; k < 2; k++) {
            struct yn_region region;
            struct cell cells[N_ABOUT];
            assert_int_equal(yn_region_init(&region, shapes[k]), YN_OK);
            assert_true(contains(&region, at));
            for (size_t c = 0; c < N_ABOUT; c++)
                cells[c] = (struct cell){at.lat + (uint32_t)(c & 1), at.lon + (c > 3)};
            compare_kernel(&region, cells);
            compare_rects(&region, at);
        }
    }
}

/* Cells far in the sea of indices that odd scores have lie on the limits. */
static void cover_of_odd_cells(void **state)
{
    (void)state;
    static const uint32_t odd[] = {AXIS_MAX,
                                   AXIS_MAX + 1,
                                   AXIS_MAX + 2,
                                   UINT32_MAX / 2,
                                   UINT32_MAX - 1,
                                   UINT32_MAX,
                                   0,
                                   1};
    for (size_t i = 0; i < 2000; i++) {
        struct cell at = {odd[rng_below(&rng, 8)], odd[rng_below(&rng, 8)]};
        struct yn_shape shape = {
            .kind = YN_CIRCLE,
            .center = {rng_below(&rng, 2) ? 180 : -180,
                       at.lat < 2 ? -YN_LAT_MAX_DEG : YN_LAT_MAX_DEG},
            .radius_m = rng_below(&rng, 2) ? 0 : 10,
            .width_m = 2,
            .height_m = 2};
        struct yn_region region;
        for (int kind = 0; kind < 2; kind++) {
            shape.kind = kind == 0 ? YN_CIRCLE : YN_BOX;
            assert_int_equal(yn_region_init(&region, &shape), YN_OK);
            compare_cover(&region, at);
        }
    }
}

/* The cover is of use: little larger than the shape. */
static void cover_is_close(void **state)
{
    (void)state;
    for (double radius_m = 100; radius_m < 500e3; radius_m *= 2) {
        struct yn_shape circle = {
            .kind = YN_CIRCLE,
            .center = {rng_between(&rng, -170, 170), rng_between(&rng, -70, 70)},
            .radius_m = radius_m};
        struct yn_shape box = {.kind = YN_BOX,
                               .center = circle.center,
                               .width_m = 2 * radius_m,
                               .height_m = 2 * radius_m};
        const struct yn_shape *shapes[] = {&circle, &box};
        for (size_t i = 0; i < 2; i++) {
            struct yn_region region;
            assert_int_equal(yn_region_init(&region, shapes[i]), YN_OK);
            const struct yn_rect *cover = &region.cover;
            double lat_m = (cover->lat_max - cover->lat_min) * YN_LAT_SPAN_DEG /
                           YN_CELL_AXIS_MAX * 111226;
            double lon_m = (cover->lon_max - cover->lon_min) * YN_LON_SPAN_DEG /
                           YN_CELL_AXIS_MAX * 111226 * region.cos_lat;
            assert_true(lat_m > 1.99 * radius_m && lat_m < 2.05 * radius_m + 5);
            assert_true(lon_m > 1.99 * radius_m && lon_m < 2.6 * radius_m + 5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circles_at_their_edge),
        cmocka_unit_test(boxes_at_their_edge),
        cmocka_unit_test(polygons_at_their_edge),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(outlines),
        cmocka_unit_test(vertices_that_are_none),
        cmocka_unit_test(sizes_without_end),
        cmocka_unit_test(sizes_of_nothing),
        cmocka_unit_test(cover_of_odd_cells),
        cmocka_unit_test(cover_is_close),
    };
    rng.state = model_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
