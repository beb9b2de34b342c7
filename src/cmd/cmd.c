/*
 * cmd.c: the registry of commands, and the way from a request to its command.
 *
 * All top-level names of all tables lie in one open-addressed hash of a fixed
 * size; subcommands are few and searched one by one. The hash folds the case of
 * letters, so that a look-up costs one pass over the name and one comparison.
 * The registry is filled once, at start-up, and only read from then on.
 */
#include "cmd/cmd.h"

#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/cmd_unsupported.h"

#define COMMANDS_MAX 512
#define SLOTS (COMMANDS_MAX * 2) /* a power of two; at most half full */

static const struct cmd_spec *commands[COMMANDS_MAX]; /* in the order of registration */
static size_t lengths[COMMANDS_MAX];                  /* of their names */
static size_t n_commands;
static uint16_t slots[SLOTS]; /* index into commands, plus 1; 0: free */

/* ---- the table ---- */

/* The first and the last bytes of the name: eight of each, or those there are. */
static void load_ends(struct yn_bytes name, uint64_t *out_first, uint64_t *out_last)
{
    *out_first = *out_last = 0;
    if (name.len >= 8) {
        memcpy(out_first, name.data, 8);
        memcpy(out_last, name.data + name.len - 8, 8);
    } else if (name.len >= 4) {
        memcpy(out_first, name.data, 4);
        memcpy(out_last, name.data + name.len - 4, 4);
    } else {
        for (size_t i = 0; i < name.len; i++)
            *out_first = *out_first << 8 | (unsigned char)name.data[i];
    }
}

/* Over the letters in lower case. Setting bit 5 also merges a few other bytes, which the
 * comparison tells apart. The middle of a name of more than 16 bytes does not count. */
static size_t hash_name(struct yn_bytes name)
{
    const uint64_t lower = UINT64_C(0x2020202020202020);
    uint64_t first, last;
    load_ends(name, &first, &last);
    uint64_t hash = (first | lower) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29 ^ (last | lower) ^ name.len) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(hash >> 40) & (SLOTS - 1);
}

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

/* The slot that holds the name, or the free one where it belongs. */
static size_t find_slot(struct yn_bytes name)
{
    size_t slot = hash_name(name);
    while (slots[slot] != 0) {
        size_t i = slots[slot] - 1u;
        if (lengths[i] == name.len &&
            cmd_letters_are(name.data, commands[i]->name, name.len))
            break;
        slot = (slot + 1) & (SLOTS - 1);
    }
    return slot;
}

bool cmd_register(const struct cmd_spec *table)
{
    size_t n_new = 0;
    for (const struct cmd_spec *spec = table; spec->name != NULL; spec++) {
        const struct cmd_spec *known = cmd_find(text_bytes(spec->name));
        if (known != NULL && known != spec)
            return false;
        n_new += known == NULL;
    }
    if (n_new > COMMANDS_MAX - n_commands)
        return false;

    for (const struct cmd_spec *spec = table; spec->name != NULL; spec++) {
        size_t slot = find_slot(text_bytes(spec->name));
        if (slots[slot] != 0)
            continue; /* this table was added before */
        lengths[n_commands] = strlen(spec->name);
        commands[n_commands++] = spec;
        slots[slot] = (uint16_t)n_commands;
    }
    return true;
}

const struct cmd_spec *cmd_find(struct yn_bytes name)
{
    size_t slot = find_slot(name);
    return slots[slot] == 0 ? NULL : commands[slots[slot] - 1];
}

const struct cmd_spec *cmd_find_sub(const struct cmd_spec *container,
                                    struct yn_bytes name)
{
    if (container->subcommands == NULL)
        return NULL;
    /* subcommands are named "container|sub" */
    size_t skip = strlen(container->name) + 1;
    for (const struct cmd_spec *sub = container->subcommands; sub->name != NULL; sub++)
        if (cmd_word_is(name, sub->name + skip))
            return sub;
    return NULL;
}

const struct cmd_spec *cmd_find_full(struct yn_bytes name)
{
    const char *bar = name.len == 0 ? NULL : memchr(name.data, '|', name.len);
    if (bar == NULL)
        return cmd_find(name);
    size_t len = (size_t)(bar - name.data);
    const struct cmd_spec *container = cmd_find((struct yn_bytes){name.data, len});
    if (container == NULL)
        return NULL;
    return cmd_find_sub(container, (struct yn_bytes){bar + 1, name.len - len - 1});
}

const struct cmd_spec *cmd_at(size_t i)
{
    return i < n_commands ? commands[i] : NULL;
}

bool cmd_arity_is_ok(const struct cmd_spec *spec, size_t argc)
{
    if (spec->arity >= 0)
        return argc == (size_t)spec->arity;
    return argc >= (size_t)-spec->arity;
}

/* ---- keys ---- */

/* argv[1], and the words behind STORE or STOREDIST. The options start behind the unit,
 * which is the fifth word at the earliest. */
static size_t georadius_named(size_t argc, const struct yn_bytes *argv, size_t *out_index,
                              size_t max)
{
    size_t n = 1;
    if (max > 0)
        out_index[0] = 1;
    for (size_t i = 5; i + 1 < argc; i++) {
        if (!cmd_word_is(argv[i], "store") && !cmd_word_is(argv[i], "storedist"))
            continue;
        i++;
        if (n < max)
            out_index[n] = i;
        n++;
    }
    return n;
}

/* The destination is the last one named. */
static size_t georadius_keys(size_t argc, const struct yn_bytes *argv, size_t *out_index,
                             size_t max)
{
    size_t store = 0;
    for (size_t i = 5; i + 1 < argc; i++) {
        if (cmd_word_is(argv[i], "store") || cmd_word_is(argv[i], "storedist"))
            store = ++i;
    }
    if (max > 0)
        out_index[0] = 1;
    if (store != 0 && max > 1)
        out_index[1] = store;
    return store != 0 ? 2 : 1;
}

/* A number as C's atoi reads it, as far as it matters: digits up to what is none. 0 for
 * what is no number above 0. */
static size_t leading_number(struct yn_bytes word)
{
    size_t n = 0;
    for (size_t i = 0; i < word.len && word.data[i] >= '0' && word.data[i] <= '9'; i++)
        n = n < INT32_MAX ? n * 10 + (size_t)(word.data[i] - '0') : n;
    return n;
}

/* The destination, if there is one, and the keys behind their number; none at all when
 * there are fewer words than it says. */
static size_t numkeys_keys(const struct cmd_spec *spec, size_t argc,
                           const struct yn_bytes *argv, size_t *out_index, size_t max)
{
    size_t first = spec->numkeys + (size_t)1, n_destinations = spec->key_first != 0;
    size_t n_keys = leading_number(argv[spec->numkeys]), n = 0;
    if (n_keys == 0 || n_keys > argc - first)
        return 0;
    if (n_destinations > 0 && max > 0)
        out_index[n++] = (size_t)spec->key_first;
    for (size_t i = 0; i < n_keys && n < max; i++)
        out_index[n++] = first + i;
    return n_keys + n_destinations;
}

size_t cmd_keys_of(const struct cmd_spec *spec, size_t argc, const struct yn_bytes *argv,
                   size_t *out_index, size_t max)
{
    if (spec->keys == CMD_KEYS_NONE || !cmd_arity_is_ok(spec, argc))
        return 0;
    if (spec->keys == CMD_KEYS_GEORADIUS)
        return georadius_keys(argc, argv, out_index, max);
    if (spec->keys == CMD_KEYS_NUMKEYS)
        return numkeys_keys(spec, argc, argv, out_index, max);

    long last = spec->key_last < 0 ? (long)argc + spec->key_last : spec->key_last;
    size_t n = 0;
    for (long i = spec->key_first; i <= last && i < (long)argc; i += spec->key_step) {
        if (n < max)
            out_index[n] = (size_t)i;
        n++;
    }
    return n;
}

size_t cmd_keys_named(const struct cmd_spec *spec, size_t argc,
                      const struct yn_bytes *argv, size_t *out_index, size_t max)
{
    if (spec->keys == CMD_KEYS_GEORADIUS && cmd_arity_is_ok(spec, argc))
        return georadius_named(argc, argv, out_index, max);
    return cmd_keys_of(spec, argc, argv, out_index, max);
}

/* Lists of key specs name the keys in order, and the last one stands for all that
 * follow. */
const char *cmd_key_flags_of(const struct cmd_spec *spec, size_t argc,
                             const struct yn_bytes *argv, size_t i)
{
    const struct cmd_key_spec *keys = spec->key_specs;
    if (keys == NULL || keys[0].flags == NULL)
        return "";
    while (i > 0 && keys[1].flags != NULL) {
        keys++;
        i--;
    }
    if (strstr(keys->flags, "variable_flags") == NULL)
        return keys->flags;
    /* SET reads the key only when it is told to return the old value */
    for (size_t a = 3; a < argc; a++)
        if (cmd_word_is(argv[a], "get"))
            return "RW access update";
    return "OW update";
}

/* ---- running ---- */

/* Error texts show at most so many bytes of a name, and of all arguments together. */
#define SHOWN_MAX 128

/* Text under construction on the stack; what does not fit is cut. */
struct message {
    char text[512];
    size_t len;
};

static void add_bytes(struct message *message, const char *bytes, size_t len)
{
    size_t room = sizeof message->text - message->len;
    len = len < room ? len : room;
    memcpy(message->text + message->len, bytes, len);
    message->len += len;
}

static void add_text(struct message *message, const char *text)
{
    add_bytes(message, text, strlen(text));
}

/* Adds a client's word, cut at `max` bytes and, as C strings are, at a zero byte. */
static void add_word(struct message *message, struct yn_bytes word, size_t max)
{
    size_t len = word.len < max ? word.len : max;
    if (len > 0)
        add_bytes(message, word.data, strnlen(word.data, len));
}

/* Begins like every answer to an unknown command, which clients look for. */
static void reply_unsupported(const struct cmd_call *call, const char *subject)
{
    struct message message = {.len = 0};
    add_text(&message, "ERR unknown command '");
    add_word(&message, call->argv[0], SHOWN_MAX);
    add_text(&message, "': ");
    add_text(&message, subject);
    add_text(&message, " not supported by this server; to have both, load the module "
                       "yonder.so into Valkey or Redis");
    host_reply_error_bytes(call->host, (struct yn_bytes){message.text, message.len});
}

static void reply_unknown_command(const struct cmd_call *call)
{
    const char *unsupported = cmd_unsupported(call->argv[0]);
    if (unsupported != NULL) {
        reply_unsupported(call, unsupported);
        return;
    }
    struct message message = {.len = 0};
    add_text(&message, "ERR unknown command '");
    add_word(&message, call->argv[0], SHOWN_MAX);
    add_text(&message, "', with args beginning with: ");
    size_t start = message.len;
    for (size_t i = 1; i < call->argc && message.len - start < SHOWN_MAX; i++) {
        size_t shown = message.len - start;
        add_text(&message, "'");
        add_word(&message, call->argv[i], SHOWN_MAX - shown);
        add_text(&message, "' ");
    }
    host_reply_error_bytes(call->host, (struct yn_bytes){message.text, message.len});
}

static void reply_unknown_subcommand(const struct cmd_call *call,
                                     const struct cmd_spec *spec)
{
    struct message message = {.len = 0};
    add_text(&message, "ERR unknown subcommand '");
    add_word(&message, call->argv[1], SHOWN_MAX);
    add_text(&message, "'. Try ");
    for (const char *c = spec->name; *c != '\0'; c++) {
        char upper = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
        add_bytes(&message, &upper, 1);
    }
    add_text(&message, " HELP.");
    host_reply_error_bytes(call->host, (struct yn_bytes){message.text, message.len});
}

static void reply_wrong_arity(const struct cmd_call *call, const struct cmd_spec *spec)
{
    struct message message = {.len = 0};
    add_text(&message, "ERR wrong number of arguments for '");
    add_text(&message, spec->name);
    add_text(&message, "' command");
    host_reply_error_bytes(call->host, (struct yn_bytes){message.text, message.len});
}

void cmd_reply_wrong_arity(struct cmd_call *call)
{
    reply_wrong_arity(call, call->spec);
}

bool cmd_read_zset_or_reply(struct cmd_call *call, struct yn_bytes key,
                            struct yn_zset **out_set)
{
    struct host_value value = host_key_read(call->host, key);
    *out_set = value.type == HOST_ZSET ? value.zset : NULL;
    if (value.type == HOST_ZSET || value.type == HOST_NONE)
        return true;
    host_reply_error(call->host, CMD_ERR_WRONGTYPE);
    return false;
}

const struct cmd_spec *cmd_lookup_or_reply(struct cmd_call *call)
{
    const struct cmd_spec *spec = call->spec;
    if (spec == NULL)
        spec = cmd_find(call->argv[0]);
    if (spec == NULL) {
        reply_unknown_command(call);
        return NULL;
    }
    if (spec->subcommands != NULL && call->argc > 1) {
        const struct cmd_spec *sub = cmd_find_sub(spec, call->argv[1]);
        if (sub == NULL) {
            reply_unknown_subcommand(call, spec);
            return NULL;
        }
        spec = sub;
    }
    if (spec->run == NULL || !cmd_arity_is_ok(spec, call->argc)) {
        reply_wrong_arity(call, spec);
        return NULL;
    }
    call->spec = spec;
    return spec;
}

void cmd_run(struct cmd_call *call)
{
    const struct cmd_spec *spec = cmd_lookup_or_reply(call);
    if (spec != NULL)
        spec->run(call);
}

/* ---- jobs ---- */

bool cmd_job_begin_worked(struct cmd_call *call, enum yn_status status,
                          const char *stopped)
{
    struct cmd_job *job = call->job;
    bool is_answered = true;
    if (status != YN_OK)
        host_reply_error(call->host, status == YN_ESTOPPED ? stopped : CMD_ERR_NOMEM);
    else
        is_answered = job->begin(job, call);
    if (status == YN_OK && is_answered && call->job == job && job->step != NULL)
        return true;
    if (call->job == job)
        call->job = NULL;
    job->free(job);
    return is_answered;
}

enum yn_status cmd_job_begin(struct cmd_call *call, const struct yn_stop *stop,
                             const char *stopped)
{
    enum yn_status status = call->job->work(call->job, stop);
    cmd_job_begin_worked(call, status, stopped);
    return status;
}
