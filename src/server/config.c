#include "server/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"
#include "resp/quote.h"
#include "resp/request.h"
#include "server/config_parts.h"
#include "server/notify.h"

/* ---- places ---- */

static void *place_of(struct config *config, const struct config_option *option)
{
    return (char *)config + option->offset;
}

static const void *place_in(const struct config *config,
                            const struct config_option *option)
{
    return (const char *)config + option->offset;
}

static bool is_text(const struct config_option *option)
{
    return option->kind == KIND_STRING || option->kind == KIND_WORDS;
}

/* ---- parsing values ---- */

static bool fail(char *error, const char *text)
{
    snprintf(error, CONFIG_ERROR_MAX, "%s", text);
    return false;
}

static bool is_in_range(const struct config_option *option, int64_t value, char *error)
{
    if (value >= option->min && value <= option->max)
        return true;
    if (option->kind == KIND_OCTAL)
        snprintf(error, CONFIG_ERROR_MAX,
                 "argument must be between %llo and %llo inclusive",
                 (unsigned long long)option->min, (unsigned long long)option->max);
    else
        snprintf(error, CONFIG_ERROR_MAX,
                 "argument must be between %lld and %lld inclusive",
                 (long long)option->min, (long long)option->max);
    return false;
}

/* "10", "10kb": a number of bytes. k, m and g are powers of 1000, kb, mb and gb of 1024.
 */
static bool parse_memory(struct yn_bytes text, int64_t *out_value)
{
    static const struct config_choice units[] = {
        {"b", 1},           {"k", 1000},     {"kb", 1 << 10},
        {"m", 1000 * 1000}, {"mb", 1 << 20}, {"g", 1000 * 1000 * 1000},
        {"gb", 1 << 30},    {NULL, 0}};
    size_t n_digits = 0;
    while (n_digits < text.len && text.data[n_digits] >= '0' &&
           text.data[n_digits] <= '9')
        n_digits++;
    struct yn_bytes unit = {text.data + n_digits, text.len - n_digits};
    int64_t factor = unit.len == 0 ? 1 : 0;
    for (const struct config_choice *u = units; unit.len > 0 && u->name != NULL; u++) {
        if (config_text_is(unit, u->name))
            factor = u->value;
    }
    int64_t number;
    return factor != 0 &&
           yn_num_parse_int64((struct yn_bytes){text.data, n_digits}, &number) &&
           !__builtin_mul_overflow(number, factor, out_value);
}

static bool parse_octal(struct yn_bytes text, int64_t *out_value)
{
    int64_t value = 0;
    if (text.len == 0 || text.len > 6)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '7')
            return false;
        value = value * 8 + (text.data[i] - '0');
    }
    *out_value = value;
    return true;
}

static bool parse_choice(const struct config_choice *choices, struct yn_bytes text,
                         int64_t *out_value)
{
    for (const struct config_choice *c = choices; c->name != NULL; c++) {
        if (config_text_is(text, c->name)) {
            *out_value = c->value;
            return true;
        }
    }
    return false;
}

static void list_choices(const struct config_choice *choices, char *out, size_t size)
{
    size_t len = 0;
    out[0] = '\0';
    for (const struct config_choice *c = choices; c->name != NULL && len < size; c++)
        len +=
            (size_t)snprintf(out + len, size - len, "%s%s", len > 0 ? ", " : "", c->name);
}

static bool parse_number(const struct config_option *option, struct yn_bytes text,
                         int64_t *out_value, char *error)
{
    switch (option->kind) {
    case KIND_INT:
        if (!yn_num_parse_int64(text, out_value))
            return fail(error, "argument couldn't be parsed into an integer");
        return is_in_range(option, *out_value, error);
    case KIND_OCTAL:
        if (!parse_octal(text, out_value))
            return fail(error, "argument couldn't be parsed into an octal integer");
        return is_in_range(option, *out_value, error);
    case KIND_MEMORY:
        if (!parse_memory(text, out_value))
            return fail(error, "argument must be a memory value");
        return is_in_range(option, *out_value, error);
    case KIND_BOOL:
        if (!parse_choice(config_booleans, text, out_value))
            return fail(error, "argument must be 'yes' or 'no'");
        return true;
    case KIND_EVENTS:
        if (!notify_parse(text, out_value))
            return fail(error, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
        return true;
    default:
        if (!parse_choice(option->choices, text, out_value)) {
            char names[128];
            list_choices(option->choices, names, sizeof names);
            snprintf(error, CONFIG_ERROR_MAX,
                     "argument(s) must be one of the following: %s", names);
            return false;
        }
        return true;
    }
}

bool config_next_word(struct yn_bytes *text, struct yn_bytes *out_word)
{
    while (text->len > 0 && (*text->data == ' ' || *text->data == '\t')) {
        text->data++;
        text->len--;
    }
    size_t n = 0;
    while (n < text->len && text->data[n] != ' ' && text->data[n] != '\t')
        n++;
    *out_word = (struct yn_bytes){text->data, n};
    text->data += n;
    text->len -= n;
    return n > 0;
}

/* "class hard soft seconds", one or more times; classes that are not named keep theirs.
 */
static bool parse_limits(struct yn_bytes text, struct config_output_limit *limits,
                         char *error)
{
    static const struct config_choice classes[] = {{"normal", CONFIG_CLASS_NORMAL},
                                                   {"replica", CONFIG_CLASS_REPLICA},
                                                   {"slave", CONFIG_CLASS_REPLICA},
                                                   {"pubsub", CONFIG_CLASS_PUBSUB},
                                                   {NULL, 0}};
    struct config_output_limit parsed[CONFIG_CLASSES];
    memcpy(parsed, limits, sizeof parsed);
    struct yn_bytes word[4];
    while (config_next_word(&text, &word[0])) {
        int64_t class, hard, soft, soft_s;
        if (!config_next_word(&text, &word[1]) || !config_next_word(&text, &word[2]) ||
            !config_next_word(&text, &word[3]))
            return fail(error,
                        "Wrong number of arguments in buffer limit configuration.");
        if (!parse_choice(classes, word[0], &class))
            return fail(error,
                        "Invalid client class specified in buffer limit configuration.");
        if (!parse_memory(word[1], &hard) || !parse_memory(word[2], &soft) ||
            !yn_num_parse_int64(word[3], &soft_s) || soft_s < 0)
            return fail(error,
                        "Error in hard, soft or soft_seconds setting in buffer limit "
                        "configuration.");
        parsed[class] = (struct config_output_limit){(uint64_t)hard, (uint64_t)soft,
                                                     (uint64_t)soft_s};
    }
    memcpy(limits, parsed, sizeof parsed);
    return true;
}

static bool set_text(char **place, struct yn_bytes text, char *error)
{
    if (memchr(text.data, '\0', text.len) != NULL)
        return fail(error, "argument must not contain a zero byte");
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        return fail(error, "out of memory");
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    free(*place);
    *place = copy;
    return true;
}

bool config_set(struct config *config, const struct config_option *option,
                struct yn_bytes text, char *error)
{
    if (text.data == NULL)
        text.data = "";
    if (is_text(option)) {
        const char *refusal = option->refuse != NULL ? option->refuse(text) : NULL;
        if (refusal != NULL)
            return fail(error, refusal);
        return set_text(place_of(config, option), text, error);
    }
    if (option->kind == KIND_LIMITS)
        return parse_limits(text, place_of(config, option), error);
    int64_t value;
    if (!parse_number(option, text, &value, error))
        return false;
    const char *refusal = option->refuse != NULL ? option->refuse(text) : NULL;
    if (refusal != NULL)
        return fail(error, refusal);
    if (option->kind == KIND_BOOL)
        *(bool *)place_of(config, option) = value != 0;
    else
        *(int64_t *)place_of(config, option) = value;
    return true;
}

/* ---- printing values ---- */

static const char *choice_name(const struct config_choice *choices, int64_t value)
{
    for (const struct config_choice *c = choices; c->name != NULL; c++) {
        if (c->value == value)
            return c->name;
    }
    return "";
}

static void append_limits(const struct config_output_limit *limits, struct yn_buf *out)
{
    /* The class of replicas goes by its old name, which is what monitoring tools look
     * for. */
    static const char *const names[CONFIG_CLASSES] = {"normal", "slave", "pubsub"};
    for (size_t i = 0; i < CONFIG_CLASSES; i++) {
        char text[128];
        int n = snprintf(text, sizeof text, "%s%s %llu %llu %llu", i > 0 ? " " : "",
                         names[i], (unsigned long long)limits[i].hard,
                         (unsigned long long)limits[i].soft,
                         (unsigned long long)limits[i].soft_s);
        yn_buf_append(out, text, (size_t)n);
    }
}

void config_get(const struct config *config, const struct config_option *option,
                struct yn_buf *out)
{
    const void *place = place_in(config, option);
    char text[32];
    if (is_text(option)) {
        yn_buf_append_text(out, *(char *const *)place);
    } else if (option->kind == KIND_LIMITS) {
        append_limits(place, out);
    } else if (option->kind == KIND_EVENTS) {
        notify_format(*(const int64_t *)place, out);
    } else if (option->kind == KIND_BOOL) {
        yn_buf_append_text(out, *(const bool *)place ? "yes" : "no");
    } else if (option->kind == KIND_CHOICE) {
        yn_buf_append_text(out, choice_name(option->choices, *(const int64_t *)place));
    } else if (option->kind == KIND_OCTAL) {
        snprintf(text, sizeof text, "%llo", (unsigned long long)*(const int64_t *)place);
        yn_buf_append_text(out, text);
    } else {
        yn_buf_append(out, text, yn_num_format_int64(*(const int64_t *)place, text));
    }
}

void config_format(const struct config *config, const struct config_option *option,
                   struct yn_buf *out)
{
    const int64_t hidden = NOTIFY_ALL | NOTIFY_NEW; /* n is not shown behind A */
    config_get(config, option, out);
    if (option->kind == KIND_EVENTS &&
        (*(const int64_t *)place_in(config, option) & hidden) == hidden)
        yn_buf_append_text(out, "n");
}

/* What an option accepts, in words, for start-up errors. */
static void describe(const struct config_option *option, char *out, size_t size)
{
    char names[128];
    switch (option->kind) {
    case KIND_BOOL:
        snprintf(out, size, "yes or no");
        break;
    case KIND_INT:
        snprintf(out, size, "an integer from %lld to %lld", (long long)option->min,
                 (long long)option->max);
        break;
    case KIND_OCTAL:
        snprintf(out, size, "an octal number from 0 to %llo",
                 (unsigned long long)option->max);
        break;
    case KIND_MEMORY:
        snprintf(out, size,
                 "a number of bytes such as 1048576, 512mb or 1gb, at least %lld",
                 (long long)option->min);
        break;
    case KIND_CHOICE:
        list_choices(option->choices, names, sizeof names);
        snprintf(out, size, "one of %s", names);
        break;
    case KIND_EVENTS:
        snprintf(out, size, "letters among Ag$lshzxeKEtmdn");
        break;
    case KIND_LIMITS:
        snprintf(out, size,
                 "<normal|replica|pubsub> <hard bytes> <soft bytes> <seconds>");
        break;
    default:
        snprintf(out, size, "text");
        break;
    }
}

/* ---- defaults ---- */

bool config_init(struct config *config)
{
    char error[CONFIG_ERROR_MAX];
    memset(config, 0, sizeof *config);
    const struct config_option *option;
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        struct yn_bytes text = {option->initial, strlen(option->initial)};
        if (!config_set(config, option, text, error)) {
            config_clear(config);
            return false;
        }
    }
    return true;
}

void config_clear(struct config *config)
{
    const struct config_option *option;
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        if (is_text(option))
            free(*(char **)place_of(config, option));
    }
    free(config->users);
    free(config->user_lines);
    memset(config, 0, sizeof *config);
}

/* ---- files and command lines ---- */

/* One directive under way: its option, and its value so far. */
struct directive {
    bool has_name;
    bool is_user; /* the value is quoted words */
    const struct config_option *option;
    char name[64];
    size_t n_values;
    struct yn_buf value;
};

static bool add_word(void *ctx, struct yn_bytes word)
{
    struct directive *d = ctx;
    if (!d->has_name) {
        d->has_name = true;
        d->option = config_find(word);
        d->is_user = config_is_user(word);
        snprintf(d->name, sizeof d->name, "%.*s", (int)(word.len < 63 ? word.len : 63),
                 word.data);
        return true;
    }
    if (d->n_values++ > 0)
        yn_buf_append_text(&d->value, " ");
    if (d->is_user)
        yn_quote(&d->value, word);
    else
        yn_buf_append(&d->value, word.data, word.len);
    return true;
}

/* Keeps the line for when the users are made (acl_file.h). */
static bool add_user(struct config *config, const struct directive *d, const char *where,
                     char *error)
{
    struct yn_buf text;
    yn_buf_init(&text);
    if (config->users != NULL)
        yn_buf_append_text(&text, config->users);
    yn_quote(&text, (struct yn_bytes){where, strlen(where)});
    yn_buf_append_text(&text, " ");
    yn_buf_append(&text, d->value.data, d->value.len);
    yn_buf_append(&text, "\n", 2); /* with the zero byte */
    if (text.failed || d->value.failed) {
        yn_buf_clear(&text);
        return fail(error, "out of memory");
    }
    free(config->users);
    config->users = text.data;
    return true;
}

/* Sets what the directive says. `where` is "file:line" or "command line". */
static bool apply(struct config *config, const struct directive *d, const char *where,
                  char *error)
{
    if (d->is_user && d->n_values == 0) {
        snprintf(error, CONFIG_ERROR_MAX, "%s: a user needs a name", where);
        return false;
    }
    if (d->is_user)
        return add_user(config, d, where, error);
    if (d->option == NULL) {
        snprintf(error, CONFIG_ERROR_MAX,
                 "%s: unknown option '%s' (yonder.conf lists the options that exist)",
                 where, d->name);
        return false;
    }
    char accepted[256];
    char reason[CONFIG_ERROR_MAX];
    describe(d->option, accepted, sizeof accepted);
    if (d->n_values == 0 || (d->n_values > 1 && !config_takes_words(d->option))) {
        snprintf(error, CONFIG_ERROR_MAX,
                 "%s: option '%s' takes %s, %zu given (accepted: %s)", where, d->name,
                 config_takes_words(d->option) ? "a value" : "one value", d->n_values,
                 accepted);
        return false;
    }
    if (d->value.failed)
        return fail(error, "out of memory");
    struct yn_bytes text = {d->value.data, d->value.len};
    if (config_set(config, d->option, text, reason))
        return true;
    if (d->option->refuse != NULL && d->option->refuse(text) != NULL)
        snprintf(error, CONFIG_ERROR_MAX, "%s: option '%s': %.300s", where, d->name,
                 reason);
    else
        snprintf(error, CONFIG_ERROR_MAX,
                 "%s: option '%s', value '%.*s': %.160s (accepted: %s)", where, d->name,
                 (int)(text.len < 40 ? text.len : 40), text.len > 0 ? text.data : "",
                 reason, accepted);
    return false;
}

static bool load_line(struct config *config, struct yn_bytes line, const char *where,
                      struct yn_buf *scratch, char *error)
{
    while (line.len > 0 && (*line.data == ' ' || *line.data == '\t')) {
        line.data++;
        line.len--;
    }
    while (line.len > 0 &&
           (line.data[line.len - 1] == '\r' || line.data[line.len - 1] == ' '))
        line.len--;
    if (line.len == 0 || *line.data == '#')
        return true;
    struct directive d = {.has_name = false};
    yn_buf_init(&d.value);
    bool ok;
    if (!yn_words_visit(line, scratch, add_word, &d)) {
        snprintf(error, CONFIG_ERROR_MAX, "%s: unbalanced quotes", where);
        ok = false;
    } else {
        ok = apply(config, &d, where, error);
    }
    yn_buf_clear(&d.value);
    return ok;
}

/* Adds the number of a further line that is wrong to the error of the first. */
static void add_wrong_line(char *error, size_t line_no)
{
    size_t len = strlen(error);
    if (len < CONFIG_ERROR_MAX - 40)
        snprintf(error + len, CONFIG_ERROR_MAX - len, ", %zu", line_no);
    else if (strcmp(error + len - 3, "...") != 0)
        snprintf(error + len, CONFIG_ERROR_MAX - len, ", ...");
}

bool config_load_text(struct config *config, struct yn_bytes text, const char *origin,
                      char *error)
{
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    char further[CONFIG_ERROR_MAX] = "";
    size_t n_wrong = 0;
    for (size_t line_no = 1; text.len > 0; line_no++) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        char where[160];
        snprintf(where, sizeof where, "%.120s:%zu", origin, line_no);
        if (!load_line(config, (struct yn_bytes){text.data, len}, where, &scratch,
                       n_wrong == 0 ? error : further)) {
            if (n_wrong++ == 1)
                snprintf(error + strlen(error), CONFIG_ERROR_MAX - strlen(error),
                         "; more lines that are not accepted: %zu", line_no);
            else if (n_wrong > 1)
                add_wrong_line(error, line_no);
        }
        size_t used = end != NULL ? len + 1 : len;
        text.data += used;
        text.len -= used;
    }
    yn_buf_clear(&scratch);
    return n_wrong == 0;
}

static bool read_all(FILE *file, struct yn_buf *out)
{
    for (;;) {
        char *to = yn_buf_reserve(out, 4096);
        if (to == NULL)
            return false;
        size_t n = fread(to, 1, 4096, file);
        out->len += n;
        if (n == 0)
            return ferror(file) == 0;
    }
}

bool config_load_file(struct config *config, const char *path, char *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "re");
    if (file == NULL) {
        snprintf(error, CONFIG_ERROR_MAX, "could not open config file \"%.200s\": %s",
                 path, strerror(errno));
        return false;
    }
    struct yn_buf text;
    yn_buf_init(&text);
    bool ok = read_all(file, &text);
    if (!ok)
        snprintf(error, CONFIG_ERROR_MAX, "could not read config file \"%.200s\": %s",
                 path, strerror(errno));
    if (!is_stdin)
        fclose(file);
    if (ok)
        ok = config_load_text(config, (struct yn_bytes){text.data, text.len},
                              is_stdin ? "standard input" : path, error);
    yn_buf_clear(&text);
    return ok;
}

bool config_load_args(struct config *config, int n_words, const char *const *words,
                      char *error)
{
    int i = 0;
    bool ok = true;
    while (ok && i < n_words) {
        if (strncmp(words[i], "--", 2) != 0) {
            snprintf(error, CONFIG_ERROR_MAX,
                     "command line: '%.100s' is not an option (options are --name value)",
                     words[i]);
            return false;
        }
        struct directive d = {.has_name = false};
        yn_buf_init(&d.value);
        add_word(&d, (struct yn_bytes){words[i] + 2, strlen(words[i] + 2)});
        for (i++; i < n_words && strncmp(words[i], "--", 2) != 0; i++)
            add_word(&d, (struct yn_bytes){words[i], strlen(words[i])});
        ok = apply(config, &d, "command line", error);
        yn_buf_clear(&d.value);
    }
    return ok;
}
