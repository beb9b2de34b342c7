/*
 * pow10.h: powers of ten as 128-bit numbers, for num.c and num_format.c.
 *
 * The entry of 10^e holds floor(10^e * 2^(127 - x)) with x = floor(log2(10^e)), so its
 * highest bit is set. It is exact for e in 0..YN_POW10_EXACT_MAX; elsewhere it is cut
 * off, and the true value lies less than one unit of the last bit above it. The table
 * (pow10.c) is written by scripts/gen_pow10, which also proves the integer formulas
 * for logarithms below over the ranges named there.
 */
#ifndef YN_POW10_H
#define YN_POW10_H

#include <stdbool.h>
#include <stdint.h>

#define YN_POW10_MIN (-342)
#define YN_POW10_MAX 340
#define YN_POW10_EXACT_MAX 55

struct yn_pow10 {
    uint64_t hi;
    uint64_t lo;
};

extern const struct yn_pow10 yn_pow10_table[YN_POW10_MAX - YN_POW10_MIN + 1];

static inline const struct yn_pow10 *yn_pow10(int e)
{
    return &yn_pow10_table[e - YN_POW10_MIN];
}

static inline bool yn_pow10_is_exact(int e)
{
    return e >= 0 && e <= YN_POW10_EXACT_MAX;
}

/* floor(log2(10^e)), for |e| <= 380. */
static inline int yn_pow10_floor_log2(int e)
{
    return (e * 1741647) >> 19;
}

/* floor(log10(2^q)), for q in -1140..1100. */
static inline int yn_pow10_floor_log10_pow2(int q)
{
    return (q * 1262611) >> 22;
}

/* floor(log10(2^q * 3/4)), for q in -1080..1100. */
static inline int yn_pow10_floor_log10_pow2_low(int q)
{
    return (q * 1262611 - 524031) >> 22;
}

/* A product of a 64-bit number and a power: 192 bits, highest word first. */
struct yn_product {
    uint64_t hi, mid, lo;
};

static inline struct yn_product yn_pow10_multiply(const struct yn_pow10 *power,
                                                  uint64_t m)
{
    __extension__ typedef unsigned __int128 uint128;
    uint128 low = (uint128)power->lo * m;
    uint128 high = (uint128)power->hi * m + (uint64_t)(low >> 64);

    return (struct yn_product){(uint64_t)(high >> 64), (uint64_t)high, (uint64_t)low};
}

/*
 * How to round (product >> (128 + drop)) to an integer, to nearest and ties to even,
 * when the true product lies in [product, product + error) and is the product itself
 * where error is 0. 1 <= drop <= 63. Returns 0 (down), 1 (up), or -1 when the product
 * is too close to a tie to tell.
 */
static inline int yn_product_rounds_up(struct yn_product p, int drop, uint64_t error)
{
    uint64_t half = (uint64_t)1 << (drop - 1);
    uint64_t rest = p.hi & (half * 2 - 1);
    bool is_low_zero = (p.mid | p.lo) == 0;

    if (rest > half || (rest == half && !is_low_zero))
        return 1;
    if (rest == half)
        return error != 0 ? -1 : (int)((p.hi >> drop) & 1);
    if (rest == half - 1 && p.mid == UINT64_MAX && p.lo + error < p.lo)
        return -1;
    return 0;
}

#endif
