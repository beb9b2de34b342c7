/*
 * test_bench_json.c: documents, whole and broken.
 * link: tools
 */
#include "tools/bench_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char document[] =
    " {\"a\": [1, -2.5e1, true, false, null, \"x\\n\\\"\\\\\\u0041\\u00e9\"],\n"
    "\t\"b\": {\"c\": {}, \"d\": []}, \"\": \"\"} \r\n";

/* Parses a copy that ends where the text does, so that reading on is seen. */
static struct bench_json *parse(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    char *exact = realloc(copy, len > 0 ? len : 1);
    memcpy(exact, text, len);
    struct bench_json *json = bench_json_parse(exact, len);
    free(exact);
    return json;
}

static void test_document(void **state)
{
    (void)state;
    struct bench_json *json = parse(document, strlen(document));
    assert_non_null(json);
    const struct bench_json *a = bench_json_find(json, "a");
    assert_int_equal(json->n_items, 3);
    assert_int_equal(a->n_items, 6);
    assert_true(a->items[0].number == 1 && a->items[1].number == -25);
    assert_true(a->items[2].type == BENCH_JSON_BOOL && a->items[2].number == 1);
    assert_true(a->items[3].type == BENCH_JSON_BOOL && a->items[3].number == 0);
    assert_int_equal(a->items[4].type, BENCH_JSON_NULL);
    assert_string_equal(a->items[5].text, "x\n\"\\A?");
    const struct bench_json *b = bench_json_find(json, "b");
    assert_int_equal(bench_json_find(b, "c")->type, BENCH_JSON_OBJECT);
    assert_int_equal(bench_json_find(b, "d")->type, BENCH_JSON_ARRAY);
    assert_null(bench_json_find(b, "e"));
    assert_null(bench_json_find(a, "e"));
    assert_null(bench_json_find(NULL, "e"));
    assert_string_equal(bench_json_text(json, ""), "");
    assert_string_equal(bench_json_text(b, "c"), "");
    assert_true(bench_json_number(json, "b") == 0);
    bench_json_free(json);
}

static void test_every_beginning_is_refused(void **state)
{
    (void)state;
    size_t len = strlen(document) - 3; /* less the blanks at the end */
    for (size_t i = 0; i < len; i++)
        assert_null(parse(document, i));
}

static void test_broken_documents(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",    "{",       "[1,]",      "[1 2]",       "{1: 2}",      "tru",
        "nul", "\"\\x\"", "\"\\u12\"", "\"\n\"",      "{\"a\" 1}",   "1 2",
        "[1}", "--1",     "{\"a\":}",  "\"\\u00g0\"", "\"\\u+012\"", "e"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (parse(texts[i], strlen(texts[i])) != NULL)
            fail_msg("accepted: %s", texts[i]);
    }
    char deep[100];
    memset(deep, '[', sizeof deep);
    assert_null(parse(deep, sizeof deep));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document),
        cmocka_unit_test(test_every_beginning_is_refused),
        cmocka_unit_test(test_broken_documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
