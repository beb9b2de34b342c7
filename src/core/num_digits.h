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

/* Writes the last n digits of value, with leading zeros. */
static inline void yn_digits_write(char *to, uint64_t value, int n)
{
    while (n >= 2) {
        n -= 2;
        memcpy(to + n, yn_digits_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (n == 1)
        to[0] = (char)('0' + value % 10);
}

#endif
