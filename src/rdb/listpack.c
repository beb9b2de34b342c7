#include "rdb/listpack.h"

#include "core/num.h"
#include "rdb/little.h"

#define END 0xff
#define COUNT_UNKNOWN 0xffff

/* ---- reading ---- */

bool listpack_open(struct listpack *list, struct yn_bytes bytes)
{
    if (bytes.len < LISTPACK_HEAD_LEN + 1 || little_get(bytes.data, 4) != bytes.len ||
        (unsigned char)bytes.data[bytes.len - 1] != END)
        return false;
    list->at = bytes.data + LISTPACK_HEAD_LEN;
    list->end = bytes.data + bytes.len - 1;
    list->n = (size_t)little_get(bytes.data + 4, 2);
    if (list->n == COUNT_UNKNOWN)
        list->n = SIZE_MAX;
    return true;
}

/* Kind and what belongs to it: `head` bytes, then `body` bytes of text. */
struct shape {
    size_t head, body;
};

/* At least one byte is there; the others of the head only if the list has them. */
static bool read_shape(const char *at, size_t left, struct shape *out_shape)
{
    static const size_t integer_bytes[] = {2, 3, 4, 8}; /* of kinds 0xf1 to 0xf4 */
    unsigned kind = (unsigned char)at[0];
    struct shape shape = {.head = 1, .body = 0};
    if (kind < 0x80) {
        shape.head = 1; /* a number of 7 bits */
    } else if (kind < 0xc0) {
        shape.body = kind & 0x3f;
    } else if (kind < 0xe0) {
        shape.head = 2; /* a number of 13 bits */
    } else if (kind < 0xf0) {
        shape.head = 2;
        if (left < shape.head)
            return false;
        shape.body = (kind & 0x0f) << 8 | (unsigned char)at[1];
    } else if (kind == 0xf0) {
        shape.head = 5;
        if (left < shape.head)
            return false;
        shape.body = (size_t)little_get(at + 1, 4);
    } else if (kind <= 0xf4) {
        shape.head = 1 + integer_bytes[kind - 0xf1];
    } else {
        return false;
    }
    *out_shape = shape;
    return shape.head <= left && shape.body <= left - shape.head;
}

static int64_t read_integer(const char *at, size_t head)
{
    unsigned kind = (unsigned char)at[0];
    if (kind < 0x80)
        return kind;
    if (kind < 0xe0) {
        int64_t value = (kind & 0x1f) << 8 | (unsigned char)at[1];
        return value >= 1 << 12 ? value - (1 << 13) : value;
    }
    return little_get_signed(at + 1, head - 1);
}

static bool is_text(unsigned kind)
{
    return (kind >= 0x80 && kind < 0xc0) || (kind >= 0xe0 && kind <= 0xf0);
}

/* The length once more. Returns how many bytes it takes. */
static size_t format_back_length(size_t len, char out[5])
{
    size_t n = 1;
    while (n < 5 && len >> 7 * n != 0)
        n++;
    for (size_t i = 0; i < n; i++) {
        unsigned group = (unsigned)(len >> 7 * (n - 1 - i)) & 0x7f;
        out[i] = (char)(i == 0 ? group : group | 0x80);
    }
    return n;
}

bool listpack_read(struct listpack *list, struct packed_element *out_element)
{
    struct shape shape;
    char back[5];
    size_t left = (size_t)(list->end - list->at);
    if (left == 0 || !read_shape(list->at, left, &shape))
        return false;
    size_t len = shape.head + shape.body;
    size_t back_len = format_back_length(len, back);
    if (back_len > left - len || memcmp(list->at + len, back, back_len) != 0)
        return false;
    *out_element = (struct packed_element){
        .is_integer = !is_text((unsigned char)list->at[0]),
        .text = {list->at + shape.head, shape.body},
    };
    if (out_element->is_integer)
        out_element->integer = read_integer(list->at, shape.head);
    list->at += len + back_len;
    return true;
}

/* ---- writing ---- */

void listpack_begin(struct yn_buf *buf)
{
    static const char head[LISTPACK_HEAD_LEN];
    yn_buf_append(buf, head, sizeof head);
}

/* The smallest kind that holds the number. Returns the length. */
static size_t format_integer(int64_t value, char out[9])
{
    static const struct {
        unsigned char kind;
        size_t n_bytes;
    } kinds[] = {{0xf1, 2}, {0xf2, 3}, {0xf3, 4}, {0xf4, 8}};
    if (value >= 0 && value < 1 << 7) {
        out[0] = (char)value;
        return 1;
    }
    if (value >= -(1 << 12) && value < 1 << 12) {
        uint64_t bits = (uint64_t)value & 0x1fff;
        out[0] = (char)(0xc0 | bits >> 8);
        out[1] = (char)(bits & 0xff);
        return 2;
    }
    size_t i = 0;
    while (kinds[i].n_bytes < 8) {
        int64_t limit = INT64_C(1) << (8 * kinds[i].n_bytes - 1);
        if (value >= -limit && value < limit)
            break;
        i++;
    }
    out[0] = (char)kinds[i].kind;
    little_put(out + 1, (uint64_t)value, kinds[i].n_bytes);
    return 1 + kinds[i].n_bytes;
}

static size_t format_text_head(size_t len, char out[9])
{
    if (len < 1 << 6) {
        out[0] = (char)(0x80 | len);
        return 1;
    }
    if (len < 1 << 12) {
        out[0] = (char)(0xe0 | len >> 8);
        out[1] = (char)(len & 0xff);
        return 2;
    }
    out[0] = (char)0xf0;
    little_put(out + 1, len, 4);
    return 5;
}

void listpack_append(struct yn_buf *buf, struct yn_bytes text)
{
    char head[9], back[5];
    size_t head_len;
    int64_t integer;
    if (yn_num_parse_int64(text, &integer)) {
        head_len = format_integer(integer, head);
        text.len = 0;
    } else {
        head_len = format_text_head(text.len, head);
    }
    yn_buf_append(buf, head, head_len);
    yn_buf_append(buf, text.data, text.len);
    yn_buf_append(buf, back, format_back_length(head_len + text.len, back));
}

void listpack_finish(struct yn_buf *buf, size_t start, size_t n_elements)
{
    const char end = (char)END;
    yn_buf_append(buf, &end, 1);
    if (buf->failed)
        return;
    little_put(buf->data + start, buf->len - start, 4);
    little_put(buf->data + start + 4,
               n_elements < COUNT_UNKNOWN ? n_elements : COUNT_UNKNOWN, 2);
}
