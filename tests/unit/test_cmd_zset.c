/* The sorted set commands on the fake host. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_zadd(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b", ":2|");
    assert_string_equal(fake_events(f), "zadd:k ");
    check_reply(f, "ZADD k 1 a 3 b 4 c", ":1|");
    check_reply(f, "ZADD k CH 1 a 2 b 4 c", ":1|");
    check_reply(f, "ZADD k CH 1 a", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZADD k NX 9 a 9 d", ":1|");
    check_reply(f, "ZADD k XX CH 8 d 8 e", ":1|");
    check_reply(f, "ZADD k GT CH 7 d 9 d 5 e", ":2|");
    check_reply(f, "ZADD k LT CH 9 d 8 d 6 f", ":2|");
    check_reply(f, "ZRANGE k 0 -1 WITHSCORES",
                "*12|$1|a|$1|1|$1|b|$1|2|$1|c|$1|4|$1|e|$1|5|$1|f|$1|6|$1|d|$1|8|");
    check_reply(f, "ZADD none XX 1 a", ":0|");
    check_reply(f, "ZADD none XX INCR 1 a", "$-1|");
    check_reply(f, "EXISTS none", ":0|");
    check_reply(f, "ZADD k CH 0 z", ":1|");
    check_reply(f, "ZADD k CH -0 z", ":0|");
}

static void test_zadd_incr(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k INCR 1.5 a", "$3|1.5|");
    assert_string_equal(fake_events(f), "zincr:k ");
    check_reply(f, "ZADD k INCR 2 a", "$3|3.5|");
    check_reply(f, "ZADD k INCR 0 a", "$3|3.5|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZADD k NX INCR 1 a", "$-1|");
    check_reply(f, "ZADD k XX INCR 1 b", "$-1|");
    check_reply(f, "ZADD k GT INCR -1 a", "$-1|");
    check_reply(f, "ZADD k LT INCR -1 a", "$3|2.5|");
    check_reply(f, "ZADD k inf i", ":1|");
    check_reply(f, "ZADD k INCR -inf i", "-ERR resulting score is not a number (NaN)|");
    check_reply(f, "ZSCORE k i", "$3|inf|");
    fake_set_resp(f, 3);
    check_reply(f, "ZADD k INCR 2 a", ",4.5|");
    check_reply(f, "ZADD k NX INCR 2 a", "_|");
}

static void test_zadd_errors(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1", "-ERR wrong number of arguments for 'zadd' command|");
    check_reply(f, "ZADD k NX XX 1", "-ERR syntax error|");
    check_reply(f, "ZADD k NX XX", "-ERR syntax error|");
    check_reply(f, "ZADD k NX XX 1 a",
                "-ERR XX and NX options at the same time are not compatible|");
    check_reply(f, "ZADD k GT LT 1 a",
                "-ERR GT, LT, and/or NX options at the same time are not compatible|");
    check_reply(f, "ZADD k GT NX 1 a",
                "-ERR GT, LT, and/or NX options at the same time are not compatible|");
    check_reply(f, "ZADD k INCR 1 a 2 b",
                "-ERR INCR option supports a single increment-element pair|");
    check_reply(f, "ZADD k 1 a x b", "-ERR value is not a valid float|");
    check_reply(f, "ZADD k nan b", "-ERR value is not a valid float|");
    check_reply(f, "EXISTS k", ":0|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZADD s x b", "-ERR value is not a valid float|");
    check_reply(f, "ZADD s 1 b", WRONGTYPE);
}

static void test_zincrby(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZINCRBY k 1.5 a", "$3|1.5|");
    assert_string_equal(fake_events(f), "zincr:k ");
    check_reply(f, "ZINCRBY k -2 a", "$4|-0.5|");
    check_reply(f, "ZINCRBY k 0 a", "$4|-0.5|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZINCRBY k inf b", "$3|inf|");
    check_reply(f, "ZINCRBY k -inf b", "-ERR resulting score is not a number (NaN)|");
    check_reply(f, "ZSCORE k b", "$3|inf|");
    check_reply(f, "ZINCRBY k 1e400 a", "-ERR value is not a valid float|");
    check_reply(f, "ZINCRBY k nan a", "-ERR value is not a valid float|");
    check_reply(f, "ZINCRBY k 1",
                "-ERR wrong number of arguments for 'zincrby' command|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZINCRBY s x a", "-ERR value is not a valid float|");
    check_reply(f, "ZINCRBY s 1 a", WRONGTYPE);
    fake_set_resp(f, 3);
    check_reply(f, "ZINCRBY k 1 a", ",0.5|");
}

static void test_reads(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c 56.4412578701582 d", ":4|");
    check_reply(f, "ZCARD k", ":4|");
    check_reply(f, "ZCARD none", ":0|");
    check_reply(f, "ZSCORE k d", "$16|56.4412578701582|");
    check_reply(f, "ZSCORE k x", "$-1|");
    check_reply(f, "ZSCORE none x", "$-1|");
    check_reply(f, "ZMSCORE k a x c", "*3|$1|1|$-1|$1|3|");
    check_reply(f, "ZMSCORE none x y", "*2|$-1|$-1|");
    check_reply(f, "ZRANK k c", ":2|");
    check_reply(f, "ZREVRANK k c", ":1|");
    check_reply(f, "ZRANK k x", "$-1|");
    check_reply(f, "ZRANK k c WITHSCORE", "*2|:2|$1|3|");
    check_reply(f, "ZREVRANK k c withscore", "*2|:1|$1|3|");
    check_reply(f, "ZRANK k x WITHSCORE", "*-1|");
    check_reply(f, "ZRANK none x WITHSCORE", "*-1|");
    check_reply(f, "ZRANK k c SCORE", "-ERR syntax error|");
    check_reply(f, "ZRANK k c WITHSCORE x",
                "-ERR wrong number of arguments for 'zrank' command|");
    fake_set_resp(f, 3);
    check_reply(f, "ZSCORE k a", ",1|");
    check_reply(f, "ZMSCORE k a x", "*2|,1|_|");
    check_reply(f, "ZRANK k c WITHSCORE", "*2|:2|,3|");
    check_reply(f, "ZRANK k x WITHSCORE", "_|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZCARD s", WRONGTYPE);
    check_reply(f, "ZSCORE s a", WRONGTYPE);
    check_reply(f, "ZMSCORE s a", WRONGTYPE);
    check_reply(f, "ZRANK s a", WRONGTYPE);
    check_reply(f, "ZRANGE s 0 1", WRONGTYPE);
    check_reply(f, "ZSCAN s 0", WRONGTYPE);
}

static void test_zscan(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a", ":1|");
    check_reply(f, "ZSCAN k 0", "*2|$1|0|*2|$1|a|$1|1|");
    check_reply(f, "ZADD k 2 b1", ":1|");
    check_reply(f, "ZSCAN k 0 MATCH b?", "*2|$1|0|*2|$2|b1|$1|2|");
    check_reply(f, "ZSCAN k 0 match x* count 1", "*2|$1|0|*0|");
    check_reply(f, "ZSCAN none 0 FOO", "*2|$1|0|*0|");
    check_reply(f, "ZSCAN none x", "-ERR invalid cursor|");
    check_reply(f, "ZSCAN k -1", "-ERR invalid cursor|");
    check_reply(f, "ZSCAN k 18446744073709551616", "-ERR invalid cursor|");
    check_reply(f, "ZSCAN k 0 FOO", "-ERR syntax error|");
    check_reply(f, "ZSCAN k 0 MATCH", "-ERR syntax error|");
    check_reply(f, "ZSCAN k 0 COUNT 0", "-ERR syntax error|");
    check_reply(f, "ZSCAN k 0 COUNT x", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZSCAN k 0 TYPE zset", "-ERR syntax error|");
    check_reply(f, "ZSCAN k 0 NOVALUES",
                "-ERR NOVALUES option can only be used in HSCAN|");
    check_reply(f, "ZSCAN none 0 NOVALUES", "*2|$1|0|*0|");
    fake_set_resp(f, 3);
    check_reply(f, "ZSCAN k 0 MATCH a", "*2|$1|0|*2|$1|a|$1|1|"); /* scores stay bulks */
}

/* Everything is handed out although the set is large, and in several steps. */
static void test_zscan_all(void **state)
{
    struct fake *f = *state;
    char line[64], cursor[32] = "0";
    size_t n_found = 0, n_steps = 0;
    for (int i = 0; i < 2000; i++) {
        snprintf(line, sizeof line, "ZADD k %d.5 m%d", i * 7919 % 2000, i);
        fake_run(f, line);
    }
    do {
        snprintf(line, sizeof line, "ZSCAN k %s COUNT 50", cursor);
        const char *reply = fake_run(f, line);
        size_t n_words;
        assert_int_equal(
            sscanf(reply, "*2\r\n$%*d\r\n%31[0-9]\r\n*%zu\r\n", cursor, &n_words), 2);
        n_found += n_words / 2;
        n_steps++;
        assert_true(n_steps < 5000);
    } while (strcmp(cursor, "0") != 0);
    assert_true(n_found >= 2000);
    assert_true(n_steps > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_zadd),        check_test(test_zadd_incr),
        check_test(test_zadd_errors), check_test(test_zincrby),
        check_test(test_reads),       check_test(test_zscan),
        check_test(test_zscan_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
