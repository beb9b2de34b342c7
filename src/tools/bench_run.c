#include "tools/bench_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench_args.h"
#include "tools/bench_cpu.h"
#include "tools/bench_load.h"
#include "tools/cli_progress.h"

#define CONNECTIONS_MAX 10000
#define PIPELINE_MAX 10000
#define THREADS_MAX 64
#define RING_DEFAULT 100000

static const char usage_head[] =
    "Usage: yonder-bench run [options] command [argument ...]\n"
    "\n"
    "Sends a command with random parts over many connections, and shows how many a second\n"
    "the server answers, how long each takes, and how much processor time it costs.\n"
    "\n"
    "  -h HOST, -p PORT     the server (127.0.0.1, 6379)\n"
    "  -s SOCKET            its unix socket, instead of host and port\n"
    "  -a PASSWORD          password; better given in the environment as YONDER_AUTH\n"
    "  -3                   speak RESP3\n"
    "  --tls                speak TLS, with --cacert FILE, --cacertdir DIR, --cert FILE,\n"
    "                       --key FILE, --sni NAME, --insecure, --tls-ciphers LIST,\n"
    "                       --tls-ciphersuites LIST as yonder-cli has them\n"
    "  -c, --connections N  connections in all (50)\n"
    "  -P, --pipeline N     requests that a connection sends before it waits (1)\n"
    "  -t, --threads N      threads that share the connections (1)\n"
    "  -n, --requests N     requests in all, rounded up to whole pipelines\n"
    "  -d, --duration S     seconds to run (10, unless -n is given)\n"
    "  --warm-up S          seconds to run before that are not counted (0)\n"
    "  --ring N             requests made in advance a thread, sent round and round\n"
    "                       (100k)\n"
    "  --piece BYTES        send and receive at most so many at a time\n"
    "  --seed N             for the random parts (1)\n"
    "  --cpus LIST          run on these processors only (\"1\", \"0,2-3\")\n"
    "  --server-pid PID     the server's process, for its processor time (found through\n"
    "                       INFO when it is on this machine; else INFO tells the time)\n"
    "  --allow-errors       count error replies and go on; else the first ends the run\n"
    "  --json               print the figures as JSON\n"
    "  --no-progress        no progress report\n"
    "  --places FILE        places for {point:osm:N}, {move:N} (data/cities.csv)\n"
    "\n";

struct run {
    struct cli_options server;
    uint64_t n_connections, pipeline, n_threads, n_requests, ring, seed, piece_len;
    double duration_s, warm_up_s;
    const char *cpus, *places;
    int server_pid;
    bool allow_errors, is_json, no_progress;
};

static bool is_in_range(const char *what, uint64_t value, uint64_t max)
{
    if (value >= 1 && value <= max)
        return true;
    fprintf(stderr, "yonder-bench: %s must be 1 to %" PRIu64 "\n", what, max);
    return false;
}

static bool check(struct run *run)
{
    if (!is_in_range("the number of connections", run->n_connections, CONNECTIONS_MAX) ||
        !is_in_range("the pipeline", run->pipeline, PIPELINE_MAX) ||
        !is_in_range("the number of threads", run->n_threads, THREADS_MAX))
        return false;
    if (run->server.port < 1 || run->server.port > 65535) {
        fputs("yonder-bench: wrong port\n", stderr);
        return false;
    }
    if (run->n_threads > run->n_connections)
        run->n_connections = run->n_threads;
    if (run->n_requests == 0 && run->duration_s == 0)
        run->duration_s = 10;
    if (run->n_requests > 0 && run->duration_s > 0) {
        fputs("yonder-bench: either -n or -d\n", stderr);
        return false;
    }
    return true;
}

/* ---- the load ----------------------------------------------------------- */

struct progress {
    double shown_s;
    uint64_t shown_replies;
    bool is_terminal;
};

static void show(void *ctx, const struct bench_load_state *state)
{
    struct progress *progress = ctx;
    double since_s = state->elapsed_s - progress->shown_s;
    if (since_s < (progress->is_terminal ? 0.2 : 5))
        return;
    char count[CLI_PROGRESS_COUNT_MAX], rate[CLI_PROGRESS_COUNT_MAX];
    fprintf(
        stderr, "%s%.1f s  %s requests  %s/s  %.1f MB%s",
        progress->is_terminal ? "\r\033[K" : "", state->elapsed_s,
        cli_progress_count(state->n_replies, count),
        cli_progress_count(
            (uint64_t)((double)(state->n_replies - progress->shown_replies) / since_s),
            rate),
        (double)state->bytes_in * 1e-6, progress->is_terminal ? "" : "\n");
    progress->shown_s = state->elapsed_s;
    progress->shown_replies = state->n_replies;
}

static bool fill_rings(struct bench_ring *rings, const struct run *run,
                       const struct bench_template *template)
{
    uint64_t n = run->ring;
    if (run->n_requests > 0 && run->n_requests < n)
        n = run->n_requests;
    for (unsigned i = 0; i < run->n_threads; i++) {
        if (!bench_ring_fill(&rings[i], template, run->seed, i, n,
                             (size_t)run->pipeline)) {
            fputs("yonder-bench: out of memory\n", stderr);
            return false;
        }
    }
    return true;
}

static void print_text(const struct bench_load_result *r,
                       const struct bench_cpu_time *cpu, const char *cpu_source)
{
    const struct yn_histogram *h = &r->latency_ns;
    char count[CLI_PROGRESS_COUNT_MAX], rate[CLI_PROGRESS_COUNT_MAX];
    double n = (double)r->n_replies;
    printf("requests     %s in %.2f s\n", cli_progress_count(r->n_replies, count),
           r->elapsed_s);
    printf("rate         %s/s\n",
           cli_progress_count((uint64_t)(n / r->elapsed_s + 0.5), rate));
    printf("received     %.1f KB/s (%.1f bytes a reply), sent %.1f KB/s\n",
           (double)r->bytes_in / 1000 / r->elapsed_s, (double)r->bytes_in / n,
           (double)r->bytes_out / 1000 / r->elapsed_s);
    printf("latency      average %.3f ms, p50 %.3f, p99 %.3f, p99.9 %.3f, max %.3f\n",
           yn_histogram_mean(h) * 1e-6, yn_histogram_quantile(h, 0.5) * 1e-6,
           yn_histogram_quantile(h, 0.99) * 1e-6, yn_histogram_quantile(h, 0.999) * 1e-6,
           (double)h->max * 1e-6);
    if (cpu != NULL)
        printf("server CPU   %.3f us a request (%.3f user, %.3f system), from %s\n",
               (cpu->user_s + cpu->system_s) * 1e6 / n, cpu->user_s * 1e6 / n,
               cpu->system_s * 1e6 / n, cpu_source);
    else
        puts("server CPU   not known");
    printf("own CPU      %.3f us a request\n", r->own_cpu_s * 1e6 / n);
    if (r->n_errors > 0)
        printf("errors       %" PRIu64 ", the first: %s\n", r->n_errors, r->first_error);
    if (r->n_nulls > 0 || r->n_empty > 0)
        printf("note         %" PRIu64 " nulls in the replies, %" PRIu64
               " empty replies\n",
               r->n_nulls, r->n_empty);
}

static void print_json(const struct bench_load_result *r,
                       const struct bench_cpu_time *cpu)
{
    const struct yn_histogram *h = &r->latency_ns;
    double n = (double)r->n_replies;
    printf("{\"requests\": %" PRIu64 ", \"errors\": %" PRIu64 ", \"nulls\": %" PRIu64
           ", \"empty\": %" PRIu64 ", \"seconds\": %.6f, \"requests_per_second\": %.3f, "
           "\"kb_per_second\": %.3f, \"bytes_per_reply\": %.3f, ",
           r->n_replies, r->n_errors, r->n_nulls, r->n_empty, r->elapsed_s,
           n / r->elapsed_s, (double)r->bytes_in / 1000 / r->elapsed_s,
           (double)r->bytes_in / n);
    printf("\"latency_us\": {\"average\": %.3f, \"p50\": %.3f, \"p99\": %.3f, "
           "\"p99.9\": %.3f, \"max\": %.3f}",
           yn_histogram_mean(h) * 1e-3, yn_histogram_quantile(h, 0.5) * 1e-3,
           yn_histogram_quantile(h, 0.99) * 1e-3, yn_histogram_quantile(h, 0.999) * 1e-3,
           (double)h->max * 1e-3);
    printf(", \"own_cpu_us\": %.4f", r->own_cpu_s * 1e6 / n);
    if (cpu != NULL)
        printf(", \"server_cpu_us\": {\"user\": %.4f, \"system\": %.4f, \"total\": %.4f}",
               cpu->user_s * 1e6 / n, cpu->system_s * 1e6 / n,
               (cpu->user_s + cpu->system_s) * 1e6 / n);
    puts("}");
}

static int measure(const struct run *run, struct bench_ring *rings)
{
    struct progress progress = {.is_terminal = isatty(STDERR_FILENO) != 0};
    struct bench_load_options options = {
        .server = &run->server,
        .n_connections = (unsigned)run->n_connections,
        .n_threads = (unsigned)run->n_threads,
        .duration_s = run->warm_up_s,
        .piece_len = (size_t)run->piece_len,
        .allow_errors = run->allow_errors,
        .show = run->no_progress ? NULL : show,
        .show_ctx = &progress,
    };
    static struct bench_load_result result;
    bool is_fine = run->warm_up_s == 0 || bench_load_run(&options, rings, &result);
    options.duration_s = run->duration_s;
    options.n_requests = run->n_requests;
    progress.shown_s = 0;
    progress.shown_replies = 0;

    struct bench_cpu cpu;
    struct bench_cpu_time before, after;
    bench_cpu_open(&cpu, &run->server, (pid_t)run->server_pid);
    bool has_cpu = bench_cpu_read(&cpu, &before);
    is_fine = is_fine && bench_load_run(&options, rings, &result);
    has_cpu = has_cpu && bench_cpu_read(&cpu, &after);
    if (progress.is_terminal && !run->no_progress)
        fputs("\r\033[K", stderr);
    if (result.n_replies > 0 && result.elapsed_s > 0) {
        struct bench_cpu_time used = {0, 0};
        if (has_cpu)
            used = (struct bench_cpu_time){after.user_s - before.user_s,
                                           after.system_s - before.system_s};
        if (run->is_json)
            print_json(&result, has_cpu ? &used : NULL);
        else
            print_text(&result, has_cpu ? &used : NULL, bench_cpu_source(&cpu));
    }
    if (!is_fine)
        fprintf(stderr, "yonder-bench: %s\n", result.failure);
    bench_cpu_close(&cpu);
    return is_fine ? 0 : 1;
}

static int run_command(const struct run *run, int n_words, char **words)
{
    struct bench_template template;
    if (!bench_template_open(&template, n_words, words, run->places)) {
        fprintf(stderr, "yonder-bench: %s\n", template.error);
        return 2;
    }
    int status = 1;
    struct bench_ring *rings = calloc(run->n_threads, sizeof *rings);
    if (rings != NULL && fill_rings(rings, run, &template))
        status = measure(run, rings);
    for (unsigned i = 0; rings != NULL && i < run->n_threads; i++)
        bench_ring_clear(&rings[i]);
    free(rings);
    bench_template_close(&template);
    return status;
}

int bench_run_main(int argc, char **argv)
{
    struct run run = {.n_connections = 50,
                      .pipeline = 1,
                      .n_threads = 1,
                      .ring = RING_DEFAULT,
                      .seed = 1};
    bench_args_init_server(&run.server);
    const struct bench_arg table[] = {
        {"-h", NULL, BENCH_ARG_TEXT, &run.server.host},
        {"-p", NULL, BENCH_ARG_INT, &run.server.port},
        {"-s", NULL, BENCH_ARG_TEXT, &run.server.socket_path},
        {"-a", NULL, BENCH_ARG_TEXT, &run.server.password},
        {"--tls", NULL, BENCH_ARG_FLAG, &run.server.tls.is_on},
        {"--cacert", NULL, BENCH_ARG_TEXT, &run.server.tls.ca_file},
        {"--cacertdir", NULL, BENCH_ARG_TEXT, &run.server.tls.ca_dir},
        {"--cert", NULL, BENCH_ARG_TEXT, &run.server.tls.cert_file},
        {"--key", NULL, BENCH_ARG_TEXT, &run.server.tls.key_file},
        {"--sni", NULL, BENCH_ARG_TEXT, &run.server.tls.server_name},
        {"--insecure", NULL, BENCH_ARG_FLAG, &run.server.tls.is_insecure},
        {"--tls-ciphers", NULL, BENCH_ARG_TEXT, &run.server.tls.ciphers},
        {"--tls-ciphersuites", NULL, BENCH_ARG_TEXT, &run.server.tls.ciphersuites},
        {"-3", NULL, BENCH_ARG_FLAG, &run.server.resp3},
        {"-c", "--connections", BENCH_ARG_COUNT, &run.n_connections},
        {"-P", "--pipeline", BENCH_ARG_COUNT, &run.pipeline},
        {"-t", "--threads", BENCH_ARG_COUNT, &run.n_threads},
        {"-n", "--requests", BENCH_ARG_COUNT, &run.n_requests},
        {"-d", "--duration", BENCH_ARG_NUMBER, &run.duration_s},
        {"--warm-up", NULL, BENCH_ARG_NUMBER, &run.warm_up_s},
        {"--ring", NULL, BENCH_ARG_COUNT, &run.ring},
        {"--piece", NULL, BENCH_ARG_COUNT, &run.piece_len},
        {"--seed", NULL, BENCH_ARG_COUNT, &run.seed},
        {"--cpus", NULL, BENCH_ARG_TEXT, &run.cpus},
        {"--server-pid", NULL, BENCH_ARG_INT, &run.server_pid},
        {"--allow-errors", NULL, BENCH_ARG_FLAG, &run.allow_errors},
        {"--json", NULL, BENCH_ARG_FLAG, &run.is_json},
        {"--no-progress", NULL, BENCH_ARG_FLAG, &run.no_progress},
        {"--places", NULL, BENCH_ARG_TEXT, &run.places},
        {0},
    };
    char usage[8192];
    snprintf(usage, sizeof usage, "%s%s", usage_head, bench_template_help);
    int first, exit_status;
    if (!bench_args_parse(table, usage, true, argc, argv, &first, &exit_status))
        return exit_status;
    if (!check(&run))
        return 2;
    if (run.cpus != NULL && !bench_cpu_pin(run.cpus)) {
        fprintf(stderr, "yonder-bench: cannot run on processors \"%s\"\n", run.cpus);
        return 2;
    }
    return run_command(&run, argc - first, argv + first);
}
