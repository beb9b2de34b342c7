/*
 * crc64.c: the CRC with the polynomial of D. T. Jones ("An improved 64-bit cyclic
 * redundancy check for protein sequences", 2002), 0xad93d23594c935a9, bits reflected,
 * starting at 0 and not inverted; "123456789" gives 0xe9c6d914c4b8d9ca.
 *
 * Eight bytes at a time: a byte's share of the checksum depends on how many bytes follow
 * it in the group, so there is a table for each number from 0 to 7. Shares are linear:
 * that of a byte is the exclusive or of those of its bits. The tables are written down by
 * the eight shares of single bits, and the compiler works out the others.
 */
#include "rdb/crc64.h"

#define BIT(n, i, share) (((n) >> (i)&1) != 0 ? UINT64_C(share) : 0)
#define SHARE(n, s0, s1, s2, s3, s4, s5, s6, s7)                                     \
    (BIT(n, 0, s0) ^ BIT(n, 1, s1) ^ BIT(n, 2, s2) ^ BIT(n, 3, s3) ^ BIT(n, 4, s4) ^ \
     BIT(n, 5, s5) ^ BIT(n, 6, s6) ^ BIT(n, 7, s7))
#define SHARES_4(n, ...)                                                         \
    SHARE(n, __VA_ARGS__), SHARE(n + 1, __VA_ARGS__), SHARE(n + 2, __VA_ARGS__), \
        SHARE(n + 3, __VA_ARGS__)
#define SHARES_16(n, ...)                                   \
    SHARES_4(n, __VA_ARGS__), SHARES_4(n + 4, __VA_ARGS__), \
        SHARES_4(n + 8, __VA_ARGS__), SHARES_4(n + 12, __VA_ARGS__)
#define SHARES_64(n, ...)                                      \
    SHARES_16(n, __VA_ARGS__), SHARES_16(n + 16, __VA_ARGS__), \
        SHARES_16(n + 32, __VA_ARGS__), SHARES_16(n + 48, __VA_ARGS__)
#define SHARES(...)                                                  \
    {                                                                \
        SHARES_64(0, __VA_ARGS__), SHARES_64(64, __VA_ARGS__),       \
            SHARES_64(128, __VA_ARGS__), SHARES_64(192, __VA_ARGS__) \
    }

/* share[k][byte]: with k bytes behind it. */
static const uint64_t share[8][256] = {
    SHARES(0x7ad870c830358979, 0xf5b0e190606b12f2, 0xc038e5739841b68f, 0xab28ecb46814fe75,
           0x7d08ff3b88be6f81, 0xfa11fe77117cdf02, 0xdf7adabd7a6e2d6f,
           0x95ac9329ac4bc9b5),
    SHARES(0x89e99ffd73bddf69, 0x388a19a9bfec2db9, 0x711433537fd85b72, 0xe22866a6ffb0b6e4,
           0xef09eb1ea7f6fea3, 0xf54af06e177a6e2d, 0xc1ccc68f76634f31,
           0xa8c0ab4db4510d09),
    SHARES(0xf4125129ce4038be, 0xc37d8400c417e217, 0xada22e52d0b85745, 0x701d7af6f9e73de1,
           0xe03af5edf3ce7bc2, 0xeb2ccd88bf0b64ef, 0xfd00bd4226815ab5,
           0xd1585cd715952601),
    SHARES(0x8ce168638c796306, 0x329bf69440655567, 0x6537ed2880caaace, 0xca6fda510195559c,
           0xbf8692f15bbd3853, 0x545403b1efede3cd, 0xa8a80763dfdbc79a,
           0x7a092894e7201c5f),
    SHARES(0x3504e58b9ba6dd1e, 0x6a09cb17374dba3c, 0xd413962e6e9b7478, 0x837e0a0f85a17b9b,
           0x2da5324c53d5645d, 0x5b4a6498a7aac8ba, 0xb694c9314f559174,
           0x4670b431c63cb183),
    SHARES(0xe39d1389931b9354, 0xec6301407ea0b5c3, 0xf39f24d3a5d6f8ed, 0xcc676ff4133a62b1,
           0xb397f9bb7ee35609, 0x4c76d525a5513f79, 0x98edaa4b4aa27ef2,
           0x1a8272c5cdd36e8f),
    SHARES(0x62a95de6e302eff2, 0xc552bbcdc605dfe4, 0xa1fc51c8d49c2ca3, 0x68a185c2f1afca2d,
           0xd1430b85e35f945a, 0x89df31589e28bbdf, 0x38e744e264c6e4d5,
           0x71ce89c4c98dc9aa),
    SHARES(0x381d0015c96f4444, 0x703a002b92de8888, 0xe074005725bd1110, 0xebb126fd13edb14b,
           0xfc3b6ba97f4cf1fd, 0xd32ff101a60e7091, 0x8d06c450148b7249,
           0x3154aef3718177f9),
};

static uint64_t add_group(uint64_t crc, const unsigned char *bytes)
{
    for (unsigned i = 0; i < 8; i++)
        crc ^= (uint64_t)bytes[i] << 8 * i;
    return share[7][crc & 0xff] ^ share[6][crc >> 8 & 0xff] ^ share[5][crc >> 16 & 0xff] ^
           share[4][crc >> 24 & 0xff] ^ share[3][crc >> 32 & 0xff] ^
           share[2][crc >> 40 & 0xff] ^ share[1][crc >> 48 & 0xff] ^ share[0][crc >> 56];
}

uint64_t crc64(uint64_t crc, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (; len >= 8; at += 8, len -= 8)
        crc = add_group(crc, at);
    for (; len > 0; at++, len--)
        crc = share[0][(crc ^ *at) & 0xff] ^ crc >> 8;
    return crc;
}
