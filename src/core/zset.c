/*
 * zset.c: sets: the tree for order and space, the dictionary for look-ups.
 *
 * A set of one leaf has no dictionary: its members are compared one by one. When
 * the root becomes an inner node the dictionary is built from the tree. If there is no
 * memory for it then, look-ups go on through all leaves and the next change tries again.
 *
 * Changes are ordered so that a failure needs no repair of the tree: entry in the
 * dictionary first (it can be taken back without memory), then the tree.
 */
#include "core/zset.h"

#include <math.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

const char *yn_status_text(enum yn_status status)
{
    switch (status) {
#define YN_STATUS_CASE(name, value, text) \
    case YN_##name:                       \
        return text;
        YN_STATUS_MAP(YN_STATUS_CASE)
#undef YN_STATUS_CASE
    }
    return "unknown status";
}

/* ---- life ---- */

static uint64_t process_seed(void)
{
    static uint64_t seed; /* the same for every set; a race only costs a second draw */
    uint64_t drawn = __atomic_load_n(&seed, __ATOMIC_RELAXED);
    if (drawn != 0)
        return drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn || drawn == 0)
        drawn = (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u | 1;
    uint64_t none = 0;
    return __atomic_compare_exchange_n(&seed, &none, drawn, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED)
               ? drawn
               : none;
}

struct yn_zset *yn_zset_new(const struct yn_options *options)
{
    struct yn_mem mem;
    yn_mem_init(&mem, options);
    struct yn_zset *set = yn_mem_take(&mem, sizeof *set);
    if (set == NULL)
        return NULL;
    yn_tree_init(&set->tree, options);
    set->tree.mem.used = sizeof *set;
    set->dict = NULL;
    set->ahead = NULL;
    set->seed =
        options != NULL && options->hash_seed != 0 ? options->hash_seed : process_seed();
    set->n_dicts = 0;
    set->is_dead = false;
    return set;
}

static void release(struct yn_zset *set)
{
    struct yn_mem mem = set->tree.mem;
    yn_mem_give(&mem, set, sizeof *set);
}

void yn_zset_free(struct yn_zset *set)
{
    if (set == NULL)
        return;
    yn_dict_free(&set->tree.mem, set->dict);
    set->dict = NULL;
    yn_mem_give(&set->tree.mem, set->ahead, sizeof *set->ahead);
    set->ahead = NULL;
    yn_tree_clear(&set->tree);
    set->is_dead = true;
    if (set->tree.newest == NULL)
        release(set);
}

size_t yn_zset_count(const struct yn_zset *set)
{
    return set->tree.live.count;
}

bool yn_zset_is_viewed(const struct yn_zset *set)
{
    return set->tree.newest != NULL;
}

size_t yn_zset_memory(const struct yn_zset *set)
{
    return yn_mem_used(&set->tree.mem);
}

/* ---- look-up ---- */

static bool is_one_leaf(const struct yn_zset *set)
{
    return set->tree.live.root == NULL || set->tree.live.root->level == 0;
}

/* Goes through all leaves: the set has no dictionary. */
static bool locate_by_leaves(const struct yn_view *view, struct yn_bytes member,
                             struct yn_path *out_path)
{
    struct yn_cursor cursor;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        if (entry.member.len == member.len &&
            yn_bytes_compare(entry.member, member) == 0) {
            yn_tree_find(view, yn_key_of_score(entry.score), member, out_path);
            return out_path->is_found;
        }
    }
    return false;
}

bool yn_zset_locate(const struct yn_zset *set, struct yn_bytes member,
                    struct yn_path *out_path)
{
    const struct yn_view *view = &set->tree.live;
    if (view->root == NULL)
        return false;
    if (set->dict != NULL)
        return yn_dict_find(set->dict, view, member, yn_dict_hash(set->dict, member),
                            out_path);
    if (!is_one_leaf(set))
        return locate_by_leaves(view, member, out_path);
    out_path->depth = 0;
    out_path->leaf = (struct yn_leaf *)(void *)view->root;
    out_path->is_found = yn_leaf_find_member(out_path->leaf, member, &out_path->i);
    return out_path->is_found;
}

bool yn_zset_find(const struct yn_zset *set, struct yn_bytes member, double *out_score)
{
    struct yn_path path;
    if (!yn_zset_locate(set, member, &path))
        return false;
    *out_score = yn_leaf_score(path.leaf, path.i);
    return true;
}

bool yn_zset_rank(const struct yn_zset *set, struct yn_bytes member, size_t *out_rank)
{
    struct yn_path path;
    if (!yn_zset_locate(set, member, &path))
        return false;
    *out_rank = yn_tree_rank(&path);
    return true;
}

/* ---- many at once ---- */

/* Smaller sets are in the caches. */
#ifndef YN_AHEAD_COUNT_MIN
#define YN_AHEAD_COUNT_MIN 5000
#endif

static bool is_worth_looking_ahead(const struct yn_zset *set, size_t n)
{
    return n > 1 && set->dict != NULL && set->tree.live.count >= YN_AHEAD_COUNT_MIN;
}

void yn_zset_find_many(const struct yn_zset *set, const struct yn_bytes *members,
                       size_t n_members, double *out_scores)
{
    if (!is_worth_looking_ahead(set, n_members)) {
        for (size_t i = 0; i < n_members; i++)
            if (!yn_zset_find(set, members[i], &out_scores[i]))
                out_scores[i] = (double)NAN;
        return;
    }
    for (size_t at = 0; at < n_members; at += YN_AHEAD_MAX) {
        size_t n = n_members - at < YN_AHEAD_MAX ? n_members - at : YN_AHEAD_MAX;
        yn_dict_find_many(set->dict, &set->tree.live, members + at, n, out_scores + at);
    }
}

void yn_zset_prefetch(struct yn_zset *set, const struct yn_entry *entries,
                      size_t n_entries)
{
    struct yn_bytes members[YN_AHEAD_MAX];
    if (!is_worth_looking_ahead(set, n_entries))
        return;
    if (set->ahead == NULL)
        set->ahead = yn_mem_take(&set->tree.mem, sizeof *set->ahead);
    struct yn_ahead *ahead = set->ahead;
    if (ahead == NULL)
        return;
    size_t n = n_entries < YN_AHEAD_MAX ? n_entries : YN_AHEAD_MAX;
    for (size_t i = 0; i < n; i++) {
        members[i] = entries[i].member;
        ahead->keys[i] = isnan(entries[i].score) ? yn_key_of_score(0)
                                                 : yn_key_of_score(entries[i].score);
    }
    yn_dict_probable_keys(set->dict, members, n, ahead->keys);
    yn_tree_seek_leaves(&set->tree.live, ahead->keys, n, ahead->paths);
    ahead->n = n;
    ahead->at = 0;
    ahead->n_dropped = set->tree.n_dropped;
}

/* Finds where an entry would stand: by what yn_zset_prefetch has found, if it is still
 * true, or by a descent. */
static void find_place(struct yn_zset *set, uint64_t key, struct yn_bytes member,
                       struct yn_path *out_path)
{
    struct yn_ahead *ahead = set->ahead;
    if (ahead != NULL && ahead->n_dropped == set->tree.n_dropped) {
        while (ahead->at < ahead->n && ahead->keys[ahead->at] != key)
            ahead->at++; /* entries come in order; those left out have moved, say */
        if (ahead->at < ahead->n) {
            *out_path = ahead->paths[ahead->at++];
            if (yn_tree_find_between(out_path, key, member))
                return;
        }
    }
    yn_tree_find(&set->tree.live, key, member, out_path);
}

/* ---- change ---- */

/* Keeps the dictionary in step with the shape of the tree. Without memory for it the set
 * goes on without one. */
static void adjust_dict(struct yn_zset *set)
{
    struct yn_mem *mem = &set->tree.mem;
    const struct yn_view *view = &set->tree.live;
    if (is_one_leaf(set)) {
        yn_dict_free(mem, set->dict);
        set->dict = NULL;
        return;
    }
    if (set->dict != NULL)
        return;
    struct yn_dict *dict = yn_dict_new(mem, set->seed, set->n_dicts++);
    if (dict == NULL)
        return;
    if (yn_dict_build(dict, mem, view, NULL) == YN_OK)
        set->dict = dict;
    else
        yn_dict_free(mem, dict);
}

/* Inserts into the tree at a path found for (score, member); `entry` is the entry as it
 * stands in a leaf. */
static enum yn_status insert_at(struct yn_zset *set, struct yn_path *path, double score,
                                struct yn_bytes entry)
{
    struct yn_item item = {.wire = entry.data, .wire_len = (uint32_t)entry.len};
    yn_item_set_score(&item, score);
    return yn_tree_insert(&set->tree, path, &item);
}

/* Makes the entry that will stand in a leaf: the member in wire form, or its block. */
static bool make_entry(struct yn_zset *set, struct yn_bytes member, char *space,
                       struct yn_bytes *out_entry)
{
    if (member.len <= YN_MEMBER_INLINE_MAX) {
        *out_entry = (struct yn_bytes){space, yn_wire_format(member, space)};
        return true;
    }
    struct yn_long *block = yn_tree_long_new(&set->tree, member);
    if (block == NULL)
        return false;
    space[0] = 0;
    memcpy(space + 1, &block, sizeof block);
    *out_entry = (struct yn_bytes){space, YN_LONG_ENTRY_LEN};
    return true;
}

static enum yn_status add_member(struct yn_zset *set, struct yn_bytes member,
                                 double score)
{
    char space[YN_MEMBER_INLINE_MAX + 16];
    struct yn_bytes entry;
    struct yn_path path;
    uint64_t hash = 0, key = yn_key_of_score(score);
    if (!make_entry(set, member, space, &entry))
        return YN_ENOMEM;
    enum yn_status status = YN_OK;
    find_place(set, key, member, &path);
    if (set->dict != NULL) {
        hash = yn_dict_hash(set->dict, member);
        status = yn_dict_add(set->dict, &set->tree.mem, &set->tree.live, hash, score,
                             yn_path_is_crowded(&path, key));
    }
    if (status == YN_OK) {
        status = insert_at(set, &path, score, entry);
        if (status != YN_OK && set->dict != NULL)
            yn_dict_remove(set->dict, hash, score);
    }
    if (status != YN_OK) {
        if (yn_entry_is_long(entry.data))
            yn_tree_long_free(&set->tree, yn_entry_long(entry.data));
        return status;
    }
    adjust_dict(set);
    return YN_OK;
}

/* Moves the entry at `from` to where `to` says in two steps: the tree gets the new entry,
 * then loses the old one, which needs memory only where a view shows its leaf. */
static enum yn_status move_far(struct yn_zset *set, struct yn_path *from,
                               struct yn_path *to, double old_score, double score)
{
    const struct yn_view *view = &set->tree.live;
    char space[YN_MEMBER_INLINE_MAX + 16];
    struct yn_bytes entry = yn_leaf_entry(from->leaf, from->i);
    memcpy(space, entry.data, entry.len);
    entry.data = space;
    struct yn_bytes member = yn_entry_member(space, entry.len);
    enum yn_status status = insert_at(set, to, score, entry);
    if (status != YN_OK)
        return status;
    struct yn_path path;
    yn_tree_find(view, yn_key_of_score(old_score), member, &path);
    status = yn_tree_remove(&set->tree, &path);
    if (status != YN_OK) {
        /* the new entry's leaf is our own by now: taking it back needs no memory */
        yn_tree_find(view, yn_key_of_score(score), member, &path);
        (void)yn_tree_remove(&set->tree, &path);
    }
    return status;
}

/* Whether an entry with this key would stand between the ends of the leaf. */
static bool is_within(const struct yn_leaf *leaf, uint64_t key)
{
    return yn_leaf_key(leaf, 0) < key && key < yn_leaf_key(leaf, leaf->head.n - 1u);
}

/* Gives a member that is at `from` another score. Most moves are short, and need no other
 * descent. */
static enum yn_status move_member(struct yn_zset *set, struct yn_path *from,
                                  struct yn_bytes member, double score)
{
    double old_score = yn_leaf_score(from->leaf, from->i);
    uint64_t key = yn_key_of_score(score), hash = 0;
    bool is_near = is_within(from->leaf, key), is_crowded = false;
    struct yn_path to;
    if (!is_near) {
        yn_tree_find(&set->tree.live, key, member, &to);
        is_crowded = yn_path_is_crowded(&to, key);
    }
    if (set->dict != NULL) {
        hash = yn_dict_hash(set->dict, member);
        if (yn_dict_move(set->dict, &set->tree.mem, hash, old_score, score, is_crowded) !=
            YN_OK)
            return YN_ENOMEM;
    }
    if (is_near) {
        struct yn_item item;
        yn_item_set_score(&item, score);
        if (yn_tree_move(&set->tree, from, &item))
            return YN_OK;
        yn_tree_find(&set->tree.live, key, member, &to);
    }
    enum yn_status status = move_far(set, from, &to, old_score, score);
    if (status != YN_OK && set->dict != NULL)
        (void)yn_dict_move(set->dict, &set->tree.mem, hash, score, old_score, false);
    adjust_dict(set);
    return status;
}

enum yn_status yn_zset_put(struct yn_zset *set, struct yn_bytes member, double score,
                           struct yn_put *out_put)
{
    struct yn_path path;
    struct yn_put put = {.change = YN_UNCHANGED};
    enum yn_status status = YN_OK;
    if (isnan(score))
        return YN_ENAN;
    if (member.len > YN_MEMBER_MAX)
        return YN_ERANGE;
    if (!yn_zset_locate(set, member, &path)) {
        status = add_member(set, member, score);
        put.change = status == YN_OK ? YN_ADDED : YN_UNCHANGED;
    } else {
        put.old_score = yn_leaf_score(path.leaf, path.i);
        if (put.old_score != score) {
            status = move_member(set, &path, member, score);
            put.change = status == YN_OK ? YN_UPDATED : YN_UNCHANGED;
        }
    }
    if (out_put != NULL)
        *out_put = put;
    return status;
}

enum yn_status yn_zset_remove(struct yn_zset *set, struct yn_bytes member,
                              bool *out_removed)
{
    struct yn_path path;
    if (out_removed != NULL)
        *out_removed = false;
    if (!yn_zset_locate(set, member, &path))
        return YN_OK;
    double score = yn_leaf_score(path.leaf, path.i);
    uint64_t hash = set->dict != NULL ? yn_dict_hash(set->dict, member) : 0;
    const char *entry = yn_leaf_entry(path.leaf, path.i).data;
    struct yn_long *block = yn_entry_is_long(entry) ? yn_entry_long(entry) : NULL;
    enum yn_status status = yn_tree_remove(&set->tree, &path);
    if (status != YN_OK)
        return status;
    /* `member` may be a slice of the entry that is gone: use only the hash from here on
     */
    if (set->dict != NULL)
        yn_dict_remove(set->dict, hash, score);
    if (block != NULL)
        yn_tree_long_free(&set->tree, block);
    adjust_dict(set);
    if (out_removed != NULL)
        *out_removed = true;
    return YN_OK;
}

/* ---- removing many ---- */

/* A set of which so many times more goes than stays gets a dictionary of the right size
 * for the rest. */
#define REBUILD_FACTOR 8

/* Whether a tree is, or will be when its root is collapsed, a single leaf or nothing. */
static bool is_small(const struct yn_view *view)
{
    const struct yn_node *node = view->root;
    while (node != NULL && node->level > 0 && node->n == 1)
        node = ((const struct yn_inner *)(const void *)node)->child[0];
    return node == NULL || node->level == 0;
}

/* Takes the members of these ranks out of the dictionary. */
static void unindex_range(struct yn_zset *set, size_t first, size_t n)
{
    struct yn_cursor cursor;
    struct yn_entry entries[YN_AHEAD_MAX];
    yn_cursor_seek(&cursor, &set->tree.live, first);
    while (n > 0) {
        size_t n_taken = n < YN_AHEAD_MAX ? n : YN_AHEAD_MAX;
        for (size_t i = 0; i < n_taken; i++) {
            entries[i] = yn_cursor_entry(&cursor);
            yn_cursor_next(&cursor);
        }
        yn_dict_remove_many(set->dict, entries, n_taken);
        n -= n_taken;
    }
}

/* Makes the dictionary fit for what will be left when these ranks are gone. */
static void unindex(struct yn_zset *set, size_t first, size_t n,
                    const struct yn_view *left)
{
    struct yn_mem *mem = &set->tree.mem;
    if (set->dict == NULL || is_small(left))
        return; /* it goes, see adjust_dict */
    if (n / REBUILD_FACTOR > left->count) {
        struct yn_dict *dict = yn_dict_new(mem, set->seed, set->n_dicts);
        if (dict != NULL && yn_dict_build(dict, mem, left, NULL) == YN_OK) {
            set->n_dicts++;
            yn_dict_free(mem, set->dict);
            set->dict = dict;
            return;
        }
        yn_dict_free(mem, dict);
    }
    unindex_range(set, first, n);
}

/* A single entry is removed from its leaf as it lies there, which costs half. */
static enum yn_status remove_at(struct yn_zset *set, size_t rank, size_t *out_removed)
{
    struct yn_cursor cursor;
    bool is_removed = false;
    yn_cursor_seek(&cursor, &set->tree.live, rank);
    enum yn_status status =
        yn_zset_remove(set, yn_cursor_entry(&cursor).member, &is_removed);
    if (out_removed != NULL)
        *out_removed = is_removed;
    return status;
}

enum yn_status yn_zset_remove_range(struct yn_zset *set, size_t first, size_t n,
                                    size_t *out_removed)
{
    struct yn_tree *tree = &set->tree;
    struct yn_view left;
    size_t count = tree->live.count;
    if (out_removed != NULL)
        *out_removed = 0;
    if (n == 0 || first >= count)
        return YN_OK;
    n = n < count - first ? n : count - first;
    if (n == 1)
        return remove_at(set, first, out_removed);
    enum yn_status status = yn_tree_cut_begin(tree, first, n, &left);
    if (status != YN_OK)
        return status;
    unindex(set, first, n, &left);
    yn_tree_cut_end(tree, first, n, &left);
    adjust_dict(set);
    if (out_removed != NULL)
        *out_removed = n;
    return YN_OK;
}

/* ---- whole sets ---- */

/* In a set of one leaf: whether a member occurs twice, by comparing all pairs. */
static bool leaf_has_twice(const struct yn_leaf *leaf)
{
    for (size_t i = 0; i < leaf->head.n; i++)
        for (size_t k = 0; k < i; k++)
            if (yn_bytes_compare(yn_leaf_member(leaf, i), yn_leaf_member(leaf, k)) == 0)
                return true;
    return false;
}

/* Builds the dictionary of a set whose tree has just been built. YN_OK, YN_ENOMEM, or
 * YN_EEXIST when a member occurs twice. */
static enum yn_status index_members(struct yn_zset *set, const struct yn_stop *stop)
{
    const struct yn_view *view = &set->tree.live;
    struct yn_mem *mem = &set->tree.mem;
    if (is_one_leaf(set))
        return view->root != NULL && leaf_has_twice((struct yn_leaf *)(void *)view->root)
                   ? YN_EEXIST
                   : YN_OK;
    set->dict = yn_dict_new(mem, set->seed, set->n_dicts++);
    return set->dict == NULL ? YN_ENOMEM : yn_dict_build(set->dict, mem, view, stop);
}

enum yn_status yn_zset_finish_tree(struct yn_zset *set, struct yn_builder *builder,
                                   enum yn_status status, struct yn_zset **out_set)
{
    if (status == YN_OK)
        status = yn_builder_finish(builder);
    yn_builder_free(builder);
    if (status != YN_OK) {
        yn_zset_free(set);
        return status;
    }
    *out_set = set;
    return YN_OK;
}

enum yn_status yn_zset_finish(struct yn_zset *set, struct yn_builder *builder,
                              enum yn_status status, const struct yn_stop *stop,
                              struct yn_zset **out_set)
{
    status = yn_zset_finish_tree(set, builder, status, &set);
    if (status != YN_OK)
        return status;
    status = index_members(set, stop);
    if (status != YN_OK) {
        yn_zset_free(set);
        return status;
    }
    *out_set = set;
    return YN_OK;
}

enum yn_status yn_zset_build(const struct yn_options *options,
                             const struct yn_entry *entries, size_t n_entries,
                             struct yn_zset **out_set)
{
    struct yn_zset *set = yn_zset_new(options);
    if (set == NULL)
        return YN_ENOMEM;
    struct yn_builder *builder = yn_builder_new(&set->tree);
    enum yn_status status = builder == NULL ? YN_ENOMEM : YN_OK;
    struct yn_stopper stopper = {.stop = yn_stop_of(options)};
    for (size_t i = 0; status == YN_OK && i < n_entries; i++) {
        status = yn_builder_add(builder, entries[i].member, entries[i].score);
        if (status == YN_OK && yn_stopper_ends(&stopper, 1))
            status = YN_ESTOPPED;
    }
    return yn_zset_finish(set, builder, status, stopper.stop, out_set);
}

uint64_t yn_zset_scan(const struct yn_zset *set, uint64_t cursor, size_t count,
                      yn_scan_fn visit, void *ctx)
{
    const struct yn_view *view = &set->tree.live;
    if (set->dict != NULL)
        return yn_dict_scan(set->dict, view, cursor, count, visit, ctx);
    struct yn_cursor at;
    for (bool is_at = yn_cursor_seek(&at, view, 0); is_at; is_at = yn_cursor_next(&at)) {
        struct yn_entry entry = yn_cursor_entry(&at);
        visit(ctx, entry.member, entry.score);
    }
    return 0;
}

/* ---- views ---- */

const struct yn_view *yn_zset_view(const struct yn_zset *set)
{
    return &set->tree.live;
}

enum yn_status yn_zset_freeze(struct yn_zset *set, struct yn_view **out_view)
{
    *out_view = yn_tree_freeze(&set->tree);
    return *out_view != NULL ? YN_OK : YN_ENOMEM;
}

struct yn_garbage yn_view_release(struct yn_view *view)
{
    if (view == NULL)
        return (struct yn_garbage){.first = NULL};
    /* the tree is a set's first field */
    struct yn_zset *set = (struct yn_zset *)(void *)view->tree;
    struct yn_garbage garbage = yn_tree_view_release(view);
    if (set->is_dead && set->tree.newest == NULL)
        release(set);
    return garbage;
}

void yn_view_free(struct yn_view *view)
{
    yn_garbage_free(yn_view_release(view));
}

/* A writer copies every node that a frozen view shows, up to the root. */
bool yn_view_is_current(const struct yn_view *view)
{
    const struct yn_view *live = &view->tree->live;
    return live->root == view->root && live->count == view->count;
}

size_t yn_view_count(const struct yn_view *view)
{
    return view->count;
}

/* ---- check ---- */

const char *yn_zset_check(const struct yn_zset *set)
{
    const char *wrong = yn_tree_check(&set->tree);
    if (wrong != NULL)
        return wrong;
    if (set->dict == NULL)
        return NULL;
    if (is_one_leaf(set))
        return "set: one leaf, but a dictionary";
    wrong = yn_dict_check(set->dict);
    if (wrong != NULL)
        return wrong;
    if (yn_dict_count(set->dict) != set->tree.live.count)
        return "set: tree and dictionary differ in number";
    struct yn_cursor cursor;
    for (bool is_at = yn_cursor_seek(&cursor, &set->tree.live, 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        double score;
        if (!yn_zset_find(set, entry.member, &score))
            return "set: a member is not in the dictionary";
        if (yn_key_of_score(score) != yn_key_of_score(entry.score))
            return "set: dictionary and tree differ in a score";
    }
    return NULL;
}
