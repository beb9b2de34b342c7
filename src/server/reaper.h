/*
 * reaper.h: gives back the memory of large values in a thread of its own.
 *
 * What is handed over must be out of everybody's sight. A set of which frozen views are
 * still open waits until they are closed: a view is closed by the loop's thread, and
 * touches the set then.
 *
 * Thread: all functions are for the loop's thread. The thread starts with the first item.
 */
#ifndef REAPER_H
#define REAPER_H

#include <uv.h>

#include "yonder.h"

struct reaper_item;
struct reaper_waiting;

struct reaper {
    uv_mutex_t mutex;
    uv_cond_t changed;
    uv_thread_t thread;
    bool has_thread;
    struct reaper_waiting *waiting; /* sets with open views */
    size_t n_waiting;
    /* under the mutex */
    struct reaper_item *first, **end; /* to be freed */
    struct reaper_item *done;         /* freed, to be finished */
    bool stops;
    bool is_busy;
    size_t n_pending;
    uint64_t n_freed;
};

/* Returns false when the system has no mutex for it. */
bool reaper_init(struct reaper *reaper);
/* Frees all that is left and ends the thread. No frozen views may be open. */
void reaper_clear(struct reaper *reaper);

/* Calls work(what) in the thread, and finish(what) in the loop's some time later (NULL:
 * nothing to finish). n_objects is what INFO counts. Returns false, nothing taken, when
 * out of memory or threads. */
bool reaper_add(struct reaper *reaper, void (*work)(void *what),
                void (*finish)(void *what), void *what, size_t n_objects);
/* Frees the set: at once if it is small, else in the thread. */
void reaper_add_zset(struct reaper *reaper, struct yn_zset *set);

/* Finishes what was freed, and takes sets whose views are closed. To be called now and
 * then. */
void reaper_poll(struct reaper *reaper);
/* Waits until all that can be freed is. */
void reaper_wait(struct reaper *reaper);

/* Objects that are not freed yet, and that were freed. */
size_t reaper_n_pending(struct reaper *reaper);
uint64_t reaper_n_freed(struct reaper *reaper);
void reaper_reset_stats(struct reaper *reaper);

#endif
