/* Popping, and asking to wait for something to pop. */
#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_zpop(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c 4 d 5 e", ":5|");
    check_reply(f, "ZPOPMIN k 0", "*0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZPOPMIN k", "*2|$1|a|$1|1|");
    assert_string_equal(fake_events(f), "zpopmin:k ");
    check_reply(f, "ZPOPMAX k 2", "*4|$1|e|$1|5|$1|d|$1|4|");
    assert_string_equal(fake_events(f), "zpopmax:k ");
    check_reply(f, "ZPOPMAX k 9223372036854775807", "*4|$1|c|$1|3|$1|b|$1|2|");
    assert_string_equal(fake_events(f), "zpopmax:k del:k ");
    check_reply(f, "EXISTS k", ":0|");
    check_reply(f, "ZPOPMIN k", "*0|");
    check_reply(f, "ZPOPMIN k 3", "*0|");
    check_reply(f, "ZADD k 1 '' 2 b 3 c", ":3|");
    fake_set_resp(f, 3);
    check_reply(f, "ZPOPMIN k", "*2|$0||,1|");
    check_reply(f, "ZPOPMIN k 1", "*1|*2|$1|b|,2|");
    check_reply(f, "ZPOPMAX k 7", "*1|*2|$1|c|,3|");
    check_reply(f, "ZPOPMAX k 7", "*0|");
}

static void test_zpop_errors(void **state)
{
    struct fake *f = *state;
    static const char out_of_range[] = "-ERR value is out of range, must be positive|";
    check_reply(f, "ZADD k 1 a", ":1|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZPOPMIN k -1", out_of_range);
    check_reply(f, "ZPOPMIN k x", out_of_range);
    check_reply(f, "ZPOPMAX s 9223372036854775808", out_of_range);
    check_reply(f, "ZPOPMAX s 0", WRONGTYPE);
    check_reply(f, "ZPOPMAX s 1 2", "-ERR syntax error|");
    check_reply(f, "ZPOPMAX", "-ERR wrong number of arguments for 'zpopmax' command|");
}

static void test_zmpop(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k 1 a 2 b 3 c", ":3|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZMPOP 2 none k MIN", "*2|$1|k|*1|*2|$1|a|$1|1|");
    assert_string_equal(fake_events(f), "zpopmin:k ");
    check_reply(f, "ZMPOP 2 k s max count 9", "*2|$1|k|*2|*2|$1|c|$1|3|*2|$1|b|$1|2|");
    assert_string_equal(fake_events(f), "zpopmax:k del:k ");
    check_reply(f, "ZMPOP 2 k none MIN", "*-1|");
    check_reply(f, "ZMPOP 2 k s MIN", WRONGTYPE);
    check_reply(f, "ZADD k 1 a", ":1|");
    fake_set_resp(f, 3);
    check_reply(f, "ZMPOP 1 k MIN", "*2|$1|k|*1|*2|$1|a|,1|");
    check_reply(f, "ZMPOP 1 k MIN", "_|");
}

static void test_zmpop_errors(void **state)
{
    struct fake *f = *state;
    static const char syntax[] = "-ERR syntax error|";
    static const char numkeys[] = "-ERR numkeys should be greater than 0|";
    static const char count[] = "-ERR count should be greater than 0|";
    check_reply(f, "ZADD k 1 a", ":1|");
    check_reply(f, "ZMPOP 0 k MIN", numkeys);
    check_reply(f, "ZMPOP x k MIN", numkeys);
    check_reply(f, "ZMPOP 9223372036854775808 k MIN", numkeys);
    check_reply(f, "ZMPOP 9223372036854775807 k MIN", syntax);
    check_reply(f, "ZMPOP 2 k MIN", syntax);
    check_reply(f, "ZMPOP 1 k FOO", syntax);
    check_reply(f, "ZMPOP 1 k COUNT 1 MIN", syntax);
    check_reply(f, "ZMPOP 1 k MIN COUNT", syntax);
    check_reply(f, "ZMPOP 1 k MIN COUNT 1 COUNT 1", syntax);
    check_reply(f, "ZMPOP 1 k MIN COUNT 0 FOO", count);
    check_reply(f, "ZMPOP 1 k MIN COUNT -1", count);
    check_reply(f, "ZMPOP 1 k MIN COUNT x", count);
    check_reply(f, "ZMPOP 1 k", "-ERR wrong number of arguments for 'zmpop' command|");
    check_reply(f, "ZCARD k", ":1|");
}

static void check_start(const char *bytes, const char *expected)
{
    if (strncmp(bytes, expected, strlen(expected)) != 0)
        fail_msg("expected: %s\n     got: %.60s", expected, bytes);
}

/* Pops are the same with what is too much to be copied: many entries, or long ones. */
static void test_many(void **state)
{
    struct fake *f = *state;
    char line[64];
    for (int i = 0; i < 500; i++) {
        snprintf(line, sizeof line, "ZADD k %d %03d", i, i);
        fake_run(f, line);
    }
    fake_set_jobs(f, 1, false, NULL, NULL);
    const char *reply = fake_run(f, "ZPOPMAX k 300");
    check_start(reply, "*600\r\n$3\r\n499\r\n$3\r\n499\r\n$3\r\n498\r\n");
    assert_int_equal(fake_job_steps(f), 300);
    assert_string_equal(fake_events(f), "zpopmax:k ");
    check_reply(f, "ZCARD k", ":200|");
    reply = fake_run(f, "ZMPOP 1 k MIN COUNT 1000");
    check_start(reply, "*2\r\n$1\r\nk\r\n*200\r\n*2\r\n$3\r\n000\r\n$1\r\n0\r\n");
    assert_int_equal(fake_job_steps(f), 200);
    assert_string_equal(fake_events(f), "zpopmin:k del:k ");
    check_reply(f, "EXISTS k", ":0|");

    size_t len = 100 * 1000;
    char *member = malloc(len);
    assert_non_null(member);
    memset(member, 'm', len);
    const struct yn_bytes add[] = {{"ZADD", 4},   {"k", 1}, {"1", 1},
                                   {member, len}, {"2", 1}, {"b", 1}};
    const struct yn_bytes pop[] = {{"BZPOPMIN", 8}, {"k", 1}, {"0", 1}};
    fake_run_words(f, 6, add);
    struct yn_bytes bytes = fake_run_words(f, 3, pop);
    assert_int_equal(bytes.len,
                     strlen("*3\r\n$1\r\nk\r\n$100000\r\n\r\n$1\r\n1\r\n") + len);
    check_start(bytes.data, "*3\r\n$1\r\nk\r\n$100000\r\nmmm");
    check_reply(f, "ZRANGE k 0 -1", "*1|$1|b|");
    free(member);
}

/* While the reply of a pop is under way the set goes on changing. */
static void add_more(struct fake *fake, void *ctx)
{
    struct host *h = fake_host(fake);
    struct yn_zset *set = host_key_write(h, (struct yn_bytes){"k", 1}).zset;
    char name[16];
    int *n = ctx;
    snprintf(name, sizeof name, "new%d", ++*n);
    yn_zset_put(set, (struct yn_bytes){name, strlen(name)}, *n, NULL);
}

static void test_changes_meanwhile(void **state)
{
    struct fake *f = *state;
    struct yn_buf expected;
    char line[64];
    int n = 0;
    yn_buf_init(&expected);
    yn_buf_append_text(&expected, "*200\r\n");
    for (int i = 0; i < 400; i++) {
        snprintf(line, sizeof line, "ZADD k %d.5 old%03d", i, i);
        fake_run(f, line);
        if (i < 100) {
            snprintf(line, sizeof line, "$6\r\nold%03d\r\n$%d\r\n%d.5\r\n", i,
                     i < 10 ? 3 : 4, i);
            yn_buf_append_text(&expected, line);
        }
    }
    yn_buf_append(&expected, "", 1);
    fake_set_jobs(f, 100, true, add_more, &n);
    assert_string_equal(fake_run(f, "ZPOPMIN k 100"), expected.data);
    assert_true(n > 10);
    yn_buf_clear(&expected);
}

static void expect_block(struct fake *f, const char *line, size_t n_keys,
                         int64_t timeout_ms)
{
    check_reply(f, line, "");
    struct cmd_block block = fake_block(f);
    assert_true(block.wanted);
    assert_int_equal(block.n_keys, n_keys);
    assert_int_equal(block.timeout_ms, timeout_ms);
    assert_int_equal(block.on_timeout, CMD_TIMEOUT_NULL_ARRAY);
    assert_string_equal(fake_events(f), "");
}

static void test_blocking(void **state)
{
    struct fake *f = *state;
    expect_block(f, "BZPOPMIN k 0", 1, 0);
    expect_block(f, "BZPOPMAX k l m 1.5", 3, 1500);
    expect_block(f, "BZPOPMAX k 0.0001", 1, 1);
    expect_block(f, "BZPOPMAX k -0.0001", 1, 0);
    expect_block(f, "BZMPOP 2 2 k l MIN", 2, 2000);
    expect_block(f, "BZMPOP 0x1p-1 1 k MAX COUNT 2", 1, 500);
    check_reply(f, "ZADD l 1 a 2 b 3 c 4 d", ":4|");
    check_reply(f, "BZPOPMIN k l 1", "*3|$1|l|$1|a|$1|1|");
    assert_false(fake_block(f).wanted);
    assert_string_equal(fake_events(f), "zpopmin:l ");
    check_reply(f, "BZPOPMAX l l 1", "*3|$1|l|$1|d|$1|4|");
    check_reply(f, "BZMPOP 1 2 k l MIN COUNT 9", "*2|$1|l|*2|*2|$1|b|$1|2|*2|$1|c|$1|3|");
    assert_string_equal(fake_events(f), "zpopmin:l del:l ");
    check_reply(f, "ZADD l 1 a", ":1|");
    fake_set_resp(f, 3);
    check_reply(f, "BZPOPMIN l 0", "*3|$1|l|$1|a|,1|");
    expect_block(f, "BZPOPMIN l 0", 1, 0);
}

static void test_blocking_errors(void **state)
{
    struct fake *f = *state;
    static const char no_float[] = "-ERR timeout is not a float or out of range|";
    static const char too_large[] = "-ERR timeout is out of range|";
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZADD k 1 a", ":1|");
    check_reply(f, "BZPOPMIN s k 0", WRONGTYPE);
    check_reply(f, "BZPOPMIN none s 0", WRONGTYPE);
    assert_false(fake_block(f).wanted);
    check_reply(f, "BZPOPMIN s x", no_float);
    check_reply(f, "BZPOPMIN k ''", no_float);
    check_reply(f, "BZPOPMIN k ' 1'", no_float);
    check_reply(f, "BZPOPMIN k '1 '", no_float);
    check_reply(f, "BZPOPMIN k nan", no_float);
    check_reply(f, "BZPOPMIN k 1e5000", no_float);
    check_reply(f, "BZPOPMIN k 1e-5000", no_float);
    check_reply(f, "BZPOPMIN k -1", "-ERR timeout is negative|");
    check_reply(f, "BZPOPMIN k -inf", "-ERR timeout is negative|");
    check_reply(f, "BZPOPMIN k inf", too_large);
    check_reply(f, "BZPOPMIN k 1e400", too_large);
    check_reply(f, "BZPOPMIN k 9223372036854776", too_large);
    check_reply(f, "BZPOPMIN k 9223372036854775", too_large); /* behind the last clock */
    check_reply(f, "BZMPOP -1 0 k MIN", "-ERR numkeys should be greater than 0|");
    check_reply(f, "BZMPOP -1 1 k FOO", "-ERR syntax error|");
    check_reply(f, "BZMPOP -1 1 k MIN COUNT 0", "-ERR count should be greater than 0|");
    check_reply(f, "BZMPOP x 1 k MIN", no_float);
    check_reply(f, "BZMPOP -1 1 k MIN", "-ERR timeout is negative|");
    check_reply(f, "ZCARD k", ":1|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_zpop),     check_test(test_zpop_errors),
        check_test(test_zmpop),    check_test(test_zmpop_errors),
        check_test(test_many),     check_test(test_changes_meanwhile),
        check_test(test_blocking), check_test(test_blocking_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
