/*
 * The letters of notify-keyspace-events.
 * link: server
 */
#include "server/notify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int64_t parse(const char *text)
{
    int64_t classes = -1;
    assert_true(notify_parse((struct yn_bytes){text, strlen(text)}, &classes));
    return classes;
}

static void check_format(const char *text, const char *expected)
{
    struct yn_buf out;
    yn_buf_init(&out);
    notify_format(parse(text), &out);
    assert_int_equal(out.len, strlen(expected));
    assert_memory_equal(out.data != NULL ? out.data : "", expected, out.len);
    yn_buf_clear(&out);
}

static void test_parse(void **state)
{
    (void)state;
    assert_int_equal(parse(""), 0);
    assert_int_equal(parse("A"), NOTIFY_ALL);
    assert_int_equal(parse("g$lshzxetd"), NOTIFY_ALL);
    assert_int_equal(parse("KEA"), NOTIFY_ALL | NOTIFY_KEYSPACE | NOTIFY_KEYEVENT);
    assert_int_equal(parse("zzz"), NOTIFY_ZSET);
    assert_int_equal(parse("nm"), NOTIFY_NEW | NOTIFY_MISS);
    int64_t classes = 42;
    const char *bad[] = {"q", "KEq", "k", " ", "K E"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(notify_parse((struct yn_bytes){bad[i], strlen(bad[i])}, &classes));
    assert_false(notify_parse((struct yn_bytes){"K\0", 2}, &classes));
    assert_int_equal(classes, 42);
}

static void test_format(void **state)
{
    (void)state;
    check_format("", "");
    check_format("EKA", "AKE");
    check_format("dtexzhsl$g", "A");
    check_format("KEm$g", "g$KEm");
    check_format("ng", "gn");
    check_format("nA", "A"); /* as Redis prints it */
    check_format("mAK", "AKm");
}

/* What is printed means the same again, but for an n behind an A. */
static void test_round_trip(void **state)
{
    (void)state;
    const int64_t end = INT64_C(1) << 14;
    for (int64_t classes = 0; classes < end; classes++) {
        struct yn_buf out;
        int64_t again;
        yn_buf_init(&out);
        notify_format(classes, &out);
        assert_true(notify_parse((struct yn_bytes){out.data, out.len}, &again));
        int64_t lost = (classes & NOTIFY_ALL) == NOTIFY_ALL ? NOTIFY_NEW : 0;
        assert_int_equal(again, classes & ~lost);
        yn_buf_clear(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
