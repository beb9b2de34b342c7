/*
 * builder.c: a tree from entries in order, bottom-up.
 *
 * Entries gather until they fill a leaf to 15/16; finished leaves gather in the
 * level above until they fill an inner node, and so on. Nothing is linked to the
 * tree before yn_builder_finish, so a failure leaves an empty tree.
 */
#include <assert.h>
#include <math.h>

#include "core/tree.h"

#define FANOUT_FILLED (YN_TREE_FANOUT * 15 / 16 < 2 ? 2 : YN_TREE_FANOUT * 15 / 16)

struct yn_builder {
    struct yn_tree *tree;
    struct yn_item items[YN_LEAF_ENTRIES_MAX];
    char wires[YN_LEAF_ENTRIES_MAX * (YN_MEMBER_INLINE_MAX + 8)];
    size_t n_items, wires_len;
    struct yn_inner *levels[YN_TREE_DEPTH_MAX]; /* being filled, one a level */
    struct yn_node *single; /* the only leaf so far, in no inner node yet */
    size_t count;
    struct yn_entry last; /* the entry added last */
};

struct yn_builder *yn_builder_new(struct yn_tree *tree)
{
    struct yn_builder *builder = yn_mem_take(&tree->mem, sizeof *builder);
    if (builder == NULL)
        return NULL;
    assert(tree->live.root == NULL);
    builder->tree = tree;
    builder->n_items = builder->wires_len = builder->count = 0;
    builder->single = NULL;
    memset(builder->levels, 0, sizeof builder->levels);
    return builder;
}

static void inner_append(struct yn_inner *inner, struct yn_node *node)
{
    struct yn_record record = yn_record_of(node);
    yn_inner_set(inner, inner->head.n++, &record);
}

static bool is_full(const struct yn_inner *inner)
{
    return inner->head.n >= FANOUT_FILLED;
}

/* Hands a finished node of level `level` - 1 to the level above it. A full inner node
 * there goes up itself, and so on; the nodes that take their places are allocated first,
 * so that a failure leaves everything where it was. */
static enum yn_status push_node(struct yn_builder *builder, struct yn_node *node,
                                size_t level)
{
    struct yn_tree *tree = builder->tree;
    struct yn_inner *fresh[YN_TREE_DEPTH_MAX];
    size_t top = level;
    while (builder->levels[top] != NULL && is_full(builder->levels[top]))
        top++;
    size_t end = builder->levels[top] == NULL ? top + 1 : top;
    assert(end < YN_TREE_DEPTH_MAX);
    for (size_t l = level; l < end; l++) {
        fresh[l] = yn_mem_take(&tree->mem, sizeof *fresh[l]);
        if (fresh[l] == NULL) {
            while (l-- > level)
                yn_mem_give(&tree->mem, fresh[l], sizeof *fresh[l]);
            return YN_ENOMEM;
        }
        fresh[l]->head = (struct yn_node){
            .birth = tree->epoch, .level = (uint8_t)l, .cap = (uint32_t)sizeof *fresh[l]};
    }
    for (size_t l = level; node != NULL; l++) {
        struct yn_inner *full = NULL;
        if (l < end) {
            full = builder->levels[l];
            builder->levels[l] = fresh[l];
        }
        inner_append(builder->levels[l], node);
        node = full != NULL ? &full->head : NULL;
    }
    return YN_OK;
}

static void free_node(void *ctx, struct yn_node *node)
{
    struct yn_tree *tree = ctx;
    if (node->level == YN_LEVEL_LONG)
        yn_tree_long_free(tree, (struct yn_long *)(void *)node);
    else
        yn_mem_give(&tree->mem, node, node->cap);
}

static void subtree_free(struct yn_tree *tree, struct yn_node *node)
{
    yn_subtree_visit(node, free_node, tree);
}

static enum yn_status flush_leaf(struct yn_builder *builder, bool is_last)
{
    struct yn_leaf_plan plan;
    bool is_only = is_last && builder->single == NULL && builder->levels[1] == NULL;
    yn_leaf_plan(builder->items, builder->n_items, &plan);
    size_t step = is_only || plan.size > YN_LEAF_BYTES ? 64 : YN_LEAF_BYTES;
    size_t cap = (plan.size + step - 1) / step * step;
    struct yn_leaf *leaf = yn_mem_take(&builder->tree->mem, cap);
    if (leaf == NULL)
        return YN_ENOMEM;
    yn_leaf_pack(leaf, cap, builder->tree->epoch, builder->items, &plan);
    builder->n_items = builder->wires_len = 0;
    if (is_only) {
        builder->single = &leaf->head;
        return YN_OK;
    }
    enum yn_status status = push_node(builder, &leaf->head, 1);
    if (status != YN_OK)
        subtree_free(builder->tree, &leaf->head);
    return status;
}

/* What keeps an entry from being the next one, or YN_OK. */
static enum yn_status check_next(const struct yn_builder *builder, struct yn_bytes member,
                                 double score)
{
    const struct yn_entry *last = &builder->last;
    if (isnan(score))
        return YN_ENAN;
    if (member.len > YN_MEMBER_MAX)
        return YN_ERANGE;
    if (builder->count > 0 &&
        (last->score > score ||
         (last->score == score && yn_bytes_compare(last->member, member) >= 0)))
        return YN_EORDER;
    return YN_OK;
}

enum yn_status yn_builder_add(struct yn_builder *builder, struct yn_bytes member,
                              double score)
{
    enum yn_status checked = check_next(builder, member, score);
    if (checked != YN_OK)
        return checked;
    bool is_long = member.len > YN_MEMBER_INLINE_MAX;
    size_t wire_len = is_long ? YN_LONG_ENTRY_LEN : yn_wire_len(member.len);
    size_t used = sizeof(struct yn_leaf) + builder->wires_len + 8 * builder->n_items;
    size_t n = builder->n_items;
    if (n == YN_LEAF_ENTRIES_MAX || (n >= YN_LEAF_ENTRIES_MIN * 15 / 16 &&
                                     used + wire_len + 8 > YN_LEAF_BYTES * 15 / 16)) {
        enum yn_status status = flush_leaf(builder, false);
        if (status != YN_OK)
            return status;
    }
    struct yn_item *item = &builder->items[builder->n_items];
    char *wire = builder->wires + builder->wires_len;
    if (is_long) {
        struct yn_long *block = yn_tree_long_new(builder->tree, member);
        if (block == NULL)
            return YN_ENOMEM;
        wire[0] = 0;
        memcpy(wire + 1, &block, sizeof block);
    } else {
        yn_wire_format(member, wire);
    }
    yn_item_set_score(item, score);
    item->wire = wire;
    item->wire_len = (uint32_t)wire_len;
    builder->wires_len += wire_len;
    builder->n_items++;
    builder->count++;
    builder->last = (struct yn_entry){member, score};
    return YN_OK;
}

/* Gives a copied leaf blocks of its own for its long members. Returns false, with none
 * made, when memory is out. */
static bool copy_long_members(struct yn_tree *tree, struct yn_leaf *leaf)
{
    for (size_t i = 0; leaf->n_long > 0 && i < leaf->head.n; i++) {
        char *entry = yn_leaf_wires(leaf) + yn_leaf_offset(leaf, i);
        if (!yn_entry_is_long(entry))
            continue;
        struct yn_long *block = yn_tree_long_new(tree, yn_leaf_member(leaf, i));
        if (block == NULL) {
            while (i-- > 0) {
                const char *made = yn_leaf_wires(leaf) + yn_leaf_offset(leaf, i);
                if (yn_entry_is_long(made))
                    yn_tree_long_free(tree, yn_entry_long(made));
            }
            return false;
        }
        memcpy(entry + 1, &block, sizeof block);
    }
    return true;
}

enum yn_status yn_builder_add_leaf(struct yn_builder *builder, const struct yn_leaf *leaf)
{
    struct yn_tree *tree = builder->tree;
    size_t n = leaf->head.n;
    enum yn_status status =
        check_next(builder, yn_leaf_member(leaf, 0), yn_leaf_score(leaf, 0));
    if (status == YN_OK && builder->n_items > 0)
        status = flush_leaf(builder, false);
    if (status != YN_OK)
        return status;
    struct yn_leaf *copy = yn_mem_take(&tree->mem, leaf->head.cap);
    if (copy == NULL)
        return YN_ENOMEM;
    /* without the head: another thread may be retiring the leaf that a view shows */
    copy->head = (struct yn_node){.birth = tree->epoch,
                                  .level = leaf->head.level,
                                  .format = leaf->head.format,
                                  .n = leaf->head.n,
                                  .cap = leaf->head.cap};
    memcpy((char *)copy + sizeof copy->head, (const char *)leaf + sizeof leaf->head,
           yn_leaf_used(leaf) - sizeof leaf->head);
    if (!copy_long_members(tree, copy)) {
        yn_mem_give(&tree->mem, copy, copy->head.cap);
        return YN_ENOMEM;
    }
    status = push_node(builder, &copy->head, 1);
    if (status != YN_OK) {
        subtree_free(tree, &copy->head);
        return status;
    }
    builder->count += n;
    builder->last =
        (struct yn_entry){yn_leaf_member(leaf, n - 1), yn_leaf_score(leaf, n - 1)};
    return YN_OK;
}

enum yn_status yn_builder_finish(struct yn_builder *builder)
{
    struct yn_tree *tree = builder->tree;
    if (builder->count == 0)
        return YN_OK;
    if (builder->n_items > 0) {
        enum yn_status status = flush_leaf(builder, true);
        if (status != YN_OK)
            return status;
    }
    struct yn_node *root = builder->single;
    for (size_t level = 1; level < YN_TREE_DEPTH_MAX; level++) {
        struct yn_inner *inner = builder->levels[level];
        if (inner == NULL)
            break;
        builder->levels[level] = NULL;
        root = &inner->head;
        if (level + 1 < YN_TREE_DEPTH_MAX && builder->levels[level + 1] != NULL) {
            enum yn_status status = push_node(builder, root, level + 1);
            if (status != YN_OK) {
                subtree_free(tree, root);
                return status;
            }
        }
    }
    while (root->level > 0 && root->n == 1) {
        struct yn_node *child = yn_as_inner(root)->child[0];
        yn_mem_give(&tree->mem, root, root->cap);
        root = child;
    }
    builder->single = NULL;
    tree->live.root = root;
    tree->live.count = builder->count;
    builder->n_items = 0;
    return YN_OK;
}

void yn_builder_free(struct yn_builder *builder)
{
    if (builder == NULL)
        return;
    struct yn_tree *tree = builder->tree;
    for (size_t i = 0; i < builder->n_items; i++)
        if (yn_entry_is_long(builder->items[i].wire))
            yn_tree_long_free(tree, yn_entry_long(builder->items[i].wire));
    for (size_t level = 0; level < YN_TREE_DEPTH_MAX; level++)
        if (builder->levels[level] != NULL)
            subtree_free(tree, &builder->levels[level]->head);
    if (builder->single != NULL)
        subtree_free(tree, builder->single);
    yn_mem_give(&tree->mem, builder, sizeof *builder);
}
