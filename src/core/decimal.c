/*
 * A double is c * 2^q with integers c and q. For q >= 0 that is an integer; for q < 0
 * it is c * 5^-q / 10^-q, the integer c * 5^-q with a decimal point put into it. Either
 * way the digits are those of one big integer, built here in limbs of nine decimal
 * digits by repeated multiplication with a number below 2^32. The largest is below
 * 2^53 * 5^1074, 767 digits; so the cost is at most some 80 passes over 86 limbs.
 */
#include "core/decimal.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LIMB_BASE 1000000000U
#define LIMB_DIGITS 9
#define N_LIMBS_MAX (YN_DECIMAL_DIGITS_MAX / LIMB_DIGITS)

/* Least significant limb first. */
struct big {
    int n;
    uint32_t limbs[N_LIMBS_MAX];
};

static void big_multiply(struct big *big, uint32_t factor)
{
    uint64_t carry = 0;

    for (int i = 0; i < big->n; i++) {
        uint64_t product = (uint64_t)big->limbs[i] * factor + carry;
        big->limbs[i] = (uint32_t)(product % LIMB_BASE);
        carry = product / LIMB_BASE;
    }
    while (carry > 0) {
        big->limbs[big->n++] = (uint32_t)(carry % LIMB_BASE);
        carry /= LIMB_BASE;
    }
}

/* Multiplies by base^exponent; `step` is base^step_exponent, as large as 32 bits hold. */
static void big_multiply_power(struct big *big, int exponent, uint32_t base,
                               uint32_t step, int step_exponent)
{
    for (; exponent >= step_exponent; exponent -= step_exponent)
        big_multiply(big, step);
    for (; exponent > 0; exponent--)
        big_multiply(big, base);
}

static int big_digits(const struct big *big, char *out_digits)
{
    int len = big->n * LIMB_DIGITS;
    int at = len;

    for (int i = 0; i < big->n; i++) {
        uint32_t limb = big->limbs[i];
        for (int k = 0; k < LIMB_DIGITS; k++) {
            out_digits[--at] = (char)('0' + limb % 10);
            limb /= 10;
        }
    }
    int zeros = 0;
    while (zeros < len && out_digits[zeros] == '0')
        zeros++;
    memmove(out_digits, out_digits + zeros, (size_t)(len - zeros));
    return len - zeros;
}

static void drop_trailing_zeros(struct yn_decimal *decimal)
{
    while (decimal->n_digits > 0 && decimal->digits[decimal->n_digits - 1] == '0')
        decimal->n_digits--;
    if (decimal->n_digits == 0)
        decimal->point = 0;
}

void yn_decimal_from_double(double value, struct yn_decimal *out_decimal)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int biased = (int)((bits >> 52) & 0x7FF);
    uint64_t c = bits & 0xFFFFFFFFFFFFFULL;
    int q = biased == 0 ? -1074 : biased - 1075;
    if (biased != 0)
        c |= 1ULL << 52;

    out_decimal->n_digits = 0;
    out_decimal->point = 0;
    if (c == 0)
        return;
    while (q < 0 && (c & 1) == 0) {
        c >>= 1;
        q++;
    }
    struct big big = {.n = 0};
    for (; c > 0; c /= LIMB_BASE)
        big.limbs[big.n++] = (uint32_t)(c % LIMB_BASE);
    if (q >= 0)
        big_multiply_power(&big, q, 2, 1U << 31, 31);
    else
        big_multiply_power(&big, -q, 5, 1220703125U, 13);
    out_decimal->n_digits = big_digits(&big, out_decimal->digits);
    out_decimal->point = out_decimal->n_digits + (q < 0 ? q : 0);
    drop_trailing_zeros(out_decimal);
}

/* Whether the part after the first n_keep digits (0 <= n_keep < n_digits) rounds up. */
static bool rest_rounds_up(const struct yn_decimal *decimal, int n_keep)
{
    char next = decimal->digits[n_keep];

    /* There are no trailing zeros, so a 5 that is not the last digit is over half. */
    if (next != '5' || decimal->n_digits > n_keep + 1)
        return next >= '5';
    return n_keep > 0 && (decimal->digits[n_keep - 1] - '0') % 2 == 1;
}

void yn_decimal_round(struct yn_decimal *decimal, int n_keep)
{
    if (n_keep >= decimal->n_digits)
        return;
    if (n_keep < 0) {
        decimal->n_digits = 0;
        decimal->point = 0;
        return;
    }
    bool up = rest_rounds_up(decimal, n_keep);

    decimal->n_digits = n_keep;
    if (up) {
        int last = n_keep - 1;
        while (last >= 0 && decimal->digits[last] == '9')
            last--;
        decimal->n_digits = last + 1;
        if (last >= 0) {
            decimal->digits[last]++;
        } else {
            decimal->digits[0] = '1';
            decimal->n_digits = 1;
            decimal->point++;
        }
    }
    drop_trailing_zeros(decimal);
}
