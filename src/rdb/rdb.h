/*
 * rdb.h: values as bytes in the RDB format of Redis, which DUMP, RESTORE and snapshot
 * files use: strings and sorted sets.
 *
 * A value is a type (one byte) and what the type says. Lengths: two bits of kind, then 6
 * bits, 14 bits, 32 bits or 64 bits (big-endian). A string is a length and its bytes, or
 * one of four special kinds: an integer of 8, 16 or 32 bits (little-endian) whose decimal
 * text it is, or compressed bytes (LZF). The format is described in public, by J. Oldham
 * among others ("Redis RDB file format", rdb.fnordig.de); the packed lists are described
 * in listpack.h and ziplist.h.
 *
 * What is written is what Redis 7.0 and later read. What is read is taken for hostile:
 * every length, count and number is checked, and memory stays in proportion to the input.
 */
#ifndef RDB_H
#define RDB_H

#include "core/buf.h"
#include "yonder.h"

/* Version of the format. Written: that of Redis 7.0. Read: that of Redis 8.0 and less. */
#define RDB_VERSION 10
#define RDB_VERSION_MAX 12

enum rdb_type {
    RDB_STRING = 0,
    RDB_ZSET_TEXT = 3, /* scores as text */
    RDB_ZSET = 5,      /* scores as doubles */
    RDB_ZSET_ZIPLIST = 12,
    RDB_ZSET_LISTPACK = 17,
};

enum rdb_status {
    RDB_OK,
    RDB_ENOMEM,
    RDB_ECORRUPT,
    RDB_ETYPE, /* a type that is neither string nor sorted set */
};

/* ---- writing ---- */

#define RDB_HEAD_MAX 9
/* Writes what stands before the string's bytes. *out_rest is what follows it: all of the
 * text, or nothing if the text is an integer, which the head holds. Returns its length.
 */
size_t rdb_string_head(struct yn_bytes text, char out_head[RDB_HEAD_MAX],
                       struct yn_bytes *out_rest);
/* Writes a length; the same length as a number takes so many bytes. */
size_t rdb_format_length(uint64_t length, char out_head[RDB_HEAD_MAX]);
/* Append to the buffer; failures are noted there. */
void rdb_write_length(struct yn_buf *buf, uint64_t length);
void rdb_write_string(struct yn_buf *buf, struct yn_bytes text);
/* A string, type included. */
void rdb_write_string_value(struct yn_buf *buf, struct yn_bytes text);
/*
 * A sorted set as a packed list, type included: the form of small sets. The scores are
 * texts, the shortest that read back to the same double. Returns false, with the buffer
 * as before, when the set is too large for it.
 */
bool rdb_write_packed_zset(struct yn_buf *buf, const struct yn_view *view);

/*
 * A sorted set of any size is written entry by entry, from the last one to the first:
 *   type RDB_ZSET, length (the number of entries), entries
 */
#define RDB_ENTRY_EXTRA (RDB_HEAD_MAX + 8) /* bytes of an entry besides its member */
size_t rdb_entry_len(struct yn_bytes member);
/* A score alone: 8 bytes. */
size_t rdb_format_score(double score, char *out);
/* Writes an entry, at most member.len + RDB_ENTRY_EXTRA bytes. Returns its length. */
size_t rdb_format_entry(const struct yn_entry *entry, char *out);
/* Type and all entries. */
void rdb_write_zset_value(struct yn_buf *buf, const struct yn_view *view);

/* ---- reading ---- */

/* A value that was read: one of both. */
struct rdb_value {
    struct yn_bytes
        string; /* data is NULL: none; else borrowed from the input or `block` */
    struct yn_zset *zset; /* NULL: none; the caller's when it sets this to NULL */
    char *block;          /* what a compressed string was unpacked to, or NULL */
};

/* Reads one value, type included, which must fill `data`. The set is made with the
 * options. On failure *out_value holds nothing. */
enum rdb_status rdb_read_value(struct yn_bytes data, const struct yn_options *options,
                               struct rdb_value *out_value);
/* Frees what the value holds. */
void rdb_value_clear(struct rdb_value *value);

/* ---- payloads of DUMP ---- */

/* A payload is a value, the version (16 bits) and the checksum of both (64 bits), which
 * are little-endian. */
#define RDB_FOOTER_LEN 10
/* Writes the footer behind what has the checksum `crc`. */
void rdb_format_footer(uint64_t crc, char out_footer[RDB_FOOTER_LEN]);
/* Appends the footer to a buffer that holds a value. */
void rdb_write_footer(struct yn_buf *buf);
/* Whether version and checksum are right; if so *out_value is the value in it. */
bool rdb_open_payload(struct yn_bytes payload, struct yn_bytes *out_value);

#endif
