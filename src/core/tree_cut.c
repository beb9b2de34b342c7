/*
 * tree_cut.c: an interval of ranks taken out of a tree.
 *
 * Only the nodes on the two ways to the interval's ends lose a part of what they hold.
 * They are made anew, at most two of each level; all that lies between the ways goes as
 * whole subtrees, all that lies outside stays where it is. So everything that needs
 * memory comes first (yn_tree_cut_begin), in nodes that nothing points to yet, and a
 * failure has nothing to take back. Frozen views need no thought of their own: no node is
 * changed.
 *
 * What is left beside the cut may be small: a leaf of one entry, an inner node of one
 * child. Leaves and nodes are therefore joined with neighbours afterwards, as after the
 * removal of a single entry. Many small cuts next to each other would else leave a block
 * for every few entries.
 *
 * Cost: O(log n) for the cut, one visit to each node that goes.
 */
#include <assert.h>

#include "core/tree.h"

#define FRESH_MAX (2 * YN_TREE_DEPTH_MAX)

struct cut {
    struct yn_tree *tree;
    struct yn_node *fresh[FRESH_MAX]; /* made for this cut */
    size_t n_fresh;
};

/* What is left of a leaf without entries [from, to); something is. */
static struct yn_node *cut_leaf(struct cut *cut, const struct yn_leaf *leaf, size_t from,
                                size_t to)
{
    struct yn_item items[YN_LEAF_ENTRIES_MAX];
    size_t n = yn_leaf_unpack(leaf, items);
    memmove(items + from, items + to, (n - to) * sizeof *items);
    bool is_only = cut->tree->live.root->level == 0;
    struct yn_leaf *fresh = yn_tree_leaf_new(cut->tree, items, n - (to - from), is_only);
    return fresh != NULL ? &fresh->head : NULL;
}

static struct yn_node *cut_node(struct cut *cut, struct yn_node *node, size_t from,
                                size_t to);

/* The same of an inner node, where numbers count the entries below. */
static struct yn_node *cut_inner(struct cut *cut, const struct yn_inner *inner,
                                 size_t from, size_t to)
{
    struct yn_inner *fresh = yn_mem_take(&cut->tree->mem, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    fresh->head = (struct yn_node){.birth = cut->tree->epoch,
                                   .level = inner->head.level,
                                   .cap = (uint32_t)sizeof *fresh};
    size_t at = 0;
    for (size_t i = 0; i < inner->head.n; i++) {
        size_t end = at + inner->count[i];
        struct yn_record record = {inner->key[i], yn_rects_get(&inner->rects, i),
                                   inner->count[i], inner->child[i]};
        size_t first = from > at ? from : at, last = to < end ? to : end;
        bool is_whole = first == at && last == end;
        if (first < last && !is_whole) {
            struct yn_node *left = cut_node(cut, inner->child[i], first - at, last - at);
            if (left == NULL) {
                yn_mem_give(&cut->tree->mem, fresh, sizeof *fresh);
                return NULL;
            }
            record = yn_record_of(left);
        }
        if (first >= last || !is_whole)
            yn_inner_set(fresh, fresh->head.n++, &record);
        at = end;
    }
    return &fresh->head;
}

/* What is left of a subtree without its entries [from, to): not all, not none of them.
 * NULL: out of memory. */
static struct yn_node *cut_node(struct cut *cut, struct yn_node *node, size_t from,
                                size_t to)
{
    struct yn_node *left = node->level == 0 ? cut_leaf(cut, yn_as_leaf(node), from, to)
                                            : cut_inner(cut, yn_as_inner(node), from, to);
    if (left != NULL) {
        assert(cut->n_fresh < FRESH_MAX);
        cut->fresh[cut->n_fresh++] = left;
    }
    return left;
}

enum yn_status yn_tree_cut_begin(struct yn_tree *tree, size_t first, size_t n,
                                 struct yn_view *out_left)
{
    struct cut cut = {.tree = tree, .n_fresh = 0};
    assert(n > 0 && n <= tree->live.count && first <= tree->live.count - n);
    *out_left = (struct yn_view){.count = tree->live.count - n, .tree = tree};
    if (out_left->count == 0)
        return YN_OK;
    out_left->root = cut_node(&cut, tree->live.root, first, first + n);
    if (out_left->root != NULL)
        return YN_OK;
    while (cut.n_fresh > 0) {
        struct yn_node *node = cut.fresh[--cut.n_fresh];
        yn_mem_give(&tree->mem, node, node->cap);
    }
    return YN_ENOMEM;
}

static void drop_node(void *ctx, struct yn_node *node)
{
    yn_tree_drop(ctx, node);
}

/* Drops what a cut has replaced or removed of a subtree of `count` entries. */
static void drop_cut(struct yn_tree *tree, struct yn_node *node, size_t count,
                     size_t from, size_t to)
{
    if (from == 0 && to == count) {
        yn_subtree_visit(node, drop_node, tree);
        return;
    }
    if (node->level == 0) {
        const struct yn_leaf *leaf = yn_as_leaf(node);
        for (size_t i = from; leaf->n_long > 0 && i < to; i++) {
            const char *entry = yn_leaf_entry(leaf, i).data;
            if (yn_entry_is_long(entry))
                yn_tree_long_free(tree, yn_entry_long(entry));
        }
    } else {
        const struct yn_inner *inner = yn_as_inner(node);
        size_t at = 0;
        for (size_t i = 0; i < node->n && at < to; i++) {
            size_t end = at + inner->count[i];
            if (end > from)
                drop_cut(tree, inner->child[i], inner->count[i],
                         from > at ? from - at : 0, (to < end ? to : end) - at);
            at = end;
        }
    }
    yn_tree_drop(tree, node);
}

/* Finds the way to an entry by its rank. */
static void find_rank(const struct yn_view *view, size_t rank, struct yn_path *out_path)
{
    struct yn_node *node = view->root;
    *out_path = (struct yn_path){.is_found = true};
    while (node->level > 0) {
        struct yn_inner *inner = yn_as_inner(node);
        size_t slot = 0;
        while (rank >= inner->count[slot])
            rank -= inner->count[slot++];
        out_path->inner[out_path->depth] = inner;
        out_path->slot[out_path->depth++] = (uint16_t)slot;
        node = inner->child[slot];
    }
    out_path->leaf = yn_as_leaf(node);
    out_path->i = rank;
}

void yn_tree_cut_end(struct yn_tree *tree, size_t first, size_t n,
                     const struct yn_view *left)
{
    struct yn_view old = tree->live;
    tree->live.root = left->root;
    tree->live.count = left->count;
    drop_cut(tree, old.root, old.count, first, first + n);
    /* twice: leaves of two nodes can be joined only when their nodes have been */
    for (int round = 0; round < 2; round++) {
        struct yn_path path;
        for (size_t rank = first > 0 ? first - 1 : 0; rank <= first && rank < left->count;
             rank++) {
            find_rank(&tree->live, rank, &path);
            yn_tree_tidy(tree, &path);
        }
    }
}
