/*
 * num_digits.h: decimal digits of integers, shared by num.c and num_format.c.
 */
#ifndef YN_NUM_DIGITS_H
#define YN_NUM_DIGITS_H

#include <stdint.h>
#include <string.h>

/* "00" "01" ... "99" */
extern const char yn_digits_pairs[200];

/* 10^n for n of 0 to 19. */
static inline uint64_t yn_digits_power(int n)
{
    static const uint64_t powers[20] = {1ULL,
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
    return powers[n];
}

/* Number of decimal digits; 1 for 0. */
static inline int yn_digits_count(uint64_t value)
{
    /* 1233 / 4096 is a little over log10(2): at most one too many. */
    int n = ((64 - __builtin_clzll(value | 1)) * 1233) >> 12;

    return n + ((value | 1) >= yn_digits_power(n));
}

/* "0000" "0001" ... "9999" */
extern const char yn_digits_fours[10000][4];

/* Bytes as a number whose lowest byte comes first, and back: one load or store where
 * memory has that order. */
static inline uint32_t yn_digits_load(const char *from)
{
    uint32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap32(bytes);
#endif
    return bytes;
}

static inline void yn_digits_store4(char *to, uint32_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap32(bytes);
#endif
    memcpy(to, &bytes, sizeof bytes);
}

static inline void yn_digits_store8(char *to, uint64_t bytes)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bytes = __builtin_bswap64(bytes);
#endif
    memcpy(to, &bytes, sizeof bytes);
}

/* A number with four decimals, given times 10^4 and below 10^8, as up to nine characters
 * and CR LF. Returns the number of characters; writes up to 12 bytes. */
static inline size_t yn_digits_put_fixed4(char *to, uint32_t scaled)
{
    uint32_t whole = scaled / 10000, fraction = scaled % 10000;
    size_t n_zeros = (size_t)(whole < 1000) + (whole < 100) + (whole < 10);
    yn_digits_store4(to, yn_digits_load(yn_digits_fours[whole]) >> 8 * n_zeros);
    yn_digits_store8(to + 4 - n_zeros,
                     '.' | (uint64_t)yn_digits_load(yn_digits_fours[fraction]) << 8 |
                         UINT64_C(0x0a0d) << 40);
    return 9 - n_zeros;
}

/* A number in [0, 2^51] rounded to the nearest integer, ties to even: the sum has no bits
 * for a fraction, and the integer in its lowest ones. */
static inline uint64_t yn_digits_round(double value)
{
    double sum = value + 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    return bits & 0x0007ffffffffffff;
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

#define YN_DIGITS_ASCII UINT64_C(0x3030303030303030)

/* Writes the last n digits of value, with leading zeros. */
static inline void yn_digits_write(char *to, uint64_t value, int n)
{
    while (n >= 8) {
        n -= 8;
        yn_digits_store8(to + n, yn_digits_eight((uint32_t)(value % 100000000)) |
                                     YN_DIGITS_ASCII);
        value /= 100000000;
    }
    if (n >= 4) {
        n -= 4;
        memcpy(to + n, yn_digits_fours[value % 10000], 4);
        value /= 10000;
    }
    if (n >= 2) {
        n -= 2;
        memcpy(to + n, yn_digits_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (n == 1)
        to[0] = (char)('0' + value % 10);
}

#endif
