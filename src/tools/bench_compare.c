/*
 * A comparison. Two servers are started, or one is and a running one is taken. For each
 * row of the suite:
 *
 * 1. Its key is loaded into both, from the same bytes, unless it is there (bench_keys.c).
 * 2. A few requests are sent to both, and their replies compared (bench_verify.c). A row
 *    that finds a difference that docs/compat.md does not know has failed, and so has one
 *    whose replies are empty: speed at wrong answers is worth nothing.
 * 3. The same ring of requests runs on both in turn, A B A B, so that a disturbance of
 *    the machine meets both (bench_measure.c).
 *
 * Reported are medians over the rounds. CPU time is the server's own, all threads.
 */
#include "tools/bench_compare.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tools/bench_args.h"
#include "tools/bench_baseline.h"
#include "tools/bench_keys.h"
#include "tools/bench_measure.h"
#include "tools/bench_verify.h"

#define POINTS_DEFAULT 5000000u
#define WATER_PERCENT 5.0

static const char usage[] =
    "Usage: yonder-bench compare [options]\n"
    "\n"
    "Measures yonder-server (A) against redis-server or another peer (B): loads the same\n"
    "data into both, checks that they answer the same, and runs each row on both in turn.\n"
    "\n"
    "  --suite NAME           the rows: geo (the work of users, and worst cases), or growth\n"
    "                         (the same requests over keys and radii of many sizes; the\n"
    "                         JSON report feeds scripts/plot_growth)\n"
    "  --points N             points of the large key (5M)\n"
    "  --rounds N             measurements of each row on each server (5; growth: 3)\n"
    "  --duration S           seconds a measurement (1; growth: 0.3)\n"
    "  --server PROGRAM       A (yonder-server beside this program)\n"
    "  --peer HOST:PORT       B: a server that runs; its keys are overwritten\n"
    "  --redis PROGRAM        B: a program like redis-server (redis-server)\n"
    "  --baseline REV         B: yonder-server as of a revision, built for the purpose;\n"
    "                         A's changes against it are shown\n"
    "  --baseline-program P   B: another build of yonder-server\n"
    "  --water PERCENT        changes beyond it are named (5)\n"
    "  --test REGEX           only rows whose name matches\n"
    "  --group REGEX          only groups: load, empty, point, search, small, update, bulk,\n"
    "                         worst; growth: load, look-up, total, count-by-total, hits,\n"
    "                         count-by-radius\n"
    "  --command NAME         only rows of a command\n"
    "  --list                 list the rows and end\n"
    "  --cpus LIST            run on these processors; --server-cpus LIST: servers on those\n"
    "  --markdown FILE, --json FILE, --html FILE\n"
    "                         write the report there, too\n"
    "  --brief-markdown FILE  a narrower table, for a README\n"
    "  --places FILE          places of the data sets (data/cities.csv)\n"
    "\n"
    "Exit status: 0 every row succeeded; 1 some failed; 2 nothing could be measured.\n";

struct compare {
    uint64_t n_points, n_rounds; /* 0 rounds: as many as the suite has */
    double duration_s;           /* below 0: as the suite has it */
    double water_percent;
    const char *suite, *program, *redis, *baseline, *revision, *cpus, *server_cpus,
        *places;
    char *peer;
    const char *test, *group, *command;
    const char *markdown, *brief_markdown, *json, *html;
    bool is_list;
    struct bench_session session;
};

static void interrupt(int signal_number)
{
    (void)signal_number;
    bench_session_is_interrupted = 1;
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
    struct bench_session *session = &compare->session;
    struct bench_report *report = &session->report;
    const struct bench_suite *suite = &session->suite;
    regex_t test, group;
    if (!compile_regex(compare->test, &test))
        return false;
    if (!compile_regex(compare->group, &group)) {
        if (compare->test != NULL)
            regfree(&test);
        return false;
    }
    report->results = calloc(suite->n_rows, sizeof report->results[0]);
    session->is_loaded = calloc(suite->n_keys, sizeof session->is_loaded[0]);
    bool is_fine = report->results != NULL && session->is_loaded != NULL;
    for (size_t i = 0; i < suite->n_rows && is_fine; i++) {
        const struct bench_row *row = &suite->rows[i];
        if ((compare->test != NULL && regexec(&test, row->name, 0, NULL, 0) != 0) ||
            (compare->group != NULL && regexec(&group, row->group, 0, NULL, 0) != 0) ||
            (compare->command != NULL && !is_command(row, compare->command)))
            continue;
        struct bench_result *result = &report->results[report->n_results++];
        result->row = row;
        result->candidates = result->tested = result->leaves = -1;
        result->command = bench_fill_sizes(&session->fill, row->command);
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

static bool start_peer(struct compare *compare)
{
    struct bench_server *peer = &compare->session.servers[BENCH_THEIRS];
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
    struct bench_server *ours = &compare->session.servers[BENCH_OURS],
                        *theirs = &compare->session.servers[BENCH_THEIRS];
    if (compare->baseline != NULL)
        return;
    struct yn_reply *reply = bench_server_ask(ours, "CONFIG GET coordinate-format");
    compare->session.has_format = reply != NULL && reply->n_items == 2;
    yn_reply_free(reply);
    char version[64] = "";
    bench_cpu_info(&theirs->link, "redis_version", version, sizeof version);
    bool is_old = strcmp(theirs->name, "redis") == 0 && atoi(version) < 8;
    compare->session.by_value = !compare->session.has_format || !is_old;
}

static bool start_servers(struct compare *compare)
{
    char path[BENCH_SERVER_PATH_MAX];
    const char *program = compare->program != NULL
                              ? compare->program
                              : bench_server_beside("yonder-server", path);
    bool is_fine = bench_server_start(&compare->session.servers[BENCH_OURS],
                                      BENCH_SERVER_YONDER, program, compare->server_cpus);
    if (!is_fine)
        fprintf(stderr, "yonder-bench: A: %s\n",
                compare->session.servers[BENCH_OURS].error);
    if (is_fine && !start_peer(compare)) {
        fprintf(stderr, "yonder-bench: B: %s\n",
                compare->session.servers[BENCH_THEIRS].error);
        is_fine = false;
    }
    for (int i = 0; i < BENCH_N_SIDES && is_fine; i++) {
        const struct bench_server *server = &compare->session.servers[i];
        char name[sizeof compare->session.report.servers[i].name];
        bool is_baseline = i == BENCH_THEIRS && compare->revision != NULL;
        snprintf(name, sizeof name, "%s %s%s%s", server->name, server->version,
                 is_baseline ? " of " : "", is_baseline ? compare->revision : "");
        memcpy(compare->session.report.servers[i].name, name, sizeof name);
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

static void run_row(struct bench_session *session, struct bench_result *result)
{
    bool is_fine = bench_keys_load(session, result);
    if (!result->row->is_load) {
        is_fine = is_fine && bench_verify_row(session, result);
        is_fine = is_fine && bench_measure_row(session, result);
    } else {
        snprintf(result->checked, sizeof result->checked, "sizes same");
        result->hits = 1;
    }
    if (is_fine)
        result->outcome = BENCH_SUCCEEDED;
}

static void run_rows(struct bench_session *session)
{
    struct bench_report *report = &session->report;
    double start_s = bench_session_clock_s();
    fprintf(stderr,
            "%zu rows: about %.0f minutes, and the time to load keys and to check\n",
            report->n_results,
            ceil((double)report->n_results * 2 *
                 bench_measure_seconds(report->n_rounds, report->duration_s) / 60));
    for (size_t i = 0; i < report->n_results && !bench_session_is_interrupted; i++) {
        struct bench_result *result = &report->results[i];
        fprintf(stderr, "[%zu/%zu, %.0f s] %s\n", i + 1, report->n_results,
                bench_session_clock_s() - start_s, result->row->name);
        run_row(session, result);
        if (result->outcome == BENCH_FAILED)
            fprintf(stderr, "  failed: %s\n", result->reason);
        else
            fprintf(stderr, "  A %.0f/s, B %.0f/s: rate %.2fx, CPU %.2fx; %s\n",
                    bench_stats_median(&result->sides[BENCH_OURS].rate),
                    bench_stats_median(&result->sides[BENCH_THEIRS].rate),
                    bench_report_rate_ratio(result), bench_report_cpu_ratio(result),
                    result->checked);
        if (i + 1 < report->n_results) /* else the servers stop, or are not ours */
            bench_keys_drop_unused(session, i);
    }
}

static int run_compare(struct compare *compare)
{
    int status = 2;
    struct bench_report *report = &compare->session.report;
    report->water_percent = compare->baseline != NULL ? compare->water_percent : 0;
    for (int i = 0; i < BENCH_N_SIDES; i++) {
        cli_link_init(&compare->session.servers[i].link);
        cli_link_init(&compare->session.servers[i].cpu.link);
    }
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (start_servers(compare)) {
        bench_report_describe(report);
        run_rows(&compare->session);
        bench_report_write_text(report, stdout);
        bool is_written =
            write_file(report, compare->markdown, bench_report_write_markdown) &&
            write_file(report, compare->brief_markdown, bench_report_write_brief) &&
            write_file(report, compare->json, bench_report_write_json) &&
            write_file(report, compare->html, bench_report_write_html);
        size_t n[3];
        bench_report_count(report, n);
        status = is_written && n[BENCH_SUCCEEDED] == report->n_results ? 0 : 1;
    }
    for (int i = 0; i < BENCH_N_SIDES; i++)
        bench_server_stop(&compare->session.servers[i]);
    return status;
}

/* Opens the suite, and puts into the report what is to be measured. */
static bool open_suite(struct compare *compare)
{
    struct bench_session *session = &compare->session;
    if (!bench_suite_open(&session->suite, compare->suite, compare->n_points)) {
        fprintf(stderr, "yonder-bench: no suite \"%s\"; there are geo and growth\n",
                compare->suite);
        return false;
    }
    uint64_t n_rounds =
        compare->n_rounds > 0 ? compare->n_rounds : session->suite.n_rounds;
    session->fill = (struct bench_fill){compare->n_points, compare->places};
    session->report.suite = session->suite.name;
    session->report.n_points = compare->n_points;
    session->report.n_rounds = (unsigned)n_rounds;
    session->report.duration_s =
        compare->duration_s >= 0 ? compare->duration_s : session->suite.duration_s;
    session->is_baseline = compare->baseline != NULL || compare->revision != NULL;
    return true;
}

static bool check_options(const struct compare *compare)
{
    if (compare->n_rounds > BENCH_STATS_MAX)
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

static void list_rows(const struct bench_report *report)
{
    for (size_t i = 0; i < report->n_results; i++)
        printf("%-8s %-58s %s\n", report->results[i].row->group,
               report->results[i].row->name, report->results[i].command);
}

static void close_session(struct bench_session *session)
{
    for (size_t i = 0; i < session->report.n_results; i++)
        free(session->report.results[i].command);
    free(session->report.results);
    free(session->is_loaded);
    bench_suite_close(&session->suite);
}

int bench_compare_main(int argc, char **argv)
{
    static struct compare compare = {.suite = "geo",
                                     .redis = "redis-server",
                                     .n_points = POINTS_DEFAULT,
                                     .duration_s = -1,
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
        {"--brief-markdown", NULL, BENCH_ARG_TEXT, &compare.brief_markdown},
        {"--json", NULL, BENCH_ARG_TEXT, &compare.json},
        {"--html", NULL, BENCH_ARG_TEXT, &compare.html},
        {"--places", NULL, BENCH_ARG_TEXT, &compare.places},
        {0},
    };
    int first, exit_status;
    if (!bench_args_parse(table, usage, true, argc, argv, &first, &exit_status))
        return exit_status;
    if (first < argc) {
        fprintf(stderr, "yonder-bench: what is \"%s\"? See --help\n", argv[first]);
        return 2;
    }
    if (!check_options(&compare) || !open_suite(&compare))
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
    if (is_built && compare.is_list) {
        list_rows(&compare.session.report);
        status = 0;
    } else if (is_built) {
        status = run_compare(&compare);
    }
    bench_baseline_remove(&baseline);
    close_session(&compare.session);
    return status;
}
