/*
 * encode.c: a whole set as one block of bytes, and back.
 *
 *   "YNZSET1\n"            8 bytes
 *   count                  u64
 *   count entries          score f64, member length u32, member bytes
 *   checksum               u64, XXH3-64 of everything before it
 *
 * Integers are little-endian; entries are in ascending (score, member) order.
 */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/buf.h"
#include "core/zset.h"

static const char magic[8] = {'Y', 'N', 'Z', 'S', 'E', 'T', '1', '\n'};

#define ENTRY_HEAD 12 /* score and length */

static void put_int(struct yn_buf *buf, uint64_t value, size_t n_bytes)
{
    char bytes[8];
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (char)(value >> 8 * i & 0xff);
    yn_buf_append(buf, bytes, n_bytes);
}

static uint64_t get_int(const char *bytes, size_t n_bytes)
{
    uint64_t value = 0;
    for (size_t i = n_bytes; i > 0; i--)
        value = value << 8 | (unsigned char)bytes[i - 1];
    return value;
}

enum yn_status yn_view_encode(const struct yn_view *view, char **out_data,
                              size_t *out_len)
{
    struct yn_buf buf;
    struct yn_cursor cursor;
    yn_buf_init(&buf);
    yn_buf_append(&buf, magic, sizeof magic);
    put_int(&buf, view->count, 8);
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at && !buf.failed;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        uint64_t bits;
        memcpy(&bits, &entry.score, sizeof bits);
        put_int(&buf, bits, 8);
        put_int(&buf, entry.member.len, 4);
        yn_buf_append(&buf, entry.member.data, entry.member.len);
    }
    if (!buf.failed)
        put_int(&buf, XXH3_64bits(buf.data, buf.len), 8);
    if (buf.failed) {
        yn_buf_clear(&buf);
        return YN_ENOMEM;
    }
    *out_data = buf.data;
    *out_len = buf.len;
    return YN_OK;
}

/* Reads the entries between at and end into the builder; lengths are checked here, the
 * rest by the builder. */
static enum yn_status decode_entries(struct yn_builder *builder, const char *at,
                                     const char *end, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct yn_entry entry;
        if (end - at < ENTRY_HEAD)
            return YN_ECORRUPT;
        uint64_t bits = get_int(at, 8);
        memcpy(&entry.score, &bits, sizeof bits);
        entry.member = (struct yn_bytes){at + ENTRY_HEAD, get_int(at + 8, 4)};
        if (entry.member.len > (size_t)(end - at) - ENTRY_HEAD)
            return YN_ECORRUPT;
        enum yn_status status = yn_builder_add(builder, entry.member, entry.score);
        if (status != YN_OK)
            return status;
        at += ENTRY_HEAD + entry.member.len;
    }
    return at == end ? YN_OK : YN_ECORRUPT;
}

enum yn_status yn_zset_decode(const struct yn_options *options, struct yn_bytes data,
                              struct yn_zset **out_set)
{
    if (data.len < sizeof magic + 16 || memcmp(data.data, magic, sizeof magic) != 0)
        return YN_ECORRUPT;
    const char *end = data.data + data.len - 8;
    if (get_int(end, 8) != XXH3_64bits(data.data, data.len - 8))
        return YN_ECORRUPT;
    struct yn_zset *set = yn_zset_new(options);
    if (set == NULL)
        return YN_ENOMEM;
    struct yn_builder *builder = yn_builder_new(&set->tree);
    enum yn_status status = YN_ENOMEM;
    if (builder != NULL)
        status = decode_entries(builder, data.data + sizeof magic + 8, end,
                                get_int(data.data + sizeof magic, 8));
    return yn_zset_finish(set, builder, status, yn_stop_of(options), out_set);
}
