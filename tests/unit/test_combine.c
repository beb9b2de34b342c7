/*
 * test_combine.c: unions, intersections and differences beside plain arrays, in each kind
 * of score, with every allocation failing once.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/zset.h"

#define IDS 9000 /* members are numbers below it; of some, long texts */
#define SOURCES_MAX 5

static uint64_t random_state;

static uint64_t draw(uint64_t n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 20) % n;
}

/* Every 101st member is a long one. */
static struct yn_bytes member_of(size_t id)
{
    static char space[400];
    size_t len = (size_t)sprintf(space, "%zu", id);
    if (id % 101 == 0) {
        memset(space + len, 'x', sizeof space - len);
        len = sizeof space;
    }
    return (struct yn_bytes){space, len};
}

static size_t id_of(struct yn_bytes member)
{
    size_t id = 0;
    for (size_t i = 0; i < member.len && member.data[i] != 'x'; i++)
        id = id * 10 + (size_t)(member.data[i] - '0');
    return id;
}

enum { CELLS, FRACTIONS, FEW, ODD, ONE, ZEROS, N_KINDS };

static double draw_score(int kind)
{
    static const double odd[] = {
        (double)INFINITY, -(double)INFINITY, 0, -0.0, 5e-324, -1.5, 1e308};
    if (kind == CELLS)
        return (double)draw(UINT64_C(1) << 43);
    if (kind == FRACTIONS)
        return (double)draw(UINT64_C(1) << 43) / 1e7 - 3e5;
    if (kind == ONE)
        return 7.5;
    if (kind == ZEROS)
        return draw(2) ? 0.0 : -0.0;
    return kind == FEW ? (double)draw(3) : odd[draw(sizeof odd / sizeof odd[0])];
}

/* A source as an array: NaN stands for what is not in it. */
struct plain {
    double scores[IDS];
    size_t n;
};

static struct plain plains[SOURCES_MAX], expected;

static struct yn_zset *make(struct plain *plain, size_t n_ids, size_t n, int kind)
{
    struct yn_zset *set = yn_zset_new(NULL);
    for (size_t i = 0; i < IDS; i++)
        plain->scores[i] = (double)NAN;
    for (size_t i = 0; i < n; i++) {
        size_t id = draw(n_ids);
        double score = draw_score(kind);
        if (!isnan(plain->scores[id]) && plain->scores[id] == score)
            continue; /* -0 does not replace 0 */
        assert_int_equal(yn_zset_put(set, member_of(id), score, NULL), YN_OK);
        plain->scores[id] = score;
    }
    plain->n = yn_zset_count(set);
    return set;
}

/* ---- what is expected ---- */

static double no_nan(double score)
{
    return isnan(score) ? 0 : score;
}

static double aggregate(enum yn_aggregate how, double a, double b)
{
    if (how == YN_SUM)
        return no_nan(a + b);
    return how == YN_MIN ? (b < a ? b : a) : (b > a ? b : a);
}

/* Order of work: by number of members, those of one number as they are named. */
static void order_sources(size_t n, size_t *order)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && plains[order[at - 1]].n > plains[i].n; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static double expect_one(const struct yn_combination *how, const size_t *order, size_t id)
{
    double score = (double)NAN;
    if (how->kind == YN_DIFFERENCE) {
        for (size_t s = 1; s < how->n_sources; s++)
            if (!isnan(plains[s].scores[id]))
                return (double)NAN;
        return plains[0].scores[id];
    }
    for (size_t i = 0; i < how->n_sources; i++) {
        size_t s = order[i];
        double at = plains[s].scores[id], product = how->sources[s].weight * at;
        if (isnan(at) && how->kind == YN_INTERSECTION)
            return (double)NAN;
        if (isnan(at))
            continue;
        if (how->kind == YN_UNION || i == 0)
            product = no_nan(product);
        score = isnan(score) ? product : aggregate(how->aggregate, score, product);
    }
    return score;
}

static void expect(const struct yn_combination *how)
{
    size_t order[SOURCES_MAX];
    order_sources(how->n_sources, order);
    expected.n = 0;
    for (size_t id = 0; id < IDS; id++) {
        expected.scores[id] = expect_one(how, order, id);
        expected.n += isnan(expected.scores[id]) ? 0 : 1;
    }
}

static void assert_expected(const struct yn_zset *set)
{
    struct yn_cursor cursor;
    assert_int_equal(yn_zset_count(set), expected.n);
    for (bool is_at = yn_cursor_seek(&cursor, yn_zset_view(set), 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        double wanted = expected.scores[id_of(entry.member)];
        assert_memory_equal(&entry.score, &wanted, sizeof wanted);
    }
}

/* ---- tests ---- */

static double draw_weight(void)
{
    static const double weights[] = {1, 1, 2, -1, 0.1, 0, (double)INFINITY, -0.0, 1e300};
    return weights[draw(sizeof weights / sizeof weights[0])];
}

/* A stop that is wanted at the n-th question; 0: never. */
struct countdown {
    size_t n_asked, stops_at;
};

static bool is_time(void *ctx)
{
    struct countdown *countdown = ctx;
    return ++countdown->n_asked == countdown->stops_at;
}

static void checks_result(const struct yn_combination *how)
{
    struct yn_zset *result;
    assert_int_equal(yn_zset_combine(how, NULL, &result), YN_OK);
    if (!how->is_for_cursors) {
        const char *wrong = yn_zset_check(result);
        if (wrong != NULL)
            fail_msg("%s", wrong);
    }
    assert_expected(result);
    yn_zset_free(result);
    if (how->kind != YN_INTERSECTION)
        return;
    size_t limit = 1 + draw(expected.n + 2);
    size_t n;
    assert_int_equal(yn_zset_count_common(how, 0, NULL, &n), YN_OK);
    assert_int_equal(n, expected.n);
    assert_int_equal(yn_zset_count_common(how, limit, NULL, &n), YN_OK);
    assert_int_equal(n, limit < expected.n ? limit : expected.n);
}

/* The same over frozen views, after the sets have been emptied if `is_emptied`. */
static void checks_views(const struct yn_combination *how, bool is_emptied)
{
    struct yn_view *views[SOURCES_MAX] = {NULL};
    struct yn_combination frozen = *how;
    frozen.views = (const struct yn_view *const *)views;
    for (size_t s = 0; s < how->n_sources; s++) {
        struct yn_zset *set = (struct yn_zset *)(uintptr_t)how->sources[s].set;
        if (set != NULL)
            assert_int_equal(yn_zset_freeze(set, &views[s]), YN_OK);
    }
    for (size_t s = 0; is_emptied && s < how->n_sources; s++) {
        struct yn_zset *set = (struct yn_zset *)(uintptr_t)how->sources[s].set;
        if (set != NULL)
            assert_int_equal(yn_zset_remove_range(set, 0, SIZE_MAX, NULL), YN_OK);
    }
    checks_result(&frozen);
    for (size_t s = 0; s < how->n_sources; s++)
        yn_view_free(views[s]);
}

static void combines(const struct yn_combination *how)
{
    struct yn_combine_cost cost = yn_combination_cost(how);
    expect(how);
    checks_result(how);
    checks_views(how, false);
    assert_true(cost.live_ns < UINT64_C(1000000000));
    assert_true(cost.frozen_ns < UINT64_C(1000000000));
}

static void as_plain_arrays(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 40, 300, 8000};
    const char *seed = getenv("YN_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 0) : 42;
    print_message("YN_SEED=%llu\n", (unsigned long long)random_state);
    for (int round = 0; round < 120; round++) {
        struct yn_source sources[SOURCES_MAX];
        size_t n = 1 + draw(SOURCES_MAX), n_ids = draw(2) ? IDS : 400;
        int kind = (int)draw(N_KINDS);
        for (size_t s = 0; s < n; s++) {
            size_t size = round < 6 ? 300 : sizes[draw(5)];
            if (s > 0 && draw(6) == 0) { /* one of the others again */
                size_t again = draw(s);
                plains[s] = plains[again];
                sources[s] = sources[again];
            } else {
                sources[s].set =
                    make(&plains[s], n_ids, size, draw(3) ? kind : (int)draw(N_KINDS));
            }
            sources[s].weight = round % 2 ? 1 : draw_weight();
        }
        for (int k = 0; k < 3; k++)
            for (int a = 0; a < 3; a++) {
                struct yn_combination how = {.kind = (enum yn_combine_kind)k,
                                             .aggregate = (enum yn_aggregate)a,
                                             .sources = sources,
                                             .n_sources = n,
                                             .is_for_cursors = draw(3) == 0};
                combines(&how);
            }
        struct yn_combination last = {.kind = (enum yn_combine_kind)(round % 3),
                                      .sources = sources,
                                      .n_sources = n};
        expect(&last);
        checks_views(&last, true);
        for (size_t s = 0; s < n; s++) {
            bool is_freed = false;
            for (size_t t = 0; t < s; t++)
                is_freed |= sources[t].set == sources[s].set;
            if (!is_freed)
                yn_zset_free((struct yn_zset *)(uintptr_t)sources[s].set);
        }
    }
}

/* Sources of other sizes than each other: the first is the smallest, the largest. */
static void no_source_is_an_empty_one(void **state)
{
    (void)state;
    struct yn_zset *set = make(&plains[0], IDS, 1000, CELLS), *result;
    struct yn_source sources[] = {{set, 1}, {NULL, 1}};
    plains[1].n = 0;
    for (size_t i = 0; i < IDS; i++)
        plains[1].scores[i] = (double)NAN;
    for (int k = 0; k < 3; k++)
        combines(&(struct yn_combination){
            .kind = (enum yn_combine_kind)k, .sources = sources, .n_sources = 2});
    sources[0] = sources[1];
    sources[1].set = set;
    plains[1] = plains[0];
    plains[0].n = 0;
    for (size_t i = 0; i < IDS; i++)
        plains[0].scores[i] = (double)NAN;
    for (int k = 0; k < 3; k++)
        combines(&(struct yn_combination){
            .kind = (enum yn_combine_kind)k, .sources = sources, .n_sources = 2});
    for (int k = 0; k < 3; k++) {
        struct yn_combination how = {.kind = (enum yn_combine_kind)k};
        assert_int_equal(yn_zset_combine(&how, NULL, &result), YN_OK);
        assert_int_equal(yn_zset_count(result), 0);
        yn_zset_free(result);
    }
    yn_zset_free(set);
}

/* What sets of one score each are: ordered runs, merged. */
static void a_hundred_thousand_of_one_score(void **state)
{
    (void)state;
    struct yn_zset *sets[2], *result;
    char name[24];
    for (size_t s = 0; s < 2; s++) {
        sets[s] = yn_zset_new(NULL);
        for (size_t i = 0; i < 100000; i++) {
            size_t len = (size_t)sprintf(name, "%zu", 2 * i + s);
            assert_int_equal(yn_zset_put(sets[s], (struct yn_bytes){name, len}, 5, NULL),
                             YN_OK);
        }
    }
    struct yn_source sources[] = {{sets[0], 1}, {sets[1], 1}};
    struct yn_combination how = {.kind = YN_UNION, .sources = sources, .n_sources = 2};
    assert_int_equal(yn_zset_combine(&how, NULL, &result), YN_OK);
    assert_int_equal(yn_zset_count(result), 200000);
    assert_null(yn_zset_check(result));
    yn_zset_free(result);
    yn_zset_free(sets[0]);
    yn_zset_free(sets[1]);
}

/* ---- allocation failure ---- */

struct failing {
    size_t left; /* allocations that succeed from now on */
    size_t bytes;
};

static void *failing_alloc(void *ctx, size_t size)
{
    struct failing *failing = ctx;
    if (failing->left == 0)
        return NULL;
    failing->left--;
    failing->bytes += size;
    return malloc(size);
}

static void failing_free(void *ctx, void *block, size_t size)
{
    struct failing *failing = ctx;
    failing->bytes -= size;
    free(block);
}

/* Every allocation fails once: no result, and no memory lost. */
static void survives_allocation_failure(void **state)
{
    (void)state;
    struct yn_zset *sets[] = {make(&plains[0], IDS, 900, CELLS),
                              make(&plains[1], IDS, 1100, FRACTIONS)};
    struct yn_source sources[2] = {{sets[0], 2}, {sets[1], 1}};
    for (int turn = 0; turn < 6; turn++) {
        struct yn_combination how = {
            .kind = (enum yn_combine_kind)(turn / 2), .sources = sources, .n_sources = 2};
        enum yn_status status = YN_ENOMEM;
        for (size_t fail_at = 0; status != YN_OK; fail_at++) {
            struct failing failing = {.left = fail_at};
            struct yn_allocator hook = {failing_alloc, failing_free, &failing};
            struct yn_options options = {.allocator = &hook, .hash_seed = 42};
            struct yn_zset *result = NULL;
            status = yn_zset_combine(&how, &options, &result);
            if (status == YN_OK) {
                expect(&how);
                assert_expected(result);
                assert_null(yn_zset_check(result));
                yn_zset_free(result);
            } else {
                assert_int_equal(status, YN_ENOMEM);
            }
            assert_int_equal(failing.bytes, 0);
        }
        /* the other way round: the difference takes the other way, too */
        struct yn_source source = sources[0];
        sources[0] = sources[1];
        sources[1] = source;
        plains[2] = plains[0];
        plains[0] = plains[1];
        plains[1] = plains[2];
    }
    yn_zset_free(sets[0]);
    yn_zset_free(sets[1]);
}

/* Whenever it is stopped there is no result, and no memory lost. */
static void stops_at_every_question(void **state)
{
    (void)state;
    for (int turn = 0; turn < 12; turn++) {
        int kind = turn % 3;
        struct yn_zset *sets[] = {
            make(&plains[0], IDS, 9000, turn < 6 ? FRACTIONS : ONE),
            make(&plains[1], IDS, 8000, turn < 6 ? FRACTIONS : ONE)};
        struct yn_view *views[2];
        struct yn_source sources[] = {{sets[turn & 1], 1}, {sets[!(turn & 1)], 2}};
        if (turn & 1) {
            plains[2] = plains[0];
            plains[0] = plains[1];
            plains[1] = plains[2];
        }
        for (size_t s = 0; s < 2; s++)
            assert_int_equal(
                yn_zset_freeze((struct yn_zset *)(uintptr_t)sources[s].set, &views[s]),
                YN_OK);
        struct yn_combination how = {
            .kind = (enum yn_combine_kind)kind,
            .sources = sources,
            .n_sources = 2,
            .views = turn / 3 & 1 ? (const struct yn_view *const *)views : NULL};
        enum yn_status status = YN_ESTOPPED;
        size_t stops_at = 0;
        expect(&how);
        while (status != YN_OK) {
            struct countdown countdown = {.stops_at = ++stops_at};
            struct yn_stop stop = {is_time, &countdown};
            struct failing failing = {.left = SIZE_MAX};
            struct yn_allocator hook = {failing_alloc, failing_free, &failing};
            struct yn_options options = {
                .allocator = &hook, .hash_seed = 42, .stop = &stop};
            struct yn_zset *result = NULL;
            status = yn_zset_combine(&how, &options, &result);
            assert_int_equal(status, countdown.n_asked < stops_at ? YN_OK : YN_ESTOPPED);
            if (status == YN_OK) {
                assert_expected(result);
                yn_zset_free(result);
            }
            assert_int_equal(failing.bytes, 0);
        }
        assert_true(stops_at > 3);
        for (size_t s = 0; s < 2; s++) {
            yn_view_free(views[s]);
            yn_zset_free(sets[s]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_plain_arrays),
        cmocka_unit_test(no_source_is_an_empty_one),
        cmocka_unit_test(a_hundred_thousand_of_one_score),
        cmocka_unit_test(survives_allocation_failure),
        cmocka_unit_test(stops_at_every_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
