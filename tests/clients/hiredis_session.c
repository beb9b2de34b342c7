/*
 * The session of session.js with hiredis: with blocking calls, and at the end with calls
 * that answer through callbacks on a libuv loop. Run by test_hiredis.py, which says in
 * YONDER_PORT where the server is and in YONDER_KEEPER_PORT where its keeper is, which
 * kills the server and starts it again.
 *
 * Replies are compared as text: elements of arrays one after the other with a space
 * between them, nil for a null, text as it is.
 */
#include <hiredis/adapters/libuv.h>
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#include <cmocka.h>

enum { LIMIT_S = 20 };

static int server_port;
static redisContext *client;

static redisContext *open_connection(int port)
{
    redisContext *connection = redisConnect("127.0.0.1", port);
    assert_non_null(connection);
    assert_string_equal(connection->errstr, "");
    struct timeval limit = {.tv_sec = LIMIT_S};
    assert_int_equal(redisSetTimeout(connection, limit), REDIS_OK);
    return connection;
}

static int open_client(void **state)
{
    (void)state;
    client = open_connection(server_port);
    freeReplyObject(redisCommand(client, "FLUSHALL"));
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    redisFree(client);
    return 0;
}

/* ---- replies as text ---------------------------------------------------------- */

struct text {
    size_t len;
    char bytes[4096];
};

static void add_reply(struct text *text, const redisReply *reply)
{
    size_t room = sizeof(text->bytes) - text->len;
    char *end = text->bytes + text->len;
    const char *gap = text->len > 0 ? " " : "";
    if (reply->type == REDIS_REPLY_ARRAY) {
        for (size_t i = 0; i < reply->elements; i++) {
            add_reply(text, reply->element[i]);
        }
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        text->len += (size_t)snprintf(end, room, "%s%lld", gap, reply->integer);
    } else {
        const char *str = reply->type == REDIS_REPLY_NIL ? "nil" : reply->str;
        text->len += (size_t)snprintf(end, room, "%s%s", gap, str);
    }
    assert_true(text->len < sizeof(text->bytes));
}

/* Frees the reply. */
static void check_reply(const redisContext *connection, redisReply *reply,
                        const char *expected)
{
    assert_string_equal(connection->errstr, "");
    assert_non_null(reply);
    struct text text = {0};
    add_reply(&text, reply);
    freeReplyObject(reply);
    assert_string_equal(text.bytes, expected);
}

static void check(redisContext *connection, const char *expected, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = redisvCommand(connection, format, args);
    va_end(args);
    check_reply(connection, reply, expected);
}

/* The next reply or message of a connection. */
static void check_next(redisContext *connection, const char *expected)
{
    void *reply = NULL;
    assert_int_equal(redisGetReply(connection, &reply), REDIS_OK);
    check_reply(connection, reply, expected);
}

static long long integer(const char *command)
{
    redisReply *reply = redisCommand(client, command);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    long long value = reply->integer;
    freeReplyObject(reply);
    return value;
}

static bool info_has(const char *field)
{
    redisReply *reply = redisCommand(client, "INFO clients");
    assert_non_null(reply);
    bool has = strstr(reply->str, field) != NULL;
    freeReplyObject(reply);
    return has;
}

struct step {
    const char *command;
    const char *expected;
};

static void run_steps(const struct step *steps)
{
    for (const struct step *step = steps; step->command != NULL; step++) {
        check(client, step->expected, step->command);
    }
}

static const char wrong_type[] =
    "WRONGTYPE Operation against a key holding the wrong kind of value";

/* ---- values and keys ---------------------------------------------------------- */

static void strings(void **state)
{
    (void)state;
    run_steps((const struct step[]){
        {"SET str one", "OK"},
        {"GET str", "one"},
        {"GET nothing", "nil"},
        {"SET str two NX", "nil"},
        {"SET str two GET", "one"},
        {"APPEND str -three", "9"},
        {"GETRANGE str -5 -1", "three"},
        {"SETRANGE str 0 TWO", "9"},
        {"GETDEL str", "TWO-three"},
        {"STRLEN str", "0"},
        {"MSET a 1 b 2", "OK"},
        {"MGET a nothing b", "1 nil 2"},
        {"INCR n", "1"},
        {"INCRBY n 41", "42"},
        {"DECRBY n 50", "-8"},
        {"INCRBYFLOAT n 10.5", "2.5"},
        {"INCR n", "ERR value is not an integer or out of range"},
        {"COPY a copied", "1"},
        {"RENAME a to", "OK"},
        {"EXISTS a to copied", "2"},
        {"TYPE to", "string"},
        {"UNLINK to copied", "2"},
        {NULL, NULL},
    });
}

static void bytes_of_any_kind(void **state)
{
    (void)state;
    char bytes[1024];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
    }
    check(client, "OK", "SET %b %b", bytes, sizeof(bytes), bytes, sizeof(bytes));
    redisReply *reply = redisCommand(client, "GET %b", bytes, sizeof(bytes));
    assert_non_null(reply);
    assert_int_equal(reply->len, sizeof(bytes));
    assert_memory_equal(reply->str, bytes, sizeof(bytes));
    freeReplyObject(reply);
}

static void expiry(void **state)
{
    (void)state;
    check(client, "OK", "SET k v EX 100");
    long long ttl_s = integer("TTL k");
    assert_true(ttl_s == 99 || ttl_s == 100);
    long long at_s = (long long)time(NULL) + 1000;
    run_steps((const struct step[]){
        {"PERSIST k", "1"},
        {"TTL k", "-1"},
        {"EXPIRE k 50 XX", "0"},
        {"EXPIRE k 50", "1"},
        {"EXPIRE k 40 GT", "0"},
        {NULL, NULL},
    });
    check(client, "1", "EXPIREAT k %lld", at_s);
    assert_int_equal(integer("EXPIRETIME k"), at_s);
    check(client, "OK", "SET k w KEEPTTL");
    assert_true(integer("PTTL k") > 900000);
    check(client, "w", "GETEX k PX 20");
    while (integer("EXISTS k") != 0) {
        assert_true(time(NULL) < at_s - 1000 + LIMIT_S);
    }
    check(client, "-2", "TTL k");
}

/* ---- sorted sets and positions ------------------------------------------------ */

static void sorted_sets(void **state)
{
    (void)state;
    run_steps((const struct step[]){
        {"ZADD s 1 a 2 b 3.5 c", "3"},
        {"ZADD s GT CH 0 a 4 c", "1"},
        {"ZADD s NX 9 a", "0"},
        {"ZADD s INCR 1.25 a", "2.25"},
        {"ZINCRBY s -0.75 a", "1.5"},
        {"ZMSCORE s a nobody b", "1.5 nil 2"},
        {"ZADD s inf top -inf bottom", "2"},
        {"ZRANGE s 0 -1 WITHSCORES", "bottom -inf a 1.5 b 2 c 4 top inf"},
        {"ZRANK s b", "2"},
        {"ZREVRANK s b", "2"},
        {"ZRANK s nobody", "nil"},
        {"ZCOUNT s (1.5 +inf", "3"},
        {"ZRANGE s +inf (1 BYSCORE REV LIMIT 1 2", "c b"},
        {"ZREM s top bottom nobody", "2"},
        {"ZRANGESTORE s2 s 0 1", "2"},
        {"ZADD lex 0 a 0 b 0 c 0 d", "4"},
        {"ZRANGE lex [b (d BYLEX", "b c"},
        {"ZLEXCOUNT lex - [c", "3"},
        {"ZREMRANGEBYLEX lex [c +", "2"},
        {"ZADD x 1 a 2 b 3.5 c", "3"},
        {"ZADD y 10 b 20 c 30 d", "3"},
        {"ZUNION 2 x y WITHSCORES", "a 1 b 12 c 23.5 d 30"},
        {"ZINTER 2 x y WITHSCORES", "b 12 c 23.5"},
        {"ZDIFF 2 x y", "a"},
        {"ZINTERCARD 2 x y LIMIT 1", "1"},
        {"ZUNIONSTORE u 2 x y WEIGHTS 2 1 AGGREGATE MAX", "4"},
        {"ZPOPMIN u 2", "a 2 b 10"},
        {"ZPOPMAX u", "d 30"},
        {"ZMPOP 2 nothing u MIN COUNT 5", "u c 20"},
        {"ZMPOP 1 u MIN", "nil"},
        {"SET str x", "OK"},
        {"ZCARD str", wrong_type},
        {NULL, NULL},
    });
}

static void positions(void **state)
{
    (void)state;
    run_steps((const struct step[]){
        {"GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania", "2"},
        {"GEODIST g Palermo Catania km", "166.2742"},
        {"GEOHASH g Palermo nobody", "sqc8b49rny0 nil"},
        {"GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHDIST",
         "Catania 56.4413 Palermo 190.4424"},
        {"GEOSEARCH g FROMMEMBER nobody BYRADIUS 1 km",
         "ERR could not decode requested zset member"},
        {"GEOSEARCHSTORE d g FROMLONLAT 15 37 BYBOX 100 200 km", "1"},
        {"ZRANGE d 0 -1", "Catania"},
        {NULL, NULL},
    });
    enum { COUNT = 1000 };
    for (int i = 0; i < COUNT; i++) { /* one pipeline */
        assert_int_equal(redisAppendCommand(client, "GEOADD many %f 1 m%d", i / 10.0, i),
                         REDIS_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        check_next(client, "1");
    }
    assert_int_equal(integer("ZCARD many"), COUNT);
}

/* ---- transactions, messages, waiting ------------------------------------------ */

static void transactions(void **state)
{
    (void)state;
    run_steps((const struct step[]){
        {"MULTI", "OK"},
        {"SET t 5", "QUEUED"},
        {"INCRBY t 2", "QUEUED"},
        {"ZADD tz 1 a 2 b", "QUEUED"},
        {"ZCARD t", "QUEUED"},
        {"ZRANGE tz 0 -1 WITHSCORES", "QUEUED"},
        {"EXEC",
         "OK 7 2 WRONGTYPE Operation against a key holding the wrong kind of value"
         " a 1 b 2"},
        {"MULTI", "OK"},
        {"SET t x", "QUEUED"},
        {"GET", "ERR wrong number of arguments for 'get' command"},
        {"EXEC", "EXECABORT Transaction discarded because of previous errors."},
        {"MULTI", "OK"},
        {"SET t y", "QUEUED"},
        {"DISCARD", "OK"},
        {"GET t", "7"},
        {"EXEC", "ERR EXEC without MULTI"},
        {NULL, NULL},
    });
    redisContext *other = open_connection(server_port);
    check(client, "OK", "WATCH t tz");
    check(other, "1", "ZADD tz 3 c");
    run_steps((const struct step[]){
        {"MULTI", "OK"},
        {"INCR t", "QUEUED"},
        {"EXEC", "nil"},
        {"WATCH t", "OK"},
        {"MULTI", "OK"},
        {"INCR t", "QUEUED"},
        {"EXEC", "8"},
        {"WATCH t", "OK"},
        {NULL, NULL},
    });
    check(other, "1", "DEL t");
    run_steps((const struct step[]){
        {"UNWATCH", "OK"},
        {"MULTI", "OK"},
        {"INCR t", "QUEUED"},
        {"EXEC", "1"},
        {NULL, NULL},
    });
    redisFree(other);
}

static void messages(void **state)
{
    (void)state;
    redisContext *subscriber = open_connection(server_port);
    check(subscriber, "subscribe news 1", "SUBSCRIBE news other");
    check_next(subscriber, "subscribe other 2");
    check(subscriber, "psubscribe n?ws* 3", "PSUBSCRIBE n?ws*");
    run_steps((const struct step[]){
        {"PUBSUB NUMSUB news none", "news 1 none 0"},
        {"PUBSUB NUMPAT", "1"},
        {"PUBLISH news one", "2"},
        {"PUBLISH nowsreel two", "1"},
        {"PUBLISH nobody-listens x", "0"},
        {NULL, NULL},
    });
    check_next(subscriber, "message news one");
    check_next(subscriber, "pmessage n?ws* news one");
    check_next(subscriber, "pmessage n?ws* nowsreel two");
    check(subscriber, "ssubscribe news 1", "SSUBSCRIBE news");
    check(client, "1", "SPUBLISH news three");
    check_next(subscriber, "smessage news three");
    check(subscriber, "pong ", "PING");
    check(subscriber, "sunsubscribe news 0", "SUNSUBSCRIBE");
    check(subscriber, "punsubscribe n?ws* 2", "PUNSUBSCRIBE");
    check(subscriber, "unsubscribe news 1", "UNSUBSCRIBE news");
    check(subscriber, "unsubscribe other 0", "UNSUBSCRIBE other");
    check(subscriber, "PONG", "PING");
    check(client, "", "PUBSUB CHANNELS");
    redisFree(subscriber);
}

static void pops_that_wait(void **state)
{
    (void)state;
    redisContext *waiting = open_connection(server_port);
    const char *commands[] = {"BZPOPMIN q1 q2 0", "BZMPOP 0 2 q1 q2 MAX COUNT 2"};
    const char *expected[] = {"q2 a 1", "q2 c 3.5 b 2"};
    for (size_t i = 0; i < 2; i++) {
        redisAppendCommand(waiting, commands[i]);
        for (int done = 0; !done;) {
            assert_int_equal(redisBufferWrite(waiting, &done), REDIS_OK);
        }
        while (!info_has("blocked_clients:1")) {}
        check(client, "3", "ZADD q2 1 a 2 b 3.5 c");
        check_next(waiting, expected[i]);
        integer("DEL q2");
    }
    check(waiting, "nil", "BZPOPMAX q1 0.01");
    redisFree(waiting);
}

/* ---- the server dies ---------------------------------------------------------- */

static void tell_keeper(const char *verb)
{
    redisContext *keeper = open_connection(atoi(getenv("YONDER_KEEPER_PORT")));
    check(keeper, "OK", verb);
    redisFree(keeper);
}

static void killed_and_back(void **state)
{
    (void)state;
    check(client, "OK", "SET k v");
    tell_keeper("kill");
    assert_null(redisCommand(client, "GET k"));
    assert_int_not_equal(client->err, 0);
    assert_int_equal(redisReconnect(client), REDIS_ERR);
    tell_keeper("start");
    assert_int_equal(redisReconnect(client), REDIS_OK);
    check(client, "nil", "GET k");
    check(client, "OK", "SET k v");
}

/* ---- callbacks ---------------------------------------------------------------- */

struct listener {
    uv_loop_t loop;
    uv_timer_t limit;
    redisAsyncContext *connection;
    int n_connections; /* made so far */
    int n_lost;
    struct text heard; /* subscriptions and messages in order */
};

static void connect_listener(struct listener *listener);

static void on_message(redisAsyncContext *connection, void *reply, void *private)
{
    (void)private;
    struct listener *listener = connection->data;
    if (reply == NULL) {
        return; /* the connection is lost */
    }
    redisReply *message = reply;
    add_reply(&listener->heard, message);
    const char *kind = message->element[0]->str;
    const char *last = message->element[message->elements - 1]->str;
    if (strcmp(kind, "psubscribe") == 0) { /* the last subscription is there */
        check(client, "2", "PUBLISH news %s", listener->n_lost == 0 ? "one" : "two");
    } else if (strcmp(kind, "pmessage") == 0 && strcmp(last, "one") == 0) {
        tell_keeper("kill");
    } else if (strcmp(kind, "pmessage") == 0) {
        redisAsyncDisconnect(connection);
    }
}

static void on_disconnect(const redisAsyncContext *connection, int status)
{
    struct listener *listener = connection->data;
    if (status == REDIS_OK) { /* as asked */
        uv_timer_stop(&listener->limit);
        return;
    }
    listener->n_lost++;
    tell_keeper("start");
    assert_int_equal(redisReconnect(client), REDIS_OK);
    connect_listener(listener);
}

static void connect_listener(struct listener *listener)
{
    redisAsyncContext *connection = redisAsyncConnect("127.0.0.1", server_port);
    assert_non_null(connection);
    assert_int_equal(connection->err, 0);
    connection->data = listener;
    listener->connection = connection;
    listener->n_connections++;
    assert_int_equal(redisLibuvAttach(connection, &listener->loop), REDIS_OK);
    redisAsyncSetDisconnectCallback(connection, on_disconnect);
    redisAsyncCommand(connection, on_message, NULL, "SUBSCRIBE news");
    redisAsyncCommand(connection, on_message, NULL, "PSUBSCRIBE n*");
}

static void on_limit(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing heard for %d s", LIMIT_S);
}

static void callbacks(void **state)
{
    (void)state;
    struct listener listener = {0};
    assert_int_equal(uv_loop_init(&listener.loop), 0);
    uv_timer_init(&listener.loop, &listener.limit);
    uv_timer_start(&listener.limit, on_limit, LIMIT_S * UINT64_C(1000), 0);
    connect_listener(&listener);
    uv_run(&listener.loop, UV_RUN_DEFAULT);

    assert_string_equal(listener.heard.bytes,
                        "subscribe news 1 psubscribe n* 2 message news one"
                        " pmessage n* news one subscribe news 1 psubscribe n* 2"
                        " message news two pmessage n* news two");
    assert_int_equal(listener.n_connections, 2);
    uv_close((uv_handle_t *)&listener.limit, NULL);
    uv_run(&listener.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&listener.loop), 0);
}

int main(void)
{
    const char *port = getenv("YONDER_PORT");
    if (port == NULL || getenv("YONDER_KEEPER_PORT") == NULL) {
        fputs("no YONDER_PORT: run tests/clients/test_hiredis.py\n", stderr);
        return 1;
    }
    server_port = atoi(port);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strings, open_client, close_client),
        cmocka_unit_test_setup_teardown(bytes_of_any_kind, open_client, close_client),
        cmocka_unit_test_setup_teardown(expiry, open_client, close_client),
        cmocka_unit_test_setup_teardown(sorted_sets, open_client, close_client),
        cmocka_unit_test_setup_teardown(positions, open_client, close_client),
        cmocka_unit_test_setup_teardown(transactions, open_client, close_client),
        cmocka_unit_test_setup_teardown(messages, open_client, close_client),
        cmocka_unit_test_setup_teardown(pops_that_wait, open_client, close_client),
        cmocka_unit_test_setup_teardown(killed_and_back, open_client, close_client),
        cmocka_unit_test_setup_teardown(callbacks, open_client, close_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
