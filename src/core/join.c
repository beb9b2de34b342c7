/*
 * join.c: see join.h.
 *
 * The walk: in a leaf a few steps, one after the other; then, if the member is beyond the
 * leaf, on to the next leaf with no look at the others, else by halving. So it costs a
 * comparison for each member where sets are alike, and one for each leaf of a set that is
 * much larger than the driver. From FAR_LARGER times as many members on, a look-up is
 * cheaper, slow as it is.
 */
#include "core/join.h"

#include <math.h>

#define FAR_LARGER 256
#define STEPS 4

bool yn_has_one_score(const struct yn_view *view)
{
    struct yn_cursor first, last;
    return view->count > 0 && yn_cursor_seek(&first, view, 0) &&
           yn_cursor_seek(&last, view, view->count - 1) &&
           yn_cursor_entry(&first).score == yn_cursor_entry(&last).score;
}

void yn_join_init(struct yn_join *join, const struct yn_view *driver,
                  const struct yn_zset *set, const struct yn_view *view)
{
    bool has_one_score = yn_has_one_score(view);
    join->set = set;
    join->is_merge = has_one_score && yn_has_one_score(driver) &&
                     (set == NULL || view->count / FAR_LARGER < driver->count);
    join->is_slow = has_one_score && !join->is_merge;
    if (join->is_merge)
        yn_cursor_seek(&join->cursor, view, 0);
}

static int compare_at(const struct yn_leaf *leaf, size_t i, struct yn_bytes member)
{
    return yn_bytes_compare(yn_leaf_member(leaf, i), member);
}

/* The first entry of the leaf from i on that is not below the member; its last one is
 * not. */
static size_t halve(const struct yn_leaf *leaf, size_t i, struct yn_bytes member)
{
    size_t end = leaf->head.n - 1u;
    while (i < end) {
        size_t middle = (i + end) / 2;
        if (compare_at(leaf, middle, member) < 0)
            i = middle + 1;
        else
            end = middle;
    }
    return i;
}

/* The first entry of the leaf from i on that is not below the member; head.n: none. */
static size_t search_leaf(const struct yn_leaf *leaf, size_t i, struct yn_bytes member,
                          int *out_order)
{
    size_t n = leaf->head.n;
    for (size_t step = 0; step < STEPS && i < n; step++, i++)
        if ((*out_order = compare_at(leaf, i, member)) >= 0)
            return i;
    if (i == n || compare_at(leaf, n - 1, member) < 0)
        return n;
    i = halve(leaf, i, member);
    *out_order = compare_at(leaf, i, member);
    return i;
}

/* Moves the cursor to the first entry that is not below the member. */
static double walk_to(struct yn_cursor *cursor, struct yn_bytes member)
{
    while (cursor->depth >= 0) {
        const struct yn_leaf *leaf = cursor->node[cursor->depth];
        uint16_t *slot = &cursor->slot[cursor->depth];
        int order = 0;
        size_t i = search_leaf(leaf, *slot, member, &order);
        if (i < leaf->head.n) {
            *slot = (uint16_t)i;
            return order == 0 ? yn_leaf_score(leaf, i) : (double)NAN;
        }
        *slot = (uint16_t)(leaf->head.n - 1u);
        yn_cursor_next(cursor);
    }
    return (double)NAN;
}

void yn_join_find_many(struct yn_join *join, const struct yn_bytes *members, size_t n,
                       double *out_scores)
{
    if (!join->is_merge) {
        yn_zset_find_many(join->set, members, n, out_scores);
        return;
    }
    for (size_t i = 0; i < n; i++)
        out_scores[i] = walk_to(&join->cursor, members[i]);
}
