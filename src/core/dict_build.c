/*
 * dict_build.c: a dictionary for a tree that is there already.
 *
 * All segments are made at once, as many as the entries fill, so that none is ever
 * refreshed; then the entries are added in the order of the tree, some at a time, with
 * the buckets asked for early. A segment that gets more than it holds splits, as it
 * always does: making more at the start would be a little faster and take up to twice the
 * memory.
 */
#include "core/dict_parts.h"
#include "core/stop.h"

/* The leaves around a place in the tree. */
struct leaf_walk {
    struct yn_cursor cursor; /* in the leaf that comes next */
    const struct yn_leaf *before, *leaf, *after;
};

static const struct yn_leaf *cursor_leaf(const struct yn_cursor *cursor)
{
    return cursor->depth < 0 ? NULL : cursor->node[cursor->depth];
}

static void walk_next(struct leaf_walk *walk)
{
    walk->before = walk->leaf;
    walk->leaf = walk->after;
    if (walk->after != NULL) {
        struct yn_cursor *cursor = &walk->cursor;
        cursor->slot[cursor->depth] = (uint16_t)(walk->after->head.n - 1);
        yn_cursor_next(cursor);
        walk->after = cursor_leaf(cursor);
    }
}

static void walk_start(struct leaf_walk *walk, const struct yn_view *view)
{
    yn_cursor_seek(&walk->cursor, view, 0);
    walk->before = walk->leaf = NULL;
    walk->after = cursor_leaf(&walk->cursor);
    walk_next(walk);
}

/* The key of which a leaf is full, or 0. */
static uint64_t crowd_of(const struct yn_leaf *leaf)
{
    if (leaf == NULL || leaf->head.n < YN_LEAF_ENTRIES_MIN)
        return 0;
    uint64_t key = yn_leaf_key(leaf, 0);
    return yn_leaf_key(leaf, leaf->head.n - 1u) == key ? key : 0;
}

/* How many entries the tables are likely to get. */
static void count_tables(const struct yn_view *view, size_t *out_main, size_t *out_side)
{
    struct leaf_walk walk;
    *out_main = *out_side = 0;
    for (walk_start(&walk, view); walk.leaf != NULL; walk_next(&walk)) {
        size_t n = walk.leaf->head.n, n_cells = 0;
        uint64_t code;
        if (crowd_of(walk.leaf) == 0 && walk.leaf->head.format != YN_LEAF_GENERAL)
            n_cells = n;
        else if (crowd_of(walk.leaf) == 0)
            for (size_t i = 0; i < n; i++)
                n_cells += yn_score_is_cell(yn_leaf_score(walk.leaf, i), &code);
        *out_main += n_cells;
        *out_side += n - n_cells;
    }
}

/* Frees the first n segments of a directory that is not complete, and the directory. */
static void directory_give_up(struct directory *dir, struct yn_mem *mem, size_t n,
                              bool is_main)
{
    while (n-- > 0) {
        struct side_segment *side = dir->segment[n];
        if (is_main)
            yn_dict_segment_free(mem, dir->segment[n]);
        else
            yn_mem_give(mem, side, side_size(side->bits));
    }
    yn_mem_give(mem, dir->segment, sizeof(void *) << dir->depth);
    *dir = (struct directory){.segment = NULL};
}

/* Makes the segments of an empty table for n entries. */
static enum yn_status reserve(struct directory *dir, struct yn_mem *mem, size_t n,
                              bool is_main)
{
    size_t full = is_main ? MAIN_SLOTS : SIDE_SLOTS;
    int bits = is_main ? BUCKET_BITS_MIN : SIDE_BITS_MIN;
    int bits_max = is_main ? YN_DICT_BUCKET_BITS_MAX : SIDE_BITS_MAX;
    if (n == 0)
        return YN_OK;
    while (bits < bits_max && n > full >> (bits_max - bits))
        bits++;
    while (dir->depth < DEPTH_MAX && n >> dir->depth > full)
        dir->depth++;
    dir->segment = yn_mem_take(mem, sizeof(void *) << dir->depth);
    if (dir->segment == NULL) {
        dir->depth = 0;
        return YN_ENOMEM;
    }
    for (size_t i = 0; i < (size_t)1 << dir->depth; i++) {
        dir->segment[i] =
            is_main ? (void *)yn_dict_segment_new(mem, dir->depth, dir->depth, bits)
                    : (void *)yn_dict_side_new(mem, dir->depth, bits);
        if (dir->segment[i] == NULL) {
            directory_give_up(dir, mem, i, is_main);
            return YN_ENOMEM;
        }
    }
    return YN_OK;
}

/* Adds entries from..from+n-1 of the walk's leaf. */
static enum yn_status add_entries(struct yn_dict *dict, struct yn_mem *mem,
                                  const struct yn_view *view,
                                  const struct leaf_walk *walk, size_t from, size_t n)
{
    uint64_t hashes[YN_AHEAD_MAX];
    uint64_t crowds[] = {crowd_of(walk->before), crowd_of(walk->leaf),
                         crowd_of(walk->after)};
    for (size_t i = 0; i < n; i++)
        hashes[i] = hash_of_member(dict, yn_leaf_member(walk->leaf, from + i));
    yn_dict_prefetch(dict, hashes, n);
    enum yn_status status = YN_OK;
    for (size_t i = 0; status == YN_OK && i < n; i++) {
        struct yn_entry entry = {yn_leaf_member(walk->leaf, from + i),
                                 yn_leaf_score(walk->leaf, from + i)};
        uint64_t key = yn_key_of_score(entry.score);
        struct yn_path path;
        /* the tree holds the entry itself already: look for another one */
        if (yn_dict_find_except(dict, view, entry.member, hashes[i], key, &path))
            return YN_EEXIST;
        dict->limit = &entry;
        status = yn_dict_add(dict, mem, view, hashes[i], entry.score,
                             key == crowds[0] || key == crowds[1] || key == crowds[2]);
        dict->limit = NULL;
    }
    return status;
}

enum yn_status yn_dict_build(struct yn_dict *dict, struct yn_mem *mem,
                             const struct yn_view *view, const struct yn_stop *stop)
{
    struct yn_stopper stopper = {.stop = stop};
    size_t n_main, n_side;
    count_tables(view, &n_main, &n_side);
    enum yn_status status = reserve(&dict->main, mem, n_main, true);
    if (status == YN_OK)
        status = reserve(&dict->side, mem, n_side, false);
    struct leaf_walk walk;
    for (walk_start(&walk, view); status == YN_OK && walk.leaf != NULL;
         walk_next(&walk)) {
        size_t n = walk.leaf->head.n;
        for (size_t from = 0; status == YN_OK && from < n; from += YN_AHEAD_MAX)
            status = add_entries(dict, mem, view, &walk, from,
                                 n - from < YN_AHEAD_MAX ? n - from : YN_AHEAD_MAX);
        if (status == YN_OK && yn_stopper_ends(&stopper, 4 * n))
            status = YN_ESTOPPED;
    }
    return status;
}
