/*
 * cmd_zset.c: the sorted set commands about members by name. The others: by range
 * (cmd_zrange.c, cmd_zrem.c), from an end (cmd_zpop.c), at random (cmd_zrandmember.c).
 */
#include "cmd/cmd_zset.h"

#include "cmd/cmd_args.h"
#include "cmd/cmd_scores.h"
#include "cmd/scan_args.h"
#include "cmd/zset_add.h"
#include "cmd/zset_form.h"

/* ---- adding ---- */

/* The options of ZADD, and which of them do not go together. */
static void parse_zadd(struct cmd_args *args, struct zset_add *add)
{
    for (;;) {
        if (cmd_args_option(args, "nx", 0))
            add->only_new = true;
        else if (cmd_args_option(args, "xx", 0))
            add->only_old = true;
        else if (cmd_args_option(args, "gt", 0))
            add->only_greater = true;
        else if (cmd_args_option(args, "lt", 0))
            add->only_less = true;
        else if (cmd_args_option(args, "ch", 0))
            add->counts_changed = true;
        else if (cmd_args_option(args, "incr", 0))
            add->increments = true;
        else
            break;
    }
    add->n_entries = cmd_args_left(args) / 2;
    if (cmd_args_left(args) % 2 != 0 || add->n_entries == 0)
        cmd_args_fail(args, CMD_ERR_SYNTAX);
    else if (add->only_new && add->only_old)
        cmd_args_fail(args, "ERR XX and NX options at the same time are not compatible");
    else if (add->only_new + add->only_greater + add->only_less > 1)
        cmd_args_fail(
            args, "ERR GT, LT, and/or NX options at the same time are not compatible");
    else if (add->increments && add->n_entries > 1)
        cmd_args_fail(args, "ERR INCR option supports a single increment-element pair");
}

void cmd_zadd(struct cmd_call *call)
{
    struct cmd_args args;
    struct zset_add add = {.key = call->argv[1]};
    cmd_args_init(&args, call, 2);
    parse_zadd(&args, &add);
    add.event = add.increments ? "zincr" : "zadd";
    if (!cmd_args_failed(&args)) {
        add.entries = cmd_arena_take(call->arena, add.n_entries * sizeof *add.entries);
        if (add.entries == NULL)
            cmd_args_fail(&args, CMD_ERR_NOMEM);
    }
    for (size_t i = 0; cmd_args_left(&args) > 0; i++) {
        if (cmd_args_double(&args, CMD_ERR_FLOAT, &add.entries[i].score))
            cmd_args_word(&args, &add.entries[i].member);
    }
    if (cmd_args_failed(&args))
        cmd_args_reply_error(&args, call->host);
    else
        zset_add_run(call, &add);
}

/* Redis reads ZINCRBY's words as those of ZADD: an option of ZADD is no increment. */
static bool is_zadd_option(struct yn_bytes word)
{
    static const char *const options[] = {"nx", "xx", "gt", "lt", "ch", "incr"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (cmd_word_is(word, options[i]))
            return true;
    }
    return false;
}

void cmd_zincrby(struct cmd_call *call)
{
    struct cmd_args args;
    struct yn_entry entry = {.member = call->argv[3]};
    struct zset_add add = {
        .key = call->argv[1],
        .entries = &entry,
        .n_entries = 1,
        .increments = true,
        .event = "zincr",
    };
    cmd_args_init(&args, call, 2);
    if (is_zadd_option(call->argv[2]))
        cmd_args_fail(&args, CMD_ERR_SYNTAX);
    if (cmd_args_double(&args, CMD_ERR_FLOAT, &entry.score))
        zset_add_run(call, &add);
    else
        cmd_args_reply_error(&args, call->host);
}

/* ---- reading ---- */

void cmd_zcard(struct cmd_call *call)
{
    struct yn_zset *set;
    if (cmd_read_zset_or_reply(call, call->argv[1], &set))
        host_reply_integer(call->host, set == NULL ? 0 : (int64_t)yn_zset_count(set));
}

static void reply_next_score(struct host *h, struct cmd_scores *scores)
{
    double score;
    if (cmd_scores_next(scores, &score))
        host_reply_score(h, score);
    else
        host_reply_null(h);
}

void cmd_zscore(struct cmd_call *call)
{
    struct yn_zset *set;
    struct cmd_scores scores;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    cmd_scores_init(&scores, call, set);
    reply_next_score(call->host, &scores);
}

void cmd_zmscore(struct cmd_call *call)
{
    struct yn_zset *set;
    struct cmd_scores scores;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    host_reply_array(call->host, call->argc - 2);
    cmd_scores_init(&scores, call, set);
    for (size_t i = 2; i < call->argc; i++)
        reply_next_score(call->host, &scores);
}

static void run_rank(struct cmd_call *call, bool is_reverse)
{
    struct host *h = call->host;
    struct yn_zset *set;
    size_t rank;
    double score;
    bool with_score = call->argc == 4;
    if (call->argc > 4) {
        cmd_reply_wrong_arity(call);
        return;
    }
    if (with_score && !cmd_word_is(call->argv[3], "withscore")) {
        host_reply_error(h, CMD_ERR_SYNTAX);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    if (set == NULL || !yn_zset_rank(set, call->argv[2], &rank)) {
        if (with_score)
            host_reply_null_array(h);
        else
            host_reply_null(h);
        return;
    }
    if (is_reverse)
        rank = yn_zset_count(set) - 1 - rank;
    if (!with_score) {
        host_reply_integer(h, (int64_t)rank);
        return;
    }
    yn_zset_find(set, call->argv[2], &score);
    host_reply_array(h, 2);
    host_reply_integer(h, (int64_t)rank);
    host_reply_score(h, score);
}

void cmd_zrank(struct cmd_call *call)
{
    run_rank(call, false);
}

void cmd_zrevrank(struct cmd_call *call)
{
    run_rank(call, true);
}

/* ---- scanning ---- */

/* What one step of the scan found: it is counted before it is sent. */
struct scan {
    const struct scan_args *args;
    struct scan_list found; /* of struct yn_entry */
};

static void visit_entry(void *ctx, struct yn_bytes member, double score)
{
    struct scan *scan = ctx;
    struct yn_entry entry = {member, score};
    if (scan_args_match(scan->args, member))
        scan_list_add(&scan->found, &entry);
}

void cmd_zscan(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct scan_args scan_args;
    struct yn_zset *set;
    cmd_args_init(&args, call, 2);
    if (!scan_args_parse_cursor(&scan_args, &args)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    if (set == NULL) { /* the options are not looked at */
        scan_reply_cursor(h, 0);
        host_reply_array(h, 0);
        return;
    }
    if (!scan_args_parse_options(&scan_args, &args, false)) {
        cmd_args_reply_error(&args, h);
        return;
    }

    struct scan scan = {.args = &scan_args};
    scan_list_init(&scan.found, call->arena, sizeof(struct yn_entry));
    uint64_t next =
        yn_zset_scan(set, scan_args.cursor, scan_args.count, visit_entry, &scan);
    if (scan.found.failed) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    bool compact = zset_form_is_compact(call->host, yn_zset_view(set));
    const struct yn_entry *entries = scan.found.items;
    scan_reply_cursor(h, next);
    host_reply_array(h, scan.found.n * 2);
    for (size_t i = 0; i < scan.found.n; i++) {
        host_reply_bulk(h, entries[i].member);
        host_reply_scan_score(h, entries[i].score, compact);
    }
}
