/*
 * SLOWLOG. An entry is one block: the struct, then its texts (address, name, arguments),
 * each with its length in front.
 */
#include "server/slowlog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/redact.h"
#include "server/server.h"

struct entry {
    struct link in_log;
    uint64_t id;
    int64_t time_s;
    uint64_t duration_us;
    size_t n_args;
    char texts[]; /* address, client name, arguments: uint32_t length and bytes each */
};

#define NOTE_MAX 64

void slowlog_init(struct slowlog *log)
{
    list_init(&log->entries);
    log->n = 0;
    log->next_id = 0;
}

static void drop_oldest(struct slowlog *log)
{
    struct link *last = log->entries.prev;
    list_remove(last);
    free(LIST_ITEM(last, struct entry, in_log));
    log->n--;
}

void slowlog_reset(struct slowlog *log)
{
    while (log->n > 0)
        drop_oldest(log);
}

void slowlog_clear(struct slowlog *log)
{
    slowlog_reset(log);
}

/* ---- writing ---- */

static void append_text(struct yn_buf *out, struct yn_bytes text, const char *note)
{
    size_t note_len = strlen(note);
    uint32_t len = (uint32_t)(text.len + note_len);
    yn_buf_append(out, &len, sizeof len);
    yn_buf_append(out, text.data, text.len);
    yn_buf_append(out, note, note_len);
}

static void append_arg(struct yn_buf *out, struct yn_bytes arg)
{
    char note[NOTE_MAX] = "";
    if (arg.len > SLOWLOG_ARG_LEN_MAX) {
        snprintf(note, sizeof note, "... (%zu more bytes)",
                 arg.len - SLOWLOG_ARG_LEN_MAX);
        arg.len = SLOWLOG_ARG_LEN_MAX;
    }
    append_text(out, arg, note);
}

static void append_texts(struct yn_buf *out, const struct slowlog_call *call)
{
    const struct yn_bytes none = {"", 0};
    append_text(out, none, call->address);
    append_text(out, none, call->client_name);
    bool is_cut = call->argc > SLOWLOG_ARGS_MAX;
    size_t n = is_cut ? SLOWLOG_ARGS_MAX - 1 : call->argc;
    for (size_t i = 0; i < n; i++) {
        if (call->is_secret[i])
            append_text(out, none, REDACTED);
        else
            append_arg(out, call->argv[i]);
    }
    if (is_cut) {
        char note[NOTE_MAX];
        snprintf(note, sizeof note, "... (%zu more arguments)", call->argc - n);
        append_text(out, none, note);
    }
}

void slowlog_add(struct slowlog *log, const struct slowlog_call *call, size_t max_len)
{
    struct yn_buf texts;
    yn_buf_init(&texts);
    append_texts(&texts, call);
    struct entry *entry = texts.failed ? NULL : malloc(sizeof *entry + texts.len);
    if (entry != NULL) {
        entry->id = log->next_id++;
        entry->time_s = call->time_s;
        entry->duration_us = call->duration_us;
        entry->n_args = call->argc < SLOWLOG_ARGS_MAX ? call->argc : SLOWLOG_ARGS_MAX;
        memcpy(entry->texts, texts.data, texts.len);
        list_append(log->entries.next, &entry->in_log); /* in front of the first */
        log->n++;
    }
    yn_buf_clear(&texts);
    while (log->n > max_len)
        drop_oldest(log);
}

/* ---- SLOWLOG ---- */

static struct yn_bytes next_text(const char **at)
{
    uint32_t len;
    memcpy(&len, *at, sizeof len);
    struct yn_bytes text = {*at + sizeof len, len};
    *at = text.data + len;
    return text;
}

static void reply_entry(struct host *h, const struct entry *entry)
{
    const char *at = entry->texts;
    struct yn_bytes address = next_text(&at), name = next_text(&at);
    host_reply_array(h, 6);
    host_reply_integer(h, (int64_t)entry->id);
    host_reply_integer(h, entry->time_s);
    host_reply_integer(h, (int64_t)entry->duration_us);
    host_reply_array(h, entry->n_args);
    for (size_t i = 0; i < entry->n_args; i++)
        host_reply_bulk(h, next_text(&at));
    host_reply_bulk(h, address);
    host_reply_bulk(h, name);
}

void slowlog_get(struct cmd_call *call)
{
    const struct slowlog *log = &call->host->loop->server->slowlog;
    int64_t count = 10;
    if (call->argc > 3) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try SLOWLOG HELP.");
        return;
    }
    if (call->argc == 3 && (!yn_num_parse_int64(call->argv[2], &count) || count < -1)) {
        host_reply_error(call->host, "ERR count should be greater than or equal to -1");
        return;
    }
    size_t n = count < 0 || (uint64_t)count > log->n ? log->n : (size_t)count;
    host_reply_array(call->host, n);
    const struct link *l = log->entries.next;
    for (size_t i = 0; i < n; i++, l = l->next)
        reply_entry(call->host, LIST_ITEM(l, struct entry, in_log));
}

void slowlog_len(struct cmd_call *call)
{
    host_reply_integer(call->host, (int64_t)call->host->loop->server->slowlog.n);
}

void slowlog_reset_cmd(struct cmd_call *call)
{
    slowlog_reset(&call->host->loop->server->slowlog);
    host_reply_status(call->host, "OK");
}

void slowlog_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "SLOWLOG <subcommand> [<arg> ...]. Subcommands are:",
        "GET [<count>]",
        "    Return the latest slow commands: <count> of them (10 if not given, -1: all).",
        "    Each is a number, the time, the microseconds it took, its arguments, the",
        "    client's address and the client's name.",
        "LEN",
        "    Return how many slow commands are kept.",
        "RESET",
        "    Forget them.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
