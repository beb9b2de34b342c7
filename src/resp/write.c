/*
 * write.c: values to RESP bytes.
 *
 * Each value takes room once and is written straight into it. When the buffer cannot
 * grow it is marked failed and the value is left out as a whole.
 *
 * HOT: headers of one or two digits, the common ones, are written without a call.
 */
#include "resp/write.h"

#include "core/num.h"
#include "core/num_digits.h"

/* Type byte, the longest integer, CR LF. */
#define HEADER_MAX 24

/* Bytes for a literal without its NUL. */
#define APPEND_LITERAL(out, text) yn_buf_append((out), (text), sizeof(text) - 1)

static inline char *put_crlf(char *to)
{
    to[0] = '\r';
    to[1] = '\n';
    return to + 2;
}

static inline char *put_bytes(char *to, const char *bytes, size_t len)
{
    if (len > 0)
        memcpy(to, bytes, len);
    return to + len;
}

static inline char *put_header(char *to, char type, size_t n)
{
    *to++ = type;
    if (n < 10) {
        *to++ = (char)('0' + n);
    } else if (n < 100) {
        *to++ = (char)('0' + n / 10);
        *to++ = (char)('0' + n % 10);
    } else {
        to += yn_num_format_uint64(n, to);
    }
    return put_crlf(to);
}

static inline void set_end(struct yn_buf *out, const char *end)
{
    out->len = (size_t)(end - out->data);
}

static void write_header(struct yn_buf *out, char type, size_t n)
{
    char *to = yn_buf_reserve(out, HEADER_MAX);
    if (to != NULL)
        set_end(out, put_header(to, type, n));
}

/* type, text, CR LF */
static void write_line(struct yn_buf *out, char type, const char *text, size_t len)
{
    char *to = yn_buf_reserve(out, len + 3);
    if (to == NULL)
        return;
    *to++ = type;
    set_end(out, put_crlf(put_bytes(to, text, len)));
}

void yn_write_status(struct yn_buf *out, const char *text)
{
    write_line(out, '+', text, strlen(text));
}

void yn_write_error(struct yn_buf *out, struct yn_bytes text)
{
    size_t len = text.len;
    while (len > 0 && (text.data[len - 1] == '\r' || text.data[len - 1] == '\n'))
        len--;
    char *to = yn_buf_reserve(out, len + 3);
    if (to == NULL)
        return;
    *to++ = '-';
    for (size_t i = 0; i < len; i++) {
        char c = text.data[i];
        *to++ = c == '\r' || c == '\n' ? ' ' : c;
    }
    set_end(out, put_crlf(to));
}

void yn_write_integer(struct yn_buf *out, int64_t value)
{
    char *to = yn_buf_reserve(out, HEADER_MAX);
    if (to == NULL)
        return;
    *to++ = ':';
    to += yn_num_format_int64(value, to);
    set_end(out, put_crlf(to));
}

void yn_write_bulk(struct yn_buf *out, struct yn_bytes bytes)
{
    char *to = yn_buf_reserve(out, HEADER_MAX + bytes.len + 2);
    if (to == NULL)
        return;
    to = put_header(to, '$', bytes.len);
    set_end(out, put_crlf(put_bytes(to, bytes.data, bytes.len)));
}

void yn_write_bulk_text(struct yn_buf *out, const char *text)
{
    yn_write_bulk(out, (struct yn_bytes){text, strlen(text)});
}

void yn_write_null(struct yn_buf *out, int resp)
{
    if (resp >= 3)
        APPEND_LITERAL(out, "_\r\n");
    else
        APPEND_LITERAL(out, "$-1\r\n");
}

void yn_write_null_array(struct yn_buf *out, int resp)
{
    if (resp >= 3)
        APPEND_LITERAL(out, "_\r\n");
    else
        APPEND_LITERAL(out, "*-1\r\n");
}

void yn_write_array(struct yn_buf *out, size_t n)
{
    write_header(out, '*', n);
}

void yn_write_map(struct yn_buf *out, int resp, size_t n_pairs)
{
    if (resp >= 3)
        write_header(out, '%', n_pairs);
    else
        write_header(out, '*', n_pairs * 2);
}

void yn_write_set(struct yn_buf *out, int resp, size_t n)
{
    write_header(out, resp >= 3 ? '~' : '*', n);
}

void yn_write_push(struct yn_buf *out, int resp, size_t n)
{
    write_header(out, resp >= 3 ? '>' : '*', n);
}

void yn_write_bool(struct yn_buf *out, int resp, bool value)
{
    if (resp >= 3)
        write_line(out, '#', value ? "t" : "f", 1);
    else
        write_line(out, ':', value ? "1" : "0", 1);
}

void yn_write_double_text(struct yn_buf *out, int resp, struct yn_bytes text)
{
    if (resp >= 3)
        write_line(out, ',', text.data, text.len);
    else
        yn_write_bulk(out, text);
}

void yn_write_verbatim(struct yn_buf *out, int resp, const char format[3],
                       struct yn_bytes text)
{
    if (resp < 3) {
        yn_write_bulk(out, text);
        return;
    }
    char *to = yn_buf_reserve(out, HEADER_MAX + 4 + text.len + 2);
    if (to == NULL)
        return;
    to = put_header(to, '=', text.len + 4);
    to = put_bytes(to, format, 3);
    *to++ = ':';
    set_end(out, put_crlf(put_bytes(to, text.data, text.len)));
}

/* Copies a member's bulk. The usual lengths are copied without a call and without a loop,
 * as two pieces that overlap. */
static inline char *put_wire(char *to, const struct yn_bytes *wire)
{
    const char *from = wire->data;
    size_t len = wire->len;
    if (len >= 8 && len <= 16) {
        memcpy(to, from, 8);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len > 16 && len <= 32) {
        memcpy(to, from, 16);
        memcpy(to + len - 16, from + len - 16, 16);
    } else {
        memcpy(to, from, len);
    }
    return to + len;
}

/* From here on a number has more than eight digits before the point. */
#define PARTS_MAX UINT64_C(1000000000000)

/* "$7\r\n12.3456\r\n", from the number times 10^4 below PARTS_MAX. Writes up to 21 bytes.
 */
static inline char *put_parts(char *to, uint64_t parts)
{
    if (parts < 100000000) { /* the length has one digit */
        size_t len = yn_digits_put_fixed4(to + 4, (uint32_t)parts);
        yn_digits_store4(to, '$' | (uint32_t)('0' + len) << 8 | UINT32_C(0x0a0d) << 16);
        return to + 4 + len + 2;
    }
    /* five to eight digits before the point: the length is 10 to 13 */
    uint32_t whole = (uint32_t)(parts / 10000), fraction = (uint32_t)(parts % 10000);
    uint64_t eight = yn_digits_eight(whole);
    size_t n_zeros = (size_t)__builtin_ctzll(eight) / 8, len = 13 - n_zeros;
    yn_digits_store8(to, '$' | '1' << 8 | (uint64_t)('0' + len - 10) << 16 |
                             UINT64_C(0x0a0d) << 24);
    yn_digits_store8(to + 5, (eight | YN_DIGITS_ASCII) >> 8 * n_zeros);
    yn_digits_store8(to + len,
                     '.' | (uint64_t)yn_digits_load(yn_digits_fours[fraction]) << 8 |
                         UINT64_C(0x0a0d) << 40);
    return to + 5 + len + 2;
}

static char *put_distance(char *to, double distance)
{
    double product = distance * 10000.0;
    if (product >= 0 && product < 999999999999) /* and no more when rounded */
        return put_parts(to, yn_digits_round(product));
    char text[YN_NUM_TEXT_MAX];
    size_t len = yn_num_format_distance(distance, text);
    return put_crlf(put_bytes(put_header(to, '$', len), text, len));
}

/* "*2", and a bulk of a number. */
#define HIT_MAX (4 + HEADER_MAX + YN_NUM_TEXT_MAX + 2)

void yn_write_hits(struct yn_buf *out, const struct yn_hits *hits, double unit_m)
{
    size_t len = hits->n * HIT_MAX;
    for (size_t i = 0; i < hits->n; i++)
        len += hits->wire[i].len;
    char *to = yn_buf_reserve(out, len);
    if (to == NULL)
        return;
    for (size_t i = 0; i < hits->n; i++) {
        memcpy(to, "*2\r\n", 4);
        to = put_wire(to + 4, &hits->wire[i]);
        if (hits->parts != NULL && hits->parts[i] < PARTS_MAX)
            to = put_parts(to, hits->parts[i]);
        else
            to = put_distance(to, hits->distance_m[i] / unit_m);
    }
    set_end(out, to);
}

void yn_write_command(struct yn_buf *out, size_t argc, const struct yn_bytes *argv)
{
    write_header(out, '*', argc);
    for (size_t i = 0; i < argc; i++)
        yn_write_bulk(out, argv[i]);
}
