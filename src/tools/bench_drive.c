/*
 * One row on one server: for profilers, which watch the server meanwhile, and for a look
 * at a single row. Loading and driving can be had apart, so that a profile holds only
 * what the row does. Answers are not checked beyond errors, nulls and empty ones; that is
 * the comparison's task.
 */
#include "tools/bench_drive.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench_args.h"
#include "tools/bench_cpu.h"
#include "tools/bench_fill.h"
#include "tools/bench_load.h"

#define POINTS_DEFAULT 1000000u
#define DURATION_DEFAULT_S 5
#define RING_POINT 500000u /* requests prepared for look-ups */
#define RING_SEARCH 1000u  /* centres of searches */
#define BESIDE_CONNECTIONS 4
#define THREADS_MAX 16

static const char usage[] =
    "Usage: yonder-bench drive ROW [options]\n"
    "\n"
    "Loads the key of a row (yonder-bench compare --list names them) into one server, and\n"
    "sends the row's requests to it. The key is deleted and made anew.\n"
    "\n"
    "  -h HOST, -p PORT    the server (127.0.0.1, 6379); -s SOCKET: its unix socket\n"
    "  -a PASSWORD         password; better given in the environment as YONDER_AUTH\n"
    "  --points N          points of the large key (1M)\n"
    "  --duration S        seconds to run (5)\n"
    "  -n, --requests N    requests to send instead\n"
    "  --load-only         only load the key\n"
    "  --no-load           the key is there already\n"
    "  --cpus LIST         run on these processors only\n"
    "  --json              print the figures as JSON\n"
    "  --places FILE       places of the data sets (data/cities.csv)\n"
    "\n"
    "The row \"load\" is the loading itself, again and again until the time is over.\n";

struct drive {
    struct bench_fill fill;
    struct bench_suite suite;
    const struct bench_row *row;
    struct cli_options server;
    uint64_t n_requests;
    double duration_s;
    bool is_load_only, is_no_load, is_json;
    const char *cpus;
};

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "yonder-bench: %s: %s\n", what, why);
    return false;
}

/* ---- the key ------------------------------------------------------------ */

static bool drop_key(struct bench_feed *feed, const char *name)
{
    const struct yn_bytes words[] = {{"DEL", 3}, {name, strlen(name)}};
    yn_buf_append(&feed->out, "*2\r\n", 4);
    for (size_t i = 0; i < 2; i++) {
        char header[24];
        int len = snprintf(header, sizeof header, "$%zu\r\n", words[i].len);
        yn_buf_append(&feed->out, header, (size_t)len);
        yn_buf_append(&feed->out, words[i].data, words[i].len);
        yn_buf_append(&feed->out, "\r\n", 2);
    }
    feed->n_sent++;
    return bench_feed_finish(feed);
}

/* Loads the row's key, if it has one; counts its elements in *n. */
static bool load_key(const struct drive *drive, uint64_t *n)
{
    if (drive->row->key == NULL)
        return true;
    const struct bench_key *key = bench_suite_find_key(&drive->suite, drive->row->key);
    struct bench_feed feed;
    if (key == NULL)
        return fail(drive->row->name, "its key is not known");
    bool is_fine = bench_feed_open(&feed, &drive->server) && drop_key(&feed, key->name) &&
                   bench_fill_key(&drive->fill, key, &feed, NULL, NULL);
    if (!is_fine)
        fail(key->name, feed.error);
    *n += bench_fill_count(&drive->fill, key);
    bench_feed_close(&feed);
    return is_fine;
}

/* ---- the load ----------------------------------------------------------- */

/* A command's requests, one ring a thread. */
struct requests {
    struct bench_template template;
    struct bench_ring rings[THREADS_MAX];
    unsigned n_rings;
    char *text;
};

static bool open_requests(struct requests *requests, const struct drive *drive,
                          const char *command, unsigned n_threads, size_t pipeline)
{
    const struct bench_row *row = drive->row;
    uint64_t n = row->ring > 0                  ? row->ring
                 : bench_row_is_search(command) ? RING_SEARCH
                                                : RING_POINT;
    memset(requests, 0, sizeof *requests);
    if (drive->n_requests > 0 && drive->n_requests < n)
        n = drive->n_requests;
    if (!bench_fill_open(&drive->fill, &requests->template, command, NULL,
                         &requests->text)) {
        fail(row->name, requests->template.error);
        free(requests->text);
        return false;
    }
    requests->n_rings = n_threads;
    bool is_fine = true;
    for (unsigned i = 0; i < n_threads && is_fine; i++)
        is_fine =
            bench_ring_fill(&requests->rings[i], &requests->template, 1, i, n, pipeline);
    return is_fine || fail(row->name, "out of memory");
}

static void close_requests(struct requests *requests)
{
    if (requests->text == NULL)
        return;
    for (unsigned i = 0; i < requests->n_rings; i++)
        bench_ring_clear(&requests->rings[i]);
    bench_template_close(&requests->template);
    free(requests->text);
}

/* The load that some rows have beside their own, in a thread. */
struct beside {
    struct requests requests;
    struct bench_load_options options;
    struct bench_load_result result;
    pthread_t thread;
    bool is_running;
};

static void *run_beside(void *arg)
{
    struct beside *beside = arg;
    bench_load_run(&beside->options, beside->requests.rings, &beside->result);
    return NULL;
}

static bool start_beside(struct beside *beside, const struct drive *drive)
{
    if (!open_requests(&beside->requests, drive, drive->row->beside, 1, 1))
        return false;
    beside->options = (struct bench_load_options){.server = &drive->server,
                                                  .n_connections = BESIDE_CONNECTIONS,
                                                  .n_threads = 1,
                                                  .duration_s = drive->duration_s};
    beside->is_running = pthread_create(&beside->thread, NULL, run_beside, beside) == 0;
    if (!beside->is_running)
        close_requests(&beside->requests);
    return beside->is_running || fail(drive->row->name, "could not start a thread");
}

static bool end_beside(struct beside *beside)
{
    if (!beside->is_running)
        return true;
    pthread_join(beside->thread, NULL);
    close_requests(&beside->requests);
    return beside->result.failure[0] == '\0' || fail("beside", beside->result.failure);
}

/* What a run has found out. */
struct figures {
    uint64_t n; /* requests; points for the loading */
    double elapsed_s, bytes;
};

static bool run_requests(const struct drive *drive, struct figures *figures)
{
    static struct bench_load_result result; /* large */
    static struct beside beside;
    const struct bench_row *row = drive->row;
    struct requests requests;
    unsigned n_threads = row->n_threads < THREADS_MAX ? row->n_threads : THREADS_MAX;
    struct bench_load_options options = {
        .server = &drive->server,
        .n_connections = row->n_connections,
        .n_threads = n_threads,
        .n_requests = drive->n_requests,
        .duration_s = drive->n_requests > 0 ? 0 : drive->duration_s,
        .n_min = 1,
        .piece_len = row->piece_len,
    };
    memset(&beside, 0, sizeof beside);
    bool is_fine =
        open_requests(&requests, drive, row->command, n_threads, row->pipeline);
    is_fine = is_fine && (row->beside == NULL || start_beside(&beside, drive));
    if (is_fine && !bench_load_run(&options, requests.rings, &result))
        is_fine = fail(row->name, result.failure);
    is_fine = end_beside(&beside) && is_fine;
    close_requests(&requests);
    figures->n = result.n_replies;
    figures->elapsed_s = result.elapsed_s;
    figures->bytes = (double)result.bytes_in;
    if (is_fine && result.n_nulls > 0)
        return fail(row->name, "nulls in the replies: members are missing");
    if (is_fine && result.n_empty == result.n_replies &&
        bench_row_is_search(row->command) && !row->is_empty)
        return fail(row->name, "all replies are empty: the key is missing");
    return is_fine;
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool run_loads(const struct drive *drive, struct figures *figures)
{
    double start_s = clock_s();
    do {
        if (!load_key(drive, &figures->n))
            return false;
        figures->elapsed_s = clock_s() - start_s;
    } while (drive->n_requests == 0 && figures->elapsed_s < drive->duration_s);
    return true;
}

static void show(const struct drive *drive, const struct figures *figures,
                 const struct bench_cpu_time *cpu)
{
    double n = (double)figures->n;
    const char *unit = drive->row->is_load ? "point" : "request";
    if (drive->is_json) {
        printf("{\"row\": \"%s\", \"requests\": %" PRIu64 ", \"seconds\": %.6f, "
               "\"requests_per_second\": %.3f, \"bytes_per_reply\": %.3f",
               drive->row->name, figures->n, figures->elapsed_s, n / figures->elapsed_s,
               figures->bytes / n);
        if (cpu != NULL)
            printf(", \"server_cpu_us\": {\"user\": %.4f, \"system\": %.4f, "
                   "\"total\": %.4f}",
                   cpu->user_s * 1e6 / n, cpu->system_s * 1e6 / n,
                   (cpu->user_s + cpu->system_s) * 1e6 / n);
        puts("}");
        return;
    }
    printf("%s: %" PRIu64 " %ss in %.2f s, %.0f a second", drive->row->name, figures->n,
           unit, figures->elapsed_s, n / figures->elapsed_s);
    if (cpu != NULL)
        printf("; server CPU %.3f us a %s (%.3f user, %.3f system)",
               (cpu->user_s + cpu->system_s) * 1e6 / n, unit, cpu->user_s * 1e6 / n,
               cpu->system_s * 1e6 / n);
    putchar('\n');
}

static bool drive_row(const struct drive *drive)
{
    struct figures figures = {0};
    struct bench_cpu cpu;
    struct bench_cpu_time before, after;
    uint64_t n_loaded = 0;
    if (!drive->row->is_load && !drive->is_no_load && !load_key(drive, &n_loaded))
        return false;
    if (drive->is_load_only)
        return true;
    bench_cpu_open(&cpu, &drive->server, 0);
    bool has_cpu = bench_cpu_read(&cpu, &before);
    bool is_fine =
        drive->row->is_load ? run_loads(drive, &figures) : run_requests(drive, &figures);
    has_cpu = has_cpu && bench_cpu_read(&cpu, &after);
    bench_cpu_close(&cpu);
    if (is_fine && figures.n > 0 && figures.elapsed_s > 0) {
        struct bench_cpu_time used = {0, 0};
        if (has_cpu)
            used = (struct bench_cpu_time){after.user_s - before.user_s,
                                           after.system_s - before.system_s};
        show(drive, &figures, has_cpu ? &used : NULL);
    }
    return is_fine;
}

static bool check(const struct drive *drive, const char *name)
{
    if (drive->row == NULL)
        fprintf(stderr,
                "yonder-bench: no row \"%s\"; yonder-bench compare --list names them\n",
                name);
    else if (drive->server.port < 1 || drive->server.port > 65535)
        fputs("yonder-bench: wrong port\n", stderr);
    else if (drive->is_load_only && drive->is_no_load)
        fputs("yonder-bench: either --load-only or --no-load\n", stderr);
    else if (drive->cpus != NULL && !bench_cpu_pin(drive->cpus))
        fprintf(stderr, "yonder-bench: cannot run on processors \"%s\"\n", drive->cpus);
    else
        return true;
    return false;
}

int bench_drive_main(int argc, char **argv)
{
    struct drive drive = {.fill.n_points = POINTS_DEFAULT,
                          .duration_s = DURATION_DEFAULT_S};
    bench_args_init_server(&drive.server);
    const struct bench_arg table[] = {
        {"-h", NULL, BENCH_ARG_TEXT, &drive.server.host},
        {"-p", NULL, BENCH_ARG_INT, &drive.server.port},
        {"-s", NULL, BENCH_ARG_TEXT, &drive.server.socket_path},
        {"-a", NULL, BENCH_ARG_TEXT, &drive.server.password},
        {"--points", NULL, BENCH_ARG_COUNT, &drive.fill.n_points},
        {"-d", "--duration", BENCH_ARG_NUMBER, &drive.duration_s},
        {"-n", "--requests", BENCH_ARG_COUNT, &drive.n_requests},
        {"--load-only", NULL, BENCH_ARG_FLAG, &drive.is_load_only},
        {"--no-load", NULL, BENCH_ARG_FLAG, &drive.is_no_load},
        {"--cpus", NULL, BENCH_ARG_TEXT, &drive.cpus},
        {"--json", NULL, BENCH_ARG_FLAG, &drive.is_json},
        {"--places", NULL, BENCH_ARG_TEXT, &drive.fill.places},
        {0},
    };
    int first, exit_status;
    if (!bench_args_parse(table, usage, false, argc, argv, &first, &exit_status))
        return exit_status;
    if (argc - first != 1) {
        fputs(usage, stderr);
        return 2;
    }
    if (!bench_suite_open(&drive.suite, "geo", drive.fill.n_points))
        return 2;
    drive.row = bench_suite_find_row(&drive.suite, argv[first]);
    int status = 2;
    if (check(&drive, argv[first]))
        status = drive_row(&drive) ? 0 : 1;
    bench_suite_close(&drive.suite);
    return status;
}
