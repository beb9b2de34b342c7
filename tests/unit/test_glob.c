/* Patterns of KEYS and SCAN. */
#include "cmd/glob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
    return glob_matches((struct yn_bytes){pattern, strlen(pattern)},
                        (struct yn_bytes){text, strlen(text)});
}

static void test_cases(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool expected;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"a", "", false},
        {"*", "", true},
        {"*", "anything", true},
        {"**", "a", true},
        {"***a", "bca", true},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"*b", "abc", false},
        {"a*c*e", "abcde", true},
        {"a*c*e", "abcdf", false},
        {"*ab", "aab", true},
        {"?", "", false},
        {"?", "a", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"*?", "", false},
        {"?*", "a", true},
        {"[abc]", "b", true},
        {"[abc]", "d", false},
        {"[a-c]x", "bx", true},
        {"[c-a]x", "bx", true},
        {"[^a]", "a", false},
        {"[^a]", "b", true},
        {"[^]", "b", true},
        {"[]", "b", false},
        {"[a\\]b]", "]", true},
        {"[a\\-c]", "-", true},
        {"[a\\-c]", "b", false},
        {"[a-]", "_", true}, /* the bracket ends the range: ] to a */
        {"[a-]", "-", false},
        {"[ab", "b", true},
        {"[ab", "c", false},
        {"[", "[", false},
        {"[a-", "-", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\a", "a", true},
        {"a\\", "a\\", true},
        {"*[0-9]", "key7", true},
        {"*[0-9]", "key", false},
        {"A", "a", false},
        {"h[ae]llo*", "hallo world", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (matches(cases[i].pattern, cases[i].text) != cases[i].expected)
            fail_msg("\"%s\" on \"%s\" should be %d", cases[i].pattern, cases[i].text,
                     cases[i].expected);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    struct yn_bytes text = {"a\0b\xff", 4};
    assert_true(glob_matches((struct yn_bytes){"a?b?", 4}, text));
    assert_true(glob_matches((struct yn_bytes){"a\0b[\x80-\xff]", 8}, text));
    assert_false(glob_matches((struct yn_bytes){"a", 1}, text));
    assert_true(glob_matches((struct yn_bytes){NULL, 0}, (struct yn_bytes){NULL, 0}));
}

static void test_nocase(void **state)
{
    (void)state;
    assert_true(glob_matches_nocase((struct yn_bytes){"GEO*", 4},
                                    (struct yn_bytes){"geoadd", 6}));
    assert_true(
        glob_matches_nocase((struct yn_bytes){"[A-C]x", 6}, (struct yn_bytes){"bX", 2}));
    assert_false(
        glob_matches((struct yn_bytes){"GEO*", 4}, (struct yn_bytes){"geoadd", 6}));
}

/* Thirty stars over a long text: the recursive way would not come back. */
static void test_many_stars(void **state)
{
    (void)state;
    char pattern[64], text[4096];
    for (size_t i = 0; i < 60; i += 2)
        memcpy(pattern + i, "a*", 2);
    pattern[60] = 'b';
    memset(text, 'a', sizeof text);
    assert_false(glob_matches((struct yn_bytes){pattern, 61},
                              (struct yn_bytes){text, sizeof text}));
    text[sizeof text - 1] = 'b';
    assert_true(glob_matches((struct yn_bytes){pattern, 61},
                             (struct yn_bytes){text, sizeof text}));
}

/* The plain recursive definition, for short inputs without sets. */
static bool matches_slowly(const char *p, const char *t)
{
    if (*p == '\0')
        return *t == '\0';
    if (*p == '*')
        return matches_slowly(p + 1, t) || (*t != '\0' && matches_slowly(p, t + 1));
    return *t != '\0' && (*p == '?' || *p == *t) && matches_slowly(p + 1, t + 1);
}

static void test_against_definition(void **state)
{
    (void)state;
    const char *given = getenv("YN_SEED");
    unsigned long seed = given != NULL ? strtoul(given, NULL, 10) : 1;
    print_message("YN_SEED=%lu\n", seed);
    srand48((long)seed);
    for (int i = 0; i < 200000; i++) {
        char pattern[9] = {0}, text[11] = {0};
        long pattern_len = lrand48() % 9, text_len = lrand48() % 11;
        for (long j = 0; j < pattern_len; j++)
            pattern[j] = "ab*?*"[lrand48() % 5];
        for (long j = 0; j < text_len; j++)
            text[j] = "ab"[lrand48() % 2];
        if (matches(pattern, text) != matches_slowly(pattern, text))
            fail_msg("\"%s\" on \"%s\"", pattern, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_nocase),
        cmocka_unit_test(test_many_stars),
        cmocka_unit_test(test_against_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
