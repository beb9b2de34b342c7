/*
 * bench_random.h: random numbers that are the same on every machine.
 *
 * The generator is splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", 2014): a counter that is scrambled. The k-th number of a stream can be
 * had without those before it, which is how data sets reach any of their points directly.
 */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

#define BENCH_RANDOM_STEP 0x9E3779B97F4A7C15u

/* The number at place k of the stream of a seed. */
static inline uint64_t bench_random_at(uint64_t seed, uint64_t k)
{
    uint64_t z = seed + (k + 1) * BENCH_RANDOM_STEP;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

struct bench_random {
    uint64_t seed, k;
};

static inline uint64_t bench_random_next(struct bench_random *random)
{
    return bench_random_at(random->seed, random->k++);
}

/* 0 <= result < 1 */
static inline double bench_random_unit(struct bench_random *random)
{
    return (double)(bench_random_next(random) >> 11) * 0x1p-53;
}

/* 0 <= result < n; the bias of 2^-64 * n is nothing here. */
static inline uint64_t bench_random_below(struct bench_random *random, uint64_t n)
{
    return (uint64_t)((unsigned __int128)bench_random_next(random) * n >> 64);
}

#endif
