/*
 * cmd_command.c: COMMAND, the table of commands shown to clients.
 *
 * Client libraries read INFO to find keys and flags, command line clients read
 * DOCS for their hints; both have fixed shapes. Lists whose length is not known
 * are walked twice, once to count and once to send.
 */
#include "cmd/cmd_command.h"

#include <string.h>
#include <strings.h>

#include "cmd/cmd_args.h"
#include "cmd/glob.h"

/* ---- lists of words ---- */

/* Takes the next of the blank-separated words; false when there is none. */
static bool next_word(const char **words, struct yn_bytes *out_word)
{
    const char *start = *words;
    while (*start == ' ')
        start++;
    size_t len = strcspn(start, " ");
    *out_word = (struct yn_bytes){start, len};
    *words = start + len;
    return len > 0;
}

static size_t count_words(const char *words)
{
    struct yn_bytes word;
    size_t n = 0;
    while (next_word(&words, &word))
        n++;
    return n;
}

/* Sends words as a set: as bulks, or as statuses. NULL is the empty set. */
static void reply_words(struct host *h, const char *words, bool as_status)
{
    struct yn_bytes word;
    if (words == NULL)
        words = "";
    host_reply_set(h, count_words(words));
    while (next_word(&words, &word)) {
        char text[64];
        if (!as_status || word.len >= sizeof text) {
            host_reply_bulk(h, word);
            continue;
        }
        memcpy(text, word.data, word.len);
        text[word.len] = '\0';
        host_reply_status(h, text);
    }
}

/* ---- counting ---- */

static size_t count_subcommands(const struct cmd_spec *spec)
{
    size_t n = 0;
    for (const struct cmd_spec *sub = spec->subcommands; sub != NULL && sub->name != NULL;
         sub++)
        n++;
    return n;
}

static size_t count_commands(void)
{
    size_t n = 0;
    while (cmd_at(n) != NULL)
        n++;
    return n;
}

/* ---- INFO ---- */

static void reply_flags(struct host *h, unsigned flags)
{
    static const char *const texts[] = {
#define FLAG_TEXT(name, text) text,
        CMD_FLAG_MAP(FLAG_TEXT)
#undef FLAG_TEXT
    };
    const size_t n_texts = sizeof texts / sizeof texts[0];
    size_t n = 0;
    for (size_t i = 0; i < n_texts; i++)
        n += (flags >> i) & 1u;
    host_reply_set(h, n);
    for (size_t i = 0; i < n_texts; i++)
        if (((flags >> i) & 1u) != 0)
            host_reply_status(h, texts[i]);
}

static void reply_named_integer(struct host *h, const char *name, int64_t value)
{
    host_reply_bulk_text(h, name);
    host_reply_integer(h, value);
}

static void reply_key_spec(struct host *h, const struct cmd_key_spec *keys)
{
    host_reply_map(h, keys->notes != NULL ? 4 : 3);
    if (keys->notes != NULL) {
        host_reply_bulk_text(h, "notes");
        host_reply_bulk_text(h, keys->notes);
    }
    host_reply_bulk_text(h, "flags");
    reply_words(h, keys->flags, true);

    host_reply_bulk_text(h, "begin_search");
    host_reply_map(h, 2);
    host_reply_bulk_text(h, "type");
    host_reply_bulk_text(h, keys->keyword != NULL ? "keyword" : "index");
    host_reply_bulk_text(h, "spec");
    if (keys->keyword != NULL) {
        host_reply_map(h, 2);
        host_reply_bulk_text(h, "keyword");
        host_reply_bulk_text(h, keys->keyword);
        reply_named_integer(h, "startfrom", keys->index);
    } else {
        host_reply_map(h, 1);
        reply_named_integer(h, "index", keys->index);
    }

    host_reply_bulk_text(h, "find_keys");
    host_reply_map(h, 2);
    host_reply_bulk_text(h, "type");
    host_reply_bulk_text(h, keys->is_counted ? "keynum" : "range");
    host_reply_bulk_text(h, "spec");
    host_reply_map(h, 3);
    if (keys->is_counted) {
        reply_named_integer(h, "keynumidx", 0);
        reply_named_integer(h, "firstkey", 1);
        reply_named_integer(h, "keystep", 1);
        return;
    }
    reply_named_integer(h, "lastkey", keys->last);
    reply_named_integer(h, "keystep", keys->step);
    reply_named_integer(h, "limit", 0);
}

static void reply_key_specs(struct host *h, const struct cmd_key_spec *list)
{
    size_t n = 0;
    while (list != NULL && list[n].flags != NULL)
        n++;
    host_reply_set(h, n);
    for (size_t i = 0; i < n; i++)
        reply_key_spec(h, &list[i]);
}

/* The ten elements of one command, its subcommands without further ones. */
static void reply_info_head(struct host *h, const struct cmd_spec *spec)
{
    host_reply_array(h, 10);
    host_reply_bulk_text(h, spec->name);
    host_reply_integer(h, spec->arity);
    reply_flags(h, spec->flags);
    host_reply_integer(h, spec->key_first);
    host_reply_integer(h, spec->key_last);
    host_reply_integer(h, spec->key_step);
    reply_words(h, spec->acl, true);
    reply_words(h, spec->tips, false);
    reply_key_specs(h, spec->key_specs);
}

static void reply_info(struct host *h, const struct cmd_spec *spec)
{
    size_t n = count_subcommands(spec);
    reply_info_head(h, spec);
    if (n > 0)
        host_reply_array(h, n);
    else
        host_reply_set(h, 0); /* what clients of compatible servers get */
    for (size_t i = 0; i < n; i++) {
        reply_info_head(h, &spec->subcommands[i]);
        host_reply_set(h, 0);
    }
}

void cmd_command(struct cmd_call *call)
{
    host_reply_array(call->host, count_commands());
    for (size_t i = 0; cmd_at(i) != NULL; i++)
        reply_info(call->host, cmd_at(i));
}

void cmd_command_info(struct cmd_call *call)
{
    if (call->argc == 2) {
        cmd_command(call);
        return;
    }
    host_reply_array(call->host, call->argc - 2);
    for (size_t i = 2; i < call->argc; i++) {
        const struct cmd_spec *spec = cmd_find_full(call->argv[i]);
        if (spec != NULL)
            reply_info(call->host, spec);
        else
            host_reply_null(call->host);
    }
}

void cmd_command_count(struct cmd_call *call)
{
    host_reply_integer(call->host, (int64_t)count_commands());
}

/* ---- DOCS ---- */

/* One optional field of a map: `n` counts it, and with a host it is sent. */
static void doc_field(struct host *h, size_t *n, const char *name, const char *value)
{
    if (value == NULL)
        return;
    ++*n;
    if (h == NULL)
        return;
    host_reply_bulk_text(h, name);
    host_reply_bulk_text(h, value);
}

static void reply_arg_flags(struct host *h, unsigned flags)
{
    host_reply_bulk_text(h, "flags");
    host_reply_set(h, (flags & 1u) + ((flags >> 1) & 1u) + ((flags >> 2) & 1u));
    if ((flags & CMD_ARG_OPTIONAL) != 0)
        host_reply_status(h, "optional");
    if ((flags & CMD_ARG_MULTIPLE) != 0)
        host_reply_status(h, "multiple");
    if ((flags & CMD_ARG_MULTIPLE_TOKEN) != 0)
        host_reply_status(h, "multiple_token");
}

static void reply_arg_list(struct host *h, const struct cmd_arg *args, int64_t *next_key);

/* The fields of one argument; without a host they are counted only. Keys are numbered in
 * the order in which they appear, as the key specs of INFO are. */
static size_t doc_arg(struct host *h, const struct cmd_arg *arg, int64_t *next_key)
{
    size_t n = 0;
    doc_field(h, &n, "name", arg->name);
    doc_field(h, &n, "type", arg->type);
    if (strcmp(arg->type, "key") == 0) {
        n++;
        if (h != NULL)
            reply_named_integer(h, "key_spec_index", (*next_key)++);
    }
    doc_field(h, &n, "token", arg->token);
    doc_field(h, &n, "since", arg->since);
    if (arg->flags != 0) {
        n++;
        if (h != NULL)
            reply_arg_flags(h, arg->flags);
    }
    if (arg->args != NULL) {
        n++;
        if (h != NULL) {
            host_reply_bulk_text(h, "arguments");
            reply_arg_list(h, arg->args, next_key);
        }
    }
    return n;
}

/* Recursion follows the constant tables, which are three deep. */
static void reply_arg_list(struct host *h, const struct cmd_arg *args, int64_t *next_key)
{
    size_t n = 0;
    while (args[n].name != NULL)
        n++;
    host_reply_array(h, n);
    for (size_t i = 0; i < n; i++) {
        host_reply_map(h, doc_arg(NULL, &args[i], next_key));
        doc_arg(h, &args[i], next_key);
    }
}

static void reply_docs(struct host *h, const struct cmd_spec *spec);

/* The fields of one command; without a host they are counted only. */
static size_t doc_fields(struct host *h, const struct cmd_spec *spec)
{
    size_t n = 0;
    int64_t next_key = 0;
    doc_field(h, &n, "summary", spec->summary);
    doc_field(h, &n, "since", spec->since);
    doc_field(h, &n, "group", spec->group);
    doc_field(h, &n, "complexity", spec->complexity);
    if (spec->deprecated_since != NULL) {
        n++;
        if (h != NULL) {
            host_reply_bulk_text(h, "doc_flags");
            reply_words(h, "deprecated", true);
        }
    }
    doc_field(h, &n, "deprecated_since", spec->deprecated_since);
    doc_field(h, &n, "replaced_by", spec->replaced_by);
    doc_field(h, &n, "differs", spec->differs);
    if (spec->args != NULL) {
        n++;
        if (h != NULL) {
            host_reply_bulk_text(h, "arguments");
            reply_arg_list(h, spec->args, &next_key);
        }
    }
    if (spec->subcommands != NULL) {
        n++;
        if (h != NULL) {
            host_reply_bulk_text(h, "subcommands");
            host_reply_map(h, count_subcommands(spec));
            for (const struct cmd_spec *sub = spec->subcommands; sub->name != NULL; sub++)
                reply_docs(h, sub);
        }
    }
    return n;
}

/* A pair: the name and the map of fields. */
static void reply_docs(struct host *h, const struct cmd_spec *spec)
{
    host_reply_bulk_text(h, spec->name);
    host_reply_map(h, doc_fields(NULL, spec));
    doc_fields(h, spec);
}

void cmd_command_docs(struct cmd_call *call)
{
    struct host *h = call->host;
    if (call->argc == 2) {
        host_reply_map(h, count_commands());
        for (size_t i = 0; cmd_at(i) != NULL; i++)
            reply_docs(h, cmd_at(i));
        return;
    }
    size_t n = 0;
    for (size_t i = 2; i < call->argc; i++)
        n += cmd_find_full(call->argv[i]) != NULL;
    host_reply_map(h, n);
    for (size_t i = 2; i < call->argc; i++) {
        const struct cmd_spec *spec = cmd_find_full(call->argv[i]);
        if (spec != NULL)
            reply_docs(h, spec);
    }
}

/* ---- LIST ---- */

struct list_filter {
    enum { LIST_ALL, LIST_MODULE, LIST_CATEGORY, LIST_PATTERN } kind;
    struct yn_bytes value;
};

static bool has_category(const struct cmd_spec *spec, struct yn_bytes category)
{
    const char *words = spec->acl != NULL ? spec->acl : "";
    struct yn_bytes word;
    while (next_word(&words, &word)) {
        /* words carry an '@', the filter does not */
        if (word.len == category.len + 1 &&
            strncasecmp(word.data + 1, category.data, category.len) == 0)
            return true;
    }
    return false;
}

static bool is_listed(const struct list_filter *filter, const struct cmd_spec *spec)
{
    switch (filter->kind) {
    case LIST_ALL:
        return true;
    case LIST_MODULE:
        return false; /* no command comes from a loaded module */
    case LIST_CATEGORY:
        return has_category(spec, filter->value);
    case LIST_PATTERN:
        break;
    }
    return glob_matches_nocase(filter->value,
                               (struct yn_bytes){spec->name, strlen(spec->name)});
}

/* Visits a table's or the registry's names; with a host they are sent. Returns their
 * number. */
static size_t list_one(struct host *h, const struct list_filter *filter,
                       const struct cmd_spec *spec)
{
    if (!is_listed(filter, spec))
        return 0;
    if (h != NULL)
        host_reply_bulk_text(h, spec->name);
    return 1;
}

static size_t list_names(struct host *h, const struct list_filter *filter)
{
    size_t n = 0;
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        const struct cmd_spec *spec = cmd_at(i);
        n += list_one(h, filter, spec);
        for (const struct cmd_spec *sub = spec->subcommands;
             sub != NULL && sub->name != NULL; sub++)
            n += list_one(h, filter, sub);
    }
    return n;
}

void cmd_command_list(struct cmd_call *call)
{
    struct cmd_args args;
    struct list_filter filter = {.kind = LIST_ALL};
    cmd_args_init(&args, call, 2);
    if (call->argc == 5 && cmd_args_option(&args, "filterby", 2)) {
        if (cmd_args_option(&args, "module", 1))
            filter.kind = LIST_MODULE;
        else if (cmd_args_option(&args, "aclcat", 1))
            filter.kind = LIST_CATEGORY;
        else if (cmd_args_option(&args, "pattern", 1))
            filter.kind = LIST_PATTERN;
        filter.value = call->argv[4];
    }
    if (call->argc != 2 && filter.kind == LIST_ALL) {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
        return;
    }
    host_reply_array(call->host, list_names(NULL, &filter));
    list_names(call->host, &filter);
}

/* ---- GETKEYS ---- */

/* A call inside a call: the words behind COMMAND GETKEYS, and where its keys are. */
struct inner {
    const struct cmd_spec *spec;
    const struct yn_bytes *argv;
    size_t argc;
    size_t *keys; /* indexes into argv */
    size_t n_keys;
};

static bool find_inner_or_reply(struct cmd_call *call, struct inner *inner)
{
    struct host *h = call->host;
    inner->argv = call->argv + 2;
    inner->argc = call->argc - 2;
    const struct cmd_spec *spec = cmd_find(inner->argv[0]);
    if (spec != NULL && spec->subcommands != NULL && inner->argc > 1)
        spec = cmd_find_sub(spec, inner->argv[1]);
    const char *error = NULL;
    if (spec == NULL)
        error = "ERR Invalid command specified";
    else if (spec->keys == CMD_KEYS_NONE)
        error = "ERR The command has no key arguments";
    else if (!cmd_arity_is_ok(spec, inner->argc))
        error = "ERR Invalid number of arguments specified for command";
    if (error != NULL) {
        host_reply_error(h, error);
        return false;
    }
    inner->spec = spec;
    inner->keys = cmd_arena_take(call->arena, inner->argc * sizeof *inner->keys);
    if (inner->keys == NULL) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return false;
    }
    inner->n_keys = cmd_keys_of(spec, inner->argc, inner->argv, inner->keys, inner->argc);
    if (inner->n_keys == 0)
        host_reply_error(h, "ERR Invalid arguments specified for command");
    return inner->n_keys > 0;
}

void cmd_command_getkeys(struct cmd_call *call)
{
    struct inner inner;
    if (!find_inner_or_reply(call, &inner))
        return;
    host_reply_array(call->host, inner.n_keys);
    for (size_t i = 0; i < inner.n_keys; i++)
        host_reply_bulk(call->host, inner.argv[inner.keys[i]]);
}

void cmd_command_getkeysandflags(struct cmd_call *call)
{
    struct inner inner;
    if (!find_inner_or_reply(call, &inner))
        return;
    host_reply_array(call->host, inner.n_keys);
    for (size_t i = 0; i < inner.n_keys; i++) {
        host_reply_array(call->host, 2);
        host_reply_bulk(call->host, inner.argv[inner.keys[i]]);
        const char *flags = cmd_key_flags_of(inner.spec, inner.argc, inner.argv, i);
        reply_words(call->host, flags, true);
    }
}

/* ---- HELP ---- */

void cmd_command_help(struct cmd_call *call)
{
    static const char *const lines[] = {
        "COMMAND [subcommand [argument ...]]. Subcommands are:",
        "(none)",
        "    Everything INFO tells, about every command.",
        "COUNT",
        "    The number of commands.",
        "DOCS [name ...]",
        "    Summary and arguments of these commands, or of all.",
        "GETKEYS command [argument ...]",
        "    The words of this command that are keys.",
        "GETKEYSANDFLAGS command [argument ...]",
        "    The same, each with what the command does to the key.",
        "INFO [name ...]",
        "    Arity, flags and keys of these commands, or of all.",
        "LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]",
        "    The names of all commands, subcommands included, or of some.",
        "HELP",
        "    This text.",
    };
    const size_t n = sizeof lines / sizeof lines[0];
    host_reply_array(call->host, n);
    for (size_t i = 0; i < n; i++)
        host_reply_status(call->host, lines[i]);
}
