/*
 * tree.c: a B+ tree of leaf blocks in (key, member) order, with rectangles.
 *
 * Idea. Inner nodes keep for every child its first key, its bounding rectangle
 * and its number of entries, so that one structure answers order, rank and
 * space. The first *member* is not copied into inner nodes: among children that
 * start with the same key, a descent looks at the first entry below them. That
 * costs something only where many members share one score, and there it keeps
 * the tree logarithmic.
 *
 * Invariants (yn_tree_check): all leaves at one depth, none empty; entries in
 * strict order; key, rectangle and count of every child exact; no node younger
 * than the tree's epoch.
 *
 * Splitting. A full leaf first shares with a neighbour; only when three
 * neighbours are full do they become four. Random inserts leave leaves about
 * 85 % full (a plain B-tree: 69 %).
 *
 * Frozen views. Nodes carry the epoch they were born in. Freezing remembers
 * root and epoch and starts a new epoch: O(1). A writer that meets a node which
 * the newest view can see copies it, root first ("own_path"); the old one is
 * retired to that view. When a view goes, what it holds moves on to the next
 * older view that can see it, or is freed. No reference counts, no work for
 * readers.
 *
 * Out of memory. Everything a change needs is allocated before anything is
 * linked (see grow_plan), so failure leaves the entries as they were. Merging after
 * a removal is optional work: without memory it is skipped.
 *
 * Rejected: parent and sibling pointers (a frozen view shares nodes, and a
 * shared node cannot point to two parents); separators with members in them
 * (variable length in the hottest node for a rare case); one rectangle a leaf
 * kept loosely (an exact one can be checked, and prunes better).
 */
#include "core/tree.h"

#include <assert.h>
#include <stddef.h>

#define ITEMS_MAX (3 * YN_LEAF_ENTRIES_MAX + 1)

/* ---- nodes and epochs ---- */

static bool is_shared(const struct yn_tree *tree, const struct yn_node *node)
{
    return tree->newest != NULL && node->birth <= tree->newest->epoch;
}

static size_t node_size(const struct yn_node *node)
{
    if (node->level == YN_LEVEL_LONG)
        return sizeof(struct yn_long) +
               ((const struct yn_long *)(const void *)node)->wire_len;
    return node->cap;
}

static void retire(struct yn_view *view, struct yn_node *node)
{
    node->retired_next = view->retired;
    view->retired = node;
    view->n_retired++;
    view->retired_bytes += node_size(node);
}

void yn_tree_drop(struct yn_tree *tree, struct yn_node *node)
{
    tree->n_dropped++;
    if (is_shared(tree, node)) {
        retire(tree->newest, node);
    } else {
        yn_mem_give(&tree->mem, node, node_size(node));
    }
}

static struct yn_inner *inner_new(struct yn_tree *tree, unsigned level)
{
    struct yn_inner *inner = yn_mem_take(&tree->mem, sizeof *inner);
    if (inner != NULL)
        inner->head = (struct yn_node){.birth = tree->epoch,
                                       .level = (uint8_t)level,
                                       .cap = (uint32_t)sizeof *inner};
    return inner;
}

static struct yn_leaf *leaf_new(struct yn_tree *tree, size_t cap,
                                const struct yn_item *items,
                                const struct yn_leaf_plan *plan)
{
    struct yn_leaf *leaf = yn_mem_take(&tree->mem, cap);
    if (leaf != NULL)
        yn_leaf_pack(leaf, cap, tree->epoch, items, plan);
    return leaf;
}

const struct yn_leaf *yn_node_first_leaf(const struct yn_node *node)
{
    while (node->level > 0)
        node = yn_as_inner(node)->child[0];
    return yn_as_leaf(node);
}

struct yn_record yn_record_of(struct yn_node *node)
{
    struct yn_record record = {.child = node};
    if (node->level == 0) {
        const struct yn_leaf *leaf = yn_as_leaf(node);
        record.key = yn_leaf_key(leaf, 0);
        record.rect = leaf->rect;
        record.count = node->n;
        return record;
    }
    const struct yn_inner *inner = yn_as_inner(node);
    record.key = inner->key[0];
    record.rect = yn_rects_union(&inner->rects, node->n);
    for (size_t i = 0; i < node->n; i++)
        record.count += inner->count[i];
    return record;
}

static struct yn_record inner_get(const struct yn_inner *inner, size_t i)
{
    return (struct yn_record){inner->key[i], yn_rects_get(&inner->rects, i),
                              inner->count[i], inner->child[i]};
}

static void inner_fill(struct yn_inner *inner, const struct yn_record *records, size_t n)
{
    inner->head.n = (uint16_t)n;
    for (size_t i = 0; i < n; i++)
        yn_inner_set(inner, i, &records[i]);
}

/* ---- life ---- */

void yn_tree_init(struct yn_tree *tree, const struct yn_options *options)
{
    memset(tree, 0, sizeof *tree);
    yn_mem_init(&tree->mem, options);
    tree->epoch = 1;
    tree->live.tree = tree;
}

void yn_subtree_visit(struct yn_node *node, yn_node_fn visit, void *ctx)
{
    if (node->level > 0) {
        const struct yn_inner *inner = yn_as_inner(node);
        for (size_t i = 0; i < node->n; i++)
            yn_subtree_visit(inner->child[i], visit, ctx);
    } else {
        const struct yn_leaf *leaf = yn_as_leaf(node);
        for (size_t i = 0; leaf->n_long > 0 && i < node->n; i++) {
            const char *entry = yn_leaf_entry(leaf, i).data;
            if (yn_entry_is_long(entry))
                visit(ctx, &yn_entry_long(entry)->head);
        }
    }
    visit(ctx, node);
}

static void drop_node(void *ctx, struct yn_node *node)
{
    yn_tree_drop(ctx, node);
}

void yn_tree_clear(struct yn_tree *tree)
{
    if (tree->live.root != NULL)
        yn_subtree_visit(tree->live.root, drop_node, tree);
    tree->live.root = NULL;
    tree->live.count = 0;
}

struct yn_long *yn_tree_long_new(struct yn_tree *tree, struct yn_bytes member)
{
    size_t wire_len = yn_wire_len(member.len);
    struct yn_long *block = yn_mem_take(&tree->mem, sizeof *block + wire_len);
    if (block == NULL)
        return NULL;
    block->head = (struct yn_node){.birth = tree->epoch, .level = YN_LEVEL_LONG};
    block->member_len = member.len;
    block->wire_len = wire_len;
    yn_wire_format(member, block->wire);
    return block;
}

void yn_tree_long_free(struct yn_tree *tree, struct yn_long *block)
{
    yn_tree_drop(tree, &block->head);
}

/* ---- descent ---- */

/* Number of children whose first key is not above `key`. No branches but the loop's: half
 * of them would be mispredicted. */
static size_t keys_up_to(const struct yn_inner *inner, uint64_t key)
{
    size_t at = 0;
    for (size_t left = inner->head.n; left > 0;) {
        size_t half = (left + 1) / 2;
        size_t is_passed = inner->key[at + half - 1] <= key;
        at += half & (0 - is_passed);
        left /= 2;
    }
    return at;
}

/* The last child that starts at or before (key, member); 0 when none does. */
static size_t inner_find(const struct yn_inner *inner, uint64_t key,
                         struct yn_bytes member)
{
    size_t above = keys_up_to(inner, key);
    if (above == 0)
        return 0;
    if (inner->key[above - 1] < key)
        return above - 1;
    /* some children start with this very key: their first members decide */
    size_t low = 0, high = above;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (inner->key[middle] < key) {
            low = middle + 1;
            continue;
        }
        const struct yn_leaf *first = yn_node_first_leaf(inner->child[middle]);
        if (yn_bytes_compare(yn_leaf_member(first, 0), member) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? low - 1 : 0;
}

/* Asks for the parts of an inner node that a descent reads. */
static void inner_prefetch(const struct yn_node *inner)
{
    for (size_t at = 0; at < offsetof(struct yn_inner, rects); at += 64)
        __builtin_prefetch((const char *)inner + at);
}

/* Asks for the first bytes of a leaf at once: header, positions and offsets, of which a
 * search reads lines here and there, or all of it. */
#define LEAF_SEARCHED 768
static void leaf_prefetch(const struct yn_node *leaf, size_t n_bytes)
{
    for (size_t at = 0; at < n_bytes; at += 64)
        __builtin_prefetch((const char *)leaf + at);
}

/* Goes down to the leaf where (key, member) is or would be. False: the tree is empty. */
static bool descend(const struct yn_view *view, uint64_t key, struct yn_bytes member,
                    struct yn_path *out_path)
{
    struct yn_node *node = view->root;
    out_path->depth = 0;
    out_path->leaf = NULL;
    out_path->i = 0;
    out_path->is_found = false;
    if (node == NULL)
        return false;
    while (node->level > 0) {
        struct yn_inner *inner = yn_as_inner(node);
        size_t slot = inner_find(inner, key, member);
        /* 16 levels of splits take 32^15 leaves; tiny nodes of a test could get there */
        assert(out_path->depth < YN_TREE_DEPTH_MAX);
        out_path->inner[out_path->depth] = inner;
        out_path->slot[out_path->depth++] = (uint16_t)slot;
        node = inner->child[slot];
    }
    /* for speed only: the search in the leaf would miss the cache at every step */
    leaf_prefetch(node, LEAF_SEARCHED);
    out_path->leaf = yn_as_leaf(node);
    return true;
}

void yn_tree_find(const struct yn_view *view, uint64_t key, struct yn_bytes member,
                  struct yn_path *out_path)
{
    if (descend(view, key, member, out_path))
        out_path->i =
            yn_leaf_lower_bound(out_path->leaf, key, member, &out_path->is_found);
}

bool yn_tree_find_entry(const struct yn_view *view, uint64_t key, struct yn_bytes member,
                        struct yn_path *out_path)
{
    if (!descend(view, key, member, out_path))
        return false;
    const struct yn_leaf *leaf = out_path->leaf;
    size_t i = yn_leaf_find_key(leaf, key);
    if (i == leaf->head.n)
        return false;
    out_path->i = i;
    out_path->is_found = yn_bytes_compare(yn_leaf_member(leaf, i), member) == 0;
    if (!out_path->is_found) /* others share its key */
        out_path->i = yn_leaf_lower_bound(leaf, key, member, &out_path->is_found);
    return out_path->is_found;
}

bool yn_path_is_crowded(const struct yn_path *path, uint64_t key)
{
    const struct yn_leaf *leaf = path->leaf;
    if (leaf == NULL)
        return false;
    bool is_at_start = yn_leaf_key(leaf, 0) == key;
    if (is_at_start && yn_leaf_key(leaf, leaf->head.n - 1u) == key)
        return leaf->head.n >= YN_LEAF_ENTRIES_MIN;
    /* at an end of the crowd: a neighbour tells. Members come there too, and a crowd that
     * grows has had very many ends. */
    if (path->depth == 0)
        return false;
    const struct yn_inner *parent = path->inner[path->depth - 1];
    size_t slot = path->slot[path->depth - 1], n = parent->head.n;
    if (is_at_start && slot > 0 && parent->key[slot - 1] == key)
        return true;
    return slot + 1 < n && parent->key[slot + 1] == key &&
           (slot + 2 == n || parent->key[slot + 2] == key);
}

size_t yn_tree_rank(const struct yn_path *path)
{
    size_t rank = path->i;
    for (int d = 0; d < path->depth; d++)
        for (size_t i = 0; i < path->slot[d]; i++)
            rank += path->inner[d]->count[i];
    return rank;
}

size_t yn_tree_count_below(const struct yn_view *view, uint64_t key, bool or_equal)
{
    const struct yn_node *node = view->root;
    size_t rank = 0;
    if (node == NULL)
        return 0;
    while (node->level > 0) {
        /* go into the last child that starts before the place looked for */
        const struct yn_inner *inner = yn_as_inner(node);
        size_t slot = 0;
        while (slot + 1 < node->n &&
               (inner->key[slot + 1] < key || (or_equal && inner->key[slot + 1] == key)))
            rank += inner->count[slot++];
        node = inner->child[slot];
    }
    return rank + yn_leaf_count_below(yn_as_leaf(node), key, or_equal);
}

/* ---- copying what views show ---- */

static struct yn_node *node_copy(struct yn_tree *tree, const struct yn_node *node)
{
    struct yn_node *copy = yn_mem_take(&tree->mem, node->cap);
    if (copy != NULL) {
        memcpy(copy, node, node->cap);
        copy->birth = tree->epoch;
        copy->retired_next = NULL;
    }
    return copy;
}

static void link_child(struct yn_tree *tree, struct yn_path *path, int depth,
                       struct yn_node *node)
{
    if (depth == 0)
        tree->live.root = node;
    else
        path->inner[depth - 1]->child[path->slot[depth - 1]] = node;
}

/* Replaces every node on the path that a view can see by a copy. Each copy is linked as
 * soon as it is made, so failure half-way leaves a whole tree. */
static bool own_path(struct yn_tree *tree, struct yn_path *path)
{
    if (tree->newest == NULL)
        return true;
    for (int d = 0; d <= path->depth; d++) {
        struct yn_node *node =
            d < path->depth ? &path->inner[d]->head : &path->leaf->head;
        if (!is_shared(tree, node))
            continue;
        struct yn_node *copy = node_copy(tree, node);
        if (copy == NULL)
            return false;
        link_child(tree, path, d, copy);
        yn_tree_drop(tree, node);
        if (d < path->depth)
            path->inner[d] = yn_as_inner(copy);
        else
            path->leaf = yn_as_leaf(copy);
    }
    return true;
}

/* ---- replacing children ---- */

/* Nodes that a replacement may need, taken before anything is changed. */
struct reserve {
    struct yn_inner *node[YN_TREE_DEPTH_MAX + 1];
    int n;
};

static void reserve_free(struct yn_tree *tree, struct reserve *reserve)
{
    while (reserve->n > 0)
        yn_mem_give(&tree->mem, reserve->node[--reserve->n], sizeof(struct yn_inner));
}

/* Takes the inner nodes needed when the lowest inner node of the path gets one child
 * more: one for each full ancestor in a row, one for a new root. */
static bool reserve_take(struct yn_tree *tree, const struct yn_path *path,
                         struct reserve *reserve)
{
    int n = 0, d = path->depth;
    while (d > 0 && path->inner[d - 1]->head.n == YN_TREE_FANOUT) {
        n++;
        d--;
    }
    if (d == 0)
        n++;
    reserve->n = 0;
    while (reserve->n < n) {
        struct yn_inner *inner = inner_new(tree, 1);
        if (inner == NULL) {
            reserve_free(tree, reserve);
            return false;
        }
        reserve->node[reserve->n++] = inner;
    }
    return true;
}

static bool is_recorded(const struct yn_inner *inner, size_t i,
                        const struct yn_record *record)
{
    struct yn_rect rect = yn_rects_get(&inner->rects, i);
    return inner->key[i] == record->key && inner->count[i] == record->count &&
           inner->child[i] == record->child &&
           memcmp(&rect, &record->rect, sizeof rect) == 0;
}

/* Writes the exact records of the path's nodes into their parents, from inner node
 * `depth`
 * - 1 up to the root. */
static void refresh_up(struct yn_path *path, int depth)
{
    for (int d = depth - 1; d > 0; d--) {
        struct yn_record record = yn_record_of(&path->inner[d]->head);
        if (is_recorded(path->inner[d - 1], path->slot[d - 1], &record))
            return;
        yn_inner_set(path->inner[d - 1], path->slot[d - 1], &record);
    }
}

/*
 * Replaces the children [slot, slot + n_old) of the path's inner node at `depth` - 1 by
 * n_new records (n_new <= n_old + 1), splitting ancestors as needed with nodes from the
 * reserve. At depth 0 the records become the root.
 */
static void replace_children(struct yn_tree *tree, struct yn_path *path, size_t slot,
                             size_t n_old, struct yn_record *records, size_t n_new,
                             struct reserve *reserve)
{
    struct yn_record all[YN_TREE_FANOUT + 1], pair[2];
    int d = path->depth;
    for (; d > 0; d--) {
        struct yn_inner *inner = path->inner[d - 1];
        size_t n = 0;
        for (size_t i = 0; i < slot; i++)
            all[n++] = inner_get(inner, i);
        for (size_t i = 0; i < n_new; i++)
            all[n++] = records[i];
        for (size_t i = slot + n_old; i < inner->head.n; i++)
            all[n++] = inner_get(inner, i);
        if (n <= YN_TREE_FANOUT) {
            inner_fill(inner, all, n);
            refresh_up(path, d);
            return;
        }
        struct yn_inner *right = reserve->node[--reserve->n];
        right->head.level = inner->head.level;
        inner_fill(inner, all, n / 2);
        inner_fill(right, all + n / 2, n - n / 2);
        pair[0] = yn_record_of(&inner->head);
        pair[1] = yn_record_of(&right->head);
        records = pair;
        n_new = 2;
        n_old = 1;
        slot = d > 1 ? path->slot[d - 2] : 0;
    }
    if (n_new == 1) {
        tree->live.root = records[0].child;
        return;
    }
    struct yn_inner *root = reserve->node[--reserve->n];
    root->head.level = (uint8_t)(records[0].child->level + 1);
    inner_fill(root, records, n_new);
    tree->live.root = &root->head;
}

/* How large a block for this plan is: leaves of a larger set have one size, a set of one
 * leaf grows by little. */
static size_t leaf_cap(size_t size, bool is_only)
{
    size_t step = is_only || size > YN_LEAF_BYTES ? 64 : YN_LEAF_BYTES;
    size_t cap = (size + step - 1) / step * step;
    if (size > YN_LEAF_BYTES)
        cap += cap / 8 / 64 * 64; /* long members: grow by an eighth */
    return cap;
}

struct yn_leaf *yn_tree_leaf_new(struct yn_tree *tree, const struct yn_item *items,
                                 size_t n, bool is_only)
{
    struct yn_leaf_plan plan;
    yn_leaf_plan(items, n, &plan);
    return leaf_new(tree, leaf_cap(plan.size, is_only), items, &plan);
}

/* ---- insert ---- */

/* Neighbouring leaves to be packed anew, with one item more. */
struct repack {
    size_t slot, n_old, n_new; /* in the parent; the path's leaf is among them */
    struct yn_leaf *old[3];
    struct yn_item items[ITEMS_MAX];
    size_t n_items;
    struct yn_record records[4];
};

static size_t content_size(const struct yn_leaf *leaf)
{
    return yn_leaf_used(leaf) - sizeof *leaf;
}

static size_t item_size(const struct yn_item *item)
{
    return item->wire_len +
           yn_leaf_position_size(item->is_cell ? YN_LEAF_WIDE : YN_LEAF_GENERAL);
}

static bool is_too_large(const struct yn_leaf_plan *plan)
{
    return plan->size > YN_LEAF_BYTES && plan->n > YN_LEAF_ENTRIES_MIN;
}

/* Chooses which siblings take part, and into how many leaves they go. */
static void choose_split(const struct yn_path *path, size_t added, struct repack *repack)
{
    const size_t room = YN_LEAF_BYTES - sizeof(struct yn_leaf);
    repack->slot = 0;
    repack->n_old = 1;
    repack->n_new = 2;
    repack->old[0] = path->leaf;
    if (path->depth == 0)
        return;
    const struct yn_inner *parent = path->inner[path->depth - 1];
    size_t slot = path->slot[path->depth - 1], n = parent->head.n;
    size_t first = slot == 0 ? 0 : slot + 1 == n ? slot - (n > 2 ? 2 : 1) : slot - 1;
    size_t n_old = n - first < 3 ? n - first : 3;
    size_t total = added, n_items = 1;
    for (size_t i = 0; i < n_old; i++) {
        repack->old[i] = yn_as_leaf(parent->child[first + i]);
        total += content_size(repack->old[i]);
        n_items += repack->old[i]->head.n;
    }
    repack->slot = first;
    repack->n_old = n_old;
    /* a leaf of long members may hold so many, whatever their size */
    size_t leaf_room = YN_LEAF_ENTRIES_MIN * (total / n_items);
    if (leaf_room < room)
        leaf_room = room;
    /* sharing is worth it only when it leaves some room, or the next insert is here again
     */
    bool is_shared_out =
        total <= n_old * leaf_room * 15 / 16 && n_items <= n_old * YN_LEAF_ENTRIES_MAX;
    repack->n_new = is_shared_out ? n_old : n_old + 1;
}

/* Packs the items into n_new leaves of about the same size, and none with more entries
 * than a leaf can have (large items may stand in front of many small ones). False: out of
 * memory. */
static bool pack_leaves(struct yn_tree *tree, struct repack *repack)
{
    size_t total = 0, done = 0, made = 0, from = 0;
    for (size_t i = 0; i < repack->n_items; i++)
        total += item_size(&repack->items[i]);
    for (; made < repack->n_new; made++) {
        size_t left = repack->n_new - made - 1; /* leaves after this one */
        size_t to = from, goal = total * (made + 1) / repack->n_new;
        do
            done += item_size(&repack->items[to++]);
        while (to < repack->n_items - left && to - from < YN_LEAF_ENTRIES_MAX &&
               (repack->n_items - to > left * YN_LEAF_ENTRIES_MAX ||
                done + item_size(&repack->items[to]) / 2 < goal));
        struct yn_leaf_plan plan;
        yn_leaf_plan(&repack->items[from], to - from, &plan);
        struct yn_leaf *leaf =
            leaf_new(tree, leaf_cap(plan.size, false), &repack->items[from], &plan);
        if (leaf == NULL)
            break;
        repack->records[made] = yn_record_of(&leaf->head);
        from = to;
    }
    if (made == repack->n_new) {
        assert(from == repack->n_items);
        return true;
    }
    while (made > 0) {
        struct yn_node *node = repack->records[--made].child;
        yn_mem_give(&tree->mem, node, node->cap);
    }
    return false;
}

/* Collects the items of the leaves that take part, with the new one in its place. */
static void collect_items(const struct yn_path *path, const struct yn_item *item,
                          struct repack *repack)
{
    size_t n = 0;
    for (size_t i = 0; i < repack->n_old; i++) {
        const struct yn_leaf *leaf = repack->old[i];
        size_t start = n;
        n += yn_leaf_unpack(leaf, &repack->items[n]);
        if (leaf != path->leaf || item == NULL)
            continue;
        struct yn_item *at = &repack->items[start + path->i];
        memmove(at + 1, at, (size_t)(&repack->items[n] - at) * sizeof *at);
        *at = *item;
        n++;
    }
    repack->n_items = n;
}

static enum yn_status split_insert(struct yn_tree *tree, struct yn_path *path,
                                   const struct yn_item *item)
{
    struct repack repack;
    struct reserve reserve;
    choose_split(path, item_size(item), &repack);
    collect_items(path, item, &repack);
    if (!reserve_take(tree, path, &reserve))
        return YN_ENOMEM;
    if (!pack_leaves(tree, &repack)) {
        reserve_free(tree, &reserve);
        return YN_ENOMEM;
    }
    replace_children(tree, path, repack.slot, repack.n_old, repack.records, repack.n_new,
                     &reserve);
    for (size_t i = 0; i < repack.n_old; i++)
        yn_tree_drop(tree, &repack.old[i]->head);
    reserve_free(tree, &reserve);
    tree->live.count++;
    return YN_OK;
}

/* Counts one entry more on the path, and takes over the leaf's first key and, if it has
 * grown, its rectangle. */
static void note_insert(struct yn_path *path, bool is_wider)
{
    const struct yn_rect *rect = &path->leaf->rect;
    bool is_first = path->i == 0; /* the entry is the first of the subtree */
    uint64_t key = is_first ? yn_leaf_key(path->leaf, 0) : 0;
    for (int d = path->depth - 1; d >= 0; d--) {
        struct yn_inner *inner = path->inner[d];
        size_t slot = path->slot[d];
        inner->count[slot]++;
        if (is_wider) {
            struct yn_rect wider = yn_rects_get(&inner->rects, slot);
            yn_rect_union(&wider, rect);
            yn_rects_set(&inner->rects, slot, &wider);
        }
        if (is_first)
            inner->key[slot] = key;
        is_first &= slot == 0;
    }
}

/* Packs the leaf anew with the item, in a block large enough. */
static enum yn_status repack_leaf(struct yn_tree *tree, struct yn_path *path,
                                  const struct yn_item *items,
                                  const struct yn_leaf_plan *plan)
{
    struct yn_leaf *leaf =
        leaf_new(tree, leaf_cap(plan->size, path->depth == 0), items, plan);
    if (leaf == NULL)
        return YN_ENOMEM;
    struct yn_node *old = &path->leaf->head;
    link_child(tree, path, path->depth, &leaf->head);
    path->leaf = leaf;
    yn_tree_drop(tree, old);
    return YN_OK;
}

static enum yn_status insert_first(struct yn_tree *tree, const struct yn_item *item)
{
    struct yn_leaf_plan plan;
    yn_leaf_plan(item, 1, &plan);
    struct yn_leaf *leaf = leaf_new(tree, leaf_cap(plan.size, true), item, &plan);
    if (leaf == NULL)
        return YN_ENOMEM;
    tree->live.root = &leaf->head;
    tree->live.count = 1;
    return YN_OK;
}

enum yn_status yn_tree_insert(struct yn_tree *tree, struct yn_path *path,
                              const struct yn_item *item)
{
    if (path->leaf == NULL)
        return insert_first(tree, item);
    if (!own_path(tree, path))
        return YN_ENOMEM;
    struct yn_rect before = path->leaf->rect;
    if (!yn_leaf_insert(path->leaf, path->i, item)) {
        struct repack one; /* large: only what is used is set */
        struct yn_leaf_plan plan;
        if (path->leaf->head.n == YN_LEAF_ENTRIES_MAX)
            return split_insert(tree, path, item);
        one.n_old = 1;
        one.old[0] = path->leaf;
        collect_items(path, item, &one);
        yn_leaf_plan(one.items, one.n_items, &plan);
        if (is_too_large(&plan))
            return split_insert(tree, path, item);
        enum yn_status status = repack_leaf(tree, path, one.items, &plan);
        if (status != YN_OK)
            return status;
    }
    note_insert(path, memcmp(&before, &path->leaf->rect, sizeof before) != 0);
    tree->live.count++;
    return YN_OK;
}

/* ---- remove ---- */

/* Writes the leaf's exact record into its parent, and so on up. */
static void note_change(struct yn_path *path)
{
    if (path->depth == 0)
        return;
    struct yn_record record = yn_record_of(&path->leaf->head);
    yn_inner_set(path->inner[path->depth - 1], path->slot[path->depth - 1], &record);
    refresh_up(path, path->depth);
}

static void collapse_root(struct yn_tree *tree)
{
    struct yn_node *root = tree->live.root;
    while (root != NULL && root->level > 0 && root->n == 1) {
        tree->live.root = yn_as_inner(root)->child[0];
        yn_tree_drop(tree, root);
        root = tree->live.root;
    }
}

/* Takes a child out of the inner node at depth - 1; empty ancestors go too. */
static void remove_child(struct yn_tree *tree, struct yn_path *path)
{
    int d = path->depth;
    while (d > 0 && path->inner[d - 1]->head.n == 1) {
        yn_tree_drop(tree, &path->inner[d - 1]->head);
        d--;
    }
    if (d == 0) {
        tree->live.root = NULL;
        return;
    }
    struct yn_inner *inner = path->inner[d - 1];
    for (size_t i = path->slot[d - 1]; i + 1 < inner->head.n; i++) {
        struct yn_record record = inner_get(inner, i + 1);
        yn_inner_set(inner, i, &record);
    }
    inner->head.n--;
    refresh_up(path, d);
    collapse_root(tree);
}

/* Gives back the room that large entries have left behind. Optional, as joining is. */
static void shrink_leaf(struct yn_tree *tree, struct yn_path *path)
{
    struct yn_leaf *leaf = path->leaf;
    if (leaf->head.cap <= YN_LEAF_BYTES || yn_leaf_used(leaf) > YN_LEAF_BYTES * 3 / 4)
        return;
    struct repack one; /* large: only what is used is set */
    struct yn_leaf_plan plan;
    one.n_old = 1;
    one.old[0] = leaf;
    collect_items(path, NULL, &one);
    yn_leaf_plan(one.items, one.n_items, &plan);
    (void)repack_leaf(tree, path, one.items, &plan);
}

/* Joins the path's leaf, which has become small, with a neighbour when both fit into one
 * with room to spare. Optional: without memory nothing happens. */
static void merge_leaf(struct yn_tree *tree, struct yn_path *path)
{
    const size_t room = YN_LEAF_BYTES - sizeof(struct yn_leaf);
    struct yn_inner *parent = path->inner[path->depth - 1];
    size_t slot = path->slot[path->depth - 1];
    if (parent->head.n < 2 || content_size(path->leaf) > room / 3)
        return;
    size_t left = slot == 0 ? 0 : slot - 1;
    struct yn_leaf *a = yn_as_leaf(parent->child[left]),
                   *b = yn_as_leaf(parent->child[left + 1]);
    size_t n = (size_t)a->head.n + b->head.n;
    if (content_size(a) + content_size(b) > room * 3 / 4 || n > YN_LEAF_ENTRIES_MAX)
        return;
    struct repack repack; /* large: only what is used is set */
    repack.n_old = 2;
    repack.n_new = 1;
    repack.old[0] = a;
    repack.old[1] = b;
    collect_items(path, NULL, &repack);
    if (!pack_leaves(tree, &repack))
        return;
    struct reserve none = {.n = 0};
    replace_children(tree, path, left, 2, repack.records, 1, &none);
    yn_tree_drop(tree, &a->head);
    yn_tree_drop(tree, &b->head);
}

/* Joins the inner node at `depth` with its right or left neighbour when both are small.
 */
static void merge_inner(struct yn_tree *tree, struct yn_path *path, int depth)
{
    struct yn_inner *parent = path->inner[depth - 1];
    size_t slot = path->slot[depth - 1];
    if (parent->head.n < 2 || path->inner[depth]->head.n > YN_TREE_FANOUT / 4)
        return;
    size_t left = slot == 0 ? 0 : slot - 1;
    struct yn_inner *a = yn_as_inner(parent->child[left]),
                    *b = yn_as_inner(parent->child[left + 1]);
    if ((size_t)a->head.n + b->head.n > YN_TREE_FANOUT * 3 / 4)
        return;
    struct yn_inner *joined = inner_new(tree, a->head.level);
    if (joined == NULL)
        return;
    inner_fill(joined, NULL, 0);
    for (size_t i = 0; i < a->head.n; i++, joined->head.n++) {
        struct yn_record record = inner_get(a, i);
        yn_inner_set(joined, joined->head.n, &record);
    }
    for (size_t i = 0; i < b->head.n; i++, joined->head.n++) {
        struct yn_record record = inner_get(b, i);
        yn_inner_set(joined, joined->head.n, &record);
    }
    struct yn_record record = yn_record_of(&joined->head);
    struct reserve none = {.n = 0};
    struct yn_path up = *path;
    up.depth = depth;
    replace_children(tree, &up, left, 2, &record, 1, &none);
    yn_tree_drop(tree, &a->head);
    yn_tree_drop(tree, &b->head);
}

/* Joins what has become small on the path, whose nodes are our own. */
static void join_small(struct yn_tree *tree, struct yn_path *path)
{
    if (path->depth > 0)
        merge_leaf(tree, path);
    for (int d = path->depth - 1; d > 0; d--)
        merge_inner(tree, path, d);
    collapse_root(tree);
}

void yn_tree_tidy(struct yn_tree *tree, struct yn_path *path)
{
    if (own_path(tree, path))
        join_small(tree, path);
}

enum yn_status yn_tree_remove(struct yn_tree *tree, struct yn_path *path)
{
    if (!own_path(tree, path))
        return YN_ENOMEM;
    tree->live.count--;
    if (path->leaf->head.n == 1) {
        struct yn_node *old = &path->leaf->head;
        remove_child(tree, path);
        yn_tree_drop(tree, old);
        return YN_OK;
    }
    yn_leaf_remove(path->leaf, path->i);
    shrink_leaf(tree, path);
    note_change(path);
    join_small(tree, path);
    return YN_OK;
}

/* ---- move in place ---- */

bool yn_tree_move(struct yn_tree *tree, struct yn_path *path, const struct yn_item *item)
{
    struct yn_leaf *leaf = path->leaf;
    size_t n = leaf->head.n, i = path->i;
    if (i == 0 || i + 1 == n || is_shared(tree, &leaf->head))
        return false;
    uint64_t key = yn_key_of_score(item->score);
    if (key <= yn_leaf_key(leaf, 0) || key >= yn_leaf_key(leaf, n - 1))
        return false;
    bool is_found;
    size_t to = yn_leaf_lower_bound(leaf, key, yn_leaf_member(leaf, i), &is_found);
    struct yn_rect before = leaf->rect;
    if (!yn_leaf_move(leaf, i, to > i ? to - 1 : to, item))
        return false;
    if (memcmp(&before, &leaf->rect, sizeof before) != 0)
        note_change(path);
    return true;
}

/* ---- visiting ---- */

/* The last child that starts below the key, where its first entry may be; 0 when none
 * does. */
static size_t child_before(const struct yn_inner *inner, uint64_t key)
{
    size_t below = key == 0 ? 0 : keys_up_to(inner, key - 1);
    return below > 0 ? below - 1 : 0;
}

static bool visit_subtree(const struct yn_node *node, uint64_t key, yn_member_fn visit,
                          void *ctx)
{
    if (node->level == 0) {
        const struct yn_leaf *leaf = yn_as_leaf(node);
        size_t i = yn_leaf_count_below(leaf, key, false);
        for (; i < node->n && yn_leaf_key(leaf, i) == key; i++)
            if (!visit(ctx, yn_leaf_member(leaf, i)))
                return false;
        return true;
    }
    const struct yn_inner *inner = yn_as_inner(node);
    for (size_t i = child_before(inner, key); i < node->n && inner->key[i] <= key; i++)
        if (!visit_subtree(inner->child[i], key, visit, ctx))
            return false;
    return true;
}

/* One step down from each node, which are all at one level above 0: chooses the last
 * child that starts at or before each key, then reads the choice of each. */
static void step_down(const struct yn_node **nodes, const uint64_t *keys, size_t n,
                      uint16_t *out_slots)
{
    for (size_t i = 0; i < n; i++) {
        const struct yn_inner *inner = yn_as_inner(nodes[i]);
        size_t up_to = keys_up_to(inner, keys[i]), slot = up_to > 0 ? up_to - 1 : 0;
        __builtin_prefetch(&inner->child[slot]);
        __builtin_prefetch(&inner->count[slot]); /* what an insert will change */
        out_slots[i] = (uint16_t)slot;
    }
    bool is_above_leaves = nodes[0]->level == 1;
    for (size_t i = 0; i < n; i++) {
        nodes[i] = yn_as_inner(nodes[i])->child[out_slots[i]];
        if (is_above_leaves)
            leaf_prefetch(nodes[i], YN_LEAF_BYTES);
        else
            inner_prefetch(nodes[i]);
    }
}

void yn_tree_seek_many(const struct yn_view *view, const uint64_t *keys, size_t n,
                       struct yn_place *out_places)
{
    const struct yn_node *nodes[YN_AHEAD_MAX];
    uint16_t slots[YN_AHEAD_MAX];
    assert(n <= YN_AHEAD_MAX);
    for (size_t i = 0; i < n; i++)
        nodes[i] = view->root;
    while (n > 0 && nodes[0]->level > 0)
        step_down(nodes, keys, n, slots);
    for (size_t i = 0; i < n; i++) {
        const struct yn_leaf *leaf = yn_as_leaf(nodes[i]);
        size_t at = yn_leaf_find_key(leaf, keys[i]);
        if (at < leaf->head.n)
            __builtin_prefetch(yn_leaf_wires(leaf) + yn_leaf_offset(leaf, at));
        out_places[i] = (struct yn_place){leaf, at};
    }
}

void yn_tree_seek_leaves(const struct yn_view *view, const uint64_t *keys, size_t n,
                         struct yn_path *out_paths)
{
    const struct yn_node *nodes[YN_AHEAD_MAX];
    uint16_t slots[YN_AHEAD_MAX];
    int depth = 0;
    assert(n <= YN_AHEAD_MAX);
    for (size_t i = 0; i < n; i++)
        nodes[i] = view->root;
    for (; n > 0 && nodes[0]->level > 0; depth++) {
        assert(depth < YN_TREE_DEPTH_MAX);
        for (size_t i = 0; i < n; i++)
            out_paths[i].inner[depth] = yn_as_inner(nodes[i]);
        step_down(nodes, keys, n, slots);
        for (size_t i = 0; i < n; i++)
            out_paths[i].slot[depth] = slots[i];
    }
    for (size_t i = 0; i < n; i++) {
        out_paths[i].depth = depth;
        out_paths[i].leaf = yn_as_leaf(nodes[i]);
        out_paths[i].i = 0;
        out_paths[i].is_found = false;
    }
}

bool yn_tree_find_between(struct yn_path *path, uint64_t key, struct yn_bytes member)
{
    path->i = yn_leaf_lower_bound(path->leaf, key, member, &path->is_found);
    return path->i > 0 && path->i < path->leaf->head.n;
}

void yn_tree_visit_key(const struct yn_view *view, uint64_t key, yn_member_fn visit,
                       void *ctx)
{
    if (view->root != NULL)
        visit_subtree(view->root, key, visit, ctx);
}

/* ---- views ---- */

struct yn_view *yn_tree_freeze(struct yn_tree *tree)
{
    struct yn_view *view = yn_mem_take(&tree->mem, sizeof *view);
    if (view == NULL)
        return NULL;
    *view = (struct yn_view){.root = tree->live.root,
                             .count = tree->live.count,
                             .epoch = tree->epoch++,
                             .tree = tree,
                             .older = tree->newest};
    if (tree->newest != NULL)
        tree->newest->newer = view;
    tree->newest = view;
    return view;
}

/* Leaves to the next older view what that shows. */
static void pass_on(struct yn_view *view, struct yn_view *older)
{
    struct yn_node *node = view->retired;
    view->retired = NULL;
    view->n_retired = view->retired_bytes = 0;
    while (node != NULL) {
        struct yn_node *next = node->retired_next;
        retire(node->birth <= older->epoch ? older : view, node);
        node = next;
    }
}

struct yn_garbage yn_tree_view_release(struct yn_view *view)
{
    struct yn_tree *tree = view->tree;
    struct yn_view *older = view->older;
    if (view->newer != NULL)
        view->newer->older = older;
    else
        tree->newest = older;
    if (older != NULL) {
        older->newer = view->newer;
        pass_on(view, older);
    }
    struct yn_garbage garbage = {view->retired, view->n_retired, tree->mem.hook};
    yn_mem_forget(&tree->mem, view->retired_bytes);
    yn_mem_give(&tree->mem, view, sizeof *view);
    return garbage;
}

void yn_garbage_free(struct yn_garbage garbage)
{
    struct yn_node *node = garbage.first;
    while (node != NULL) {
        struct yn_node *next = node->retired_next;
        garbage.allocator->free(garbage.allocator->ctx, node, node_size(node));
        node = next;
    }
}
