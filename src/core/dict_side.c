/*
 * dict_side.c: the side table of a dictionary: whole hashes and keys, linear probing in
 * segments that split. dict.c tells what is in it.
 */
#include "core/dict_parts.h"

struct side_segment *yn_dict_side_new(struct yn_mem *mem, int depth, int bits)
{
    struct side_segment *side = yn_mem_take(mem, side_size(bits));
    if (side == NULL)
        return NULL;
    memset(side, 0, side_size(bits));
    side->depth = (uint8_t)depth;
    side->bits = (uint8_t)bits;
    return side;
}

static void side_put(struct side_segment *side, uint64_t hash, uint64_t key)
{
    size_t mask = ((size_t)1 << side->bits) - 1, i = hash & mask;
    while (side->entry[i].key != 0)
        i = (i + 1) & mask;
    side->entry[i] = (struct side_entry){hash, key};
    side->n++;
}

/* Closes the gap at entry i: later entries of the run move up when their home allows it.
 */
static void side_erase(struct side_segment *side, size_t i)
{
    size_t mask = ((size_t)1 << side->bits) - 1, gap = i;
    side->n--;
    for (i = (i + 1) & mask; side->entry[i].key != 0; i = (i + 1) & mask) {
        size_t home = side->entry[i].hash & mask;
        if (((i - home) & mask) >= ((i - gap) & mask)) {
            side->entry[gap] = side->entry[i];
            gap = i;
        }
    }
    side->entry[gap] = (struct side_entry){0, 0};
}

/* Puts a larger segment, or two, in the place of a full one. */
static bool side_grow(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash)
{
    struct side_segment *old = directory_find(&dict->side, hash);
    bool is_split = old->bits >= SIDE_BITS_MAX && old->depth < DEPTH_MAX;
    int depth = old->depth + is_split, bits = old->bits + !is_split;
    if (is_split && old->depth == dict->side.depth && !yn_dict_double(&dict->side, mem))
        return false;
    struct side_segment *lower = yn_dict_side_new(mem, depth, bits);
    struct side_segment *upper = is_split ? yn_dict_side_new(mem, depth, bits) : NULL;
    if (lower == NULL || (is_split && upper == NULL)) {
        if (lower != NULL)
            yn_mem_give(mem, lower, side_size(bits));
        return false;
    }
    for (size_t i = 0; i < (size_t)1 << old->bits; i++) {
        const struct side_entry *entry = &old->entry[i];
        if (entry->key != 0)
            side_put(is_split && entry->hash >> (64 - depth) & 1 ? upper : lower,
                     entry->hash, entry->key);
    }
    size_t first = slot_of(old->depth, hash) << (dict->side.depth - old->depth);
    for (size_t i = 0; i < (size_t)1 << (dict->side.depth - old->depth); i++)
        dict->side.segment[first + i] = lower;
    if (is_split)
        yn_dict_set_upper(&dict->side, hash, depth, upper);
    yn_mem_give(mem, old, side_size(old->bits));
    return true;
}

enum yn_status yn_dict_side_add(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                                uint64_t key)
{
    if (dict->side.segment == NULL) {
        struct side_segment *side = yn_dict_side_new(mem, 0, SIDE_BITS_MIN);
        if (side == NULL)
            return YN_ENOMEM;
        if (!yn_dict_start(&dict->side, mem, side)) {
            yn_mem_give(mem, side, side_size(SIDE_BITS_MIN));
            return YN_ENOMEM;
        }
    }
    struct side_segment *side = directory_find(&dict->side, hash);
    while (side->n + 1 > ((size_t)13 << side->bits) / 16) {
        if (!side_grow(dict, mem, hash))
            return YN_ENOMEM;
        side = directory_find(&dict->side, hash);
    }
    side_put(side, hash, key);
    dict->n_side++;
    return YN_OK;
}

void yn_dict_side_remove(struct yn_dict *dict, struct side_entry *entry)
{
    struct side_segment *side = directory_find(&dict->side, entry->hash);
    side_erase(side, (size_t)(entry - side->entry));
    dict->n_side--;
}
