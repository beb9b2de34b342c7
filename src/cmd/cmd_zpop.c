/*
 * cmd_zpop.c: taking the lowest or highest members away: ZPOPMIN and ZPOPMAX, ZMPOP, and
 * the forms that wait for a member.
 *
 * What is popped must be gone before it is sent, since the removal may run out of memory
 * and a reply cannot be taken back. A few entries are copied; of many, the set is
 * frozen first (which costs nothing), and the reply is a job that reads the frozen view.
 *
 * A form that waits does no more than its plain form, but for asking to wait where that
 * would answer that there is nothing: the host runs it again when a key changes.
 */
#include "cmd/cmd_zset.h"

#include <math.h>

#include "cmd/zset_remove.h"
#include "cmd/zset_reply.h"

struct pop {
    bool is_max;
    size_t count; /* at most so many */
    /* What stands before the entries: nothing but their array's header; or the key, in an
     * array of two, the other one being theirs; or in one array with the only entry. */
    enum { POP_ENTRIES, POP_KEY_AND_ENTRIES, POP_KEY_AND_ENTRY } form;
    enum zset_reply_shape shape;
};

/* ---- popping ---- */

#define COPY_ENTRIES_MAX 64
#define COPY_BYTES_MAX ((size_t)64 * 1024)

/* Copies the entries, in the order of the reply. NULL: they are too large, or memory is
 * out. */
static struct yn_entry *copy_entries(struct cmd_call *call, const struct yn_zset *set,
                                     struct zrange_ranks ranks, bool is_max)
{
    struct yn_cursor cursor;
    size_t n_bytes = 0;
    if (ranks.n > COPY_ENTRIES_MAX)
        return NULL;
    struct yn_entry *entries = cmd_arena_take(call->arena, ranks.n * sizeof *entries);
    if (entries == NULL)
        return NULL;
    yn_cursor_seek(&cursor, yn_zset_view(set), ranks.first);
    for (size_t i = 0; i < ranks.n; i++) {
        struct yn_entry *entry = &entries[is_max ? ranks.n - 1 - i : i];
        *entry = yn_cursor_entry(&cursor);
        n_bytes += entry->member.len;
        yn_cursor_next(&cursor);
    }
    char *bytes =
        n_bytes > COPY_BYTES_MAX ? NULL : cmd_arena_take(call->arena, n_bytes + 1);
    if (bytes == NULL)
        return NULL;
    for (size_t i = 0; i < ranks.n; i++) {
        struct yn_bytes *member = &entries[i].member;
        if (member->len > 0)
            memcpy(bytes, member->data, member->len);
        member->data = bytes;
        bytes += member->len;
    }
    return entries;
}

static void reply_header(struct host *h, const struct pop *pop, struct yn_bytes key,
                         size_t n)
{
    if (pop->form == POP_KEY_AND_ENTRY)
        host_reply_array(h, 3);
    else if (pop->form == POP_KEY_AND_ENTRIES)
        host_reply_array(h, 2);
    if (pop->form != POP_ENTRIES)
        host_reply_bulk(h, key);
    if (pop->form != POP_KEY_AND_ENTRY)
        zset_reply_header(h, n, pop->shape);
}

static const char *event_of(const struct pop *pop)
{
    return pop->is_max ? "zpopmax" : "zpopmin";
}

static bool pop_few(struct cmd_call *call, const struct pop *pop, struct yn_bytes key,
                    struct yn_zset *set, struct zrange_ranks ranks,
                    const struct yn_entry *entries)
{
    if (!zset_remove_ranks(call, key, set, ranks, event_of(pop)))
        return false;
    reply_header(call->host, pop, key, ranks.n);
    for (size_t i = 0; i < ranks.n; i++)
        zset_reply_entry(call->host, entries[i], pop->shape);
    return true;
}

static bool pop_many(struct cmd_call *call, const struct pop *pop, struct yn_bytes key,
                     struct yn_zset *set, struct zrange_ranks ranks)
{
    struct yn_view *view;
    if (yn_zset_freeze(set, &view) != YN_OK)
        return false;
    struct cmd_job *job = zset_reply_new(view, ranks, pop->is_max, pop->shape);
    if (job == NULL) {
        yn_view_free(view);
        return false;
    }
    job->n_bytes = zset_reply_bytes(set, ranks.n);
    if (!zset_remove_ranks(call, key, set, ranks, event_of(pop))) {
        job->free(job);
        return false;
    }
    reply_header(call->host, pop, key, ranks.n);
    call->job = job;
    return true;
}

/* Pops from a set, which is not empty, and answers. */
static void run_pop(struct cmd_call *call, const struct pop *pop, struct yn_bytes key,
                    struct yn_zset *set)
{
    size_t count = yn_zset_count(set);
    struct zrange_ranks ranks = {0, pop->count < count ? pop->count : count};
    if (pop->is_max)
        ranks.first = count - ranks.n;
    struct yn_entry *entries = copy_entries(call, set, ranks, pop->is_max);
    bool is_done = entries != NULL ? pop_few(call, pop, key, set, ranks, entries)
                                   : pop_many(call, pop, key, set, ranks);
    if (!is_done)
        host_reply_error(call->host, CMD_ERR_NOMEM);
}

/* Pops from the first key that has members. Returns false, with no answer, when none
 * has. */
static bool pop_first(struct cmd_call *call, const struct pop *pop,
                      const struct yn_bytes *keys, size_t n_keys)
{
    for (size_t i = 0; i < n_keys; i++) {
        struct yn_zset *set;
        if (!zset_remove_find_or_reply(call, keys[i], &set))
            return true;
        if (set == NULL)
            continue;
        run_pop(call, pop, keys[i], set);
        return true;
    }
    return false;
}

static void pop_or_wait(struct cmd_call *call, const struct pop *pop,
                        const struct yn_bytes *keys, size_t n_keys, int64_t timeout_ms)
{
    if (!pop_first(call, pop, keys, n_keys))
        call->block = (struct cmd_block){
            .wanted = true,
            .keys = keys,
            .n_keys = n_keys,
            .timeout_ms = timeout_ms,
            .on_timeout = CMD_TIMEOUT_NULL_ARRAY,
        };
}

/* ---- parsing ---- */

/* Reads a word as a number of seconds, which may be a fraction. */
static bool parse_timeout(struct cmd_args *args, struct host *h, struct yn_bytes word,
                          int64_t *out_ms)
{
    long double seconds;
    if (!cmd_word_parse_long_double(word, &seconds))
        return cmd_args_fail(args, "ERR timeout is not a float or out of range");
    long double ms = ceill(seconds * 1000);
    if (ms < 0)
        return cmd_args_fail(args, "ERR timeout is negative");
    if (ms > (long double)(INT64_MAX - host_now_ms(h)))
        return cmd_args_fail(args, "ERR timeout is out of range");
    *out_ms = (int64_t)ms;
    return true;
}

/* A number that is at least 1, or else the message. */
static bool parse_positive(struct cmd_args *args, const char *message, size_t *out_value)
{
    int64_t value;
    if (!cmd_args_int64(args, message, &value))
        return false;
    *out_value = (size_t)value;
    return value >= 1 || cmd_args_fail(args, message);
}

/* numkeys key [key ...] MIN|MAX [COUNT count] */
static bool parse_zmpop(struct cmd_args *args, struct pop *pop,
                        const struct yn_bytes **out_keys, size_t *out_n_keys)
{
    *pop =
        (struct pop){.count = 1, .form = POP_KEY_AND_ENTRIES, .shape = ZSET_REPLY_PAIRS};
    if (!parse_positive(args, "ERR numkeys should be greater than 0", out_n_keys))
        return false;
    if (*out_n_keys >= cmd_args_left(args))
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    *out_keys = args->argv + args->at;
    args->at += *out_n_keys;

    pop->is_max = cmd_args_option(args, "max", 0);
    if (!pop->is_max && !cmd_args_option(args, "min", 0))
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    if (cmd_args_option(args, "count", 1) &&
        !parse_positive(args, "ERR count should be greater than 0", &pop->count))
        return false;
    return cmd_args_left(args) == 0 || cmd_args_fail(args, CMD_ERR_SYNTAX);
}

/* ---- the commands ---- */

/* With a count even a single member is in an array of its own in RESP3. */
static void run_zpop(struct cmd_call *call, bool is_max)
{
    struct cmd_args args;
    struct pop pop = {.is_max = is_max, .count = 1, .shape = ZSET_REPLY_FLAT};
    struct yn_zset *set;
    cmd_args_init(&args, call, 2);
    if (call->argc > 3) {
        cmd_args_fail(&args, CMD_ERR_SYNTAX);
    } else if (call->argc == 3) {
        static const char message[] = "ERR value is out of range, must be positive";
        int64_t count = 0;
        pop.shape = ZSET_REPLY_SCORES;
        if (cmd_args_int64(&args, message, &count) && count < 0)
            cmd_args_fail(&args, message);
        pop.count = (size_t)count;
    }
    if (cmd_args_failed(&args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!zset_remove_find_or_reply(call, call->argv[1], &set))
        return;
    if (set == NULL || pop.count == 0)
        host_reply_array(call->host, 0);
    else
        run_pop(call, &pop, call->argv[1], set);
}

void cmd_zpopmin(struct cmd_call *call)
{
    run_zpop(call, false);
}

void cmd_zpopmax(struct cmd_call *call)
{
    run_zpop(call, true);
}

void cmd_zmpop(struct cmd_call *call)
{
    struct cmd_args args;
    struct pop pop;
    const struct yn_bytes *keys;
    size_t n_keys;
    cmd_args_init(&args, call, 1);
    if (!parse_zmpop(&args, &pop, &keys, &n_keys))
        cmd_args_reply_error(&args, call->host);
    else if (!pop_first(call, &pop, keys, n_keys))
        host_reply_null_array(call->host);
}

static void run_bzpop(struct cmd_call *call, bool is_max)
{
    struct cmd_args args;
    struct pop pop = {.is_max = is_max,
                      .count = 1,
                      .form = POP_KEY_AND_ENTRY,
                      .shape = ZSET_REPLY_FLAT};
    int64_t timeout_ms;
    cmd_args_init(&args, call, call->argc);
    if (!parse_timeout(&args, call->host, call->argv[call->argc - 1], &timeout_ms))
        cmd_args_reply_error(&args, call->host);
    else
        pop_or_wait(call, &pop, call->argv + 1, call->argc - 2, timeout_ms);
}

void cmd_bzpopmin(struct cmd_call *call)
{
    run_bzpop(call, false);
}

void cmd_bzpopmax(struct cmd_call *call)
{
    run_bzpop(call, true);
}

/* The timeout comes first but is looked at last. */
void cmd_bzmpop(struct cmd_call *call)
{
    struct cmd_args args;
    struct pop pop;
    const struct yn_bytes *keys;
    size_t n_keys;
    int64_t timeout_ms;
    cmd_args_init(&args, call, 2);
    if (!parse_zmpop(&args, &pop, &keys, &n_keys) ||
        !parse_timeout(&args, call->host, call->argv[1], &timeout_ms))
        cmd_args_reply_error(&args, call->host);
    else
        pop_or_wait(call, &pop, keys, n_keys, timeout_ms);
}
