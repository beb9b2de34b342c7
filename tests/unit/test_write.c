/*
 * Reply and request writers: exact bytes in both versions of the protocol.
 * link: --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "resp/write.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/num.h"
#include "fail_alloc.h"
#include "resp/reply.h"

static struct yn_bytes bytes_of(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

/* Checks what was written since the last time, and forgets it. */
static void expect(struct yn_buf *out, const char *expected)
{
    assert_false(out->failed);
    assert_int_equal(out->len, strlen(expected));
    assert_memory_equal(out->data, expected, out->len);
    yn_buf_reset(out, SIZE_MAX);
}

static void test_lines(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    yn_write_status(&out, "OK");
    expect(&out, "+OK\r\n");
    yn_write_status(&out, "");
    expect(&out, "+\r\n");
    yn_write_error(&out, bytes_of("ERR syntax error"));
    expect(&out, "-ERR syntax error\r\n");
    yn_write_error(&out, bytes_of("ERR a\r\nb\rc\nd\r\n\n\r"));
    expect(&out, "-ERR a  b c d\r\n");
    yn_write_error(&out, bytes_of("ERR Protocol error: expected '$', got '\r'"));
    expect(&out, "-ERR Protocol error: expected '$', got ' '\r\n");
    yn_write_error(&out, bytes_of("\r\n"));
    expect(&out, "-\r\n");
    yn_write_error(&out, (struct yn_bytes){NULL, 0});
    expect(&out, "-\r\n");
    yn_write_integer(&out, 0);
    yn_write_integer(&out, 42);
    yn_write_integer(&out, -1);
    expect(&out, ":0\r\n:42\r\n:-1\r\n");
    yn_write_integer(&out, INT64_MAX);
    yn_write_integer(&out, INT64_MIN);
    expect(&out, ":9223372036854775807\r\n:-9223372036854775808\r\n");
    yn_write_bool(&out, 2, true);
    yn_write_bool(&out, 2, false);
    yn_write_bool(&out, 3, true);
    yn_write_bool(&out, 3, false);
    expect(&out, ":1\r\n:0\r\n#t\r\n#f\r\n");
    yn_write_null(&out, 2);
    yn_write_null_array(&out, 2);
    yn_write_null(&out, 3);
    yn_write_null_array(&out, 3);
    expect(&out, "$-1\r\n*-1\r\n_\r\n_\r\n");
    yn_buf_clear(&out);
}

static void test_strings(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    yn_write_bulk(&out, bytes_of("hello"));
    yn_write_bulk(&out, bytes_of(""));
    yn_write_bulk(&out, (struct yn_bytes){NULL, 0});
    expect(&out, "$5\r\nhello\r\n$0\r\n\r\n$0\r\n\r\n");
    yn_write_bulk(&out, (struct yn_bytes){"a\0\r\n", 4});
    assert_int_equal(out.len, 10);
    assert_memory_equal(out.data, "$4\r\na\0\r\n\r\n", 10);
    yn_buf_reset(&out, SIZE_MAX);
    yn_write_double_text(&out, 2, bytes_of("13.5"));
    yn_write_double_text(&out, 3, bytes_of("13.5"));
    expect(&out, "$4\r\n13.5\r\n,13.5\r\n");
    yn_write_verbatim(&out, 2, "txt", bytes_of("Some string"));
    yn_write_verbatim(&out, 3, "txt", bytes_of("Some string"));
    yn_write_verbatim(&out, 3, "mkd", bytes_of(""));
    expect(&out, "$11\r\nSome string\r\n=15\r\ntxt:Some string\r\n=4\r\nmkd:\r\n");
    yn_buf_clear(&out);
}

static void test_aggregates(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    yn_write_array(&out, 0);
    yn_write_array(&out, 3);
    expect(&out, "*0\r\n*3\r\n");
    yn_write_map(&out, 2, 3);
    yn_write_map(&out, 3, 3);
    expect(&out, "*6\r\n%3\r\n");
    yn_write_set(&out, 2, 3);
    yn_write_set(&out, 3, 3);
    expect(&out, "*3\r\n~3\r\n");
    yn_write_push(&out, 2, 3);
    yn_write_push(&out, 3, 3);
    expect(&out, "*3\r\n>3\r\n");
    struct yn_bytes argv[] = {bytes_of("GEOPOS"), bytes_of("key"), bytes_of("")};
    yn_write_command(&out, 3, argv);
    expect(&out, "*3\r\n$6\r\nGEOPOS\r\n$3\r\nkey\r\n$0\r\n\r\n");
    yn_write_command(&out, 0, NULL);
    expect(&out, "*0\r\n");
    yn_buf_clear(&out);
}

/* Headers of one and two digits have their own code: every count up to 1,100 and the
 * neighbours of all powers of ten. */
static void header_check(struct yn_buf *out, size_t n)
{
    char expected[32];
    yn_write_array(out, n);
    snprintf(expected, sizeof expected, "*%zu\r\n", n);
    expect(out, expected);
}

static void test_header_numbers(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    static char big[1100];
    for (size_t n = 0; n <= 1100; n++) {
        header_check(&out, n);
        yn_write_bulk(&out, (struct yn_bytes){big, n});
        char head[32];
        size_t head_len = (size_t)snprintf(head, sizeof head, "$%zu\r\n", n);
        assert_int_equal(out.len, head_len + n + 2);
        assert_memory_equal(out.data, head, head_len);
        assert_memory_equal(out.data + head_len + n, "\r\n", 2);
        yn_buf_reset(&out, SIZE_MAX);
    }
    for (size_t power = 1000; power <= SIZE_MAX / 10; power *= 10) {
        header_check(&out, power - 1);
        header_check(&out, power);
        header_check(&out, power + 1);
    }
    header_check(&out, SIZE_MAX);
    yn_buf_clear(&out);
}

/* ---- memory ---- */

static void write_everything(struct yn_buf *out)
{
    static char big[3000];
    struct yn_bytes argv[] = {bytes_of("SET"), {big, sizeof big}};
    yn_write_bulk(out, (struct yn_bytes){big, sizeof big});
    yn_write_status(out, "OK");
    yn_write_error(out, (struct yn_bytes){big, sizeof big});
    yn_write_integer(out, INT64_MIN);
    for (int resp = 2; resp <= 3; resp++) {
        yn_write_null(out, resp);
        yn_write_null_array(out, resp);
        yn_write_map(out, resp, 1000);
        yn_write_set(out, resp, 1000);
        yn_write_push(out, resp, 1000);
        yn_write_bool(out, resp, true);
        yn_write_double_text(out, resp, (struct yn_bytes){big, sizeof big});
        yn_write_verbatim(out, resp, "txt", (struct yn_bytes){big, sizeof big});
    }
    yn_write_array(out, 12345);
    yn_write_command(out, 2, argv);
}

/* Without memory a value is left out as a whole, and all after it. */
static void test_allocation_failure(void **state)
{
    (void)state;
    struct yn_buf whole;
    yn_buf_init(&whole);
    write_everything(&whole);
    assert_false(whole.failed);
    size_t fail_at = 1;
    for (;; fail_at++) {
        struct yn_buf out;
        yn_buf_init(&out);
        allocs_reset(fail_at, true);
        write_everything(&out);
        allocs_reset(0, false);
        assert_true(out.len <= whole.len);
        if (out.len > 0)
            assert_memory_equal(out.data, whole.data, out.len);
        bool failed = out.failed;
        assert_int_equal(failed, out.len < whole.len);
        if (failed && out.len > 0)
            assert_memory_equal(out.data + out.len - 2, "\r\n", 2);
        yn_buf_clear(&out);
        if (!failed)
            break;
    }
    assert_true(fail_at >= 4);
    yn_buf_clear(&whole);

    /* each writer alone, with no memory at all */
    struct yn_buf out;
    yn_buf_init(&out);
    allocs_reset(1, true);
    yn_write_status(&out, "OK");
    yn_buf_reset(&out, 0);
    yn_write_error(&out, bytes_of("ERR"));
    yn_buf_reset(&out, 0);
    yn_write_integer(&out, 1);
    yn_buf_reset(&out, 0);
    yn_write_verbatim(&out, 3, "txt", bytes_of("a"));
    yn_buf_reset(&out, 0);
    yn_write_bulk(&out, bytes_of("a"));
    yn_buf_reset(&out, 0);
    yn_write_array(&out, 1);
    allocs_reset(0, false);
    assert_true(out.failed);
    assert_int_equal(out.len, 0);
    yn_buf_clear(&out);
}

/* Members of all lengths up to 300, each with a distance, as the single writers do it. */
static void test_hits(void **state)
{
    (void)state;
    static const double distances[] = {0,
                                       0.00005,
                                       0.4,
                                       9.99995,
                                       9.99996,
                                       12.3456,
                                       99.99994,
                                       999.9999,
                                       1000,
                                       9999.9998,
                                       9999.99989,
                                       9999.9999,
                                       9999.99991,
                                       9999.99996,
                                       10000,
                                       99999.9999,
                                       1234567.89,
                                       20015086.7,
                                       1e15,
                                       1e40,
                                       6e7,
                                       3048,
                                       3047.99999,
                                       30479.9999,
                                       30480,
                                       304800,
                                       3047999.99,
                                       3048000,
                                       30479999,
                                       30479999.99999,
                                       30479999.999992,
                                       30480000,
                                       30480000.0001,
                                       1e9};
    enum { N = sizeof distances / sizeof distances[0] };
    struct yn_buf out, wire, want;
    yn_buf_init(&out);
    yn_buf_init(&wire);
    yn_buf_init(&want);
    for (size_t len = 0; len <= 300; len++) {
        char member[300], text[YN_NUM_TEXT_MAX];
        memset(member, 'a' + (int)(len % 26), sizeof member);
        yn_buf_reset(&wire, SIZE_MAX);
        yn_write_bulk(&wire, (struct yn_bytes){member, len});
        struct yn_bytes wires[N];
        yn_buf_reset(&want, SIZE_MAX);
        for (size_t i = 0; i < N; i++) {
            wires[i] = (struct yn_bytes){wire.data, wire.len};
            yn_write_array(&want, 2);
            yn_buf_append(&want, wire.data, wire.len);
            size_t n = yn_num_format_distance(distances[i] / 0.3048, text);
            yn_write_bulk(&want, (struct yn_bytes){text, n});
        }
        uint64_t parts[N];
        for (size_t i = 0; i < N; i++) {
            double product = distances[i] / 0.3048 * 10000;
            parts[i] = len % 3 == i % 3 || product > 1e15 ? YN_PARTS_OPEN
                                                          : (uint64_t)llrint(product);
        }
        for (int way = 0; way < 2; way++) {
            struct yn_hits hits = {N, wires, distances, way == 0 ? NULL : parts};
            yn_write_hits(&out, &hits, 0.3048);
            assert_int_equal(out.len, want.len);
            assert_memory_equal(out.data, want.data, want.len);
            yn_buf_clear(&out); /* so that a write beyond the room taken is noticed */
        }
    }
    yn_buf_clear(&wire);
    yn_buf_clear(&want);
}

static void test_steady_state_allocates_nothing(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    write_everything(&out);
    allocs_reset(0, false);
    for (int i = 0; i < 10; i++) {
        yn_buf_reset(&out, SIZE_MAX);
        write_everything(&out);
    }
    assert_int_equal(allocs.n_calls, 0);
    yn_buf_clear(&out);
}

/* ---- what is written is read back ---- */

static void test_reads_back(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    for (int resp = 2; resp <= 3; resp++) {
        yn_write_array(&out, 6);
        yn_write_map(&out, resp, 1);
        yn_write_bulk(&out, bytes_of("lon"));
        yn_write_double_text(&out, resp, bytes_of("-13.25"));
        yn_write_set(&out, resp, 1);
        yn_write_integer(&out, -7);
        yn_write_bool(&out, resp, true);
        yn_write_null(&out, resp);
        yn_write_verbatim(&out, resp, "txt", bytes_of("a\r\nb"));
        yn_write_error(&out, bytes_of("ERR no"));
    }
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    assert_int_equal(yn_reply_feed(parser, out.data, out.len), YN_REPLY_READY);
    for (int resp = 2; resp <= 3; resp++) {
        struct yn_reply *reply;
        assert_int_equal(yn_reply_next(parser, &reply), YN_REPLY_READY);
        assert_int_equal(reply->n_items, 6);
        assert_int_equal(reply->items[0]->type,
                         resp == 3 ? YN_REPLY_MAP : YN_REPLY_ARRAY);
        assert_int_equal(reply->items[0]->n_items, 2);
        const struct yn_reply *number = reply->items[0]->items[1];
        assert_int_equal(number->type, resp == 3 ? YN_REPLY_DOUBLE : YN_REPLY_BULK);
        assert_int_equal(number->text.len, 6);
        assert_memory_equal(number->text.data, "-13.25", 6);
        assert_int_equal(reply->items[1]->items[0]->integer, -7);
        assert_int_equal(reply->items[2]->integer, 1);
        assert_int_equal(reply->items[3]->type, YN_REPLY_NULL);
        assert_int_equal(reply->items[4]->text.len, 4);
        assert_memory_equal(reply->items[4]->text.data, "a\r\nb", 4);
        assert_int_equal(reply->items[5]->type, YN_REPLY_ERROR);
        yn_reply_free(reply);
    }
    yn_reply_parser_free(parser);
    yn_buf_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_aggregates),
        cmocka_unit_test(test_header_numbers),
        cmocka_unit_test(test_allocation_failure),
        cmocka_unit_test(test_hits),
        cmocka_unit_test(test_steady_state_allocates_nothing),
        cmocka_unit_test(test_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
