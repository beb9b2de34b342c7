/*
 * copy.c: a set of some of a view's entries.
 *
 * Whole leaves are copied as they lie in memory; only at the ends of the interval, and
 * where leaves are half empty, entries go one by one into leaves that are packed anew.
 * The dictionary is built from the tree: it knows nothing that a frozen view could show.
 */
#include "core/zset.h"

/* Leaves that are filled by less go one by one, so that a copy is not larger than it has
 * to be. */
static bool is_worth_copying(const struct yn_leaf *leaf)
{
    return yn_leaf_used(leaf) > leaf->head.cap / 8 * 5;
}

/* Adds the entries from the cursor on, at most n and to the end of its leaf; moves the
 * cursor behind them. */
static enum yn_status add_some(struct yn_builder *builder, struct yn_cursor *cursor,
                               bool is_only_leaf, size_t *n)
{
    const struct yn_leaf *leaf = cursor->node[cursor->depth];
    size_t from = cursor->slot[cursor->depth], n_here = leaf->head.n - from;
    enum yn_status status = YN_OK;
    n_here = n_here < *n ? n_here : *n;
    if (n_here == leaf->head.n && !is_only_leaf && is_worth_copying(leaf)) {
        status = yn_builder_add_leaf(builder, leaf);
    } else {
        for (size_t i = from; status == YN_OK && i < from + n_here; i++)
            status =
                yn_builder_add(builder, yn_leaf_member(leaf, i), yn_leaf_score(leaf, i));
    }
    *n -= n_here;
    cursor->slot[cursor->depth] = (uint16_t)(from + n_here - 1);
    yn_cursor_next(cursor);
    return status;
}

enum yn_status yn_builder_add_range(struct yn_builder *builder,
                                    const struct yn_view *view, size_t first, size_t n,
                                    const struct yn_stop *stop)
{
    struct yn_stopper stopper = {.stop = stop};
    struct yn_cursor cursor;
    enum yn_status status = YN_OK;
    if (!yn_cursor_seek(&cursor, view, first))
        return YN_OK;
    if (n > view->count - first)
        n = view->count - first;
    bool is_only_leaf = view->root->level == 0;
    while (status == YN_OK && n > 0) {
        size_t before = n;
        status = add_some(builder, &cursor, is_only_leaf, &n);
        if (status == YN_OK && yn_stopper_ends(&stopper, before - n))
            status = YN_ESTOPPED;
    }
    return status;
}

enum yn_status yn_zset_copy(const struct yn_view *view, size_t first, size_t n,
                            const struct yn_options *options, struct yn_zset **out_set)
{
    struct yn_zset *set = yn_zset_new(options);
    if (set == NULL)
        return YN_ENOMEM;
    struct yn_builder *builder = yn_builder_new(&set->tree);
    enum yn_status status =
        builder == NULL
            ? YN_ENOMEM
            : yn_builder_add_range(builder, view, first, n, yn_stop_of(options));
    return yn_zset_finish(set, builder, status, yn_stop_of(options), out_set);
}
