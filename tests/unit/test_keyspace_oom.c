/* link: server --wrap=malloc --wrap=realloc --wrap=calloc
 * Strings of the keyspace when memory runs out: all or nothing. And strings that grow in
 * place: a model run, what it costs, values that replies hold. */
#include "server/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "server/blob.h"

#define SEED UINT64_C(0x5eed)
#define NOW 1000000

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static void assert_sound(const struct keyspace *ks)
{
    const char *wrong = keyspace_check(ks);
    if (wrong != NULL)
        fail_msg("keyspace_check: %s", wrong);
}

static void assert_string(const struct keyspace *ks, const char *key, const char *value)
{
    struct host_value found = keyspace_find(ks, text_bytes(key), NOW);
    assert_int_equal(found.type, HOST_STRING);
    assert_int_equal(found.string.len, strlen(value));
    assert_memory_equal(found.string.data, value, strlen(value));
}

/* A database with two keys, the second one with an expiry. */
static struct keyspace *make_keyspace(void)
{
    struct keyspace *ks = keyspace_new(SEED);
    assert_non_null(ks);
    assert_true(keyspace_put_string(ks, text_bytes("a"), text_bytes("old"),
                                    HOST_EXPIRY_NONE, NOW));
    assert_true(
        keyspace_put_string(ks, text_bytes("b"), text_bytes("old"), NOW + 50, NOW));
    return ks;
}

/* Runs `change` with the 1st, 2nd, 3rd ... allocation failing until it succeeds. When it
 * fails nothing may have changed. Returns how often it did. */
static size_t sweep(bool (*change)(struct keyspace *ks))
{
    for (size_t fail_at = 1;; fail_at++) {
        assert_true(fail_at < 100);
        struct keyspace *ks = make_keyspace();
        allocs_reset(fail_at, true);
        bool is_done = change(ks);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        assert_sound(ks);
        if (!is_done) {
            assert_true(has_failed);
            assert_int_equal(keyspace_count(ks), 2);
            assert_string(ks, "a", "old");
            assert_string(ks, "b", "old");
            assert_int_equal(keyspace_expiry_ms(ks, text_bytes("a"), NOW), -1);
            assert_int_equal(keyspace_expiry_ms(ks, text_bytes("b"), NOW), NOW + 50);
        }
        keyspace_free(ks);
        if (!has_failed)
            return fail_at - 1;
    }
}

static bool put_many(struct keyspace *ks)
{
    const struct yn_bytes pairs[] = {
        text_bytes("a"), text_bytes("1"), text_bytes("new"), text_bytes("2"),
        text_bytes("b"), text_bytes("3"), text_bytes("new"), text_bytes("4"),
    };
    if (!keyspace_put_strings(ks, 4, pairs, NOW))
        return false;
    assert_int_equal(keyspace_count(ks), 3);
    assert_string(ks, "a", "1");
    assert_string(ks, "b", "3");
    assert_string(ks, "new", "4");
    assert_int_equal(keyspace_expiry_ms(ks, text_bytes("b"), NOW), -1);
    return true;
}

static bool put_with_expiry(struct keyspace *ks)
{
    return keyspace_put_string(ks, text_bytes("a"), text_bytes("new"), NOW + 9, NOW);
}

static bool put_new_with_expiry(struct keyspace *ks)
{
    return keyspace_put_string(ks, text_bytes("c"), text_bytes("new"), NOW + 9, NOW);
}

static bool put_without_expiry(struct keyspace *ks)
{
    bool is_put = keyspace_put_string(ks, text_bytes("b"), text_bytes("new"),
                                      HOST_EXPIRY_NONE, NOW);
    assert_int_equal(keyspace_expiry_ms(ks, text_bytes("b"), NOW),
                     is_put ? -1 : NOW + 50);
    return is_put;
}

static bool edit_old(struct keyspace *ks)
{
    char *bytes = keyspace_edit_string(ks, text_bytes("b"), 5, NOW);
    if (bytes == NULL)
        return false;
    memcpy(bytes + 3, "er", 2);
    assert_string(ks, "b", "older");
    return true;
}

static bool edit_to_large(struct keyspace *ks)
{
    char *bytes = keyspace_edit_string(ks, text_bytes("a"), BLOB_LEN_MIN, NOW);
    if (bytes == NULL)
        return false;
    assert_memory_equal(bytes, "old", 3);
    return true;
}

static bool edit_new(struct keyspace *ks)
{
    return keyspace_edit_string(ks, text_bytes("c"), 5, NOW) != NULL;
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    assert_true(sweep(put_many) >= 6);
    assert_true(sweep(put_with_expiry) >= 2);
    assert_true(sweep(put_new_with_expiry) >= 3);
    assert_true(sweep(put_without_expiry) >= 1);
    assert_true(sweep(edit_old) >= 1);
    assert_true(sweep(edit_to_large) >= 1);
    assert_true(sweep(edit_new) >= 2);
}

/* An expired key is none: a new value has no part of the old one. */
static void test_edit_of_expired(void **state)
{
    (void)state;
    struct keyspace *ks = make_keyspace();
    assert_non_null(keyspace_edit_string(ks, text_bytes("b"), 0, NOW + 50));
    assert_int_equal(keyspace_find(ks, text_bytes("b"), NOW + 50).string.len, 0);
    assert_int_equal(keyspace_expiry_ms(ks, text_bytes("b"), NOW + 50), -1);
    assert_sound(ks);
    keyspace_free(ks);
}

/* ---- growing ---- */

#define MODEL_LEN ((size_t)300 * 1024)

static void test_edit_model(void **state)
{
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    char *model = malloc(MODEL_LEN);
    assert_non_null(model);
    size_t len = 0;
    struct yn_bytes key = text_bytes("k");
    for (int step = 0; step < 4000; step++) {
        struct host_blob *held = NULL;
        struct host_value value = keyspace_find(ks, key, NOW);
        char first = len > 0 ? model[0] : 0;
        size_t at = len > 0 ? (size_t)rand() % len : 0;
        if (rand() % 2 == 0)
            at = len;
        size_t n = (size_t)rand() % (rand() % 20 == 0 ? 40000 : 300) + 1;
        if (at + n > MODEL_LEN)
            break;
        if (value.blob != NULL && rand() % 8 == 0) {
            held = value.blob;
            host_blob_hold(held);
        }
        char *bytes = keyspace_edit_string(ks, key, at + n, NOW);
        assert_non_null(bytes);
        assert_memory_equal(bytes, model, len);
        memset(bytes + at, step & 0xff, n);
        memset(model + at, step & 0xff, n);
        if (held != NULL) {
            assert_int_equal(held->bytes.len, len); /* as it was */
            assert_int_equal(held->bytes.data[0], first);
            host_blob_drop(held);
        }
        len = at + n > len ? at + n : len;
        value = keyspace_find(ks, key, NOW);
        assert_int_equal(value.string.len, len);
        assert_memory_equal(value.string.data, model, len);
    }
    free(model);
    keyspace_free(ks);
}

/* A value built from small pieces is moved seldom. */
static void test_growth_is_linear(void **state)
{
    enum { PIECE = 1024, LEN = 32 * 1024 * 1024 };
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    struct yn_bytes key = text_bytes("k");
    assert_non_null(keyspace_edit_string(ks, key, BLOB_LEN_MIN, NOW));
    allocs_reset(0, false);
    for (size_t len = BLOB_LEN_MIN; len < LEN; len += PIECE)
        assert_non_null(keyspace_edit_string(ks, key, len + PIECE, NOW));
    assert_true(allocs.n_bytes < (size_t)8 * LEN);
    assert_true(allocs.n_calls < 100);
    keyspace_free(ks);
}

/* The block that a value came in has its bytes somewhere inside, and room behind them. */
static void test_edit_of_a_taken_block(void **state)
{
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    size_t head = 30, len = BLOB_LEN_MIN, cap = head + len + 20;
    char *block = malloc(cap);
    assert_non_null(block);
    memset(block, 'h', cap);
    memset(block + head, 'v', len);
    struct host_blob *blob =
        blob_new_taking(block, cap, (struct yn_bytes){block + head, len});
    assert_non_null(blob);
    struct yn_bytes key = text_bytes("k");
    assert_true(keyspace_put_blob(ks, key, blob, HOST_EXPIRY_NONE, NOW));
    char *bytes = keyspace_edit_string(ks, key, len + 20, NOW);
    assert_ptr_equal(bytes, block + head); /* in place */
    memset(bytes + len, 'w', 20);
    bytes = keyspace_edit_string(ks, key, len + 21, NOW);
    bytes[len + 20] = 'x';
    struct host_value value = keyspace_find(ks, key, NOW);
    assert_int_equal(value.string.len, len + 21);
    assert_int_equal(value.string.data[0], 'v');
    assert_int_equal(value.string.data[len - 1], 'v');
    assert_int_equal(value.string.data[len], 'w');
    assert_int_equal(value.string.data[len + 20], 'x');
    keyspace_free(ks);
    blob_trim(true);
}

int main(void)
{
    const char *seed_text = getenv("YN_SEED");
    unsigned seed =
        seed_text != NULL ? (unsigned)strtoul(seed_text, NULL, 10) : (unsigned)time(NULL);
    printf("YN_SEED=%u\n", seed);
    srand(seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_edit_of_expired),
        cmocka_unit_test(test_edit_model),
        cmocka_unit_test(test_growth_is_linear),
        cmocka_unit_test(test_edit_of_a_taken_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
