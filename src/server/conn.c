/* The life of a connection, and what others see of it and send to it. The turns are in
 * conn_read.c, conn_run.c and conn_write.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/acl_conns.h"
#include "server/blocking.h"
#include "server/conn_parts.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/monitor.h"
#include "server/pause.h"
#include "server/server.h"
#include "server/tls.h"

/* How long a client may take for the handshake of TLS. */
#define HANDSHAKE_NS ((uint64_t)10 * 1000 * 1000 * 1000)
#define TLS_LOG_INTERVAL_NS ((uint64_t)1000 * 1000 * 1000)
#define LINGER_NS ((uint64_t)1000 * 1000 * 1000)
#define IDLE_SHRINK_NS ((uint64_t)2 * 1000 * 1000 * 1000)

/* ---- figures ---- */

void conn_show(struct conn *conn)
{
    struct conn_figures *f = &conn->shown;
    conn_note_size(&f->in_len, conn->in.len);
    conn_note_size(&f->in_cap, conn->in.cap);
    conn_note_size(&f->out_len, conn->out.len);
    conn_note_size(&f->out_cap, conn->out.cap);
    conn_note_size(&f->queued,
                   conn->io.stream.write_queue_size + conn->out.len + conn->jobs_bytes);
    conn_note_size(&f->held, yn_request_memory(&conn->request) + conn->in.cap +
                                 conn->out.cap + conn->writing.cap + conn->jobs_bytes +
                                 (conn->tls != NULL ? tls_memory(conn->tls) : 0));
    conn_note_flag(&f->is_reading, conn->is_reading);
    conn_note_flag(&f->is_writing, conn->is_writing);
    conn_note_flag(&f->is_closing, conn->closes_when_flushed);
}

size_t conn_queued(const struct conn *conn)
{
    return conn_noted_size(&conn->shown.queued) + conn->push.len;
}

size_t conn_memory(const struct conn *conn)
{
    size_t waiting = conn->waiting != NULL ? conn->waiting->n_bytes : 0;
    return sizeof *conn + conn_noted_size(&conn->shown.held) + conn->push.cap + waiting +
           conn->multi.n_bytes;
}

size_t conn_n_subscriptions(const struct conn *conn)
{
    size_t n = 0;
    for (int kind = 0; kind < PUBSUB_KINDS; kind++)
        n += conn->subscriptions[kind].n;
    return n;
}

enum config_class conn_class_of(const struct conn *conn)
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

struct yn_request_limits conn_limits_of(const struct conn *conn)
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
    tls_free(conn->tls);
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

const char conn_expelled[] = "";

void conn_expel(struct conn *conn)
{
    withdraw(conn);
    conn_kill(conn, conn_expelled);
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
void conn_note_session(struct conn *conn)
{
    loop_note_config(conn->loop);
    conn->limits = conn_limits_of(conn);
    conn->output_class = conn_class_of(conn);
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
    conn_note(&conn->shown.active_ns, loop->mono_ns);
    loop_lock(loop, LOOP_EXCLUSIVE);
    bool is_open = open_handle(conn);
    if (is_open && arrival->is_tls)
        conn->tls = tls_new(loop->server->tls);
    if (is_open) {
        list_append(&loop->server->conns, &conn->in_conns);
        acl_conn_begin(conn);
        conn_note_session(conn);
    }
    loop_unlock(loop);
    if (!is_open) {
        free(conn);
        atomic_fetch_sub(&loop->server->n_conns, 1);
        return;
    }
    list_append(&loop->conns, &conn->in_loop);
    loop->n_conns++;
    if (arrival->is_tls && conn->tls == NULL)
        conn_kill(conn, "out of memory for TLS");
    conn_set_reading(conn, true);
    conn_show(conn);
}

/* ---- the end ---- */

/* What TLS has to say at the end, as far as the kernel takes it at once. */
void conn_send_records(struct conn *conn)
{
    struct yn_buf *produced = tls_produced(conn->tls);
    uv_buf_t bytes = {.base = produced->data, .len = produced->len};
    if (produced->len > 0)
        uv_try_write(&conn->io.stream, &bytes, 1);
    yn_buf_clear(produced);
}

/* The peer does not speak TLS, or not as we want it to. A refused certificate is worth a
 * line, but an attacker must not fill the log. */
void conn_break_off(struct conn *conn)
{
    bool is_certificate;
    const char *error = tls_error(conn->tls, &is_certificate);
    struct loop *loop = conn->loop;
    if (is_certificate && (loop->tls_logged_ns == 0 ||
                           loop->mono_ns - loop->tls_logged_ns > TLS_LOG_INTERVAL_NS)) {
        loop->tls_logged_ns = loop->mono_ns;
        log_warning("client %s refused: its certificate: %s", conn->address, error);
    } else {
        log_verbose("client %s: TLS: %s", conn->address, error);
    }
    conn_send_records(conn);
    conn_close(conn);
}

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
void conn_linger(struct conn *conn)
{
    if (conn->tls != NULL) {
        tls_end(conn->tls);
        conn_send_records(conn);
    }
    if (conn->has_ended) {
        conn_close(conn);
        return;
    }
    leave(conn, CONN_LINGERING);
    conn->linger_until_ns = conn->loop->mono_ns + LINGER_NS;
    yn_buf_clear(&conn->in);
    conn->shutdown_req.data = conn;
    if (uv_shutdown(&conn->shutdown_req, &conn->io.stream, on_shutdown) != 0)
        conn_close(conn);
    else
        conn_set_reading(conn, true);
}

/* ---- visits ---- */

/* A client that reads a large reply slowly is not idle; libuv tells only when the kernel
 * has taken all of a write. */
static void note_progress(struct conn *conn)
{
    size_t queue = conn->io.stream.write_queue_size;
    if (queue != conn->queue_at_visit)
        conn_note(&conn->shown.active_ns, conn->loop->mono_ns);
    conn->queue_at_visit = queue;
}

void conn_visit(struct conn *conn)
{
    uint64_t now_ns = conn->loop->mono_ns;
    if (conn->state == CONN_LINGERING && now_ns >= conn->linger_until_ns)
        conn_close(conn);
    if (conn->state != CONN_OPEN)
        return;
    if (conn->tls != NULL && !tls_is_ready(conn->tls) &&
        now_ns > conn->created_ns + HANDSHAKE_NS) {
        log_verbose("client %s: closed after no TLS handshake", conn->address);
        conn_close(conn);
        return;
    }
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
