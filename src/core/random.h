/*
 * random.h: random numbers for replies that are to be random, not secret.
 *
 * The generator is splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). Its state is one word; any is good to start with.
 */
#ifndef YN_RANDOM_H
#define YN_RANDOM_H

#include <stdint.h>

static inline uint64_t yn_random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

#endif
