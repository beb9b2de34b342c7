/*
 * ranked.c: results in order of distance.
 *
 * A radix sort from the lowest byte up: distances are not negative, so their bits as
 * integers are in the same order; turned over for falling distance. Bytes in which all
 * distances agree are skipped. The distances are measured ones (measure.c): neighbours
 * that come out closer than their slack are put right by exact distances, and where those
 * are equal by (score, member).
 */
#include <stdlib.h>

#include "core/search.h"

#define SMALL 48 /* insertion sort up to here */

int yn_ranked_compare(const struct yn_ranked *a, const struct yn_ranked *b, bool is_desc)
{
    if (a->distance_m != b->distance_m)
        return (a->distance_m < b->distance_m) != is_desc ? -1 : 1;
    uint64_t x = yn_leaf_key(a->leaf, a->i), y = yn_leaf_key(b->leaf, b->i);
    if (x != y)
        return x < y ? -1 : 1;
    return yn_bytes_compare(yn_leaf_member(a->leaf, a->i), yn_leaf_member(b->leaf, b->i));
}

static uint64_t key_of(const struct yn_ranked *ranked, uint64_t flip)
{
    uint64_t bits;
    memcpy(&bits, &ranked->distance_m, sizeof bits);
    return bits ^ flip;
}

static void insertion_sort(struct yn_ranked *ranked, size_t n, bool is_desc)
{
    for (size_t i = 1; i < n; i++) {
        struct yn_ranked moved = ranked[i];
        size_t k = i;
        for (; k > 0 && yn_ranked_compare(&ranked[k - 1], &moved, is_desc) > 0; k--)
            ranked[k] = ranked[k - 1];
        ranked[k] = moved;
    }
}

/* One pass: orders `from` by the byte at `shift` into `to`. Returns false, nothing done,
 * when all have the same byte there. *out_stops: it has to end, with `to` half done. */
static bool radix_pass(const struct yn_ranked *from, struct yn_ranked *to, size_t n,
                       unsigned shift, uint64_t flip, struct yn_stopper *stopper,
                       bool *out_stops)
{
    size_t start[256] = {0}, total = 0;
    for (size_t i = 0; i < n; i++)
        start[key_of(&from[i], flip) >> shift & 0xff]++;
    if (start[key_of(&from[0], flip) >> shift & 0xff] == n)
        return false;
    for (size_t b = 0; b < 256; b++) {
        size_t count = start[b];
        start[b] = total;
        total += count;
    }
    for (size_t i = 0; i < n && !*out_stops;) {
        size_t end = n - i < YN_STOP_EVERY ? n : i + YN_STOP_EVERY;
        *out_stops = yn_stopper_ends(stopper, end - i);
        for (; i < end; i++)
            to[start[key_of(&from[i], flip) >> shift & 0xff]++] = from[i];
    }
    return true;
}

static int compare_asc(const void *a, const void *b)
{
    return yn_ranked_compare(a, b, false);
}

static int compare_desc(const void *a, const void *b)
{
    return yn_ranked_compare(a, b, true);
}

/* Whether two neighbours could stand the other way round by their exact distances. */
static bool is_close(const struct yn_ranked *a, const struct yn_ranked *b)
{
    double gap = a->distance_m - b->distance_m;
    double slack =
        yn_distance_slack_m(a->distance_m) + yn_distance_slack_m(b->distance_m);
    return (gap < 0 ? -gap : gap) <= slack;
}

static bool is_sorted(const struct yn_ranked *ranked, size_t n, bool is_desc)
{
    for (size_t i = 1; i < n; i++)
        if (yn_ranked_compare(&ranked[i - 1], &ranked[i], is_desc) > 0)
            return false;
    return true;
}

/* Orders runs of close neighbours by their exact distances. Those of one place are in
 * order: they came so, and the sort is stable. Returns false when it has to end. */
static bool settle(struct yn_ranked *ranked, size_t n, bool is_desc,
                   struct yn_point center, struct yn_stopper *stopper)
{
    for (size_t first = 0; first < n;) {
        size_t last = first + 1;
        while (last < n && is_close(&ranked[last - 1], &ranked[last]))
            last++;
        if (last - first > 1) {
            for (size_t i = first; i < last; i++)
                ranked[i].distance_m =
                    yn_leaf_distance_m(ranked[i].leaf, ranked[i].i, center);
            if (!is_sorted(ranked + first, last - first, is_desc))
                qsort(ranked + first, last - first, sizeof *ranked,
                      is_desc ? compare_desc : compare_asc);
        }
        if (yn_stopper_ends(stopper, last - first))
            return false;
        first = last;
    }
    return true;
}

static enum yn_status radix_sort(struct yn_ranked *ranked, size_t n, bool is_desc,
                                 const struct yn_allocator *hook,
                                 struct yn_stopper *stopper)
{
    bool stops = false;
    struct yn_ranked *space = hook->alloc(hook->ctx, n * sizeof *space);
    if (space == NULL)
        return YN_ENOMEM;
    struct yn_ranked *from = ranked, *to = space;
    for (unsigned shift = 0; shift < 64 && !stops; shift += 8) {
        if (!radix_pass(from, to, n, shift, is_desc ? ~(uint64_t)0 : 0, stopper, &stops))
            continue;
        struct yn_ranked *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != ranked)
        memcpy(ranked, from, n * sizeof *ranked);
    hook->free(hook->ctx, space, n * sizeof *space);
    return stops ? YN_ESTOPPED : YN_OK;
}

enum yn_status yn_ranked_sort(struct yn_ranked *ranked, size_t n, bool is_desc,
                              struct yn_point center, const struct yn_allocator *hook,
                              struct yn_stopper *stopper)
{
    enum yn_status status = YN_OK;
    if (n <= SMALL)
        insertion_sort(ranked, n, is_desc);
    else
        status = radix_sort(ranked, n, is_desc, hook, stopper);
    if (status == YN_OK && !settle(ranked, n, is_desc, center, stopper))
        status = YN_ESTOPPED;
    return status;
}
