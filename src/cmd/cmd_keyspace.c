/* cmd_keyspace.c: the commands about all keys of a database, and about databases. */
#include "cmd/cmd_key.h"

#include "cmd/glob.h"
#include "cmd/key_args.h"
#include "cmd/scan_args.h"

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
            (!scan->args->has_type || cmd_word_is(scan->args->type, key_type_name(type)));
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

static bool flush_args_or_reply(struct cmd_call *call, enum host_flush *out_how)
{
    *out_how = HOST_FLUSH_DEFAULT;
    if (call->argc == 1)
        return true;
    if (call->argc == 2 && cmd_word_is(call->argv[1], "async"))
        *out_how = HOST_FLUSH_ASYNC;
    else if (call->argc == 2 && cmd_word_is(call->argv[1], "sync"))
        *out_how = HOST_FLUSH_SYNC;
    else
        host_reply_error(call->host, CMD_ERR_SYNTAX);
    return *out_how != HOST_FLUSH_DEFAULT;
}

void cmd_flushdb(struct cmd_call *call)
{
    enum host_flush how;
    if (!flush_args_or_reply(call, &how))
        return;
    host_key_flush(call->host, how);
    host_reply_status(call->host, "OK");
}

void cmd_flushall(struct cmd_call *call)
{
    enum host_flush how;
    if (!flush_args_or_reply(call, &how))
        return;
    host_key_flush_all(call->host, how);
    host_reply_status(call->host, "OK");
}

void cmd_randomkey(struct cmd_call *call)
{
    struct yn_bytes key;
    if (host_key_random(call->host, &key))
        host_reply_bulk(call->host, key);
    else
        host_reply_null(call->host);
}

void cmd_swapdb(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    int64_t a, b;
    cmd_args_init(&args, call, 1);
    if (!key_args_int32(&args, "ERR invalid first DB index", &a) ||
        !key_args_int32(&args, "ERR invalid second DB index", &b)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    size_t n = host_db_count(h);
    if (a < 0 || b < 0 || (size_t)a >= n || (size_t)b >= n) {
        host_reply_error(h, KEY_ERR_DB_RANGE);
        return;
    }
    if (a != b)
        host_db_swap(h, (size_t)a, (size_t)b);
    host_reply_status(h, "OK");
}
