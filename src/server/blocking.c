#include "server/blocking.h"

#include <poll.h>

#include "resp/write.h"
#include "server/dispatch.h"
#include "server/jobs.h"
#include "server/server.h"

static struct conn *conn_of(struct blocked_client *client)
{
    return LIST_ITEM(client, struct conn, blocked);
}

/* ---- deadlines ---- */

static void on_timer(uv_timer_t *timer);

static int64_t mono_ms(struct loop *loop)
{
    return (int64_t)(loop_update_mono(loop) / 1000000);
}

/* Sets the timer to the next deadline. It may ring for one that is not there any more. */
void blocking_set_timer(struct server *server)
{
    int64_t at_ms = blocked_next_deadline_ms(&server->blocked);
    if (at_ms == server->wait_timer_ms)
        return;
    if (loop_current() != &server->loops[0]) {
        server_poke(server);
        return;
    }
    int64_t now_ms = mono_ms(&server->loops[0]);
    server->wait_timer_ms = at_ms;
    if (at_ms == INT64_MAX)
        uv_timer_stop(&server->wait_timer);
    else
        uv_timer_start(&server->wait_timer, on_timer,
                       at_ms > now_ms ? (uint64_t)(at_ms - now_ms) : 0, 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct loop *loop = &server->loops[0];
    struct blocked_client *client;
    loop_lock(loop, LOOP_EXCLUSIVE);
    int64_t now_ms = mono_ms(loop);
    while ((client = blocked_due(&server->blocked, now_ms)) != NULL)
        blocking_end(conn_of(client), false);
    server->wait_timer_ms = INT64_MAX;
    blocking_set_timer(server);
    loop_unlock(loop);
}

void blocking_init(struct server *server)
{
    blocked_init(&server->blocked, server->hash_seed);
    uv_timer_init(&server->loops[0].uv, &server->wait_timer);
    server->wait_timer.data = server;
    server->wait_timer_ms = INT64_MAX;
}

/* Never earlier than the client asked for: the clock's millisecond has begun already. */
static int64_t deadline_ms(struct loop *loop, int64_t timeout_ms)
{
    int64_t now_ms = mono_ms(loop);
    if (timeout_ms == 0 || timeout_ms > INT64_MAX - 2 - now_ms)
        return INT64_MAX;
    return now_ms + timeout_ms + 1;
}

/* ---- waiting ---- */

bool blocking_wait_or_reply(struct cmd_call *call)
{
    struct host *h = call->host;
    struct conn *conn = h->conn;
    struct server *server = h->loop->server;
    const struct cmd_block *block = &call->block;
    if (conn->blocked.is_waiting)
        return true;
    if (h->is_in_exec) { /* as if it had waited long enough */
        host_reply_null_array(h);
        return false;
    }
    struct request_copy *request = request_copy_new(call->spec, call->argc, call->argv);
    if (request == NULL ||
        !blocked_add(&server->blocked, &conn->blocked, h->db, block->keys, block->n_keys,
                     deadline_ms(h->loop, block->timeout_ms))) {
        request_copy_free(request);
        host_reply_error(h, CMD_ERR_NOMEM);
        return false;
    }
    conn->waiting = request;
    conn->waits_quietly = h->out == &h->loop->scrap;
    blocking_set_timer(server);
    return true;
}

void blocking_forget(struct conn *conn)
{
    blocked_remove(&conn->loop->server->blocked, &conn->blocked);
    request_copy_free(conn->waiting);
    conn->waiting = NULL;
}

/* The connection has its answer and goes on. */
static void release(struct conn *conn)
{
    blocking_forget(conn);
    atomic_store_explicit(&conn->shown.active_ns, loop_current()->mono_ns,
                          memory_order_relaxed);
    loop_wake(conn->loop, conn);
}

void blocking_end(struct conn *conn, bool is_error)
{
    struct loop *loop = loop_current();
    struct yn_buf *out = conn->waits_quietly ? &loop->scrap : conn_push(conn);
    struct host host = host_server_begin(loop, conn, out);
    if (is_error)
        host_reply_error(&host, "UNBLOCKED client unblocked via CLIENT UNBLOCK");
    else
        host_reply_null_array(&host);
    struct stats_command *c = stats_command_of(&loop->stats, conn->waiting->spec);
    c->calls++;
    c->failed += is_error;
    conn_pushed(conn);
    release(conn);
}

/* ---- serving ---- */

static bool is_ready(struct server *server, size_t db, struct yn_bytes name)
{
    const struct keyspace *ks = server->databases[db];
    return keyspace_find(ks, name, loop_now_ms(loop_current())).type == HOST_ZSET;
}

void blocking_key_changed(struct host *h, struct yn_bytes key)
{
    struct server *server = h->loop->server;
    if (blocked_is_awaited(&server->blocked, h->db, key) && is_ready(server, h->db, key))
        blocked_mark(&server->blocked, h->db, key);
}

void blocking_db_changed(struct host *h, size_t db)
{
    struct server *server = h->loop->server;
    const struct link *all = &server->blocked.table.all;
    for (const struct link *l = all->next; l != all; l = l->next) {
        const struct interest_key *key = interest_key_of(NAME_OF(l));
        if (key->name.space == db && is_ready(server, db, key->name.bytes))
            blocked_mark(&server->blocked, db, key->name.bytes);
    }
}

/* The end of the stream may stand in the kernel, behind bytes that nobody has read. */
static bool has_hung_up(const struct conn *conn)
{
    struct pollfd poll_fd = {.fd = conn->fd, .events = POLLRDHUP};
    return poll(&poll_fd, 1, 0) > 0;
}

static void serve_conn(struct conn *conn)
{
    if (!conn_is_live(conn) || conn->shown.is_closing)
        return;
    if (has_hung_up(conn))
        conn_expel(conn);
    else if (dispatch_again(conn))
        release(conn);
}

/* Offers the key to those who stand there now, while it lasts. Serving one takes that one
 * alone off the queue; the key goes with the last. */
static void serve_key(struct server *server, struct interest_key *key)
{
    struct link *next = key->interests.next;
    for (size_t n = key->n; n > 0 && is_ready(server, key->name.space, key->name.bytes);
         n--) {
        struct interest *interest = LIST_ITEM(next, struct interest, in_key);
        next = next->next;
        serve_conn(conn_of(interest->owner));
    }
}

void blocking_serve(struct server *server)
{
    struct interest_key *key;
    while ((key = blocked_next_marked(&server->blocked)) != NULL)
        serve_key(server, key);
}
