/*
 * bench_load.h: the load generator: sends prepared requests over many connections and
 * counts what comes back.
 *
 * A connection sends a batch of `pipeline` requests, waits for all its replies, and takes
 * the next batch of its thread's ring. The time of a request is counted from the moment
 * before its batch is sent to the moment that its reply has been read.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdatomic.h>

#include "core/histogram.h"
#include "tools/bench_scan.h"
#include "tools/bench_template.h"
#include "tools/cli_options.h"

struct bench_load_state {
    double elapsed_s;
    uint64_t n_replies, bytes_in;
};

struct bench_load_options {
    const struct cli_options *server; /* where to connect */
    unsigned n_connections;           /* in total, at least one a thread */
    unsigned n_threads;
    uint64_t n_requests;        /* 0: as long as duration_s says */
    double duration_s;          /* 0: as many as n_requests says */
    uint64_t n_min;             /* requests to send even if duration_s has passed */
    const atomic_bool *is_over; /* or NULL; then the run ends when it becomes true */
    size_t piece_len;  /* most bytes a send or receive takes; 0: as many as there are */
    bool allow_errors; /* else the first error reply ends the run */
    /* Called a few times a second, or NULL. */
    void (*show)(void *ctx, const struct bench_load_state *state);
    void *show_ctx;
};

struct bench_load_result {
    uint64_t n_replies, n_errors, n_nulls, n_empty;
    uint64_t bytes_in, bytes_out;
    double elapsed_s; /* from the first request to the last reply */
    double own_cpu_s; /* processor time of the generator itself */
    struct yn_histogram latency_ns;
    char first_error[BENCH_SCAN_TEXT_MAX];
    char failure[256]; /* why the run failed, or "" */
};

/* Runs the load; one ring a thread, all of the same pipeline, each
 * read from its `next`. Returns false when it
 * failed, for one because of an error reply; the result then holds what was counted. */
bool bench_load_run(const struct bench_load_options *options, struct bench_ring *rings,
                    struct bench_load_result *result);

#endif
