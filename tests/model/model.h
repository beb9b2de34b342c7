/*
 * model.h: what the model tests share: a seeded generator and data sets.
 *
 * A seed comes from the environment variable YN_SEED, else from the clock; it is
 * printed, so that a failure can be run again.
 */
#ifndef MODEL_H
#define MODEL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "yonder.h"

struct rng {
    uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return n == 0 ? 0 : rng_next(rng) % n;
}

static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

static inline double rng_between(struct rng *rng, double low, double high)
{
    return low + (high - low) * rng_unit(rng);
}

static inline uint64_t model_seed(void)
{
    const char *text = getenv("YN_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = text != NULL
                        ? strtoull(text, NULL, 0)
                        : (uint64_t)now.tv_sec * 1000003u + (uint64_t)now.tv_nsec;
    fprintf(stderr, "YN_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

/* A factor for the number of rounds, from the environment: YN_ROUNDS in per cent. */
static inline size_t model_rounds(size_t n)
{
    const char *text = getenv("YN_ROUNDS");
    return text != NULL ? n * strtoull(text, NULL, 10) / 100 + 1 : n;
}

#define MODEL_FAIL(...)                                        \
    do {                                                       \
        fprintf(stderr, "FAILED %s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                          \
        fputc('\n', stderr);                                   \
        exit(1);                                               \
    } while (0)

#endif
