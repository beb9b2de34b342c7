/*
 * test_bench_scan.c: the counts of the scanner, for replies in pieces of any size.
 * link: tools
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "resp/write.h"
#include "tools/bench_random.h"
#include "tools/bench_scan.h"

static struct bench_random random_numbers;

struct counts {
    uint64_t n_replies, n_errors, n_nulls, n_empty;
};

static void check(const char *bytes, size_t len, size_t piece, struct counts wanted)
{
    struct bench_scan scan;
    uint64_t n = 0;
    bench_scan_init(&scan);
    for (size_t at = 0; at < len; at += piece) {
        size_t left = len - at < piece ? len - at : piece;
        char *copy = malloc(left); /* a block of its own: reading past it is seen */
        assert_non_null(copy);
        memcpy(copy, bytes + at, left);
        n += bench_scan_feed(&scan, copy, left);
        free(copy);
    }
    if (scan.is_bad || n != wanted.n_replies || scan.n_replies != wanted.n_replies ||
        scan.n_errors != wanted.n_errors || scan.n_nulls != wanted.n_nulls ||
        scan.n_empty != wanted.n_empty)
        fail_msg("pieces of %zu of %zu bytes: %d; %llu %llu %llu %llu", piece, len,
                 scan.is_bad, (unsigned long long)scan.n_replies,
                 (unsigned long long)scan.n_errors, (unsigned long long)scan.n_nulls,
                 (unsigned long long)scan.n_empty);
    assert_int_equal(scan.n_owed, 0);
}

static void check_text(const char *text, struct counts wanted)
{
    size_t len = strlen(text);
    for (size_t piece = 1; piece <= len; piece++)
        check(text, len, piece, wanted);
}

static void test_each_kind(void **state)
{
    (void)state;
    check_text("+OK\r\n:12\r\n$0\r\n\r\n$3\r\n\r\n$\r\n", (struct counts){4, 0, 0, 0});
    check_text("-ERR no\r\n*2\r\n-ERR a\r\n:1\r\n", (struct counts){2, 2, 0, 0});
    check_text("$-1\r\n*-1\r\n_\r\n*2\r\n$-1\r\n*0\r\n", (struct counts){4, 0, 4, 0});
    check_text("*0\r\n%0\r\n~0\r\n*1\r\n*0\r\n", (struct counts){4, 0, 0, 3});
    check_text("*2\r\n*2\r\n$1\r\na\r\n*2\r\n,1.5\r\n,2\r\n*1\r\n#t\r\n+a\r\n",
               (struct counts){2, 0, 0, 0});
    check_text("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n(123\r\n",
               (struct counts){2, 0, 0, 0});
    check_text("|1\r\n+ttl\r\n:3\r\n*1\r\n:9\r\n=7\r\ntxt:abc\r\n!3\r\nERR\r\n",
               (struct counts){3, 1, 0, 0});
}

static void test_first_error_is_kept(void **state)
{
    (void)state;
    struct bench_scan scan;
    char text[1024] = "-ERR first\r\n-";
    memset(text + strlen(text), 'x', 900);
    bench_scan_init(&scan);
    assert_int_equal(bench_scan_feed(&scan, text, strlen(text)), 1);
    assert_int_equal(bench_scan_feed(&scan, "\r\n+OK\r\n", 7), 2);
    assert_string_equal(scan.error, "ERR first");
    assert_int_equal(scan.n_errors, 2);
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"hello\r\n", "$a\r\n", "*1x\r\n", "$-2\r\n",
                                        "\r\n",      "$?\r\n", "!-1\r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct bench_scan scan;
        bench_scan_init(&scan);
        bench_scan_feed(&scan, texts[i], strlen(texts[i]));
        assert_true(scan.is_bad);
        assert_int_equal(bench_scan_feed(&scan, "+OK\r\n", 5), 0);
    }
}

/* A random value, and what it adds to the counts. */
static void put_value(struct yn_buf *out, int depth, bool is_top, struct counts *counts)
{
    char text[300];
    uint64_t kind = bench_random_below(&random_numbers, 10);
    size_t len = (size_t)bench_random_below(&random_numbers, kind == 0 ? 300 : 14);
    memset(text, "$*\r\n-"[kind % 5], sizeof text); /* payloads that look like headers */
    switch (kind) {
    case 7:
        yn_write_null(out, 2);
        counts->n_nulls++;
        break;
    case 8:
        yn_write_integer(out, -5);
        break;
    case 9:
        if (depth < 4) {
            size_t n = (size_t)bench_random_below(&random_numbers, 30);
            yn_write_array(out, n);
            counts->n_empty += n == 0 && is_top;
            for (size_t i = 0; i < n; i++)
                put_value(out, depth + 1, false, counts);
            break;
        }
        /* fallthrough */
    default:
        yn_write_bulk(out, (struct yn_bytes){text, len});
    }
}

static void test_random_replies(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct yn_buf out;
        struct counts counts = {0};
        yn_buf_init(&out);
        size_t n = 1 + (size_t)bench_random_below(&random_numbers, 30);
        for (; counts.n_replies < n; counts.n_replies++)
            put_value(&out, 0, true, &counts);
        assert_false(out.failed);
        check(out.data, out.len, out.len, counts);
        check(out.data, out.len, 1, counts);
        for (int i = 0; i < 5; i++)
            check(out.data, out.len,
                  1 + (size_t)bench_random_below(&random_numbers, out.len), counts);
        yn_buf_clear(&out);
    }
}

int main(void)
{
    const char *seed = getenv("YN_SEED");
    random_numbers.seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    printf("YN_SEED=%llu\n", (unsigned long long)random_numbers.seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_first_error_is_kept),
        cmocka_unit_test(test_nonsense_is_refused),
        cmocka_unit_test(test_random_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
