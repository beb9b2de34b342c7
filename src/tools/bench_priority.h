/*
 * bench_priority.h: who goes first where the generator shares the processors with the
 * server that it measures, and processors that do not fall asleep.
 */
#ifndef BENCH_PRIORITY_H
#define BENCH_PRIORITY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum bench_priority {
    BENCH_PRIORITY_FIRST, /* before the server: a thread that keeps time */
    BENCH_PRIORITY_LAST,  /* behind the server: a thread that only makes load */
};

/* Gives the calling thread a priority, as far as the system permits it. Returns what it
 * got: "real-time", "nice -10", "idle", "nice 19", "normal". */
const char *bench_priority_set(enum bench_priority priority);

#define BENCH_AWAKE_MAX 256

/* One thread a processor that counts in circles whenever the processor has nothing else
 * to do, so that it never halts: to wake a halted processor of a virtual machine may take
 * longer than a small request, and is not the server's doing. */
struct bench_awake {
    pthread_t threads[BENCH_AWAKE_MAX];
    unsigned n;
    atomic_bool is_over;
};

/* Starts the threads, on the processors that this process may use. Returns false when the
 * system does not permit a thread that only takes idle time; nothing runs then. */
bool bench_awake_start(struct bench_awake *awake);
void bench_awake_stop(struct bench_awake *awake);

#endif
