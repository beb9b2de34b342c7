/*
 * cmd_zrange.c: ZRANGE and ZRANGEBYSCORE.
 *
 * Whatever a range is written in (ranks, scores, members), it becomes an
 * interval of ranks in ascending order, by counting the entries below its two
 * ends. LIMIT shortens the interval; REV walks it from the other end. The reply
 * is a job that iterates over it.
 */
#include "cmd/cmd_zset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"

enum range_by { BY_RANK, BY_SCORE, BY_LEX };

/* One end of a range of scores or members. */
struct bound {
    enum { BOUND_FIRST, BOUND_AT, BOUND_LAST } place; /* members: "-", a value, "+" */
    double score;
    struct yn_bytes member;
    bool is_exclusive;
};

struct range {
    enum range_by by;
    bool is_reverse, with_scores;
    int64_t offset, limit; /* limit < 0: all */
    int64_t first, last;   /* by rank, as given */
    struct bound min, max; /* by score, by member */
};

/* ---- parsing ---- */

/*
 * Ends of a score range are read more leniently than scores: leading blanks, nothing at
 * all (zero) and numbers beyond the doubles are taken, and a zero byte ends the text.
 * This is strtod's reading of a C string, and strtod is left to do it for what is no
 * plain number.
 */
static bool parse_lenient(struct cmd_arena *arena, struct yn_bytes text,
                          double *out_value)
{
    char *copy = cmd_arena_take(arena, text.len + 1), *end;
    if (copy == NULL)
        return false;
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out_value = strtod(copy, &end);
    return *end == '\0' && !isnan(*out_value);
}

static bool parse_score_bound(struct cmd_args *args, struct yn_bytes word,
                              struct bound *out)
{
    *out = (struct bound){.place = BOUND_AT};
    if (word.len > 0 && word.data[0] == '(') {
        out->is_exclusive = true;
        word.data++;
        word.len--;
    }
    return yn_num_parse_double(word, &out->score) ||
           parse_lenient(args->arena, word, &out->score) ||
           cmd_args_fail(args, "ERR min or max is not a float");
}

static bool parse_lex_bound(struct cmd_args *args, struct yn_bytes word,
                            struct bound *out)
{
    *out = (struct bound){.place = BOUND_AT};
    if (word.len == 1 && word.data[0] == '-') {
        out->place = BOUND_FIRST;
        return true;
    }
    if (word.len == 1 && word.data[0] == '+') {
        out->place = BOUND_LAST;
        return true;
    }
    if (word.len == 0 || (word.data[0] != '(' && word.data[0] != '['))
        return cmd_args_fail(args, "ERR min or max not valid string range item");
    out->is_exclusive = word.data[0] == '(';
    out->member = (struct yn_bytes){word.data + 1, word.len - 1};
    return true;
}

/* The words behind the range. Only ZRANGE (`is_open`) lets the kind and direction be
 * chosen, and each only once. */
static bool parse_options(struct range *range, struct cmd_args *args, bool is_open)
{
    bool may_choose_by = is_open;
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "withscores", 0)) {
            range->with_scores = true;
        } else if (cmd_args_option(args, "limit", 2)) {
            if (!cmd_args_int64(args, CMD_ERR_INTEGER, &range->offset) ||
                !cmd_args_int64(args, CMD_ERR_INTEGER, &range->limit))
                return false;
        } else if (may_choose_by && cmd_args_option(args, "byscore", 0)) {
            range->by = BY_SCORE;
            may_choose_by = false;
        } else if (may_choose_by && cmd_args_option(args, "bylex", 0)) {
            range->by = BY_LEX;
            may_choose_by = false;
        } else if (is_open && !range->is_reverse && cmd_args_option(args, "rev", 0)) {
            range->is_reverse = true;
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    if (range->limit != -1 && range->by == BY_RANK)
        return cmd_args_fail(args,
                             "ERR syntax error, LIMIT is only supported in combination "
                             "with either BYSCORE or BYLEX");
    if (range->with_scores && range->by == BY_LEX)
        return cmd_args_fail(
            args, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return true;
}

/* The two ends, argv[2] and argv[3]. Backwards the higher one is written first. */
static bool parse_ends(struct range *range, struct cmd_args *args)
{
    struct yn_bytes low = args->argv[range->is_reverse ? 3 : 2];
    struct yn_bytes high = args->argv[range->is_reverse ? 2 : 3];
    if (range->by == BY_SCORE)
        return parse_score_bound(args, low, &range->min) &&
               parse_score_bound(args, high, &range->max);
    if (range->by == BY_LEX)
        return parse_lex_bound(args, low, &range->min) &&
               parse_lex_bound(args, high, &range->max);
    return (yn_num_parse_int64(args->argv[2], &range->first) &&
            yn_num_parse_int64(args->argv[3], &range->last)) ||
           cmd_args_fail(args, CMD_ERR_INTEGER);
}

/* ---- from range to ranks ---- */

/* Ranks first .. first+n-1, in ascending order. */
struct interval {
    size_t first, n;
};

static struct interval interval_by_rank(const struct range *range, size_t count)
{
    int64_t n = (int64_t)count;
    int64_t first = range->first < 0 ? range->first + n : range->first;
    int64_t last = range->last < 0 ? range->last + n : range->last;
    if (first < 0)
        first = 0;
    if (last >= n)
        last = n - 1;
    if (first > last)
        return (struct interval){0, 0};
    size_t n_ranks = (size_t)(last - first) + 1;
    if (range->is_reverse)
        return (struct interval){count - 1 - (size_t)last, n_ranks};
    return (struct interval){(size_t)first, n_ranks};
}

/* Number of entries before the bound; with is_above, before what follows it. */
static size_t count_below(const struct yn_view *view, enum range_by by,
                          const struct bound *bound, bool or_equal)
{
    if (bound->place == BOUND_FIRST)
        return 0;
    if (bound->place == BOUND_LAST)
        return yn_view_count(view);
    if (by == BY_SCORE)
        return yn_view_count_below(view, bound->score, or_equal);
    return yn_view_count_below_lex(view, bound->member, or_equal);
}

static struct interval interval_by_bounds(const struct range *range,
                                          const struct yn_view *view)
{
    size_t first = count_below(view, range->by, &range->min, range->min.is_exclusive);
    size_t end = count_below(view, range->by, &range->max, !range->max.is_exclusive);
    if (first >= end || range->offset < 0 || (uint64_t)range->offset >= end - first)
        return (struct interval){0, 0};

    size_t n = end - first - (size_t)range->offset;
    if (range->limit >= 0 && (uint64_t)range->limit < n)
        n = (size_t)range->limit;
    if (range->is_reverse)
        return (struct interval){end - (size_t)range->offset - n, n};
    return (struct interval){first + (size_t)range->offset, n};
}

/* ---- the job ---- */

struct range_job {
    struct cmd_job base;  /* must be first */
    struct yn_zset *set;  /* until the job is held */
    struct yn_view *held; /* the frozen set, or NULL */
    struct yn_cursor cursor;
    size_t rank; /* of the entry under the cursor */
    size_t n_left;
    bool is_reverse, with_scores;
};

#define ENTRY_WIRE_LEN 48 /* about what an entry takes besides its member */

static bool job_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct range_job *job = (struct range_job *)base;
    bool nests = job->with_scores && host_reply_nests_pairs(h);
    for (size_t sent = 0; job->n_left > 0 && (sent < budget || sent == 0);) {
        struct yn_entry entry = yn_cursor_entry(&job->cursor);
        if (nests)
            host_reply_array(h, 2);
        host_reply_bulk(h, entry.member);
        if (job->with_scores)
            host_reply_score(h, entry.score);
        sent += entry.member.len + ENTRY_WIRE_LEN;
        job->n_left--;
        if (job->n_left == 0)
            break;
        if (job->is_reverse) {
            yn_cursor_prev(&job->cursor);
            job->rank--;
        } else {
            yn_cursor_next(&job->cursor);
            job->rank++;
        }
    }
    return job->n_left == 0;
}

/* The cursor belongs to the live view; its place is sought again in the frozen one. */
static bool job_hold(struct cmd_job *base)
{
    struct range_job *job = (struct range_job *)base;
    if (yn_zset_freeze(job->set, &job->held) != YN_OK)
        return false;
    if (job->n_left > 0)
        yn_cursor_seek(&job->cursor, job->held, job->rank);
    return true;
}

static void job_free(struct cmd_job *base)
{
    struct range_job *job = (struct range_job *)base;
    yn_view_free(job->held);
    free(job);
}

static void reply_range(struct cmd_call *call, struct yn_zset *set,
                        const struct range *range)
{
    const struct yn_view *view = yn_zset_view(set);
    struct interval ranks = range->by == BY_RANK
                                ? interval_by_rank(range, yn_view_count(view))
                                : interval_by_bounds(range, view);
    struct range_job *job = malloc(sizeof *job);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    *job = (struct range_job){
        .base = {.step = job_step, .hold = job_hold, .free = job_free},
        .set = set,
        .rank =
            range->is_reverse && ranks.n > 0 ? ranks.first + ranks.n - 1 : ranks.first,
        .n_left = ranks.n,
        .is_reverse = range->is_reverse,
        .with_scores = range->with_scores,
    };
    if (ranks.n > 0)
        yn_cursor_seek(&job->cursor, view, job->rank);
    bool is_flat = range->with_scores && !host_reply_nests_pairs(call->host);
    host_reply_array(call->host, is_flat ? ranks.n * 2 : ranks.n);
    call->job = &job->base;
}

static void run(struct cmd_call *call, struct range range, bool is_open)
{
    struct cmd_args args;
    struct yn_zset *set;
    cmd_args_init(&args, call, 4);
    if (!parse_options(&range, &args, is_open) || !parse_ends(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    if (set == NULL)
        host_reply_array(call->host, 0);
    else
        reply_range(call, set, &range);
}

void cmd_zrange(struct cmd_call *call)
{
    run(call, (struct range){.by = BY_RANK, .limit = -1}, true);
}

void cmd_zrangebyscore(struct cmd_call *call)
{
    run(call, (struct range){.by = BY_SCORE, .limit = -1}, false);
}
