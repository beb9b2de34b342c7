/* A recursive descent with a limit on depth, RFC 8259. \u escapes above 7-bit ASCII
 * become question marks: reports hold none. */
#include "tools/bench_json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

#define DEPTH_MAX 32

struct input {
    const char *p, *end;
    int depth;
};

static bool parse_value(struct input *in, struct bench_json *out);

static void clear(struct bench_json *json)
{
    for (size_t i = 0; i < json->n_items; i++)
        clear(&json->items[i]);
    free(json->items);
    free(json->text);
    free(json->name);
}

static void skip_blanks(struct input *in)
{
    while (in->p < in->end && *in->p != '\0' && strchr(" \t\r\n", *in->p) != NULL)
        in->p++;
}

static bool take(struct input *in, char c)
{
    skip_blanks(in);
    if (in->p == in->end || *in->p != c)
        return false;
    in->p++;
    return true;
}

static bool take_word(struct input *in, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(in->end - in->p) < len || memcmp(in->p, word, len) != 0)
        return false;
    in->p += len;
    return true;
}

/* The character that an escape stands for, after the backslash; 0: none. */
static char parse_escape(struct input *in)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = in->p < in->end ? *in->p++ : '\0';
    const char *at = c != '\0' ? strchr(names, c) : NULL;
    if (at != NULL)
        return values[at - names];
    if (c != 'u' || in->end - in->p < 4)
        return '\0';
    char digits[5] = {in->p[0], in->p[1], in->p[2], in->p[3], '\0'}, *end;
    unsigned long code = strtoul(digits, &end, 16);
    in->p += 4;
    if (*end != '\0' || strchr("+- ", digits[0]) != NULL)
        return '\0';
    return code > 0 && code < 0x80 ? (char)code : '?';
}

static char *parse_text(struct input *in)
{
    if (!take(in, '"'))
        return NULL;
    char *text = malloc((size_t)(in->end - in->p) + 1), *to = text;
    bool is_fine = text != NULL;
    while (is_fine && in->p < in->end && *in->p != '"') {
        char c = *in->p++;
        if (c == '\\')
            c = parse_escape(in);
        else if ((unsigned char)c < ' ')
            c = '\0';
        is_fine = c != '\0';
        *to++ = c;
    }
    if (!is_fine || in->p == in->end) {
        free(text);
        return NULL;
    }
    in->p++;
    *to = '\0';
    char *small = realloc(text, (size_t)(to - text) + 1);
    return small != NULL ? small : text;
}

static struct bench_json *add_item(struct bench_json *json)
{
    if ((json->n_items & (json->n_items - 1)) == 0) {
        size_t cap = json->n_items > 0 ? 2 * json->n_items : 1;
        void *p = realloc(json->items, cap * sizeof json->items[0]);
        if (p == NULL)
            return NULL;
        json->items = p;
    }
    struct bench_json *item = &json->items[json->n_items++];
    memset(item, 0, sizeof *item);
    return item;
}

static bool parse_items(struct input *in, struct bench_json *out, char close)
{
    bool is_object = out->type == BENCH_JSON_OBJECT;
    if (take(in, close))
        return true;
    do {
        struct bench_json *item = add_item(out);
        if (item == NULL)
            return false;
        if (is_object) {
            item->name = parse_text(in);
            if (item->name == NULL || !take(in, ':'))
                return false;
        }
        if (!parse_value(in, item))
            return false;
    } while (take(in, ','));
    return take(in, close);
}

static bool parse_number(struct input *in, struct bench_json *out)
{
    const char *start = in->p;
    while (in->p < in->end && *in->p != '\0' && strchr("+-.eE0123456789", *in->p) != NULL)
        in->p++;
    out->type = BENCH_JSON_NUMBER;
    return yn_num_parse_double((struct yn_bytes){start, (size_t)(in->p - start)},
                               &out->number);
}

static bool parse_value(struct input *in, struct bench_json *out)
{
    bool is_fine;
    skip_blanks(in);
    if (in->p == in->end || in->depth == DEPTH_MAX)
        return false;
    in->depth++;
    switch (*in->p) {
    case '{':
    case '[':
        out->type = *in->p == '{' ? BENCH_JSON_OBJECT : BENCH_JSON_ARRAY;
        in->p++;
        is_fine = parse_items(in, out, out->type == BENCH_JSON_OBJECT ? '}' : ']');
        break;
    case '"':
        out->type = BENCH_JSON_TEXT;
        out->text = parse_text(in);
        is_fine = out->text != NULL;
        break;
    case 't':
    case 'f':
        out->type = BENCH_JSON_BOOL;
        out->number = *in->p == 't';
        is_fine = take_word(in, "true") || take_word(in, "false");
        break;
    case 'n':
        is_fine = take_word(in, "null");
        break;
    default:
        is_fine = parse_number(in, out);
    }
    in->depth--;
    return is_fine;
}

struct bench_json *bench_json_parse(const char *text, size_t len)
{
    struct input in = {text, text + len, 0};
    struct bench_json *json = calloc(1, sizeof *json);
    if (json == NULL)
        return NULL;
    bool is_fine = parse_value(&in, json);
    skip_blanks(&in);
    if (is_fine && in.p == in.end)
        return json;
    bench_json_free(json);
    return NULL;
}

void bench_json_free(struct bench_json *json)
{
    if (json != NULL)
        clear(json);
    free(json);
}

const struct bench_json *bench_json_find(const struct bench_json *json, const char *name)
{
    if (json == NULL || json->type != BENCH_JSON_OBJECT)
        return NULL;
    for (size_t i = 0; i < json->n_items; i++) {
        if (strcmp(json->items[i].name, name) == 0)
            return &json->items[i];
    }
    return NULL;
}

const char *bench_json_text(const struct bench_json *json, const char *name)
{
    const struct bench_json *found = bench_json_find(json, name);
    return found != NULL && found->type == BENCH_JSON_TEXT ? found->text : "";
}

double bench_json_number(const struct bench_json *json, const char *name)
{
    const struct bench_json *found = bench_json_find(json, name);
    return found != NULL && found->type == BENCH_JSON_NUMBER ? found->number : 0;
}
