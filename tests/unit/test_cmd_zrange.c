/* Ranges of sorted sets, read and counted. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_zrange_by_rank(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c", ":3|");
    check_reply(f, "ZRANGE k 0 -1", "*3|$1|a|$1|b|$1|c|");
    check_reply(f, "ZRANGE k 1 1", "*1|$1|b|");
    check_reply(f, "ZRANGE k -2 100", "*2|$1|b|$1|c|");
    check_reply(f, "ZRANGE k -100 0", "*1|$1|a|");
    check_reply(f, "ZRANGE k 3 4", "*0|");
    check_reply(f, "ZRANGE k 2 1", "*0|");
    check_reply(f, "ZRANGE k 0 -4", "*0|");
    check_reply(f, "ZRANGE k -9223372036854775808 9223372036854775807",
                "*3|$1|a|$1|b|$1|c|");
    check_reply(f, "ZRANGE k 0 0 REV", "*1|$1|c|");
    check_reply(f, "ZRANGE k 1 -1 REV WITHSCORES", "*4|$1|b|$1|2|$1|a|$1|1|");
    check_reply(f, "ZRANGE none 0 -1", "*0|");
    check_reply(f, "ZRANGE k 0 x", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZRANGE k 0 -1 REV REV", "-ERR syntax error|");
    check_reply(
        f, "ZRANGE k 0 -1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE "
        "or BYLEX|");
    check_reply(f, "ZRANGE k 0 -1 LIMIT 0 -1", "*3|$1|a|$1|b|$1|c|");
    fake_set_resp(f, 3);
    check_reply(f, "ZRANGE k 0 1 WITHSCORES", "*2|*2|$1|a|,1|*2|$1|b|,2|");
}

static void test_zrange_by_score(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 2 b2 3 c inf z", ":5|");
    check_reply(f, "ZRANGEBYSCORE k 2 3", "*3|$1|b|$2|b2|$1|c|");
    check_reply(f, "ZRANGEBYSCORE k (2 +inf WITHSCORES", "*4|$1|c|$1|3|$1|z|$3|inf|");
    check_reply(f, "ZRANGEBYSCORE k -inf (2", "*1|$1|a|");
    check_reply(f, "ZRANGEBYSCORE k (2 (2", "*0|");
    check_reply(f, "ZRANGEBYSCORE k 3 1", "*0|");
    check_reply(f, "ZRANGEBYSCORE k -inf inf LIMIT 1 2", "*2|$1|b|$2|b2|");
    check_reply(f, "ZRANGEBYSCORE k -inf inf LIMIT 4 -1", "*1|$1|z|");
    check_reply(f, "ZRANGEBYSCORE k -inf inf LIMIT -1 2", "*0|");
    check_reply(f, "ZRANGEBYSCORE k -inf inf LIMIT 5 2", "*0|");
    check_reply(f, "ZRANGEBYSCORE k -inf inf LIMIT 0 0", "*0|");
    check_reply(f, "ZRANGE k 3 (1 BYSCORE REV LIMIT 1 1", "*1|$2|b2|");
    check_reply(f, "ZRANGE k 1 3 BYSCORE REV", "*0|");
    /* the ends are not read as scores are */
    check_reply(f, "ZRANGEBYSCORE k '' 1", "*1|$1|a|");
    check_reply(f, "ZRANGEBYSCORE k ( 1", "*1|$1|a|");
    check_reply(f, "ZRANGEBYSCORE k -1e400 (+1e400", "*4|$1|a|$1|b|$2|b2|$1|c|");
    check_reply(f, "ZRANGEBYSCORE k 1e-400 +1.", "*1|$1|a|");
    check_reply(f, "ZRANGEBYSCORE k 0x1 1", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k (0X1p1 9", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k ' 1' 1", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k 1 '1 '", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k 1e400 inf", "*1|$1|z|");
    check_reply(f, "ZRANGEBYSCORE k nan 1", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k 1 1x", "-ERR min or max is not a float|");
    check_reply(f, "ZRANGEBYSCORE k 1 2 REV", "-ERR syntax error|");
    check_reply(f, "ZRANGEBYSCORE k 1 2 LIMIT 0", "-ERR syntax error|");
    check_reply(f, "ZRANGEBYSCORE k 1 2 LIMIT x y",
                "-ERR value is not an integer or out of range|");
    check_reply(f, "ZRANGE k 1 2 BYSCORE BYLEX", "-ERR syntax error|");
}

/* What follows a zero byte is not looked at. */
static void test_zero_bytes(void **state)
{
    struct fake *f = *state;
    const struct yn_bytes count[] = {{"ZCOUNT", 6}, {"k", 1}, {"1\0x", 3}, {"(3\0", 3}};
    check_reply(f, "ZADD k 1 a 2 b 3 c", ":3|");
    assert_memory_equal(fake_run_words(f, 4, count).data, ":2\r\n", 4);
}

static void test_zrange_by_lex(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 0 a 0 b 0 c 0 ca", ":4|");
    check_reply(f, "ZRANGE k - + BYLEX", "*4|$1|a|$1|b|$1|c|$2|ca|");
    check_reply(f, "ZRANGE k [b (ca BYLEX", "*2|$1|b|$1|c|");
    check_reply(f, "ZRANGE k (b [ca BYLEX LIMIT 1 5", "*1|$2|ca|");
    check_reply(f, "ZRANGE k + (a BYLEX REV", "*3|$2|ca|$1|c|$1|b|");
    check_reply(f, "ZRANGE k [ [b BYLEX", "*2|$1|a|$1|b|");
    check_reply(f, "ZRANGE k + - BYLEX", "*0|");
    check_reply(f, "ZRANGE k a [b BYLEX", "-ERR min or max not valid string range item|");
    check_reply(f, "ZRANGE k - '' BYLEX", "-ERR min or max not valid string range item|");
    check_reply(f, "ZRANGE k - + BYLEX WITHSCORES",
                "-ERR syntax error, WITHSCORES not supported in combination with BYLEX|");
}

/* The older forms, one for each kind and direction. */
static void test_older_forms(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 2 b2 3 c", ":4|");
    check_reply(f, "ZREVRANGE k 0 1", "*2|$1|c|$2|b2|");
    check_reply(f, "ZREVRANGE k -1 -1 WITHSCORES", "*2|$1|a|$1|1|");
    check_reply(f, "ZREVRANGE k 0 1 REV", "-ERR syntax error|");
    check_reply(f, "ZREVRANGE k 0 1 BYSCORE", "-ERR syntax error|");
    check_reply(
        f, "ZREVRANGE k 0 1 LIMIT 0 1",
        "-ERR syntax error, LIMIT is only supported in combination with either BYSCORE "
        "or BYLEX|");
    check_reply(f, "ZREVRANGE k 0 x", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZREVRANGEBYSCORE k 3 (1", "*3|$1|c|$2|b2|$1|b|");
    check_reply(f, "ZREVRANGEBYSCORE k (3 -inf LIMIT 1 1 WITHSCORES", "*2|$1|b|$1|2|");
    check_reply(f, "ZREVRANGEBYSCORE k 1 3", "*0|");
    check_reply(f, "ZREVRANGEBYSCORE k x 3", "-ERR min or max is not a float|");
    check_reply(f, "ZREVRANGEBYSCORE k 1 3 BYLEX", "-ERR syntax error|");
    check_reply(f, "ZADD l 0 a 0 b 0 c", ":3|");
    check_reply(f, "ZRANGEBYLEX l (a +", "*2|$1|b|$1|c|");
    check_reply(f, "ZRANGEBYLEX l - + LIMIT 1 1", "*1|$1|b|");
    check_reply(f, "ZRANGEBYLEX l - + LIMIT 1 -1", "*2|$1|b|$1|c|");
    check_reply(f, "ZRANGEBYLEX l - + REV", "-ERR syntax error|");
    check_reply(f, "ZRANGEBYLEX l - + WITHSCORES",
                "-ERR syntax error, WITHSCORES not supported in combination with BYLEX|");
    check_reply(f, "ZRANGEBYLEX l a +", "-ERR min or max not valid string range item|");
    check_reply(f, "ZREVRANGEBYLEX l + [b", "*2|$1|c|$1|b|");
    check_reply(f, "ZREVRANGEBYLEX l (c - LIMIT 1 9", "*1|$1|a|");
    check_reply(f, "ZREVRANGEBYLEX l - +", "*0|");
    check_reply(f, "ZREVRANGEBYLEX none + -", "*0|");
    fake_set_resp(f, 3);
    check_reply(f, "ZREVRANGE k 0 0 WITHSCORES", "*1|*2|$1|c|,3|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZREVRANGE s 0 x", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZREVRANGE s 0 1", WRONGTYPE);
    check_reply(f, "ZRANGEBYLEX s - +", WRONGTYPE);
    check_reply(f, "ZREVRANGEBYSCORE s 1 0", WRONGTYPE);
}

static void test_counts(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 2 b2 3 c inf d", ":5|");
    check_reply(f, "ZCOUNT k 2 3", ":3|");
    check_reply(f, "ZCOUNT k (2 (3", ":0|");
    check_reply(f, "ZCOUNT k -inf +inf", ":5|");
    check_reply(f, "ZCOUNT k -inf (inf", ":4|");
    check_reply(f, "ZCOUNT k 3 1", ":0|");
    check_reply(f, "ZCOUNT none 1 2", ":0|");
    check_reply(f, "ZCOUNT none 1 x", "-ERR min or max is not a float|");
    check_reply(f, "ZCOUNT k 1", "-ERR wrong number of arguments for 'zcount' command|");
    check_reply(f, "ZCOUNT k 1 2 WITHSCORES",
                "-ERR wrong number of arguments for 'zcount' command|");
    check_reply(f, "ZADD l 0 a 0 b 0 c", ":3|");
    check_reply(f, "ZLEXCOUNT l - +", ":3|");
    check_reply(f, "ZLEXCOUNT l (a [b", ":1|");
    check_reply(f, "ZLEXCOUNT l + -", ":0|");
    check_reply(f, "ZLEXCOUNT none - +", ":0|");
    check_reply(f, "ZLEXCOUNT none - b", "-ERR min or max not valid string range item|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZCOUNT s x 0", "-ERR min or max is not a float|");
    check_reply(f, "ZCOUNT s 0 0", WRONGTYPE);
    check_reply(f, "ZLEXCOUNT s - +", WRONGTYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_zrange_by_rank), check_test(test_zrange_by_score),
        check_test(test_zrange_by_lex),  check_test(test_older_forms),
        check_test(test_zero_bytes),     check_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
