/* DUMP and RESTORE on the fake host: errors and their order, events, replies in steps. */
#include "check_reply.h"

#include "rdb/rdb.h"

#define BYTES(text) ((struct yn_bytes){text, sizeof(text) - 1})

static const char too_old_sum[] = "-ERR DUMP payload version or checksum are wrong\r\n";
static const char bad_data[] = "-ERR Bad data format\r\n";

/* Appends the footer to a value. */
static struct yn_bytes payload_of(struct yn_buf *buf, struct yn_bytes value)
{
    yn_buf_init(buf);
    yn_buf_append(buf, value.data, value.len);
    rdb_write_footer(buf);
    return (struct yn_bytes){buf->data, buf->len};
}

static void check_restore(struct fake *f, struct yn_bytes payload, const char *key,
                          const char *ttl, const char *option, const char *reply,
                          const char *events)
{
    struct yn_bytes words[] = {{"RESTORE", 7},
                               {key, strlen(key)},
                               {ttl, strlen(ttl)},
                               payload,
                               {option, option == NULL ? 0 : strlen(option)}};
    struct yn_bytes got = fake_run_words(f, option == NULL ? 4 : 5, words);
    assert_int_equal(got.len, strlen(reply));
    assert_memory_equal(got.data, reply, got.len);
    assert_string_equal(fake_events(f), events);
}

static void test_restore(void **state)
{
    struct fake *f = *state;
    struct yn_buf buf;
    struct yn_bytes a = payload_of(&buf, BYTES("\x00\x01"
                                               "a"));
    check_restore(f, a, "k", "0", NULL, "+OK\r\n", "restore:k ");
    check_reply(f, "GET k", "$1|a|");
    check_restore(f, a, "k", "x", NULL, "-BUSYKEY Target key name already exists.\r\n",
                  "");
    check_restore(f, a, "k", "x", "replace",
                  "-ERR value is not an integer or out of range\r\n", "");
    check_restore(f, BYTES("bad"), "k", "-1", "REPLACE",
                  "-ERR Invalid TTL value, must be >= 0\r\n", "");
    check_restore(f, BYTES("bad"), "k", "x", "FOO", "-ERR syntax error\r\n", "");
    check_restore(f, BYTES("bad"), "k", "0", "REPLACE", too_old_sum, "");
    check_restore(f, a, "k", "1500", "REPLACE", "+OK\r\n", "restore:k ");
    check_reply(f, "PTTL k", ":1500|");
    check_restore(f, a, "k", "1", "ABSTTL",
                  "-BUSYKEY Target key name already exists.\r\n", "");
    check_restore(f, a, "n", "1", "ABSTTL", "+OK\r\n", "");
    check_reply(f, "EXISTS n", ":0|");
    check_restore(f, a, "n", "9223372036854775807", NULL, "+OK\r\n", "");
    check_reply(f, "EXISTS n", ":0|");
    check_restore(f, a, "k", "9223372036854775807", "REPLACE", "+OK\r\n", "del:k ");
    check_reply(f, "EXISTS k", ":0|");
    check_restore(f, a, "k", "0", NULL, "+OK\r\n", "restore:k ");
    yn_buf_clear(&buf);

    a = payload_of(&buf, BYTES("\x05\x01\x01"
                               "a\x00\x00\x00\x00\x00\x00\xf8\x7f"));
    check_restore(f, a, "k", "0", "REPLACE", bad_data, "");
    check_reply(f, "GET k", "$1|a|");
    yn_buf_clear(&buf);
    a = payload_of(&buf, BYTES("\x01\x01\x01"
                               "a"));
    check_restore(
        f, a, "k", "0", "REPLACE",
        "-ERR Bad data format: not a string and not a sorted set, and other types "
        "are not supported\r\n",
        "");
    yn_buf_clear(&buf);
}

static void test_no_memory(void **state)
{
    struct fake *f = *state;
    struct yn_buf buf;
    struct yn_bytes set = payload_of(&buf, BYTES("\x05\x01\x01"
                                                 "a\x00\x00\x00\x00\x00\x00\x00\x00"));
    check_reply(f, "SET k old", "+OK|");
    fake_fail_puts(f, true);
    check_restore(f, set, "k", "0", "REPLACE",
                  "-ERR out of memory: the command was not executed\r\n", "");
    fake_fail_puts(f, false);
    check_reply(f, "GET k", "$3|old|");
    yn_buf_clear(&buf);
}

/* The dump of the key, to be freed. */
static char *dump(struct fake *f, const char *key, size_t *out_len)
{
    const struct yn_bytes words[] = {{"DUMP", 4}, {key, strlen(key)}};
    struct yn_bytes reply = fake_run_words(f, 2, words);
    char *copy = malloc(reply.len);
    assert_non_null(copy);
    memcpy(copy, reply.data, reply.len);
    *out_len = reply.len;
    return copy;
}

static void change_keys(struct fake *f, void *ctx)
{
    (void)ctx;
    fake_run(f, "ZADD z 1 a 2 m5 3 m77");
    fake_run(f, "ZREM z m1 m2");
    fake_run(f, "SET s other");
}

static void fill(struct fake *f)
{
    char line[400];
    fake_run(f, "FLUSHALL");
    for (int i = 0; i < 300; i++) {
        snprintf(line, sizeof line, "ZADD z %d.5 m%d", i % 37, i);
        fake_run(f, line);
    }
    snprintf(line, sizeof line, "ZADD z 7 %0300d", 1);
    fake_run(f, line);
    snprintf(line, sizeof line, "SET s %0200d", 1);
    fake_run(f, line);
}

static void test_in_steps(void **state)
{
    struct fake *f = *state;
    for (size_t k = 0; k < 2; k++) {
        const char *key = k == 0 ? "z" : "s";
        size_t whole_len, len;
        fill(f);
        char *whole = dump(f, key, &whole_len);
        for (size_t budget = 1; budget < 500; budget += 97) {
            fill(f);
            fake_set_jobs(f, budget, true, change_keys, NULL);
            char *pieces = dump(f, key, &len);
            assert_true(fake_job_steps(f) > (budget < 200));
            fake_set_jobs(f, SIZE_MAX, false, NULL, NULL);
            assert_int_equal(len, whole_len);
            assert_memory_equal(pieces, whole, len);
            free(pieces);
        }
        free(whole);
    }
    check_reply(f, "DUMP none", "$-1|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_restore),
        check_test(test_no_memory),
        check_test(test_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
