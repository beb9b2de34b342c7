#include "rdb/rdb.h"

#include "core/num.h"
#include "rdb/crc64.h"
#include "rdb/listpack.h"
#include "rdb/little.h"

/* ---- strings ---- */

static size_t format_big(uint64_t value, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(value >> 8 * (n - 1 - i) & 0xff);
    return n;
}

size_t rdb_format_length(uint64_t length, char out_head[RDB_HEAD_MAX])
{
    if (length < 1 << 6) {
        out_head[0] = (char)length;
        return 1;
    }
    if (length < 1 << 14)
        return format_big(length | 0x4000, 2, out_head);
    if (length <= UINT32_MAX) {
        out_head[0] = (char)0x80;
        return 1 + format_big(length, 4, out_head + 1);
    }
    out_head[0] = (char)0x81;
    return 1 + format_big(length, 8, out_head + 1);
}

/* An integer that fits into 32 bits, as a string of a special kind. 0: it does not. */
static size_t format_integer(int64_t value, char out_head[RDB_HEAD_MAX])
{
    unsigned kind = 0; /* of 8, 16 or 32 bits */
    while (kind < 3) {
        int64_t limit = INT64_C(1) << ((8 << kind) - 1);
        if (value >= -limit && value < limit)
            break;
        kind++;
    }
    if (kind == 3)
        return 0;
    out_head[0] = (char)(0xc0 | kind);
    little_put(out_head + 1, (uint64_t)value, (size_t)1 << kind);
    return 1 + ((size_t)1 << kind);
}

#define INTEGER_TEXT_MAX 11 /* "-2147483648" */

size_t rdb_string_head(struct yn_bytes text, char out_head[RDB_HEAD_MAX],
                       struct yn_bytes *out_rest)
{
    int64_t integer;
    size_t len = 0;
    if (text.len <= INTEGER_TEXT_MAX && yn_num_parse_int64(text, &integer))
        len = format_integer(integer, out_head);
    *out_rest = len > 0 ? (struct yn_bytes){NULL, 0} : text;
    return len > 0 ? len : rdb_format_length(text.len, out_head);
}

void rdb_write_length(struct yn_buf *buf, uint64_t length)
{
    char head[RDB_HEAD_MAX];
    yn_buf_append(buf, head, rdb_format_length(length, head));
}

void rdb_write_string(struct yn_buf *buf, struct yn_bytes text)
{
    char head[RDB_HEAD_MAX];
    struct yn_bytes rest;
    yn_buf_append(buf, head, rdb_string_head(text, head, &rest));
    yn_buf_append(buf, rest.data, rest.len);
}

static void write_type(struct yn_buf *buf, enum rdb_type type)
{
    const char byte = (char)type;
    yn_buf_append(buf, &byte, 1);
}

void rdb_write_string_value(struct yn_buf *buf, struct yn_bytes text)
{
    write_type(buf, RDB_STRING);
    rdb_write_string(buf, text);
}

/* ---- sorted sets ---- */

size_t rdb_entry_len(struct yn_bytes member)
{
    char head[RDB_HEAD_MAX];
    struct yn_bytes rest;
    size_t len = rdb_string_head(member, head, &rest);
    return len + rest.len + 8;
}

size_t rdb_format_score(double score, char *out)
{
    uint64_t bits;
    memcpy(&bits, &score, sizeof bits);
    little_put(out, bits, 8);
    return 8;
}

size_t rdb_format_entry(const struct yn_entry *entry, char *out)
{
    struct yn_bytes rest;
    size_t len = rdb_string_head(entry->member, out, &rest);
    if (rest.len > 0)
        memcpy(out + len, rest.data, rest.len);
    len += rest.len;
    return len + rdb_format_score(entry->score, out + len);
}

void rdb_write_zset_value(struct yn_buf *buf, const struct yn_view *view)
{
    struct yn_cursor cursor;
    size_t n = yn_view_count(view);
    write_type(buf, RDB_ZSET);
    rdb_write_length(buf, n);
    if (n == 0 || !yn_cursor_seek(&cursor, view, n - 1))
        return;
    do {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        char *to = yn_buf_reserve(buf, entry.member.len + RDB_ENTRY_EXTRA);
        if (to == NULL)
            return;
        buf->len += rdb_format_entry(&entry, to);
    } while (yn_cursor_prev(&cursor));
}

/* Appends the entries; returns how many fit. */
static size_t append_entries(struct yn_buf *list, const struct yn_view *view)
{
    struct yn_cursor cursor;
    size_t n = 0;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at && !list->failed;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        char score[YN_NUM_TEXT_MAX];
        if (list->len > LISTPACK_LEN_MAX || entry.member.len > LISTPACK_LEN_MAX)
            break;
        listpack_append(list, entry.member);
        size_t len = yn_num_format_shortest(entry.score, score);
        listpack_append(list, (struct yn_bytes){score, len});
        n++;
    }
    return n;
}

bool rdb_write_packed_zset(struct yn_buf *buf, const struct yn_view *view)
{
    struct yn_buf list;
    yn_buf_init(&list);
    listpack_begin(&list);
    size_t n = append_entries(&list, view);
    listpack_finish(&list, 0, 2 * n);
    bool fits = n == yn_view_count(view) && list.len <= LISTPACK_LEN_MAX;
    if (list.failed) {
        buf->failed = true;
    } else if (fits) {
        write_type(buf, RDB_ZSET_LISTPACK);
        rdb_write_string(buf, (struct yn_bytes){list.data, list.len});
    }
    yn_buf_clear(&list);
    return fits || buf->failed;
}

/* ---- payloads ---- */

void rdb_format_footer(uint64_t crc, char out_footer[RDB_FOOTER_LEN])
{
    little_put(out_footer, RDB_VERSION, 2);
    little_put(out_footer + 2, crc64(crc, out_footer, 2), 8);
}

void rdb_write_footer(struct yn_buf *buf)
{
    char footer[RDB_FOOTER_LEN];
    if (buf->failed)
        return;
    rdb_format_footer(crc64(0, buf->data, buf->len), footer);
    yn_buf_append(buf, footer, sizeof footer);
}
