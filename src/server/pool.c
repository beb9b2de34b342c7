/*
 * A queue, and threads that take from it.
 *
 * First come, first served: a task that is small for the pool waits behind large ones as
 * long as all threads are busy. A connection has one task here at a time, so that the
 * queue is fair among clients, and never longer than there are connections. Garbage goes
 * first: it takes little time, and gives memory back.
 */
#include "server/pool.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server/memory.h"

#define THREADS_DEFAULT_MAX 4
/* Beside a loop that is busy on the same core a thread that is nicer by this gets a tenth
 * of the time. */
#define NICER_BY 10

static uint64_t mono_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- whether to go on ---- */

bool pool_is_late(const struct pool_task *task)
{
    return task->deadline_ns != 0 && mono_ns() >= task->deadline_ns;
}

bool pool_is_stop_wanted(void *ctx)
{
    const struct pool_task *task = ctx;
    return __atomic_load_n(&task->is_unwanted, __ATOMIC_RELAXED) || pool_is_late(task);
}

void pool_stop_task(struct pool_task *task)
{
    __atomic_store_n(&task->is_unwanted, true, __ATOMIC_RELAXED);
}

/* ---- the threads ---- */

static void perform(struct pool_task *task)
{
    uint64_t began_ns = mono_ns();
    task->work(task);
    task->spent_ns = mono_ns() - began_ns;
    task->done(task);
}

/* The next task, or NULL: the thread is to end. The mutex is held. */
static struct pool_task *next_task(struct pool *pool)
{
    pool->n_idle++;
    while ((list_is_empty(&pool->queue) || pool->is_held) && !pool->stops)
        uv_cond_wait(&pool->wanted, &pool->mutex);
    pool->n_idle--;
    if (list_is_empty(&pool->queue))
        return NULL;
    struct pool_task *task = LIST_ITEM(pool->queue.next, struct pool_task, in_list);
    list_remove(&task->in_list);
    task->is_queued = false;
    pool->n_waiting--;
    return task;
}

static void run(void *arg)
{
    struct pool *pool = arg;
    struct pool_task *task;
    /* Linux keeps a niceness for each thread, and takes its number for a process's. */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid),
                getpriority(PRIO_PROCESS, 0) + NICER_BY);
    uv_mutex_lock(&pool->mutex);
    while ((task = next_task(pool)) != NULL) {
        uv_mutex_unlock(&pool->mutex);
        perform(task);
        memory_flush_thread();
        uv_mutex_lock(&pool->mutex);
        pool->n_done++;
    }
    uv_mutex_unlock(&pool->mutex);
}

/* ---- life ---- */

static size_t default_threads(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX : (size_t)n;
}

bool pool_init(struct pool *pool, size_t n_threads)
{
    *pool = (struct pool){.n_threads_max = n_threads > 0 ? n_threads : default_threads()};
    list_init(&pool->queue);
    pool->threads = calloc(pool->n_threads_max, sizeof *pool->threads);
    if (pool->threads != NULL && uv_mutex_init(&pool->mutex) == 0) {
        if (uv_cond_init(&pool->wanted) == 0)
            return true;
        uv_mutex_destroy(&pool->mutex);
    }
    free(pool->threads);
    return false;
}

void pool_clear(struct pool *pool)
{
    uv_mutex_lock(&pool->mutex);
    pool->stops = true;
    uv_cond_broadcast(&pool->wanted);
    uv_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->n_threads; i++)
        uv_thread_join(&pool->threads[i]);
    free(pool->threads);
    uv_cond_destroy(&pool->wanted);
    uv_mutex_destroy(&pool->mutex);
}

struct pool_figures pool_figures(const struct pool *pool)
{
    uv_mutex_t *mutex = (uv_mutex_t *)&pool->mutex;
    uv_mutex_lock(mutex);
    struct pool_figures figures = {.n_threads = pool->n_threads,
                                   .n_running = pool->n_threads - pool->n_idle,
                                   .n_waiting = pool->n_waiting,
                                   .n_done = pool->n_done};
    uv_mutex_unlock(mutex);
    return figures;
}

/* ---- tasks ---- */

/* The mutex is held. */
static void start_thread(struct pool *pool)
{
    if (pool->n_threads < pool->n_threads_max &&
        uv_thread_create(&pool->threads[pool->n_threads], run, pool) == 0)
        pool->n_threads++;
}

bool pool_submit(struct pool *pool, struct pool_task *task)
{
    uv_mutex_lock(&pool->mutex);
    if (pool->n_idle <= pool->n_waiting)
        start_thread(pool);
    bool has_thread = pool->n_threads > 0;
    if (has_thread) {
        task->is_unwanted = false;
        task->is_queued = true;
        list_append(task->goes_first ? pool->queue.next : &pool->queue, &task->in_list);
        pool->n_waiting++;
        uv_cond_signal(&pool->wanted);
    }
    uv_mutex_unlock(&pool->mutex);
    return has_thread;
}

void pool_hold(struct pool *pool, bool is_held)
{
    uv_mutex_lock(&pool->mutex);
    pool->is_held = is_held;
    uv_cond_broadcast(&pool->wanted);
    uv_mutex_unlock(&pool->mutex);
}

bool pool_withdraw(struct pool *pool, struct pool_task *task)
{
    uv_mutex_lock(&pool->mutex);
    bool was_queued = task->is_queued;
    if (was_queued) {
        list_remove(&task->in_list);
        task->is_queued = false;
        pool->n_waiting--;
    }
    uv_mutex_unlock(&pool->mutex);
    return was_queued;
}

/* ---- garbage ---- */

struct garbage_task {
    struct pool_task task; /* must be first */
    struct yn_garbage garbage;
};

static void free_garbage(struct pool_task *task)
{
    yn_garbage_free(((struct garbage_task *)task)->garbage);
}

static void free_task(struct pool_task *task)
{
    free(task);
}

bool pool_free_garbage(struct pool *pool, struct yn_garbage garbage)
{
    struct garbage_task *g = malloc(sizeof *g);
    if (g == NULL)
        return false;
    *g = (struct garbage_task){
        .task = {.work = free_garbage, .done = free_task, .goes_first = true},
        .garbage = garbage};
    if (pool_submit(pool, &g->task))
        return true;
    free(g);
    return false;
}
