/*
 * leaf.h: blocks of the tree: the common node header, and leaves, which hold the
 * entries themselves: positions as a structure of arrays, members in wire form.
 *
 * A leaf is one block of memory, tightly packed:
 *
 *     header | positions | offsets (mixed lengths only) | members
 *
 *     narrow   uint16 lat[n], uint16 lon[n]   offsets from base_lat, base_lon
 *     wide     uint32 lat[n], uint32 lon[n]   cell indices
 *     general  double score[n]                any score, cells included
 *
 * The format is per leaf, so one odd score changes one leaf. Members stand back
 * to back as RESP bulks ("$3\r\nabc\r\n"), so that a leaf wholly inside a shape
 * is copied into the reply as it is. When all have one length no offsets are
 * stored. A member over YN_MEMBER_INLINE_MAX bytes lies in a block of its own
 * (struct yn_long); its entry is a zero byte and the block's address.
 *
 * Entries are ordered by (score, member bytes). Scores are compared through
 * their key: the bits of the double mapped to an unsigned integer in order.
 */
#ifndef YN_LEAF_H
#define YN_LEAF_H

#include <string.h>

#include "core/bytes.h"
#include "core/geodesy.h"
#include "yonder.h"

/* Sizes; the stress build makes them tiny. */
#ifndef YN_LEAF_BYTES
#define YN_LEAF_BYTES 2048 /* a leaf above this splits... */
#endif
#ifndef YN_LEAF_ENTRIES_MIN
#define YN_LEAF_ENTRIES_MIN 48 /* ...unless it holds no more than these */
#endif
#define YN_LEAF_ENTRIES_MAX 255
#ifndef YN_TREE_FANOUT
#define YN_TREE_FANOUT 64 /* children of an inner node */
#endif
#define YN_MEMBER_INLINE_MAX 256
#define YN_LONG_ENTRY_LEN (1 + sizeof(void *))

#define YN_LEVEL_LONG 255 /* not a node of the tree: a long member's block */

/* Header of everything that frozen views may share. */
struct yn_node {
    uint64_t birth;               /* epoch it was made in */
    struct yn_node *retired_next; /* list of what only frozen views still need */
    uint8_t level;                /* 0: leaf; above: inner; YN_LEVEL_LONG */
    uint8_t format;               /* of a leaf */
    uint16_t n;                   /* entries or children */
    uint32_t cap;                 /* bytes of the block (leaf, inner) */
};

/* Bounding rectangle in cell indices, inclusive. */
struct yn_rect {
    uint32_t lat_min, lat_max, lon_min, lon_max;
};

/* Those of an inner node's children, as arrays. */
struct yn_rects {
    uint32_t lat_min[YN_TREE_FANOUT], lat_max[YN_TREE_FANOUT];
    uint32_t lon_min[YN_TREE_FANOUT], lon_max[YN_TREE_FANOUT];
};

static inline struct yn_rect yn_rects_get(const struct yn_rects *rects, size_t i)
{
    return (struct yn_rect){rects->lat_min[i], rects->lat_max[i], rects->lon_min[i],
                            rects->lon_max[i]};
}

static inline void yn_rects_set(struct yn_rects *rects, size_t i,
                                const struct yn_rect *rect)
{
    rects->lat_min[i] = rect->lat_min;
    rects->lat_max[i] = rect->lat_max;
    rects->lon_min[i] = rect->lon_min;
    rects->lon_max[i] = rect->lon_max;
}

/* Those of the numbers, to the front of other arrays. */
static inline void yn_rects_pack(const struct yn_rects *rects, const uint8_t *numbers,
                                 size_t n, struct yn_rects *out)
{
    for (size_t i = 0; i < n; i++) {
        struct yn_rect rect = yn_rects_get(rects, numbers[i]);
        yn_rects_set(out, i, &rect);
    }
}

enum yn_leaf_format { YN_LEAF_NARROW, YN_LEAF_WIDE, YN_LEAF_GENERAL };

struct yn_leaf {
    struct yn_node head;
    uint16_t
        entry_len;     /* wire length of every entry; 0: lengths differ, offsets stored */
    uint16_t n_long;   /* entries that are long members */
    uint32_t wire_len; /* bytes of the member area */
    struct yn_rect rect;
    uint32_t base_lat, base_lon; /* narrow */
    char data[];
};

struct yn_long {
    struct yn_node head;
    size_t member_len;
    size_t wire_len;
    char wire[]; /* the whole bulk */
};

/* An entry outside a leaf, on its way from or into one. */
struct yn_item {
    double score;      /* set where it is no cell */
    uint32_t lat, lon; /* cell indices of the decoded position */
    uint32_t wire_len;
    bool is_cell; /* lat and lon say everything about the score */
    const char *wire;
};

/* ---- scores and keys ---- */

static inline uint64_t yn_key_of_score(double score)
{
    uint64_t bits;
    score += 0.0; /* -0 and 0 are one score */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static inline double yn_score_of_key(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
    double score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

/* ---- wire form ---- */

/* Bytes of a member's bulk, and the bulk itself; returns its length. */
size_t yn_wire_len(size_t member_len);
size_t yn_wire_format(struct yn_bytes member, char *out_wire);

static inline bool yn_entry_is_long(const char *entry)
{
    return entry[0] == 0;
}

static inline struct yn_long *yn_entry_long(const char *entry)
{
    struct yn_long *block;
    memcpy(&block, entry + 1, sizeof block);
    return block;
}

/* The member of an entry: the header's length follows from the entry's. */
static inline struct yn_bytes yn_entry_member(const char *entry, size_t entry_len)
{
    if (yn_entry_is_long(entry)) {
        const struct yn_long *block = yn_entry_long(entry);
        return (struct yn_bytes){block->wire + block->wire_len - block->member_len - 2,
                                 block->member_len};
    }
    size_t header_len = entry_len <= 15 ? 4 : entry_len <= 106 ? 5 : 6;
    return (struct yn_bytes){entry + header_len, entry_len - header_len - 2};
}

/* Fills an item for a score; wire fields are the caller's. */
void yn_item_set_score(struct yn_item *item, double score);

/* ---- leaves ---- */

static inline size_t yn_leaf_position_size(unsigned format)
{
    return format == YN_LEAF_NARROW ? 4 : 8;
}

/* Start of the member area's offsets, and of the member area. */
static inline char *yn_leaf_offsets(const struct yn_leaf *leaf)
{
    return (char *)leaf->data + leaf->head.n * yn_leaf_position_size(leaf->head.format);
}

static inline char *yn_leaf_wires(const struct yn_leaf *leaf)
{
    return yn_leaf_offsets(leaf) + (leaf->entry_len == 0 ? 2u * leaf->head.n : 0);
}

/* Offset of entry i in the member area; i == n gives its end. */
static inline size_t yn_leaf_offset(const struct yn_leaf *leaf, size_t i)
{
    if (leaf->entry_len != 0)
        return i * leaf->entry_len;
    if (i == leaf->head.n)
        return leaf->wire_len;
    uint16_t offset;
    memcpy(&offset, yn_leaf_offsets(leaf) + 2 * i, sizeof offset);
    return offset;
}

/* Entry i as it stands in the member area. */
static inline struct yn_bytes yn_leaf_entry(const struct yn_leaf *leaf, size_t i)
{
    size_t at = yn_leaf_offset(leaf, i);
    return (struct yn_bytes){yn_leaf_wires(leaf) + at, yn_leaf_offset(leaf, i + 1) - at};
}

static inline struct yn_bytes yn_leaf_member(const struct yn_leaf *leaf, size_t i)
{
    struct yn_bytes entry = yn_leaf_entry(leaf, i);
    return yn_entry_member(entry.data, entry.len);
}

/* Cell indices of entry i's position. */
void yn_leaf_cell(const struct yn_leaf *leaf, size_t i, uint32_t *out_lat,
                  uint32_t *out_lon);
double yn_leaf_score(const struct yn_leaf *leaf, size_t i);
static inline uint64_t yn_leaf_key(const struct yn_leaf *leaf, size_t i)
{
    return yn_key_of_score(yn_leaf_score(leaf, i));
}

/* Number of entries before (key, member); *out_found tells whether entry i is it. */
size_t yn_leaf_lower_bound(const struct yn_leaf *leaf, uint64_t key,
                           struct yn_bytes member, bool *out_found);
/* The first entry in this cell, in a leaf of cells; head.n when there is none. */
size_t yn_leaf_find_cell(const struct yn_leaf *leaf, uint32_t lat, uint32_t lon);
/* The first entry with this key; head.n when there is none. */
size_t yn_leaf_find_key(const struct yn_leaf *leaf, uint64_t key);
/* Number of entries with a key below `key`, or not above it. */
size_t yn_leaf_count_below(const struct yn_leaf *leaf, uint64_t key, bool or_equal);
/* Finds a member by its bytes alone. Returns false when it is not there. */
bool yn_leaf_find_member(const struct yn_leaf *leaf, struct yn_bytes member,
                         size_t *out_i);

/* Bytes that the leaf uses. */
size_t yn_leaf_used(const struct yn_leaf *leaf);

/* Reads all entries; their wires point into the leaf. Returns their number. */
size_t yn_leaf_unpack(const struct yn_leaf *leaf, struct yn_item *out_items);

/* How n items (1..YN_LEAF_ENTRIES_MAX) would lie in a leaf, and its size in bytes. */
struct yn_leaf_plan {
    size_t n, size, wire_len;
    uint16_t entry_len, n_long;
    uint8_t format;
    struct yn_rect rect;
};
void yn_leaf_plan(const struct yn_item *items, size_t n, struct yn_leaf_plan *out_plan);
/* Fills a block of `cap` >= plan->size bytes. The items must not point into it. */
void yn_leaf_pack(struct yn_leaf *leaf, size_t cap, uint64_t epoch,
                  const struct yn_item *items, const struct yn_leaf_plan *plan);

/* Puts an item before entry i. Returns false, leaf unchanged, when it does not fit the
 * block, the format or the offsets: the leaf is to be packed anew. */
bool yn_leaf_insert(struct yn_leaf *leaf, size_t i, const struct yn_item *item);
/* Takes entry i out; the leaf may become empty. */
void yn_leaf_remove(struct yn_leaf *leaf, size_t i);
/* Makes entry `from` entry `to`, at the item's score (its wire does not count). Returns
 * false, leaf unchanged, when the score does not fit the format. */
bool yn_leaf_move(struct yn_leaf *leaf, size_t from, size_t to,
                  const struct yn_item *item);

void yn_rect_extend(struct yn_rect *rect, uint32_t lat, uint32_t lon);
void yn_rect_union(struct yn_rect *rect, const struct yn_rect *other);
/* The rectangle around the first n of them (n > 0). */
struct yn_rect yn_rects_union(const struct yn_rects *rects, size_t n);
/* The exact bounding rectangle of a leaf's entries (n > 0). */
struct yn_rect yn_leaf_bounds(const struct yn_leaf *leaf);

#endif
