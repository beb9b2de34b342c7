/* link: server --wrap=malloc --wrap=realloc --wrap=calloc
 * Keys that move and are copied between databases: model runs against plain arrays,
 * memory that runs out, and what the owner of a keyspace is told. Random keys. */
#include "server/keyspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fail_alloc.h"

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
    assert_true(keyspace_put_string(ks, key, text_bytes(value), -1, NOW));
}

static struct yn_zset *set_of(const char *member)
{
    struct yn_zset *set = yn_zset_new(NULL);
    assert_non_null(set);
    assert_int_equal(yn_zset_put(set, text_bytes(member), 1, NULL), YN_OK);
    return set;
}

/* ---- model ---- */

#define MODEL_KEYS 600

struct slot {
    int value; /* -1: none; odd ones are strings, even ones sets of that one member */
    int64_t at_ms;
};

struct model {
    struct keyspace *ks[2];
    struct slot slot[2][MODEL_KEYS];
    size_t n_dropped; /* sets that the owner was given */
    size_t n_expired;
};

static void model_drop(void *ctx, struct yn_zset *set, enum keyspace_drop why)
{
    (void)why;
    ((struct model *)ctx)->n_dropped++;
    yn_zset_free(set);
}

static void model_expired(void *ctx, size_t number, struct yn_bytes key)
{
    struct model *model = ctx;
    assert_true(number < 2);
    assert_int_equal(key.data[0], 'k');
    model->n_expired++;
}

static bool has(const struct slot *slot, int64_t now)
{
    return slot->value >= 0 && (slot->at_ms == -1 || slot->at_ms > now);
}

static void model_put(struct model *model, unsigned db, unsigned i, int64_t now)
{
    char text[16], value[16];
    int n = rand() % 1000;
    snprintf(value, sizeof value, "%d", n);
    struct yn_bytes key = number_key(i, text);
    if (n % 2 == 0)
        assert_true(keyspace_put_zset(model->ks[db], key, set_of(value), -1, now));
    else
        assert_true(keyspace_put_string(model->ks[db], key, text_bytes(value), -1, now));
    model->slot[db][i] = (struct slot){n, -1};
}

static void model_transfer(struct model *model, bool copies, int64_t now)
{
    char from_text[16], to_text[16], value[16];
    unsigned db = (unsigned)rand() % 2, to_db = (unsigned)rand() % 2;
    unsigned i = (unsigned)rand() % MODEL_KEYS, k = (unsigned)rand() % MODEL_KEYS;
    struct yn_bytes from = number_key(i, from_text), to = number_key(k, to_text);
    struct slot *slot = &model->slot[db][i];
    bool is_there = has(slot, now);
    if (copies) {
        if (db == to_db && i == k)
            return;
        snprintf(value, sizeof value, "%d", slot->value);
        bool is_set = is_there && slot->value % 2 == 0;
        struct yn_zset *set = is_set ? set_of(value) : NULL;
        bool is_done = keyspace_copy(model->ks[db], from, model->ks[to_db], to, set, now);
        assert_int_equal(is_done, is_there);
    } else {
        assert_int_equal(keyspace_move(model->ks[db], from, model->ks[to_db], to, now),
                         is_there);
    }
    if (!is_there || (db == to_db && i == k))
        return;
    model->slot[to_db][k] = *slot;
    if (!copies)
        slot->value = -1;
}

static void model_step(struct model *model, int64_t now)
{
    char text[16];
    unsigned db = (unsigned)rand() % 2, i = (unsigned)rand() % MODEL_KEYS;
    struct slot *slot = &model->slot[db][i];
    unsigned op = (unsigned)rand() % 100;
    if (op < 25) {
        model_put(model, db, i, now);
    } else if (op < 40) {
        int64_t at = rand() % 4 == 0 ? -1 : now + rand() % 300 - 10;
        bool is_set = keyspace_set_expiry_ms(model->ks[db], number_key(i, text), at, now);
        assert_int_equal(is_set, has(slot, now));
        if (is_set)
            slot->at_ms = at;
    } else if (op < 90) {
        model_transfer(model, op < 60, now);
    } else if (op < 95) {
        keyspace_remove(model->ks[db], number_key(i, text), KEYSPACE_UNLINKED, now);
        slot->value = -1;
    } else {
        keyspace_expire(model->ks[db], (size_t)rand() % 20, now);
    }
}

static void model_compare(struct model *model, int64_t now)
{
    char text[16], value[16];
    for (unsigned db = 0; db < 2; db++) {
        assert_sound(model->ks[db]);
        for (unsigned i = 0; i < MODEL_KEYS; i++) {
            const struct slot *slot = &model->slot[db][i];
            struct yn_bytes key = number_key(i, text);
            struct host_value found = keyspace_find(model->ks[db], key, now);
            if (!has(slot, now)) {
                assert_int_equal(found.type, HOST_NONE);
                continue;
            }
            assert_int_equal(keyspace_expiry_ms(model->ks[db], key, now), slot->at_ms);
            snprintf(value, sizeof value, "%d", slot->value);
            if (slot->value % 2 == 0) {
                double score;
                assert_int_equal(found.type, HOST_ZSET);
                assert_true(yn_zset_find(found.zset, text_bytes(value), &score));
            } else {
                assert_int_equal(found.type, HOST_STRING);
                assert_int_equal(found.string.len, strlen(value));
                assert_memory_equal(found.string.data, value, found.string.len);
            }
        }
    }
}

static void test_model(void **state)
{
    (void)state;
    static struct model model;
    struct keyspace_hooks hooks = {
        .ctx = &model, .expired = model_expired, .drop_zset = model_drop};
    for (unsigned db = 0; db < 2; db++) {
        model.ks[db] = keyspace_new(SEED);
        keyspace_set_hooks(model.ks[db], &hooks, db);
        for (unsigned i = 0; i < MODEL_KEYS; i++)
            model.slot[db][i].value = -1;
    }
    int64_t now = NOW;
    for (int step = 0; step < 60000; step++) {
        now += rand() % 20 == 0;
        model_step(&model, now);
        if (step % 3000 == 0)
            model_compare(&model, now);
    }
    model_compare(&model, now);
    assert_true(model.n_dropped > 100);
    assert_int_equal(model.n_expired,
                     keyspace_n_expired(model.ks[0]) + keyspace_n_expired(model.ks[1]));
    for (unsigned db = 0; db < 2; db++)
        keyspace_free(model.ks[db]);
}

/* ---- no memory ---- */

struct scene {
    struct keyspace *ks[2];
    struct yn_zset *copy;
};

static void scene_init(struct scene *scene)
{
    for (size_t i = 0; i < 2; i++)
        scene->ks[i] = keyspace_new(SEED);
    struct keyspace *ks = scene->ks[0];
    put(ks, text_bytes("string"), "value");
    assert_true(keyspace_put_zset(ks, text_bytes("set"), set_of("a"), -1, NOW));
    assert_true(keyspace_set_expiry_ms(ks, text_bytes("string"), NOW + 50, NOW));
    assert_true(keyspace_set_expiry_ms(ks, text_bytes("set"), NOW + 60, NOW));
    put(ks, text_bytes("there"), "old");
    scene->copy = set_of("a");
}

static void scene_clear(struct scene *scene)
{
    for (size_t i = 0; i < 2; i++) {
        assert_sound(scene->ks[i]);
        keyspace_free(scene->ks[i]);
    }
    yn_zset_free(scene->copy);
}

static bool transfer(struct scene *scene, const char *from, size_t to_db, bool copies)
{
    struct yn_bytes name = text_bytes(from), to = text_bytes("there");
    struct keyspace *ks = scene->ks[0];
    if (!copies)
        return keyspace_move(ks, name, scene->ks[to_db], to, NOW);
    bool is_set = strcmp(from, "set") == 0;
    if (!keyspace_copy(ks, name, scene->ks[to_db], to, is_set ? scene->copy : NULL, NOW))
        return false;
    if (is_set)
        scene->copy = NULL;
    return true;
}

static void check_untouched(const struct scene *scene, const char *from, size_t to_db)
{
    const struct keyspace *ks = scene->ks[0];
    int64_t at_ms = strcmp(from, "set") == 0 ? NOW + 60 : NOW + 50;
    assert_int_equal(keyspace_expiry_ms(ks, text_bytes(from), NOW), at_ms);
    if (to_db == 0)
        assert_int_equal(keyspace_find(ks, text_bytes("there"), NOW).string.len, 3);
    else
        assert_int_equal(keyspace_count(scene->ks[1]), 0);
    assert_int_equal(keyspace_count(ks), 3);
}

static void sweep(const char *from, size_t to_db, bool copies)
{
    for (size_t fail_at = 1;; fail_at++) {
        struct scene scene;
        scene_init(&scene);
        allocs_reset(fail_at, false);
        bool is_done = transfer(&scene, from, to_db, copies);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        if (!is_done)
            check_untouched(&scene, from, to_db);
        else
            assert_int_not_equal(
                keyspace_expiry_ms(scene.ks[to_db], text_bytes("there"), NOW), -1);
        assert_true(has_failed || is_done);
        scene_clear(&scene);
        if (!has_failed)
            return;
        assert_true(fail_at < 50);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t to_db = 0; to_db < 2; to_db++) {
        sweep("string", to_db, false);
        sweep("string", to_db, true);
        sweep("set", to_db, false);
        sweep("set", to_db, true);
    }
}

/* ---- large strings, use, forms ---- */

static void test_large_string(void **state)
{
    (void)state;
    enum { LEN = 100000 };
    struct keyspace *ks = keyspace_new(SEED);
    char *bytes = calloc(1, LEN);
    struct yn_bytes a = text_bytes("a"), b = text_bytes("b");
    assert_true(keyspace_put_string(ks, a, (struct yn_bytes){bytes, LEN}, -1, NOW));
    assert_true(keyspace_copy(ks, a, ks, b, NULL, NOW));
    assert_true(keyspace_remove(ks, a, KEYSPACE_DELETED, NOW));
    assert_int_equal(keyspace_find(ks, b, NOW).string.len, LEN);
    assert_memory_equal(keyspace_find(ks, b, NOW).string.data, bytes, LEN);
    free(bytes);
    keyspace_free(ks);
}

static void test_use_and_form(void **state)
{
    (void)state;
    struct keyspace *ks = keyspace_new(SEED);
    struct yn_bytes a = text_bytes("a"), b = text_bytes("b");
    assert_int_equal(keyspace_idle_s(ks, a, NOW), -1);
    put(ks, a, "1");
    assert_int_equal(keyspace_idle_s(ks, a, NOW + 7000), 7);
    keyspace_find(ks, a, NOW + 5000);
    assert_int_equal(keyspace_idle_s(ks, a, NOW + 7000), 7);
    keyspace_use(ks, a, NOW + 5000);
    assert_int_equal(keyspace_idle_s(ks, a, NOW + 7000), 2);
    /* a change of shape is no use, a name no reason to forget */
    assert_true(keyspace_set_expiry_ms(ks, a, NOW + 100000, NOW + 7000));
    keyspace_set_form(ks, a, HOST_FORM_RAW, NOW);
    assert_true(keyspace_move(ks, a, ks, b, NOW + 7000));
    assert_int_equal(keyspace_idle_s(ks, b, NOW + 7000), 2);
    assert_int_equal(keyspace_find(ks, b, NOW).form, HOST_FORM_RAW);
    put(ks, b, "2");
    assert_int_equal(keyspace_find(ks, b, NOW).form, HOST_FORM_PLAIN);
    /* the clock goes round after 194 days */
    int64_t later = NOW + INT64_C(1000) * ((1 << 24) + 3);
    assert_int_equal(keyspace_idle_s(ks, b, later), 3);
    keyspace_free(ks);
}

/* ---- random keys ---- */

/* Every key is as likely as another: chi-square over the counts, which has a mean of
 * KEYS - 1 and a deviation of about sqrt(2 KEYS). */
static void test_random_is_even(void **state)
{
    uint64_t seed = 7;
    (void)state;
    enum { KEYS = 2000, DRAWS = 200000 };
    static unsigned count[KEYS];
    char text[16];
    struct keyspace *ks = keyspace_new((uint64_t)rand() + 1);
    struct yn_bytes key;
    assert_false(keyspace_random(ks, &seed, NOW, &key));
    for (unsigned i = 0; i < KEYS; i++)
        put(ks, number_key(i, text), "v");
    memset(count, 0, sizeof count);
    for (unsigned i = 0; i < DRAWS; i++) {
        assert_true(keyspace_random(ks, &seed, NOW, &key));
        snprintf(text, sizeof text, "%.*s", (int)key.len, key.data);
        count[atoi(text + 1)]++;
    }
    double mean = (double)DRAWS / KEYS, chi = 0;
    for (unsigned i = 0; i < KEYS; i++)
        chi += ((double)count[i] - mean) * ((double)count[i] - mean) / mean;
    if (chi > KEYS + 8 * 63.3) /* eight deviations */
        fail_msg("chi-square %.0f of %d keys", chi, KEYS);
    keyspace_free(ks);
}

static void test_random_is_never_expired(void **state)
{
    uint64_t seed = 7;
    (void)state;
    enum { KEYS = 3000, LIVE = 4 };
    char text[16];
    struct keyspace *ks = keyspace_new((uint64_t)rand() + 1);
    struct yn_bytes key;
    for (unsigned i = 0; i < KEYS; i++) {
        put(ks, number_key(i, text), "v");
        if (i >= LIVE)
            assert_true(keyspace_set_expiry_ms(ks, number_key(i, text), NOW + 10, NOW));
    }
    unsigned seen = 0;
    for (unsigned i = 0; i < 2000; i++) {
        assert_true(keyspace_random(ks, &seed, NOW + 10, &key));
        snprintf(text, sizeof text, "%.*s", (int)key.len, key.data);
        assert_true(atoi(text + 1) < LIVE);
        seen |= 1u << atoi(text + 1);
    }
    assert_int_equal(seen, (1u << LIVE) - 1);
    for (unsigned i = 0; i < LIVE; i++)
        keyspace_remove(ks, number_key(i, text), KEYSPACE_DELETED, NOW);
    assert_false(keyspace_random(ks, &seed, NOW + 10, &key));
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
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_large_string),
        cmocka_unit_test(test_use_and_form),
        cmocka_unit_test(test_random_is_even),
        cmocka_unit_test(test_random_is_never_expired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
