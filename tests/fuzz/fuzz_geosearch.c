/*
 * Fuzz target: the GEO and sorted set commands on the fake host.
 *
 * An input is a list of commands, each a list of words, each word one of a
 * dictionary or raw bytes. Checked: every reply is one well-formed reply, a
 * reply that is sent in steps from a held job is the same as one sent at once,
 * the engine accepts every query that was parsed, and the sets are sound in the
 * end.
 */
#include "fuzz_commands.h"

#define COMMANDS_MAX 8

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

/* Changes the sets while a job is held. */
static void change_sets(struct fake *fake, void *ctx)
{
    (void)ctx;
    fake_run(fake, "GEOADD k 1 1 m1 3 3 m2 15 38 m40 9 9 other");
    fake_run(fake, "ZREM k2 m1 m2 m3");
}

static void run(struct fake *fake, size_t n, const struct yn_bytes *words)
{
    if (!fuzz_ends(n, words))
        return;
    struct yn_bytes reply = fake_run_words(fake, n, words);
    if (fake_block(fake).wanted)
        return;
    fuzz_check_form(reply);
    /* no allocation fails here, so that answer would hide a refusal of the engine's */
    const char nomem[] = "-" CMD_ERR_NOMEM;
    if (reply.len >= strlen(nomem) && memcmp(reply.data, nomem, strlen(nomem)) == 0)
        fuzz_die("the engine refused what the parser let through", reply);
    if (fake_job_steps(fake) > 0 && fuzz_repeats(words[0]))
        fuzz_check_steps(fake, n, words, reply, change_sets);
}

static void check_sets(struct fake *fake)
{
    static const char *const keys[] = {"k", "k2", "d", "s", "none"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        fuzz_check_set(fake, keys[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct yn_bytes words[FUZZ_WORDS_MAX];
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
        size_t n = fuzz_take_command(&data, &size, dictionary, N_DICTIONARY, words);
        if (n > 0)
            run(fake, n, words);
    }
    check_sets(fake);
    fake_free(fake);
    return 0;
}
