/*
 * kernel.h: point tests over a leaf: the inner loop of a search.
 *
 * A kernel decides every entry of a leaf as surely inside or not surely outside;
 * yn_region_contains settles those in between. One file an instruction set with these
 * same signatures; today there is the scalar one.
 */
#ifndef YN_KERNEL_H
#define YN_KERNEL_H

#include "core/region.h"

#define YN_MASK_WORDS ((YN_LEAF_ENTRIES_MAX + 63) / 64)

/* Decoded positions of a leaf. */
struct yn_positions {
    double lat[YN_LEAF_ENTRIES_MAX + 1], lon[YN_LEAF_ENTRIES_MAX + 1]; /* degrees */
};
void yn_kernel_decode(const struct yn_leaf *leaf, struct yn_positions *out_positions);

/* The haversine a between the centre and each position, good to the band of yn_band_of_a.
 */
void yn_kernel_haversine(const struct yn_region *region,
                         const struct yn_positions *positions, size_t n, double *out_a);

/* Sets bit i of out_mask (YN_MASK_WORDS words) for every entry that is in the region.
 * Exact: borderline entries are settled. Returns the number of bits set. */
size_t yn_kernel_test(const struct yn_region *region, const struct yn_leaf *leaf,
                      uint64_t *out_mask);

#endif
