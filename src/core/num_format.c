/*
 * Doubles to text.
 *
 * A finite double is c * 2^q with an integer c < 2^53. Two kinds of text are asked for:
 *
 * Shortest. The decimals that read back to the value are those between the midpoints
 * to its two neighbours (the midpoints included when c is even, as reading rounds ties
 * to even). We want the one with the fewest digits, and the closest among those. The
 * method is Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles",
 * 2020): choose k such that 10^k is at most the width of the interval and 10^(k+1) is
 * more, scale by 10^-k with one 128-bit power of ten, and there are only four
 * candidates: the multiples of 10^(k+1) below and above the value (one of them at most
 * lies inside) and the multiples of 10^k beside it. The scaled numbers carry two more
 * bits and a sticky last bit, which the paper proves to be enough for every comparison.
 *
 * Correctly rounded to so many digits. With 17 decimals and c < 2^53, c * 10^17 has
 * less than 2^110, so the 17 decimals of every value below 2^53 are one shift of a
 * 128-bit product, exactly rounded. For 17 significant digits the product with a cut
 * off power of ten (pow10.h) knows its own error; where that leaves the rounding open,
 * and for integers from 2^53 on, decimal.c gives every digit there is.
 *
 * HOT: coordinates and scores of every reply. No printf, no division by a variable, no
 * allocation; digits leave two at a time.
 */
#include <math.h>
#include <string.h>

#include "core/decimal.h"
#include "core/num.h"
#include "core/num_digits.h"
#include "core/pow10.h"

__extension__ typedef unsigned __int128 uint128;

#define MANTISSA_BITS 52
#define HIDDEN_BIT ((uint64_t)1 << MANTISSA_BITS)
#define EXPONENT_BIAS 1075 /* of c as an integer */
/* Integers up to 2^62 are printed bare, to the last digit, by yn_num_format_shortest. */
#define INTEGER_MAX 4611686018427387904.0

/* value == (negative ? -1 : 1) * c * 2^q */
struct parts {
    bool negative;
    bool lower_is_closer; /* a power of two: half the distance to the neighbour below */
    uint64_t c;
    int q;
};

/* digits * 10^exponent */
struct digits {
    uint64_t digits;
    int exponent;
};

static struct parts split(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int biased = (int)((bits >> MANTISSA_BITS) & 0x7FF);
    struct parts parts = {
        .negative = bits >> 63,
        .lower_is_closer = (bits & (HIDDEN_BIT - 1)) == 0 && biased > 1,
        .c = bits & (HIDDEN_BIT - 1),
        .q = 1 - EXPONENT_BIAS,
    };

    if (biased != 0) {
        parts.c |= HIDDEN_BIT;
        parts.q = biased - EXPONENT_BIAS;
    }
    return parts;
}

/* Writes "inf", "-inf" or (a caller's bug) "nan". */
static size_t format_odd(double value, char *out_text)
{
    static const char words[2][3] = {{'i', 'n', 'f'}, {'n', 'a', 'n'}};
    char *to = out_text;

    if (value < 0)
        *to++ = '-';
    memcpy(to, words[isnan(value) != 0], 3);
    return (size_t)(to + 3 - out_text);
}

/* ---- shortest ------------------------------------------------------------ */

/* The integer part of g * m / 2^128, with its last bit set when anything was cut off
 * that matters (Giulietti, section 9.9: g is rounded up, so a low word of at most 1
 * means that the product is an integer). */
static uint64_t multiply_round_to_odd(const struct yn_pow10 *g, uint64_t m)
{
    struct yn_product product = yn_pow10_multiply(g, m);

    return product.hi | (product.mid > 1);
}

/* The shortest decimal of c * 2^q, c > 0; trailing zeros may be left. */
static struct digits shortest_digits(const struct parts *parts)
{
    uint64_t excluded = parts->c & 1; /* whether the interval is open */
    int k = parts->lower_is_closer ? yn_pow10_floor_log10_pow2_low(parts->q)
                                   : yn_pow10_floor_log10_pow2(parts->q);
    struct yn_pow10 g = *yn_pow10(-k);
    if (!yn_pow10_is_exact(-k)) {
        g.lo++;
        g.hi += g.lo == 0;
    }
    int shift = parts->q + yn_pow10_floor_log2(-k) + 1;
    uint64_t four_c = parts->c * 4;
    /* Four times the scaled value and the bounds of the interval. */
    uint64_t value = multiply_round_to_odd(&g, four_c << shift);
    uint64_t lower =
        multiply_round_to_odd(&g, (four_c - 2 + parts->lower_is_closer) << shift) +
        excluded;
    uint64_t upper = multiply_round_to_odd(&g, (four_c + 2) << shift) - excluded;
    uint64_t s = value / 4;

    if (s >= 10) {
        uint64_t tens = s / 10 * 10;
        bool is_below_in = lower <= 4 * tens;
        bool is_above_in = 4 * (tens + 10) <= upper;
        if (is_below_in != is_above_in)
            return (struct digits){s / 10 + is_above_in, k + 1};
    }
    bool is_below_in = lower <= 4 * s;
    bool is_above_in = 4 * (s + 1) <= upper;
    if (is_below_in != is_above_in)
        return (struct digits){s + is_above_in, k};
    uint64_t middle = 4 * s + 2;
    bool up = value > middle || (value == middle && (s & 1) != 0);
    return (struct digits){s + up, k};
}

static void strip_trailing_zeros(struct digits *d)
{
    while (d->digits % 10 == 0) {
        d->digits /= 10;
        d->exponent++;
    }
}

/* Writes d.ddde[+-]x, the exponent padded with zeros to min_exponent_digits. */
static char *write_scientific(char *to, uint64_t digits, int n_digits, int exponent,
                              int min_exponent_digits)
{
    /* One place to the right; then the first digit moves left, before the point. */
    yn_digits_write(to + 1, digits, n_digits);
    to[0] = to[1];
    if (n_digits > 1) {
        to[1] = '.';
        to += n_digits + 1;
    } else {
        to += 1;
    }
    *to++ = 'e';
    *to++ = exponent < 0 ? '-' : '+';
    unsigned magnitude = (unsigned)(exponent < 0 ? -exponent : exponent);
    int n_exponent = magnitude >= 100 ? 3 : magnitude >= 10 ? 2 : 1;
    if (n_exponent < min_exponent_digits)
        n_exponent = min_exponent_digits;
    yn_digits_write(to, magnitude, n_exponent);
    return to + n_exponent;
}

/* Writes digits * 10^-n_fraction, n_fraction > 0, without exponent. */
static char *write_fraction(char *to, uint64_t digits, int n_digits, int n_fraction)
{
    if (n_digits <= n_fraction) {
        int zeros = n_fraction - n_digits;
        *to++ = '0';
        *to++ = '.';
        memset(to, '0', (size_t)zeros);
        to += zeros;
        yn_digits_write(to, digits, n_digits);
        return to + n_digits;
    }
    int n_whole = n_digits - n_fraction;
    uint64_t power = yn_digits_power(n_fraction), whole = digits / power;
    yn_digits_write(to, whole, n_whole);
    to[n_whole] = '.';
    yn_digits_write(to + n_whole + 1, digits - whole * power, n_fraction);
    return to + n_digits + 1;
}

size_t yn_num_format_shortest(double value, char *out_text)
{
    if (!isfinite(value))
        return format_odd(value, out_text);
    if (fabs(value) <= INTEGER_MAX && value == (double)(int64_t)value) {
        if (value == 0 && signbit(value)) {
            out_text[0] = '-';
            out_text[1] = '0';
            return 2;
        }
        return yn_num_format_int64((int64_t)value, out_text);
    }
    struct parts parts = split(value);
    struct digits d = shortest_digits(&parts);
    strip_trailing_zeros(&d);

    char *to = out_text;
    int n_digits = yn_digits_count(d.digits);
    int exponent = n_digits - 1 + d.exponent;
    int magnitude = exponent < 0 ? -exponent : exponent;
    if (parts.negative)
        *to++ = '-';
    if (d.exponent >= 0 && magnitude < n_digits + 7) {
        yn_digits_write(to, d.digits, n_digits);
        memset(to + n_digits, '0', (size_t)d.exponent);
        to += n_digits + d.exponent;
    } else if (d.exponent < 0 && (d.exponent > -7 || magnitude < 4)) {
        to = write_fraction(to, d.digits, n_digits, -d.exponent);
    } else {
        to = write_scientific(to, d.digits, n_digits, exponent, 1);
    }
    return (size_t)(to - out_text);
}

/* ---- 17 decimals --------------------------------------------------------- */

#define TEN_TO_17 100000000000000000ULL

/* A decimal of at least 1, without exponent, with exactly n_fraction decimals. */
static char *write_decimal(char *to, const struct yn_decimal *decimal, int n_fraction)
{
    for (int i = 0; i < decimal->point + n_fraction; i++) {
        if (i == decimal->point)
            *to++ = '.';
        *to++ = i < decimal->n_digits ? decimal->digits[i] : '0';
    }
    return to;
}

/* Splits |value| < 2^53 into whole and 10^17 * fraction, rounded, ties to even. */
static void split_fixed17(const struct parts *parts, uint64_t *out_whole,
                          uint64_t *out_fraction)
{
    int shift = -parts->q; /* 1..1074 */
    uint64_t whole = shift < 64 ? parts->c >> shift : 0;
    uint64_t rest = parts->c - (shift < 64 ? whole << shift : 0);
    uint128 scaled = (uint128)rest * TEN_TO_17; /* < 2^110 */
    uint64_t fraction = 0;

    if (shift < 112) {
        uint128 half = (uint128)1 << (shift - 1);
        uint128 cut = scaled & (half * 2 - 1);
        fraction = (uint64_t)(scaled >> shift);
        fraction += cut > half || (cut == half && (fraction & 1) != 0);
    }
    /* No carry: below 1 no double is closer to it than 2^-53. */
    *out_whole = whole;
    *out_fraction = fraction;
}

size_t yn_num_format_fixed17(double value, char *out_text)
{
    if (!isfinite(value))
        return format_odd(value, out_text);
    struct parts parts = split(value);
    char *to = out_text;

    if (parts.q >= 0) { /* an integer, from 2^52 on */
        struct yn_decimal decimal;
        if (parts.negative)
            *to++ = '-';
        yn_decimal_from_double(value, &decimal);
        return (size_t)(write_decimal(to, &decimal, 0) - out_text);
    }
    uint64_t whole, fraction;
    split_fixed17(&parts, &whole, &fraction);
    if (parts.negative && (whole | fraction) != 0)
        *to++ = '-';
    to += yn_num_format_uint64(whole, to);
    if (fraction != 0) {
        *to++ = '.';
        yn_digits_write(to, fraction, 17);
        to += 17;
        while (to[-1] == '0')
            to--;
    }
    return (size_t)(to - out_text);
}

/* ---- 17 significant digits ----------------------------------------------- */

/* c * 2^q * 10^(16 - exponent), rounded to an integer; c != 0, and exponent is at
 * most floor(log10(value)). False when the product is too close to a tie. */
static bool scale_to_integer(const struct parts *parts, int exponent,
                             uint64_t *out_digits)
{
    int power = 16 - exponent;
    int normalize = __builtin_clzll(parts->c);
    struct yn_product product = yn_pow10_multiply(yn_pow10(power), parts->c << normalize);
    /* value * 10^power == product * 2^(q - normalize + log2 - 127) */
    int drop = 127 - yn_pow10_floor_log2(power) - parts->q + normalize - 128;
    uint64_t error = yn_pow10_is_exact(power) ? 0 : parts->c << normalize;
    int up = yn_product_rounds_up(product, drop, error);

    *out_digits = (product.hi >> drop) + (uint64_t)(up > 0);
    return up >= 0;
}

/* The first 17 digits of c * 2^q, correctly rounded: digits in [10^16, 10^17]. */
static struct digits digits17(const struct parts *parts, double value)
{
    int top_bit = parts->q + 63 - __builtin_clzll(parts->c);
    int exponent = yn_pow10_floor_log10_pow2(top_bit);
    uint64_t digits;
    bool known = scale_to_integer(parts, exponent, &digits);

    /* 2^top_bit has no more digits than the value, but may have one less. */
    if (known && digits >= TEN_TO_17) {
        exponent++;
        known = scale_to_integer(parts, exponent, &digits);
    }
    if (known)
        return (struct digits){digits, exponent - 16};

    /* No value is known that comes here; the proof that there is none is missing. */
    struct yn_decimal decimal;
    yn_decimal_from_double(value, &decimal);
    yn_decimal_round(&decimal, 17);
    digits = 0;
    for (int i = 0; i < 17; i++)
        digits =
            digits * 10 + (uint64_t)(i < decimal.n_digits ? decimal.digits[i] - '0' : 0);
    return (struct digits){digits, decimal.point - 17};
}

size_t yn_num_format_g17(double value, char *out_text)
{
    if (!isfinite(value))
        return format_odd(value, out_text);
    char *to = out_text;

    if (signbit(value))
        *to++ = '-';
    /* Integers of up to 17 digits, every geo score among them. */
    double magnitude = fabs(value);
    if (magnitude < (double)TEN_TO_17 && magnitude == (double)(int64_t)magnitude) {
        to += yn_num_format_uint64((uint64_t)magnitude, to);
        return (size_t)(to - out_text);
    }
    struct parts parts = split(value);
    struct digits d = digits17(&parts, value);
    strip_trailing_zeros(&d);
    int n_digits = yn_digits_count(d.digits);
    int exponent = n_digits - 1 + d.exponent;

    /* The rule of %g: plain for exponents -4..16. Plain integers are done above. */
    if (exponent < -4 || exponent >= 17)
        to = write_scientific(to, d.digits, n_digits, exponent, 2);
    else
        to = write_fraction(to, d.digits, n_digits, -d.exponent);
    return (size_t)(to - out_text);
}

size_t yn_num_format_scan(double value, char *out_text)
{
    /* A double widened to long double is the same number: the same 17 digits. */
    return yn_num_format_g17(value, out_text);
}

size_t yn_num_format_compact(double value, char *out_text)
{
    if (fabs(value) <= INTEGER_MAX && value == (double)(int64_t)value)
        return yn_num_format_int64((int64_t)value, out_text);
    return yn_num_format_g17(value, out_text);
}

/* ---- distances ----------------------------------------------------------- */

/* From here on the product does not fit into an int64_t. */
#define DISTANCE_SCALED_MAX 9223372036854775808.0
/* From here on the text could be longer than YN_NUM_TEXT_MAX. */
#define DISTANCE_PLAIN_MAX 1.0e33

size_t yn_num_format_distance(double value, char *out_text)
{
    double magnitude = fabs(value);
    double product = magnitude * 10000.0;
    char *to = out_text;

    if (product < 99999999) { /* up to 9999.9999 */
        uint64_t rounded = yn_digits_round(product);
        if (value < 0 && rounded != 0)
            *to++ = '-';
        return (size_t)(to - out_text) + yn_digits_put_fixed4(to, (uint32_t)rounded);
    }
    if (!isfinite(value))
        return format_odd(value, out_text);
    if (magnitude >= DISTANCE_PLAIN_MAX)
        return yn_num_format_g17(value, out_text);
    if (product >= DISTANCE_SCALED_MAX) {
        struct yn_decimal decimal;
        if (value < 0)
            *to++ = '-';
        /* No rounding: from 2^49 on a double has less than four decimals. */
        yn_decimal_from_double(value, &decimal);
        return (size_t)(write_decimal(to, &decimal, 4) - out_text);
    }
    uint64_t scaled = (uint64_t)llrint(product);
    if (value < 0 && scaled != 0)
        *to++ = '-';
    to += yn_num_format_uint64(scaled / 10000, to);
    *to++ = '.';
    yn_digits_write(to, scaled % 10000, 4);
    return (size_t)(to + 4 - out_text);
}
