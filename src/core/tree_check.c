/* tree_check.c: verifies every invariant of a tree; see tree.c. For tests. */
#include "core/tree.h"

struct check {
    const struct yn_tree *tree;
    uint64_t last_key; /* of the entry before, in order */
    struct yn_bytes last_member;
    size_t n_entries;
    int leaf_depth; /* -1: no leaf seen yet */
};

static bool is_same_rect(const struct yn_rect *a, const struct yn_rect *b)
{
    return a->lat_min == b->lat_min && a->lat_max == b->lat_max &&
           a->lon_min == b->lon_min && a->lon_max == b->lon_max;
}

static const char *check_entry(struct check *check, const struct yn_leaf *leaf, size_t i)
{
    struct yn_bytes entry = yn_leaf_entry(leaf, i), member = yn_leaf_member(leaf, i);
    uint64_t key = yn_leaf_key(leaf, i);
    if (yn_entry_is_long(entry.data)) {
        if (entry.len != YN_LONG_ENTRY_LEN || member.len <= YN_MEMBER_INLINE_MAX)
            return "leaf: long member is not one";
        if (yn_entry_long(entry.data)->head.birth > check->tree->epoch)
            return "leaf: long member younger than the tree";
    } else if (entry.data[0] != '$' || entry.len != yn_wire_len(member.len) ||
               memcmp(entry.data + entry.len - 2, "\r\n", 2) != 0) {
        return "leaf: member is not in wire form";
    }
    if (check->n_entries > 0 &&
        (key < check->last_key ||
         (key == check->last_key && yn_bytes_compare(check->last_member, member) >= 0)))
        return "leaf: entries are out of order";
    check->last_key = key;
    check->last_member = member;
    check->n_entries++;
    return NULL;
}

static const char *check_leaf(struct check *check, const struct yn_leaf *leaf, int depth)
{
    size_t n = leaf->head.n, n_long = 0;
    if (check->leaf_depth >= 0 && depth != check->leaf_depth)
        return "tree: leaves at different depths";
    check->leaf_depth = depth;
    if (n == 0 || n > YN_LEAF_ENTRIES_MAX)
        return "leaf: number of entries out of range";
    if (yn_leaf_used(leaf) > leaf->head.cap)
        return "leaf: larger than its block";
    for (size_t i = 0; i < n; i++) {
        if (yn_leaf_offset(leaf, i) >= yn_leaf_offset(leaf, i + 1))
            return "leaf: offsets do not ascend";
        n_long += yn_entry_is_long(yn_leaf_entry(leaf, i).data);
        const char *wrong = check_entry(check, leaf, i);
        if (wrong != NULL)
            return wrong;
    }
    if (yn_leaf_offset(leaf, 0) != 0 || yn_leaf_offset(leaf, n) != leaf->wire_len)
        return "leaf: member area has a wrong length";
    if (n_long != leaf->n_long)
        return "leaf: wrong number of long members";
    struct yn_rect rect = yn_leaf_bounds(leaf);
    return is_same_rect(&rect, &leaf->rect) ? NULL : "leaf: rectangle is not exact";
}

static const char *check_node(struct check *check, const struct yn_node *node, int depth)
{
    if (depth >= YN_TREE_DEPTH_MAX)
        return "tree: too deep";
    if (node->birth > check->tree->epoch)
        return "tree: node younger than the tree";
    if (node->level == 0)
        return check_leaf(check, yn_as_leaf(node), depth);
    const struct yn_inner *inner = yn_as_inner(node);
    if (node->n == 0 || node->n > YN_TREE_FANOUT)
        return "tree: number of children out of range";
    for (size_t i = 0; i < node->n; i++) {
        const struct yn_node *child = inner->child[i];
        size_t before = check->n_entries;
        if (child->level != node->level - 1)
            return "tree: child of a wrong level";
        const char *wrong = check_node(check, child, depth + 1);
        if (wrong != NULL)
            return wrong;
        if (check->n_entries - before != inner->count[i])
            return "tree: count of a child is wrong";
        if (inner->key[i] != yn_leaf_key(yn_node_first_leaf(child), 0))
            return "tree: first key of a child is wrong";
        struct yn_rect rect = child->level == 0
                                  ? yn_as_leaf(child)->rect
                                  : yn_rects_union(&yn_as_inner(child)->rects, child->n);
        struct yn_rect noted = yn_rects_get(&inner->rects, i);
        if (!is_same_rect(&rect, &noted))
            return "tree: rectangle of a child is wrong";
    }
    return NULL;
}

static const char *check_views(const struct yn_tree *tree)
{
    uint64_t epoch = tree->epoch;
    const struct yn_view *newer = NULL;
    for (const struct yn_view *view = tree->newest; view != NULL; view = view->older) {
        if (view->epoch >= epoch || view->newer != newer || view->tree != tree)
            return "views: list is not in order";
        size_t n = 0;
        for (const struct yn_node *node = view->retired; node;
             node = node->retired_next) {
            if (node->birth > view->epoch)
                return "views: keeps a node it cannot see";
            n++;
        }
        if (n != view->n_retired)
            return "views: number of retired nodes is wrong";
        epoch = view->epoch;
        newer = view;
    }
    return NULL;
}

const char *yn_tree_check(const struct yn_tree *tree)
{
    struct check check = {.tree = tree, .leaf_depth = -1};
    if (tree->live.root != NULL) {
        const char *wrong = check_node(&check, tree->live.root, 0);
        if (wrong != NULL)
            return wrong;
    }
    if (check.n_entries != tree->live.count)
        return "tree: count is wrong";
    return check_views(tree);
}
