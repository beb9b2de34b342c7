/*
 * cmd_zcombine.c: ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD, and
 * ZRANGESTORE.
 *
 * What is stored is a set that the engine builds in one go. Nothing changes before it is
 * complete, so a failure leaves all keys as they were, and the destination may be among
 * the sources. What is only sent is built as well, without look-ups, since sources that
 * share a member do not hold its score; the reply is a job that owns it.
 */
#include "cmd/cmd_zset.h"

#include "cmd/cmd_args.h"
#include "cmd/zset_reply.h"

struct combine {
    enum yn_combine_kind kind;
    bool is_stored, is_counted; /* neither: it is sent */

    struct yn_source *sources;
    size_t n_sources;
    enum yn_aggregate aggregate;
    bool with_scores;
    int64_t limit; /* 0: none */
};

/* ---- parsing ---- */

/* The number of keys: at least one, and as many words must follow. */
static bool parse_numkeys(struct combine *combine, struct cmd_args *args,
                          const struct cmd_call *call)
{
    int64_t n;
    if (!cmd_args_int64(args, CMD_ERR_INTEGER, &n))
        return false;
    if (n < 1)
        return cmd_args_fail_format(args,
                                    "ERR at least 1 input key is needed for '%s' command",
                                    call->spec->name);
    if ((uint64_t)n > cmd_args_left(args))
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    combine->n_sources = (size_t)n;
    return true;
}

/* Looks the sources up; what they hold is checked before the words behind them. Returns
 * false, and answers, when one is no sorted set. */
static bool read_sources_or_reply(struct combine *combine, struct cmd_args *args,
                                  struct cmd_call *call)
{
    size_t n = combine->n_sources;
    combine->sources = cmd_arena_take(call->arena, n * sizeof *combine->sources);
    if (combine->sources == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct yn_bytes key;
        struct yn_zset *set;
        cmd_args_word(args, &key);
        if (!cmd_read_zset_or_reply(call, key, &set))
            return false;
        combine->sources[i] = (struct yn_source){set, 1};
    }
    return true;
}

static bool parse_aggregate(struct combine *combine, struct cmd_args *args)
{
    if (cmd_args_option(args, "sum", 0))
        combine->aggregate = YN_SUM;
    else if (cmd_args_option(args, "min", 0))
        combine->aggregate = YN_MIN;
    else if (cmd_args_option(args, "max", 0))
        combine->aggregate = YN_MAX;
    else
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    return true;
}

static bool parse_weights(struct combine *combine, struct cmd_args *args)
{
    for (size_t i = 0; i < combine->n_sources; i++)
        if (!cmd_args_double(args, "ERR weight value is not a float",
                             &combine->sources[i].weight))
            return false;
    return true;
}

static bool parse_limit(struct combine *combine, struct cmd_args *args)
{
    const char *error = "ERR LIMIT can't be negative";
    return cmd_args_int64(args, error, &combine->limit) &&
           (combine->limit >= 0 || cmd_args_fail(args, error));
}

static bool parse_options(struct combine *combine, struct cmd_args *args)
{
    bool has_scores = combine->kind != YN_DIFFERENCE && !combine->is_counted;
    bool is_ok = true;
    while (is_ok && cmd_args_left(args) > 0) {
        if (has_scores && cmd_args_option(args, "weights", combine->n_sources))
            is_ok = parse_weights(combine, args);
        else if (has_scores && cmd_args_option(args, "aggregate", 1))
            is_ok = parse_aggregate(combine, args);
        else if (!combine->is_stored && !combine->is_counted &&
                 cmd_args_option(args, "withscores", 0))
            combine->with_scores = true;
        else if (combine->is_counted && cmd_args_option(args, "limit", 1))
            is_ok = parse_limit(combine, args);
        else
            is_ok = cmd_args_fail(args, CMD_ERR_SYNTAX);
    }
    return is_ok;
}

/* ---- answering ---- */

static bool build(struct cmd_call *call, const struct combine *combine,
                  struct yn_zset **out_set)
{
    struct yn_combination combination = {
        .kind = combine->kind,
        .aggregate = combine->aggregate,
        .sources = combine->sources,
        .n_sources = combine->n_sources,
        .is_for_cursors = !combine->is_stored,
    };
    return yn_zset_combine(&combination, host_zset_options(call->host), out_set) == YN_OK;
}

/* Stores a new set, or removes the key when it is empty, and answers with its number. The
 * set is taken. */
static void store(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                  const char *event)
{
    struct host *h = call->host;
    size_t n = yn_zset_count(set);
    if (n == 0) {
        yn_zset_free(set);
        if (host_key_remove(h, key))
            host_key_changed(h, key, "del");
        host_reply_integer(h, 0);
        return;
    }
    if (!host_key_put_zset(h, key, set)) {
        yn_zset_free(set);
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    host_key_changed(h, key, event);
    host_reply_integer(h, (int64_t)n);
}

/* Sends a set that no key holds, which is taken: a frozen view keeps what it held. */
static void reply_set(struct cmd_call *call, struct yn_zset *set,
                      enum zset_reply_shape shape)
{
    struct yn_view *view;
    struct zrange_ranks all = {0, yn_zset_count(set)};
    struct cmd_job *job = NULL;
    if (yn_zset_freeze(set, &view) == YN_OK) {
        job = zset_reply_new(view, all, false, shape);
        if (job == NULL)
            yn_view_free(view);
        else
            job->n_bytes = yn_zset_memory(set);
    }
    yn_zset_free(set);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    zset_reply_header(call->host, all.n, shape);
    call->job = job;
}

static void answer(struct cmd_call *call, const struct combine *combine)
{
    static const char *const events[] = {[YN_UNION] = "zunionstore",
                                         [YN_INTERSECTION] = "zinterstore",
                                         [YN_DIFFERENCE] = "zdiffstore"};
    struct yn_zset *set;
    if (combine->is_counted) {
        size_t limit = (uint64_t)combine->limit < SIZE_MAX ? (size_t)combine->limit : 0;
        host_reply_integer(call->host, (int64_t)yn_zset_count_common(
                                           combine->sources, combine->n_sources, limit));
    } else if (!build(call, combine, &set)) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
    } else if (combine->is_stored) {
        store(call, call->argv[1], set, events[combine->kind]);
    } else {
        reply_set(call, set,
                  combine->with_scores ? ZSET_REPLY_SCORES : ZSET_REPLY_MEMBERS);
    }
}

static void run(struct cmd_call *call, struct combine combine)
{
    struct cmd_args args;
    cmd_args_init(&args, call, combine.is_stored ? 2 : 1);
    if (parse_numkeys(&combine, &args, call)) {
        if (!read_sources_or_reply(&combine, &args, call))
            return;
        parse_options(&combine, &args);
    }
    if (cmd_args_failed(&args))
        cmd_args_reply_error(&args, call->host);
    else
        answer(call, &combine);
}

/* ---- commands ---- */

void cmd_zunion(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_UNION});
}

void cmd_zinter(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_INTERSECTION});
}

void cmd_zdiff(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_DIFFERENCE});
}

void cmd_zunionstore(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_UNION, .is_stored = true});
}

void cmd_zinterstore(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_INTERSECTION, .is_stored = true});
}

void cmd_zdiffstore(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_DIFFERENCE, .is_stored = true});
}

void cmd_zintercard(struct cmd_call *call)
{
    run(call, (struct combine){.kind = YN_INTERSECTION, .is_counted = true});
}

void cmd_zrangestore(struct cmd_call *call)
{
    struct zrange range = {.by = ZRANGE_BY_RANK, .takes_kind = true};
    struct zrange_ranks ranks = {0, 0};
    struct cmd_args args;
    struct yn_zset *source, *set;
    cmd_args_init(&args, call, 3);
    if (!zrange_parse(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[2], &source))
        return;
    const struct yn_options *options = host_zset_options(call->host);
    if (source != NULL)
        ranks = zrange_ranks(&range, yn_zset_view(source));
    enum yn_status status = YN_ENOMEM;
    if (ranks.n > 0)
        status = yn_zset_copy(yn_zset_view(source), ranks.first, ranks.n, options, &set);
    else if ((set = host_zset_new(call->host)) != NULL)
        status = YN_OK;
    if (status == YN_OK)
        store(call, call->argv[1], set, "zrangestore");
    else
        host_reply_error(call->host, CMD_ERR_NOMEM);
}
