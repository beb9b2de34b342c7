/*
 * listpack.h: the packed list of Redis 7 and later, as S. Sanfilippo's "Listpack
 * specification" describes it:
 *
 *   length of the whole (32 bits), number of elements (16 bits; 65,535: not told),
 *   elements, 0xff
 *
 * An element is its kind, its bytes, and the length of both once more in groups of seven
 * bits to be read backwards. Numbers are little-endian but where kind and number share a
 * byte.
 */
#ifndef LISTPACK_H
#define LISTPACK_H

#include "core/buf.h"
#include "rdb/packed.h"

/* A reader. The fields are private but for `n`. */
struct listpack {
    const char *at, *end; /* end: at the 0xff */
    size_t n;             /* elements according to the head; SIZE_MAX: not told */
};

/* Starts to read. Returns false when head and end are not those of such a list. */
bool listpack_open(struct listpack *list, struct yn_bytes bytes);
static inline bool listpack_is_done(const struct listpack *list)
{
    return list->at == list->end;
}
/* Reads the next element. Returns false when it is not whole, or there is none. */
bool listpack_read(struct listpack *list, struct packed_element *out_element);

/* Begins a list at the end of the buffer, appends elements, and writes the head. A text
 * that is a decimal number becomes a number. */
#define LISTPACK_HEAD_LEN 6
/* A list must not grow beyond it. */
#define LISTPACK_LEN_MAX ((size_t)1 << 30)
void listpack_begin(struct yn_buf *buf);
void listpack_append(struct yn_buf *buf, struct yn_bytes text);
/* start: where the list begins in the buffer. */
void listpack_finish(struct yn_buf *buf, size_t start, size_t n_elements);

#endif
