/*
 * kernel.h: the inner loops of a search, one table of them for each instruction set.
 *
 * A kernel decides many positions or rectangles at once. Whatever the set, the decisions
 * are those of the exact predicate (yn_region_contains): what lies in the band around an
 * edge is settled by it. The set is chosen once, at the first use: the best that the
 * processor has, or the one that the environment variable YONDER_KERNEL names (scalar,
 * avx2, avx512). A name that cannot be obeyed is passed over without a word: programs
 * that want one said ask yn_kernel_is_name and yn_kernel_find.
 *
 * Kernels read a leaf's header and positions and the first n elements of arrays, and
 * write as many: nothing before them and nothing behind, not even within a vector's
 * length. docs/point-test.md proves the decisions.
 */
#ifndef YN_KERNEL_H
#define YN_KERNEL_H

#include "core/region.h"

#define YN_MASK_WORDS ((YN_LEAF_ENTRIES_MAX + 63) / 64)

/* Decoded positions of a leaf. */
struct yn_positions {
    double lat[YN_LEAF_ENTRIES_MAX + 1], lon[YN_LEAF_ENTRIES_MAX + 1]; /* degrees */
};

struct yn_kernel {
    const char *name;
    /* Which of the first n rectangles have cells in common with the box: a bit each. */
    uint64_t (*overlap)(const struct yn_rect *box, const struct yn_rects *rects,
                        size_t n);
    /* How the first n rectangles lie (enum yn_relation each); certified. */
    void (*relate)(const struct yn_region *region, const struct yn_rects *rects, size_t n,
                   uint8_t *out_relations);
    /* Bounds on the haversine a between the centre and positions in the rectangles. */
    void (*bounds)(const struct yn_region *region, const struct yn_rects *rects, size_t n,
                   double *out_min_a, double *out_max_a);
    void (*decode)(const struct yn_leaf *leaf, struct yn_positions *out_positions);
    /* The haversine a of each position, good to the band of yn_band_of_a. */
    void (*haversine)(const struct yn_region *region,
                      const struct yn_positions *positions, size_t n, double *out_a);
    /* Distances in metres from haversine a's, good to yn_distance_slack_m. */
    void (*distances)(const double *a, size_t n, double *out_m);
    /* Sets bit i of out_mask (YN_MASK_WORDS words) for every entry that is in the region.
     * Returns the number of bits set. */
    size_t (*test)(const struct yn_region *region, const struct yn_leaf *leaf,
                   uint64_t *out_mask);
    /* Distances in metres of a leaf's entries from the region's centre, good to
     * yn_distance_slack_m. Has YN_LEAF_ENTRIES_MAX + 1 elements to write to; those behind
     * the entries' own are left undefined. */
    void (*measure)(const struct yn_region *region, const struct yn_leaf *leaf,
                    double *out_m);
    /* The integers that exact distances round to, in parts of a metre (the last of the
     * four decimals that are printed), from distances good to yn_distance_slack_m; or
     * YN_PARTS_OPEN, where that is not good enough. Returns whether it is for all. */
    bool (*round)(const double *distance_m, size_t n, double parts_per_m,
                  uint64_t *out_parts);
};

extern const struct yn_kernel yn_kernel_scalar, yn_kernel_avx2, yn_kernel_avx512;

/* The kernels in use. */
const struct yn_kernel *yn_kernel(void);
/* Those of a name, or NULL: unknown, or not for this processor. */
const struct yn_kernel *yn_kernel_find(const char *name);
/* Whether some processor has kernels of the name. */
bool yn_kernel_is_name(const char *name);

#endif
