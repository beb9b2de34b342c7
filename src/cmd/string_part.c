/* string_part.c: STRLEN, GETRANGE, and the commands that change a string in place. */
#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/cmd_string.h"
#include "cmd/string_reply.h"

/* ---- reading ---- */

/* The key's string; the empty one when there is no key. Answers when it is something
 * else. */
static bool read_or_reply(struct cmd_call *call, struct host_value *out_value)
{
    *out_value = host_key_read(call->host, call->argv[1]);
    if (out_value->type == HOST_STRING)
        return true;
    if (out_value->type != HOST_NONE) {
        host_reply_error(call->host, CMD_ERR_WRONGTYPE);
        return false;
    }
    out_value->string = (struct yn_bytes){"", 0};
    return true;
}

void cmd_strlen(struct cmd_call *call)
{
    struct host_value value;
    if (read_or_reply(call, &value))
        host_reply_integer(call->host, (int64_t)value.string.len);
}

/* Both ends count, from the end of the string if they are negative. */
static struct yn_bytes part_of(struct yn_bytes string, int64_t first, int64_t last)
{
    int64_t len = (int64_t)string.len;
    if (first < 0)
        first = first + len < 0 ? 0 : first + len;
    if (last < 0)
        last += len;
    if (last >= len)
        last = len - 1;
    if (first > last) /* also when the end lies before the string */
        return (struct yn_bytes){string.data, 0};
    return (struct yn_bytes){string.data + first, (size_t)(last - first) + 1};
}

void cmd_getrange(struct cmd_call *call)
{
    struct cmd_args args;
    struct host_value value;
    int64_t first, last;
    cmd_args_init(&args, call, 2);
    if (!cmd_args_int64(&args, CMD_ERR_INTEGER, &first) ||
        !cmd_args_int64(&args, CMD_ERR_INTEGER, &last))
        cmd_args_reply_error(&args, call->host);
    else if (read_or_reply(call, &value))
        string_reply_part(call, &value, part_of(value.string, first, last));
}

/* ---- changing ---- */

/* Makes the string long enough for n bytes at `at`. Answers when that is too long. */
static char *grow_or_reply(struct cmd_call *call, size_t at, size_t n)
{
    size_t max = host_string_len_max(call->host);
    if (at > max || n > max - at) {
        host_reply_error(call->host,
                         "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
        return NULL;
    }
    char *bytes = host_key_edit_string(call->host, call->argv[1], at + n);
    if (bytes == NULL)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    return bytes;
}

void cmd_append(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1], more = call->argv[2];
    struct host_value old = host_key_write(h, key);
    if (old.type == HOST_NONE) {
        if (!host_key_put_string(h, key, more, false)) {
            host_reply_error(h, CMD_ERR_NOMEM);
            return;
        }
    } else if (old.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
        return;
    } else {
        char *bytes = grow_or_reply(call, old.string.len, more.len);
        if (bytes == NULL)
            return;
        if (more.len > 0)
            memcpy(bytes + old.string.len, more.data, more.len);
        host_key_set_form(h, key, HOST_FORM_RAW);
    }
    host_key_changed(h, key, "append");
    host_reply_integer(h, (int64_t)(old.string.len + more.len));
}

void cmd_setrange(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct yn_bytes key = call->argv[1], part = call->argv[3];
    int64_t offset;
    cmd_args_init(&args, call, 2);
    if (cmd_args_int64(&args, CMD_ERR_INTEGER, &offset) && offset < 0)
        cmd_args_fail(&args, "ERR offset is out of range");
    if (cmd_args_failed(&args)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    struct host_value old = host_key_write(h, key);
    if (old.type != HOST_NONE && old.type != HOST_STRING) {
        host_reply_error(h, CMD_ERR_WRONGTYPE);
        return;
    }
    size_t at = (size_t)offset, len = old.string.len;
    if (part.len == 0) { /* no change, and no new key */
        host_reply_integer(h, (int64_t)len);
        return;
    }
    char *bytes = grow_or_reply(call, at, part.len);
    if (bytes == NULL)
        return;
    if (at > len)
        memset(bytes + len, 0, at - len);
    memcpy(bytes + at, part.data, part.len);
    host_key_set_form(h, key, HOST_FORM_RAW);
    host_key_changed(h, key, "setrange");
    host_reply_integer(h, (int64_t)(at + part.len > len ? at + part.len : len));
}
