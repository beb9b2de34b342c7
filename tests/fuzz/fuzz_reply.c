/*
 * fuzz_reply.c: the reply parser over any bytes.
 *
 * The first two bytes choose the limits and how the rest is cut. What is understood must
 * not depend on the cut, and replies that are written again must read the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "resp/reply.h"
#include "resp/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A copy that ends where its block ends, so that a sanitizer sees a read past it. */
static char *copy_new(const char *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    check(copy != NULL, "out of memory");
    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

/* ---- one way of writing each reply ---- */

static void write_reply(struct yn_buf *out, const struct yn_reply *reply);

static void write_items(struct yn_buf *out, const struct yn_reply *reply)
{
    for (size_t i = 0; i < reply->n_items; i++)
        write_reply(out, reply->items[i]);
}

static void write_head(struct yn_buf *out, char type, size_t n)
{
    char head[32];
    int len = snprintf(head, sizeof head, "%c%zu\r\n", type, n);
    yn_buf_append(out, head, (size_t)len);
}

static void write_attributes(struct yn_buf *out, const struct yn_reply *map)
{
    if (map == NULL)
        return;
    write_attributes(out, map->attributes);
    check(map->type == YN_REPLY_MAP, "attributes are no map");
    write_head(out, '|', map->n_items / 2);
    write_items(out, map);
}

static void write_line(struct yn_buf *out, char type, struct yn_bytes text)
{
    yn_buf_append(out, &type, 1);
    yn_buf_append(out, text.data, text.len);
    yn_buf_append(out, "\r\n", 2);
}

static void write_reply(struct yn_buf *out, const struct yn_reply *reply)
{
    check(reply->text.data != NULL, "text without an address");
    write_attributes(out, reply->attributes);
    switch (reply->type) {
    case YN_REPLY_STATUS:
        write_line(out, '+', reply->text);
        break;
    case YN_REPLY_ERROR: /* as a bulk: may hold CR and LF */
        write_head(out, '!', reply->text.len);
        yn_buf_append(out, reply->text.data, reply->text.len);
        yn_buf_append(out, "\r\n", 2);
        break;
    case YN_REPLY_INTEGER:
        yn_write_integer(out, reply->integer);
        break;
    case YN_REPLY_BULK:
        yn_write_bulk(out, reply->text);
        break;
    case YN_REPLY_NULL:
        yn_write_null_array(out, reply->is_null_array ? 2 : 3);
        break;
    case YN_REPLY_ARRAY:
        yn_write_array(out, reply->n_items);
        break;
    case YN_REPLY_MAP:
        check(reply->n_items % 2 == 0, "map of half pairs");
        yn_write_map(out, 3, reply->n_items / 2);
        break;
    case YN_REPLY_SET:
        yn_write_set(out, 3, reply->n_items);
        break;
    case YN_REPLY_PUSH:
        yn_write_push(out, 3, reply->n_items);
        break;
    case YN_REPLY_DOUBLE:
        yn_write_double_text(out, 3, reply->text);
        break;
    case YN_REPLY_BOOL:
        yn_write_bool(out, 3, reply->integer != 0);
        break;
    case YN_REPLY_BIGNUM:
        write_line(out, '(', reply->text);
        break;
    case YN_REPLY_VERBATIM:
        yn_write_verbatim(out, 3, reply->format, reply->text);
        break;
    }
    write_items(out, reply);
}

/* ---- parsing in pieces ---- */

static enum yn_reply_status take_all(struct yn_reply_parser *parser, struct yn_buf *log)
{
    struct yn_reply *reply;
    enum yn_reply_status status;
    while ((status = yn_reply_next(parser, &reply)) == YN_REPLY_READY) {
        write_reply(log, reply);
        yn_reply_free(reply);
    }
    return status;
}

/* Feeds pieces whose lengths follow from seed (0: all at once). The replies go to log.
 * Returns the last status; a fault is told in error. */
static enum yn_reply_status parse_all(const char *bytes, size_t len, unsigned seed,
                                      const struct yn_reply_limits *limits,
                                      struct yn_buf *log, char error[128])
{
    struct yn_reply_parser *parser = yn_reply_parser_new(limits);
    check(parser != NULL, "out of memory");
    bool takes_early = seed & 1;
    size_t piece_len = len;
    for (size_t from = 0; from < len; from += piece_len) {
        if (seed != 0) {
            seed = seed * 1664525 + 1013904223;
            piece_len = 1 + (seed >> 16) % (seed >> 31 ? 8 : 200);
        }
        if (piece_len > len - from)
            piece_len = len - from;
        char *piece = copy_new(bytes + from, piece_len);
        yn_reply_feed(parser, piece, piece_len);
        free(piece);
        if (takes_early)
            take_all(parser, log);
    }
    enum yn_reply_status status = take_all(parser, log);
    uint64_t offset = yn_reply_parser_offset(parser);
    check(offset <= len && (status == YN_REPLY_BAD || offset == len),
          "offset out of range");
    snprintf(error, 128, "%llu %s", (unsigned long long)offset,
             yn_reply_parser_error(parser));
    yn_reply_parser_free(parser);
    return status;
}

static void check_same(const struct yn_buf *a, const struct yn_buf *b, const char *what)
{
    check(a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0),
          what);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct yn_reply_limits limits = {
        .max_depth = data[0] & 1 ? 8 : 0,
        .max_bulk_len = data[0] & 2 ? 100 : 0,
        .max_items = data[0] & 4 ? 20 : 0,
    };
    unsigned seed = 1u + data[1] + 256u * (data[0] >> 3);
    const char *bytes = (const char *)data + 2;
    struct yn_buf whole;
    struct yn_buf other;
    char whole_error[128];
    char other_error[128];
    yn_buf_init(&whole);
    yn_buf_init(&other);
    enum yn_reply_status status =
        parse_all(bytes, size - 2, 0, &limits, &whole, whole_error);
    check(status == YN_REPLY_MORE || status == YN_REPLY_BAD, "no final status");
    check(parse_all(bytes, size - 2, seed, &limits, &other, other_error) == status,
          "the cut changes the status");
    check(strcmp(whole_error, other_error) == 0, "the cut changes the fault");
    check_same(&whole, &other, "the cut changes the replies");

    yn_buf_reset(&other, SIZE_MAX);
    check(parse_all(whole.data, whole.len, 0, &limits, &other, other_error) ==
              YN_REPLY_MORE,
          "written replies are not understood");
    check_same(&whole, &other, "written replies read differently");
    yn_buf_clear(&whole);
    yn_buf_clear(&other);
    return 0;
}
