/* bytes.h: comparing runs of bytes. */
#ifndef YN_BYTES_H
#define YN_BYTES_H

#include <string.h>

#include "yonder.h"

/* Order of members: byte by byte as unsigned numbers, a prefix first. */
static inline int yn_bytes_compare(struct yn_bytes a, struct yn_bytes b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.data, b.data, n) : 0;
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

#endif
