/* link: server
 * The thread that frees: large sets, sets with open views, work with an end in the loop.
 */
#include "server/reaper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct yn_zset *set_of(unsigned n)
{
    struct yn_zset *set = yn_zset_new(NULL);
    char text[32];
    for (unsigned i = 0; i < n; i++) {
        int len = snprintf(text, sizeof text, "member-%u", i);
        assert_int_equal(yn_zset_put(set, (struct yn_bytes){text, (size_t)len},
                                     (double)(i % 1000), NULL),
                         YN_OK);
    }
    return set;
}

static void test_sets(void **state)
{
    (void)state;
    struct reaper reaper;
    assert_true(reaper_init(&reaper));
    reaper_add_zset(&reaper, set_of(10)); /* small: at once, uncounted */
    assert_false(reaper.has_thread);
    for (int i = 0; i < 5; i++)
        reaper_add_zset(&reaper, set_of(50000));
    assert_true(reaper.has_thread);
    reaper_wait(&reaper);
    assert_int_equal(reaper_n_pending(&reaper), 0);
    assert_int_equal(reaper_n_freed(&reaper), 5);
    reaper_reset_stats(&reaper);
    assert_int_equal(reaper_n_freed(&reaper), 0);
    reaper_add_zset(&reaper, set_of(50000)); /* not waited for */
    reaper_clear(&reaper);
}

static void test_views(void **state)
{
    (void)state;
    struct reaper reaper;
    struct yn_view *view[2];
    struct yn_cursor cursor;
    struct yn_zset *set = set_of(50000);
    assert_true(reaper_init(&reaper));
    for (int i = 0; i < 2; i++)
        assert_int_equal(yn_zset_freeze(set, &view[i]), YN_OK);
    reaper_add_zset(&reaper, set);
    for (int i = 0; i < 2; i++) {
        reaper_poll(&reaper);
        reaper_wait(&reaper);
        assert_int_equal(reaper_n_pending(&reaper), 1);
        assert_int_equal(reaper_n_freed(&reaper), 0);
        assert_true(yn_cursor_seek(&cursor, view[i], 49999));
        assert_false(yn_cursor_next(&cursor));
        yn_view_free(view[i]);
    }
    reaper_poll(&reaper);
    reaper_wait(&reaper);
    assert_int_equal(reaper_n_pending(&reaper), 0);
    assert_int_equal(reaper_n_freed(&reaper), 1);
    reaper_clear(&reaper);
}

static void count_up(void *what)
{
    ++*(int *)what;
}

static void test_work_and_finish(void **state)
{
    (void)state;
    struct reaper reaper;
    int n[20] = {0};
    assert_true(reaper_init(&reaper));
    for (int i = 0; i < 20; i++)
        assert_true(reaper_add(&reaper, count_up, count_up, &n[i], 100));
    reaper_wait(&reaper);
    for (int i = 0; i < 20; i++)
        assert_int_equal(n[i], 2);
    assert_int_equal(reaper_n_freed(&reaper), 2000);
    assert_true(reaper_add(&reaper, count_up, count_up, &n[0], 1));
    reaper_clear(&reaper); /* to the end, the loop's part too */
    assert_int_equal(n[0], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_work_and_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
