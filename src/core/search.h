/* search.h: the inside of a search: its plan, and the ways to make one. */
#ifndef YN_SEARCH_H
#define YN_SEARCH_H

#include "core/kernel.h"
#include "core/stop.h"
#include "core/tree.h"

/* Some entries of a leaf: [first, last), all of them or those of a mask. */
struct yn_pick {
    const struct yn_leaf *leaf;
    uint16_t first, last;
    uint32_t mask; /* index of its words in `masks`; YN_PICK_ALL: every entry */
};
#define YN_PICK_ALL UINT32_MAX

/* Results that yn_search_next_hits hands out at a time. */
#define YN_HITS_MAX 64

/* Elements of its arrays that a search has room for without taking memory. */
#define YN_FEW 16

/* One result with its distance, for sorted orders. */
struct yn_ranked {
    double distance_m; /* exact, or good to yn_distance_slack_m */
    const struct yn_leaf *leaf;
    size_t i;
};

struct yn_search {
    const struct yn_allocator *hook;
    struct yn_region region;
    struct yn_query query;
    double parts_per_m; /* last decimals of a printed distance in a metre, or 0 */
    size_t n_results;
    struct yn_search_work work;
    struct yn_stopper stopper; /* of the plan */

    struct yn_pick *picks; /* the plan of an unsorted search */
    size_t n_picks, picks_cap;
    uint64_t *masks;
    size_t n_masks, masks_cap;

    bool is_ranked;
    struct yn_ranked *ranked; /* the results of a sorted one, in order */
    size_t n_ranked, ranked_cap;

    /* what has been handed out: next pick and entry, or next ranked */
    size_t at_pick, at_entry, at_ranked;

    /* distances of all entries of one leaf, good to yn_distance_slack_m */
    const struct yn_leaf *measured;
    double measured_m[YN_LEAF_ENTRIES_MAX + 1];

    /* memory of the arrays above while they are small */
    struct yn_pick few_picks[YN_FEW];
    uint64_t few_masks[YN_FEW];
    struct yn_ranked few_ranked[YN_FEW];

    /* the results that yn_search_next_hits has handed out last */
    struct yn_bytes hit_wire[YN_HITS_MAX];
    double hit_m[YN_HITS_MAX];
    uint64_t hit_parts[YN_HITS_MAX];
};

/* As yn_mem_grow, for an array that begins in memory that is not the allocator's. */
bool yn_search_grow(const struct yn_allocator *hook, void **array, size_t *cap,
                    size_t n_wanted, size_t element_size, const void *few);
/* Makes room in one of the search's arrays. False, nothing changed, when out of memory.
 */
bool yn_search_grow_picks(struct yn_search *search, size_t n_wanted);
bool yn_search_grow_masks(struct yn_search *search, size_t n_wanted);
bool yn_search_grow_ranked(struct yn_search *search, size_t n_wanted);

/* Decoded position of an entry, and its exact distance from a point. */
struct yn_point yn_leaf_point(const struct yn_leaf *leaf, size_t i);
double yn_leaf_distance_m(const struct yn_leaf *leaf, size_t i, struct yn_point from);

/* The distance of an entry from the search's centre, good to yn_distance_slack_m.
 * Measures the whole leaf and keeps that. */
double yn_search_measure(struct yn_search *search, const struct yn_leaf *leaf, size_t i);
/* The distance that the query asks for: exact, or as exact as printing takes.
 * `measured_m` is good to yn_distance_slack_m. */
double yn_search_refine(const struct yn_search *search, const struct yn_leaf *leaf,
                        size_t i, double measured_m);

/* Order of two results with exact distances: in the query's direction, then (score,
 * member). */
int yn_ranked_compare(const struct yn_ranked *a, const struct yn_ranked *b, bool is_desc);
/* Sorts measured results into that order of their exact distances from the centre. YN_OK,
 * YN_ENOMEM or YN_ESTOPPED. */
enum yn_status yn_ranked_sort(struct yn_ranked *ranked, size_t n, bool is_desc,
                              struct yn_point center, const struct yn_allocator *hook,
                              struct yn_stopper *stopper);

/* Fills `ranked` with the `limit` nearest (or farthest) results, in order. */
enum yn_status yn_search_nearest(struct yn_search *search, const struct yn_view *view);

#endif
