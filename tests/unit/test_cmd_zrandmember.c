/* ZRANDMEMBER: which members are drawn, and how often. */
#include <math.h>

#include "check_reply.h"

#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"
#define MEMBERS_MAX 1000

static uint64_t seed(void)
{
    const char *text = getenv("YN_SEED");
    uint64_t value = text != NULL ? strtoull(text, NULL, 10) : 1;
    print_message("YN_SEED=%llu\n", (unsigned long long)value);
    return value;
}

static void fill(struct fake *f, int n)
{
    char line[64];
    fake_run(f, "DEL k");
    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "ZADD k %d m%03d", i, i);
        fake_run(f, line);
    }
    fake_set_random(f, seed());
}

static void test_words(void **state)
{
    struct fake *f = *state;
    static const char integer[] = "-ERR value is not an integer or out of range|";
    static const char range[] = "-ERR value is out of range|";
    check_reply(f, "ZADD k 1 a 2 b 3 c", ":3|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "ZRANDMEMBER k 3", "*3|$1|c|$1|b|$1|a|");
    check_reply(f, "ZRANDMEMBER k 9223372036854775807", "*3|$1|c|$1|b|$1|a|");
    check_reply(f, "ZRANDMEMBER k 4 withscores", "*6|$1|c|$1|3|$1|b|$1|2|$1|a|$1|1|");
    check_reply(f, "ZRANDMEMBER k 0", "*0|");
    check_reply(f, "ZRANDMEMBER k 0 WITHSCORES", "*0|");
    check_reply(f, "ZRANDMEMBER none", "$-1|");
    check_reply(f, "ZRANDMEMBER none -5", "*0|");
    check_reply(f, "ZRANDMEMBER none 5 WITHSCORES", "*0|");
    check_reply(f, "ZRANDMEMBER s", WRONGTYPE);
    check_reply(f, "ZRANDMEMBER s 1", WRONGTYPE);
    check_reply(f, "ZRANDMEMBER s x y", integer);
    check_reply(f, "ZRANDMEMBER k 9223372036854775808", integer);
    check_reply(f, "ZRANDMEMBER k -9223372036854775808",
                "-ERR value is out of range, value must between -9223372036854775807 and "
                "9223372036854775807|");
    check_reply(f, "ZRANDMEMBER s 1 y", "-ERR syntax error|");
    check_reply(f, "ZRANDMEMBER k 1 WITHSCORES x", "-ERR syntax error|");
    check_reply(f, "ZRANDMEMBER k 4611686018427387904 WITHSCORES", range);
    check_reply(f, "ZRANDMEMBER k -4611686018427387904 WITHSCORES", range);
    check_reply(f, "ZRANDMEMBER k 4611686018427387903 WITHSCORES",
                "*6|$1|c|$1|3|$1|b|$1|2|$1|a|$1|1|");
    fake_set_resp(f, 3);
    check_reply(f, "ZRANDMEMBER none", "_|");
    check_reply(f, "ZRANDMEMBER k 4 WITHSCORES", "*3|*2|$1|c|,3|*2|$1|b|,2|*2|$1|a|,1|");
    check_reply(f, "ZREM k a b", ":2|");
    check_reply(f, "ZRANDMEMBER k", "$1|c|");
    check_reply(f, "ZRANDMEMBER k -2 WITHSCORES", "*2|*2|$1|c|,3|*2|$1|c|,3|");
    check_reply(f, "ZRANDMEMBER k -2", "*2|$1|c|$1|c|");
}

/* Counts the members of a reply. Returns how many there are. */
static size_t tally(const char *reply, size_t *counts)
{
    size_t n = 0;
    for (const char *at = reply; (at = strstr(at, "\r\nm")) != NULL; n++, at += 3)
        counts[strtoul(at + 3, NULL, 10)]++;
    return n;
}

/* Draws again and again: each member must come as often as the others, within six
 * standard deviations. */
static void check_uniform(struct fake *f, const char *line, size_t n_members,
                          size_t n_drawn, bool is_distinct)
{
    size_t counts[MEMBERS_MAX] = {0};
    size_t n_runs = 200000 / n_drawn;
    for (size_t run = 0; run < n_runs; run++) {
        size_t now[MEMBERS_MAX] = {0};
        assert_int_equal(tally(fake_run(f, line), now), n_drawn);
        for (size_t i = 0; i < n_members; i++) {
            assert_true(!is_distinct || now[i] <= 1);
            counts[i] += now[i];
        }
    }
    double p = (double)n_drawn / (double)n_members;
    double expected = p * (double)n_runs;
    double deviation = sqrt(expected * (is_distinct ? 1 - p : 1));
    for (size_t i = 0; i < n_members; i++)
        assert_true(fabs((double)counts[i] - expected) < 6 * deviation + 1);
    for (size_t i = n_members; i < MEMBERS_MAX; i++)
        assert_int_equal(counts[i], 0);
}

static void test_uniform(void **state)
{
    struct fake *f = *state;
    fill(f, 100);
    check_uniform(f, "ZRANDMEMBER k", 100, 1, false);
    check_uniform(f, "ZRANDMEMBER k -40", 100, 40, false);
    check_uniform(f, "ZRANDMEMBER k 40", 100, 40, true);
    check_uniform(f, "ZRANDMEMBER k 99", 100, 99, true);
    check_uniform(f, "ZRANDMEMBER k 5", 100, 5, true);
    fill(f, 900);
    check_uniform(f, "ZRANDMEMBER k 50", 900, 50, true);
    check_uniform(f, "ZRANDMEMBER k 500", 900, 500, true);
    check_uniform(f, "ZRANDMEMBER k -2000", 900, 2000, false);
}

/* Of a small set every choice of two must be as likely. */
static void test_pairs(void **state)
{
    struct fake *f = *state;
    size_t counts[16] = {0};
    fill(f, 4);
    for (int run = 0; run < 12000; run++) {
        size_t now[MEMBERS_MAX] = {0}, pair = 0;
        tally(fake_run(f, "ZRANDMEMBER k 2"), now);
        for (size_t i = 0; i < 4; i++)
            pair |= now[i] << i;
        counts[pair]++;
    }
    for (unsigned pair = 0; pair < 16; pair++) {
        if (__builtin_popcount(pair) == 2)
            assert_true(counts[pair] > 1700 && counts[pair] < 2300);
        else
            assert_int_equal(counts[pair], 0);
    }
}

/* The set is emptied while the reply is under way. */
static void remove_members(struct fake *fake, void *ctx)
{
    struct host_value value = host_key_write(fake_host(fake), (struct yn_bytes){"k", 1});
    char name[16];
    int *n = ctx;
    for (int i = 0; i < 20 && *n < 899; i++) {
        snprintf(name, sizeof name, "m%03d", (*n)++);
        yn_zset_remove(value.zset, (struct yn_bytes){name, 4}, NULL);
    }
}

static void test_held(void **state)
{
    struct fake *f = *state;
    static const char *const lines[] = {"ZRANDMEMBER k 50", "ZRANDMEMBER k 400",
                                        "ZRANDMEMBER k -400", "ZRANDMEMBER k 900"};
    static const size_t n_drawn[] = {50, 400, 400, 900};
    for (size_t i = 0; i < 4; i++) {
        size_t counts[MEMBERS_MAX] = {0}, n_members = 0;
        int n = 0;
        fill(f, 900);
        fake_set_jobs(f, 1, true, remove_members, &n);
        assert_int_equal(tally(fake_run(f, lines[i]), counts), n_drawn[i]);
        assert_int_equal(fake_job_steps(f), n_drawn[i]);
        assert_true(n > 500);
        for (size_t k = 0; k < 900; k++) {
            assert_true(i == 2 || counts[k] <= 1);
            n_members += counts[k] > 0;
        }
        assert_true(n_members > 40);
        fake_set_jobs(f, SIZE_MAX, false, NULL, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_words),
        check_test(test_uniform),
        check_test(test_pairs),
        check_test(test_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
