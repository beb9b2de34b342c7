/* CLIENT, except KILL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "resp/write.h"
#include "server/blocking.h"
#include "server/client_list.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/jobs.h"
#include "server/server.h"

static void reply_text(struct host *h, const struct yn_buf *text)
{
    if (text->failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        yn_write_verbatim(h->out, h->resp, "txt",
                          (struct yn_bytes){text->data, text->len});
}

void client_id(struct cmd_call *call)
{
    host_reply_integer(call->host, (int64_t)call->host->conn->id);
}

void client_info(struct cmd_call *call)
{
    struct yn_buf text;
    yn_buf_init(&text);
    conn_show(call->host->conn);
    client_list_append(call->host->conn, &text);
    reply_text(call->host, &text);
    yn_buf_clear(&text);
}

/* ---- CLIENT LIST ---- */

struct list_filter {
    bool has_type, has_ids;
    enum client_list_type type;
    const struct yn_bytes *ids;
    size_t n_ids;
};

static bool parse_filter_or_reply(struct cmd_call *call, struct list_filter *filter)
{
    if (call->argc == 2)
        return true;
    if (call->argc == 4 && cmd_word_is(call->argv[2], "type")) {
        filter->has_type = true;
        if (client_list_parse_type(call->argv[3], &filter->type))
            return true;
        server_reply_error_word(call, "ERR Unknown client type '%.*s'", call->argv[3]);
        return false;
    }
    if (call->argc > 3 && cmd_word_is(call->argv[2], "id")) {
        filter->has_ids = true;
        filter->ids = call->argv + 3;
        filter->n_ids = call->argc - 3;
        for (size_t i = 0; i < filter->n_ids; i++) {
            int64_t id;
            if (!yn_num_parse_int64(filter->ids[i], &id)) {
                host_reply_error(call->host, "ERR Invalid client ID");
                return false;
            }
        }
        return true;
    }
    host_reply_error(call->host, CMD_ERR_SYNTAX);
    return false;
}

/* Lists the open connections that have this type and this number, where those are asked
 * for. */
static void append_lines(const struct server *server, const struct list_filter *filter,
                         const int64_t *id, struct yn_buf *out)
{
    const struct link *all = &server->conns;
    for (const struct link *l = all->next; l != all; l = l->next) {
        const struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn_is_live(conn) && (id == NULL || (uint64_t)*id == conn->id) &&
            (!filter->has_type || client_list_is_type(conn, filter->type)))
            client_list_append(conn, out);
    }
}

void client_list(struct cmd_call *call)
{
    struct list_filter filter = {.has_type = false};
    if (!parse_filter_or_reply(call, &filter))
        return;
    struct yn_buf text;
    yn_buf_init(&text);
    conn_show(call->host->conn);
    if (!filter.has_ids)
        append_lines(call->host->loop->server, &filter, NULL, &text);
    for (size_t i = 0; i < filter.n_ids; i++) { /* in the order of the numbers */
        int64_t id;
        if (yn_num_parse_int64(filter.ids[i], &id))
            append_lines(call->host->loop->server, &filter, &id, &text);
    }
    reply_text(call->host, &text);
    yn_buf_clear(&text);
}

/* ---- names ---- */

void client_setname(struct cmd_call *call)
{
    if (session_set_name_or_reply(call, call->argv[2]))
        host_reply_status(call->host, "OK");
}

void client_getname(struct cmd_call *call)
{
    const char *name = call->host->conn->name;
    if (name == NULL)
        host_reply_null(call->host);
    else
        host_reply_bulk_text(call->host, name);
}

void client_setinfo(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    struct yn_bytes value = call->argv[3];
    bool is_name = cmd_word_is(call->argv[2], "lib-name");
    char text[160];
    if (!is_name && !cmd_word_is(call->argv[2], "lib-ver")) {
        server_reply_error_word(call, "ERR Unrecognized option '%.*s'", call->argv[2]);
        return;
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '!' || value.data[i] > '~') {
            snprintf(text, sizeof text,
                     "ERR %s cannot contain spaces, newlines or special characters.",
                     is_name ? "lib-name" : "lib-ver");
            host_reply_error(call->host, text);
            return;
        }
    }
    char *copy = value.len > 0 ? strndup(value.data, value.len) : NULL;
    char **place = is_name ? &conn->lib_name : &conn->lib_ver;
    free(*place);
    *place = copy;
    host_reply_status(call->host, "OK");
}

/* ---- clients that wait ---- */

void client_unblock(struct cmd_call *call)
{
    int64_t id;
    if (call->argc > 4) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try CLIENT HELP.");
        return;
    }
    bool is_error = call->argc == 4 && cmd_word_is(call->argv[3], "error");
    if (call->argc == 4 && !is_error && !cmd_word_is(call->argv[3], "timeout")) {
        host_reply_error(call->host,
                         "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
        return;
    }
    if (!yn_num_parse_int64(call->argv[2], &id)) {
        host_reply_error(call->host, CMD_ERR_INTEGER);
        return;
    }
    struct conn *conn = conn_find(call->host->loop->server, id);
    bool is_waiting = conn != NULL && conn->blocked.is_waiting;
    if (is_waiting)
        blocking_end(conn, is_error);
    host_reply_integer(call->host, is_waiting);
}

/* ---- switches ---- */

void client_reply(struct cmd_call *call)
{
    struct conn *conn = call->host->conn;
    struct yn_bytes mode = call->argv[2];
    if (cmd_word_is(mode, "on")) {
        /* The answer to switching on is the first one that is sent again. */
        call->host->out = jobs_out(conn);
        conn->reply = CONN_REPLY_ON;
        host_reply_status(call->host, "OK");
    } else if (cmd_word_is(mode, "off")) {
        conn->reply = CONN_REPLY_OFF;
    } else if (cmd_word_is(mode, "skip")) {
        if (conn->reply != CONN_REPLY_OFF)
            conn->reply = CONN_REPLY_SKIP_NEXT;
    } else {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
    }
}

static void set_switch_or_reply(struct cmd_call *call, bool *value)
{
    if (cmd_word_is(call->argv[2], "on")) {
        *value = true;
    } else if (cmd_word_is(call->argv[2], "off")) {
        *value = false;
    } else {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
        return;
    }
    host_reply_status(call->host, "OK");
}

void client_no_evict(struct cmd_call *call)
{
    set_switch_or_reply(call, &call->host->conn->is_no_evict);
}

void client_no_touch(struct cmd_call *call)
{
    set_switch_or_reply(call, &call->host->conn->is_no_touch);
}

void client_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "CLIENT <subcommand> [<arg> ...]. Subcommands are:",
        "CACHING <YES|NO>",
        "    Say whether what the next command reads is tracked (OPTIN, OPTOUT).",
        "GETNAME",
        "    Return the name of this connection.",
        "GETREDIR",
        "    Return the number of the connection that invalidations go to.",
        "ID",
        "    Return the number of this connection.",
        "INFO",
        "    Return a line about this connection.",
        "KILL <ip:port>",
        "    Close the connection from this address.",
        "KILL <option> <value> [<option> <value> ...]",
        "    Close the connections that all options match: ID, TYPE, USER, ADDR, LADDR,",
        "    MAXAGE; SKIPME YES|NO (default YES) says whether this one is spared.",
        "LIST [TYPE <NORMAL|MASTER|REPLICA|PUBSUB>] [ID <id> ...]",
        "    Return a line about each connection.",
        "NO-EVICT <ON|OFF>",
        "    Protect this connection from eviction.",
        "NO-TOUCH <ON|OFF>",
        "    Keep this connection's reads from counting as uses of keys.",
        "PAUSE <milliseconds> [WRITE|ALL]",
        "    Let commands that write, or all, wait so long.",
        "REPLY <ON|OFF|SKIP>",
        "    Tell whether this connection wants replies.",
        "SETINFO <LIB-NAME|LIB-VER> <value>",
        "    Tell the name or the version of the client's library.",
        "SETNAME <name>",
        "    Name this connection.",
        "TRACKING <ON|OFF> [REDIRECT <id>] [BCAST] [PREFIX <prefix> ...] [OPTIN] [OPTOUT]",
        "    [NOLOOP]",
        "    Be told when keys that were read, or keys with a prefix, change.",
        "TRACKINGINFO",
        "    Return the state of client-side caching of this connection.",
        "UNBLOCK <id> [TIMEOUT|ERROR]",
        "    End the waiting of a connection's command, as its timeout would, or with an",
        "    error.",
        "UNPAUSE",
        "    End a pause.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
