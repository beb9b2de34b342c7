/*
 * test_bench_check.c: which answers count as the same; medians and deviations; numbers of
 * the command line.
 * link: tools
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench_args.h"
#include "tools/bench_check.h"
#include "tools/bench_stats.h"

static struct yn_reply *parse(const char *text)
{
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    struct yn_reply *reply = NULL;
    assert_non_null(parser);
    yn_reply_feed(parser, text, strlen(text));
    assert_int_equal(yn_reply_next(parser, &reply), YN_REPLY_READY);
    yn_reply_parser_free(parser);
    return reply;
}

static enum bench_check_verdict judge(struct bench_check_options options,
                                      const char *ours, const char *theirs)
{
    struct yn_reply *a = parse(ours), *b = parse(theirs);
    enum bench_check_verdict verdict = bench_check_replies(&options, a, b);
    yn_reply_free(a);
    yn_reply_free(b);
    return verdict;
}

#define ABC "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n"
#define CAB "*3\r\n$1\r\nc\r\n$1\r\na\r\n$1\r\nb\r\n"
#define AC "*2\r\n$1\r\na\r\n$1\r\nc\r\n"
#define AD "*2\r\n$1\r\na\r\n$1\r\nd\r\n"
#define NEAR_A "*1\r\n*2\r\n$1\r\na\r\n$6\r\n1.5000\r\n"
#define NEAR_B "*1\r\n*2\r\n$1\r\nb\r\n$6\r\n1.5000\r\n"
#define FAR_B "*1\r\n*2\r\n$1\r\nb\r\n$6\r\n1.6000\r\n"

static void test_verdicts(void **state)
{
    (void)state;
    const struct bench_check_options strict = {0}, ties = {.has_ties = true},
                                     more = {.has_more = true},
                                     value = {.by_value = true};
    assert_int_equal(judge(strict, ABC, ABC), BENCH_CHECK_SAME);
    assert_int_equal(judge(strict, CAB, ABC), BENCH_CHECK_ORDER);
    assert_int_equal(judge(strict, ABC, AC), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, ABC, AC), BENCH_CHECK_MORE);
    assert_int_equal(judge(more, CAB, "*0\r\n"), BENCH_CHECK_MORE);
    assert_int_equal(judge(more, AC, ABC), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, ABC, AD), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, "*0\r\n", "*0\r\n"), BENCH_CHECK_SAME);
    assert_int_equal(judge(strict, NEAR_A, NEAR_B), BENCH_CHECK_OTHER);
    assert_int_equal(judge(ties, NEAR_A, NEAR_B), BENCH_CHECK_TIES);
    assert_int_equal(judge(ties, NEAR_A, FAR_B), BENCH_CHECK_OTHER);
    assert_int_equal(judge(ties, AC, AD), BENCH_CHECK_OTHER);
    assert_int_equal(judge(strict, "$3\r\n1.5\r\n", "$4\r\n1.50\r\n"), BENCH_CHECK_OTHER);
    assert_int_equal(judge(value, "$3\r\n1.5\r\n", "$4\r\n1.50\r\n"), BENCH_CHECK_SAME);
    assert_int_equal(judge(value, "$3\r\n1.5\r\n", "$4\r\n1.51\r\n"), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, ":1\r\n", ":2\r\n"), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, "$-1\r\n", "*-1\r\n"), BENCH_CHECK_OTHER);
    assert_int_equal(judge(more, "$1\r\n1\r\n", ":1\r\n"), BENCH_CHECK_OTHER);
}

static void test_count(void **state)
{
    (void)state;
    uint64_t n_nulls = 0;
    struct yn_reply *reply = parse("*3\r\n*2\r\n:1\r\n:2\r\n*-1\r\n$-1\r\n");
    char text[200];
    assert_int_equal(bench_check_count(reply, &n_nulls), 3);
    assert_int_equal(n_nulls, 2);
    bench_check_show(reply, text, sizeof text);
    assert_non_null(strstr(text, "3 elements"));
    for (size_t size = 1; size < sizeof text; size++) {
        memset(text, 'x', sizeof text);
        bench_check_show(reply, text, size);
        assert_true(memchr(text, '\0', size) != NULL);
        assert_int_equal(text[size], 'x');
    }
    yn_reply_free(reply);
}

static void test_stats(void **state)
{
    (void)state;
    static const double values[] = {9, 2, 4, 4, 5, 4, 5, 7};
    struct bench_stats stats = {0};
    assert_true(bench_stats_median(&stats) == 0);
    for (size_t i = 0; i < 8; i++)
        bench_stats_add(&stats, values[i]);
    assert_true(bench_stats_median(&stats) == 4.5);
    assert_true(bench_stats_mean(&stats) == 5);
    assert_true(fabs(bench_stats_deviation(&stats) - sqrt(32.0 / 7)) < 1e-12);
    bench_stats_add(&stats, 1);
    assert_true(bench_stats_median(&stats) == 4);
}

static void test_counts_and_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t count; /* 0: refused */
    } cases[] = {{"1", 1},        {"60_841_557", 60841557},
                 {"5M", 5000000}, {"100k", 100000},
                 {"0", 0},        {"", 0},
                 {"_1", 0},       {"-1", 0},
                 {"1.5", 0},      {"M", 0},
                 {"5MM", 0},      {"99999999999999999999", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t count = 0;
        bool is_fine = bench_args_parse_count(cases[i].text, &count);
        if (is_fine != (cases[i].count != 0) || count != cases[i].count)
            fail_msg("\"%s\" gives %llu", cases[i].text, (unsigned long long)count);
    }
    const char *host;
    int port;
    char full[] = "example.org:7", bare[] = ":8", wrong[] = "example.org";
    assert_true(bench_args_parse_address(full, &host, &port));
    assert_string_equal(host, "example.org");
    assert_int_equal(port, 7);
    assert_true(bench_args_parse_address(bare, &host, &port));
    assert_null(host);
    assert_int_equal(port, 8);
    assert_false(bench_args_parse_address(wrong, &host, &port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_stats),
        cmocka_unit_test(test_counts_and_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
