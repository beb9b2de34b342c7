/*
 * tree.h: the tree of leaves, its frozen views, and places in it.
 *
 * Entries are addressed by (key, member), see leaf.h. The tree owns its nodes and
 * the blocks of long members. Functions that change it may fail only for want of
 * memory, and then leave the entries as they were.
 */
#ifndef YN_TREE_H
#define YN_TREE_H

#include "core/leaf.h"
#include "core/mem.h"

/* Per child: first key, rectangle, number of entries below. */
struct yn_inner {
    struct yn_node head;
    uint64_t key[YN_TREE_FANOUT];
    struct yn_rects rects;
    uint64_t count[YN_TREE_FANOUT];
    struct yn_node *child[YN_TREE_FANOUT];
};

/* What readers need; the set's live view and every frozen one. */
struct yn_view {
    struct yn_node *root; /* NULL: empty */
    size_t count;
    uint64_t epoch; /* frozen: shows nodes born up to here */
    struct yn_tree *tree;
    struct yn_view *older, *newer;
    struct yn_node *retired; /* what this view, and no newer one, still needs */
    size_t n_retired, retired_bytes;
};

struct yn_tree {
    struct yn_view live;
    struct yn_mem mem;
    uint64_t epoch;         /* nodes made now are born in it */
    struct yn_view *newest; /* frozen views, newest first */
    uint64_t n_dropped;     /* nodes that have left the live tree; while it is the same,
                               paths lead through nodes that are there */
};

/* The way from the root to an entry or to where one would be. */
struct yn_path {
    int depth; /* inner nodes on the way */
    struct yn_inner *inner[YN_TREE_DEPTH_MAX];
    uint16_t slot[YN_TREE_DEPTH_MAX];
    struct yn_leaf *leaf; /* NULL: empty tree */
    size_t i;             /* entry; may be leaf->head.n when not found */
    bool is_found;
};

void yn_tree_init(struct yn_tree *tree, const struct yn_options *options);
/* Drops every entry. What frozen views need stays. */
void yn_tree_clear(struct yn_tree *tree);

/* Takes a node, or the block of a long member, that the live tree no longer uses: frees
 * it, or leaves it to the newest view, when that shows it. */
void yn_tree_drop(struct yn_tree *tree, struct yn_node *node);

/* Finds (key, member), or where it would be inserted. */
void yn_tree_find(const struct yn_view *view, uint64_t key, struct yn_bytes member,
                  struct yn_path *out_path);
/* Finds (key, member). Returns whether it is there; if not, the path is of no use. Faster
 * than yn_tree_find when it is. */
bool yn_tree_find_entry(const struct yn_view *view, uint64_t key, struct yn_bytes member,
                        struct yn_path *out_path);
/* Number of entries before the path's. */
size_t yn_tree_rank(const struct yn_path *path);

/* Whether the path's leaf, or one next to it, is full of this one key: its cell is
 * crowded, see dict.c. */
bool yn_path_is_crowded(const struct yn_path *path, uint64_t key);

/* Inserts the item at a path just found. The path is stale afterwards. */
enum yn_status yn_tree_insert(struct yn_tree *tree, struct yn_path *path,
                              const struct yn_item *item);
/* Removes the entry at the path. The block of a long member is left to the caller. */
enum yn_status yn_tree_remove(struct yn_tree *tree, struct yn_path *path);
/* Gives the entry at the path another score in place when it stays in its leaf, not at
 * its ends. Returns false, nothing changed, when that is not possible. */
bool yn_tree_move(struct yn_tree *tree, struct yn_path *path, const struct yn_item *item);

/* Joins the path's leaf, and the nodes above it, with their neighbours where both are
 * small. For room only: without memory nothing happens. The path is stale afterwards. */
void yn_tree_tidy(struct yn_tree *tree, struct yn_path *path);

/*
 * Removes the entries of ranks first .. first+n-1 (n > 0, in the tree) in two steps, see
 * tree_cut.c. The first makes what will be left, shown by *out_left, and changes nothing:
 * YN_OK or YN_ENOMEM. The second, which cannot fail, puts it in the tree's place and
 * drops what was removed, long members included.
 */
enum yn_status yn_tree_cut_begin(struct yn_tree *tree, size_t first, size_t n,
                                 struct yn_view *out_left);
void yn_tree_cut_end(struct yn_tree *tree, size_t first, size_t n,
                     const struct yn_view *left);

/*
 * Finds entries with these keys, n (at most YN_AHEAD_MAX) of them side by side: each step
 * down is made for all keys before the next one, and what that will read is asked for
 * early, so that many misses of the cache take little longer than one. Of several entries
 * with a key it is the first one in the last leaf of them; where there is none, i is
 * leaf->head.n. The bytes of the entry are on their way. The tree is not empty.
 */
#define YN_AHEAD_MAX 16
struct yn_place {
    const struct yn_leaf *leaf;
    size_t i;
};
void yn_tree_seek_many(const struct yn_view *view, const uint64_t *keys, size_t n,
                       struct yn_place *out_places);
/* The same for entries that are to be put there: only the leaves are found, all of each
 * is asked for, and the ways to them are kept (i is 0). */
void yn_tree_seek_leaves(const struct yn_view *view, const uint64_t *keys, size_t n,
                         struct yn_path *out_paths);
/* Finds (key, member) in the leaf of a path that leads through nodes of the live tree.
 * Returns whether it stands, or would stand, between two entries of the leaf, so that
 * this is its place; if not, the path is of no use. */
bool yn_tree_find_between(struct yn_path *path, uint64_t key, struct yn_bytes member);

/* Visits the members with this key until visit returns false. */
typedef bool (*yn_member_fn)(void *ctx, struct yn_bytes member);
void yn_tree_visit_key(const struct yn_view *view, uint64_t key, yn_member_fn visit,
                       void *ctx);

/* Builds the tree of an empty set from entries in strict order, one after the other.
 * After a failure the builder is to be freed, and the tree is still empty. */
struct yn_builder;
struct yn_builder *yn_builder_new(struct yn_tree *tree);
/* Adds the next entry. YN_OK, YN_ENOMEM, or what is wrong with it: YN_ENAN, YN_ERANGE,
 * YN_EORDER. The member's bytes are read once more by the next call. */
enum yn_status yn_builder_add(struct yn_builder *builder, struct yn_bytes member,
                              double score);
/* Adds the entries of another tree's leaf, which come next, as they lie there. What was
 * added before and fills no leaf yet gets one that is smaller. */
enum yn_status yn_builder_add_leaf(struct yn_builder *builder,
                                   const struct yn_leaf *leaf);
/* Adds the entries of ranks first .. first+n-1 of another tree's view, as many as there
 * are; YN_ESTOPPED: `stop` (or NULL) has ended it. */
enum yn_status yn_builder_add_range(struct yn_builder *builder,
                                    const struct yn_view *view, size_t first, size_t n,
                                    const struct yn_stop *stop);
enum yn_status yn_builder_finish(struct yn_builder *builder); /* links the tree */
void yn_builder_free(struct yn_builder *builder);

/* A leaf of n items, in a block of the size that leaves of this tree have (is_only: it is
 * the only one); NULL: out of memory. The items must outlive the call only. */
struct yn_leaf *yn_tree_leaf_new(struct yn_tree *tree, const struct yn_item *items,
                                 size_t n, bool is_only);

/* A block for a long member, in wire form; NULL: out of memory. */
struct yn_long *yn_tree_long_new(struct yn_tree *tree, struct yn_bytes member);
/* Frees it, or retires it while frozen views show it. */
void yn_tree_long_free(struct yn_tree *tree, struct yn_long *block);

/* Number of entries before the first with a key >= key (or > key with or_equal). */
size_t yn_tree_count_below(const struct yn_view *view, uint64_t key, bool or_equal);

struct yn_view *yn_tree_freeze(struct yn_tree *tree);
/* Unlinks the view and frees it; what only it needed is the caller's. */
struct yn_garbage yn_tree_view_release(struct yn_view *view);

/* A child as its parent sees it. */
struct yn_record {
    uint64_t key;
    struct yn_rect rect;
    uint64_t count;
    struct yn_node *child;
};
struct yn_record yn_record_of(struct yn_node *node);

static inline void yn_inner_set(struct yn_inner *inner, size_t i,
                                const struct yn_record *record)
{
    inner->key[i] = record->key;
    yn_rects_set(&inner->rects, i, &record->rect);
    inner->count[i] = record->count;
    inner->child[i] = record->child;
}

static inline struct yn_inner *yn_as_inner(const struct yn_node *node)
{
    return (struct yn_inner *)(void *)(uintptr_t)node;
}

static inline struct yn_leaf *yn_as_leaf(const struct yn_node *node)
{
    return (struct yn_leaf *)(void *)(uintptr_t)node;
}

/* Calls `visit` for every node of a subtree and every block of a long member in it. */
typedef void (*yn_node_fn)(void *ctx, struct yn_node *node);
void yn_subtree_visit(struct yn_node *node, yn_node_fn visit, void *ctx);

/* First leaf of a subtree. */
const struct yn_leaf *yn_node_first_leaf(const struct yn_node *node);

/* Verifies the structure; NULL or what is wrong. */
const char *yn_tree_check(const struct yn_tree *tree);

#endif
