/*
 * The growable run of bytes: content, growth, failures.
 * link: --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "core/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fail_alloc.h"

static void test_append(void **state)
{
    (void)state;
    struct yn_buf buf;

    yn_buf_init(&buf);
    yn_buf_append(&buf, NULL, 0);
    assert_null(buf.data);
    yn_buf_append_text(&buf, "");
    yn_buf_append_text(&buf, "abc");
    yn_buf_append(&buf, "\0def", 4);
    assert_int_equal(buf.len, 7);
    assert_memory_equal(buf.data, "abc\0def", 7);
    assert_false(buf.failed);
    yn_buf_clear(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.cap, 0);
    yn_buf_clear(&buf);
}

static void test_growth_keeps_content(void **state)
{
    (void)state;
    struct yn_buf buf;
    size_t n_total = 0;

    yn_buf_init(&buf);
    allocs_reset(0, false);
    for (size_t n = 0; n < 4000; n++) {
        char *to = yn_buf_reserve(&buf, n);
        assert_non_null(to);
        assert_ptr_equal(to, buf.data + buf.len);
        memset(to, (int)(n % 251), n);
        buf.len += n;
        n_total += n;
    }
    assert_int_equal(buf.len, n_total);
    assert_true(buf.cap >= buf.len && buf.cap <= buf.len * 2);
    assert_true(allocs.n_calls < 40);
    const char *at = buf.data;
    for (size_t n = 0; n < 4000; n++) {
        for (size_t i = 0; i < n; i++)
            assert_int_equal((unsigned char)*at++, n % 251);
    }
    yn_buf_clear(&buf);
}

static void test_reserve_to_the_last_byte(void **state)
{
    (void)state;
    struct yn_buf buf;

    yn_buf_init(&buf);
    assert_non_null(yn_buf_reserve(&buf, 0));
    allocs_reset(0, false);
    assert_non_null(yn_buf_reserve(&buf, buf.cap));
    buf.len = buf.cap;
    assert_ptr_equal(yn_buf_reserve(&buf, 0), buf.data + buf.len);
    assert_int_equal(allocs.n_calls, 0);
    yn_buf_clear(&buf);
}

static void test_consume(void **state)
{
    (void)state;
    struct yn_buf buf;

    yn_buf_init(&buf);
    yn_buf_consume(&buf, 0);
    yn_buf_append_text(&buf, "0123456789");
    yn_buf_consume(&buf, 0);
    yn_buf_consume(&buf, 4);
    assert_int_equal(buf.len, 6);
    assert_memory_equal(buf.data, "456789", 6);
    yn_buf_consume(&buf, 6);
    assert_int_equal(buf.len, 0);
    yn_buf_clear(&buf);
}

static void test_reset(void **state)
{
    (void)state;
    struct yn_buf buf;

    yn_buf_init(&buf);
    yn_buf_append_text(&buf, "abc");
    size_t cap = buf.cap;
    yn_buf_reset(&buf, cap);
    assert_int_equal(buf.len, 0);
    assert_int_equal(buf.cap, cap);
    yn_buf_reset(&buf, cap - 1);
    assert_int_equal(buf.cap, 0);
    assert_null(buf.data);
}

static void test_impossible_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, (size_t)PTRDIFF_MAX,
                                   (size_t)PTRDIFF_MAX - 2};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct yn_buf buf;
        yn_buf_init(&buf);
        yn_buf_append_text(&buf, "abc");
        allocs_reset(1, true); /* no allocator of a sanitizer is asked for such a size */
        assert_null(yn_buf_reserve(&buf, sizes[i]));
        allocs_reset(0, false);
        assert_true(buf.failed);
        assert_int_equal(buf.len, 3);
        yn_buf_clear(&buf);
    }
}

static void test_out_of_memory(void **state)
{
    (void)state;
    struct yn_buf buf;

    yn_buf_init(&buf);
    yn_buf_append_text(&buf, "kept");
    size_t cap = buf.cap;
    char *more = calloc(1, cap * 2);
    assert_non_null(more);

    allocs_reset(1, false); /* growth fails, the bare need fits */
    yn_buf_append(&buf, more, cap);
    assert_false(buf.failed);
    assert_int_equal(buf.len, 4 + cap);
    assert_int_equal(buf.cap, 4 + cap);

    allocs_reset(1, true);
    yn_buf_append(&buf, more, cap * 2);
    allocs_reset(0, false);
    assert_true(buf.failed);
    assert_int_equal(buf.len, 4 + cap);
    assert_memory_equal(buf.data, "kept", 4);

    /* A failed buffer takes nothing, not even what would fit. */
    yn_buf_consume(&buf, cap);
    yn_buf_append_text(&buf, "x");
    assert_int_equal(buf.len, 4);
    assert_null(yn_buf_reserve(&buf, 0));
    yn_buf_reset(&buf, SIZE_MAX);
    assert_false(buf.failed);
    yn_buf_append_text(&buf, "again");
    assert_int_equal(buf.len, 5);
    yn_buf_clear(&buf);
    free(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),
        cmocka_unit_test(test_growth_keeps_content),
        cmocka_unit_test(test_reserve_to_the_last_byte),
        cmocka_unit_test(test_consume),
        cmocka_unit_test(test_reset),
        cmocka_unit_test(test_impossible_sizes),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
