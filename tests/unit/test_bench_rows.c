/*
 * test_bench_rows.c: the suites: names, keys, commands; how long rounds are.
 * link: tools
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench_fill.h"
#include "tools/bench_measure.h"

#define N_POINTS 1000000u

static void check_command(const struct bench_fill *fill, const char *command)
{
    struct bench_template template;
    char *text;
    if (!bench_fill_open(fill, &template, command, NULL, &text))
        fail_msg("%s: %s", command, template.error);
    bench_template_close(&template);
    free(text);
}

static void check_suite(const char *name)
{
    const struct bench_fill fill = {N_POINTS, NULL};
    struct bench_suite opened, *suite = &opened;
    assert_true(bench_suite_open(suite, name, N_POINTS));
    assert_string_equal(suite->name, name);
    assert_null(bench_suite_find_row(suite, "no such row"));
    assert_true(suite->n_rows > 10 && suite->n_rounds > 0 && suite->duration_s > 0);
    for (size_t i = 0; i < suite->n_rows; i++) {
        const struct bench_row *row = &suite->rows[i];
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(suite->rows[j].name, row->name);
        assert_true(row->n_connections >= row->n_threads && row->n_threads >= 1);
        assert_true(row->pipeline >= 1);
        assert_ptr_equal(bench_suite_find_row(suite, row->name), row);
        if (row->key != NULL && bench_suite_find_key(suite, row->key) == NULL)
            fail_msg("%s: no key %s", row->name, row->key);
        if (row->is_load)
            continue;
        check_command(&fill, row->command);
        if (row->their_command != NULL)
            check_command(&fill, row->their_command);
    }
    for (size_t i = 0; i < suite->n_keys; i++) {
        if (suite->keys[i].template != NULL)
            check_command(&fill, suite->keys[i].template);
        assert_true(bench_fill_count(&fill, &suite->keys[i]) > 0);
    }
    bench_suite_close(suite);
}

static void test_suites(void **state)
{
    (void)state;
    check_suite("geo");
    check_suite("growth");
    struct bench_suite suite;
    assert_false(bench_suite_open(&suite, "no-such-suite", N_POINTS));
    bench_suite_close(&suite);
}

/* One key at a time, the smallest first; every size has its rows. */
static void test_growth(void **state)
{
    (void)state;
    static const uint64_t points[] = {1, 10000, 39999, 40000, 60841557, UINT64_MAX};
    static const size_t n_keys[] = {1, 1, 1, 2, 7, 16};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        struct bench_suite suite;
        assert_true(bench_suite_open(&suite, "growth", points[i]));
        assert_int_equal(suite.n_keys, n_keys[i]);
        assert_int_equal(strtoull(suite.keys[suite.n_keys - 1].size, NULL, 10),
                         points[i]);
        size_t n_loads = 0, at = 0;
        for (size_t j = 0; j < suite.n_rows; j++) {
            const struct bench_row *row = &suite.rows[j];
            assert_non_null(row->series);
            n_loads += row->is_load;
            while (strcmp(suite.keys[at].name, row->key) != 0)
                assert_true(++at < suite.n_keys); /* never back */
        }
        assert_int_equal(n_loads, suite.n_keys);
        bench_suite_close(&suite);
    }
}

static void test_least_requests(void **state)
{
    (void)state;
    assert_int_equal(bench_measure_least(20, 0, 2), 20);
    assert_int_equal(bench_measure_least(20, 1e-6, 2), 20);
    assert_int_equal(bench_measure_least(20, 0.1, 2), 20); /* two seconds */
    assert_int_equal(bench_measure_least(20, 0.5, 2), 8);
    assert_int_equal(bench_measure_least(20, 10, 2), 4);
    assert_int_equal(bench_measure_least(20, 10, 20),
                     20); /* a batch of each connection */
    assert_int_equal(bench_measure_least(3, 10, 1), 2);
    assert_int_equal(bench_measure_least(3, 10, 50), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suites),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_least_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
