/*
 * bench_stats.h: what a few measurements say together.
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stddef.h>

#define BENCH_STATS_MAX 64

struct bench_stats {
    size_t n;
    double values[BENCH_STATS_MAX];
};

/* Values beyond the room are dropped. */
void bench_stats_add(struct bench_stats *stats, double value);

/* All are 0 without values. The median of an even number is the mean of the middle two;
 * the deviation is that of a sample (divided by n - 1), 0 for a single value. */
double bench_stats_median(const struct bench_stats *stats);
double bench_stats_mean(const struct bench_stats *stats);
double bench_stats_deviation(const struct bench_stats *stats);

#endif
