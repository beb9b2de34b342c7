/*
 * test_bench_data.c: data sets: the same everywhere, where they should be, all in order.
 * link: tools
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench_data.h"

#define PI 3.14159265358979323846

static void open_data(struct bench_data *data, const char *name, uint64_t n)
{
    if (!bench_data_open(data, name, n, 1, NULL))
        fail_msg("%s", data->error);
}

static double distance_km(double lon1, double lat1, double lon2, double lat2)
{
    double u = sin((lat2 - lat1) * PI / 360), v = sin((lon2 - lon1) * PI / 360);
    double a = u * u + cos(lat1 * PI / 180) * cos(lat2 * PI / 180) * v * v;
    return 2 * 6372.797560856 * asin(sqrt(a));
}

static size_t count_within(const struct bench_data *data, double lon, double lat,
                           double km)
{
    struct bench_data_point points[100];
    size_t n_within = 0;
    for (uint64_t first = 0; first < data->n; first += 100) {
        size_t n = data->n - first < 100 ? (size_t)(data->n - first) : 100;
        bench_data_points(data, first, n, points);
        for (size_t i = 0; i < n; i++)
            n_within += distance_km(points[i].lon_e6 * 1e-6, points[i].lat_e6 * 1e-6, lon,
                                    lat) <= km;
    }
    return n_within;
}

/* 100 thousand of 60,841,557 within 200 km of (7, 55): 3,287 of two million. */
static void test_osm_has_its_density(void **state)
{
    (void)state;
    struct bench_data data;
    open_data(&data, "osm", 2000000);
    size_t n = count_within(&data, 7, 55, 200);
    assert_in_range(n, 3100, 3600);
    bench_data_close(&data);
}

static void test_outlet_is_in_indonesia(void **state)
{
    (void)state;
    struct bench_data data;
    open_data(&data, "outlet", 0);
    assert_int_equal(data.n, 85318);
    assert_string_equal(bench_data_key(&data), "outlet");
    assert_in_range(count_within(&data, 112, -7, 200), 12000, 17000);
    assert_int_equal(count_within(&data, 118, -2, 3000), 85318);
    bench_data_close(&data);
}

/* A point does not depend on what is asked for with it, nor on the size of the set. */
static void test_points_are_had_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"osm", "outlet", "uniform", "fleet"};
    for (size_t k = 0; k < 4; k++) {
        struct bench_data data, larger;
        struct bench_data_point run[100], one;
        open_data(&data, names[k], 100);
        open_data(&larger, names[k], 100000);
        bench_data_points(&data, 0, 100, run);
        for (uint64_t i = 0; i < 100; i++) {
            bench_data_points(&larger, i, 1, &one);
            assert_int_equal(one.lon_e6, run[i].lon_e6);
            assert_int_equal(one.lat_e6, run[i].lat_e6);
            assert_int_equal(one.number, i);
            assert_in_range(one.lon_e6 + 180000000, 0, 360000000);
            assert_in_range(one.lat_e6 + 85000000, 0, 170000000);
        }
        bench_data_close(&data);
        bench_data_close(&larger);
    }
}

static void test_seeds_differ(void **state)
{
    (void)state;
    struct bench_data a, b;
    struct bench_data_point p, q;
    assert_true(bench_data_open(&a, "uniform", 10, 1, NULL));
    assert_true(bench_data_open(&b, "uniform", 10, 2, NULL));
    bench_data_points(&a, 0, 1, &p);
    bench_data_points(&b, 0, 1, &q);
    assert_true(p.lon_e6 != q.lon_e6 && p.lat_e6 != q.lat_e6);
}

/* Every object moves once in each round of n moves, by about 100 m. */
static void test_fleet_moves(void **state)
{
    (void)state;
    struct bench_data data;
    enum { N = 1000 };
    static struct bench_data_point at[N];
    static bool has_moved[N];
    open_data(&data, "fleet", N);
    bench_data_points(&data, 0, N, at);
    for (uint64_t k = 0; k < 5 * N; k++) {
        struct bench_data_point to;
        if (k % N == 0)
            memset(has_moved, 0, sizeof has_moved);
        bench_data_move(&data, k, &to);
        assert_true(to.number < N && !has_moved[to.number]);
        has_moved[to.number] = true;
        struct bench_data_point *from = &at[to.number];
        double km = distance_km(from->lon_e6 * 1e-6, from->lat_e6 * 1e-6,
                                to.lon_e6 * 1e-6, to.lat_e6 * 1e-6);
        if (km < 0.09 || km > 0.11)
            fail_msg("move %llu is %g m", (unsigned long long)k, km * 1000);
        *from = to;
    }
    bench_data_close(&data);
}

static void test_texts(void **state)
{
    (void)state;
    static const struct {
        int32_t value;
        const char *text;
    } cases[] = {{0, "0.000000"},           {-1, "-0.000001"},
                 {13361389, "13.361389"},   {180000000, "180.000000"},
                 {-85051128, "-85.051128"}, {-179999999, "-179.999999"}};
    char text[BENCH_DATA_TEXT_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        text[bench_data_format_e6(cases[i].value, text)] = '\0';
        assert_string_equal(text, cases[i].text);
    }
}

static void test_geoadd(void **state)
{
    (void)state;
    struct bench_data data;
    struct bench_data_point points[2];
    struct yn_buf out;
    open_data(&data, "sicily", 2);
    bench_data_points(&data, 0, 2, points);
    yn_buf_init(&out);
    bench_data_write_geoadd(&data, (struct yn_bytes){"k", 1}, points, 2, &out);
    yn_buf_append(&out, "", 1);
    assert_string_equal(out.data,
                        "*8\r\n$6\r\nGEOADD\r\n$1\r\nk\r\n$9\r\n13.361389\r\n$9\r\n"
                        "38.115556\r\n$7\r\nPalermo\r\n$9\r\n15.087269\r\n$9\r\n"
                        "37.502669\r\n$7\r\nCatania\r\n");
    yn_buf_clear(&out);
    bench_data_close(&data);
}

static void test_unknown_set(void **state)
{
    (void)state;
    struct bench_data data;
    assert_false(bench_data_open(&data, "atlantis", 1, 1, NULL));
    assert_non_null(strstr(data.error, "atlantis"));
    assert_false(bench_data_open(&data, "osm", 1, 1, "/nowhere/places.csv"));
    assert_non_null(strstr(data.error, "/nowhere/places.csv"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_osm_has_its_density),
        cmocka_unit_test(test_outlet_is_in_indonesia),
        cmocka_unit_test(test_points_are_had_alone),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_fleet_moves),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_geoadd),
        cmocka_unit_test(test_unknown_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
