/*
 * Fuzz target: the GEO and sorted set commands on the fake host.
 *
 * An input is a list of commands, each a list of words, each word one of a
 * dictionary or raw bytes. Checked: every reply is one well-formed reply, a
 * reply that is sent in steps from a held job is the same as one sent at once,
 * the engine accepts every query that was parsed, and the sets are sound in the
 * end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/reply.h"
#include "unit/host_fake.h"

#define WORDS_MAX 48
#define COMMANDS_MAX 8

/* A byte of the input below this is a word of the list (modulo its length); one from it
 * on is RAW_FIRST + the length of the raw word that follows; the last value ends the
 * command. */
#define RAW_FIRST 200
#define END_OF_COMMAND 255

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const dictionary[] = {
    "GEOSEARCH",
    "GEOSEARCHSTORE",
    "GEORADIUS",
    "GEORADIUS_RO",
    "GEORADIUSBYMEMBER",
    "GEORADIUSBYMEMBER_RO",
    "GEOADD",
    "GEODIST",
    "GEOPOS",
    "GEOHASH",
    "ZRANGE",
    "ZRANGEBYSCORE",
    "ZADD",
    "ZREM",
    "ZSCAN",
    "ZRANK",
    "ZREVRANK",
    "ZMSCORE",
    "ZSCORE",
    "ZCARD",
    "SET",
    "EXPIRE",
    "SCAN",
    "KEYS",
    "COMMAND",
    "GETKEYS",
    "DOCS",
    "INFO",
    "LIST",
    "FILTERBY",
    "PATTERN",
    "k",
    "k2",
    "d",
    "s",
    "none",
    "m1",
    "m2",
    "m3",
    "m40",
    "FROMMEMBER",
    "FROMLONLAT",
    "BYRADIUS",
    "BYBOX",
    "BYPOLYGON",
    "WITHCOORD",
    "WITHDIST",
    "WITHHASH",
    "COUNT",
    "ANY",
    "ASC",
    "DESC",
    "STORE",
    "STOREDIST",
    "BYSCORE",
    "BYLEX",
    "REV",
    "LIMIT",
    "WITHSCORES",
    "NX",
    "XX",
    "CH",
    "GT",
    "LT",
    "INCR",
    "MATCH",
    "m*",
    "m",
    "km",
    "ft",
    "mi",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "-1",
    "10",
    "-10",
    "15",
    "37",
    "60",
    "85.05112878",
    "-85",
    "180",
    "-180",
    "179.9999",
    "200",
    "1000",
    "5000",
    "20000",
    "1e9",
    "inf",
    "-inf",
    "+inf",
    "nan",
    "1e400",
    "0.5",
    "(1",
    "(5",
    "[m",
    "(m2",
    "-",
    "+",
    "",
    "9223372036854775807",
    "-9223372036854775808",
    "3479099956230698",
    "4503599627370495",
    "4503599627370496",
    "1e300",
    "0x10",
    "WITHSCORE",
};
#define N_DICTIONARY (sizeof dictionary / sizeof dictionary[0])

static void die(const char *what, struct yn_bytes reply)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)(reply.len < 500 ? reply.len : 500),
            reply.data);
    abort();
}

/* Takes the words of the next command; returns how many, 0 at the end of the input. */
static size_t take_command(const uint8_t **data, size_t *size, struct yn_bytes *words)
{
    size_t n = 0;
    while (*size > 0 && n < WORDS_MAX) {
        uint8_t byte = *(*data)++;
        --*size;
        if (byte == END_OF_COMMAND)
            break;
        if (byte < RAW_FIRST) {
            const char *word = dictionary[byte % N_DICTIONARY];
            words[n++] = (struct yn_bytes){word, strlen(word)};
            continue;
        }
        size_t len =
            (size_t)(byte - RAW_FIRST) < *size ? (size_t)(byte - RAW_FIRST) : *size;
        words[n++] = (struct yn_bytes){(const char *)*data, len};
        *data += len;
        *size -= len;
    }
    return n;
}

static void check_reply_form(struct yn_bytes reply)
{
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    struct yn_reply *parsed = NULL, *another = NULL;
    if (parser == NULL)
        return;
    if (yn_reply_feed(parser, reply.data, reply.len) == YN_REPLY_BAD ||
        yn_reply_next(parser, &parsed) != YN_REPLY_READY)
        die("the reply is not one reply", reply);
    if (yn_reply_next(parser, &another) != YN_REPLY_MORE ||
        yn_reply_parser_offset(parser) > reply.len)
        die("the reply is more than one reply", reply);
    yn_reply_free(parsed);
    yn_reply_parser_free(parser);
}

/* Changes the sets while a job is held. */
static void change_sets(struct fake *fake, void *ctx)
{
    (void)ctx;
    fake_run(fake, "GEOADD k 1 1 m1 3 3 m2 15 38 m40 9 9 other");
    fake_run(fake, "ZREM k2 m1 m2 m3");
}

static void run(struct fake *fake, size_t n, const struct yn_bytes *words)
{
    struct yn_bytes reply = fake_run_words(fake, n, words);
    check_reply_form(reply);
    /* no allocation fails here, so that answer would hide a refusal of the engine's */
    const char nomem[] = "-" CMD_ERR_NOMEM;
    if (reply.len >= strlen(nomem) && memcmp(reply.data, nomem, strlen(nomem)) == 0)
        die("the engine refused what the parser let through", reply);
    if (fake_job_steps(fake) == 0)
        return;

    /* A job changes nothing by itself, so it can be run again. */
    char *whole = malloc(reply.len);
    if (whole == NULL)
        return;
    memcpy(whole, reply.data, reply.len);
    size_t len = reply.len;
    fake_set_jobs(fake, 40, true, change_sets, NULL);
    reply = fake_run_words(fake, n, words);
    if (reply.len != len || memcmp(reply.data, whole, len) != 0)
        die("in steps the reply differs", reply);
    fake_set_jobs(fake, SIZE_MAX, false, NULL, NULL);
    free(whole);
}

static void check_sets(struct fake *fake)
{
    static const char *const keys[] = {"k", "k2", "d", "s", "none"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct yn_bytes key = {keys[i], strlen(keys[i])};
        struct host_value value = host_key_read(fake_host(fake), key);
        const char *fault = value.type == HOST_ZSET ? yn_zset_check(value.zset) : NULL;
        if (fault != NULL)
            die("a set is broken", (struct yn_bytes){fault, strlen(fault)});
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yn_bytes words[WORDS_MAX];
    char line[64];
    struct fake *fake = fake_new();
    for (int i = 0; i < 60; i++) {
        snprintf(line, sizeof line, "GEOADD k %d.5 %d.25 m%d", i * 7 % 180, i * 3 % 85,
                 i);
        fake_run(fake, line);
    }
    fake_run(fake, "ZADD k2 1 m1 2.5 m2 -3 m3 inf m4 1e300 m5");
    fake_run(fake, "GEOADD k2 180 85.05112878 corner -180 -85 m6");
    fake_run(fake, "SET s string");
    if (size > 0) {
        fake_set_resp(fake, (*data & 1) != 0 ? 3 : 2);
        data++;
        size--;
    }
    for (int i = 0; i < COMMANDS_MAX && size > 0; i++) {
        size_t n = take_command(&data, &size, words);
        if (n > 0)
            run(fake, n, words);
    }
    check_sets(fake);
    fake_free(fake);
    return 0;
}
