/*
 * The reader-writer lock: who excludes whom, what writers leave is what readers see,
 * handing over with more threads than cores, and nobody is kept out. Threads run until a
 * number of things have happened, not for a time.
 * link: server --wrap=aligned_alloc
 */
#include "server/rwlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define THREADS_MAX 8
#define WORDS 64

/* What the lock guards: plain memory, so that a sanitizer sees a lock that fails. */
struct stage {
    struct rwlock lock;
    uint64_t words[WORDS]; /* all equal whenever nobody writes */
    uint64_t n_written;
    atomic_int n_readers, n_writers; /* now inside */
    atomic_uint most_readers;
    atomic_bool is_over;
    uint64_t goal; /* per thread, or what the test makes of it */
    _Atomic uint64_t n_done[THREADS_MAX];
};

struct actor {
    uv_thread_t thread;
    struct stage *stage;
    size_t slot;
    unsigned write_percent;
    uint64_t random;
};

static struct stage *stage_new(size_t n_slots)
{
    struct stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    assert_true(rwlock_init(&stage->lock, n_slots));
    return stage;
}

static void stage_free(struct stage *stage)
{
    rwlock_clear(&stage->lock);
    free(stage);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* cmocka's assertions leave by longjmp, which only the main thread can. */
static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void read_once(struct stage *stage, size_t slot)
{
    rwlock_lock_shared(&stage->lock, slot);
    unsigned n = (unsigned)atomic_fetch_add(&stage->n_readers, 1) + 1;
    must(atomic_load(&stage->n_writers) == 0, "a reader beside a writer");
    if (n > atomic_load(&stage->most_readers))
        atomic_store(&stage->most_readers, n);
    for (size_t i = 1; i < WORDS; i++)
        must(stage->words[i] == stage->words[0], "half of a change is seen");
    atomic_fetch_sub(&stage->n_readers, 1);
    rwlock_unlock_shared(&stage->lock, slot);
}

static void write_once(struct stage *stage)
{
    rwlock_lock_exclusive(&stage->lock);
    must(atomic_fetch_add(&stage->n_writers, 1) == 0, "two writers");
    must(atomic_load(&stage->n_readers) == 0, "a writer beside a reader");
    for (size_t i = 0; i < WORDS; i++)
        stage->words[i]++;
    stage->n_written++;
    atomic_fetch_sub(&stage->n_writers, 1);
    rwlock_unlock_exclusive(&stage->lock);
}

static void start(struct actor *actor, struct stage *stage, size_t slot, uv_thread_cb run)
{
    actor->stage = stage;
    actor->slot = slot;
    actor->random = 0x9e3779b97f4a7c15u * (slot + 1);
    assert_int_equal(uv_thread_create(&actor->thread, run, actor), 0);
}

static void join(struct actor *actors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(uv_thread_join(&actors[i].thread), 0);
}

static void run_mixed(void *arg)
{
    struct actor *actor = arg;
    for (uint64_t i = 0; i < actor->stage->goal; i++) {
        if (next_random(&actor->random) % 100 < actor->write_percent)
            write_once(actor->stage);
        else
            read_once(actor->stage, actor->slot);
    }
}

/* All excluding that must be, at several shares of writes; eight threads are more than
 * most machines of tests have cores, so they sleep and are handed the lock asleep. */
static void test_exclusion(void **state)
{
    (void)state;
    static const unsigned write_percents[] = {0, 1, 10, 50, 100};
    for (size_t n_threads = 2; n_threads <= THREADS_MAX; n_threads *= 2) {
        for (size_t p = 0; p < sizeof write_percents / sizeof *write_percents; p++) {
            struct stage *stage = stage_new(n_threads);
            stage->goal = 2000;
            struct actor actors[THREADS_MAX];
            for (size_t i = 0; i < n_threads; i++) {
                actors[i].write_percent = write_percents[p];
                start(&actors[i], stage, i, run_mixed);
            }
            join(actors, n_threads);
            struct rwlock_figures figures = rwlock_figures(&stage->lock);
            assert_int_equal(figures.n_exclusive, stage->n_written);
            assert_int_equal(stage->words[WORDS - 1], stage->n_written);
            assert_true(figures.n_exclusive_waited <= figures.n_exclusive);
            if (write_percents[p] == 0)
                assert_int_equal(figures.n_shared_waited, 0);
            if (write_percents[p] == 100)
                assert_int_equal(stage->n_written, n_threads * stage->goal);
            stage_free(stage);
        }
    }
}

/* The same with no spinning, as on a machine with one core: all who wait sleep. */
static void test_asleep(void **state)
{
    (void)state;
    struct stage *stage = stage_new(THREADS_MAX);
    stage->lock.spin_ns = 0;
    stage->goal = 2000;
    struct actor actors[THREADS_MAX];
    for (size_t i = 0; i < THREADS_MAX; i++) {
        actors[i].write_percent = 30;
        start(&actors[i], stage, i, run_mixed);
    }
    join(actors, THREADS_MAX);
    assert_int_equal(stage->words[0], stage->n_written);
    stage_free(stage);
}

static void test_readers_are_together(void **state)
{
    (void)state;
    struct stage *stage = stage_new(3);
    for (size_t slot = 0; slot < 3; slot++)
        rwlock_lock_shared(&stage->lock, slot); /* none of them waits for another */
    for (size_t slot = 0; slot < 3; slot++)
        rwlock_unlock_shared(&stage->lock, slot);
    rwlock_lock_exclusive(&stage->lock);
    rwlock_unlock_exclusive(&stage->lock);
    struct rwlock_figures figures = rwlock_figures(&stage->lock);
    assert_int_equal(figures.n_exclusive, 1);
    assert_int_equal(figures.n_exclusive_waited, 0);
    assert_int_equal(figures.n_shared_waited, 0);
    stage_free(stage);
}

/* ---- nobody is kept out ---------------------------------------------------- */

static void run_writes_without_end(void *arg)
{
    struct actor *actor = arg;
    while (!atomic_load(&actor->stage->is_over))
        write_once(actor->stage);
}

static void run_one_write(void *arg)
{
    write_once(((struct actor *)arg)->stage);
}

/* Who reads is told that a writer waits, and lets it in. */
static void test_is_wanted(void **state)
{
    (void)state;
    struct stage *stage = stage_new(1);
    struct actor writer;
    rwlock_lock_shared(&stage->lock, 0);
    assert_false(rwlock_is_wanted(&stage->lock));
    start(&writer, stage, 0, run_one_write);
    while (!rwlock_is_wanted(&stage->lock))
        continue;
    assert_int_equal(stage->n_written, 0);
    rwlock_unlock_shared(&stage->lock, 0);
    rwlock_lock_shared(&stage->lock, 0); /* behind the writer */
    assert_int_equal(stage->n_written, 1);
    rwlock_unlock_shared(&stage->lock, 0);
    join(&writer, 1);
    assert_false(rwlock_is_wanted(&stage->lock));
    stage_free(stage);
}

static void run_reads_without_end(void *arg)
{
    struct actor *actor = arg;
    while (!atomic_load(&actor->stage->is_over))
        read_once(actor->stage, actor->slot);
}

static void run_reads_to_goal(void *arg)
{
    struct actor *actor = arg;
    for (uint64_t i = 0; i < actor->stage->goal; i++)
        read_once(actor->stage, actor->slot);
}

static void run_writes_to_goal(void *arg)
{
    struct actor *actor = arg;
    for (uint64_t i = 0; i < actor->stage->goal; i++)
        write_once(actor->stage);
}

/* Some who never stop, and one or two who must get their turns nevertheless. */
static void check_turns(uv_thread_cb without_end, size_t n_without_end,
                        uv_thread_cb to_goal, size_t n_to_goal, uint64_t spin_ns)
{
    struct stage *stage = stage_new(n_without_end + n_to_goal);
    if (spin_ns == 0)
        stage->lock.spin_ns = 0;
    stage->goal = 50;
    struct actor endless[THREADS_MAX], guests[THREADS_MAX];
    for (size_t i = 0; i < n_without_end; i++)
        start(&endless[i], stage, i, without_end);
    for (size_t i = 0; i < n_to_goal; i++)
        start(&guests[i], stage, n_without_end + i, to_goal);
    join(guests, n_to_goal);
    atomic_store(&stage->is_over, true);
    join(endless, n_without_end);
    stage_free(stage);
}

static void test_turns(void **state)
{
    (void)state;
    for (uint64_t spin_ns = 0; spin_ns < 2; spin_ns++) {
        check_turns(run_writes_without_end, 1, run_reads_to_goal, 1, spin_ns);
        check_turns(run_writes_without_end, 2, run_reads_to_goal, 2, spin_ns);
        check_turns(run_writes_without_end, 2, run_writes_to_goal, 1, spin_ns);
        check_turns(run_reads_without_end, 1, run_writes_to_goal, 1, spin_ns);
        check_turns(run_reads_without_end, 6, run_writes_to_goal, 2, spin_ns);
    }
}

/* ---- out of memory ----------------------------------------------------------- */

static bool must_fail;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return must_fail ? NULL : __real_aligned_alloc(alignment, size);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct rwlock lock;
    must_fail = true;
    assert_false(rwlock_init(&lock, 4));
    must_fail = false;
    assert_true(rwlock_init(&lock, 4));
    rwlock_clear(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exclusion),
        cmocka_unit_test(test_asleep),
        cmocka_unit_test(test_readers_are_together),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_is_wanted),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
