/*
 * The work of jobs: done apart, over frozen views, it gives what it gives at once; a
 * store whose source has been changed meanwhile is run again; it can be stopped at any
 * question, and then nothing has happened.
 */
#include "check_reply.h"

#ifdef __SANITIZE_THREAD__ /* forty times as slow */
#define N 4200
#else
#define N 12000
#endif
#define STOPPED "-" FAKE_STOPPED "\r\n"

static const char *const searches[] = {
    "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 3000 km",
    "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 30000 km ASC WITHDIST",
    "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 30000 km DESC COUNT 9000",
    "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 30000 km COUNT 9000 ANY ASC",
    "GEOSEARCH k FROMMEMBER m7 BYBOX 3000 3000 km WITHCOORD WITHHASH",
    "GEOSEARCH k BYPOLYGON 4 5 5 40 5 40 30 5 30 DESC",
    "GEORADIUS k 20 20 4000 km WITHDIST",
    "GEORADIUSBYMEMBER_RO k m9 4000 km ASC COUNT 100",
    "GEOSEARCH k FROMLONLAT -100 20 BYRADIUS 1 km",
};

static const char *const combinations[] = {
    "ZUNION 3 k l o WITHSCORES",
    "ZUNION 2 k k WEIGHTS 2 3 AGGREGATE MIN",
    "ZINTER 2 k l WITHSCORES",
    "ZINTER 2 o p WITHSCORES",
    "ZINTER 3 l k none",
    "ZDIFF 2 k l WITHSCORES",
    "ZDIFF 2 l k",
    "ZDIFF 3 o p k",
    "ZDIFF 2 k k",
    "ZINTERCARD 2 k l",
    "ZINTERCARD 2 k l LIMIT 6000",
    "ZINTERCARD 2 k l LIMIT 7",
    "ZINTERCARD 2 o p",
    "ZINTERCARD 2 k none",
};

static const char *const stores[] = {
    "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 3000 km",
    "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 30000 km STOREDIST",
    "GEOSEARCHSTORE k k FROMLONLAT 20 20 BYRADIUS 3000 km ASC COUNT 500",
    "GEOSEARCHSTORE d k BYPOLYGON 4 5 5 40 5 40 30 5 30",
    "GEORADIUS k 20 20 4000 km STORE d STOREDIST d",
    "GEORADIUSBYMEMBER k m9 4000 km STORE d",
    "GEOSEARCHSTORE d k FROMLONLAT -100 20 BYRADIUS 1 km",
    "ZUNIONSTORE d 3 k l o",
    "ZUNIONSTORE k 2 k l AGGREGATE MAX",
    "ZINTERSTORE d 2 k l WEIGHTS 1 2",
    "ZINTERSTORE d 2 o p",
    "ZDIFFSTORE d 2 k l",
    "ZDIFFSTORE d 2 l k",
    "ZDIFFSTORE d 2 k k",
    "ZRANGESTORE d k 10 -10",
    "ZRANGESTORE d k 3 5 REV",
    "COPY k d REPLACE",
    "COPY k e",
    "COPY k d DB 1",
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Adds members from `first` on, each third of them to the one or the others to the other
 * key. */
#define LINE_MEMBERS 300
static void add_some(struct fake *f, const char *command, const char *key, bool is_third,
                     int first)
{
    char line[LINE_MEMBERS * 40];
    int len = sprintf(line, "%s %s", command, key);
    for (int i = first; i < first + LINE_MEMBERS; i++) {
        if ((i % 3 == 0) != is_third)
            continue;
        len += strcmp(command, "ZADD") == 0
                   ? sprintf(line + len, " 0")
                   : sprintf(line + len, " %d.%03d %d.5", i % 60, i % 1000, i % 40);
        len += sprintf(line + len, " m%d", i % (N * 2 / 3));
    }
    fake_run(f, line);
}

/* k, l: positions, half of each in both. o, p: scores 0, likewise. d: a string. */
static void fill(struct fake *f)
{
    fake_run(f, "FLUSHALL");
    for (int i = 0; i < N; i += LINE_MEMBERS) {
        add_some(f, "GEOADD", "k", false, i);
        add_some(f, "GEOADD", "l", true, i);
        add_some(f, "ZADD", "o", false, i);
        add_some(f, "ZADD", "p", true, i);
    }
    fake_run(f, "SET d string");
    fake_run(f, "EXPIRE k 1000");
}

static char *copy_of(const char *text)
{
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

static char *run(struct fake *f, const char *line)
{
    return copy_of(fake_run(f, line));
}

/* All that there is. */
static char *dump(struct fake *f)
{
    static const char *const lines[] = {"ZRANGE k 0 -1 WITHSCORES",
                                        "ZRANGE l 0 -1 WITHSCORES",
                                        "TYPE d",
                                        "ZRANGE d 0 -1 WITHSCORES",
                                        "GET d",
                                        "ZRANGE e 0 -1 WITHSCORES",
                                        "TTL k",
                                        "TTL d",
                                        "TTL e",
                                        "DBSIZE"};
    struct yn_buf all;
    yn_buf_init(&all);
    for (size_t i = 0; i < COUNT(lines); i++)
        yn_buf_append_text(&all, fake_run(f, lines[i]));
    yn_buf_append(&all, "", 1);
    assert_false(all.failed);
    return all.data;
}

static void change(struct fake *f, void *ctx)
{
    (void)ctx;
    fake_run(f, "ZREM k m1 m2 m5 m6000");
    fake_run(f, "GEOADD k 20 20 m7 21 21 new");
    fake_run(f, "ZADD o 0 another");
    fake_run(f, "ZREM l m3 m0");
}

static void delete_all(struct fake *f, void *ctx)
{
    (void)ctx;
    fake_run(f, "FLUSHALL");
}

/* A reply worked out apart is that of the moment at which the command came. */
static void check_reply_apart(struct fake *f, const char *line)
{
    static void (*const hooks[])(struct fake *, void *) = {NULL, change, delete_all};
    for (size_t i = 0; i < COUNT(hooks); i++) {
        fill(f);
        char *wanted = run(f, line);
        fake_set_work(f, true, 0, hooks[i], NULL);
        char *got = run(f, line);
        fake_set_work(f, false, 0, NULL, NULL);
        if (strcmp(got, wanted) != 0)
            fail_msg("%s: apart, with hook %zu, the reply differs", line, i);
        assert_int_equal(fake_runs(f), 1);
        free(wanted);
        free(got);
    }
}

static void test_replies(void **state)
{
    for (int resp = 2; resp <= 3; resp++) {
        fake_set_resp(*state, resp);
        for (size_t i = 0; i < COUNT(searches); i++)
            check_reply_apart(*state, searches[i]);
        for (size_t i = 0; i < COUNT(combinations); i++)
            check_reply_apart(*state, combinations[i]);
    }
}

/* Runs the store apart, with the hook around its work. The hook runs twice. */
static void check_store(struct fake *f, const char *line,
                        void (*hook)(struct fake *, void *), bool is_apart)
{
    fill(f);
    if (!is_apart && hook != NULL) {
        hook(f, NULL);
        hook(f, NULL);
    }
    char *wanted = run(f, line);
    char *events = copy_of(fake_events(f));
    char *state = dump(f);

    fill(f);
    fake_set_work(f, true, 0, hook, NULL);
    char *got = run(f, line);
    fake_set_work(f, false, 0, NULL, NULL);
    assert_string_equal(fake_events(f), events);
    char *state_apart = dump(f);
    if (strcmp(got, wanted) != 0 || strcmp(state, state_apart) != 0)
        fail_msg("%s: apart the result differs: %s", line, got);
    free(wanted);
    free(events);
    free(state);
    free(got);
    free(state_apart);
}

static void test_stores(void **state)
{
    for (size_t i = 0; i < COUNT(stores); i++)
        check_store(*state, stores[i], NULL, true);
}

/* The result is that of the moment at which it is stored. */
static void test_stores_of_changed_sources(void **state)
{
    for (size_t i = 0; i < COUNT(stores); i++)
        check_store(*state, stores[i], change, false);
    check_store(*state, "ZUNIONSTORE d 2 none o", delete_all, false);
    check_store(*state, "COPY k d REPLACE", delete_all, false);
    check_store(*state, "GEOSEARCHSTORE d k FROMMEMBER m7 BYRADIUS 100 km", delete_all,
                false);
}

static void put_strings(struct fake *f, void *ctx)
{
    (void)ctx;
    fake_run(f, "SET k string");
    fake_run(f, "SET none string");
}

/* A source has become something else, or has come to be. */
static void test_stores_of_other_values(void **state)
{
    struct fake *f = *state;
    static const char *const lines[] = {
        "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 3000 km", "ZUNIONSTORE d 2 l k",
        "ZUNIONSTORE d 2 l none", "ZRANGESTORE d k 0 -1"};
    for (size_t i = 0; i < COUNT(lines); i++) {
        fill(f);
        fake_set_work(f, true, 0, put_strings, NULL);
        check_reply(
            f, lines[i],
            "-WRONGTYPE Operation against a key holding the wrong kind of value|");
        assert_int_equal(fake_runs(f), 2);
        fake_set_work(f, false, 0, NULL, NULL);
        check_reply(f, "GET d", "$6|string|");
    }
    fill(f);
    fake_set_work(f, true, 0, put_strings, NULL);
    check_reply(f, "COPY k e", ":1|");
    fake_set_work(f, false, 0, NULL, NULL);
    check_reply(f, "GET e", "$6|string|");
}

/* The destination does not matter. */
static void put_destination(struct fake *f, void *ctx)
{
    (void)ctx;
    fake_run(f, "ZADD d 1 x");
    fake_run(f, "ZADD e 1 x");
}

static void test_changed_destination(void **state)
{
    struct fake *f = *state;
    fill(f);
    fake_set_work(f, true, 0, put_destination, NULL);
    fake_run(f, "DEL d");
    check_reply(f, "ZRANGESTORE d k 0 9", ":10|");
    assert_int_equal(fake_runs(f), 1);
    check_reply(f, "COPY k e", ":0|");
    check_reply(f, "ZRANGE e 0 -1", "*1|$1|x|");
    fake_set_work(f, false, 0, NULL, NULL);
    check_reply(f, "ZCARD d", ":10|");
}

/* Whenever it is stopped, everything is as it was. */
static void check_stops(struct fake *f, const char *line, bool is_apart)
{
    fill(f);
    char *before = dump(f);
    char *wanted = run(f, line);
    size_t stops_at = 1;
    for (;; stops_at++) {
        fill(f);
        fake_set_work(f, is_apart, stops_at, NULL, NULL);
        char *got = run(f, line);
        size_t n_asked = fake_work_questions(f);
        fake_set_work(f, false, 0, NULL, NULL);
        bool has_stopped = n_asked >= stops_at;
        assert_string_equal(got, has_stopped ? STOPPED : wanted);
        free(got);
        if (!has_stopped)
            break;
        assert_string_equal(fake_events(f), "");
        char *after = dump(f);
        assert_string_equal(after, before);
        free(after);
    }
    free(before);
    free(wanted);
}

static void test_stops(void **state)
{
    static const char *const lines[] = {
        "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 30000 km ASC WITHDIST",
        "GEOSEARCH k FROMLONLAT 20 20 BYRADIUS 30000 km DESC COUNT 7000",
        "GEOSEARCHSTORE d k FROMLONLAT 20 20 BYRADIUS 30000 km STOREDIST",
        "ZINTER 2 k l",
        "ZINTERCARD 2 k l",
        "ZUNIONSTORE d 2 k l",
        "ZINTERSTORE d 2 k l",
        "ZDIFFSTORE d 2 l k",
        "ZRANGESTORE d k 0 -1",
        "COPY k d REPLACE",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        check_stops(*state, lines[i], false);
        check_stops(*state, lines[i], true);
    }
}

/* A job that cannot be held is worked out at once. */
static void test_not_held(void **state)
{
    struct fake *f = *state;
    fill(f);
    for (size_t i = 0; i < COUNT(searches); i++) {
        char *wanted = run(f, searches[i]);
        fake_set_work(f, true, 0, NULL, NULL);
        fake_fail_holds(f, true);
        assert_string_equal(fake_run(f, searches[i]), wanted);
        fake_fail_holds(f, false);
        fake_set_work(f, false, 0, NULL, NULL);
        free(wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_replies),
        check_test(test_stores),
        check_test(test_stores_of_changed_sources),
        check_test(test_stores_of_other_values),
        check_test(test_changed_destination),
        check_test(test_stops),
        check_test(test_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
