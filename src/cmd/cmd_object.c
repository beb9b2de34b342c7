/* cmd_object.c: OBJECT: what is known of a key besides its value. */
#include "cmd/cmd_key.h"

#include "cmd/cmd_args.h"
#include "cmd/zset_form.h"
#include "core/num.h"

/* Redis keeps short strings in one block with their header, and small integers once for
 * all keys; what clients see of it is told as there. */
#define EMBEDDED_MAX 44
#define INTEGER_LEN_MAX 20
#define SHARED_INTEGERS 10000
#define SHARED_REFCOUNT 2147483647

static bool is_integer(const struct host_value *value, int64_t *out_number)
{
    return value->form != HOST_FORM_RAW && value->form != HOST_FORM_TEXT &&
           value->string.len <= INTEGER_LEN_MAX &&
           yn_num_parse_int64(value->string, out_number);
}

static const char *encoding(struct host *h, const struct host_value *value)
{
    int64_t number;
    if (value->type == HOST_ZSET)
        return zset_form_is_compact(h, yn_zset_view(value->zset)) ? "listpack"
                                                                  : "skiplist";
    if (value->form == HOST_FORM_RAW)
        return "raw";
    if (is_integer(value, &number))
        return "int";
    return value->string.len <= EMBEDDED_MAX ? "embstr" : "raw";
}

/* Looks the key up, and answers when there is none. */
static bool find_or_reply(struct cmd_call *call, struct host_value *out_value)
{
    *out_value = host_key_inspect(call->host, call->argv[2]);
    if (out_value->type == HOST_NONE)
        host_reply_null(call->host);
    return out_value->type != HOST_NONE;
}

void cmd_object_encoding(struct cmd_call *call)
{
    struct host_value value;
    if (!find_or_reply(call, &value))
        return;
    const char *name = encoding(call->host, &value);
    host_reply_bulk_text(call->host, name);
}

/* There is no eviction, so there is no policy that counts. */
void cmd_object_freq(struct cmd_call *call)
{
    struct host_value value;
    if (find_or_reply(call, &value))
        host_reply_error(call->host,
                         "ERR An LFU maxmemory policy is not selected, access frequency "
                         "not tracked. Please note that when switching between policies "
                         "at runtime LRU and LFU data will take some time to adjust.");
}

void cmd_object_idletime(struct cmd_call *call)
{
    struct host_value value;
    if (find_or_reply(call, &value))
        host_reply_integer(call->host, host_key_idle_s(call->host, call->argv[2]));
}

void cmd_object_refcount(struct cmd_call *call)
{
    struct host_value value;
    int64_t number;
    if (!find_or_reply(call, &value))
        return;
    bool is_shared = value.type == HOST_STRING && value.form == HOST_FORM_PLAIN &&
                     is_integer(&value, &number) && number >= 0 &&
                     number < SHARED_INTEGERS;
    host_reply_integer(call->host, is_shared ? SHARED_REFCOUNT : 1);
}

void cmd_object_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "OBJECT <subcommand> [<arg> ...]. Subcommands are:",
        "ENCODING <key>",
        "    The name of the form that Redis would keep the value in.",
        "FREQ <key>",
        "    How often the key is used; an error, since nothing is evicted here.",
        "IDLETIME <key>",
        "    Seconds since the key was used.",
        "REFCOUNT <key>",
        "    How many references Redis would count to the value.",
        "HELP",
        "    Print this help.",
    };
    size_t n = sizeof help / sizeof help[0];
    host_reply_array(call->host, n);
    for (size_t i = 0; i < n; i++)
        host_reply_status(call->host, help[i]);
}
