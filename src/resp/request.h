/*
 * request.h: the request parser: bytes of a client to one command's arguments.
 *
 * Feed it the bytes from the start of the current request on; it remembers how
 * far it came, so that a request arriving in pieces is never scanned twice.
 * Results are offsets into the caller's buffer, turned into slices on demand,
 * since the buffer may move between two calls. Multibulk requests and inline ones
 * (blank-separated words, quotes and escapes) are understood.
 *
 * One parser serves one connection and one thread. The outcome does not depend on
 * how the bytes were cut into pieces.
 *
 *     status = yn_request_parse(&req, data, len, &limits);
 *     if (status == YN_REQUEST_DONE)
 *         run(req.argc, yn_request_argv(&req, data));
 *     if (status == YN_REQUEST_DONE || status == YN_REQUEST_EMPTY)
 *         data += req.used, len -= req.used, yn_request_next(&req);
 */
#ifndef YN_REQUEST_H
#define YN_REQUEST_H

#include "core/buf.h"

enum yn_request_status {
    YN_REQUEST_MORE,  /* need more bytes */
    YN_REQUEST_DONE,  /* one command: argc, argv, used */
    YN_REQUEST_EMPTY, /* an empty request (blank line, *0, *-1): skip `used` bytes, no
                         reply */
    YN_REQUEST_ERROR, /* protocol error: reply `error`, close */
};

struct yn_request_limits {
    int64_t max_args;      /* usually INT_MAX; a multibulk length above is an error */
    int64_t max_bulk_len;  /* proto-max-bulk-len */
    size_t max_inline_len; /* 64 KB */
    bool authenticated;    /* false: at most 10 arguments of at most 16384 bytes */
};

/* Where an argument lies. */
struct yn_request_span {
    size_t at, len;
};

struct yn_request {
    /* results of YN_REQUEST_DONE */
    size_t argc;
    size_t used; /* bytes of the buffer that this request took */
    /* YN_REQUEST_MORE: how many bytes the buffer will hold at the least before progress
     * is possible (0: unknown). Lets the caller grow its buffer once for a huge argument.
     */
    size_t need;
    /* YN_REQUEST_ERROR: "Protocol error: ..." without "-ERR " */
    char error[128];

    /* private */
    size_t pos;       /* start of what is parsed next: a line or the bytes of a bulk */
    size_t scan;      /* up to here the line at pos holds no end of line */
    int64_t n_left;   /* multibulk: arguments still to come */
    int64_t bulk_len; /* the bulk at pos; -1: its length line comes next */
    bool is_started, is_inline;
    struct yn_request_span *spans;
    size_t spans_cap;
    struct yn_bytes *argv;
    size_t argv_cap;
    struct yn_buf words; /* unescaped words of an inline request */
};

/* Makes an empty parser; takes no memory yet. */
void yn_request_init(struct yn_request *req);
/* Frees the memory; the parser may be used again. */
void yn_request_clear(struct yn_request *req);
/* Forgets the current request; keeps memory for the next (gives back what is unusually
 * large). To be called after DONE and EMPTY; ERROR is final. */
void yn_request_next(struct yn_request *req);

/* Gives back memory beyond what the request, as far as it was parsed, needs: for a parser
 * that may rest for long. Not between DONE and yn_request_next. */
void yn_request_shrink(struct yn_request *req);
/* Bytes that the parser holds on the heap. */
size_t yn_request_memory(const struct yn_request *req);

/* Whether it has seen the first bytes of a request, and must see the others. */
static inline bool yn_request_has_begun(const struct yn_request *req)
{
    return req->scan > 0;
}

/* Parses on. data, len: all bytes from the start of this request that have arrived, the
 * ones of earlier calls included. Arguments are only accounted for as they arrive, so an
 * announced number of arguments costs no memory. A line (a count, or an inline request)
 * is at most limits->max_inline_len long. Out of memory is reported as an error too. */
enum yn_request_status yn_request_parse(struct yn_request *req, const char *data,
                                        size_t len,
                                        const struct yn_request_limits *limits);

/* Arguments after YN_REQUEST_DONE, as slices of data (the same pointer and bytes as
 * passed to the call that returned DONE, or moved ones) or of the request's own words;
 * borrowed until yn_request_next. */
const struct yn_bytes *yn_request_argv(struct yn_request *req, const char *data);

/* Splits a line into words the way inline requests and configuration files do: blanks
 * separate; "..." with \n \r \t \b \a \xHH and \c escapes; '...' with \' ; a closing
 * quote must be followed by a blank or the end. NUL is a byte like any other. The words'
 * bytes are written into scratch, which is emptied first; they stay valid, and may be
 * given as offsets from scratch->data, until scratch changes. visit is called once a
 * word, in order; when it returns false the rest is left out. Returns false for
 * unbalanced quotes, when visit returned false, or when memory ran out (scratch->failed).
 */
typedef bool (*yn_word_fn)(void *ctx, struct yn_bytes word);
bool yn_words_visit(struct yn_bytes line, struct yn_buf *scratch, yn_word_fn visit,
                    void *ctx);

#endif
