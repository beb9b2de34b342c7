/*
 * pool.h: threads for long work, besides the loops: they run at lower priority, so that
 * where cores are few the loops come first.
 *
 * A task is the owner's until it is submitted, and again when `done` is called. Tasks
 * begin in the order in which they come. The work of a task must touch nothing that
 * another thread may write, and asks (pool_is_stop_wanted) whether to go on.
 *
 * Thread: any, but a task is submitted, withdrawn and told to stop by one thread.
 */
#ifndef POOL_H
#define POOL_H

#include <uv.h>

#include "server/list.h"
#include "yonder.h"

struct pool_task {
    void (*work)(struct pool_task *task); /* in a thread of the pool */
    void (*done)(
        struct pool_task *task); /* there, too; the last time that it is touched */
    uint64_t deadline_ns;        /* of the monotonic clock; 0: none */
    bool goes_first;             /* before all that wait */

    /* the pool's */
    struct link in_list;
    bool is_queued;    /* under the pool's mutex */
    bool is_unwanted;  /* atomic */
    uint64_t spent_ns; /* for `done` to read: what the work took */
};

struct pool {
    uv_mutex_t mutex;
    uv_cond_t wanted;
    uv_thread_t *threads;
    size_t n_threads_max;
    /* under the mutex */
    struct link queue;
    size_t n_threads, n_idle, n_waiting;
    uint64_t n_done;
    bool is_held;
    bool stops;
};

struct pool_figures {
    size_t n_threads, n_running, n_waiting;
    uint64_t n_done; /* tasks that have been worked on */
};

/* Threads start when there is work for them; n_threads 0: as many as the machine has
 * cores, four at most. Returns false when out of memory. */
bool pool_init(struct pool *pool, size_t n_threads);
/* Ends the threads. All tasks must have been withdrawn or told to stop; those that are
 * not done are left to their ports. Doing it again is no change. */
void pool_stop(struct pool *pool);
/* After pool_stop. */
void pool_clear(struct pool *pool);
struct pool_figures pool_figures(const struct pool *pool);

/* Returns false, nothing done, when there is no thread and none can be started. */
bool pool_submit(struct pool *pool, struct pool_task *task);
/* Lets no further task begin, for tests, until it is let go. */
void pool_hold(struct pool *pool, bool is_held);
/* Has a thread free what a view has left. Returns false, nothing done, when out of memory
 * or threads. */
bool pool_free_garbage(struct pool *pool, struct yn_garbage garbage);
/* Takes a task back whose work has not begun: `done` will not be called. Returns false
 * when it has begun. */
bool pool_withdraw(struct pool *pool, struct pool_task *task);
/* Tells the work to end; `done` is called as ever. */
void pool_stop_task(struct pool_task *task);
/* What a task's work asks whether to end (yn_stop). ctx: the task. */
bool pool_is_stop_wanted(void *ctx);
/* Whether the task's deadline has passed. */
bool pool_is_late(const struct pool_task *task);

#endif
