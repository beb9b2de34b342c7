/* Geohash text and the nine cells. The cells below were checked against the order of
 * unsorted replies of redis-server 7.0.15, over some 200,000 random searches. */
#include "core/geohash.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/geodesy.h"

static void test_text(void **state)
{
    (void)state;
    static const struct {
        double score;
        const char *text;
    } cases[] = {
        {3479099956230698.0, "sqc8b49rny0"},
        {3479447370796909.0, "sqdtr74hyu0"},
        {0, "00bh0hbj200"},
        {1.5, "00bh0hbj210"},
        {100000, "00bh0j09e80"},
        {4503599627370495.5, "zzpgzgpfxz0"},
        {4503599627370496.0, "bp05b5048p0"}, /* latitude 85.05112878 */
        {9007199254740992.0, "00bh0hbj200"}, /* longitude 180 wraps around */
        {1e16, "21b024bh2j0"},
        {1e17, "bp05b5048p0"},
        {-1, "bp05b5048p0"},
        {HUGE_VAL, "00bh0hbj200"},
        {-HUGE_VAL, "00bh0hbj200"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[YN_GEOHASH_LEN + 1] = {0};
        yn_geohash_format(cases[i].score, text);
        assert_string_equal(text, cases[i].text);
    }
    char text[YN_GEOHASH_LEN + 1] = {0};
    yn_geohash_format(yn_score_encode((struct yn_point){-5.6, 42.6}), text);
    assert_string_equal(text, "ezs42e44yx0");
}

static struct yn_shape circle(double lon, double lat, double radius_m)
{
    return (struct yn_shape){
        .kind = YN_CIRCLE, .center = {lon, lat}, .radius_m = radius_m};
}

static struct yn_shape box(double lon, double lat, double width_m, double height_m)
{
    return (struct yn_shape){
        .kind = YN_BOX, .center = {lon, lat}, .width_m = width_m, .height_m = height_m};
}

#define SIDE_2 1125899906842624 /* a cell of one bit an axis */
#define SIDE_3 281474976710656  /* of two */

static void test_known_cells(void **state)
{
    (void)state;
    const struct {
        const char *name;
        struct yn_shape shape;
        uint64_t size; /* of every cell */
        int n;
        uint64_t min[YN_CELLS_MAX];
    } cases[] = {
        {"Sicily",
         circle(15, 37, 200000),
         1099511627776,
         4,
         {3475556255399936, 3478854790283264, 3477755278655488, 3481053813538816}},
        {"box",
         box(15, 37, 400000, 400000),
         1099511627776,
         4,
         {3475556255399936, 3478854790283264, 3477755278655488, 3481053813538816}},
        {"one metre",
         circle(2.3488, 48.85341, 1),
         16,
         6,
         {3663832752681856, 3663832752681872, 3663832752681680, 3663832752681760,
          3663832752681776, 3663832752681584}},
        {"radius 0", circle(2.3488, 48.85341, 0), 1, 1, {3663832752681860}},
        {"north",
         circle(10, 84.9, 50000),
         4398046511104,
         4,
         {3751533673971712, 2251799813685248, 3760329766993920, 2260595906707456}},
        {"south",
         circle(-70, -70, 100000),
         1099511627776,
         4,
         {592636767371264, 595935302254592, 616826023182336, 620124558065664}},
        {"antimeridian",
         circle(179.9999, 0.5, 50000),
         274877906944,
         2,
         {4128116406484992, 1125899906842624}},
        {"longitude 180",
         circle(180, 10, 1000),
         67108864,
         4,
         {10138940384215040, 10138940585541632, 4134140836315136, 4134141037641728}},
        {"highest latitude",
         circle(10, 85.05112878, 1000),
         1073741824,
         4,
         {6758285659078656, 3755885549584384, 6758287806562304, 3755887697068032}},
        {"both limits",
         circle(180, 85.05112878, 1),
         1024,
         4,
         {13510798882111488, 10508399130530816, 7505999378950144, 4503599627369472}},
        {"over the pole",
         circle(1, 85, 600000),
         SIDE_3,
         2,
         {3659174697238528, SIDE_2 * 2}},
        {"endless",
         circle(7, 55, HUGE_VAL),
         SIDE_2,
         4,
         {SIDE_2 * 3, SIDE_2 * 2, SIDE_2, 0}},
        {"overflowing",
         circle(7, 55, 1e308),
         SIDE_2,
         4,
         {SIDE_2 * 3, SIDE_2 * 2, SIDE_2, 0}},
        {"endless box",
         box(7, -55, HUGE_VAL, 10),
         SIDE_2,
         4,
         {SIDE_2 * 2, SIDE_2 * 3, 0, SIDE_2}},
        {"tall box",
         box(7, -55, 1000, 8000000),
         SIDE_2,
         4,
         {SIDE_2 * 2, SIDE_2 * 3, 0, SIDE_2}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yn_cells cells;
        yn_cells_of_shape(&cases[i].shape, &cells);
        if (cells.n != cases[i].n)
            fail_msg("%s: %d cells", cases[i].name, cells.n);
        for (int k = 0; k < cells.n; k++) {
            if (cells.range[k].min != cases[i].min[k] ||
                cells.range[k].max - cells.range[k].min != cases[i].size)
                fail_msg("%s: cell %d is %llu..%llu", cases[i].name, k,
                         (unsigned long long)cells.range[k].min,
                         (unsigned long long)cells.range[k].max);
        }
    }
}

static bool holds(const struct yn_cells *cells, double score)
{
    for (int i = 0; i < cells->n; i++) {
        if (score >= (double)cells->range[i].min && score < (double)cells->range[i].max)
            return true;
    }
    return false;
}

/* Away from the poles and the antimeridian the cells cover the whole circle. */
static void test_cells_cover_the_circle(void **state)
{
    (void)state;
    for (double lat = -60; lat <= 60; lat += 7.3) {
        for (double radius_m = 0.5; radius_m < 1e6; radius_m *= 1.7) {
            struct yn_shape shape = circle(11.7 + lat, lat, radius_m);
            struct yn_cells cells;
            yn_cells_of_shape(&shape, &cells);
            assert_true(cells.n >= 1 && cells.n <= YN_CELLS_MAX);
            for (int i = 0; i < 64; i++) {
                double angle = i * 0.1, reach = radius_m / 111300.0 * 0.99;
                struct yn_point point = {shape.center.lon + sin(angle) * reach /
                                                                cos(yn_rad_from_deg(lat)),
                                         lat + cos(angle) * reach};
                if (yn_distance_m(shape.center, point) <= radius_m)
                    assert_true(holds(&cells, yn_score_encode(point)));
            }
        }
    }
}

static void test_cells_do_not_overlap(void **state)
{
    (void)state;
    static const double lats[] = {-85.05112878, -84,  -70,  -1,         0,
                                  30,           66.5, 80.5, 85.05112878};
    static const double lons[] = {-180, -179.9, 0, 45, 179.99999999, 180};

    for (size_t i = 0; i < sizeof lats / sizeof *lats; i++) {
        for (size_t j = 0; j < sizeof lons / sizeof *lons; j++) {
            for (double size_m = 0.1; size_m < 1e9; size_m *= 3) {
                struct yn_shape shape = size_m < 1 ? box(lons[j], lats[i], size_m, 0)
                                                   : circle(lons[j], lats[i], size_m);
                struct yn_cells cells;
                yn_cells_of_shape(&shape, &cells);
                assert_true(holds(&cells, yn_score_encode(shape.center)));
                for (int a = 0; a < cells.n; a++) {
                    assert_true(cells.range[a].min < cells.range[a].max);
                    for (int b = 0; b < a; b++)
                        assert_true(cells.range[a].max <= cells.range[b].min ||
                                    cells.range[b].max <= cells.range[a].min);
                }
            }
        }
    }
}

static void test_polygon_cells(void **state)
{
    (void)state;
    /* The bounding box of a polygon decides, its centre is where the walk begins. */
    static const struct yn_point vertices[] = {{14, 36}, {16, 36}, {16, 38}, {14, 38}};
    struct yn_shape shape = {
        .kind = YN_POLYGON, .center = {15, 37}, .vertices = vertices, .n_vertices = 4};
    struct yn_cells cells;

    yn_cells_of_shape(&shape, &cells);
    for (size_t i = 0; i < 4; i++)
        assert_true(holds(&cells, yn_score_encode(vertices[i])));
    assert_true(holds(&cells, yn_score_encode(shape.center)));

    /* All vertices in one place; a centre beyond the highest latitude. */
    static const struct yn_point point[] = {{5, 5}, {5, 5}, {5, 5}};
    shape = (struct yn_shape){
        .kind = YN_POLYGON, .center = {5, 5}, .vertices = point, .n_vertices = 3};
    yn_cells_of_shape(&shape, &cells);
    assert_int_equal(cells.n, 1);
    shape.center = (struct yn_point){180, 90};
    yn_cells_of_shape(&shape, &cells);
    assert_true(cells.n >= 1 && cells.n <= YN_CELLS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_known_cells),
        cmocka_unit_test(test_cells_cover_the_circle),
        cmocka_unit_test(test_cells_do_not_overlap),
        cmocka_unit_test(test_polygon_cells),
    };
    return cmocka_run_group_tests_name("geohash", tests, NULL, NULL);
}
