/*
 * leaf.c: see leaf.h for the layout.
 *
 * HOT: yn_leaf_lower_bound, yn_leaf_insert and yn_leaf_remove run for every
 * changed member. A change shifts at most one leaf (about 2 KB, in the L1 cache);
 * packing anew happens when the block is full or the format changes.
 */
#include "core/leaf.h"

#include <assert.h>

#define NARROW_SPAN 65535u

/* ---- wire form ---- */

static size_t digits_of(size_t n)
{
    size_t digits = 1;
    while (n >= 10) {
        n /= 10;
        digits++;
    }
    return digits;
}

size_t yn_wire_len(size_t member_len)
{
    return 1 + digits_of(member_len) + 2 + member_len + 2;
}

size_t yn_wire_format(struct yn_bytes member, char *out_wire)
{
    size_t digits = digits_of(member.len);
    out_wire[0] = '$';
    size_t rest = member.len;
    for (size_t i = digits; i > 0; i--) {
        out_wire[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    char *at = out_wire + 1 + digits;
    memcpy(at, "\r\n", 2);
    if (member.len > 0)
        memcpy(at + 2, member.data, member.len);
    memcpy(at + 2 + member.len, "\r\n", 2);
    return 1 + digits + 2 + member.len + 2;
}

void yn_item_set_score(struct yn_item *item, double score)
{
    uint64_t code;
    item->score = score;
    item->is_cell = yn_score_is_cell(score, &code);
    yn_cell_deinterleave(item->is_cell ? code : yn_score_to_bits(score), &item->lat,
                         &item->lon);
}

/* ---- rectangles ---- */

void yn_rect_extend(struct yn_rect *rect, uint32_t lat, uint32_t lon)
{
    rect->lat_min = lat < rect->lat_min ? lat : rect->lat_min;
    rect->lat_max = lat > rect->lat_max ? lat : rect->lat_max;
    rect->lon_min = lon < rect->lon_min ? lon : rect->lon_min;
    rect->lon_max = lon > rect->lon_max ? lon : rect->lon_max;
}

void yn_rect_union(struct yn_rect *rect, const struct yn_rect *other)
{
    yn_rect_extend(rect, other->lat_min, other->lon_min);
    yn_rect_extend(rect, other->lat_max, other->lon_max);
}

static const struct yn_rect empty_rect = {UINT32_MAX, 0, UINT32_MAX, 0};

struct yn_rect yn_rects_union(const struct yn_rects *rects, size_t n)
{
    struct yn_rect all = empty_rect;
    for (size_t i = 0; i < n; i++) {
        yn_rect_extend(&all, rects->lat_min[i], rects->lon_min[i]);
        yn_rect_extend(&all, rects->lat_max[i], rects->lon_max[i]);
    }
    return all;
}

/* ---- reading ---- */

void yn_leaf_cell(const struct yn_leaf *leaf, size_t i, uint32_t *out_lat,
                  uint32_t *out_lon)
{
    size_t n = leaf->head.n;
    if (leaf->head.format == YN_LEAF_NARROW) {
        const uint16_t *lat = (const uint16_t *)(const void *)leaf->data;
        *out_lat = leaf->base_lat + lat[i];
        *out_lon = leaf->base_lon + lat[n + i];
    } else if (leaf->head.format == YN_LEAF_WIDE) {
        const uint32_t *lat = (const uint32_t *)(const void *)leaf->data;
        *out_lat = lat[i];
        *out_lon = lat[n + i];
    } else {
        yn_cell_deinterleave(yn_score_to_bits(yn_leaf_score(leaf, i)), out_lat, out_lon);
    }
}

double yn_leaf_score(const struct yn_leaf *leaf, size_t i)
{
    if (leaf->head.format == YN_LEAF_GENERAL)
        return ((const double *)(const void *)leaf->data)[i];
    uint32_t lat, lon;
    yn_leaf_cell(leaf, i, &lat, &lon);
    return (double)yn_cell_interleave(lat, lon);
}

/* ---- searching ---- */

/*
 * Whether cell (lat1, lon1) comes before (lat2, lon2) in the order of codes, without
 * interleaving: the axis with the higher differing bit decides, and longitude has the
 * odd, higher bits (Chan, "A minimalist's implementation of an approximate nearest
 * neighbor algorithm in fixed dimensions", 2006). No branches: half of them would be
 * mispredicted.
 */
static inline bool is_cell_before(uint32_t lat1, uint32_t lon1, uint32_t lat2,
                                  uint32_t lon2)
{
    uint32_t lat_bits = lat1 ^ lat2, lon_bits = lon1 ^ lon2;
    uint32_t is_by_lat = (lon_bits < lat_bits) & (lon_bits < (lon_bits ^ lat_bits));
    uint32_t swap = (0 - is_by_lat) & (lat1 ^ lon1),
             swap2 = (0 - is_by_lat) & (lat2 ^ lon2);
    return (lon1 ^ swap) < (lon2 ^ swap2);
}

/* Number of entries, in a leaf of cells, whose cell is before (lat, lon), or not after
 * it. Takes the same steps whatever the entries: there is nothing to predict. */
static size_t cells_before(const struct yn_leaf *leaf, uint32_t lat, uint32_t lon,
                           bool or_equal)
{
    size_t n = leaf->head.n, at = 0;
    const uint16_t *narrow = (const uint16_t *)(const void *)leaf->data;
    const uint32_t *wide = (const uint32_t *)(const void *)leaf->data;
    bool is_narrow = leaf->head.format == YN_LEAF_NARROW;
    for (size_t left = n; left > 0;) {
        size_t half = (left + 1) / 2, i = at + half - 1;
        uint32_t lat_i = is_narrow ? leaf->base_lat + narrow[i] : wide[i];
        uint32_t lon_i = is_narrow ? leaf->base_lon + narrow[n + i] : wide[n + i];
        size_t is_passed = or_equal ? !is_cell_before(lat, lon, lat_i, lon_i)
                                    : is_cell_before(lat_i, lon_i, lat, lon);
        at += half & (0 - is_passed);
        left /= 2;
    }
    return at;
}

/* The cell that a key stands for. False: it is of a score that is no cell. */
static bool key_to_cell(uint64_t key, uint32_t *out_lat, uint32_t *out_lon)
{
    uint64_t code;
    if (!yn_score_is_cell(yn_score_of_key(key), &code))
        return false;
    yn_cell_deinterleave(code, out_lat, out_lon);
    return true;
}

size_t yn_leaf_count_below(const struct yn_leaf *leaf, uint64_t key, bool or_equal)
{
    uint32_t lat, lon;
    if (leaf->head.format != YN_LEAF_GENERAL && key_to_cell(key, &lat, &lon))
        return cells_before(leaf, lat, lon, or_equal);
    size_t low = 0, high = leaf->head.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint64_t at = yn_leaf_key(leaf, middle);
        if (at < key || (or_equal && at == key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Eight slices at a time, in whatever vectors the processor has. */
typedef uint16_t slices __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint64_t halves __attribute__((vector_size(16)));
#define SLICES 8

/* The first i with lat[i] == at_lat and lon[i] == at_lon; n when there is none. */
static size_t find_narrow(const uint16_t *lat, const uint16_t *lon, size_t n,
                          uint16_t at_lat, uint16_t at_lon)
{
    size_t i = 0;
    for (; i + SLICES <= n; i += SLICES) {
        slices is_equal = (slices)(*(const slices *)(lat + i) == at_lat) &
                          (slices)(*(const slices *)(lon + i) == at_lon);
        halves mask = (halves)is_equal;
        if ((mask[0] | mask[1]) != 0)
            break;
    }
    while (i < n && !(lat[i] == at_lat && lon[i] == at_lon))
        i++;
    return i;
}

size_t yn_leaf_find_cell(const struct yn_leaf *leaf, uint32_t lat, uint32_t lon)
{
    size_t n = leaf->head.n, i = 0;
    if (leaf->head.format == YN_LEAF_NARROW) {
        const uint16_t *at = (const uint16_t *)(const void *)leaf->data;
        lat -= leaf->base_lat;
        lon -= leaf->base_lon;
        return lat > NARROW_SPAN || lon > NARROW_SPAN
                   ? n
                   : find_narrow(at, at + n, n, (uint16_t)lat, (uint16_t)lon);
    }
    const uint32_t *at = (const uint32_t *)(const void *)leaf->data;
    while (i < n && !(at[i] == lat && at[n + i] == lon))
        i++;
    return i;
}

size_t yn_leaf_find_key(const struct yn_leaf *leaf, uint64_t key)
{
    uint32_t lat, lon;
    if (leaf->head.format != YN_LEAF_GENERAL)
        return key_to_cell(key, &lat, &lon) ? yn_leaf_find_cell(leaf, lat, lon)
                                            : leaf->head.n;
    size_t i = yn_leaf_count_below(leaf, key, false);
    return i < leaf->head.n && yn_leaf_key(leaf, i) == key ? i : leaf->head.n;
}

size_t yn_leaf_lower_bound(const struct yn_leaf *leaf, uint64_t key,
                           struct yn_bytes member, bool *out_found)
{
    size_t low = yn_leaf_count_below(leaf, key, false), high = low;
    *out_found = false;
    if (low < leaf->head.n && yn_leaf_key(leaf, low) == key)
        high = low + 1;
    if (high < leaf->head.n && high > low && yn_leaf_key(leaf, high) == key)
        high = yn_leaf_count_below(leaf, key, true);
    while (low < high) { /* those of this key are in the order of their bytes */
        size_t middle = (low + high) / 2;
        int c = yn_bytes_compare(yn_leaf_member(leaf, middle), member);
        if (c == 0) {
            *out_found = true;
            return middle;
        }
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool yn_leaf_find_member(const struct yn_leaf *leaf, struct yn_bytes member,
                         size_t *out_i)
{
    size_t n = leaf->head.n;
    if (leaf->entry_len != 0 && leaf->n_long == 0 &&
        leaf->entry_len != yn_wire_len(member.len))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct yn_bytes at = yn_leaf_member(leaf, i);
        if (at.len == member.len &&
            (at.len == 0 || memcmp(at.data, member.data, at.len) == 0)) {
            *out_i = i;
            return true;
        }
    }
    return false;
}

static size_t layout_size(unsigned format, size_t n, bool is_mixed, size_t wire_len)
{
    return sizeof(struct yn_leaf) + n * yn_leaf_position_size(format) +
           (is_mixed ? 2 * n : 0) + wire_len;
}

size_t yn_leaf_used(const struct yn_leaf *leaf)
{
    return layout_size(leaf->head.format, leaf->head.n, leaf->entry_len == 0,
                       leaf->wire_len);
}

size_t yn_leaf_unpack(const struct yn_leaf *leaf, struct yn_item *out_items)
{
    size_t n = leaf->head.n;
    bool is_general = leaf->head.format == YN_LEAF_GENERAL;
    const char *wires = yn_leaf_wires(leaf);
    for (size_t i = 0, at = 0; i < n; i++) {
        struct yn_item *item = &out_items[i];
        size_t next = yn_leaf_offset(leaf, i + 1);
        item->wire = wires + at;
        item->wire_len = (uint32_t)(next - at);
        at = next;
        if (is_general) {
            yn_item_set_score(item, yn_leaf_score(leaf, i));
        } else {
            yn_leaf_cell(leaf, i, &item->lat, &item->lon);
            item->is_cell = true;
        }
    }
    return n;
}

struct yn_rect yn_leaf_bounds(const struct yn_leaf *leaf)
{
    struct yn_rect rect = empty_rect;
    for (size_t i = 0; i < leaf->head.n; i++) {
        uint32_t lat, lon;
        yn_leaf_cell(leaf, i, &lat, &lon);
        yn_rect_extend(&rect, lat, lon);
    }
    return rect;
}

/* ---- packing ---- */

void yn_leaf_plan(const struct yn_item *items, size_t n, struct yn_leaf_plan *out_plan)
{
    bool is_mixed = false, are_cells = true;
    struct yn_leaf_plan plan = {.n = n, .rect = empty_rect};
    assert(n > 0 && n <= YN_LEAF_ENTRIES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct yn_item *item = &items[i];
        plan.wire_len += item->wire_len;
        plan.n_long = (uint16_t)(plan.n_long + yn_entry_is_long(item->wire));
        is_mixed |= item->wire_len != items[0].wire_len;
        are_cells &= item->is_cell;
        yn_rect_extend(&plan.rect, item->lat, item->lon);
    }
    plan.entry_len = is_mixed ? 0 : (uint16_t)items[0].wire_len;
    if (!are_cells)
        plan.format = YN_LEAF_GENERAL;
    else if (plan.rect.lat_max - plan.rect.lat_min <= NARROW_SPAN &&
             plan.rect.lon_max - plan.rect.lon_min <= NARROW_SPAN)
        plan.format = YN_LEAF_NARROW;
    else
        plan.format = YN_LEAF_WIDE;
    plan.size = layout_size(plan.format, n, is_mixed, plan.wire_len);
    *out_plan = plan;
}

/* A base that leaves the same room below and above what is there. */
static uint32_t narrow_base(uint32_t min, uint32_t max)
{
    uint32_t room = (NARROW_SPAN - (max - min)) / 2;
    return min > room ? min - room : 0;
}

static void pack_positions(struct yn_leaf *leaf, const struct yn_item *items)
{
    size_t n = leaf->head.n;
    uint16_t *narrow = (uint16_t *)(void *)leaf->data;
    uint32_t *wide = (uint32_t *)(void *)leaf->data;
    double *general = (double *)(void *)leaf->data;
    for (size_t i = 0; i < n; i++) {
        if (leaf->head.format == YN_LEAF_NARROW) {
            narrow[i] = (uint16_t)(items[i].lat - leaf->base_lat);
            narrow[n + i] = (uint16_t)(items[i].lon - leaf->base_lon);
        } else if (leaf->head.format == YN_LEAF_WIDE) {
            wide[i] = items[i].lat;
            wide[n + i] = items[i].lon;
        } else {
            general[i] = items[i].is_cell
                             ? (double)yn_cell_interleave(items[i].lat, items[i].lon)
                             : items[i].score;
        }
    }
}

void yn_leaf_pack(struct yn_leaf *leaf, size_t cap, uint64_t epoch,
                  const struct yn_item *items, const struct yn_leaf_plan *plan)
{
    assert(cap >= plan->size && cap <= UINT32_MAX);
    leaf->head = (struct yn_node){.birth = epoch,
                                  .format = plan->format,
                                  .n = (uint16_t)plan->n,
                                  .cap = (uint32_t)cap};
    leaf->entry_len = plan->entry_len;
    leaf->n_long = plan->n_long;
    leaf->wire_len = (uint32_t)plan->wire_len;
    leaf->rect = plan->rect;
    leaf->base_lat = narrow_base(plan->rect.lat_min, plan->rect.lat_max);
    leaf->base_lon = narrow_base(plan->rect.lon_min, plan->rect.lon_max);
    pack_positions(leaf, items);
    char *offsets = yn_leaf_offsets(leaf), *wires = yn_leaf_wires(leaf);
    size_t at = 0;
    for (size_t i = 0; i < plan->n; i++) {
        if (plan->entry_len == 0) {
            uint16_t offset = (uint16_t)at;
            memcpy(offsets + 2 * i, &offset, sizeof offset);
        }
        memcpy(wires + at, items[i].wire, items[i].wire_len);
        at += items[i].wire_len;
    }
}

/* ---- changing in place ---- */

/* Whether the leaf's format can hold the item's score. */
static bool is_format_fit(const struct yn_leaf *leaf, const struct yn_item *item)
{
    if (leaf->head.format == YN_LEAF_GENERAL)
        return true;
    if (!item->is_cell)
        return false;
    return leaf->head.format == YN_LEAF_WIDE ||
           (item->lat - leaf->base_lat <= NARROW_SPAN &&
            item->lon - leaf->base_lon <= NARROW_SPAN);
}

static bool is_fit(const struct yn_leaf *leaf, const struct yn_item *item)
{
    size_t n = leaf->head.n + (size_t)1;
    bool is_mixed = leaf->entry_len == 0;
    if (n > YN_LEAF_ENTRIES_MAX || (!is_mixed && item->wire_len != leaf->entry_len))
        return false;
    if (layout_size(leaf->head.format, n, is_mixed, leaf->wire_len + item->wire_len) >
        leaf->head.cap)
        return false;
    return is_format_fit(leaf, item);
}

/* Opens a gap of one element before element i of an array that moves from `from` to `to`
 * (to >= from). */
static void shift_up(char *to, const char *from, size_t i, size_t n, size_t size)
{
    memmove(to + (i + 1) * size, from + i * size, (n - i) * size);
    memmove(to, from, i * size);
}

/* The reverse: closes element i of an array of n that moves from `from` down to `to`. */
static void shift_down(char *to, const char *from, size_t i, size_t n, size_t size)
{
    memmove(to, from, i * size);
    memmove(to + i * size, from + (i + 1) * size, (n - i - 1) * size);
}

static void set_position(struct yn_leaf *leaf, size_t i, const struct yn_item *item)
{
    size_t n = leaf->head.n;
    if (leaf->head.format == YN_LEAF_NARROW) {
        uint16_t *lat = (uint16_t *)(void *)leaf->data;
        lat[i] = (uint16_t)(item->lat - leaf->base_lat);
        lat[n + i] = (uint16_t)(item->lon - leaf->base_lon);
    } else if (leaf->head.format == YN_LEAF_WIDE) {
        uint32_t *lat = (uint32_t *)(void *)leaf->data;
        lat[i] = item->lat;
        lat[n + i] = item->lon;
    } else {
        ((double *)(void *)leaf->data)[i] = item->score;
    }
}

/* Adds delta to the offsets of the entries from i on. */
static void move_offsets(struct yn_leaf *leaf, size_t i, int delta)
{
    uint16_t *offsets = (uint16_t *)(void *)yn_leaf_offsets(leaf);
    for (; i < leaf->head.n; i++)
        offsets[i] = (uint16_t)(offsets[i] + delta);
}

bool yn_leaf_insert(struct yn_leaf *leaf, size_t i, const struct yn_item *item)
{
    if (!is_fit(leaf, item))
        return false;
    size_t n = leaf->head.n, wire_len = item->wire_len;
    size_t at = yn_leaf_offset(leaf, i);
    char *old_offsets = yn_leaf_offsets(leaf), *old_wires = yn_leaf_wires(leaf);
    leaf->head.n++;
    char *offsets = yn_leaf_offsets(leaf), *wires = yn_leaf_wires(leaf);
    /* back to front, so that nothing is overwritten before it has moved */
    memmove(wires + at + wire_len, old_wires + at, leaf->wire_len - at);
    memmove(wires, old_wires, at);
    memcpy(wires + at, item->wire, wire_len);
    leaf->wire_len += item->wire_len;
    if (leaf->entry_len == 0) {
        shift_up(offsets, old_offsets, i, n, 2);
        uint16_t offset = (uint16_t)at;
        memcpy(offsets + 2 * i, &offset, sizeof offset);
        move_offsets(leaf, i + 1, (int)wire_len);
    }
    if (leaf->head.format == YN_LEAF_GENERAL) {
        shift_up(leaf->data, leaf->data, i, n, 8);
    } else {
        size_t size = yn_leaf_position_size(leaf->head.format) / 2;
        shift_up(leaf->data + (n + 1) * size, leaf->data + n * size, i, n, size);
        shift_up(leaf->data, leaf->data, i, n, size);
    }
    set_position(leaf, i, item);
    leaf->n_long = (uint16_t)(leaf->n_long + yn_entry_is_long(item->wire));
    yn_rect_extend(&leaf->rect, item->lat, item->lon);
    return true;
}

static bool is_at_edge(const struct yn_rect *rect, uint32_t lat, uint32_t lon)
{
    return lat == rect->lat_min || lat == rect->lat_max || lon == rect->lon_min ||
           lon == rect->lon_max;
}

void yn_leaf_remove(struct yn_leaf *leaf, size_t i)
{
    size_t n = leaf->head.n;
    struct yn_bytes entry = yn_leaf_entry(leaf, i);
    size_t at = yn_leaf_offset(leaf, i);
    uint32_t lat, lon;
    yn_leaf_cell(leaf, i, &lat, &lon);
    leaf->n_long = (uint16_t)(leaf->n_long - yn_entry_is_long(entry.data));
    char *old_offsets = yn_leaf_offsets(leaf), *old_wires = yn_leaf_wires(leaf);
    if (leaf->entry_len == 0)
        move_offsets(leaf, i + 1, -(int)entry.len);
    if (leaf->head.format == YN_LEAF_GENERAL) {
        shift_down(leaf->data, leaf->data, i, n, 8);
    } else {
        size_t size = yn_leaf_position_size(leaf->head.format) / 2;
        shift_down(leaf->data, leaf->data, i, n, size);
        shift_down(leaf->data + (n - 1) * size, leaf->data + n * size, i, n, size);
    }
    leaf->head.n--;
    char *offsets = yn_leaf_offsets(leaf), *wires = yn_leaf_wires(leaf);
    if (leaf->entry_len == 0)
        shift_down(offsets, old_offsets, i, n, 2);
    memmove(wires, old_wires, at);
    memmove(wires + at, old_wires + at + entry.len, leaf->wire_len - at - entry.len);
    leaf->wire_len -= (uint32_t)entry.len;
    if (is_at_edge(&leaf->rect, lat, lon))
        leaf->rect = yn_leaf_bounds(leaf);
}

/* Moves element `from` of an array to `to`; those between close up. */
static void rotate(char *array, size_t from, size_t to, size_t size)
{
    char element[8];
    memcpy(element, array + from * size, size);
    if (from < to)
        memmove(array + from * size, array + (from + 1) * size, (to - from) * size);
    else
        memmove(array + (to + 1) * size, array + to * size, (from - to) * size);
    memcpy(array + to * size, element, size);
}

/* The same for the members, and their offsets. */
static void rotate_wires(struct yn_leaf *leaf, size_t from, size_t to)
{
    char entry[8 + YN_MEMBER_INLINE_MAX + 8], *wires = yn_leaf_wires(leaf);
    size_t at = yn_leaf_offset(leaf, from), len = yn_leaf_offset(leaf, from + 1) - at;
    size_t end = yn_leaf_offset(leaf, to + 1), begin = yn_leaf_offset(leaf, to);
    memcpy(entry, wires + at, len);
    if (from < to) {
        memmove(wires + at, wires + at + len, end - at - len);
        begin = end - len;
    } else {
        memmove(wires + begin + len, wires + begin, at - begin);
    }
    memcpy(wires + begin, entry, len);
    if (leaf->entry_len != 0)
        return;
    uint16_t *offsets = (uint16_t *)(void *)yn_leaf_offsets(leaf);
    for (size_t i = from; i < to; i++)
        offsets[i] = (uint16_t)(offsets[i + 1] - len);
    for (size_t i = from; i > to; i--)
        offsets[i] = (uint16_t)(offsets[i - 1] + len);
    offsets[to] = (uint16_t)begin;
}

bool yn_leaf_move(struct yn_leaf *leaf, size_t from, size_t to,
                  const struct yn_item *item)
{
    size_t n = leaf->head.n, size = yn_leaf_position_size(leaf->head.format) / 2;
    uint32_t lat, lon;
    if (!is_format_fit(leaf, item))
        return false;
    yn_leaf_cell(leaf, from, &lat, &lon);
    if (from != to) {
        if (leaf->head.format == YN_LEAF_GENERAL) {
            rotate(leaf->data, from, to, 8);
        } else {
            rotate(leaf->data, from, to, size);
            rotate(leaf->data + n * size, from, to, size);
        }
        rotate_wires(leaf, from, to);
    }
    set_position(leaf, to, item);
    if (is_at_edge(&leaf->rect, lat, lon))
        leaf->rect = yn_leaf_bounds(leaf);
    else
        yn_rect_extend(&leaf->rect, item->lat, item->lon);
    return true;
}
