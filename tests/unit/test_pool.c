/*
 * The pool of threads: every task is done once, in order; tasks can be taken back, and
 * told to end. link: server
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "server/pool.h"

#define N 200

struct item {
    struct pool_task task;
    size_t number;
    int n_worked, n_done;
    bool waits; /* until it is told to stop */
    bool was_stopped;
};

static struct {
    struct pool pool;
    struct item items[N];
    uv_mutex_t mutex;
    uv_cond_t changed;
    size_t n_done;   /* under the mutex */
    size_t order[N]; /* in which one thread took them */
    size_t n_worked;
} t;

static void work(struct pool_task *task)
{
    struct item *item = LIST_ITEM(task, struct item, task);
    item->n_worked++;
    if (t.pool.n_threads_max == 1)
        t.order[t.n_worked++] = item->number;
    while (item->waits && !pool_is_stop_wanted(task))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    item->was_stopped = pool_is_stop_wanted(task);
}

static void done(struct pool_task *task)
{
    struct item *item = LIST_ITEM(task, struct item, task);
    uv_mutex_lock(&t.mutex);
    item->n_done++;
    t.n_done++;
    uv_cond_signal(&t.changed);
    uv_mutex_unlock(&t.mutex);
}

static void begin(size_t n_threads)
{
    memset(&t, 0, sizeof t);
    assert_int_equal(uv_mutex_init(&t.mutex), 0);
    assert_int_equal(uv_cond_init(&t.changed), 0);
    assert_true(pool_init(&t.pool, n_threads));
    for (size_t i = 0; i < N; i++) {
        t.items[i].number = i;
        t.items[i].task = (struct pool_task){.work = work, .done = done};
    }
}

static void end(void)
{
    pool_clear(&t.pool);
    uv_cond_destroy(&t.changed);
    uv_mutex_destroy(&t.mutex);
}

static void wait_until(size_t n_done)
{
    uv_mutex_lock(&t.mutex);
    while (t.n_done < n_done)
        uv_cond_wait(&t.changed, &t.mutex);
    uv_mutex_unlock(&t.mutex);
}

static void submit(size_t i)
{
    assert_true(pool_submit(&t.pool, &t.items[i].task));
}

static void test_each_task_once(void **state)
{
    (void)state;
    for (size_t n_threads = 0; n_threads < 5; n_threads++) {
        begin(n_threads);
        for (size_t i = 0; i < N; i++)
            submit(i);
        wait_until(N);
        for (size_t i = 0; i < N; i++) {
            assert_int_equal(t.items[i].n_worked, 1);
            assert_int_equal(t.items[i].n_done, 1);
            assert_false(t.items[i].was_stopped);
            assert_true(n_threads != 1 || t.order[i] == i);
        }
        struct pool_figures figures = pool_figures(&t.pool);
        assert_true(figures.n_threads >= 1 && figures.n_threads <= t.pool.n_threads_max);
        assert_int_equal(figures.n_waiting, 0);
        end();
    }
}

/* Threads start when they are wanted, and wait for more. */
static void test_again_and_again(void **state)
{
    (void)state;
    begin(3);
    assert_int_equal(pool_figures(&t.pool).n_threads, 0);
    for (size_t i = 0; i < N; i++) {
        submit(i);
        wait_until(i + 1);
    }
    assert_true(pool_figures(&t.pool).n_threads >= 1);
    end();
    assert_int_equal(t.pool.n_done, N);
}

static void test_taking_back(void **state)
{
    (void)state;
    begin(2);
    pool_hold(&t.pool, true);
    for (size_t i = 0; i < N; i++)
        submit(i);
    assert_int_equal(pool_figures(&t.pool).n_waiting, N);
    for (size_t i = 0; i < N; i += 2)
        assert_true(pool_withdraw(&t.pool, &t.items[i].task));
    assert_false(pool_withdraw(&t.pool, &t.items[0].task));
    pool_hold(&t.pool, false);
    wait_until(N / 2);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(t.items[i].n_worked, i % 2);
        assert_int_equal(t.items[i].n_done, i % 2);
        assert_false(pool_withdraw(&t.pool, &t.items[i].task));
    }
    end();
}

static void test_going_first(void **state)
{
    (void)state;
    begin(1);
    pool_hold(&t.pool, true);
    t.items[2].task.goes_first = true;
    for (size_t i = 0; i < 4; i++)
        submit(i);
    pool_hold(&t.pool, false);
    wait_until(4);
    assert_int_equal(t.order[0], 2);
    assert_int_equal(t.order[1], 0);
    assert_int_equal(t.order[3], 3);
    end();
}

static void wait_for_running(size_t n)
{
    while (pool_figures(&t.pool).n_waiting > 0 || pool_figures(&t.pool).n_running < n)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_telling_to_end(void **state)
{
    (void)state;
    begin(2);
    t.items[0].waits = t.items[1].waits = true;
    submit(0);
    submit(1);
    wait_for_running(2);
    assert_false(pool_withdraw(&t.pool, &t.items[0].task));
    pool_stop_task(&t.items[0].task);
    pool_stop_task(&t.items[1].task);
    wait_until(2);
    assert_true(t.items[0].was_stopped && t.items[1].was_stopped);
    t.items[0].waits = false; /* the same task again */
    submit(0);
    wait_until(3);
    assert_false(t.items[0].was_stopped);
    end();
}

static void test_deadline(void **state)
{
    (void)state;
    begin(1);
    t.items[0].waits = true;
    t.items[0].task.deadline_ns = uv_hrtime() + 1000000;
    t.items[1].task.deadline_ns = uv_hrtime() + UINT64_C(3600000000000);
    submit(0);
    submit(1);
    wait_until(2);
    assert_true(t.items[0].was_stopped);
    assert_true(pool_is_late(&t.items[0].task));
    assert_false(t.items[1].was_stopped);
    end();
}

/* Clearing the pool waits for what is still worked on. */
static void test_clear_while_it_works(void **state)
{
    (void)state;
    begin(2);
    for (size_t i = 0; i < 2; i++) {
        t.items[i].waits = true;
        submit(i);
    }
    wait_for_running(2);
    pool_stop_task(&t.items[0].task);
    pool_stop_task(&t.items[1].task);
    end();
    assert_int_equal(t.n_done, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_task_once),
        cmocka_unit_test(test_again_and_again),
        cmocka_unit_test(test_taking_back),
        cmocka_unit_test(test_going_first),
        cmocka_unit_test(test_telling_to_end),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_clear_while_it_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
