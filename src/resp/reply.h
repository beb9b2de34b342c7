/*
 * reply.h: the reply parser: bytes of a server to a tree of values. RESP2 and RESP3
 * whole.
 *
 * Feed bytes in any pieces; take finished replies. Linear in the input whatever the
 * pieces, no recursion on the depth of the input, limits on depth and size. A reply lives
 * in memory of its own and is freed as a whole; it may outlive the parser. A parser and a
 * reply may be used by one thread at a time.
 *
 *     yn_reply_feed(parser, data, len);
 *     while ((status = yn_reply_next(parser, &reply)) == YN_REPLY_READY)
 *         use(reply), yn_reply_free(reply);
 *
 * How values map: $-1, *-1 and _ are NULL; ! is an ERROR like -; a streamed string or
 * aggregate looks like one whose length was announced; an attribute (|) is a MAP that
 * hangs on the value after it (on several in a row: each hangs on the next one).
 */
#ifndef YN_REPLY_H
#define YN_REPLY_H

#include "core/buf.h"

enum yn_reply_type {
    YN_REPLY_STATUS,
    YN_REPLY_ERROR,
    YN_REPLY_INTEGER,
    YN_REPLY_BULK,
    YN_REPLY_NULL,
    YN_REPLY_ARRAY,
    YN_REPLY_MAP, /* items: key, value, ... */
    YN_REPLY_SET,
    YN_REPLY_PUSH,
    YN_REPLY_DOUBLE,
    YN_REPLY_BOOL,
    YN_REPLY_BIGNUM,
    YN_REPLY_VERBATIM,
};

struct yn_reply {
    enum yn_reply_type type;
    char format[4];  /* verbatim: "txt", "mkd" */
    int64_t integer; /* integer, bool */
    double number;   /* double; beyond its range: infinite or 0, text tells */
    /* status, error, bulk, bignum, verbatim (after the "txt:"), double as sent */
    struct yn_bytes text;
    size_t n_items; /* array, set, push: elements; map: 2 * pairs */
    struct yn_reply **items;
    struct yn_reply *attributes; /* a map, or NULL */
    bool is_null_array;          /* null: it was sent as *-1 */
};

struct yn_reply_parser;

/* Values of 0 or below stand for the default. */
struct yn_reply_limits {
    size_t max_depth;     /* aggregates inside each other, attributes included; 1024 */
    int64_t max_bulk_len; /* any text, streamed ones in total; 2^40 */
    int64_t max_items;    /* elements of one aggregate; 2^32 - 1 */
};

enum yn_reply_status {
    YN_REPLY_MORE,
    YN_REPLY_READY,
    YN_REPLY_BAD, /* protocol error */
    YN_REPLY_NOMEM,
};

/* limits: NULL for the defaults; copied. Returns NULL when memory is out. */
struct yn_reply_parser *yn_reply_parser_new(const struct yn_reply_limits *limits);
void yn_reply_parser_free(struct yn_reply_parser *parser);

/* Takes bytes in. They are copied; data may be reused. Returns what yn_reply_next would:
 * READY if a reply can be taken, MORE if bytes are missing. */
enum yn_reply_status yn_reply_feed(struct yn_reply_parser *parser, const char *data,
                                   size_t len);

/* Hands out the next finished reply, which the caller frees. Replies before a fault are
 * handed out first. BAD and NOMEM are final: the stream is lost. The text and the offset
 * from the start of the stream tell what was wrong; neither depends on the pieces. */
enum yn_reply_status yn_reply_next(struct yn_reply_parser *parser,
                                   struct yn_reply **out_reply);

/* After BAD or NOMEM: what was wrong, the offset included; else "". */
const char *yn_reply_parser_error(const struct yn_reply_parser *parser);
/* After BAD: where the wrong line or byte begins; else the number of bytes understood. */
uint64_t yn_reply_parser_offset(const struct yn_reply_parser *parser);

/* Frees a reply that yn_reply_next handed out, with all it holds. NULL is fine. */
void yn_reply_free(struct yn_reply *reply);

#endif
