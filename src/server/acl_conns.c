#include "server/acl_conns.h"

#include <stdio.h>
#include <string.h>

#include "server/client_list.h"
#include "server/host_server.h"
#include "server/server.h"

/* ---- one connection ---- */

bool acl_conn_must_login(const struct conn *conn)
{
    const struct acl_user *user = conn->loop->server->acl.default_user;
    return conn->is_expelled ||
           (!conn->is_authenticated && !(user->is_on && user->is_nopass));
}

static void refresh(struct conn *conn)
{
    conn->may_all = conn->user->may_all && !acl_conn_must_login(conn);
}

void acl_conn_begin(struct conn *conn)
{
    conn->user = conn->loop->server->acl.default_user;
    conn->is_authenticated = conn->user->is_on && conn->user->is_nopass;
    refresh(conn);
}

void acl_conn_login(struct conn *conn, struct acl_user *user)
{
    conn->user = user;
    conn->is_authenticated = true;
    refresh(conn);
}

/* ---- refusals ---- */

static void note(struct conn *conn, enum acl_reason reason, bool in_multi,
                 struct yn_bytes object, struct yn_bytes user)
{
    struct server *server = conn->loop->server;
    struct yn_buf client;
    yn_buf_init(&client);
    client_list_append(conn, &client);
    struct acl_log_entry entry = {
        .reason = reason,
        .in_multi = in_multi,
        .object = object,
        .user = user,
        .client = {client.data, client.len > 0 ? client.len - 1 : 0}};
    uv_mutex_lock(&server->notes_mutex);
    acl_log_add(&server->acl_log, &entry, loop_now_ms(loop_current()),
                (size_t)server->config.acllog_max_len);
    uv_mutex_unlock(&server->notes_mutex);
    yn_buf_clear(&client);
}

/* Checks a call; a refusal is counted and logged. */
static enum acl_reason check(struct conn *conn, const struct cmd_call *call,
                             bool in_multi)
{
    struct stats *stats = &loop_current()->stats;
    struct acl_denial denial;
    if (acl_check(conn->user, call->spec, call->argc, call->argv, call->arena, &denial))
        return ACL_OK;
    struct yn_bytes object = {call->spec->name, strlen(call->spec->name)};
    if (denial.reason == ACL_DENIED_KEY || denial.reason == ACL_DENIED_CHANNEL)
        object = call->argv[denial.index];
    stats->denied_commands += denial.reason == ACL_DENIED_COMMAND;
    stats->denied_keys += denial.reason == ACL_DENIED_KEY;
    stats->denied_channels += denial.reason == ACL_DENIED_CHANNEL;
    if (denial.reason != ACL_FAILED)
        note(conn, denial.reason, in_multi, object,
             (struct yn_bytes){conn->user->name, strlen(conn->user->name)});
    return denial.reason;
}

const char *acl_conn_refusal(struct conn *conn, const struct cmd_call *call, char *text)
{
    switch (check(conn, call, conn->multi.is_open)) {
    case ACL_OK:
        return NULL;
    case ACL_DENIED_COMMAND:
        snprintf(text, ACL_REFUSAL_MAX,
                 "NOPERM User %.200s has no permissions to run the '%s' command",
                 conn->user->name, call->spec->name);
        return text;
    case ACL_DENIED_KEY:
        return "NOPERM No permissions to access a key";
    case ACL_DENIED_CHANNEL:
        return "NOPERM No permissions to access a channel";
    default:
        return CMD_ERR_NOMEM;
    }
}

const char *acl_conn_exec_refusal(struct conn *conn, const struct cmd_call *call,
                                  char *text)
{
    const char *reason;
    switch (check(conn, call, true)) {
    case ACL_OK:
        return NULL;
    case ACL_DENIED_COMMAND:
        reason = "no permission to execute the command or subcommand";
        break;
    case ACL_DENIED_KEY:
        reason = "no permission to touch the specified keys";
        break;
    case ACL_DENIED_CHANNEL:
        reason = "no permission to access one of the channels used as arguments to the "
                 "command";
        break;
    default:
        return CMD_ERR_NOMEM;
    }
    snprintf(text, ACL_REFUSAL_MAX,
             "NOPERM ACLs rules changed between the moment the transaction was "
             "accumulated and the EXEC call. This command is no longer allowed for the "
             "following reason: %s",
             reason);
    return text;
}

void acl_conn_note_login(struct conn *conn, struct yn_bytes word, struct yn_bytes user)
{
    conn->loop->stats.denied_logins++;
    note(conn, ACL_DENIED_LOGIN, conn->multi.is_open, word, user);
}

/* ---- all connections ---- */

/* The caller's own connection has yet to get its reply. */
static void close_one(struct cmd_call *call, struct conn *conn)
{
    struct acl_user *user = conn->loop->server->acl.default_user;
    conn->user = user;
    conn->is_expelled = true; /* nothing of its transaction runs any more */
    conn->is_authenticated = conn->may_all = false;
    if (conn == call->host->conn)
        call->wish = CMD_WISH_CLOSE;
    else
        conn_expel(conn);
}

void acl_conns_refresh(struct server *server)
{
    struct link *conns = &server->conns;
    for (struct link *l = conns->next; l != conns; l = l->next)
        refresh(LIST_ITEM(l, struct conn, in_conns));
}

/* What has become of the rights of a subscriber. */
struct change {
    const struct acl_user *before, *now;
    bool is_pattern;
};

static bool is_kept(void *ctx, struct yn_bytes name)
{
    const struct change *c = ctx;
    return acl_user_allows_channel(c->now, name, c->is_pattern) ||
           !acl_user_allows_channel(c->before, name, c->is_pattern);
}

static bool keeps_subscriptions(const struct conn *conn, const struct acl_user *before,
                                const struct acl_user *now)
{
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        struct change change = {before, now, kind == PUBSUB_PATTERN};
        if (!pubsub_all(&conn->subscriptions[kind], is_kept, &change))
            return false;
    }
    return true;
}

void acl_conns_user_changed(struct cmd_call *call, const struct acl_user *before,
                            const struct acl_user *user)
{
    struct server *server = call->host->loop->server;
    struct link *conns = &server->conns;
    for (struct link *l = conns->next; l != conns && before != NULL; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn_is_live(conn) && conn->user == user &&
            !keeps_subscriptions(conn, before, user))
            close_one(call, conn);
    }
    acl_conns_refresh(server);
}

void acl_conns_drop_user(struct cmd_call *call, struct acl_user *user)
{
    struct link *conns = &call->host->loop->server->conns;
    for (struct link *l = conns->next; l != conns; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn->user == user)
            close_one(call, conn);
    }
    acl_user_free(user);
}

void acl_conns_replace(struct cmd_call *call, struct acl *users)
{
    struct server *server = call->host->loop->server;
    struct acl before = server->acl;
    struct link *conns = &server->conns;
    server->acl = *users;
    for (struct link *l = conns->next; l != conns; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        const char *name = conn->user->name;
        struct acl_user *now =
            acl_find(&server->acl, (struct yn_bytes){name, strlen(name)});
        if (now == NULL || !keeps_subscriptions(conn, conn->user, now))
            close_one(call, conn);
        else
            conn->user = now;
    }
    acl_clear(&before);
    acl_conns_refresh(server);
}
