/*
 * What a look-up and an update feel while four clients repeat a search whose reply is a
 * hundred thousand members. For each server in turn, so that one key is in memory at a
 * time:
 *
 * 1. It is started and the key is loaded.
 * 2. Rounds of two phases: quiet, where only the small requests run, and loaded, beside
 *    the searchers. Small requests keep a time-table and count from it (bench_pace.c);
 *    searchers throw their replies away unread (bench_repeat.c).
 *
 * All of it runs on the server's own machine, where it would measure itself: a searcher
 * that is handed a processor before the server, or a client that finds its processor
 * taken when its reply arrives, adds milliseconds that no server can help. Therefore the
 * clients of small requests go before everybody (they need a few per cent of a
 * processor), the searchers behind everybody, and idle processors are kept from halting.
 * How late the generator was is told beside the latencies, which contain it.
 *
 * Writers move a random member to a random point of the data set: the members of a search
 * stay as many, and both leaves of a move are shared with the views of searches that are
 * under way.
 */
#include "tools/bench_mixed.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "tools/bench_args.h"
#include "tools/bench_mixed_report.h"
#include "tools/bench_priority.h"
#include "tools/bench_session.h"

#define POINTS_DEFAULT 5000000u
#define MEMBERS_DEFAULT 100000u
#define MEMBERS_SHARE_MIN 50 /* of the points at most a 50th lies in the circle */
#define RADIUS_MIN_KM 0.1
#define RADIUS_MAX_KM 5000.0
#define RADIUS_TRIES 6
#define RADIUS_SEARCHES 10
#define RADIUS_NEAR_ENOUGH 0.01
#define RING_SMALL 100000u
#define RING_SEARCH 1000u
#define WARM_UP_S 0.5
#define START_MAX_S 60 /* for the first reply of each searcher */
#define WAIT_MS 2
#define SHOW_EVERY_S 5
#define CALM_LOOK_MS 300
#define CALM_MAX_S 900 /* for a round */

static const char usage[] =
    "Usage: yonder-bench mixed [options]\n"
    "\n"
    "Measures how long small requests (GEOPOS, GEOADD) take with and without clients that\n"
    "repeat a search of 100 thousand members, on yonder-server and on redis-server, one\n"
    "after the other.\n"
    "\n"
    "  --points N             points of the key (5M)\n"
    "  --members N            members that a search finds on average (100k, but no more\n"
    "                         than a 50th of the points): the radius is chosen for it\n"
    "  --radius KM            this radius instead; 200 km find 100k of 60,841,557\n"
    "  --searchers N          clients that repeat the search (4)\n"
    "  --readers N            clients that send GEOPOS of a random member (4)\n"
    "  --writers N            clients that move a random member by GEOADD (4)\n"
    "  --rate N               requests a second of each reader and writer (500)\n"
    "  --duration S           seconds a phase, quiet and beside searches (2)\n"
    "  --rounds N             how often both phases are run (5): figures are\n"
    "                         medians of the rounds\n"
    "\n"
    "  --server PROGRAM       yonder-server (the one beside this program)\n"
    "  --threads LIST         its threads; of \"1,2\" each is measured (its own default)\n"
    "  --redis PROGRAM        a program like redis-server (redis-server)\n"
    "  --alone                no redis-server\n"
    "  --join HOST:PORT       only this server, which runs already; its key \"key\" is\n"
    "                         overwritten\n"
    "  --no-load              with --join: the key is there already\n"
    "  --cpus LIST            run on these processors; --server-cpus LIST: servers on those\n"
    "  --may-sleep            do not keep the processors awake\n"
    "  --calm PERCENT         measure a round again in which other programs took more than\n"
    "                         so much of a processor (0: take it as it is)\n"
    "  --markdown FILE, --json FILE\n"
    "                         write the report there, too\n"
    "  --places FILE          places of the data sets (data/cities.csv)\n"
    "\n"
    "Each reader and writer sends at the moments of its time-table, whether it has been\n"
    "answered or not, and a latency counts from that moment: requests that a user would\n"
    "have sent while the server stood still are counted, too.\n"
    "\n"
    "Server and clients share the machine. So that the server is measured and not the\n"
    "scheduler, readers and writers run with real-time priority (or nice -10, or as they\n"
    "are, as the system permits), searchers with idle priority, and a thread of idle\n"
    "priority on each processor keeps it from halting, since to wake a processor of a\n"
    "virtual machine may take longer than the request. Where others use the machine, too,\n"
    "take --calm: the tail of the latencies is theirs otherwise.\n"
    "\n"
    "Exit status: 0 everything was measured; 1 something failed; 2 wrong options.\n";

struct mixed {
    uint64_t n_points, n_members, n_searchers, n_readers, n_writers, n_rounds;
    double radius_km, rate, duration_s, calm_percent;
    const char *program, *redis, *cpus, *server_cpus, *places, *markdown, *json;
    char *threads, *join;
    bool is_alone, is_no_load, may_sleep;
    struct bench_fill fill;
    struct bench_ring rings[BENCH_MIXED_N_KINDS], searches;
    struct bench_mixed_report report;
    uint64_t seed; /* of the next time-tables */
};

/* What is to be measured. */
struct subject {
    enum bench_server_kind kind;
    const char *program, *threads;
    struct cli_options at;
};

static void interrupt(int signal_number)
{
    (void)signal_number;
    bench_session_is_interrupted = 1;
}

static bool fail(const char *what, const char *why)
{
    fprintf(stderr, "yonder-bench: %s: %s\n", what, why);
    return false;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){0, WAIT_MS * 1000000}, NULL);
}

/* ---- requests -------------------------------------------------------------- */

static bool fill_ring(const struct mixed *mixed, const char *command, uint64_t n,
                      struct bench_ring *out_ring)
{
    struct bench_template template;
    char *text;
    bool is_fine = bench_fill_open(&mixed->fill, &template, command, NULL, &text);
    if (!is_fine)
        fail(command, template.error);
    else if (!bench_ring_fill(out_ring, &template, 1, 0, n, 1))
        is_fine = fail(command, "out of memory");
    if (is_fine || template.pieces != NULL)
        bench_template_close(&template);
    free(text);
    return is_fine;
}

static bool fill_searches(struct mixed *mixed, double radius_km)
{
    char command[160];
    bench_ring_clear(&mixed->searches);
    snprintf(command, sizeof command,
             "GEOSEARCH key FROMLONLAT {near:7,55,40km} BYRADIUS %.3f km", radius_km);
    return fill_ring(mixed, command, RING_SEARCH, &mixed->searches);
}

static bool fill_rings(struct mixed *mixed)
{
    return fill_ring(mixed, "GEOPOS key {member:1-@N}", RING_SMALL,
                     &mixed->rings[BENCH_MIXED_READ]) &&
           fill_ring(mixed, "GEOADD key {point:osm:@N} {member:1-@N}", RING_SMALL,
                     &mixed->rings[BENCH_MIXED_WRITE]);
}

/* ---- the key --------------------------------------------------------------- */

struct progress {
    uint64_t n;
    double start_s, next_s;
};

static bool show_load(void *ctx, uint64_t n_points)
{
    struct progress *progress = ctx;
    double now = bench_session_clock_s(), share = (double)n_points / (double)progress->n;
    if (now >= progress->next_s && share > 0) {
        progress->next_s = now + SHOW_EVERY_S;
        fprintf(stderr, "  loading: %.0f %%, %.0f s to go\n", share * 100,
                (now - progress->start_s) * (1 - share) / share);
    }
    return bench_session_is_interrupted == 0;
}

static bool load_key(const struct mixed *mixed, struct bench_server *server,
                     struct bench_mixed_side *side)
{
    static const struct bench_key key = {"key", "osm", NULL, "@N"};
    struct bench_feed feed;
    if (!bench_server_do(server, "DEL key"))
        return fail(side->name, server->error);
    double start_s = bench_session_clock_s();
    struct progress progress = {mixed->n_points, start_s, start_s + SHOW_EVERY_S};
    bool is_fine = bench_feed_open(&feed, &server->at) &&
                   bench_fill_key(&mixed->fill, &key, &feed, show_load, &progress);
    if (!is_fine)
        fail(side->name, bench_session_is_interrupted ? "interrupted" : feed.error);
    bench_feed_close(&feed);
    side->load_s = bench_session_clock_s() - start_s;
    return is_fine;
}

/* Members of a few searches on average; below 0: they failed. */
static double count_members(const struct mixed *mixed, struct bench_server *server)
{
    static struct bench_repeat_result result; /* large */
    memset(&result, 0, sizeof result);
    struct bench_repeat *repeat = bench_repeat_start(&server->at, &mixed->searches, 1);
    while (repeat != NULL && bench_repeat_count(repeat) < RADIUS_SEARCHES &&
           !bench_repeat_has_failed(repeat) && !bench_session_is_interrupted)
        wait_a_little();
    if (repeat == NULL || !bench_repeat_stop(repeat, &result) || result.n_replies == 0) {
        fail("searches", repeat != NULL ? result.failure : "out of memory");
        return -1;
    }
    return (double)result.n_members / (double)result.n_replies;
}

/* Finds the radius for the number of members, near which it grows as its square. */
static bool choose_radius(struct mixed *mixed, struct bench_server *server)
{
    double target = (double)mixed->n_members;
    double radius_km = 200 * sqrt(target / 1e5 * 60841557.0 / (double)mixed->n_points);
    for (int i = 0; i < RADIUS_TRIES && !bench_session_is_interrupted; i++) {
        radius_km = fmin(fmax(radius_km, RADIUS_MIN_KM), RADIUS_MAX_KM);
        if (!fill_searches(mixed, radius_km))
            return false;
        double n = count_members(mixed, server);
        if (n < 0)
            return false;
        if (fabs(n / target - 1) < RADIUS_NEAR_ENOUGH)
            break;
        if (i + 1 < RADIUS_TRIES)
            radius_km *= fmin(fmax(sqrt(target / fmax(n, 1)), 0.25), 4);
    }
    mixed->report.radius_km = radius_km;
    fprintf(stderr, "  searches of %.1f km\n", radius_km);
    return true;
}

static bool prepare(struct mixed *mixed, struct bench_server *server,
                    struct bench_mixed_side *side)
{
    if (!mixed->is_no_load) {
        fprintf(stderr, "  loading %" PRIu64 " points\n", mixed->n_points);
        if (!load_key(mixed, server, side))
            return false;
    }
    if (mixed->report.radius_km > 0) /* chosen for the first server, the same for all */
        return true;
    if (mixed->radius_km == 0)
        return choose_radius(mixed, server);
    mixed->report.radius_km = mixed->radius_km;
    return fill_searches(mixed, mixed->radius_km);
}

/* ---- a phase --------------------------------------------------------------- */

static bool run_pace(struct mixed *mixed, const struct bench_server *server,
                     double duration_s, struct bench_pace_result *result)
{
    const struct bench_pace_options options = {
        .server = &server->at,
        .kinds = {{&mixed->rings[BENCH_MIXED_READ], (unsigned)mixed->n_readers,
                   mixed->rate},
                  {&mixed->rings[BENCH_MIXED_WRITE], (unsigned)mixed->n_writers,
                   mixed->rate}},
        .n_kinds = BENCH_MIXED_N_KINDS,
        .duration_s = duration_s,
        .seed = mixed->seed++,
        .is_interrupted = &bench_session_is_interrupted,
    };
    if (!bench_pace_run(&options, result))
        return fail("small requests", result->failure);
    return result->n_nulls == 0 ||
           fail("small requests", "nulls in the replies: members are missing");
}

/* Every searcher has had a reply: their connections stand, and the load is there. */
static bool wait_for_searches(const struct mixed *mixed, struct bench_repeat *repeat)
{
    double until_s = bench_session_clock_s() + START_MAX_S;
    while (bench_repeat_count(repeat) < mixed->n_searchers) {
        if (bench_repeat_has_failed(repeat) || bench_session_is_interrupted ||
            bench_session_clock_s() > until_s)
            return false;
        wait_a_little();
    }
    return true;
}

struct cpu_times {
    struct bench_cpu_time server;
    double machine_s, own_s;
    bool has_server, has_machine;
};

static void read_times(struct bench_server *server, struct cpu_times *out_times)
{
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    out_times->own_s = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                       (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) * 1e-6;
    out_times->has_server = bench_cpu_read(&server->cpu, &out_times->server);
    out_times->has_machine = bench_cpu_machine(&out_times->machine_s);
}

/* What is neither the server's nor this program's is that of others. */
static void note_times(const struct cpu_times *before, const struct cpu_times *after,
                       struct bench_mixed_round *round)
{
    round->server_cpu_s = round->others_cpu_s = -1;
    if (!before->has_server || !after->has_server)
        return;
    round->server_cpu_s = after->server.user_s - before->server.user_s +
                          after->server.system_s - before->server.system_s;
    if (before->has_machine && after->has_machine)
        round->others_cpu_s =
            fmax(after->machine_s - before->machine_s - round->server_cpu_s -
                     (after->own_s - before->own_s),
                 0);
}

static bool run_round(struct mixed *mixed, struct bench_server *server, bool is_loaded,
                      struct bench_mixed_round *round)
{
    struct bench_repeat *repeat = NULL;
    bool is_fine = true;
    memset(round, 0, sizeof *round);
    if (is_loaded) {
        repeat = bench_repeat_start(&server->at, &mixed->searches,
                                    (unsigned)mixed->n_searchers);
        if (repeat == NULL)
            return fail("searches", "out of memory");
        is_fine = wait_for_searches(mixed, repeat);
    }
    struct cpu_times before, after;
    double start_s = bench_session_clock_s();
    read_times(server, &before);
    is_fine = is_fine && run_pace(mixed, server, mixed->duration_s, &round->pace);
    read_times(server, &after);
    round->elapsed_s = bench_session_clock_s() - start_s;
    note_times(&before, &after, round);
    if (repeat != NULL && !bench_repeat_stop(repeat, &round->repeat))
        is_fine = fail("searches", round->repeat.failure);
    else if (is_fine && round->repeat.n_empty > 0)
        is_fine = fail("searches", "empty replies");
    return is_fine && !bench_session_is_interrupted;
}

static bool is_calm(const struct mixed *mixed, const struct bench_mixed_round *round)
{
    return mixed->calm_percent == 0 ||
           round->others_cpu_s * 100 <= mixed->calm_percent * round->elapsed_s;
}

/* Looks at the machine until other programs leave it alone for a moment. */
static void wait_for_calm(const struct mixed *mixed, struct bench_server *server,
                          double until_s)
{
    static struct bench_mixed_round look; /* large */
    struct cpu_times before, after;
    do {
        double start_s = bench_session_clock_s();
        read_times(server, &before);
        nanosleep(&(struct timespec){0, CALM_LOOK_MS * 1000000}, NULL);
        read_times(server, &after);
        look.elapsed_s = bench_session_clock_s() - start_s;
        note_times(&before, &after, &look);
    } while (!is_calm(mixed, &look) && bench_session_clock_s() < until_s &&
             !bench_session_is_interrupted);
}

/* A round, and another one while other programs disturb it. */
static bool run_phase(struct mixed *mixed, struct bench_server *server, bool is_loaded,
                      struct bench_mixed_phase *phase)
{
    static struct bench_mixed_round round; /* large */
    double until_s = bench_session_clock_s() + CALM_MAX_S;
    do {
        if (mixed->calm_percent > 0)
            wait_for_calm(mixed, server, until_s);
        if (!run_round(mixed, server, is_loaded, &round))
            return false;
        if (is_calm(mixed, &round)) {
            bench_mixed_report_add(phase, &round);
            return true;
        }
        fprintf(stderr, "  disturbed: other programs took %.0f %%\n",
                round.others_cpu_s * 100 / round.elapsed_s);
    } while (bench_session_clock_s() < until_s);
    return fail("no calm round", "other programs do not leave the processors alone");
}

static double last(const struct bench_stats *stats)
{
    return stats->n > 0 ? stats->values[stats->n - 1] : 0;
}

static bool run_phases(struct mixed *mixed, struct bench_server *server,
                       struct bench_mixed_side *side)
{
    static const char *const names[] = {"quiet", "beside searches"};
    static struct bench_pace_result unwanted; /* large */
    memset(&unwanted, 0, sizeof unwanted);
    if (!run_pace(mixed, server, fmin(WARM_UP_S, mixed->duration_s), &unwanted))
        return false;
    for (uint64_t i = 0; i < mixed->n_rounds * BENCH_MIXED_N_PHASES; i++) {
        int which = i % BENCH_MIXED_N_PHASES;
        struct bench_mixed_phase *phase = &side->phases[which];
        if (!run_phase(mixed, server, which == BENCH_MIXED_LOADED, phase))
            return false;
        fprintf(stderr, "  [%" PRIu64 "/%" PRIu64 "] %s: p99 GEOPOS %.3f ms, ", i / 2 + 1,
                mixed->n_rounds, names[which], last(&phase->latencies[0].p99));
        fprintf(stderr, "GEOADD %.3f ms\n", last(&phase->latencies[1].p99));
    }
    return true;
}

/* ---- a server -------------------------------------------------------------- */

static bool start(const struct mixed *mixed, const struct subject *subject,
                  struct bench_server *server)
{
    if (subject->kind == BENCH_SERVER_RUNNING)
        return bench_server_join(server, &subject->at);
    return bench_server_start_threads(server, subject->kind, subject->program,
                                      mixed->server_cpus, subject->threads);
}

static void name_side(struct bench_server *server, struct bench_mixed_side *side)
{
    side->n_threads = bench_server_count_threads(server);
    int len =
        snprintf(side->name, sizeof side->name, "%s %s", server->name, server->version);
    if (side->n_threads > 0)
        snprintf(side->name + len, sizeof side->name - (size_t)len, ", threads %u",
                 side->n_threads);
    for (char *p = side->name; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\' || *p == '|')
            *p = '?';
    }
}

static bool run_side(struct mixed *mixed, const struct subject *subject,
                     struct bench_mixed_side *side)
{
    static struct bench_server server;
    bool is_fine = start(mixed, subject, &server);
    if (!is_fine) {
        fail(subject->program != NULL ? subject->program : "server", server.error);
    } else {
        name_side(&server, side);
        fprintf(stderr, "%s\n", side->name);
        is_fine = prepare(mixed, &server, side) && run_phases(mixed, &server, side);
        side->resident_bytes = bench_server_memory(&server);
        side->is_done = is_fine;
    }
    bench_server_stop(&server);
    return is_fine;
}

/* ---- the whole ------------------------------------------------------------- */

static bool add_subject(struct mixed *mixed, struct subject *subjects,
                        struct subject subject)
{
    if (mixed->report.n_sides == BENCH_MIXED_SIDES_MAX)
        return fail("--threads", "too many servers");
    subjects[mixed->report.n_sides++] = subject;
    return true;
}

static bool choose_subjects(struct mixed *mixed, struct subject *subjects,
                            char path[BENCH_SERVER_PATH_MAX])
{
    if (mixed->join != NULL) {
        struct subject subject = {.kind = BENCH_SERVER_RUNNING};
        const char *host;
        bench_args_init_server(&subject.at);
        if (!bench_args_parse_address(mixed->join, &host, &subject.at.port))
            return fail("no address", mixed->join);
        subject.at.host = host != NULL ? host : subject.at.host;
        return add_subject(mixed, subjects, subject);
    }
    const char *program = mixed->program != NULL
                              ? mixed->program
                              : bench_server_beside("yonder-server", path);
    char *rest = NULL;
    const char *word =
        mixed->threads != NULL ? strtok_r(mixed->threads, ",", &rest) : NULL;
    do {
        long n;
        if (word != NULL && !cli_options_parse_number(word, 1, 1024, &n))
            return fail("no number of threads", word);
        if (!add_subject(mixed, subjects,
                         (struct subject){BENCH_SERVER_YONDER, program, word, {0}}))
            return false;
        word = word != NULL ? strtok_r(NULL, ",", &rest) : NULL;
    } while (word != NULL);
    return mixed->is_alone ||
           add_subject(mixed, subjects,
                       (struct subject){BENCH_SERVER_REDIS, mixed->redis, NULL, {0}});
}

static bool write_file(const struct bench_mixed_report *report, const char *path,
                       void (*write)(const struct bench_mixed_report *report, FILE *out))
{
    if (path == NULL)
        return true;
    FILE *file = fopen(path, "w");
    if (file != NULL)
        write(report, file);
    if (file != NULL && fclose(file) == 0)
        return true;
    return fail(path, strerror(errno));
}

static int run_mixed(struct mixed *mixed, const struct subject *subjects)
{
    static struct bench_awake awake;
    struct bench_mixed_report *report = &mixed->report;
    report->sides = calloc(report->n_sides, sizeof report->sides[0]);
    if (report->sides == NULL || !fill_rings(mixed))
        return 1;
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    bench_report_describe(&report->facts);
    report->is_awake = !mixed->may_sleep && bench_awake_start(&awake);
    if (!mixed->may_sleep && !report->is_awake)
        fputs("the processors cannot be kept awake here\n", stderr);
    bool is_fine = true;
    for (size_t i = 0; i < report->n_sides && !bench_session_is_interrupted; i++)
        is_fine = run_side(mixed, &subjects[i], &report->sides[i]) && is_fine;
    if (report->is_awake)
        bench_awake_stop(&awake);
    bench_mixed_report_write_text(report, stdout);
    is_fine =
        write_file(report, mixed->markdown, bench_mixed_report_write_markdown) && is_fine;
    is_fine = write_file(report, mixed->json, bench_mixed_report_write_json) && is_fine;
    return is_fine && !bench_session_is_interrupted ? 0 : 1;
}

static bool is_in_range(const char *what, uint64_t value, uint64_t max)
{
    if (value >= 1 && value <= max)
        return true;
    fprintf(stderr, "yonder-bench: %s must be 1 to %" PRIu64 "\n", what, max);
    return false;
}

static bool check(struct mixed *mixed)
{
    if (!is_in_range("the number of searchers", mixed->n_searchers, BENCH_REPEAT_MAX) ||
        !is_in_range("the number of readers", mixed->n_readers,
                     BENCH_PACE_CONNECTIONS_MAX) ||
        !is_in_range("the number of writers", mixed->n_writers,
                     BENCH_PACE_CONNECTIONS_MAX) ||
        !is_in_range("the number of rounds", mixed->n_rounds, BENCH_STATS_MAX))
        return false;
    if (mixed->rate < 0.1 || mixed->rate > 1e6 || mixed->duration_s <= 0 ||
        mixed->duration_s > 1e6 || mixed->radius_km > RADIUS_MAX_KM)
        fputs("yonder-bench: the rate must be 0.1 to 1,000,000, the duration over 0, the "
              "radius at most 5,000 km\n",
              stderr);
    else if (mixed->is_no_load && mixed->join == NULL)
        fputs("yonder-bench: --no-load goes with --join\n", stderr);
    else if (mixed->join != NULL && (mixed->threads != NULL || mixed->program != NULL))
        fputs("yonder-bench: --join starts no server\n", stderr);
    else if (mixed->cpus != NULL && !bench_cpu_pin(mixed->cpus))
        fprintf(stderr, "yonder-bench: cannot run on processors \"%s\"\n", mixed->cpus);
    else
        return true;
    return false;
}

/* Puts into the report what is to be measured. */
static void describe(struct mixed *mixed)
{
    struct bench_mixed_report *report = &mixed->report;
    uint64_t most = mixed->n_points / MEMBERS_SHARE_MIN;
    if (mixed->n_members == 0)
        mixed->n_members = most < MEMBERS_DEFAULT ? most : MEMBERS_DEFAULT;
    if (mixed->n_members == 0)
        mixed->n_members = 1;
    mixed->fill = (struct bench_fill){mixed->n_points, mixed->places};
    mixed->seed = 1;
    report->n_points = mixed->n_points;
    report->n_searchers = (unsigned)mixed->n_searchers;
    report->n_connections[BENCH_MIXED_READ] = (unsigned)mixed->n_readers;
    report->n_connections[BENCH_MIXED_WRITE] = (unsigned)mixed->n_writers;
    report->n_rounds = (unsigned)mixed->n_rounds;
    report->rate = mixed->rate;
    report->duration_s = mixed->duration_s;
    report->calm_percent = mixed->calm_percent;
}

int bench_mixed_main(int argc, char **argv)
{
    static struct mixed mixed = {.n_points = POINTS_DEFAULT,
                                 .n_searchers = 4,
                                 .n_readers = 4,
                                 .n_writers = 4,
                                 .n_rounds = 5,
                                 .rate = 500,
                                 .duration_s = 2,
                                 .redis = "redis-server"};
    const struct bench_arg table[] = {
        {"--points", NULL, BENCH_ARG_COUNT, &mixed.n_points},
        {"--members", NULL, BENCH_ARG_COUNT, &mixed.n_members},
        {"--radius", NULL, BENCH_ARG_NUMBER, &mixed.radius_km},
        {"--searchers", NULL, BENCH_ARG_COUNT, &mixed.n_searchers},
        {"--readers", NULL, BENCH_ARG_COUNT, &mixed.n_readers},
        {"--writers", NULL, BENCH_ARG_COUNT, &mixed.n_writers},
        {"--rate", NULL, BENCH_ARG_NUMBER, &mixed.rate},
        {"--duration", NULL, BENCH_ARG_NUMBER, &mixed.duration_s},
        {"--rounds", NULL, BENCH_ARG_COUNT, &mixed.n_rounds},
        {"--server", NULL, BENCH_ARG_TEXT, &mixed.program},
        {"--threads", NULL, BENCH_ARG_TEXT, &mixed.threads},
        {"--redis", NULL, BENCH_ARG_TEXT, &mixed.redis},
        {"--alone", NULL, BENCH_ARG_FLAG, &mixed.is_alone},
        {"--join", NULL, BENCH_ARG_TEXT, &mixed.join},
        {"--no-load", NULL, BENCH_ARG_FLAG, &mixed.is_no_load},
        {"--cpus", NULL, BENCH_ARG_TEXT, &mixed.cpus},
        {"--server-cpus", NULL, BENCH_ARG_TEXT, &mixed.server_cpus},
        {"--may-sleep", NULL, BENCH_ARG_FLAG, &mixed.may_sleep},
        {"--calm", NULL, BENCH_ARG_NUMBER, &mixed.calm_percent},
        {"--markdown", NULL, BENCH_ARG_TEXT, &mixed.markdown},
        {"--json", NULL, BENCH_ARG_TEXT, &mixed.json},
        {"--places", NULL, BENCH_ARG_TEXT, &mixed.places},
        {0},
    };
    struct subject subjects[BENCH_MIXED_SIDES_MAX];
    char path[BENCH_SERVER_PATH_MAX];
    int first, exit_status;
    if (!bench_args_parse(table, usage, false, argc, argv, &first, &exit_status))
        return exit_status;
    if (first < argc) {
        fprintf(stderr, "yonder-bench: what is \"%s\"? See --help\n", argv[first]);
        return 2;
    }
    if (!check(&mixed) || !choose_subjects(&mixed, subjects, path))
        return 2;
    describe(&mixed);
    int status = run_mixed(&mixed, subjects);
    for (int i = 0; i < BENCH_MIXED_N_KINDS; i++)
        bench_ring_clear(&mixed.rings[i]);
    bench_ring_clear(&mixed.searches);
    free(mixed.report.sides);
    return status;
}
