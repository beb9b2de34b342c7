/*
 * HOT: on_read and execute run once a read and once a command. Counted here: one read and
 * one write a batch, no allocation a command, one clock call a command (statistics and
 * the slice of time); brief commands of one kind in a row share it
 * (dispatch_settle_time).
 *
 * Memory of a connection that waits for its next request: struct conn and the request
 * parser's arrays. The bytes of a read lie in the loop's buffer; only what is left
 * of them (half a request) is copied into conn->in. The reply grows in a buffer lent
 * by the loop; only what the kernel does not take stays with the connection.
 *
 * A huge argument is read where it will stay: conn->in gets room for all of it and for a
 * few words behind it, and the value takes the block over (conn_may_take_in). Until it is
 * complete nobody looks at its bytes.
 */
#include "server/conn.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "resp/write.h"
#include "server/acl_conns.h"
#include "server/blob.h"
#include "server/blocking.h"
#include "server/dispatch.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/met_expired.h"
#include "server/monitor.h"
#include "server/pause.h"
#include "server/server.h"

/* Answers that are queued beyond this stop further commands until the client reads. */
#define OUT_HIGH ((size_t)1024 * 1024)
/* HOT: below it a push is not measured against the output limit before the next turn:
 * that looks at much of a connection, of ten thousand of them for one message. */
#define PUSH_CHECKED ((size_t)16 * 1024)
/* Time after which a connection lets the others have a turn. */
#define SLICE_NS ((uint64_t)1000 * 1000)
/* Length of a loop's iteration from which on clients that send without end are
 * interrupted. */
#define ITERATION_NS ((uint64_t)500 * 1000)
/* The same, what is read at once, and the longest request, before a client has logged in:
 * who that is is not known, and may hold a few KB. (An argument has at most 16 KB.) */
#define PREAUTH_OUT_HIGH ((size_t)4 * 1024)
#define PREAUTH_READ ((size_t)4 * 1024)
#define PREAUTH_IN_MAX ((size_t)24 * 1024)
/* A client whose command waits, for a key or for the pool, is read from up to here, to
 * see it hang up. */
#define WAITING_IN_MAX ((size_t)1024 * 1024)
/* Least room for a read behind the bytes of half a request. */
#define READ_ROOM ((size_t)16 * 1024)
/* Room behind a huge argument, for the words that follow it in its request. */
#define TAIL_ROOM ((size_t)1024)
/* A buffer larger than this is given back when it is empty. */
#define KEEP_CAP ((size_t)256 * 1024)
#define LINGER_NS ((uint64_t)1000 * 1000 * 1000)
#define IDLE_SHRINK_NS ((uint64_t)2 * 1000 * 1000 * 1000)

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf);
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void set_reading(struct conn *conn, bool wanted);

/* ---- figures ---- */

/* conn->shown and statistics have one writer each: an ordinary store is enough. */
static void set(_Atomic uint64_t *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static void set_size(atomic_size_t *figure, size_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static void set_flag(atomic_bool *figure, bool value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static size_t shown(const atomic_size_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}

void conn_show(struct conn *conn)
{
    struct conn_figures *f = &conn->shown;
    set_size(&f->in_len, conn->in.len);
    set_size(&f->in_cap, conn->in.cap);
    set_size(&f->out_len, conn->out.len);
    set_size(&f->out_cap, conn->out.cap);
    set_size(&f->queued,
             conn->io.stream.write_queue_size + conn->out.len + conn->jobs_bytes);
    set_size(&f->held,
             conn->in.cap + conn->out.cap + conn->writing.cap + conn->jobs_bytes +
                 yn_request_memory(&conn->request));
    set_flag(&f->is_reading, conn->is_reading);
    set_flag(&f->is_writing, conn->is_writing);
    set_flag(&f->is_closing, conn->closes_when_flushed);
}

size_t conn_queued(const struct conn *conn)
{
    return shown(&conn->shown.queued) + conn->push.len;
}

size_t conn_memory(const struct conn *conn)
{
    size_t waiting = conn->waiting != NULL ? conn->waiting->n_bytes : 0;
    return sizeof *conn + shown(&conn->shown.held) + conn->push.cap + waiting +
           conn->multi.n_bytes;
}

size_t conn_n_subscriptions(const struct conn *conn)
{
    size_t n = 0;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        n += conn->subscriptions[kind].n;
    return n;
}

static enum config_class class_of(const struct conn *conn)
{
    bool is_pushed_to =
        conn_n_subscriptions(conn) > 0 || !list_is_empty(&conn->in_monitors);
    return is_pushed_to ? CONFIG_CLASS_PUBSUB : CONFIG_CLASS_NORMAL;
}

struct conn *conn_find(const struct server *server, int64_t id)
{
    const struct link *all = &server->conns;
    for (const struct link *l = all->next; l != all; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn_is_live(conn) && (int64_t)conn->id == id)
            return conn;
    }
    return NULL;
}

static struct yn_request_limits limits_of(const struct conn *conn)
{
    return (struct yn_request_limits){.max_args = INT32_MAX,
                                      .max_bulk_len = conn->loop->config.bulk_max,
                                      .max_inline_len = (size_t)64 * 1024,
                                      .authenticated =
                                          conn->may_all || !acl_conn_must_login(conn)};
}

/* ---- life ---- */

static void on_closed(uv_handle_t *handle)
{
    struct conn *conn = handle->data;
    struct loop *loop = conn->loop;
    if (loop->cursor == &conn->in_loop)
        loop->cursor = conn->in_loop.next;
    list_remove(&conn->in_loop);
    yn_request_clear(&conn->request);
    yn_buf_clear(&conn->in);
    yn_buf_clear(&conn->writing);
    yn_buf_clear(&conn->out);
    yn_buf_clear(&conn->push);
    free(conn->name);
    free(conn->lib_name);
    free(conn->lib_ver);
    free(conn);
}

/* Ends what others have to do with the connection. */
static void withdraw(struct conn *conn)
{
    struct server *server = conn->loop->server;
    pubsub_forget(&server->pubsub, conn);
    tracking_forget(&server->tracking, conn);
    monitor_remove(conn);
    pause_release(conn);
    watch_forget(&server->watches, &conn->watch);
    blocking_forget(conn);
}

/* Nobody finds the connection any more. */
static void leave(struct conn *conn, enum conn_state state)
{
    loop_lock(conn->loop, LOOP_EXCLUSIVE);
    conn->state = state;
    withdraw(conn);
    list_remove(&conn->in_called);
    if (state == CONN_CLOSED) {
        list_remove(&conn->in_conns);
        multi_reset(conn);
        jobs_drop(conn);
    }
    loop_unlock(conn->loop);
}

void conn_close(struct conn *conn)
{
    if (conn->state == CONN_CLOSED)
        return;
    list_remove(&conn->in_ready);
    leave(conn, CONN_CLOSED);
    conn->loop->n_conns--;
    atomic_fetch_sub(&conn->loop->server->n_conns, 1);
    uv_close(&conn->io.handle, on_closed);
}

void conn_kill(struct conn *conn, const char *reason)
{
    if (!conn_is_live(conn))
        return;
    conn->kill_reason = reason;
    loop_wake(conn->loop, conn);
}

/* A reason that is not worth a log line. */
static const char expelled[] = "";

void conn_expel(struct conn *conn)
{
    withdraw(conn);
    conn_kill(conn, expelled);
}

void conn_finish(struct conn *conn)
{
    if (conn->state != CONN_OPEN)
        return;
    conn->closes_when_flushed = true;
    loop_wake(conn->loop, conn);
}

/* ---- the beginning ---- */

static void init_fields(struct conn *conn, const struct conn_arrival *arrival)
{
    conn->fd = arrival->fd;
    conn->is_unix = arrival->is_unix;
    conn->is_local = arrival->is_local;
    conn->id = arrival->id;
    memcpy(conn->address, arrival->address, sizeof conn->address);
    memcpy(conn->local_address, arrival->local_address, sizeof conn->local_address);
    conn->resp = 2;
    list_init(&conn->in_conns);
    list_init(&conn->in_ready);
    list_init(&conn->in_called);
    list_init(&conn->in_monitors);
    list_init(&conn->tracking.redirected);
    list_init(&conn->jobs);
    watch_client_init(&conn->watch);
    blocked_client_init(&conn->blocked);
    yn_request_init(&conn->request);
    yn_buf_init(&conn->in);
    yn_buf_init(&conn->writing);
    yn_buf_init(&conn->out);
    yn_buf_init(&conn->push);
}

/* Makes the handle and gives it the descriptor. Returns false, after closing it. */
static bool open_handle(struct conn *conn)
{
    struct loop *loop = conn->loop;
    int keepalive_s = (int)loop->server->config.tcp_keepalive_s;
    int err = conn->is_unix ? uv_pipe_init(&loop->uv, &conn->io.pipe, 0)
                            : uv_tcp_init(&loop->uv, &conn->io.tcp);
    if (err == 0)
        err = conn->is_unix ? uv_pipe_open(&conn->io.pipe, conn->fd)
                            : uv_tcp_open(&conn->io.tcp, conn->fd);
    if (err != 0) {
        close(conn->fd);
        return false;
    }
    if (!conn->is_unix) {
        uv_tcp_nodelay(&conn->io.tcp, 1);
        if (keepalive_s > 0)
            uv_tcp_keepalive(&conn->io.tcp, 1, (unsigned)keepalive_s);
    }
    conn->io.handle.data = conn;
    return true;
}

/* What is looked at without the lock: a copy, renewed under it. */
static void note_session(struct conn *conn)
{
    loop_note_config(conn->loop);
    conn->limits = limits_of(conn);
    conn->output_class = class_of(conn);
}

void conn_open(struct loop *loop, const struct conn_arrival *arrival)
{
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        log_warning("could not serve client %s: out of memory", arrival->address);
        close(arrival->fd);
        atomic_fetch_sub(&loop->server->n_conns, 1);
        return;
    }
    conn->loop = loop;
    init_fields(conn, arrival);
    conn->created_ns = loop->mono_ns;
    set(&conn->shown.active_ns, loop->mono_ns);
    loop_lock(loop, LOOP_EXCLUSIVE);
    bool is_open = open_handle(conn);
    if (is_open) {
        list_append(&loop->server->conns, &conn->in_conns);
        acl_conn_begin(conn);
        note_session(conn);
    }
    loop_unlock(loop);
    if (!is_open) {
        free(conn);
        atomic_fetch_sub(&loop->server->n_conns, 1);
        return;
    }
    list_append(&loop->conns, &conn->in_loop);
    loop->n_conns++;
    set_reading(conn, true);
    conn_show(conn);
}

/* ---- the end ---- */

static void on_shutdown(uv_shutdown_t *req, int status)
{
    struct conn *conn = req->data;
    if (status < 0)
        conn_close(conn);
}

/*
 * All is said and written. Closing now, with bytes of the client unread, would reset the
 * connection, and the reset can overtake the last reply. So: end our side, read and
 * drop what still comes, close when the client does, or after LINGER_NS.
 */
static void linger(struct conn *conn)
{
    if (conn->has_ended) {
        conn_close(conn);
        return;
    }
    leave(conn, CONN_LINGERING);
    conn->linger_until_ns = conn->loop->mono_ns + LINGER_NS;
    yn_buf_clear(&conn->in);
    conn->shutdown_req.data = conn;
    if (uv_shutdown(&conn->shutdown_req, &conn->io.stream, on_shutdown) != 0 ||
        (!conn->is_reading && uv_read_start(&conn->io.stream, on_alloc, on_read) != 0))
        conn_close(conn);
}

/* ---- output that waits ---- */

/* Bytes of answers that the kernel has not taken, pushes included. */
static size_t queued(const struct conn *conn)
{
    return conn->io.stream.write_queue_size + conn->out.len + conn->jobs_bytes +
           atomic_load_explicit(&conn->push_len, memory_order_relaxed);
}

static void kill_counted(struct conn *conn, const char *reason, _Atomic uint64_t *count)
{
    if (conn_is_live(conn))
        stats_add(count, 1);
    conn_kill(conn, reason);
}

static void kill_over_hard_limit(struct conn *conn)
{
    kill_counted(conn, "its output passes the hard limit of client-output-buffer-limit",
                 &loop_current()->stats.output_limit_kills);
}

void conn_check_output(struct conn *conn)
{
    struct loop *loop = conn->loop;
    const struct config_output_limit *limit =
        &loop->config.output_limits[conn->output_class];
    size_t n = queued(conn);
    if (limit->hard > 0 && n > limit->hard) {
        kill_over_hard_limit(conn);
    } else if (limit->soft == 0 || n <= limit->soft) {
        conn->over_soft_since_ns = 0;
    } else if (conn->over_soft_since_ns == 0) {
        conn->over_soft_since_ns = loop->mono_ns;
    } else if (loop->mono_ns - conn->over_soft_since_ns >
               limit->soft_s * UINT64_C(1000000000)) {
        kill_counted(conn,
                     "its output is over the soft limit of client-output-buffer-limit",
                     &loop->stats.output_limit_kills);
    }
}

/* The same for a connection of any loop, as far as its messages are concerned. */
static void check_pushed(struct conn *conn)
{
    const struct config *config = &conn->loop->server->config;
    size_t hard = config->output_limits[class_of(conn)].hard;
    if (conn->loop == loop_current())
        conn_check_output(conn);
    else if (hard > 0 && conn_queued(conn) > hard)
        kill_over_hard_limit(conn);
}

/* ---- writing ---- */

static void swap_bufs(struct yn_buf *a, struct yn_buf *b)
{
    struct yn_buf t = *a;
    *a = *b;
    *b = t;
}

static void borrow_out(struct conn *conn)
{
    if (conn->out.cap == 0)
        swap_bufs(&conn->out, &conn->loop->spare_out);
}

/* Gives an empty buffer's memory to the loop, or back to the system. */
static void give_back(struct conn *conn, struct yn_buf *buf)
{
    yn_buf_reset(buf, KEEP_CAP);
    if (conn->loop->spare_out.cap == 0)
        swap_bufs(buf, &conn->loop->spare_out);
    else
        yn_buf_clear(buf);
}

/* Under the lock. Messages stand between two replies. */
static void merge_push(struct conn *conn)
{
    if (conn->push.len == 0 || jobs_are_pending(conn))
        return;
    yn_buf_append(&conn->out, conn->push.data, conn->push.len);
    yn_buf_reset(&conn->push, 4096);
    set_size(&conn->push_len, 0);
}

struct yn_buf *conn_push(struct conn *conn)
{
    return conn_is_live(conn) ? &conn->push : &loop_current()->scrap;
}

void conn_pushed(struct conn *conn)
{
    assert(loop_current()->locked == LOOP_EXCLUSIVE);
    yn_buf_reset(&loop_current()->scrap, KEEP_CAP);
    if (!conn_is_live(conn))
        return;
    set_size(&conn->push_len, conn->push.len);
    if (conn->push.failed)
        conn_kill(conn, "out of memory for its messages");
    else if (conn->push.len >= PUSH_CHECKED)
        check_pushed(conn);
    if (!conn->is_running)
        loop_wake_pushed(conn->loop, conn);
}

/* What others have sent since the last turn. */
static void take_pushed(struct conn *conn)
{
    if (shown(&conn->push_len) == 0)
        return;
    loop_lock(conn->loop, LOOP_SHARED);
    merge_push(conn);
    loop_unlock(conn->loop);
}

static void count_out(struct conn *conn, size_t n)
{
    stats_add(&conn->shown.bytes_out, n);
    stats_add(&conn->loop->stats.bytes_out, n);
}

static void on_written(uv_write_t *req, int status)
{
    struct conn *conn = req->data;
    conn->is_writing = false;
    if (status < 0) {
        conn_close(conn);
        return;
    }
    count_out(conn, conn->writing_left);
    give_back(conn, &conn->writing);
    set(&conn->shown.active_ns, loop_update_mono(conn->loop));
    conn_turn(conn);
}

/* Hands the output to the kernel: what it takes at once is gone, the rest waits in
 * conn->writing until on_written. */
static void flush(struct conn *conn)
{
    if (conn->is_writing || conn->out.len == 0)
        return;
    uv_buf_t rest = {.base = conn->out.data, .len = conn->out.len};
    int n = uv_try_write(&conn->io.stream, &rest, 1);
    if (n < 0 && n != UV_EAGAIN) {
        conn_close(conn);
        return;
    }
    stats_add(&conn->loop->stats.writes, 1);
    size_t taken = n > 0 ? (size_t)n : 0;
    count_out(conn, taken);
    if (taken > 0)
        set(&conn->shown.active_ns, conn->loop->mono_ns);
    if (taken == conn->out.len) {
        yn_buf_reset(&conn->out, KEEP_CAP);
        return;
    }
    swap_bufs(&conn->writing, &conn->out);
    rest =
        (uv_buf_t){.base = conn->writing.data + taken, .len = conn->writing.len - taken};
    conn->writing_left = rest.len;
    conn->write_req.data = conn;
    if (uv_write(&conn->write_req, &conn->io.stream, &rest, 1, on_written) != 0)
        conn_close(conn);
    else
        conn->is_writing = true;
}

/* ---- executing ---- */

/* Whether as many answers wait as may. */
static bool is_out_full(const struct conn *conn)
{
    return queued(conn) >= (conn->limits.authenticated ? OUT_HIGH : PREAUTH_OUT_HIGH);
}

static bool can_execute(const struct conn *conn)
{
    return !jobs_are_pending(conn) && !conn->blocked.is_waiting && !conn->is_held &&
           !conn->closes_when_flushed && conn_is_live(conn) && !is_out_full(conn) &&
           !conn->out.failed;
}

static void reply_protocol_error(struct conn *conn)
{
    char text[160];
    int n = snprintf(text, sizeof text, "ERR %s", conn->request.error);
    if (conn->reply == CONN_REPLY_ON) /* CLIENT REPLY silences this one too */
        yn_write_error(&conn->out, (struct yn_bytes){text, (size_t)n});
    loop_lock(conn->loop, LOOP_SHARED);
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
    struct yn_request_limits now = limits_of(conn);
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
        if (i > 0 && (is_stale || conn->is_in_taken || has_to_wait(conn, slice_end_ns)))
            break;
        if (batch->request[i].argc > 0) {
            if (pause_is_on(&loop->server->pause) &&
                pause_holds(conn, batch->spec[i], batch->request[i].argc, batch->argv[i]))
                break;
            dispatch_run(conn, batch, i);
            merge_push(conn);
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
    if (loop->locked == LOOP_SHARED && server->reads_are_noted) {
        loop_unlock(loop);
        loop_lock(loop, LOOP_EXCLUSIVE);
    }
    if (server->n_loops > 1)
        loop_update_mono(loop); /* waiting is no part of the commands' time */
    merge_push(conn);
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
    if (loop->has_to_broadcast) { /* before anybody hears that the keys were changed */
        loop->has_to_broadcast = false;
        tracking_broadcast(&loop->server->tracking);
        merge_push(conn);
    }
    note_session(conn);
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
static size_t execute(struct conn *conn, const char *data, size_t len)
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

static void execute_buffered(struct conn *conn)
{
    if (conn->in.len == 0 || conn->in.len < conn->request.need) {
        conn->has_more = false; /* nothing, or a request cut in an argument */
        return;
    }
    if (!can_execute(conn)) {
        note_waiting(conn);
        return;
    }
    size_t used = execute(conn, conn->in.data, conn->in.len);
    if (conn->is_in_taken) {
        leave_block(conn, used);
        return;
    }
    yn_buf_consume(&conn->in, used);
    if (conn->in.len == 0)
        yn_buf_reset(&conn->in, READ_ROOM);
}

/* ---- the end of a turn ---- */

static void set_reading(struct conn *conn, bool wanted)
{
    if (wanted == conn->is_reading)
        return;
    conn->is_reading = wanted;
    if (!wanted)
        uv_read_stop(&conn->io.stream);
    else if (uv_read_start(&conn->io.stream, on_alloc, on_read) != 0)
        conn_close(conn);
}

/* Decides what the connection waits for next. */
static void settle(struct conn *conn)
{
    size_t n = queued(conn);
    bool has_job = jobs_are_pending(conn);
    bool is_apart = jobs_are_apart(conn);
    bool is_idle = !has_job && n == 0;
    if (conn->closes_when_flushed && is_idle) {
        linger(conn);
        return;
    }
    bool waits = conn->blocked.is_waiting || conn->is_held;
    if (conn->has_ended && is_idle && (waits || !conn->has_more)) {
        conn_close(conn);
        return;
    }
    /* A job waits for the socket, and so do commands when too much is queued. */
    bool goes_on = has_job ? !conn->is_writing && !is_apart
                           : conn->has_more && !waits && !is_out_full(conn);
    if (goes_on)
        loop_wake(conn->loop, conn);
    bool can_take_more = waits || is_apart ? conn->in.len < WAITING_IN_MAX
                                           : !has_job && !conn->has_more && !is_out_full(conn);
    set_reading(conn, can_take_more && !conn->has_ended && !conn->closes_when_flushed);
}

static void close_killed(struct conn *conn)
{
    const char *reason = conn->kill_reason;
    if (reason != expelled)
        log_warning("client %s (id %llu) closed: %s", conn->address,
                    (unsigned long long)conn->id, reason);
    conn_close(conn);
}

static void end_turn(struct conn *conn)
{
    if (conn->out.failed || conn->in.failed)
        conn_kill(conn, "out of memory for its buffers");
    if (conn_is_live(conn)) {
        flush(conn);
        if (conn->state == CONN_OPEN)
            conn_check_output(conn);
    }
    if (conn->state == CONN_OPEN && conn->kill_reason != NULL)
        close_killed(conn);
    if (conn->state == CONN_OPEN)
        settle(conn);
    if (conn->out.len == 0 && conn->out.cap > 0)
        give_back(conn, &conn->out);
    conn_show(conn);
}

void conn_turn(struct conn *conn)
{
    if (conn->state != CONN_OPEN)
        return;
    loop_update_clock(conn->loop);
    borrow_out(conn);
    if (jobs_are_pending(conn) && !conn->is_writing && conn->kill_reason == NULL)
        dispatch_step_jobs(conn);
    take_pushed(conn);
    execute_buffered(conn);
    end_turn(conn);
}

/* ---- reading ---- */

/*
 * How much to make room for behind half a request. A huge argument gets room for all of
 * it at once, but not before a sixteenth of it has come: to announce 512 MB costs a
 * client nothing, and must not cost the server address space.
 */
static size_t read_room(const struct conn *conn)
{
    size_t have = conn->in.len;
    size_t need = conn->request.need;
    if (!conn->limits.authenticated)
        return PREAUTH_READ;
    bool is_huge = need >= BLOB_LEN_MIN;
    /* behind a huge argument its words, at first in its block */
    if (have >= BLOB_LEN_MIN && have < conn->in.cap && need <= conn->in.cap)
        return need > have ? need - have : conn->in.cap - have;
    if (need <= have + READ_ROOM)
        return need > have && is_huge ? need - have + TAIL_ROOM : READ_ROOM;
    if (have >= need / 16)
        return need - have + TAIL_ROOM;
    return have > READ_ROOM ? have : READ_ROOM;
}

/* Goes on in the block of a value that is gone, if that has the right size. */
static void reuse_block(struct conn *conn)
{
    struct yn_buf *in = &conn->in;
    size_t cap;
    if (conn->request.need < BLOB_LEN_MIN || conn->request.need <= in->cap)
        return;
    char *block = blob_reuse(conn->request.need + TAIL_ROOM, &cap);
    if (block == NULL)
        return;
    memcpy(block, in->data, in->len);
    free(in->data);
    in->data = block;
    in->cap = cap;
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
    struct conn *conn = handle->data;
    (void)hint;
    if (conn->in.len == 0 || conn->state != CONN_OPEN) {
        bool is_known = conn->limits.authenticated;
        *buf = uv_buf_init(conn->loop->read_buf,
                           is_known ? LOOP_READ_BYTES : PREAUTH_READ);
        return;
    }
    reuse_block(conn);
    char *to = yn_buf_reserve(&conn->in, read_room(conn));
    if (to == NULL) {
        *buf = uv_buf_init(NULL, 0);
        return;
    }
    size_t len = conn->in.cap - conn->in.len;
    size_t need = conn->request.need;
    if (need >= BLOB_LEN_MIN && need > conn->in.len && need - conn->in.len < len)
        len = need - conn->in.len; /* so that nothing follows it in its block */
    *buf = (uv_buf_t){.base = to, .len = len};
}

/* Whether a client that has ended its side is taken to be gone: it is not worth waiting,
 * or working, for. Over TCP nobody can tell whether it still listens. */
static bool is_leaving(const struct conn *conn)
{
    uv_os_fd_t fd;
    if (conn->blocked.is_waiting)
        return true;
    if (!jobs_are_apart(conn) || uv_fileno(&conn->io.handle, &fd) != 0)
        return false;
    struct pollfd poll_fd = {.fd = fd};
    return !conn->is_unix || (poll(&poll_fd, 1, 0) > 0 && poll_fd.revents != 0);
}

/* The client has ended its side, or the connection is broken. */
static void on_end(struct conn *conn, int error)
{
    if (error == UV_EOF && conn->state == CONN_OPEN && !is_leaving(conn)) {
        /* What it has sent is still answered. */
        conn->has_ended = true;
        conn_turn(conn);
        return;
    }
    if (error == UV_ENOBUFS)
        log_warning("client %s (id %llu) closed: out of memory for its request",
                    conn->address, (unsigned long long)conn->id);
    else if (error != UV_EOF)
        log_verbose("client %s: %s", conn->address, uv_strerror(error));
    conn_close(conn);
}

/* After a full buffer libuv reads on from the same client, many times if need be. Once
 * the loop's iteration has become long, the client waits until the others have had a
 * turn. */
static void yield_if_long(struct conn *conn)
{
    uint64_t iteration_began_ns = uv_now(&conn->loop->uv) * UINT64_C(1000000);
    if (conn->state != CONN_OPEN || !conn->is_reading ||
        conn->loop->mono_ns < iteration_began_ns + ITERATION_NS)
        return;
    set_reading(conn, false);
    loop_wake(conn->loop, conn);
}

/* A request that is known to become too long is refused at once: its rest may come in one
 * piece, and would be executed. */
static void check_query_limit(struct conn *conn)
{
    size_t limit = conn->loop->config.query_max;
    if (!conn->limits.authenticated && limit > PREAUTH_IN_MAX)
        limit = PREAUTH_IN_MAX;
    if (conn->in.len > limit || conn->request.need > limit)
        kill_counted(conn, "its request passes client-query-buffer-limit",
                     &conn->loop->stats.query_limit_kills);
    else if (conn->multi.n_bytes > limit)
        conn_kill(conn, "its transaction passes client-query-buffer-limit");
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct conn *conn = stream->data;
    struct loop *loop = conn->loop;
    if (n == 0 || conn->state == CONN_CLOSED)
        return;
    if (n < 0) {
        on_end(conn, (int)n);
        return;
    }
    if (conn->state == CONN_LINGERING)
        return;
    loop_update_clock(loop);
    set(&conn->shown.active_ns, loop->mono_ns);
    stats_add(&conn->shown.bytes_in, (size_t)n);
    stats_add(&loop->stats.bytes_in, (size_t)n);
    stats_add(&loop->stats.reads, 1);
    borrow_out(conn);
    if (buf->base == loop->read_buf) {
        size_t used = execute(conn, buf->base, (size_t)n);
        yn_buf_append(&conn->in, buf->base + used, (size_t)n - used);
    } else {
        conn->in.len += (size_t)n;
        execute_buffered(conn);
    }
    check_query_limit(conn);
    end_turn(conn);
    if ((size_t)n == buf->len)
        yield_if_long(conn);
}

/* ---- visits ---- */

/* A client that reads a large reply slowly is not idle; libuv tells only when the kernel
 * has taken all of a write. */
static void note_progress(struct conn *conn)
{
    size_t queue = conn->io.stream.write_queue_size;
    if (queue != conn->queue_at_visit)
        set(&conn->shown.active_ns, conn->loop->mono_ns);
    conn->queue_at_visit = queue;
}

void conn_visit(struct conn *conn)
{
    uint64_t now_ns = conn->loop->mono_ns;
    if (conn->state == CONN_LINGERING && now_ns >= conn->linger_until_ns)
        conn_close(conn);
    if (conn->state != CONN_OPEN)
        return;
    note_progress(conn);
    jobs_visit(conn);
    uint64_t active_ns = conn->shown.active_ns;
    uint64_t idle_ns = now_ns > active_ns ? now_ns - active_ns : 0;
    uint64_t timeout_s = conn->loop->config.timeout_s;
    if (timeout_s > 0 && idle_ns > timeout_s * UINT64_C(1000000000) &&
        conn->output_class == CONFIG_CLASS_NORMAL && !conn->blocked.is_waiting &&
        !jobs_are_apart(conn)) {
        log_verbose("client %s: closed after being idle for %llu seconds", conn->address,
                    (unsigned long long)timeout_s);
        conn_close(conn);
        return;
    }
    conn_check_output(conn);
    if (conn->in.len == 0 && conn->in.cap > 0 && idle_ns > IDLE_SHRINK_NS)
        yn_buf_clear(&conn->in);
    conn_show(conn);
}

void conn_reset_session(struct conn *conn)
{
    pubsub_forget(&conn->loop->server->pubsub, conn);
    monitor_remove(conn);
    tracking_stop(&conn->loop->server->tracking, conn);
    multi_reset(conn);
    free(conn->name);
    conn->name = NULL;
    conn->db = 0;
    conn->resp = 2;
    conn->reply = CONN_REPLY_ON;
    conn->is_no_evict = conn->is_no_touch = false;
    acl_conn_begin(conn);
}
