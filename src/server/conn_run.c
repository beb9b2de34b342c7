/* Requests of a connection: parsed, and run under the server's lock. */
#include <stdio.h>
#include <string.h>

#include "resp/write.h"
#include "server/blob.h"
#include "server/conn_parts.h"
#include "server/dispatch.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/met_expired.h"
#include "server/pause.h"
#include "server/server.h"

/* Time after which a connection lets the others have a turn. */
#define SLICE_NS ((uint64_t)1000 * 1000)

/* ---- executing ---- */

static bool can_execute(const struct conn *conn)
{
    return !jobs_are_pending(conn) && !conn->blocked.is_waiting && !conn->is_held &&
           !conn->closes_when_flushed && conn_is_live(conn) && !conn_is_out_full(conn) &&
           !conn->out.failed;
}

static void reply_protocol_error(struct conn *conn)
{
    char text[160];
    int n = snprintf(text, sizeof text, "ERR %s", conn->request.error);
    loop_lock(conn->loop, LOOP_SHARED);
    conn_merge_push(conn); /* it may hold the reply of a command that has waited */
    if (conn->reply == CONN_REPLY_ON) /* CLIENT REPLY silences this one too */
        yn_write_error(&conn->out, (struct yn_bytes){text, (size_t)n});
    stats_count_error(&conn->loop->stats, (struct yn_bytes){text, (size_t)n});
    loop_unlock(conn->loop);
    log_verbose("client %s: %s", conn->address, conn->request.error);
    conn_finish(conn);
}

/* Whether a command has changed what the ones behind it were parsed with (RESET, CONFIG
 * SET). */
static bool have_limits_changed(const struct conn *conn,
                                const struct yn_request_limits *limits)
{
    loop_note_config(conn->loop);
    struct yn_request_limits now = conn_limits_of(conn);
    return now.authenticated != limits->authenticated ||
           now.max_bulk_len != limits->max_bulk_len;
}

static enum yn_request_status parse(struct conn *conn, const char *data, size_t len,
                                    const struct yn_request_limits *limits)
{
    /* after AUTH the limits are others: what follows is not parsed before it has run */
    size_t n_max = limits->authenticated ? BATCH_MAX : 1;
    return batch_parse(&conn->loop->batch, &conn->request, data, len, limits, n_max);
}

/* Whether the connection has to wait with its next command. */
static bool has_to_wait(const struct conn *conn, uint64_t slice_end_ns)
{
    return !can_execute(conn) || conn->loop->mono_ns > slice_end_ns;
}

/* Bytes wait to be executed, and ask for a turn when that is possible; behind a request
 * to close they are not looked at. */
static void note_waiting(struct conn *conn)
{
    conn->has_more = !conn->closes_when_flushed;
}

/* Where a connection is in its batch. */
struct progress {
    size_t at;      /* requests before it have run */
    size_t end;     /* those up to here need the lock as it is held */
    bool is_halted; /* the next one has to wait, or to be parsed anew */
};

/* Whether other loops wait for the lock, which is held for reading. A batch of reads lets
 * them in between two of its commands, so that a write need not wait for all of them. */
static bool is_lock_wanted(const struct loop *loop)
{
    return loop->locked == LOOP_SHARED && loop->server->n_loops > 1 &&
           rwlock_is_wanted(&loop->server->lock);
}

/* Runs the requests that need the lock as it is held, up to one that has to wait or to be
 * parsed anew; some of them when the lock is wanted. */
static void run_requests(struct conn *conn, uint64_t slice_end_ns,
                         const struct yn_request_limits *limits,
                         struct progress *progress)
{
    struct loop *loop = conn->loop;
    struct batch *batch = &loop->batch;
    bool is_stale = false;
    do {
        size_t i = progress->at;
        /* another thread may have killed it before the lock was there */
        if (!conn_is_live(conn))
            break;
        if (i > 0 && (is_stale || conn->is_in_taken || has_to_wait(conn, slice_end_ns)))
            break;
        if (batch->request[i].argc > 0) {
            if (pause_is_on(&loop->server->pause) &&
                pause_holds(conn, batch->spec[i], batch->request[i].argc, batch->argv[i]))
                break;
            dispatch_run(conn, batch, i);
            conn_merge_push(conn);
            is_stale = have_limits_changed(conn, limits);
        }
        progress->at++;
        if (is_lock_wanted(loop) && !is_stale)
            return;
    } while (progress->at < progress->end);
    progress->is_halted = is_stale || progress->at < progress->end;
}

/* Takes the lock as the next requests of the batch need it, and with it what others have
 * sent meanwhile. */
static void begin_run(struct conn *conn, struct progress *progress)
{
    struct loop *loop = conn->loop;
    const struct server *server = loop->server;
    bool is_cut = progress->at < progress->end;
    loop_lock(loop, dispatch_lock_of(conn, &loop->batch, progress->at, &progress->end));
    /* Looked at with the lock: both may be changed by others (CLIENT KILL ends tracking).
     */
    if (loop->locked == LOOP_SHARED &&
        (server->reads_are_noted || conn->tracking.tracker != NULL)) {
        loop_unlock(loop);
        loop_lock(loop, LOOP_EXCLUSIVE);
    }
    if (server->n_loops > 1)
        loop_update_mono(loop); /* waiting is no part of the commands' time */
    conn_merge_push(conn);
    if (is_cut) /* looking ahead again and again would be more work than it saves */
        batch_sets_changed(&loop->batch);
    else
        batch_look_ahead(&loop->batch, progress->at, progress->end,
                         server->databases[conn->db], loop_now_ms(loop));
}

static void end_run(struct conn *conn)
{
    struct loop *loop = conn->loop;
    dispatch_settle_time(loop);
    if (loop_broadcast(loop))
        conn_merge_push(conn);
    conn_note_session(conn);
    loop_unlock(loop);
    met_expired_remove(loop);
}

/* Runs the batch, whose requests start at data and were parsed with these limits: runs of
 * reads, and of others, each under the lock as it needs it. Returns how many bytes are
 * done with. */
static size_t run_batch(struct conn *conn, const char *data, uint64_t slice_end_ns,
                        const struct yn_request_limits *limits)
{
    struct batch *batch = &conn->loop->batch;
    struct progress progress = {.at = 0};
    size_t used = 0;
    batch_resolve(batch, data);
    while (progress.at < batch->n && !progress.is_halted) {
        begin_run(conn, &progress);
        run_requests(conn, slice_end_ns, limits, &progress);
        end_run(conn);
    }
    if (progress.is_halted)
        yn_request_next(&conn->request); /* parsed again, behind what is left or anew */
    for (size_t i = 0; i < progress.at; i++)
        used += batch->request[i].used;
    batch_drop(batch);
    return used;
}

/* Runs the commands in these bytes. Returns how many bytes are done with. */
size_t conn_execute(struct conn *conn, const char *data, size_t len)
{
    uint64_t slice_end_ns = conn->loop->mono_ns + SLICE_NS;
    size_t at = 0;
    conn->has_more = false;
    while (at < len) {
        if (conn->is_in_taken || has_to_wait(conn, slice_end_ns)) {
            note_waiting(conn);
            break;
        }
        struct yn_request_limits limits = conn->limits;
        enum yn_request_status status = parse(conn, data + at, len - at, &limits);
        if (status == YN_REQUEST_ERROR)
            reply_protocol_error(conn);
        if (status != YN_REQUEST_DONE)
            break;
        at += run_batch(conn, data + at, slice_end_ns, &limits);
    }
    /* Nothing that follows a request to close is looked at. */
    return conn->closes_when_flushed ? len : at;
}

bool conn_may_take_in(const struct conn *conn, struct yn_bytes bytes)
{
    const struct yn_buf *in = &conn->in;
    return !conn->is_in_taken && bytes.len >= BLOB_LEN_MIN && in->len > bytes.len &&
           bytes.data > in->data && bytes.data + bytes.len < in->data + in->len &&
           in->cap - bytes.len <= bytes.len / 8;
}

/* The block belongs to a value now: what follows the request in it moves out. The value
 * is still there, since the command that took the block was the last one to run. */
static void leave_block(struct conn *conn, size_t used)
{
    struct yn_buf rest;
    yn_buf_init(&rest);
    yn_buf_append(&rest, conn->in.data + used, conn->in.len - used);
    conn->in = rest;
    conn->is_in_taken = false;
}

void conn_execute_buffered(struct conn *conn)
{
    if (conn->in.len == 0 || conn->in.len < conn->request.need) {
        conn->has_more = false; /* nothing, or a request cut in an argument */
        return;
    }
    if (!can_execute(conn)) {
        note_waiting(conn);
        return;
    }
    size_t used = conn_execute(conn, conn->in.data, conn->in.len);
    if (conn->is_in_taken) {
        leave_block(conn, used);
        return;
    }
    yn_buf_consume(&conn->in, used);
    if (conn->in.len == 0)
        yn_buf_reset(&conn->in, READ_ROOM);
}
