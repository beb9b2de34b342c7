/*
 * bench_mixed_report.h: what `yonder-bench mixed` has found, as text, Markdown and JSON.
 */
#ifndef BENCH_MIXED_REPORT_H
#define BENCH_MIXED_REPORT_H

#include <stdio.h>

#include "tools/bench_pace.h"
#include "tools/bench_repeat.h"
#include "tools/bench_report.h"
#include "tools/bench_stats.h"

enum { BENCH_MIXED_READ, BENCH_MIXED_WRITE, BENCH_MIXED_N_KINDS };
enum { BENCH_MIXED_QUIET, BENCH_MIXED_LOADED, BENCH_MIXED_N_PHASES };
enum { BENCH_MIXED_SIDES_MAX = 8 };

/* Latencies in ms. */
struct bench_mixed_latency {
    struct bench_stats p50, p99, p999; /* of the rounds, one value each */
    struct yn_histogram all_ns;        /* of all rounds */
};

/* One round of a phase. */
struct bench_mixed_round {
    struct bench_pace_result pace;
    struct bench_repeat_result repeat; /* nothing in the quiet phase */
    double elapsed_s;
    double server_cpu_s, others_cpu_s; /* of other programs; below 0: not known */
};

struct bench_mixed_phase {
    struct bench_mixed_latency latencies[BENCH_MIXED_N_KINDS];
    struct yn_histogram lag_ns; /* see bench_pace_result */
    const char *priority;       /* that the clients of small requests had */
    struct bench_repeat_result repeat;
    double elapsed_s, server_cpu_s, others_cpu_s;
};

/* Adds what a round has found. */
void bench_mixed_report_add(struct bench_mixed_phase *phase,
                            const struct bench_mixed_round *round);

/* One server. */
struct bench_mixed_side {
    char name[200]; /* "yonder 0.1.0, threads 2" */
    unsigned n_threads;
    double load_s;         /* 0: it was not loaded */
    double resident_bytes; /* at the end; 0: not known */
    bool is_done;
    struct bench_mixed_phase phases[BENCH_MIXED_N_PHASES];
};

struct bench_mixed_report {
    struct bench_report facts; /* machine, tree, build */
    uint64_t n_points;
    double radius_km;
    unsigned n_searchers, n_connections[BENCH_MIXED_N_KINDS], n_rounds;
    double rate, duration_s, calm_percent;
    bool is_awake;
    size_t n_sides;
    struct bench_mixed_side *sides;
};

void bench_mixed_report_write_text(const struct bench_mixed_report *report, FILE *out);
void bench_mixed_report_write_markdown(const struct bench_mixed_report *report,
                                       FILE *out);
void bench_mixed_report_write_json(const struct bench_mixed_report *report, FILE *out);

#endif
