#include "rdb/ziplist.h"

#include "rdb/little.h"

#define HEAD_LEN 10
#define END 0xff
#define LONG_LENGTH 0xfe
#define COUNT_UNKNOWN 0xffff

bool ziplist_open(struct ziplist *list, struct yn_bytes bytes)
{
    if (bytes.len < HEAD_LEN + 1 || little_get(bytes.data, 4) != bytes.len ||
        (unsigned char)bytes.data[bytes.len - 1] != END)
        return false;
    size_t last = (size_t)little_get(bytes.data + 4, 4);
    if (last < HEAD_LEN || last > bytes.len - 1)
        return false;
    list->at = bytes.data + HEAD_LEN;
    list->end = bytes.data + bytes.len - 1;
    list->last = bytes.data + last;
    list->previous_len = 0;
    list->n = (size_t)little_get(bytes.data + 8, 2);
    if (list->n == COUNT_UNKNOWN)
        list->n = SIZE_MAX;
    return true;
}

/* Takes the length of the element before and checks it. Returns the bytes it took, or 0.
 */
static size_t check_previous_len(const struct ziplist *list)
{
    size_t left = (size_t)(list->end - list->at);
    unsigned first = (unsigned char)list->at[0];
    if (first < LONG_LENGTH)
        return first == list->previous_len ? 1 : 0;
    if (first != LONG_LENGTH || left < 5)
        return 0;
    return little_get(list->at + 1, 4) == list->previous_len ? 5 : 0;
}

/* Kind, and what belongs to it. */
struct shape {
    size_t head, body;
    bool is_integer;
};

static size_t big_get(const char *at, size_t n)
{
    size_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

static bool read_integer_shape(unsigned kind, struct shape *out_shape)
{
    size_t body;
    switch (kind) {
    case 0xfe:
        body = 1;
        break;
    case 0xc0:
        body = 2;
        break;
    case 0xf0:
        body = 3;
        break;
    case 0xd0:
        body = 4;
        break;
    case 0xe0:
        body = 8;
        break;
    default: /* 0xf1 to 0xfd: 0 to 12 in the kind itself */
        if (kind < 0xf1 || kind > 0xfd)
            return false;
        body = 0;
    }
    *out_shape = (struct shape){.head = 1, .body = body, .is_integer = true};
    return true;
}

/* At least one byte is there. */
static bool read_shape(const char *at, size_t left, struct shape *out_shape)
{
    unsigned kind = (unsigned char)at[0];
    struct shape shape = {.head = 1};
    if (kind >= 0xc0) {
        if (!read_integer_shape(kind, &shape))
            return false;
    } else {
        static const size_t heads[] = {1, 2, 5};
        shape.head = heads[kind >> 6];
        if (left < shape.head)
            return false;
        if (shape.head == 1)
            shape.body = kind & 0x3f;
        else if (shape.head == 2)
            shape.body = (kind & 0x3f) << 8 | (unsigned char)at[1];
        else
            shape.body = big_get(at + 1, 4);
    }
    *out_shape = shape;
    return shape.body <= left - shape.head;
}

bool ziplist_read(struct ziplist *list, struct packed_element *out_element)
{
    struct shape shape;
    if (ziplist_is_done(list))
        return false;
    size_t skip = check_previous_len(list);
    size_t left = (size_t)(list->end - list->at);
    if (skip == 0 || skip == left || !read_shape(list->at + skip, left - skip, &shape))
        return false;
    const char *body = list->at + skip + shape.head;
    *out_element = (struct packed_element){.is_integer = shape.is_integer,
                                           .text = {body, shape.body}};
    if (shape.is_integer && shape.body > 0)
        out_element->integer = little_get_signed(body, shape.body);
    else if (shape.is_integer)
        out_element->integer = (unsigned char)body[-1] - 0xf1;
    bool is_last = list->at == list->last;
    list->previous_len = skip + shape.head + shape.body;
    list->at += list->previous_len;
    return is_last == ziplist_is_done(list);
}
