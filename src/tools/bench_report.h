/*
 * bench_report.h: the results of a comparison, as text, Markdown, JSON and HTML.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/histogram.h"
#include "tools/bench_rows.h"
#include "tools/bench_stats.h"

/* What one server did in a row, over all rounds. */
struct bench_side {
    struct bench_stats rate;   /* requests (load: points) a second */
    struct bench_stats cpu_us; /* server CPU a request (load: a point) */
    struct bench_stats user_us, system_us;
    struct bench_stats own_cpu_us; /* of the generator */
    struct yn_histogram latency_ns;
    uint64_t n_requests;
    double bytes_per_reply;
    double counted_bytes; /* load: memory a point by the server's own count, or 0 */
};

enum bench_outcome { BENCH_PENDING, BENCH_SUCCEEDED, BENCH_FAILED };

struct bench_result {
    const struct bench_row *row;
    char *command; /* with the sizes put in; owned */
    enum bench_outcome outcome;
    char reason[512];  /* why it failed */
    char checked[128]; /* what the check of the answers found */
    double hits;       /* elements a reply, on average of the replies checked */
    /* On average of the searches checked; below 0: not known. */
    double candidates; /* members that Redis looks at, see bench_shape_candidates */
    double tested;     /* points that Yonder tested one by one */
    double leaves;     /* leaves that Yonder visited */
    struct bench_side sides[2]; /* ours, theirs */
};

struct bench_server_facts {
    char name[160]; /* "yonder 0.1.0" */
    double bytes_per_point;
};

struct bench_report {
    const char *suite;
    uint64_t n_points;
    unsigned n_rounds;
    double duration_s;
    char date[40], commit[80], branch[80], processor[128], kernel[128];
    char compiler[128], flags[512];
    int n_processors;
    struct bench_server_facts servers[2];
    struct bench_result *results;
    size_t n_results;
    double water_percent; /* changes beyond it are named; 0: a comparison with a peer */
};

/* Fills in what the machine, the tree and the build tell: date to flags. */
void bench_report_describe(struct bench_report *report);

void bench_report_count(const struct bench_report *report, size_t out_n[3]);

/* How often ours is better: by requests a second, by CPU a request. 0: not known. */
double bench_report_rate_ratio(const struct bench_result *result);
double bench_report_cpu_ratio(const struct bench_result *result);

void bench_report_write_text(const struct bench_report *report, FILE *out);
void bench_report_write_markdown(const struct bench_report *report, FILE *out);
/* A table for a README: hits, what was looked at, CPU, ratios. */
void bench_report_write_brief(const struct bench_report *report, FILE *out);
void bench_report_write_json(const struct bench_report *report, FILE *out);
/* The lines of a JSON object that tell machine, tree and build, a comma behind each. */
void bench_report_write_json_facts(const struct bench_report *report, FILE *out);
void bench_report_write_html(const struct bench_report *report, FILE *out);

#endif
