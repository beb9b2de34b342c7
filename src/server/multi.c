/* MULTI, EXEC, DISCARD, WATCH, UNWATCH. */
#include "server/multi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"
#include "server/conn.h"
#include "server/dispatch.h"
#include "server/host_server.h"
#include "server/server.h"

/* ---- the queue ---- */

bool multi_queue(struct multi *multi, const struct cmd_spec *spec, size_t argc,
                 const struct yn_bytes *argv)
{
    struct request_copy *copy = request_copy_new(spec, argc, argv);
    if (copy == NULL)
        return false;
    if (multi->first == NULL)
        multi->first = copy;
    else
        multi->last->next = copy;
    multi->last = copy;
    multi->n++;
    multi->n_bytes += copy->n_bytes;
    multi->flags |= spec->flags;
    return true;
}

void multi_note_failure(struct multi *multi)
{
    multi->has_failed = multi->is_open;
}

void multi_drop(struct multi *multi)
{
    while (multi->first != NULL) {
        struct request_copy *next = multi->first->next;
        request_copy_free(multi->first);
        multi->first = next;
    }
    *multi = (struct multi){.is_open = false};
}

void multi_reset(struct conn *conn)
{
    multi_drop(&conn->multi);
    watch_forget(&conn->loop->server->watches, &conn->watch);
}

bool multi_runs_at_once(const struct cmd_spec *spec)
{
    return spec->run == multi_exec || spec->run == multi_discard ||
           spec->run == multi_multi || spec->run == multi_watch ||
           spec->run == session_quit || spec->run == session_reset;
}

void multi_abort(struct conn *conn, struct host *h, const char *reason)
{
    char text[300];
    if (strncmp(reason, "ERR ", 4) == 0)
        reason += 4;
    snprintf(text, sizeof text, "EXECABORT Transaction discarded because of: %s", reason);
    multi_reset(conn);
    host_reply_error(h, text);
}

/* ---- keys that are watched ---- */

static bool key_exists(void *ctx, size_t db, struct yn_bytes name)
{
    const struct host *h = ctx;
    const struct keyspace *ks = h->loop->server->databases[db];
    return keyspace_find(ks, name, h->now_ms).type != HOST_NONE;
}

void multi_touch_db(struct host *h, size_t db)
{
    watch_touch_db(&h->loop->server->watches, db, key_exists, h);
}

void multi_watch(struct cmd_call *call)
{
    struct host *h = call->host;
    struct conn *conn = h->conn;
    struct watches *watches = &h->loop->server->watches;
    size_t n_before = conn->watch.n;
    if (conn->multi.is_open) {
        host_reply_error(h, "ERR WATCH inside MULTI is not allowed");
        return;
    }
    /* once one is touched, the others do not matter any more */
    for (size_t i = 1; i < call->argc && !conn->watch.is_touched; i++) {
        bool exists = key_exists(h, conn->db, call->argv[i]);
        if (!watch_add(watches, &conn->watch, conn->db, call->argv[i], exists)) {
            watch_shorten(watches, &conn->watch, n_before);
            host_reply_error(h, CMD_ERR_NOMEM);
            return;
        }
    }
    host_reply_status(h, "OK");
}

void multi_unwatch(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    watch_forget(&conn->loop->server->watches, &conn->watch);
    host_reply_status(call->host, "OK");
}

/* ---- transactions ---- */

void multi_multi(struct cmd_call *call)
{
    struct multi *multi = &call->host->conn->multi;
    if (multi->is_open) {
        host_reply_error(call->host, "ERR MULTI calls can not be nested");
        return;
    }
    multi->is_open = true;
    host_reply_status(call->host, "OK");
}

void multi_discard(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    if (!conn->multi.is_open) {
        host_reply_error(call->host, "ERR DISCARD without MULTI");
        return;
    }
    multi_reset(conn);
    host_reply_status(call->host, "OK");
}

/* Runs the queued commands. The queue is the transaction's no more: a command that closes
 * the connection must not free it. */
static void run_queued(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    struct multi queued = conn->multi;
    conn->multi = (struct multi){.is_open = false};
    host_reply_array(call->host, queued.n);
    for (const struct request_copy *copy = queued.first; copy != NULL;
         copy = copy->next) {
        enum cmd_wish wish = dispatch_queued(call, copy);
        if (wish != CMD_WISH_NONE)
            call->wish = wish;
    }
    multi_drop(&queued);
}

void multi_exec(struct cmd_call *call)
{
    struct host *h = call->host;
    struct conn *conn = h->conn;
    if (!conn->multi.is_open) {
        host_reply_error(h, "ERR EXEC without MULTI");
        return;
    }
    bool is_touched =
        conn->watch.is_touched || watch_has_expired(&conn->watch, key_exists, h);
    watch_forget(&conn->loop->server->watches, &conn->watch);
    if (conn->multi.has_failed) {
        multi_drop(&conn->multi);
        host_reply_error(h,
                         "EXECABORT Transaction discarded because of previous errors.");
    } else if (is_touched) {
        multi_drop(&conn->multi);
        host_reply_null_array(h);
    } else {
        run_queued(call);
    }
}
