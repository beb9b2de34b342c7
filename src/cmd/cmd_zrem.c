/* cmd_zrem.c: removing members: ZREM by name, ZREMRANGEBYRANK and the like by range. */
#include "cmd/cmd_zset.h"
#include "cmd/zset_edit.h"
#include "cmd/zset_remove.h"

/* Removes the members; returns their number, or -1, with everything undone, when memory
 * is out (which can happen only while a frozen view is open). */
static int64_t remove_members(struct cmd_call *call, struct yn_zset *set)
{
    struct zset_edit edit;
    int64_t n_removed = 0;
    if (!zset_edit_init(&edit, call->arena, set, call->argc - 2))
        return -1;
    for (size_t i = 2; i < call->argc; i++) {
        bool is_removed = false;
        if (!zset_edit_remove(&edit, call->argv[i], &is_removed)) {
            if (!zset_edit_undo(&edit))
                host_key_changed(call->host, call->argv[1], "zrem");
            return -1;
        }
        n_removed += is_removed;
    }
    return n_removed;
}

void cmd_zrem(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    struct yn_zset *set;
    if (!zset_remove_find_or_reply(call, key, &set))
        return;
    int64_t n_removed = set == NULL ? 0 : remove_members(call, set);
    if (n_removed < 0) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    if (n_removed > 0)
        host_key_changed(h, key, "zrem");
    if (n_removed > 0 && yn_zset_count(set) == 0 && host_key_remove(h, key))
        host_key_changed(h, key, "del");
    host_reply_integer(h, n_removed);
}

static void run_range(struct cmd_call *call, enum zrange_by by, const char *event)
{
    struct cmd_args args;
    struct zrange range = {.by = by};
    struct zrange_ranks ranks = {0, 0};
    struct yn_zset *set;
    cmd_args_init(&args, call, 2);
    if (!zrange_parse_ends(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!zset_remove_find_or_reply(call, call->argv[1], &set))
        return;
    if (set != NULL)
        ranks = zrange_ranks(&range, yn_zset_view(set));
    if (ranks.n > 0 && !zset_remove_ranks(call, call->argv[1], set, ranks, event))
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        host_reply_integer(call->host, (int64_t)ranks.n);
}

void cmd_zremrangebyrank(struct cmd_call *call)
{
    run_range(call, ZRANGE_BY_RANK, "zremrangebyrank");
}

void cmd_zremrangebyscore(struct cmd_call *call)
{
    run_range(call, ZRANGE_BY_SCORE, "zremrangebyscore");
}

void cmd_zremrangebylex(struct cmd_call *call)
{
    run_range(call, ZRANGE_BY_LEX, "zremrangebylex");
}
