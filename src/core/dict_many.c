/*
 * dict_many.c: many members side by side: each step is taken for all of them, and asks
 * for what the next one reads, so that they wait for memory together.
 */
#include "core/dict_parts.h"

#include <assert.h>
#include <math.h>

/* Where in a bucket an entry with this tag stands, or -1. */
static int bucket_find_tag(const struct segment *segment, size_t b, uint64_t tag)
{
    for (int i = 0; i < SLOTS; i++)
        if (segment->bucket[b][i] >> 52 == tag)
            return i;
    return -1;
}

/* The key that the side table has for a hash; 0: none. */
static uint64_t side_key(const struct yn_dict *dict, uint64_t hash)
{
    const struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash)
            return side->entry[i].key;
    return 0;
}

/* The keys that the main table has for these hashes, by their tags; 0: none. Each step
 * asks for what the next one reads, for all of them. */
static void main_keys(const struct yn_dict *dict, const uint64_t *hashes, size_t n,
                      uint64_t *out_keys)
{
    const struct segment *segment[YN_AHEAD_MAX];
    uint64_t tag[YN_AHEAD_MAX];
    for (size_t i = 0; i < n; i++) {
        segment[i] = directory_find(&dict->main, hashes[i]);
        __builtin_prefetch(segment[i]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t b = bucket_first(segment[i], hashes[i]);
        tag[i] = tag_of(hashes[i], segment[i]->tag_depth);
        __builtin_prefetch(segment[i]->bucket[b]);
        __builtin_prefetch(segment[i]->bucket[bucket_other(segment[i], b, tag[i])]);
    }
    for (size_t i = 0; i < n; i++) {
        size_t b = bucket_first(segment[i], hashes[i]);
        int at = bucket_find_tag(segment[i], b, tag[i]);
        if (at < 0) {
            b = bucket_other(segment[i], b, tag[i]);
            at = bucket_find_tag(segment[i], b, tag[i]);
        }
        out_keys[i] =
            at < 0 ? 0 : yn_key_of_score((double)(segment[i]->bucket[b][at] & CODE_MASK));
    }
}

/* The keys at which these members probably stand; 0 for one that neither table knows. A
 * key from the side table is almost certainly right: it has the whole hash. */
static void probable_keys(const struct yn_dict *dict, const struct yn_bytes *members,
                          size_t n, uint64_t *out_keys)
{
    uint64_t hashes[YN_AHEAD_MAX];
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_of_member(dict, members[i]);
        out_keys[i] = 0;
    }
    if (dict->main.segment != NULL)
        main_keys(dict, hashes, n, out_keys);
    if (dict->n_side == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (out_keys[i] == 0)
            __builtin_prefetch(directory_find(&dict->side, hashes[i]));
    for (size_t i = 0; i < n; i++) {
        const struct side_segment *side = directory_find(&dict->side, hashes[i]);
        if (out_keys[i] == 0)
            __builtin_prefetch(&side->entry[hashes[i] & (((size_t)1 << side->bits) - 1)]);
    }
    for (size_t i = 0; i < n; i++)
        if (out_keys[i] == 0)
            out_keys[i] = side_key(dict, hashes[i]);
}

/* Removes the zeros from n keys; out_index tells where the others were. */
static size_t squeeze_keys(uint64_t *keys, size_t n, size_t *out_index)
{
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        if (keys[i] == 0)
            continue;
        keys[n_left] = keys[i];
        out_index[n_left++] = i;
    }
    return n_left;
}

static bool is_member_at(const struct yn_place *place, struct yn_bytes member)
{
    return place->i < place->leaf->head.n &&
           yn_bytes_compare(yn_leaf_member(place->leaf, place->i), member) == 0;
}

void yn_dict_find_many(const struct yn_dict *dict, const struct yn_view *view,
                       const struct yn_bytes *members, size_t n, double *out_scores)
{
    uint64_t keys[YN_AHEAD_MAX];
    size_t index[YN_AHEAD_MAX];
    struct yn_place places[YN_AHEAD_MAX];
    struct yn_path path;
    bool is_found[YN_AHEAD_MAX] = {false};
    const uint64_t zero = yn_key_of_score(0);
    probable_keys(dict, members, n, keys);
    size_t n_keys = squeeze_keys(keys, n, index);
    yn_tree_seek_many(view, keys, n_keys, places);
    for (size_t k = 0; k < n_keys; k++) {
        size_t i = index[k];
        is_found[i] = is_member_at(&places[k], members[i]);
        if (is_found[i]) /* a key says all of a score, but for the sign of a zero */
            out_scores[i] = keys[k] == zero ? yn_leaf_score(places[k].leaf, places[k].i)
                                            : yn_score_of_key(keys[k]);
    }
    /* others with its tag, members that share its cell, or nothing */
    for (size_t i = 0; i < n; i++) {
        if (!is_found[i])
            out_scores[i] = yn_dict_find(dict, view, members[i],
                                         hash_of_member(dict, members[i]), &path)
                                ? yn_leaf_score(path.leaf, path.i)
                                : (double)NAN;
    }
}

void yn_dict_probable_keys(const struct yn_dict *dict, const struct yn_bytes *members,
                           size_t n, uint64_t *keys)
{
    uint64_t found[YN_AHEAD_MAX];
    probable_keys(dict, members, n, found);
    for (size_t i = 0; i < n; i++)
        keys[i] = found[i] != 0 ? found[i] : keys[i];
}

void yn_dict_prefetch(const struct yn_dict *dict, const uint64_t *hashes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dict->main.segment != NULL)
            __builtin_prefetch(directory_find(&dict->main, hashes[i]));
        if (dict->side.segment != NULL)
            __builtin_prefetch(directory_find(&dict->side, hashes[i]));
    }
    for (size_t i = 0; i < n; i++) {
        if (dict->main.segment != NULL) {
            const struct segment *segment = directory_find(&dict->main, hashes[i]);
            size_t b = bucket_first(segment, hashes[i]);
            __builtin_prefetch(segment->bucket[b]);
            __builtin_prefetch(
                segment->bucket[bucket_other(segment, b, tag_fixed(hashes[i]))]);
        }
        if (dict->side.segment != NULL) {
            const struct side_segment *side = directory_find(&dict->side, hashes[i]);
            size_t mask = ((size_t)1 << side->bits) - 1;
            __builtin_prefetch(&side->entry[hashes[i] & mask]);
        }
    }
}

void yn_dict_remove_many(struct yn_dict *dict, const struct yn_entry *entries, size_t n)
{
    uint64_t hashes[YN_AHEAD_MAX];
    assert(n <= YN_AHEAD_MAX);
    for (size_t i = 0; i < n; i++)
        hashes[i] = hash_of_member(dict, entries[i].member);
    yn_dict_prefetch(dict, hashes, n);
    for (size_t i = 0; i < n; i++)
        yn_dict_remove(dict, hashes[i], entries[i].score);
}
