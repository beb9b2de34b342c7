/* cmd_string.c: strings, as far as they are needed beside sorted sets. */
#include "cmd/cmd_string.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/expiry.h"
#include "core/num.h"

/* ---- GET ---- */

/* The reply of a large string, piece by piece, from the bytes of the value itself. */
struct get_job {
    struct cmd_job base; /* must be first */
    struct host_blob *blob;
    struct yn_bytes rest; /* of the string */
};

static bool get_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct get_job *job = (struct get_job *)base;
    struct yn_bytes piece = job->rest;
    if (piece.len > budget)
        piece.len = budget;
    host_reply_wire(h, piece, 0);
    job->rest.data += piece.len;
    job->rest.len -= piece.len;
    if (job->rest.len > 0)
        return false;
    host_reply_wire(h, (struct yn_bytes){"\r\n", 2}, 0);
    return true;
}

/* Held from the beginning. */
static bool get_hold(struct cmd_job *base)
{
    (void)base;
    return true;
}

static void get_free(struct cmd_job *base)
{
    struct get_job *job = (struct get_job *)base;
    host_blob_drop(job->blob);
    free(job);
}

static void reply_blob(struct cmd_call *call, const struct host_value *value)
{
    char header[YN_NUM_TEXT_MAX + 3] = "$";
    struct get_job *job = malloc(sizeof *job);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    *job = (struct get_job){
        .base = {.step = get_step, .hold = get_hold, .free = get_free},
        .blob = value->blob,
        .rest = value->string,
    };
    host_blob_hold(job->blob);
    size_t len = 1 + yn_num_format_uint64(value->string.len, header + 1);
    header[len++] = '\r';
    header[len++] = '\n';
    host_reply_wire(call->host, (struct yn_bytes){header, len}, 0);
    call->job = &job->base;
}

void cmd_get(struct cmd_call *call)
{
    struct host_value value = host_key_read(call->host, call->argv[1]);
    if (value.blob != NULL)
        reply_blob(call, &value);
    else if (value.type == HOST_STRING)
        host_reply_bulk(call->host, value.string);
    else if (value.type == HOST_NONE)
        host_reply_null(call->host);
    else
        host_reply_error(call->host, CMD_ERR_WRONGTYPE);
}

void cmd_mget(struct cmd_call *call)
{
    host_reply_array(call->host, call->argc - 1);
    for (size_t i = 1; i < call->argc; i++) {
        struct host_value value = host_key_read(call->host, call->argv[i]);
        if (value.type == HOST_STRING)
            host_reply_bulk(call->host, value.string);
        else
            host_reply_null(call->host);
    }
}

/* ---- SET ---- */

struct set_options {
    bool only_new, only_old, returns_old, keeps_expiry;
    bool has_expiry;
    int64_t expiry_ms; /* since 1970 */
};

/* The option's time becomes expiry_ms. What is wrong with the number counts only when all
 * options are in order, hence the separate cursor. */
struct set_time {
    struct yn_bytes word;
    enum expiry_unit unit;
    bool is_relative;
};

static bool parse_time_option(struct cmd_args *args, struct set_time *time)
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
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (!cmd_args_option(args, forms[i].name, 1))
            continue;
        time->unit = forms[i].unit;
        time->is_relative = forms[i].is_relative;
        return cmd_args_word(args, &time->word);
    }
    return false;
}

/* The same form may be repeated, another one not. */
static bool time_conflicts(const struct set_options *options, const struct set_time *old,
                           const struct set_time *new)
{
    if (options->keeps_expiry)
        return true;
    return options->has_expiry &&
           (old->unit != new->unit || old->is_relative != new->is_relative);
}

static bool parse_set_words(struct cmd_args *args, struct set_options *options,
                            struct set_time *out_time)
{
    while (cmd_args_left(args) > 0) {
        struct set_time time;
        if (!options->only_old && cmd_args_option(args, "nx", 0)) {
            options->only_new = true;
        } else if (!options->only_new && cmd_args_option(args, "xx", 0)) {
            options->only_old = true;
        } else if (cmd_args_option(args, "get", 0)) {
            options->returns_old = true;
        } else if (!options->has_expiry && cmd_args_option(args, "keepttl", 0)) {
            options->keeps_expiry = true;
        } else if (parse_time_option(args, &time) &&
                   !time_conflicts(options, out_time, &time)) {
            options->has_expiry = true;
            *out_time = time;
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    return true;
}

static bool parse_set(struct cmd_args *args, struct host *h, struct set_options *options)
{
    struct set_time time = {.unit = EXPIRY_MS};
    int64_t value;
    if (!parse_set_words(args, options, &time))
        return false;
    if (!options->has_expiry)
        return true;

    /* the number is looked at last */
    struct cmd_args number = *args;
    number.argv = &time.word;
    number.argc = 1;
    number.at = 0;
    if (!cmd_args_int64(&number, CMD_ERR_INTEGER, &value))
        return cmd_args_fail(args, CMD_ERR_INTEGER);
    if (value <= 0 || !expiry_at_ms(value, time.unit, time.is_relative, host_now_ms(h),
                                    &options->expiry_ms))
        return expiry_fail(args, "set");
    return true;
}

/* The old value, for GET. It is copied, since storing the new one may free it. */
static bool copy_old(struct cmd_call *call, struct yn_bytes old,
                     struct yn_bytes *out_copy)
{
    char *copy = cmd_arena_take(call->arena, old.len);
    if (copy == NULL)
        return false;
    if (old.len > 0)
        memcpy(copy, old.data, old.len);
    *out_copy = (struct yn_bytes){copy, old.len};
    return true;
}

static bool store(struct cmd_call *call, const struct set_options *options)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    if (!host_key_put_string(h, key, call->argv[2], options->keeps_expiry))
        return false;
    if (options->has_expiry)
        host_key_set_expiry_ms(h, key, options->expiry_ms);
    host_key_changed(h, key, "set");
    if (options->has_expiry)
        host_key_changed(h, key, "expire");
    return true;
}

void cmd_set(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct set_options options = {.has_expiry = false};
    struct yn_bytes old = {NULL, 0};
    cmd_args_init(&args, call, 3);
    if (!parse_set(&args, h, &options)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    struct host_value value = host_key_write(h, call->argv[1]);
    bool is_old = value.type != HOST_NONE;
    if (options.returns_old && is_old && value.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
        return;
    }
    bool is_refused = (options.only_new && is_old) || (options.only_old && !is_old);
    if ((options.returns_old && is_old && !copy_old(call, value.string, &old)) ||
        (!is_refused && !store(call, &options))) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    if (options.returns_old && is_old)
        host_reply_bulk(h, old);
    else if (options.returns_old || is_refused)
        host_reply_null(h);
    else
        host_reply_status(h, "OK");
}
