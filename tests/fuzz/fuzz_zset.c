/*
 * Fuzz target: the sorted set commands on the fake host, in sets of one leaf and of many.
 *
 * Inputs are made as those of fuzz_geosearch. Checked: every reply is one well-formed
 * reply, or the command asks to wait and names keys; a reply that is sent in steps from a
 * held job is the same as one sent at once; what a removal says it removed is gone, and
 * nothing else; a command that reads leaves the number of members alone; the sets are
 * sound.
 *
 * Making the sets and checking them would take nearly all of the time. So they stay from
 * run to run, and are made anew behind a run that has changed something; and they are
 * small in the fuzz variant, where the engine's nodes are tiny.
 */
#include "core/leaf.h"
#include "fuzz_commands.h"

#define COMMANDS_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const dictionary[] = {
    "ZADD",
    "ZINCRBY",
    "ZREM",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZREMRANGEBYLEX",
    "ZCARD",
    "ZCOUNT",
    "ZLEXCOUNT",
    "ZSCORE",
    "ZMSCORE",
    "ZRANK",
    "ZREVRANK",
    "ZRANGE",
    "ZRANGEBYSCORE",
    "ZREVRANGEBYSCORE",
    "ZRANGEBYLEX",
    "ZREVRANGEBYLEX",
    "ZREVRANGE",
    "ZRANDMEMBER",
    "ZPOPMIN",
    "ZPOPMAX",
    "ZMPOP",
    "BZPOPMIN",
    "BZPOPMAX",
    "BZMPOP",
    "ZSCAN",
    "COMMAND",
    "GETKEYS",
    "k",
    "k2",
    "big",
    "s",
    "none",
    "a",
    "b",
    "c",
    "aa",
    "",
    "m00100",
    "m00900",
    "long",
    "NX",
    "XX",
    "GT",
    "LT",
    "CH",
    "INCR",
    "BYSCORE",
    "BYLEX",
    "REV",
    "LIMIT",
    "WITHSCORES",
    "WITHSCORE",
    "MIN",
    "MAX",
    "COUNT",
    "MATCH",
    "0",
    "1",
    "2",
    "3",
    "5",
    "10",
    "64",
    "65",
    "500",
    "1000",
    "-1",
    "-2",
    "-10",
    "-500",
    "2.5",
    "0.001",
    "inf",
    "-inf",
    "+inf",
    "nan",
    "1e400",
    "1e5000",
    "0x10",
    "(1",
    "(2",
    "(inf",
    "(",
    "-",
    "+",
    "[a",
    "(b",
    "[m00200",
    "(m00950",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775",
};
#define N_DICTIONARY (sizeof dictionary / sizeof dictionary[0])

static const char *const keys[] = {"k", "k2", "big", "s", "none"};
#define N_KEYS (sizeof keys / sizeof keys[0])

static size_t count_members(struct fake *fake)
{
    size_t n = 0;
    for (size_t i = 0; i < N_KEYS; i++) {
        struct yn_bytes key = {keys[i], strlen(keys[i])};
        struct host_value value = host_key_read(fake_host(fake), key);
        if (value.type == HOST_ZSET)
            n += yn_zset_count(value.zset);
    }
    return n;
}

static bool has_changed; /* whether a key was, since the keys were made */

/* Changes the sets while a job is held. */
static void change_sets(struct fake *fake, void *ctx)
{
    (void)ctx;
    has_changed = true;
    fake_run(fake, "ZADD k 7 a 8 new");
    fake_run(fake, "ZREMRANGEBYRANK big 0 3");
    fake_run(fake, "ZREM k2 a b c");
}

/* The number of members that the reply says are gone: only for commands whose reply is
 * that number, and keys that are counted. */
static bool read_removed(const char *name, struct yn_bytes key, struct yn_bytes reply,
                         size_t *out_n)
{
    *out_n = strtoul(reply.data + 1, NULL, 10);
    for (size_t i = 0; i < N_KEYS; i++)
        if (key.len == strlen(keys[i]) && memcmp(key.data, keys[i], key.len) == 0)
            return strncmp(name, "zrem", 4) == 0 && reply.data[0] == ':';
    return false;
}

static void run(struct fake *fake, size_t n, const struct yn_bytes *words)
{
    const struct cmd_spec *spec = cmd_find(words[0]);
    size_t n_before = count_members(fake), n_removed;
    if (spec == NULL || strcmp(spec->group, "sorted-set") != 0 || !fuzz_ends(n, words))
        return;
    struct yn_bytes reply = fake_run_words(fake, n, words);
    size_t n_after = count_members(fake);
    has_changed = has_changed || fake_events(fake)[0] != '\0';
    struct cmd_block block = fake_block(fake);
    if (block.wanted) {
        if (reply.len > 0 || block.n_keys == 0 || block.timeout_ms < 0 ||
            n_after != n_before)
            fuzz_die("waiting with a reply or a change", reply);
        return;
    }
    fuzz_check_form(reply);
    if (reply.data[0] == '-' && n_after != n_before)
        fuzz_die("an error with a change", reply);
    if (n > 1 && read_removed(spec->name, words[1], reply, &n_removed) &&
        n_before - n_removed != n_after)
        fuzz_die("another number is gone", reply);
    if ((spec->flags & CMD_WRITE) == 0 && n_after != n_before)
        fuzz_die("a reading command with a change", reply);
    if (fake_job_steps(fake) > 0 && fuzz_repeats(words[0]))
        fuzz_check_steps(fake, n, words, reply, change_sets);
}

/* The key of many leaves: m00000 .. m00999 or every twentieth of them, three of each
 * score. */
#define BIG_STEP (YN_LEAF_BYTES < 1024 ? 20 : 1)
#define BIG_N (1000 / BIG_STEP)

static void put_big(struct fake *fake)
{
    static char names[BIG_N][8];
    static struct yn_entry entries[BIG_N];
    struct yn_zset *set;
    for (size_t i = 0; i < BIG_N; i++) {
        snprintf(names[i], sizeof names[i], "m%05zu", i * BIG_STEP % 100000);
        entries[i] =
            (struct yn_entry){{names[i], strlen(names[i])}, (double)(i * BIG_STEP / 3)};
    }
    if (yn_zset_build(host_zset_options(fake_host(fake)), entries, BIG_N, &set) == YN_OK)
        host_key_put_zset(fake_host(fake), (struct yn_bytes){"big", 3}, set);
}

static void make_keys(struct fake *fake)
{
    fake_run(fake, "FLUSHALL");
    put_big(fake);
    fake_run(fake, "ZADD k 1 a 2 b 2 c 2.5 d inf z -inf y");
    fake_run(fake, "ZADD k2 0 a 0 b 0 c 0 aa 0 ''");
    fake_run(fake, "SET s string");
    has_changed = false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fake *fake;
    struct yn_bytes words[FUZZ_WORDS_MAX];
    if (fake == NULL) {
        fake = fake_new();
        make_keys(fake);
    }
    fake_set_resp(fake, size > 0 && (*data & 1) != 0 ? 3 : 2);
    fake_set_random(fake, size > 0 ? *data : 0);
    data += size > 0;
    size -= size > 0;
    for (int i = 0; i < COMMANDS_MAX && size > 0; i++) {
        size_t n = fuzz_take_command(&data, &size, dictionary, N_DICTIONARY, words);
        if (n > 0)
            run(fake, n, words);
    }
    if (!has_changed)
        return 0;
    for (size_t i = 0; i < N_KEYS; i++)
        fuzz_check_set(fake, keys[i]);
    make_keys(fake);
    return 0;
}
