/*
 * Memory failures in commands: all or nothing, and a clear answer.
 * link: --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "check_reply.h"
#include "fail_alloc.h"

#define NOMEM "-ERR out of memory: the command was not executed\r\n"
#define N_MEMBERS 400

/* Commands that change sets, on many members, so that leaves split and merge. */
static char *long_line(const char *head, const char *format)
{
    size_t cap = 64 * 1024;
    char *line = malloc(cap);
    assert_non_null(line);
    size_t len = (size_t)snprintf(line, cap, "%s", head);
    for (int i = 0; i < 150; i++) {
        int n = i * 37 % (N_MEMBERS + 60);
        len += (size_t)snprintf(line + len, cap - len, format, n % 90, n % 70, n);
    }
    return line;
}

static void fill(struct fake *f)
{
    char line[128];
    fake_run(f, "FLUSHALL");
    for (int i = 0; i < N_MEMBERS; i++) {
        snprintf(line, sizeof line, "GEOADD k %d.%03d %d a-longer-member-%d", i % 170, i,
                 i % 80, i);
        fake_run(f, line);
    }
    fake_run(f, "SET d string");
}

static char *dump(struct fake *f)
{
    char *text = strdup(fake_run(f, "ZRANGE k 0 -1 WITHSCORES"));
    assert_non_null(text);
    return text;
}

static const char *check_set(struct fake *f)
{
    struct host_value value = host_key_read(fake_host(f), (struct yn_bytes){"k", 1});
    return value.type == HOST_ZSET ? yn_zset_check(value.zset) : NULL;
}

/* Fails the 1st, 2nd, 3rd ... allocation of the command until none is left to fail. Where
 * the command answers that memory is out, nothing may have changed. Returns how often it
 * did. */
static size_t sweep(struct fake *f, const char *line)
{
    size_t n_refused = 0;
    for (size_t fail_at = 1;; fail_at++) {
        assert_true(fail_at < 5000);
        fill(f);
        char *before = dump(f);
        allocs_reset(fail_at, false);
        const char *reply = fake_run(f, line);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        bool is_refused = strcmp(reply, NOMEM) == 0;
        if (is_refused)
            assert_string_equal(fake_events(f), "");
        assert_null(check_set(f));
        char *after = dump(f);
        if (is_refused)
            assert_string_equal(after, before);
        if (is_refused)
            assert_string_equal(fake_run(f, "GET d"), "$6\r\nstring\r\n");
        assert_true(has_failed || !is_refused);
        n_refused += is_refused;
        free(before);
        free(after);
        if (!has_failed)
            return n_refused;
    }
}

/* Lets memory run out for good at each allocation: the set stays whole, and when it could
 * not be put back to what it was the host is told that it changed. */
static void sweep_for_good(struct fake *f, const char *line)
{
    for (size_t fail_at = 1;; fail_at++) {
        assert_true(fail_at < 5000);
        fill(f);
        char *before = dump(f);
        allocs_reset(fail_at, true);
        const char *reply = fake_run(f, line);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        bool is_refused = strcmp(reply, NOMEM) == 0;
        bool is_told = strlen(fake_events(f)) > 0;
        assert_null(check_set(f));
        char *after = dump(f);
        if (is_refused && !is_told)
            assert_string_equal(after, before);
        free(before);
        free(after);
        if (!has_failed)
            return;
    }
}

static void test_geoadd(void **state)
{
    struct fake *f = *state;
    char *line = long_line("GEOADD k", " %d %d a-longer-member-%d");
    assert_true(sweep(f, line) > 0);
    sweep_for_good(f, line);
    free(line);
    line = long_line("GEOADD new", " %d %d m-%d");
    assert_true(sweep(f, line) > 0);
    free(line);
}

static void test_zadd_zrem(void **state)
{
    struct fake *f = *state;
    char *line = long_line("ZADD k XX CH", " %d.%d a-longer-member-%d");
    assert_true(sweep(f, line) > 0);
    sweep_for_good(f, line);
    free(line);
    sweep(f, "ZADD k INCR 5 a-longer-member-5");
    sweep(f, "ZINCRBY k 5 a-longer-member-5");
    sweep(f, "ZREM k a-longer-member-5 a-longer-member-6 a-longer-member-7");
}

/* Of many members, so that leaves go; the larger pops read from a frozen view. */
static void test_removals(void **state)
{
    static const char *const lines[] = {
        "ZREMRANGEBYRANK k 3 -4",
        "ZREMRANGEBYRANK k 0 -1",
        "ZREMRANGEBYRANK k 100 250",
        "ZREMRANGEBYSCORE k 1e15 inf",
        "ZREMRANGEBYLEX k - +",
        "ZPOPMIN k",
        "ZPOPMAX k 20",
        "ZPOPMIN k 150",
        "ZPOPMAX k 1000",
        "ZMPOP 2 none k MAX COUNT 300",
        "BZMPOP 0 2 none k MIN COUNT 100",
        "BZPOPMAX k 0",
    };
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        sweep(f, lines[i]);
        sweep_for_good(f, lines[i]);
    }
    assert_true(sweep(f, "ZPOPMIN k 150") > 0);
}

static void test_combinations(void **state)
{
    static const char *const lines[] = {
        "ZUNION 2 k k WEIGHTS 1 2 WITHSCORES",
        "ZUNIONSTORE d 3 k none k",
        "ZINTERSTORE k 2 k k AGGREGATE MAX",
        "ZDIFFSTORE k 2 k none",
        "ZRANGESTORE d k 10 300",
        "ZUNIONSTORE d 2 k none WEIGHTS 0.1 1",
    };
    struct fake *f = *state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        assert_true(sweep(f, lines[i]) > 0);
        sweep_for_good(f, lines[i]);
    }
    fake_fail_puts(f, true);
    check_reply(f, "ZRANGESTORE d k 0 1",
                "-ERR out of memory: the command was not executed|");
    fake_fail_puts(f, false);
}

static void test_searches(void **state)
{
    struct fake *f = *state;
    assert_true(sweep(f, "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 5000 km") > 0);
    assert_true(sweep(f, "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 5000 km ASC WITHDIST") >
                0);
    assert_true(sweep(f, "GEOSEARCH k BYPOLYGON 4 5 5 90 5 90 70 5 70 COUNT 30") > 0);
    assert_true(sweep(f, "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 5000 km") > 0);
    assert_true(sweep(f, "GEORADIUS k 20 20 5000 km COUNT 100 STOREDIST k") > 0);
    assert_true(sweep(f, "ZRANGE k 0 -1") > 0);
    sweep(f, "ZRANGEBYSCORE k 1e500 inf");
}

static void test_others(void **state)
{
    struct fake *f = *state;
    sweep(f, "ZSCAN k 0 COUNT 1000");
    assert_true(sweep(f, "ZRANDMEMBER k 5") > 0);
    assert_true(sweep(f, "ZRANDMEMBER k 200") > 0);
    assert_true(sweep(f, "ZRANDMEMBER k -200 WITHSCORES") > 0);
    assert_true(sweep(f, "ZRANDMEMBER k 400") > 0);
    sweep(f, "SET d new GET");
    sweep(f, "SET d new GET EX 100");
    sweep(f, "GETSET d new");
    sweep(f, "GETEX d EX 100");
    sweep(f, "MSET d 1 d 2");
    sweep(f, "MGET d d k");
    sweep(f, "APPEND d tail");
    sweep(f, "SETRANGE d 20 tail");
    sweep(f, "DUMP d");
    sweep(f, "DUMP k");
    sweep(f, "KEYS *");
    sweep(f, "SCAN 0 MATCH *");
    sweep(f, "COMMAND GETKEYS MGET a b c");
    sweep(f, "COPY k copy");
    sweep(f, "COPY k d DB 1");
    sweep(f, "OBJECT ENCODING k");
}

/* Errors that need memory for their text say that there is none. */
static void test_error_texts(void **state)
{
    struct fake *f = *state;
    fake_run(f, "PERSIST k"); /* the host's own buffers are there */
    allocs_reset(1, true);
    assert_string_equal(fake_run(f, "EXPIRE k 1 FOO"), NOMEM);
    assert_string_equal(fake_run(f, "GEOADD k 200 1 a"), NOMEM);
    allocs_reset(0, false);
}

/* A value that is restored in place of another one. */
static void test_restore(void **state)
{
    struct fake *f = *state;
    struct yn_bytes dump[] = {{"DUMP", 4}, {"k", 1}};
    fill(f);
    struct yn_bytes reply = fake_run_words(f, 2, dump);
    size_t head_len =
        (size_t)((char *)memchr(reply.data, '\n', reply.len) + 1 - reply.data);
    struct yn_buf payload;
    yn_buf_init(&payload);
    yn_buf_append(&payload, reply.data + head_len, reply.len - head_len - 2);
    struct yn_bytes restore[] = {{"RESTORE", 7},
                                 {"d", 1},
                                 {"1000", 4},
                                 {payload.data, payload.len},
                                 {"REPLACE", 7}};
    for (size_t fail_at = 1;; fail_at++) {
        fill(f);
        allocs_reset(fail_at, true);
        reply = fake_run_words(f, 5, restore);
        bool has_failed = allocs.n_calls >= fail_at;
        allocs_reset(0, false);
        if (!has_failed)
            break;
        assert_memory_equal(reply.data, NOMEM, strlen(NOMEM));
        assert_string_equal(fake_events(f), "");
        assert_string_equal(fake_run(f, "GET d"), "$6\r\nstring\r\n");
        assert_string_equal(fake_run(f, "PTTL d"), ":-1\r\n");
    }
    assert_string_equal(fake_events(f), "restore:d ");
    yn_buf_clear(&payload);
}

static void test_jobs_held(void **state)
{
    struct fake *f = *state;
    fake_set_jobs(f, 1, true, NULL, NULL);
    sweep(f, "DUMP k");
    sweep(f, "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 5000 km");
    sweep(f, "ZRANGE k 0 -1 WITHSCORES");
    sweep(f, "ZRANDMEMBER k 5");
    sweep(f, "ZRANDMEMBER k 200");
    sweep(f, "ZPOPMIN k 200");
}

/* The same when the long part of it is done apart. */
static void test_work_apart(void **state)
{
    struct fake *f = *state;
    fake_set_work(f, true, 0, NULL, NULL);
    assert_true(sweep(f, "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 5000 km ASC") > 0);
    assert_true(sweep(f, "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 5000 km") > 0);
    assert_true(sweep(f, "ZUNION 2 k k") > 0);
    assert_true(sweep(f, "ZINTERSTORE d 2 k k") > 0);
    assert_true(sweep(f, "ZDIFFSTORE d 2 k none") > 0);
    assert_true(sweep(f, "ZINTERCARD 2 k k") > 0);
    assert_true(sweep(f, "ZRANGESTORE d k 5 200") > 0);
    assert_true(sweep(f, "COPY k d REPLACE") > 0);
    fake_set_work(f, false, 0, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_geoadd),       check_test(test_zadd_zrem),
        check_test(test_combinations), check_test(test_removals),
        check_test(test_searches),     check_test(test_others),
        check_test(test_error_texts),  check_test(test_jobs_held),
        check_test(test_restore),      check_test(test_work_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
