/* little.h: little-endian numbers in bytes. */
#ifndef LITTLE_H
#define LITTLE_H

#include <stddef.h>
#include <stdint.h>

/* n: 1..8 bytes. */
static inline uint64_t little_get(const char *bytes, size_t n)
{
    uint64_t value = 0;
    for (size_t i = n; i > 0; i--)
        value = value << 8 | (unsigned char)bytes[i - 1];
    return value;
}

/* The same with the sign of the highest bit. */
static inline int64_t little_get_signed(const char *bytes, size_t n)
{
    uint64_t value = little_get(bytes, n);
    if (n < 8 && value >> (8 * n - 1) != 0)
        value |= UINT64_MAX << 8 * n;
    return (int64_t)value;
}

static inline void little_put(char *out, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(value >> 8 * i & 0xff);
}

#endif
