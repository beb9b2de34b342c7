/*
 * Whatever a range is written in (ranks, scores, members), it becomes an interval of
 * ranks in ascending order, by counting the entries below its two ends. LIMIT shortens
 * the interval, from the end at which the walk begins.
 */
#include "cmd/zrange.h"

#include <math.h>
#include <stdlib.h>

#include "core/num.h"

/* ---- parsing ---- */

/*
 * Ends of a score range are read otherwise than scores: numbers beyond the doubles are
 * infinite or zero, nothing at all is zero, a zero byte ends the text, and there are no
 * hexadecimal numbers.
 */
static bool parse_end(struct cmd_arena *arena, struct yn_bytes text, double *out_value)
{
    static const char no_decimals[] = "xX \t\n\v\f\r";
    char *copy = cmd_arena_take(arena, text.len + 1), *end;
    if (copy == NULL)
        return false;
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out_value = strtod(copy, &end);
    return *end == '\0' && !isnan(*out_value) && strpbrk(copy, no_decimals) == NULL;
}

static bool parse_score_bound(struct cmd_args *args, struct yn_bytes word,
                              struct zrange_bound *out)
{
    *out = (struct zrange_bound){.place = ZRANGE_AT};
    if (word.len > 0 && word.data[0] == '(') {
        out->is_exclusive = true;
        word.data++;
        word.len--;
    }
    bool is_plain = word.len > 0 && memchr(word.data, 'x', word.len) == NULL &&
                    memchr(word.data, 'X', word.len) == NULL;
    return (is_plain && yn_num_parse_double(word, &out->score)) ||
           parse_end(args->arena, word, &out->score) ||
           cmd_args_fail(args, "ERR min or max is not a float");
}

static bool parse_lex_bound(struct cmd_args *args, struct yn_bytes word,
                            struct zrange_bound *out)
{
    *out = (struct zrange_bound){.place = ZRANGE_AT};
    if (word.len == 1 && word.data[0] == '-') {
        out->place = ZRANGE_FIRST;
        return true;
    }
    if (word.len == 1 && word.data[0] == '+') {
        out->place = ZRANGE_LAST;
        return true;
    }
    if (word.len == 0 || (word.data[0] != '(' && word.data[0] != '['))
        return cmd_args_fail(args, "ERR min or max not valid string range item");
    out->is_exclusive = word.data[0] == '(';
    out->member = (struct yn_bytes){word.data + 1, word.len - 1};
    return true;
}

/* The words behind the ends. Kind and direction may be chosen only once each. */
static bool parse_options(struct zrange *range, struct cmd_args *args)
{
    bool takes_by = range->takes_kind;
    while (cmd_args_left(args) > 0) {
        if (range->takes_scores && cmd_args_option(args, "withscores", 0)) {
            range->with_scores = true;
        } else if (cmd_args_option(args, "limit", 2)) {
            if (!cmd_args_int64(args, CMD_ERR_INTEGER, &range->offset) ||
                !cmd_args_int64(args, CMD_ERR_INTEGER, &range->limit))
                return false;
        } else if (takes_by && cmd_args_option(args, "byscore", 0)) {
            range->by = ZRANGE_BY_SCORE;
            takes_by = false;
        } else if (takes_by && cmd_args_option(args, "bylex", 0)) {
            range->by = ZRANGE_BY_LEX;
            takes_by = false;
        } else if (range->takes_kind && !range->is_reverse &&
                   cmd_args_option(args, "rev", 0)) {
            range->is_reverse = true;
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    if (range->limit != -1 && range->by == ZRANGE_BY_RANK)
        return cmd_args_fail(args,
                             "ERR syntax error, LIMIT is only supported in combination "
                             "with either BYSCORE or BYLEX");
    if (range->with_scores && range->by == ZRANGE_BY_LEX)
        return cmd_args_fail(
            args, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    return true;
}

static bool read_ends(struct zrange *range, struct cmd_args *args,
                      const struct yn_bytes ends[2])
{
    struct yn_bytes low = ends[range->is_reverse], high = ends[!range->is_reverse];
    if (range->by == ZRANGE_BY_SCORE)
        return parse_score_bound(args, low, &range->min) &&
               parse_score_bound(args, high, &range->max);
    if (range->by == ZRANGE_BY_LEX)
        return parse_lex_bound(args, low, &range->min) &&
               parse_lex_bound(args, high, &range->max);
    return (yn_num_parse_int64(ends[0], &range->first) &&
            yn_num_parse_int64(ends[1], &range->last)) ||
           cmd_args_fail(args, CMD_ERR_INTEGER);
}

/* The words behind say how the ends are to be read, and their errors come first. */
bool zrange_parse(struct zrange *range, struct cmd_args *args)
{
    struct yn_bytes ends[2];
    range->limit = -1;
    return cmd_args_word(args, &ends[0]) && cmd_args_word(args, &ends[1]) &&
           parse_options(range, args) && read_ends(range, args, ends);
}

bool zrange_parse_ends(struct zrange *range, struct cmd_args *args)
{
    struct yn_bytes ends[2];
    range->limit = -1;
    return cmd_args_word(args, &ends[0]) && cmd_args_word(args, &ends[1]) &&
           read_ends(range, args, ends);
}

/* ---- from range to ranks ---- */

static struct zrange_ranks ranks_by_rank(const struct zrange *range, size_t count)
{
    int64_t n = (int64_t)count;
    int64_t first = range->first < 0 ? range->first + n : range->first;
    int64_t last = range->last < 0 ? range->last + n : range->last;
    if (first < 0)
        first = 0;
    if (last >= n)
        last = n - 1;
    if (first > last)
        return (struct zrange_ranks){0, 0};
    size_t n_ranks = (size_t)(last - first) + 1;
    if (range->is_reverse)
        return (struct zrange_ranks){count - 1 - (size_t)last, n_ranks};
    return (struct zrange_ranks){(size_t)first, n_ranks};
}

/* Number of entries before the bound; with or_equal, before what follows it. */
static size_t count_below(const struct yn_view *view, enum zrange_by by,
                          const struct zrange_bound *bound, bool or_equal)
{
    if (bound->place == ZRANGE_FIRST)
        return 0;
    if (bound->place == ZRANGE_LAST)
        return yn_view_count(view);
    if (by == ZRANGE_BY_SCORE)
        return yn_view_count_below(view, bound->score, or_equal);
    return yn_view_count_below_lex(view, bound->member, or_equal);
}

struct zrange_ranks zrange_ranks(const struct zrange *range, const struct yn_view *view)
{
    if (range->by == ZRANGE_BY_RANK)
        return ranks_by_rank(range, yn_view_count(view));

    size_t first = count_below(view, range->by, &range->min, range->min.is_exclusive);
    size_t end = count_below(view, range->by, &range->max, !range->max.is_exclusive);
    if (first >= end || range->offset < 0 || (uint64_t)range->offset >= end - first)
        return (struct zrange_ranks){0, 0};

    size_t n = end - first - (size_t)range->offset;
    if (range->limit >= 0 && (uint64_t)range->limit < n)
        n = (size_t)range->limit;
    if (range->is_reverse)
        return (struct zrange_ranks){end - (size_t)range->offset - n, n};
    return (struct zrange_ranks){first + (size_t)range->offset, n};
}
