/*
 * fuzz_lines.h: inputs that are text: one command a line, its words as in an inline
 * request (blanks between, "\x00" and '...' quotes).
 *
 * Such seeds can be read, and stay good when commands are added. What a fuzzer of bytes
 * lacks, words that stand where they make sense, the mutator here brings: it works on
 * lines and words, and makes up new lines from the arguments that the table of commands
 * documents. So every command and option that is documented is tried, new ones without a
 * change here. Half of the mutations are the fuzzer's own, on the bytes.
 */
#ifndef FUZZ_LINES_H
#define FUZZ_LINES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "core/buf.h"
#include "core/random.h"
#include "resp/request.h"

#define FUZZ_LINE_WORDS_MAX 40

/* The fuzzer's own mutation; not there when a target only replays. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max)
    __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed);

/* ---- lines to words ---- */

struct fuzz_line {
    struct yn_buf scratch; /* the bytes of the words */
    struct yn_bytes words[FUZZ_LINE_WORDS_MAX];
    size_t n;
};

static inline bool fuzz_take_word(void *ctx, struct yn_bytes word)
{
    struct fuzz_line *line = ctx;
    if (line->n == FUZZ_LINE_WORDS_MAX)
        return false;
    line->words[line->n++] = word;
    return true;
}

/* Takes the next line that has words; the words are good until the next call. Returns
 * false at the end. Call yn_buf_clear on the scratch then. */
static inline bool fuzz_next_line(struct yn_bytes *rest, struct fuzz_line *line)
{
    while (rest->len > 0) {
        const char *end = memchr(rest->data, '\n', rest->len);
        size_t len = end != NULL ? (size_t)(end - rest->data) : rest->len;
        struct yn_bytes text = {rest->data, len};
        rest->data += end != NULL ? len + 1 : len;
        rest->len -= end != NULL ? len + 1 : len;
        line->n = 0;
        bool ok = yn_words_visit(text, &line->scratch, fuzz_take_word, line);
        if (ok && line->n > 0)
            return true;
    }
    return false;
}

/* ---- made up words ---- */

static const char *const fuzz_keys[] = {"k", "k2",   "big", "s",     "n",    "f",
                                        "e", "none", "t",   "\"\"",  "dest", "s",
                                        "k", "big",  "n",   "\"s\"", "k2",   "other"};
static const char *const fuzz_members[] = {
    "a",
    "b",
    "c",
    "m1",
    "m2",
    "m20",
    "m40",
    "\"\"",
    "none",
    "new",
    "\"\\x00\\xff\\r\\n\"",
    "a-long-member-that-is-longer-than-a-cell-is-and-goes-on"};
static const char *const fuzz_numbers[] = {"0",
                                           "1",
                                           "2",
                                           "3",
                                           "5",
                                           "10",
                                           "-1",
                                           "-2",
                                           "-10",
                                           "100",
                                           "4000",
                                           "4095",
                                           "4096",
                                           "4097",
                                           "2147483648",
                                           "4294967296",
                                           "9223372036854775807",
                                           "-9223372036854775808",
                                           "9223372036854775808",
                                           "9223372036854775",
                                           "1700000000",
                                           "1700000000000",
                                           "1700000001",
                                           "1700000005000",
                                           "18446744073709551615",
                                           "01",
                                           "+1",
                                           "\" 1\"",
                                           "\"\""};
static const char *const fuzz_floats[] = {
    "0",      "1",     "2.5",   "-3",     "0.1",    "inf",    "-inf", "+inf",
    "nan",    "1e17",  "1e300", "1e400",  "0x10",   "1e-9",   "-0",   "3.0e3",
    "5e-324", "179.5", "85",    "-85.06", "1e5000", "\"1 \"", "."};
static const char *const fuzz_texts[] = {
    "(1",  "(2.5", "(inf",  "-",  "+",     "[a",      "(b",     "[m20", "(",
    "*",   "m*",   "[a-c]", "?",  "\\\\*", "[^a",     "string", "zset", "normal",
    "yes", "no",   "k*",    "id", "1",     "x",       "a",      "0",    "long",
    "m",   "km",   "ft",    "mi", "abc",   "default", "AK",     "\"\"", "10"};
static const char *const fuzz_dumps[] = {"@k", "@k2", "@big", "@s", "@n", "@f"};
#define FUZZ_PICK(list, random) \
    (list)[yn_random_next(random) % (sizeof(list) / sizeof(list)[0])]

/* What a random line is made with. */
struct fuzz_maker {
    uint64_t random;
    struct yn_buf *out;
    size_t n_keys; /* announced by a number of keys; 0: none was */
};

static inline size_t fuzz_below(struct fuzz_maker *maker, size_t n)
{
    return (size_t)(yn_random_next(&maker->random) % n);
}

static inline void fuzz_add_word(struct fuzz_maker *maker, const char *word)
{
    if (maker->out->len > 0 && maker->out->data[maker->out->len - 1] != '\n')
        yn_buf_append_text(maker->out, " ");
    yn_buf_append_text(maker->out, word);
}

static inline const char *fuzz_any_word(struct fuzz_maker *maker)
{
    switch (fuzz_below(maker, 5)) {
    case 0:
        return FUZZ_PICK(fuzz_keys, &maker->random);
    case 1:
        return FUZZ_PICK(fuzz_members, &maker->random);
    case 2:
        return FUZZ_PICK(fuzz_numbers, &maker->random);
    case 3:
        return FUZZ_PICK(fuzz_floats, &maker->random);
    default:
        return FUZZ_PICK(fuzz_texts, &maker->random);
    }
}

static inline void fuzz_add_value(struct fuzz_maker *maker, const struct cmd_arg *arg)
{
    if (fuzz_below(maker, 8) == 0) {
        fuzz_add_word(maker, fuzz_any_word(maker));
    } else if (strcmp(arg->name, "numkeys") == 0) {
        static const char *const few[] = {"1", "2", "3"};
        maker->n_keys = 1 + fuzz_below(maker, 3);
        fuzz_add_word(maker, few[maker->n_keys - 1]);
    } else if (strcmp(arg->type, "key") == 0) {
        fuzz_add_word(maker, FUZZ_PICK(fuzz_keys, &maker->random));
    } else if (strcmp(arg->type, "integer") == 0 || strcmp(arg->type, "unix-time") == 0) {
        fuzz_add_word(maker, FUZZ_PICK(fuzz_numbers, &maker->random));
    } else if (strcmp(arg->type, "double") == 0) {
        fuzz_add_word(maker, FUZZ_PICK(fuzz_floats, &maker->random));
    } else if (strcmp(arg->name, "serialized-value") == 0) {
        fuzz_add_word(maker, FUZZ_PICK(fuzz_dumps, &maker->random));
    } else if (strstr(arg->name, "member") != NULL) {
        fuzz_add_word(maker, FUZZ_PICK(fuzz_members, &maker->random));
    } else {
        fuzz_add_word(maker, fuzz_any_word(maker));
    }
}

static inline void fuzz_add_args(struct fuzz_maker *maker, const struct cmd_arg *args);

static inline void fuzz_add_arg(struct fuzz_maker *maker, const struct cmd_arg *arg)
{
    size_t n = 1;
    if ((arg->flags & CMD_ARG_OPTIONAL) != 0 && fuzz_below(maker, 2) == 0)
        return;
    if ((arg->flags & CMD_ARG_MULTIPLE) != 0)
        n = maker->n_keys > 0 && strcmp(arg->type, "key") == 0 ? maker->n_keys
                                                               : 1 + fuzz_below(maker, 3);
    for (size_t i = 0; i < n; i++) {
        bool has_token =
            arg->token != NULL && (i == 0 || (arg->flags & CMD_ARG_MULTIPLE_TOKEN) != 0);
        if (has_token)
            fuzz_add_word(maker, arg->token[0] != '\0' ? arg->token : "\"\"");
        size_t n_args = 0;
        while (arg->args != NULL && arg->args[n_args].name != NULL)
            n_args++;
        if (strcmp(arg->type, "oneof") == 0 && n_args > 0)
            fuzz_add_arg(maker, &arg->args[fuzz_below(maker, n_args)]);
        else if (n_args > 0)
            fuzz_add_args(maker, arg->args);
        else if (strcmp(arg->type, "pure-token") != 0)
            fuzz_add_value(maker, arg);
    }
}

static inline void fuzz_add_args(struct fuzz_maker *maker, const struct cmd_arg *args)
{
    for (; args != NULL && args->name != NULL; args++)
        fuzz_add_arg(maker, args);
}

/* A line for one of the commands that are registered. */
static inline void fuzz_add_line(struct fuzz_maker *maker)
{
    size_t n = 0;
    while (cmd_at(n) != NULL)
        n++;
    const struct cmd_spec *spec = cmd_at(fuzz_below(maker, n));
    char name[64];
    size_t n_subs = 0;
    maker->n_keys = 0;
    fuzz_add_word(maker, spec->name);
    while (spec->subcommands != NULL && spec->subcommands[n_subs].name != NULL)
        n_subs++;
    if (n_subs > 0) {
        spec = &spec->subcommands[fuzz_below(maker, n_subs)];
        snprintf(name, sizeof name, "%s", strchr(spec->name, '|') + 1);
        fuzz_add_word(maker, name);
    }
    if (spec->args == NULL) /* as many words as it takes */
        for (int i = n_subs > 0 ? 2 : 1; i < abs(spec->arity); i++)
            fuzz_add_word(maker, fuzz_any_word(maker));
    fuzz_add_args(maker, spec->args);
    yn_buf_append_text(maker->out, "\n");
}

/* ---- the mutator ---- */

/* Copies the text with one change at a word or a line. */
static inline void fuzz_change_words(struct fuzz_maker *maker, const char *text,
                                     size_t size)
{
    size_t at = 0, end, how = fuzz_below(maker, 6);
    if (size > 0)
        at = fuzz_below(maker, size);
    const char *ends = how < 3 ? " \n" : "\n";
    while (at > 0 && strchr(ends, text[at - 1]) == NULL)
        at--;
    for (end = at; end < size && (text[end] == '\0' || strchr(ends, text[end]) == NULL);)
        end++;
    yn_buf_append(maker->out, text, at);
    switch (how) {
    case 0: /* another word */
        yn_buf_append_text(maker->out, fuzz_any_word(maker));
        break;
    case 1: /* one word more */
        yn_buf_append_text(maker->out, fuzz_any_word(maker));
        yn_buf_append_text(maker->out, " ");
        end = at;
        break;
    case 2: /* one less */
        end += end < size;
        break;
    case 3: /* a line twice */
        yn_buf_append(maker->out, text + at, end - at);
        yn_buf_append_text(maker->out, "\n");
        end = at;
        break;
    case 4: /* a line less */
        end += end < size;
        break;
    default: /* one more */
        fuzz_add_line(maker);
        end = at;
    }
    yn_buf_append(maker->out, text + end, size - end);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max,
                               unsigned int seed)
{
    struct yn_buf text;
    struct fuzz_maker maker = {.random = seed, .out = &text};
    if (seed % 2 == 0 && LLVMFuzzerMutate != NULL)
        return LLVMFuzzerMutate(data, size, size_max);
    yn_buf_init(&text);
    fuzz_change_words(&maker, (const char *)data, size);
    size = text.len < size_max ? text.len : size_max;
    if (size > 0)
        memcpy(data, text.data, size);
    yn_buf_clear(&text);
    return size;
}

#endif
