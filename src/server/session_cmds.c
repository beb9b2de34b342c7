/* Commands that begin, change and end a session: HELLO, AUTH, RESET, QUIT. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/acl_conns.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/jobs.h"
#include "server/log.h"
#include "server/server.h"

#define ERR_WRONGPASS "WRONGPASS invalid username-password pair or user is disabled."
#define ERR_CLIENT_NAME \
    "ERR Client names cannot contain spaces, newlines or special characters."

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static bool login_or_reply(struct cmd_call *call, struct yn_bytes name,
                           struct yn_bytes pass)
{
    struct conn *conn = call->host->conn;
    struct acl_user *user = acl_find(&conn->loop->server->acl, name);
    if (acl_user_may_login(user, pass)) {
        acl_conn_login(conn, user);
        return true;
    }
    acl_conn_note_login(conn, call->argv[0], name);
    log_verbose("client %s: wrong user name or password", conn->address);
    host_reply_error(call->host, ERR_WRONGPASS);
    return false;
}

void session_auth(struct cmd_call *call)
{
    if (call->argc > 3) {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
        return;
    }
    if (call->argc == 2 && call->host->loop->server->acl.default_user->is_nopass) {
        host_reply_error(
            call->host,
            "ERR AUTH <password> called without any password configured for the "
            "default user. Are you sure your configuration is correct?");
        return;
    }
    struct yn_bytes user = call->argc == 3 ? call->argv[1] : text_bytes("default");
    if (login_or_reply(call, user, call->argv[call->argc - 1]))
        host_reply_status(call->host, "OK");
}

bool session_set_name_or_reply(struct cmd_call *call, struct yn_bytes name)
{
    struct conn *conn = call->host->conn;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '!' || name.data[i] > '~') {
            host_reply_error(call->host, ERR_CLIENT_NAME);
            return false;
        }
    }
    char *copy = name.len > 0 ? strndup(name.data, name.len) : NULL;
    if (copy == NULL && name.len > 0) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return false;
    }
    free(conn->name);
    conn->name = copy;
    return true;
}

static void reply_field(struct host *h, const char *name, const char *value)
{
    host_reply_bulk(h, text_bytes(name));
    host_reply_bulk(h, text_bytes(value));
}

static void reply_hello(struct host *h)
{
    host_reply_map(h, 7);
    reply_field(h, "server", "redis");
    reply_field(h, "version", SERVER_REDIS_VERSION);
    host_reply_bulk(h, text_bytes("proto"));
    host_reply_integer(h, h->resp);
    host_reply_bulk(h, text_bytes("id"));
    host_reply_integer(h, (int64_t)h->conn->id);
    reply_field(h, "mode", "standalone");
    reply_field(h, "role", "master");
    host_reply_bulk(h, text_bytes("modules"));
    host_reply_array(h, 0);
}

/* What the options of HELLO say. */
struct hello {
    int64_t version; /* 0: not given */
    bool has_login, has_name;
    struct yn_bytes user, pass, name;
};

static bool parse_hello_or_reply(struct cmd_call *call, struct hello *hello)
{
    if (call->argc > 1 && !yn_num_parse_int64(call->argv[1], &hello->version)) {
        host_reply_error(call->host,
                         "ERR Protocol version is not an integer or out of range");
        return false;
    }
    if (call->argc > 1 && (hello->version < 2 || hello->version > 3)) {
        host_reply_error(call->host, "NOPROTO unsupported protocol version");
        return false;
    }
    for (size_t i = 2; i < call->argc;) {
        size_t left = call->argc - 1 - i;
        if (cmd_word_is(call->argv[i], "auth") && left >= 2) {
            hello->has_login = true;
            hello->user = call->argv[i + 1];
            hello->pass = call->argv[i + 2];
            i += 3;
        } else if (cmd_word_is(call->argv[i], "setname") && left >= 1) {
            hello->has_name = true;
            hello->name = call->argv[i + 1];
            i += 2;
        } else {
            server_reply_error_word(call, "ERR Syntax error in HELLO option '%.*s'",
                                    call->argv[i]);
            return false;
        }
    }
    return true;
}

void session_hello(struct cmd_call *call)
{
    struct host *h = call->host;
    struct conn *conn = h->conn;
    struct hello hello = {.version = 0};
    if (!parse_hello_or_reply(call, &hello))
        return;
    if (hello.has_login && !login_or_reply(call, hello.user, hello.pass))
        return;
    if (acl_conn_must_login(conn)) {
        host_reply_error(h,
                         "NOAUTH HELLO must be called with the client already "
                         "authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "
                         "option can be used to authenticate the client and select the "
                         "RESP protocol version at the same time");
        return;
    }
    if (hello.has_name && !session_set_name_or_reply(call, hello.name))
        return;
    if (hello.version != 0)
        conn->resp = h->resp = (int)hello.version;
    reply_hello(h);
}

void session_quit(struct cmd_call *call)
{
    host_reply_status(call->host, "OK");
    call->wish = CMD_WISH_CLOSE;
}

void session_reset(struct cmd_call *call)
{
    conn_reset_session(call->host->conn);
    /* RESET also ends CLIENT REPLY OFF, so its own reply is sent. */
    call->host->out = jobs_out(call->host->conn);
    host_reply_status(call->host, "RESET");
}
