#include "server/config_rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/quote.h"
#include "resp/request.h"
#include "server/file.h"

/* ---- lines ---- */

/* Takes the next line, with its end, off the front of *text. */
static bool next_line(struct yn_bytes *text, struct yn_bytes *out_line)
{
    if (text->len == 0)
        return false;
    const char *end = memchr(text->data, '\n', text->len);
    size_t len = end != NULL ? (size_t)(end - text->data) + 1 : text->len;
    *out_line = (struct yn_bytes){text->data, len};
    text->data += len;
    text->len -= len;
    return true;
}

/* What a line says: a value of the option, or a user, or nothing (a comment). */
struct said {
    const struct config_option *option; /* or NULL */
    bool is_user;
};

static bool take_first(void *ctx, struct yn_bytes word)
{
    struct said *said = ctx;
    said->option = config_find(word);
    said->is_user = config_is_user(word);
    return false; /* the rest of the line does not matter */
}

static struct said parse_line(struct yn_bytes line, struct yn_buf *scratch)
{
    struct said said = {.option = NULL};
    while (line.len > 0 && strchr(" \t\r\n", line.data[line.len - 1]) != NULL)
        line.len--;
    while (line.len > 0 && (*line.data == ' ' || *line.data == '\t')) {
        line.data++;
        line.len--;
    }
    if (line.len > 0 && *line.data != '#')
        yn_words_visit(line, scratch, take_first, &said);
    return said;
}

/* Whether the value is not read as it is. With `has_words` single blanks inside are well:
 * the words are put together again with those. */
static bool needs_quotes(struct yn_bytes value, bool has_words)
{
    bool was_blank = true;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        bool is_blank = c == ' ';
        if (is_blank ? !has_words || was_blank
                     : c < ' ' || c > '~' || strchr("\"'\\#", c) != NULL)
            return true;
        was_blank = is_blank;
    }
    return was_blank; /* at the end, or because there is nothing */
}

/* The last line of a file may lack its end. */
static void end_line(struct yn_buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        yn_buf_append_text(out, "\n");
}

/* One line, or for output limits one for each class: all lines that say it. */
static void append_option(const struct config *config, const struct config_option *option,
                          struct yn_buf *out)
{
    struct yn_buf text;
    yn_buf_init(&text);
    config_format(config, option, &text);
    struct yn_bytes value = {text.data, text.len};
    yn_buf_append_text(out, config_name(option));
    yn_buf_append_text(out, " ");
    if (needs_quotes(value, config_takes_words(option)))
        yn_quote(out, value);
    else
        yn_buf_append(out, value.data, value.len);
    yn_buf_append_text(out, "\n");
    out->failed = out->failed || text.failed;
    yn_buf_clear(&text);
}

/* ---- the text ---- */

/* What is to be done with the lines of an option. */
struct plan {
    bool has_changed; /* the file gives it another value */
    size_t n_lines;   /* of the file, that are not yet copied */
};

static bool is_same(const struct config *a, const struct config *b,
                    const struct config_option *option)
{
    struct yn_buf texts[2];
    yn_buf_init(&texts[0]);
    yn_buf_init(&texts[1]);
    config_format(a, option, &texts[0]);
    config_format(b, option, &texts[1]);
    bool same =
        texts[0].len == texts[1].len &&
        (texts[0].len == 0 || memcmp(texts[0].data, texts[1].data, texts[0].len) == 0);
    yn_buf_clear(&texts[0]);
    yn_buf_clear(&texts[1]);
    return same;
}

static size_t index_of(const struct config_option *option)
{
    size_t i = 0;
    while (config_at(i) != option)
        i++;
    return i;
}

static size_t count_options(void)
{
    size_t n = 0;
    while (config_at(n) != NULL)
        n++;
    return n;
}

static void copy_lines(const struct config *config, struct yn_bytes old,
                       struct plan *plans, struct yn_buf *scratch, struct yn_buf *out)
{
    struct yn_bytes rest = old, line = {NULL, 0};
    while (next_line(&rest, &line)) {
        struct said said = parse_line(line, scratch);
        struct plan *plan = said.option != NULL ? &plans[index_of(said.option)] : NULL;
        if (said.is_user && config->user_lines != NULL)
            continue; /* they come at the end */
        if (plan == NULL || !plan->has_changed)
            yn_buf_append(out, line.data, line.len);
        else if (--plan->n_lines == 0)
            append_option(config, said.option, out);
    }
}

static void add_missing(const struct config *config, const struct plan *plans,
                        const bool *has_line, struct yn_bytes old, struct yn_buf *out)
{
    static const char mark[] = "# Set while the server ran:\n";
    const struct config_option *option;
    bool has_mark = old.len > 0 && memmem(old.data, old.len, mark, sizeof mark - 1);
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        if (!plans[i].has_changed || has_line[i])
            continue;
        end_line(out);
        if (!has_mark)
            yn_buf_append_text(out, mark);
        has_mark = true;
        append_option(config, option, out);
    }
    if (config->user_lines != NULL && config->user_lines[0] != '\0') {
        end_line(out);
        yn_buf_append_text(out, config->user_lines);
    }
}

static bool rewrite(const struct config *config, const struct config *file,
                    struct yn_bytes old, struct yn_buf *out)
{
    size_t n = count_options();
    struct plan *plans = calloc(n, sizeof *plans);
    bool *has_line = calloc(n, sizeof *has_line);
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    bool ok = plans != NULL && has_line != NULL;
    if (ok) {
        struct yn_bytes rest = old, line;
        for (size_t i = 0; i < n; i++)
            plans[i].has_changed = !is_same(config, file, config_at(i));
        while (next_line(&rest, &line)) {
            const struct config_option *option = parse_line(line, &scratch).option;
            if (option == NULL)
                continue;
            plans[index_of(option)].n_lines++;
            has_line[index_of(option)] = true;
        }
        copy_lines(config, old, plans, &scratch, out);
        add_missing(config, plans, has_line, old, out);
        ok = !out->failed && !scratch.failed;
    }
    yn_buf_clear(&scratch);
    free(has_line);
    free(plans);
    return ok;
}

bool config_rewrite_text(const struct config *config, struct yn_bytes old,
                         struct yn_buf *out, char *error)
{
    struct config file;
    snprintf(error, CONFIG_ERROR_MAX, "out of memory");
    if (!config_init(&file))
        return false;
    bool ok = config_load_text(&file, old, "the file", error) &&
              rewrite(config, &file, old, out);
    config_clear(&file);
    return ok;
}

/* ---- the file ---- */

bool config_rewrite_file(const struct config *config, const char *path, char *error)
{
    struct yn_buf old, text;
    mode_t mode = 0644;
    yn_buf_init(&old);
    yn_buf_init(&text);
    bool ok =
        (file_read(path, &old, &mode, error) || errno == ENOENT) &&
        config_rewrite_text(config, (struct yn_bytes){old.data, old.len}, &text, error) &&
        file_replace(path, &text, mode, error);
    yn_buf_clear(&old);
    yn_buf_clear(&text);
    return ok;
}
