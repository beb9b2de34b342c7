/*
 * buf.h: a growable run of bytes, for replies and input.
 *
 * A buffer owns its bytes. Appending may move them. When memory runs out the
 * buffer is marked failed and keeps what it had; later appends do nothing, so
 * that a writer checks once, at the end.
 */
#ifndef YN_BUF_H
#define YN_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "yonder.h"

struct yn_buf {
    char *data;
    size_t len;
    size_t cap;
    bool failed; /* an append did not fit into memory */
};

void yn_buf_init(struct yn_buf *buf);
/* Frees the bytes and leaves an empty buffer. */
void yn_buf_clear(struct yn_buf *buf);
/* Forgets the content and a failure; keeps the memory unless it is larger than keep_cap.
 */
void yn_buf_reset(struct yn_buf *buf, size_t keep_cap);
/* Drops the first n bytes (n <= len). */
void yn_buf_consume(struct yn_buf *buf, size_t n);

/* Makes room for n more bytes. Returns where to write them, or NULL when memory
 * is out (and marks the buffer failed). Does not change len. */
char *yn_buf_reserve_slow(struct yn_buf *buf, size_t n);
static inline char *yn_buf_reserve(struct yn_buf *buf, size_t n)
{
    /* ">" rather than ">=": an empty buffer has no block to add an offset to. */
    if (buf->cap - buf->len > n && !buf->failed)
        return buf->data + buf->len;
    return yn_buf_reserve_slow(buf, n);
}

static inline void yn_buf_append(struct yn_buf *buf, const void *bytes, size_t n)
{
    if (n == 0)
        return;
    char *to = yn_buf_reserve(buf, n);
    if (to != NULL) {
        memcpy(to, bytes, n);
        buf->len += n;
    }
}

static inline void yn_buf_append_text(struct yn_buf *buf, const char *text)
{
    yn_buf_append(buf, text, strlen(text));
}

#endif
