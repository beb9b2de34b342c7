/* The registry, errors about commands, and COMMAND. */
#include "check_reply.h"

static struct yn_bytes bytes_of(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static void test_unknown(void **state)
{
    struct fake *f = *state;
    check_reply(f, "foo a b",
                "-ERR unknown command 'foo', with args beginning with: 'a' 'b' |");
    check_reply(f, "foo", "-ERR unknown command 'foo', with args beginning with: |");
    check_reply(f, "command foo", "-ERR unknown subcommand 'foo'. Try COMMAND HELP.|");
    check_reply(f, "geodist", "-ERR wrong number of arguments for 'geodist' command|");
    assert_string_equal(fake_run(f, "command count x"),
                        "-ERR wrong number of arguments for 'command|count' command\r\n");
}

/* Names and arguments are cut at 128 bytes, and end at a zero byte as C strings do. */
static void test_unknown_long(void **state)
{
    struct fake *f = *state;
    char letters[300], expected[1024];
    memset(letters, 'x', sizeof letters);
    struct yn_bytes argv[] = {{letters, 300}, {"a\0b", 3},    {"c\r\nd", 4},
                              {letters, 100}, {letters, 100}, {"z", 1}};
    int len = snprintf(expected, sizeof expected,
                       "-ERR unknown command '%.128s', with args beginning with: "
                       "'a' 'c  d' '%.100s' '%.14s' \r\n",
                       letters, letters, letters);
    struct yn_bytes reply = fake_run_words(f, 6, argv);
    assert_int_equal(reply.len, len);
    assert_memory_equal(reply.data, expected, reply.len);
}

/* Commands of Redis that are not here say what is missing, and where it is to be had. */
static void test_unsupported_commands(void **state)
{
    struct fake *f = *state;
    check_reply(
        f, "LPUSH k v",
        "-ERR unknown command 'LPUSH': lists are not supported by this server; to "
        "have both, load the module yonder.so into Valkey or Redis|");
    check_reply(
        f, "eval x 0",
        "-ERR unknown command 'eval': scripts are not supported by this server; to "
        "have both, load the module yonder.so into Valkey or Redis|");
    check_reply(
        f, "MIGRATE",
        "-ERR unknown command 'MIGRATE': replication and moving keys to other servers "
        "are not supported by this server; to have both, load the module yonder.so into "
        "Valkey or Redis|");
    check_reply(
        f, "LCS a b",
        "-ERR unknown command 'LCS': common subsequences of strings are not supported "
        "by this server; to have both, load the module yonder.so into Valkey or Redis|");
}

static void test_registry(void **state)
{
    (void)state;
    static const struct cmd_spec clash[] = {
        {.name = "a-new-one"}, {.name = "GEOADD"}, {.name = NULL}};
    size_t n = 0;
    assert_true(cmd_register_data());
    while (cmd_at(n) != NULL)
        n++;
    assert_true(n > 30);
    assert_true(cmd_register_data()); /* again: no change */
    assert_null(cmd_at(n));
    assert_false(cmd_register(clash));
    assert_null(cmd_find(bytes_of("a-new-one")));
    for (size_t i = 0; i < n; i++) {
        const struct cmd_spec *spec = cmd_at(i);
        assert_ptr_equal(cmd_find(bytes_of(spec->name)), spec);
        assert_true(spec->run != NULL || spec->subcommands != NULL);
        assert_non_null(spec->acl);
        assert_non_null(spec->summary);
        assert_non_null(spec->complexity);
        assert_non_null(spec->group);
        assert_non_null(spec->since);
        assert_true((spec->keys == CMD_KEYS_NONE) == (spec->key_specs == NULL));
    }
    assert_non_null(cmd_find(bytes_of("GeoSearchStore")));
    assert_null(cmd_find(bytes_of("GeoSearchStor")));
    assert_null(cmd_find(bytes_of("")));
    const struct cmd_spec *command = cmd_find(bytes_of("command"));
    assert_string_equal(cmd_find_sub(command, bytes_of("DOCS"))->name, "command|docs");
    assert_null(cmd_find_sub(command, bytes_of("command|docs")));
    assert_null(cmd_find_sub(cmd_find(bytes_of("get")), bytes_of("x")));
}

static void test_keys_of(void **state)
{
    (void)state;
    struct yn_bytes argv[12];
    size_t keys[4];
    const char *words[] = {"georadius", "k",     "1", "1",         "1",
                           "m",         "STORE", "a", "storedist", "b"};
    for (size_t i = 0; i < 10; i++)
        argv[i] = bytes_of(words[i]);
    const struct cmd_spec *spec = cmd_find(argv[0]);
    assert_int_equal(cmd_keys_of(spec, 10, argv, keys, 4), 2);
    assert_int_equal(keys[0], 1);
    assert_int_equal(keys[1], 9); /* the last one is where it goes */
    assert_int_equal(cmd_keys_of(spec, 7, argv, keys, 4), 1);
    keys[1] = 77;
    assert_int_equal(cmd_keys_of(spec, 10, argv, keys, 1), 2);
    assert_int_equal(keys[1], 77);
    assert_int_equal(cmd_keys_of(cmd_find(bytes_of("mget")), 4, argv, keys, 4), 3);
    assert_int_equal(keys[2], 3);
    assert_int_equal(cmd_keys_of(cmd_find(bytes_of("get")), 4, argv, keys, 4), 0);
    assert_int_equal(cmd_keys_of(cmd_find(bytes_of("dbsize")), 1, argv, keys, 4), 0);
}

/* Keys behind their number, with and without a destination. */
static void test_numkeys(void **state)
{
    (void)state;
    static const struct cmd_spec store = {.name = "store",
                                          .arity = -4,
                                          .keys = CMD_KEYS_NUMKEYS,
                                          .key_first = 1,
                                          .numkeys = 2};
    static const struct cmd_spec read = {
        .name = "read", .arity = -3, .keys = CMD_KEYS_NUMKEYS, .numkeys = 1};
    struct yn_bytes argv[6];
    size_t keys[4] = {0};
    const char *words[] = {"store", "d", "2", "a", "b", "weights"};
    for (size_t i = 0; i < 6; i++)
        argv[i] = bytes_of(words[i]);
    assert_int_equal(cmd_keys_of(&store, 6, argv, keys, 4), 3);
    assert_int_equal(keys[0], 1);
    assert_int_equal(keys[1], 3);
    assert_int_equal(keys[2], 4);
    keys[1] = 77;
    assert_int_equal(cmd_keys_of(&store, 6, argv, keys, 1), 3);
    assert_int_equal(keys[1], 77);
    assert_int_equal(cmd_keys_of(&store, 6, argv, NULL, 0), 3);
    assert_int_equal(cmd_keys_of(&store, 4, argv, keys, 4), 0); /* too few of them */
    assert_int_equal(cmd_keys_of(&store, 3, argv, keys, 4), 0);
    assert_int_equal(cmd_keys_of(&read, 5, argv + 1, keys, 4), 2);
    assert_int_equal(keys[0], 2);
    assert_int_equal(keys[1], 3);
    static const char *const wrong[] = {"0", "-1", "", "x", "4", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        argv[2] = bytes_of(wrong[i]);
        assert_int_equal(cmd_keys_of(&read, 5, argv + 1, keys, 4), 0);
    }
    argv[2] = bytes_of("1x");
    assert_int_equal(cmd_keys_of(&read, 5, argv + 1, keys, 4), 1);
}

#define GEODIST_INFO                                                            \
    "*10|$7|geodist|:-4|*1|+readonly|:1|:1|:1|*3|+@read|+@geo|+@slow|*0|*1|*6|" \
    "$5|flags|*2|+RO|+access|"                                                  \
    "$12|begin_search|*4|$4|type|$5|index|$4|spec|*2|$5|index|:1|"              \
    "$9|find_keys|*4|$4|type|$5|range|$4|spec|*6|$7|lastkey|:0|$7|keystep|:1|"  \
    "$5|limit|:0|*0|"

static void test_info(void **state)
{
    struct fake *f = *state;
    check_reply(f, "COMMAND INFO GEODIST nope", "*2|" GEODIST_INFO "$-1|");
    check_reply(f, "COMMAND INFO get|x", "*1|$-1|");
    assert_non_null(
        strstr(fake_run(f, "COMMAND INFO command|count"),
               "*1\r\n*10\r\n$13\r\ncommand|count\r\n:2\r\n*2\r\n+loading\r\n"));
    assert_non_null(strstr(fake_run(f, "COMMAND INFO georadius"),
                           "$7\r\nkeyword\r\n$4\r\nspec\r\n*4\r\n$7\r\nkeyword\r\n$9\r\n"
                           "STOREDIST\r\n$9\r\nstartfrom\r\n:6\r\n"));
    size_t n = 0;
    while (cmd_at(n) != NULL)
        n++;
    char start[32];
    snprintf(start, sizeof start, "*%zu\r\n*10\r\n", n);
    assert_memory_equal(fake_run(f, "COMMAND"), start, strlen(start));
    assert_memory_equal(fake_run(f, "COMMAND INFO"), start, strlen(start));
    snprintf(start, sizeof start, ":%zu\r\n", n);
    assert_string_equal(fake_run(f, "COMMAND COUNT"), start);
    fake_set_resp(f, 3);
    check_reply(
        f, "COMMAND INFO dbsize",
        "*1|*10|$6|dbsize|:1|~2|+readonly|+fast|:0|:0|:0|~3|+@keyspace|+@read|+@fast|~2|"
        "$25|request_policy:all_shards|$23|response_policy:agg_sum|~0|~0|");
    check_reply(f, "COMMAND INFO nope", "*1|_|");
    assert_non_null(
        strstr(fake_run(f, "COMMAND INFO command"),
               "+@connection\r\n~1\r\n$29\r\nnondeterministic_output_order\r\n"
               "~0\r\n*7\r\n*10\r\n"));
}

static void test_docs(void **state)
{
    struct fake *f = *state;
    fake_set_resp(f, 3);
    check_reply(
        f, "COMMAND DOCS persist nope",
        "%1|$7|persist|%5|$7|summary|$24|Lets a key live for ever|$5|since|$5|2.2.0|$5|"
        "group|$7|generic|$10|complexity|$4|O(1)|$9|arguments|*1|%3|$4|name|$3|key|$4|"
        "type|$3|key|$14|key_spec_index|:0|");
    assert_non_null(
        strstr(fake_run(f, "COMMAND DOCS georadius"),
               "$9\r\ndoc_flags\r\n~1\r\n+deprecated\r\n$16\r\ndeprecated_since\r\n"
               "$5\r\n6.2.0\r\n"));
    assert_non_null(
        strstr(fake_run(f, "COMMAND DOCS georadius"),
               "$14\r\nkey_spec_index\r\n:2\r\n$5\r\ntoken\r\n$9\r\nSTOREDIST\r\n"));
    assert_non_null(
        strstr(fake_run(f, "COMMAND DOCS command"), "$11\r\nsubcommands\r\n%7\r\n"));
    assert_non_null(strstr(fake_run(f, "COMMAND DOCS"), "$6\r\ngeoadd\r\n"));
}

static void test_list(void **state)
{
    struct fake *f = *state;
    check_reply(f, "COMMAND LIST FILTERBY PATTERN GEOD*", "*1|$7|geodist|");
    check_reply(f, "COMMAND LIST FILTERBY MODULE x", "*0|");
    check_reply(f, "COMMAND LIST FILTERBY ACLCAT nope", "*0|");
    check_reply(f, "COMMAND LIST FILTERBY ACLCAT PUBSUB", "*0|");
    assert_non_null(strstr(fake_run(f, "COMMAND LIST FILTERBY ACLCAT STRING"),
                           "$3\r\nget\r\n$6\r\ngetdel\r\n"));
    check_reply(f, "COMMAND LIST FILTERBY ACLCAT @geo", "*0|");
    check_reply(f, "COMMAND LIST FILTERBY FOO x", "-ERR syntax error|");
    check_reply(f, "COMMAND LIST FILTERBY PATTERN", "-ERR syntax error|");
    check_reply(f, "COMMAND LIST x", "-ERR syntax error|");
    assert_non_null(strstr(fake_run(f, "COMMAND LIST"), "$13\r\ncommand|count\r\n"));
}

static void test_getkeys(void **state)
{
    struct fake *f = *state;
    check_reply(f, "COMMAND GETKEYS MGET a b", "*2|$1|a|$1|b|");
    check_reply(f, "COMMAND GETKEYS GEOSEARCHSTORE d s FROMLONLAT 1 1 BYRADIUS 1 m",
                "*2|$1|d|$1|s|");
    check_reply(f, "COMMAND GETKEYS nope a", "-ERR Invalid command specified|");
    check_reply(f, "COMMAND GETKEYS dbsize", "-ERR The command has no key arguments|");
    check_reply(f, "COMMAND GETKEYS get a b",
                "-ERR Invalid number of arguments specified for command|");
    check_reply(f, "COMMAND GETKEYSANDFLAGS SET a b", "*1|*2|$1|a|*2|+OW|+update|");
    check_reply(f, "COMMAND GETKEYSANDFLAGS SET a b get",
                "*1|*2|$1|a|*3|+RW|+access|+update|");
    check_reply(f, "COMMAND GETKEYSANDFLAGS GEORADIUS k 1 1 1 m STOREDIST b",
                "*2|*2|$1|k|*2|+RO|+access|*2|$1|b|*2|+OW|+update|");
    check_reply(f, "COMMAND GETKEYSANDFLAGS DEL a b",
                "*2|*2|$1|a|*2|+RM|+delete|*2|$1|b|*2|+RM|+delete|");
    assert_memory_equal(fake_run(f, "COMMAND HELP"), "*17\r\n+COMMAND ", 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(test_unknown),
        check_test(test_unknown_long),
        check_test(test_unsupported_commands),
        check_test(test_registry),
        check_test(test_keys_of),
        check_test(test_numkeys),
        check_test(test_info),
        check_test(test_docs),
        check_test(test_list),
        check_test(test_getkeys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
