/* The argument cursor, and the arena that commands take memory from. */
#include "cmd/cmd_args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void start(struct cmd_args *args, struct cmd_arena *arena,
                  const struct yn_bytes *argv, size_t argc, size_t at)
{
    struct cmd_call call = {.arena = arena, .argc = argc, .argv = argv};
    cmd_args_init(args, &call, at);
}

static void expect_error(const struct cmd_args *args, const char *text)
{
    assert_true(cmd_args_failed(args));
    assert_int_equal(args->error.len, strlen(text));
    assert_memory_equal(args->error.data, text, args->error.len);
    assert_int_equal(cmd_args_left(args), 0);
}

static void test_words(void **state)
{
    const struct yn_bytes argv[] = {
        {"cmd", 3}, {"CoUnT", 5}, {"12", 2}, {"x", 1}, {NULL, 0}};
    struct cmd_args args;
    struct yn_bytes word;
    int64_t count;
    start(&args, *state, argv, 5, 1);
    assert_int_equal(cmd_args_left(&args), 4);
    assert_false(cmd_args_option(&args, "coun", 0));
    assert_false(cmd_args_option(&args, "counts", 0));
    assert_false(cmd_args_option(&args, "count", 4)); /* three words follow */
    assert_true(cmd_args_option(&args, "count", 3));
    assert_true(cmd_args_int64(&args, "no", &count));
    assert_int_equal(count, 12);
    assert_true(cmd_args_word(&args, &word));
    assert_true(cmd_word_is(word, "X"));
    assert_true(cmd_args_option(&args, "", 0));
    assert_false(cmd_args_option(&args, "", 0));
    assert_false(cmd_args_word(&args, &word));
    expect_error(&args, "ERR syntax error");
    start(&args, *state, argv, 5, 9);
    assert_int_equal(cmd_args_left(&args), 0);
}

static bool is_same_letter(unsigned char a, unsigned char b)
{
    return a == b || ((a | 0x20) == (b | 0x20) && (a | 0x20) >= 'a' && (a | 0x20) <= 'z');
}

/* Every pair of bytes at every place of words of every length up to nine. */
static void test_letters(void **state)
{
    (void)state;
    for (size_t len = 1; len <= 9; len++)
        for (size_t at = 0; at < len; at++)
            for (unsigned pair = 0; pair < 0x10000; pair++) {
                char a[] = "gEo_rd|1z", b[] = "GeO_Rd|1Z";
                a[at] = (char)(pair & 0xff);
                b[at] = (char)(pair >> 8);
                assert_int_equal(
                    cmd_letters_are(a, b, len),
                    is_same_letter((unsigned char)a[at], (unsigned char)b[at]));
            }
    assert_true(cmd_letters_are("", "", 0));
}

/* The first failure stays, and ends everything. */
static void test_failure(void **state)
{
    const struct yn_bytes argv[] = {{"cmd", 3}, {"1.5", 3}, {"nan", 3}, {"7", 1}};
    struct cmd_args args;
    double number;
    int64_t integer;
    start(&args, *state, argv, 4, 1);
    assert_true(cmd_args_double(&args, "one", &number));
    assert_true(number == 1.5);
    assert_false(cmd_args_double(&args, "two", &number));
    expect_error(&args, "two");
    assert_false(cmd_args_int64(&args, "three", &integer));
    assert_false(cmd_args_option(&args, "7", 0));
    assert_false(cmd_args_fail(&args, "four"));
    assert_false(cmd_args_fail_format(&args, "five"));
    expect_error(&args, "two");
}

static void test_format(void **state)
{
    const struct yn_bytes argv[] = {{"cmd", 3}};
    struct cmd_args args;
    char wide[600], expected[700];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    start(&args, *state, argv, 1, 1);
    assert_false(cmd_args_fail_format(&args, "%s %f", wide, 1.5));
    snprintf(expected, sizeof expected, "%s 1.500000", wide);
    expect_error(&args, expected);
}

static void test_arena(void **state)
{
    struct cmd_arena *arena = *state;
    for (int round = 0; round < 3; round++) {
        char *pieces[200];
        for (size_t i = 0; i < 200; i++) {
            pieces[i] = cmd_arena_take(arena, i * 7);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)i, i * 7);
        }
        for (size_t i = 0; i < 200; i++)
            for (size_t j = 0; j < i * 7; j++)
                assert_int_equal((unsigned char)pieces[i][j], i);
        char *large = cmd_arena_take(arena, 1 << 20);
        assert_non_null(large);
        memset(large, 1, 1 << 20);
        cmd_arena_reset(arena);
    }
    assert_null(cmd_arena_take(arena, SIZE_MAX));
    assert_null(cmd_arena_take(arena, SIZE_MAX - 8));
    cmd_arena_free(NULL);
}

static int setup(void **state)
{
    *state = cmd_arena_new();
    return *state == NULL;
}

static int teardown(void **state)
{
    cmd_arena_free(*state);
    return 0;
}

static void test_long_double(void **state)
{
    (void)state;
    static const char *const bad[] = {"",        " 1",  "1 ",     "\t1", "x",
                                      "1x",      "nan", "1e5000", "-",   "-1e5000",
                                      "1e-5000", "0x",  "1,5"};
    long double value;
    char digits[6000];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(cmd_word_parse_long_double((struct yn_bytes){bad[i], strlen(bad[i])},
                                                &value));
    assert_false(cmd_word_parse_long_double((struct yn_bytes){"1\0", 2}, &value));
    assert_false(cmd_word_parse_long_double((struct yn_bytes){"\0", 1}, &value));
    assert_true(cmd_word_parse_long_double((struct yn_bytes){"-1.25", 5}, &value));
    assert_true(value == -1.25L);
    assert_true(cmd_word_parse_long_double((struct yn_bytes){"0x1p3", 5}, &value));
    assert_true(value == 8);
    assert_true(cmd_word_parse_long_double((struct yn_bytes){"-inf", 4}, &value));
    assert_true(value < 0);
    memset(digits, '0', sizeof digits);
    assert_true(cmd_word_parse_long_double((struct yn_bytes){digits, 5119}, &value));
    assert_false(cmd_word_parse_long_double((struct yn_bytes){digits, 5120}, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_words, setup, teardown),
        cmocka_unit_test(test_letters),
        cmocka_unit_test_setup_teardown(test_failure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_format, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena, setup, teardown),
        cmocka_unit_test(test_long_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
