/* The dictionary of a set: crowded cells, growth, scans, want of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/zset.h"
#include "model/model.h"
#include "unit/scarce_heap.h"

/* ---- members ---- */

static struct yn_bytes member_of(size_t id)
{
    static char space[24];
    return (struct yn_bytes){space, (size_t)sprintf(space, "%zu", id)};
}

static enum yn_status try_put(struct yn_zset *set, size_t id, double score)
{
    return yn_zset_put(set, member_of(id), score, NULL);
}

static void put(struct yn_zset *set, size_t id, double score)
{
    assert_int_equal(try_put(set, id, score), YN_OK);
}

static void drop(struct yn_zset *set, size_t id)
{
    bool was_there;
    assert_int_equal(yn_zset_remove(set, member_of(id), &was_there), YN_OK);
    assert_true(was_there);
}

/* A cell of its own for each id. */
static double spread(size_t id)
{
    return (double)((id + 1) * 2654435761u * 1048573u & (((uint64_t)1 << 52) - 1));
}

/* ---- scans ---- */

#define IDS_MAX 70000
static uint8_t n_seen[IDS_MAX];

static void note_seen(void *ctx, struct yn_bytes member, double score)
{
    char text[24];
    (void)ctx;
    (void)score;
    memcpy(text, member.data, member.len);
    text[member.len] = 0;
    size_t id = strtoull(text, NULL, 10);
    assert_true(id < IDS_MAX);
    n_seen[id] = (uint8_t)(n_seen[id] + (n_seen[id] < 255));
}

static uint64_t scan(const struct yn_zset *set, uint64_t cursor, size_t count)
{
    return yn_zset_scan(set, cursor, count, note_seen, NULL);
}

/* Scans all; returns the number of calls. */
static size_t scan_all(const struct yn_zset *set, size_t count)
{
    uint64_t cursor = 0;
    size_t n_calls = 0;
    memset(n_seen, 0, sizeof n_seen);
    do {
        cursor = scan(set, cursor, count);
        n_calls++;
    } while (cursor != 0);
    return n_calls;
}

static void assert_all_seen_once(size_t from, size_t to)
{
    for (size_t id = from; id < to; id++)
        if (n_seen[id] != 1)
            fail_msg("member %zu seen %d times", id, n_seen[id]);
}

/* A call walks each cell it meets; over a crowd the number of calls must not follow the
 * number of members. */
static void a_scan_of_a_crowd_is_few_calls(void **state)
{
    (void)state;
    static const size_t n_cells[] = {1, 40};
    for (size_t c = 0; c < 2; c++)
        for (int are_moved = 0; are_moved < 2; are_moved++) {
            struct yn_zset *set = new_set(42);
            for (size_t id = 0; are_moved && id < 50000; id++)
                put(set, id, spread(id));
            for (size_t id = 0; id < 50000; id++)
                put(set, id, 1e12 + (double)(id % n_cells[c]));
            assert_sound(set);
            size_t n_calls = scan_all(set, 10);
            assert_all_seen_once(0, 50000);
            assert_true(n_calls < 500);
            free_set(set);
        }
}

static void a_scan_hands_out_about_what_is_asked_for(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 10, 100, 5000, 1000000, SIZE_MAX};
    struct yn_zset *set = new_set(42);
    for (size_t id = 0; id < 60000; id++)
        put(set, id, id % 3 == 0 ? (double)id + 0.5 : spread(id));
    assert_sound(set);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t n_calls = scan_all(set, counts[i]);
        assert_all_seen_once(0, 60000);
        if (counts[i] < 60000)
            assert_in_range(n_calls, 60000 / counts[i] / 40, 60000 / counts[i] + 1);
        else
            assert_int_equal(n_calls, 1);
    }
    free_set(set);
}

/* Any number may come as a cursor. */
static void cursors_of_no_scan(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    struct yn_zset *set = new_set(42);
    for (size_t id = 0; id < 20000; id++)
        put(set, id, id % 3 == 0 ? (double)id + 0.5 : spread(id));
    for (size_t i = 0; i < 60; i++) {
        uint64_t cursor = rng_next(&rng) >> rng_below(&rng, 64);
        for (size_t n_calls = 0; cursor != 0; n_calls++) {
            assert_true(n_calls < 100);
            cursor = scan(set, cursor, 1000);
        }
    }
    free_set(set);
}

/* Members that stay are seen, whatever the others do: come, go, move to scores that are
 * no cells and back, into crowds and out. */
static void a_scan_misses_none_that_stays(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    enum { N_STAY = 500, N = 30000 };
    for (size_t round = 0; round < model_rounds(20); round++) {
        struct yn_zset *set = new_set(rng_next(&rng) | 1);
        static bool is_member[N];
        memset(is_member, 0, sizeof is_member);
        memset(n_seen, 0, sizeof n_seen);
        uint64_t cursor = 0;
        size_t start = rng_below(&rng, 3000), n_changes = 1 + rng_below(&rng, 400);
        for (size_t id = 0; id < N_STAY + start; id++)
            put(set, id, rng_below(&rng, 2) ? spread(id) : 5);
        for (size_t id = 0; id < N_STAY + start; id++)
            is_member[id] = true;
        size_t limit = rng_below(&rng, 2) ? N : N_STAY + start + 1;
        do {
            cursor = scan(set, cursor, 1 + rng_below(&rng, 200));
            for (size_t i = 0; i < n_changes; i++) {
                size_t id = rng_below(&rng, limit);
                double score = rng_below(&rng, 3) == 0   ? 5
                               : rng_below(&rng, 5) == 0 ? (double)id + 0.5
                                                         : spread(id * 7 + i);
                if (id >= N_STAY && is_member[id] && rng_below(&rng, 2)) {
                    drop(set, id);
                    is_member[id] = false;
                } else {
                    put(set, id, score);
                    is_member[id] = true;
                }
            }
        } while (cursor != 0);
        for (size_t id = 0; id < N_STAY; id++)
            assert_true(n_seen[id] > 0);
        assert_sound(set);
        free_set(set);
    }
}

/* A set that shrinks to one leaf loses its dictionary; the one that it gets when it grows
 * again keeps members in other tables, and an old cursor must not skip them. */
static void a_scan_survives_a_new_dictionary(void **state)
{
    (void)state;
    enum { N_STAY = 20, N = 3000 };
    struct yn_zset *set = new_set(42);
    for (size_t id = 0; id < N; id++)
        put(set, id, (double)id + 0.5); /* all in the side table */
    for (size_t id = 0; id < N_STAY; id++)
        put(set, id, spread(id)); /* cells, but there they stay */
    memset(n_seen, 0, sizeof n_seen);
    uint64_t cursor = scan(set, 0, 1);
    assert_true(cursor != 0);
    for (size_t id = N_STAY; id < N; id++)
        drop(set, id);
    for (size_t id = N_STAY; id < N; id++)
        put(set, id, spread(id)); /* all in the main table */
    while (cursor != 0)
        cursor = scan(set, cursor, 100);
    for (size_t id = 0; id < N_STAY; id++)
        assert_true(n_seen[id] > 0);
    free_set(set);
}

/* ---- want of memory ---- */

/* Growing with one allocation in three failing: what is refused is not there, the rest is
 * found. Large enough for splits that make hashes anew. */
static void grows_with_scarce_memory(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    enum { N = 70000 };
    struct yn_zset *set = new_set(42);
    size_t n_refused = 0;
    for (size_t id = 0; id < N; id++) {
        double score = id % 64 == 0 ? (double)id + 0.5 : id % 32 == 1 ? 5 : spread(id);
        heap.left = rng_below(&rng, 3);
        size_t before = yn_zset_count(set);
        enum yn_status status = try_put(set, id, score);
        heap.left = SIZE_MAX;
        assert_int_equal(yn_zset_count(set), before + (status == YN_OK));
        if (status == YN_OK)
            continue;
        n_refused++;
        double found;
        assert_false(yn_zset_find(set, member_of(id), &found));
        put(set, id, score);
    }
    assert_true(n_refused > 100);
    assert_sound(set);
    free_set(set);
}

/* Without memory for a dictionary a set of several leaves goes on without one. */
static void works_without_a_dictionary(void **state)
{
    (void)state;
    enum { N = 2000 };
    struct yn_zset *set = new_set(42);
    size_t rank;
    double score;
    for (size_t id = 0; id < N; id++) {
        /* as little as will do: nothing is left for the dictionary, which comes last */
        enum yn_status status = YN_ENOMEM;
        for (size_t allowance = 0; status != YN_OK; allowance++) {
            heap.left = allowance;
            status = try_put(set, id, spread(id));
        }
    }
    assert_null(set->dict);
    assert_true(set->tree.live.root->level > 0);
    assert_sound(set);
    assert_int_equal(scan_all(set, 10), 1);
    assert_all_seen_once(0, N);
    for (size_t id = 0; id < N; id += 7) {
        assert_true(yn_zset_find(set, member_of(id), &score) && score == spread(id));
        assert_true(yn_zset_rank(set, member_of(id), &rank));
    }
    assert_false(yn_zset_find(set, member_of(N), &score));
    for (size_t id = 0; id < N; id += 7) {
        heap.left = 0;
        assert_int_equal(yn_zset_remove(set, member_of(id), NULL), YN_OK);
        assert_false(yn_zset_find(set, member_of(id), &score));
    }
    assert_sound(set);
    heap.left = SIZE_MAX;
    put(set, 1, spread(N));
    assert_non_null(set->dict); /* it has been made up for */
    assert_sound(set);
    free_set(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_of_a_crowd_is_few_calls),
        cmocka_unit_test(a_scan_hands_out_about_what_is_asked_for),
        cmocka_unit_test(cursors_of_no_scan),
        cmocka_unit_test(a_scan_misses_none_that_stays),
        cmocka_unit_test(a_scan_survives_a_new_dictionary),
        cmocka_unit_test(grows_with_scarce_memory),
        cmocka_unit_test(works_without_a_dictionary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
