/*
 * num.h: numbers to text and back, exactly as compatible servers do it, without
 * printf and strtod on the hot path and without regard to the locale.
 *
 * Parsers take a whole run of bytes: leading or trailing blanks are errors.
 * Formatters write into the caller's array, put no NUL, and return the length.
 */
#ifndef YN_NUM_H
#define YN_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "yonder.h"

/* Room that any formatter here but yn_num_format_fixed17 may write to. */
#define YN_NUM_TEXT_MAX 40
/* Room that yn_num_format_fixed17 may write to: a double has up to 309 digits before the
 * point, and 17 decimals only below 2^53 (a coordinate takes less than 24 bytes). */
#define YN_NUM_FIXED17_MAX 352

/* Strict decimal: "0", or optional '-' and a digit 1-9 and digits. No '+', no
 * leading zeros, no "-0". Returns false for anything else or on overflow. */
bool yn_num_parse_int64(struct yn_bytes text, int64_t *out_value);

/* A double, correctly rounded: what strtod reads to the end of the text in the C locale.
 * Decimals ("+1", ".5", "5.", "1e5"), inf and infinity in any case, hex floats. Refused:
 * the empty text, blanks at either end, anything behind the number (a NUL too), any form
 * of NaN, overflow ("1e400"), numbers other than 0 that round to 0 ("1e-400"; "1e-320" is
 * fine). *out_value is untouched then. */
bool yn_num_parse_double(struct yn_bytes text, double *out_value);

/* Reads n texts, each as yn_num_parse_double does. Returns how many were read before the
 * first that is refused, or n. */
size_t yn_num_parse_doubles(const struct yn_bytes *texts, size_t n, double *out_values);

/* Decimal text of integers. */
size_t yn_num_format_int64(int64_t value, char *out_text);
size_t yn_num_format_uint64(uint64_t value, char *out_text);

/*
 * The shortest decimal that reads back to the same double (the closest to it among
 * those), laid out as Redis 8 does. With the digits d1...dn and value = d1...dn * 10^k,
 * the decimal exponent x = n - 1 + k, the first rule that fits decides:
 *   integers with |value| <= 2^62   all digits of the integer: "10",
 * "4611686018427387904" -0, infinities                  "-0", "inf", "-inf" k >= 0 and x
 * < n + 7            digits, then k zeros: "12345678901234567000" k < 0, and k > -7 or
 * |x| < 4    plain decimal: "0.00001", "13.361389338970184" otherwise d.dddde+x, exponent
 * without padding: "2.682209014892578e-6", "1.662741515696004e+5", "1e+300" Not NaN.
 */
size_t yn_num_format_shortest(double value, char *out_text);

/* The value with 17 decimals, correctly rounded (as printf "%.17Lf" gives it), then
 * trailing zeros and a bare point removed; "-0" becomes "0"; "inf", "-inf". */
size_t yn_num_format_fixed17(double value, char *out_text);

/* As printf "%.17g", which is how Redis 7.0 prints scores: "10", "0.10000000000000001",
 * "1e+17"; "inf", "-inf", "-0". Not NaN. */
size_t yn_num_format_g17(double value, char *out_text);

/* As printf "%.17Lg", which is how ZSCAN prints the scores of large sets: the same text
 * as yn_num_format_g17, since a double widened to long double is the same number. */
size_t yn_num_format_scan(double value, char *out_text);

/* As Redis 7.0 keeps the scores of small sets, which is how ZSCAN shows those: integers
 * with |value| <= 2^62 bare to the last digit, -0 as "0", others as yn_num_format_g17. */
size_t yn_num_format_compact(double value, char *out_text);

/* A distance: value * 10^4 rounded to the nearest integer, ties to even on the product,
 * printed with exactly four decimals; what rounds to zero is "0.0000". Products from 2^63
 * on are printed like "%.4f"; from 1e33 on (no distance) like yn_num_format_g17, so that
 * no text is longer than YN_NUM_TEXT_MAX. Not NaN. */
size_t yn_num_format_distance(double value, char *out_text);

#endif
