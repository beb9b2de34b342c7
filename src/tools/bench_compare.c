/*
 * A comparison. Two servers are started, or one is and a running one is taken. A key is
 * loaded into both when the first row needs it, from the same bytes. For each row:
 *
 * 1. A few requests are sent to both, and their replies compared. A row that finds a
 *    difference that docs/compat.md does not know has failed, and so has one whose
 *    replies are empty: speed at wrong answers is worth nothing.
 * 2. The same ring of requests runs on both in turn, A B A B, so that a disturbance of
 *    the machine meets both. A round lasts `duration` seconds, and at least 20 requests.
 *
 * Reported are medians over the rounds. CPU time is the server's own, all threads.
 */
#include "tools/bench_compare.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/bench_args.h"
#include "tools/bench_baseline.h"
#include "tools/bench_check.h"
#include "tools/bench_dump.h"
#include "tools/bench_load.h"
#include "tools/bench_report.h"
#include "tools/bench_server.h"

#define POINTS_DEFAULT 5000000u
#define FLEET_MIN 1000u
#define FLEET_MAX 4000000u
#define REQUESTS_MIN 20
#define RING_POINT 500000u /* requests prepared for look-ups */
#define RING_SEARCH 1000u  /* centres of searches */
#define CHECKS_POINT 200
#define CHECKS_SEARCH 20
#define WARM_UP_S 0.2
#define WATER_PERCENT 5.0

static const char usage[] =
    "Usage: yonder-bench compare [options]\n"
    "\n"
    "Measures yonder-server (A) against redis-server or another peer (B): loads the same\n"
    "data into both, checks that they answer the same, and runs each row on both in turn.\n"
    "\n"
    "  --suite geo            the rows (geo is the only suite)\n"
    "  --points N             points of the large key (5M)\n"
    "  --rounds N             measurements of each row on each server (5)\n"
    "  --duration S           seconds a measurement (1)\n"
    "  --server PROGRAM       A (yonder-server beside this program)\n"
    "  --peer HOST:PORT       B: a server that runs; its keys are overwritten\n"
    "  --redis PROGRAM        B: a program like redis-server (redis-server)\n"
    "  --baseline REV         B: yonder-server as of a revision, built for the purpose;\n"
    "                         A's changes against it are shown\n"
    "  --baseline-program P   B: another build of yonder-server\n"
    "  --water PERCENT        changes beyond it are named (5)\n"
    "  --test REGEX           only rows whose name matches\n"
    "  --group REGEX          only groups: load, empty, point, search, small, update, bulk,\n"
    "                         worst\n"
    "  --command NAME         only rows of a command\n"
    "  --list                 list the rows and end\n"
    "  --cpus LIST            run on these processors; --server-cpus LIST: servers on those\n"
    "  --markdown FILE, --json FILE, --html FILE\n"
    "                         write the report there, too\n"
    "  --places FILE          places of the data sets (data/cities.csv)\n"
    "\n"
    "Exit status: 0 every row succeeded; 1 some failed; 2 nothing could be measured.\n";

enum { OURS, THEIRS, N_SIDES };

struct compare {
    uint64_t n_points, n_rounds;
    double duration_s, water_percent;
    const char *suite, *program, *redis, *baseline, *revision, *places, *cpus,
        *server_cpus;
    char *peer;
    const char *test, *group, *command;
    const char *markdown, *json, *html;
    bool is_list;

    struct bench_server servers[N_SIDES];
    struct bench_report report;
    bool *is_loaded; /* by key */
    bool has_format; /* ours can print coordinates as theirs does */
    bool by_value;   /* theirs prints them in another way than ours can */
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

__attribute__((format(printf, 2, 3))) static bool fail_row(struct bench_result *result,
                                                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(result->reason, sizeof result->reason, format, args);
    va_end(args);
    result->outcome = BENCH_FAILED;
    return false;
}

/* ---- texts -------------------------------------------------------------- */

/* A text with @N and @F replaced. The caller frees it. NULL: out of memory. */
static char *put_sizes(const struct compare *compare, const char *text)
{
    uint64_t fleet = compare->n_points / 5;
    fleet = fleet < FLEET_MIN ? FLEET_MIN : fleet > FLEET_MAX ? FLEET_MAX : fleet;
    char *out = malloc(strlen(text) * 12 + 1), *to = out;
    for (const char *p = text; out != NULL && *p != '\0'; p++) {
        if (p[0] == '@' && (p[1] == 'N' || p[1] == 'F')) {
            to += sprintf(to, "%" PRIu64, p[1] == 'N' ? compare->n_points : fleet);
            p++;
        } else {
            *to++ = *p;
        }
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

/* Opens a template of words separated by blanks. *out_text holds them, and is freed after
 * the template. */
static bool open_template(const struct compare *compare, const char *command,
                          const char *more, struct bench_template *template,
                          char **out_text)
{
    char *words[64];
    int n = 0;
    size_t size = strlen(command) + (more != NULL ? strlen(more) : 0) + 2;
    char *text = *out_text = malloc(size), *rest = NULL;
    if (text == NULL)
        return false;
    snprintf(text, size, "%s %s", command, more != NULL ? more : "");
    for (char *word = strtok_r(text, " ", &rest); word != NULL && n < 64;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return bench_template_open(template, n, words, compare->places);
}

/* ---- loading ------------------------------------------------------------ */

static bool feed_template(struct compare *compare, const char *command, uint64_t n,
                          struct bench_feed *feed)
{
    struct bench_template template = {0};
    struct bench_ring ring;
    char *text;
    bool is_fine = open_template(compare, command, NULL, &template, &text);
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
        is_fine = feed->out.len < 256 * 1024 || bench_feed_push(feed, 128 * 1024);
    }
    is_fine = is_fine && bench_feed_finish(feed);
    bench_ring_clear(&ring);
    bench_template_close(&template);
    free(text);
    return is_fine;
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct load_progress {
    const char *key, *server;
    uint64_t n;
    double next_s;
};

static bool show_load(void *ctx, uint64_t n_points)
{
    struct load_progress *progress = ctx;
    double now = clock_s();
    if (now < progress->next_s || is_interrupted)
        return is_interrupted == 0;
    progress->next_s = now + 5;
    fprintf(stderr, "  loading %s into %s: %.0f %%\n", progress->key, progress->server,
            (double)n_points * 100 / (double)progress->n);
    return true;
}

static bool feed_key(struct compare *compare, const struct bench_key *key, uint64_t n,
                     struct bench_server *server, struct bench_feed *feed)
{
    if (key->set == NULL)
        return feed_template(compare, key->template, n, feed);
    struct bench_data data;
    if (!bench_data_open(&data, key->set, n, 1, compare->places)) {
        snprintf(feed->error, sizeof feed->error, "%s", data.error);
        return false;
    }
    struct load_progress progress = {key->name, server->name, data.n, clock_s() + 5};
    bool is_fine = bench_dump_load(feed, &data, key->name, show_load, &progress);
    bench_data_close(&data);
    return is_fine;
}

/* Loads one server and notes what it took. */
static bool load_side(struct compare *compare, const struct bench_key *key, uint64_t n,
                      int which, struct bench_side *side, char *out_error, size_t size)
{
    struct bench_server *server = &compare->servers[which];
    struct bench_feed feed;
    struct bench_cpu_time before, after;
    char command[128];
    snprintf(command, sizeof command, "DEL %s", key->name);
    double memory = bench_server_memory(server);
    bool is_fine = bench_server_do(server, command);
    bool has_cpu = bench_cpu_read(&server->cpu, &before);
    double start_s = clock_s();
    if (!is_fine) {
        snprintf(out_error, size, "%s", server->error);
        return false;
    }
    is_fine =
        bench_feed_open(&feed, &server->at) && feed_key(compare, key, n, server, &feed);
    double took_s = clock_s() - start_s;
    has_cpu = has_cpu && bench_cpu_read(&server->cpu, &after);
    if (is_fine) {
        bench_stats_add(&side->rate, (double)n / took_s);
        double user_us = has_cpu ? (after.user_s - before.user_s) * 1e6 / (double)n : 0;
        double system_us =
            has_cpu ? (after.system_s - before.system_s) * 1e6 / (double)n : 0;
        bench_stats_add(&side->cpu_us, user_us + system_us);
        bench_stats_add(&side->user_us, user_us);
        bench_stats_add(&side->system_us, system_us);
        side->n_requests = n;
        if (n >= 100000)
            compare->report.servers[which].bytes_per_point =
                strcmp(key->name, "key") == 0
                    ? (bench_server_memory(server) - memory) / (double)n
                    : compare->report.servers[which].bytes_per_point;
    } else {
        snprintf(out_error, size, "%s: %.200s", server->name, feed.error);
    }
    bench_feed_close(&feed);
    return is_fine;
}

static bool has_same_size(struct compare *compare, const struct bench_key *key,
                          struct bench_result *result)
{
    int64_t n[N_SIDES] = {-1, -1};
    if (key->template != NULL && strncmp(key->template, "GEOADD", 6) != 0)
        return true; /* no set */
    char command[128];
    snprintf(command, sizeof command, "ZCARD %s", key->name);
    for (int i = 0; i < N_SIDES; i++) {
        struct yn_reply *reply = bench_server_ask(&compare->servers[i], command);
        if (reply != NULL && reply->type == YN_REPLY_INTEGER)
            n[i] = reply->integer;
        yn_reply_free(reply);
    }
    if (n[OURS] > 0 && n[OURS] == n[THEIRS])
        return true;
    return fail_row(result, "key %s has %lld members in A and %lld in B", key->name,
                    (long long)n[OURS], (long long)n[THEIRS]);
}

/* Loads a key unless it is there; `sides` take the figures. */
static bool load_key(struct compare *compare, const char *name,
                     struct bench_result *result)
{
    static struct bench_side unwanted[N_SIDES];
    struct bench_side *sides = result->row->is_load ? result->sides : unwanted;
    size_t i = 0;
    while (i < bench_n_keys && strcmp(bench_keys[i].name, name) != 0)
        i++;
    if (i == bench_n_keys)
        return fail_row(result, "no key %s", name);
    if (compare->is_loaded[i] && !result->row->is_load)
        return true;
    const struct bench_key *key = &bench_keys[i];
    char *size_text = put_sizes(compare, key->size), error[300];
    uint64_t n = 0;
    bool is_fine = size_text != NULL && bench_args_parse_count(size_text, &n);
    free(size_text);
    fprintf(stderr, "  loading %s: %" PRIu64 " members\n", key->name, n);
    for (int side = 0; side < N_SIDES && is_fine; side++)
        is_fine = load_side(compare, key, n, side, &sides[side], error, sizeof error);
    if (!is_fine)
        return fail_row(result, "could not load %s: %s", name, error);
    compare->is_loaded[i] = true;
    return has_same_size(compare, key, result);
}

/* ---- checking ----------------------------------------------------------- */

static struct yn_reply *send_raw(struct bench_server *server, const char *bytes,
                                 size_t len)
{
    yn_buf_append(&server->link.out, bytes, len);
    server->link.n_pending++;
    return cli_link_wait(&server->link);
}

struct findings {
    size_t n, n_by[BENCH_CHECK_OTHER + 1];
    uint64_t n_elements, n_nulls;
};

static bool check_one(struct compare *compare, struct bench_result *result,
                      const char *bytes, size_t len, struct findings *findings)
{
    const struct bench_check_options options = {.by_value = compare->by_value,
                                                .has_ties = result->row->has_ties,
                                                .has_more = result->row->has_more};
    struct yn_reply *ours = send_raw(&compare->servers[OURS], bytes, len);
    struct yn_reply *theirs = send_raw(&compare->servers[THEIRS], bytes, len);
    bool is_fine = ours != NULL && theirs != NULL;
    if (!is_fine) {
        fail_row(result, "no answer: %s",
                 compare->servers[ours == NULL ? OURS : THEIRS].link.error);
    } else if (ours->type == YN_REPLY_ERROR || theirs->type == YN_REPLY_ERROR) {
        char a[150], b[150];
        bench_check_show(ours, a, sizeof a);
        bench_check_show(theirs, b, sizeof b);
        is_fine = fail_row(result, "error reply: A %s, B %s", a, b);
    } else {
        findings->n++;
        findings->n_elements += bench_check_count(ours, &findings->n_nulls);
        char a[150], b[150]; /* before the check sorts them */
        bench_check_show(ours, a, sizeof a);
        bench_check_show(theirs, b, sizeof b);
        enum bench_check_verdict verdict = bench_check_replies(&options, ours, theirs);
        findings->n_by[verdict]++;
        if (verdict == BENCH_CHECK_OTHER)
            is_fine = fail_row(result, "different answers: A %s, B %s", a, b);
    }
    yn_reply_free(ours);
    yn_reply_free(theirs);
    return is_fine;
}

static void tell_findings(const struct findings *findings, struct bench_result *result)
{
    int n = snprintf(result->checked, sizeof result->checked, "%zu same",
                     findings->n_by[BENCH_CHECK_SAME]);
    static const char *const names[] = {NULL, "in another order", "with other ties",
                                        "with more members"};
    for (size_t i = 1; i < BENCH_CHECK_OTHER; i++) {
        if (findings->n_by[i] > 0)
            n += snprintf(result->checked + n, sizeof result->checked - (size_t)n,
                          ", %zu %s", findings->n_by[i], names[i]);
    }
}

static bool check_ring(struct compare *compare, struct bench_result *result,
                       const struct bench_ring *ring)
{
    struct findings findings = {0};
    for (size_t i = 0; i < ring->n_batches; i++) {
        if (!check_one(compare, result, ring->bytes.data + ring->starts[i],
                       ring->starts[i + 1] - ring->starts[i], &findings))
            return false;
    }
    tell_findings(&findings, result);
    result->hits = (double)findings.n_elements / (double)findings.n;
    if (findings.n_nulls > 0)
        return fail_row(result, "%" PRIu64 " nulls: members or keys are missing",
                        findings.n_nulls);
    if (findings.n_elements == 0 && !result->row->is_empty)
        return fail_row(result,
                        "all replies are empty: the key is, or the search misses");
    return true;
}

static bool is_search(const struct bench_row *row)
{
    return strncmp(row->command, "GEOSEARCH", strlen("GEOSEARCH")) == 0 ||
           strncmp(row->command, "GEORADIUS", strlen("GEORADIUS")) == 0;
}

static bool check_row(struct compare *compare, struct bench_result *result)
{
    struct bench_template template = {0};
    struct bench_ring ring;
    char *text;
    uint64_t n = is_search(result->row) ? CHECKS_SEARCH : CHECKS_POINT;
    if (result->row->ring > 0 && result->row->ring < n)
        n = result->row->ring;
    bool is_fine =
        open_template(compare, result->command, result->row->check, &template, &text);
    if (!is_fine) {
        fail_row(result, "%s", template.error);
    } else {
        is_fine = bench_ring_fill(&ring, &template, 2, 0, n, 1);
        if (compare->has_format)
            is_fine = is_fine && bench_server_do(&compare->servers[OURS],
                                                 "CONFIG SET coordinate-format fixed17");
        is_fine = is_fine && check_ring(compare, result, &ring);
        if (compare->has_format)
            is_fine = bench_server_do(&compare->servers[OURS],
                                      "CONFIG SET coordinate-format shortest") &&
                      is_fine;
        bench_ring_clear(&ring);
        bench_template_close(&template);
        if (!is_fine && result->reason[0] == '\0')
            fail_row(result, "%s", compare->servers[OURS].error);
    }
    free(text);
    return is_fine;
}

/* ---- measuring ---------------------------------------------------------- */

/* ---- a second load ------------------------------------------------------- */

#define BESIDE_CONNECTIONS 4
#define BESIDE_LEAD_S 0.1 /* it starts before the first load, and ends after it */

struct beside {
    struct bench_load_options options;
    struct bench_load_result result;
    struct bench_ring ring;
    pthread_t thread;
    bool is_fine, is_running;
};

static void *run_beside(void *arg)
{
    struct beside *beside = arg;
    beside->is_fine = bench_load_run(&beside->options, &beside->ring, &beside->result);
    return NULL;
}

static bool start_beside(struct compare *compare, struct bench_result *result, int which,
                         struct beside *beside, double duration_s)
{
    struct bench_template template = {0};
    char *command = put_sizes(compare, result->row->beside), *text = NULL;
    bool is_fine = command != NULL &&
                   open_template(compare, command, NULL, &template, &text) &&
                   bench_ring_fill(&beside->ring, &template, 3, 0, RING_SEARCH, 1);
    beside->options = (struct bench_load_options){
        .server = &compare->servers[which].at,
        .n_connections = BESIDE_CONNECTIONS,
        .n_threads = 1,
        .duration_s = duration_s + 2 * BESIDE_LEAD_S,
    };
    beside->is_running =
        is_fine && pthread_create(&beside->thread, NULL, run_beside, beside) == 0;
    bench_template_close(&template);
    free(text);
    free(command);
    if (!beside->is_running)
        return fail_row(result, "could not start the load beside");
    nanosleep(&(struct timespec){0, (long)(BESIDE_LEAD_S * 1e9)}, NULL);
    return true;
}

static bool end_beside(struct bench_result *result, struct beside *beside)
{
    bool is_fine = true;
    if (beside->is_running) {
        pthread_join(beside->thread, NULL);
        is_fine = beside->is_fine && beside->result.n_empty == 0;
        if (!is_fine)
            fail_row(result, "the load beside failed: %s", beside->result.failure);
    }
    bench_ring_clear(&beside->ring);
    return is_fine;
}

/* ---- one measurement ----------------------------------------------------- */

static bool measure_side(struct compare *compare, struct bench_result *result, int which,
                         struct bench_ring *rings, double duration_s, uint64_t n_min)
{
    static struct bench_load_result load; /* large */
    struct bench_server *server = &compare->servers[which];
    struct bench_side *side = &result->sides[which];
    const struct bench_row *row = result->row;
    struct bench_load_options options = {
        .server = &server->at,
        .n_connections = row->n_connections,
        .n_threads = row->n_threads,
        .duration_s = duration_s,
        .n_min = n_min,
        .piece_len = row->piece_len,
    };
    static struct beside beside; /* large */
    memset(&beside, 0, sizeof beside);
    if (row->beside != NULL && !start_beside(compare, result, which, &beside, duration_s))
        return end_beside(result, &beside) && false;
    struct bench_cpu_time before, after;
    bool has_cpu = bench_cpu_read(&server->cpu, &before);
    bool is_fine = bench_load_run(&options, rings, &load);
    has_cpu = has_cpu && bench_cpu_read(&server->cpu, &after);
    if (!end_beside(result, &beside))
        return false;
    if (!is_fine)
        return fail_row(result, "%s: %s", server->name, load.failure);
    if (load.n_nulls > 0)
        return fail_row(result, "%s: %" PRIu64 " nulls", server->name, load.n_nulls);
    if (load.n_empty == load.n_replies && is_search(row) && !row->is_empty)
        return fail_row(result, "%s: all replies are empty", server->name);
    if (n_min == 0) /* the warm-up */
        return true;
    double n = (double)load.n_replies;
    double user_us = has_cpu ? (after.user_s - before.user_s) * 1e6 / n : 0;
    double system_us = has_cpu ? (after.system_s - before.system_s) * 1e6 / n : 0;
    bench_stats_add(&side->rate, n / load.elapsed_s);
    if (row->beside == NULL) { /* else most of it is the other load's */
        bench_stats_add(&side->cpu_us, user_us + system_us);
        bench_stats_add(&side->user_us, user_us);
        bench_stats_add(&side->system_us, system_us);
    }
    bench_stats_add(&side->own_cpu_us, load.own_cpu_s * 1e6 / n);
    bench_histogram_merge(&side->latency_ns, &load.latency_ns);
    side->n_requests += load.n_replies;
    side->bytes_per_reply = (double)load.bytes_in / n;
    return true;
}

#define THREADS_MAX 16

/* Both servers read the same rings, each from where it stopped. */
static bool measure_rounds(struct compare *compare, struct bench_result *result,
                           struct bench_ring *rings)
{
    struct bench_ring copies[N_SIDES][THREADS_MAX];
    unsigned n_threads = result->row->n_threads;
    uint64_t n_min = result->row->n_min > 0 ? result->row->n_min : REQUESTS_MIN;
    for (int i = 0; i < N_SIDES; i++)
        memcpy(copies[i], rings, n_threads * sizeof rings[0]);
    for (int i = 0; i < N_SIDES; i++) {
        if (!measure_side(compare, result, i, copies[i], WARM_UP_S, 0))
            return false;
    }
    for (uint64_t round = 0; round < compare->n_rounds; round++) {
        for (int i = 0; i < N_SIDES; i++) {
            if (!measure_side(compare, result, i, copies[i], compare->duration_s, n_min))
                return false;
            if (is_interrupted)
                return fail_row(result, "interrupted");
        }
    }
    return true;
}

static bool measure_row(struct compare *compare, struct bench_result *result)
{
    struct bench_template template = {0};
    struct bench_ring rings[THREADS_MAX] = {0};
    const struct bench_row *row = result->row;
    char *text;
    bool is_fine = open_template(compare, result->command, NULL, &template, &text);
    if (!is_fine)
        fail_row(result, "%s", template.error);
    uint64_t n = row->ring > 0 ? row->ring : is_search(row) ? RING_SEARCH : RING_POINT;
    for (unsigned i = 0; i < row->n_threads && is_fine; i++) {
        is_fine = bench_ring_fill(&rings[i], &template, 1, i, n, row->pipeline);
        if (!is_fine)
            fail_row(result, "out of memory");
    }
    is_fine = is_fine && measure_rounds(compare, result, rings);
    for (unsigned i = 0; i < row->n_threads; i++)
        bench_ring_clear(&rings[i]);
    bench_template_close(&template);
    free(text);
    return is_fine;
}

static void run_row(struct compare *compare, struct bench_result *result)
{
    const struct bench_row *row = result->row;
    bool is_fine = row->key == NULL || load_key(compare, row->key, result);
    if (!row->is_load) {
        is_fine = is_fine && check_row(compare, result);
        is_fine = is_fine && measure_row(compare, result);
    } else {
        snprintf(result->checked, sizeof result->checked, "sizes same");
        result->hits = 1;
    }
    if (is_fine)
        result->outcome = BENCH_SUCCEEDED;
}

/* ---- the rows wanted ---------------------------------------------------- */

static bool compile_regex(const char *pattern, regex_t *out_regex)
{
    if (pattern == NULL)
        return true;
    if (regcomp(out_regex, pattern, REG_EXTENDED | REG_NOSUB) == 0)
        return true;
    fprintf(stderr, "yonder-bench: no regular expression: \"%s\"\n", pattern);
    return false;
}

static bool is_command(const struct bench_row *row, const char *name)
{
    size_t len = strcspn(row->command, " ,");
    return strlen(name) == len && strncasecmp(row->command, name, len) == 0;
}

static bool choose_rows(struct compare *compare)
{
    struct bench_report *report = &compare->report;
    regex_t test, group;
    if (!compile_regex(compare->test, &test))
        return false;
    if (!compile_regex(compare->group, &group)) {
        if (compare->test != NULL)
            regfree(&test);
        return false;
    }
    report->results = calloc(bench_n_rows, sizeof report->results[0]);
    compare->is_loaded = calloc(bench_n_keys, sizeof compare->is_loaded[0]);
    bool is_fine = report->results != NULL && compare->is_loaded != NULL;
    for (size_t i = 0; i < bench_n_rows && is_fine; i++) {
        const struct bench_row *row = &bench_rows[i];
        if ((compare->test != NULL && regexec(&test, row->name, 0, NULL, 0) != 0) ||
            (compare->group != NULL && regexec(&group, row->group, 0, NULL, 0) != 0) ||
            (compare->command != NULL && !is_command(row, compare->command)))
            continue;
        struct bench_result *result = &report->results[report->n_results++];
        result->row = row;
        result->command = put_sizes(compare, row->command);
        is_fine = result->command != NULL;
    }
    if (compare->test != NULL)
        regfree(&test);
    if (compare->group != NULL)
        regfree(&group);
    if (is_fine && report->n_results == 0) {
        fputs("yonder-bench: no row is left; see --list\n", stderr);
        return false;
    }
    return is_fine;
}

/* ---- the servers -------------------------------------------------------- */

static const char *beside(const char *name, char out_path[600])
{
    char program[512];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = len > 0 ? memrchr(program, '/', (size_t)len) : NULL;
    if (slash == NULL)
        return name;
    *slash = '\0';
    snprintf(out_path, 600, "%s/%s", program, name);
    return out_path;
}

static bool start_peer(struct compare *compare)
{
    struct bench_server *peer = &compare->servers[THEIRS];
    if (compare->baseline != NULL)
        return bench_server_start(peer, BENCH_SERVER_YONDER, compare->baseline,
                                  compare->server_cpus);
    if (compare->peer == NULL)
        return bench_server_start(peer, BENCH_SERVER_REDIS, compare->redis,
                                  compare->server_cpus);
    struct cli_options at;
    const char *host;
    bench_args_init_server(&at);
    if (!bench_args_parse_address(compare->peer, &host, &at.port)) {
        memset(peer, 0, sizeof *peer);
        cli_link_init(&peer->link);
        cli_link_init(&peer->cpu.link);
        snprintf(peer->error, sizeof peer->error, "no address: \"%s\"", compare->peer);
        return false;
    }
    at.host = host != NULL ? host : at.host;
    return bench_server_join(peer, &at);
}

/* How coordinates can be compared: bytes with a peer up to Redis 7, values with others.
 */
static void find_format(struct compare *compare)
{
    struct bench_server *ours = &compare->servers[OURS],
                        *theirs = &compare->servers[THEIRS];
    if (compare->baseline != NULL)
        return;
    struct yn_reply *reply = bench_server_ask(ours, "CONFIG GET coordinate-format");
    compare->has_format = reply != NULL && reply->n_items == 2;
    yn_reply_free(reply);
    char version[64] = "";
    bench_cpu_info(&theirs->link, "redis_version", version, sizeof version);
    bool is_old = strcmp(theirs->name, "redis") == 0 && atoi(version) < 8;
    compare->by_value = !compare->has_format || !is_old;
}

static bool start_servers(struct compare *compare)
{
    char path[600];
    const char *program =
        compare->program != NULL ? compare->program : beside("yonder-server", path);
    bool is_fine = bench_server_start(&compare->servers[OURS], BENCH_SERVER_YONDER,
                                      program, compare->server_cpus);
    if (!is_fine)
        fprintf(stderr, "yonder-bench: A: %s\n", compare->servers[OURS].error);
    if (is_fine && !start_peer(compare)) {
        fprintf(stderr, "yonder-bench: B: %s\n", compare->servers[THEIRS].error);
        is_fine = false;
    }
    for (int i = 0; i < N_SIDES && is_fine; i++) {
        const struct bench_server *server = &compare->servers[i];
        char name[sizeof compare->report.servers[i].name];
        bool is_baseline = i == THEIRS && compare->revision != NULL;
        snprintf(name, sizeof name, "%s %s%s%s", server->name, server->version,
                 is_baseline ? " of " : "", is_baseline ? compare->revision : "");
        memcpy(compare->report.servers[i].name, name, sizeof name);
    }
    if (is_fine)
        find_format(compare);
    return is_fine;
}

/* ---- the whole ---------------------------------------------------------- */

static bool write_file(const struct bench_report *report, const char *path,
                       void (*write)(const struct bench_report *report, FILE *out))
{
    if (path == NULL)
        return true;
    FILE *file = fopen(path, "w");
    if (file != NULL)
        write(report, file);
    if (file != NULL && fclose(file) == 0)
        return true;
    fprintf(stderr, "yonder-bench: could not write \"%s\": %s\n", path, strerror(errno));
    return false;
}

static void run_rows(struct compare *compare)
{
    struct bench_report *report = &compare->report;
    for (size_t i = 0; i < report->n_results && !is_interrupted; i++) {
        struct bench_result *result = &report->results[i];
        fprintf(stderr, "[%zu/%zu] %s\n", i + 1, report->n_results, result->row->name);
        run_row(compare, result);
        if (result->outcome == BENCH_FAILED)
            fprintf(stderr, "  failed: %s\n", result->reason);
        else
            fprintf(stderr, "  A %.0f/s, B %.0f/s: rate %.2fx, CPU %.2fx; %s\n",
                    bench_stats_median(&result->sides[OURS].rate),
                    bench_stats_median(&result->sides[THEIRS].rate),
                    bench_report_rate_ratio(result), bench_report_cpu_ratio(result),
                    result->checked);
    }
}

static int run_compare(struct compare *compare)
{
    int status = 2;
    struct bench_report *report = &compare->report;
    report->suite = compare->suite;
    report->n_points = compare->n_points;
    report->n_rounds = (unsigned)compare->n_rounds;
    report->duration_s = compare->duration_s;
    report->water_percent = compare->baseline != NULL ? compare->water_percent : 0;
    for (int i = 0; i < N_SIDES; i++) {
        cli_link_init(&compare->servers[i].link);
        cli_link_init(&compare->servers[i].cpu.link);
    }
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (start_servers(compare)) {
        bench_report_describe(report);
        run_rows(compare);
        bench_report_write_text(report, stdout);
        bool is_written =
            write_file(report, compare->markdown, bench_report_write_markdown) &&
            write_file(report, compare->json, bench_report_write_json) &&
            write_file(report, compare->html, bench_report_write_html);
        size_t n[3];
        bench_report_count(report, n);
        status = is_written && n[BENCH_SUCCEEDED] == report->n_results ? 0 : 1;
    }
    for (int i = 0; i < N_SIDES; i++)
        bench_server_stop(&compare->servers[i]);
    return status;
}

static bool check_options(const struct compare *compare)
{
    if (strcmp(compare->suite, "geo") != 0)
        fprintf(stderr, "yonder-bench: no suite \"%s\"; there is geo\n", compare->suite);
    else if (compare->n_rounds < 1 || compare->n_rounds > BENCH_STATS_MAX)
        fprintf(stderr, "yonder-bench: rounds must be 1 to %d\n", BENCH_STATS_MAX);
    else if ((compare->peer != NULL) + (compare->baseline != NULL) +
                 (compare->revision != NULL) >
             1)
        fputs("yonder-bench: one of --peer, --baseline and --baseline-program\n", stderr);
    else if (compare->cpus != NULL && !bench_cpu_pin(compare->cpus))
        fprintf(stderr, "yonder-bench: cannot run on processors \"%s\"\n", compare->cpus);
    else
        return true;
    return false;
}

int bench_compare_main(int argc, char **argv)
{
    static struct compare compare = {.suite = "geo",
                                     .redis = "redis-server",
                                     .n_points = POINTS_DEFAULT,
                                     .n_rounds = 5,
                                     .duration_s = 1,
                                     .water_percent = WATER_PERCENT};
    const struct bench_arg table[] = {
        {"--suite", NULL, BENCH_ARG_TEXT, &compare.suite},
        {"--points", NULL, BENCH_ARG_COUNT, &compare.n_points},
        {"--rounds", NULL, BENCH_ARG_COUNT, &compare.n_rounds},
        {"--duration", NULL, BENCH_ARG_NUMBER, &compare.duration_s},
        {"--server", NULL, BENCH_ARG_TEXT, &compare.program},
        {"--peer", NULL, BENCH_ARG_TEXT, &compare.peer},
        {"--redis", NULL, BENCH_ARG_TEXT, &compare.redis},
        {"--baseline", NULL, BENCH_ARG_TEXT, &compare.revision},
        {"--baseline-program", NULL, BENCH_ARG_TEXT, &compare.baseline},
        {"--water", NULL, BENCH_ARG_NUMBER, &compare.water_percent},
        {"--test", NULL, BENCH_ARG_TEXT, &compare.test},
        {"--group", NULL, BENCH_ARG_TEXT, &compare.group},
        {"--command", NULL, BENCH_ARG_TEXT, &compare.command},
        {"--list", NULL, BENCH_ARG_FLAG, &compare.is_list},
        {"--cpus", NULL, BENCH_ARG_TEXT, &compare.cpus},
        {"--server-cpus", NULL, BENCH_ARG_TEXT, &compare.server_cpus},
        {"--markdown", NULL, BENCH_ARG_TEXT, &compare.markdown},
        {"--json", NULL, BENCH_ARG_TEXT, &compare.json},
        {"--html", NULL, BENCH_ARG_TEXT, &compare.html},
        {"--places", NULL, BENCH_ARG_TEXT, &compare.places},
        {0},
    };
    int first;
    switch (bench_args_parse(table, usage, true, argc, argv, &first)) {
    case BENCH_ARGS_DONE:
        return 0;
    case BENCH_ARGS_BAD:
        return 2;
    default:
        break;
    }
    if (first < argc) {
        fprintf(stderr, "yonder-bench: what is \"%s\"? See --help\n", argv[first]);
        return 2;
    }
    if (!check_options(&compare))
        return 2;
    int status = 2;
    static struct bench_baseline baseline;
    bool is_built = true;
    if (!choose_rows(&compare)) {
        is_built = false;
    } else if (compare.revision != NULL && !compare.is_list) {
        is_built = bench_baseline_build(&baseline, compare.revision);
        compare.baseline = baseline.program;
        if (!is_built)
            fprintf(stderr, "yonder-bench: %s\n", baseline.error);
    }
    if (is_built) {
        status = 0;
        for (size_t i = 0; compare.is_list && i < compare.report.n_results; i++)
            printf("%-8s %-58s %s\n", compare.report.results[i].row->group,
                   compare.report.results[i].row->name,
                   compare.report.results[i].command);
        if (!compare.is_list)
            status = run_compare(&compare);
    }
    bench_baseline_remove(&baseline);
    for (size_t i = 0; i < compare.report.n_results; i++)
        free(compare.report.results[i].command);
    free(compare.report.results);
    free(compare.is_loaded);
    return status;
}
