/* The table of the server's own commands, and the commands about the server as a whole.
 */
#include <limits.h>
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

void server_reply_error_word(struct cmd_call *call, const char *format,
                             struct yn_bytes word)
{
    int shown = word.len < INT_MAX ? (int)word.len : INT_MAX;
    int len = snprintf(NULL, 0, format, shown, word.data);
    char *text = len < 0 ? NULL : cmd_arena_take(call->arena, (size_t)len + 1);
    if (text == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    snprintf(text, (size_t)len + 1, format, shown, word.data);
    host_reply_error(call->host, text);
}

void server_reply_subcommand_error(struct cmd_call *call, const char *format)
{
    const size_t shown_max = 128;
    struct yn_bytes word = call->argv[1];
    if (word.len > shown_max)
        word.len = shown_max;
    server_reply_error_word(call, format, word);
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
