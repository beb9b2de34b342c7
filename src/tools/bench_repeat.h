/*
 * bench_repeat.h: clients that repeat large requests and throw the replies away, as
 * cheaply as they can: they stand for programs on other machines, and whatever they take
 * is missing to the server.
 */
#ifndef BENCH_REPEAT_H
#define BENCH_REPEAT_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/histogram.h"
#include "tools/bench_template.h"
#include "tools/cli_options.h"

enum { BENCH_REPEAT_MAX = 64 };

/* What all clients of a run found together; summed when the run is over. */
struct bench_repeat_result {
    uint64_t n_replies, n_members, n_bytes, n_empty;
    double elapsed_s;
    double own_cpu_s;
    struct yn_histogram latency_ns; /* from the request to the last byte */
    const char *priority;           /* that the clients had */
    char failure[320];              /* why the run failed, or "" */
};

struct bench_repeat; /* a run under way */

/* Starts n threads of low priority, each with a connection of its own, that go through
 * the ring (of pipeline 1; each from a place of its own) until they are stopped or one of
 * them fails. Requests must be answered by an array. The server and the ring are
 * borrowed. Returns NULL when out of memory or threads. */
struct bench_repeat *bench_repeat_start(const struct cli_options *server,
                                        const struct bench_ring *ring, unsigned n);
/* Lets every client finish its request, ends the run and frees it. Adds to *result,
 * which the caller clears first. Returns false when the run failed. */
bool bench_repeat_stop(struct bench_repeat *repeat, struct bench_repeat_result *result);

/* Adds what another run has found. */
void bench_repeat_add(struct bench_repeat_result *to,
                      const struct bench_repeat_result *from);

/* How many replies have come so far. */
uint64_t bench_repeat_count(const struct bench_repeat *repeat);
/* Has a client failed? bench_repeat_stop tells why. */
bool bench_repeat_has_failed(const struct bench_repeat *repeat);

#endif
