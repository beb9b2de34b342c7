/*
 * bench_pace.h: small requests at a steady pace, and how late each is answered.
 *
 * A connection has a time-table, so many requests a second, each at a random moment of
 * its interval. A request is sent when its time has come, whether earlier ones have been
 * answered or not, and its latency counts from its time in the table: what waits behind a
 * stalled server is counted for every request that a user would have sent meanwhile.
 */
#ifndef BENCH_PACE_H
#define BENCH_PACE_H

#include <signal.h>

#include "core/histogram.h"
#include "tools/bench_template.h"
#include "tools/cli_options.h"

enum { BENCH_PACE_KINDS_MAX = 2, BENCH_PACE_CONNECTIONS_MAX = 1000 };

/* What a group of connections sends. */
struct bench_pace_kind {
    struct bench_ring *ring; /* of pipeline 1, read from its `next` */
    unsigned n_connections;
    double rate; /* requests a second of each connection */
};

struct bench_pace_options {
    const struct cli_options *server;
    struct bench_pace_kind kinds[BENCH_PACE_KINDS_MAX];
    unsigned n_kinds;
    double duration_s;
    uint64_t seed; /* of the time-tables */
    volatile sig_atomic_t *is_interrupted;
};

struct bench_pace_result {
    struct yn_histogram latency_ns[BENCH_PACE_KINDS_MAX];
    /* How late the generator itself sent: contained in the latencies. */
    struct yn_histogram lag_ns;
    uint64_t n_nulls;
    double elapsed_s;
    const char *priority; /* that the generator had */
    char failure[320];    /* why the run failed, or "" */
};

/* Runs the time-tables in a thread of its own, and waits until everything is answered.
 * Adds to the histograms of *result, which the caller clears first. Returns false when it
 * failed. */
bool bench_pace_run(const struct bench_pace_options *options,
                    struct bench_pace_result *result);

#endif
