/*
 * Fuzz target: options and arguments of every data command, on the fake host.
 *
 * An input is text, a command a line (fuzz_lines.h). RESP 3, SELECT <db> and TICK <ms>,
 * which moves the clock, are for the host; a word @<key> stands for what DUMP says of the
 * key. Checked after each command:
 *   - the reply is one well-formed reply, and nothing else;
 *   - an error changes nothing, a command that only reads neither: no value, no expiry,
 *     and no event is told;
 *   - what changes anything tells an event;
 *   - sets that have changed are sound, and not empty;
 *   - a command that waits has neither answered nor changed anything;
 *   - a reply in steps, while other commands change the sets, is the reply in one.
 */
#include "fuzz_commands.h"
#include "fuzz_lines.h"

#define COMMANDS_MAX 16
#define DB_KEYS_MAX 30 /* the host has room for 64, a command adds 20 at most */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line of commands comes from the table before the first run. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return cmd_register_data() ? 0 : 1;
}

/* ---- the state of the keys ---- */

struct state {
    struct fake *fake;
    bool is_checked; /* whether sets are looked into */
    size_t db;
    uint64_t sum;
};

/* Eight bytes at a time: each turn of a loop is counted by the fuzzer, and takes long. */
static uint64_t hash_of(uint64_t hash, const void *data, size_t len)
{
    const char *bytes = data;
    for (size_t left = len; left > 0;) {
        uint64_t word = 0;
        size_t n = left < sizeof word ? left : sizeof word;
        memcpy(&word, bytes, n);
        bytes += n;
        left -= n;
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return (hash ^ len) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_set(uint64_t hash, const struct yn_zset *set)
{
    struct yn_cursor cursor;
    bool is_at = yn_cursor_seek(&cursor, yn_zset_view(set), 0);
    while (is_at) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        hash = hash_of(hash, &entry.score, sizeof entry.score);
        hash = hash_of(hash, entry.member.data, entry.member.len);
        is_at = yn_cursor_next(&cursor);
    }
    return hash;
}

static void add_key(void *ctx, struct yn_bytes key, enum host_type type)
{
    struct state *state = ctx;
    struct host *h = fake_host(state->fake);
    struct host_value value = host_key_peek(h, key);
    int64_t expiry_ms = host_key_expiry_ms(h, key);
    uint64_t hash = hash_of(state->db + 1, key.data, key.len);
    if (expiry_ms < -1 || value.type != type)
        fuzz_die("a key of no type, or with an impossible expiry", key);
    hash = hash_of(hash, &expiry_ms, sizeof expiry_ms);
    hash = hash_of(hash, &value.form, sizeof value.form);
    if (type == HOST_STRING)
        hash = hash_of(hash, value.string.data, value.string.len);
    if (type == HOST_ZSET) {
        const char *fault = state->is_checked ? yn_zset_check(value.zset) : NULL;
        if (fault != NULL)
            fuzz_die("a set is broken", (struct yn_bytes){fault, strlen(fault)});
        if (yn_zset_count(value.zset) == 0)
            fuzz_die("an empty set", key);
        hash = hash_set(hash, value.zset);
    }
    state->sum += hash; /* whatever the order */
}

/* A number for all keys with their values and expiries. */
static uint64_t state_of(struct fake *fake, bool is_checked)
{
    struct host *h = fake_host(fake);
    struct state state = {.fake = fake, .is_checked = is_checked};
    size_t own_db = host_db_index(h);
    for (; state.db < host_db_count(h); state.db++) {
        host_db_use(h, state.db);
        host_key_scan(h, 0, SIZE_MAX, add_key, &state);
    }
    host_db_use(h, own_db);
    return state.sum;
}

static bool is_full(struct fake *fake)
{
    struct host *h = fake_host(fake);
    size_t own_db = host_db_index(h);
    bool full = false;
    for (size_t db = 0; db < host_db_count(h); db++) {
        host_db_use(h, db);
        full = full || host_key_count(h) > DB_KEYS_MAX;
    }
    host_db_use(h, own_db);
    return full;
}

/* ---- the keys of a run ---- */

/* The state when the keys were made, and as it is now, if that is known. */
static uint64_t filled_sum, now_sum;
static bool is_known;

static void fill(struct fake *fake)
{
    char line[1024];
    size_t len = (size_t)snprintf(line, sizeof line, "ZADD big");
    host_db_use(fake_host(fake), 0);
    fake_set_now(fake, FAKE_NOW_MS);
    fake_run(fake, "FLUSHALL");
    fake_run(fake, "ZADD k 1 a 2 b 2 c 2.5 d inf z -inf y");
    fake_run(fake, "ZADD k2 0 a 0 b 0 c 0 aa 0 ''");
    for (int i = 0; i < 40; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, " %d m%d", i / 3, i);
    fake_run(fake, line);
    fake_run(fake, "SET s string");
    fake_run(fake, "SET n 9223372036854775800");
    fake_run(fake, "SET f 2.5");
    fake_run(fake, "SET e soon PX 500");
    host_db_use(fake_host(fake), 1);
    fake_run(fake, "GEOADD t 13.36 38.11 m1 15.08 37.5 m2 2.35 48.85 m20");
    fake_run(fake, "EXPIRE t 5");
    host_db_use(fake_host(fake), 0);
    filled_sum = now_sum = state_of(fake, true);
    is_known = true;
}

static void change_sets(struct fake *fake, void *ctx)
{
    (void)ctx;
    is_known = false;
    fake_run(fake, "ZADD k 7 a 8 new");
    fake_run(fake, "ZREMRANGEBYRANK big 0 3");
    fake_run(fake, "ZREM k2 a b c");
    fake_run(fake, "SET s other");
}

/* ---- running ---- */

static void check_change(const struct cmd_spec *spec, struct yn_bytes reply,
                         const char *events, bool has_changed)
{
    bool is_silent = events[0] == '\0';
    if (reply.data[0] == '-' && (has_changed || !is_silent))
        fuzz_die("an error with a change", reply);
    if ((spec == NULL || (spec->flags & CMD_WRITE) == 0) && (has_changed || !is_silent))
        fuzz_die("a reading command with a change", reply);
    if (has_changed && is_silent)
        fuzz_die("a change without an event", reply);
}

/* The command's own spec, the subcommand's for a container. */
static const struct cmd_spec *find_spec(const struct fuzz_line *line)
{
    const struct cmd_spec *spec = cmd_find(line->words[0]);
    if (spec != NULL && spec->subcommands != NULL && line->n > 1)
        return cmd_find_sub(spec, line->words[1]);
    return spec;
}

static bool is_word(const struct fuzz_line *line, const char *word)
{
    return line->words[0].len == strlen(word) &&
           memcmp(line->words[0].data, word, line->words[0].len) == 0;
}

/* What is for the host. */
static bool set_host(struct fake *fake, const struct fuzz_line *line)
{
    struct host *h = fake_host(fake);
    char text[16];
    if (line->n != 2 || line->words[1].len >= sizeof text)
        return false;
    snprintf(text, sizeof text, "%.*s", (int)line->words[1].len, line->words[1].data);
    unsigned long value = strtoul(text, NULL, 10);
    if (is_word(line, "RESP"))
        fake_set_resp(fake, value == 3 ? 3 : 2);
    else if (is_word(line, "SELECT"))
        host_db_use(h, value % host_db_count(h));
    else if (is_word(line, "TICK"))
        fake_set_now(fake, host_now_ms(h) + (int64_t)(value % 100000));
    else
        return false;
    is_known = false;
    return true;
}

/* Puts the dump of a key in the place of each word @<key>. */
static void put_dumps(struct fake *fake, struct fuzz_line *line, struct yn_buf *dumps)
{
    for (size_t i = 0; i < line->n; i++) {
        struct yn_bytes word = line->words[i];
        if (word.len < 2 || word.data[0] != '@' || dumps->data != NULL)
            continue; /* one of them in a line is enough */
        struct yn_bytes dump[] = {{"DUMP", 4}, {word.data + 1, word.len - 1}};
        struct yn_bytes reply = fake_run_words(fake, 2, dump);
        const char *start = memchr(reply.data, '\n', reply.len);
        if (reply.data[0] != '$' || reply.data[1] == '-' || start == NULL)
            continue;
        size_t len = reply.len - (size_t)(start + 1 - reply.data) - strlen("\r\n");
        yn_buf_append(dumps, start + 1, len);
        line->words[i] = (struct yn_bytes){dumps->data, dumps->len};
    }
}

static void check_wait(struct fake *fake, struct yn_bytes reply, bool has_changed)
{
    struct cmd_block block = fake_block(fake);
    if (reply.len > 0 || block.n_keys == 0 || block.timeout_ms < 0 || has_changed ||
        fake_events(fake)[0] != '\0')
        fuzz_die("waiting with a reply or a change", reply);
}

static void run_command(struct fake *fake, const struct fuzz_line *line)
{
    const struct cmd_spec *spec = find_spec(line);
    if (is_full(fake))
        fill(fake);
    uint64_t before = is_known ? now_sum : state_of(fake, false);
    struct yn_bytes reply = fake_run_words(fake, line->n, line->words);
    now_sum = state_of(fake, false);
    is_known = true;
    bool has_changed = now_sum != before;
    if (has_changed)
        state_of(fake, true);
    if (fake_block(fake).wanted) {
        check_wait(fake, reply, has_changed);
        return;
    }
    fuzz_check_form(reply);
    check_change(spec, reply, fake_events(fake), has_changed);
    if (fake_job_steps(fake) > 0 && fuzz_repeats(line->words[0]))
        fuzz_check_steps(fake, line->n, line->words, reply, change_sets);
}

static void run(struct fake *fake, struct fuzz_line *line)
{
    struct yn_buf dumps;
    if (set_host(fake, line) || !fuzz_ends(line->n, line->words))
        return;
    yn_buf_init(&dumps);
    put_dumps(fake, line, &dumps);
    run_command(fake, line);
    yn_buf_clear(&dumps);
}

/* The keys stay from run to run; behind one that has changed them they are made anew. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fake *fake;
    struct yn_bytes rest = {(const char *)data, size};
    struct fuzz_line line;
    if (fake == NULL) {
        fake = fake_new();
        fill(fake);
    }
    yn_buf_init(&line.scratch);
    fake_set_resp(fake, 2);
    fake_set_random(fake, size);
    for (int i = 0; i < COMMANDS_MAX && fuzz_next_line(&rest, &line); i++)
        run(fake, &line);
    yn_buf_clear(&line.scratch);
    if (!is_known || now_sum != filled_sum)
        fill(fake);
    else
        host_db_use(fake_host(fake), 0);
    return 0;
}
