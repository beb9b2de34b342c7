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

/* What the answers count: sharded channels by themselves. */
static int64_t n_counted(const struct conn *conn, enum pubsub_kind kind)
{
    const struct pubsub_list *lists = conn->subscriptions;
    if (kind == PUBSUB_SHARD)
        return (int64_t)lists[PUBSUB_SHARD].n;
    return (int64_t)(lists[PUBSUB_CHANNEL].n + lists[PUBSUB_PATTERN].n);
}

/* name may be NULL: there was nothing to unsubscribe from. */
static void push_change(struct conn *conn, enum pubsub_kind kind, const char *verb,
                        const struct yn_bytes *name)
{
    struct yn_buf *out = jobs_out(conn);
    yn_write_push(out, conn->resp, 3);
    yn_write_bulk_text(out, verb);
    if (name != NULL)
        yn_write_bulk(out, *name);
    else
        yn_write_null(out, conn->resp);
    yn_write_integer(out, n_counted(conn, kind));
}

static void subscribe(struct cmd_call *call, enum pubsub_kind kind, const char *verb)
{
    struct conn *conn = call->host->conn;
    for (size_t i = 1; i < call->argc; i++) {
        if (!pubsub_add(&conn->loop->server->pubsub, conn, kind, call->argv[i])) {
            host_reply_error(call->host, CMD_ERR_NOMEM);
            return;
        }
        push_change(conn, kind, verb, &call->argv[i]);
    }
}

/* Ends all subscriptions of the kind. The name is written before its topic goes. */
static void unsubscribe_all(struct conn *conn, enum pubsub_kind kind, const char *verb)
{
    struct pubsub_list *list = &conn->subscriptions[kind];
    struct yn_buf *out = jobs_out(conn);
    if (list->n == 0)
        push_change(conn, kind, verb, NULL);
    while (list->n > 0) {
        yn_write_push(out, conn->resp, 3);
        yn_write_bulk_text(out, verb);
        yn_write_bulk(out, pubsub_first(list));
        pubsub_remove_first(&conn->loop->server->pubsub, conn, kind);
        yn_write_integer(out, n_counted(conn, kind));
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
        push_change(conn, kind, verb, &call->argv[i]);
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

void pubsub_ssubscribe(struct cmd_call *call)
{
    subscribe(call, PUBSUB_SHARD, "ssubscribe");
}

void pubsub_sunsubscribe(struct cmd_call *call)
{
    unsubscribe(call, PUBSUB_SHARD, "sunsubscribe");
}

static void publish(struct cmd_call *call, enum pubsub_kind kind)
{
    size_t n = pubsub_publish(&call->host->loop->server->pubsub, kind, call->argv[1],
                              call->argv[2]);
    host_reply_integer(call->host, (int64_t)n);
}

void pubsub_publish_cmd(struct cmd_call *call)
{
    publish(call, PUBSUB_CHANNEL);
}

void pubsub_spublish(struct cmd_call *call)
{
    publish(call, PUBSUB_SHARD);
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

static void reply_channels(struct cmd_call *call, enum pubsub_kind kind)
{
    if (call->argc > 3) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try PUBSUB HELP.");
        return;
    }
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    struct name_list list = {.pattern = call->argc == 3 ? &call->argv[2] : NULL};
    pubsub_visit(pubsub, kind, take_name, &list);
    host_reply_array(call->host, list.n);
    list.host = call->host;
    pubsub_visit(pubsub, kind, take_name, &list);
}

void pubsub_channels(struct cmd_call *call)
{
    reply_channels(call, PUBSUB_CHANNEL);
}

void pubsub_shardchannels(struct cmd_call *call)
{
    reply_channels(call, PUBSUB_SHARD);
}

static void reply_numsub(struct cmd_call *call, enum pubsub_kind kind)
{
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    host_reply_array(call->host, 2 * (call->argc - 2));
    for (size_t i = 2; i < call->argc; i++) {
        size_t n = pubsub_n_subscribers(pubsub, kind, call->argv[i]);
        host_reply_bulk(call->host, call->argv[i]);
        host_reply_integer(call->host, (int64_t)n);
    }
}

void pubsub_numsub(struct cmd_call *call)
{
    reply_numsub(call, PUBSUB_CHANNEL);
}

void pubsub_shardnumsub(struct cmd_call *call)
{
    reply_numsub(call, PUBSUB_SHARD);
}

void pubsub_numpat(struct cmd_call *call)
{
    const struct pubsub *pubsub = &call->host->loop->server->pubsub;
    host_reply_integer(call->host, (int64_t)pubsub->topics[PUBSUB_PATTERN].n);
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
        "SHARDCHANNELS [<pattern>]",
        "    Return the sharded channels that have subscribers.",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Return how many subscribers each sharded channel has.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
