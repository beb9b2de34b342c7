#include "server/monitor.h"

#include <inttypes.h>
#include <stdio.h>

#include "resp/quote.h"
#include "server/commands.h"
#include "server/dispatch.h"
#include "server/host_server.h"
#include "server/redact.h"
#include "server/server.h"

/* Commands are shown from now on, or not any more. */
static void note_monitors(struct server *server)
{
    server_note_readers(server);
    for (size_t i = 0; i < server->n_loops; i++)
        dispatch_configure(&server->loops[i]);
}

void monitor_cmd(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    struct server *server = conn->loop->server;
    if (!list_is_empty(&conn->in_monitors))
        return; /* Redis does not answer either */
    list_append(&server->monitors, &conn->in_monitors);
    note_monitors(server);
    host_reply_status(call->host, "OK");
}

void monitor_remove(struct conn *conn)
{
    if (list_is_empty(&conn->in_monitors))
        return;
    list_remove(&conn->in_monitors);
    note_monitors(conn->loop->server);
}

/* +1339518083.107412 [0 127.0.0.1:60866] "keys" "*" */
static void append_line(struct yn_buf *out, const struct conn *conn,
                        const struct cmd_call *call)
{
    const struct loop *loop = call->host->loop;
    int64_t now_us = ((int64_t)loop->mono_ns + loop->wall_less_mono_ns) / 1000;
    char head[CONN_ADDRESS_MAX + 96];
    size_t shown = strlen(conn->address);
    if (conn->is_unix && shown >= 2)
        shown -= 2; /* the ":0" behind the path */
    int n = snprintf(head, sizeof head, "+%" PRId64 ".%06" PRId64 " [%zu %s%.*s] ",
                     now_us / 1000000, now_us % 1000000, conn->db,
                     conn->is_unix ? "unix:" : "", (int)shown, conn->address);
    size_t len = (size_t)n < sizeof head ? (size_t)n : sizeof head - 1;
    yn_buf_append(out, head, len);

    bool *is_secret = cmd_arena_take(call->arena, call->argc * sizeof *is_secret);
    if (is_secret == NULL) {
        out->failed = true;
        return;
    }
    redact_find(call->spec, call->argc, call->argv, is_secret, call->argc);
    for (size_t i = 0; i < call->argc; i++) {
        if (i > 0)
            yn_buf_append_text(out, " ");
        if (is_secret[i])
            yn_buf_append_text(out, "\"" REDACTED "\"");
        else
            yn_quote(out, call->argv[i]);
    }
    yn_buf_append_text(out, "\r\n");
}

void monitor_feed(const struct conn *conn, const struct cmd_call *call)
{
    struct link *monitors = &conn->loop->server->monitors;
    struct yn_buf line;
    if ((call->spec->flags & (CMD_ADMIN | CMD_SKIP_MONITOR)) != 0)
        return;
    yn_buf_init(&line);
    append_line(&line, conn, call);
    for (struct link *l = monitors->next, *next; l != monitors; l = next) {
        struct conn *monitor = LIST_ITEM(l, struct conn, in_monitors);
        next = l->next;
        if (monitor->reply == CONN_REPLY_OFF)
            continue;
        /* A line that has a hole is worse than the end. */
        if (line.failed)
            conn_kill(monitor, "out of memory for what it monitors");
        yn_buf_append(conn_push(monitor), line.data, line.len);
        conn_pushed(monitor);
    }
    yn_buf_clear(&line);
}
