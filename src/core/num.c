/*
 * Integers to text and text to numbers.
 *
 * Reading a decimal w * 10^e (Daniel Lemire, "Number parsing at a gigabyte per
 * second", 2021, with the fallback made explicit):
 *  1. scan the text once: up to 19 significant digits into w, the rest only counted
 *     (`truncated` when one of them is not zero); everything that strtod would not
 *     read to its end is refused here, so the later steps cannot fail on syntax;
 *  2. w <= 2^53 and |e| <= 22: one exact multiplication or division (Clinger 1990);
 *     parse_short comes here at once for up to 15 digits with a point among them;
 *  3. otherwise multiply the 64 bits of w by a 128-bit power of ten (pow10.h). The
 *     true product lies between the computed one and a known error above it; if both
 *     round to the same double, that is the answer. With truncated digits the answer
 *     must also be the same for w + 1;
 *  4. what is left (ties that the table cannot settle, subnormals, overflow, hex
 *     floats) is rewritten into a short canonical text, at most 800 significant
 *     digits and one that stands for the rest, for strtod_l in the C locale. No
 *     midpoint between doubles has more than 767 digits, so nothing is lost.
 *
 * HOT: coordinates in GEOADD and searches take steps 1 to 3.
 */
#include "core/num.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/num_digits.h"
#include "core/pow10.h"

/* ---- integers ------------------------------------------------------------ */

#define FOURS_1(a, b, c)                                                            \
    {a, b, c, '0'}, {a, b, c, '1'}, {a, b, c, '2'}, {a, b, c, '3'}, {a, b, c, '4'}, \
        {a, b, c, '5'}, {a, b, c, '6'}, {a, b, c, '7'}, {a, b, c, '8'},             \
    {                                                                               \
        a, b, c, '9'                                                                \
    }
#define FOURS_10(a, b)                                                                  \
    FOURS_1(a, b, '0'), FOURS_1(a, b, '1'), FOURS_1(a, b, '2'), FOURS_1(a, b, '3'),     \
        FOURS_1(a, b, '4'), FOURS_1(a, b, '5'), FOURS_1(a, b, '6'), FOURS_1(a, b, '7'), \
        FOURS_1(a, b, '8'), FOURS_1(a, b, '9')
#define FOURS_100(a)                                                            \
    FOURS_10(a, '0'), FOURS_10(a, '1'), FOURS_10(a, '2'), FOURS_10(a, '3'),     \
        FOURS_10(a, '4'), FOURS_10(a, '5'), FOURS_10(a, '6'), FOURS_10(a, '7'), \
        FOURS_10(a, '8'), FOURS_10(a, '9')

const char yn_digits_fours[10000][4] = {
    FOURS_100('0'), FOURS_100('1'), FOURS_100('2'), FOURS_100('3'), FOURS_100('4'),
    FOURS_100('5'), FOURS_100('6'), FOURS_100('7'), FOURS_100('8'), FOURS_100('9')};

const char yn_digits_pairs[200] = {
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899"};

size_t yn_num_format_uint64(uint64_t value, char *out_text)
{
    int n = yn_digits_count(value);

    yn_digits_write(out_text, value, n);
    return (size_t)n;
}

size_t yn_num_format_int64(int64_t value, char *out_text)
{
    if (value >= 0)
        return yn_num_format_uint64((uint64_t)value, out_text);
    *out_text = '-';
    return 1 + yn_num_format_uint64(0 - (uint64_t)value, out_text + 1);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool yn_num_parse_int64(struct yn_bytes text, int64_t *out_value)
{
    const char *at = text.data;
    size_t len = text.len;
    bool negative = len > 0 && *at == '-';

    if (negative) {
        at++;
        len--;
    }
    /* 19 digits cannot overflow the sum below; no int64_t has more. */
    if (len == 0 || len > 19)
        return false;
    if (*at == '0') {
        *out_value = 0;
        return len == 1 && !negative;
    }
    uint64_t magnitude = 0;
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(at[i]))
            return false;
        magnitude = magnitude * 10 + (uint64_t)(at[i] - '0');
    }
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *out_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

/* ---- doubles: scanning --------------------------------------------------- */

#define W_DIGITS_MAX 19
/* Beyond any exponent that could bring a number of 2^40 digits back into range. */
#define EXPONENT_CAP ((int64_t)1 << 50)

/* What a scan found: (negative ? -1 : 1) * w * 10^exponent, a bit more if truncated. */
struct scan {
    bool negative;
    bool truncated;
    uint64_t w;
    int64_t exponent;
    /* All digits of the mantissa, with at most one point among them. */
    const char *mantissa;
    const char *mantissa_end;
    int64_t written_exponent; /* the number behind e or p */
};

/* Reads [+-]digits to the end of the text. */
static bool scan_exponent(const char *at, const char *end, int64_t *out_exponent)
{
    bool negative = at < end && *at == '-';
    int64_t exponent = 0;

    if (at < end && (*at == '+' || *at == '-'))
        at++;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return false;
        if (exponent < EXPONENT_CAP)
            exponent = exponent * 10 + (*at - '0');
    }
    *out_exponent = negative ? -exponent : exponent;
    return true;
}

/* Adds the run of digits at *at to scan->w; returns where the run ends. Digits that
 * no longer fit raise the exponent. */
static const char *scan_digits(const char *at, const char *end, struct scan *scan,
                               int *n_significant)
{
    for (; at < end && is_digit(*at); at++) {
        if (*n_significant < W_DIGITS_MAX) {
            scan->w = scan->w * 10 + (uint64_t)(*at - '0');
            *n_significant += scan->w != 0;
        } else {
            scan->truncated |= *at != '0';
            scan->exponent++;
        }
    }
    return at;
}

/* Scans a decimal whose sign has been read. Returns false if strtod would not read
 * the text to its end as a decimal. */
static bool scan_decimal(const char *at, const char *end, struct scan *scan)
{
    int n_significant = 0;
    int64_t n_digits;

    scan->mantissa = at;
    at = scan_digits(at, end, scan, &n_significant);
    n_digits = at - scan->mantissa;
    if (at < end && *at == '.') {
        const char *point = at++;
        at = scan_digits(at, end, scan, &n_significant);
        n_digits += at - point - 1;
        scan->exponent -= at - point - 1;
    }
    if (n_digits == 0)
        return false;
    scan->mantissa_end = at;
    if (at == end)
        return true;
    if ((*at | 0x20) != 'e' || !scan_exponent(at + 1, end, &scan->written_exponent))
        return false;
    scan->exponent += scan->written_exponent;
    return true;
}

/* ---- doubles: rounding --------------------------------------------------- */

static bool clinger(uint64_t w, int64_t exponent, double *out_value)
{
    static const double powers[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (w > (uint64_t)1 << 53 || exponent < -22 || exponent > 22)
        return false;
    *out_value =
        exponent < 0 ? (double)w / powers[-exponent] : (double)w * powers[exponent];
    return true;
}

/* w * 10^exponent rounded to a normal double; w != 0. False when that is not certain
 * or the result is not a normal double. */
static bool multiply_power(uint64_t w, int64_t exponent, double *out_value)
{
    if (exponent < YN_POW10_MIN || exponent > YN_POW10_MAX)
        return false;
    int power = (int)exponent;
    int normalize = __builtin_clzll(w);
    uint64_t m = w << normalize;
    struct yn_product product = yn_pow10_multiply(yn_pow10(power), m);
    int top = (int)(product.hi >> 63); /* 1: the product has 192 bits, 0: 191 */
    int drop = 10 + top;               /* leaves 53 bits */
    int up = yn_product_rounds_up(product, drop, yn_pow10_is_exact(power) ? 0 : m);
    if (up < 0)
        return false;

    int binary_exponent = 63 + top + yn_pow10_floor_log2(power) - normalize;
    if (binary_exponent < -1022 || binary_exponent > 1022)
        return false;
    /* Adding instead of or-ing lets a carry out of the mantissa raise the exponent. */
    uint64_t mantissa = (product.hi >> drop) + (uint64_t)up;
    uint64_t bits = ((uint64_t)(binary_exponent + 1022) << 52) + mantissa;
    memcpy(out_value, &bits, sizeof bits);
    return true;
}

static bool round_fast(const struct scan *scan, double *out_value)
{
    double next;

    if (scan->w == 0) {
        *out_value = 0.0;
        return true;
    }
    if (!scan->truncated && clinger(scan->w, scan->exponent, out_value))
        return true;
    if (!multiply_power(scan->w, scan->exponent, out_value))
        return false;
    if (!scan->truncated)
        return true;
    return multiply_power(scan->w + 1, scan->exponent, &next) && next == *out_value;
}

/* ---- doubles: the slow path ---------------------------------------------- */

#define CANONICAL_DIGITS_MAX 800

/* Lets strtod_l read a NUL-terminated text that is known to be well formed and not
 * zero. False on overflow and on underflow to zero. */
static bool read_canonical(const char *text, double *out_value)
{
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    double value = strtod_l(text, NULL, locale);
    freelocale(locale);

    *out_value = value;
    return !isinf(value) && value != 0;
}

/*
 * Writes [prefix] digits [mark] exponent: the significant digits of the mantissa as an
 * integer, one "1" for all that do not fit, and the exponent that makes up for what was
 * moved (in units of `digit_exponent` a digit: 1 for decimals, 4 for hex floats).
 */
static bool round_slow(const struct scan *scan, struct yn_bytes prefix, char mark,
                       int digit_exponent, double *out_value)
{
    char text[CANONICAL_DIGITS_MAX + 40];
    char *to = text + prefix.len;
    int64_t exponent = scan->written_exponent;
    int n_kept = 0;
    bool is_past_point = false, is_rest_zero = true;

    memcpy(text, prefix.data, prefix.len);
    for (const char *at = scan->mantissa; at < scan->mantissa_end; at++) {
        if (*at == '.') {
            is_past_point = true;
            continue;
        }
        if (n_kept == 0 && *at == '0') {
            exponent -= is_past_point ? digit_exponent : 0;
        } else if (n_kept < CANONICAL_DIGITS_MAX) {
            *to++ = *at;
            n_kept++;
            exponent -= is_past_point ? digit_exponent : 0;
        } else {
            is_rest_zero &= *at == '0';
            exponent += is_past_point ? 0 : digit_exponent;
        }
    }
    if (n_kept == 0) { /* a hex float of zeros: no underflow, whatever the exponent */
        *out_value = 0.0;
        return true;
    }
    if (!is_rest_zero) {
        *to++ = '1';
        exponent -= digit_exponent;
    }
    *to++ = mark;
    to += yn_num_format_int64(exponent, to);
    *to = '\0';
    return read_canonical(text, out_value);
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* A hex float behind its "0x": digits with at most one point, optional p exponent. */
static bool parse_hex(const char *at, const char *end, struct scan *scan,
                      double *out_value)
{
    int n_points = 0;

    scan->mantissa = at;
    while (at < end && (is_hex_digit(*at) || (*at == '.' && n_points == 0)))
        n_points += *at++ == '.';
    scan->mantissa_end = at;
    if (at - scan->mantissa == n_points)
        return false;
    if (at < end &&
        ((*at | 0x20) != 'p' || !scan_exponent(at + 1, end, &scan->written_exponent)))
        return false;
    return round_slow(scan, (struct yn_bytes){"0x", 2}, 'p', 4, out_value);
}

static bool is_infinity(const char *at, size_t len)
{
    static const char word[] = "infinity";

    if (len != 3 && len != 8)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((at[i] | 0x20) != word[i])
            return false;
    }
    return true;
}

/* ---- doubles: short decimals --------------------------------------------- */

#if defined(__SSE2__)

#define SHORT_MIN 4  /* a load of four bytes from either end covers up to eight */
#define SHORT_MAX 16 /* a vector */

/* A load from byte n on gives 16 - n bytes of zeros and n bytes of ones. */
static const uint64_t zeros_and_ones[4] = {0, 0, UINT64_MAX, UINT64_MAX};

static inline __m128i mask_of(size_t n_ones)
{
    const char *at = (const char *)zeros_and_ones + n_ones;
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* The text at the end of a vector, behind any bytes. */
static inline __m128i load_short(const char *at, size_t len)
{
    uint64_t first = 0, last;
    if (len >= 8) {
        memcpy(&first, at, 8);
        memcpy(&last, at + len - 8, 8);
        first = first << (16 - len) * 4 << (16 - len) * 4; /* up to 64 bits */
    } else {
        uint32_t first_4, last_4;
        memcpy(&first_4, at, 4);
        memcpy(&last_4, at + len - 4, 4);
        last = (uint64_t)last_4 << 32 | (first_4 << (8 - len) * 4 << (8 - len) * 4);
    }
    return _mm_set_epi64x((long long)last, (long long)first);
}

/* The number that 16 digits make, each of them a byte of 0 to 9. */
static inline uint64_t value_of_digits(__m128i digits)
{
    __m128i tens = _mm_and_si128(digits, _mm_set1_epi16(0xff));
    __m128i pairs = _mm_add_epi16(_mm_mullo_epi16(tens, _mm_set1_epi16(10)),
                                  _mm_srli_epi16(digits, 8));
    __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(100 | 1 << 16));
    __m128i eights =
        _mm_madd_epi16(_mm_packs_epi32(fours, fours), _mm_set1_epi32(10000 | 1 << 16));
    uint64_t both = (uint64_t)_mm_cvtsi128_si64(eights);
    return (both & UINT32_MAX) * 100000000 + (both >> 32);
}

/*
 * Digits with a point among them, 4 to 16 bytes in all, which is what coordinates are: at
 * most 15 digits, so that one exact division gives the number (step 2). The digits in
 * front of the point move up over it. False: not of that kind.
 */
static inline bool parse_short(const char *at, size_t len, double *out_value)
{
    static const double powers[16] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    if (len < SHORT_MIN || len > SHORT_MAX)
        return false;
    const __m128i nine = _mm_set1_epi8(9);
    __m128i bytes = _mm_sub_epi8(load_short(at, len), _mm_set1_epi8('0'));
    __m128i digits = _mm_and_si128(bytes, mask_of(len));
    __m128i is_point = _mm_cmpeq_epi8(digits, _mm_set1_epi8('.' - '0'));
    unsigned points = (unsigned)_mm_movemask_epi8(is_point);
    if (points == 0 || (points & (points - 1)) != 0)
        return false;
    unsigned point = (unsigned)__builtin_ctz(points);
    __m128i is_behind = mask_of(15 - point);
    __m128i behind = _mm_and_si128(is_behind, digits);
    __m128i before = _mm_andnot_si128(_mm_or_si128(is_behind, is_point), digits);
    digits = _mm_or_si128(_mm_slli_si128(before, 1), behind);
    __m128i is_digit_each = _mm_cmpeq_epi8(_mm_max_epu8(digits, nine), nine);
    if (_mm_movemask_epi8(is_digit_each) != 0xffff)
        return false;
    *out_value = (double)(int64_t)value_of_digits(digits) / powers[15 - point];
    return true;
}

#else

static bool parse_short(const char *at, size_t len, double *out_value)
{
    (void)at;
    (void)len;
    (void)out_value;
    return false;
}

#endif

/* ---- doubles ------------------------------------------------------------- */

static inline bool parse_signed_short(struct yn_bytes text, double *out_value)
{
    bool negative = text.len > 0 && *text.data == '-';
    double value;
    if (!parse_short(text.data + negative, text.len - negative, &value))
        return false;
    *out_value = negative ? -value : value;
    return true;
}

static bool parse_any(struct yn_bytes text, double *out_value)
{
    struct scan scan = {.negative = false};
    double value;
    bool ok;

    if (text.len == 0)
        return false;
    const char *at = text.data;
    const char *end = at + text.len;
    if (*at == '-' || *at == '+')
        scan.negative = *at++ == '-';

    if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x') {
        ok = parse_hex(at + 2, end, &scan, &value);
    } else if (is_infinity(at, (size_t)(end - at))) {
        value = HUGE_VAL;
        ok = true;
    } else {
        ok = scan_decimal(at, end, &scan);
        if (ok && !round_fast(&scan, &value))
            ok = round_slow(&scan, (struct yn_bytes){"", 0}, 'e', 1, &value);
    }
    if (ok)
        *out_value = scan.negative ? -value : value;
    return ok;
}

bool yn_num_parse_double(struct yn_bytes text, double *out_value)
{
    return parse_signed_short(text, out_value) || parse_any(text, out_value);
}

size_t yn_num_parse_doubles(const struct yn_bytes *texts, size_t n, double *out_values)
{
    for (size_t i = 0; i < n; i++)
        if (!parse_signed_short(texts[i], &out_values[i]) &&
            !parse_any(texts[i], &out_values[i]))
            return i;
    return n;
}
