/* The table of the server's own commands, and the commands about the server as a whole.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/log.h"
#include "server/server.h"

/* ---- the table ---- */

#define SESSION_FLAGS (CMD_NOSCRIPT | CMD_LOADING | CMD_STALE)
#define LOGIN_FLAGS (SESSION_FLAGS | CMD_FAST | CMD_NO_AUTH | CMD_ALLOW_BUSY)
#define ADMIN_FLAGS (SESSION_FLAGS | CMD_ADMIN)
#define QUICK_FLAGS (CMD_LOADING | CMD_STALE | CMD_FAST)
#define HELP_FLAGS (CMD_LOADING | CMD_STALE)
#define PUBSUB_FLAGS (SESSION_FLAGS | CMD_PUBSUB)
#define ADMIN_ACL "@admin @slow @dangerous"

static const struct cmd_spec client_table[] = {
    {.name = "client|id",
     .run = client_id,
     .arity = 2,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "5.0.0",
     .summary = "Returns the number of this connection.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "client|info",
     .run = client_info,
     .arity = 2,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "6.2.0",
     .summary = "Returns a line about this connection.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "client|list",
     .run = client_list,
     .arity = -2,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL " @connection",
     .group = "connection",
     .since = "2.4.0",
     .summary = "Returns a line about each connection.",
     .complexity = "O(N) where N is the number of connections",
     .args_text = "[TYPE <NORMAL|MASTER|REPLICA|PUBSUB>] [ID client-id [client-id ...]]"},
    {.name = "client|setname",
     .run = client_setname,
     .arity = 3,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "2.6.9",
     .summary = "Names this connection.",
     .complexity = "O(1)",
     .args_text = "connection-name"},
    {.name = "client|getname",
     .run = client_getname,
     .arity = 2,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "2.6.9",
     .summary = "Returns the name of this connection.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "client|setinfo",
     .run = client_setinfo,
     .arity = 4,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "7.2.0",
     .summary = "Tells the name or the version of the client's library.",
     .complexity = "O(1)",
     .args_text = "<LIB-NAME libname | LIB-VER libver>"},
    {.name = "client|kill",
     .run = client_kill,
     .arity = -3,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL " @connection",
     .group = "connection",
     .since = "2.4.0",
     .summary = "Closes connections.",
     .complexity = "O(N) where N is the number of connections",
     .args_text = "<ip:port | [ID client-id] [TYPE type] [USER username] [ADDR ip:port] "
                  "[LADDR ip:port] [SKIPME <YES|NO>] [MAXAGE seconds]>"},
    {.name = "client|reply",
     .run = client_reply,
     .arity = 3,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "3.2.0",
     .summary = "Tells whether this connection wants replies.",
     .complexity = "O(1)",
     .args_text = "<ON | OFF | SKIP>"},
    {.name = "client|no-evict",
     .run = client_no_evict,
     .arity = 3,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL " @connection",
     .group = "connection",
     .since = "7.0.0",
     .summary = "Protects this connection from eviction.",
     .complexity = "O(1)",
     .args_text = "<ON | OFF>"},
    {.name = "client|no-touch",
     .run = client_no_touch,
     .arity = 3,
     .flags = SESSION_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "7.2.0",
     .summary = "Keeps this connection's reads from counting as uses of keys.",
     .complexity = "O(1)",
     .args_text = "<ON | OFF>"},
    {.name = "client|help",
     .run = client_help,
     .arity = 2,
     .flags = HELP_FLAGS,
     .acl = "@slow @connection",
     .group = "connection",
     .since = "5.0.0",
     .summary = "Lists the forms of CLIENT.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = NULL},
};

static const struct cmd_spec config_table[] = {
    {.name = "config|get",
     .run = config_cmd_get,
     .arity = -3,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "2.0.0",
     .summary = "Returns options and their values.",
     .complexity = "O(N) where N is the number of options",
     .args_text = "parameter [parameter ...]"},
    {.name = "config|set",
     .run = config_cmd_set,
     .arity = -4,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "2.0.0",
     .summary = "Sets options while the server runs.",
     .complexity = "O(N) where N is the number of options given",
     .args_text = "parameter value [parameter value ...]"},
    {.name = "config|resetstat",
     .run = config_cmd_resetstat,
     .arity = 2,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "2.0.0",
     .summary = "Sets the counters of INFO to zero.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "config|rewrite",
     .run = config_cmd_rewrite,
     .arity = 2,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "2.8.0",
     .summary = "Not supported: the configuration file is never written.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "config|help",
     .run = config_cmd_help,
     .arity = 2,
     .flags = HELP_FLAGS,
     .acl = "@slow",
     .group = "server",
     .since = "5.0.0",
     .summary = "Lists the forms of CONFIG.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = NULL},
};

static const struct cmd_spec pubsub_table[] = {
    {.name = "pubsub|channels",
     .run = pubsub_channels,
     .arity = -2,
     .flags = CMD_PUBSUB | HELP_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "Returns the channels that have subscribers.",
     .complexity = "O(N) where N is the number of channels",
     .args_text = "[pattern]"},
    {.name = "pubsub|numsub",
     .run = pubsub_numsub,
     .arity = -2,
     .flags = CMD_PUBSUB | HELP_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "Returns how many subscribers each channel has.",
     .complexity = "O(N) where N is the number of channels given",
     .args_text = "[channel [channel ...]]"},
    {.name = "pubsub|numpat",
     .run = pubsub_numpat,
     .arity = 2,
     .flags = CMD_PUBSUB | HELP_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "Returns how many patterns have subscribers.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "pubsub|help",
     .run = pubsub_help,
     .arity = 2,
     .flags = HELP_FLAGS,
     .acl = "@slow",
     .group = "pubsub",
     .since = "6.2.0",
     .summary = "Lists the forms of PUBSUB.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = NULL},
};

const struct cmd_spec server_table[] = {
    {.name = "ping",
     .run = server_ping,
     .arity = -1,
     .flags = CMD_FAST,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "1.0.0",
     .summary = "Returns PONG, or the message.",
     .complexity = "O(1)",
     .args_text = "[message]"},
    {.name = "echo",
     .run = server_echo,
     .arity = 2,
     .flags = QUICK_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "1.0.0",
     .summary = "Returns the message.",
     .complexity = "O(1)",
     .args_text = "message"},
    {.name = "hello",
     .run = session_hello,
     .arity = -1,
     .flags = LOGIN_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "6.0.0",
     .summary =
         "Chooses the version of the protocol; may log in and name the connection.",
     .complexity = "O(1)",
     .args_text = "[protover [AUTH username password] [SETNAME clientname]]"},
    {.name = "auth",
     .run = session_auth,
     .arity = -2,
     .flags = LOGIN_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "1.0.0",
     .summary = "Logs in.",
     .complexity = "O(1)",
     .args_text = "[username] password"},
    {.name = "quit",
     .run = session_quit,
     .arity = -1,
     .flags = LOGIN_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "1.0.0",
     .summary = "Closes this connection.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "reset",
     .run = session_reset,
     .arity = 1,
     .flags = LOGIN_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "6.2.0",
     .summary = "Puts this connection back to how it began.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "select",
     .run = server_select,
     .arity = 2,
     .flags = QUICK_FLAGS,
     .acl = "@fast @connection",
     .group = "connection",
     .since = "1.0.0",
     .summary = "Chooses the database.",
     .complexity = "O(1)",
     .args_text = "index"},
    {.name = "client",
     .arity = -2,
     .acl = "@slow",
     .group = "connection",
     .since = "2.4.0",
     .summary = "A container for commands about connections.",
     .complexity = "Depends on subcommand.",
     .args_text = "",
     .subcommands = client_table},
    {.name = "config",
     .arity = -2,
     .acl = "@slow",
     .group = "server",
     .since = "2.0.0",
     .summary = "A container for commands about the configuration.",
     .complexity = "Depends on subcommand.",
     .args_text = "",
     .subcommands = config_table},
    {.name = "info",
     .run = info_cmd,
     .arity = -1,
     .flags = HELP_FLAGS,
     .acl = "@slow @dangerous",
     .group = "server",
     .since = "1.0.0",
     .summary = "Returns figures about the server.",
     .complexity = "O(1)",
     .args_text = "[section [section ...]]"},
    {.name = "time",
     .run = server_time,
     .arity = 1,
     .flags = QUICK_FLAGS,
     .acl = "@fast",
     .group = "server",
     .since = "2.6.0",
     .summary = "Returns the server's time in seconds and microseconds.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "role",
     .run = server_role,
     .arity = 1,
     .flags = SESSION_FLAGS | CMD_FAST,
     .acl = "@admin @fast @dangerous",
     .group = "server",
     .since = "2.8.12",
     .summary = "Returns the role of the server in replication.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "lastsave",
     .run = server_lastsave,
     .arity = 1,
     .flags = QUICK_FLAGS,
     .acl = "@admin @fast @dangerous",
     .group = "server",
     .since = "1.0.0",
     .summary = "Returns the time of the last save; without one, of the start.",
     .complexity = "O(1)",
     .args_text = ""},
    {.name = "debug",
     .run = server_debug,
     .arity = -2,
     .flags = ADMIN_FLAGS,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "1.0.0",
     .summary = "A container for commands that help to debug.",
     .complexity = "Depends on subcommand.",
     .args_text = "subcommand [arg ...]"},
    {.name = "shutdown",
     .run = server_shutdown,
     .arity = -1,
     .flags = ADMIN_FLAGS | CMD_ALLOW_BUSY,
     .acl = ADMIN_ACL,
     .group = "server",
     .since = "1.0.0",
     .summary = "Stops the server.",
     .complexity = "O(1)",
     .args_text = "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]"},
    {.name = "subscribe",
     .run = pubsub_subscribe,
     .arity = -2,
     .flags = PUBSUB_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Listens to channels.",
     .complexity = "O(N) where N is the number of channels",
     .args_text = "channel [channel ...]"},
    {.name = "unsubscribe",
     .run = pubsub_unsubscribe,
     .arity = -1,
     .flags = PUBSUB_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Stops listening to channels, or to all of them.",
     .complexity = "O(N) where N is the number of channels",
     .args_text = "[channel [channel ...]]"},
    {.name = "psubscribe",
     .run = pubsub_psubscribe,
     .arity = -2,
     .flags = PUBSUB_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Listens to the channels that match patterns.",
     .complexity = "O(N) where N is the number of patterns",
     .args_text = "pattern [pattern ...]"},
    {.name = "punsubscribe",
     .run = pubsub_punsubscribe,
     .arity = -1,
     .flags = PUBSUB_FLAGS,
     .acl = "@pubsub @slow",
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Stops listening to patterns, or to all of them.",
     .complexity = "O(N) where N is the number of patterns",
     .args_text = "[pattern [pattern ...]]"},
    {.name = "publish",
     .run = pubsub_publish_cmd,
     .arity = 3,
     .flags = CMD_PUBSUB | QUICK_FLAGS,
     .acl = "@pubsub @fast",
     .group = "pubsub",
     .since = "2.0.0",
     .summary = "Sends a message to a channel.",
     .complexity = "O(N+M) where N is the number of subscribers and M of patterns",
     .args_text = "channel message"},
    {.name = "pubsub",
     .arity = -2,
     .acl = "@slow",
     .group = "pubsub",
     .since = "2.8.0",
     .summary = "A container for commands about channels.",
     .complexity = "Depends on subcommand.",
     .args_text = "",
     .subcommands = pubsub_table},
    {.name = NULL},
};

/* ---- small commands ---- */

void server_reply_help(struct cmd_call *call, const char *const *lines)
{
    size_t n = 0;
    while (lines[n] != NULL)
        n++;
    host_reply_array(call->host, n);
    for (size_t i = 0; i < n; i++)
        host_reply_status(call->host, lines[i]);
}

void server_ping(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes message = call->argc > 1 ? call->argv[1] : (struct yn_bytes){"", 0};
    if (call->argc > 2) {
        host_reply_error(h, "ERR wrong number of arguments for 'ping' command");
    } else if (h->resp == 2 && conn_n_subscriptions(h->conn) > 0) {
        /* A RESP2 client that listens expects arrays only. */
        host_reply_array(h, 2);
        host_reply_bulk(h, (struct yn_bytes){"pong", 4});
        host_reply_bulk(h, message);
    } else if (call->argc == 2) {
        host_reply_bulk(h, message);
    } else {
        host_reply_status(h, "PONG");
    }
}

void server_echo(struct cmd_call *call)
{
    host_reply_bulk(call->host, call->argv[1]);
}

void server_select(struct cmd_call *call)
{
    int64_t index;
    struct host *h = call->host;
    if (!yn_num_parse_int64(call->argv[1], &index))
        host_reply_error(h, CMD_ERR_INTEGER);
    else if (index < INT32_MIN || index > INT32_MAX)
        host_reply_error(h,
                         "ERR value is out of range, value must between -2147483648 and "
                         "2147483647");
    else if (index < 0 || (size_t)index >= h->loop->server->n_databases)
        host_reply_error(h, "ERR DB index is out of range");
    else {
        h->conn->db = (size_t)index;
        host_reply_status(h, "OK");
    }
}

static void reply_number(struct host *h, int64_t value)
{
    char text[YN_NUM_TEXT_MAX];
    host_reply_bulk(h, (struct yn_bytes){text, yn_num_format_int64(value, text)});
}

void server_time(struct cmd_call *call)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    host_reply_array(call->host, 2);
    reply_number(call->host, now.tv_sec);
    reply_number(call->host, now.tv_nsec / 1000);
}

void server_role(struct cmd_call *call)
{
    host_reply_array(call->host, 3);
    host_reply_bulk(call->host, (struct yn_bytes){"master", 6});
    host_reply_integer(call->host, 0);
    host_reply_array(call->host, 0);
}

void server_lastsave(struct cmd_call *call)
{
    host_reply_integer(call->host, call->host->loop->server->started_ms / 1000);
}

/* ---- DEBUG ---- */

static bool debug_allowed_or_reply(struct cmd_call *call)
{
    const struct host *h = call->host;
    int64_t mode = h->loop->server->config.enable_debug_command;
    if (mode == CONFIG_DEBUG_YES || (mode == CONFIG_DEBUG_LOCAL && h->conn->is_local))
        return true;
    host_reply_error(
        call->host,
        "ERR DEBUG command not allowed. If the enable-debug-command option is "
        "set to \"local\", you can run it from a local connection, otherwise you "
        "need to set this option in the configuration file, and then restart the "
        "server.");
    return false;
}

/* Sleeps with the whole server, which is the point of it. */
static void debug_sleep(struct cmd_call *call)
{
    double seconds;
    if (!yn_num_parse_double(call->argv[2], &seconds) || !(seconds >= 0) ||
        seconds > 86400) {
        host_reply_error(call->host, CMD_ERR_FLOAT);
        return;
    }
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&left, NULL);
    host_reply_status(call->host, "OK");
}

void server_debug(struct cmd_call *call)
{
    static const char *const help[] = {
        "DEBUG <subcommand> [<arg> ...]. Subcommands are:",
        "SLEEP <seconds>",
        "    Let the whole server sleep.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Stop or start the removal of expired keys that nobody touches.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    if (!debug_allowed_or_reply(call))
        return;
    struct server *server = call->host->loop->server;
    if (call->argc == 3 && cmd_word_is(call->argv[1], "sleep")) {
        debug_sleep(call);
    } else if (call->argc == 3 && cmd_word_is(call->argv[1], "set-active-expire")) {
        server->active_expire = !cmd_word_is(call->argv[2], "0");
        host_reply_status(call->host, "OK");
    } else if (call->argc == 2 && cmd_word_is(call->argv[1], "help")) {
        server_reply_help(call, help);
    } else {
        char text[128];
        snprintf(
            text, sizeof text,
            "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try DEBUG "
            "HELP.",
            (int)(call->argv[1].len < 40 ? call->argv[1].len : 40), call->argv[1].data);
        host_reply_error(call->host, text);
    }
}

/* ---- SHUTDOWN ---- */

void server_shutdown(struct cmd_call *call)
{
    bool saves = false, no_save = false, aborts = false, other = false;
    for (size_t i = 1; i < call->argc; i++) {
        struct yn_bytes word = call->argv[i];
        if (cmd_word_is(word, "save"))
            saves = true;
        else if (cmd_word_is(word, "nosave"))
            no_save = true;
        else if (cmd_word_is(word, "abort"))
            aborts = true;
        else if (cmd_word_is(word, "now") || cmd_word_is(word, "force"))
            other = true;
        else {
            host_reply_error(call->host, CMD_ERR_SYNTAX);
            return;
        }
    }
    if ((saves && no_save) || (aborts && (saves || no_save || other))) {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
    } else if (aborts) {
        host_reply_error(call->host, "ERR No shutdown in progress.");
    } else if (saves) {
        host_reply_error(call->host,
                         "ERR snapshots are not built into this version: nothing "
                         "can be saved. Use SHUTDOWN NOSAVE.");
    } else {
        log_notice("client %s asked for shutdown: stopping", call->host->conn->address);
        call->wish = CMD_WISH_SHUTDOWN;
    }
}
