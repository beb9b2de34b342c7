/* Cells, scores and distances. Seed: YN_SEED. */
#include "core/geodesy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15ULL;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static struct yn_point random_cell_point(void)
{
    return yn_score_decode((double)(next_random() & (YN_CELL_CODE_MAX - 1)));
}

static void expect_double(double got, double want)
{
    if (memcmp(&got, &want, sizeof got) != 0)
        fail_msg("%.17g is not %.17g", got, want);
}

static void test_valid_points(void **state)
{
    (void)state;
    assert_true(yn_point_is_valid((struct yn_point){180, 85.05112878}));
    assert_true(yn_point_is_valid((struct yn_point){-180, -85.05112878}));
    assert_true(yn_point_is_valid((struct yn_point){-0.0, 0.0}));
    assert_false(yn_point_is_valid((struct yn_point){180.00000000000003, 0}));
    assert_false(yn_point_is_valid((struct yn_point){0, 85.05112878000001}));
    assert_false(yn_point_is_valid((struct yn_point){0, -85.05112879}));
    assert_false(yn_point_is_valid((struct yn_point){nan(""), 0}));
    assert_false(yn_point_is_valid((struct yn_point){0, nan("")}));
    assert_false(yn_point_is_valid((struct yn_point){HUGE_VAL, 0}));
    assert_false(yn_point_is_valid((struct yn_point){0, -HUGE_VAL}));
}

static void test_known_scores(void **state)
{
    (void)state;
    static const struct {
        double lon, lat, score;
    } cases[] = {
        {13.361389, 38.115556, 3479099956230698.0},
        {15.087269, 37.502669, 3479447370796909.0},
        {-74.0131604, 40.7126674, 1791873972053020.0},
        {0, 0, 3377699720527872.0},
        {-1e-300, -0.0, 3377699720527872.0},
        {-180, -85.05112878, 0},
        {179.9999999, 85.0511287799, 4503599627370495.0},
        {180, 0, 10133099161583616.0},           /* a bit above the 52 */
        {-180, 85.05112878, 4503599627370496.0}, /* likewise */
        {180, 85.05112878, 13510798882111488.0},
        {179.99999999999997, 0, 10133099161583616.0}, /* rounds up to the limit */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yn_point point = {cases[i].lon, cases[i].lat};
        expect_double(yn_score_encode(point), cases[i].score);
    }
}

/* Read from GEOPOS of redis-server 7.0.15. */
static void test_known_positions(void **state)
{
    (void)state;
    static const struct {
        double score, lon, lat;
    } cases[] = {
        {3479099956230698.0, 13.36138933897018433, 38.1155563954963},
        {0, -179.99999731779098511, -85.05112751263942528},
        {-0.0, -179.99999731779098511, -85.05112751263942528},
        {1.5, -179.99999731779098511, -85.05112497791824921},
        {0.1, -179.99999731779098511, -85.05112751263942528},
        {-0.9, -179.99999731779098511, -85.05112751263942528},
        {4503599627370495.5, 179.99999731779098511, 85.05112751263942528},
        {4503599627370496.0, -179.99999731779098511, 85.0511287799999991},
        {9007199254740992.0, 180, -85.05112751263942528},
        {1e16, 180, -35.0964373490018744},
        {1e17, 180, 85.0511287799999991},
        {1e20, -179.99999731779098511, -85.05112751263942528},
        {1e300, -179.99999731779098511, -85.05112751263942528},
        {HUGE_VAL, -179.99999731779098511, -85.05112751263942528},
        {-1, 180, 85.0511287799999991},
        {-9007199254740992.0, 180, 85.0511287799999991},
        {-1e22, 180, -85.05112751263942528},
        {-HUGE_VAL, 180, -85.05112751263942528},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yn_point point = yn_score_decode(cases[i].score);
        expect_double(point.lon, cases[i].lon);
        expect_double(point.lat, cases[i].lat);
    }
}

static void test_score_casts(void **state)
{
    (void)state;
    static const struct {
        double score;
        uint64_t bits;
        int64_t integer;
    } cases[] = {
        {0.0, 0, 0},
        {-0.0, 0, 0},
        {0.99, 0, 0},
        {-0.99, 0, 0},
        {-1.0, UINT64_MAX, -1},
        {-1.99, UINT64_MAX, -1},
        {4503599627370495.5, 4503599627370495, 4503599627370495},
        {9223372036854774784.0, 9223372036854774784U, 9223372036854774784},
        {9223372036854775808.0, 1ULL << 63, INT64_MIN},
        {9223372036854777856.0, (1ULL << 63) + 2048, INT64_MIN},
        {18446744073709549568.0, 18446744073709549568U, INT64_MIN},
        {18446744073709551616.0, 0, INT64_MIN},
        {1e300, 0, INT64_MIN},
        {HUGE_VAL, 0, INT64_MIN},
        {-9223372036854775808.0, 1ULL << 63, INT64_MIN},
        {-9223372036854777856.0, 1ULL << 63, INT64_MIN},
        {-HUGE_VAL, 1ULL << 63, INT64_MIN},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(yn_score_to_bits(cases[i].score) == cases[i].bits);
        assert_true(yn_score_to_int64(cases[i].score) == cases[i].integer);
    }
}

static void test_scores_that_are_cells(void **state)
{
    (void)state;
    static const double others[] = {
        -0.0,  -1,     0.5,      4503599627370495.5, 4503599627370496.0,
        1e300, 5e-324, HUGE_VAL, -HUGE_VAL};
    uint64_t code;

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(yn_score_is_cell(others[i], &code));
    assert_false(yn_score_is_cell(nan(""), &code));
    assert_true(yn_score_is_cell(0, &code));
    assert_true(code == 0);
    for (int i = 0; i < 100000; i++) {
        uint64_t want = next_random() & (YN_CELL_CODE_MAX - 1);
        assert_true(yn_score_is_cell((double)want, &code));
        assert_true(code == want);
    }
    assert_true(yn_score_is_cell((double)(YN_CELL_CODE_MAX - 1), &code));
    assert_true(code == YN_CELL_CODE_MAX - 1);
}

static uint64_t interleave_by_bits(uint32_t lat, uint32_t lon)
{
    uint64_t code = 0;

    for (int bit = 0; bit < 32; bit++) {
        code |= (uint64_t)((lat >> bit) & 1) << (2 * bit);
        code |= (uint64_t)((lon >> bit) & 1) << (2 * bit + 1);
    }
    return code;
}

static void test_interleave(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t lat = (uint32_t)next_random(), lon = (uint32_t)next_random();
        uint32_t lat_back, lon_back;
        if (i < 64) {
            lat = i < 32 ? 1U << i : 0;
            lon = i < 32 ? 0 : 1U << (i - 32);
        }
        uint64_t code = yn_cell_interleave(lat, lon);
        assert_true(code == interleave_by_bits(lat, lon));
        yn_cell_deinterleave(code, &lat_back, &lon_back);
        assert_int_equal(lat_back, lat);
        assert_int_equal(lon_back, lon);
    }
}

/* All cells of both axes: the middle of a cell lies in that cell, the middles rise. */
static void test_every_cell_round_trips(void **state)
{
    (void)state;
    uint32_t n_wrong = 0;
    double last_lat = -90, last_lon = -181;

    for (uint32_t i = 0; i < YN_CELL_AXIS_MAX; i++) {
        double lat = yn_cell_lat_deg(i), lon = yn_cell_lon_deg(i);
        n_wrong += yn_cell_encode_lat(lat) != i;
        n_wrong += yn_cell_encode_lon(lon) != i;
        n_wrong += lat <= last_lat;
        n_wrong += lon <= last_lon;
        last_lat = lat;
        last_lon = lon;
    }
    assert_int_equal(n_wrong, 0);
    /* One past the last, where points on the upper limits are kept, is clamped to the
     * limit, so that it comes back as well; all beyond come back as this one. */
    assert_int_equal(yn_cell_encode_lat(yn_cell_lat_deg(YN_CELL_AXIS_MAX)),
                     YN_CELL_AXIS_MAX);
    assert_int_equal(yn_cell_encode_lon(yn_cell_lon_deg(YN_CELL_AXIS_MAX)),
                     YN_CELL_AXIS_MAX);
    expect_double(yn_cell_lat_deg(UINT32_MAX - 1), 85.05112878);
    expect_double(yn_cell_lon_deg(UINT32_MAX), 180.0);
}

static void test_scores_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        double score = (double)(next_random() & (YN_CELL_CODE_MAX - 1));
        expect_double(yn_score_encode(yn_score_decode(score)), score);
    }
}

/* Coordinates off the axis are a caller's bug, but not undefined. */
static void test_encoding_is_total(void **state)
{
    (void)state;
    assert_int_equal(yn_cell_encode_lon(nan("")), 0);
    assert_int_equal(yn_cell_encode_lon(-1e300), 0);
    assert_int_equal(yn_cell_encode_lon(-181), 0);
    assert_true(yn_cell_encode_lon(1e300) == UINT32_MAX);
    assert_true(yn_cell_encode_lon(HUGE_VAL) == UINT32_MAX);
}

static void test_known_distances(void **state)
{
    (void)state;
    struct yn_point palermo = yn_score_decode(3479099956230698.0);
    struct yn_point catania = yn_score_decode(3479447370796909.0);

    expect_double(yn_distance_m(palermo, catania), 166274.15156960033);
    expect_double(yn_distance_m(palermo, palermo), 0);
    /* on one meridian: the difference of the latitudes, not the haversine */
    expect_double(yn_distance_m((struct yn_point){10, -20}, (struct yn_point){10, 30}),
                  yn_lat_distance_m(-20, 30));
    /* the short way round */
    assert_true(yn_distance_m((struct yn_point){179.5, 0}, (struct yn_point){-179.5, 0}) <
                111300);
}

static void test_distance_is_symmetric_and_bounded(void **state)
{
    (void)state;
    double half_circumference = 3.14159265358979323846 * YN_EARTH_RADIUS_M;

    for (int i = 0; i < 300000; i++) {
        struct yn_point a = random_cell_point(), b = random_cell_point();
        if (i % 3 == 0) /* opposite points: the argument of asin is next to 1 */
            b = (struct yn_point){a.lon > 0 ? a.lon - 180 : a.lon + 180, -a.lat};
        double distance_m = yn_distance_m(a, b);
        if (!(distance_m >= 0 && distance_m <= half_circumference * (1 + 1e-15)))
            fail_msg("(%.17g %.17g) to (%.17g %.17g): %.17g", a.lon, a.lat, b.lon, b.lat,
                     distance_m);
        expect_double(yn_distance_m(b, a), distance_m);
    }
}

int main(void)
{
    const char *seed = getenv("YN_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 20240612;
    printf("YN_SEED=%llu\n", (unsigned long long)random_state);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_points),
        cmocka_unit_test(test_known_scores),
        cmocka_unit_test(test_known_positions),
        cmocka_unit_test(test_score_casts),
        cmocka_unit_test(test_scores_that_are_cells),
        cmocka_unit_test(test_interleave),
        cmocka_unit_test(test_every_cell_round_trips),
        cmocka_unit_test(test_scores_round_trip),
        cmocka_unit_test(test_encoding_is_total),
        cmocka_unit_test(test_known_distances),
        cmocka_unit_test(test_distance_is_symmetric_and_bounded),
    };
    return cmocka_run_group_tests_name("geodesy", tests, NULL, NULL);
}
