/*
 * zrange.h: a range of a sorted set, as commands write it: two ends, and words behind
 * them. What comes out is an interval of ranks.
 */
#ifndef ZRANGE_H
#define ZRANGE_H

#include "cmd/cmd_args.h"

enum zrange_by { ZRANGE_BY_RANK, ZRANGE_BY_SCORE, ZRANGE_BY_LEX };

/* One end of a range of scores or members. */
struct zrange_bound {
    enum { ZRANGE_FIRST, ZRANGE_AT, ZRANGE_LAST } place; /* members: "-", a value, "+" */
    double score;
    struct yn_bytes member;
    bool is_exclusive;
};

/* Before it is parsed it holds what the command's name says about kind and direction, and
 * which words the command takes besides LIMIT. */
struct zrange {
    enum zrange_by by;
    bool is_reverse;
    bool takes_kind;   /* BYSCORE, BYLEX and REV */
    bool takes_scores; /* WITHSCORES */

    /* what was parsed */
    bool with_scores;
    int64_t offset, limit;        /* limit < 0: all */
    int64_t first, last;          /* by rank, as given */
    struct zrange_bound min, max; /* by score, by member */
};

/* Parses two ends and all words behind them. Backwards the higher end is written first,
 * but for ranks. The first thing wrong is left in args; then it returns false. */
bool zrange_parse(struct zrange *range, struct cmd_args *args);
/* Parses two ends only. */
bool zrange_parse_ends(struct zrange *range, struct cmd_args *args);

/* Ranks first .. first+n-1, in ascending order. A reverse range starts at the last. */
struct zrange_ranks {
    size_t first, n;
};
struct zrange_ranks zrange_ranks(const struct zrange *range, const struct yn_view *view);

#endif
