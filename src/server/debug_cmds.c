/* DEBUG: the parts of it that tests of client libraries use. */
#include <inttypes.h>
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

/* ---- OBJECT ---- */

static const char *string_encoding(struct yn_bytes value)
{
    int64_t number;
    if (value.len <= 20 && yn_num_parse_int64(value, &number))
        return "int";
    return value.len <= 44 ? "embstr" : "raw";
}

static void debug_object(struct cmd_call *call)
{
    struct host *h = call->host;
    struct host_value value = keyspace_find(h->keyspace, call->argv[2], h->now_ms);
    if (value.type == HOST_NONE) {
        host_reply_error(h, "ERR no such key");
        return;
    }
    bool is_set = value.type == HOST_ZSET;
    size_t size = is_set ? yn_zset_memory(value.zset) : value.string.len;
    const char *encoding = !is_set ? string_encoding(value.string)
                           : host_zset_is_compact(h, yn_zset_count(value.zset), 0)
                               ? "listpack"
                               : "skiplist";
    const void *at = is_set ? (const void *)value.zset : (const void *)value.string.data;
    char text[256];
    snprintf(text, sizeof text,
             "Value at:%p refcount:1 encoding:%s serializedlength:%zu lru:0 "
             "lru_seconds_idle:0",
             at, encoding, size);
    host_reply_status(h, text);
}

/* ---- PROTOCOL ---- */

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static void reply_numbers(struct host *h)
{
    for (int64_t i = 0; i < 3; i++)
        host_reply_integer(h, i);
}

static void reply_map(struct host *h)
{
    host_reply_map(h, 3);
    for (int64_t i = 0; i < 3; i++) {
        host_reply_integer(h, i);
        yn_write_bool(h->out, h->resp, i == 1);
    }
}

static void reply_attribute(struct host *h)
{
    if (h->resp == 3) {
        yn_buf_append_text(h->out, "|1\r\n");
        host_reply_bulk(h, text_bytes("key-popularity"));
        host_reply_array(h, 2);
        host_reply_bulk(h, text_bytes("key:123"));
        host_reply_integer(h, 90);
    }
    host_reply_bulk(h, text_bytes("Some real reply following the attribute"));
}

static void reply_push(struct host *h)
{
    if (h->resp == 2) {
        host_reply_error(h, "ERR RESP2 is not supported by this command");
        return;
    }
    yn_write_push(h->out, h->resp, 2);
    host_reply_bulk(h, text_bytes("server-cpu-usage"));
    host_reply_integer(h, 42);
    host_reply_bulk(h, text_bytes("Some real reply following the push reply"));
}

static void reply_big_number(struct host *h)
{
    static const char digits[] = "1234567999999999999999999999999999999";
    if (h->resp == 2) {
        host_reply_bulk(h, text_bytes(digits));
        return;
    }
    yn_buf_append_text(h->out, "(");
    yn_buf_append_text(h->out, digits);
    yn_buf_append_text(h->out, "\r\n");
}

/* One value of each kind that the protocol knows. */
static void debug_protocol(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes kind = call->argv[2];
    if (cmd_word_is(kind, "string")) {
        host_reply_bulk(h, text_bytes("Hello World"));
    } else if (cmd_word_is(kind, "integer")) {
        host_reply_integer(h, 12345);
    } else if (cmd_word_is(kind, "double")) {
        yn_write_double_text(h->out, h->resp, text_bytes("3.141"));
    } else if (cmd_word_is(kind, "bignum")) {
        reply_big_number(h);
    } else if (cmd_word_is(kind, "null")) {
        host_reply_null(h);
    } else if (cmd_word_is(kind, "array")) {
        host_reply_array(h, 3);
        reply_numbers(h);
    } else if (cmd_word_is(kind, "set")) {
        host_reply_set(h, 3);
        reply_numbers(h);
    } else if (cmd_word_is(kind, "map")) {
        reply_map(h);
    } else if (cmd_word_is(kind, "attrib")) {
        reply_attribute(h);
    } else if (cmd_word_is(kind, "push")) {
        reply_push(h);
    } else if (cmd_word_is(kind, "verbatim")) {
        yn_write_verbatim(h->out, h->resp, "txt",
                          text_bytes("This is a verbatim\nstring"));
    } else if (cmd_word_is(kind, "true") || cmd_word_is(kind, "false")) {
        yn_write_bool(h->out, h->resp, cmd_word_is(kind, "true"));
    } else {
        host_reply_error(h, "ERR Wrong protocol type name. Please use one of the "
                            "following: string|integer|double|bignum|null|array|set|map|"
                            "attrib|push|verbatim|true|false");
    }
}

/* ---- the others ---- */

static void debug_active_expire(struct cmd_call *call)
{
    call->host->loop->server->active_expire = !cmd_word_is(call->argv[2], "0");
    host_reply_status(call->host, "OK");
}

static void debug_hold_work(struct cmd_call *call)
{
    pool_hold(&call->host->loop->server->pool, !cmd_word_is(call->argv[2], "0"));
    host_reply_status(call->host, "OK");
}

static void debug_error(struct cmd_call *call)
{
    host_reply_error_bytes(call->host, call->argv[2]);
}

static void debug_log(struct cmd_call *call)
{
    struct yn_bytes text = call->argv[2];
    log_warning("DEBUG LOG: %.*s", text.len < 1000 ? (int)text.len : 1000, text.data);
    host_reply_status(call->host, "OK");
}

static void debug_change_repl_id(struct cmd_call *call)
{
    server_change_replication_id(call->host->loop->server);
    host_reply_status(call->host, "OK");
}

static void debug_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "DEBUG <subcommand> [<arg> ...]. Subcommands are:",
        "CHANGE-REPL-ID",
        "    Give the server another replication id.",
        "ERROR <text>",
        "    Return an error with this text.",
        "HOLD-WORK <0|1>",
        "    Let long work that is done beside the loops wait, or go on.",
        "LOG <text>",
        "    Write a line into the log.",
        "OBJECT <key>",
        "    Return where and how a value is stored.",
        "PROTOCOL <kind>",
        "    Return a value of a kind that the protocol knows.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Stop or start the removal of expired keys that nobody touches.",
        "SLEEP <seconds>",
        "    Let the whole server sleep.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}

void debug_cmd(struct cmd_call *call)
{
    static const struct {
        const char *name;
        size_t argc;
        void (*run)(struct cmd_call *call);
    } parts[] = {
        {"sleep", 3, debug_sleep},
        {"object", 3, debug_object},
        {"protocol", 3, debug_protocol},
        {"set-active-expire", 3, debug_active_expire},
        {"hold-work", 3, debug_hold_work},
        {"error", 3, debug_error},
        {"log", 3, debug_log},
        {"change-repl-id", 2, debug_change_repl_id},
        {"help", 2, debug_help},
    };
    if (!debug_allowed_or_reply(call))
        return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (call->argc == parts[i].argc && cmd_word_is(call->argv[1], parts[i].name)) {
            parts[i].run(call);
            return;
        }
    }
    server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                        "arguments for '%.*s'. Try DEBUG HELP.");
}
