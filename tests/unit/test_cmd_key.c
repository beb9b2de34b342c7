/* The commands about keys of any type on the fake host. */
#include "check_reply.h"

static void test_del_exists_type(void **state)
{
    struct fake *f = *state;
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "EXISTS s z s none", ":3|");
    check_reply(f, "TYPE s", "+string|");
    check_reply(f, "TYPE z", "+zset|");
    check_reply(f, "TYPE none", "+none|");
    check_reply(f, "DBSIZE", ":2|");
    check_reply(f, "DEL s none s", ":1|");
    assert_string_equal(fake_events(f), "del:s ");
    check_reply(f, "UNLINK z", ":1|");
    assert_string_equal(fake_events(f), "del:z ");
    check_reply(f, "DBSIZE", ":0|");
}

static void test_keys_scan(void **state)
{
    struct fake *f = *state;
    check_reply(f, "SET s1 v", "+OK|");
    check_reply(f, "SET s2 v", "+OK|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "KEYS *", "*3|$2|s1|$2|s2|$1|z|");
    check_reply(f, "KEYS s[^1]", "*1|$2|s2|");
    check_reply(f, "KEYS none", "*0|");
    check_reply(f, "SCAN 0", "*2|$1|0|*3|$2|s1|$2|s2|$1|z|");
    check_reply(f, "SCAN 0 COUNT 2", "*2|$1|2|*2|$2|s1|$2|s2|");
    check_reply(f, "SCAN 2 COUNT 2", "*2|$1|0|*1|$1|z|");
    check_reply(f, "SCAN 0 TYPE ZSET", "*2|$1|0|*1|$1|z|");
    check_reply(f, "SCAN 0 TYPE unheard-of", "*2|$1|0|*0|");
    check_reply(f, "SCAN 0 MATCH *1 TYPE string", "*2|$1|0|*1|$2|s1|");
    check_reply(f, "SCAN x", "-ERR invalid cursor|");
    check_reply(f, "SCAN 0 COUNT 0", "-ERR syntax error|");
    check_reply(f, "SCAN 0 COUNT x", "-ERR value is not an integer or out of range|");
    check_reply(f, "SCAN 0 TYPE", "-ERR syntax error|");
}

static void test_flush(void **state)
{
    struct fake *f = *state;
    static const char *const forms[] = {"FLUSHALL", "FLUSHALL ASYNC", "FLUSHDB",
                                        "flushdb sync"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        check_reply(f, "SET s v", "+OK|");
        check_reply(f, forms[i], "+OK|");
        check_reply(f, "DBSIZE", ":0|");
    }
    check_reply(f, "FLUSHALL NOW", "-ERR syntax error|");
    check_reply(f, "FLUSHDB SYNC ASYNC", "-ERR syntax error|");
}

static void test_expire(void **state)
{
    struct fake *f = *state;
    check_reply(f, "EXPIRE none 10", ":0|");
    check_reply(f, "TTL none", ":-2|");
    check_reply(f, "PTTL none", ":-2|");
    check_reply(f, "EXPIRETIME none", ":-2|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "TTL s", ":-1|");
    check_reply(f, "PEXPIRETIME s", ":-1|");
    check_reply(f, "EXPIRE s 10", ":1|");
    assert_string_equal(fake_events(f), "expire:s ");
    check_reply(f, "TTL s", ":10|");
    check_reply(f, "EXPIRETIME s", ":1700000010|");
    check_reply(f, "PEXPIRE s 1499", ":1|");
    check_reply(f, "TTL s", ":1|");
    check_reply(f, "PTTL s", ":1499|");
    check_reply(f, "PEXPIRE s 1500", ":1|");
    check_reply(f, "TTL s", ":2|");
    check_reply(f, "EXPIREAT s 1700000100", ":1|");
    check_reply(f, "PEXPIRETIME s", ":1700000100000|");
    check_reply(f, "PEXPIREAT s 9223372036854775807", ":1|");
    check_reply(f, "PEXPIRETIME s", ":9223372036854775807|");
    check_reply(f, "EXPIRETIME s", ":9223372036854776|");
    check_reply(f, "PERSIST s", ":1|");
    assert_string_equal(fake_events(f), "persist:s ");
    check_reply(f, "PERSIST s", ":0|");
    check_reply(f, "PERSIST none", ":0|");
    check_reply(f, "EXPIRE s -1", ":1|"); /* gone at once */
    assert_string_equal(fake_events(f), "del:s ");
    check_reply(f, "EXISTS s", ":0|");
}

static void test_expire_conditions(void **state)
{
    struct fake *f = *state;
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "EXPIRE s 10 XX", ":0|");
    check_reply(f, "EXPIRE s 10 GT", ":0|"); /* no expiry is later than any */
    check_reply(f, "EXPIRE s 10 LT", ":1|");
    check_reply(f, "EXPIRE s 20 NX", ":0|");
    check_reply(f, "EXPIRE s 20 LT", ":0|");
    check_reply(f, "EXPIRE s 10 GT", ":0|");
    check_reply(f, "EXPIRE s 20 gt xx", ":1|");
    check_reply(f, "TTL s", ":20|");
    check_reply(f, "EXPIRE s x FOO", "-ERR Unsupported option FOO|");
    check_reply(f, "EXPIRE s x NX XX",
                "-ERR NX and XX, GT or LT options at the same time are not compatible|");
    check_reply(f, "EXPIRE s x GT LT",
                "-ERR GT and LT options at the same time are not compatible|");
    check_reply(f, "EXPIRE s x", "-ERR value is not an integer or out of range|");
    check_reply(f, "EXPIRE none 9223372036854775807",
                "-ERR invalid expire time in 'expire' command|");
    check_reply(f, "PEXPIRE none 9223372036854775807",
                "-ERR invalid expire time in 'pexpire' command|");
    check_reply(f, "EXPIREAT none -9223372036854775807",
                "-ERR invalid expire time in 'expireat' command|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_del_exists_type),
        check_test(test_keys_scan),
        check_test(test_flush),
        check_test(test_expire),
        check_test(test_expire_conditions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
