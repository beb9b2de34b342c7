/* cmd_string.c: strings as wholes: GET, GETDEL, MGET, MSET, MSETNX. */
#include "cmd/cmd_string.h"

#include "cmd/string_reply.h"

/* ---- one value ---- */

void cmd_get(struct cmd_call *call)
{
    struct host_value value = host_key_read(call->host, call->argv[1]);
    if (value.type == HOST_STRING)
        string_reply(call, &value);
    else if (value.type == HOST_NONE)
        host_reply_null(call->host);
    else
        host_reply_error(call->host, CMD_ERR_WRONGTYPE);
}

void cmd_getdel(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    struct host_value value = host_key_read(h, key);
    if (value.type == HOST_NONE) {
        host_reply_null(h);
    } else if (value.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
    } else if (string_reply(call, &value)) {
        host_key_remove(h, key);
        host_key_changed(h, key, "del");
    }
}

/* ---- many values ---- */

/* Large values are sent by a job; the others, which lie among them, are copied. */
static struct cmd_job *mget_job(struct cmd_call *call, const struct host_value *values,
                                size_t n)
{
    struct string_piece *pieces =
        cmd_arena_take(call->arena, n * STRING_PIECES * sizeof *pieces);
    struct string_piece *end = pieces;
    for (size_t i = 0; i < n && end != NULL; i++) {
        if (values[i].type == HOST_STRING)
            end = string_pieces(call, &values[i], values[i].string, end);
        else
            *end++ = (struct string_piece){.is_null = true};
    }
    return end == NULL ? NULL : string_job_new(pieces, (size_t)(end - pieces));
}

void cmd_mget(struct cmd_call *call)
{
    struct host *h = call->host;
    size_t n = call->argc - 1;
    bool has_large = false;
    struct host_value *values = cmd_arena_take(call->arena, n * sizeof *values);
    for (size_t i = 0; i < n && values != NULL; i++) {
        values[i] = host_key_read(h, call->argv[1 + i]);
        has_large |= values[i].blob != NULL;
    }
    if (values != NULL && has_large)
        call->job = mget_job(call, values, n);
    if (values == NULL || (has_large && call->job == NULL)) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    host_reply_array(h, n);
    for (size_t i = 0; i < n && !has_large; i++) {
        if (values[i].type == HOST_STRING)
            host_reply_bulk(h, values[i].string);
        else
            host_reply_null(h);
    }
}

static bool mset(struct cmd_call *call)
{
    struct host *h = call->host;
    size_t n = (call->argc - 1) / 2;
    if (!host_key_put_strings(h, n, call->argv + 1)) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        host_key_changed(h, call->argv[1 + 2 * i], "set");
    return true;
}

void cmd_mset(struct cmd_call *call)
{
    if (call->argc % 2 == 0)
        cmd_reply_wrong_arity(call);
    else if (mset(call))
        host_reply_status(call->host, "OK");
}

void cmd_msetnx(struct cmd_call *call)
{
    struct host *h = call->host;
    bool has_old = false;
    if (call->argc % 2 == 0) {
        cmd_reply_wrong_arity(call);
        return;
    }
    for (size_t i = 1; i < call->argc && !has_old; i += 2)
        has_old = host_key_write(h, call->argv[i]).type != HOST_NONE;
    if (has_old)
        host_reply_integer(h, 0);
    else if (mset(call))
        host_reply_integer(h, 1);
}
