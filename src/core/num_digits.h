/*
 * num_digits.h: decimal digits of integers, shared by num.c and num_format.c.
 */
#ifndef YN_NUM_DIGITS_H
#define YN_NUM_DIGITS_H

#include <stdint.h>
#include <string.h>

/* "00" "01" ... "99" */
extern const char yn_digits_pairs[200];

/* Number of decimal digits; 1 for 0. */
static inline int yn_digits_count(uint64_t value)
{
    static const uint64_t powers[20] = {0,
                                        10ULL,
                                        100ULL,
                                        1000ULL,
                                        10000ULL,
                                        100000ULL,
                                        1000000ULL,
                                        10000000ULL,
                                        100000000ULL,
                                        1000000000ULL,
                                        10000000000ULL,
                                        100000000000ULL,
                                        1000000000000ULL,
                                        10000000000000ULL,
                                        100000000000000ULL,
                                        1000000000000000ULL,
                                        10000000000000000ULL,
                                        100000000000000000ULL,
                                        1000000000000000000ULL,
                                        10000000000000000000ULL};
    /* 1233 / 4096 is a little over log10(2): at most one too many. */
    int n = ((64 - __builtin_clzll(value | 1)) * 1233) >> 12;

    return n + (value >= powers[n]);
}

/*
 * The eight digits of value < 10^8 as bytes 0..9, the first digit in the lowest byte.
 * Halves the number three times, all parts at once: fours, pairs, digits. The quotients
 * are products with rounded reciprocals, exact in these ranges (Paul Khuong, "How to
 * print integers really fast", 2017).
 */
static inline uint64_t yn_digits_eight(uint32_t value)
{
    uint64_t w = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t t = w * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    w = t | (w - 100 * t) << 16;
    t = w * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return t | (w - 10 * t) << 8;
}

/* Stores eight bytes, the lowest first. */
static inline void yn_digits_store(char *to, uint64_t bytes)
{
    for (int i = 0; i < 8; i++) /* one store, where the lowest byte comes first anyway */
        to[i] = (char)(bytes >> 8 * i & 0xff);
}

#define YN_DIGITS_ASCII UINT64_C(0x3030303030303030)

/* Writes the last n digits of value, with leading zeros. */
static inline void yn_digits_write(char *to, uint64_t value, int n)
{
    while (n >= 8) {
        n -= 8;
        yn_digits_store(to + n,
                        yn_digits_eight((uint32_t)(value % 100000000)) | YN_DIGITS_ASCII);
        value /= 100000000;
    }
    while (n >= 2) {
        n -= 2;
        memcpy(to + n, yn_digits_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (n == 1)
        to[0] = (char)('0' + value % 10);
}

#endif
