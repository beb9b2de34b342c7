/*
 * join.h: members of one set, in its order, looked for in another set.
 *
 * Sets are in the order of (score, member). Where each of two sets has but one score,
 * both are in the order of their members, and one walk through both finds what they
 * share; the dictionary is slow just there, since a score says nothing about where a
 * member stands.
 */
#ifndef YN_JOIN_H
#define YN_JOIN_H

#include "core/zset.h"

struct yn_join {
    const struct yn_zset *set; /* that is looked in; NULL: a frozen view */
    bool is_merge;             /* both are walked; else the dictionary is asked */
    bool is_slow;              /* it is asked, and all scores of the set are one */
    struct yn_cursor cursor;   /* is_merge: nothing before it is asked for any more */
};

bool yn_has_one_score(const struct yn_view *view);

/* Begins to look for members of `driver` in `set`, whose view is given; or, where set is
 * NULL, in a frozen view, which can only be walked: then is_merge has to be. Neither may
 * change until the end. */
void yn_join_init(struct yn_join *join, const struct yn_view *driver,
                  const struct yn_zset *set, const struct yn_view *view);
/* Scores of n (at most YN_AHEAD_MAX) members of the driver, NaN for those that are not
 * there. Calls come in the driver's order; members may be left out. */
void yn_join_find_many(struct yn_join *join, const struct yn_bytes *members, size_t n,
                       double *out_scores);

#endif
