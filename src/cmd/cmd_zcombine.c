/*
 * cmd_zcombine.c: ZUNION, ZINTER, ZDIFF, their STORE forms and ZINTERCARD.
 *
 * What is stored is a set that the engine builds in one go, as the work of a job. Nothing
 * changes before it is complete, so a failure leaves all keys as they were, and the
 * destination may be among the sources. What is only sent is built as well, without
 * look-ups, since sources that share a member do not hold its score; the reply is a
 * second job that owns it.
 */
#include "cmd/cmd_zset.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/zset_reply.h"
#include "cmd/zset_store.h"

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

/* ---- the job ---- */

struct combine_job {
    struct cmd_job base; /* must be first */
    struct combine combine;
    size_t first_source; /* the word of the call that names it */
    struct yn_options options;
    struct yn_view **views; /* of the sources, once they are held; NULL: of no set */
    struct yn_zset *result;
    size_t n_common;
    struct yn_source sources[];
};

static struct yn_combination combination_of(const struct combine_job *job)
{
    const struct combine *combine = &job->combine;
    return (struct yn_combination){
        .kind = combine->kind,
        .aggregate = combine->aggregate,
        .sources = job->sources,
        .n_sources = combine->n_sources,
        .views = (const struct yn_view *const *)job->views,
        .is_for_cursors = !combine->is_stored,
    };
}

static size_t limit_of(const struct combine_job *job)
{
    uint64_t limit = (uint64_t)job->combine.limit;
    return limit < SIZE_MAX ? (size_t)limit : 0;
}

static enum yn_status job_work(struct cmd_job *base, const struct yn_stop *stop)
{
    struct combine_job *job = (struct combine_job *)base;
    struct yn_combination combination = combination_of(job);
    job->options.stop = stop;
    return job->combine.is_counted
               ? yn_zset_count_common(&combination, limit_of(job), &job->options,
                                      &job->n_common)
               : yn_zset_combine(&combination, &job->options, &job->result);
}

/* Whether what was read is what the keys hold. */
static bool is_current(const struct combine_job *job, struct cmd_call *call)
{
    for (size_t i = 0; job->views != NULL && i < job->combine.n_sources; i++) {
        if (!host_key_holds(call->host, call->argv[job->first_source + i],
                            job->sources[i].set) ||
            (job->views[i] != NULL && !yn_view_is_current(job->views[i])))
            return false;
    }
    return true;
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

static bool job_begin(struct cmd_job *base, struct cmd_call *call)
{
    static const char *const events[] = {[YN_UNION] = "zunionstore",
                                         [YN_INTERSECTION] = "zinterstore",
                                         [YN_DIFFERENCE] = "zdiffstore"};
    struct combine_job *job = (struct combine_job *)base;
    struct yn_zset *result = job->result;
    if (job->combine.is_counted) {
        host_reply_integer(call->host, (int64_t)job->n_common);
        return true;
    }
    if (job->combine.is_stored && !is_current(job, call))
        return false;
    job->result = NULL;
    if (job->combine.is_stored)
        zset_store(call, call->argv[1], result, events[job->combine.kind]);
    else
        reply_set(call, result,
                  job->combine.with_scores ? ZSET_REPLY_SCORES : ZSET_REPLY_MEMBERS);
    return true;
}

static void free_views(struct combine_job *job)
{
    for (size_t i = 0; job->views != NULL && i < job->combine.n_sources; i++)
        host_view_free(job->views[i]);
    free(job->views);
    job->views = NULL;
}

static bool job_hold(struct cmd_job *base)
{
    struct combine_job *job = (struct combine_job *)base;
    job->views = calloc(job->combine.n_sources, sizeof *job->views);
    if (job->views == NULL)
        return false;
    for (size_t i = 0; i < job->combine.n_sources; i++) {
        /* the set is the keyspace's; here nobody writes to it */
        struct yn_zset *set = (struct yn_zset *)(uintptr_t)job->sources[i].set;
        if (set != NULL && yn_zset_freeze(set, &job->views[i]) != YN_OK) {
            free_views(job);
            return false;
        }
    }
    return true;
}

static void job_free(struct cmd_job *base)
{
    struct combine_job *job = (struct combine_job *)base;
    free_views(job);
    yn_zset_free(job->result);
    free(job);
}

/* ---- how long it will take ---- */

/* Work apart has no dictionaries: it is not worth it where that costs so many times as
 * much, until it is so many times too long. */
#define FROZEN_COSTS_MAX 32
#define TOO_LONG 16
/* What an entry costs at the most, where it is slow to look up. */
#define ENTRY_NS 600

static void estimate(struct combine_job *job, struct host *h)
{
    struct yn_combination combination = combination_of(job);
    uint64_t long_ns = host_long_ns(h), n_entries = 0;
    size_t n_bytes = 0;
    for (size_t i = 0; i < combination.n_sources; i++) {
        const struct yn_zset *set = job->sources[i].set;
        if (set == NULL)
            continue;
        n_entries += yn_zset_count(set);
        if (combination.kind == YN_UNION || i == 0)
            n_bytes += yn_zset_memory(set);
    }
    if (n_entries < long_ns / ENTRY_NS)
        return;
    struct yn_combine_cost cost = yn_combination_cost(&combination);
    job->base.n_bytes = n_bytes;
    job->base.is_long =
        cost.live_ns >= long_ns && (cost.frozen_ns / FROZEN_COSTS_MAX <= cost.live_ns ||
                                    cost.live_ns / TOO_LONG >= long_ns);
}

struct patience {
    size_t n_asked;
};

static bool has_ended(void *ctx)
{
    struct patience *patience = ctx;
    return ++patience->n_asked > 1;
}

/* With a limit there may be enough among the first members. Returns whether that was all.
 */
static bool count_some_or_reply(struct cmd_call *call, struct combine_job *job)
{
    struct patience patience = {0};
    struct yn_stop stop = {has_ended, &patience};
    if (limit_of(job) == 0 || job_work(&job->base, &stop) != YN_OK)
        return false;
    job_begin(&job->base, call);
    return true;
}

static void answer(struct cmd_call *call, const struct combine *combine)
{
    size_t n = combine->n_sources;
    struct combine_job *job = malloc(sizeof *job + n * sizeof job->sources[0]);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    *job = (struct combine_job){
        .base = {.work = job_work,
                 .begin = job_begin,
                 .hold = job_hold,
                 .free = job_free,
                 .changes_keys = combine->is_stored},
        .combine = *combine,
        .first_source = combine->is_stored ? 3 : 2,
        .options = *host_zset_options(call->host),
    };
    memcpy(job->sources, combine->sources, n * sizeof job->sources[0]);
    job->combine.sources = NULL; /* the call's */
    estimate(job, call->host);
    if (combine->is_counted && job->base.is_long && count_some_or_reply(call, job))
        job_free(&job->base);
    else
        call->job = &job->base;
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
