/*
 * SUBSCRIBE and its relatives, PUBLISH, PUBSUB.
 *
 * The answers to subscribing are pushes, sent even if the client has switched replies
 * off: they go straight into the connection's output, at their place among the replies.
 */
#include <string.h>

#include "cmd/glob.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/jobs.h"
#include "server/server.h"

static void write_text(struct yn_buf *out, const char *text)
{
    yn_write_bulk(out, (struct yn_bytes){text, strlen(text)});
}

/* name may be NULL: there was nothing to unsubscribe from. */
static void push_change(struct conn *conn, const char *verb, const struct yn_bytes *name)
{
    struct yn_buf *out = jobs_out(conn);
    yn_write_push(out, conn->resp, 3);
    write_text(out, verb);
    if (name != NULL)
        yn_write_bulk(out, *name);
    else
        yn_write_null(out, conn->resp);
    yn_write_integer(out, (int64_t)conn_n_subscriptions(conn));
}

static void subscribe(struct cmd_call *call, enum pubsub_kind kind, const char *verb)
{
    struct conn *conn = call->host->conn;
    for (size_t i = 1; i < call->argc; i++) {
        if (!pubsub_add(&conn->loop->server->pubsub, conn, kind, call->argv[i])) {
            host_reply_error(call->host, CMD_ERR_NOMEM);
            return;
        }
        push_change(conn, verb, &call->argv[i]);
    }
}

/* Ends all subscriptions of the kind. The name is written before its topic goes. */
static void unsubscribe_all(struct conn *conn, enum pubsub_kind kind, const char *verb)
{
    struct pubsub_list *list = &conn->subscriptions[kind];
    struct yn_buf *out = jobs_out(conn);
    if (list->n == 0)
        push_change(conn, verb, NULL);
    while (list->n > 0) {
        yn_write_push(out, conn->resp, 3);
        write_text(out, verb);
        yn_write_bulk(out, pubsub_first(list));
        pubsub_remove_first(&conn->loop->server->pubsub, conn, kind);
        yn_write_integer(out, (int64_t)conn_n_subscriptions(conn));
    }
}

static void unsubscribe(struct cmd_call *call, enum pubsub_kind kind, const char *verb)
{
    struct conn *conn = call->host->conn;
    if (call->argc == 1) {
        unsubscribe_all(conn, kind, verb);
        return;
    }
    for (size_t i = 1; i < call->argc; i++) {
        pubsub_remove(&conn->loop->server->pubsub, conn, kind, call->argv[i]);
        push_change(conn, verb, &call->argv[i]);
    }
}

void pubsub_subscribe(struct cmd_call *call)
{
    subscribe(call, PUBSUB_CHANNEL, "subscribe");
}

void pubsub_unsubscribe(struct cmd_call *call)
{
    unsubscribe(call, PUBSUB_CHANNEL, "unsubscribe");
}

void pubsub_psubscribe(struct cmd_call *call)
{
    subscribe(call, PUBSUB_PATTERN, "psubscribe");
}

void pubsub_punsubscribe(struct cmd_call *call)
{
    unsubscribe(call, PUBSUB_PATTERN, "punsubscribe");
}

void pubsub_publish_cmd(struct cmd_call *call)
{
    size_t n =
        pubsub_publish(&call->host->loop->server->pubsub, call->argv[1], call->argv[2]);
    host_reply_integer(call->host, (int64_t)n);
}

/* ---- PUBSUB ---- */

/* Channel names that match a pattern, counted first, then sent. */
struct name_list {
    const struct yn_bytes *pattern; /* NULL: all */
    struct host *host;              /* NULL: count only */
    size_t n;
};

static void take_name(void *ctx, struct yn_bytes name)
{
    struct name_list *list = ctx;
    if (list->pattern != NULL && !glob_matches(*list->pattern, name))
        return;
    list->n++;
    if (list->host != NULL)
        host_reply_bulk(list->host, name);
}

void pubsub_channels(struct cmd_call *call)
{
    if (call->argc > 3) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try PUBSUB HELP.");
        return;
    }
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    struct name_list list = {.pattern = call->argc == 3 ? &call->argv[2] : NULL};
    pubsub_visit(pubsub, PUBSUB_CHANNEL, take_name, &list);
    host_reply_array(call->host, list.n);
    list.host = call->host;
    pubsub_visit(pubsub, PUBSUB_CHANNEL, take_name, &list);
}

void pubsub_numsub(struct cmd_call *call)
{
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    host_reply_array(call->host, 2 * (call->argc - 2));
    for (size_t i = 2; i < call->argc; i++) {
        host_reply_bulk(call->host, call->argv[i]);
        host_reply_integer(call->host,
                           (int64_t)pubsub_n_subscribers(pubsub, call->argv[i]));
    }
}

void pubsub_numpat(struct cmd_call *call)
{
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    host_reply_integer(call->host, (int64_t)pubsub->tables[PUBSUB_PATTERN].n);
}

void pubsub_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "PUBSUB <subcommand> [<arg> ...]. Subcommands are:",
        "CHANNELS [<pattern>]",
        "    Return the channels that have subscribers.",
        "NUMSUB [<channel> ...]",
        "    Return how many subscribers each channel has.",
        "NUMPAT",
        "    Return how many patterns have subscribers.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
