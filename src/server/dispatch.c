#include "server/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cmd/cmd_geo.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/log.h"
#include "server/monitor.h"
#include "server/redact.h"
#include "server/server.h"

/* With more arguments no command is brief. */
#define BRIEF_ARGS_MAX 16
#define ATTACK_LOG_INTERVAL_NS ((uint64_t)10 * 1000 * 1000 * 1000)

static struct host begin(struct conn *conn, struct yn_buf *out)
{
    struct server *server = conn->loop->server;
    return (struct host){
        .loop = conn->loop,
        .conn = conn,
        .keyspace = server->databases[conn->db],
        .out = out,
        .resp = conn->resp,
        .is_fixed17 = server->config.coordinate_format == CONFIG_COORDINATE_FIXED17,
        .now_ms = loop_now_ms(conn->loop),
    };
}

/* A web page can make a browser send a request to this port: its first line or a header
 * would be run as commands. Nobody else sends these words. */
static bool is_cross_protocol(struct yn_bytes name)
{
    if (name.len == 0 || (name.data[0] != 'p' && name.data[0] != 'P' &&
                          name.data[0] != 'h' && name.data[0] != 'H'))
        return false;
    return (name.len == 4 && strncasecmp(name.data, "post", 4) == 0) ||
           (name.len == 5 && strncasecmp(name.data, "host:", 5) == 0);
}

/* Logged now and then only: an attacker must not fill the log. */
static void refuse_cross_protocol(struct conn *conn, struct yn_bytes name)
{
    struct loop *loop = conn->loop;
    if (loop->attack_logged_ns == 0 ||
        loop->mono_ns - loop->attack_logged_ns > ATTACK_LOG_INTERVAL_NS) {
        loop->attack_logged_ns = loop->mono_ns;
        log_warning(
            "possible cross-protocol attack: client %s sent '%.*s' as a command, as a "
            "web browser would; connection closed",
            conn->address, (int)name.len, name.data);
    }
    conn_finish(conn);
}

/* ---- checks ---- */

/* What a RESP2 client may do while it is subscribed. */
static bool is_allowed_subscribed(const struct cmd_spec *spec)
{
    return spec->run == server_ping || spec->run == pubsub_subscribe ||
           spec->run == pubsub_unsubscribe || spec->run == pubsub_psubscribe ||
           spec->run == pubsub_punsubscribe || spec->run == session_quit ||
           spec->run == session_reset;
}

static bool allowed_or_reply(const struct cmd_call *call, struct conn *conn)
{
    struct server *server = conn->loop->server;
    const struct cmd_spec *spec = call->spec;
    if (!conn->is_authenticated && server->config.requirepass[0] != '\0' &&
        (spec->flags & CMD_NO_AUTH) == 0) {
        host_reply_error(call->host, "NOAUTH Authentication required.");
        return false;
    }
    if (server->is_over_memory && (spec->flags & CMD_DENYOOM) != 0 &&
        server_check_memory(server)) {
        host_reply_error(call->host, CMD_ERR_OOM);
        return false;
    }
    if (conn->resp == 2 && conn_n_subscriptions(conn) > 0 &&
        !is_allowed_subscribed(spec)) {
        char text[200];
        snprintf(
            text, sizeof text,
            "ERR Can't execute '%.60s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
            "QUIT / RESET are allowed in this context",
            spec->name);
        host_reply_error(call->host, text);
        return false;
    }
    return true;
}

/* ---- jobs ---- */

static void run_to_end(struct cmd_job *job, struct host *h)
{
    while (!job->step(job, h, DISPATCH_CHUNK))
        continue;
    job->free(job);
}

/* Runs a job that fits into one chunk; keeps a larger one with the connection. */
static void start_job(struct conn *conn, struct host *h, struct cmd_job *job)
{
    struct loop *loop = conn->loop;
    if (h->out == &loop->scrap) { /* nobody wants the answer */
        job->free(job);
        return;
    }
    if (job->step(job, h, DISPATCH_CHUNK)) {
        job->free(job);
        return;
    }
    /* The job goes on using what its command took from the arena. */
    struct cmd_arena *fresh = cmd_arena_new();
    if (fresh == NULL || !job->hold(job)) {
        cmd_arena_free(fresh);
        run_to_end(job, h);
        return;
    }
    conn->job = job;
    conn->job_arena = loop->arena;
    conn->job_is_fixed17 = h->is_fixed17;
    loop->arena = fresh;
}

void dispatch_drop_job(struct conn *conn)
{
    if (conn->job == NULL)
        return;
    conn->job->free(conn->job);
    conn->job = NULL;
    cmd_arena_free(conn->job_arena);
    conn->job_arena = NULL;
}

void dispatch_step_job(struct conn *conn)
{
    uint64_t began_ns = conn->loop->mono_ns;
    struct host host = begin(conn, &conn->out);
    host.is_fixed17 = conn->job_is_fixed17; /* one reply, one format */
    if (conn->job->step(conn->job, &host, DISPATCH_CHUNK))
        dispatch_drop_job(conn);
    stats_command_of(&conn->loop->stats, conn->last_spec)->time_ns +=
        loop_update_mono(conn->loop) - began_ns;
}

/* ---- one request ---- */

/* Commands that take about as long as a look at the clock, or a few times as long. */
static bool is_brief(const struct cmd_call *call)
{
    const struct cmd_spec *spec = call->spec;
    const unsigned brief = CMD_FAST | CMD_READONLY;
    return call->argc <= BRIEF_ARGS_MAX && call->job == NULL &&
           ((spec->flags & brief) == brief || spec->run == cmd_geodist ||
            spec->run == cmd_geopos || spec->run == cmd_geohash ||
            spec->run == cmd_geoadd || spec->run == server_ping);
}

/* A command, or several brief ones, that took long enough for the slow log or for the
 * latency monitor. Of several the last one is named. */
static void note_slow(const struct loop_untimed *run, uint64_t duration_ns)
{
    struct server *server = run->conn->loop->server;
    const struct config *config = &server->config;
    int64_t time_s = loop_now_ms(run->conn->loop) / 1000;
    int64_t us = (int64_t)(duration_ns / 1000), ms = us / 1000;
    if (config->slowlog_log_slower_than_us >= 0 &&
        us >= config->slowlog_log_slower_than_us &&
        (run->spec->flags & CMD_SKIP_SLOWLOG) == 0) {
        bool is_secret[SLOWLOG_ARGS_MAX];
        size_t n = run->argc < SLOWLOG_ARGS_MAX ? run->argc : SLOWLOG_ARGS_MAX;
        redact_find(run->spec, run->argc, run->argv, is_secret, n);
        struct slowlog_call call = {
            .argc = run->argc,
            .argv = run->argv,
            .is_secret = is_secret,
            .address = run->conn->address,
            .client_name = run->conn->name != NULL ? run->conn->name : "",
            .time_s = time_s,
            .duration_us = (uint64_t)us,
        };
        slowlog_add(&server->slowlog, &call, (size_t)config->slowlog_max_len);
    }
    if (config->latency_monitor_threshold_ms > 0 &&
        ms >= config->latency_monitor_threshold_ms)
        latency_add(&server->latency,
                    (run->spec->flags & CMD_FAST) != 0 ? LATENCY_FAST_COMMAND
                                                       : LATENCY_COMMAND,
                    time_s, (uint64_t)ms);
}

/* What the clock has gone on by since it was looked at last is these commands'. */
static void count_time(struct loop *loop, const struct loop_untimed *run)
{
    uint64_t began_ns = loop->mono_ns;
    uint64_t duration_ns = loop_update_mono(loop) - began_ns;
    struct stats_command *c = stats_command_of(&loop->stats, run->spec);
    c->time_ns += duration_ns;
    if (loop->tracks_latency)
        stats_count_latency(c, run->n > 1 ? duration_ns / run->n : duration_ns, run->n);
    if (duration_ns >= loop->notable_ns)
        note_slow(run, duration_ns);
}

void dispatch_settle_time(struct loop *loop)
{
    if (loop->untimed.n == 0)
        return;
    count_time(loop, &loop->untimed);
    loop->untimed = (struct loop_untimed){.n = 0};
}

/* With a lower limit of the slow log each command is timed by itself. */
#define TIMED_TOGETHER_US 1000

void dispatch_configure(struct loop *loop)
{
    const struct server *server = loop->server;
    const struct config *config = &server->config;
    uint64_t slow_ns = UINT64_MAX, latency_ns = UINT64_MAX;
    if (config->slowlog_log_slower_than_us >= 0 &&
        config->slowlog_log_slower_than_us < INT64_MAX / 1000)
        slow_ns = (uint64_t)config->slowlog_log_slower_than_us * 1000;
    if (config->latency_monitor_threshold_ms > 0 &&
        config->latency_monitor_threshold_ms < INT64_MAX / 1000000)
        latency_ns = (uint64_t)config->latency_monitor_threshold_ms * 1000000;
    loop->notable_ns = slow_ns < latency_ns ? slow_ns : latency_ns;
    loop->tracks_latency = config->latency_tracking;
    loop->has_monitors = !list_is_empty(&server->monitors);
    loop->times_each =
        loop->has_monitors || loop->notable_ns < TIMED_TOGETHER_US * UINT64_C(1000);
}

static void count_call(struct conn *conn, const struct cmd_call *call, bool has_run)
{
    struct loop *loop = conn->loop;
    struct stats_command *c = stats_command_of(&loop->stats, call->spec);
    if (!has_run) {
        c->rejected++;
        dispatch_settle_time(loop);
        loop_update_mono(loop);
        return;
    }
    c->calls++;
    c->failed += call->host->n_errors > 0;
    struct loop_untimed run = {.spec = call->spec,
                               .n = loop->untimed.n + 1,
                               .conn = conn,
                               .argc = call->argc,
                               .argv = call->argv};
    if (is_brief(call) && !loop->times_each) {
        loop->untimed = run;
        return;
    }
    count_time(loop, &run);
    loop->untimed = (struct loop_untimed){.n = 0};
}

/* A command that is known, but not with these arguments, has been refused. */
static void count_misuse(struct loop *loop, const struct cmd_call *call)
{
    const struct cmd_spec *spec = cmd_find(call->argv[0]);
    if (spec != NULL && spec->subcommands != NULL && call->argc > 1)
        spec = cmd_find_sub(spec, call->argv[1]);
    if (spec != NULL)
        stats_command_of(&loop->stats, spec)->rejected++;
}

static void run_call(struct conn *conn, struct cmd_call *call)
{
    struct loop *loop = conn->loop;
    loop->stats.commands++;
    conn->n_commands++;
    const struct cmd_spec *spec = cmd_lookup_or_reply(call);
    if (loop->untimed.spec != spec)
        dispatch_settle_time(loop);
    if (spec == NULL) {
        count_misuse(loop, call);
        loop_update_mono(loop);
        return;
    }
    call->spec = spec;
    conn->last_spec = spec;
    bool has_run = allowed_or_reply(call, conn);
    if (has_run)
        spec->run(call);
    if (call->job != NULL)
        start_job(conn, call->host, call->job);
    count_call(conn, call, has_run);
    if (has_run && loop->has_monitors)
        monitor_feed(conn, call);
}

/* CLIENT REPLY SKIP silences the command after it. */
static enum conn_reply next_reply(enum conn_reply before, enum conn_reply now)
{
    if (now == CONN_REPLY_SKIP_NEXT)
        return CONN_REPLY_SKIP;
    return now == CONN_REPLY_SKIP && before == CONN_REPLY_SKIP ? CONN_REPLY_ON : now;
}

void dispatch_run(struct conn *conn, struct batch *batch, size_t i,
                  const struct yn_bytes *argv)
{
    struct loop *loop = conn->loop;
    if (is_cross_protocol(argv[0])) {
        refuse_cross_protocol(conn, argv[0]);
        return;
    }
    enum conn_reply before = conn->reply;
    bool is_quiet = before == CONN_REPLY_OFF || before == CONN_REPLY_SKIP;
    struct host host = begin(conn, is_quiet ? &loop->scrap : &conn->out);
    struct cmd_call call = {.spec = batch->spec[i],
                            .host = &host,
                            .arena = loop->arena,
                            .argc = batch->request[i].argc,
                            .argv = argv,
                            .ahead = batch->ahead[i]};
    conn->is_running = true;
    run_call(conn, &call);
    conn->is_running = false;
    if (call.spec == NULL || (call.spec->flags & CMD_READONLY) == 0)
        batch_forget_scores(batch);
    conn->reply = next_reply(before, conn->reply);
    cmd_arena_reset(loop->arena);
    if (is_quiet)
        yn_buf_reset(&loop->scrap, DISPATCH_CHUNK);
    if (call.wish == CMD_WISH_CLOSE)
        conn_finish(conn);
    else if (call.wish == CMD_WISH_SHUTDOWN)
        server_stop(loop->server);
}
