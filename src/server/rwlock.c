/*
 * rwlock.c: see rwlock.h. HOT: each batch of requests passes here twice.
 *
 * Readers. A reader stores a mark in its own slot and then looks at the word; is no
 * writer there, it has the lock. These are two memory lines that only it writes and that
 * nobody writes, so readers on any number of cores do not slow each other down. The price
 * is the writer's: it takes the word (HELD), then goes through all slots and waits until
 * each is clear. This is the visible-readers half of BRAVO (Dice and Kogan, USENIX ATC
 * 2019), with a slot a thread in place of a hashed table, and never switched off.
 *
 * Order (Dekker's argument). The reader's store of its mark, its load of the word, the
 * writer's change of the word and its loads of the marks are all seq_cst, so they have
 * one order that all threads agree on. If the reader's load came before HELD was set, its
 * mark came before the writer's look at it: the writer sees the mark and waits. If it
 * came after, the reader sees HELD and takes its mark back. They may both see each other;
 * then the reader yields. What is read and written under the lock is ordered by the
 * releases in both unlocks and the acquires in both locks.
 *
 * Waiting. All spin first, since holds are short and to wake a sleeper takes some 50 us,
 * which all others may have to wait for. Who spins for longer than most holds last yields
 * the processor each time: where there are more threads than cores, the holder may be one
 * that cannot run. Then they sleep. A writer that waits for readers turns the marks that
 * it finds into WATCHED; readers clear their mark by an exchange, and whoever finds it
 * WATCHED wakes the writer. Those who find HELD sleep in a queue under a mutex and leave
 * QUEUED in the word, so that the writer's unlock looks at the queue.
 *
 * Fairness. Readers who come after HELD is set wait for that writer, so a stream of
 * readers holds no writer up. An unlock wakes sleepers, but leaves the lock free for who
 * comes first: if it were handed to threads that sleep, all would be as slow as changes
 * of threads are, and stay so (a convoy). Who has been passed over for URGENT_NS is
 * handed the lock by the next unlock: a writer gets HELD as it is, readers (all that
 * sleep) get their marks set, before any writer can come in. The queue is in the order of
 * arrival, so everybody becomes the first in it at some time.
 *
 * Cost: two exchanges on an own line for a reader, one compare-and-swap and one look at
 * each slot for a writer, and nothing more without contention. With it, lines go from
 * core to core: the word to the writer and back to each reader, a marked slot to the
 * writer and back. Cores that share a cache pass one to and fro in 0.13 us, cores that do
 * not in 0.4 us; that, more than any instruction here, is what a write costs the others
 * (docs/threads.md).
 *
 * Rejected, since nothing was gained: a writer that lets spinning readers in by their
 * slots when it goes (a line less for them, one more for it); fetching the slots ahead of
 * the word; membarrier() in place of the readers' exchanges (two of them take 10 ns, an
 * interrupt on all cores for each write takes thousands).
 */
#include "server/rwlock.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* The word. */
#define HELD 1u   /* a writer has the lock, or waits for readers to go */
#define QUEUED 2u /* the queue is not empty; changed under the guard */

/* A slot's mark; 0: not reading. */
#define READING 1u
#define WATCHED 2u /* beside READING: the writer sleeps until this reader goes */

/* About what a sleep costs: with less, a wait that is a little longer would cost twice.
 */
#define SPIN_NS 50000
#define YIELD_AFTER_NS 5000
#define URGENT_NS 500000

/* One who sleeps; on its own stack. */
struct sleeper {
    struct link link; /* in the queue; then in the list of those to wake */
    uv_sem_t woken;
    struct rwlock_slot *slot; /* NULL: a writer */
    uint64_t since_ns;
    bool is_urgent, is_granted;
};

bool rwlock_init(struct rwlock *lock, size_t n_slots)
{
    memset(lock, 0, sizeof *lock);
    list_init(&lock->queue);
    lock->n_slots = n_slots;
    lock->spin_ns = uv_available_parallelism() > 1 ? SPIN_NS : 0;
    size_t size = n_slots * sizeof *lock->slots;
    lock->slots = aligned_alloc(RWLOCK_LINE_BYTES, size);
    if (lock->slots == NULL)
        return false;
    memset(lock->slots, 0, size);
    if (uv_sem_init(&lock->drained, 0) != 0)
        goto fail;
    if (uv_mutex_init(&lock->guard) == 0)
        return true;
    uv_sem_destroy(&lock->drained);
fail:
    free(lock->slots);
    return false;
}

void rwlock_clear(struct rwlock *lock)
{
    uv_mutex_destroy(&lock->guard);
    uv_sem_destroy(&lock->drained);
    free(lock->slots);
}

static inline bool is_held(struct rwlock *lock)
{
    return (atomic_load(&lock->word) & HELD) != 0;
}

static inline void count(_Atomic uint64_t *counter) /* by one thread at a time */
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* A wait of one who is awake. */
struct spin {
    unsigned n_pauses;
    uint64_t since_ns; /* 0: no look at the clock yet */
};

/* Pauses without a look at the clock, which takes as long as some holds. */
#define PAUSES_UNTIMED 128
#define PAUSES_BETWEEN_LOOKS 16

/* Waits a moment; false once the time for that is over. */
static bool spin(const struct rwlock *lock, struct spin *spin)
{
    if (lock->spin_ns == 0)
        return false;
    pause_briefly();
    spin->n_pauses++;
    if (spin->n_pauses < PAUSES_UNTIMED || spin->n_pauses % PAUSES_BETWEEN_LOOKS != 0)
        return true;
    uint64_t now_ns = uv_hrtime();
    if (spin->since_ns == 0)
        spin->since_ns = now_ns;
    if (now_ns - spin->since_ns > YIELD_AFTER_NS)
        sched_yield();
    return now_ns - spin->since_ns < lock->spin_ns;
}

/* ---- sleeping ------------------------------------------------------------ */

static void put_in_queue(struct rwlock *lock, struct sleeper *sleeper)
{
    struct link *next = &lock->queue; /* look from the end: most are the youngest */
    while (next->prev != &lock->queue &&
           LIST_ITEM(next->prev, struct sleeper, link)->since_ns > sleeper->since_ns)
        next = next->prev;
    list_append(next, &sleeper->link); /* before `next` */
}

/* Sleeps until the lock is free, or given to the caller: then returns true. */
static bool sleep_until_free(struct rwlock *lock, struct sleeper *sleeper)
{
    uint64_t now_ns = uv_hrtime();
    if (sleeper->since_ns == 0)
        sleeper->since_ns = now_ns;
    sleeper->is_urgent = now_ns - sleeper->since_ns > URGENT_NS;
    uv_mutex_lock(&lock->guard);
    put_in_queue(lock, sleeper);
    bool is_free = (atomic_fetch_or(&lock->word, QUEUED) & HELD) == 0;
    if (is_free) { /* nobody's unlock will look at the queue for us */
        list_remove(&sleeper->link);
        if (list_is_empty(&lock->queue))
            atomic_fetch_and(&lock->word, ~QUEUED);
    }
    uv_mutex_unlock(&lock->guard);
    if (is_free)
        return false;
    uv_sem_wait(&sleeper->woken);
    return sleeper->is_granted;
}

static void take_out(struct sleeper *sleeper, struct link *out)
{
    list_remove(&sleeper->link);
    list_append(out, &sleeper->link);
}

static void take_readers_out(struct rwlock *lock, bool is_granted, struct link *out)
{
    struct link *next;
    for (struct link *at = lock->queue.next; at != &lock->queue; at = next) {
        next = at->next;
        struct sleeper *sleeper = LIST_ITEM(at, struct sleeper, link);
        if (sleeper->slot == NULL)
            continue;
        if (is_granted)
            atomic_store(&sleeper->slot->mark, READING);
        sleeper->is_granted = is_granted;
        take_out(sleeper, out);
    }
}

static struct sleeper *first_writer(struct rwlock *lock)
{
    for (struct link *at = lock->queue.next; at != &lock->queue; at = at->next)
        if (LIST_ITEM(at, struct sleeper, link)->slot == NULL)
            return LIST_ITEM(at, struct sleeper, link);
    return NULL;
}

/*
 * Takes those to wake out of the queue, which is not empty. Returns whether the lock
 * passes to a writer among them as it is. Readers' unlocks do not look at the queue, so
 * with readers a writer is woken, too: after its unlock, the next have their turn.
 */
static bool choose(struct rwlock *lock, struct link *out)
{
    struct sleeper *first = LIST_ITEM(lock->queue.next, struct sleeper, link);
    struct sleeper *writer = first_writer(lock);
    if (first == writer && first->is_urgent) {
        first->is_granted = true;
        take_out(first, out);
        return true;
    }
    if (first != writer)
        take_readers_out(lock, first->is_urgent, out);
    if (writer != NULL)
        take_out(writer, out);
    return false;
}

/* Gives the lock back where someone may be asleep. */
static void unlock_and_wake(struct rwlock *lock)
{
    struct link out;
    list_init(&out);
    uv_mutex_lock(&lock->guard);
    bool passes_on = !list_is_empty(&lock->queue) && choose(lock, &out);
    unsigned dropped = passes_on ? 0 : HELD;
    if (list_is_empty(&lock->queue))
        dropped |= QUEUED;
    atomic_fetch_and(&lock->word, ~dropped);
    uv_mutex_unlock(&lock->guard);
    while (!list_is_empty(&out)) {
        struct sleeper *sleeper = LIST_ITEM(out.next, struct sleeper, link);
        list_remove(&sleeper->link);
        uv_sem_post(&sleeper->woken); /* from here on it may be gone */
    }
}

static void sleeper_init(struct sleeper *sleeper, struct rwlock_slot *slot)
{
    memset(sleeper, 0, sizeof *sleeper);
    sleeper->slot = slot;
    if (uv_sem_init(&sleeper->woken, 0) != 0)
        abort(); /* cannot be: it only fills memory */
}

/* ---- readers ------------------------------------------------------------- */

static inline void unmark(struct rwlock *lock, struct rwlock_slot *slot)
{
    if (atomic_exchange(&slot->mark, 0) != READING)
        uv_sem_post(&lock->drained);
}

/* Returns false when a writer is there; the slot is not marked then. */
static inline bool try_shared(struct rwlock *lock, struct rwlock_slot *slot)
{
    if (is_held(lock)) /* for speed only: the line would have to come back for the mark */
        return false;
    atomic_store(&slot->mark, READING);
    if (!is_held(lock))
        return true;
    unmark(lock, slot);
    return false;
}

static bool spin_shared(struct rwlock *lock, struct rwlock_slot *slot)
{
    struct spin waited = {0, 0};
    do {
        if (try_shared(lock, slot))
            return true;
    } while (spin(lock, &waited));
    return false;
}

static void wait_shared(struct rwlock *lock, struct rwlock_slot *slot)
{
    count(&slot->n_waited);
    if (spin_shared(lock, slot))
        return;
    struct sleeper sleeper;
    sleeper_init(&sleeper, slot);
    while (!sleep_until_free(lock, &sleeper) && !spin_shared(lock, slot))
        ;
    uv_sem_destroy(&sleeper.woken);
}

void rwlock_lock_shared(struct rwlock *lock, size_t slot)
{
    if (!try_shared(lock, &lock->slots[slot]))
        wait_shared(lock, &lock->slots[slot]);
}

void rwlock_unlock_shared(struct rwlock *lock, size_t slot)
{
    unmark(lock, &lock->slots[slot]);
}

/* ---- writers ------------------------------------------------------------- */

static inline bool try_exclusive(struct rwlock *lock)
{
    unsigned word = atomic_load_explicit(&lock->word, memory_order_relaxed);
    while ((word & HELD) == 0)
        if (atomic_compare_exchange_weak(&lock->word, &word, word | HELD))
            return true;
    return false;
}

static bool spin_exclusive(struct rwlock *lock)
{
    struct spin waited = {0, 0};
    do {
        if (try_exclusive(lock))
            return true;
    } while (spin(lock, &waited));
    return false;
}

static void wait_exclusive(struct rwlock *lock)
{
    if (spin_exclusive(lock))
        return;
    struct sleeper sleeper;
    sleeper_init(&sleeper, NULL);
    while (!sleep_until_free(lock, &sleeper) && !spin_exclusive(lock))
        ;
    uv_sem_destroy(&sleeper.woken);
}

/* Waits until no slot is marked. Returns whether it had to wait. */
static bool drain(struct rwlock *lock)
{
    struct spin waited = {0, 0};
    bool has_waited = false;
    unsigned n_watched = 0;
    for (size_t i = 0; i < lock->n_slots; i++) {
        atomic_uint *mark = &lock->slots[i].mark;
        while (atomic_load(mark) != 0) {
            has_waited = true;
            unsigned reading = READING;
            if (!spin(lock, &waited) &&
                atomic_compare_exchange_strong(mark, &reading, READING | WATCHED)) {
                n_watched++;
                break;
            }
        }
    }
    for (; n_watched > 0; n_watched--)
        uv_sem_wait(&lock->drained);
    return has_waited;
}

void rwlock_lock_exclusive(struct rwlock *lock)
{
    bool has_waited = !try_exclusive(lock);
    if (has_waited)
        wait_exclusive(lock);
    has_waited |= drain(lock);
    count(&lock->n_exclusive);
    if (has_waited)
        count(&lock->n_exclusive_waited);
}

void rwlock_unlock_exclusive(struct rwlock *lock)
{
    unsigned held = HELD;
    if (!atomic_compare_exchange_strong(&lock->word, &held, 0))
        unlock_and_wake(lock);
}

/* ---- figures ------------------------------------------------------------- */

struct rwlock_figures rwlock_figures(struct rwlock *lock)
{
    struct rwlock_figures figures = {
        .n_exclusive = atomic_load_explicit(&lock->n_exclusive, memory_order_relaxed),
        .n_exclusive_waited =
            atomic_load_explicit(&lock->n_exclusive_waited, memory_order_relaxed),
    };
    for (size_t i = 0; i < lock->n_slots; i++)
        figures.n_shared_waited +=
            atomic_load_explicit(&lock->slots[i].n_waited, memory_order_relaxed);
    return figures;
}
