/*
 * dict.c: an extendible hash table of eight-byte entries.
 *
 * Main table. The top bits of the hash choose a segment through a directory; a
 * segment has up to 256 buckets of eight entries, one cache line each. An entry
 * stands in one of two buckets: b1 from the low bits of the hash, or b2 = b1 ^
 * f(tag), so that it can move between the two without its hash (partial-key
 * cuckoo hashing; Fan, Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014). A full
 * segment splits in two, alone: growth has no stop.
 *
 * A split needs one more bit of each hash, which an entry does not hold whole.
 * The tag is therefore two parts: eight fixed bits, and a window of the next four
 * directory bits after `tag_depth`, so four splits in a row only read tags. Every
 * fourth time the segment's hashes are made anew from the members in the
 * tree ("refresh"). Over its life an entry is refreshed N/15 times.
 *
 * Side table: (hash, key), 16 bytes, linear probing in segments that split the
 * same way, without refresh. For scores that are no cells; and for members of
 * crowded cells, since a refresh has to look at every member of a cell. A
 * member never goes from the side table back to the main one while it lives,
 * so that a scan (main, then side) misses none.
 *
 * Rejected: pointers to leaves (every split of a leaf would touch them); whole
 * hashes in the entry (12 bytes, half as much again); rehashing all at once
 * (seconds at 60 million members).
 *
 * HOT: yn_dict_find: two cache lines here, then the descent.
 */
#include "core/dict_parts.h"

#include <assert.h>

/* ---- life ---- */

struct yn_dict *yn_dict_new(struct yn_mem *mem, uint64_t seed, unsigned generation)
{
    struct yn_dict *dict = yn_mem_take(mem, sizeof *dict);
    if (dict != NULL)
        *dict = (struct yn_dict){.seed = seed, .generation = generation % GENERATIONS};
    return dict;
}

void yn_dict_free(struct yn_mem *mem, struct yn_dict *dict)
{
    if (dict == NULL)
        return;
    for (size_t i = 0; dict->main.segment != NULL && i < (size_t)1 << dict->main.depth;) {
        struct segment *segment = dict->main.segment[i];
        i += (size_t)1 << (dict->main.depth - segment->depth);
        yn_dict_segment_free(mem, segment);
    }
    for (size_t i = 0; dict->side.segment != NULL && i < (size_t)1 << dict->side.depth;) {
        struct side_segment *side = dict->side.segment[i];
        i += (size_t)1 << (dict->side.depth - side->depth);
        yn_mem_give(mem, side, side_size(side->bits));
    }
    yn_mem_give(mem, dict->main.segment, sizeof(void *) << dict->main.depth);
    yn_mem_give(mem, dict->side.segment, sizeof(void *) << dict->side.depth);
    yn_mem_give(mem, dict, sizeof *dict);
}

uint64_t yn_dict_hash(const struct yn_dict *dict, struct yn_bytes member)
{
    return hash_of_member(dict, member);
}

size_t yn_dict_count(const struct yn_dict *dict)
{
    return dict->n_main + dict->n_side;
}

/* ---- finding ---- */

bool yn_dict_find_except(const struct yn_dict *dict, const struct yn_view *view,
                         struct yn_bytes member, uint64_t hash, uint64_t except,
                         struct yn_path *out_path)
{
    if (dict->main.segment != NULL) {
        const struct segment *segment = directory_find(&dict->main, hash);
        uint64_t tag = tag_of(hash, segment->tag_depth);
        size_t b = bucket_first(segment, hash);
        __builtin_prefetch(segment->bucket[bucket_other(segment, b, tag)]);
        for (int pass = 0; pass < 2; pass++) {
            for (int i = 0; i < SLOTS; i++) {
                uint64_t entry = segment->bucket[b][i];
                if (entry >> 52 != tag)
                    continue;
                uint64_t key = yn_key_of_score((double)(entry & CODE_MASK));
                if (key != except && yn_tree_find_entry(view, key, member, out_path))
                    return true;
            }
            b = bucket_other(segment, b, tag);
        }
    }
    if (dict->n_side == 0)
        return false;
    const struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash && side->entry[i].key != except &&
            yn_tree_find_entry(view, side->entry[i].key, member, out_path))
            return true;
    return false;
}

bool yn_dict_find(const struct yn_dict *dict, const struct yn_view *view,
                  struct yn_bytes member, uint64_t hash, struct yn_path *out_path)
{
    return yn_dict_find_except(dict, view, member, hash, 0, out_path);
}

/* ---- changing ---- */

enum yn_status yn_dict_add(struct yn_dict *dict, struct yn_mem *mem,
                           const struct yn_view *view, uint64_t hash, double score,
                           bool prefer_side)
{
    uint64_t code;
    if (!prefer_side && yn_score_is_cell(score, &code))
        return yn_dict_main_add(dict, mem, view, hash, code);
    return yn_dict_side_add(dict, mem, hash, yn_key_of_score(score));
}

/* The entry of a member in the main table, or NULL. */
static uint64_t *main_find(const struct yn_dict *dict, uint64_t hash, double score)
{
    uint64_t code;
    if (dict->main.segment == NULL || !yn_score_is_cell(score, &code))
        return NULL;
    return segment_find(directory_find(&dict->main, hash), hash, code);
}

void yn_dict_remove(struct yn_dict *dict, uint64_t hash, double score)
{
    /* side first: entries there have the whole hash, so none of another member can be
     * taken for this one. In the main table two members with the same tag, code and
     * buckets have equal entries, and either may go. */
    struct side_entry *side = side_find(dict, hash, yn_key_of_score(score));
    if (side != NULL) {
        yn_dict_side_remove(dict, side);
        return;
    }
    uint64_t *entry = main_find(dict, hash, score);
    assert(entry != NULL);
    *entry = 0;
    dict->n_main--;
    ((struct segment *)directory_find(&dict->main, hash))->n--;
}

enum yn_status yn_dict_move(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                            double old_score, double score, bool prefer_side)
{
    uint64_t code;
    struct side_entry *side = side_find(dict, hash, yn_key_of_score(old_score));
    if (side != NULL) {
        side->key = yn_key_of_score(score);
        return YN_OK;
    }
    uint64_t *entry = main_find(dict, hash, old_score);
    assert(entry != NULL);
    if (!prefer_side && yn_score_is_cell(score, &code)) {
        *entry = (*entry & ~CODE_MASK) | code;
        return YN_OK;
    }
    if (yn_dict_side_add(dict, mem, hash, yn_key_of_score(score)) != YN_OK)
        return YN_ENOMEM;
    *entry = 0;
    dict->n_main--;
    ((struct segment *)directory_find(&dict->main, hash))->n--;
    return YN_OK;
}

/* ---- check ---- */

static const char *check_segment(const struct segment *segment,
                                 const struct directory *dir)
{
    size_t n = 0;
    if (segment->depth > dir->depth || segment->tag_depth > segment->depth ||
        segment->depth - segment->tag_depth > WINDOW)
        return "dictionary: depth of a segment is wrong";
    for (size_t at = 0; at < (bucket_mask(segment) + 1) * SLOTS; at++) {
        uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
        n += entry != 0;
        if (entry != 0 && (entry >> 52 & 0xff) == 0)
            return "dictionary: entry without a tag";
    }
    return n == segment->n ? NULL : "dictionary: count of a segment is wrong";
}

const char *yn_dict_check(const struct yn_dict *dict)
{
    size_t n_main = 0, n_side = 0;
    for (size_t i = 0; dict->main.segment != NULL && i < (size_t)1 << dict->main.depth;) {
        const struct segment *segment = dict->main.segment[i];
        const char *wrong = check_segment(segment, &dict->main);
        if (wrong != NULL)
            return wrong;
        n_main += segment->n;
        size_t span = (size_t)1 << (dict->main.depth - segment->depth);
        for (size_t k = 0; k < span; k++)
            if (i % span != 0 || dict->main.segment[i + k] != segment)
                return "dictionary: directory is wrong";
        i += span;
    }
    for (size_t i = 0; dict->side.segment != NULL && i < (size_t)1 << dict->side.depth;) {
        const struct side_segment *side = dict->side.segment[i];
        size_t n = 0;
        for (size_t k = 0; k < (size_t)1 << side->bits; k++)
            n += side->entry[k].key != 0;
        if (n != side->n)
            return "dictionary: count of a side segment is wrong";
        n_side += n;
        i += (size_t)1 << (dict->side.depth - side->depth);
    }
    if (n_main != dict->n_main || n_side != dict->n_side)
        return "dictionary: count is wrong";
    return NULL;
}
