/* link: server --wrap=malloc --wrap=realloc --wrap=calloc
 * Users without connections: rules and what they allow, passwords, files, the log; every
 * allocation that may fail. Seed of the random rules: YN_SEED. */
#include "server/acl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/acl_file.h"
#include "server/acl_log.h"
#include "server/commands.h"

/* ---- memory that runs out ---- */

static size_t allocations_left = SIZE_MAX;

static bool may_allocate(void)
{
    if (allocations_left == 0)
        return false;
    allocations_left -= allocations_left != SIZE_MAX;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t n);

void *__wrap_malloc(size_t n)
{
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *block, size_t n)
{
    return may_allocate() ? __real_realloc(block, n) : NULL;
}

/* ---- helpers ---- */

static struct acl acl;
static struct cmd_arena *arena;
static char error[ACL_ERROR_MAX];
static struct acl_denial denial;

static int set_up_all(void **state)
{
    (void)state;
    if (!cmd_register_data() || !cmd_register(connection_table) ||
        !cmd_register(server_table) || !cmd_register(pubsub_table) ||
        !cmd_register(transaction_table) || !cmd_register(inspect_table) ||
        !cmd_register(acl_table))
        return -1;
    acl_commands_init();
    arena = cmd_arena_new();
    return arena != NULL ? 0 : -1;
}

static int tear_down_all(void **state)
{
    (void)state;
    cmd_arena_free(arena);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return acl_init(&acl) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    acl_clear(&acl);
    return 0;
}

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

#define WORDS_MAX 64

static size_t split(const char *text, struct yn_bytes *words)
{
    size_t n = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        words[n++] = (struct yn_bytes){text, len};
        text += len + (text[len] == ' ');
    }
    return n;
}

static bool set_user(const char *name, const char *rules)
{
    struct yn_bytes words[WORDS_MAX];
    return acl_set_user(&acl, text_bytes(name), split(rules, words), words, NULL, error);
}

static void must_set(const char *name, const char *rules)
{
    if (!set_user(name, rules))
        fail_msg("%s: %s", rules, error);
}

static const struct acl_user *user_of(const char *name)
{
    const struct acl_user *user = acl_find(&acl, text_bytes(name));
    assert_non_null(user);
    return user;
}

static void assert_user(const char *name, const char *expected)
{
    struct yn_buf text;
    yn_buf_init(&text);
    acl_user_format(user_of(name), &text);
    yn_buf_append(&text, "", 1);
    assert_string_equal(text.data, expected);
    yn_buf_clear(&text);
}

/* What stands in the way of the command. */
static enum acl_reason check_as(const struct acl_user *user, const char *command)
{
    struct yn_bytes argv[WORDS_MAX];
    size_t argc = split(command, argv);
    const struct cmd_spec *spec = cmd_find(argv[0]);
    assert_non_null(spec);
    if (spec->subcommands != NULL && argc > 1)
        spec = cmd_find_sub(spec, argv[1]);
    assert_non_null(spec);
    bool ok = acl_check(user, spec, argc, argv, arena, &denial);
    cmd_arena_reset(arena);
    assert_int_equal(ok, denial.reason == ACL_OK);
    return denial.reason;
}

#define assert_allowed(command) assert_int_equal(check_as(user_of("u"), command), ACL_OK)
#define assert_denied(command, why) assert_int_equal(check_as(user_of("u"), command), why)

/* ---- rules as text ---- */

static void test_rules_are_told_as_they_were_given(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"", "off sanitize-payload resetchannels -@all"},
        {"ON NoPass AllKeys allchannels AllCommands +GET",
         "on nopass sanitize-payload ~* &* +@all +get"},
        {"+@all -@dangerous +get -config|get +SELECT|1 +config|set",
         "off sanitize-payload resetchannels +@all -@dangerous +get -config|get "
         "+select|1 +config|set"},
        {"+config|get +config|set -CONFIG", "off sanitize-payload resetchannels -@all "
                                            "-config"},
        {"+get|a +get|b +get", "off sanitize-payload resetchannels -@all +get"},
        {"+get +set +get", "off sanitize-payload resetchannels -@all +set +get"},
        {"+getex +get -get", "off sanitize-payload resetchannels -@all +getex -get"},
        {"+@read +@READ -@read", "off sanitize-payload resetchannels -@all -@read"},
        {"+get +@all", "off sanitize-payload resetchannels +@all"},
        {"~a ~a %R~b %w~b %W~c %rw~d", "off sanitize-payload ~a ~b %W~c ~d resetchannels "
                                       "-@all"},
        {"~a resetkeys ~b", "off sanitize-payload ~b resetchannels -@all"},
        {"&x &y &x", "off sanitize-payload resetchannels &x &y -@all"},
        {"(+get ~a) (+set %W~b &c) ()",
         "off sanitize-payload resetchannels -@all (~a resetchannels -@all +get) (%W~b "
         "resetchannels &c -@all +set) (resetchannels -@all)"},
        {"(+get) clearselectors", "off sanitize-payload resetchannels -@all"},
        {"on >x nopass skip-sanitize-payload", "on nopass skip-sanitize-payload "
                                               "resetchannels -@all"},
        {"on nopass ~* &* +@all (+get) reset",
         "off sanitize-payload resetchannels -@all"},
        {"on >p", "on sanitize-payload "
                  "#148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940 "
                  "resetchannels -@all"},
        {"on >p <p", "on sanitize-payload resetchannels -@all"},
        {"~* resetkeys &* resetchannels", "off sanitize-payload resetchannels -@all"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char expected[512];
        acl_user_free(acl_remove(&acl, text_bytes("u")));
        must_set("u", table[i][0]);
        snprintf(expected, sizeof expected, "user u %s", table[i][1]);
        assert_user("u", expected);
    }
}

static void test_wrong_rules_change_nothing(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"+foo", "Error in ACL SETUSER modifier '+foo': " ACL_ERR_UNKNOWN},
        {"+@foo", "Error in ACL SETUSER modifier '+@foo': " ACL_ERR_UNKNOWN},
        {"-get|foo", "Error in ACL SETUSER modifier '-get|foo': " ACL_ERR_UNKNOWN},
        {"+get|", "Error in ACL SETUSER modifier '+get|': Syntax error"},
        {"+|get", "Error in ACL SETUSER modifier '+|get': " ACL_ERR_UNKNOWN},
        {"+config|foo", "Error in ACL SETUSER modifier '+config|foo': " ACL_ERR_UNKNOWN},
        {"+config|get|x", "Error in ACL SETUSER modifier '+config|get|x': Allowing "
                          "first-arg of a subcommand is not supported"},
        {"+", "Error in ACL SETUSER modifier '+': " ACL_ERR_UNKNOWN},
        {"%R", "Error in ACL SETUSER modifier '%R': Syntax error"},
        {"%", "Error in ACL SETUSER modifier '%': Syntax error"},
        {"%~x", "Error in ACL SETUSER modifier '%~x': Syntax error"},
        {"%RR~x", "Error in ACL SETUSER modifier '%RR~x': Syntax error"},
        {"~* ~a", "Error in ACL SETUSER modifier '~a': Adding a pattern after the * "
                  "pattern (or the 'allkeys' flag) is not valid and does not have any "
                  "effect. Try 'resetkeys' to start with an empty list of patterns"},
        {"(+get", "Unmatched parenthesis in acl selector starting at '(+get'."},
        {"(", "Unmatched parenthesis in acl selector starting at '('."},
        {"(on)", "Error in ACL SETUSER modifier '(on)': Syntax error"},
        {"(\"x)", "Error in ACL SETUSER modifier '(\"x)': Syntax error"},
        {"#abc",
         "Error in ACL SETUSER modifier '#abc': The password hash must be exactly "
         "64 characters and contain only lowercase hexadecimal characters"},
        {"<nope", "Error in ACL SETUSER modifier '<nope': The password you are trying to "
                  "remove from the user does not exist"},
        {"foo", "Error in ACL SETUSER modifier 'foo': Syntax error"},
    };
    must_set("u", "on >x ~a +get (+set)");
    struct yn_buf before, after;
    yn_buf_init(&before);
    yn_buf_init(&after);
    acl_user_format(user_of("u"), &before);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char rules[128];
        snprintf(rules, sizeof rules, "off +del resetkeys %s", table[i][0]);
        if (set_user("u", rules))
            fail_msg("%s", table[i][0]);
        assert_string_equal(error, table[i][1]);
        after.len = 0;
        acl_user_format(user_of("u"), &after);
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.data, after.data, before.len);
        assert_false(set_user("other", rules));
        assert_null(acl_find(&acl, text_bytes("other")));
    }
    yn_buf_clear(&before);
    yn_buf_clear(&after);
}

/* ---- what rules allow ---- */

static void test_commands_are_allowed(void **state)
{
    (void)state;
    must_set("u", "~* &* +config|get +get -@all +config|get +select|0 +@geo -geoadd");
    assert_allowed("config get x");
    assert_denied("config set x y", ACL_DENIED_COMMAND);
    assert_denied("get x", ACL_DENIED_COMMAND);
    assert_allowed("select 0");
    assert_denied("select 1", ACL_DENIED_COMMAND);
    assert_allowed("geopos k m");
    assert_denied("geoadd k 1 2 m", ACL_DENIED_COMMAND);
    assert_allowed("auth x");
    assert_allowed("hello");
    must_set("u", "+config -config|set");
    assert_allowed("config rewrite");
    assert_denied("config set x y", ACL_DENIED_COMMAND);
    must_set("u", "-select"); /* takes the first argument's rule away, too */
    assert_denied("select 0", ACL_DENIED_COMMAND);
    must_set("u", "+select|0 -@connection");
    assert_denied("select 0", ACL_DENIED_COMMAND);
    assert_false(user_of("u")->may_all);
    must_set("u", "+@all");
    assert_true(user_of("u")->may_all);
    must_set("u", "-get");
    assert_false(user_of("u")->may_all);
}

static void test_keys_are_allowed(void **state)
{
    (void)state;
    must_set("u", "+@all %R~r* %W~w* ~b* &*");
    assert_allowed("get r1");
    assert_denied("get w1", ACL_DENIED_KEY);
    assert_allowed("get b1");
    assert_allowed("set w1 x");
    assert_denied("set r1 x", ACL_DENIED_KEY);
    assert_denied("set w1 x get", ACL_DENIED_KEY);
    assert_allowed("set b1 x get");
    assert_allowed("geoadd w1 1 2 m"); /* it tells nothing of the set */
    assert_denied("geoadd r1 1 2 m", ACL_DENIED_KEY);
    assert_allowed("exists w1"); /* nor does that */
    assert_denied("exists x1", ACL_DENIED_KEY);
    assert_denied("incr w1", ACL_DENIED_KEY);
    assert_denied("getdel r1", ACL_DENIED_KEY);
    assert_allowed("del w1");
    assert_denied("del r1", ACL_DENIED_KEY);
    assert_allowed("geosearchstore w1 r1 frommember m bybox 1 2 m");
    assert_denied("geosearchstore r1 r2 frommember m bybox 1 2 m", ACL_DENIED_KEY);
    assert_denied("geosearchstore w1 w2 frommember m bybox 1 2 m", ACL_DENIED_KEY);
    assert_denied("zmpop 1 r1 min", ACL_DENIED_KEY);
}

static void test_every_key_is_looked_at(void **state)
{
    (void)state;
    must_set("u", "+@all ~a* &*");
    assert_allowed("mset a1 x a2 y");
    assert_denied("mset a1 x b y", ACL_DENIED_KEY);
    assert_int_equal(denial.index, 3);
    assert_denied("georadius a 1 2 3 m store b", ACL_DENIED_KEY);
    assert_int_equal(denial.index, 7);
    assert_denied("georadius a 1 2 3 m store a storedist b", ACL_DENIED_KEY);
    assert_allowed("georadius a 1 2 3 m store a storedist a");
    assert_denied("geosearchstore b a frommember m bybox 1 2 m", ACL_DENIED_KEY);
    assert_denied("zunionstore a 2 a b", ACL_DENIED_KEY);
    assert_denied("rename a b", ACL_DENIED_KEY);
    assert_denied("object encoding b", ACL_DENIED_KEY);
    assert_denied("watch a b", ACL_DENIED_KEY);
    char many[256] = "del";
    for (int i = 0; i < 60; i++)
        strcat(many, " a");
    assert_allowed(many); /* more than fit on the stack */
    strcat(many, " b");
    assert_denied(many, ACL_DENIED_KEY);
    assert_int_equal(denial.index, 61);
}

static void test_channels_are_allowed(void **state)
{
    (void)state;
    must_set("u", "+@all ~* &news.* &chat");
    assert_allowed("subscribe news.a chat");
    assert_denied("subscribe news.a other", ACL_DENIED_CHANNEL);
    assert_int_equal(denial.index, 2);
    assert_allowed("psubscribe news.*");
    assert_denied("psubscribe news.a*", ACL_DENIED_CHANNEL);
    assert_denied("ssubscribe other", ACL_DENIED_CHANNEL);
    assert_denied("publish other x", ACL_DENIED_CHANNEL);
    assert_denied("spublish other x", ACL_DENIED_CHANNEL);
    assert_allowed("publish chat other");
    assert_allowed("unsubscribe other");
    assert_allowed("pubsub channels other");
}

static void test_one_selector_must_allow_all(void **state)
{
    (void)state;
    must_set("u", "+get ~a (+set ~b) (+mget %R~c*)");
    assert_allowed("get a");
    assert_allowed("set b x");
    assert_allowed("mget c1 c2");
    assert_denied("set a x", ACL_DENIED_KEY);
    assert_denied("get b", ACL_DENIED_KEY);
    assert_denied("del a", ACL_DENIED_COMMAND);
    assert_denied("mget c1 a", ACL_DENIED_KEY);
    assert_int_equal(denial.index, 2);
    must_set("u", "(+@all ~* &*)");
    assert_true(user_of("u")->may_all);
}

/* ---- passwords ---- */

static void test_passwords_let_in(void **state)
{
    (void)state;
    char digest[DIGEST_LEN + 1];
    assert_true(digest_of(text_bytes("abc"), digest)); /* FIPS 180-2, appendix B.1 */
    assert_string_equal(
        digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    must_set("u", ">one >two");
    assert_false(acl_user_may_login(user_of("u"), text_bytes("one"))); /* off */
    must_set("u", "on");
    assert_true(acl_user_may_login(user_of("u"), text_bytes("one")));
    assert_true(acl_user_may_login(user_of("u"), text_bytes("two")));
    assert_false(acl_user_may_login(user_of("u"), text_bytes("three")));
    assert_false(acl_user_may_login(user_of("u"), text_bytes("")));
    must_set("u", "<one");
    assert_false(acl_user_may_login(user_of("u"), text_bytes("one")));
    must_set("u", "nopass");
    assert_true(acl_user_may_login(user_of("u"), text_bytes("any")));
    must_set("u", "resetpass");
    assert_false(acl_user_may_login(user_of("u"), text_bytes("any")));
    assert_false(acl_user_may_login(NULL, text_bytes("any")));
    assert_true(acl_set_default_password(&acl, text_bytes("pw")));
    assert_false(acl_user_may_login(acl.default_user, text_bytes("x")));
    assert_true(acl_user_may_login(acl.default_user, text_bytes("pw")));
    assert_true(acl_set_default_password(&acl, text_bytes("")));
    assert_true(acl.default_user->is_nopass);
}

/* ---- files ---- */

static struct config config;

static void parse(const char *text, bool expected, const char *errors)
{
    struct acl loaded;
    struct yn_buf told;
    yn_buf_init(&told);
    bool ok = acl_file_parse(text_bytes(text), "f", &config, &loaded, &told);
    yn_buf_append(&told, "", 1);
    assert_string_equal(told.data, errors);
    assert_int_equal(ok, expected);
    yn_buf_clear(&told);
    if (ok) {
        acl_clear(&acl);
        acl = loaded;
    }
}

static void test_files_are_read_whole_or_not(void **state)
{
    (void)state;
    assert_true(config_init(&config));
    parse("\n  user a on  (+get ~x)\t\r\n\nuser default off", true, "");
    assert_user("a", "user a on sanitize-payload resetchannels -@all (~x resetchannels "
                     "-@all +get)");
    assert_false(acl.default_user->is_on);
    assert_false(acl.default_user->may_all);
    parse(
        "user a on +foo\nfoo\nuser b\nuser b\nuser c >x (+get\n", false,
        "f:1: Error in applying operation '+foo': " ACL_ERR_UNKNOWN
        ". f:2 should start with user keyword followed by the username. WARNING: "
        "Duplicate user 'b' found on line 4. f:5: Unmatched parenthesis in acl selector "
        "starting at '(+get'.. ");
    assert_user("a", "user a on sanitize-payload resetchannels -@all (~x resetchannels "
                     "-@all +get)");
    /* who is not told has the password of the configuration */
    config_set(&config, config_find(text_bytes("requirepass")), text_bytes("pw"), error);
    parse("user a on\n", true, "");
    assert_true(acl_user_may_login(acl.default_user, text_bytes("pw")));
    assert_false(acl_user_may_login(acl.default_user, text_bytes("")));
    config_clear(&config);
}

static void test_the_configuration_tells_users(void **state)
{
    (void)state;
    struct acl loaded;
    struct yn_buf told;
    char wrong[CONFIG_ERROR_MAX];
    assert_true(config_init(&config));
    assert_true(config_load_text(
        &config,
        text_bytes("user a on \">with blank\" ~* +@all\nport 1\nUSER b ( +get )"), "f",
        wrong));
    yn_buf_init(&told);
    assert_true(acl_file_load(&config, &loaded, &told));
    acl_clear(&acl);
    acl = loaded;
    assert_true(acl_user_may_login(user_of("a"), text_bytes("with blank")));
    assert_user("b", "user b off sanitize-payload resetchannels -@all (resetchannels "
                     "-@all +get)");
    assert_true(config_load_text(&config, text_bytes("user a +x"), "f", wrong));
    assert_false(acl_file_load(&config, &loaded, &told));
    yn_buf_append(&told, "", 1);
    assert_string_equal(told.data, "f:1: user 'a' is defined twice. ");
    yn_buf_clear(&told);
    assert_false(config_load_text(&config, text_bytes("user"), "f", wrong));
    config_clear(&config);
}

static void test_saved_users_come_back(void **state)
{
    (void)state;
    char path[] = "/tmp/test_acl_XXXXXX", wrong[CONFIG_ERROR_MAX];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_true(config_init(&config));
    config_set(&config, config_find(text_bytes("aclfile")), text_bytes(path), wrong);
    must_set("a", "on >x ~a %R~b &c +@all -@write (+set ~z)");
    must_set("default", "off");
    struct yn_buf first, second;
    yn_buf_init(&first);
    yn_buf_init(&second);
    acl_file_format(&acl, &first);
    assert_true(acl_file_save(&config, &acl, wrong));
    acl_clear(&acl);
    assert_true(acl_file_load(&config, &acl, &second));
    acl_file_format(&acl, &second);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.data, second.data, first.len);
    yn_buf_clear(&first);
    yn_buf_clear(&second);
    unlink(path);
    config_clear(&config);
}

/* ---- the log ---- */

static struct acl_log_entry refusal(const char *object)
{
    return (struct acl_log_entry){.reason = ACL_DENIED_KEY,
                                  .object = text_bytes(object),
                                  .user = text_bytes("u"),
                                  .client = text_bytes("id=1")};
}

static const struct acl_log_entry *first_of(const struct acl_log *log)
{
    return LIST_ITEM(log->entries.next, struct acl_log_entry, in_log);
}

static void test_the_log_counts_what_is_the_same(void **state)
{
    (void)state;
    struct acl_log log;
    acl_log_init(&log);
    struct acl_log_entry a = refusal("a"), b = refusal("b");
    acl_log_add(&log, &a, 1000, 3);
    acl_log_add(&log, &b, 2000, 3);
    acl_log_add(&log, &a, 61000, 3);
    assert_int_equal(log.n, 2);
    assert_int_equal(first_of(&log)->count, 2);
    assert_int_equal(first_of(&log)->id, 0);
    assert_int_equal(first_of(&log)->created_ms, 1000);
    assert_int_equal(first_of(&log)->updated_ms, 61000);
    acl_log_add(&log, &a, 121001, 3); /* more than a minute after */
    assert_int_equal(log.n, 3);
    assert_int_equal(first_of(&log)->count, 1);
    assert_int_equal(first_of(&log)->id, 2);
    a.in_multi = true;
    acl_log_add(&log, &a, 121001, 3);
    assert_int_equal(log.n, 3); /* the oldest went */
    acl_log_shorten(&log, 1);
    assert_int_equal(log.n, 1);
    assert_true(first_of(&log)->in_multi);
    acl_log_add(&log, &b, 121001, 0);
    assert_int_equal(log.n, 0);
    char *large = malloc(1 << 20);
    memset(large, 'x', 1 << 20);
    a.object = (struct yn_bytes){large, 1 << 20};
    acl_log_add(&log, &a, 121001, 3);
    acl_log_add(&log, &a, 121001, 3);
    assert_int_equal(log.n, 1);
    assert_int_equal(first_of(&log)->object.len, ACL_LOG_TEXT_MAX);
    free(large);
    acl_log_clear(&log);
}

/* ---- memory ---- */

static void test_without_memory_nothing_changes(void **state)
{
    (void)state;
    static const char rules[] =
        "on >y ~k* %R~r* &c +@all -@write +get +select|1 (+set ~z)";
    struct yn_buf before, after;
    yn_buf_init(&before);
    yn_buf_init(&after);
    must_set("u", "on >x ~a +get (+set) +select|0");
    acl_user_format(user_of("u"), &before);
    acl_user_format(user_of("u"), &after);
    bool ok = false;
    for (size_t left = 0; !ok; left++) {
        allocations_left = left;
        ok = set_user("u", rules);
        allocations_left = SIZE_MAX;
        if (ok)
            break;
        assert_non_null(strstr(error, ACL_ERR_NOMEM));
        after.len = 0;
        acl_user_format(user_of("u"), &after);
        assert_int_equal(before.len, after.len);
        assert_memory_equal(before.data, after.data, before.len);
    }
    ok = false;
    for (size_t left = 0; !ok; left++) {
        allocations_left = left;
        ok = set_user("new", rules);
        allocations_left = SIZE_MAX;
        assert_int_equal(acl_find(&acl, text_bytes("new")) != NULL, ok);
    }
    assert_user("new",
                "user new on sanitize-payload "
                "#a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa "
                "~k* %R~r* resetchannels &c +@all -@write +get +select|1 "
                "(~z resetchannels -@all +set)");
    yn_buf_clear(&before);
    yn_buf_clear(&after);
}

/* ---- random rules ---- */

static const char *const vocabulary[] = {
    "on",
    "off",
    "nopass",
    "resetpass",
    ">a",
    ">b",
    "~*",
    "~a*",
    "%R~b*",
    "%W~a*",
    "%RW~c",
    "allkeys",
    "resetkeys",
    "&*",
    "&c",
    "&d*",
    "allchannels",
    "resetchannels",
    "+@all",
    "-@all",
    "+@read",
    "-@write",
    "+@geo",
    "-@dangerous",
    "+get",
    "-get",
    "+config|get",
    "-config",
    "+select|0",
    "+get|a",
    "(+get ~a*)",
    "(+@all)",
    "(%R~* +get)",
    "clearselectors",
    "reset",
    "+foo",
    "~",
    "%R",
    "(",
    ")",
    "+@",
    "-@connection",
    "<a",
    "#x",
    "sanitize-payload",
    "skip-sanitize-payload",
    "+publish",
};
#define N_VOCABULARY (sizeof vocabulary / sizeof vocabulary[0])
static const char *const commands[] = {
    "get a",      "get b1",       "set a1 x",     "set b x",        "set c x get",
    "geopos a m", "geoadd a 1 1", "config get x", "config set x y", "select 0",
    "select 1",   "publish c x",  "publish e x",  "subscribe d1",   "psubscribe d*",
    "mget a b c", "flushall",     "ping",
};

/* What ACL LIST tells makes a user who may do the same. */
static void test_told_users_are_the_same(void **state)
{
    (void)state;
    const char *given = getenv("YN_SEED");
    unsigned seed = given != NULL ? (unsigned)atoi(given) : 1;
    printf("seed %u\n", seed);
    srand(seed);
    assert_true(config_init(&config));
    for (int round = 0; round < 3000; round++) {
        struct yn_bytes words[8];
        size_t n = (size_t)rand() % 8;
        for (size_t i = 0; i < n; i++)
            words[i] = text_bytes(vocabulary[(size_t)rand() % N_VOCABULARY]);
        acl_set_user(&acl, text_bytes("u"), n, words, NULL, error);
        if (acl_find(&acl, text_bytes("u")) == NULL)
            continue;
        struct yn_buf text, again;
        struct acl loaded;
        yn_buf_init(&text);
        yn_buf_init(&again);
        acl_file_format(&acl, &text);
        assert_true(acl_file_parse((struct yn_bytes){text.data, text.len}, "f", &config,
                                   &loaded, &again));
        acl_file_format(&loaded, &again);
        assert_int_equal(text.len, again.len);
        assert_memory_equal(text.data, again.data, text.len);
        const struct acl_user *copy = acl_find(&loaded, text_bytes("u"));
        assert_int_equal(copy->may_all, user_of("u")->may_all);
        for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
            enum acl_reason first = check_as(user_of("u"), commands[i]);
            struct acl_denial d = denial;
            assert_int_equal(first, check_as(copy, commands[i]));
            assert_int_equal(d.index, denial.index);
        }
        acl_clear(&loaded);
        yn_buf_clear(&text);
        yn_buf_clear(&again);
    }
    config_clear(&config);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_rules_are_told_as_they_were_given),
        TEST(test_wrong_rules_change_nothing),
        TEST(test_commands_are_allowed),
        TEST(test_keys_are_allowed),
        TEST(test_every_key_is_looked_at),
        TEST(test_channels_are_allowed),
        TEST(test_one_selector_must_allow_all),
        TEST(test_passwords_let_in),
        TEST(test_files_are_read_whole_or_not),
        TEST(test_the_configuration_tells_users),
        TEST(test_saved_users_come_back),
        TEST(test_the_log_counts_what_is_the_same),
        TEST(test_without_memory_nothing_changes),
        TEST(test_told_users_are_the_same),
    };
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
