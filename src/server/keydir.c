/*
 * The dictionary of keys: extendible hashing over small chained segments.
 *
 * A key's place is its 64-bit seeded hash read from the top. The first bits choose a
 * slot of the directory, which points to a segment; the segment knows how many bits
 * it answers for (its depth), and the next eight bits choose one of its 256 chains.
 * So the chains of all segments, in directory order, are the hash space in order.
 *
 * Growth: a segment that holds more than 256 keys splits in two by its next bit.
 * Nothing else moves; when the segment is as deep as the directory, the directory
 * doubles first (a copy of pointers, 8 bytes for some 180 keys). No operation ever
 * rehashes more than 257 keys. Two sibling segments that are nearly empty merge.
 *
 * Scan: the cursor is a position in the hash space (its top 48 bits). A call hands out
 * whole chains from there on. A split or a merge changes where chains begin, never
 * the order of the hash space, and cursors are always on the border of a chain of
 * their time: a border of a coarser layout is one of the finer ones too, and after a
 * merge the cursor may point into the middle of a chain, which is then handed out from
 * the hash position on. So each key that stays is seen exactly once.
 *
 * A random entry: a random position of the hash space is in some segment with a chance
 * of 2^-depth, and each of its entries is taken with one of 1/count; so the segment is
 * kept with a chance in proportion to count * 2^depth, which is about the number of all
 * keys, whatever the segment. What is left is even, and takes two tries on average.
 *
 * Cost: 24 bytes an entry and about 12 bytes of chain head, plus the key.
 * Rejected: one table with incremental rehashing (twice the look-ups while it grows,
 * and a scan that sees keys twice); open addressing in segments (removal and scan are
 * both harder, for 4 bytes a key).
 */
#include "server/keydir.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define CHAIN_BITS 8
#define CHAINS (1u << CHAIN_BITS)
#define SPLIT_ABOVE 256 /* keys: one a chain */
#define MERGE_BELOW 64  /* keys of two siblings together */
#define DEPTH_MAX 40    /* with CHAIN_BITS: 48 bits, what a cursor holds */
#define CURSOR_SHIFT 16

struct segment {
    unsigned depth;
    unsigned count;
    struct key_entry *chain[CHAINS];
};

/* ---- places ---- */

uint64_t keydir_hash(const struct keydir *dir, struct yn_bytes key)
{
    return XXH3_64bits_withSeed(key.data, key.len, dir->seed);
}

static size_t dir_index(const struct keydir *dir, uint64_t hash)
{
    return dir->depth == 0 ? 0 : (size_t)(hash >> (64 - dir->depth));
}

static unsigned chain_index(unsigned depth, uint64_t hash)
{
    return (unsigned)((hash << depth) >> (64 - CHAIN_BITS));
}

struct key_entry **keydir_find(const struct keydir *dir, struct yn_bytes key,
                               uint64_t hash)
{
    struct segment *seg = dir->slots[dir_index(dir, hash)];
    struct key_entry **link = &seg->chain[chain_index(seg->depth, hash)];
    while (*link != NULL) {
        struct yn_bytes have = key_entry_name(*link);
        if (have.len == key.len &&
            (key.len == 0 || memcmp(have.data, key.data, key.len) == 0))
            break;
        link = &(*link)->next;
    }
    return link;
}

/* ---- growing and shrinking ---- */

static struct segment *segment_new(unsigned depth)
{
    struct segment *seg = calloc(1, sizeof *seg);
    if (seg != NULL)
        seg->depth = depth;
    return seg;
}

bool keydir_prepare(struct keydir *dir)
{
    if (dir->slots != NULL)
        return true;
    struct segment **slots = malloc(sizeof *slots);
    struct segment *seg = segment_new(0);
    if (slots == NULL || seg == NULL) {
        free(slots);
        free(seg);
        return false;
    }
    slots[0] = seg;
    dir->slots = slots;
    dir->depth = 0;
    dir->count = 0;
    return true;
}

static bool dir_double(struct keydir *dir)
{
    size_t n = (size_t)1 << dir->depth;
    struct segment **slots = malloc(2 * n * sizeof *slots);
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        slots[2 * i] = slots[2 * i + 1] = dir->slots[i];
    free(dir->slots);
    dir->slots = slots;
    dir->depth++;
    return true;
}

/* Points the directory slots of all hashes that share the first `depth` bits to seg. */
static void dir_fill(struct keydir *dir, uint64_t hash, unsigned depth,
                     struct segment *seg)
{
    size_t n = (size_t)1 << (dir->depth - depth);
    size_t first = dir_index(dir, hash) & ~(n - 1);
    for (size_t i = 0; i < n; i++)
        dir->slots[first + i] = seg;
}

static void segment_add(struct segment *seg, struct key_entry *e, uint64_t hash)
{
    struct key_entry **chain = &seg->chain[chain_index(seg->depth, hash)];
    e->next = *chain;
    *chain = e;
    seg->count++;
}

/* Splits the segment of this hash if it is too full. Without memory it just stays full:
 * chains get longer, nothing fails. */
static void split_if_full(struct keydir *dir, uint64_t hash)
{
    struct segment *low = dir->slots[dir_index(dir, hash)];
    unsigned depth = low->depth;
    if (low->count <= SPLIT_ABOVE || depth >= DEPTH_MAX)
        return;
    if (depth == dir->depth && !dir_double(dir))
        return;
    struct segment *high = segment_new(depth + 1);
    if (high == NULL)
        return;
    uint64_t bit = (uint64_t)1 << (63 - depth);
    struct segment old = *low;
    memset(low, 0, sizeof *low);
    low->depth = depth + 1;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct key_entry *next;
        for (struct key_entry *e = old.chain[i]; e != NULL; e = next) {
            next = e->next;
            uint64_t h = keydir_hash(dir, key_entry_name(e));
            segment_add((h & bit) != 0 ? high : low, e, h);
        }
    }
    dir_fill(dir, hash | bit, depth + 1, high);
}

static void chain_append(struct key_entry **chain, struct key_entry *more)
{
    while (*chain != NULL)
        chain = &(*chain)->next;
    *chain = more;
}

/* Merges the segment of this hash with its sibling if both are nearly empty. Pairs of
 * chains become one: chain i of the lower sibling goes to i/2, of the upper one to 128 +
 * i/2. */
static void merge_if_empty(struct keydir *dir, uint64_t hash)
{
    struct segment *seg = dir->slots[dir_index(dir, hash)];
    if (seg->depth == 0 || seg->count >= MERGE_BELOW)
        return;
    uint64_t bit = (uint64_t)1 << (64 - seg->depth);
    struct segment *low = dir->slots[dir_index(dir, hash & ~bit)];
    struct segment *high = dir->slots[dir_index(dir, hash | bit)];
    if (low->depth != high->depth || low->count + high->count >= MERGE_BELOW)
        return;
    for (unsigned i = 0; i < CHAINS; i++) {
        struct key_entry *chain = low->chain[i];
        low->chain[i] = NULL;
        chain_append(&low->chain[i / 2], chain);
    }
    for (unsigned i = 0; i < CHAINS; i++)
        chain_append(&low->chain[CHAINS / 2 + i / 2], high->chain[i]);
    low->count += high->count;
    low->depth--;
    dir_fill(dir, hash, low->depth, low);
    free(high);
}

/* ---- adding, removing ---- */

void keydir_add(struct keydir *dir, struct key_entry *e, uint64_t hash)
{
    segment_add(dir->slots[dir_index(dir, hash)], e, hash);
    dir->count++;
    split_if_full(dir, hash);
}

struct key_entry *keydir_unlink(struct keydir *dir, struct key_entry **link,
                                uint64_t hash)
{
    struct key_entry *e = *link;
    *link = e->next;
    dir->slots[dir_index(dir, hash)]->count--;
    dir->count--;
    merge_if_empty(dir, hash);
    return e;
}

static void segment_free(struct segment *seg, keydir_give_fn give, void *ctx)
{
    for (unsigned i = 0; i < CHAINS; i++) {
        struct key_entry *next;
        for (struct key_entry *e = seg->chain[i]; e != NULL; e = next) {
            next = e->next;
            give(ctx, e);
        }
    }
    free(seg);
}

bool keydir_free_some(struct keydir *dir, size_t *next, size_t max, keydir_give_fn give,
                      void *ctx)
{
    size_t n_slots = dir->slots == NULL ? 0 : (size_t)1 << dir->depth;
    for (size_t n = 0; n < max && *next < n_slots; n++) {
        struct segment *seg = dir->slots[*next];
        *next += (size_t)1 << (dir->depth - seg->depth);
        segment_free(seg, give, ctx);
    }
    if (*next < n_slots)
        return false;
    free(dir->slots);
    *dir = (struct keydir){.seed = dir->seed};
    return true;
}

/* ---- walking ---- */

/* Hands out the keys of one chain at or after the hash position. */
static size_t visit_chain(const struct keydir *dir, const struct key_entry *e,
                          uint64_t from, keydir_visit_fn visit, void *ctx)
{
    size_t n = 0;
    for (; e != NULL; e = e->next) {
        if (keydir_hash(dir, key_entry_name(e)) >= from)
            n += visit(ctx, e);
    }
    return n;
}

uint64_t keydir_scan(const struct keydir *dir, uint64_t cursor, size_t count,
                     keydir_visit_fn visit, void *ctx)
{
    if (dir->slots == NULL)
        return 0;
    uint64_t at = cursor << CURSOR_SHIFT;
    size_t seen = 0;
    /* Empty chains cost too: a sparse database must not make one call endless. */
    size_t chains_left = count > SIZE_MAX / 10 ? SIZE_MAX : 10 * (count > 0 ? count : 1);
    do {
        const struct segment *seg = dir->slots[dir_index(dir, at)];
        seen += visit_chain(dir, seg->chain[chain_index(seg->depth, at)], at, visit, ctx);
        unsigned shift = 64 - CHAIN_BITS - seg->depth;
        at = ((at >> shift) + 1) << shift;
        chains_left--;
    } while (at != 0 && seen < count && chains_left > 0);
    return at >> CURSOR_SHIFT;
}

/* The segment of this position, if it is to be kept; see above. A segment that is more
 * than twice as full as the mean is always kept: that it is not still more likely is
 * all the unevenness there is. */
static const struct segment *random_segment(const struct keydir *dir, uint64_t random)
{
    const struct segment *seg = dir->slots[dir_index(dir, random)];
    double fill = (double)seg->count * (double)((uint64_t)1 << seg->depth);
    double chance = fill / (2 * (double)dir->count);
    double draw = (double)(random & 0xffffff) / (double)0x1000000;
    return draw < chance ? seg : NULL;
}

struct key_entry *keydir_random(const struct keydir *dir, uint64_t random,
                                uint64_t random_too, keydir_visit_fn is_wanted, void *ctx)
{
    const struct segment *seg = random_segment(dir, random);
    size_t n = 0;
    if (seg == NULL)
        return NULL;
    for (unsigned i = 0; i < CHAINS; i++) {
        for (const struct key_entry *e = seg->chain[i]; e != NULL; e = e->next)
            n += is_wanted(ctx, e);
    }
    size_t left = n == 0 ? 0 : random_too % n + 1;
    for (unsigned i = 0; left > 0 && i < CHAINS; i++) {
        for (struct key_entry *e = seg->chain[i]; e != NULL; e = e->next) {
            if (is_wanted(ctx, e) && --left == 0)
                return e;
        }
    }
    return NULL;
}

/* ---- check ---- */

static const char *check_segment(const struct keydir *dir, size_t first,
                                 keydir_check_fn check, void *ctx)
{
    const struct segment *seg = dir->slots[first];
    size_t n = 0;
    for (unsigned c = 0; c < CHAINS; c++) {
        for (const struct key_entry *e = seg->chain[c]; e != NULL; e = e->next) {
            uint64_t hash = keydir_hash(dir, key_entry_name(e));
            if (dir->slots[dir_index(dir, hash)] != seg ||
                chain_index(seg->depth, hash) != c)
                return "key in a wrong chain";
            const char *wrong = check(ctx, e);
            if (wrong != NULL)
                return wrong;
            n++;
        }
    }
    return n == seg->count ? NULL : "wrong count of a segment";
}

const char *keydir_check(const struct keydir *dir, keydir_check_fn check, void *ctx)
{
    size_t n_slots = dir->slots == NULL ? 0 : (size_t)1 << dir->depth;
    size_t n = 0;
    for (size_t i = 0; i < n_slots;) {
        const struct segment *seg = dir->slots[i];
        if (seg->depth > dir->depth)
            return "segment deeper than the directory";
        size_t width = (size_t)1 << (dir->depth - seg->depth);
        for (size_t k = 0; k < width; k++) {
            if (dir->slots[i + k] != seg)
                return "directory slots of a segment differ";
        }
        const char *wrong = check_segment(dir, i, check, ctx);
        if (wrong != NULL)
            return wrong;
        n += seg->count;
        i += width;
    }
    return n == dir->count ? NULL : "wrong count of keys";
}
