/*
 * search.c: searches: plan and count, then hand out.
 *
 * The plan. A walk over the tree looks at rectangles first: a subtree outside the
 * shape is skipped, one inside is taken whole, and only leaves that the edge of the
 * shape crosses are tested point by point (kernel.h). The plan is a list of leaves
 * with the hits of the crossed ones as bit masks, so that counting is done once and
 * handing out is copying.
 *
 * Small shapes. Of a node's children those come first that have cells in common with the
 * shape's cover (region.h), a comparison of integers; what is left, usually one to three
 * of 64, is related to the shape itself. So the walk may be made over all keys at once,
 * whatever cells the shape has.
 *
 * Unsorted order. Compatible servers walk up to nine cells around the centre in a
 * fixed sequence, each in (score, member) order. Keys are in Morton order and a cell is a
 * range of keys: the plan, made in order of keys, is cut where cells begin and end, and
 * its pieces are put into the order of the cells; the keys between the cells, where those
 * servers lose members, come last, ascending. With a limit that would plan too much:
 * there the walk is made for each range of keys, one after the other, until there are
 * enough; unless the shape is so small that all of it is little.
 *
 * Sorted order. Without a limit: the same walk over everything, then distances and a
 * sort. With a limit: best-first search (nearest.c), unless `any` asks for the first
 * ones of the unsorted order.
 *
 * HOT: walk (rectangles), yn_kernel_test, yn_search_next_run.
 */
#include "core/search.h"

#include "core/geohash.h"

/* ---- memory ---- */

bool yn_search_grow(const struct yn_allocator *hook, void **array, size_t *cap,
                    size_t n_wanted, size_t element_size, const void *few)
{
    if (n_wanted <= *cap)
        return true;
    if (*array != few)
        return yn_mem_grow(hook, array, cap, n_wanted, element_size);
    void *block = NULL;
    size_t new_cap = 0;
    size_t doubled = n_wanted > *cap * 2 ? n_wanted : *cap * 2;
    if (!yn_mem_grow(hook, &block, &new_cap, doubled, element_size))
        return false;
    memcpy(block, few, *cap * element_size);
    *array = block;
    *cap = new_cap;
    return true;
}

bool yn_search_grow_picks(struct yn_search *search, size_t n_wanted)
{
    return yn_search_grow(search->hook, (void **)&search->picks, &search->picks_cap,
                          n_wanted, sizeof *search->picks, search->few_picks);
}

bool yn_search_grow_masks(struct yn_search *search, size_t n_wanted)
{
    return yn_search_grow(search->hook, (void **)&search->masks, &search->masks_cap,
                          n_wanted, sizeof *search->masks, search->few_masks);
}

bool yn_search_grow_ranked(struct yn_search *search, size_t n_wanted)
{
    return yn_search_grow(search->hook, (void **)&search->ranked, &search->ranked_cap,
                          n_wanted, sizeof *search->ranked, search->few_ranked);
}

static void init_arrays(struct yn_search *search)
{
    search->picks = search->few_picks;
    search->masks = search->few_masks;
    search->ranked = search->few_ranked;
    search->picks_cap = search->masks_cap = search->ranked_cap = YN_FEW;
}

static void give(const struct yn_allocator *hook, void *block, const void *few,
                 size_t size)
{
    if (block != few)
        hook->free(hook->ctx, block, size);
}

/* ---- the walk ---- */

struct walk {
    struct yn_search *search;
    uint64_t key_min, key_end; /* keys in [key_min, key_end) */
    size_t limit;              /* stop at so many results */
};

static enum yn_status add_pick(struct walk *walk, const struct yn_leaf *leaf,
                               size_t first, size_t last, const uint64_t *mask,
                               size_t n_hits)
{
    struct yn_search *search = walk->search;
    struct yn_pick pick = {leaf, (uint16_t)first, (uint16_t)last, YN_PICK_ALL};
    if (!yn_search_grow_picks(search, search->n_picks + 1))
        return YN_ENOMEM;
    if (mask != NULL && n_hits < last - first) {
        size_t n_words = (last + 63) / 64;
        if (search->n_masks + n_words >= YN_PICK_ALL ||
            !yn_search_grow_masks(search, search->n_masks + n_words))
            return YN_ENOMEM;
        pick.mask = (uint32_t)search->n_masks;
        memcpy(search->masks + search->n_masks, mask, n_words * sizeof *mask);
        search->n_masks += n_words;
    }
    search->picks[search->n_picks++] = pick;
    search->n_results += n_hits;
    return YN_OK;
}

/* Clears the bits outside [first, last), counts the rest, and draws the limits in to the
 * first and the last of them. */
static size_t clip_mask(uint64_t *mask, size_t *first, size_t *last)
{
    size_t n = 0, lowest = *last, highest = 0;
    for (size_t w = 0; w < YN_MASK_WORDS; w++) {
        size_t low = w * 64, high = low + 64;
        if (*first > low)
            mask[w] &= *first >= high ? 0 : ~(uint64_t)0 << (*first - low);
        if (*last < high)
            mask[w] &= *last <= low ? 0 : ~(uint64_t)0 >> (high - *last);
        if (mask[w] == 0)
            continue;
        if (n == 0)
            lowest = low + (size_t)__builtin_ctzll(mask[w]);
        highest = high - (size_t)__builtin_clzll(mask[w]);
        n += (size_t)__builtin_popcountll(mask[w]);
    }
    *first = lowest;
    *last = highest;
    return n;
}

/* Drops the highest bits until n are left; returns the end of what is left. */
static size_t keep_lowest(uint64_t *mask, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < YN_MASK_WORDS * 64; i++) {
        if (!(mask[i / 64] >> i % 64 & 1))
            continue;
        if (++kept == n) {
            size_t first = 0, last = i + 1;
            clip_mask(mask, &first, &last);
            return last;
        }
    }
    return YN_MASK_WORDS * 64;
}

/* A subtree as its parent knows it. */
struct branch {
    const struct yn_node *node;
    enum yn_relation relation;
    uint64_t key_first; /* of its first entry */
    uint64_t key_upper; /* no entry has a higher key */
};

/* The entries of a leaf whose keys are in the walk's range. Looks into the leaf only
 * where the range may cut through it. */
static void clip_leaf(const struct walk *walk, const struct branch *branch,
                      size_t *out_first, size_t *out_last)
{
    const struct yn_leaf *leaf = yn_as_leaf(branch->node);
    *out_first = 0;
    *out_last = leaf->head.n;
    if (branch->key_first < walk->key_min)
        *out_first = yn_leaf_count_below(leaf, walk->key_min, false);
    if (branch->key_upper >= walk->key_end)
        *out_last = yn_leaf_count_below(leaf, walk->key_end, false);
}

/* How much it is to test a leaf, at the most: a polygon may have edges without end. */
static size_t test_work(const struct yn_search *search, const struct yn_leaf *leaf)
{
    return leaf->head.n + search->region.polygon.n_vertices;
}

static enum yn_status take_leaf(struct walk *walk, const struct branch *branch)
{
    const struct yn_leaf *leaf = yn_as_leaf(branch->node);
    size_t first, last, wanted = walk->limit - walk->search->n_results;
    clip_leaf(walk, branch, &first, &last);
    if (first >= last)
        return YN_OK;
    walk->search->work.n_leaves++;
    if (branch->relation == YN_INSIDE) {
        if (last - first > wanted)
            last = first + wanted;
        return add_pick(walk, leaf, first, last, NULL, last - first);
    }
    uint64_t mask[YN_MASK_WORDS];
    if (yn_stopper_ends(&walk->search->stopper, test_work(walk->search, leaf)))
        return YN_ESTOPPED;
    walk->search->work.n_tested += leaf->head.n;
    yn_kernel()->test(&walk->search->region, leaf, mask);
    size_t n_hits = clip_mask(mask, &first, &last);
    if (n_hits == 0)
        return YN_OK;
    if (n_hits > wanted) {
        last = keep_lowest(mask, wanted);
        n_hits = wanted;
    }
    return add_pick(walk, leaf, first, last, mask, n_hits);
}

/* Fetches what will be read of a leaf: the header, and the positions if they are tested.
 */
static void prefetch_leaf(const struct branch *branch)
{
    size_t len = branch->relation == YN_CROSSING ? 640 : 64;
    for (size_t at = 0; at < len; at += 64)
        __builtin_prefetch((const char *)branch->node + at);
}

#define PREFETCH_AHEAD 4

/* Relates the rectangles of the numbers, and only those. */
static void relate_some(const struct walk *walk, const struct yn_rects *rects,
                        const uint8_t *numbers, size_t n, uint8_t *out_relations)
{
    struct yn_rects some;
    yn_rects_pack(rects, numbers, n, &some);
    yn_kernel()->relate(&walk->search->region, &some, n, out_relations);
}

/* So few children that are not leaves, and so few leaves that are larger than the shape,
 * are looked into rather than related. */
#define FEW_CHILDREN 3
#define FEW_LEAVES 8

/* Whether none of the rectangles lies in the cover: none is inside the shape then. */
static bool are_larger(const struct yn_rect *cover, const struct yn_rects *rects,
                       const uint8_t *numbers, size_t n)
{
    size_t n_within = 0;
    for (size_t k = 0; k < n; k++) {
        struct yn_rect rect = yn_rects_get(rects, numbers[k]);
        n_within += (rect.lat_min >= cover->lat_min) & (rect.lat_max <= cover->lat_max) &
                    (rect.lon_min >= cover->lon_min) & (rect.lon_max <= cover->lon_max);
    }
    return n_within == 0;
}

/* The children that the walk has to visit, in order. Returns their number. */
static size_t choose_children(const struct walk *walk, const struct branch *branch,
                              struct branch *out_children)
{
    const struct yn_inner *inner = yn_as_inner(branch->node);
    const struct yn_region *region = &walk->search->region;
    uint8_t numbers[YN_TREE_FANOUT], relations[YN_TREE_FANOUT];
    size_t n = 0, n_kept = 0, n_children = inner->head.n;
    bool is_inside = branch->relation == YN_INSIDE;
    uint64_t left = is_inside
                        ? ~(uint64_t)0 >> (64 - n_children)
                        : yn_kernel()->overlap(&region->cover, &inner->rects, n_children);
    for (; left != 0; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        uint64_t upper = i + 1 < n_children ? inner->key[i + 1] : branch->key_upper;
        if (inner->key[i] >= walk->key_end)
            break;
        out_children[n] =
            (struct branch){inner->child[i], branch->relation, inner->key[i], upper};
        numbers[n] = (uint8_t)i;
        n += upper >= walk->key_min;
    }
    if (n == 0 || is_inside || (n <= FEW_CHILDREN && branch->node->level > 1) ||
        (n <= FEW_LEAVES && are_larger(&region->cover, &inner->rects, numbers, n)))
        return n;
    if (n == n_children)
        yn_kernel()->relate(region, &inner->rects, n, relations);
    else
        relate_some(walk, &inner->rects, numbers, n, relations);
    for (size_t i = 0; i < n; i++) {
        out_children[n_kept] = out_children[i];
        out_children[n_kept].relation = (enum yn_relation)relations[i];
        n_kept += relations[i] != YN_OUTSIDE;
    }
    return n_kept;
}

static enum yn_status walk_branch(struct walk *walk, const struct branch *branch)
{
    if (branch->node->level == 0)
        return take_leaf(walk, branch);
    struct branch children[YN_TREE_FANOUT];
    size_t n = choose_children(walk, branch, children);
    bool are_leaves = branch->node->level == 1;
    if (yn_stopper_ends(&walk->search->stopper, YN_TREE_FANOUT * 8))
        return YN_ESTOPPED;
    for (size_t i = 0; are_leaves && i < PREFETCH_AHEAD && i < n; i++)
        prefetch_leaf(&children[i]);
    for (size_t i = 0; i < n && walk->search->n_results < walk->limit; i++) {
        if (are_leaves && i + PREFETCH_AHEAD < n)
            prefetch_leaf(&children[i + PREFETCH_AHEAD]);
        enum yn_status status = walk_branch(walk, &children[i]);
        if (status != YN_OK)
            return status;
    }
    return YN_OK;
}

/* Walks the keys of [key_min, key_end). */
static enum yn_status walk_keys(struct yn_search *search, const struct yn_view *view,
                                uint64_t key_min, uint64_t key_end, size_t limit)
{
    struct walk walk = {search, key_min, key_end, limit};
    if (view->root == NULL || key_min >= key_end || search->n_results >= limit)
        return YN_OK;
    struct branch root = {view->root, YN_CROSSING, 0, UINT64_MAX};
    return walk_branch(&walk, &root);
}

/* ---- cell order ---- */

/* The keys in [min, end) come as number `turn`. */
struct key_range {
    uint64_t min, end;
    unsigned turn;
};

/* All keys, as ranges one behind the other: the cells, and what is between them. */
#define RANGES_MAX (2 * YN_CELLS_MAX + 1)
struct key_ranges {
    struct key_range range[RANGES_MAX];
    size_t n;
};

/* The cells of the shape, each once (around the poles one may come twice), by key. */
static size_t list_cells(struct yn_region *region, struct key_range *out_ranges)
{
    struct yn_cells cells;
    size_t n = 0;
    if (region->shape.kind != YN_POLYGON ||
        !yn_cells_of_polygon(region->shape.center, region->center_error_deg,
                             region->polygon.low, region->polygon.high, &cells)) {
        yn_region_settle_center(region);
        yn_cells_of_shape(&region->shape, &cells);
    }
    for (int c = 0; c < cells.n; c++) {
        struct key_range range = {yn_key_of_score((double)cells.range[c].min),
                                  yn_key_of_score((double)cells.range[c].max),
                                  (unsigned)c};
        size_t at = n;
        while (at > 0 && out_ranges[at - 1].min > range.min)
            at--;
        if (at > 0 && out_ranges[at - 1].min == range.min)
            continue;
        memmove(&out_ranges[at + 1], &out_ranges[at], (n - at) * sizeof range);
        out_ranges[at] = range;
        n++;
    }
    return n;
}

static void add_range(struct key_ranges *ranges, struct key_range range)
{
    if (range.min < range.end)
        ranges->range[ranges->n++] = range;
}

/* All keys in order: cells have their turns 0..8, then come the others, ascending. */
static void divide_keys(struct yn_region *region, struct key_ranges *out_ranges)
{
    struct key_range cells[YN_CELLS_MAX + 1];
    size_t n = list_cells(region, cells);
    uint64_t from = 0;
    out_ranges->n = 0;
    for (size_t i = 0; i < n; i++) {
        add_range(out_ranges, (struct key_range){from, cells[i].min, YN_CELLS_MAX});
        add_range(out_ranges, cells[i]);
        from = cells[i].end;
    }
    add_range(out_ranges, (struct key_range){from, UINT64_MAX, YN_CELLS_MAX});
}

/* The numbers of the ranges in the order of their turns. */
static void order_ranges(const struct key_ranges *ranges, uint8_t *out_numbers)
{
    size_t n = 0;
    for (unsigned turn = 0; turn <= YN_CELLS_MAX; turn++)
        for (size_t i = 0; i < ranges->n; i++)
            if (ranges->range[i].turn == turn)
                out_numbers[n++] = (uint8_t)i;
}

/* The first results of each cell, one cell after the other: as many as are wanted. */
static enum yn_status walk_cells(struct yn_search *search, const struct yn_view *view,
                                 size_t limit)
{
    struct key_ranges ranges;
    uint8_t numbers[RANGES_MAX];
    divide_keys(&search->region, &ranges);
    order_ranges(&ranges, numbers);
    for (size_t i = 0; i < ranges.n; i++) {
        const struct key_range *range = &ranges.range[numbers[i]];
        enum yn_status status = walk_keys(search, view, range->min, range->end, limit);
        if (status != YN_OK)
            return status;
    }
    return YN_OK;
}

/* A place in the plan: entry `i` of a pick. */
struct cut {
    size_t pick, i;
};

static uint64_t pick_last_key(const struct yn_pick *pick)
{
    return yn_leaf_key(pick->leaf, pick->last - 1u);
}

/* Where the keys from `key` on begin in a plan that is in order of keys. */
static struct cut find_cut(const struct yn_search *search, struct cut from, uint64_t key)
{
    size_t low = from.pick, high = search->n_picks;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pick_last_key(&search->picks[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    struct cut cut = {low, 0};
    if (low < search->n_picks) {
        const struct yn_pick *pick = &search->picks[low];
        cut.i = pick->first;
        if (yn_leaf_key(pick->leaf, pick->first) < key)
            cut.i = yn_leaf_count_below(pick->leaf, key, false);
    }
    return cut;
}

/* Copies the picks between two places. Returns their number. */
static size_t copy_picks(const struct yn_pick *picks, struct cut from, struct cut to,
                         struct yn_pick *out_picks)
{
    size_t n = 0;
    for (size_t p = from.pick; p < to.pick; p++)
        out_picks[n++] = picks[p];
    if (to.i > 0 && picks[to.pick].first < to.i) { /* a part of one */
        out_picks[n] = picks[to.pick];
        out_picks[n++].last = (uint16_t)to.i;
    }
    if (n > 0 && from.i > out_picks[0].first)
        out_picks[0].first = (uint16_t)from.i;
    return n > 0 && out_picks[0].first >= out_picks[0].last ? 0 : n;
}

/* Puts a plan in order of keys into the order of cells, cutting picks at their limits. */
static enum yn_status order_plan(struct yn_search *search)
{
    struct key_ranges ranges;
    struct cut cuts[RANGES_MAX + 1] = {{0, 0}};
    uint8_t numbers[RANGES_MAX];
    struct yn_pick few[YN_FEW + RANGES_MAX], *picks = few;
    size_t n_max = search->n_picks + RANGES_MAX, n = 0, cap = 0;
    if (search->n_results < 2)
        return YN_OK;
    divide_keys(&search->region, &ranges);
    const struct yn_pick *last = &search->picks[search->n_picks - 1];
    uint64_t key_first = yn_leaf_key(search->picks->leaf, search->picks->first);
    uint64_t key_last = pick_last_key(last);
    cuts[0].i = search->picks->first;
    for (size_t i = 0; i < ranges.n; i++) {
        if (ranges.range[i].min <= key_first && key_last < ranges.range[i].end)
            return YN_OK; /* all in one */
        uint64_t end = ranges.range[i].end;
        cuts[i + 1] = end <= key_first ? cuts[i]
                      : end > key_last ? (struct cut){search->n_picks, 0}
                                       : find_cut(search, cuts[i], end);
    }
    if (n_max > YN_FEW + RANGES_MAX) {
        picks = NULL;
        if (!yn_mem_grow(search->hook, (void **)&picks, &cap, n_max, sizeof *picks))
            return YN_ENOMEM;
    }
    order_ranges(&ranges, numbers);
    for (size_t i = 0; i < ranges.n; i++)
        n += copy_picks(search->picks, cuts[numbers[i]], cuts[numbers[i] + 1], picks + n);
    if (picks != few) {
        give(search->hook, search->picks, search->few_picks,
             search->picks_cap * sizeof *picks);
        search->picks = picks;
        search->picks_cap = cap;
    } else if (!yn_search_grow_picks(search, n)) {
        return YN_ENOMEM;
    } else {
        memcpy(search->picks, few, n * sizeof *few);
    }
    search->n_picks = n;
    return YN_OK;
}

static enum yn_status walk_all(struct yn_search *search, const struct yn_view *view)
{
    return walk_keys(search, view, 0, UINT64_MAX, SIZE_MAX);
}

/* ---- sorted order ---- */

/* The next result of the plan: leaf and entry. */
static bool next_entry(struct yn_search *search, const struct yn_leaf **out_leaf,
                       size_t *out_i)
{
    while (search->at_pick < search->n_picks) {
        const struct yn_pick *pick = &search->picks[search->at_pick];
        size_t i = search->at_entry > pick->first ? search->at_entry : pick->first;
        if (pick->mask != YN_PICK_ALL) {
            const uint64_t *mask = search->masks + pick->mask;
            while (i < pick->last && !(mask[i / 64] >> i % 64 & 1))
                i++;
        }
        if (i < pick->last) {
            *out_leaf = pick->leaf;
            *out_i = i;
            search->at_entry = i + 1;
            return true;
        }
        search->at_pick++;
        search->at_entry = 0;
    }
    return false;
}

/* Turns the plan into results in order of distance. */
static enum yn_status sort_plan(struct yn_search *search)
{
    const struct yn_leaf *leaf;
    size_t i;
    if (!yn_search_grow_ranked(search, search->n_results))
        return YN_ENOMEM;
    while (next_entry(search, &leaf, &i)) {
        search->ranked[search->n_ranked++] =
            (struct yn_ranked){yn_search_measure(search, leaf, i), leaf, i};
        if (yn_stopper_ends(&search->stopper, 1))
            return YN_ESTOPPED;
    }
    search->is_ranked = true;
    return yn_ranked_sort(search->ranked, search->n_ranked,
                          search->query.order == YN_ORDER_DESC,
                          search->region.shape.center, search->hook, &search->stopper);
}

/* ---- interface ---- */

/* Where no more results than these are expected, a search with a limit is planned as one
 * without, and given up when there are more. */
static size_t few_results(size_t limit)
{
    return 64 + 4 * limit;
}

/* How many entries the cover would hold if all were spread evenly, times the density of
 * where people look, by experience. */
#define DENSITY 8

static double expect_results(const struct yn_region *region, const struct yn_view *view)
{
    const struct yn_rect *cover = &region->cover;
    double lat = (double)(cover->lat_max - cover->lat_min) / YN_CELL_AXIS_MAX;
    double lon = (double)(cover->lon_max - cover->lon_min) / YN_CELL_AXIS_MAX;
    return DENSITY * (double)view->count * (lat < 1 ? lat : 1) * (lon < 1 ? lon : 1);
}

/* Plans all results when there are few: *out_done. */
static enum yn_status plan_few(struct yn_search *search, const struct yn_view *view,
                               size_t limit, bool *out_done)
{
    size_t most = few_results(limit);
    *out_done = expect_results(&search->region, view) < (double)most;
    if (!*out_done)
        return YN_OK;
    enum yn_status status = walk_keys(search, view, 0, UINT64_MAX, most);
    if (status == YN_OK && search->n_results >= most) {
        search->n_picks = search->n_masks = search->n_results = 0;
        *out_done = false;
    }
    return status;
}

/* Drops all but the first results of a plan. */
static void keep_first(struct yn_search *search, size_t limit)
{
    const struct yn_leaf *leaf;
    size_t i;
    if (search->n_results <= limit)
        return;
    for (size_t n = 0; n < limit; n++)
        next_entry(search, &leaf, &i);
    search->picks[search->at_pick].last = (uint16_t)search->at_entry;
    search->n_picks = search->at_pick + 1;
    search->n_results = limit;
    search->at_pick = search->at_entry = 0;
}

/* Plans a search with a limit that is less than all entries. */
static enum yn_status plan_limited(struct yn_search *search, const struct yn_view *view,
                                   size_t limit)
{
    const struct yn_query *query = &search->query;
    bool in_cells = query->any || query->order == YN_ORDER_CELLS, is_done;
    enum yn_status status = plan_few(search, view, limit, &is_done);
    if (status == YN_OK && is_done && in_cells) {
        status = order_plan(search);
        keep_first(search, limit);
    } else if (status == YN_OK && !is_done) {
        status =
            in_cells ? walk_cells(search, view, limit) : yn_search_nearest(search, view);
    }
    if (status != YN_OK || query->order == YN_ORDER_CELLS || search->is_ranked)
        return status;
    status = sort_plan(search);
    if (search->n_ranked > limit)
        search->n_ranked = search->n_results = limit;
    return status;
}

static enum yn_status plan(struct yn_search *search, const struct yn_view *view)
{
    const struct yn_query *query = &search->query;
    if (query->limit > 0 && query->limit < view->count)
        return plan_limited(search, view, query->limit);
    enum yn_status status = walk_all(search, view);
    if (status != YN_OK)
        return status;
    return query->order == YN_ORDER_CELLS ? order_plan(search) : sort_plan(search);
}

enum yn_status yn_search_prepare(const struct yn_view *view, const struct yn_query *query,
                                 struct yn_search **out_search)
{
    const struct yn_allocator *hook = view->tree->mem.hook;
    struct yn_search *search = hook->alloc(hook->ctx, sizeof *search);
    if (search == NULL)
        return YN_ENOMEM;
    memset(search, 0, offsetof(struct yn_search, measured_m));
    init_arrays(search);
    search->hook = hook;
    enum yn_status status = yn_region_init_near(&search->region, &query->shape);
    if (status != YN_OK) {
        give(hook, search, NULL, sizeof *search);
        return status;
    }
    search->query = *query;
    if (query->rounding_unit_m > 0)
        search->parts_per_m = 1e4 / query->rounding_unit_m;
    *out_search = search;
    return YN_OK;
}

enum yn_status yn_search_plan(struct yn_search *search, const struct yn_view *view,
                              const struct yn_stop *stop)
{
    search->stopper.stop = stop;
    if (search->query.shape.kind == YN_POLYGON)
        yn_polygon_index(&search->region.polygon, search->hook);
    if (search->query.order != YN_ORDER_CELLS)
        yn_region_settle_center(&search->region);
    return plan(search, view);
}

enum yn_status yn_search_new(const struct yn_view *view, const struct yn_query *query,
                             struct yn_search **out_search)
{
    struct yn_search *search;
    enum yn_status status = yn_search_prepare(view, query, &search);
    if (status != YN_OK)
        return status;
    status = yn_search_plan(search, view, NULL);
    if (status != YN_OK) {
        yn_search_free(search);
        return status;
    }
    *out_search = search;
    return YN_OK;
}

void yn_search_free(struct yn_search *search)
{
    if (search == NULL)
        return;
    const struct yn_allocator *hook = search->hook;
    give(hook, search->picks, search->few_picks,
         search->picks_cap * sizeof *search->picks);
    give(hook, search->masks, search->few_masks,
         search->masks_cap * sizeof *search->masks);
    give(hook, search->ranked, search->few_ranked,
         search->ranked_cap * sizeof *search->ranked);
    yn_polygon_clear(&search->region.polygon, hook);
    give(hook, search, NULL, sizeof *search);
}

size_t yn_search_count(const struct yn_search *search)
{
    return search->n_results;
}

struct yn_point yn_search_center(const struct yn_search *search)
{
    struct yn_region region = search->region;
    yn_region_settle_center(&region);
    return region.shape.center;
}

struct yn_search_work yn_search_work(const struct yn_search *search)
{
    return search->work;
}

/* Measuring a whole leaf pays from about so many of its entries on. */
#define MEASURE_MIN 8

/* The distance of an entry that the plan has just handed out. */
static double planned_distance_m(struct yn_search *search, const struct yn_leaf *leaf,
                                 size_t i)
{
    const struct yn_pick *pick = &search->picks[search->at_pick];
    bool is_measured =
        search->measured == leaf ||
        (search->parts_per_m > 0 && pick->last - pick->first >= MEASURE_MIN);
    if (!is_measured)
        return yn_leaf_distance_m(leaf, i, search->region.shape.center);
    return yn_search_refine(search, leaf, i, yn_search_measure(search, leaf, i));
}

bool yn_search_next(struct yn_search *search, struct yn_hit *out_hit)
{
    const struct yn_leaf *leaf;
    size_t i;
    if (search->is_ranked) {
        if (search->at_ranked == search->n_ranked)
            return false;
        const struct yn_ranked *ranked = &search->ranked[search->at_ranked++];
        leaf = ranked->leaf;
        i = ranked->i;
        out_hit->distance_m = yn_search_refine(search, leaf, i, ranked->distance_m);
    } else {
        if (!next_entry(search, &leaf, &i))
            return false;
        yn_region_settle_center(&search->region);
        out_hit->distance_m = planned_distance_m(search, leaf, i);
    }
    out_hit->position = yn_leaf_point(leaf, i);
    out_hit->member = yn_leaf_member(leaf, i);
    out_hit->score = yn_leaf_score(leaf, i);
    return true;
}

/* The bulks of the entries [first, last) of a leaf, as far as they stand in one piece. */
static size_t wire_run(const struct yn_leaf *leaf, size_t first, size_t last,
                       struct yn_run *out_run)
{
    if (leaf->n_long > 0) {
        struct yn_bytes entry = yn_leaf_entry(leaf, first);
        if (yn_entry_is_long(entry.data)) {
            const struct yn_long *block = yn_entry_long(entry.data);
            *out_run = (struct yn_run){{block->wire, block->wire_len}, 1};
            return first + 1;
        }
        size_t i = first + 1;
        while (i < last && !yn_entry_is_long(yn_leaf_entry(leaf, i).data))
            i++;
        last = i;
    }
    size_t from = yn_leaf_offset(leaf, first), to = yn_leaf_offset(leaf, last);
    *out_run = (struct yn_run){{yn_leaf_wires(leaf) + from, to - from}, last - first};
    return last;
}

bool yn_search_next_run(struct yn_search *search, struct yn_run *out_run)
{
    const struct yn_leaf *leaf;
    size_t i;
    if (search->is_ranked) {
        if (search->at_ranked == search->n_ranked)
            return false;
        const struct yn_ranked *ranked = &search->ranked[search->at_ranked++];
        wire_run(ranked->leaf, ranked->i, ranked->i + 1, out_run);
        return true;
    }
    if (!next_entry(search, &leaf, &i))
        return false;
    /* next_entry has stepped past entry i; go on to the last hit in a row */
    const struct yn_pick *pick = &search->picks[search->at_pick];
    size_t last = pick->last;
    if (pick->mask != YN_PICK_ALL) {
        const uint64_t *mask = search->masks + pick->mask;
        last = i + 1;
        while (last < pick->last && mask[last / 64] >> last % 64 & 1)
            last++;
    }
    search->at_entry = wire_run(leaf, i, last, out_run);
    return true;
}
