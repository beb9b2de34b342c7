/* ZUNION, ZINTER, ZDIFF, their STORE forms, ZINTERCARD, ZRANGESTORE. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"
#define SYNTAX "-ERR syntax error|"

static void fill(struct fake *f)
{
    check_reply(f, "ZADD a 1 x 2 y 3 z", ":3|");
    check_reply(f, "ZADD b 10 y 20 z 30 w 40 v", ":4|");
    check_reply(f, "SET s text", "+OK|");
}

static void test_shapes(void **state)
{
    struct fake *f = *state;
    fill(f);
    check_reply(f, "ZUNION 2 a b", "*5|$1|x|$1|y|$1|z|$1|w|$1|v|");
    check_reply(f, "ZINTER 2 a b WITHSCORES", "*4|$1|y|$2|12|$1|z|$2|23|");
    check_reply(f, "ZDIFF 2 a b WITHSCORES", "*2|$1|x|$1|1|");
    check_reply(f, "ZDIFF 2 a a", "*0|");
    check_reply(f, "ZUNION 1 none", "*0|");
    check_reply(f, "ZINTERCARD 2 a b", ":2|");
    check_reply(f, "ZINTERCARD 2 a b LIMIT 1", ":1|");
    check_reply(f, "ZINTERCARD 2 a b LIMIT 0", ":2|");
    check_reply(f, "ZINTERCARD 2 a none", ":0|");
    fake_set_resp(f, 3);
    check_reply(f, "ZINTER 2 a b WITHSCORES", "*2|*2|$1|y|,12|*2|$1|z|,23|");
    check_reply(f, "ZINTER 2 a b", "*2|$1|y|$1|z|");
    check_reply(f, "ZUNION 1 none WITHSCORES", "*0|");
}

static void test_scores(void **state)
{
    struct fake *f = *state;
    fill(f);
    check_reply(f, "ZINTER 2 a b WEIGHTS 2 -1 WITHSCORES", "*4|$1|z|$3|-14|$1|y|$2|-6|");
    check_reply(f, "ZUNION 2 a b AGGREGATE MIN WITHSCORES",
                "*10|$1|x|$1|1|$1|y|$1|2|$1|z|$1|3|$1|w|$2|30|$1|v|$2|40|");
    check_reply(f, "ZINTER 2 a b aggregate max withscores", "*4|$1|y|$2|10|$1|z|$2|20|");
    check_reply(f, "ZADD inf inf x -inf y", ":2|");
    check_reply(f, "ZADD minus -inf x 1 y", ":2|");
    check_reply(f, "ZUNION 2 inf minus WITHSCORES", "*4|$1|y|$4|-inf|$1|x|$1|0|");
    check_reply(f, "ZUNION 1 inf WEIGHTS 0 WITHSCORES", "*4|$1|x|$1|0|$1|y|$1|0|");
    check_reply(f, "ZUNION 1 a WEIGHTS inf WITHSCORES",
                "*6|$1|x|$3|inf|$1|y|$3|inf|$1|z|$3|inf|");
    /* a product that is no number: 0 in the smallest source, passed over in others */
    check_reply(f, "ZINTER 2 minus a WEIGHTS 0 1 AGGREGATE MIN WITHSCORES",
                "*4|$1|x|$1|0|$1|y|$1|0|");
    check_reply(f, "ZADD large inf x inf y inf z 1 q", ":4|");
    check_reply(f, "ZINTER 2 a large WEIGHTS 1 0 AGGREGATE MIN WITHSCORES",
                "*6|$1|x|$1|1|$1|y|$1|2|$1|z|$1|3|");
    check_reply(f, "ZINTER 2 a large WEIGHTS 1 0 WITHSCORES",
                "*6|$1|x|$1|0|$1|y|$1|0|$1|z|$1|0|");
    check_reply(f, "ZUNION 2 a a WITHSCORES", "*6|$1|x|$1|2|$1|y|$1|4|$1|z|$1|6|");
}

static void test_stores(void **state)
{
    struct fake *f = *state;
    fill(f);
    check_reply(f, "ZUNIONSTORE d 2 a b", ":5|");
    assert_string_equal(fake_events(f), "zunionstore:d ");
    check_reply(f, "ZINTERSTORE a 2 a b", ":2|"); /* the destination is a source */
    assert_string_equal(fake_events(f), "zinterstore:a ");
    check_reply(f, "ZRANGE a 0 -1 WITHSCORES", "*4|$1|y|$2|12|$1|z|$2|23|");
    check_reply(f, "ZDIFFSTORE s 2 b a", ":2|"); /* held a string */
    assert_string_equal(fake_events(f), "zdiffstore:s ");
    check_reply(f, "ZRANGE s 0 -1 WITHSCORES", "*4|$1|w|$2|30|$1|v|$2|40|");
    check_reply(f, "ZDIFFSTORE d 2 a a", ":0|"); /* empty: the key goes */
    assert_string_equal(fake_events(f), "del:d ");
    check_reply(f, "EXISTS d", ":0|");
    check_reply(f, "ZINTERSTORE d 2 a none", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZUNIONSTORE b 1 none", ":0|");
    assert_string_equal(fake_events(f), "del:b ");
    check_reply(f, "EXPIRE a 100", ":1|");
    check_reply(f, "ZUNIONSTORE a 1 a", ":2|");
    check_reply(f, "TTL a", ":-1|");
}

static void test_zrangestore(void **state)
{
    struct fake *f = *state;
    fill(f);
    check_reply(f, "ZRANGESTORE d b 1 2", ":2|");
    assert_string_equal(fake_events(f), "zrangestore:d ");
    check_reply(f, "ZRANGE d 0 -1 WITHSCORES", "*4|$1|z|$2|20|$1|w|$2|30|");
    check_reply(f, "ZRANGESTORE d b +inf (10 BYSCORE REV LIMIT 0 2", ":2|");
    check_reply(f, "ZRANGE d 0 -1", "*2|$1|w|$1|v|");
    check_reply(f, "ZRANGESTORE b b 0 0", ":1|");
    check_reply(f, "ZRANGE b 0 -1", "*1|$1|y|");
    check_reply(f, "ZRANGESTORE s b [a [z BYLEX", ":1|");
    check_reply(f, "ZRANGESTORE s b 5 9", ":0|");
    assert_string_equal(fake_events(f), "del:s ");
    check_reply(f, "ZRANGESTORE s none 0 -1", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZRANGESTORE d b 0 -1 WITHSCORES", SYNTAX);
    check_reply(f, "ZRANGESTORE d b 0 x",
                "-ERR value is not an integer or out of range|");
    check_reply(f, "SET s text", "+OK|");
    check_reply(f, "ZRANGESTORE d s 0 -1", WRONGTYPE);
    check_reply(f, "ZRANGESTORE d s 0 1 LIMIT 1 2",
                "-ERR syntax error, LIMIT is only supported in combination with either "
                "BYSCORE or BYLEX|");
}

/* The number of keys is looked at first, then the keys, then what follows. */
static void test_errors(void **state)
{
    struct fake *f = *state;
    fill(f);
    check_reply(f, "ZUNION x s", "-ERR value is not an integer or out of range|");
    check_reply(f, "ZUNION 0 s",
                "-ERR at least 1 input key is needed for 'zunion' command|");
    check_reply(f, "ZDIFFSTORE d -1 s",
                "-ERR at least 1 input key is needed for 'zdiffstore' command|");
    check_reply(f, "ZUNION 3 s a", SYNTAX);
    check_reply(f, "ZUNION 9223372036854775807 s a", SYNTAX);
    check_reply(f, "ZUNION 2 none s foo", WRONGTYPE);
    check_reply(f, "ZINTERCARD 2 none s LIMIT x", WRONGTYPE);
    check_reply(f, "ZUNION 2 a b WEIGHTS 1", SYNTAX);
    check_reply(f, "ZUNION 2 a b WEIGHTS 1 x", "-ERR weight value is not a float|");
    check_reply(f, "ZUNION 2 a b WEIGHTS 1 nan", "-ERR weight value is not a float|");
    check_reply(f, "ZUNION 2 a b AGGREGATE", SYNTAX);
    check_reply(f, "ZUNION 2 a b AGGREGATE foo", SYNTAX);
    check_reply(f, "ZUNIONSTORE d 2 a b WITHSCORES", SYNTAX);
    check_reply(f, "ZDIFF 2 a b WEIGHTS 1 2", SYNTAX);
    check_reply(f, "ZDIFFSTORE d 2 a b AGGREGATE SUM", SYNTAX);
    check_reply(f, "ZINTERCARD 2 a b LIMIT", SYNTAX);
    check_reply(f, "ZINTERCARD 2 a b LIMIT -1", "-ERR LIMIT can't be negative|");
    check_reply(f, "ZINTERCARD 2 a b LIMIT x", "-ERR LIMIT can't be negative|");
    check_reply(f, "ZINTERCARD 2 a b WITHSCORES", SYNTAX);
    check_reply(f, "ZINTER 1 a LIMIT 1", SYNTAX);
    assert_string_equal(fake_events(f), "");
}

static void flush(struct fake *f, void *ctx)
{
    (void)ctx;
    host_key_flush(fake_host(f), HOST_FLUSH_SYNC);
}

/* A large reply does not need the keys it came from any more. */
static void test_large_replies(void **state)
{
    struct fake *f = *state;
    char line[64];
    for (int i = 0; i < 3000; i++) {
        snprintf(line, sizeof line, "ZADD %s %d.5 member-%d", i % 2 ? "a" : "b", i, i);
        fake_run(f, line);
    }
    fake_run(f, "ZUNIONSTORE d 2 a b WEIGHTS 1 1");
    char *whole = strdup(fake_run(f, "ZRANGE d 0 -1 WITHSCORES"));
    assert_non_null(whole);
    fake_set_jobs(f, 100, true, flush, NULL);
    assert_string_equal(fake_run(f, "ZUNION 2 a b WITHSCORES"), whole);
    assert_true(fake_job_steps(f) > 100);
    assert_int_equal(host_key_count(fake_host(f)), 0);
    free(whole);
}

static void test_keys(void **state)
{
    struct fake *f = *state;
    check_reply(f, "COMMAND GETKEYS ZUNIONSTORE d 2 a b WEIGHTS 1 2",
                "*3|$1|d|$1|a|$1|b|");
    check_reply(f, "COMMAND GETKEYS ZINTERCARD 1 a LIMIT 1", "*1|$1|a|");
    check_reply(f, "COMMAND GETKEYS ZDIFF 3 a b",
                "-ERR Invalid arguments specified for command|");
    check_reply(
        f, "COMMAND GETKEYSANDFLAGS ZDIFFSTORE d 2 a b",
        "*3|*2|$1|d|*2|+OW|+update|*2|$1|a|*2|+RO|+access|*2|$1|b|*2|+RO|+access|");
    check_reply(f, "COMMAND GETKEYS ZRANGESTORE d s 0 -1", "*2|$1|d|$1|s|");
    assert_non_null(
        strstr(fake_run(f, "COMMAND INFO ZUNION"),
               "$6\r\nkeynum\r\n$4\r\nspec\r\n*6\r\n$9\r\nkeynumidx\r\n:0\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_shapes), check_test(test_scores),
        check_test(test_stores), check_test(test_zrangestore),
        check_test(test_errors), check_test(test_large_replies),
        check_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
