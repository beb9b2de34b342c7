/*
 * dict_parts.h: the inside of a dictionary, for the files that it is made of:
 *
 *     dict.c           finding, adding, removing, moving one member
 *     dict_segments.c  the main table, and how it grows
 *     dict_side.c      the side table
 *     dict_many.c      many members side by side
 *     dict_build.c     a dictionary for a tree that is there
 *     dict_scan.c      walking through it
 *
 * dict.c tells what the tables are. What a look-up needs is inline here.
 */
#ifndef YN_DICT_PARTS_H
#define YN_DICT_PARTS_H

#include "core/dict.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#ifndef YN_DICT_BUCKET_BITS_MAX
#define YN_DICT_BUCKET_BITS_MAX \
    8 /* 256 buckets: 16 KB a segment, refreshed in a millisecond */
#endif
#define BUCKET_BITS_MIN 2
#define SLOTS 8
#define DEPTH_MAX 32 /* so that a scan cursor fits 53 bits */
#define WINDOW 4     /* directory bits held in a tag */
#define CODE_MASK (((uint64_t)1 << 52) - 1)
#define CROWD 512 /* members of one cell that a refresh walks before it moves them */
#define SIDE_BITS_MAX 10 /* 1024 entries a side segment */
#define SIDE_BITS_MIN 4

#define MAIN_SLOTS (((size_t)1 << YN_DICT_BUCKET_BITS_MAX) * SLOTS)
#define SIDE_SLOTS ((size_t)1 << SIDE_BITS_MAX)
#define GENERATIONS 64 /* told apart by scan cursors */

struct segment {
    uint8_t depth;     /* directory bits that lead here */
    uint8_t tag_depth; /* the tags' window starts at this directory bit */
    uint8_t bits;      /* 2^bits buckets */
    uint32_t n;
    uint64_t (*bucket)[SLOTS]; /* a cache line each where the allocator aligns so */
};

struct side_entry {
    uint64_t hash;
    uint64_t key; /* 0: empty; no score has key 0 (it would be a NaN) */
};

struct side_segment {
    uint8_t depth;
    uint8_t bits;
    uint32_t n;
    struct side_entry entry[];
};

struct directory {
    void **segment; /* 2^depth pointers */
    int depth;
};

struct yn_dict {
    uint64_t seed;
    struct directory main, side; /* segment NULL: no entries yet */
    size_t n_main, n_side;
    unsigned generation; /* see dict_scan.c */
    const struct yn_entry
        *limit; /* while it is built: entries from here on are not in it */
};

static inline uint64_t hash_of_member(const struct yn_dict *dict, struct yn_bytes member)
{
    return XXH3_64bits_withSeed(member.len > 0 ? member.data : "", member.len,
                                dict->seed);
}

/* ---- directory ---- */

static inline size_t slot_of(int depth, uint64_t hash)
{
    return depth == 0 ? 0 : hash >> (64 - depth);
}

static inline void *directory_find(const struct directory *dir, uint64_t hash)
{
    return dir->segment[slot_of(dir->depth, hash)];
}

/* Makes a directory of one segment. False: out of memory. */
bool yn_dict_start(struct directory *dir, struct yn_mem *mem, void *segment);
/* Doubles the directory. False: out of memory. */
bool yn_dict_double(struct directory *dir, struct yn_mem *mem);
/* Points the upper half of a segment's directory range, now of depth `depth`, to `upper`.
 */
void yn_dict_set_upper(struct directory *dir, uint64_t hash, int depth, void *upper);

/* ---- segments of the main table (dict_segments.c) ---- */

/* NULL: out of memory. */
struct segment *yn_dict_segment_new(struct yn_mem *mem, int depth, int tag_depth,
                                    int bits);
void yn_dict_segment_free(struct yn_mem *mem, struct segment *segment);
/* Adds an entry; what finds no room goes to the side table. The view's tree must hold
 * every member that the dictionary has. */
enum yn_status yn_dict_main_add(struct yn_dict *dict, struct yn_mem *mem,
                                const struct yn_view *view, uint64_t hash, uint64_t code);

static inline uint64_t tag_fixed(uint64_t hash)
{
    uint64_t fixed = hash >> YN_DICT_BUCKET_BITS_MAX & 0xff;
    return fixed == 0 ? 1 : fixed; /* a used entry is never 0 */
}

static inline uint64_t tag_of(uint64_t hash, int tag_depth)
{
    return (hash << tag_depth) >> (64 - WINDOW) << 8 | tag_fixed(hash);
}

static inline uint64_t entry_of(uint64_t hash, int tag_depth, uint64_t code)
{
    return tag_of(hash, tag_depth) << 52 | code;
}

static inline size_t bucket_mask(const struct segment *segment)
{
    return ((size_t)1 << segment->bits) - 1;
}

/* The other bucket of an entry that stands in bucket b. Its own inverse. */
static inline size_t bucket_other(const struct segment *segment, size_t b, uint64_t tag)
{
    return b ^ (((tag & 0xff) * 0x5bd1 | 1) & bucket_mask(segment));
}

static inline size_t bucket_first(const struct segment *segment, uint64_t hash)
{
    return hash & bucket_mask(segment);
}

static inline int bucket_find(const struct segment *segment, size_t b, uint64_t entry)
{
    for (int i = 0; i < SLOTS; i++)
        if (segment->bucket[b][i] == entry)
            return i;
    return -1;
}

static inline uint64_t *segment_find(const struct segment *segment, uint64_t hash,
                                     uint64_t code)
{
    uint64_t entry = entry_of(hash, segment->tag_depth, code);
    size_t b = bucket_first(segment, hash);
    for (int pass = 0; pass < 2; pass++) {
        int i = bucket_find(segment, b, entry);
        if (i >= 0)
            return &segment->bucket[b][i];
        b = bucket_other(segment, b, entry >> 52);
    }
    return NULL;
}

/* ---- the side table (dict_side.c) ---- */

static inline size_t side_size(int bits)
{
    return sizeof(struct side_segment) + ((size_t)1 << bits) * sizeof(struct side_entry);
}

/* NULL: out of memory. */
struct side_segment *yn_dict_side_new(struct yn_mem *mem, int depth, int bits);
enum yn_status yn_dict_side_add(struct yn_dict *dict, struct yn_mem *mem, uint64_t hash,
                                uint64_t key);
/* The entry is one that side_find has found. */
void yn_dict_side_remove(struct yn_dict *dict, struct side_entry *entry);

static inline struct side_entry *side_find(const struct yn_dict *dict, uint64_t hash,
                                           uint64_t key)
{
    if (dict->side.segment == NULL)
        return NULL;
    struct side_segment *side = directory_find(&dict->side, hash);
    size_t mask = ((size_t)1 << side->bits) - 1;
    for (size_t i = hash & mask; side->entry[i].key != 0; i = (i + 1) & mask)
        if (side->entry[i].hash == hash && side->entry[i].key == key)
            return &side->entry[i];
    return NULL;
}

static inline bool is_in_side(const struct yn_dict *dict, uint64_t hash, uint64_t key)
{
    return dict->n_side > 0 && side_find(dict, hash, key) != NULL;
}

/* ---- finding ---- */

/* Finds the member at another key than `except` (0: none is excepted). */
bool yn_dict_find_except(const struct yn_dict *dict, const struct yn_view *view,
                         struct yn_bytes member, uint64_t hash, uint64_t except,
                         struct yn_path *out_path);
/* Asks for what a look-up of these hashes in either table reads first. */
void yn_dict_prefetch(const struct yn_dict *dict, const uint64_t *hashes, size_t n);

#endif
