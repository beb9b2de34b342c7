#include "tools/cli_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "resp/quote.h"

void cli_print_bytes(struct yn_buf *out, struct yn_bytes bytes)
{
    char *to = yn_buf_reserve(out, bytes.len);
    if (to == NULL || bytes.len == 0)
        return;
    memcpy(to, bytes.data, bytes.len);
    out->len += bytes.len;
}

void cli_print_text(struct yn_buf *out, const char *text)
{
    cli_print_bytes(out, (struct yn_bytes){text, strlen(text)});
}

static void print_integer(struct yn_buf *out, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    cli_print_text(out, text);
}

/* ---- for people --------------------------------------------------------- */

static void print_value(struct yn_buf *out, const struct yn_reply *reply, size_t indent);

static bool is_aggregate(const struct yn_reply *reply)
{
    return reply->type == YN_REPLY_ARRAY || reply->type == YN_REPLY_MAP ||
           reply->type == YN_REPLY_SET || reply->type == YN_REPLY_PUSH;
}

/* True if a value of a map starts on a line of its own: an aggregate of several elements,
 * also when it lies inside aggregates of one. */
static bool starts_line(const struct yn_reply *value)
{
    while (is_aggregate(value) && value->n_items > 0) {
        size_t step = value->type == YN_REPLY_MAP ? 2 : 1;
        if (value->n_items > step)
            return true;
        value = value->items[step - 1];
    }
    return false;
}

static void print_blanks(struct yn_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cli_print_text(out, " ");
}

static void print_aggregate(struct yn_buf *out, const struct yn_reply *reply,
                            size_t indent)
{
    bool is_map = reply->type == YN_REPLY_MAP;
    bool is_set = reply->type == YN_REPLY_SET;
    if (reply->n_items == 0) {
        const char *name = is_map                         ? "hash"
                           : is_set                       ? "set"
                           : reply->type == YN_REPLY_PUSH ? "push"
                                                          : "array";
        cli_print_text(out, "(empty ");
        cli_print_text(out, name);
        cli_print_text(out, ")\n");
        return;
    }

    size_t step = is_map ? 2 : 1;
    char number[32];
    /* numbers are as wide as the last one, so that elements line up */
    int width = snprintf(number, sizeof number, "%zu", reply->n_items / step);
    size_t inner = indent + (size_t)width + 2;
    for (size_t i = 0; i < reply->n_items; i += step) {
        /* the first element stands on the line that the aggregate itself is on */
        print_blanks(out, i > 0 ? indent : 0);
        snprintf(number, sizeof number, "%*zu%c ", width, i / step + 1,
                 is_map   ? '#'
                 : is_set ? '~'
                          : ')');
        cli_print_text(out, number);
        print_value(out, reply->items[i], inner);
        if (is_map) {
            if (out->len > 0 && !out->failed)
                out->len--; /* the key's line feed */
            cli_print_text(out, " => ");
            if (starts_line(reply->items[i + 1])) {
                cli_print_text(out, "\n");
                print_blanks(out, inner);
            }
            print_value(out, reply->items[i + 1], inner);
        }
    }
}

static void print_tagged(struct yn_buf *out, const char *tag, struct yn_bytes text)
{
    cli_print_text(out, tag);
    cli_print_bytes(out, text);
    cli_print_text(out, "\n");
}

static void print_value(struct yn_buf *out, const struct yn_reply *reply, size_t indent)
{
    switch (reply->type) {
    case YN_REPLY_ERROR:
        print_tagged(out, "(error) ", reply->text);
        break;
    case YN_REPLY_STATUS:
    case YN_REPLY_VERBATIM:
        print_tagged(out, "", reply->text);
        break;
    case YN_REPLY_INTEGER:
        cli_print_text(out, "(integer) ");
        print_integer(out, reply->integer);
        cli_print_text(out, "\n");
        break;
    case YN_REPLY_BULK:
        yn_quote(out, reply->text);
        cli_print_text(out, "\n");
        break;
    case YN_REPLY_NULL:
        cli_print_text(out, "(nil)\n");
        break;
    case YN_REPLY_DOUBLE:
        print_tagged(out, "(double) ", reply->text);
        break;
    case YN_REPLY_BIGNUM:
        print_tagged(out, "(bignum) ", reply->text);
        break;
    case YN_REPLY_BOOL:
        cli_print_text(out, reply->integer != 0 ? "(true)\n" : "(false)\n");
        break;
    case YN_REPLY_ARRAY:
    case YN_REPLY_MAP:
    case YN_REPLY_SET:
    case YN_REPLY_PUSH:
        print_aggregate(out, reply, indent);
        break;
    }
}

void cli_print_pretty(struct yn_buf *out, const struct yn_reply *reply)
{
    print_value(out, reply, 0);
}

/* ---- for programs ------------------------------------------------------- */

void cli_print_raw(struct yn_buf *out, const struct yn_reply *reply)
{
    switch (reply->type) {
    case YN_REPLY_NULL:
        break;
    case YN_REPLY_ERROR:
        cli_print_bytes(out, reply->text);
        cli_print_text(out, "\n");
        break;
    case YN_REPLY_STATUS:
    case YN_REPLY_VERBATIM:
    case YN_REPLY_BULK:
    case YN_REPLY_DOUBLE:
    case YN_REPLY_BIGNUM:
        cli_print_bytes(out, reply->text);
        break;
    case YN_REPLY_INTEGER:
        print_integer(out, reply->integer);
        break;
    case YN_REPLY_BOOL:
        cli_print_text(out, reply->integer != 0 ? "(true)" : "(false)");
        break;
    case YN_REPLY_ARRAY:
    case YN_REPLY_MAP:
    case YN_REPLY_SET:
    case YN_REPLY_PUSH:
        for (size_t i = 0; i < reply->n_items; i++) {
            if (i > 0)
                cli_print_text(out,
                               reply->type == YN_REPLY_MAP && i % 2 == 1 ? " " : "\n");
            cli_print_raw(out, reply->items[i]);
        }
        break;
    }
}
