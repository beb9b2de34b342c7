/*
 * nearest.c: the n nearest or farthest results: best-first search.
 *
 * After Hjaltason and Samet, "Distance browsing in spatial databases", TODS 1999.
 * A queue holds nodes by the least distance that anything below them can have (for
 * the farthest: the greatest); the best node is opened, its children go into the
 * queue or, from a leaf, its results into a heap of the n best so far. The search
 * ends when no node left can beat the worst of those, so its cost follows n and not
 * the radius. Bounds are in haversine a, see region.h; results carry the exact
 * distance, which decides, ties going to the lower (score, member).
 *
 * Many members in one place all have the same bound, so there bounds end nothing. Of
 * nodes with equal bounds the lowest and first is opened first; and a node that is all in
 * one place is dropped when its first entry would not make it into the heap.
 */
#include <math.h>
#include <stdlib.h>

#include "core/search.h"

struct candidate {
    double a; /* bound on what is below */
    const struct yn_node *node;
    enum yn_relation relation;
    bool is_place;   /* its rectangle is a single position */
    uint32_t number; /* in the order they came; wraps around, which only costs time */
};

#define QUEUE_FEW 64

struct nearest {
    struct yn_search *search;
    bool is_desc;
    struct candidate *queue; /* heap, best first */
    size_t n, cap;
    struct candidate *few; /* memory of the queue while it is small */
    uint32_t n_pushed;
    double a_worst; /* results cannot be beaten by an a beyond this */
};

/* ---- the queue of nodes ---- */

static bool is_better(const struct nearest *nearest, double a, double b)
{
    return nearest->is_desc ? a > b : a < b;
}

static bool is_before(const struct nearest *nearest, const struct candidate *x,
                      const struct candidate *y)
{
    if (x->a != y->a)
        return is_better(nearest, x->a, y->a);
    if (x->node->level != y->node->level)
        return x->node->level < y->node->level;
    return x->number < y->number;
}

static enum yn_status queue_push(struct nearest *nearest, struct candidate candidate)
{
    if (!yn_search_grow(nearest->search->hook, (void **)&nearest->queue, &nearest->cap,
                        nearest->n + 1, sizeof *nearest->queue, nearest->few))
        return YN_ENOMEM;
    size_t i = nearest->n++;
    candidate.number = nearest->n_pushed++;
    while (i > 0 && is_before(nearest, &candidate, &nearest->queue[(i - 1) / 2])) {
        nearest->queue[i] = nearest->queue[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    nearest->queue[i] = candidate;
    return YN_OK;
}

static struct candidate queue_pop(struct nearest *nearest)
{
    struct candidate *queue = nearest->queue, best = queue[0], last = queue[--nearest->n];
    size_t i = 0;
    while (2 * i + 1 < nearest->n) {
        size_t child = 2 * i + 1;
        if (child + 1 < nearest->n &&
            is_before(nearest, &queue[child + 1], &queue[child]))
            child++;
        if (!is_before(nearest, &queue[child], &last))
            break;
        queue[i] = queue[child];
        i = child;
    }
    queue[i] = last;
    return best;
}

/* ---- the heap of results: the worst on top ---- */

static bool is_worse(const struct nearest *nearest, const struct yn_ranked *a,
                     const struct yn_ranked *b)
{
    return yn_ranked_compare(a, b, nearest->is_desc) > 0;
}

static void sift_down(struct nearest *nearest, size_t i)
{
    struct yn_ranked *heap = nearest->search->ranked, moved = heap[i];
    size_t n = nearest->search->n_ranked;
    while (2 * i + 1 < n) {
        size_t child = 2 * i + 1;
        if (child + 1 < n && is_worse(nearest, &heap[child + 1], &heap[child]))
            child++;
        if (!is_worse(nearest, &heap[child], &moved))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

/* Notes how far away a node may be to matter still. */
static void note_worst(struct nearest *nearest)
{
    double worst_m = nearest->search->ranked[0].distance_m;
    struct yn_band band = yn_band_of_a(yn_a_of_distance_m(worst_m));
    nearest->a_worst = nearest->is_desc ? band.in : band.out;
}

static enum yn_status offer(struct nearest *nearest, struct yn_ranked result)
{
    struct yn_search *search = nearest->search;
    if (search->n_ranked == search->query.limit) {
        if (!is_worse(nearest, &search->ranked[0], &result))
            return YN_OK;
        search->ranked[0] = result;
        sift_down(nearest, 0);
        note_worst(nearest);
        return YN_OK;
    }
    if (!yn_search_grow_ranked(search, search->n_ranked + 1))
        return YN_ENOMEM;
    search->ranked[search->n_ranked++] = result;
    if (search->n_ranked == search->query.limit) {
        for (size_t i = search->n_ranked / 2; i > 0; i--)
            sift_down(nearest, i - 1);
        note_worst(nearest);
    }
    return YN_OK;
}

static bool is_hopeless(const struct nearest *nearest, double a)
{
    return nearest->search->n_ranked == nearest->search->query.limit &&
           is_better(nearest, nearest->a_worst, a);
}

/* ---- opening nodes ---- */

/* Measuring a whole leaf pays from about so many of its entries on. */
#define MEASURE_MIN 12

/* The entries of the mask, n of them: their numbers, positions and haversine a's. */
struct measured {
    uint8_t numbers[YN_LEAF_ENTRIES_MAX];
    struct yn_point positions[YN_LEAF_ENTRIES_MAX];
    double a[YN_LEAF_ENTRIES_MAX];
};

static size_t list_bits(const uint64_t *mask, size_t n_words, uint8_t *out_numbers)
{
    size_t n = 0;
    for (size_t w = 0; w < n_words; w++)
        for (uint64_t left = mask[w]; left != 0; left &= left - 1)
            out_numbers[n++] = (uint8_t)(w * 64 + (size_t)__builtin_ctzll(left));
    return n;
}

static void fill_mask(uint64_t *mask, size_t n)
{
    for (size_t w = 0; w < YN_MASK_WORDS; w++) {
        size_t low = w * 64;
        mask[w] = n >= low + 64 ? ~(uint64_t)0
                  : n > low     ? ~(uint64_t)0 >> (low + 64 - n)
                                : 0;
    }
}

static size_t measure_entries(const struct yn_region *region, const struct yn_leaf *leaf,
                              const uint64_t *mask, struct measured *out)
{
    struct yn_positions at;
    double a[YN_LEAF_ENTRIES_MAX];
    size_t n = list_bits(mask, YN_MASK_WORDS, out->numbers);
    bool is_whole = n >= MEASURE_MIN;
    if (is_whole) {
        yn_kernel()->decode(leaf, &at);
        yn_kernel()->haversine(region, &at, leaf->head.n, a);
    } else {
        for (size_t k = 0; k < n; k++) {
            struct yn_point position = yn_leaf_point(leaf, out->numbers[k]);
            at.lat[k] = position.lat;
            at.lon[k] = position.lon;
        }
        yn_kernel()->haversine(region, &at, n, a);
    }
    for (size_t k = 0; k < n; k++) {
        size_t i = is_whole ? out->numbers[k] : k;
        out->positions[k] = (struct yn_point){at.lon[i], at.lat[i]};
        out->a[k] = a[i];
    }
    return n;
}

static enum yn_status open_leaf(struct nearest *nearest, const struct yn_leaf *leaf,
                                enum yn_relation relation)
{
    struct yn_search *search = nearest->search;
    struct measured measured;
    uint64_t mask[YN_MASK_WORDS];
    search->work.n_leaves++;
    search->work.n_tested += leaf->head.n;
    if (relation == YN_INSIDE)
        fill_mask(mask, leaf->head.n);
    else if (yn_kernel()->test(&search->region, leaf, mask) == 0)
        return YN_OK;
    size_t n = measure_entries(&search->region, leaf, mask, &measured);
    for (size_t k = 0; k < n; k++) {
        if (is_hopeless(nearest, measured.a[k]))
            continue;
        double distance_m =
            yn_distance_m(search->region.shape.center, measured.positions[k]);
        enum yn_status status =
            offer(nearest, (struct yn_ranked){distance_m, leaf, measured.numbers[k]});
        if (status != YN_OK)
            return status;
    }
    return YN_OK;
}

/* How the rectangles lie, and bounds on the haversine a in them. */
static void relate_and_bound(const struct yn_region *region, const struct yn_rects *rects,
                             size_t n, enum yn_relation relation, uint8_t *out_relations,
                             double *out_low, double *out_high)
{
    yn_kernel()->bounds(region, rects, n, out_low, out_high);
    if (relation != YN_CROSSING)
        memset(out_relations, (int)relation, n);
    else if (region->shape.kind != YN_CIRCLE)
        yn_kernel()->relate(region, rects, n, out_relations);
    else /* the bounds say it */
        for (size_t i = 0; i < n; i++)
            out_relations[i] = out_low[i] > region->circle.out   ? YN_OUTSIDE
                               : out_high[i] < region->circle.in ? YN_INSIDE
                                                                 : YN_CROSSING;
}

/* Queues those of n nodes that could hold results. */
static enum yn_status add_nodes(struct nearest *nearest, struct yn_node *const *nodes,
                                const struct yn_rects *rects, size_t n,
                                enum yn_relation relation)
{
    const struct yn_region *region = &nearest->search->region;
    double low[YN_TREE_FANOUT], high[YN_TREE_FANOUT];
    uint8_t relations[YN_TREE_FANOUT], numbers[YN_TREE_FANOUT];
    const double *bound = nearest->is_desc ? high : low;
    struct yn_rects met;
    uint64_t meets = ~(uint64_t)0 >> (64 - n);
    if (relation == YN_CROSSING)
        meets = yn_kernel()->overlap(&region->cover, rects, n);
    size_t n_met = list_bits(&meets, 1, numbers);
    yn_rects_pack(rects, numbers, n_met, &met);
    relate_and_bound(region, &met, n_met, relation, relations, low, high);
    for (size_t k = 0; k < n_met; k++) {
        if (relations[k] == YN_OUTSIDE || is_hopeless(nearest, bound[k]))
            continue;
        struct candidate candidate = {.a = bound[k],
                                      .node = nodes[numbers[k]],
                                      .relation = (enum yn_relation)relations[k],
                                      .is_place = met.lat_min[k] == met.lat_max[k] &&
                                                  met.lon_min[k] == met.lon_max[k]};
        __builtin_prefetch(candidate.node);
        enum yn_status status = queue_push(nearest, candidate);
        if (status != YN_OK)
            return status;
    }
    return YN_OK;
}

/* Whether the node is all in one place, and its first entry is beaten by all results. */
static bool is_beaten(const struct nearest *nearest, const struct candidate *candidate)
{
    const struct yn_search *search = nearest->search;
    if (!candidate->is_place || search->n_ranked < search->query.limit)
        return false;
    const struct yn_leaf *leaf = yn_node_first_leaf(candidate->node);
    struct yn_point position = {yn_cell_lon_deg(leaf->rect.lon_min),
                                yn_cell_lat_deg(leaf->rect.lat_min)};
    struct yn_ranked first = {yn_distance_m(search->region.shape.center, position), leaf,
                              0};
    return !is_worse(nearest, &search->ranked[0], &first);
}

static enum yn_status open_node(struct nearest *nearest,
                                const struct candidate *candidate)
{
    const struct yn_node *node = candidate->node;
    if (node->level == 0)
        return open_leaf(nearest, yn_as_leaf(node), candidate->relation);
    const struct yn_inner *inner = yn_as_inner(node);
    return add_nodes(nearest, inner->child, &inner->rects, node->n, candidate->relation);
}

/* Sorts the heap into the order of the query. Returns false when it has to end. */
static bool finish(struct nearest *nearest)
{
    struct yn_search *search = nearest->search;
    size_t n = search->n_ranked;
    if (n < search->query.limit) /* never became a heap */
        for (size_t i = n / 2; i > 0; i--)
            sift_down(nearest, i - 1);
    while (search->n_ranked > 1) {
        if (yn_stopper_ends(&search->stopper, 8))
            return false;
        struct yn_ranked worst = search->ranked[0];
        search->ranked[0] = search->ranked[--search->n_ranked];
        sift_down(nearest, 0);
        search->ranked[search->n_ranked] = worst;
    }
    search->n_ranked = search->n_results = n;
    search->is_ranked = true;
    return true;
}

/* How much it is to open a node, about. */
static size_t open_work(const struct yn_search *search)
{
    return 8 * YN_TREE_FANOUT + search->region.polygon.n_vertices;
}

enum yn_status yn_search_nearest(struct yn_search *search, const struct yn_view *view)
{
    struct candidate few[QUEUE_FEW];
    struct nearest nearest = {.search = search,
                              .is_desc = search->query.order == YN_ORDER_DESC,
                              .queue = few,
                              .cap = QUEUE_FEW,
                              .few = few};
    enum yn_status status = YN_OK;
    if (view->root != NULL) {
        struct yn_rect rect = yn_record_of(view->root).rect;
        struct yn_rects rects;
        yn_rects_set(&rects, 0, &rect);
        status = add_nodes(&nearest, &view->root, &rects, 1, YN_CROSSING);
    }
    while (status == YN_OK && nearest.n > 0) {
        struct candidate best = queue_pop(&nearest);
        if (is_hopeless(&nearest, best.a))
            break;
        if (yn_stopper_ends(&search->stopper, open_work(search)))
            status = YN_ESTOPPED;
        else if (!is_beaten(&nearest, &best))
            status = open_node(&nearest, &best);
    }
    if (nearest.queue != few)
        search->hook->free(search->hook->ctx, nearest.queue,
                           nearest.cap * sizeof *nearest.queue);
    if (status == YN_OK && !finish(&nearest))
        status = YN_ESTOPPED;
    return status;
}
