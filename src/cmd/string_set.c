/*
 * string_set.c: SET and the commands that are forms of it, and GETEX, which has its
 * options of expiry.
 *
 * A new value that is large becomes part of the keyspace where it lies (host.h); an old
 * one that is large, and wanted back, is held and sent by a job. Both are done before
 * anything is changed as far as they may fail.
 */
#include <string.h>

#include "cmd/cmd_string.h"
#include "cmd/expiry.h"
#include "cmd/string_reply.h"
#include "core/num.h"

/* ---- options ---- */

/* A number as the client wrote it. What is wrong with it counts only when all options are
 * in order. */
struct set_time {
    struct yn_bytes word; /* data is NULL: none */
    enum expiry_unit unit;
    bool is_relative;
};

struct set_options {
    bool only_new, only_old, returns_old, keeps_expiry;
    bool persists; /* GETEX */
    struct set_time time;
};

/* The same form may be repeated, another one not. */
static bool parse_time_option(struct cmd_args *args, struct set_options *options)
{
    static const struct {
        const char *name;
        enum expiry_unit unit;
        bool is_relative;
    } forms[] = {
        {"ex", EXPIRY_SECONDS, true},
        {"px", EXPIRY_MS, true},
        {"exat", EXPIRY_SECONDS, false},
        {"pxat", EXPIRY_MS, false},
    };
    struct set_time *time = &options->time;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (!cmd_args_option(args, forms[i].name, 1))
            continue;
        if (options->keeps_expiry || options->persists ||
            (time->word.data != NULL &&
             (time->unit != forms[i].unit || time->is_relative != forms[i].is_relative)))
            return false;
        time->unit = forms[i].unit;
        time->is_relative = forms[i].is_relative;
        return cmd_args_word(args, &time->word);
    }
    return false;
}

static bool parse_set(struct cmd_args *args, struct set_options *options)
{
    while (cmd_args_left(args) > 0) {
        if (!options->only_old && cmd_args_option(args, "nx", 0))
            options->only_new = true;
        else if (!options->only_new && cmd_args_option(args, "xx", 0))
            options->only_old = true;
        else if (cmd_args_option(args, "get", 0))
            options->returns_old = true;
        else if (options->time.word.data == NULL && cmd_args_option(args, "keepttl", 0))
            options->keeps_expiry = true;
        else if (!parse_time_option(args, options))
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
    }
    return true;
}

static bool parse_getex(struct cmd_args *args, struct set_options *options)
{
    while (cmd_args_left(args) > 0) {
        if (options->time.word.data == NULL && cmd_args_option(args, "persist", 0))
            options->persists = true;
        else if (!parse_time_option(args, options))
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
    }
    return true;
}

/* What becomes of the key's expiry, a time or a HOST_EXPIRY_*. Answers when the time is
 * none. */
static bool expiry_or_reply(struct cmd_call *call, const struct set_options *options,
                            int64_t *out_expiry_ms)
{
    const struct set_time *time = &options->time;
    struct cmd_args error;
    int64_t value;
    *out_expiry_ms = options->keeps_expiry ? HOST_EXPIRY_KEEP : HOST_EXPIRY_NONE;
    if (time->word.data == NULL)
        return true;
    cmd_args_init(&error, call, call->argc);
    if (!yn_num_parse_int64(time->word, &value))
        cmd_args_fail(&error, CMD_ERR_INTEGER);
    else if (value <= 0 || !expiry_at_ms(value, time->unit, time->is_relative,
                                         host_now_ms(call->host), out_expiry_ms))
        expiry_fail(&error, call->spec->name);
    if (!cmd_args_failed(&error))
        return true;
    cmd_args_reply_error(&error, call->host);
    return false;
}

/* ---- setting ---- */

/* The old value as a reply that is ready: a bulk of the arena, or a job. */
struct old_value {
    struct yn_bytes copy;
    struct cmd_job *job;
};

/* False: out of memory. */
static bool old_value_take(struct cmd_call *call, const struct host_value *value,
                           struct old_value *out_old)
{
    *out_old = (struct old_value){.job = NULL};
    if (value->blob != NULL) {
        struct string_piece *pieces =
            cmd_arena_take(call->arena, STRING_PIECES * sizeof *pieces);
        if (pieces != NULL && string_pieces(call, value, value->string, pieces) != NULL)
            out_old->job = string_job_new(pieces, STRING_PIECES);
        return out_old->job != NULL;
    }
    char *copy = cmd_arena_take(call->arena, value->string.len);
    if (copy == NULL)
        return false;
    if (value->string.len > 0)
        memcpy(copy, value->string.data, value->string.len);
    out_old->copy = (struct yn_bytes){copy, value->string.len};
    return true;
}

enum set_result { SET_DONE, SET_REFUSED, SET_FAILED };

/* Stores, unless the key's state forbids it. `out_old` is NULL or gets the old string. */
static enum set_result set(struct cmd_call *call, struct yn_bytes value,
                           const struct set_options *options, int64_t expiry_ms,
                           const struct host_value *old, struct old_value *out_old)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    bool is_old = old->type != HOST_NONE;
    if (out_old != NULL && is_old && !old_value_take(call, old, out_old))
        return SET_FAILED;
    if ((options->only_new && is_old) || (options->only_old && !is_old))
        return SET_REFUSED;
    if (!host_key_put_string_until(h, key, value, expiry_ms)) {
        if (out_old != NULL && out_old->job != NULL)
            out_old->job->free(out_old->job);
        return SET_FAILED;
    }
    host_key_changed(h, key, "set");
    if (expiry_ms >= 0)
        host_key_changed(h, key, "expire");
    return SET_DONE;
}

/* SET with GET, and GETSET: the reply is the old string whatever was done. */
static void set_and_reply_old(struct cmd_call *call, struct yn_bytes value,
                              const struct set_options *options, int64_t expiry_ms)
{
    struct host *h = call->host;
    struct host_value old = host_key_read(h, call->argv[1]);
    struct old_value taken = {.job = NULL};
    if (old.type != HOST_NONE && old.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
    } else if (set(call, value, options, expiry_ms, &old, &taken) == SET_FAILED) {
        host_reply_error(h, CMD_ERR_NOMEM);
    } else if (old.type == HOST_NONE) {
        host_reply_null(h);
    } else if (taken.job != NULL) {
        call->job = taken.job;
    } else {
        host_reply_bulk(h, taken.copy);
    }
}

void cmd_set(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct set_options options = {.only_new = false};
    int64_t expiry_ms;
    cmd_args_init(&args, call, 3);
    if (!parse_set(&args, &options)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    if (!expiry_or_reply(call, &options, &expiry_ms))
        return;
    if (options.returns_old) {
        set_and_reply_old(call, call->argv[2], &options, expiry_ms);
        return;
    }
    struct host_value old = host_key_write(h, call->argv[1]);
    switch (set(call, call->argv[2], &options, expiry_ms, &old, NULL)) {
    case SET_DONE:
        host_reply_status(h, "OK");
        break;
    case SET_REFUSED:
        host_reply_null(h);
        break;
    case SET_FAILED:
        host_reply_error(h, CMD_ERR_NOMEM);
        break;
    }
}

void cmd_setnx(struct cmd_call *call)
{
    const struct set_options options = {.only_new = true};
    struct host_value old = host_key_write(call->host, call->argv[1]);
    enum set_result result =
        set(call, call->argv[2], &options, HOST_EXPIRY_NONE, &old, NULL);
    if (result == SET_FAILED)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        host_reply_integer(call->host, result == SET_DONE);
}

/* SETEX and PSETEX: the time stands before the value. */
static void setex(struct cmd_call *call, enum expiry_unit unit)
{
    const struct set_options options = {
        .time = {.word = call->argv[2], .unit = unit, .is_relative = true},
    };
    int64_t expiry_ms;
    if (!expiry_or_reply(call, &options, &expiry_ms))
        return;
    struct host_value old = host_key_write(call->host, call->argv[1]);
    if (set(call, call->argv[3], &options, expiry_ms, &old, NULL) == SET_DONE)
        host_reply_status(call->host, "OK");
    else
        host_reply_error(call->host, CMD_ERR_NOMEM);
}

void cmd_setex(struct cmd_call *call)
{
    setex(call, EXPIRY_SECONDS);
}

void cmd_psetex(struct cmd_call *call)
{
    setex(call, EXPIRY_MS);
}

void cmd_getset(struct cmd_call *call)
{
    const struct set_options options = {.returns_old = true};
    set_and_reply_old(call, call->argv[2], &options, HOST_EXPIRY_NONE);
}

/* ---- GETEX ---- */

/* Replies the value, and changes the expiry if that is wanted. */
static void reply_and_expire(struct cmd_call *call, const struct host_value *value,
                             const struct set_options *options, int64_t expiry_ms)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    int64_t old_ms = host_key_expiry_ms(h, key);
    bool is_past = expiry_ms >= 0 && expiry_ms <= host_now_ms(h);
    bool is_set = expiry_ms >= 0 && !is_past;
    /* the string stays where it is */
    if (is_set && !host_key_set_expiry_ms(h, key, expiry_ms)) {
        host_reply_error(h, CMD_ERR_NOMEM);
    } else if (!string_reply(call, value)) {
        if (is_set)
            host_key_set_expiry_ms(h, key, old_ms);
    } else if (is_set) {
        host_key_changed(h, key, "expire");
    } else if (is_past) {
        host_key_remove(h, key);
        host_key_changed(h, key, "del");
    } else if (options->persists && old_ms >= 0) {
        host_key_set_expiry_ms(h, key, HOST_EXPIRY_NONE);
        host_key_changed(h, key, "persist");
    }
}

void cmd_getex(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    struct cmd_args args;
    struct set_options options = {.only_new = false};
    int64_t expiry_ms;
    cmd_args_init(&args, call, 2);
    if (!parse_getex(&args, &options)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    struct host_value value = host_key_read(h, key);
    if (value.type == HOST_NONE) {
        host_reply_null(h);
        return;
    }
    if (value.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
        return;
    }
    if (expiry_or_reply(call, &options, &expiry_ms))
        reply_and_expire(call, &value, &options, expiry_ms);
}
