/*
 * ziplist.h: the packed list of Redis before 7, read only:
 *
 *   length of the whole (32 bits), offset of the last element (32 bits), number of
 * elements (16 bits; 65,535: not told), elements, 0xff
 *
 * An element is the length of the one before it (a byte, or 0xfe and 32 bits), its kind,
 * and its bytes. Numbers are little-endian, lengths of texts big-endian.
 */
#ifndef ZIPLIST_H
#define ZIPLIST_H

#include "rdb/packed.h"

/* A reader. The fields are private but for `n`. */
struct ziplist {
    const char *at, *end; /* end: at the 0xff */
    const char *last;     /* the last element, or the end */
    size_t previous_len;
    size_t n; /* elements according to the head; SIZE_MAX: not told */
};

/* As for listpacks. */
bool ziplist_open(struct ziplist *list, struct yn_bytes bytes);
static inline bool ziplist_is_done(const struct ziplist *list)
{
    return list->at == list->end;
}
bool ziplist_read(struct ziplist *list, struct packed_element *out_element);

#endif
