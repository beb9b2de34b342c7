/*
 * dict_scan.c: walking through a dictionary by cursors.
 *
 * A scan goes through the main table and then through the side table, each in an order
 * that growth keeps: by directory prefix, and in a segment by owner. The owner of an
 * entry is the lower one of its two buckets (side: its home), which does not change when
 * it is sent from one to the other. A cursor holds table, prefix, owner and the segment's
 * size: if that has changed, the segment is scanned again from its start. It also holds
 * the dictionary's generation: in a new dictionary a member may be in the other table, so
 * the scan starts anew.
 *
 * Entries say which cells to walk, and members of those cells are handed out if they are
 * of the group that is visited. Where cells are crowded that is many members looked at
 * for one handed out, so groups grow until the walks are worth it: up to whole runs of
 * segments, for which each cell is walked once.
 */
#include "core/dict_parts.h"

#include <stdlib.h>

struct place {
    int table;           /* 0: main, 1: side */
    unsigned bits;       /* of the segment at `prefix`; 0: not known */
    uint64_t owner;      /* next owner */
    unsigned generation; /* of the dictionary */
    uint64_t prefix;     /* top 32 bits of the hash */
};

#define PREFIX_END ((uint64_t)1 << 32)
#define OWNER_END UINT64_MAX
/* As many members are looked at for one handed out, at most, if that many groups a call
 * can get there. */
#define WALKS_PER_HIT 64
#define GROUPS_MAX 4

_Static_assert(SIDE_BITS_MAX <= 10 && YN_DICT_BUCKET_BITS_MAX <= 10,
               "an owner takes ten bits of a cursor");

static struct place place_of(uint64_t cursor)
{
    return (struct place){.table = (int)(cursor & 1),
                          .bits = cursor >> 1 & 15,
                          .owner = cursor >> 5 & 0x3ff,
                          .generation = cursor >> 15 & (GENERATIONS - 1),
                          .prefix = cursor >> 21 & (PREFIX_END - 1)};
}

static uint64_t cursor_of(const struct place *place)
{
    return place->prefix << 21 | (uint64_t)place->generation << 15 | place->owner << 5 |
           (uint64_t)place->bits << 1 | (uint64_t)place->table;
}

#define SEGMENT_SLOTS (MAIN_SLOTS > SIDE_SLOTS ? MAIN_SLOTS : SIDE_SLOTS)
#define KEYS_MAX (2 * SEGMENT_SLOTS)

struct scan {
    const struct yn_dict *dict;
    const struct yn_view *view;
    struct place place;
    /* the group visited: owners [place.owner, owner_end) of the segments with prefixes
     * [place.prefix, prefix_end) */
    uint64_t owner_end, prefix_end;
    uint64_t keys[KEYS_MAX]; /* of its entries, once each */
    size_t n_keys;
    uint64_t key; /* being visited */
    size_t n_walked, n_visited;
    yn_scan_fn visit;
    void *ctx;
};

static bool is_owner_visited(const struct scan *scan, uint64_t owner)
{
    return owner >= scan->place.owner && owner < scan->owner_end;
}

static uint64_t main_owner(const struct segment *segment, size_t b, uint64_t tag)
{
    size_t other = bucket_other(segment, b, tag);
    return b < other ? b : other;
}

static uint64_t owner_of(const struct scan *scan, uint64_t hash)
{
    if (scan->place.table == 0) {
        const struct segment *segment = directory_find(&scan->dict->main, hash);
        return main_owner(segment, bucket_first(segment, hash), tag_fixed(hash));
    }
    const struct side_segment *side = directory_find(&scan->dict->side, hash);
    return hash & (((size_t)1 << side->bits) - 1);
}

static bool scan_member(void *ctx, struct yn_bytes member)
{
    struct scan *scan = ctx;
    uint64_t hash = hash_of_member(scan->dict, member), prefix = hash >> 32;
    scan->n_walked++;
    if (prefix < scan->place.prefix || prefix >= scan->prefix_end ||
        !is_owner_visited(scan, owner_of(scan, hash)) ||
        is_in_side(scan->dict, hash, scan->key) != (scan->place.table == 1))
        return true;
    struct yn_path path;
    yn_tree_find(scan->view, scan->key, member, &path);
    scan->visit(scan->ctx, member, yn_leaf_score(path.leaf, path.i));
    scan->n_visited++;
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds the keys of a segment's entries whose owners are visited. */
static void collect_keys(struct scan *scan, const void *any_segment)
{
    if (scan->place.table == 1) {
        const struct side_segment *side = any_segment;
        size_t mask = ((size_t)1 << side->bits) - 1;
        for (size_t i = 0; i <= mask; i++)
            if (side->entry[i].key != 0 &&
                is_owner_visited(scan, side->entry[i].hash & mask))
                scan->keys[scan->n_keys++] = side->entry[i].key;
    } else {
        const struct segment *segment = any_segment;
        for (size_t at = 0; at < (bucket_mask(segment) + 1) * SLOTS; at++) {
            uint64_t entry = segment->bucket[at / SLOTS][at % SLOTS];
            if (entry != 0 &&
                is_owner_visited(scan, main_owner(segment, at / SLOTS, entry >> 52)))
                scan->keys[scan->n_keys++] = yn_key_of_score((double)(entry & CODE_MASK));
        }
    }
    if (scan->n_keys == 0)
        return;
    qsort(scan->keys, scan->n_keys, sizeof scan->keys[0], compare_keys);
    size_t n = 1;
    for (size_t i = 1; i < scan->n_keys; i++)
        if (scan->keys[i] != scan->keys[n - 1])
            scan->keys[n++] = scan->keys[i];
    scan->n_keys = n;
}

/* What a scan has to know of a segment of either table. */
struct extent {
    const void *segment;
    unsigned bits;
    size_t n;
    uint64_t end; /* of its prefixes */
};

static struct extent extent_of(const struct scan *scan, uint64_t prefix)
{
    struct extent extent;
    unsigned depth;
    if (scan->place.table == 0) {
        const struct segment *segment = directory_find(&scan->dict->main, prefix << 32);
        extent = (struct extent){segment, segment->bits, segment->n, 0};
        depth = segment->depth;
    } else {
        const struct side_segment *side = directory_find(&scan->dict->side, prefix << 32);
        extent = (struct extent){side, side->bits, side->n, 0};
        depth = side->depth;
    }
    uint64_t span = PREFIX_END >> depth;
    extent.end = prefix / span * span + span;
    return extent;
}

/* Chooses a group of about `wanted` entries at the scan's place, and collects its keys.
 */
static void choose_group(struct scan *scan, size_t wanted)
{
    struct place *place = &scan->place;
    struct extent extent = extent_of(scan, place->prefix);
    if (place->bits != extent.bits)
        place->owner = 0;
    place->bits = extent.bits;
    scan->n_keys = 0;
    scan->prefix_end = extent.end;
    if (place->owner > 0 || extent.n > wanted) {
        uint64_t n_owners = ((uint64_t)wanted << extent.bits) / (extent.n + 1) + 1;
        scan->owner_end = place->owner + n_owners;
        collect_keys(scan, extent.segment);
        return;
    }
    scan->owner_end = OWNER_END;
    size_t n = extent.n;
    collect_keys(scan, extent.segment);
    while (scan->prefix_end < PREFIX_END && scan->n_keys <= KEYS_MAX - SEGMENT_SLOTS) {
        extent = extent_of(scan, scan->prefix_end);
        if (n + extent.n > wanted)
            break;
        n += extent.n;
        collect_keys(scan, extent.segment);
        scan->prefix_end = extent.end;
    }
}

/* Visits one group; moves the place on. Returns false at the end. */
static bool scan_step(struct scan *scan, size_t wanted)
{
    struct place *place = &scan->place;
    const struct directory *dir =
        place->table == 0 ? &scan->dict->main : &scan->dict->side;
    scan->prefix_end = PREFIX_END;
    if (dir->segment != NULL) {
        choose_group(scan, wanted);
        for (size_t i = 0; i < scan->n_keys; i++) {
            scan->key = scan->keys[i];
            yn_tree_visit_key(scan->view, scan->key, scan_member, scan);
        }
        place->owner = scan->owner_end;
        if (place->owner < (uint64_t)1 << place->bits)
            return true;
    }
    place->owner = 0;
    place->bits = 15; /* of the next segment: not known, but a cursor is never 0 */
    place->prefix = scan->prefix_end;
    if (place->prefix < PREFIX_END)
        return true;
    place->prefix = 0;
    return place->table++ == 0;
}

uint64_t yn_dict_scan(const struct yn_dict *dict, const struct yn_view *view,
                      uint64_t cursor, size_t count, yn_scan_fn visit, void *ctx)
{
    struct scan scan; /* large: the keys are set when they are collected */
    scan.dict = dict;
    scan.view = view;
    scan.place = place_of(cursor);
    scan.n_walked = scan.n_visited = 0;
    scan.visit = visit;
    scan.ctx = ctx;
    if (scan.place.generation != dict->generation)
        scan.place = (struct place){.generation = dict->generation};
    if (count > (size_t)1 << 30)
        count = (size_t)1 << 30;
    size_t wanted = count;
    for (int n_groups = 1; scan_step(&scan, wanted); n_groups++) {
        size_t worth = scan.n_walked / WALKS_PER_HIT;
        if (scan.n_visited >= count &&
            (scan.n_visited >= worth || n_groups >= GROUPS_MAX))
            return cursor_of(&scan.place);
        /* twice, since the next group's walks will have to be worth it too */
        wanted = worth > count ? 2 * worth : count;
    }
    return 0;
}
