/* Removing members by name and by range. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_zrem(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c", ":3|");
    check_reply(f, "ZREM k x", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZREM k a x a", ":1|");
    assert_string_equal(fake_events(f), "zrem:k ");
    check_reply(f, "ZREM k b c", ":2|");
    assert_string_equal(fake_events(f), "zrem:k del:k ");
    check_reply(f, "EXISTS k", ":0|");
    check_reply(f, "ZREM k b", ":0|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZREM s b", WRONGTYPE);
}

static void test_by_rank(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c 4 d 5 e", ":5|");
    check_reply(f, "ZREMRANGEBYRANK k 5 9", ":0|");
    check_reply(f, "ZREMRANGEBYRANK k 2 1", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZREMRANGEBYRANK k 1 2", ":2|");
    assert_string_equal(fake_events(f), "zremrangebyrank:k ");
    check_reply(f, "ZRANGE k 0 -1", "*3|$1|a|$1|d|$1|e|");
    check_reply(f, "ZREMRANGEBYRANK k -1 99", ":1|");
    check_reply(f, "ZREMRANGEBYRANK k -99 99", ":2|");
    assert_string_equal(fake_events(f), "zremrangebyrank:k del:k ");
    check_reply(f, "EXISTS k", ":0|");
    check_reply(f, "ZREMRANGEBYRANK k 0 -1", ":0|");
    check_reply(f, "ZREMRANGEBYRANK k 0 x",
                "-ERR value is not an integer or out of range|");
    check_reply(f, "ZREMRANGEBYRANK k 0 1 REV",
                "-ERR wrong number of arguments for 'zremrangebyrank' command|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZREMRANGEBYRANK s x 1",
                "-ERR value is not an integer or out of range|");
    check_reply(f, "ZREMRANGEBYRANK s 0 1", WRONGTYPE);
}

static void test_by_score(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 2 b2 3 c inf d", ":5|");
    check_reply(f, "ZREMRANGEBYSCORE k (3 (inf", ":0|");
    check_reply(f, "ZREMRANGEBYSCORE k 2 (3", ":2|");
    assert_string_equal(fake_events(f), "zremrangebyscore:k ");
    check_reply(f, "ZRANGE k 0 -1", "*3|$1|a|$1|c|$1|d|");
    check_reply(f, "ZREMRANGEBYSCORE k 1 x", "-ERR min or max is not a float|");
    check_reply(f, "ZREMRANGEBYSCORE k -inf +inf", ":3|");
    assert_string_equal(fake_events(f), "zremrangebyscore:k del:k ");
    check_reply(f, "EXISTS k", ":0|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZREMRANGEBYSCORE s 1 2", WRONGTYPE);
}

static void test_by_lex(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 0 a 0 b 0 c 0 d", ":4|");
    check_reply(f, "ZREMRANGEBYLEX k (a (b", ":0|");
    check_reply(f, "ZREMRANGEBYLEX k [b [c", ":2|");
    assert_string_equal(fake_events(f), "zremrangebylex:k ");
    check_reply(f, "ZREMRANGEBYLEX k a b",
                "-ERR min or max not valid string range item|");
    check_reply(f, "ZREMRANGEBYLEX k - +", ":2|");
    assert_string_equal(fake_events(f), "zremrangebylex:k del:k ");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZREMRANGEBYLEX s - +", WRONGTYPE);
}

/* Many members, in leaves of their own, out of the middle. */
static void test_many(void **state)
{
    struct fake *f = *state;
    char line[64];
    for (int i = 0; i < 3000; i++) {
        snprintf(line, sizeof line, "ZADD k %d member-%04d", i, i);
        fake_run(f, line);
    }
    check_reply(f, "ZREMRANGEBYRANK k 10 -11", ":2980|");
    assert_string_equal(fake_events(f), "zremrangebyrank:k ");
    check_reply(f, "ZCARD k", ":20|");
    check_reply(f, "ZRANGE k 9 10", "*2|$11|member-0009|$11|member-2990|");
    assert_null(
        yn_zset_check(host_key_read(fake_host(f), (struct yn_bytes){"k", 1}).zset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_zrem),   check_test(test_by_rank), check_test(test_by_score),
        check_test(test_by_lex), check_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
