/* GET, SET and MGET on the fake host. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_set_get),      check_test(test_conditions),
        check_test(test_get_in_steps), check_test(test_expiry),
        check_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
