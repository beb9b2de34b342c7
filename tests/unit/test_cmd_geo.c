/* The GEO commands on the fake host: replies, stores, jobs. */
#include "check_reply.h"

#define SICILY "GEOADD k 13.361389 38.115556 Palermo 15.087269 37.502669 Catania"
#define WRONGTYPE "-WRONGTYPE Operation against a key holding the wrong kind of value|"

static void test_geoadd(void **state)
{
    struct fake *f = *state;
    check_reply(f, SICILY, ":2|");
    assert_string_equal(fake_events(f), "zadd:k ");
    check_reply(f, SICILY, ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "ZSCORE k Palermo", "$16|3479099956230698|");
    check_reply(f, "GEOADD k CH 13.361389 38.115556 Palermo 1 1 Catania 2 2 new", ":2|");
    check_reply(f, "GEOADD k NX 5 5 Catania 3 3 newer", ":1|");
    check_reply(f, "GEOADD k XX CH 5 5 Catania 3 3 newest", ":1|");
    check_reply(f, "GEOADD k CH CH XX 5 5 Catania", ":0|");
    check_reply(f, "ZCARD k", ":4|");
    check_reply(f, "GEOADD none XX 1 1 a", ":0|");
    check_reply(f, "EXISTS none", ":0|");
    /* a member that is named twice is applied twice */
    check_reply(f, "GEOADD twice CH 1 1 a 2 2 a", ":2|");
    check_reply(f, "ZCARD twice", ":1|");
    check_reply(f, "GEOADD k 180 85.05112878 corner -180 -85.05112878 other", ":2|");
}

static void test_geoadd_errors(void **state)
{
    struct fake *f = *state;
    check_reply(f, "GEOADD k 1 1",
                "-ERR wrong number of arguments for 'geoadd' command|");
    check_reply(f, "GEOADD k 1 1 a 2", "-ERR syntax error|");
    check_reply(f, "GEOADD k NX XX 1 1 a", "-ERR syntax error|");
    check_reply(f, "GEOADD k NX CH NX", "-ERR syntax error|");
    check_reply(f, "GEOADD k x 1 a", "-ERR value is not a valid float|");
    check_reply(f, "GEOADD k 1 1 a 1 nan b", "-ERR value is not a valid float|");
    check_reply(f, "GEOADD k 200 100 a",
                "-ERR invalid longitude,latitude pair 200.000000,100.000000|");
    check_reply(f, "GEOADD k 1 1 a 0 -85.05112879 b",
                "-ERR invalid longitude,latitude pair 0.000000,-85.051129|");
    check_reply(f, "EXISTS k", ":0|"); /* nothing was added before the bad one */
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "GEOADD s x 1 a", "-ERR value is not a valid float|");
    check_reply(f, "GEOADD s 1 1 a", WRONGTYPE);
}

static void test_positions(void **state)
{
    struct fake *f = *state;
    check_reply(f, SICILY, ":2|");
    check_reply(f, "GEOPOS k Palermo nobody",
                "*2|*2|$18|13.361389338970184|$16|38.1155563954963|*-1|");
    check_reply(f, "GEOPOS k", "*0|");
    check_reply(f, "GEOPOS none a b", "*2|*-1|*-1|");
    check_reply(f, "GEOHASH k Palermo nobody Catania",
                "*3|$11|sqc8b49rny0|$-1|$11|sqdtr74hyu0|");
    check_reply(f, "GEODIST k Palermo Catania", "$11|166274.1516|");
    check_reply(f, "GEODIST k Palermo Catania KM", "$8|166.2742|");
    check_reply(f, "GEODIST k Palermo Palermo mi", "$6|0.0000|");
    check_reply(f, "GEODIST k Palermo nobody", "$-1|");
    check_reply(f, "GEODIST none a b", "$-1|");
    check_reply(f, "GEODIST none a b x",
                "-ERR unsupported unit provided. please use M, KM, FT, MI|");
    check_reply(f, "GEODIST none a b km x", "-ERR syntax error|");
    fake_set_resp(f, 3);
    check_reply(f, "GEOPOS k Palermo nobody",
                "*2|*2|,13.361389338970184|,38.1155563954963|_|");
    check_reply(f, "GEODIST k Palermo Catania", "$11|166274.1516|");
    check_reply(f, "GEOHASH k nobody", "*1|_|");
    fake_set_resp(f, 2);
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "GEOPOS s", WRONGTYPE);
    check_reply(f, "GEOHASH s", WRONGTYPE);
    check_reply(f, "GEODIST s a b x",
                "-ERR unsupported unit provided. please use M, KM, FT, MI|");
    check_reply(f, "GEODIST s a b", WRONGTYPE);
}

static void test_search(void **state)
{
    struct fake *f = *state;
    check_reply(f, SICILY, ":2|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km ASC",
                "*2|$7|Catania|$7|Palermo|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km DESC COUNT 1",
                "*1|$7|Palermo|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1",
                "*1|$7|Catania|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYBOX 400 400 km ASC",
                "*2|$7|Catania|$7|Palermo|");
    check_reply(f, "GEOSEARCH k BYPOLYGON 3 14 37 16 37 15 39", "*1|$7|Catania|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 1 m", "*0|");
    check_reply(f, "GEORADIUS k 15 37 200 km ASC", "*2|$7|Catania|$7|Palermo|");
    check_reply(f, "GEORADIUS_RO k 15 37 200 km ASC", "*2|$7|Catania|$7|Palermo|");
    check_reply(f, "GEORADIUSBYMEMBER k Palermo 1 m", "*1|$7|Palermo|");
    check_reply(f, "GEORADIUSBYMEMBER_RO k Palermo inf m DESC",
                "*2|$7|Catania|$7|Palermo|");
    /* the extras come in a fixed order */
    check_reply(
        f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 100 km WITHCOORD WITHHASH WITHDIST",
        "*1|*4|$7|Catania|$7|56.4413|:3479447370796909|"
        "*2|$18|15.087267458438873|$17|37.50266842333162|");
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 100 km WITHHASH",
                "*1|*2|$7|Catania|:3479447370796909|");
    fake_set_resp(f, 3);
    check_reply(f, "GEOSEARCH k FROMLONLAT 15 37 BYRADIUS 100 km WITHCOORD WITHDIST",
                "*1|*3|$7|Catania|$7|56.4413|*2|,15.087267458438873|,37.50266842333162|");
}

static void test_search_errors(void **state)
{
    struct fake *f = *state;
    check_reply(f, SICILY, ":2|");
    check_reply(f, "SET s v", "+OK|");
    check_reply(f, "GEOSEARCH s x y z a b c", WRONGTYPE);
    check_reply(f, "GEORADIUS s x y z a", WRONGTYPE);
    check_reply(f, "GEORADIUSBYMEMBER s x y z", WRONGTYPE);
    check_reply(f, "GEOSEARCHSTORE k s x y z a b c", WRONGTYPE);
    check_reply(f, "EXISTS k", ":1|");
    check_reply(f, "GEORADIUS_RO k 1 1 1 m STORE d", "-ERR syntax error|");
    check_reply(f, "GEOSEARCH k FROMMEMBER x BYRADIUS 1 m",
                "-ERR could not decode requested zset member|");
    check_reply(
        f, "GeoSearch k ASC ASC ASC ASC ASC",
        "-ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GeoSearch|");
    check_reply(f, "GEOSEARCH none FROMMEMBER x BYRADIUS 1 m", "*0|");
    check_reply(f, "GEORADIUS none 1 1 1 x",
                "-ERR unsupported unit provided. please use M, KM, FT, MI|");
    check_reply(f, "GEORADIUSBYMEMBER none m x x", "*0|");
}

static void test_odd_scores(void **state)
{
    struct fake *f = *state;
    check_reply(f, "ZADD k -1 low inf high 1e300 far 0.5 half", ":4|");
    check_reply(f, "GEOSEARCH k FROMMEMBER half BYRADIUS 0 m WITHHASH ASC",
                "*3|*2|$4|half|:0|*2|$3|far|:-9223372036854775808|"
                "*2|$4|high|:-9223372036854775808|");
    check_reply(f, "GEOPOS k low", "*1|*2|$3|180|$11|85.05112878|");
}

static void test_store(void **state)
{
    struct fake *f = *state;
    check_reply(f, SICILY, ":2|");
    check_reply(f, "SET d string", "+OK|");
    check_reply(f, "EXPIRE d 1000", ":1|");
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 200 km", ":2|");
    assert_string_equal(fake_events(f), "geosearchstore:d ");
    check_reply(f, "TTL d", ":-1|");
    check_reply(f, "ZRANGE d 0 -1 WITHSCORES",
                "*4|$7|Palermo|$16|3479099956230698|$7|Catania|$16|3479447370796909|");
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 150 mi STOREDIST",
                ":2|");
    check_reply(
        f, "ZRANGE d 0 -1 WITHSCORES",
        "*4|$7|Catania|$18|35.071058862737644|$7|Palermo|$18|118.33573380874013|");
    check_reply(f, "GEORADIUS k 15 37 200 km STORE a STOREDIST b COUNT 1", ":1|");
    assert_string_equal(fake_events(f), "georadiusstore:b ");
    check_reply(f, "EXISTS a", ":0|");
    check_reply(f, "ZRANGE b 0 -1", "*1|$7|Catania|");
    /* over itself */
    check_reply(f, "GEORADIUSBYMEMBER k Catania 1 km STORE k", ":1|");
    check_reply(f, "ZRANGE k 0 -1", "*1|$7|Catania|");
    /* nothing found: the destination goes */
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 0 0 BYRADIUS 1 m", ":0|");
    assert_string_equal(fake_events(f), "del:d ");
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 0 0 BYRADIUS 1 m", ":0|");
    assert_string_equal(fake_events(f), "");
    check_reply(f, "GEORADIUS none 15 37 200 km STORE b", ":0|");
    assert_string_equal(fake_events(f), "del:b ");
    check_reply(f, "GEORADIUSBYMEMBER none x y z STORE k", ":0|");
    check_reply(f, "EXISTS k", ":0|");
}

static void test_store_failure(void **state)
{
    struct fake *f = *state;
    const char *nomem = "-ERR out of memory: the command was not executed|";
    check_reply(f, SICILY, ":2|");
    check_reply(f, "SET d string", "+OK|");
    fake_fail_puts(f, true);
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 200 km", nomem);
    assert_string_equal(fake_events(f), "");
    check_reply(f, "GEOADD n 1 1 a", nomem);
    fake_fail_puts(f, false);
    fake_fail_allocations(f, 1);
    check_reply(f, "GEOSEARCHSTORE d k FROMLONLAT 15 37 BYRADIUS 200 km", nomem);
    check_reply(f, "GEOADD n 1 1 a", nomem);
    fake_fail_allocations(f, 0);
    check_reply(f, "GET d", "$6|string|");
    check_reply(f, "EXISTS n", ":0|");
}

/* ---- jobs ---- */

#define CROWD 500

static void add_crowd(struct fake *f)
{
    char line[128];
    for (int i = 0; i < CROWD; i++) {
        snprintf(line, sizeof line, "GEOADD crowd %d.%03d %d.5 member-%d", i % 60, i,
                 i % 40, i);
        fake_run(f, line);
    }
}

static const char *const job_lines[] = {
    "GEOSEARCH crowd FROMLONLAT 20 20 BYRADIUS 3000 km",
    "GEOSEARCH crowd FROMLONLAT 20 20 BYRADIUS 30000 km",
    "GEOSEARCH crowd FROMLONLAT 20 20 BYBOX 3000 3000 km DESC WITHDIST",
    "GEOSEARCH crowd FROMMEMBER member-7 BYRADIUS 2000 km ASC WITHCOORD WITHHASH",
    "GEOSEARCH crowd BYPOLYGON 4 5 5 40 5 40 30 5 30 WITHDIST",
    "GEOSEARCH crowd BYPOLYGON 4 5 5 40 5 40 30 5 30",
    "GEORADIUS crowd 20 20 4000 km COUNT 60 ANY WITHDIST",
    "ZRANGE crowd 0 -1",
    "ZRANGE crowd 10 300 REV WITHSCORES",
    "ZRANGEBYSCORE crowd -inf +inf WITHSCORES LIMIT 5 100",
};
#define N_JOB_LINES (sizeof job_lines / sizeof job_lines[0])

static void change_set(struct fake *f, void *ctx)
{
    static int round;
    char line[128];
    (void)ctx;
    snprintf(line, sizeof line, "ZREM crowd member-%d member-%d", round % CROWD,
             (round + 250) % CROWD);
    fake_run(f, line);
    snprintf(line, sizeof line, "GEOADD crowd 20 20 member-%d 21 21 new-%d",
             round * 7 % CROWD, round);
    fake_run(f, line);
    round++;
}

static void change_once_then_delete(struct fake *f, void *ctx)
{
    bool *is_done = ctx;
    change_set(f, NULL);
    if (!*is_done)
        fake_run(f, "DEL crowd");
    *is_done = true;
}

/* Runs one line whole and in steps and compares. `between` may change the set. */
static void check_steps(struct fake *f, const char *line, size_t budget, bool holds,
                        void (*between)(struct fake *, void *), void *ctx)
{
    fake_set_jobs(f, SIZE_MAX, false, NULL, NULL);
    char *whole = strdup(fake_run(f, line));
    assert_non_null(whole);
    fake_set_jobs(f, budget, holds, between, ctx);
    const char *stepped = fake_run(f, line);
    if (strcmp(stepped, whole) != 0)
        fail_msg("%s: in steps of %zu bytes the reply differs", line, budget);
    if (budget == 1)
        assert_true(fake_job_steps(f) > 1);
    free(whole);
    fake_set_jobs(f, SIZE_MAX, false, NULL, NULL);
}

static void test_job_steps(void **state)
{
    struct fake *f = *state;
    add_crowd(f);
    for (int resp = 2; resp <= 3; resp++) {
        fake_set_resp(f, resp);
        for (size_t i = 0; i < N_JOB_LINES; i++) {
            check_steps(f, job_lines[i], 1, false, NULL, NULL);
            check_steps(f, job_lines[i], 1000, false, NULL, NULL);
            check_steps(f, job_lines[i], 1, true, NULL, NULL);
        }
    }
}

static void test_job_held(void **state)
{
    struct fake *f = *state;
    for (size_t i = 0; i < N_JOB_LINES; i++) {
        bool is_deleted = false;
        fake_run(f, "FLUSHALL");
        add_crowd(f);
        check_steps(f, job_lines[i], 1, true, change_set, NULL);
        add_crowd(f);
        check_steps(f, job_lines[i], 700, true, change_set, NULL);
        add_crowd(f);
        check_steps(f, job_lines[i], 1, true, change_once_then_delete, &is_deleted);
    }
}

/* A job that cannot be held runs on over the live set. */
static void test_job_not_held(void **state)
{
    struct fake *f = *state;
    add_crowd(f);
    fake_fail_holds(f, true);
    for (size_t i = 0; i < N_JOB_LINES; i++) {
        check_steps(f, job_lines[i], 100, true, NULL, NULL);
        assert_true(fake_job_steps(f) > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_geoadd),        check_test(test_geoadd_errors),
        check_test(test_positions),     check_test(test_search),
        check_test(test_search_errors), check_test(test_odd_scores),
        check_test(test_store),         check_test(test_store_failure),
        check_test(test_job_steps),     check_test(test_job_held),
        check_test(test_job_not_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
