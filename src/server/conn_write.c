/* A connection's output: messages of others, answers, records of TLS, the kernel. */
#include <assert.h>
#include <string.h>

#include "server/conn_parts.h"
#include "server/jobs.h"
#include "server/server.h"
#include "server/tls.h"

/* HOT: below it a push is not measured against the output limit before the next turn:
 * that looks at much of a connection, of ten thousand of them for one message. */
#define PUSH_CHECKED ((size_t)16 * 1024)
/* A buffer larger than this is given back when it is empty. */
#define KEEP_CAP ((size_t)256 * 1024)

/* ---- output that waits ---- */

/* Bytes of answers that the kernel has not taken, pushes included. */
size_t conn_queued_now(const struct conn *conn)
{
    return conn->io.stream.write_queue_size + conn->out.len + conn->jobs_bytes +
           atomic_load_explicit(&conn->push_len, memory_order_relaxed);
}

void conn_kill_counted(struct conn *conn, const char *reason, _Atomic uint64_t *count)
{
    if (conn_is_live(conn))
        stats_add(count, 1);
    conn_kill(conn, reason);
}

static void kill_over_hard_limit(struct conn *conn)
{
    conn_kill_counted(conn,
                      "its output passes the hard limit of client-output-buffer-limit",
                      &loop_current()->stats.output_limit_kills);
}

void conn_check_output(struct conn *conn)
{
    struct loop *loop = conn->loop;
    const struct config_output_limit *limit =
        &loop->config.output_limits[conn->output_class];
    size_t n = conn_queued_now(conn);
    if (limit->hard > 0 && n > limit->hard) {
        kill_over_hard_limit(conn);
    } else if (limit->soft == 0 || n <= limit->soft) {
        conn->over_soft_since_ns = 0;
    } else if (conn->over_soft_since_ns == 0) {
        conn->over_soft_since_ns = loop->mono_ns;
    } else if (loop->mono_ns - conn->over_soft_since_ns >
               limit->soft_s * UINT64_C(1000000000)) {
        conn_kill_counted(
            conn, "its output is over the soft limit of client-output-buffer-limit",
            &loop->stats.output_limit_kills);
    }
}

/* The same for a connection of any loop, as far as its messages are concerned. */
static void check_pushed(struct conn *conn)
{
    const struct config *config = &conn->loop->server->config;
    size_t hard = config->output_limits[conn_class_of(conn)].hard;
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

void conn_borrow_out(struct conn *conn)
{
    if (conn->out.cap == 0)
        swap_bufs(&conn->out, &conn->loop->spare_out);
}

/* Gives an empty buffer's memory to the loop, or back to the system. */
void conn_give_back(struct conn *conn, struct yn_buf *buf)
{
    yn_buf_reset(buf, KEEP_CAP);
    if (conn->loop->spare_out.cap == 0)
        swap_bufs(buf, &conn->loop->spare_out);
    else
        yn_buf_clear(buf);
}

/* Under the lock. Messages stand between two replies. */
void conn_merge_push(struct conn *conn)
{
    if (conn->push.len == 0 || jobs_are_pending(conn))
        return;
    yn_buf_append(&conn->out, conn->push.data, conn->push.len);
    yn_buf_reset(&conn->push, 4096);
    conn_note_size(&conn->push_len, 0);
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
    conn_note_size(&conn->push_len, conn->push.len);
    if (conn->push.failed)
        conn_kill(conn, "out of memory for its messages");
    else if (conn->push.len >= PUSH_CHECKED)
        check_pushed(conn);
    if (!conn->is_running)
        loop_wake_pushed(conn->loop, conn);
}

/* What others have sent since the last turn. */
void conn_take_pushed(struct conn *conn)
{
    if (conn_noted_size(&conn->push_len) == 0)
        return;
    loop_lock(conn->loop, LOOP_SHARED);
    conn_merge_push(conn);
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
    conn_give_back(conn, &conn->writing);
    conn_note(&conn->shown.active_ns, loop_update_mono(conn->loop));
    if (jobs_are_pending(conn)) /* in its turn among those that have one */
        loop_wake(conn->loop, conn);
    else
        conn_turn(conn);
}

/* Turns what is to be sent into records. Returns false when that has ended the
 * connection. */
static bool encrypt(struct conn *conn)
{
    struct yn_buf *records = tls_produced(conn->tls);
    if (!tls_write(conn->tls, conn->out.data, conn->out.len)) {
        conn_break_off(conn);
        return false;
    }
    conn->out.len = 0;
    swap_bufs(&conn->out, records);
    yn_buf_clear(records);
    return true;
}

/* Hands the output to the kernel: what it takes at once is gone, the rest waits in
 * conn->writing until on_written. */
void conn_flush(struct conn *conn)
{
    if (conn->is_writing || (conn->tls != NULL && !encrypt(conn)) || conn->out.len == 0)
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
        conn_note(&conn->shown.active_ns, conn->loop->mono_ns);
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
