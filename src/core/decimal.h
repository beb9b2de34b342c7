/*
 * decimal.h: the exact decimal expansion of a double, for the formatters of num.h
 * where their 128-bit arithmetic cannot tell how to round, and for tests.
 *
 * A decimal is the number 0.d1d2d3... * 10^point; digits are '0'..'9', the first one
 * not '0'; zero has no digits. Slow (microseconds for extreme values); no allocation.
 */
#ifndef YN_DECIMAL_H
#define YN_DECIMAL_H

/* 767 digits are the most that a double needs; room for whole limbs beside them. */
#define YN_DECIMAL_DIGITS_MAX 800

struct yn_decimal {
    int n_digits;
    int point; /* digits before the decimal point; may be negative or > n_digits */
    char digits[YN_DECIMAL_DIGITS_MAX];
};

/* Gives |value|, which must be finite, to the last digit. */
void yn_decimal_from_double(double value, struct yn_decimal *out_decimal);

/* Rounds to the first n_keep digits (which may be negative: then to zero), to nearest,
 * ties to even. Afterwards n_digits <= n_keep, or 1 where a lone 1 was carried out. */
void yn_decimal_round(struct yn_decimal *decimal, int n_keep);

#endif
