/* Searches over crowds and ties, with limits, against sorting all members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/search.h"
#include "model/model.h"

/* ---- what is expected ---- */

struct expected {
    double distance_m, score;
    char name[24];
};

static bool is_desc; /* the order of the search under way */

static int compare_expected(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;
    if (x->distance_m != y->distance_m)
        return (x->distance_m < y->distance_m) != is_desc ? -1 : 1;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return strcmp(x->name, y->name);
}

#define N_MEMBERS 30000
static struct expected members[N_MEMBERS];

/* Members at `places` in turn, some with a score of its own that decodes to the place. */
static struct yn_zset *set_of(const struct yn_point *places, size_t n_places)
{
    struct yn_options options = {.hash_seed = 42};
    struct yn_zset *set = yn_zset_new(&options);
    for (size_t i = 0; i < N_MEMBERS; i++) {
        struct expected *m = &members[i];
        int len = sprintf(m->name, "%zu", i);
        m->score = yn_score_encode(places[i % n_places]);
        if (i % 11 == 0)
            m->score += 0.25;
        assert_int_equal(
            yn_zset_put(set, (struct yn_bytes){m->name, (size_t)len}, m->score, NULL),
            YN_OK);
    }
    assert_null(yn_zset_check(set));
    return set;
}

/* The search's results are the first n expected ones, in order. */
static void compare_results(const struct yn_zset *set, const struct yn_query *query)
{
    static struct expected all[N_MEMBERS];
    struct yn_search *search;
    struct yn_hit hit;
    size_t n = 0;
    assert_int_equal(yn_search_new(yn_zset_view(set), query, &search), YN_OK);
    struct yn_region region;
    assert_int_equal(yn_region_init(&region, &query->shape), YN_OK);
    for (size_t i = 0; i < N_MEMBERS; i++) {
        struct yn_point at = yn_score_decode(members[i].score);
        if (!yn_region_contains(&region, at))
            continue;
        all[n] = members[i];
        all[n++].distance_m = yn_distance_m(yn_search_center(search), at);
    }
    is_desc = query->order == YN_ORDER_DESC;
    qsort(all, n, sizeof all[0], compare_expected);
    size_t wanted = query->limit > 0 && query->limit < n ? query->limit : n;
    assert_int_equal(yn_search_count(search), wanted);
    for (size_t i = 0; i < wanted; i++) {
        assert_true(yn_search_next(search, &hit));
        assert_int_equal(hit.member.len, strlen(all[i].name));
        assert_memory_equal(hit.member.data, all[i].name, hit.member.len);
        assert_true(hit.distance_m == all[i].distance_m && hit.score == all[i].score);
    }
    assert_false(yn_search_next(search, &hit));
    yn_search_free(search);
}

static const size_t limits[] = {1, 2, 10, 777, N_MEMBERS - 1, N_MEMBERS, N_MEMBERS + 1,
                                0};

static void compare_limits(const struct yn_zset *set, struct yn_query query)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        query.limit = limits[i];
        query.order = YN_ORDER_ASC;
        compare_results(set, &query);
        query.order = YN_ORDER_DESC;
        compare_results(set, &query);
    }
}

/* ---- tests ---- */

static void ties_in_crowds(void **state)
{
    (void)state;
    /* two pairs equally far from (0, 0), one of each in the other hemisphere */
    static const struct yn_point places[] = {{10, 20},   {10, -20}, {-10, 20},
                                             {-10, -20}, {0, 0},    {40, 0}};
    static const struct yn_point triangle[] = {{-60, -50}, {60, -50}, {0, 60}};
    struct yn_zset *set = set_of(places, 6);
    struct yn_query query = {.shape = {.kind = YN_CIRCLE, .radius_m = 3e6}};
    compare_limits(set, query);
    query.shape =
        (struct yn_shape){.kind = YN_BOX, .width_m = 4e6, .height_m = (double)INFINITY};
    compare_limits(set, query);
    query.shape =
        (struct yn_shape){.kind = YN_POLYGON, .vertices = triangle, .n_vertices = 3};
    compare_limits(set, query);
    yn_zset_free(set);
}

/* About the antipode the arcsine magnifies rounding, and distances tie that are none. */
static void about_the_antipode(void **state)
{
    (void)state;
    static struct yn_point places[900];
    struct rng rng = {model_seed()};
    for (size_t i = 0; i < 900; i++) {
        double spread = pow(10, rng_between(&rng, -6, -2));
        places[i] = (struct yn_point){100 + rng_between(&rng, -spread, spread),
                                      -30 + rng_between(&rng, -spread, spread)};
    }
    struct yn_zset *set = set_of(places, 900);
    struct yn_query query = {
        .shape = {.kind = YN_CIRCLE, .center = {-80, 30}, .radius_m = (double)INFINITY}};
    compare_limits(set, query);
    query.shape.radius_m = 3.141592653589793 * YN_EARTH_RADIUS_M - 3;
    compare_limits(set, query);
    yn_zset_free(set);
}

/* What a search of a set cost, and its results. */
static struct yn_search_work work_of(const struct yn_zset *set,
                                     const struct yn_query *query, size_t *out_hits)
{
    struct yn_search *search;
    assert_int_equal(yn_search_new(yn_zset_view(set), query, &search), YN_OK);
    struct yn_search_work work = yn_search_work(search);
    *out_hits = yn_search_count(search);
    yn_search_free(search);
    return work;
}

static void work_follows_the_edge(void **state)
{
    (void)state;
    static struct yn_point places[N_MEMBERS];
    struct rng rng = {model_seed()};
    for (size_t i = 0; i < N_MEMBERS; i++)
        places[i] =
            (struct yn_point){rng_between(&rng, -20, 20), rng_between(&rng, -20, 20)};
    struct yn_zset *set = set_of(places, N_MEMBERS);
    struct yn_query query = {.shape = {.kind = YN_CIRCLE, .radius_m = (double)INFINITY}};
    size_t n_hits;

    /* all: no point is looked at by itself */
    query.order = YN_ORDER_ASC;
    struct yn_search_work all = work_of(set, &query, &n_hits);
    assert_int_equal(n_hits, N_MEMBERS);
    assert_int_equal(all.n_tested, 0);
    assert_true(all.n_leaves >= N_MEMBERS / YN_LEAF_ENTRIES_MAX);

    /* a tenth: more leaves than hits fill, but few of their points are tested */
    query.shape.radius_m = 800e3;
    struct yn_search_work part = work_of(set, &query, &n_hits);
    assert_in_range(n_hits, N_MEMBERS / 20, N_MEMBERS / 5);
    assert_in_range(part.n_leaves, n_hits / YN_LEAF_ENTRIES_MAX, all.n_leaves / 2);
    assert_in_range(part.n_tested, 1, N_MEMBERS / 5);

    /* the nearest one: a few leaves */
    query.limit = 1;
    struct yn_search_work nearest = work_of(set, &query, &n_hits);
    assert_in_range(nearest.n_leaves, 1, 20);
    assert_in_range(nearest.n_tested, 1, nearest.n_leaves * YN_LEAF_ENTRIES_MAX);

    /* a small circle: a few leaves, each of them once, whatever cells it has */
    query.order = YN_ORDER_CELLS;
    query.limit = 0;
    query.shape.radius_m = 100;
    struct yn_search_work small = work_of(set, &query, &n_hits);
    assert_in_range(small.n_leaves, 0, 12);
    query.order = YN_ORDER_ASC;
    assert_int_equal(work_of(set, &query, &n_hits).n_tested, small.n_tested);

    /* none */
    query.shape.center = (struct yn_point){100, 0};
    struct yn_search_work none = work_of(set, &query, &n_hits);
    assert_int_equal(n_hits + none.n_leaves + none.n_tested, 0);
    yn_zset_free(set);
}

/* With ANY the first ones of the unsorted order come, put into the order asked for. */
static void compare_any(const struct yn_zset *set, const struct yn_query *all,
                        size_t limit)
{
    static bool is_expected[N_MEMBERS];
    static size_t numbers[N_MEMBERS];
    struct yn_search *unsorted, *some;
    struct yn_hit hit;
    size_t n = 0;
    memset(is_expected, 0, sizeof is_expected);
    assert_int_equal(yn_search_new(yn_zset_view(set), all, &unsorted), YN_OK);
    for (; n < limit && yn_search_next(unsorted, &hit); n++) {
        numbers[n] = strtoull(hit.member.data, NULL, 10);
        is_expected[numbers[n]] = true;
    }
    yn_search_free(unsorted);
    for (int order = YN_ORDER_CELLS; order <= YN_ORDER_DESC; order++) {
        struct yn_query query = *all;
        query.order = (enum yn_order)order;
        query.limit = limit;
        query.any = true;
        assert_int_equal(yn_search_new(yn_zset_view(set), &query, &some), YN_OK);
        assert_int_equal(yn_search_count(some), n);
        double last = order == YN_ORDER_DESC ? (double)INFINITY : 0;
        for (size_t i = 0; yn_search_next(some, &hit); i++) {
            size_t number = strtoull(hit.member.data, NULL, 10);
            assert_true(is_expected[number]);
            if (order == YN_ORDER_CELLS)
                assert_int_equal(number, numbers[i]);
            else
                assert_true(order == YN_ORDER_DESC ? hit.distance_m <= last
                                                   : hit.distance_m >= last);
            last = hit.distance_m;
        }
        yn_search_free(some);
    }
}

/* Circles of many results, and some about as large as what is tried as a whole. */
static void any_takes_the_first_of_the_unsorted_order(void **state)
{
    (void)state;
    static struct yn_point places[500];
    static const double radii_m[] = {300000, 60000, 30000, 10};
    struct rng rng = {model_seed()};
    for (size_t i = 0; i < 500; i++)
        places[i] =
            (struct yn_point){rng_between(&rng, -8, 8), rng_between(&rng, 40, 50)};
    struct yn_zset *set = set_of(places, 500);
    struct yn_query all = {.shape = {.kind = YN_CIRCLE}};
    for (size_t i = 0; i < 12; i++) {
        all.shape.center = i == 0 ? (struct yn_point){1, 45} : places[i];
        all.shape.radius_m = radii_m[i % 4];
        for (size_t limit = 1; limit < 3000; limit = limit * 3 + 1)
            compare_any(set, &all, limit);
    }
    compare_limits(set, all);
    all.shape.radius_m = 60000;
    compare_limits(set, all);
    yn_zset_free(set);
}

/* Runs of wire bytes, single hits and many at a time may be mixed; together they are
 * every hit once. */
static void runs_and_hits_mixed(void **state)
{
    (void)state;
    static const struct yn_point places[] = {{1, 1}, {2, 2}, {3, 3}, {4, 40}};
    struct rng rng = {model_seed()};
    struct yn_zset *set = set_of(places, 4);
    static char name[400];
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < 100; i++) {
        sprintf(name, "long%02zu", i);
        name[6] = 'n';
        assert_int_equal(yn_zset_put(set, (struct yn_bytes){name, sizeof name},
                                     yn_score_encode(places[1]), NULL),
                         YN_OK);
    }
    for (int order = YN_ORDER_CELLS; order <= YN_ORDER_DESC; order++) {
        struct yn_query query = {.shape = {.kind = YN_CIRCLE, .radius_m = 400000},
                                 .order = (enum yn_order)order};
        struct yn_search *search;
        struct yn_hit hit;
        struct yn_hits hits;
        struct yn_run run;
        size_t n = 0;
        assert_int_equal(yn_search_new(yn_zset_view(set), &query, &search), YN_OK);
        while (true) {
            size_t way = rng_below(&rng, 32);
            if (way < 16) {
                if (!yn_search_next(search, &hit))
                    break;
                n++;
            } else if (way == 16) {
                if (!yn_search_next_hits(search, &hits))
                    break;
                assert_true(hits.wire[hits.n - 1].data[0] == '$');
                n += hits.n;
            } else {
                if (!yn_search_next_run(search, &run))
                    break;
                assert_true(run.n > 0 && run.wire.data[0] == '$');
                assert_memory_equal(run.wire.data + run.wire.len - 2, "\r\n", 2);
                n += run.n;
            }
        }
        assert_int_equal(n, yn_search_count(search));
        assert_false(yn_search_next(search, &hit));
        assert_false(yn_search_next_run(search, &run));
        assert_false(yn_search_next_hits(search, &hits));
        assert_int_equal(hits.n, 0);
        yn_search_free(search);
    }
    yn_zset_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_in_crowds),
        cmocka_unit_test(about_the_antipode),
        cmocka_unit_test(work_follows_the_edge),
        cmocka_unit_test(any_takes_the_first_of_the_unsorted_order),
        cmocka_unit_test(runs_and_hits_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
