#include "server/acl_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "resp/request.h"
#include "server/file.h"

/* A table of users under way. */
struct loading {
    struct acl *acl;
    struct yn_buf *errors;
    bool has_default; /* a line about it has come */
    size_t n_errors;
};

static void note_error(struct loading *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note_error(struct loading *l, const char *format, ...)
{
    char text[ACL_ERROR_MAX + CONFIG_ERROR_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    yn_buf_append_text(l->errors, text);
    l->n_errors++;
}

/* words: the name and the rules. line_no is 0 where `where` says it all. */
static void load_user(struct loading *l, const char *where, size_t line_no,
                      const struct yn_bytes *words, size_t n)
{
    static const struct yn_bytes reset = {"reset", 5};
    char error[ACL_ERROR_MAX];
    struct yn_bytes name = words[0];
    bool is_default = name.len == 7 && memcmp(name.data, "default", 7) == 0;
    if (!acl_name_is_valid(name)) {
        note_error(l, "%s: user names can't contain spaces or null characters. ", where);
        return;
    }
    if (is_default ? l->has_default : acl_find(l->acl, name) != NULL) {
        int shown = (int)(name.len < 200 ? name.len : 200);
        if (line_no == 0)
            note_error(l, "%s: user '%.*s' is defined twice. ", where, shown, name.data);
        else
            note_error(l, "WARNING: Duplicate user '%.*s' found on line %zu. ", shown,
                       name.data, line_no);
        return;
    }
    if (!acl_set_user(l->acl, name, is_default ? 1 : 0, &reset, NULL, error) ||
        !acl_set_user(l->acl, name, n - 1, words + 1, NULL, error))
        note_error(l, "%s: %s. ", where, error);
    l->has_default |= is_default;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Splits at blanks, without quotes; returns the number of words, of which at most max are
 * there. */
static size_t split(struct yn_bytes line, struct yn_bytes *words, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < line.len;) {
        while (i < line.len && is_blank(line.data[i]))
            i++;
        size_t start = i;
        while (i < line.len && !is_blank(line.data[i]))
            i++;
        if (i > start && n++ < max)
            words[n - 1] = (struct yn_bytes){line.data + start, i - start};
    }
    return n;
}

static void load_line(struct loading *l, struct yn_bytes line, const char *path,
                      size_t line_no)
{
    char where[CONFIG_ERROR_MAX];
    size_t n = split(line, NULL, 0);
    struct yn_bytes *words = malloc((n + 1) * sizeof *words);
    snprintf(where, sizeof where, "%.900s:%zu", path, line_no);
    if (words == NULL)
        note_error(l, "%s: " ACL_ERR_NOMEM ". ", where);
    else if (n > 0) {
        split(line, words, n);
        if (n < 2 || !cmd_word_is(words[0], "user"))
            note_error(l, "%s should start with user keyword followed by the username. ",
                       where);
        else
            load_user(l, where, line_no, words + 1, n - 1);
    }
    free(words);
}

static bool begin(struct loading *l, const struct config *config, struct acl *out,
                  struct yn_buf *errors)
{
    *l = (struct loading){.acl = out, .errors = errors};
    if (!acl_init(out)) {
        yn_buf_append_text(errors, ACL_ERR_NOMEM);
        return false;
    }
    out->new_all_channels = config->acl_pubsub_default != 0;
    out->rule_subject = "applying operation";
    return true;
}

static bool finish(struct loading *l, const struct config *config)
{
    const char *pass = config->requirepass;
    if (!l->has_default &&
        !acl_set_default_password(l->acl, (struct yn_bytes){pass, strlen(pass)}))
        note_error(l, ACL_ERR_NOMEM ". ");
    l->acl->rule_subject = "ACL SETUSER modifier";
    if (l->n_errors == 0)
        return true;
    acl_clear(l->acl);
    return false;
}

bool acl_file_parse(struct yn_bytes text, const char *path, const struct config *config,
                    struct acl *out, struct yn_buf *errors)
{
    struct loading l;
    if (!begin(&l, config, out, errors))
        return false;
    for (size_t line_no = 1; text.len > 0; line_no++) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        load_line(&l, (struct yn_bytes){text.data, len}, path, line_no);
        len += end != NULL;
        text.data += len;
        text.len -= len;
    }
    return finish(&l, config);
}

/* ---- users of the configuration ---- */

/* The words of one line, as offsets until all are there. */
struct words {
    struct yn_bytes *list;
    size_t n;
    bool failed;
};

static bool take_word(void *ctx, struct yn_bytes word)
{
    struct words *w = ctx;
    struct yn_bytes *list = realloc(w->list, (w->n + 1) * sizeof *list);
    w->failed = list == NULL;
    if (w->failed)
        return false;
    w->list = list;
    char *copy = malloc(word.len + 1);
    w->failed = copy == NULL;
    if (w->failed)
        return false;
    memcpy(copy, word.len > 0 ? word.data : "", word.len);
    copy[word.len] = '\0';
    list[w->n++] = (struct yn_bytes){copy, word.len};
    return true;
}

/* Quoted words: where, name, rules. */
static void load_config_line(struct loading *l, struct yn_bytes line)
{
    struct words w = {.n = 0};
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    yn_words_visit(line, &scratch, take_word, &w);
    if (w.failed || scratch.failed || w.n < 2)
        note_error(l, ACL_ERR_NOMEM ". ");
    else
        load_user(l, w.list[0].data, 0, w.list + 1, w.n - 1);
    yn_buf_clear(&scratch);
    for (size_t i = 0; i < w.n; i++)
        free((void *)(uintptr_t)w.list[i].data);
    free(w.list);
}

static bool load_config(const struct config *config, struct acl *out,
                        struct yn_buf *errors)
{
    struct loading l;
    const char *at = config->users != NULL ? config->users : "";
    if (!begin(&l, config, out, errors))
        return false;
    while (*at != '\0') {
        size_t len = strcspn(at, "\n");
        load_config_line(&l, (struct yn_bytes){at, len});
        at += len + (at[len] == '\n');
    }
    return finish(&l, config);
}

bool acl_file_load(const struct config *config, struct acl *out, struct yn_buf *errors)
{
    struct yn_buf text;
    char error[FILE_ERROR_MAX];
    if (config->aclfile[0] == '\0')
        return load_config(config, out, errors);
    if (config->users != NULL) {
        yn_buf_append_text(errors,
                           "users are in the configuration file and in an aclfile: "
                           "only one of them can be");
        return false;
    }
    yn_buf_init(&text);
    bool ok = file_read(config->aclfile, &text, NULL, error);
    if (ok) {
        ok = acl_file_parse((struct yn_bytes){text.data, text.len}, config->aclfile,
                            config, out, errors);
        if (!ok)
            yn_buf_append_text(errors, "WARNING: ACL errors detected, no change to the "
                                       "previously active ACL rules was performed");
    } else {
        yn_buf_append_text(errors, "Error loading ACLs, opening file '");
        yn_buf_append_text(errors, config->aclfile);
        yn_buf_append_text(errors, "': ");
        yn_buf_append_text(errors, strerror(errno));
    }
    yn_buf_clear(&text);
    return ok;
}

void acl_file_format(const struct acl *acl, struct yn_buf *out)
{
    for (size_t i = 0; i < acl->n_users; i++) {
        acl_user_format(acl->users[i], out);
        yn_buf_append_text(out, "\n");
    }
}

bool acl_file_save(const struct config *config, const struct acl *acl, char *error)
{
    struct yn_buf old, text;
    mode_t mode = 0600; /* who reads digests can try passwords */
    yn_buf_init(&old);
    yn_buf_init(&text);
    acl_file_format(acl, &text);
    bool ok = file_read(config->aclfile, &old, &mode, error) || errno == ENOENT;
    if (ok && text.failed) {
        snprintf(error, CONFIG_ERROR_MAX, "%s", ACL_ERR_NOMEM);
        ok = false;
    }
    ok = ok && file_replace(config->aclfile, &text, mode, error);
    yn_buf_clear(&old);
    yn_buf_clear(&text);
    return ok;
}
