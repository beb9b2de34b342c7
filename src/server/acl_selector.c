/*
 * acl_selector.c: rules, and what they allow.
 *
 * A rule about commands sets or clears bits, and is written down among the selector's
 * rules: older ones that it makes void (the same words, or a subcommand of them) go. What
 * came before +@all or -@all says nothing any more. A command that is allowed with a
 * first argument only has no bit, but an entry in first_args; a rule about the command as
 * a whole, or about a category that it is in, removes that.
 *
 * Cost of a check: one bit for the command, then each key against each pattern.
 */
#include "server/acl_selector.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/cmd_args.h"
#include "cmd/glob.h"

/* ---- numbers of commands ---- */

#define SLOTS (ACL_COMMANDS_MAX * 2) /* a power of two */

/* Filled once, at start-up, and only read from then on. */
static const struct cmd_spec *numbered[ACL_COMMANDS_MAX];
static size_t n_numbered;
static uint16_t slots[SLOTS]; /* number plus 1, by the spec's address; 0: free */

static size_t find_slot(const struct cmd_spec *spec)
{
    uint64_t hash = (uint64_t)(uintptr_t)spec * UINT64_C(0x9e3779b97f4a7c15);
    size_t slot = (size_t)(hash >> 40) & (SLOTS - 1);
    while (slots[slot] != 0 && numbered[slots[slot] - 1] != spec)
        slot = (slot + 1) & (SLOTS - 1);
    return slot;
}

static void number(const struct cmd_spec *spec)
{
    size_t slot = find_slot(spec);
    if (slots[slot] != 0 || n_numbered == ACL_COMMANDS_MAX)
        return; /* a command without a number is allowed to nobody but who may all */
    numbered[n_numbered++] = spec;
    slots[slot] = (uint16_t)n_numbered;
}

void acl_commands_init(void)
{
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        number(cmd_at(i));
        const struct cmd_spec *sub = cmd_at(i)->subcommands;
        for (; sub != NULL && sub->name != NULL; sub++)
            number(sub);
    }
}

size_t acl_n_commands(void)
{
    return n_numbered;
}

const struct cmd_spec *acl_command_at(size_t i)
{
    return numbered[i];
}

static bool has_bit(const struct acl_selector *s, const struct cmd_spec *spec)
{
    size_t n = slots[find_slot(spec)];
    return n != 0 && (s->commands[(n - 1) / 64] >> (n - 1) % 64 & 1) != 0;
}

static void set_bit(struct acl_selector *s, const struct cmd_spec *spec, bool value)
{
    size_t n = slots[find_slot(spec)];
    if (n == 0)
        return;
    uint64_t mask = UINT64_C(1) << (n - 1) % 64;
    if (value)
        s->commands[(n - 1) / 64] |= mask;
    else
        s->commands[(n - 1) / 64] &= ~mask;
}

/* ---- categories ---- */

static const char *const categories[] = {
    "keyspace",   "read",        "write",     "set",         "sortedset", "list",
    "hash",       "string",      "bitmap",    "hyperloglog", "geo",       "stream",
    "pubsub",     "admin",       "fast",      "slow",        "blocking",  "dangerous",
    "connection", "transaction", "scripting",
};
#define N_CATEGORIES (sizeof categories / sizeof categories[0])

const char *acl_category_at(size_t i)
{
    return i < N_CATEGORIES ? categories[i] : NULL;
}

bool acl_category_exists(struct yn_bytes name)
{
    for (size_t i = 0; i < N_CATEGORIES; i++) {
        if (cmd_word_is(name, categories[i]))
            return true;
    }
    return false;
}

bool acl_is_in_category(const struct cmd_spec *spec, struct yn_bytes name)
{
    const char *at = spec->acl != NULL ? spec->acl : "";
    while ((at = strchr(at, '@')) != NULL) {
        at++;
        size_t len = strcspn(at, " ");
        if (len == name.len && cmd_letters_are(name.data, at, len))
            return true;
    }
    return false;
}

/* ---- bytes ---- */

static bool is_same(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Never NULL bytes but when out of memory. */
static bool copy_bytes(struct yn_bytes from, struct yn_bytes *to)
{
    char *copy = malloc(from.len + 1);
    if (copy == NULL)
        return false;
    if (from.len > 0)
        memcpy(copy, from.data, from.len);
    *to = (struct yn_bytes){copy, from.len};
    return true;
}

static void free_bytes(struct yn_bytes bytes)
{
    free((void *)(uintptr_t)bytes.data);
}

static struct yn_bytes skip(struct yn_bytes bytes, size_t n)
{
    return (struct yn_bytes){bytes.data + n, bytes.len - n};
}

/* ---- patterns ---- */

static void patterns_empty(struct acl_patterns *p, bool all)
{
    for (size_t i = 0; i < p->n; i++)
        free_bytes(p->list[i].text);
    free(p->list);
    *p = (struct acl_patterns){.all = all};
}

/* The same pattern again adds what it allows. */
static const char *patterns_add(struct acl_patterns *p, struct yn_bytes text,
                                unsigned access)
{
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(" \t\n\v\f\r", text.data[i]) != NULL)
            return ACL_ERR_SYNTAX; /* a zero byte, too, could not be in a file */
    }
    for (size_t i = 0; i < p->n; i++) {
        if (is_same(p->list[i].text, text)) {
            p->list[i].access |= access;
            return NULL;
        }
    }
    struct acl_pattern *list = realloc(p->list, (p->n + 1) * sizeof *list);
    if (list == NULL)
        return ACL_ERR_NOMEM;
    p->list = list;
    if (!copy_bytes(text, &list[p->n].text))
        return ACL_ERR_NOMEM;
    list[p->n++].access = access;
    return NULL;
}

static bool patterns_copy(struct acl_patterns *to, const struct acl_patterns *from)
{
    to->all = from->all;
    for (size_t i = 0; i < from->n; i++) {
        if (patterns_add(to, from->list[i].text, from->list[i].access) != NULL)
            return false;
    }
    return true;
}

/* ---- life ---- */

void acl_selector_init(struct acl_selector *s, bool all_channels)
{
    memset(s, 0, sizeof *s);
    yn_buf_init(&s->rules);
    s->channels.all = all_channels;
}

static void drop_first_args(struct acl_selector *s, const struct cmd_spec *spec)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_first_args; i++) {
        if (spec == NULL || s->first_args[i].spec == spec)
            free_bytes(s->first_args[i].text);
        else
            s->first_args[kept++] = s->first_args[i];
    }
    s->n_first_args = kept;
}

void acl_selector_clear(struct acl_selector *s)
{
    drop_first_args(s, NULL);
    free(s->first_args);
    patterns_empty(&s->keys, false);
    patterns_empty(&s->channels, false);
    yn_buf_clear(&s->rules);
    acl_selector_init(s, false);
}

static const char *add_first_arg(struct acl_selector *s, const struct cmd_spec *spec,
                                 struct yn_bytes text)
{
    for (size_t i = 0; i < s->n_first_args; i++) {
        if (s->first_args[i].spec == spec && s->first_args[i].text.len == text.len &&
            strncasecmp(s->first_args[i].text.data, text.data, text.len) == 0)
            return NULL;
    }
    struct acl_first_arg *list =
        realloc(s->first_args, (s->n_first_args + 1) * sizeof *list);
    if (list == NULL)
        return ACL_ERR_NOMEM;
    s->first_args = list;
    if (!copy_bytes(text, &list[s->n_first_args].text))
        return ACL_ERR_NOMEM;
    list[s->n_first_args++].spec = spec;
    return NULL;
}

bool acl_selector_copy(struct acl_selector *to, const struct acl_selector *from)
{
    acl_selector_init(to, false);
    memcpy(to->commands, from->commands, sizeof to->commands);
    to->all_commands = from->all_commands;
    to->begins_with_all = from->begins_with_all;
    yn_buf_append(&to->rules, from->rules.data, from->rules.len);
    bool ok = !to->rules.failed && patterns_copy(&to->keys, &from->keys) &&
              patterns_copy(&to->channels, &from->channels);
    for (size_t i = 0; ok && i < from->n_first_args; i++)
        ok =
            add_first_arg(to, from->first_args[i].spec, from->first_args[i].text) == NULL;
    if (!ok)
        acl_selector_clear(to);
    return ok;
}

/* ---- rules about commands ---- */

/* Whether a rule that was written down (without its sign) is made void by a new one. */
static bool is_void(struct yn_bytes old, struct yn_bytes rule)
{
    return old.len >= rule.len && cmd_letters_are(old.data, rule.data, rule.len) &&
           (old.len == rule.len || old.data[rule.len] == '|');
}

/* Writes a rule down, in lower case, behind those that it leaves. */
static const char *note_rule(struct acl_selector *s, struct yn_bytes rule)
{
    struct yn_buf kept;
    yn_buf_init(&kept);
    char *lower = yn_buf_reserve(&kept, s->rules.len + 1 + rule.len);
    if (lower == NULL)
        return ACL_ERR_NOMEM;
    const char *at = s->rules.data, *end = at + s->rules.len;
    while (at < end) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t len = (size_t)((blank != NULL ? blank : end) - at);
        if (!is_void((struct yn_bytes){at + 1, len - 1}, skip(rule, 1))) {
            yn_buf_append(&kept, " ", kept.len > 0);
            yn_buf_append(&kept, at, len);
        }
        at += len + 1;
    }
    yn_buf_append(&kept, " ", kept.len > 0);
    lower = kept.data + kept.len;
    yn_buf_append(&kept, rule.data, rule.len);
    for (size_t i = 0; i < rule.len; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    yn_buf_clear(&s->rules);
    s->rules = kept;
    return NULL;
}

static void set_all(struct acl_selector *s, bool value)
{
    memset(s->commands, value ? 0xff : 0, sizeof s->commands);
    s->all_commands = s->begins_with_all = value;
    drop_first_args(s, NULL);
    s->rules.len = 0;
}

static void set_one(struct acl_selector *s, const struct cmd_spec *spec, bool value)
{
    set_bit(s, spec, value);
    drop_first_args(s, spec);
}

/* Bits of no command are set by +@all and never cleared, but by -@all. */
static void note_all(struct acl_selector *s)
{
    s->all_commands = true;
    for (size_t i = 0; i < ACL_COMMANDS_MAX / 64; i++)
        s->all_commands &= s->commands[i] == UINT64_MAX;
}

/* With all its subcommands. */
static void set_command(struct acl_selector *s, const struct cmd_spec *spec, bool value)
{
    set_one(s, spec, value);
    for (const struct cmd_spec *sub = spec->subcommands; sub != NULL && sub->name != NULL;
         sub++)
        set_one(s, sub, value);
}

static const char *apply_category(struct acl_selector *s, struct yn_bytes rule,
                                  bool value)
{
    struct yn_bytes name = skip(rule, 2);
    if (cmd_word_is(name, "all")) {
        set_all(s, value);
        return NULL;
    }
    if (!acl_category_exists(name))
        return ACL_ERR_UNKNOWN;
    const char *error = note_rule(s, rule);
    for (size_t i = 0; error == NULL && i < n_numbered; i++) {
        if (acl_is_in_category(numbered[i], name))
            set_one(s, numbered[i], value);
    }
    note_all(s);
    return error;
}

/* "+command|argument" of a command without such a subcommand. */
static const char *apply_first_arg(struct acl_selector *s, struct yn_bytes rule)
{
    struct yn_bytes name = skip(rule, 1);
    const char *bar = memrchr(name.data, '|', name.len);
    struct yn_bytes command = {name.data, (size_t)(bar - name.data)};
    struct yn_bytes arg = {bar + 1, name.len - command.len - 1};
    const struct cmd_spec *spec = cmd_find_full(command);
    if (spec == NULL)
        return ACL_ERR_UNKNOWN;
    if (strchr(spec->name, '|') != NULL)
        return "Allowing first-arg of a subcommand is not supported";
    if (arg.len == 0)
        return ACL_ERR_SYNTAX;
    if (spec->subcommands != NULL)
        return ACL_ERR_UNKNOWN;
    const char *error = note_rule(s, rule);
    return error != NULL || has_bit(s, spec) ? error : add_first_arg(s, spec, arg);
}

static const char *apply_command(struct acl_selector *s, struct yn_bytes rule, bool value)
{
    struct yn_bytes name = skip(rule, 1);
    if (memchr(name.data, '\0', name.len) != NULL)
        return ACL_ERR_UNKNOWN;
    const struct cmd_spec *spec = cmd_find_full(name);
    if (spec == NULL && value && memchr(name.data, '|', name.len) != NULL)
        return apply_first_arg(s, rule);
    if (spec == NULL)
        return ACL_ERR_UNKNOWN;
    const char *error = note_rule(s, rule);
    if (error == NULL)
        set_command(s, spec, value);
    note_all(s);
    return error;
}

/* ---- rules about keys and channels ---- */

/* "~pattern", "%R~pattern", "%W~pattern", "%RW~pattern" */
static const char *apply_key(struct acl_selector *s, struct yn_bytes rule)
{
    unsigned access = rule.data[0] == '~' ? ACL_READ_WRITE : 0;
    size_t i = 1;
    if (s->keys.all)
        return "Adding a pattern after the * pattern (or the 'allkeys' flag) is not "
               "valid and does not have any effect. Try 'resetkeys' to start with an "
               "empty list of patterns";
    for (; rule.data[0] == '%' && i < rule.len && rule.data[i] != '~'; i++) {
        unsigned more = rule.data[i] == 'R' || rule.data[i] == 'r'   ? ACL_READ
                        : rule.data[i] == 'W' || rule.data[i] == 'w' ? ACL_WRITE
                                                                     : 0;
        if (more == 0 || (access & more) != 0)
            return ACL_ERR_SYNTAX;
        access |= more;
    }
    if (rule.data[0] == '%')
        i++;
    if (access == 0 || i > rule.len)
        return ACL_ERR_SYNTAX;
    return patterns_add(&s->keys, skip(rule, i), access);
}

static const char *apply_channel(struct acl_selector *s, struct yn_bytes rule)
{
    if (s->channels.all)
        return "Adding a pattern after the * pattern (or the 'allchannels' flag) is not "
               "valid and does not have any effect. Try 'resetchannels' to start with an "
               "empty list of channels";
    return patterns_add(&s->channels, skip(rule, 1), ACL_READ_WRITE);
}

const char *acl_selector_apply(struct acl_selector *s, struct yn_bytes rule)
{
    if (cmd_word_is(rule, "allkeys") || cmd_word_is(rule, "~*"))
        patterns_empty(&s->keys, true);
    else if (cmd_word_is(rule, "resetkeys"))
        patterns_empty(&s->keys, false);
    else if (cmd_word_is(rule, "allchannels") || cmd_word_is(rule, "&*"))
        patterns_empty(&s->channels, true);
    else if (cmd_word_is(rule, "resetchannels"))
        patterns_empty(&s->channels, false);
    else if (cmd_word_is(rule, "allcommands"))
        set_all(s, true);
    else if (cmd_word_is(rule, "nocommands"))
        set_all(s, false);
    else if (rule.len == 0)
        return NULL;
    else if (rule.data[0] == '~' || rule.data[0] == '%')
        return apply_key(s, rule);
    else if (rule.data[0] == '&')
        return apply_channel(s, rule);
    else if (rule.data[0] != '+' && rule.data[0] != '-')
        return ACL_ERR_SYNTAX;
    else if (rule.len > 1 && rule.data[1] == '@')
        return apply_category(s, rule, rule.data[0] == '+');
    else
        return apply_command(s, rule, rule.data[0] == '+');
    return NULL;
}

/* ---- rules as text ---- */

void acl_selector_format_commands(const struct acl_selector *s, struct yn_buf *out)
{
    yn_buf_append_text(out, s->begins_with_all ? "+@all" : "-@all");
    yn_buf_append(out, " ", s->rules.len > 0);
    yn_buf_append(out, s->rules.data, s->rules.len);
}

void acl_selector_format_keys(const struct acl_selector *s, struct yn_buf *out)
{
    static const char *const signs[] = {"", "%R~", "%W~", "~"};
    if (s->keys.all)
        yn_buf_append_text(out, "~*");
    for (size_t i = 0; i < s->keys.n; i++) {
        const struct acl_pattern *p = &s->keys.list[i];
        yn_buf_append(out, " ", i > 0);
        yn_buf_append_text(out, signs[p->access]);
        yn_buf_append(out, p->text.data, p->text.len);
    }
}

void acl_selector_format_channels(const struct acl_selector *s, struct yn_buf *out)
{
    if (s->channels.all)
        yn_buf_append_text(out, "&*");
    for (size_t i = 0; i < s->channels.n; i++) {
        const struct acl_pattern *p = &s->channels.list[i];
        yn_buf_append_text(out, i > 0 ? " &" : "&");
        yn_buf_append(out, p->text.data, p->text.len);
    }
}

void acl_selector_format(const struct acl_selector *s, struct yn_buf *out)
{
    acl_selector_format_keys(s, out);
    yn_buf_append(out, " ", s->keys.all || s->keys.n > 0);
    /* without it a reader with another default would add to all channels */
    if (!s->channels.all)
        yn_buf_append_text(out, "resetchannels ");
    acl_selector_format_channels(s, out);
    yn_buf_append(out, " ", s->channels.all || s->channels.n > 0);
    acl_selector_format_commands(s, out);
}

/* ---- checks ---- */

bool acl_selector_may_all(const struct acl_selector *s)
{
    return s->all_commands && s->keys.all && s->channels.all;
}

bool acl_selector_allows_command(const struct acl_selector *s,
                                 const struct cmd_spec *spec, size_t argc,
                                 const struct yn_bytes *argv)
{
    if (s->all_commands || (spec->flags & CMD_NO_AUTH) != 0 || has_bit(s, spec))
        return true;
    for (size_t i = 0; argc > 1 && i < s->n_first_args; i++) {
        const struct acl_first_arg *first = &s->first_args[i];
        if (first->spec == spec && first->text.len == argv[1].len &&
            strncasecmp(first->text.data, argv[1].data, argv[1].len) == 0)
            return true;
    }
    return false;
}

bool acl_selector_allows_key(const struct acl_selector *s, struct yn_bytes key,
                             unsigned access)
{
    if (s->keys.all)
        return true;
    for (size_t i = 0; i < s->keys.n; i++) {
        if ((s->keys.list[i].access & access) == access &&
            glob_matches(s->keys.list[i].text, key))
            return true;
    }
    return false;
}

bool acl_selector_allows_channel(const struct acl_selector *s, struct yn_bytes channel,
                                 bool is_pattern)
{
    if (s->channels.all)
        return true;
    for (size_t i = 0; i < s->channels.n; i++) {
        struct yn_bytes own = s->channels.list[i].text;
        if (is_pattern ? is_same(own, channel) : glob_matches(own, channel))
            return true;
    }
    return false;
}
