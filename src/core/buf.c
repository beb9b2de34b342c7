#include "core/buf.h"

#include <stdint.h>
#include <stdlib.h>

/* Smallest block: one reply of a point look-up fits without growing. */
#define BUF_CAP_MIN 256
/* Below this size a block doubles; above, it grows by half, to waste less. */
#define BUF_DOUBLING_MAX ((size_t)1024 * 1024)

void yn_buf_init(struct yn_buf *buf)
{
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
    buf->failed = false;
}

void yn_buf_clear(struct yn_buf *buf)
{
    free(buf->data);
    yn_buf_init(buf);
}

void yn_buf_reset(struct yn_buf *buf, size_t keep_cap)
{
    if (buf->cap > keep_cap) {
        yn_buf_clear(buf);
        return;
    }
    buf->len = 0;
    buf->failed = false;
}

void yn_buf_consume(struct yn_buf *buf, size_t n)
{
    if (n >= buf->len) {
        buf->len = 0;
        return;
    }
    if (n > 0) {
        buf->len -= n;
        memmove(buf->data, buf->data + n, buf->len);
    }
}

/* The next capacity in the series that holds `need` bytes. PTRDIFF_MAX is the
 * largest object there can be, so sums below it cannot overflow a size_t. */
static size_t next_cap(size_t cap, size_t need)
{
    size_t grown = cap < BUF_DOUBLING_MAX ? cap * 2 : cap + cap / 2;

    if (grown < BUF_CAP_MIN)
        grown = BUF_CAP_MIN;
    if (grown > PTRDIFF_MAX)
        grown = PTRDIFF_MAX;
    return grown < need ? need : grown;
}

char *yn_buf_reserve_slow(struct yn_buf *buf, size_t n)
{
    if (buf->failed)
        return NULL;
    if (n > (size_t)PTRDIFF_MAX - buf->len) {
        buf->failed = true;
        return NULL;
    }
    size_t need = buf->len + n;
    if (need <= buf->cap && buf->data != NULL)
        return buf->data + buf->len;

    size_t cap = next_cap(buf->cap, need);
    char *data = realloc(buf->data, cap);
    if (data == NULL && cap > need) {
        /* Room for growth is a wish; the bytes asked for may still fit. */
        cap = need;
        data = realloc(buf->data, cap);
    }
    if (data == NULL) {
        buf->failed = true;
        return NULL;
    }
    buf->data = data;
    buf->cap = cap;
    return data + buf->len;
}
