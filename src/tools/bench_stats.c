#include "tools/bench_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bench_stats_add(struct bench_stats *stats, double value)
{
    if (stats->n < BENCH_STATS_MAX)
        stats->values[stats->n++] = value;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_stats_median(const struct bench_stats *stats)
{
    double sorted[BENCH_STATS_MAX];
    size_t n = stats->n;
    if (n == 0)
        return 0;
    memcpy(sorted, stats->values, n * sizeof sorted[0]);
    qsort(sorted, n, sizeof sorted[0], compare);
    return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double bench_stats_mean(const struct bench_stats *stats)
{
    double sum = 0;
    for (size_t i = 0; i < stats->n; i++)
        sum += stats->values[i];
    return stats->n > 0 ? sum / (double)stats->n : 0;
}

double bench_stats_deviation(const struct bench_stats *stats)
{
    double mean = bench_stats_mean(stats), sum = 0;
    for (size_t i = 0; i < stats->n; i++)
        sum += (stats->values[i] - mean) * (stats->values[i] - mean);
    return stats->n > 1 ? sqrt(sum / (double)(stats->n - 1)) : 0;
}
