/* link: server
 * The text that CONFIG REWRITE writes: what it keeps, what it changes, and that a server
 * that reads it has the same options. Seed of the random values: YN_SEED. */
#include "server/config_rewrite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static char error[CONFIG_ERROR_MAX];

static int set_up(void **state)
{
    (void)state;
    return config_init(&config) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    config_clear(&config);
    return 0;
}

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static void set(const char *name, struct yn_bytes value)
{
    const struct config_option *option = config_find(text_bytes(name));
    assert_non_null(option);
    if (!config_set(&config, option, value, error))
        fail_msg("%s: %s", name, error);
}

/* Rewrites `old` and compares. */
static void assert_text(const char *old, const char *expected)
{
    struct yn_buf out;
    yn_buf_init(&out);
    if (!config_rewrite_text(&config, text_bytes(old), &out, error))
        fail_msg("%s", error);
    yn_buf_append(&out, "", 1);
    assert_string_equal(out.data, expected);
    yn_buf_clear(&out);
}

static void keeps_what_is_true(void **state)
{
    (void)state;
    assert_text("", "");
    assert_text("# a\n\n  port 6379 \r\n#b", "# a\n\n  port 6379 \r\n#b");
    set("timeout", text_bytes("5"));
    assert_text("timeout 5", "timeout 5");
    assert_text("timeout 3\ntimeout 5\n", "timeout 3\ntimeout 5\n");
}

static void changes_the_last_line(void **state)
{
    (void)state;
    set("timeout", text_bytes("5"));
    assert_text("timeout 3\n# c\nTIMEOUT 4\nport 6379\n", "# c\ntimeout 5\nport 6379\n");
    set("timeout", text_bytes("0")); /* the default, too, has to be said then */
    assert_text("timeout 3", "timeout 0\n");
}

static void adds_what_is_missing(void **state)
{
    (void)state;
    set("timeout", text_bytes("5"));
    assert_text("# c", "# c\n# Set while the server ran:\ntimeout 5\n");
    set("hz", text_bytes("20"));
    assert_text("# Set while the server ran:\ntimeout 5\n",
                "# Set while the server ran:\ntimeout 5\nhz 20\n");
}

static void joins_lines_of_limits(void **state)
{
    (void)state;
    set("client-output-buffer-limit", text_bytes("normal 1 2 3"));
    assert_text(
        "client-output-buffer-limit normal 0 0 0\n# c\n"
        "client-output-buffer-limit pubsub 5 6 7\n",
        "# c\nclient-output-buffer-limit normal 1 2 3 slave 268435456 67108864 60 "
        "pubsub 33554432 8388608 60\n");
}

static void refuses_a_file_that_is_not_valid(void **state)
{
    (void)state;
    struct yn_buf out;
    yn_buf_init(&out);
    assert_false(config_rewrite_text(&config, text_bytes("nosuch 1\n"), &out, error));
    assert_non_null(strstr(error, "nosuch"));
    yn_buf_clear(&out);
}

/* Several words in one value: as they are if that reads back, else in quotes. */
static void quotes_words_that_need_it(void **state)
{
    (void)state;
    set("bind", text_bytes("10.0.0.1 ::1"));
    assert_text("bind x", "bind 10.0.0.1 ::1\n");
    set("bind", text_bytes("a  b"));
    assert_text("bind x", "bind \"a  b\"\n");
    set("bind", text_bytes(" a"));
    assert_text("bind x", "bind \" a\"\n");
    set("bind", text_bytes("a "));
    assert_text("bind x", "bind \"a \"\n");
    set("bind", text_bytes("'a \"b"));
    assert_text("bind x", "bind \"'a \\\"b\"\n");
    set("bind", text_bytes(""));
    assert_text("bind x", "bind \"\"\n");
}

/* CONFIG GET shows no n behind an A, as Redis; the file must have it. */
static void keeps_the_class_of_new_keys(void **state)
{
    (void)state;
    set("notify-keyspace-events", text_bytes("AKEn"));
    assert_text("notify-keyspace-events AKE", "notify-keyspace-events AKEn\n");
    assert_text("notify-keyspace-events nAKE", "notify-keyspace-events nAKE");
    set("notify-keyspace-events", text_bytes("gKEn"));
    assert_text("notify-keyspace-events KE", "notify-keyspace-events gnKE\n");
}

/* Any password comes back as it was. */
static void reads_back_random_values(void **state)
{
    (void)state;
    const char *text = getenv("YN_SEED");
    unsigned seed = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 20261130u;
    srandom(seed);
    print_message("seed %u\n", seed);
    for (int round = 0; round < 2000; round++) {
        static const char bytes[] = "ab \t\"'\\#\n\r\a\b\x01\x7f\xc3\xa9";
        char value[16];
        size_t len = (size_t)random() % sizeof value;
        for (size_t i = 0; i < len; i++)
            value[i] = bytes[(size_t)random() % (sizeof bytes - 1)];
        set("requirepass", (struct yn_bytes){value, len});
        struct yn_buf out;
        struct config again;
        yn_buf_init(&out);
        assert_true(config_init(&again));
        assert_true(config_rewrite_text(&config, text_bytes("requirepass x\nport 1"),
                                        &out, error));
        if (!config_load_text(&again, (struct yn_bytes){out.data, out.len}, "t", error))
            fail_msg("%s", error);
        assert_string_equal(again.requirepass, config.requirepass);
        assert_int_equal(again.port, config.port);
        config_clear(&again);
        yn_buf_clear(&out);
    }
}

static void replaces_the_file(void **state)
{
    (void)state;
    char folder[] = "/tmp/yn-rewrite-XXXXXX";
    char path[64];
    struct stat status;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.conf", folder);
    set("timeout", text_bytes("7"));
    assert_true(config_rewrite_file(&config, path, error)); /* there is none yet */
    assert_int_equal(chmod(path, 0640), 0);
    set("timeout", text_bytes("8"));
    assert_true(config_rewrite_file(&config, path, error));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    struct config again;
    assert_true(config_init(&again));
    assert_true(config_load_file(&again, path, error));
    assert_int_equal(again.timeout_s, 8);
    config_clear(&again);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    assert_false(config_rewrite_file(&config, path, error));
    assert_non_null(strstr(error, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_what_is_true, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_the_last_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(adds_what_is_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(joins_lines_of_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quotes_words_that_need_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_the_class_of_new_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_a_file_that_is_not_valid, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(reads_back_random_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(replaces_the_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
