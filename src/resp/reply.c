/*
 * reply.c: the reply parser.
 *
 * A machine that reads bytes once, in order, and keeps no raw input of an unfinished
 * reply: what has arrived of a line lies in `line`, what has arrived of a bulk lies
 * where it will stay. Nesting is kept in three growing arrays instead of the C stack:
 *
 *     frames   the open aggregates, outermost first
 *     values   finished elements of all open aggregates; a frame owns those from its
 *              `base` on. When the last one is there, they are copied into an array of
 *              exactly that size and the aggregate becomes one value of the frame below
 *
 * so an announced number of elements costs nothing before the elements arrive, and each
 * pointer is copied once.
 *
 * A reply's memory is a chain of blocks, cut off front to back. The root value lies at a
 * fixed place of the first block, which is how yn_reply_free finds the chain. Short bulks
 * are cut off too; a long one gets a block of its own that doubles up to the
 * announced length as bytes arrive, so that neither a lie about the length nor a
 * gigabyte in small pieces costs more than a constant factor. Streamed strings do the
 * same.
 *
 * The machine stops at the end of a reply; what follows in the same piece waits in
 * `raw` until the reply was taken. So at most one finished reply is held, and memory
 * follows the bytes fed, not the number of small replies in them.
 *
 * Rejected: parsing a whole reply out of a buffer of raw bytes. It rescans, or keeps
 * state anyway, and holds large bulks twice.
 */
#include "resp/reply.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/num.h"

#define DEFAULT_MAX_DEPTH 1024
#define DEFAULT_MAX_BULK_LEN (INT64_C(1) << 40)
#define DEFAULT_MAX_ITEMS INT64_C(4294967295)

#define SHORT_LINE_MAX 1024 /* lines that hold a number */
#define SHORT_BULK_MAX 4096 /* longer ones get a block of their own */
#define BODY_CAP_MIN 65536
#define BLOCK_LEN_MIN 256 /* a status or a short bulk fits */
#define BLOCK_LEN_MAX ((size_t)256 * 1024)
#define KEEP_LINE_MAX 4096
#define KEEP_RAW_MAX ((size_t)64 * 1024)
#define KEEP_VALUES_MAX 8192

struct block {
    struct block *next;
};

/* The first block of a reply. */
struct root_block {
    struct block block;
    struct yn_reply root;
};

struct frame {
    enum yn_reply_type type;
    bool is_attribute;
    bool is_streamed;            /* ends with "." */
    int64_t n_left;              /* not streamed: elements still to come */
    size_t base;                 /* first element in values */
    struct yn_reply *attributes; /* wait for the next element */
};

enum state {
    AT_TYPE,    /* a value, or what may stand in its place, begins */
    IN_LINE,    /* after the type byte */
    AT_LINE_LF, /* after the CR of a line */
    IN_BODY,    /* inside the bytes of a bulk */
    AT_BODY_CR,
    AT_BODY_LF,
};

struct yn_reply_parser {
    struct yn_reply_limits limits;
    enum yn_reply_status status; /* MORE, or the final BAD or NOMEM */
    uint64_t offset;             /* bytes understood */
    char error[96];

    enum state state;
    char type;         /* type byte of the current line */
    uint64_t value_at; /* its offset */
    struct yn_buf line;

    /* the bulk under way; a block of its own joins the chain at the end (NULL: none) */
    struct block *body_block;
    char *body;
    size_t body_len, body_cap;
    size_t body_want;      /* length announced so far */
    bool in_stream_string; /* only ";" lines can follow */

    struct frame *frames;
    size_t n_frames, frames_cap;
    struct yn_reply **values;
    size_t n_values, values_cap;
    struct yn_reply *root_attributes;

    /* memory of the reply under way */
    struct root_block *first;
    char *free_at, *free_end;
    size_t block_len;

    struct yn_reply *ready;
    struct yn_buf raw; /* bytes after the ready reply */
    size_t raw_at;
};

/* ---- failure ---- */

static void fail(struct yn_reply_parser *parser, uint64_t at, const char *text)
{
    parser->status = YN_REPLY_BAD;
    parser->offset = at;
    snprintf(parser->error, sizeof parser->error, "%s at byte %" PRIu64, text, at);
}

static void fail_line(struct yn_reply_parser *parser, const char *text)
{
    fail(parser, parser->value_at, text);
}

static void fail_memory(struct yn_reply_parser *parser)
{
    parser->status = YN_REPLY_NOMEM;
    snprintf(parser->error, sizeof parser->error, "out of memory");
}

/* ---- memory of one reply ---- */

static void chain_free(struct block *block)
{
    while (block != NULL) {
        struct block *next = block->next;
        free(block);
        block = next;
    }
}

static bool block_add(struct yn_reply_parser *parser, size_t need)
{
    size_t head =
        parser->first == NULL ? sizeof(struct root_block) : sizeof(struct block);
    size_t len = head + need > parser->block_len ? head + need : parser->block_len;
    struct block *block = malloc(len);
    if (block == NULL) {
        fail_memory(parser);
        return false;
    }
    block->next = NULL;
    if (parser->first == NULL) {
        parser->first = (struct root_block *)(void *)block;
    } else {
        block->next = parser->first->block.next;
        parser->first->block.next = block;
    }
    parser->free_at = (char *)block + head;
    parser->free_end = (char *)block + len;
    if (parser->block_len < BLOCK_LEN_MAX)
        parser->block_len *= 2;
    return true;
}

/* Room that lives as long as the reply; NULL (and the parser failed) without memory. */
static void *chain_alloc(struct yn_reply_parser *parser, size_t len, size_t align)
{
    size_t gap = (size_t)(-(uintptr_t)parser->free_at & (align - 1));
    size_t left = (size_t)(parser->free_end - parser->free_at);
    if (parser->first == NULL || left < gap || left - gap < len) {
        if (!block_add(parser, len + align))
            return NULL;
        gap = (size_t)(-(uintptr_t)parser->free_at & (align - 1));
    }
    char *room = parser->free_at + gap;
    parser->free_at = room + len;
    return room;
}

static struct yn_reply *value_new(struct yn_reply_parser *parser, enum yn_reply_type type,
                                  bool is_root)
{
    struct yn_reply *value;
    if (is_root && (parser->first != NULL || block_add(parser, 0)))
        value = &parser->first->root;
    else if (is_root)
        return NULL;
    else
        value = chain_alloc(parser, sizeof *value, alignof(struct yn_reply));
    if (value != NULL) {
        memset(value, 0, sizeof *value);
        value->type = type;
        value->text.data = "";
    }
    return value;
}

/* Makes room for one more element of an array that doubles. */
static bool array_grow(struct yn_reply_parser *parser, void **array, size_t n,
                       size_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    size_t new_cap = *cap > 0 ? *cap * 2 : 16;
    void *grown = realloc(*array, new_cap * size);
    if (grown == NULL) {
        fail_memory(parser);
        return false;
    }
    *array = grown;
    *cap = new_cap;
    return true;
}

/* ---- values and frames ---- */

/* The attributes that wait for the next value of the innermost open aggregate. */
static struct yn_reply **waiting_attributes(struct yn_reply_parser *parser)
{
    if (parser->n_frames == 0)
        return &parser->root_attributes;
    return &parser->frames[parser->n_frames - 1].attributes;
}

static bool values_add(struct yn_reply_parser *parser, struct yn_reply *value)
{
    void *array = parser->values;
    if (!array_grow(parser, &array, parser->n_values, &parser->values_cap, sizeof value))
        return false;
    parser->values = array;
    parser->values[parser->n_values++] = value;
    return true;
}

static void root_finish(struct yn_reply_parser *parser, struct yn_reply *root)
{
    parser->ready = root;
    parser->first = NULL;
    parser->free_at = NULL;
    parser->free_end = NULL;
    parser->block_len = BLOCK_LEN_MIN;
    if (parser->values_cap > KEEP_VALUES_MAX) {
        free(parser->values);
        parser->values = NULL;
        parser->values_cap = 0;
    }
}

/* Closes the innermost aggregate. Returns it as a value; NULL if it was an attribute
 * (which waits for the next value now), or if memory ran out. */
static struct yn_reply *frame_close(struct yn_reply_parser *parser)
{
    struct frame frame = parser->frames[parser->n_frames - 1];
    size_t n = parser->n_values - frame.base;
    struct yn_reply **items = NULL;
    if (n > 0) {
        items = chain_alloc(parser, n * sizeof *items, alignof(struct yn_reply *));
        if (items == NULL)
            return NULL;
        memcpy(items, parser->values + frame.base, n * sizeof *items);
    }
    bool is_root = parser->n_frames == 1 && !frame.is_attribute;
    struct yn_reply *value = value_new(parser, frame.type, is_root);
    if (value == NULL)
        return NULL;
    value->n_items = n;
    value->items = items;
    parser->n_values = frame.base;
    parser->n_frames--;
    if (!frame.is_attribute)
        return value;
    struct yn_reply **waiting = waiting_attributes(parser);
    value->attributes = *waiting;
    *waiting = value;
    return NULL;
}

/* Puts a finished value into its place and closes the aggregates that it completes.
 * value: NULL does nothing. */
static void value_finish(struct yn_reply_parser *parser, struct yn_reply *value)
{
    while (value != NULL) {
        struct yn_reply **waiting = waiting_attributes(parser);
        value->attributes = *waiting;
        *waiting = NULL;
        if (parser->n_frames == 0) {
            root_finish(parser, value);
            return;
        }
        if (!values_add(parser, value))
            return;
        struct frame *frame = &parser->frames[parser->n_frames - 1];
        if (frame->is_streamed || --frame->n_left > 0)
            return;
        value = frame_close(parser);
    }
}

static struct yn_reply *scalar_new(struct yn_reply_parser *parser,
                                   enum yn_reply_type type)
{
    return value_new(parser, type, parser->n_frames == 0);
}

/* ---- lines that are values ---- */

static void finish_text(struct yn_reply_parser *parser, enum yn_reply_type type,
                        struct yn_bytes text)
{
    char *copy = NULL;
    if (text.len > 0) {
        copy = chain_alloc(parser, text.len, 1);
        if (copy == NULL)
            return;
        memcpy(copy, text.data, text.len);
    }
    struct yn_reply *value = scalar_new(parser, type);
    if (value == NULL)
        return;
    if (copy != NULL)
        value->text = (struct yn_bytes){copy, text.len};
    value_finish(parser, value);
}

static void finish_null(struct yn_reply_parser *parser, bool is_null_array)
{
    struct yn_reply *value = scalar_new(parser, YN_REPLY_NULL);
    if (value == NULL)
        return;
    value->is_null_array = is_null_array;
    value_finish(parser, value);
}

static void finish_integer(struct yn_reply_parser *parser, enum yn_reply_type type,
                           int64_t integer)
{
    struct yn_reply *value = scalar_new(parser, type);
    if (value == NULL)
        return;
    value->integer = integer;
    value_finish(parser, value);
}

static bool text_is(struct yn_bytes text, const char *what)
{
    return text.len == strlen(what) && memcmp(text.data, what, text.len) == 0;
}

static bool is_bignum(struct yn_bytes text)
{
    size_t at = text.len > 0 && text.data[0] == '-' ? 1 : 0;
    if (at == text.len)
        return false;
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at == text.len;
}

static size_t digits_skip(struct yn_bytes text, size_t at)
{
    while (at < text.len && text.data[at] >= '0' && text.data[at] <= '9')
        at++;
    return at;
}

static size_t sign_skip(struct yn_bytes text, size_t at)
{
    return at < text.len && (text.data[at] == '-' || text.data[at] == '+') ? at + 1 : at;
}

/* [sign] digits [. digits] [e [sign] digits], with a digit before or after the point. */
static bool is_decimal(struct yn_bytes text)
{
    size_t from = sign_skip(text, 0);
    size_t at = digits_skip(text, from);
    size_t n_digits = at - from;
    if (at < text.len && text.data[at] == '.') {
        from = at + 1;
        at = digits_skip(text, from);
        n_digits += at - from;
    }
    if (n_digits == 0)
        return false;
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        from = sign_skip(text, at + 1);
        at = digits_skip(text, from);
        if (at == from)
            return false;
    }
    return at == text.len;
}

/* Out of the range of a double there is still a nearest one, which the strict parser for
 * arguments refuses: 5e-324 is a valid reply. */
static double nearest_double(struct yn_bytes text)
{
    char copy[SHORT_LINE_MAX + 1];
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    /* "C" is built in: neither memory nor files are needed for it. */
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double number = strtod_l(copy, NULL, locale);
    freelocale(locale);
    return number;
}

static bool double_parse(struct yn_bytes text, double *out_number)
{
    if (text_is(text, "inf")) {
        *out_number = HUGE_VAL;
    } else if (text_is(text, "-inf")) {
        *out_number = -HUGE_VAL;
    } else if (text_is(text, "nan") || text_is(text, "-nan")) {
        *out_number = (double)NAN;
    } else {
        if (!is_decimal(text))
            return false;
        if (!yn_num_parse_double(text, out_number))
            *out_number = nearest_double(text);
    }
    return true;
}

static void finish_double(struct yn_reply_parser *parser, struct yn_bytes text)
{
    double number;
    if (!double_parse(text, &number)) {
        fail_line(parser, "invalid double");
        return;
    }
    char *copy = chain_alloc(parser, text.len, 1);
    if (copy == NULL)
        return;
    memcpy(copy, text.data, text.len);
    struct yn_reply *value = scalar_new(parser, YN_REPLY_DOUBLE);
    if (value == NULL)
        return;
    value->number = number;
    value->text = (struct yn_bytes){copy, text.len};
    value_finish(parser, value);
}

/* ---- bulks ---- */

/* Makes the block of a long bulk hold at least need bytes. */
static bool body_grow(struct yn_reply_parser *parser, size_t need)
{
    size_t cap =
        parser->body_cap < BODY_CAP_MIN / 2 ? BODY_CAP_MIN : parser->body_cap * 2;
    if (!parser->in_stream_string && cap > parser->body_want)
        cap = parser->body_want;
    if (cap < need)
        cap = need;
    struct block *block = realloc(parser->body_block, sizeof *block + cap);
    if (block == NULL && cap > need) {
        cap = need;
        block = realloc(parser->body_block, sizeof *block + cap);
    }
    if (block == NULL) {
        fail_memory(parser);
        return false;
    }
    parser->body_block = block;
    parser->body = (char *)(block + 1);
    parser->body_cap = cap;
    return true;
}

static void body_begin(struct yn_reply_parser *parser, size_t len)
{
    parser->body = NULL;
    parser->body_len = 0;
    parser->body_cap = 0;
    parser->body_want = len;
    if (len > 0 && len <= SHORT_BULK_MAX) {
        parser->body = chain_alloc(parser, len, 1);
        if (parser->body == NULL)
            return;
        parser->body_cap = len;
    }
    parser->state = len > 0 ? IN_BODY : AT_BODY_CR;
}

/* Hands the bulk's own block over to the reply. */
static bool body_keep(struct yn_reply_parser *parser)
{
    struct block *block = parser->body_block;
    if (block == NULL)
        return true;
    if (parser->first == NULL && !block_add(parser, 0))
        return false;
    if (parser->body_cap > parser->body_len) {
        struct block *shrunk = realloc(block, sizeof *block + parser->body_len);
        if (shrunk != NULL) {
            block = shrunk;
            parser->body = (char *)(block + 1);
        }
    }
    block->next = parser->first->block.next;
    parser->first->block.next = block;
    parser->body_block = NULL;
    return true;
}

static void body_finish(struct yn_reply_parser *parser)
{
    parser->state = AT_TYPE;
    struct yn_bytes text = {parser->body, parser->body_len};
    if (parser->type == '=' && text.data[3] != ':') {
        fail_line(parser, "verbatim string without a format");
        return;
    }
    if (!body_keep(parser))
        return;
    text.data = parser->body; /* may have moved */
    enum yn_reply_type type = parser->type == '!'   ? YN_REPLY_ERROR
                              : parser->type == '=' ? YN_REPLY_VERBATIM
                                                    : YN_REPLY_BULK;
    struct yn_reply *value = scalar_new(parser, type);
    if (value == NULL)
        return;
    if (type == YN_REPLY_VERBATIM) {
        memcpy(value->format, text.data, 3);
        text.data += 4;
        text.len -= 4;
    }
    if (text.len > 0)
        value->text = text;
    value_finish(parser, value);
}

static void line_bulk(struct yn_reply_parser *parser, struct yn_bytes text)
{
    int64_t len;
    if (parser->type == '$' && text_is(text, "?")) {
        body_begin(parser, 0);
        parser->state = AT_TYPE;
        parser->in_stream_string = true;
    } else if (parser->type == '$' && text_is(text, "-1")) {
        finish_null(parser, false);
    } else if (!yn_num_parse_int64(text, &len) || len < 0 ||
               len > parser->limits.max_bulk_len) {
        fail_line(parser, "invalid bulk length");
    } else if (parser->type == '=' && len < 4) {
        fail_line(parser, "invalid verbatim string length");
    } else {
        body_begin(parser, (size_t)len);
    }
}

/* One part of a streamed string. */
static void line_part(struct yn_reply_parser *parser, struct yn_bytes text)
{
    int64_t len;
    if (!yn_num_parse_int64(text, &len) || len < 0 ||
        len > parser->limits.max_bulk_len - (int64_t)parser->body_len) {
        fail_line(parser, "invalid length of a part");
    } else if (len > 0) {
        parser->body_want = parser->body_len + (size_t)len;
        parser->state = IN_BODY;
    } else {
        parser->in_stream_string = false;
        body_finish(parser);
    }
}

/* ---- aggregates ---- */

static enum yn_reply_type aggregate_type(char type)
{
    switch (type) {
    case '*':
        return YN_REPLY_ARRAY;
    case '~':
        return YN_REPLY_SET;
    case '>':
        return YN_REPLY_PUSH;
    default:
        return YN_REPLY_MAP;
    }
}

static void line_aggregate(struct yn_reply_parser *parser, struct yn_bytes text)
{
    char type = parser->type;
    if (type == '*' && text_is(text, "-1")) {
        finish_null(parser, true);
        return;
    }
    int64_t n = 0;
    bool is_streamed = type != '>' && type != '|' && text_is(text, "?");
    int64_t per_item = type == '%' || type == '|' ? 2 : 1;
    if (!is_streamed && (!yn_num_parse_int64(text, &n) || n < 0 ||
                         n > parser->limits.max_items / per_item)) {
        fail_line(parser, "invalid number of elements");
        return;
    }
    if (parser->n_frames == parser->limits.max_depth) {
        fail_line(parser, "too deep nesting");
        return;
    }
    void *array = parser->frames;
    if (!array_grow(parser, &array, parser->n_frames, &parser->frames_cap,
                    sizeof(struct frame)))
        return;
    parser->frames = array;
    parser->frames[parser->n_frames++] = (struct frame){
        .type = aggregate_type(type),
        .is_attribute = type == '|',
        .is_streamed = is_streamed,
        .n_left = n * per_item,
        .base = parser->n_values,
    };
    if (n == 0 && !is_streamed)
        value_finish(parser, frame_close(parser));
}

/* The end of a streamed aggregate; its type byte was let through by type_is_allowed. */
static void line_end(struct yn_reply_parser *parser, struct yn_bytes text)
{
    const struct frame *frame = &parser->frames[parser->n_frames - 1];
    size_t n = parser->n_values - frame->base;
    if (text.len > 0)
        fail_line(parser, "invalid end of a streamed aggregate");
    else if (frame->attributes != NULL)
        fail_line(parser, "attribute without a value");
    else if (frame->type == YN_REPLY_MAP && n % 2 != 0)
        fail_line(parser, "map key without a value");
    else
        value_finish(parser, frame_close(parser));
}

/* ---- the machine ---- */

static bool is_full(const struct yn_reply_parser *parser, const struct frame *frame)
{
    size_t n = parser->n_values - frame->base;
    return frame->is_streamed && n >= (uint64_t)parser->limits.max_items;
}

static void step_type(struct yn_reply_parser *parser, char c)
{
    const struct frame *frame =
        parser->n_frames > 0 ? &parser->frames[parser->n_frames - 1] : NULL;
    if (parser->in_stream_string) {
        if (c != ';') {
            fail(parser, parser->offset, "part of a streamed string expected");
            return;
        }
    } else if (c == '.') {
        if (frame == NULL || !frame->is_streamed) {
            fail(parser, parser->offset, "end without a streamed aggregate");
            return;
        }
    } else if (c == '\0' || strchr("+-:$*_,#(=!%~>|", c) == NULL) {
        fail(parser, parser->offset, "unknown type of value");
        return;
    } else if (frame != NULL && is_full(parser, frame)) {
        fail(parser, parser->offset, "too many elements");
        return;
    }
    parser->type = c;
    parser->value_at = parser->offset;
    parser->offset++;
    parser->state = IN_LINE;
}

/* A whole line, without its type byte and CR LF. */
static void line_finish(struct yn_reply_parser *parser, struct yn_bytes text)
{
    int64_t integer;
    parser->state = AT_TYPE;
    switch (parser->type) {
    case '+':
        finish_text(parser, YN_REPLY_STATUS, text);
        break;
    case '-':
        finish_text(parser, YN_REPLY_ERROR, text);
        break;
    case ':':
        if (yn_num_parse_int64(text, &integer))
            finish_integer(parser, YN_REPLY_INTEGER, integer);
        else
            fail_line(parser, "invalid integer");
        break;
    case '_':
        if (text.len == 0)
            finish_null(parser, false);
        else
            fail_line(parser, "invalid null");
        break;
    case '#':
        if (text_is(text, "t") || text_is(text, "f"))
            finish_integer(parser, YN_REPLY_BOOL, text.data[0] == 't');
        else
            fail_line(parser, "invalid boolean");
        break;
    case ',':
        finish_double(parser, text);
        break;
    case '(':
        if (is_bignum(text))
            finish_text(parser, YN_REPLY_BIGNUM, text);
        else
            fail_line(parser, "invalid big number");
        break;
    case '$':
    case '=':
    case '!':
        line_bulk(parser, text);
        break;
    case ';':
        line_part(parser, text);
        break;
    case '.':
        line_end(parser, text);
        break;
    default:
        line_aggregate(parser, text);
        break;
    }
}

static size_t line_max(const struct yn_reply_parser *parser)
{
    bool is_text = parser->type == '+' || parser->type == '-' || parser->type == '(';
    return is_text ? (size_t)parser->limits.max_bulk_len : SHORT_LINE_MAX;
}

static void line_append(struct yn_reply_parser *parser, const char *data, size_t len)
{
    yn_buf_append(&parser->line, data, len);
    if (parser->line.failed)
        fail_memory(parser);
}

/* Each step returns how many bytes it took. */
static size_t step_line(struct yn_reply_parser *parser, const char *data, size_t len)
{
    size_t n = 0;
    while (n < len && data[n] != '\r' && data[n] != '\n')
        n++;
    if (parser->line.len + n > line_max(parser)) {
        fail_line(parser, "too long line");
        return n;
    }
    parser->offset += n;
    if (n < len && data[n] == '\n') {
        fail(parser, parser->offset, "LF without CR");
        return n;
    }
    if (parser->line.len == 0 && len - n >= 2 && data[n + 1] == '\n') {
        parser->offset += 2;
        line_finish(parser, (struct yn_bytes){data, n});
        return n + 2;
    }
    if (n > 0)
        line_append(parser, data, n);
    if (n == len)
        return n;
    parser->offset++;
    parser->state = AT_LINE_LF;
    return n + 1;
}

static void step_line_lf(struct yn_reply_parser *parser, char c)
{
    if (c != '\n') {
        fail(parser, parser->offset, "CR without LF");
        return;
    }
    parser->offset++;
    line_finish(parser, (struct yn_bytes){parser->line.data, parser->line.len});
    yn_buf_reset(&parser->line, KEEP_LINE_MAX);
}

static size_t step_body(struct yn_reply_parser *parser, const char *data, size_t len)
{
    size_t n = parser->body_want - parser->body_len;
    if (n > len)
        n = len;
    if (parser->body_cap - parser->body_len < n &&
        !body_grow(parser, parser->body_len + n))
        return 0;
    memcpy(parser->body + parser->body_len, data, n);
    parser->body_len += n;
    parser->offset += n;
    if (parser->body_len == parser->body_want)
        parser->state = AT_BODY_CR;
    return n;
}

static void step_body_end(struct yn_reply_parser *parser, char c)
{
    if (c != (parser->state == AT_BODY_CR ? '\r' : '\n')) {
        fail(parser, parser->offset, "bulk not followed by CR LF");
        return;
    }
    parser->offset++;
    if (parser->state == AT_BODY_CR)
        parser->state = AT_BODY_LF;
    else if (parser->in_stream_string)
        parser->state = AT_TYPE;
    else
        body_finish(parser);
}

/* Reads on until the end of a reply, a fault, or the end of the bytes. Returns how many
 * bytes it took. */
static size_t run(struct yn_reply_parser *parser, const char *data, size_t len)
{
    size_t at = 0;
    while (at < len && parser->ready == NULL && parser->status == YN_REPLY_MORE) {
        switch (parser->state) {
        case AT_TYPE:
            step_type(parser, data[at++]);
            break;
        case IN_LINE:
            at += step_line(parser, data + at, len - at);
            break;
        case AT_LINE_LF:
            step_line_lf(parser, data[at++]);
            break;
        case IN_BODY:
            at += step_body(parser, data + at, len - at);
            break;
        case AT_BODY_CR:
        case AT_BODY_LF:
            step_body_end(parser, data[at++]);
            break;
        }
    }
    return at;
}

/* ---- interface ---- */

struct yn_reply_parser *yn_reply_parser_new(const struct yn_reply_limits *limits)
{
    struct yn_reply_parser *parser = calloc(1, sizeof *parser);
    if (parser == NULL)
        return NULL;
    if (limits != NULL)
        parser->limits = *limits;
    if (parser->limits.max_depth == 0)
        parser->limits.max_depth = DEFAULT_MAX_DEPTH;
    if (parser->limits.max_bulk_len <= 0)
        parser->limits.max_bulk_len = DEFAULT_MAX_BULK_LEN;
    if (parser->limits.max_items <= 0)
        parser->limits.max_items = DEFAULT_MAX_ITEMS;
    parser->status = YN_REPLY_MORE;
    parser->block_len = BLOCK_LEN_MIN;
    yn_buf_init(&parser->line);
    yn_buf_init(&parser->raw);
    return parser;
}

void yn_reply_parser_free(struct yn_reply_parser *parser)
{
    if (parser == NULL)
        return;
    yn_reply_free(parser->ready);
    if (parser->first != NULL)
        chain_free(&parser->first->block);
    free(parser->body_block);
    free(parser->frames);
    free(parser->values);
    yn_buf_clear(&parser->line);
    yn_buf_clear(&parser->raw);
    free(parser);
}

static void raw_run(struct yn_reply_parser *parser)
{
    struct yn_buf *raw = &parser->raw;
    if (parser->raw_at < raw->len)
        parser->raw_at +=
            run(parser, raw->data + parser->raw_at, raw->len - parser->raw_at);
    if (parser->raw_at == raw->len) {
        yn_buf_reset(raw, KEEP_RAW_MAX);
        parser->raw_at = 0;
    }
}

static void raw_append(struct yn_reply_parser *parser, const char *data, size_t len)
{
    struct yn_buf *raw = &parser->raw;
    /* Moves fewer bytes than were read since the last move: linear in total. */
    if (parser->raw_at > raw->len / 2) {
        yn_buf_consume(raw, parser->raw_at);
        parser->raw_at = 0;
    }
    yn_buf_append(raw, data, len);
    if (raw->failed)
        fail_memory(parser);
}

static enum yn_reply_status current_status(const struct yn_reply_parser *parser)
{
    return parser->ready != NULL ? YN_REPLY_READY : parser->status;
}

enum yn_reply_status yn_reply_feed(struct yn_reply_parser *parser, const char *data,
                                   size_t len)
{
    if (parser->ready == NULL)
        raw_run(parser);
    if (len > 0 && parser->ready == NULL && parser->status == YN_REPLY_MORE) {
        size_t n = run(parser, data, len);
        data += n;
        len -= n;
    }
    if (len > 0 && parser->status == YN_REPLY_MORE)
        raw_append(parser, data, len);
    return current_status(parser);
}

enum yn_reply_status yn_reply_next(struct yn_reply_parser *parser,
                                   struct yn_reply **out_reply)
{
    if (parser->ready == NULL && parser->status == YN_REPLY_MORE)
        raw_run(parser);
    enum yn_reply_status status = current_status(parser);
    *out_reply = parser->ready;
    parser->ready = NULL;
    return status;
}

const char *yn_reply_parser_error(const struct yn_reply_parser *parser)
{
    return parser->error;
}

uint64_t yn_reply_parser_offset(const struct yn_reply_parser *parser)
{
    return parser->offset;
}

void yn_reply_free(struct yn_reply *reply)
{
    if (reply == NULL)
        return;
    struct root_block *first =
        (struct root_block *)(void *)((char *)reply - offsetof(struct root_block, root));
    chain_free(&first->block);
}
