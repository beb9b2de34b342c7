/* link: --wrap=malloc --wrap=realloc --wrap=calloc
 * The RDB format: checksum, compression, lengths, numbers, packed lists; hostile input
 * and the memory that it gets. */
#include "rdb/rdb.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "rdb/crc64.h"
#include "rdb/listpack.h"
#include "rdb/lzf.h"

#define BYTES(text) ((struct yn_bytes){text, sizeof(text) - 1})

static void test_crc64(void **state)
{
    (void)state;
    assert_int_equal(crc64(0, "", 0), 0);
    assert_true(crc64(0, "123456789", 9) == UINT64_C(0xe9c6d914c4b8d9ca));
    /* in pieces, and against one bit at a time */
    unsigned char bytes[200];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37 + i / 7);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        uint64_t slow = 0;
        for (size_t i = 0; i < len; i++) {
            slow ^= bytes[i];
            for (int bit = 0; bit < 8; bit++)
                slow = slow >> 1 ^ ((slow & 1) != 0 ? UINT64_C(0x95ac9329ac4bc9b5) : 0);
        }
        assert_true(crc64(0, bytes, len) == slow);
        assert_true(crc64(crc64(0, bytes, len / 3), bytes + len / 3, len - len / 3) ==
                    slow);
    }
}

static void test_lzf(void **state)
{
    char out[300];
    (void)state;
    assert_true(lzf_decode(BYTES("\x02"
                                 "abc"),
                           out, 3));
    assert_memory_equal(out, "abc", 3);
    /* three bytes again from three bytes back, then a run of one letter */
    assert_true(lzf_decode(BYTES("\x02"
                                 "abc\x20\x02"
                                 "\xe0\xff\x00"),
                           out, 3 + 3 + 264));
    assert_memory_equal(out, "abcabcccccc", 11);
    assert_int_equal(out[269], 'c');
    assert_true(lzf_decode(BYTES(""), out, 0));
    assert_false(lzf_decode(BYTES(""), out, 1));
    assert_false(lzf_decode(BYTES("\x02"
                                  "ab"),
                            out, 3));
    assert_false(lzf_decode(BYTES("\x02"
                                  "abc"),
                            out, 2));
    assert_false(lzf_decode(BYTES("\x02"
                                  "abc"),
                            out, 4));
    assert_false(lzf_decode(BYTES("\x20\x00"), out, 3)); /* before the start */
    assert_false(lzf_decode(BYTES("\x00"
                                  "a\x20"),
                            out, 4));
    assert_false(lzf_decode(BYTES("\x00"
                                  "a\xe0"),
                            out, 10));
    assert_false(lzf_decode(BYTES("\x00"
                                  "a\xe0\x01"),
                            out, 11));
}

static void check_string(const char *text, const char *head, size_t head_len)
{
    struct yn_buf buf;
    struct rdb_value value;
    struct yn_bytes bytes = {text, strlen(text)};
    yn_buf_init(&buf);
    rdb_write_string_value(&buf, bytes);
    assert_int_equal(buf.data[0], RDB_STRING);
    assert_memory_equal(buf.data + 1, head, head_len);
    assert_int_equal(rdb_read_value((struct yn_bytes){buf.data, buf.len}, NULL, &value),
                     RDB_OK);
    assert_int_equal(value.string.len, bytes.len);
    assert_memory_equal(value.string.data, text, bytes.len);
    rdb_value_clear(&value);
    yn_buf_clear(&buf);
}

static void test_strings(void **state)
{
    (void)state;
    check_string("", "\x00", 1);
    check_string("0", "\xc0\x00", 2);
    check_string("-128", "\xc0\x80", 2);
    check_string("128", "\xc1\x80\x00", 3);
    check_string("-32769", "\xc2\xff\x7f\xff\xff", 5);
    check_string("-2147483648", "\xc2\x00\x00\x00\x80", 5);
    check_string("2147483648", "\x0a", 1);
    check_string("007", "\x03", 1);
    char text[20000];
    memset(text, 'x', sizeof text);
    text[63] = '\0';
    check_string(text, "\x3f", 1);
    text[63] = 'x';
    text[64] = '\0';
    check_string(text, "\x40\x40", 2);
    text[64] = 'x';
    text[16383] = '\0';
    check_string(text, "\x7f\xff", 2);
    text[16383] = 'x';
    text[16384] = '\0';
    check_string(text, "\x80\x00\x00\x40\x00", 5);
    char head[RDB_HEAD_MAX];
    assert_int_equal(rdb_format_length(UINT64_C(0x123456789), head), 9);
    assert_memory_equal(head, "\x81\x00\x00\x00\x01\x23\x45\x67\x89", 9);
}

/* Every kind of number at its limits. */
static void test_listpack_numbers(void **state)
{
    (void)state;
    static const int64_t limits[] = {0,
                                     127,
                                     128,
                                     4095,
                                     4096,
                                     -4096,
                                     -4097,
                                     32767,
                                     32768,
                                     -32768,
                                     -32769,
                                     8388607,
                                     8388608,
                                     -8388608,
                                     -8388609,
                                     INT32_MAX,
                                     INT32_MAX + INT64_C(1),
                                     INT32_MIN,
                                     INT32_MIN - INT64_C(1),
                                     INT64_MAX,
                                     INT64_MIN};
    enum { N = sizeof limits / sizeof limits[0] };
    struct yn_buf buf;
    char text[32];
    yn_buf_init(&buf);
    yn_buf_append_text(&buf, "before");
    listpack_begin(&buf);
    for (size_t i = 0; i < N; i++)
        listpack_append(
            &buf,
            (struct yn_bytes){text, (size_t)sprintf(text, "%lld", (long long)limits[i])});
    listpack_finish(&buf, 6, N);
    struct listpack list;
    struct packed_element element;
    assert_true(listpack_open(&list, (struct yn_bytes){buf.data + 6, buf.len - 6}));
    assert_int_equal(list.n, N);
    for (size_t i = 0; i < N; i++) {
        assert_true(listpack_read(&list, &element));
        assert_true(element.is_integer);
        assert_true(element.integer == limits[i]);
    }
    assert_true(listpack_is_done(&list));
    assert_false(listpack_read(&list, &element));
    yn_buf_clear(&buf);
}

static void test_listpack_texts(void **state)
{
    static const size_t lengths[] = {0,   1,    63,   64,    126,   127,   128,
                                     200, 4095, 4096, 16000, 20000, 70000, 3000000};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct yn_buf buf;
        struct listpack list;
        struct packed_element element;
        char *text = malloc(lengths[i] + 1);
        assert_non_null(text);
        memset(text, 't', lengths[i] + 1);
        yn_buf_init(&buf);
        listpack_begin(&buf);
        listpack_append(&buf, (struct yn_bytes){text, lengths[i]});
        listpack_append(&buf, BYTES("12"));
        listpack_finish(&buf, 0, 2);
        assert_true(listpack_open(&list, (struct yn_bytes){buf.data, buf.len}));
        assert_true(listpack_read(&list, &element));
        assert_false(element.is_integer);
        assert_int_equal(element.text.len, lengths[i]);
        assert_memory_equal(element.text.data, text, lengths[i]);
        assert_true(listpack_read(&list, &element));
        assert_int_equal(element.integer, 12);
        assert_true(listpack_is_done(&list));
        free(text);
        yn_buf_clear(&buf);
    }
}

static struct yn_zset *make_set(size_t n)
{
    struct yn_zset *set = yn_zset_new(NULL);
    char member[32];
    assert_non_null(set);
    for (size_t i = 0; i < n; i++) {
        int len = sprintf(member, i % 3 == 0 ? "%zu" : "member-%zu", i);
        double score = i == 7 ? -0.0 : (double)(i * 7919 % 1009) / 4;
        assert_int_equal(
            yn_zset_put(set, (struct yn_bytes){member, (size_t)len}, score, NULL), YN_OK);
    }
    return set;
}

/* What a set was written to fails nowhere but for memory, and then holds nothing. */
static void check_reading(struct yn_bytes data, size_t n)
{
    struct rdb_value value;
    for (size_t fail_at = 1;; fail_at++) {
        allocs_reset(fail_at, true);
        enum rdb_status status = rdb_read_value(data, NULL, &value);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        assert_int_equal(status, has_failed ? RDB_ENOMEM : RDB_OK);
        if (!has_failed)
            break;
        assert_null(value.zset);
    }
    assert_int_equal(yn_zset_count(value.zset), n);
    assert_null(yn_zset_check(value.zset));
    double score;
    assert_true(yn_zset_find(value.zset, BYTES("member-7"), &score));
    assert_true(score == 0 && signbit(score));
    rdb_value_clear(&value);
    /* cut short it is nothing */
    for (size_t len = 0; len < data.len; len += 1 + len / 50) {
        assert_int_equal(rdb_read_value((struct yn_bytes){data.data, len}, NULL, &value),
                         RDB_ECORRUPT);
        assert_null(value.zset);
    }
}

static void test_sets(void **state)
{
    (void)state;
    for (size_t n = 10; n <= 1000; n *= 10) {
        struct yn_zset *set = make_set(n);
        struct yn_buf buf;
        yn_buf_init(&buf);
        rdb_write_zset_value(&buf, yn_zset_view(set));
        check_reading((struct yn_bytes){buf.data, buf.len}, n);
        buf.len = 0;
        assert_true(rdb_write_packed_zset(&buf, yn_zset_view(set)));
        check_reading((struct yn_bytes){buf.data, buf.len}, n);
        yn_buf_clear(&buf);
        yn_zset_free(set);
    }
}

/* Lengths and counts that are only announced cost nothing. */
static void test_memory(void **state)
{
    static const struct yn_bytes hostile[] = {
        BYTES("\x00\x81\x7f\xff\xff\xff\xff\xff\xff\xff"
              "abc"),
        BYTES("\x05\x81\x7f\xff\xff\xff\xff\xff\xff\xff"
              "abc"),
        BYTES("\x05\x80\x00\xff\xff\xff"
              "abcdefghijklmnopqrstuvwxyz"),
        BYTES("\x03\x80\x00\xff\xff\xff"
              "abcdefghijklmnopqrstuvwxyz"),
        BYTES("\x00\xc3\x03\x80\x1f\xff\xff\xff"
              "abc"),
        BYTES("\x00\xc3\x80\x1f\xff\xff\xff\x80\x1f\xff\xff\xff"
              "abc"),
        BYTES("\x11\x80\x1f\xff\xff\xff"
              "abc"),
        BYTES("\x0c\xc3\x03\x80\x1f\xff\xff\xff"
              "abc"),
    };
    struct rdb_value value;
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        allocs_reset(0, false);
        assert_int_equal(rdb_read_value(hostile[i], NULL, &value), RDB_ECORRUPT);
        assert_true(allocs.n_bytes < 8192);
    }
    assert_int_equal(rdb_read_value(BYTES("\x01\x01\x01"
                                          "a"),
                                    NULL, &value),
                     RDB_ETYPE);
    assert_int_equal(rdb_read_value(BYTES("\xff"), NULL, &value), RDB_ETYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc64),          cmocka_unit_test(test_lzf),
        cmocka_unit_test(test_strings),        cmocka_unit_test(test_listpack_numbers),
        cmocka_unit_test(test_listpack_texts), cmocka_unit_test(test_sets),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
