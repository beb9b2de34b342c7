/* The string commands on the fake host. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_set_get(void **state)
{
    struct fake *f = *state;
    check_reply(f, "GET s", "$-1|");
    check_reply(f, "SET s v", "+OK|");
    assert_string_equal(fake_events(f), "set:s ");
    check_reply(f, "GET s", "$1|v|");
    check_reply(f, "SET s ''", "+OK|");
    check_reply(f, "GET s", "$0||");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "GET z", WRONGTYPE);
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "MGET s z none s", "*4|$1|v|$-1|$-1|$1|v|");
    check_reply(f, "SET z v", "+OK|");
    check_reply(f, "TYPE z", "+string|");
    check_reply(f, "GET a b", "-ERR wrong number of arguments for 'get' command|");
}

static void test_conditions(void **state)
{
    struct fake *f = *state;
    check_reply(f, "SET s v XX", "$-1|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "SET s v NX", "+OK|");
    check_reply(f, "SET s w nx", "$-1|");
    check_reply(f, "SET s w XX", "+OK|");
    check_reply(f, "SET s x GET", "$1|w|");
    check_reply(f, "SET s y GET NX", "$1|x|");
    check_reply(f, "GET s", "$1|x|");
    check_reply(f, "SET n y GET NX", "$-1|");
    check_reply(f, "GET n", "$1|y|");
    check_reply(f, "SET none y GET XX", "$-1|");
    check_reply(f, "EXISTS none", ":0|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "SET z v GET", WRONGTYPE);
    check_reply(f, "SET z v NX", "$-1|");
    check_reply(f, "TYPE z", "+zset|");
}

static void replace_value(struct fake *f, void *ctx)
{
    struct host *h = fake_host(f);
    (void)ctx;
    assert_true(host_key_put_string(h, (struct yn_bytes){"s", 1},
                                    (struct yn_bytes){"new", 3}, false));
}

/* A large value is sent in steps, and stays what it was. */
static void test_get_in_steps(void **state)
{
    static const char text[] =
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
    char line[128], want[128];
    struct fake *f = *state;
    snprintf(line, sizeof line, "SET s %s", text);
    snprintf(want, sizeof want, "$%zu|%s|", sizeof text - 1, text);
    for (size_t budget = 1; budget <= sizeof text; budget++) {
        fake_set_jobs(f, budget, true, replace_value, NULL);
        check_reply(f, line, "+OK|");
        check_reply(f, "GET s", want);
        assert_int_equal(fake_job_steps(f), (strlen(want) + 2 + budget - 1) / budget);
    }
    fake_set_jobs(f, SIZE_MAX, false, NULL, NULL);
    check_reply(f, line, "+OK|");
    check_reply(f, "GET s", want);
}

static void test_expiry(void **state)
{
    struct fake *f = *state;
    check_reply(f, "SET s v EX 10", "+OK|");
    assert_string_equal(fake_events(f), "set:s expire:s ");
    check_reply(f, "TTL s", ":10|");
    check_reply(f, "SET s w KEEPTTL", "+OK|");
    check_reply(f, "TTL s", ":10|");
    check_reply(f, "SET s w", "+OK|");
    check_reply(f, "TTL s", ":-1|");
    check_reply(f, "SET s w PX 1500 PX 2500", "+OK|");
    check_reply(f, "PTTL s", ":2500|");
    check_reply(f, "SET s w EXAT 1700000100", "+OK|");
    check_reply(f, "TTL s", ":100|");
    check_reply(f, "SET s w PXAT 1700000100500", "+OK|");
    check_reply(f, "PTTL s", ":100500|");
    fake_set_now(f, FAKE_NOW_MS + 100500);
    check_reply(f, "GET s", "$-1|");
    check_reply(f, "SET s v PXAT 1", "+OK|");
    check_reply(f, "GET s", "$-1|");
}

static void test_errors(void **state)
{
    struct fake *f = *state;
    const char *syntax = "-ERR syntax error|";
    const char *invalid = "-ERR invalid expire time in 'set' command|";
    check_reply(f, "SET s", "-ERR wrong number of arguments for 'set' command|");
    check_reply(f, "SET s v FOO", syntax);
    check_reply(f, "SET s v NX XX", syntax);
    check_reply(f, "SET s v XX NX", syntax);
    check_reply(f, "SET s v EX", syntax);
    check_reply(f, "SET s v EX 1 PX 1", syntax);
    check_reply(f, "SET s v EX 1 EXAT 1", syntax);
    check_reply(f, "SET s v KEEPTTL EX 1", syntax);
    check_reply(f, "SET s v EX 1 KEEPTTL", syntax);
    check_reply(f, "SET s v EX x FOO", syntax); /* the number is looked at last */
    check_reply(f, "SET s v EX x", "-ERR value is not an integer or out of range|");
    check_reply(f, "SET s v EX 0", invalid);
    check_reply(f, "SET s v PXAT -1", invalid);
    check_reply(f, "SET s v EX 9223372036854775807", invalid);
    check_reply(f, "SET s v PX 9223372036854775807", invalid);
    check_reply(f, "SET s v EX 9223372036854775", invalid);
    check_reply(f, "EXISTS s", ":0|");
    fake_fail_puts(f, true);
    check_reply(f, "SET s v", "-ERR out of memory: the command was not executed|");
    assert_string_equal(fake_events(f), "");
}

static void check_event(struct fake *f, const char *line, const char *reply,
                        const char *events)
{
    check_reply(f, line, reply);
    assert_string_equal(fake_events(f), events);
}

static void test_forms_of_set(void **state)
{
    struct fake *f = *state;
    check_event(f, "SETNX s v", ":1|", "set:s ");
    check_event(f, "SETNX s w", ":0|", "");
    check_event(f, "SETEX s 10 w", "+OK|", "set:s expire:s ");
    check_reply(f, "PTTL s", ":10000|");
    check_event(f, "PSETEX s 1500 x", "+OK|", "set:s expire:s ");
    check_reply(f, "PTTL s", ":1500|");
    check_event(f, "GETSET s y", "$1|x|", "set:s ");
    check_reply(f, "PTTL s", ":-1|");
    check_event(f, "GETSET n y", "$-1|", "set:n ");
    check_event(f, "GETDEL n", "$1|y|", "del:n ");
    check_event(f, "GETDEL n", "$-1|", "");
    check_reply(f, "SETEX s 0 v", "-ERR invalid expire time in 'setex' command|");
    check_reply(f, "PSETEX s -1 v", "-ERR invalid expire time in 'psetex' command|");
    check_reply(f, "SETEX s x v", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_event(f, "GETSET z v", WRONGTYPE, "");
    check_event(f, "GETDEL z", WRONGTYPE, "");
    check_event(f, "SETNX z v", ":0|", "");
    check_event(f, "SETEX z 10 v", "+OK|", "set:z expire:z ");
}

static void test_getex(void **state)
{
    struct fake *f = *state;
    const char *invalid = "-ERR invalid expire time in 'getex' command|";
    check_event(f, "GETEX none EX 0", "$-1|", ""); /* the number is looked at last */
    check_reply(f, "SET s v", "+OK|");
    check_event(f, "GETEX s", "$1|v|", "");
    check_event(f, "GETEX s PERSIST", "$1|v|", "");
    check_event(f, "GETEX s EX 10", "$1|v|", "expire:s ");
    check_reply(f, "PTTL s", ":10000|");
    check_event(f, "GETEX s PERSIST", "$1|v|", "persist:s ");
    check_reply(f, "PTTL s", ":-1|");
    check_event(f, "GETEX s EXAT 1700000100", "$1|v|", "expire:s ");
    check_reply(f, "TTL s", ":100|");
    check_reply(f, "GETEX s EX 0", invalid);
    check_reply(f, "GETEX s PXAT -5", invalid);
    check_reply(f, "GETEX s EX x", "-ERR value is not an integer or out of range|");
    check_reply(f, "GETEX s EX 1 PERSIST", "-ERR syntax error|");
    check_reply(f, "GETEX s PERSIST PX 1", "-ERR syntax error|");
    check_reply(f, "GETEX s KEEPTTL", "-ERR syntax error|");
    check_event(f, "GETEX s PXAT 1", "$1|v|", "del:s ");
    check_reply(f, "EXISTS s", ":0|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "GETEX z EX 0", WRONGTYPE);
}

static void test_many(void **state)
{
    struct fake *f = *state;
    check_event(f, "MSET a 1 b 2 a 3", "+OK|", "set:a set:b set:a ");
    check_reply(f, "MGET a b", "*2|$1|3|$1|2|");
    check_event(f, "MSETNX c 1 b 2", ":0|", "");
    check_reply(f, "EXISTS c", ":0|");
    check_event(f, "MSETNX c 1 d 2", ":1|", "set:c set:d ");
    check_reply(f, "MSET a 1 b", "-ERR wrong number of arguments for 'mset' command|");
    check_reply(f, "MSETNX a 1 b",
                "-ERR wrong number of arguments for 'msetnx' command|");
    check_reply(f, "EXPIRE a 10", ":1|");
    check_reply(f, "ZADD z 1 m", ":1|");
    check_reply(f, "MSET a 1 z 2", "+OK|");
    check_reply(f, "TTL a", ":-1|");
    check_reply(f, "GET z", "$1|2|");
    fake_fail_puts(f, true);
    check_event(f, "MSET a 7 b 8", "-ERR out of memory: the command was not executed|",
                "");
    check_reply(f, "MGET a b", "*2|$1|1|$1|2|");
}

static void test_parts(void **state)
{
    struct fake *f = *state;
    check_event(f, "APPEND s abc", ":3|", "append:s ");
    check_reply(f, "PEXPIRE s 5000", ":1|");
    check_event(f, "APPEND s def", ":6|", "append:s ");
    check_reply(f, "PTTL s", ":5000|");
    check_event(f, "APPEND s ''", ":6|", "append:s ");
    check_reply(f, "STRLEN s", ":6|");
    check_reply(f, "STRLEN none", ":0|");
    check_event(f, "SETRANGE s 1 XY", ":6|", "setrange:s ");
    check_reply(f, "GET s", "$6|aXYdef|");
    check_event(f, "SETRANGE s 2 ''", ":6|", "");
    check_event(f, "SETRANGE none 5 ''", ":0|", "");
    check_reply(f, "EXISTS none", ":0|");
    check_event(f, "SETRANGE s 8 Z", ":9|", "setrange:s ");
    const struct yn_bytes get[] = {{"GET", 3}, {"s", 1}};
    struct yn_bytes reply = fake_run_words(f, 2, get);
    assert_int_equal(reply.len, 15);
    assert_memory_equal(reply.data, "$9\r\naXYdef\0\0Z\r\n", 15);
    check_reply(f, "GETRANGE s 1 2", "$2|XY|");
    check_reply(f, "SUBSTR s -1 -1", "$1|Z|");
    check_reply(f, "GETRANGE s 5 1", "$0||");
    check_reply(f, "GETRANGE s 0 -10", "$0||");
    check_reply(f, "GETRANGE s 0 -9", "$1|a|");
    check_reply(f, "GETRANGE s -9223372036854775808 -9223372036854775808", "$0||");
    check_reply(f, "GETRANGE none 0 -1", "$0||");
    check_reply(f, "GETRANGE s 0 x", "-ERR value is not an integer or out of range|");
    check_reply(f, "SETRANGE s -1 x", "-ERR offset is out of range|");
    const char *too_long =
        "-ERR string exceeds maximum allowed size (proto-max-bulk-len)|";
    check_event(f, "SETRANGE s 4096 x", too_long, "");
    check_event(f, "SETRANGE s 9223372036854775807 xyz", too_long, "");
    check_event(f, "SETRANGE s 4095 x", ":4096|", "setrange:s ");
    check_event(f, "APPEND s x", too_long, "");
    check_reply(f, "APPEND s ''", ":4096|");
    check_reply(f, "ZADD z 1 a", ":1|");
    check_event(f, "APPEND z x", WRONGTYPE, "");
    check_event(f, "SETRANGE z 0 ''", WRONGTYPE, "");
    check_reply(f, "STRLEN z", WRONGTYPE);
    check_reply(f, "GETRANGE z 0 1", WRONGTYPE);
}

static void test_integers(void **state)
{
    struct fake *f = *state;
    const char *overflow = "-ERR increment or decrement would overflow|";
    const char *none = "-ERR value is not an integer or out of range|";
    check_event(f, "INCR n", ":1|", "incrby:n ");
    check_event(f, "DECRBY n 5", ":-4|", "incrby:n ");
    check_reply(f, "PEXPIRE n 5000", ":1|");
    check_event(f, "INCRBY n 10", ":6|", "incrby:n ");
    check_reply(f, "PTTL n", ":5000|");
    check_event(f, "DECR n", ":5|", "incrby:n ");
    check_reply(f, "SET n 9223372036854775807", "+OK|");
    check_event(f, "INCR n", overflow, "");
    check_reply(f, "DECRBY n -1", overflow);
    check_reply(f, "SET n -9223372036854775808", "+OK|");
    check_reply(f, "DECR n", overflow);
    check_reply(f, "INCRBY n -9223372036854775808", overflow);
    check_reply(f, "DECRBY n -9223372036854775808", "-ERR decrement would overflow|");
    check_reply(f, "INCRBY n 9223372036854775807", ":-1|");
    check_reply(f, "INCRBY n 1.5", none);
    check_reply(f, "SET n 1.0", "+OK|");
    check_reply(f, "INCR n", none);
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "INCR z", WRONGTYPE);
    check_reply(f, "INCRBY z x", none); /* the argument comes first */
}

static void test_floats(void **state)
{
    struct fake *f = *state;
    const char *none = "-ERR value is not a valid float|";
    check_reply(f, "SET x 10.50 EX 100", "+OK|");
    check_event(f, "INCRBYFLOAT x 0.1", "$4|10.6|", "incrbyfloat:x ");
    check_reply(f, "TTL x", ":100|");
    check_reply(f, "INCRBYFLOAT x -5", "$3|5.6|");
    check_reply(f, "SET x 5.0e3", "+OK|");
    check_reply(f, "INCRBYFLOAT x 2.0e2", "$4|5200|");
    check_reply(f, "INCRBYFLOAT none -0", "$1|0|");
    check_reply(f, "INCRBYFLOAT x abc", none);
    check_reply(f, "INCRBYFLOAT x ' 1'", none);
    check_reply(f, "INCRBYFLOAT x nan", none);
    check_event(f, "INCRBYFLOAT x inf", "-ERR increment would produce NaN or Infinity|",
                "");
    check_reply(f, "SET x text", "+OK|");
    check_reply(f, "INCRBYFLOAT x 1", none);
    check_reply(f, "ZADD z 1 a", ":1|");
    check_reply(f, "INCRBYFLOAT z abc", WRONGTYPE); /* the key comes first */
}

/* Large values in replies of every command that has one, held while the key changes. */
static void test_large_replies(void **state)
{
    static const char text[] =
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz";
    static const char *const lines[] = {"GETSET s n", "SET s n GET", "GETDEL s",
                                        "GETEX s EX 5", "GET s"};
    char set[128], want[512];
    struct fake *f = *state;
    snprintf(set, sizeof set, "SET s %s", text);
    fake_set_jobs(f, 7, true, replace_value, NULL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        check_reply(f, set, "+OK|");
        snprintf(want, sizeof want, "$%zu|%s|", sizeof text - 1, text);
        check_reply(f, lines[i], want);
        assert_true(fake_job_steps(f) > 1);
    }
    check_reply(f, set, "+OK|");
    check_reply(f, "SET t small", "+OK|");
    snprintf(want, sizeof want, "*4|$5|small|$%zu|%s|$-1|$%zu|%s|", sizeof text - 1, text,
             sizeof text - 1, text);
    check_reply(f, "MGET t s none s", want);
    assert_true(fake_job_steps(f) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_set_get),      check_test(test_conditions),
        check_test(test_get_in_steps), check_test(test_expiry),
        check_test(test_errors),       check_test(test_forms_of_set),
        check_test(test_getex),        check_test(test_many),
        check_test(test_parts),        check_test(test_integers),
        check_test(test_floats),       check_test(test_large_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
