/*
 * rdb_read.c: strings and sorted sets from bytes that nobody vouches for.
 *
 * The entries of a set are gathered in an array, brought into order, and handed to
 * yn_zset_build, which refuses NaN and members that occur twice. A count is believed only
 * as far as the input has bytes for so many entries; a compressed string only as long as
 * its bytes could be.
 */
#include "rdb/rdb.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/bytes.h"
#include "core/num.h"
#include "rdb/crc64.h"
#include "rdb/listpack.h"
#include "rdb/little.h"
#include "rdb/lzf.h"
#include "rdb/ziplist.h"

/* ---- texts that are not in the input ---- */

/* Blocks of memory that live as long as the reading. */
struct text_block {
    struct text_block *older;
    size_t len, cap;
    char bytes[];
};

struct reader {
    const char *at, *end;
    struct text_block *texts;
    bool is_out_of_memory;
};

#define TEXT_BLOCK_LEN ((size_t)4096)

static char *take_text(struct reader *reader, size_t len)
{
    struct text_block *block = reader->texts;
    if (block == NULL || block->cap - block->len < len) {
        size_t cap = len > TEXT_BLOCK_LEN ? len : TEXT_BLOCK_LEN;
        block = malloc(sizeof *block + cap);
        if (block == NULL) {
            reader->is_out_of_memory = true;
            return NULL;
        }
        *block = (struct text_block){.older = reader->texts, .cap = cap};
        reader->texts = block;
    }
    block->len += len;
    return block->bytes + block->len - len;
}

static void free_texts(struct reader *reader)
{
    while (reader->texts != NULL) {
        struct text_block *older = reader->texts->older;
        free(reader->texts);
        reader->texts = older;
    }
}

static bool take_integer_text(struct reader *reader, int64_t value,
                              struct yn_bytes *out_text)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len = yn_num_format_int64(value, text);
    char *copy = take_text(reader, len);
    if (copy == NULL)
        return false;
    memcpy(copy, text, len);
    *out_text = (struct yn_bytes){copy, len};
    return true;
}

/* ---- lengths and strings ---- */

static size_t left(const struct reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static bool read_bytes(struct reader *reader, size_t n, struct yn_bytes *out_bytes)
{
    if (n > left(reader))
        return false;
    *out_bytes = (struct yn_bytes){reader->at, n};
    reader->at += n;
    return true;
}

/* A length, or the number of a special kind of string. */
static bool read_length(struct reader *reader, uint64_t *out_length, bool *out_is_special)
{
    struct yn_bytes bytes;
    if (!read_bytes(reader, 1, &bytes))
        return false;
    unsigned first = (unsigned char)bytes.data[0];
    size_t n_more = 0;
    *out_is_special = first >> 6 == 3;
    *out_length = first & 0x3f;
    if (first >> 6 == 1) {
        n_more = 1;
    } else if (first >> 6 == 2) {
        if (first != 0x80 && first != 0x81)
            return false;
        n_more = first == 0x80 ? 4 : 8;
        *out_length = 0;
    }
    if (!read_bytes(reader, n_more, &bytes))
        return false;
    for (size_t i = 0; i < n_more; i++)
        *out_length = *out_length << 8 | (unsigned char)bytes.data[i];
    return true;
}

static bool read_plain_length(struct reader *reader, uint64_t *out_length)
{
    bool is_special;
    return read_length(reader, out_length, &is_special) && !is_special;
}

static bool read_compressed(struct reader *reader, struct yn_bytes *out_text)
{
    uint64_t packed_len, len;
    struct yn_bytes packed;
    if (!read_plain_length(reader, &packed_len) || !read_plain_length(reader, &len) ||
        packed_len > left(reader) || len > YN_MEMBER_MAX ||
        len > packed_len * LZF_RATIO_MAX)
        return false;
    char *text = take_text(reader, (size_t)len);
    *out_text = (struct yn_bytes){text, (size_t)len};
    return text != NULL && read_bytes(reader, (size_t)packed_len, &packed) &&
           lzf_decode(packed, text, (size_t)len);
}

/* False: no string, or out of memory (is_out_of_memory). */
static bool read_string(struct reader *reader, struct yn_bytes *out_text)
{
    uint64_t length;
    bool is_special;
    if (!read_length(reader, &length, &is_special))
        return false;
    if (!is_special)
        return length <= left(reader) && read_bytes(reader, (size_t)length, out_text);
    if (length < 3) {
        struct yn_bytes number;
        size_t n = (size_t)1 << length;
        return read_bytes(reader, n, &number) &&
               take_integer_text(reader, little_get_signed(number.data, n), out_text);
    }
    return length == 3 && read_compressed(reader, out_text);
}

/* ---- sorted sets ---- */

struct entries {
    struct yn_entry *list;
    size_t n, cap;
};

/* Makes room for `count` entries. */
static bool entries_init(struct entries *entries, struct reader *reader, size_t count)
{
    entries->cap = count;
    entries->list = malloc(entries->cap * sizeof *entries->list);
    reader->is_out_of_memory = entries->list == NULL;
    return entries->list != NULL;
}

/* In the order of sets; entries that are equal are told to be so. */
static int compare_entries(const void *a, const void *b)
{
    const struct yn_entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(x->member, y->member);
}

/* Into ascending order: as they are, the other way round, or sorted. */
static void sort_entries(struct entries *entries)
{
    size_t n = entries->n, n_up = 0, n_down = 0;
    struct yn_entry *list = entries->list;
    for (size_t i = 1; i < n && (n_up == 0 || n_down == 0); i++) {
        int order = compare_entries(&list[i - 1], &list[i]);
        n_up += order <= 0;
        n_down += order > 0;
    }
    if (n_down == 0)
        return;
    if (n_up > 0) {
        qsort(list, n, sizeof *list, compare_entries);
        return;
    }
    for (size_t i = 0; i < n / 2; i++) {
        struct yn_entry t = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = t;
    }
}

/*
 * Twice the room, if no entry has come twice so far. A packed list can be compressed: a
 * megabyte may claim a hundred million entries. Such a list repeats itself, and is
 * refused here before it has cost much; one whose entries all differ is as long
 * compressed as it deserves.
 */
static bool entries_grow(struct entries *entries, struct reader *reader)
{
    sort_entries(entries);
    for (size_t i = 1; i < entries->n; i++) {
        if (compare_entries(&entries->list[i - 1], &entries->list[i]) == 0)
            return false;
    }
    size_t cap = 2 * entries->cap;
    struct yn_entry *list = realloc(entries->list, cap * sizeof *list);
    if (list == NULL) {
        reader->is_out_of_memory = true;
        return false;
    }
    entries->list = list;
    entries->cap = cap;
    return true;
}

static bool entries_add(struct entries *entries, struct reader *reader,
                        struct yn_bytes member, double score)
{
    if (isnan(score) || (entries->n == entries->cap && !entries_grow(entries, reader)))
        return false;
    entries->list[entries->n++] = (struct yn_entry){.member = member, .score = score};
    return true;
}

/* A byte with the length of a text, or what has no text. */
static bool read_score_text(struct reader *reader, double *out_score)
{
    struct yn_bytes bytes;
    if (!read_bytes(reader, 1, &bytes))
        return false;
    unsigned len = (unsigned char)bytes.data[0];
    if (len >= 254) {
        *out_score = len == 254 ? (double)INFINITY : (double)-INFINITY;
        return true;
    }
    return len < 253 && read_bytes(reader, len, &bytes) && /* 253: NaN */
           yn_num_parse_double(bytes, out_score);
}

static bool read_score(struct reader *reader, double *out_score)
{
    struct yn_bytes bytes;
    if (!read_bytes(reader, 8, &bytes))
        return false;
    uint64_t bits = little_get(bytes.data, 8);
    memcpy(out_score, &bits, sizeof bits);
    return true;
}

static bool read_entries(struct reader *reader, bool has_text, struct entries *entries)
{
    uint64_t count;
    if (!read_plain_length(reader, &count) || count == 0 ||
        count > left(reader) / (has_text ? 2 : 9) || /* bytes that an entry takes */
        !entries_init(entries, reader, (size_t)count))
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct yn_bytes member;
        double score;
        if (!read_string(reader, &member) ||
            !(has_text ? read_score_text(reader, &score) : read_score(reader, &score)) ||
            !entries_add(entries, reader, member, score))
            return false;
    }
    return true;
}

/* Members and scores by turns in a packed list. */
static bool add_packed(struct reader *reader, struct entries *entries,
                       const struct packed_element *member,
                       const struct packed_element *score)
{
    struct yn_bytes text = member->text;
    double value = (double)score->integer;
    if (member->is_integer && !take_integer_text(reader, member->integer, &text))
        return false;
    if (!score->is_integer && !yn_num_parse_double(score->text, &value))
        return false;
    return entries_add(entries, reader, text, value);
}

#define PACKED_ENTRIES_FIRST 1024

static bool read_listpack(struct reader *reader, struct yn_bytes bytes,
                          struct entries *entries)
{
    struct listpack list;
    struct packed_element member, score;
    if (!listpack_open(&list, bytes) ||
        !entries_init(entries, reader, PACKED_ENTRIES_FIRST))
        return false;
    while (!listpack_is_done(&list)) {
        if (!listpack_read(&list, &member) || !listpack_read(&list, &score) ||
            !add_packed(reader, entries, &member, &score))
            return false;
    }
    return entries->n > 0 && (list.n == SIZE_MAX || list.n == 2 * entries->n);
}

static bool read_ziplist(struct reader *reader, struct yn_bytes bytes,
                         struct entries *entries)
{
    struct ziplist list;
    struct packed_element member, score;
    if (!ziplist_open(&list, bytes) ||
        !entries_init(entries, reader, PACKED_ENTRIES_FIRST))
        return false;
    while (!ziplist_is_done(&list)) {
        if (!ziplist_read(&list, &member) || !ziplist_read(&list, &score) ||
            !add_packed(reader, entries, &member, &score))
            return false;
    }
    return entries->n > 0 && (list.n == SIZE_MAX || list.n == 2 * entries->n);
}

static enum rdb_status failure_of(const struct reader *reader)
{
    return reader->is_out_of_memory ? RDB_ENOMEM : RDB_ECORRUPT;
}

static enum rdb_status read_zset(struct reader *reader, enum rdb_type type,
                                 const struct yn_options *options,
                                 struct yn_zset **out_set)
{
    struct entries entries = {.list = NULL};
    struct yn_bytes packed;
    bool is_read;
    if (type == RDB_ZSET || type == RDB_ZSET_TEXT)
        is_read = read_entries(reader, type == RDB_ZSET_TEXT, &entries);
    else if (!read_string(reader, &packed))
        is_read = false;
    else if (type == RDB_ZSET_LISTPACK)
        is_read = read_listpack(reader, packed, &entries);
    else
        is_read = read_ziplist(reader, packed, &entries);
    enum rdb_status status = RDB_OK;
    if (!is_read || left(reader) > 0) {
        status = failure_of(reader);
    } else {
        sort_entries(&entries);
        enum yn_status built = yn_zset_build(options, entries.list, entries.n, out_set);
        if (built != YN_OK)
            status = built == YN_ENOMEM ? RDB_ENOMEM : RDB_ECORRUPT;
    }
    free(entries.list);
    return status;
}

/* ---- values ---- */

static enum rdb_status read_string_value(struct reader *reader, struct rdb_value *value)
{
    struct yn_bytes text;
    if (!read_string(reader, &text) || left(reader) > 0)
        return failure_of(reader);
    if (text.data == NULL)
        text.data = "";
    value->string = text;
    value->block = (char *)reader->texts; /* one block: one string was read */
    reader->texts = NULL;
    return RDB_OK;
}

enum rdb_status rdb_read_value(struct yn_bytes data, const struct yn_options *options,
                               struct rdb_value *out_value)
{
    *out_value = (struct rdb_value){.zset = NULL};
    if (data.len == 0)
        return RDB_ECORRUPT;
    struct reader reader = {.at = data.data + 1, .end = data.data + data.len};
    unsigned type = (unsigned char)data.data[0];
    enum rdb_status status = RDB_ETYPE;
    switch (type) {
    case RDB_STRING:
        status = read_string_value(&reader, out_value);
        break;
    case RDB_ZSET:
    case RDB_ZSET_TEXT:
    case RDB_ZSET_ZIPLIST:
    case RDB_ZSET_LISTPACK:
        status = read_zset(&reader, (enum rdb_type)type, options, &out_value->zset);
        break;
    }
    free_texts(&reader);
    return status;
}

void rdb_value_clear(struct rdb_value *value)
{
    yn_zset_free(value->zset);
    free(value->block);
    *value = (struct rdb_value){.zset = NULL};
}

/* ---- payloads ---- */

bool rdb_open_payload(struct yn_bytes payload, struct yn_bytes *out_value)
{
    if (payload.len < RDB_FOOTER_LEN)
        return false;
    size_t len = payload.len - RDB_FOOTER_LEN;
    const char *footer = payload.data + len;
    if (little_get(footer, 2) > RDB_VERSION_MAX ||
        little_get(footer + 2, 8) != crc64(0, payload.data, len + 2))
        return false;
    *out_value = (struct yn_bytes){payload.data, len};
    return true;
}
