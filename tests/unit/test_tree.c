/* The tree below a set: splitting, moving, removing, frozen views, want of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/zset.h"
#include "model/model.h"
#include "unit/scarce_heap.h"

#define BIG_LEN 256

/* ---- members ---- */

/* A member of this number; long ones have `len` bytes. */
static struct yn_bytes member_of(size_t id, size_t len)
{
    static char space[1024];
    size_t n = (size_t)sprintf(space, "%zx", id);
    if (len <= n)
        return (struct yn_bytes){space, n};
    memset(space + n, '.', len - n);
    return (struct yn_bytes){space, len};
}

static void put(struct yn_zset *set, size_t id, size_t len, double score)
{
    assert_int_equal(yn_zset_put(set, member_of(id, len), score, NULL), YN_OK);
}

static void drop(struct yn_zset *set, size_t id, size_t len)
{
    bool was_there;
    assert_int_equal(yn_zset_remove(set, member_of(id, len), &was_there), YN_OK);
    assert_true(was_there);
}

/* ---- splitting ---- */

/* A leaf that had few large entries has room for as many small ones as a leaf can have;
 * beside leaves that are full of large ones, equal shares by size would hold too many. */
static void small_entries_beside_large_ones(void **state)
{
    (void)state;
    for (size_t first = 96; first < 144; first++) {
        struct yn_zset *set = new_set(42);
        size_t id = 1000;
        for (size_t i = 0; i < 192; i++)
            put(set, i, BIG_LEN, (double)i * 1000);
        for (size_t i = first; i < first + 38; i++) {
            for (size_t k = 1; k <= 8; k++)
                put(set, id++, 0, (double)(i * 1000 + k));
            drop(set, i, BIG_LEN);
        }
        for (size_t k = 20; k < 320; k++)
            put(set, id++, 0, (double)(first * 1000 + k));
        assert_sound(set);
        free_set(set);
    }
}

/* Large entries that go take their room along. */
static void room_of_large_entries_is_given_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {30, 2000};
    for (size_t s = 0; s < 2; s++) {
        struct yn_zset *set = new_set(42);
        for (size_t i = 0; i < sizes[s]; i++)
            put(set, i, BIG_LEN, (double)i);
        for (size_t i = 0; i < sizes[s]; i++) {
            put(set, 10000 + i, 0, (double)i + 0.5);
            drop(set, i, BIG_LEN);
        }
        assert_sound(set);
        assert_true(yn_zset_memory(set) < BIG_LEN / 2 * sizes[s] + 3000);
        free_set(set);
    }
}

/* Sizes, formats and places of all kinds in turn, so that leaves change their form. */
static void leaves_of_every_form(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    for (size_t round = 0; round < model_rounds(20); round++) {
        struct yn_zset *set = new_set(42);
        static size_t lens[2000];
        memset(lens, 0, sizeof lens);
        for (size_t step = 0; step < 6000; step++) {
            size_t id = rng_below(&rng, 2000);
            double score = (double)rng_below(&rng, 3000);
            if (step / 1000 % 2)
                score = rng_below(&rng, 9) ? score * 1e9 : score / 16;
            if (lens[id] != 0 && rng_below(&rng, 3) == 0) {
                drop(set, id, lens[id]);
                lens[id] = 0;
                continue;
            }
            if (lens[id] == 0)
                lens[id] = 1 + rng_below(&rng, rng_below(&rng, 4) ? 8 : 600);
            put(set, id, lens[id], score);
        }
        assert_sound(set);
        for (size_t id = 0; id < 2000; id++)
            if (lens[id] != 0)
                drop(set, id, lens[id]);
        assert_int_equal(yn_zset_count(set), 0);
        free_set(set);
    }
}

/* ---- want of memory ---- */

/*
 * A random change with only a few allocations left, over and over, while views come and
 * go. A change that fails must leave every score as it was.
 */
static void failures_change_nothing(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    enum { N = 600 };
    static double scores[N]; /* NAN: not a member */
    for (size_t round = 0; round < model_rounds(30); round++) {
        struct yn_zset *set = new_set(42);
        struct yn_view *views[3] = {NULL};
        size_t range = rng_below(&rng, 2) ? 4 : 100000, n_failed = 0;
        for (size_t i = 0; i < N; i++)
            scores[i] = (double)NAN;
        for (size_t step = 0; step < 3000; step++) {
            size_t id = rng_below(&rng, N), len = id % 7 == 0 ? 300 : id % 5 * 40;
            size_t v = rng_below(&rng, 40);
            double score = (double)rng_below(&rng, range);
            if (rng_below(&rng, 20) == 0)
                score += 0.5;
            if (v < 3 && views[v] != NULL) {
                yn_view_free(views[v]);
                views[v] = NULL;
            } else if (v < 3) {
                assert_int_equal(yn_zset_freeze(set, &views[v]), YN_OK);
            }
            heap.left = rng_below(&rng, 9);
            bool is_removal = rng_below(&rng, step / 500 % 2 ? 2 : 5) == 0;
            enum yn_status status =
                is_removal ? yn_zset_remove(set, member_of(id, len), NULL)
                           : yn_zset_put(set, member_of(id, len), score, NULL);
            heap.left = SIZE_MAX;
            n_failed += status != YN_OK;
            if (status == YN_OK)
                scores[id] = is_removal ? (double)NAN : score;
            double found = (double)NAN;
            bool is_there = yn_zset_find(set, member_of(id, len), &found);
            assert_true(is_there ? found == scores[id] : isnan(scores[id]));
            if (step % 50 == 0)
                assert_sound(set);
        }
        assert_true(n_failed > 0);
        assert_sound(set);
        yn_zset_free(set);
        for (size_t v = 0; v < 3; v++)
            yn_view_free(views[v]);
        assert_int_equal(heap.bytes, 0);
    }
}

/* Decoding with the 1st, 2nd, 3rd ... allocation failing, until it succeeds. */
static void decoding_survives_want_of_memory(void **state)
{
    (void)state;
    struct yn_options options = {.allocator = &heap_hook, .hash_seed = 42};
    struct yn_zset *set = new_set(42), *copy = NULL;
    char *data;
    size_t len;
    for (size_t i = 0; i < 1500; i++)
        put(set, i, i % 40 == 0 ? 300 : 0, i % 3 == 0 ? 7 : (double)(i * 1000) + 0.5);
    assert_int_equal(yn_view_encode(yn_zset_view(set), &data, &len), YN_OK);
    size_t used = heap.bytes;
    enum yn_status status = YN_ENOMEM;
    for (size_t allowance = 0; status != YN_OK; allowance++) {
        assert_int_equal(status, YN_ENOMEM);
        assert_int_equal(heap.bytes, used);
        heap.left = allowance;
        status = yn_zset_decode(&options, (struct yn_bytes){data, len}, &copy);
    }
    assert_sound(copy);
    assert_int_equal(yn_zset_count(copy), 1500);
    yn_zset_free(copy);
    free(data);
    free_set(set);
}

/* ---- frozen views ---- */

/* Checksum of what a view shows, read through its members' bytes. */
static uint64_t digest(const struct yn_view *view)
{
    struct yn_cursor cursor;
    uint64_t sum = yn_view_count(view);
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        uint64_t bits;
        memcpy(&bits, &entry.score, sizeof bits);
        sum = sum * 31 + bits;
        for (size_t i = 0; i < entry.member.len; i++)
            sum = sum * 31 + (unsigned char)entry.member.data[i];
    }
    return sum;
}

/* Many views open at once and freed in any order, long members among what they show. */
static void views_freed_in_any_order(void **state)
{
    (void)state;
    struct rng rng = {model_seed()};
    enum { N_VIEWS = 12, N = 1500 };
    for (size_t round = 0; round < model_rounds(6); round++) {
        struct yn_zset *set = new_set(42);
        struct yn_view *views[N_VIEWS] = {NULL};
        uint64_t digests[N_VIEWS] = {0};
        for (size_t step = 0; step < 4000; step++) {
            size_t id = rng_below(&rng, N), len = id % 10 == 0 ? 700 : 0;
            if (rng_below(&rng, 3) == 0)
                (void)yn_zset_remove(set, member_of(id, len), NULL);
            else
                put(set, id, len, (double)rng_below(&rng, 1u << 20));
            size_t v = rng_below(&rng, N_VIEWS);
            if (step % 40 != 0)
                continue;
            if (views[v] == NULL) {
                assert_int_equal(yn_zset_freeze(set, &views[v]), YN_OK);
                digests[v] = digest(views[v]);
            } else {
                assert_true(digest(views[v]) == digests[v]);
                yn_view_free(views[v]);
                views[v] = NULL;
            }
            assert_int_equal(yn_zset_memory(set), heap.bytes);
            assert_sound(set);
        }
        yn_zset_free(set);
        for (size_t v = 0; v < N_VIEWS; v++) {
            assert_true(views[v] == NULL || digest(views[v]) == digests[v]);
            yn_view_free(views[v]);
        }
        assert_int_equal(heap.bytes, 0);
    }
}

/* ---- crowds ---- */

/* Members that come to the ends of a crowd are told that it is one, as those in its
 * middle are: only at the end of an inner node it cannot be seen. */
static void crowds_are_known_at_their_ends(void **state)
{
    (void)state;
    const struct yn_bytes ends[] = {{"", 0}, {"~", 1}};
    size_t n_known[2] = {0, 0}, n_sizes = 0;
    for (size_t n = 600; n < 4000; n += 100, n_sizes++) {
        struct yn_zset *set = new_set(42);
        for (size_t i = 0; i < 3 * n; i++)
            put(set, i, 0, i % 3 == 1 ? 7 : (double)(i % 3 * 1000 + i));
        for (size_t end = 0; end < 2; end++) {
            struct yn_path path;
            yn_tree_find(yn_zset_view(set), yn_key_of_score(7), ends[end], &path);
            n_known[end] += yn_path_is_crowded(&path, yn_key_of_score(7));
        }
        struct yn_path path;
        yn_tree_find(yn_zset_view(set), yn_key_of_score(7.5), ends[0], &path);
        assert_false(yn_path_is_crowded(&path, yn_key_of_score(7.5)));
        free_set(set);
    }
    assert_true(n_known[0] * 4 > n_sizes * 3 && n_known[1] * 4 > n_sizes * 3);
}

/* ---- order by member ---- */

static void counts_below_a_member(void **state)
{
    (void)state;
    struct yn_zset *set = new_set(42);
    const struct yn_view *view = yn_zset_view(set);
    assert_int_equal(yn_view_count_below_lex(view, member_of(5, 0), true), 0);
    for (size_t i = 0; i < 4096; i++)
        put(set, i + 0x1000, 0, 7); /* four digits each: in order of their number */
    for (size_t i = 0; i < 4096; i += 5) {
        struct yn_bytes member = member_of(i + 0x1000, 0);
        assert_int_equal(yn_view_count_below_lex(view, member, false), i);
        assert_int_equal(yn_view_count_below_lex(view, member, true), i + 1);
    }
    assert_int_equal(yn_view_count_below(view, 7, false), 0);
    assert_int_equal(yn_view_count_below(view, 7, true), 4096);
    assert_int_equal(yn_view_count_below(view, -(double)INFINITY, true), 0);
    assert_int_equal(yn_view_count_below(view, (double)INFINITY, true), 4096);
    free_set(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_entries_beside_large_ones),
        cmocka_unit_test(room_of_large_entries_is_given_back),
        cmocka_unit_test(leaves_of_every_form),
        cmocka_unit_test(failures_change_nothing),
        cmocka_unit_test(decoding_survives_want_of_memory),
        cmocka_unit_test(views_freed_in_any_order),
        cmocka_unit_test(crowds_are_known_at_their_ends),
        cmocka_unit_test(counts_below_a_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
