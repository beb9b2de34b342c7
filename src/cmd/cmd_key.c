/* cmd_key.c: the commands about single keys of any type: whether they are there, and
 * under what name. */
#include "cmd/cmd_key.h"

#include "cmd/cmd_zcopy.h"
#include "cmd/key_args.h"

#define ERR_NO_KEY "ERR no such key"
#define ERR_SAME "ERR source and destination objects are the same"

/* ---- there or not ---- */

static void remove_keys(struct cmd_call *call,
                        bool (*remove_one)(struct host *h, struct yn_bytes key))
{
    int64_t n_removed = 0;
    for (size_t i = 1; i < call->argc; i++) {
        if (!remove_one(call->host, call->argv[i]))
            continue;
        host_key_changed(call->host, call->argv[i], "del");
        n_removed++;
    }
    host_reply_integer(call->host, n_removed);
}

void cmd_del(struct cmd_call *call)
{
    remove_keys(call, host_key_remove);
}

void cmd_unlink(struct cmd_call *call)
{
    remove_keys(call, host_key_unlink);
}

/* A key that is named twice counts twice. */
void cmd_exists(struct cmd_call *call)
{
    int64_t n_found = 0;
    for (size_t i = 1; i < call->argc; i++)
        n_found += host_key_peek(call->host, call->argv[i]).type != HOST_NONE;
    host_reply_integer(call->host, n_found);
}

void cmd_touch(struct cmd_call *call)
{
    int64_t n_found = 0;
    for (size_t i = 1; i < call->argc; i++)
        n_found += host_key_touch(call->host, call->argv[i]);
    host_reply_integer(call->host, n_found);
}

void cmd_type(struct cmd_call *call)
{
    enum host_type type = host_key_peek(call->host, call->argv[1]).type;
    host_reply_status(call->host, key_type_name(type));
}

/* ---- other names ---- */

static bool is_same(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Tells of a change in another database than the current one. */
static void changed_in(struct host *h, size_t db, struct yn_bytes key, const char *event)
{
    size_t own_db = host_db_index(h);
    host_db_use(h, db);
    host_key_changed(h, key, event);
    host_db_use(h, own_db);
}

static bool exists_in(struct host *h, size_t db, struct yn_bytes key)
{
    size_t own_db = host_db_index(h);
    host_db_use(h, db);
    bool exists = host_key_write(h, key).type != HOST_NONE;
    host_db_use(h, own_db);
    return exists;
}

static bool rename_or_reply(struct host *h, struct yn_bytes from, struct yn_bytes to)
{
    if (!host_key_move(h, from, host_db_index(h), to)) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return false;
    }
    host_key_changed(h, from, "rename_from");
    host_key_changed(h, to, "rename_to");
    return true;
}

void cmd_rename(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes from = call->argv[1], to = call->argv[2];
    if (host_key_write(h, from).type == HOST_NONE)
        host_reply_error(h, ERR_NO_KEY);
    else if (is_same(from, to) || rename_or_reply(h, from, to))
        host_reply_status(h, "OK");
}

void cmd_renamenx(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes from = call->argv[1], to = call->argv[2];
    if (host_key_write(h, from).type == HOST_NONE)
        host_reply_error(h, ERR_NO_KEY);
    else if (host_key_write(h, to).type != HOST_NONE)
        host_reply_integer(h, 0);
    else if (rename_or_reply(h, from, to))
        host_reply_integer(h, 1);
}

void cmd_move(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    struct cmd_args args;
    size_t to_db = 0;
    cmd_args_init(&args, call, 2);
    if (key_args_db(&args, h, &to_db) && to_db == host_db_index(h))
        cmd_args_fail(&args, ERR_SAME);
    if (cmd_args_failed(&args)) {
        cmd_args_reply_error(&args, h);
    } else if (host_key_write(h, key).type == HOST_NONE || exists_in(h, to_db, key)) {
        host_reply_integer(h, 0);
    } else if (!host_key_move(h, key, to_db, key)) {
        host_reply_error(h, CMD_ERR_NOMEM);
    } else {
        host_key_changed(h, key, "move_from");
        changed_in(h, to_db, key, "move_to");
        host_reply_integer(h, 1);
    }
}

struct copy {
    size_t to_db;
    bool replaces;
};

static bool parse_copy(struct cmd_args *args, struct host *h, struct copy *copy)
{
    *copy = (struct copy){.to_db = host_db_index(h)};
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "replace", 0))
            copy->replaces = true;
        else if (!cmd_args_option(args, "db", 1))
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        else if (!key_args_db(args, h, &copy->to_db))
            return false;
    }
    if (copy->to_db == host_db_index(h) && is_same(args->argv[1], args->argv[2]))
        return cmd_args_fail(args, ERR_SAME);
    return !cmd_args_failed(args);
}

/* Puts the copy in its place. `set`: of a set, which is taken; else NULL. */
static void put_copy(struct cmd_call *call, const struct copy *copy, struct yn_zset *set)
{
    struct host *h = call->host;
    struct yn_bytes from = call->argv[1], to = call->argv[2];
    if (!host_key_copy(h, from, copy->to_db, to, set)) {
        yn_zset_free(set);
        host_reply_error(h, CMD_ERR_NOMEM);
    } else {
        changed_in(h, copy->to_db, to, "copy_to");
        host_reply_integer(h, 1);
    }
}

static bool is_in_the_way(struct cmd_call *call, const struct copy *copy)
{
    return exists_in(call->host, copy->to_db, call->argv[2]) && !copy->replaces;
}

/* The set may have been copied beside other commands. */
static void put_set(struct cmd_call *call, struct yn_zset *set)
{
    struct cmd_args args;
    struct copy copy;
    cmd_args_init(&args, call, 3);
    if (parse_copy(&args, call->host, &copy) && !is_in_the_way(call, &copy)) {
        put_copy(call, &copy, set);
        return;
    }
    yn_zset_free(set);
    if (cmd_args_failed(&args))
        cmd_args_reply_error(&args, call->host);
    else
        host_reply_integer(call->host, 0);
}

void cmd_copy(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct copy copy;
    cmd_args_init(&args, call, 3);
    if (!parse_copy(&args, h, &copy)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    struct host_value value = host_key_read(h, call->argv[1]);
    if (value.type == HOST_NONE || is_in_the_way(call, &copy)) {
        host_reply_integer(h, 0);
    } else if (value.type == HOST_ZSET) {
        struct zrange_ranks all = {0, yn_zset_count(value.zset)};
        zcopy_run(call, value.zset, 1, all, put_set);
    } else {
        put_copy(call, &copy, NULL);
    }
}
