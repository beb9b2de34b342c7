/*
 * lzf.c: the format of LibLZF (M. Lehmann), written from its description.
 *
 *   000nnnnn                      n + 1 bytes follow as they are
 *   nnnddddd dddddddd             n + 2 bytes (n in 1..6) from d + 1 bytes back
 *   111ddddd nnnnnnnn dddddddd    n + 9 bytes from d + 1 bytes back
 *
 * A copy may reach into what it writes: then it repeats.
 */
#include "rdb/lzf.h"

#include <string.h>

struct run {
    size_t len;
    size_t back; /* 0: the bytes follow in the input */
};

/* Reads the head of a run. */
static bool read_run(const unsigned char **at, const unsigned char *end,
                     struct run *out_run)
{
    unsigned first = *(*at)++;
    if (first < 32) {
        *out_run = (struct run){.len = first + 1};
        return true;
    }
    size_t len = (first >> 5) + 2;
    if (first >> 5 == 7) {
        if (*at == end)
            return false;
        len += *(*at)++;
    }
    if (*at == end)
        return false;
    *out_run = (struct run){.len = len, .back = ((first & 31) << 8 | *(*at)++) + 1};
    return true;
}

bool lzf_decode(struct yn_bytes packed, char *out, size_t len)
{
    const unsigned char *at = (const unsigned char *)packed.data;
    const unsigned char *end = at + packed.len;
    size_t n = 0; /* written */
    while (at < end) {
        struct run run;
        if (!read_run(&at, end, &run) || run.len > len - n)
            return false;
        if (run.back == 0) {
            if (run.len > (size_t)(end - at))
                return false;
            memcpy(out + n, at, run.len);
            at += run.len;
        } else {
            if (run.back > n)
                return false;
            for (size_t i = 0; i < run.len; i++)
                out[n + i] = out[n + i - run.back];
        }
        n += run.len;
    }
    return n == len;
}
