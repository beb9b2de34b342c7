/* cmd_key.c: the commands about keys of any type: what there is, how long it lives. */
#include "cmd/cmd_key.h"

#include "cmd/expiry.h"
#include "cmd/glob.h"
#include "cmd/scan_args.h"

static const char *type_name(enum host_type type)
{
    switch (type) {
    case HOST_STRING:
        return "string";
    case HOST_ZSET:
        return "zset";
    case HOST_OTHER:
        return "other";
    case HOST_NONE:
        break;
    }
    return "none";
}

/* ---- one by one ---- */

void cmd_del(struct cmd_call *call)
{
    int64_t n_removed = 0;
    for (size_t i = 1; i < call->argc; i++) {
        if (!host_key_remove(call->host, call->argv[i]))
            continue;
        host_key_changed(call->host, call->argv[i], "del");
        n_removed++;
    }
    host_reply_integer(call->host, n_removed);
}

/* A key that is named twice counts twice. */
void cmd_exists(struct cmd_call *call)
{
    int64_t n_found = 0;
    for (size_t i = 1; i < call->argc; i++)
        n_found += host_key_read(call->host, call->argv[i]).type != HOST_NONE;
    host_reply_integer(call->host, n_found);
}

void cmd_type(struct cmd_call *call)
{
    host_reply_status(call->host,
                      type_name(host_key_read(call->host, call->argv[1]).type));
}

/* ---- all of them ---- */

void cmd_dbsize(struct cmd_call *call)
{
    host_reply_integer(call->host, (int64_t)host_key_count(call->host));
}

/* Collects names of keys: they are counted before they are sent. */
struct key_scan {
    const struct scan_args *args; /* or NULL: pattern alone counts */
    struct yn_bytes pattern;
    struct scan_list found; /* of struct yn_bytes */
};

static void visit_key(void *ctx, struct yn_bytes key, enum host_type type)
{
    struct key_scan *scan = ctx;
    bool is_wanted;
    if (scan->args == NULL)
        is_wanted = glob_matches(scan->pattern, key);
    else
        is_wanted =
            scan_args_match(scan->args, key) &&
            (!scan->args->has_type || cmd_word_is(scan->args->type, type_name(type)));
    if (is_wanted)
        scan_list_add(&scan->found, &key);
}

static void reply_keys(struct host *h, const struct key_scan *scan)
{
    const struct yn_bytes *keys = scan->found.items;
    host_reply_array(h, scan->found.n);
    for (size_t i = 0; i < scan->found.n; i++)
        host_reply_bulk(h, keys[i]);
}

void cmd_keys(struct cmd_call *call)
{
    const size_t keys_a_step = 1024;
    struct key_scan scan = {.pattern = call->argv[1]};
    uint64_t cursor = 0;
    scan_list_init(&scan.found, call->arena, sizeof(struct yn_bytes));
    do {
        cursor = host_key_scan(call->host, cursor, keys_a_step, visit_key, &scan);
    } while (cursor != 0 && !scan.found.failed);
    if (scan.found.failed)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        reply_keys(call->host, &scan);
}

void cmd_scan(struct cmd_call *call)
{
    struct cmd_args args;
    struct scan_args scan_args;
    cmd_args_init(&args, call, 1);
    if (!scan_args_parse_cursor(&scan_args, &args) ||
        !scan_args_parse_options(&scan_args, &args, true)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    struct key_scan scan = {.args = &scan_args};
    scan_list_init(&scan.found, call->arena, sizeof(struct yn_bytes));
    uint64_t next =
        host_key_scan(call->host, scan_args.cursor, scan_args.count, visit_key, &scan);
    if (scan.found.failed) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    scan_reply_cursor(call->host, next);
    reply_keys(call->host, &scan);
}

/* ASYNC and SYNC are taken and make no difference. */
static bool flush_args_or_reply(struct cmd_call *call)
{
    if (call->argc == 1)
        return true;
    if (call->argc == 2 &&
        (cmd_word_is(call->argv[1], "async") || cmd_word_is(call->argv[1], "sync")))
        return true;
    host_reply_error(call->host, CMD_ERR_SYNTAX);
    return false;
}

void cmd_flushdb(struct cmd_call *call)
{
    if (!flush_args_or_reply(call))
        return;
    host_key_flush(call->host);
    host_reply_status(call->host, "OK");
}

void cmd_flushall(struct cmd_call *call)
{
    if (!flush_args_or_reply(call))
        return;
    host_key_flush_all(call->host);
    host_reply_status(call->host, "OK");
}

/* ---- setting the expiry ---- */

enum expire_if { IF_NEW = 1, IF_OLD = 2, IF_GREATER = 4, IF_LESS = 8 };

static bool parse_expire_options(struct cmd_args *args, unsigned *out_ifs)
{
    unsigned ifs = 0;
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "nx", 0)) {
            ifs |= IF_NEW;
        } else if (cmd_args_option(args, "xx", 0)) {
            ifs |= IF_OLD;
        } else if (cmd_args_option(args, "gt", 0)) {
            ifs |= IF_GREATER;
        } else if (cmd_args_option(args, "lt", 0)) {
            ifs |= IF_LESS;
        } else {
            struct yn_bytes word = args->argv[args->at];
            return cmd_args_fail_format(args, "ERR Unsupported option %.*s",
                                        (int)word.len, word.data);
        }
    }
    *out_ifs = ifs;
    if ((ifs & IF_NEW) != 0 && ifs != IF_NEW)
        return cmd_args_fail(
            args, "ERR NX and XX, GT or LT options at the same time are not compatible");
    if ((ifs & IF_GREATER) != 0 && (ifs & IF_LESS) != 0)
        return cmd_args_fail(args,
                             "ERR GT and LT options at the same time are not compatible");
    return true;
}

/* Whether the options let the new time replace the old one (-1: none, which is later than
 * any time). */
static bool expire_is_allowed(unsigned ifs, int64_t old_ms, int64_t new_ms)
{
    if ((ifs & IF_NEW) != 0 && old_ms != -1)
        return false;
    if ((ifs & IF_OLD) != 0 && old_ms == -1)
        return false;
    if ((ifs & IF_GREATER) != 0 && (old_ms == -1 || new_ms <= old_ms))
        return false;
    if ((ifs & IF_LESS) != 0 && old_ms != -1 && new_ms >= old_ms)
        return false;
    return true;
}

/* Sets a time, or, when it has passed, removes the key. */
static void set_expiry(struct host *h, struct yn_bytes key, int64_t at_ms)
{
    if (at_ms <= host_now_ms(h)) {
        host_key_remove(h, key);
        host_key_changed(h, key, "del");
    } else {
        host_key_set_expiry_ms(h, key, at_ms);
        host_key_changed(h, key, "expire");
    }
    host_reply_integer(h, 1);
}

static void run_expire(struct cmd_call *call, enum expiry_unit unit, bool is_relative)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    struct cmd_args args;
    unsigned ifs = 0;
    int64_t value = 0, at_ms = 0;
    cmd_args_init(&args, call, 3); /* the options are checked before the number */
    if (parse_expire_options(&args, &ifs)) {
        args.at = 2;
        if (cmd_args_int64(&args, CMD_ERR_INTEGER, &value) &&
            !expiry_at_ms(value, unit, is_relative, host_now_ms(h), &at_ms))
            expiry_fail(&args, call->spec->name);
    }
    if (cmd_args_failed(&args)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    int64_t old_ms = host_key_expiry_ms(h, key);
    if (old_ms == -2 || !expire_is_allowed(ifs, old_ms, at_ms))
        host_reply_integer(h, 0);
    else
        set_expiry(h, key, at_ms);
}

void cmd_expire(struct cmd_call *call)
{
    run_expire(call, EXPIRY_SECONDS, true);
}

void cmd_pexpire(struct cmd_call *call)
{
    run_expire(call, EXPIRY_MS, true);
}

void cmd_expireat(struct cmd_call *call)
{
    run_expire(call, EXPIRY_SECONDS, false);
}

void cmd_pexpireat(struct cmd_call *call)
{
    run_expire(call, EXPIRY_MS, false);
}

void cmd_persist(struct cmd_call *call)
{
    struct host *h = call->host;
    bool had_expiry = host_key_expiry_ms(h, call->argv[1]) >= 0;
    if (had_expiry && host_key_set_expiry_ms(h, call->argv[1], -1))
        host_key_changed(h, call->argv[1], "persist");
    host_reply_integer(h, had_expiry);
}

/* ---- reading the expiry ---- */

static void reply_expiry(struct cmd_call *call, enum expiry_unit unit, bool is_relative)
{
    host_key_read(call->host, call->argv[1]); /* it is read: a miss counts */
    int64_t at_ms = host_key_expiry_ms(call->host, call->argv[1]);
    if (at_ms < 0) { /* no key, or no expiry */
        host_reply_integer(call->host, at_ms);
        return;
    }
    if (is_relative)
        at_ms -= host_now_ms(call->host);
    if (at_ms < 0)
        at_ms = 0;
    /* To the nearest second; unsigned, since the latest time leaves no room for the half.
     */
    uint64_t unit_ms = unit;
    host_reply_integer(call->host, (int64_t)(((uint64_t)at_ms + unit_ms / 2) / unit_ms));
}

void cmd_ttl(struct cmd_call *call)
{
    reply_expiry(call, EXPIRY_SECONDS, true);
}

void cmd_pttl(struct cmd_call *call)
{
    reply_expiry(call, EXPIRY_MS, true);
}

void cmd_expiretime(struct cmd_call *call)
{
    reply_expiry(call, EXPIRY_SECONDS, false);
}

void cmd_pexpiretime(struct cmd_call *call)
{
    reply_expiry(call, EXPIRY_MS, false);
}
