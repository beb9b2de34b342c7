/*
 * rwlock.h: a reader-biased lock: shared by all who read, exclusive for one who writes.
 *
 * A thread that reads has a slot of its own (0 .. n_slots-1) and marks only that, so
 * readers do not disturb each other. Writers have no slot. Neither kind is recursive, and
 * a thread holds the lock in one way at a time; nothing turns one into the other.
 *
 * Nobody waits for ever: readers who come wait behind a writer who waits, and whoever has
 * waited for long is let in ahead of all who come later.
 */
#ifndef RWLOCK_H
#define RWLOCK_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uv.h>

#include "server/list.h"

/* Two lines, since processors fetch pairs of them. */
#define RWLOCK_LINE_BYTES 128

struct rwlock_slot {
    alignas(RWLOCK_LINE_BYTES) atomic_uint mark;
    _Atomic uint64_t n_waited; /* written by the slot's thread alone */
};

/* No alignment of its own, so that it may lie in a block from malloc: padding keeps what
 * writers change all the time away from what readers look at. */
struct rwlock {
    char padding_before[RWLOCK_LINE_BYTES];
    atomic_uint word; /* readers look at it, writers change it */
    size_t n_slots;
    struct rwlock_slot *slots;
    uint64_t spin_ns; /* 0 where only one thread can run at a time */
    /* Both are written by who holds the lock, and so has this line already. */
    _Atomic uint64_t n_exclusive;
    _Atomic uint64_t n_exclusive_waited;
    char padding_between[RWLOCK_LINE_BYTES];
    uv_sem_t drained;  /* the writer sleeps here until readers are gone */
    uv_mutex_t guard;  /* of the queue; held for moments only */
    struct link queue; /* those who sleep, who came first is first */
    char padding_after[RWLOCK_LINE_BYTES];
};

/* What waiting there was, since the lock was made. */
struct rwlock_figures {
    uint64_t n_exclusive;        /* times the lock was taken exclusively */
    uint64_t n_exclusive_waited; /* of them: not at once */
    uint64_t n_shared_waited;    /* times a reader found a writer */
};

/* n_slots: at least 1, one for each thread that may read. Returns false when out of
 * memory. */
bool rwlock_init(struct rwlock *lock, size_t n_slots);
/* Nobody may hold the lock, or wait for it. */
void rwlock_clear(struct rwlock *lock);

/* slot: the calling thread's own. */
void rwlock_lock_shared(struct rwlock *lock, size_t slot);
void rwlock_unlock_shared(struct rwlock *lock, size_t slot);
/* Whether somebody waits. Who reads may ask between two of many things that it does, and
 * give the lock back for a moment: all others wait behind a writer who waits for it. */
static inline bool rwlock_is_wanted(const struct rwlock *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed) != 0;
}

void rwlock_lock_exclusive(struct rwlock *lock);
void rwlock_unlock_exclusive(struct rwlock *lock);

/* May be called from any thread. */
struct rwlock_figures rwlock_figures(struct rwlock *lock);

#endif
