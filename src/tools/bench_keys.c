#include "tools/bench_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench_args.h"
#include "tools/bench_dump.h"

#define SETTLE_EVERY_MS 10
#define SETTLE_SAME 5
#define SETTLE_TRIES 500
#define SETTLE_BYTES 4096.0
#define PUSH_LEN ((size_t)256 * 1024)
#define SHOW_EVERY_S 5
#define SMALL_LOAD 200000u /* of which a single time says little: loaded a few times */
#define SMALL_LOADS 3
#define POINTS_OF_MEMORY 100000u /* fewer say little of the resident memory a point */

/* ---- feeding -------------------------------------------------------------- */

static bool feed_template(struct bench_session *session, const char *command, uint64_t n,
                          struct bench_feed *feed)
{
    struct bench_template template = {0};
    struct bench_ring ring;
    char *text;
    bool is_fine = bench_session_open_template(session, command, NULL, &template, &text);
    if (!is_fine) {
        snprintf(feed->error, sizeof feed->error, "%s", template.error);
        free(text);
        return false;
    }
    is_fine = bench_ring_fill(&ring, &template, 1, 0, n, n < 100 ? (size_t)n : 100);
    for (size_t i = 0; is_fine && i < ring.n_batches; i++) {
        yn_buf_append(&feed->out, ring.bytes.data + ring.starts[i],
                      ring.starts[i + 1] - ring.starts[i]);
        feed->n_sent += ring.pipeline;
        is_fine = feed->out.len < PUSH_LEN || bench_feed_push(feed, PUSH_LEN / 2);
    }
    is_fine = is_fine && bench_feed_finish(feed);
    bench_ring_clear(&ring);
    bench_template_close(&template);
    free(text);
    return is_fine;
}

struct progress {
    const char *key, *server;
    uint64_t n;
    double start_s, next_s;
};

static bool show_load(void *ctx, uint64_t n_points)
{
    struct progress *progress = ctx;
    double now = bench_session_clock_s();
    if (now < progress->next_s || bench_session_is_interrupted)
        return bench_session_is_interrupted == 0;
    progress->next_s = now + SHOW_EVERY_S;
    double share = (double)n_points / (double)progress->n;
    fprintf(stderr, "  loading %s into %s: %.0f %%, %.0f s to go\n", progress->key,
            progress->server, share * 100,
            share > 0 ? (now - progress->start_s) * (1 - share) / share : 0);
    return true;
}

static bool feed_key(struct bench_session *session, const struct bench_key *key,
                     uint64_t n, struct bench_server *server, struct bench_feed *feed)
{
    if (key->set == NULL)
        return feed_template(session, key->template, n, feed);
    struct bench_data data;
    if (!bench_data_open(&data, key->set, n, 1, session->places)) {
        snprintf(feed->error, sizeof feed->error, "%s", data.error);
        return false;
    }
    double now = bench_session_clock_s();
    struct progress progress = {key->name, server->name, data.n, now, now + SHOW_EVERY_S};
    bool is_fine = bench_dump_load(feed, &data, key->name, show_load, &progress);
    bench_data_close(&data);
    return is_fine;
}

/* ---- one server ----------------------------------------------------------- */

/* What the server itself counts; 0: it does not. */
static double memory_counted(struct bench_server *server)
{
    char text[64];
    return bench_cpu_info(&server->link, "used_memory", text, sizeof text) ? atof(text)
                                                                           : 0;
}

/* The same once it stands still: a server may free a deleted key bit by bit. */
static double memory_settled(struct bench_server *server)
{
    double last = memory_counted(server);
    for (int n_same = 0, i = 0; n_same < SETTLE_SAME && i < SETTLE_TRIES; i++) {
        nanosleep(&(struct timespec){0, SETTLE_EVERY_MS * 1000000}, NULL);
        double now = memory_counted(server);
        bool is_same = fabs(now - last) < SETTLE_BYTES;
        n_same = is_same ? n_same + 1 : 0;
        last = now;
    }
    return last;
}

static void note_figures(struct bench_side *side, uint64_t n_members, double took_s,
                         const struct bench_cpu_time *before,
                         const struct bench_cpu_time *after)
{
    double n = (double)n_members;
    double user_us = (after->user_s - before->user_s) * 1e6 / n;
    double system_us = (after->system_s - before->system_s) * 1e6 / n;
    bench_stats_add(&side->rate, n / took_s);
    bench_stats_add(&side->cpu_us, user_us + system_us);
    bench_stats_add(&side->user_us, user_us);
    bench_stats_add(&side->system_us, system_us);
    side->n_requests = n_members;
}

/* Loads one server and notes what it took. */
static bool load_side(struct bench_session *session, const struct bench_key *key,
                      uint64_t n, int which, struct bench_side *side, char *out_error,
                      size_t size)
{
    struct bench_server *server = &session->servers[which];
    struct bench_feed feed;
    struct bench_cpu_time before = {0}, after = {0};
    char command[128];
    snprintf(command, sizeof command, "DEL %s", key->name);
    if (!bench_server_do(server, command)) {
        snprintf(out_error, size, "%s", server->error);
        return false;
    }
    double counted = memory_settled(server), resident = bench_server_memory(server);
    bool has_cpu = bench_cpu_read(&server->cpu, &before);
    double start_s = bench_session_clock_s();
    bool is_fine =
        bench_feed_open(&feed, &server->at) && feed_key(session, key, n, server, &feed);
    double took_s = bench_session_clock_s() - start_s;
    if (has_cpu && !bench_cpu_read(&server->cpu, &after))
        before = after = (struct bench_cpu_time){0, 0};
    if (!is_fine)
        snprintf(out_error, size, "%s: %.200s", server->name, feed.error);
    bench_feed_close(&feed);
    if (!is_fine)
        return false;
    note_figures(side, n, took_s, &before, &after);
    side->counted_bytes = (memory_settled(server) - counted) / (double)n;
    if (n >= POINTS_OF_MEMORY && strcmp(key->name, "key") == 0)
        session->report.servers[which].bytes_per_point =
            (bench_server_memory(server) - resident) / (double)n;
    return true;
}

/* ---- both ----------------------------------------------------------------- */

static bool has_same_size(struct bench_session *session, const struct bench_key *key,
                          struct bench_result *result)
{
    int64_t n[BENCH_N_SIDES] = {-1, -1};
    if (key->template != NULL && strncmp(key->template, "GEOADD", 6) != 0)
        return true; /* no set */
    char command[128];
    snprintf(command, sizeof command, "ZCARD %s", key->name);
    for (int i = 0; i < BENCH_N_SIDES; i++) {
        struct yn_reply *reply = bench_server_ask(&session->servers[i], command);
        if (reply != NULL && reply->type == YN_REPLY_INTEGER)
            n[i] = reply->integer;
        yn_reply_free(reply);
    }
    if (n[BENCH_OURS] > 0 && n[BENCH_OURS] == n[BENCH_THEIRS])
        return true;
    return bench_session_fail(result, "key %s has %lld members in A and %lld in B",
                              key->name, (long long)n[BENCH_OURS],
                              (long long)n[BENCH_THEIRS]);
}

static size_t find_key(const struct bench_suite *suite, const char *name)
{
    size_t i = 0;
    while (i < suite->n_keys && strcmp(suite->keys[i].name, name) != 0)
        i++;
    return i;
}

bool bench_keys_load(struct bench_session *session, struct bench_result *result)
{
    static struct bench_side unwanted[BENCH_N_SIDES]; /* large */
    const struct bench_row *row = result->row;
    struct bench_side *sides = row->is_load ? result->sides : unwanted;
    if (row->key == NULL)
        return true;
    size_t i = find_key(&session->suite, row->key);
    if (i == session->suite.n_keys)
        return bench_session_fail(result, "no key %s", row->key);
    if (session->is_loaded[i] && !row->is_load)
        return true;
    const struct bench_key *key = &session->suite.keys[i];
    char *size_text = bench_session_put_sizes(session, key->size), error[300] = "";
    uint64_t n = 0;
    bool is_fine = size_text != NULL && bench_args_parse_count(size_text, &n);
    free(size_text);
    fprintf(stderr, "  loading %s: %" PRIu64 " members\n", key->name, n);
    int n_times = row->is_load && n <= SMALL_LOAD ? SMALL_LOADS : 1;
    for (int turn = 0; turn < n_times * BENCH_N_SIDES && is_fine; turn++) {
        int side = turn % BENCH_N_SIDES;
        is_fine = load_side(session, key, n, side, &sides[side], error, sizeof error);
    }
    if (!is_fine)
        return bench_session_fail(result, "could not load %s: %s", key->name, error);
    session->is_loaded[i] = true;
    return has_same_size(session, key, result);
}

void bench_keys_drop_unused(struct bench_session *session, size_t i)
{
    const char *key = session->report.results[i].row->key;
    for (size_t j = i + 1; key != NULL && j < session->report.n_results; j++) {
        const char *later = session->report.results[j].row->key;
        if (later != NULL && strcmp(later, key) == 0)
            return;
    }
    size_t k = key != NULL ? find_key(&session->suite, key) : session->suite.n_keys;
    if (k == session->suite.n_keys || !session->is_loaded[k])
        return;
    char command[128];
    snprintf(command, sizeof command, "DEL %s", key);
    for (int side = 0; side < BENCH_N_SIDES; side++)
        bench_server_do(&session->servers[side], command);
    session->is_loaded[k] = false;
}
