/*
 * test_zset.c: sets: edges, failures of allocation, frozen views, encoding.
 *
 * Random changes against a plain array are in tests/model/.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/zset.h"

static struct yn_bytes bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static struct yn_bytes number(size_t i, char *space)
{
    return (struct yn_bytes){space, (size_t)sprintf(space, "%zu", i)};
}

static void assert_sound(const struct yn_zset *set)
{
    const char *wrong = yn_zset_check(set);
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

static struct yn_zset *set_of(size_t n, double (*score)(size_t i))
{
    struct yn_zset *set = yn_zset_new(NULL);
    char space[24];
    for (size_t i = 0; i < n; i++)
        assert_int_equal(yn_zset_put(set, number(i, space), score(i), NULL), YN_OK);
    return set;
}

static double spread_score(size_t i)
{
    return (double)((uint64_t)i * 0x9e3779b97f4a7c15u >> 12);
}

static double one_score(size_t i)
{
    (void)i;
    return 3479099956230698.0;
}

static double odd_score(size_t i)
{
    return (double)i * 0.5 - 100;
}

/* ---- edges ---- */

static void puts_finds_and_removes(void **state)
{
    (void)state;
    struct yn_zset *set = yn_zset_new(NULL);
    struct yn_put put;
    double score;
    bool removed;
    assert_int_equal(yn_zset_put(set, bytes("a"), 1, &put), YN_OK);
    assert_int_equal(put.change, YN_ADDED);
    assert_int_equal(yn_zset_put(set, bytes("a"), 1, &put), YN_OK);
    assert_int_equal(put.change, YN_UNCHANGED);
    assert_int_equal(yn_zset_put(set, bytes("a"), 2, &put), YN_OK);
    assert_int_equal(put.change, YN_UPDATED);
    assert_true(yn_zset_find(set, bytes("a"), &score));
    assert_true(score == 2);
    assert_false(yn_zset_find(set, bytes("b"), &score));
    assert_int_equal(yn_zset_remove(set, bytes("b"), &removed), YN_OK);
    assert_false(removed);
    assert_int_equal(yn_zset_remove(set, bytes("a"), &removed), YN_OK);
    assert_true(removed);
    assert_int_equal(yn_zset_count(set), 0);
    assert_sound(set);
    yn_zset_free(set);
}

static void takes_every_double_but_nan(void **state)
{
    (void)state;
    static const double scores[] = {
        (double)INFINITY,  -(double)INFINITY, 0,   5e-324, -5e-324,
        1.7e308,           -1.7e308,          0.1, -1,     4503599627370495.0,
        4503599627370496.0};
    struct yn_zset *set = yn_zset_new(NULL);
    struct yn_put put;
    char space[24];
    for (size_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        double found;
        assert_int_equal(yn_zset_put(set, number(i, space), scores[i], NULL), YN_OK);
        assert_true(yn_zset_find(set, number(i, space), &found) && found == scores[i]);
        assert_sound(set);
    }
    assert_int_equal(yn_zset_put(set, bytes("nan"), (double)NAN, &put), YN_ENAN);
    assert_int_equal(yn_zset_put(set, bytes("2"), (double)NAN, &put), YN_ENAN);
    assert_int_equal(yn_zset_put(set, bytes("2"), -0.0, &put), YN_OK);
    assert_int_equal(put.change, YN_UNCHANGED);
    assert_int_equal(yn_zset_put(set, bytes("neg"), -0.0, &put), YN_OK);
    double negative;
    assert_true(yn_zset_find(set, bytes("neg"), &negative) && signbit(negative));
    yn_zset_free(set);
}

static void members_are_any_bytes(void **state)
{
    (void)state;
    struct yn_zset *set = yn_zset_new(NULL);
    static const struct yn_bytes odd[] = {{NULL, 0},     {"\0", 1},     {"\0\0", 2},
                                          {"a\r\nb", 4}, {"$1\r\n", 4}, {"\xff\xfe", 2}};
    const size_t n = sizeof odd / sizeof odd[0];
    for (size_t i = 0; i < n; i++)
        assert_int_equal(yn_zset_put(set, odd[i], 1, NULL), YN_OK);
    assert_int_equal(yn_zset_count(set), n);
    for (size_t i = 0; i < n; i++) {
        double score;
        assert_true(yn_zset_find(set, odd[i], &score));
    }
    assert_sound(set);
    yn_zset_free(set);
}

/* Every length around the limits of the wire form and of inline members. */
static void members_of_every_length(void **state)
{
    (void)state;
    static char space[1200];
    struct yn_zset *set = yn_zset_new(NULL);
    memset(space, 'x', sizeof space);
    for (size_t len = 0; len < sizeof space; len++)
        assert_int_equal(
            yn_zset_put(set, (struct yn_bytes){space, len}, (double)(len % 7), NULL),
            YN_OK);
    assert_sound(set);
    for (size_t len = 0; len < sizeof space; len++) {
        double score;
        assert_true(yn_zset_find(set, (struct yn_bytes){space, len}, &score));
        assert_true(score == (double)(len % 7));
    }
    for (size_t len = 0; len < sizeof space; len += 2) {
        bool removed;
        assert_int_equal(yn_zset_remove(set, (struct yn_bytes){space, len}, &removed),
                         YN_OK);
        assert_true(removed);
    }
    assert_sound(set);
    yn_zset_free(set);
}

static void a_member_of_512_megabytes(void **state)
{
    (void)state;
    char *huge = malloc(YN_MEMBER_MAX + 1);
    assert_non_null(huge);
    memset(huge, 'h', YN_MEMBER_MAX + 1);
    struct yn_zset *set = yn_zset_new(NULL);
    double score;
    assert_int_equal(
        yn_zset_put(set, (struct yn_bytes){huge, YN_MEMBER_MAX + 1}, 1, NULL), YN_ERANGE);
    assert_int_equal(yn_zset_put(set, (struct yn_bytes){huge, YN_MEMBER_MAX}, 1, NULL),
                     YN_OK);
    assert_int_equal(yn_zset_put(set, (struct yn_bytes){huge, YN_MEMBER_MAX}, 2, NULL),
                     YN_OK);
    assert_true(yn_zset_find(set, (struct yn_bytes){huge, YN_MEMBER_MAX}, &score));
    assert_true(score == 2);
    assert_sound(set);
    yn_zset_free(set);
    free(huge);
}

/* A million members of one score: neither quadratic nor deep. */
static void a_crowded_cell(void **state)
{
    (void)state;
    const size_t n = 200000;
    struct yn_zset *set = set_of(n, one_score);
    char space[24];
    double score;
    size_t rank;
    assert_int_equal(yn_zset_count(set), n);
    assert_true(yn_zset_find(set, number(n / 2, space), &score));
    assert_true(yn_zset_rank(set, bytes("0"), &rank));
    assert_int_equal(rank, 0);
    assert_true(yn_zset_rank(set, bytes("99999"), &rank));
    assert_int_equal(rank, n - 1);
    assert_sound(set);
    for (size_t i = 0; i < n; i += 3)
        assert_int_equal(yn_zset_put(set, number(i, space), spread_score(i), NULL),
                         YN_OK);
    assert_sound(set);
    yn_zset_free(set);
}

/* ---- ranges ---- */

/* Sets of a few leaves and of many, of each kind, lose each of some intervals, with and
 * without a frozen view. */
static void removes_ranges(void **state)
{
    (void)state;
    static double (*const scores[])(size_t) = {spread_score, odd_score, one_score};
    static const size_t sizes[] = {1, 50, 1000, 12000};
    for (size_t k = 0; k < 3; k++)
        for (size_t s = 0; s < 4; s++) {
            size_t n = sizes[s];
            const size_t cuts[][2] = {{0, 0},     {0, 1},         {0, n},    {n / 2, n},
                                      {1, n / 2}, {n / 3, n / 3}, {n, 1},    {n - 1, 5},
                                      {1, n - 2}, {0, SIZE_MAX},  {n / 7, 1}};
            for (size_t c = 0; c < 2 * sizeof cuts / sizeof cuts[0]; c++) {
                size_t first = cuts[c / 2][0], len = cuts[c / 2][1], removed;
                struct yn_zset *set = set_of(n, scores[k]);
                struct yn_view *view = NULL;
                if (c % 2 == 1)
                    assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
                size_t wanted = first >= n ? 0 : len < n - first ? len : n - first;
                assert_int_equal(yn_zset_remove_range(set, first, len, &removed), YN_OK);
                assert_int_equal(removed, wanted);
                assert_int_equal(yn_zset_count(set), n - wanted);
                assert_sound(set);
                assert_int_equal(yn_zset_put(set, bytes("new"), 1, NULL), YN_OK);
                assert_sound(set);
                yn_view_free(view);
                yn_zset_free(set);
            }
        }
}

/* Copies of intervals, of sets of each kind, from the live view and from a frozen one. */
static void copies_ranges(void **state)
{
    (void)state;
    static double (*const scores[])(size_t) = {spread_score, odd_score, one_score};
    static const size_t sizes[] = {0, 1, 50, 1000, 12000};
    for (size_t k = 0; k < 3; k++)
        for (size_t s = 0; s < 5; s++) {
            size_t n = sizes[s];
            const size_t parts[][2] = {{0, 0},     {0, 1},         {0, n}, {n / 2, n},
                                       {1, n / 2}, {n / 3, n / 3}, {n, 1}, {0, SIZE_MAX}};
            struct yn_zset *set = set_of(n, scores[k]), *copy;
            struct yn_view *view;
            for (size_t i = 0; i < n; i += 97) { /* some leaves are half empty */
                size_t removed;
                assert_int_equal(yn_zset_remove_range(set, i, 90, &removed), YN_OK);
            }
            n = yn_zset_count(set);
            assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
            for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
                size_t first = parts[p][0], len = parts[p][1];
                size_t wanted = first >= n ? 0 : len < n - first ? len : n - first;
                assert_int_equal(yn_zset_copy(p % 2 ? view : yn_zset_view(set), first,
                                              len, NULL, &copy),
                                 YN_OK);
                assert_int_equal(yn_zset_count(copy), wanted);
                assert_sound(copy);
                struct yn_cursor a, b;
                yn_cursor_seek(&a, yn_zset_view(copy), 0);
                yn_cursor_seek(&b, view, first);
                for (size_t i = 0; i < wanted; i++) {
                    struct yn_entry x = yn_cursor_entry(&a), y = yn_cursor_entry(&b);
                    assert_true(x.score == y.score);
                    assert_int_equal(yn_bytes_compare(x.member, y.member), 0);
                    yn_cursor_next(&a);
                    yn_cursor_next(&b);
                }
                assert_int_equal(yn_zset_put(copy, bytes("new"), 1, NULL), YN_OK);
                assert_sound(copy);
                yn_zset_free(copy);
            }
            yn_view_free(view);
            yn_zset_free(set);
        }
}

/* Cuts that leave one entry of every hundred leave no block for each of them. */
static void ranges_leave_no_small_leaves(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(100000, spread_score);
    for (size_t rank = 0; rank < yn_zset_count(set); rank++)
        assert_int_equal(yn_zset_remove_range(set, rank, 99, NULL), YN_OK);
    assert_int_equal(yn_zset_count(set), 1000);
    assert_sound(set);
    /* the dictionary keeps its 1 MB; a block for each member would take 2 MB more */
    assert_true(yn_zset_memory(set) < 1500 * 1024);
    yn_zset_free(set);
}

/* When most of a set goes its dictionary becomes small, too. */
static void the_rest_of_a_large_set_is_small(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(200000, spread_score);
    char space[24];
    double score;
    assert_int_equal(yn_zset_remove_range(set, 1000, 198000, NULL), YN_OK);
    assert_true(yn_zset_memory(set) < 2000 * 60);
    assert_sound(set);
    assert_true(yn_zset_find(set, number(0, space), &score));
    yn_zset_free(set);
}

/* ---- views ---- */

static void views_keep_what_they_saw(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(5000, spread_score);
    struct yn_view *view, *later;
    char space[24];
    size_t used = yn_zset_memory(set);
    assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(yn_zset_put(set, number(i, space), spread_score(i + 1), NULL),
                         YN_OK);
    assert_int_equal(yn_zset_freeze(set, &later), YN_OK);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(yn_zset_remove(set, number(i, space), NULL), YN_OK);
    assert_int_equal(yn_zset_count(set), 0);
    assert_int_equal(yn_view_count(view), 5000);
    assert_int_equal(yn_view_count(later), 5000);
    assert_sound(set);
    yn_view_free(later);
    struct yn_cursor cursor;
    size_t n = 0;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        assert_true(entry.score == spread_score(strtoull(entry.member.data, NULL, 10)));
        n++;
    }
    assert_int_equal(n, 5000);
    yn_view_free(view);
    assert_true(yn_zset_memory(set) < used / 100 + 1000); /* nothing is kept */
    yn_zset_free(set);
}

static void a_view_outlives_its_set(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(1000, odd_score);
    struct yn_view *view, *second;
    struct yn_cursor cursor;
    assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
    assert_int_equal(yn_zset_freeze(set, &second), YN_OK);
    yn_zset_free(set);
    yn_view_free(second);
    assert_true(yn_cursor_seek(&cursor, view, 999));
    assert_true(yn_cursor_entry(&cursor).score == odd_score(999));
    yn_view_free(view);
}

/* ---- allocation failure ---- */

struct failing {
    size_t left; /* allocations that succeed from now on */
    size_t taken;
    size_t bytes;
};

static void *failing_alloc(void *ctx, size_t size)
{
    struct failing *failing = ctx;
    if (failing->left == 0)
        return NULL;
    failing->left--;
    failing->taken++;
    failing->bytes += size;
    return malloc(size);
}

static void failing_free(void *ctx, void *block, size_t size)
{
    struct failing *failing = ctx;
    failing->bytes -= size;
    free(block);
}

/* The contents of a set, as text that can be compared. */
static char *contents(const struct yn_zset *set)
{
    char *data;
    size_t len;
    assert_int_equal(yn_view_encode(yn_zset_view(set), &data, &len), YN_OK);
    char *text = malloc(2 * len + 1);
    for (size_t i = 0; i < len; i++)
        sprintf(text + 2 * i, "%02x", (unsigned char)data[i]);
    free(data);
    return text;
}

typedef enum yn_status (*change_fn)(struct yn_zset *set);

static char long_name[400];

static enum yn_status change_add(struct yn_zset *set)
{
    return yn_zset_put(set, bytes("new"), spread_score(12345), NULL);
}
static enum yn_status change_add_long(struct yn_zset *set)
{
    return yn_zset_put(set, (struct yn_bytes){long_name, sizeof long_name}, 3e15, NULL);
}
static enum yn_status change_add_odd(struct yn_zset *set)
{
    return yn_zset_put(set, bytes("odd"), 0.25, NULL);
}
static enum yn_status change_move(struct yn_zset *set)
{
    return yn_zset_put(set, bytes("7"), spread_score(77777), NULL);
}
static enum yn_status change_move_odd(struct yn_zset *set)
{
    return yn_zset_put(set, bytes("7"), -0.25, NULL);
}
static enum yn_status change_remove(struct yn_zset *set)
{
    return yn_zset_remove(set, bytes("5"), NULL);
}
static enum yn_status change_remove_some(struct yn_zset *set)
{
    return yn_zset_remove_range(set, 3, 60, NULL);
}
static enum yn_status change_remove_most(struct yn_zset *set)
{
    size_t n = yn_zset_count(set);
    return yn_zset_remove_range(set, n / 20, n - n / 20 - n / 20, NULL);
}

/*
 * Fails the 1st, 2nd, 3rd ... allocation of a change until it succeeds. After each
 * failure the set must hold what it held, be sound, and have lost no memory.
 */
static void sweep(size_t n, double (*score)(size_t), change_fn change, bool is_frozen)
{
    for (size_t fail_at = 0;; fail_at++) {
        struct failing failing = {.left = SIZE_MAX};
        struct yn_allocator hook = {failing_alloc, failing_free, &failing};
        struct yn_options options = {.allocator = &hook, .hash_seed = 42};
        struct yn_zset *set = yn_zset_new(&options);
        struct yn_view *view = NULL;
        char space[24];
        for (size_t i = 0; i < n; i++)
            assert_int_equal(yn_zset_put(set, number(i, space), score(i), NULL), YN_OK);
        if (is_frozen)
            assert_int_equal(yn_zset_freeze(set, &view), YN_OK);
        char *before = contents(set);
        failing.left = fail_at;
        enum yn_status status = change(set);
        bool is_done = status == YN_OK && failing.left > 0;
        failing.left = SIZE_MAX;
        assert_sound(set);
        if (status != YN_OK) {
            assert_int_equal(status, YN_ENOMEM);
            char *after = contents(set);
            assert_string_equal(before, after);
            free(after);
            assert_int_equal(change(set), YN_OK); /* and it works when there is memory */
            assert_sound(set);
        }
        free(before);
        yn_view_free(view);
        yn_zset_free(set);
        assert_int_equal(failing.bytes, 0);
        if (is_done)
            return;
    }
}

static void allocation_failures_change_nothing(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 60, 105, 110, 115, 120, 400, 3000};
    static const change_fn changes[] = {
        change_add,      change_add_long, change_add_odd,     change_move,
        change_move_odd, change_remove,   change_remove_some, change_remove_most};
    memset(long_name, 'l', sizeof long_name);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++)
            for (int frozen = 0; frozen < 2; frozen++) {
                sweep(sizes[s], spread_score, changes[c], frozen);
                sweep(sizes[s], odd_score, changes[c], frozen);
            }
}

/* A long run of changes with every n-th allocation failing. */
static void random_allocation_failures(void **state)
{
    (void)state;
    struct failing failing = {.left = SIZE_MAX};
    struct yn_allocator hook = {failing_alloc, failing_free, &failing};
    struct yn_options options = {.allocator = &hook, .hash_seed = 42};
    struct yn_zset *set = yn_zset_new(&options);
    uint64_t random = 1;
    size_t n_failed = 0;
    char space[24];
    for (size_t i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t id = random >> 33 & 4095;
        double score =
            random >> 62 == 0 ? (double)(random >> 40) / 8 : spread_score(random >> 20);
        failing.left = random >> 50 & 7;
        size_t count = yn_zset_count(set);
        enum yn_status status = random >> 60 < 5
                                    ? yn_zset_remove(set, number(id, space), NULL)
                                    : yn_zset_put(set, number(id, space), score, NULL);
        failing.left = SIZE_MAX;
        n_failed += status != YN_OK;
        if (status != YN_OK)
            assert_int_equal(yn_zset_count(set), count);
        if (i % 100 == 0)
            assert_sound(set);
    }
    assert_true(n_failed > 0);
    assert_sound(set);
    yn_zset_free(set);
    assert_int_equal(failing.bytes, 0);
}

static void building_survives_allocation_failure(void **state)
{
    (void)state;
    static struct yn_entry entries[2000];
    static char names[2000][300];
    for (size_t i = 0; i < 2000; i++) {
        int len = sprintf(names[i], "%06zu", i);
        entries[i] =
            (struct yn_entry){{names[i], i % 50 == 0 ? 299 : (size_t)len}, (double)i};
    }
    enum yn_status status = YN_ENOMEM;
    for (size_t fail_at = 0; status == YN_ENOMEM; fail_at++) {
        struct failing failing = {.left = fail_at};
        struct yn_allocator hook = {failing_alloc, failing_free, &failing};
        struct yn_options options = {.allocator = &hook, .hash_seed = 42};
        struct yn_zset *set = NULL;
        status = yn_zset_build(&options, entries, 2000, &set);
        if (status == YN_OK) {
            assert_sound(set);
            assert_int_equal(yn_zset_count(set), 2000);
            yn_zset_free(set);
        }
        assert_int_equal(failing.bytes, 0);
    }
    assert_int_equal(status, YN_OK);

    struct yn_zset *source;
    assert_int_equal(yn_zset_build(NULL, entries, 2000, &source), YN_OK);
    status = YN_ENOMEM;
    for (size_t fail_at = 0; status == YN_ENOMEM; fail_at++) {
        struct failing failing = {.left = fail_at};
        struct yn_allocator hook = {failing_alloc, failing_free, &failing};
        struct yn_options options = {.allocator = &hook, .hash_seed = 42};
        struct yn_zset *set = NULL;
        status = yn_zset_copy(yn_zset_view(source), 20, 1950, &options, &set);
        if (status == YN_OK) {
            assert_sound(set);
            assert_int_equal(yn_zset_count(set), 1950);
            yn_zset_free(set);
        }
        assert_int_equal(failing.bytes, 0);
    }
    assert_int_equal(status, YN_OK);
    yn_zset_free(source);
}

static void searching_survives_allocation_failure(void **state)
{
    (void)state;
    struct failing failing = {.left = SIZE_MAX};
    struct yn_allocator hook = {failing_alloc, failing_free, &failing};
    struct yn_options options = {.allocator = &hook, .hash_seed = 42};
    struct yn_zset *set = yn_zset_new(&options);
    char space[24];
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(yn_zset_put(set, number(i, space), spread_score(i), NULL),
                         YN_OK);
    for (int order = 0; order < 3; order++) {
        for (size_t limit = 0; limit < 200; limit += 99) {
            struct yn_query query = {.shape = {.kind = YN_CIRCLE, .radius_m = 7e6},
                                     .order = (enum yn_order)order,
                                     .limit = limit};
            enum yn_status status = YN_ENOMEM;
            for (size_t fail_at = 0; status != YN_OK; fail_at++) {
                struct yn_search *search = NULL;
                size_t before = failing.bytes;
                failing.left = fail_at;
                status = yn_search_new(yn_zset_view(set), &query, &search);
                failing.left = SIZE_MAX;
                if (status != YN_OK)
                    assert_int_equal(status, YN_ENOMEM);
                yn_search_free(search);
                assert_int_equal(failing.bytes, before);
            }
        }
    }
    yn_zset_free(set);
}

/* ---- building and decoding ---- */

static void build_refuses_what_is_no_set(void **state)
{
    (void)state;
    struct yn_zset *set = NULL;
    struct yn_entry twice[] = {{{"a", 1}, 1}, {{"b", 1}, 2}, {{"a", 1}, 3}};
    struct yn_entry same[] = {{{"a", 1}, 1}, {{"a", 1}, 1}};
    struct yn_entry unordered[] = {{{"a", 1}, 2}, {{"b", 1}, 1}};
    struct yn_entry nan[] = {{{"a", 1}, (double)NAN}};
    assert_int_equal(yn_zset_build(NULL, twice, 3, &set), YN_EEXIST);
    assert_int_equal(yn_zset_build(NULL, same, 2, &set), YN_EORDER);
    assert_int_equal(yn_zset_build(NULL, unordered, 2, &set), YN_EORDER);
    assert_int_equal(yn_zset_build(NULL, nan, 1, &set), YN_ENAN);
    assert_int_equal(yn_zset_build(NULL, NULL, 0, &set), YN_OK);
    assert_int_equal(yn_zset_count(set), 0);
    yn_zset_free(set);
}

static void build_finds_a_member_twice_in_a_large_set(void **state)
{
    (void)state;
    const size_t n = 5000;
    struct yn_entry *entries = calloc(n, sizeof *entries);
    char(*names)[16] = calloc(n, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        int len = sprintf(names[i], "%zu", i == n - 1 ? (size_t)17 : i);
        entries[i] = (struct yn_entry){{names[i], (size_t)len}, (double)i * 1000003};
    }
    struct yn_zset *set = NULL;
    assert_int_equal(yn_zset_build(NULL, entries, n, &set), YN_EEXIST);
    assert_int_equal(yn_zset_build(NULL, entries, n - 1, &set), YN_OK);
    assert_sound(set);
    yn_zset_free(set);
    free(entries);
    free(names);
}

static void decode_refuses_every_flipped_bit_and_cut(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(20, odd_score), *copy;
    char *data;
    size_t len;
    assert_int_equal(yn_view_encode(yn_zset_view(set), &data, &len), YN_OK);
    for (size_t bit = 0; bit < len * 8; bit++) {
        data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
        assert_int_not_equal(yn_zset_decode(NULL, (struct yn_bytes){data, len}, &copy),
                             YN_OK);
        data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t cut = 0; cut < len; cut++)
        assert_int_not_equal(yn_zset_decode(NULL, (struct yn_bytes){data, cut}, &copy),
                             YN_OK);
    assert_int_equal(yn_zset_decode(NULL, (struct yn_bytes){data, len}, &copy), YN_OK);
    char *a = contents(set), *b = contents(copy);
    assert_string_equal(a, b);
    free(a);
    free(b);
    yn_zset_free(copy);
    yn_zset_free(set);
    free(data);
}

static void search_refuses_what_is_no_shape(void **state)
{
    (void)state;
    struct yn_zset *set = set_of(3, spread_score);
    struct yn_point line[2] = {{0, 0}, {1, 1}}, far[3] = {{0, 0}, {181, 0}, {0, 1}};
    struct yn_query bad[] = {
        {.shape = {.kind = YN_CIRCLE, .radius_m = -1}},
        {.shape = {.kind = YN_CIRCLE, .radius_m = (double)NAN}},
        {.shape = {.kind = YN_CIRCLE, .center = {181, 0}, .radius_m = 1}},
        {.shape = {.kind = YN_CIRCLE, .center = {0, (double)NAN}, .radius_m = 1}},
        {.shape = {.kind = YN_BOX, .width_m = -1, .height_m = 1}},
        {.shape = {.kind = YN_BOX, .width_m = 1, .height_m = (double)NAN}},
        {.shape = {.kind = YN_POLYGON, .vertices = line, .n_vertices = 2}},
        {.shape = {.kind = YN_POLYGON, .vertices = far, .n_vertices = 3}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct yn_search *search;
        assert_int_equal(yn_search_new(yn_zset_view(set), &bad[i], &search), YN_ESHAPE);
    }
    yn_zset_free(set);
}

/* Enough members for the look-ups to go side by side; some have no cell, some share one.
 */
static void finds_many_as_one_by_one(void **state)
{
    (void)state;
    static char names[20000][24];
    static struct yn_bytes members[20000];
    static double scores[20000];
    struct yn_zset *set = set_of(18000, spread_score);
    char space[24];
    for (size_t i = 0; i < 300; i++) { /* one cell, then no cells */
        assert_int_equal(yn_zset_put(set, number(i * 7, space), spread_score(1), NULL),
                         YN_OK);
        assert_int_equal(
            yn_zset_put(set, number(i * 11 + 1, space), -0.5 * (double)i, NULL), YN_OK);
    }
    for (size_t i = 0; i < 20000; i++) {
        members[i] = number(i * 7919 % 20000, names[i]);
        scores[i] = 1e9;
    }
    yn_zset_find_many(set, members, 20000, scores);
    for (size_t i = 0; i < 20000; i++) {
        double score;
        assert_int_equal(yn_zset_find(set, members[i], &score), !isnan(scores[i]));
        assert_true(isnan(scores[i]) || score == scores[i]);
        assert_int_equal(isnan(scores[i]), i * 7919 % 20000 >= 18000);
    }
    yn_zset_find_many(set, members, 0, NULL);
    yn_zset_free(set);
}

static void statuses_have_texts(void **state)
{
    (void)state;
    assert_string_equal(yn_status_text(YN_OK), "ok");
    assert_string_equal(yn_status_text(YN_ENOMEM), "out of memory");
    assert_string_equal(yn_status_text((enum yn_status)99), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_finds_and_removes),
        cmocka_unit_test(takes_every_double_but_nan),
        cmocka_unit_test(members_are_any_bytes),
        cmocka_unit_test(members_of_every_length),
        cmocka_unit_test(a_member_of_512_megabytes),
        cmocka_unit_test(a_crowded_cell),
        cmocka_unit_test(removes_ranges),
        cmocka_unit_test(copies_ranges),
        cmocka_unit_test(ranges_leave_no_small_leaves),
        cmocka_unit_test(the_rest_of_a_large_set_is_small),
        cmocka_unit_test(views_keep_what_they_saw),
        cmocka_unit_test(a_view_outlives_its_set),
        cmocka_unit_test(allocation_failures_change_nothing),
        cmocka_unit_test(random_allocation_failures),
        cmocka_unit_test(building_survives_allocation_failure),
        cmocka_unit_test(searching_survives_allocation_failure),
        cmocka_unit_test(build_refuses_what_is_no_set),
        cmocka_unit_test(build_finds_a_member_twice_in_a_large_set),
        cmocka_unit_test(decode_refuses_every_flipped_bit_and_cut),
        cmocka_unit_test(search_refuses_what_is_no_shape),
        cmocka_unit_test(finds_many_as_one_by_one),
        cmocka_unit_test(statuses_have_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
