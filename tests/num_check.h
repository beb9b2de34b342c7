/*
 * num_check.h: what a formatted double must fulfil, judged by the C library, for the
 * unit test, the exhaustive run and the fuzz target. Every check returns NULL, or what
 * is wrong. The process must be in the C locale.
 */
#ifndef TESTS_NUM_CHECK_H
#define TESTS_NUM_CHECK_H

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

static inline bool is_same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Takes the significant digits out of a text: digits * 10^*out_exponent, where digits
 * has *out_n <= 19 digits and no zero at its end (0 and 20 digits if there are more). */
static inline uint64_t significant_digits(const char *text, int *out_n, int *out_exponent)
{
    uint64_t digits = 0;
    int n = 0, exponent = 0, n_zeros = 0;
    bool is_past_point = false;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '.')
            is_past_point = true;
        if (!isdigit((unsigned char)*text))
            continue;
        exponent -= is_past_point;
        if (*text == '0') {
            n_zeros += n > 0;
            continue;
        }
        n += n_zeros + 1;
        if (n > 19) {
            *out_n = 20;
            *out_exponent = 0;
            return 0;
        }
        for (; n_zeros > 0; n_zeros--)
            digits *= 10;
        digits = digits * 10 + (uint64_t)(*text - '0');
    }
    if (*text == 'e')
        exponent += atoi(text + 1);
    *out_n = n;
    *out_exponent = exponent + n_zeros;
    return digits;
}

static inline double read_digits(uint64_t digits, int exponent)
{
    char text[48];

    snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
    return strtod(text, NULL);
}

/* The text reads back to the value, no text with fewer digits does, and it is the
 * closest of its length if the closest one reads back at all. */
static inline const char *check_shortest(double value)
{
    char text[YN_NUM_TEXT_MAX + 1], closest[64];
    size_t len = yn_num_format_shortest(value, text);

    if (len > YN_NUM_TEXT_MAX)
        return "shortest text is too long";
    text[len] = '\0';
    if (!is_same_double(strtod(text, NULL), value))
        return "shortest text does not read back";
    double magnitude = fabs(value);
    if (!isfinite(value) || (magnitude <= 0x1p62 && magnitude == floor(magnitude)))
        return NULL; /* integers are written out */

    int n, exponent, closest_n, closest_exponent;
    uint64_t digits = significant_digits(text, &n, &exponent);
    if (n > 17)
        return "shortest text has more than 17 digits";
    if (n > 1 && (read_digits(digits / 10, exponent + 1) == magnitude ||
                  read_digits(digits / 10 + 1, exponent + 1) == magnitude))
        return "there is a shorter text";
    snprintf(closest, sizeof closest, "%.*e", n - 1, magnitude);
    if (strtod(closest, NULL) != magnitude)
        return NULL;
    if (significant_digits(closest, &closest_n, &closest_exponent) != digits ||
        closest_exponent != exponent)
        return "there is a closer text of the same length";
    return NULL;
}

static inline const char *check_fixed17(double value)
{
    char text[YN_NUM_FIXED17_MAX + 1], want[YN_NUM_FIXED17_MAX + 64];
    size_t len = yn_num_format_fixed17(value, text);

    if (len > YN_NUM_FIXED17_MAX)
        return "fixed17 text is too long";
    text[len] = '\0';
    int want_len = snprintf(want, sizeof want, "%.17Lf", (long double)value);
    if (isfinite(value)) {
        while (want[want_len - 1] == '0')
            want_len--;
        if (want[want_len - 1] == '.')
            want_len--;
        want[want_len] = '\0';
        if (strcmp(want, "-0") == 0)
            strcpy(want, "0");
    }
    return strcmp(text, want) == 0 ? NULL : "fixed17 differs from %.17Lf";
}

static inline const char *check_g17(double value)
{
    char text[YN_NUM_TEXT_MAX + 1], want[64];
    size_t len = yn_num_format_g17(value, text);

    if (len > YN_NUM_TEXT_MAX)
        return "g17 text is too long";
    text[len] = '\0';
    snprintf(want, sizeof want, "%.17g", value);
    if (strcmp(text, want) != 0)
        return "g17 differs from %.17g";
    text[yn_num_format_scan(value, text)] = '\0';
    snprintf(want, sizeof want, "%.17Lg", (long double)value);
    return strcmp(text, want) == 0 ? NULL : "scan differs from %.17Lg";
}

static inline const char *check_distance(double value)
{
    char text[YN_NUM_TEXT_MAX + 1], want[YN_NUM_FIXED17_MAX];
    size_t len = yn_num_format_distance(value, text);
    double product = fabs(value) * 10000.0;

    if (len > YN_NUM_TEXT_MAX)
        return "distance text is too long";
    text[len] = '\0';
    if (product < 0x1p63) {
        long long scaled = llrint(product);
        snprintf(want, sizeof want, "%s%lld.%04lld", value < 0 && scaled != 0 ? "-" : "",
                 scaled / 10000, scaled % 10000);
    } else if (fabs(value) < 1e33) {
        snprintf(want, sizeof want, "%.4f", value);
    } else {
        snprintf(want, sizeof want, "%.17g", value);
    }
    return strcmp(text, want) == 0 ? NULL : "distance differs";
}

/* The parser against strtod, with the strictness that the header promises. `text` is
 * followed by a NUL that does not count. */
static inline const char *check_parse_double(const char *text, size_t len)
{
    char *end;
    double got = 12345.0;
    bool ok = yn_num_parse_double((struct yn_bytes){text, len}, &got);

    errno = 0;
    double want = strtod(text, &end);
    bool is_refused = len == 0 || isspace((unsigned char)text[0]) ||
                      (size_t)(end - text) != len || isnan(want) ||
                      (errno == ERANGE && (isinf(want) || want == 0));
    if (ok == is_refused)
        return ok ? "a text was accepted that strtod refuses"
                  : "a text was refused that strtod accepts";
    if (!ok)
        return got == 12345.0 ? NULL : "a refused text changed the value";
    return is_same_double(got, want) ? NULL : "the value differs from strtod's";
}

static inline const char *check_parse_int64(const char *text, size_t len)
{
    int64_t got = 77;
    char canonical[YN_NUM_TEXT_MAX];
    bool ok = yn_num_parse_int64((struct yn_bytes){text, len}, &got);

    errno = 0;
    long long want = strtoll(text, NULL, 10);
    size_t canonical_len = (size_t)snprintf(canonical, sizeof canonical, "%lld", want);
    bool is_canonical =
        errno == 0 && canonical_len == len && memcmp(text, canonical, len) == 0;
    if (ok != is_canonical)
        return "parse_int64 does not accept exactly what prints the same again";
    if (ok && got != want)
        return "parse_int64 differs from strtoll";
    if (ok &&
        (yn_num_format_int64(got, canonical) != len || memcmp(text, canonical, len) != 0))
        return "format_int64 does not give the text back";
    return NULL;
}

/* All formatters on one value; the parser on what they print. Not NaN. */
static inline const char *check_formats(double value)
{
    char text[YN_NUM_FIXED17_MAX + 1];
    const char *fault = check_shortest(value);

    if (fault == NULL)
        fault = check_fixed17(value);
    if (fault == NULL)
        fault = check_g17(value);
    if (fault == NULL && isfinite(value))
        fault = check_distance(value);
    if (fault == NULL) {
        text[yn_num_format_shortest(value, text)] = '\0';
        fault = check_parse_double(text, strlen(text));
    }
    if (fault == NULL) {
        text[yn_num_format_g17(value, text)] = '\0';
        fault = check_parse_double(text, strlen(text));
    }
    if (fault == NULL) {
        text[yn_num_format_fixed17(value, text)] = '\0';
        fault = check_parse_double(text, strlen(text));
    }
    return fault;
}

#endif
