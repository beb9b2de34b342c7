/*
 * A queue and one thread.
 *
 * Why a thread and not slices on the loop: a set of ten million members is some
 * twenty-five thousand large blocks, which are freed in a tenth of a second without the
 * loop waiting for the allocator; slices would need a way to free half a set, and the
 * loop's time. For millions of small blocks it is the other way round, see keyspace.c. A
 * second thread would gain nothing: it is the allocator that is waited for.
 *
 * What is safe: a value without a key is reachable from frozen views only. No new ones
 * can be made; the open ones are counted by the set (yn_zset_is_viewed) and closed by the
 * loop's thread, so that its look at a set without views is final.
 *
 * Small sets are freed on the spot: to wake the thread costs as much as some dozen
 * leaves.
 */
#include "server/reaper.h"

#include <stdlib.h>

#include "core/zset.h"
#include "server/memory.h"

/* Sets below are freed at once. */
#define LARGE_BYTES ((size_t)256 * 1024)

struct reaper_item {
    struct reaper_item *next;
    void (*work)(void *what);
    void (*finish)(void *what);
    void *what;
    size_t n_objects;
};

struct reaper_waiting {
    struct reaper_waiting *next;
    struct yn_zset *set;
};

static void free_zset(void *set)
{
    yn_zset_free(set);
}

/* ---- the thread ---- */

/* Takes the next item off the queue; NULL: the thread is to end. The mutex is held. */
static struct reaper_item *next_item(struct reaper *reaper)
{
    while (reaper->first == NULL && !reaper->stops)
        uv_cond_wait(&reaper->changed, &reaper->mutex);
    struct reaper_item *item = reaper->first;
    if (item == NULL)
        return NULL;
    reaper->first = item->next;
    if (reaper->first == NULL)
        reaper->end = &reaper->first;
    return item;
}

static void run(void *arg)
{
    struct reaper *reaper = arg;
    struct reaper_item *item;
    uv_mutex_lock(&reaper->mutex);
    while ((item = next_item(reaper)) != NULL) {
        reaper->is_busy = true;
        uv_mutex_unlock(&reaper->mutex);
        item->work(item->what);
        memory_flush_thread();
        uv_mutex_lock(&reaper->mutex);
        item->next = reaper->done;
        reaper->done = item;
        reaper->n_pending -= item->n_objects;
        reaper->n_freed += item->n_objects;
        reaper->is_busy = false;
        uv_cond_broadcast(&reaper->changed);
    }
    uv_mutex_unlock(&reaper->mutex);
}

/* ---- life ---- */

bool reaper_init(struct reaper *reaper)
{
    *reaper = (struct reaper){.end = NULL};
    reaper->end = &reaper->first;
    if (uv_mutex_init(&reaper->mutex) != 0)
        return false;
    if (uv_cond_init(&reaper->changed) == 0)
        return true;
    uv_mutex_destroy(&reaper->mutex);
    return false;
}

void reaper_clear(struct reaper *reaper)
{
    while (reaper->waiting != NULL) {
        struct reaper_waiting *w = reaper->waiting;
        reaper->waiting = w->next;
        yn_zset_free(w->set);
        free(w);
    }
    reaper->n_waiting = 0;
    uv_mutex_lock(&reaper->mutex);
    reaper->stops = true;
    uv_cond_broadcast(&reaper->changed);
    uv_mutex_unlock(&reaper->mutex);
    if (reaper->has_thread)
        uv_thread_join(&reaper->thread);
    reaper->has_thread = false;
    reaper_poll(reaper);
    uv_cond_destroy(&reaper->changed);
    uv_mutex_destroy(&reaper->mutex);
}

/* ---- handing over ---- */

bool reaper_add(struct reaper *reaper, void (*work)(void *what),
                void (*finish)(void *what), void *what, size_t n_objects)
{
    if (!reaper->has_thread)
        reaper->has_thread = uv_thread_create(&reaper->thread, run, reaper) == 0;
    struct reaper_item *item = reaper->has_thread ? malloc(sizeof *item) : NULL;
    if (item == NULL)
        return false;
    *item = (struct reaper_item){
        .work = work, .finish = finish, .what = what, .n_objects = n_objects};
    uv_mutex_lock(&reaper->mutex);
    *reaper->end = item;
    reaper->end = &item->next;
    reaper->n_pending += n_objects;
    uv_cond_broadcast(&reaper->changed);
    uv_mutex_unlock(&reaper->mutex);
    return true;
}

/* Without memory for the list the set is freed as far as its views allow. */
static void let_wait(struct reaper *reaper, struct yn_zset *set)
{
    struct reaper_waiting *w = malloc(sizeof *w);
    if (w == NULL) {
        yn_zset_free(set);
        return;
    }
    *w = (struct reaper_waiting){.next = reaper->waiting, .set = set};
    reaper->waiting = w;
    reaper->n_waiting++;
}

void reaper_add_zset(struct reaper *reaper, struct yn_zset *set)
{
    if (yn_zset_memory(set) < LARGE_BYTES)
        yn_zset_free(set);
    else if (yn_zset_is_viewed(set))
        let_wait(reaper, set);
    else if (!reaper_add(reaper, free_zset, NULL, set, 1))
        yn_zset_free(set);
}

/* ---- now and then ---- */

static void take_unviewed(struct reaper *reaper)
{
    struct reaper_waiting **link = &reaper->waiting;
    while (*link != NULL) {
        struct reaper_waiting *w = *link;
        if (yn_zset_is_viewed(w->set)) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        reaper->n_waiting--;
        reaper_add_zset(reaper, w->set);
        free(w);
    }
}

void reaper_poll(struct reaper *reaper)
{
    take_unviewed(reaper);
    if (!reaper->has_thread && reaper->done == NULL)
        return;
    uv_mutex_lock(&reaper->mutex);
    struct reaper_item *done = reaper->done;
    reaper->done = NULL;
    uv_mutex_unlock(&reaper->mutex);
    while (done != NULL) {
        struct reaper_item *item = done;
        done = item->next;
        if (item->finish != NULL)
            item->finish(item->what);
        free(item);
    }
}

void reaper_wait(struct reaper *reaper)
{
    take_unviewed(reaper);
    uv_mutex_lock(&reaper->mutex);
    while (reaper->first != NULL || reaper->is_busy)
        uv_cond_wait(&reaper->changed, &reaper->mutex);
    uv_mutex_unlock(&reaper->mutex);
    reaper_poll(reaper);
}

size_t reaper_n_pending(struct reaper *reaper)
{
    uv_mutex_lock(&reaper->mutex);
    size_t n = reaper->n_pending + reaper->n_waiting;
    uv_mutex_unlock(&reaper->mutex);
    return n;
}

uint64_t reaper_n_freed(struct reaper *reaper)
{
    uv_mutex_lock(&reaper->mutex);
    uint64_t n = reaper->n_freed;
    uv_mutex_unlock(&reaper->mutex);
    return n;
}

void reaper_reset_stats(struct reaper *reaper)
{
    uv_mutex_lock(&reaper->mutex);
    reaper->n_freed = 0;
    uv_mutex_unlock(&reaper->mutex);
}
