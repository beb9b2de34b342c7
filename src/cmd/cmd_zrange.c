/* cmd_zrange.c: what is read by range: ZRANGE and its older forms, ZCOUNT, ZLEXCOUNT. */
#include "cmd/cmd_zset.h"
#include "cmd/zset_reply.h"

/* ---- entries of a range ---- */

static void run_range(struct cmd_call *call, struct zrange range)
{
    struct cmd_args args;
    struct yn_zset *set;
    cmd_args_init(&args, call, 2);
    range.takes_scores = true;
    if (!zrange_parse(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    if (set == NULL)
        host_reply_array(call->host, 0);
    else
        zset_reply_run(call, set, zrange_ranks(&range, yn_zset_view(set)),
                       range.is_reverse,
                       range.with_scores ? ZSET_REPLY_SCORES : ZSET_REPLY_MEMBERS);
}

void cmd_zrange(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_RANK, .takes_kind = true});
}

void cmd_zrevrange(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_RANK, .is_reverse = true});
}

void cmd_zrangebyscore(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_SCORE});
}

void cmd_zrevrangebyscore(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_SCORE, .is_reverse = true});
}

void cmd_zrangebylex(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_LEX});
}

void cmd_zrevrangebylex(struct cmd_call *call)
{
    run_range(call, (struct zrange){.by = ZRANGE_BY_LEX, .is_reverse = true});
}

/* ---- how many there are ---- */

static void run_count(struct cmd_call *call, enum zrange_by by)
{
    struct cmd_args args;
    struct zrange range = {.by = by};
    struct yn_zset *set;
    cmd_args_init(&args, call, 2);
    if (!zrange_parse_ends(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    size_t n = set == NULL ? 0 : zrange_ranks(&range, yn_zset_view(set)).n;
    host_reply_integer(call->host, (int64_t)n);
}

void cmd_zcount(struct cmd_call *call)
{
    run_count(call, ZRANGE_BY_SCORE);
}

void cmd_zlexcount(struct cmd_call *call)
{
    run_count(call, ZRANGE_BY_LEX);
}
