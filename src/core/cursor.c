/* cursor.c: places in a view, for iteration in both directions. */
#include <assert.h>

#include "core/tree.h"

/* Goes down from the node at `depth` to its first or last entry. */
static void descend(struct yn_cursor *cursor, const struct yn_node *node, int depth,
                    bool to_last)
{
    while (true) {
        cursor->node[depth] = node;
        cursor->slot[depth] = to_last ? (uint16_t)(node->n - 1) : 0;
        cursor->depth = depth;
        if (node->level == 0)
            return;
        node = yn_as_inner(node)->child[cursor->slot[depth++]];
    }
}

bool yn_cursor_seek(struct yn_cursor *cursor, const struct yn_view *view, size_t rank)
{
    cursor->depth = -1;
    if (rank >= view->count)
        return false;
    const struct yn_node *node = view->root;
    int depth = 0;
    while (node->level > 0) {
        const struct yn_inner *inner = yn_as_inner(node);
        size_t slot = 0;
        while (rank >= inner->count[slot])
            rank -= inner->count[slot++];
        cursor->node[depth] = node;
        cursor->slot[depth++] = (uint16_t)slot;
        node = inner->child[slot];
    }
    cursor->node[depth] = node;
    cursor->slot[depth] = (uint16_t)rank;
    cursor->depth = depth;
    return true;
}

static bool step(struct yn_cursor *cursor, bool is_forward)
{
    for (int d = cursor->depth; d >= 0; d--) {
        const struct yn_node *node = cursor->node[d];
        if (is_forward ? cursor->slot[d] + 1 == node->n : cursor->slot[d] == 0)
            continue;
        cursor->slot[d] = (uint16_t)(cursor->slot[d] + (is_forward ? 1 : -1));
        if (node->level > 0)
            descend(cursor, yn_as_inner(node)->child[cursor->slot[d]], d + 1,
                    !is_forward);
        return true;
    }
    cursor->depth = -1;
    return false;
}

bool yn_cursor_next(struct yn_cursor *cursor)
{
    return step(cursor, true);
}

bool yn_cursor_prev(struct yn_cursor *cursor)
{
    return step(cursor, false);
}

struct yn_entry yn_cursor_entry(const struct yn_cursor *cursor)
{
    assert(cursor->depth >= 0);
    const struct yn_leaf *leaf = cursor->node[cursor->depth];
    size_t i = cursor->slot[cursor->depth];
    return (struct yn_entry){yn_leaf_member(leaf, i), yn_leaf_score(leaf, i)};
}

size_t yn_view_count_below(const struct yn_view *view, double score, bool or_equal)
{
    return yn_tree_count_below(view, yn_key_of_score(score), or_equal);
}

size_t yn_view_count_below_lex(const struct yn_view *view, struct yn_bytes member,
                               bool or_equal)
{
    /* a binary search over ranks needs no more than random access */
    size_t low = 0, high = view->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct yn_cursor cursor;
        yn_cursor_seek(&cursor, view, middle);
        int c = yn_bytes_compare(yn_cursor_entry(&cursor).member, member);
        if (c < 0 || (or_equal && c == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
