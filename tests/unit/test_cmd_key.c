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

static void test_rename(void **state)
{
    struct fake *f = *state;
    check_reply(f, "RENAME none x", "-ERR no such key|");
    check_reply(f, "RENAMENX none none", "-ERR no such key|");
    check_reply(f, "SET a 1", "+OK|");
    check_reply(f, "EXPIRE a 100", ":1|");
    check_reply(f, "ZADD z 1 m", ":1|");
    check_reply(f, "RENAME a a", "+OK|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "RENAMENX a z", ":0|");
    check_reply(f, "RENAMENX a a", ":0|");
    check_reply(f, "RENAME a z", "+OK|");
    assert_string_equal(fake_events(f), "rename_from:a rename_to:z ");
    check_reply(f, "GET z", "$1|1|");
    check_reply(f, "TTL z", ":100|");
    check_reply(f, "EXISTS a", ":0|");
    check_reply(f, "RENAMENX z b", ":1|");
    assert_string_equal(fake_events(f), "rename_from:z rename_to:b ");
    fake_fail_puts(f, true);
    check_reply(f, "RENAME b c", "-ERR out of memory: the command was not executed|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "MOVE b 1", "-ERR out of memory: the command was not executed|");
    check_reply(f, "COPY b c", "-ERR out of memory: the command was not executed|");
    assert_string_equal(fake_events(f), "");
}

static void test_copy_move(void **state)
{
    struct fake *f = *state;
    const char *same = "-ERR source and destination objects are the same|";
    check_reply(f, "ZADD z 1 m 2 n", ":2|");
    check_reply(f, "PEXPIRE z 5000", ":1|");
    check_reply(f, "COPY z z", same);
    check_reply(f, "COPY none none DB 9", "-ERR DB index is out of range|");
    check_reply(f, "COPY none y DB 1", ":0|");
    check_reply(f, "COPY z y DB", "-ERR syntax error|");
    check_reply(f, "COPY z y replace DB 99999999999",
                "-ERR value is out of range, value must between -2147483648 and "
                "2147483647|");
    check_reply(f, "COPY z y", ":1|");
    assert_string_equal(fake_events(f), "copy_to:y ");
    check_reply(f, "ZREM z m", ":1|");
    check_reply(f, "ZRANGE y 0 -1", "*2|$1|m|$1|n|");
    check_reply(f, "PTTL y", ":5000|");
    check_reply(f, "COPY z y", ":0|");
    check_reply(f, "COPY z y REPLACE", ":1|");
    check_reply(f, "ZRANGE y 0 -1", "*1|$1|n|");
    check_reply(f, "COPY z z DB 1", ":1|");
    check_reply(f, "MOVE z 1", ":0|"); /* there already */
    check_reply(f, "MOVE none 1", ":0|");
    check_reply(f, "MOVE none 0", same);
    check_reply(f, "MOVE z x", "-ERR value is not an integer or out of range|");
    check_reply(f, "MOVE z -1", "-ERR DB index is out of range|");
    check_reply(f, "MOVE y 1", ":1|");
    assert_string_equal(fake_events(f), "move_from:y move_to:y ");
    check_reply(f, "KEYS *", "*1|$1|z|");
    check_reply(f, "SWAPDB 0 1", "+OK|");
    assert_string_equal(fake_events(f), "db:0 db:1 ");
    check_reply(f, "DBSIZE", ":2|");
    check_reply(f, "SWAPDB x y", "-ERR invalid first DB index|");
    check_reply(f, "SWAPDB 0 99999999999", "-ERR invalid second DB index|");
    check_reply(f, "SWAPDB 0 3", "-ERR DB index is out of range|");
    check_reply(f, "FLUSHDB", "+OK|");
    assert_string_equal(fake_events(f), "db:0 ");
}

static void test_use(void **state)
{
    struct fake *f = *state;
    check_reply(f, "RANDOMKEY", "$-1|");
    check_reply(f, "OBJECT IDLETIME none", "$-1|");
    check_reply(f, "SET a 1", "+OK|");
    check_reply(f, "RANDOMKEY", "$1|a|");
    fake_set_now(f, FAKE_NOW_MS + 9999);
    check_reply(f, "EXISTS a", ":1|");
    check_reply(f, "TYPE a", "+string|");
    check_reply(f, "TTL a", ":-1|");
    check_reply(f, "OBJECT ENCODING a", "$3|int|");
    check_reply(f, "OBJECT IDLETIME a", ":9|");
    check_reply(f, "TOUCH a none a", ":2|");
    check_reply(f, "OBJECT IDLETIME a", ":0|");
}

static void check_encoding(struct fake *f, const char *put, const char *name)
{
    char expected[32];
    snprintf(expected, sizeof expected, "$%zu|%s|", strlen(name), name);
    fake_run(f, put);
    check_reply(f, "OBJECT ENCODING k", expected);
}

static void test_object(void **state)
{
    struct fake *f = *state;
    check_encoding(f, "SET k 12", "int");
    check_reply(f, "OBJECT REFCOUNT k", ":2147483647|");
    check_reply(f, "COPY k l", ":1|");
    check_reply(f, "OBJECT REFCOUNT l", ":1|");
    check_reply(f, "OBJECT ENCODING l", "$3|int|");
    check_encoding(f, "SET k -1", "int");
    check_reply(f, "OBJECT REFCOUNT k", ":1|");
    check_encoding(f, "SET k 9223372036854775807", "int");
    check_encoding(f, "SET k 9223372036854775808", "embstr");
    check_encoding(f, "SET k 012", "embstr");
    check_encoding(f, "SET k 01234567890123456789012345678901234567890123", "embstr");
    check_encoding(f, "SET k 012345678901234567890123456789012345678901234", "raw");
    fake_run(f, "SET k 12");
    host_key_set_form(fake_host(f), (struct yn_bytes){"k", 1}, HOST_FORM_RAW);
    check_reply(f, "OBJECT ENCODING k", "$3|raw|");
    host_key_set_form(fake_host(f), (struct yn_bytes){"k", 1}, HOST_FORM_TEXT);
    check_reply(f, "OBJECT ENCODING k", "$6|embstr|");
    fake_run(f, "DEL k");
    check_encoding(f, "ZADD k 1 a", "listpack");
    check_encoding(
        f,
        "ZADD k 1 a-member-that-is-longer-than-the-sixty-four-bytes-that-are-short-here",
        "skiplist");
    fake_set_resp(f, 3);
    check_reply(f, "OBJECT ENCODING none", "_|");
    check_reply(f, "OBJECT FREQ none", "_|");
    check_reply(f, "OBJECT IDLE none",
                "-ERR unknown subcommand 'IDLE'. Try OBJECT HELP.|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_del_exists_type),
        check_test(test_keys_scan),
        check_test(test_flush),
        check_test(test_expire),
        check_test(test_expire_conditions),
        check_test(test_rename),
        check_test(test_copy_move),
        check_test(test_use),
        check_test(test_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
