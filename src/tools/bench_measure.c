/*
 * A round lasts as long as the user says, and at least 20 requests: a single reply says
 * little. On a large key the peer may take a second for one; then fewer have to do, or
 * the row would take minutes. How long a request takes is known from the warm-up.
 */
#include "tools/bench_measure.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench_load.h"

#define REQUESTS_MIN 20
#define RING_POINT 500000u /* requests prepared for look-ups */
#define RING_SEARCH 1000u  /* centres of searches */
#define WARM_UP_S 0.2
#define ROUND_MAX_S 4.0
#define THREADS_MAX 16

/* ---- a second load ------------------------------------------------------- */

#define BESIDE_CONNECTIONS 4
#define BESIDE_LEAD_S 0.1 /* it starts before the first load, and ends after it */

struct beside {
    struct bench_load_options options;
    struct bench_load_result result;
    struct bench_ring ring;
    pthread_t thread;
    atomic_bool is_over;
    bool is_fine, is_running;
};

static void *run_beside(void *arg)
{
    struct beside *beside = arg;
    beside->is_fine = bench_load_run(&beside->options, &beside->ring, &beside->result);
    return NULL;
}

static bool start_beside(struct bench_session *session, struct bench_result *result,
                         int which, struct beside *beside)
{
    const struct bench_requests requests = {result->row->beside, NULL, BENCH_SEED_BESIDE,
                                            0, RING_SEARCH};
    if (!bench_session_fill_ring(session, result, &requests, &beside->ring))
        return false;
    beside->options = (struct bench_load_options){
        .server = &session->servers[which].at,
        .n_connections = BESIDE_CONNECTIONS,
        .n_threads = 1,
        .is_over = &beside->is_over,
    };
    beside->is_running = pthread_create(&beside->thread, NULL, run_beside, beside) == 0;
    if (!beside->is_running)
        return bench_session_fail(result, "could not start the load beside");
    nanosleep(&(struct timespec){0, (long)(BESIDE_LEAD_S * 1e9)}, NULL);
    return true;
}

static bool end_beside(struct bench_result *result, struct beside *beside)
{
    bool is_fine = true;
    if (beside->is_running) {
        atomic_store(&beside->is_over, true);
        pthread_join(beside->thread, NULL);
        is_fine = beside->is_fine && beside->result.n_empty == 0;
        if (!is_fine)
            bench_session_fail(result, "the load beside failed: %s",
                               beside->result.failure);
    }
    bench_ring_clear(&beside->ring);
    return is_fine;
}

/* ---- one measurement ----------------------------------------------------- */

static void note_figures(struct bench_side *side, const struct bench_load_result *load,
                         double user_us, double system_us)
{
    double n = (double)load->n_replies;
    bench_stats_add(&side->rate, n / load->elapsed_s);
    bench_stats_add(&side->cpu_us, user_us + system_us);
    bench_stats_add(&side->user_us, user_us);
    bench_stats_add(&side->system_us, system_us);
    bench_stats_add(&side->own_cpu_us, load->own_cpu_s * 1e6 / n);
    yn_histogram_merge(&side->latency_ns, &load->latency_ns);
    side->n_requests += load->n_replies;
    side->bytes_per_reply = (double)load->bytes_in / n;
}

static bool is_fine_load(struct bench_session *session, struct bench_result *result,
                         int which, const struct bench_load_result *load)
{
    const struct bench_row *row = result->row;
    const char *name = session->servers[which].name;
    if (load->failure[0] != '\0')
        return bench_session_fail(result, "%s: %s", name, load->failure);
    if (load->n_nulls > 0)
        return bench_session_fail(result, "%s: %" PRIu64 " nulls", name, load->n_nulls);
    if (load->n_empty == load->n_replies && bench_row_is_search(row->command) &&
        !row->is_empty && !row->may_be_empty)
        return bench_session_fail(result, "%s: all replies are empty", name);
    return true;
}

struct round {
    int side;
    struct bench_ring *rings; /* one a thread */
    double duration_s;
    uint64_t n_min;   /* 0: the warm-up, which leaves no figures */
    double request_s; /* out: how long a request took */
};

static bool measure_side(struct bench_session *session, struct bench_result *result,
                         struct round *round)
{
    static struct bench_load_result load; /* large */
    static struct beside beside;          /* large */
    struct bench_server *server = &session->servers[round->side];
    const struct bench_row *row = result->row;
    struct bench_load_options options = {
        .server = &server->at,
        .n_connections = row->n_connections,
        .n_threads = row->n_threads,
        .duration_s = round->duration_s,
        .n_min = round->n_min,
        .piece_len = row->piece_len,
    };
    memset(&beside, 0, sizeof beside);
    if (row->beside != NULL && !start_beside(session, result, round->side, &beside)) {
        end_beside(result, &beside);
        return false;
    }
    struct bench_cpu_time before, after;
    bool has_cpu = bench_cpu_read(&server->cpu, &before);
    bench_load_run(&options, round->rings, &load);
    has_cpu = has_cpu && bench_cpu_read(&server->cpu, &after);
    if (!end_beside(result, &beside) ||
        !is_fine_load(session, result, round->side, &load))
        return false;
    double n = (double)load.n_replies;
    round->request_s = load.elapsed_s / n;
    /* beside another load most of the CPU time is not this one's */
    has_cpu = has_cpu && row->beside == NULL;
    if (round->n_min > 0)
        note_figures(&result->sides[round->side], &load,
                     has_cpu ? (after.user_s - before.user_s) * 1e6 / n : 0,
                     has_cpu ? (after.system_s - before.system_s) * 1e6 / n : 0);
    return true;
}

/* ---- the rounds ---------------------------------------------------------- */

uint64_t bench_measure_least(uint64_t n_min, double request_s, uint64_t n_batch)
{
    double fit = request_s > 0 ? ROUND_MAX_S / request_s : (double)n_min;
    uint64_t n = fit < (double)n_min ? (uint64_t)fit : n_min;
    uint64_t least = 2 * n_batch < n_min ? 2 * n_batch : n_min;
    return n > least ? n : least;
}

double bench_measure_seconds(unsigned n_rounds, double duration_s)
{
    return n_rounds * duration_s + WARM_UP_S;
}

/* Both servers go through their rings, each from where it stopped. */
static bool measure_rounds(struct bench_session *session, struct bench_result *result,
                           struct bench_ring rings[BENCH_N_SIDES][THREADS_MAX])
{
    const struct bench_row *row = result->row;
    uint64_t n_wanted = row->n_min > 0 ? row->n_min : REQUESTS_MIN;
    uint64_t n_min[BENCH_N_SIDES];
    for (int i = 0; i < BENCH_N_SIDES; i++) {
        struct round warm_up = {.side = i, .rings = rings[i], .duration_s = WARM_UP_S};
        if (!measure_side(session, result, &warm_up))
            return false;
        n_min[i] = bench_measure_least(n_wanted, warm_up.request_s,
                                       (uint64_t)row->n_connections * row->pipeline);
    }
    for (unsigned i = 0; i < session->report.n_rounds * BENCH_N_SIDES; i++) {
        struct round round = {.side = i % BENCH_N_SIDES,
                              .rings = rings[i % BENCH_N_SIDES],
                              .duration_s = session->report.duration_s,
                              .n_min = n_min[i % BENCH_N_SIDES]};
        if (bench_session_is_interrupted)
            return bench_session_fail(result, "interrupted");
        if (!measure_side(session, result, &round))
            return false;
    }
    return true;
}

bool bench_measure_row(struct bench_session *session, struct bench_result *result)
{
    struct bench_ring rings[BENCH_N_SIDES][THREADS_MAX] = {0};
    const struct bench_row *row = result->row;
    bool is_fine = true, is_shared = true;
    uint64_t n = row->ring > 0                       ? row->ring
                 : bench_row_is_search(row->command) ? RING_SEARCH
                                                     : RING_POINT;
    for (int side = 0; side < BENCH_N_SIDES && is_fine; side++) {
        const char *command = bench_session_command(session, row, side);
        is_shared = command == row->command;
        if (is_shared && side > 0) { /* the same bytes; each side has its own place */
            memcpy(rings[side], rings[0], sizeof rings[side]);
            break;
        }
        for (unsigned i = 0; i < row->n_threads && is_fine; i++) {
            const struct bench_requests requests = {command, NULL, BENCH_SEED_MEASURE, i,
                                                    n};
            is_fine =
                bench_session_fill_ring(session, result, &requests, &rings[side][i]);
        }
    }
    is_fine = is_fine && measure_rounds(session, result, rings);
    for (unsigned i = 0; i < row->n_threads; i++) {
        bench_ring_clear(&rings[BENCH_OURS][i]);
        if (!is_shared)
            bench_ring_clear(&rings[BENCH_THEIRS][i]);
    }
    return is_fine;
}
