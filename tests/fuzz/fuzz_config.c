/*
 * Fuzz target: configuration files, CONFIG SET's values, command lines, and the text of
 * CONFIG REWRITE.
 * link: server
 *
 * An input is two files, "%%\n" between them. Checked: what is refused has a reason, and
 * leaves valid values; each value is printed as one that can be set, to the same value; a
 * file rewritten for the configuration in force reads as that configuration, is not
 * changed by a second time, and keeps its comments; a value that is refused leaves
 * everything as it was.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/config.h"
#include "server/config_rewrite.h"
#include "server/notify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *what, struct yn_bytes text)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)(text.len < 1000 ? text.len : 1000),
            text.len > 0 ? text.data : "");
    abort();
}

static struct yn_bytes bytes_of(const struct yn_buf *buf)
{
    return (struct yn_bytes){buf->data, buf->len};
}

static bool is_same(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* All values, as text. */
static void print(const struct config *config, struct yn_buf *out)
{
    const struct config_option *option;
    out->len = 0;
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        yn_buf_append_text(out, config_name(option));
        yn_buf_append_text(out, "=");
        config_format(config, option, out);
        yn_buf_append_text(out, "\n");
    }
}

static void expect_same(const struct config *a, const struct config *b, const char *what,
                        struct yn_bytes text)
{
    struct yn_buf texts[2];
    yn_buf_init(&texts[0]);
    yn_buf_init(&texts[1]);
    print(a, &texts[0]);
    print(b, &texts[1]);
    if (!is_same(bytes_of(&texts[0]), bytes_of(&texts[1]))) {
        fprintf(stderr, "---- is:\n%.*s---- should be:\n%.*s", (int)texts[0].len,
                texts[0].data, (int)texts[1].len, texts[1].data);
        die(what, text);
    }
    yn_buf_clear(&texts[0]);
    yn_buf_clear(&texts[1]);
}

static void init(struct config *config)
{
    if (!config_init(config))
        abort();
}

/* A value as text can be set, and is the same then. */
static void check_values(const struct config *config)
{
    const struct config_option *option;
    char error[CONFIG_ERROR_MAX];
    struct config other;
    struct yn_buf value;
    init(&other);
    yn_buf_init(&value);
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        value.len = 0;
        config_format(config, option, &value);
        if (!config_set(&other, option, bytes_of(&value), error))
            die("a value is printed as one that cannot be set", bytes_of(&value));
    }
    expect_same(&other, config, "values are printed as others", bytes_of(&value));
    yn_buf_clear(&value);
    config_clear(&other);
}

/* Sets each option to the text, as CONFIG SET does. */
static void check_set(struct yn_bytes text)
{
    const struct config_option *option;
    struct config config, before;
    int64_t classes, again;
    struct yn_buf letters;
    init(&config);
    init(&before);
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        char error[CONFIG_ERROR_MAX] = "";
        if (config_set(&config, option, text, error))
            continue;
        if (error[0] == '\0')
            die("refused without a reason", text);
        struct yn_buf value;
        yn_buf_init(&value);
        config_get(&before, option, &value);
        if (!config_set(&before, option, bytes_of(&value), error))
            die("the default cannot be set", bytes_of(&value));
        yn_buf_clear(&value);
    }
    check_values(&config);
    yn_buf_init(&letters);
    if (notify_parse(text, &classes)) {
        notify_format(classes, &letters);
        int64_t hidden = (classes & NOTIFY_ALL) == NOTIFY_ALL ? NOTIFY_NEW : 0;
        if (!notify_parse(bytes_of(&letters), &again) || again != (classes & ~hidden))
            die("classes of events are printed as others", text);
    }
    yn_buf_clear(&letters);
    config_clear(&before);
    config_clear(&config);
}

/* A value that is refused changes nothing. The text is a line of a file: a name, a
 * value. */
static void check_line(const struct config *config, struct yn_bytes line)
{
    const char *blank = memchr(line.data, ' ', line.len);
    size_t name_len = blank != NULL ? (size_t)(blank - line.data) : line.len;
    const struct config_option *option =
        config_find((struct yn_bytes){line.data, name_len});
    char error[CONFIG_ERROR_MAX] = "";
    struct config other;
    init(&other);
    if (option != NULL && blank != NULL) {
        struct yn_bytes value = {blank + 1, line.len - name_len - 1};
        struct config before;
        struct yn_buf text;
        init(&before);
        yn_buf_init(&text);
        config_format(config, option, &text);
        config_set(&other, option, bytes_of(&text), error);
        config_set(&before, option, bytes_of(&text), error);
        if (!config_set(&other, option, value, error))
            expect_same(&other, &before, "a refused value has changed something", line);
        yn_buf_clear(&text);
        config_clear(&before);
    }
    config_clear(&other);
}

static void check_lines(const struct config *config, struct yn_bytes text)
{
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        check_line(config, (struct yn_bytes){text.data, len});
        text.data += end != NULL ? len + 1 : len;
        text.len -= end != NULL ? len + 1 : len;
    }
}

/* How many lines are comments: with a # in front. */
static size_t count_comments(struct yn_bytes text)
{
    size_t n = 0;
    bool is_first = true;
    for (size_t i = 0; i < text.len; i++) {
        n += is_first && text.data[i] == '#';
        is_first = text.data[i] == '\n' ||
                   (is_first && (text.data[i] == ' ' || text.data[i] == '\t'));
    }
    return n;
}

/* The file, rewritten for the configuration. */
static void check_rewrite(const struct config *config, struct yn_bytes old)
{
    char error[CONFIG_ERROR_MAX] = "";
    struct config again;
    struct yn_buf text, second;
    yn_buf_init(&text);
    yn_buf_init(&second);
    init(&again);
    if (!config_rewrite_text(config, old, &text, error))
        die("a valid file is not rewritten", old);
    if (!config_load_text(&again, bytes_of(&text), "rewritten", error))
        die("what was written is refused", bytes_of(&text));
    expect_same(&again, config, "what was written reads as another", bytes_of(&text));
    if (!config_rewrite_text(config, bytes_of(&text), &second, error) ||
        !is_same(bytes_of(&second), bytes_of(&text)))
        die("a second time changes the file", bytes_of(&text));
    if (count_comments(bytes_of(&text)) < count_comments(old))
        die("a comment is lost", bytes_of(&text));
    config_clear(&again);
    yn_buf_clear(&text);
    yn_buf_clear(&second);
}

/* The words of a command line: "--name value". */
static void check_args(struct yn_bytes text)
{
    const char *words[16];
    int n = 0;
    char error[CONFIG_ERROR_MAX] = "";
    struct config config;
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        abort();
    if (text.len > 0)
        memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    for (char *word = strtok(copy, "\n"); word != NULL && n < 16;
         word = strtok(NULL, "\n"))
        words[n++] = word;
    init(&config);
    if (config_load_args(&config, n, words, error)) {
        check_values(&config);
        check_rewrite(&config, (struct yn_bytes){"", 0});
    } else if (error[0] == '\0') {
        die("a command line is refused without a reason", text);
    }
    config_clear(&config);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "%%\n";
    struct yn_bytes text = {(const char *)data, size}, other = {"", 0};
    const char *end = size > 0 ? memmem(data, size, mark, strlen(mark)) : NULL;
    char error[CONFIG_ERROR_MAX] = "";
    struct config config, second;
    if (end != NULL) {
        text.len = (size_t)(end - text.data);
        other = (struct yn_bytes){end + strlen(mark), size - text.len - strlen(mark)};
    }
    init(&config);
    init(&second);
    bool is_read = config_load_text(&config, text, "a file", error);
    if (!is_read && error[0] == '\0')
        die("refused without a reason", text);
    check_values(&config); /* of the lines before the wrong one */
    check_lines(&config, text);
    if (is_read)
        check_rewrite(&config, text);
    check_rewrite(&config, (struct yn_bytes){"", 0});
    if (config_load_text(&second, other, "another file", error))
        check_rewrite(&config, other);
    check_set(other);
    check_args(other);
    config_clear(&config);
    config_clear(&second);
    return 0;
}
