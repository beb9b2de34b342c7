/* link: server
 * The dictionary of keys: model runs against a plain array, growth and shrinking, SCAN
 * while it changes, expiry. */
#include "server/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SEED UINT64_C(0x5eed)
#define NOW 1000000

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static struct yn_bytes number_key(unsigned i, char text[16])
{
    return (struct yn_bytes){text, (size_t)snprintf(text, 16, "k%u", i)};
}

static void assert_sound(const struct keyspace *ks)
{
    const char *wrong = keyspace_check(ks);
    if (wrong != NULL)
        fail_msg("keyspace_check: %s", wrong);
}

static void put(struct keyspace *ks, struct yn_bytes key, const char *value)
{
    assert_true(keyspace_put_string(ks, key, text_bytes(value), HOST_EXPIRY_NONE, NOW));
}

static void assert_string(const struct keyspace *ks, const char *key, const char *value)
{
    struct host_value found = keyspace_find(ks, text_bytes(key), NOW);
    assert_int_equal(found.type, HOST_STRING);
    assert_int_equal(found.string.len, strlen(value));
    assert_memory_equal(found.string.data, value, strlen(value));
}

static void test_basics(void **state)
{
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    assert_int_equal(keyspace_find(ks, text_bytes("a"), NOW).type, HOST_NONE);
    assert_false(keyspace_remove(ks, text_bytes("a"), KEYSPACE_DELETED, NOW));
    assert_int_equal(keyspace_scan(ks, 0, 10, NOW, NULL, NULL), 0);
    put(ks, text_bytes("a"), "1");
    put(ks, text_bytes(""), "empty key");
    put(ks, text_bytes("a"), "2");
    assert_int_equal(keyspace_count(ks), 2);
    assert_string(ks, "a", "2");
    assert_string(ks, "", "empty key");
    assert_true(keyspace_remove(ks, text_bytes(""), KEYSPACE_DELETED, NOW));
    assert_int_equal(keyspace_count(ks), 1);
    assert_sound(ks);

    struct yn_zset *set = yn_zset_new(NULL);
    assert_true(keyspace_put_zset(ks, text_bytes("a"), set, HOST_EXPIRY_NONE, NOW));
    struct host_value found = keyspace_find(ks, text_bytes("a"), NOW);
    assert_int_equal(found.type, HOST_ZSET);
    assert_ptr_equal(found.zset, set);
    assert_true(keyspace_put_zset(ks, text_bytes("a"), set, HOST_EXPIRY_NONE,
                                  NOW)); /* itself: not freed */
    put(ks, text_bytes("a"), "3");
    assert_string(ks, "a", "3");
    keyspace_flush(ks, false);
    assert_int_equal(keyspace_count(ks), 0);
    put(ks, text_bytes("a"), "4");
    assert_sound(ks);
    keyspace_free(ks);
}

static void test_expiry(void **state)
{
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    struct yn_bytes a = text_bytes("a");
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), -2);
    assert_false(keyspace_set_expiry_ms(ks, a, NOW + 5, NOW));
    put(ks, a, "1");
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), -1);
    assert_true(keyspace_set_expiry_ms(ks, a, NOW + 5, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), NOW + 5);
    assert_true(keyspace_set_expiry_ms(ks, a, NOW + 50, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), NOW + 50);
    assert_string(ks, "a", "1");
    assert_sound(ks);

    /* a put keeps or drops it as asked */
    assert_true(keyspace_put_string(ks, a, text_bytes("2"), HOST_EXPIRY_KEEP, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), NOW + 50);
    assert_true(keyspace_put_string(ks, a, text_bytes("3"), HOST_EXPIRY_NONE, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), -1);
    assert_int_equal(keyspace_n_volatile(ks), 0);
    assert_true(keyspace_set_expiry_ms(ks, a, NOW + 50, NOW));
    assert_true(keyspace_set_expiry_ms(ks, a, -1, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), -1);

    /* at its time the key is gone for reads, which leave it where it is */
    assert_true(keyspace_set_expiry_ms(ks, a, NOW + 50, NOW));
    assert_int_equal(keyspace_find(ks, a, NOW + 49).type, HOST_STRING);
    assert_int_equal(keyspace_find(ks, a, NOW + 50).type, HOST_NONE);
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW + 50), -2);
    assert_int_equal(keyspace_count(ks), 1);
    assert_int_equal(keyspace_n_expired(ks), 0);
    /* writes remove it: nothing is left to remove or to give a new time */
    assert_false(keyspace_remove(ks, a, KEYSPACE_DELETED, NOW + 50));
    assert_int_equal(keyspace_count(ks), 0);
    assert_int_equal(keyspace_n_expired(ks), 1);
    put(ks, a, "4");
    assert_true(keyspace_set_expiry_ms(ks, a, NOW - 1, NOW)); /* past: expired at once */
    assert_int_equal(keyspace_find(ks, a, NOW).type, HOST_NONE);
    assert_true(keyspace_put_string(ks, a, text_bytes("5"), HOST_EXPIRY_KEEP, NOW));
    assert_int_equal(keyspace_expiry_ms(ks, a, NOW), -1); /* a new key: nothing to keep */
    assert_sound(ks);
    keyspace_free(ks);
}

static void test_expire_in_order(void **state)
{
    (void)state;
    enum { N = 20000 };
    struct keyspace *ks = keyspace_new(SEED);
    char text[16];
    for (unsigned i = 0; i < N; i++) {
        put(ks, number_key(i, text), "v");
        assert_true(
            keyspace_set_expiry_ms(ks, number_key(i, text), NOW + (i * 7919) % N, NOW));
    }
    put(ks, text_bytes("stays"), "v");
    assert_sound(ks);
    assert_int_equal(keyspace_expire(ks, N, NOW - 1), 0);
    assert_int_equal(keyspace_expire(ks, 10, NOW + 99), 10); /* bounded */
    assert_int_equal(keyspace_expire(ks, N, NOW + 99),
                     90); /* exactly those that are due */
    assert_int_equal(keyspace_n_volatile(ks), N - 100);
    assert_sound(ks);
    for (unsigned i = 0; i < N; i += 2) /* from the middle of the heap */
        keyspace_remove(ks, number_key(i, text), KEYSPACE_DELETED, NOW);
    assert_sound(ks);
    keyspace_expire(ks, N, NOW + N);
    assert_int_equal(keyspace_count(ks), 1);
    assert_int_equal(keyspace_n_volatile(ks), 0);
    assert_sound(ks);
    keyspace_free(ks);
}

/* ---- model ---- */

#define MODEL_KEYS 3000

struct model {
    int value[MODEL_KEYS]; /* -1: none */
    int64_t expiry[MODEL_KEYS];
};

static bool model_has(const struct model *model, unsigned i, int64_t now)
{
    return model->value[i] >= 0 && (model->expiry[i] == -1 || model->expiry[i] > now);
}

static void model_step(struct keyspace *ks, struct model *model, unsigned bias,
                       int64_t now)
{
    char text[16], value[16];
    unsigned i = (unsigned)rand() % MODEL_KEYS;
    struct yn_bytes key = number_key(i, text);
    bool has = model_has(model, i, now);
    unsigned op = (unsigned)rand() % 100;
    if (op < bias) {
        bool keep = rand() % 2 == 0;
        int n = rand() % 1000;
        snprintf(value, sizeof value, "%d", n);
        assert_true(keyspace_put_string(ks, key, text_bytes(value),
                                        keep ? HOST_EXPIRY_KEEP : HOST_EXPIRY_NONE, now));
        if (!has || !keep)
            model->expiry[i] = -1;
        model->value[i] = n;
    } else if (op < 85) {
        assert_int_equal(keyspace_remove(ks, key, KEYSPACE_DELETED, now), has);
        model->value[i] = -1;
    } else if (op < 95) {
        int64_t at = rand() % 4 == 0 ? -1 : now + rand() % 200 - 20;
        assert_int_equal(keyspace_set_expiry_ms(ks, key, at, now), has);
        if (has)
            model->expiry[i] = at;
    } else {
        keyspace_expire(ks, (size_t)rand() % 50, now);
    }
}

static void model_compare(const struct keyspace *ks, const struct model *model,
                          int64_t now)
{
    char text[16], value[16];
    assert_sound(ks);
    for (unsigned i = 0; i < MODEL_KEYS; i++) {
        struct yn_bytes key = number_key(i, text);
        struct host_value found = keyspace_find(ks, key, now);
        bool has = model_has(model, i, now);
        assert_int_equal(found.type, has ? HOST_STRING : HOST_NONE);
        assert_int_equal(keyspace_expiry_ms(ks, key, now), has ? model->expiry[i] : -2);
        if (!has)
            continue;
        snprintf(value, sizeof value, "%d", model->value[i]);
        assert_int_equal(found.string.len, strlen(value));
        assert_memory_equal(found.string.data, value, strlen(value));
    }
}

static void test_model(void **state)
{
    (void)state;
    static struct model model;
    struct keyspace *ks = keyspace_new((uint64_t)rand() + 1);
    for (unsigned i = 0; i < MODEL_KEYS; i++)
        model.value[i] = -1;
    int64_t now = NOW;
    /* it grows, shrinks, and grows again */
    for (int phase = 0; phase < 6; phase++) {
        for (int step = 0; step < 20000; step++) {
            now += rand() % 20 == 0;
            model_step(ks, &model, phase % 2 == 0 ? 70 : 15, now);
        }
        model_compare(ks, &model, now);
    }
    keyspace_free(ks);
}

/* ---- scan ---- */

#define SCAN_KEYS 5000

static void count_key(void *ctx, struct yn_bytes key, enum host_type type)
{
    unsigned *seen = ctx;
    assert_int_equal(type, HOST_STRING);
    if (key.len > 1 && key.data[0] == 'k')
        seen[strtoul(key.data + 1, NULL, 10)]++; /* a zero byte follows: see below */
}

static void count_one(void *ctx, struct yn_bytes key, enum host_type type)
{
    (void)key;
    (void)type;
    *(size_t *)ctx += 1;
}

static void test_scan_while_it_changes(void **state)
{
    (void)state;
    static unsigned seen[SCAN_KEYS];
    char text[16], other[24];
    struct keyspace *ks = keyspace_new((uint64_t)rand() + 1);
    memset(seen, 0, sizeof seen);
    /* A zero byte ends each key, so that the visitor can read it as a number. */
    for (unsigned i = 0; i < SCAN_KEYS; i++) {
        struct yn_bytes key = number_key(i, text);
        key.len++;
        put(ks, key, "v");
    }
    unsigned n_added = 0;
    uint64_t cursor = 0;
    int calls = 0;
    do {
        cursor = keyspace_scan(ks, cursor, 10, NOW, count_key, seen);
        assert_true(cursor < (UINT64_C(1) << 48));
        calls++;
        /* grow by much in the first half, shrink in the second */
        for (int i = 0; i < 100; i++) {
            if (calls < 150) {
                snprintf(other, sizeof other, "x%u", n_added++);
                put(ks, text_bytes(other), "v");
            } else if (n_added > 0) {
                snprintf(other, sizeof other, "x%u", --n_added);
                assert_true(
                    keyspace_remove(ks, text_bytes(other), KEYSPACE_DELETED, NOW));
            }
        }
    } while (cursor != 0);
    assert_sound(ks);
    for (unsigned i = 0; i < SCAN_KEYS; i++)
        assert_int_equal(seen[i], 1);
    keyspace_free(ks);
}

static void test_scan_of_emptied(void **state)
{
    (void)state;
    enum { N = 50000 };
    char text[16];
    struct keyspace *ks = keyspace_new(SEED);
    for (unsigned i = 0; i < N; i++)
        put(ks, number_key(i, text), "v");
    for (unsigned i = 1; i < N; i++)
        assert_true(keyspace_remove(ks, number_key(i, text), KEYSPACE_DELETED, NOW));
    assert_sound(ks);
    size_t n = 0, calls = 0;
    uint64_t cursor = 0;
    do {
        cursor = keyspace_scan(ks, cursor, 10, NOW, count_one, &n);
        calls++;
    } while (cursor != 0);
    assert_int_equal(n, 1);
    assert_true(calls < 100); /* emptied segments have merged */
    /* any number is a valid cursor */
    for (int i = 0; i < 1000; i++) {
        uint64_t odd = (uint64_t)rand() << 33 ^ (uint64_t)rand();
        keyspace_scan(ks, odd, 10, NOW, count_one, &n);
    }
    keyspace_free(ks);
}

static void test_flush_in_steps(void **state)
{
    (void)state;
    enum { N = 30000 };
    char text[16];
    struct keyspace *ks = keyspace_new(SEED);
    for (int round = 0; round < 3; round++) {
        for (unsigned i = 0; i < N; i++) {
            put(ks, number_key(i, text), "v");
            if (i % 3 == 0)
                keyspace_set_expiry_ms(ks, number_key(i, text), NOW + i, NOW);
        }
        keyspace_flush(ks, false);
        assert_int_equal(keyspace_count(ks), 0);
        assert_int_equal(keyspace_n_volatile(ks), 0);
        assert_int_equal(keyspace_find(ks, text_bytes("k7"), NOW).type, HOST_NONE);
        put(ks, text_bytes("k7"), "new"); /* while the old ones are still being freed */
        assert_false(keyspace_collect(ks));
        assert_string(ks, "k7", "new");
        assert_sound(ks);
    }
    int calls = 0;
    while (!keyspace_collect(ks))
        calls++;
    assert_true(calls > 3);
    assert_true(keyspace_collect(ks));
    assert_string(ks, "k7", "new");
    assert_int_equal(keyspace_n_garbage(ks), 0);
    assert_true(keyspace_n_collected(ks) >= 3 * N);
    keyspace_flush(ks, true);
    put(ks, text_bytes("k8"), "at once");
    keyspace_flush(ks, true);
    assert_true(keyspace_collect(ks));
    assert_int_equal(keyspace_count(ks), 0);
    keyspace_free(ks);
}

/* Growing never stops for long: the slowest of a million puts, less what the machine does
 * to us, is far below what rehashing everything would take. */
static void test_no_long_stop(void **state)
{
    (void)state;
    enum { N = 300000 };
    char text[16];
    struct keyspace *ks = keyspace_new(SEED);
    double slowest_ms = 0;
    for (unsigned i = 0; i < N; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
        put(ks, number_key(i, text), "v");
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
        double ms =
            (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
        slowest_ms = ms > slowest_ms ? ms : slowest_ms;
    }
    assert_int_equal(keyspace_count(ks), N);
    if (slowest_ms > 50)
        fail_msg("the slowest put took %.3f ms", slowest_ms);
    keyspace_free(ks);
}

int main(void)
{
    const char *seed_text = getenv("YN_SEED");
    unsigned seed =
        seed_text != NULL ? (unsigned)strtoul(seed_text, NULL, 10) : (unsigned)time(NULL);
    printf("YN_SEED=%u\n", seed);
    srand(seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basics),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_expire_in_order),
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_scan_while_it_changes),
        cmocka_unit_test(test_scan_of_emptied),
        cmocka_unit_test(test_no_long_stop),
        cmocka_unit_test(test_flush_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
