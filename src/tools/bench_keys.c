#include "tools/bench_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>


#define SETTLE_EVERY_MS 10
#define SETTLE_SAME 5
#define SETTLE_TRIES 500
#define SETTLE_BYTES 4096.0
#define SHOW_EVERY_S 5
/* A small set is measured in copies of so many points together: what a server keeps of
 * buffers and freed blocks is no part of it. */
#define SMALL_LOADS 1000000u
#define POINTS_OF_MEMORY 100000u /* fewer say little of the resident memory a point */

/* ---- feeding -------------------------------------------------------------- */

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

#define NAME_MAX_LEN 128

struct loading {
    const struct bench_key *key;
    uint64_t n, n_copies;
    char error[300]; /* why it failed */
};

/* The name of a copy; that of copy 0 is the key's own. */
static const char *copy_name(const struct bench_key *key, uint64_t copy,
                             char text[NAME_MAX_LEN])
{
    if (copy == 0)
        return key->name;
    snprintf(text, NAME_MAX_LEN, "%s-copy-%" PRIu64, key->name, copy);
    return text;
}

static bool feed_copies(struct bench_session *session, const struct loading *loading,
                        struct bench_server *server, struct bench_feed *feed)
{
    char name[NAME_MAX_LEN];
    for (uint64_t i = 0; i < loading->n_copies; i++) {
        struct bench_key copy = *loading->key;
        copy.name = copy_name(loading->key, i, name);
        double now = bench_session_clock_s();
        struct progress progress = {copy.name, server->name, loading->n, now,
                                    now + SHOW_EVERY_S};
        if (!bench_fill_key(&session->fill, &copy, feed, show_load, &progress))
            return false;
    }
    return true;
}

/* Deletes the copies from `first` on. */
static bool delete_copies(struct loading *loading, uint64_t first,
                          struct bench_server *server)
{
    char name[NAME_MAX_LEN], command[NAME_MAX_LEN + 8];
    for (uint64_t i = first; i < loading->n_copies; i++) {
        snprintf(command, sizeof command, "DEL %s", copy_name(loading->key, i, name));
        if (!bench_server_do(server, command)) {
            snprintf(loading->error, sizeof loading->error, "%.280s", server->error);
            return false;
        }
    }
    return true;
}

/* Loads one server and notes what it took. */
static bool load_side(struct bench_session *session, struct loading *loading, int which,
                      struct bench_side *side)
{
    struct bench_server *server = &session->servers[which];
    struct bench_feed feed;
    struct bench_cpu_time before = {0}, after = {0};
    if (!delete_copies(loading, 0, server))
        return false;
    double counted = memory_settled(server), resident = bench_server_memory(server);
    bool has_cpu = bench_cpu_read(&server->cpu, &before);
    double start_s = bench_session_clock_s();
    bool is_fine = bench_feed_open(&feed, &server->at) &&
                   feed_copies(session, loading, server, &feed);
    double took_s = bench_session_clock_s() - start_s;
    if (has_cpu && !bench_cpu_read(&server->cpu, &after))
        before = after = (struct bench_cpu_time){0, 0};
    if (!is_fine)
        snprintf(loading->error, sizeof loading->error, "%s: %.200s", server->name,
                 feed.error);
    bench_feed_close(&feed);
    if (!is_fine)
        return false;
    uint64_t n = loading->n * loading->n_copies;
    note_figures(side, n, took_s, &before, &after);
    side->counted_bytes = (memory_settled(server) - counted) / (double)n;
    if (n >= POINTS_OF_MEMORY && strcmp(loading->key->name, "key") == 0)
        session->report.servers[which].bytes_per_point =
            (bench_server_memory(server) - resident) / (double)n;
    return delete_copies(loading, 1, server);
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

bool bench_keys_load(struct bench_session *session, struct bench_result *result)
{
    static struct bench_side unwanted[BENCH_N_SIDES]; /* large */
    const struct bench_row *row = result->row;
    struct bench_side *sides = row->is_load ? result->sides : unwanted;
    if (row->key == NULL)
        return true;
    const struct bench_key *key = bench_suite_find_key(&session->suite, row->key);
    if (key == NULL)
        return bench_session_fail(result, "no key %s", row->key);
    bool *is_loaded = &session->is_loaded[key - session->suite.keys];
    if (*is_loaded && !row->is_load)
        return true;
    struct loading loading = {
        .key = key, .n = bench_fill_count(&session->fill, key), .n_copies = 1};
    bool is_fine = loading.n > 0;
    if (is_fine && row->is_load && key->set != NULL)
        loading.n_copies = (SMALL_LOADS + loading.n - 1) / loading.n;
    fprintf(stderr, "  loading %s: %" PRIu64 " members\n", key->name, loading.n);
    for (int side = 0; side < BENCH_N_SIDES && is_fine; side++)
        is_fine = load_side(session, &loading, side, &sides[side]);
    if (!is_fine)
        return bench_session_fail(result, "could not load %s: %s", key->name,
                                  loading.error);
    *is_loaded = true;
    return has_same_size(session, key, result);
}

void bench_keys_drop_unused(struct bench_session *session, size_t i)
{
    const char *name = session->report.results[i].row->key;
    if (name == NULL)
        return;
    for (size_t j = i + 1; j < session->report.n_results; j++) {
        const char *later = session->report.results[j].row->key;
        if (later != NULL && strcmp(later, name) == 0)
            return;
    }
    const struct bench_key *key = bench_suite_find_key(&session->suite, name);
    if (key == NULL || !session->is_loaded[key - session->suite.keys])
        return;
    char command[NAME_MAX_LEN + 8];
    snprintf(command, sizeof command, "DEL %s", name);
    for (int side = 0; side < BENCH_N_SIDES; side++)
        bench_server_do(&session->servers[side], command);
    session->is_loaded[key - session->suite.keys] = false;
}
