#include "stress/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "core/random.h"

uint64_t random_below(uint64_t *random, uint64_t n)
{
    return (uint64_t)((unsigned __int128)yn_random_next(random) * n >> 64);
}

/* ---- the catalogue ------------------------------------------------------ */

static const char *const section_names[N_SECTIONS] = {
    "read", "write", "big", "block", "server", "session", "special", "options",
};

static int section_find(const char *line)
{
    for (int s = 0; s < N_SECTIONS; s++) {
        size_t len = strlen(section_names[s]);
        if (strncmp(line + 1, section_names[s], len) == 0 && line[1 + len] == ']' &&
            line[2 + len] == '\0')
            return s;
    }
    return -1;
}

static void add(struct catalogue *catalogue, int section, char *line)
{
    size_t n = catalogue->n[section];
    struct template *templates =
        realloc(catalogue->templates[section], (n + 1) * sizeof *templates);
    if (templates == NULL)
        abort();
    char *text = line;
    unsigned long weight = strtoul(line, &text, 10);
    text += strspn(text, " ");
    char *kinds = strstr(text, " => ");
    if (kinds != NULL) {
        *kinds = '\0';
        kinds += 4;
    }
    templates[n].text = strdup(text);
    templates[n].kinds = strdup(kinds == NULL ? "" : kinds);
    templates[n].weight = weight == 0 ? 1 : (unsigned)weight;
    atomic_init(&templates[n].n_sent, 0);
    catalogue->weight[section] += templates[n].weight;
    catalogue->templates[section] = templates;
    catalogue->n[section] = n + 1;
}

bool catalogue_open(struct catalogue *catalogue, const char *path)
{
    memset(catalogue, 0, sizeof *catalogue);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return false;
    }
    char line[1024];
    int section = -1;
    bool is_right = true;
    while (is_right && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0')
            continue;
        if (line[0] == '[')
            section = section_find(line);
        else if (section >= 0)
            add(catalogue, section, line);
        is_right = section >= 0;
    }
    if (!is_right)
        fprintf(stderr, "%s: no such section: %s\n", path, line);
    fclose(file);
    return is_right;
}

void catalogue_close(struct catalogue *catalogue)
{
    for (int s = 0; s < N_SECTIONS; s++) {
        for (size_t i = 0; i < catalogue->n[s]; i++) {
            free(catalogue->templates[s][i].text);
            free(catalogue->templates[s][i].kinds);
        }
        free(catalogue->templates[s]);
    }
}

struct template *catalogue_choose(const struct catalogue *catalogue, enum section section,
                                  uint64_t *random)
{
    uint64_t at = random_below(random, catalogue->weight[section]);
    struct template *template = catalogue->templates[section];
    while (at >= template->weight)
        at -= (template ++)->weight;
    return template;
}

/* Does the text at `at` (which may stand in an alternative) begin with the words of a
 * name, their separator being a blank? */
static bool begins_with(const char *at, const char *name, size_t len)
{
    return strncasecmp(at, name, len) == 0 && strchr(" |}]", at[len]) != NULL;
}

static bool template_is_of(const char *text, const char *name)
{
    const char *sub = strchr(name, '|');
    size_t len = sub == NULL ? strlen(name) : (size_t)(sub - name);
    if (strncasecmp(text, name, len) != 0 || (text[len] != ' ' && text[len] != '\0'))
        return false;
    if (sub == NULL)
        return true;
    const char *at = text + len + 1;
    if (text[len] == '\0')
        return false;
    if (*at != '{')
        return begins_with(at, sub + 1, strlen(sub + 1));
    while (*at != '}' && *at != '\0') {
        if (begins_with(at + 1, sub + 1, strlen(sub + 1)))
            return true;
        at += 1 + strcspn(at + 1, "|}");
    }
    return false;
}

bool catalogue_knows(const struct catalogue *catalogue, const char *name)
{
    for (int s = 0; s < SECTION_OPTIONS; s++)
        for (size_t i = 0; i < catalogue->n[s]; i++)
            if (template_is_of(catalogue->templates[s][i].text, name))
                return true;
    return false;
}

bool catalogue_knows_option(const struct catalogue *catalogue, const char *name)
{
    char padded[128];
    snprintf(padded, sizeof padded, " %s ", name);
    for (size_t i = 0; i < catalogue->n[SECTION_SERVER]; i++) {
        const char *text = catalogue->templates[SECTION_SERVER][i].text;
        if (strncmp(text, "CONFIG SET", 10) == 0 && strstr(text, padded) != NULL)
            return true;
    }
    for (size_t i = 0; i < catalogue->n[SECTION_OPTIONS]; i++)
        if (strcmp(catalogue->templates[SECTION_OPTIONS][i].text, name) == 0)
            return true;
    return false;
}

/* ---- values ------------------------------------------------------------- */

struct filling {
    struct words *words;
    struct shared_values *values;
    uint64_t *random;
    bool is_word_open; /* something, perhaps empty, belongs to the word being written */
};

static void end_word(struct filling *f)
{
    if (f->is_word_open && f->words->n < WORDS_MAX)
        f->words->ends[f->words->n++] = f->words->bytes.len;
    f->is_word_open = false;
}

static void put(struct filling *f, const char *text)
{
    yn_buf_append_text(&f->words->bytes, text);
    f->is_word_open = true;
}

__attribute__((format(printf, 2, 3))) static void put_f(struct filling *f,
                                                        const char *format, ...)
{
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(f, text);
}

static unsigned below(struct filling *f, unsigned n)
{
    return (unsigned)random_below(f->random, n);
}

static void put_set(struct filling *f)
{
    put_f(f, "z%u", below(f, 6));
}

/* Any key: mostly a set or a string, now and then one that others wait for or that
 * expires. */
static void put_any(struct filling *f)
{
    static const char *const kinds[] = {"z", "z", "z", "s", "s", "n", "b", "t"};
    put_f(f, "%s%u", kinds[below(f, 8)], below(f, 6));
}

static void put_sets(struct filling *f)
{
    unsigned n = 1 + below(f, 3);
    put_f(f, "%u", n);
    while (n-- > 0) {
        end_word(f);
        put_set(f);
    }
}

/* Bytes, mostly few: the long ones reach the large size classes and fill sockets. */
static void put_text(struct filling *f)
{
    size_t len = below(f, 20) == 0 ? below(f, 20000) : below(f, 60);
    char *to = yn_buf_reserve(&f->words->bytes, len);
    if (to == NULL)
        abort();
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(i % 7 == 0 ? (int)below(f, 256) : 'a' + (int)(i % 26));
    f->words->bytes.len += len;
    f->is_word_open = true;
}

static void put_dump(struct filling *f)
{
    pthread_mutex_lock(&f->values->dump_lock);
    yn_buf_append(&f->words->bytes, f->values->dump.data, f->values->dump.len);
    pthread_mutex_unlock(&f->values->dump_lock);
    f->is_word_open = true;
}

static void put_client(struct filling *f)
{
    int at = (int)below(f, (unsigned)f->values->n_clients);
    put_f(f, "%lld", (long long)atomic_load(&f->values->client_ids[at]));
}

static void put_bound(struct filling *f, const char *infinite)
{
    if (below(f, 3) == 0)
        put(f, infinite);
    else
        put_f(f, "%s%u", below(f, 4) == 0 ? "(" : "", below(f, 100));
}

static void put_lex_bound(struct filling *f, const char *infinite)
{
    if (below(f, 3) == 0)
        put(f, infinite);
    else
        put_f(f, "%cm%u", below(f, 2) == 0 ? '[' : '(', below(f, 150));
}

static void put_choice(struct filling *f, const char *const *from, unsigned n)
{
    put(f, from[below(f, n)]);
}

#define CHOOSE(f, ...)                                \
    put_choice(f, (const char *const[]){__VA_ARGS__}, \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool put_number(struct filling *f, const char *name)
{
    if (strcmp(name, "lon") == 0)
        put_f(f, "%.6f", -180 + 0.36 * below(f, 1000));
    else if (strcmp(name, "lat") == 0)
        put_f(f, "%.6f", -85 + 0.17 * below(f, 1000));
    else if (strcmp(name, "r") == 0)
        put_f(f, "%u", 1 + below(f, below(f, 2) == 0 ? 100 : 20000));
    else if (strcmp(name, "unit") == 0)
        CHOOSE(f, "m", "km", "km", "km", "mi", "ft");
    else if (strcmp(name, "score") == 0)
        put_f(f, "%.1f", 0.5 * below(f, 200));
    else if (strcmp(name, "i") == 0)
        put_f(f, "%d", (int)below(f, 26) - 5);
    else if (strcmp(name, "n") == 0)
        put_f(f, "%u", 1 + below(f, 20));
    else if (strcmp(name, "s") == 0)
        put_f(f, "%u", 1 + below(f, 100));
    else if (strcmp(name, "ms") == 0)
        put_f(f, "%u", 1 + below(f, 150));
    else if (strcmp(name, "wait") == 0)
        CHOOSE(f, "0.001", "0.01", "0.05", "0.2");
    else if (strcmp(name, "db") == 0)
        put_f(f, "%u", below(f, 3));
    else if (strcmp(name, "cursor") == 0)
        put_f(f, "%u", below(f, 2) == 0 ? 0 : below(f, 1u << 20));
    else if (strcmp(name, "min") == 0)
        put_bound(f, "-inf");
    else if (strcmp(name, "max") == 0)
        put_bound(f, "+inf");
    else
        return false;
    return true;
}

static bool put_name(struct filling *f, const char *name)
{
    if (strcmp(name, "set") == 0)
        put_set(f);
    else if (strcmp(name, "sets") == 0)
        put_sets(f);
    else if (strcmp(name, "m") == 0)
        put_f(f, "m%u", below(f, 150));
    else if (strcmp(name, "big") == 0)
        put(f, "big");
    else if (strcmp(name, "str") == 0)
        put_f(f, "s%u", below(f, 6));
    else if (strcmp(name, "num") == 0)
        put_f(f, "n%u", below(f, 3));
    else if (strcmp(name, "temp") == 0)
        put_f(f, "t%u", below(f, 6));
    else if (strcmp(name, "block") == 0)
        put_f(f, "b%u", below(f, 3));
    else if (strcmp(name, "any") == 0)
        put_any(f);
    else if (strcmp(name, "lexmin") == 0)
        put_lex_bound(f, "-");
    else if (strcmp(name, "lexmax") == 0)
        put_lex_bound(f, "+");
    else if (strcmp(name, "chan") == 0)
        put_f(f, "c%u", below(f, 4));
    else if (strcmp(name, "schan") == 0)
        put_f(f, "sc%u", below(f, 3));
    else if (strcmp(name, "user") == 0)
        put_f(f, "u%u", below(f, 3));
    else if (strcmp(name, "name") == 0)
        CHOOSE(f, "one", "another", "third");
    else if (strcmp(name, "text") == 0)
        put_text(f);
    else if (strcmp(name, "dump") == 0)
        put_dump(f);
    else if (strcmp(name, "client") == 0)
        put_client(f);
    else
        return false;
    return true;
}

static void put_value(struct filling *f, const char *name, size_t len)
{
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)len, name);
    if (!put_number(f, text) && !put_name(f, text)) {
        fprintf(stderr, "commands.txt: no value <%s>\n", text);
        abort();
    }
}

/* ---- templates ---------------------------------------------------------- */

/* The end of what opens at `at` (a bracket): the bracket that closes it. */
static const char *closing(const char *at)
{
    int depth = 0;
    for (;; at++) {
        if (*at == '{' || *at == '[')
            depth++;
        else if ((*at == '}' || *at == ']') && --depth == 0)
            return at;
        else if (*at == '\0') {
            fprintf(stderr, "commands.txt: a bracket is not closed\n");
            abort();
        }
    }
}

static const char *next_alternative(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '{' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ']')
            depth--;
        else if (*at == '|' && depth == 0)
            return at;
    }
    return end;
}

static void fill(struct filling *f, const char *at, const char *end);

static void fill_alternative(struct filling *f, const char *at, const char *end)
{
    unsigned n = 1;
    for (const char *p = next_alternative(at, end); p < end;
         p = next_alternative(p + 1, end))
        n++;
    for (unsigned skip = below(f, n); skip > 0; skip--)
        at = next_alternative(at, end) + 1;
    fill(f, at, next_alternative(at, end));
}

/* { ... } and perhaps *4. Returns what comes after. */
static const char *fill_braces(struct filling *f, const char *at)
{
    const char *end = closing(at);
    unsigned n = 1;
    const char *after = end + 1;
    if (*after == '*') {
        char *digits;
        n += below(f, (unsigned)strtoul(after + 1, &digits, 10));
        after = digits;
    }
    while (n-- > 0) {
        fill_alternative(f, at + 1, end);
        if (after > end + 1)
            end_word(f);
    }
    return after;
}

static void fill(struct filling *f, const char *at, const char *end)
{
    bool is_quoted = false;
    while (at < end) {
        if (*at == '"') {
            is_quoted = !is_quoted;
            f->is_word_open = true;
            at++;
        } else if (*at == ' ' && !is_quoted) {
            end_word(f);
            at++;
        } else if (*at == '<') {
            const char *close = strchr(at, '>');
            put_value(f, at + 1, (size_t)(close - at - 1));
            at = close + 1;
        } else if (*at == '[') {
            const char *close = closing(at);
            if (below(f, 2) == 0)
                fill_alternative(f, at + 1, close);
            at = close + 1;
        } else if (*at == '{') {
            at = fill_braces(f, at);
        } else {
            yn_buf_append(&f->words->bytes, at++, 1);
            f->is_word_open = true;
        }
    }
}

void words_init(struct words *words)
{
    memset(words, 0, sizeof *words);
    yn_buf_init(&words->bytes);
}

void words_clear(struct words *words)
{
    yn_buf_clear(&words->bytes);
}

void words_fill(struct words *words, const char *text, struct shared_values *values,
                uint64_t *random)
{
    yn_buf_reset(&words->bytes, (size_t)1 << 20);
    words->n = 0;
    struct filling f = {.words = words, .values = values, .random = random};
    fill(&f, text, text + strlen(text));
    end_word(&f);
    size_t start = 0;
    for (size_t i = 0; i < words->n; i++) {
        words->argv[i].data = words->bytes.data + start;
        words->argv[i].len = words->ends[i] - start;
        start = words->ends[i];
    }
}
