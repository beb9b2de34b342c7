#include "core/histogram.h"

#include <math.h>
#include <string.h>

void yn_histogram_clear(struct yn_histogram *h)
{
    memset(h, 0, sizeof *h);
}

void yn_histogram_merge(struct yn_histogram *to, const struct yn_histogram *from)
{
    for (size_t i = 0; i < YN_HISTOGRAM_BUCKETS; i++)
        to->buckets[i] += from->buckets[i];
    to->n += from->n;
    to->sum += from->sum;
    if (from->max > to->max)
        to->max = from->max;
}

/* The middle of the values that fall into a bucket. */
static double middle(size_t bucket)
{
    if (bucket < 256)
        return (double)bucket;
    unsigned shift = (unsigned)(bucket / 128 - 1);
    uint64_t low = (uint64_t)(bucket - 128 * (size_t)shift) << shift;
    return (double)low + ((double)((uint64_t)1 << shift) - 1) / 2;
}

double yn_histogram_quantile(const struct yn_histogram *h, double share)
{
    if (h->n == 0)
        return 0;
    double rank = ceil(share * (double)h->n);
    if (rank >= (double)h->n)
        return (double)h->max;
    uint64_t n = 0;
    for (size_t i = 0; i < YN_HISTOGRAM_BUCKETS; i++) {
        n += h->buckets[i];
        if (h->buckets[i] > 0 && (double)n >= rank)
            return middle(i) < (double)h->max ? middle(i) : (double)h->max;
    }
    return (double)h->max;
}

double yn_histogram_mean(const struct yn_histogram *h)
{
    return h->n > 0 ? (double)h->sum / (double)h->n : 0;
}
