/* link: server
 * Options: defaults, every kind of value with its limits, files, command lines, and what
 * the errors say. */
#include "server/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct config config;
static char error[CONFIG_ERROR_MAX];

static int set_up(void **state)
{
    (void)state;
    error[0] = '\0';
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

static void assert_value(const char *name, const char *expected)
{
    struct yn_buf value;
    yn_buf_init(&value);
    config_get(&config, config_find(text_bytes(name)), &value);
    yn_buf_append(&value, "", 1);
    assert_string_equal(value.data, expected);
    yn_buf_clear(&value);
}

static bool set(const char *name, const char *value)
{
    const struct config_option *option = config_find(text_bytes(name));
    assert_non_null(option);
    return config_set(&config, option, text_bytes(value), error);
}

static void assert_error_has(const char *part)
{
    if (strstr(error, part) == NULL)
        fail_msg("the error is \"%s\", without \"%s\"", error, part);
}

static bool load(const char *text)
{
    return config_load_text(&config, text_bytes(text), "test.conf", error);
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(config.port, 6379);
    assert_string_equal(config.bind, "127.0.0.1 -::1");
    assert_int_equal(config.proto_max_bulk_len, 512 * 1024 * 1024);
    assert_true(config.protected_mode);
    assert_value("client-output-buffer-limit",
                 "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60");
    assert_value("save", "");
    assert_value("coordinate-format", "shortest");
    assert_value("unixsocketperm", "0");
    assert_null(config_find(text_bytes("no-such-option")));
    assert_non_null(config_find(text_bytes("MaxClients")));
}

/* What CONFIG GET prints, CONFIG SET takes, for every option. */
static void test_round_trip(void **state)
{
    (void)state;
    const struct config_option *option;
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        struct yn_buf value;
        yn_buf_init(&value);
        config_get(&config, option, &value);
        if (!config_set(&config, option, (struct yn_bytes){value.data, value.len}, error))
            fail_msg("%s: %s", config_name(option), error);
        yn_buf_clear(&value);
    }
    test_defaults(state);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *shown;
    } good[] = {
        {"port", "0", "0"},
        {"port", "65535", "65535"},
        {"hz", "500", "500"},
        {"protected-mode", "NO", "no"},
        {"maxmemory", "0", "0"},
        {"maxmemory", "100", "100"},
        {"maxmemory", "1b", "1"},
        {"maxmemory", "1k", "1000"},
        {"maxmemory", "1kb", "1024"},
        {"maxmemory", "2M", "2000000"},
        {"maxmemory", "2Mb", "2097152"},
        {"maxmemory", "3g", "3000000000"},
        {"maxmemory", "3GB", "3221225472"},
        {"unixsocketperm", "700", "700"},
        {"loglevel", "Debug", "debug"},
        {"coordinate-format", "fixed17", "fixed17"},
        {"requirepass", "a b\"c", "a b\"c"},
        {"bind", "10.0.0.1 ::1", "10.0.0.1 ::1"},
        {"save", "", ""},
        {"appendonly", "no", "no"},
        {"daemonize", "no", "no"},
        {"supervised", "Systemd", "systemd"},
        {"supervised", "auto", "auto"},
        {"client-output-buffer-limit", "replica 1 2 3 normal 1mb 0 0",
         "normal 1048576 0 0 slave 1 2 3 pubsub 33554432 8388608 60"},
        {"client-output-buffer-limit", "",
         "normal 1048576 0 0 slave 1 2 3 pubsub 33554432 8388608 60"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!set(good[i].name, good[i].value))
            fail_msg("%s %s: %s", good[i].name, good[i].value, error);
        assert_value(good[i].name, good[i].shown);
    }
}

static void test_bad_values(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *part;
    } bad[] = {
        {"port", "65536", "argument must be between 0 and 65535 inclusive"},
        {"port", "-1", "argument must be between 0 and 65535 inclusive"},
        {"port", "", "argument couldn't be parsed into an integer"},
        {"port", "1 ", "argument couldn't be parsed into an integer"},
        {"port", "0x10", "argument couldn't be parsed into an integer"},
        {"port", "99999999999999999999", "argument couldn't be parsed into an integer"},
        {"protected-mode", "maybe", "argument must be 'yes' or 'no'"},
        {"maxmemory", "1zz", "argument must be a memory value"},
        {"maxmemory", "-1", "argument must be a memory value"},
        {"maxmemory", "", "argument must be a memory value"},
        {"maxmemory", "kb", "argument must be a memory value"},
        {"maxmemory", "9223372036854775807kb", "argument must be a memory value"},
        {"proto-max-bulk-len", "1", "between 1048576 and 9223372036854775807"},
        {"unixsocketperm", "800", "octal"},
        {"unixsocketperm", "1000", "between 0 and 777"},
        {"maxmemory-policy", "allkeys-lru", "one of the following: noeviction"},
        {"loglevel", "loud", "one of the following: debug, verbose, notice, warning"},
        {"coordinate-format", "short", "one of the following: shortest, fixed17"},
        {"save", "900 1", "snapshots are not built"},
        {"appendonly", "yes", "append-only log is not built"},
        {"daemonize", "yes", "foreground"},
        {"supervised", "upstart", "accepted values are no, systemd and auto"},
        {"supervised", "yes", "one of the following: no, systemd, auto"},
        {"client-output-buffer-limit", "normal 1", "Wrong number of arguments"},
        {"client-output-buffer-limit", "all 1 1 1", "Invalid client class"},
        {"client-output-buffer-limit", "pubsub 1 1 1 normal x 1 1",
         "Error in hard, soft"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (set(bad[i].name, bad[i].value))
            fail_msg("%s took '%s'", bad[i].name, bad[i].value);
        assert_error_has(bad[i].part);
    }
    /* a zero byte in a text */
    const struct config_option *option = config_find(text_bytes("requirepass"));
    assert_false(config_set(&config, option, (struct yn_bytes){"a\0b", 3}, error));
    test_defaults(state); /* nothing was changed */
}

static void test_file(void **state)
{
    (void)state;
    assert_true(load("# a comment\r\n"
                     "\n"
                     "   port   7001  \r\n"
                     "bind 127.0.0.1 ::1\n"
                     "requirepass \"with space and \\x41\"\n"
                     "\tloglevel 'warning'\n"
                     "save \"\"\n"
                     "client-output-buffer-limit pubsub 1mb 0 0\n"
                     "port 7002")); /* the last one wins; no line feed at the end */
    assert_int_equal(config.port, 7002);
    assert_string_equal(config.bind, "127.0.0.1 ::1");
    assert_string_equal(config.requirepass, "with space and A");
    assert_value("loglevel", "warning");
    assert_int_equal(config.output_limits[CONFIG_CLASS_PUBSUB].hard, 1 << 20);
    assert_true(load(""));
}

static void test_file_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part, *also;
    } bad[] = {
        {"port 1\n\nfoo bar\n", "test.conf:3: unknown option 'foo'", "yonder.conf"},
        {"port abc", "test.conf:1: option 'port', value 'abc'",
         "an integer from 0 to 65535"},
        {"port", "test.conf:1: option 'port' takes one value, 0 given", "an integer"},
        {"port 1 2", "takes one value, 2 given", "an integer"},
        {"bind", "option 'bind' takes a value, 0 given", ""},
        {"maxmemory lots", "option 'maxmemory', value 'lots'", "512mb"},
        {"loglevel x", "option 'loglevel'", "one of debug, verbose, notice, warning"},
        {"unixsocketperm 9", "option 'unixsocketperm'", "octal number from 0 to 777"},
        {"protected-mode x", "option 'protected-mode'", "(accepted: yes or no)"},
        {"client-output-buffer-limit normal 1", "buffer limit", "<hard bytes>"},
        {"requirepass \"abc", "test.conf:1: unbalanced quotes", ""},
        {"requirepass \"abc\"d", "test.conf:1: unbalanced quotes", ""},
        {"save 60 1", "test.conf:1: option 'save': snapshots are not built",
         "only accepted"},
        {"appendonly yes", "option 'appendonly'", "the only accepted value is 'no'"},
        {"daemonize yes", "option 'daemonize'", "the only accepted value is 'no'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (load(bad[i].text))
            fail_msg("taken: %s", bad[i].text);
        assert_error_has(bad[i].part);
        assert_error_has(bad[i].also);
        assert_null(strstr(error, "more lines"));
    }
}

/* A file of another server should not have to be mended line by line. */
static void test_every_wrong_line_is_told(void **state)
{
    (void)state;
    assert_false(load("foo 1\nport 7010\nbar 2\nport x\n\nbaz"));
    assert_error_has("test.conf:1: unknown option 'foo'");
    assert_error_has("; more lines that are not accepted: 3, 4, 6");

    struct yn_buf text;
    yn_buf_init(&text);
    for (int i = 0; i < 5000; i++)
        yn_buf_append_text(&text, "foo 1\n");
    yn_buf_append(&text, "", 1);
    assert_false(load(text.data));
    assert_error_has("test.conf:1: unknown option 'foo'");
    assert_error_has(", 99, 100, ");
    assert_string_equal(error + strlen(error) - 5, ", ...");
    yn_buf_clear(&text);
}

static void test_command_line(void **state)
{
    (void)state;
    const char *good[] = {"--port",        "7003", "--bind", "10.0.0.1", "-::1",
                          "--requirepass", "x",    "--save", ""};
    assert_true(config_load_args(&config, 9, good, error));
    assert_int_equal(config.port, 7003);
    assert_string_equal(config.bind, "10.0.0.1 -::1");
    assert_string_equal(config.requirepass, "x");
    assert_true(config_load_args(&config, 0, NULL, error));

    const char *unknown[] = {"--prot", "7003"};
    assert_false(config_load_args(&config, 2, unknown, error));
    assert_error_has("command line: unknown option 'prot'");
    const char *stray[] = {"port", "7003"};
    assert_false(config_load_args(&config, 2, stray, error));
    assert_error_has("'port' is not an option");
    const char *missing[] = {"--port", "--hz", "10"};
    assert_false(config_load_args(&config, 3, missing, error));
    assert_error_has("option 'port' takes one value, 0 given");
}

static void test_file_on_disk(void **state)
{
    (void)state;
    char path[] = "/tmp/test_config_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hz 20\n", 6), 6);
    close(fd);
    assert_true(config_load_file(&config, path, error));
    assert_int_equal(config.hz, 20);
    unlink(path);
    assert_false(config_load_file(&config, path, error));
    assert_error_has("could not open config file");
    assert_false(config_load_file(&config, "/", error)); /* a directory */
}

/* The file that is shipped is valid and changes nothing: its values are the defaults. */
static void test_shipped_file(void **state)
{
    (void)state;
    const char *source = getenv("YONDER_SOURCE_DIR");
    char path[512];
    snprintf(path, sizeof path, "%s/yonder.conf", source != NULL ? source : ".");
    if (access(path, R_OK) != 0)
        skip();
    if (!config_load_file(&config, path, error))
        fail_msg("%s", error);
    test_defaults(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_wrong_line_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_command_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_on_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_shipped_file, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
