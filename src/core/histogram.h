/*
 * histogram.h: how often which duration was measured.
 *
 * Log-linear: values below 256 have a bucket each, every octave above has 128 equal ones.
 * A value is reported as the middle of its bucket, at most 0.4 % away from it. Values of
 * 2^40 (18 minutes in nanoseconds) and more count as 2^40 - 1; the maximum, the sum and
 * the count are exact. Recording is a few instructions and allocates nothing.
 */
#ifndef YN_HISTOGRAM_H
#define YN_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define YN_HISTOGRAM_BITS 40
#define YN_HISTOGRAM_BUCKETS (256 + (YN_HISTOGRAM_BITS - 8) * 128)

struct yn_histogram {
    uint64_t n, sum, max;
    uint64_t buckets[YN_HISTOGRAM_BUCKETS];
};

static inline size_t yn_histogram_bucket(uint64_t value)
{
    if (value < 256)
        return (size_t)value;
    if (value >> YN_HISTOGRAM_BITS != 0)
        return YN_HISTOGRAM_BUCKETS - 1;
    unsigned shift = 56 - (unsigned)__builtin_clzll(value); /* leaves 128..255 */
    return 128 * (size_t)shift + (size_t)(value >> shift);
}

/* Counts a value n times. */
static inline void yn_histogram_add(struct yn_histogram *h, uint64_t value, uint64_t n)
{
    h->buckets[yn_histogram_bucket(value)] += n;
    h->n += n;
    h->sum += value * n;
    if (value > h->max)
        h->max = value;
}

void yn_histogram_clear(struct yn_histogram *h);
void yn_histogram_merge(struct yn_histogram *to, const struct yn_histogram *from);

/* The value below or at which `share` (0..1) of all are: of n sorted values the one at
 * rank ceil(share * n), from 1. 0 when there are none. */
double yn_histogram_quantile(const struct yn_histogram *h, double share);
double yn_histogram_mean(const struct yn_histogram *h);

#endif
