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
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "server/blob.h"
#include "server/conn_parts.h"
#include "server/dispatch.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/server.h"
#include "server/tls.h"

/* Length of a loop's iteration from which on clients that send without end are
 * interrupted. */
#define ITERATION_NS ((uint64_t)500 * 1000)
/* A client whose command waits, for a key or for the pool, is read from up to here, to
 * see it hang up. */
#define WAITING_IN_MAX ((size_t)1024 * 1024)
/* What a client may have sent of one request that has not logged in: a word of the
 * greatest length that such a one may have, and some more. */
#define STRANGER_IN_MAX ((size_t)20 * 1024)
/* The handshake of TLS, with the certificates of a client, has some KB. */
#define HANDSHAKE_MAX ((uint64_t)64 * 1024)
/* Room behind a huge argument, for the words that follow it in its request. */
#define TAIL_ROOM ((size_t)1024)

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf);
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void read_records(struct conn *conn);

/* ---- the end of a turn ---- */

void conn_set_reading(struct conn *conn, bool wanted)
{
    if (wanted == conn->is_reading)
        return;
    conn->is_reading = wanted;
    if (!wanted)
        uv_read_stop(&conn->io.stream);
    else if (uv_read_start(&conn->io.stream, on_alloc, on_read) != 0)
        conn_close(conn);
}

/* Whether more of what the client sends may be read. */
static bool can_take_more(const struct conn *conn)
{
    if (conn->closes_when_flushed)
        return false;
    if (conn->blocked.is_waiting || conn->is_held || jobs_are_apart(conn))
        return conn->in.len < WAITING_IN_MAX;
    return !jobs_are_pending(conn) && !conn->has_more && !conn_is_out_full(conn);
}

/* Decides what the connection waits for next. */
static void settle(struct conn *conn)
{
    size_t n = conn_queued_now(conn);
    bool has_job = jobs_are_pending(conn);
    bool is_apart = has_job && (jobs_are_apart(conn) || conn->is_held);
    bool is_idle = !has_job && n == 0;
    if (conn->closes_when_flushed && is_idle) {
        conn_linger(conn);
        return;
    }
    bool waits = conn->blocked.is_waiting || conn->is_held;
    bool has_records = conn->tls != NULL && tls_has_input(conn->tls);
    if (conn->has_ended && is_idle && (waits || (!conn->has_more && !has_records))) {
        conn_linger(conn);
        return;
    }
    /* A job waits for the socket, and so do commands when too much is queued. */
    bool goes_on = has_job ? !conn->is_writing && !is_apart
                           : conn->has_more && !waits && !conn_is_out_full(conn);
    if (goes_on)
        loop_wake(conn->loop, conn);
    bool takes_more = can_take_more(conn);
    if (takes_more && has_records)
        loop_wake(conn->loop, conn);
    conn_set_reading(conn, takes_more && !conn->has_ended);
}

static void close_killed(struct conn *conn)
{
    const char *reason = conn->kill_reason;
    /* whoever has not logged in must not fill the log */
    enum log_level level =
        conn->limits.authenticated ? LOG_LEVEL_WARNING : LOG_LEVEL_VERBOSE;
    if (reason != conn_expelled)
        log_line(level, "client %s (id %llu) closed: %s", conn->address,
                 (unsigned long long)conn->id, reason);
    conn_close(conn);
}

static void end_turn(struct conn *conn)
{
    if (conn->out.failed || conn->in.failed)
        conn_kill(conn, "out of memory for its buffers");
    if (conn_is_live(conn)) {
        conn_flush(conn);
        if (conn->state == CONN_OPEN)
            conn_check_output(conn);
    }
    if (conn->state == CONN_OPEN && conn->kill_reason != NULL)
        close_killed(conn);
    if (conn->state == CONN_OPEN)
        settle(conn);
    if (conn->out.len == 0 && conn->out.cap > 0)
        conn_give_back(conn, &conn->out);
    conn_show(conn);
}

void conn_turn(struct conn *conn)
{
    if (conn->state != CONN_OPEN)
        return;
    loop_update_clock(conn->loop);
    conn_borrow_out(conn);
    if (jobs_are_pending(conn) && !conn->is_writing && conn->kill_reason == NULL)
        dispatch_step_jobs(conn);
    conn_take_pushed(conn);
    conn_execute_buffered(conn);
    if (conn->tls != NULL && tls_has_input(conn->tls))
        read_records(conn);
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
        return STRANGER_READ;
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

/* Room behind the bytes of half a request. */
static void make_room(struct conn *conn, uv_buf_t *buf)
{
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

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf)
{
    struct conn *conn = handle->data;
    (void)hint;
    if (conn->in.len == 0 || conn->state != CONN_OPEN || conn->tls != NULL)
        *buf = uv_buf_init(conn->loop->read_buf,
                           conn->limits.authenticated ? LOOP_READ_BYTES : STRANGER_READ);
    else
        make_room(conn, buf);
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
    conn_set_reading(conn, false);
    loop_wake(conn->loop, conn);
}

/* A request that is known to become too long is refused at once: its rest may come in one
 * piece, and would be executed. */
static void check_query_limit(struct conn *conn)
{
    size_t limit = conn->loop->config.query_max;
    if (conn->in.len > limit || conn->request.need > limit)
        conn_kill_counted(conn, "its request passes client-query-buffer-limit",
                          &conn->loop->stats.query_limit_kills);
    else if (!conn->limits.authenticated && conn->in.len > STRANGER_IN_MAX)
        conn_kill_counted(conn,
                          "its request is longer than any by which a client logs in",
                          &conn->loop->stats.query_limit_kills);
    else if (conn->multi.n_bytes > limit)
        conn_kill(conn, "its transaction passes client-query-buffer-limit");
}

/* Reads and runs what has come over TLS, as long as more may be read; the rest is kept.
 */
static void read_records(struct conn *conn)
{
    enum tls_status status = TLS_DONE;
    while (status == TLS_DONE && conn_is_live(conn) && can_take_more(conn)) {
        uv_buf_t room;
        size_t n = 0;
        make_room(conn, &room);
        if (room.base == NULL)
            break; /* `in` is marked */
        status = tls_read(conn->tls, room.base, room.len, &n);
        conn->in.len += n;
        if (n > 0)
            conn_execute_buffered(conn);
        check_query_limit(conn);
    }
    if (!tls_keep(conn->tls))
        conn_kill(conn, "out of memory for its request");
    if (status == TLS_ENDED)
        conn->has_ended = true;
    else if (status == TLS_BROKEN)
        conn_break_off(conn);
}

/* OpenSSL gathers the messages of a handshake. */
static void check_handshake(struct conn *conn)
{
    if (!tls_is_ready(conn->tls) && conn->shown.bytes_in > HANDSHAKE_MAX)
        conn_kill(conn, "its handshake is longer than any");
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
    conn_note(&conn->shown.active_ns, loop->mono_ns);
    stats_add(&conn->shown.bytes_in, (size_t)n);
    stats_add(&loop->stats.bytes_in, (size_t)n);
    stats_add(&loop->stats.reads, 1);
    conn_borrow_out(conn);
    if (conn->tls != NULL) {
        if (!tls_feed(conn->tls, buf->base, (size_t)n))
            conn_kill(conn, "out of memory for its request");
        read_records(conn);
        check_handshake(conn);
    } else if (buf->base == loop->read_buf) {
        size_t used = conn_execute(conn, buf->base, (size_t)n);
        yn_buf_append(&conn->in, buf->base + used, (size_t)n - used);
    } else {
        conn->in.len += (size_t)n;
        conn_execute_buffered(conn);
    }
    check_query_limit(conn);
    end_turn(conn);
    if ((size_t)n == buf->len)
        yield_if_long(conn);
}
