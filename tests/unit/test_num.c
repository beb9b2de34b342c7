/* Numbers to text and back: tables of right values, and the C library as judge on
 * random values. Seed: YN_SEED. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/decimal.h"
#include "core/geodesy.h"
#include "core/num.h"
#include "core/num_digits.h"
#include "num_check.h"
#include "unit/guard.h"

static uint64_t random_state;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next_random(void)
{
    uint64_t z = random_state += 0x9E3779B97F4A7C15ULL;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static double random_finite(void)
{
    double value;
    uint64_t bits;

    do {
        bits = next_random();
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

static double random_coordinate(void)
{
    uint32_t index = (uint32_t)(next_random() & (YN_CELL_AXIS_MAX - 1));

    return next_random() & 1 ? yn_cell_lat_deg(index) : yn_cell_lon_deg(index);
}

/* A number such as people write: few digits, a small exponent. */
static double random_short(void)
{
    double digits = (double)(next_random() % 1000000000ULL) - 500000000.0;

    return digits * pow(10, (double)(next_random() % 20) - 12.0);
}

static void expect(const char *fault, double value)
{
    if (fault != NULL)
        fail_msg("%.17g (%a): %s", value, value, fault);
}

typedef size_t (*format_fn)(double value, char *out_text);

static void expect_text(format_fn format, double value, const char *want)
{
    char text[YN_NUM_FIXED17_MAX + 1];

    text[format(value, text)] = '\0';
    assert_string_equal(text, want);
}

/* ---- integers ------------------------------------------------------------ */

static void test_int64_text(void **state)
{
    (void)state;
    static const int64_t values[] = {
        0,  1,  9,   10,  11,         99,        100,       101,
        -1, -9, -10, -99, 4294967295, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    char text[YN_NUM_TEXT_MAX + 1], want[40];

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        text[yn_num_format_int64(values[i], text)] = '\0';
        snprintf(want, sizeof want, "%lld", (long long)values[i]);
        assert_string_equal(text, want);
        assert_null(check_parse_int64(text, strlen(text)));
    }
    uint64_t power = 1;
    for (int i = 0; i < 20; i++, power *= 10) {
        for (uint64_t value = power - 1; value != power + 2; value++) {
            text[yn_num_format_uint64(value, text)] = '\0';
            snprintf(want, sizeof want, "%llu", (unsigned long long)value);
            assert_string_equal(text, want);
        }
    }
    text[yn_num_format_uint64(UINT64_MAX, text)] = '\0';
    assert_string_equal(text, "18446744073709551615");
}

static void test_int64_strictness(void **state)
{
    (void)state;
    static const char *const refused[] = {"",
                                          "-",
                                          "+1",
                                          "-0",
                                          "00",
                                          "01",
                                          "-01",
                                          " 1",
                                          "1 ",
                                          "1a",
                                          "a",
                                          "1.0",
                                          "1e3",
                                          "0x1",
                                          "--1",
                                          "9223372036854775808",
                                          "-9223372036854775809",
                                          "99999999999999999999",
                                          "-99999999999999999999",
                                          "18446744073709551616"};
    int64_t value;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct yn_bytes text = {refused[i], strlen(refused[i])};
        if (yn_num_parse_int64(text, &value))
            fail_msg("\"%s\" was accepted", refused[i]);
        assert_null(check_parse_int64(refused[i], strlen(refused[i])));
    }
    assert_false(yn_num_parse_int64((struct yn_bytes){"1\0", 2}, &value));
    assert_false(yn_num_parse_int64((struct yn_bytes){NULL, 0}, &value));
    assert_true(yn_num_parse_int64((struct yn_bytes){"12345", 3}, &value));
    assert_int_equal(value, 123);
}

static void test_int64_random(void **state)
{
    (void)state;
    char text[40];

    for (int i = 0; i < 200000; i++) {
        int64_t value = (int64_t)next_random() >> (next_random() % 64);
        text[yn_num_format_int64(value, text)] = '\0';
        assert_null(check_parse_int64(text, strlen(text)));
        /* one byte changed */
        text[next_random() % strlen(text)] = "0123456789-+. x"[next_random() % 15];
        if (check_parse_int64(text, strlen(text)) != NULL)
            fail_msg("\"%s\"", text);
    }
}

/* ---- doubles to text ----------------------------------------------------- */

static void test_shortest_layout(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {10.0, "10"},
        {-7.0, "-7"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
        {13.361389338970184, "13.361389338970184"},
        {38.1155563954963, "38.1155563954963"},
        {56.4412578701582, "56.4412578701582"},
        {118.33573380874013, "118.33573380874013"},
        {2.682209014892578e-6, "2.682209014892578e-6"},
        {166274.15156960039, "1.662741515696004e+5"}, /* 17 digits from other printers */
        {166274.1515, "166274.1515"},
        {123456.789012, "123456.789012"},    /* six fractional digits */
        {12345.6789012, "1.23456789012e+4"}, /* seven, exponent 4 */
        {1234.5678901, "1234.5678901"},      /* seven, exponent 3 */
        {-0.001234567891, "-0.001234567891"},
        {-0.0001234567891, "-1.234567891e-4"},
        {0.0001, "0.0001"},
        {0.000001, "0.000001"},
        {0.0000001, "1e-7"},
        {0.000012, "0.000012"},
        {0.0000123, "1.23e-5"},
        {1791873972053020.0, "1791873972053020"},
        {3479099956230698.0, "3479099956230698"},
        {4503599627370495.5, "4503599627370495.5"},
        {100000000.0, "100000000"},
        {1e17, "100000000000000000"},
        {123456789012345680.0, "123456789012345680"},
        {4611686018427387904.0, "4611686018427387904"}, /* 2^62 */
        {-4611686018427387904.0, "-4611686018427387904"},
        {4611686018427388928.0, "4611686018427389000"}, /* the next double */
        {1e19, "1e+19"},
        {12345678901234567890.0, "12345678901234567000"},
        {1e300, "1e+300"},
        {-1.5e300, "-1.5e+300"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {9.007199254740993e15, "9007199254740992"},
        {9.5367431640625e-7,
         "9.5367431640625e-7"}, /* powers of two: a closer neighbour */
        {8.98846567431158e307, "8.98846567431158e+307"},
        {1.1125369292536007e-308, "1.1125369292536007e-308"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_text(yn_num_format_shortest, cases[i].value, cases[i].text);
        expect(check_formats(cases[i].value), cases[i].value);
    }
}

static void test_other_layouts(void **state)
{
    (void)state;
    expect_text(yn_num_format_fixed17, 13.361389338970184, "13.36138933897018433");
    expect_text(yn_num_format_fixed17, -0.0, "0");
    expect_text(yn_num_format_fixed17, -1e-18, "0");
    expect_text(yn_num_format_fixed17, 0x1p-17, "0.00000762939453125");
    expect_text(yn_num_format_fixed17, 0x1p-18, "0.00000381469726562"); /* tie to even */
    expect_text(yn_num_format_fixed17, 0x3p-18, "0.00001144409179688"); /* tie to even */
    expect_text(yn_num_format_fixed17, 1e22, "10000000000000000000000");
    expect_text(yn_num_format_fixed17, -HUGE_VAL, "-inf");
    expect_text(yn_num_format_fixed17, -180.0, "-180");
    expect_text(yn_num_format_fixed17, 85.05112878, "85.0511287799999991");
    expect_text(yn_num_format_g17, 1e17, "1e+17");
    expect_text(yn_num_format_g17, 1e16, "10000000000000000");
    expect_text(yn_num_format_g17, 123456789012345678.0, "1.2345678901234568e+17");
    expect_text(yn_num_format_g17, 5e-324, "4.9406564584124654e-324");
    expect_text(yn_num_format_g17, 1e300, "1.0000000000000001e+300");
    expect_text(yn_num_format_g17, 0.0001, "0.0001");
    expect_text(yn_num_format_g17, 1e-5, "1.0000000000000001e-05");
    expect_text(yn_num_format_g17, -0.0, "-0");
    expect_text(yn_num_format_g17, HUGE_VAL, "inf");
    expect_text(yn_num_format_scan, -HUGE_VAL, "-inf");
    /* Read from ZSCAN of a small set of redis-server 7.0.15. */
    expect_text(yn_num_format_compact, 1e17, "100000000000000000");
    expect_text(yn_num_format_compact, 123456789012345678.0, "123456789012345680");
    expect_text(yn_num_format_compact, -4611686018427387904.0, "-4611686018427387904");
    expect_text(yn_num_format_compact, 4611686018427388928.0, "4.6116860184273889e+18");
    expect_text(yn_num_format_compact, -0.0, "0");
    expect_text(yn_num_format_compact, 0.1, "0.10000000000000001");
    expect_text(yn_num_format_compact, 1e20, "1e+20");
    expect_text(yn_num_format_compact, -HUGE_VAL, "-inf");
    expect_text(yn_num_format_distance, 0.0, "0.0000");
    expect_text(yn_num_format_distance, 166274.15156960039, "166274.1516");
    expect_text(yn_num_format_distance, 0.00005, "0.0000");
    expect_text(yn_num_format_distance, 0.00025, "0.0002");
    expect_text(yn_num_format_distance, 0.00035, "0.0004");
    expect_text(yn_num_format_distance, 0.00015, "0.0001"); /* the product is below 1.5 */
    expect_text(yn_num_format_distance, -0.00001, "0.0000");
    expect_text(yn_num_format_distance, -12.5, "-12.5000");
    expect_text(yn_num_format_distance, HUGE_VAL, "inf");
    expect_text(yn_num_format_distance, 1e15, "1000000000000000.0000");
    expect_text(yn_num_format_distance, -1000000000000000.125, "-1000000000000000.1250");
    expect_text(yn_num_format_distance, 1e22, "10000000000000000000000.0000");
    expect_text(yn_num_format_distance, 1e33, "9.9999999999999995e+32");
}

/* Both halves of eight digits, exhaustively; they do not meet in the arithmetic. */
static void test_eight_digits(void **state)
{
    (void)state;
    for (uint32_t half = 0; half < 10000; half++) {
        const uint32_t others[] = {0, 9999, (uint32_t)(next_random() % 10000)};
        for (size_t i = 0; i < 6; i++) {
            uint32_t other = others[i / 2];
            uint32_t value = i % 2 ? half * 10000 + other : other * 10000 + half;
            char want[24], text[24];
            memset(text, 'x', sizeof text);
            yn_digits_write(text, value, 8);
            snprintf(want, sizeof want, "%08u", value);
            assert_memory_equal(text, want, 8);
            assert_int_equal(text[8], 'x');
        }
    }
}

/* Found by comparing the two ways of rounding: printf gives the neighbour for each. */
/* One in 13 of all distances that have four digits before the point, and the edges. */
static void test_distances_below_10000(void **state)
{
    (void)state;
    char text[YN_NUM_TEXT_MAX], want[32];
    for (uint64_t scaled = 0; scaled <= 100000010; scaled += scaled < 99999900 ? 13 : 1) {
        double value = (double)scaled / 10000.0;
        assert_true(llrint(value * 10000.0) == (long long)scaled);
        size_t len = yn_num_format_distance(value, text);
        /* right digits: read back without the point, and laid out as "%d.%04d" */
        uint64_t read = 0;
        for (size_t i = 0; i < len; i++)
            read = text[i] == '.' ? read : read * 10 + (uint64_t)(text[i] - '0');
        size_t n_whole = scaled < 100000000
                             ? (size_t)(scaled >= 100000) + (scaled >= 1000000) +
                                   (scaled >= 10000000) + 1
                             : 5;
        if (read != scaled || len != n_whole + 5 || text[n_whole] != '.')
            fail_msg("%.17g: %.*s", value, (int)len, text);
        if (scaled % 1009 == 0) {
            snprintf(want, sizeof want, "%.4f", value);
            assert_int_equal(len, strlen(want));
            assert_memory_equal(text, want, len);
        }
    }
}

static void test_distance_is_not_printf(void **state)
{
    (void)state;
    static const struct {
        double lon1, lat1, lon2, lat2;
        const char *text, *by_printf;
    } cases[] = {
        {-123.01952987909317, -77.956815591660131, 64.009204208850861,
         -19.845653813549241, "9133039.2084", "9133039.2085"},
        {-16.776898205280304, 36.424981028015473, 158.34421724081039, -2.0740495295954773,
         "16167224.7172", "16167224.7173"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yn_point a = {cases[i].lon1, cases[i].lat1};
        struct yn_point b = {cases[i].lon2, cases[i].lat2};
        char text[64];
        double distance_m = yn_distance_m(a, b);
        expect_text(yn_num_format_distance, distance_m, cases[i].text);
        snprintf(text, sizeof text, "%.4f", distance_m);
        assert_string_equal(text, cases[i].by_printf);
    }
}

static void test_formats_random(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        double value = random_finite();
        expect(check_formats(value), value);
        value = random_short();
        expect(check_formats(value), value);
    }
    /* powers of two and of ten, and their neighbours */
    for (int e = -1074; e <= 1023; e++) {
        double value = ldexp(1.0, e);
        expect(check_formats(value), value);
        expect(check_formats(-nextafter(value, 0)), value);
        expect(check_formats(nextafter(value, HUGE_VAL)), value);
    }
    for (int e = -323; e <= 308; e++) {
        double value = read_digits(1, e);
        expect(check_formats(value), value);
        expect(check_formats(nextafter(value, 0)), value);
        expect(check_formats(nextafter(value, HUGE_VAL)), value);
    }
}

static void test_shortest_of_coordinates(void **state)
{
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        double value = random_coordinate();
        expect(check_shortest(value), value);
    }
}

static void test_fixed17_of_coordinates(void **state)
{
    (void)state;
    for (int i = 0; i < 1000000; i++) {
        double value = random_coordinate();
        expect(check_fixed17(value), value);
    }
}

/* Values whose 17th digit or decimal is decided by a tie, or nearly so. */
static void test_ties(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t c = next_random() >> (11 + next_random() % 40);
        double value = ldexp((double)c, -(int)(next_random() % 70));
        expect(check_formats(value), value);
        value = (double)(next_random() >> 8) * 8; /* integers of 17 to 19 digits */
        expect(check_formats(value), value);
    }
}

static void test_decimal_is_exact(void **state)
{
    (void)state;
    static char want[1500];

    for (int i = 0; i < 3000; i++) {
        double value = fabs(i < 4 ? (double[]){5e-324, 1.7976931348623157e308, 0.0,
                                               2.225073858507201e-308}[i]
                                  : random_finite());
        struct yn_decimal decimal;
        yn_decimal_from_double(value, &decimal);
        assert_true(decimal.n_digits <= 767);
        /* all digits there are: %e with more than enough of them */
        snprintf(want, sizeof want, "%.800e", value);
        char *mark = strchr(want, 'e');
        if (value != 0)
            assert_int_equal(decimal.point, atoi(mark + 1) + 1);
        memmove(want + 1, want + 2, 800);
        for (int k = 0; k < 801; k++)
            assert_int_equal(k < decimal.n_digits ? decimal.digits[k] : '0', want[k]);
    }
}

static void test_decimal_rounding(void **state)
{
    (void)state;
    static const struct {
        double value;
        int n_keep, point;
        const char *digits;
    } cases[] = {
        {0.5, 0, 0, ""},      {0.75, 0, 1, "1"},      {1.5, 1, 1, "2"},
        {2.5, 1, 1, "2"},     {9.5, 1, 2, "1"},       {0.25, 0, 0, ""},
        {999.5, 3, 4, "1"},   {0.125, -1, 0, ""},     {100.0, 1, 3, "1"},
        {12.25, 3, 2, "122"}, {12.375, 4, 2, "1238"}, {8.0, 5, 1, "8"},
        {904.0, 2, 3, "9"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct yn_decimal decimal;
        yn_decimal_from_double(cases[i].value, &decimal);
        yn_decimal_round(&decimal, cases[i].n_keep);
        decimal.digits[decimal.n_digits] = '\0';
        assert_string_equal(decimal.digits, cases[i].digits);
        assert_int_equal(decimal.point, cases[i].point);
    }
}

/* ---- text to doubles ----------------------------------------------------- */

static void test_parse_strictness(void **state)
{
    (void)state;
    static const char *const accepted[] = {
        "0",
        "-0",
        "+0",
        "1",
        "+1",
        "-1",
        "00012",
        ".5",
        "5.",
        "-.5",
        "1e5",
        "1E+5",
        "1e-5",
        "0x10",
        "0X1.8p3",
        "0x.8",
        "0x1.",
        "-0x1p-1074",
        "0x1.8p-1075",
        "0x0p99999",
        "0x0p-99999",
        "inf",
        "-inf",
        "+inf",
        "InF",
        "infinity",
        "-INFINITY",
        "0e999999999999",
        "0e-99999",
        "1e-320",
        "3e-324",
        "-2.2250738585072011e-308",
        "1.7976931348623158e308",
        "179769313486231580793728971405301e276",
        "9007199254740993",
        "9007199254740991e22",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999e-20",
        "0x123456789abcdef0123456789abcdefp-200",
        "0x1.fffffffffffff7p1023",
        "2.4703282292062328e-324",
        "0x1.00000000000008p0",
        "0x1.000000000000080000000001p0",
    };
    static const char *const refused[] = {
        "",
        " 1",
        "1 ",
        "\t1",
        "\n1",
        "1\n",
        "1_0",
        ".",
        "-",
        "+",
        "+-1",
        "--1",
        ".e5",
        "e5",
        "1e",
        "1e+",
        "1e5.",
        "1e5x",
        "infin",
        "in",
        "infinityx",
        "nan",
        "-nan",
        "NAN",
        "nan(1)",
        "1e400",
        "-1e400",
        "1e-400",
        "2e-324",
        "0x",
        "0x.",
        "0x1p",
        "0x1p+",
        "0xg",
        "0x1p1024",
        "0x1p-1075",
        "0b1",
        "1f",
        "1d",
        "1l",
        "1,5",
        "\xd9\xa1",
        "1..2",
        "1.2.3",
        "0x1..8",
        "1e99999999999999999999999",
        "1e-99999999999999999999999",
        "x",
        "0x1p99999999999999999",
        "1.7976931348623159e308",
        "0x1.fffffffffffff8p1023",
    };
    double value;

    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct yn_bytes text = {accepted[i], strlen(accepted[i])};
        if (!yn_num_parse_double(text, &value))
            fail_msg("\"%s\" was refused", accepted[i]);
        const char *fault = check_parse_double(accepted[i], strlen(accepted[i]));
        if (fault != NULL)
            fail_msg("\"%s\": %s", accepted[i], fault);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct yn_bytes text = {refused[i], strlen(refused[i])};
        if (yn_num_parse_double(text, &value))
            fail_msg("\"%s\" was accepted", refused[i]);
        assert_null(check_parse_double(refused[i], strlen(refused[i])));
    }
    assert_false(yn_num_parse_double((struct yn_bytes){"1\0", 2}, &value));
    assert_false(yn_num_parse_double((struct yn_bytes){"1\0002", 3}, &value));
    assert_false(yn_num_parse_double((struct yn_bytes){NULL, 0}, &value));
    assert_true(yn_num_parse_double((struct yn_bytes){"1.25e3", 4}, &value));
    assert_true(value == 1.25);
}

/* Digit strings far longer than a double needs, with the point and the exponent at the
 * far ends, and one digit that decides. */
static void test_parse_long_texts(void **state)
{
    (void)state;
    static char text[6000];

    for (int i = 0; i < 2000; i++) {
        size_t len = 0, n_digits = 500 + next_random() % 1500;
        if (next_random() & 1) {
            text[len++] = '0';
            text[len++] = '.';
            for (size_t k = next_random() % 500; k > 0; k--)
                text[len++] = '0';
        }
        for (size_t k = 0; k < n_digits; k++)
            text[len++] = (char)('0' + next_random() % 10);
        int exponent = (int)(next_random() % 4000) - 2000;
        len += (size_t)snprintf(text + len, 20, "e%d", exponent);
        const char *fault = check_parse_double(text, len);
        if (fault != NULL)
            fail_msg("%s: %s", text, fault);
    }
    /* beyond any buffer on a stack */
    size_t len = 3000000;
    char *huge = malloc(len + 20);
    assert_non_null(huge);
    memset(huge, '0', len);
    strcpy(huge + len, "15e-1");
    assert_null(check_parse_double(huge, len + 5));
    huge[0] = '1';
    snprintf(huge + len, 20, "e-%zu", len - 1);
    assert_null(check_parse_double(huge, strlen(huge)));
    memset(huge, '0', len);
    huge[1] = '.';
    snprintf(huge + len, 20, "7e%zu", len - 2);
    assert_null(check_parse_double(huge, strlen(huge)));
    free(huge);
}

/* The middle between two neighbours, written out to its last digit; and the same with
 * one more digit behind it, and with the last digit taken down by one. */
static void test_parse_midpoints(void **state)
{
    (void)state;
    static char text[1200];

    for (int i = 0; i < 20000; i++) {
        double low = fabs(random_finite());
        if (i % 3 == 0)
            low = fabs(random_short());
        if (i % 3 == 1)
            low = ldexp((double)(next_random() >> 12), -(int)(next_random() % 300));
        double high = nextafter(low, HUGE_VAL);
        if (isinf(high) || low == 0)
            continue;
        /* half the sum needs one bit more than a double has; long double has it, but
         * for subnormals' sake the exponent is kept in range by scaling in text only */
        long double middle = ((long double)low + (long double)high) / 2;
        int len = snprintf(text, sizeof text, "%.780Le", middle);
        const char *fault = check_parse_double(text, (size_t)len);
        if (fault != NULL)
            fail_msg("%s: %s", text, fault);
        char *mark = strchr(text, 'e');
        mark[-1] = '1';
        assert_null(check_parse_double(text, (size_t)len));
        mark[-1] = '0';
        char *last = mark - 1;
        while (*last == '0')
            last--;
        if (*last == '.')
            last--;
        (*last)--;
        assert_null(check_parse_double(text, (size_t)len));
    }
}

static void test_parse_random(void **state)
{
    (void)state;
    char text[64];

    for (int i = 0; i < 300000; i++) {
        unsigned long long digits = next_random() >> (next_random() % 64);
        int len =
            snprintf(text, sizeof text, "%s%llu.%llue%d", next_random() & 1 ? "-" : "",
                     digits, (unsigned long long)next_random() % 1000000000ULL,
                     (int)(next_random() % 700) - 370);
        const char *fault = check_parse_double(text, (size_t)len);
        if (fault == NULL) {
            len = snprintf(text, sizeof text, "%llue%d", digits,
                           (int)(next_random() % 60) - 30);
            fault = check_parse_double(text, (size_t)len);
        }
        if (fault == NULL) {
            len = snprintf(text, sizeof text, "%a", random_finite());
            fault = check_parse_double(text, (size_t)len);
        }
        if (fault == NULL) {
            text[next_random() % (size_t)len] =
                "0123456789-+.exp nif"[next_random() % 20];
            fault = check_parse_double(text, (size_t)len);
        }
        if (fault != NULL)
            fail_msg("\"%s\": %s", text, fault);
    }
}

/* Texts about as short as coordinates, right and wrong ones, beside unreadable bytes. */
static void test_parse_short_texts(void **state)
{
    (void)state;
    struct guard guard = guard_new(1);

    for (int i = 0; i < 300000; i++) {
        char text[24];
        size_t len = next_random() % 20;
        for (size_t k = 0; k < len; k++)
            text[k] = (char)('0' + next_random() % 10);
        if (len > 0)
            text[next_random() % len] = '.';
        if (len > 0 && next_random() % 2)
            text[0] = '-';
        if (len > 0 && next_random() % 8 == 0)
            text[next_random() % len] = ".-+e/:x \xb0"[next_random() % 9];
        text[len] = '\0';
        const char *fault = check_parse_double(text, len);
        double want = 7, values[3] = {7, 7, 7};
        bool is_fine = yn_num_parse_double((struct yn_bytes){text, len}, &want);
        struct yn_bytes tail = {guard_put(&guard, text, len), len};
        struct yn_bytes head = {guard.base, len};
        memcpy(guard.base, text, len);
        struct yn_bytes texts[3] = {head, tail, head};
        size_t n = yn_num_parse_doubles(texts, 3, values);
        if (fault == NULL &&
            (n != (is_fine ? 3 : 0) || !is_same_double(values[0], want) ||
             !is_same_double(values[1], want)))
            fault = "many are not read as one";
        if (fault != NULL)
            fail_msg("\"%s\": %s", text, fault);
    }
    guard_free(&guard);
}

int main(void)
{
    const char *seed = getenv("YN_SEED");
    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 20240611;
    printf("YN_SEED=%llu\n", (unsigned long long)random_state);

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_int64_text),
        cmocka_unit_test(test_int64_strictness),
        cmocka_unit_test(test_int64_random),
        cmocka_unit_test(test_shortest_layout),
        cmocka_unit_test(test_other_layouts),
        cmocka_unit_test(test_eight_digits),
        cmocka_unit_test(test_distance_is_not_printf),
        cmocka_unit_test(test_distances_below_10000),
        cmocka_unit_test(test_formats_random),
        cmocka_unit_test(test_shortest_of_coordinates),
        cmocka_unit_test(test_fixed17_of_coordinates),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_decimal_is_exact),
        cmocka_unit_test(test_decimal_rounding),
        cmocka_unit_test(test_parse_strictness),
        cmocka_unit_test(test_parse_long_texts),
        cmocka_unit_test(test_parse_midpoints),
        cmocka_unit_test(test_parse_random),
        cmocka_unit_test(test_parse_short_texts),
    };
    return cmocka_run_group_tests_name("num", tests, NULL, NULL);
}
