/* cmd_expire.c: the commands about how long keys live. */
#include "cmd/cmd_key.h"
#include "cmd/expiry.h"

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
    } else if (host_key_set_expiry_ms(h, key, at_ms)) {
        host_key_changed(h, key, "expire");
    } else {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
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
    if (host_key_write(h, key).type == HOST_NONE ||
        !expire_is_allowed(ifs, host_key_expiry_ms(h, key), at_ms))
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
    struct yn_bytes key = call->argv[1];
    if (host_key_write(h, key).type == HOST_NONE || host_key_expiry_ms(h, key) < 0) {
        host_reply_integer(h, 0);
        return;
    }
    if (!host_key_set_expiry_ms(h, key, -1)) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    host_key_changed(h, key, "persist");
    host_reply_integer(h, 1);
}

/* ---- reading the expiry ---- */

static void reply_expiry(struct cmd_call *call, enum expiry_unit unit, bool is_relative)
{
    bool exists = host_key_peek(call->host, call->argv[1]).type != HOST_NONE;
    int64_t at_ms = exists ? host_key_expiry_ms(call->host, call->argv[1]) : -2;
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
