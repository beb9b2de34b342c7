/* What a search will cost and find, told from the tree's counts; and ending it early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/search.h"
#include "model/model.h"

#define N 200000
#define ENOUGH_NS UINT64_C(1000000000000)

static struct rng rng;
static struct yn_zset *set;

/* Evenly spread over 40 by 40 degrees. */
static int make_set(void **state)
{
    (void)state;
    const char *seed = getenv("YN_SEED");
    rng.state = seed != NULL ? strtoull(seed, NULL, 0) : 42;
    print_message("YN_SEED=%llu\n", (unsigned long long)rng.state);
    set = yn_zset_new(NULL);
    char text[24];
    for (size_t i = 0; i < N; i++) {
        struct yn_point p = {rng_between(&rng, -20, 20), rng_between(&rng, -20, 20)};
        struct yn_bytes member = {text, (size_t)sprintf(text, "%zu", i)};
        assert_int_equal(yn_zset_put(set, member, yn_score_encode(p), NULL), YN_OK);
    }
    return 0;
}

static int free_set(void **state)
{
    (void)state;
    yn_zset_free(set);
    return 0;
}

static struct yn_query circle(double lon, double lat, double radius_m)
{
    return (struct yn_query){.shape = {
                                 .kind = YN_CIRCLE,
                                 .center = {lon, lat},
                                 .radius_m = radius_m,
                             }};
}

static uint64_t cost_of(const struct yn_query *query, size_t *out_n)
{
    struct yn_search *search;
    assert_int_equal(yn_search_prepare(yn_zset_view(set), query, &search), YN_OK);
    size_t n;
    uint64_t cost_ns = yn_search_cost_ns(search, yn_zset_view(set), ENOUGH_NS,
                                         out_n != NULL ? out_n : &n);
    yn_search_free(search);
    return cost_ns;
}

static size_t count_of(const struct yn_query *query)
{
    struct yn_search *search;
    assert_int_equal(yn_search_new(yn_zset_view(set), query, &search), YN_OK);
    size_t n = yn_search_count(search);
    yn_search_free(search);
    return n;
}

/* A cover holds up to twice what its circle does; nodes that it cuts are cut roughly. */
static void test_results_are_about_known(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct yn_query query =
            circle(rng_between(&rng, -25, 25), rng_between(&rng, -25, 25),
                   rng_between(&rng, 1e4, 4e6));
        size_t told, n = count_of(&query);
        cost_of(&query, &told);
        assert_in_range(told + 1000, n / 4 * 3, 2 * n + 3500);
        query.limit = 1 + n / 2;
        cost_of(&query, &told);
        assert_true(told <= query.limit);
    }
}

/* Across the antimeridian the cover is a band around the world, but the shape is not. */
static void test_a_band_is_not_all(void **state)
{
    (void)state;
    size_t told;
    struct yn_query query = circle(179.9, 1, 1e5);
    cost_of(&query, &told);
    assert_true(told < 10);
    query = circle(0, 0, 3e7); /* all of it */
    cost_of(&query, &told);
    assert_in_range(told, N, N + 1);
}

static void test_costs_are_in_order(void **state)
{
    (void)state;
    struct yn_query query = circle(0, 0, 3e6);
    uint64_t all = cost_of(&query, NULL);
    query.order = YN_ORDER_ASC;
    uint64_t sorted = cost_of(&query, NULL);
    query.limit = 10;
    uint64_t nearest = cost_of(&query, NULL);
    query.limit = 20000;
    uint64_t many = cost_of(&query, NULL);
    query = circle(0, 0, 1e4);
    uint64_t small = cost_of(&query, NULL);
    assert_true(small < nearest && nearest < all && all < many && many < sorted);
    assert_true(small < 1000 && sorted > 1000000);
}

static void test_polygons_cost_their_edges(void **state)
{
    (void)state;
    static struct yn_point vertices[100000];
    uint64_t before = 0;
    for (size_t n = 10; n <= 100000; n *= 10) {
        for (size_t i = 0; i < n; i++)
            vertices[i] =
                (struct yn_point){rng_between(&rng, -20, 20), rng_between(&rng, -20, 20)};
        struct yn_query query = {
            .shape = {.kind = YN_POLYGON, .vertices = vertices, .n_vertices = n}};
        uint64_t cost_ns = cost_of(&query, NULL);
        assert_true(cost_ns > before);
        before = cost_ns;
    }
    assert_true(before > 100000000);
}

static void test_small_and_empty_sets(void **state)
{
    (void)state;
    struct yn_zset *small = yn_zset_new(NULL);
    for (int i = 0; i < 3; i++) {
        struct yn_search *search;
        size_t told;
        struct yn_query query = circle(0, 0, 1e7);
        query.order = YN_ORDER_ASC;
        assert_int_equal(yn_search_prepare(yn_zset_view(small), &query, &search), YN_OK);
        assert_true(yn_search_cost_ns(search, yn_zset_view(small), 1000000, &told) <
                    10000);
        assert_true(told <= (size_t)i + 1);
        assert_true(yn_search_cost_ns(search, yn_zset_view(small), 0, NULL) < 10000);
        yn_search_free(search);
        yn_zset_put(small, (struct yn_bytes){"abc", (size_t)i + 1}, 0, NULL);
    }
    yn_zset_free(small);
}

/* ---- ending ---- */

struct countdown {
    size_t n_asked, stops_at;
};

static bool is_time(void *ctx)
{
    struct countdown *countdown = ctx;
    return ++countdown->n_asked == countdown->stops_at;
}

/* Plans in two steps, stopped at every question; in the end over a frozen view whose set
 * has been changed. */
static void stop_everywhere(const struct yn_query *query, size_t n_questions_min)
{
    size_t stops_at = 0, wanted = count_of(query);
    enum yn_status status = YN_ESTOPPED;
    struct yn_view *view;
    assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
    while (status != YN_OK) {
        struct countdown countdown = {.stops_at = ++stops_at};
        struct yn_stop stop = {is_time, &countdown};
        struct yn_search *search;
        assert_int_equal(yn_search_prepare(yn_zset_view(set), query, &search), YN_OK);
        status = yn_search_plan(search, view, &stop);
        assert_int_equal(status, countdown.n_asked < stops_at ? YN_OK : YN_ESTOPPED);
        if (status == YN_OK)
            assert_int_equal(yn_search_count(search), wanted);
        yn_search_free(search);
        if (stops_at > 50) /* the rest more quickly */
            stops_at += stops_at / 4;
    }
    assert_true(stops_at > n_questions_min);
    yn_view_free(view);
}

static void test_stops(void **state)
{
    (void)state;
    struct yn_query query = circle(0, 0, 3e6);
    stop_everywhere(&query, 3);
    query.order = YN_ORDER_ASC;
    stop_everywhere(&query, 20);
    query.limit = 100000;
    stop_everywhere(&query, 20);
    query.order = YN_ORDER_DESC;
    stop_everywhere(&query, 20);
    query.any = true;
    stop_everywhere(&query, 20);
    query.order = YN_ORDER_CELLS;
    stop_everywhere(&query, 1);
    static struct yn_point vertices[2000];
    for (size_t i = 0; i < 2000; i++)
        vertices[i] =
            (struct yn_point){rng_between(&rng, -3, 3), rng_between(&rng, -3, 3)};
    query = (struct yn_query){
        .shape = {.kind = YN_POLYGON, .vertices = vertices, .n_vertices = 2000}};
    stop_everywhere(&query, 20);
    query.order = YN_ORDER_ASC;
    query.limit = 500;
    stop_everywhere(&query, 3);
}

/* Equal distances by the thousand, which the sort finds in order. */
static void test_one_place(void **state)
{
    (void)state;
    struct yn_zset *crowd = yn_zset_new(NULL);
    char text[24];
    for (size_t i = 0; i < 20000; i++) {
        struct yn_bytes member = {text, (size_t)sprintf(text, "%zu", i)};
        yn_zset_put(crowd, member, yn_score_encode((struct yn_point){1, 1}), NULL);
    }
    struct yn_query query = circle(0, 0, 3e6);
    for (int order = YN_ORDER_ASC; order <= YN_ORDER_DESC; order++) {
        struct yn_search *search;
        struct yn_cursor cursor;
        struct yn_hit hit;
        query.order = (enum yn_order)order;
        assert_int_equal(yn_search_new(yn_zset_view(crowd), &query, &search), YN_OK);
        assert_true(yn_cursor_seek(&cursor, yn_zset_view(crowd), 0));
        for (size_t i = 0; i < 20000; i++) {
            struct yn_bytes member = yn_cursor_entry(&cursor).member;
            assert_true(yn_search_next(search, &hit));
            assert_int_equal(hit.member.len, member.len);
            assert_memory_equal(hit.member.data, member.data, member.len);
            yn_cursor_next(&cursor);
        }
        yn_search_free(search);
    }
    yn_zset_free(crowd);
}

static void test_views_know_whether_they_are_current(void **state)
{
    (void)state;
    struct yn_zset *some = yn_zset_new(NULL);
    char text[24];
    for (size_t n = 0; n < 2000; n = n * 2 + 1) { /* empty, one leaf, several levels */
        struct yn_view *old, *view;
        for (size_t i = 0; i < n; i++)
            yn_zset_put(some, (struct yn_bytes){text, (size_t)sprintf(text, "%zu", i)},
                        (double)i, NULL);
        assert_int_equal(yn_zset_freeze(some, &old), YN_OK);
        assert_int_equal(yn_zset_freeze(some, &view), YN_OK);
        assert_true(yn_view_is_current(old) && yn_view_is_current(view));
        yn_zset_put(some, (struct yn_bytes){"new", 3}, (double)n / 2, NULL);
        assert_false(yn_view_is_current(old) || yn_view_is_current(view));
        yn_zset_remove(some, (struct yn_bytes){"new", 3}, NULL);
        if (n > 0) /* as it was, but nobody knows */
            assert_false(yn_view_is_current(old) || yn_view_is_current(view));
        yn_view_free(view);
        yn_view_free(old);
        if (n == 0)
            continue;
        assert_int_equal(yn_zset_freeze(some, &view), YN_OK);
        yn_zset_put(some, (struct yn_bytes){"0", 1}, 0.25, NULL); /* moves in place */
        assert_false(yn_view_is_current(view));
        yn_view_free(view);
        yn_zset_put(some, (struct yn_bytes){"0", 1}, 0, NULL);
    }
    yn_zset_free(some);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_about_known),
        cmocka_unit_test(test_a_band_is_not_all),
        cmocka_unit_test(test_costs_are_in_order),
        cmocka_unit_test(test_polygons_cost_their_edges),
        cmocka_unit_test(test_small_and_empty_sets),
        cmocka_unit_test(test_stops),
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_views_know_whether_they_are_current),
    };
    return cmocka_run_group_tests(tests, make_set, free_set);
}
