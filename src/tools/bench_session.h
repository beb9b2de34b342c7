/*
 * bench_session.h: a comparison under way: its servers, suite and report, and what the
 * parts of it (bench_keys, bench_verify, bench_measure) share.
 */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <signal.h>

#include "tools/bench_fill.h"
#include "tools/bench_report.h"
#include "tools/bench_server.h"

enum { BENCH_OURS, BENCH_THEIRS, BENCH_N_SIDES };

struct bench_session {
    struct bench_suite suite;
    struct bench_server servers[BENCH_N_SIDES];
    struct bench_report report; /* how many points, rounds, seconds: there */
    struct bench_fill fill;
    bool *is_loaded;  /* by key of the suite */
    bool has_format;  /* ours can print coordinates as theirs does */
    bool by_value;    /* theirs prints them in another way than ours can */
    bool is_baseline; /* theirs is Yonder too */
};

/* Ctrl-C was pressed: measure and load nothing more. */
extern volatile sig_atomic_t bench_session_is_interrupted;

double bench_session_clock_s(void);

/* Requests of the measurement (in the row's pipelines), of the check, and of the load
 * beside (one by one) are different ones. */
enum { BENCH_SEED_MEASURE = 1, BENCH_SEED_CHECK, BENCH_SEED_BESIDE };

struct bench_requests {
    const char *command; /* sizes are put in */
    const char *more;    /* words behind it, or NULL */
    uint64_t seed;       /* BENCH_SEED_... */
    unsigned part;       /* of the thread */
    uint64_t n;
};

/* Fills a ring with requests. On failure false, and the result says why. */
bool bench_session_fill_ring(const struct bench_session *session,
                             struct bench_result *result,
                             const struct bench_requests *requests,
                             struct bench_ring *ring);

/* What a side is asked in a row. */
const char *bench_session_command(const struct bench_session *session,
                                  const struct bench_row *row, int side);

/* The row has failed for this reason. Returns false. */
__attribute__((format(printf, 2, 3))) bool bench_session_fail(struct bench_result *result,
                                                              const char *format, ...);

#endif
