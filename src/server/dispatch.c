#include "server/dispatch.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cmd/cmd_geo.h"
#include "cmd/cmd_string.h"
#include "resp/write.h"
#include "server/acl_conns.h"
#include "server/blocking.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/monitor.h"
#include "server/redact.h"
#include "server/server.h"

/* With more arguments no command is brief. */
#define BRIEF_ARGS_MAX 16
#define BRIEF_VALUE_MAX 512
#define ATTACK_LOG_INTERVAL_NS ((uint64_t)10 * 1000 * 1000 * 1000)

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

/* ---- the lock ---- */

/* Commands of the session that change nothing that others can see. */
static bool is_private(const struct cmd_spec *spec)
{
    return spec->run == server_ping || spec->run == server_echo ||
           spec->run == server_select;
}

/* Whether this call reads only. GEORADIUS is told to be a write for the sake of STORE. */
static bool only_reads(const struct cmd_spec *spec, size_t argc,
                       const struct yn_bytes *argv)
{
    if (spec->subcommands != NULL && argc > 1) {
        spec = cmd_find_sub(spec, argv[1]);
        if (spec == NULL)
            return false;
    }
    return (spec->flags & CMD_READONLY) != 0 || is_private(spec) ||
           (spec->keys == CMD_KEYS_GEORADIUS && cmd_arity_is_ok(spec, argc) &&
            cmd_keys_of(spec, argc, argv, NULL, 0) == 1);
}

static enum loop_lock lock_of_request(const struct batch *batch, size_t i)
{
    size_t argc = batch->request[i].argc;
    if (argc == 0)
        return LOOP_SHARED;
    return batch->spec[i] != NULL && only_reads(batch->spec[i], argc, batch->argv[i])
               ? LOOP_SHARED
               : LOOP_EXCLUSIVE;
}

enum loop_lock dispatch_lock_of(const struct conn *conn, const struct batch *batch,
                                size_t first, size_t *out_end)
{
    bool is_alone = conn->loop->server->n_loops == 1;
    size_t end = first + 1;
    *out_end = batch->n;
    enum loop_lock how = lock_of_request(batch, first);
    for (; end < batch->n; end++) {
        enum loop_lock next = lock_of_request(batch, end);
        if (next != how && !is_alone)
            break;
        how = next == LOOP_EXCLUSIVE ? next : how;
    }
    *out_end = end;
    return how;
}

/* ---- checks ---- */

/* What a RESP2 client may do while it is subscribed. */
static bool is_allowed_subscribed(const struct cmd_spec *spec)
{
    return spec->run == server_ping || spec->run == pubsub_subscribe ||
           spec->run == pubsub_unsubscribe || spec->run == pubsub_psubscribe ||
           spec->run == pubsub_punsubscribe || spec->run == pubsub_ssubscribe ||
           spec->run == pubsub_sunsubscribe || spec->run == session_quit ||
           spec->run == session_reset;
}

#define REFUSAL_MAX ACL_REFUSAL_MAX

static const char *refusal_of_subscriber(const struct cmd_spec *spec, char *text)
{
    snprintf(text, REFUSAL_MAX,
             "ERR Can't execute '%.60s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / "
             "QUIT / RESET are allowed in this context",
             spec->name);
    return text;
}

/* Whether the command is refused while there is too much in memory. A transaction's queue
 * takes memory whatever is queued; to end one must always be possible, unless what is
 * queued is refused itself. */
static bool is_memory_needed(const struct conn *conn, const struct cmd_spec *spec)
{
    if (spec->run == multi_exec)
        return (conn->multi.flags & CMD_DENYOOM) != 0;
    if (conn->multi.is_open && spec->run != multi_discard && spec->run != session_quit &&
        spec->run != session_reset)
        return true;
    return (spec->flags & CMD_DENYOOM) != 0;
}

#define ERR_IN_MULTI "ERR Command not allowed inside a transaction"

static bool is_barred_from_multi(const struct conn *conn, const struct cmd_spec *spec)
{
    return conn->multi.is_open && (spec->flags & CMD_NO_MULTI) != 0;
}

/* For connections that must log in, or whose user may not do everything. Out of the way
 * of all others. */
static __attribute__((noinline)) const char *
refusal_by_rights(struct conn *conn, const struct cmd_call *call, char *text)
{
    if (acl_conn_must_login(conn) && (call->spec->flags & CMD_NO_AUTH) == 0)
        return "NOAUTH Authentication required.";
    if (is_barred_from_multi(conn, call->spec))
        return ERR_IN_MULTI;
    return acl_conn_refusal(conn, call, text);
}

/* Why the command may not run now, or be queued; NULL: it may. text: REFUSAL_MAX bytes
 * that may hold the reason. */
static const char *refusal_of(struct conn *conn, const struct cmd_call *call, char *text)
{
    struct server *server = conn->loop->server;
    const struct cmd_spec *spec = call->spec;
    if (!conn->may_all) {
        const char *refusal = refusal_by_rights(conn, call, text);
        if (refusal != NULL)
            return refusal;
    } else if (is_barred_from_multi(conn, spec)) {
        return ERR_IN_MULTI;
    }
    if (server->is_over_memory && is_memory_needed(conn, spec) &&
        server_check_memory(server))
        return CMD_ERR_OOM;
    if (conn->resp == 2 && conn_n_subscriptions(conn) > 0 && !is_allowed_subscribed(spec))
        return refusal_of_subscriber(spec, text);
    return NULL;
}

/* ---- time ---- */

/* A string of a few hundred bytes, and no options. */
static bool is_small_set(const struct cmd_call *call)
{
    return call->spec->run == cmd_set && call->argc == 3 &&
           call->argv[2].len <= BRIEF_VALUE_MAX;
}

/* Commands that take about as long as a look at the clock, or a few times as long. */
static bool is_brief(const struct cmd_call *call)
{
    const struct cmd_spec *spec = call->spec;
    const unsigned brief = CMD_FAST | CMD_READONLY;
    return call->argc <= BRIEF_ARGS_MAX && call->job == NULL &&
           ((spec->flags & brief) == brief || spec->run == cmd_geodist ||
            spec->run == cmd_geopos || spec->run == cmd_geohash ||
            spec->run == cmd_geoadd || is_small_set(call) || spec->run == server_ping);
}

/* A command, or several brief ones, that took long enough for the slow log or for the
 * latency monitor. Of several the last one is named. */
static void note_slow(const struct loop *loop, const struct loop_untimed *run,
                      uint64_t duration_ns)
{
    struct server *server = loop->server;
    const struct config *config = &server->config;
    int64_t time_s = loop_now_ms(loop) / 1000;
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
        uv_mutex_lock(&server->notes_mutex);
        slowlog_add(&server->slowlog, &call, (size_t)config->slowlog_max_len);
        uv_mutex_unlock(&server->notes_mutex);
    }
    if (config->latency_monitor_threshold_ms > 0 &&
        ms >= config->latency_monitor_threshold_ms) {
        uv_mutex_lock(&server->notes_mutex);
        latency_add(&server->latency,
                    (run->spec->flags & CMD_FAST) != 0 ? LATENCY_FAST_COMMAND
                                                       : LATENCY_COMMAND,
                    time_s, (uint64_t)ms);
        uv_mutex_unlock(&server->notes_mutex);
    }
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
        note_slow(loop, run, duration_ns);
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

static void count_call(const struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    struct loop *loop = call->host->loop;
    struct stats_command *c = stats_command_of(&loop->stats, call->spec);
    if (loop->untimed.spec != call->spec) /* of EXEC's commands */
        dispatch_settle_time(loop);
    c->calls++;
    c->failed += call->host->n_errors > 0;
    struct loop_untimed *run = &loop->untimed;
    run->spec = call->spec;
    run->n++;
    run->conn = conn;
    run->argc = call->argc;
    run->argv = call->argv;
    if (loop->times_each || !is_brief(call))
        dispatch_settle_time(loop);
}

/* The time of a command that begins to wait, for a key or for its long work; it is a call
 * when it has an answer. */
static void count_wait(struct loop *loop, const struct cmd_spec *spec)
{
    uint64_t began_ns = loop->mono_ns;
    stats_command_of(&loop->stats, spec)->time_ns += loop_update_mono(loop) - began_ns;
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

/* Client-side caching: remembers the keys that the command has read. */
static void note_reads(struct conn *conn, const struct cmd_call *call)
{
    struct tracker *tracker = conn->tracking.tracker;
    struct server *server = conn->loop->server;
    if ((call->spec->flags & CMD_READONLY) == 0 || !tracking_wants_reads(tracker))
        return;
    size_t n = cmd_keys_of(call->spec, call->argc, call->argv, NULL, 0);
    size_t *index = cmd_arena_take(call->arena, (n + 1) * sizeof *index);
    if (index == NULL) { /* it must not keep what it has read */
        tracking_note_flush(&server->tracking);
        return;
    }
    cmd_keys_of(call->spec, call->argc, call->argv, index, n);
    for (size_t i = 0; i < n; i++)
        tracking_note_read(&server->tracking, tracker, call->argv[index[i]],
                           (size_t)server->config.tracking_table_max_keys);
}

/* ---- running ---- */

/* Runs a command that has passed the checks; again, if it has waited. HOT: inline, once
 * for each of its callers. */
static inline void perform(struct cmd_call *call, bool is_again)
{
    struct loop *loop = call->host->loop;
    loop->stats.commands++;
    if (loop->untimed.spec != call->spec)
        dispatch_settle_time(loop);
    call->spec->run(call);
    if (loop->has_monitors && !is_again)
        monitor_feed(call->host->conn, call);
    if (call->block.wanted && blocking_wait_or_reply(call)) {
        count_wait(loop, call->spec);
        return;
    }
    if (call->host->conn->tracking.tracker != NULL)
        note_reads(call->host->conn, call);
    if (call->job != NULL && jobs_start(call))
        count_wait(loop, call->spec);
    else
        count_call(call);
}

/* Answers a command that may not run. */
static void refuse(struct conn *conn, struct cmd_call *call, const char *reason)
{
    stats_command_of(&conn->loop->stats, call->spec)->rejected++;
    if (call->spec->run == multi_exec)
        multi_abort(conn, call->host, reason);
    else
        host_reply_error(call->host, reason);
    multi_note_failure(&conn->multi);
}

static void queue(struct conn *conn, struct cmd_call *call)
{
    if (multi_queue(&conn->multi, call->spec, call->argc, call->argv)) {
        host_reply_status(call->host, "QUEUED");
        return;
    }
    host_reply_error(call->host, CMD_ERR_NOMEM);
    multi_note_failure(&conn->multi);
}

/* Finds the command and checks the number of arguments. */
static bool find_or_reply(struct conn *conn, struct cmd_call *call)
{
    if (call->spec != NULL && call->spec->run == multi_exec && call->argc > 1) {
        multi_abort(conn, call->host, "wrong number of arguments for 'exec' command");
        return false;
    }
    const struct cmd_spec *spec = cmd_lookup_or_reply(call);
    if (spec == NULL) {
        count_misuse(conn->loop, call);
        multi_note_failure(&conn->multi);
        return false;
    }
    call->spec = conn->last_spec = spec;
    return true;
}

/* CLIENT CACHING holds for one request that is not CLIENT's, or for one transaction. One
 * that names no command counts, too. */
static void end_caching(const struct conn *conn, const struct cmd_call *call)
{
    if (conn->tracking.tracker != NULL && !conn->multi.is_open &&
        (call->spec == NULL || strncmp(call->spec->name, "client|", 7) != 0))
        tracking_set_caching(conn->tracking.tracker, false);
}

/* A request goes one of three ways: it is refused, queued, or run. */
static void take_call(struct conn *conn, struct cmd_call *call)
{
    char text[REFUSAL_MAX];
    conn->n_commands++;
    if (find_or_reply(conn, call)) {
        const char *refusal = refusal_of(conn, call, text);
        if (refusal == NULL && (!conn->multi.is_open || multi_runs_at_once(call->spec))) {
            perform(call, false);
            return;
        }
        if (refusal != NULL)
            refuse(conn, call, refusal);
        else
            queue(conn, call);
    }
    dispatch_settle_time(conn->loop);
    loop_update_mono(conn->loop);
}

/* CLIENT REPLY SKIP silences the command after it. */
static enum conn_reply next_reply(enum conn_reply before, enum conn_reply now)
{
    if (now == CONN_REPLY_SKIP_NEXT)
        return CONN_REPLY_SKIP;
    return now == CONN_REPLY_SKIP && before == CONN_REPLY_SKIP ? CONN_REPLY_ON : now;
}

/* Why a command may not run any more that was queued, or has waited, since the rights of
 * its user were changed; NULL: it may. */
static const char *late_refusal_of(const struct cmd_call *call, char *text)
{
    struct conn *conn = call->host->conn;
    if (conn->may_all)
        return NULL;
    if (acl_conn_must_login(conn) && (call->spec->flags & CMD_NO_AUTH) == 0)
        return "NOAUTH Authentication required.";
    return call->host->is_in_exec ? acl_conn_exec_refusal(conn, call, text)
                                  : acl_conn_refusal(conn, call, text);
}

/* Runs a command from the copy of its request. */
static void run_copy(struct host *host, const struct request_copy *request, bool is_again,
                     struct cmd_call *out_call)
{
    char text[REFUSAL_MAX];
    struct loop *loop = host->loop;
    bool is_quiet = host->out == &loop->scrap;
    *out_call = (struct cmd_call){.spec = request->spec,
                                  .host = host,
                                  .arena = loop->arena,
                                  .argc = request->argc,
                                  .argv = request->argv};
    const char *refusal = late_refusal_of(out_call, text);
    if (refusal == NULL) {
        perform(out_call, is_again);
    } else {
        stats_command_of(&loop->stats, request->spec)->rejected++;
        host_reply_error(host, refusal);
    }
    dispatch_settle_time(loop); /* while its words are there */
    cmd_arena_reset(loop->arena);
    if (is_quiet)
        yn_buf_reset(&loop->scrap, JOBS_CHUNK);
}

enum cmd_wish dispatch_queued(struct cmd_call *exec, const struct request_copy *request)
{
    struct conn *conn = exec->host->conn;
    struct loop *loop = conn->loop;
    /* After CLIENT REPLY OFF, or when the connection is about to be closed. CLIENT REPLY
     * SKIP means the command behind EXEC. */
    bool is_quiet = exec->wish != CMD_WISH_NONE || conn->kill_reason != NULL ||
                    conn->reply == CONN_REPLY_OFF ||
                    (exec->host->out == &loop->scrap && conn->reply != CONN_REPLY_ON);
    struct yn_buf *out = jobs_out(conn);
    size_t len_before = out->len;
    struct host host = host_server_begin(loop, conn, is_quiet ? &loop->scrap : out);
    struct cmd_call call;
    host.is_in_exec = true;
    host.now_ms = exec->host->now_ms;
    run_copy(&host, request, false, &call);
    if (out != &conn->out) {
        conn->jobs_bytes += out->len - len_before;
        conn->out.failed |= out->failed;
    }
    conn_check_output(conn);
    return call.wish;
}

bool dispatch_again(struct conn *conn)
{
    struct loop *loop = loop_current();
    /* The reply comes behind the messages that wait, before those that it causes. */
    struct yn_buf reply = conn->push;
    yn_buf_init(&conn->push);
    struct host host =
        host_server_begin(loop, conn, conn->waits_quietly ? &loop->scrap : &reply);
    struct cmd_call call;
    host.is_again = true;
    conn->is_running = true;
    run_copy(&host, conn->waiting, true, &call);
    conn->is_running = false;
    yn_buf_append(&reply, conn->push.data, conn->push.len);
    yn_buf_clear(&conn->push);
    conn->push = reply;
    conn_pushed(conn);
    return !call.block.wanted;
}

void dispatch_count_long(const struct cmd_call *call, size_t argc, uint64_t spent_ns)
{
    struct conn *conn = call->host->conn;
    struct loop *loop = conn->loop;
    struct stats_command *c = stats_command_of(&loop->stats, call->spec);
    const struct loop_untimed run = {
        .spec = call->spec, .n = 1, .conn = conn, .argc = argc, .argv = call->argv};
    c->calls++;
    c->failed += call->host->n_errors > 0;
    c->time_ns += spent_ns;
    if (loop->tracks_latency)
        stats_count_latency(c, spent_ns, 1);
    if (spent_ns >= loop->notable_ns)
        note_slow(loop, &run, spent_ns);
}

const char *dispatch_long_refusal(const struct cmd_call *call, char *text)
{
    const char *refusal = late_refusal_of(call, text);
    if (refusal != NULL)
        stats_command_of(&call->host->loop->stats, call->spec)->rejected++;
    return refusal;
}

void dispatch_long_again(struct conn *conn, const struct request_copy *request,
                         bool is_quiet, int n_apart)
{
    struct loop *loop = conn->loop;
    struct host host =
        host_server_begin(loop, conn, is_quiet ? &loop->scrap : &conn->out);
    struct cmd_call call;
    host.n_apart = n_apart;
    conn->is_running = true;
    run_copy(&host, request, true, &call);
    conn->is_running = false;
}

void dispatch_end_long(struct loop *loop)
{
    if (loop->locked != LOOP_EXCLUSIVE)
        return;
    if (blocked_has_marked(&loop->server->blocked))
        blocking_serve(loop->server);
    loop_broadcast(loop);
}

void dispatch_step_jobs(struct conn *conn)
{
    struct loop *loop = conn->loop;
    uint64_t began_ns = loop->mono_ns;
    jobs_step(conn);
    loop_lock(loop, LOOP_SHARED);
    stats_command_of(&loop->stats, conn->last_spec)->time_ns +=
        loop_update_mono(loop) - began_ns;
    loop_unlock(loop);
}

void dispatch_run(struct conn *conn, struct batch *batch, size_t i)
{
    struct loop *loop = conn->loop;
    const struct yn_bytes *argv = batch->argv[i];
    if (batch->spec[i] == NULL && is_cross_protocol(argv[0])) {
        refuse_cross_protocol(conn, argv[0]);
        return;
    }
    enum conn_reply before = conn->reply;
    bool is_quiet = before == CONN_REPLY_OFF || before == CONN_REPLY_SKIP;
    struct host host =
        host_server_begin(loop, conn, is_quiet ? &loop->scrap : &conn->out);
    struct cmd_call call = {.spec = batch->spec[i],
                            .host = &host,
                            .arena = loop->arena,
                            .argc = batch->request[i].argc,
                            .argv = argv,
                            .ahead = batch->ahead[i]};
    conn->is_running = true;
    take_call(conn, &call);
    end_caching(conn, &call);
    conn->is_running = false;
    if (call.spec == NULL || (call.spec->flags & CMD_READONLY) == 0)
        batch_sets_changed(batch);
    conn->reply = next_reply(before, conn->reply);
    cmd_arena_reset(loop->arena);
    if (is_quiet)
        yn_buf_reset(&loop->scrap, JOBS_CHUNK);
    if (blocked_has_marked(&loop->server->blocked))
        blocking_serve(loop->server);
    if (call.wish == CMD_WISH_CLOSE)
        conn_finish(conn);
    else if (call.wish == CMD_WISH_SHUTDOWN)
        server_stop(loop->server);
}
