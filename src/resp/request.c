/*
 * request.c: the request parser.
 *
 * A request is a small machine whose whole state is four numbers: `pos`, where the
 * part that is parsed next begins; `scan`, how far that part was searched for the end
 * of its line; `n_left` and `bulk_len`, what the last headers announced. Each call goes
 * on where the last one stopped:
 *
 *     *N CR LF             n_left = N
 *     $L CR LF             bulk_len = L           (N times)
 *     L bytes, two bytes   one span               (N times)
 *
 * Invariants: pos <= scan; no byte before pos is read again before the request is
 * done; the bytes from pos to scan are read once more, when the line is complete.
 * So the cost is linear whatever the pieces. Spans hold offsets, not pointers,
 * because the caller's buffer moves when it grows.
 *
 * As servers of this protocol have always done it: of CR LF only the CR is looked
 * for, the byte after it is skipped; the two bytes after a bulk are skipped without
 * a look; an inline line ends in LF. A wrong line is reported when it is complete.
 *
 * The limit of a line holds even if the end of the line has arrived together with
 * the rest. Otherwise the answer would depend on how the kernel cuts the stream.
 *
 * HOT: one pass over the headers, no call per argument but for lengths of ten digits
 * and more, no allocation in the steady state. Guarded by the pipelined GEODIST
 * benchmark.
 */
#include "resp/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/num.h"

#define PREAUTH_MAX_ARGS 10
#define PREAUTH_MAX_BULK_LEN 16384
#define SPANS_MIN 16        /* first size: nearly every command fits */
#define KEEP_SPANS_MAX 4096 /* more is given back after the request */
#define KEEP_WORDS_MAX 16384
#define REST_SPANS_MAX 64 /* a resting parser gives back more than it needs */
#define REST_WORDS_MAX 1024

void yn_request_init(struct yn_request *req)
{
    memset(req, 0, sizeof *req);
    req->bulk_len = -1;
    yn_buf_init(&req->words);
}

void yn_request_clear(struct yn_request *req)
{
    free(req->spans);
    free(req->argv);
    yn_buf_clear(&req->words);
    yn_request_init(req);
}

void yn_request_next(struct yn_request *req)
{
    if (req->spans_cap > KEEP_SPANS_MAX) {
        free(req->spans);
        req->spans = NULL;
        req->spans_cap = 0;
    }
    if (req->argv_cap > KEEP_SPANS_MAX) {
        free(req->argv);
        req->argv = NULL;
        req->argv_cap = 0;
    }
    if (req->is_inline)
        yn_buf_reset(&req->words, KEEP_WORDS_MAX);
    req->argc = 0;
    req->used = 0;
    req->need = 0;
    req->error[0] = '\0';
    req->pos = 0;
    req->scan = 0;
    req->n_left = 0;
    req->bulk_len = -1;
    req->is_started = false;
    req->is_inline = false;
}

/* Room for the slices, and the words of an inline request, are taken when the request is
 * complete; of one that is not only the spans are needed. */
void yn_request_shrink(struct yn_request *req)
{
    if (req->argv_cap > REST_SPANS_MAX) {
        free(req->argv);
        req->argv = NULL;
        req->argv_cap = 0;
    }
    yn_buf_reset(&req->words, REST_WORDS_MAX);
    if (req->spans_cap <= REST_SPANS_MAX || req->spans_cap / 4 <= req->argc)
        return;
    size_t cap = req->argc > SPANS_MIN ? req->argc : SPANS_MIN;
    struct yn_request_span *spans = realloc(req->spans, cap * sizeof *spans);
    if (spans == NULL)
        return;
    req->spans = spans;
    req->spans_cap = cap;
}

size_t yn_request_memory(const struct yn_request *req)
{
    return req->spans_cap * sizeof *req->spans + req->argv_cap * sizeof *req->argv +
           req->words.cap;
}

static enum yn_request_status fail(struct yn_request *req, const char *text)
{
    snprintf(req->error, sizeof req->error, "Protocol error: %s", text);
    return YN_REQUEST_ERROR;
}

static enum yn_request_status fail_memory(struct yn_request *req)
{
    snprintf(req->error, sizeof req->error, "out of memory");
    return YN_REQUEST_ERROR;
}

static enum yn_request_status fail_expected_bulk(struct yn_request *req, char got)
{
    /* NUL would end the text; the writer turns CR and LF into blanks in the same way. */
    snprintf(req->error, sizeof req->error, "Protocol error: expected '$', got '%c'",
             got != '\0' ? got : ' ');
    return YN_REQUEST_ERROR;
}

static bool spans_grow(struct yn_request *req)
{
    size_t cap = req->spans_cap > 0 ? req->spans_cap * 2 : SPANS_MIN;
    struct yn_request_span *spans = realloc(req->spans, cap * sizeof *spans);
    if (spans == NULL)
        return false;
    req->spans = spans;
    req->spans_cap = cap;
    return true;
}

static inline bool spans_add(struct yn_request *req, size_t at, size_t len)
{
    if (req->argc == req->spans_cap && !spans_grow(req))
        return false;
    req->spans[req->argc].at = at;
    req->spans[req->argc].len = len;
    req->argc++;
    return true;
}

/* Ends a request of at least one argument. Room for the slices is taken here, so that
 * yn_request_argv cannot fail. */
static enum yn_request_status finish(struct yn_request *req, size_t used)
{
    if (req->argv_cap < req->argc) {
        struct yn_bytes *argv = malloc(req->spans_cap * sizeof *argv);
        if (argv == NULL)
            return fail_memory(req);
        free(req->argv);
        req->argv = argv;
        req->argv_cap = req->spans_cap;
    }
    req->used = used;
    return YN_REQUEST_DONE;
}

const struct yn_bytes *yn_request_argv(struct yn_request *req, const char *data)
{
    const char *base = req->is_inline ? req->words.data : data;
    for (size_t i = 0; i < req->argc; i++) {
        req->argv[i].data = base + req->spans[i].at;
        req->argv[i].len = req->spans[i].len;
    }
    return req->argv;
}

/* ---- multibulk ---- */

/* Reads a strict integer after the type byte of a count line. */
static bool count_parse(const char *text, size_t len, int64_t *out_value)
{
    /* Only for speed: nine digits cannot overflow. */
    if (len >= 1 && len <= 9 && text[0] >= '1' && text[0] <= '9') {
        int64_t value = 0;
        for (size_t i = 0; i < len; i++) {
            if (text[i] < '0' || text[i] > '9')
                return false;
            value = value * 10 + (text[i] - '0');
        }
        *out_value = value;
        return true;
    }
    return yn_num_parse_int64((struct yn_bytes){text, len}, out_value);
}

enum line_state { LINE_OPEN, LINE_COMPLETE, LINE_TOO_LONG };

/* Looks for the end of the count line at pos; afterwards scan is at its CR. */
static inline enum line_state count_line_find(struct yn_request *req, const char *data,
                                              size_t len, size_t max_len)
{
    size_t at = req->scan;
    while (at < len && data[at] != '\r')
        at++;
    req->scan = at;
    if (at - req->pos > max_len)
        return LINE_TOO_LONG;
    return len - at >= 2 ? LINE_COMPLETE : LINE_OPEN;
}

static enum yn_request_status read_args_count(struct yn_request *req, const char *data,
                                              size_t len,
                                              const struct yn_request_limits *limits)
{
    switch (count_line_find(req, data, len, limits->max_inline_len)) {
    case LINE_OPEN:
        return YN_REQUEST_MORE;
    case LINE_TOO_LONG:
        return fail(req, "too big mbulk count string");
    case LINE_COMPLETE:
        break;
    }
    int64_t n;
    if (!count_parse(data + 1, req->scan - 1, &n) || n > limits->max_args)
        return fail(req, "invalid multibulk length");
    if (n > PREAUTH_MAX_ARGS && !limits->authenticated)
        return fail(req, "unauthenticated multibulk length");
    req->pos = req->scan + 2;
    req->scan = req->pos;
    req->n_left = n;
    req->is_started = true;
    return YN_REQUEST_DONE;
}

/* Reads "$L CR LF" at pos. DONE: bulk_len is known and pos is at the bytes. */
static enum yn_request_status read_bulk_len(struct yn_request *req, const char *data,
                                            size_t len,
                                            const struct yn_request_limits *limits)
{
    switch (count_line_find(req, data, len, limits->max_inline_len)) {
    case LINE_OPEN:
        return YN_REQUEST_MORE;
    case LINE_TOO_LONG:
        return fail(req, "too big bulk count string");
    case LINE_COMPLETE:
        break;
    }
    const char *line = data + req->pos;
    if (line[0] != '$')
        return fail_expected_bulk(req, line[0]);
    int64_t n;
    if (!count_parse(line + 1, req->scan - req->pos - 1, &n) || n < 0 ||
        n > limits->max_bulk_len)
        return fail(req, "invalid bulk length");
    if (n > PREAUTH_MAX_BULK_LEN && !limits->authenticated)
        return fail(req, "unauthenticated bulk length");
    req->bulk_len = n;
    req->pos = req->scan + 2;
    return YN_REQUEST_DONE;
}

/* Reads the heads that nearly every argument has, "$L CR LF" with one digit or two, as
 * read_bulk_len would. Returns false, nothing read, for any other, and for one that was
 * looked at before. */
static inline bool read_short_bulk_len(struct yn_request *req, const char *data,
                                       size_t len, const struct yn_request_limits *limits)
{
    const char *line = data + req->pos;
    if (req->scan != req->pos || len - req->pos < 5 || line[0] != '$' ||
        limits->max_bulk_len < 100)
        return false;
    unsigned first = (unsigned char)line[1] - (unsigned)'0';
    unsigned second = (unsigned char)line[2] - (unsigned)'0';
    if (first > 9)
        return false;
    if (line[2] == '\r') {
        req->bulk_len = first;
        req->pos += 4;
        return true;
    }
    if (first == 0 || second > 9 || line[3] != '\r')
        return false;
    req->bulk_len = first * 10 + second;
    req->pos += 5;
    return true;
}

static enum yn_request_status parse_multibulk(struct yn_request *req, const char *data,
                                              size_t len,
                                              const struct yn_request_limits *limits)
{
    if (!req->is_started) {
        enum yn_request_status status = read_args_count(req, data, len, limits);
        if (status != YN_REQUEST_DONE)
            return status;
    }
    if (req->n_left <= 0) {
        req->used = req->pos;
        return YN_REQUEST_EMPTY;
    }
    while (req->n_left > 0) {
        if (req->bulk_len < 0 && !read_short_bulk_len(req, data, len, limits)) {
            enum yn_request_status status = read_bulk_len(req, data, len, limits);
            if (status != YN_REQUEST_DONE)
                return status;
        }
        size_t bulk_len = (size_t)req->bulk_len;
        if (len - req->pos < bulk_len + 2) {
            req->need = req->pos + bulk_len + 2;
            return YN_REQUEST_MORE;
        }
        if (!spans_add(req, req->pos, bulk_len))
            return fail_memory(req);
        req->pos += bulk_len + 2;
        req->scan = req->pos;
        req->bulk_len = -1;
        req->n_left--;
    }
    return finish(req, req->pos);
}

/* ---- inline ---- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Vertical tab and form feed separate nothing; they are only skipped between words. */
static bool ends_word(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static const char escape_names[] = "nrtba";
static const char escape_bytes[] = "\n\r\t\b\a";

/* Reads what follows a backslash inside "..." at from (from < end); returns where it
 * ends. The byte goes to *out_byte. */
static const char *escape_read(const char *from, const char *end, char *out_byte)
{
    if (*from == 'x' && end - from >= 3 && hex_value(from[1]) >= 0 &&
        hex_value(from[2]) >= 0) {
        *out_byte = (char)(hex_value(from[1]) * 16 + hex_value(from[2]));
        return from + 3;
    }
    const char *named = memchr(escape_names, *from, sizeof escape_names - 1);
    *out_byte = named != NULL ? escape_bytes[named - escape_names] : *from;
    return from + 1;
}

/* Copies a quoted part, whose opening quote was read, to *to and moves *to on. Returns
 * the place after the closing quote; NULL if that is missing or a word goes on after it.
 */
static const char *quoted_read(const char *from, const char *end, char quote, char **to)
{
    while (from < end) {
        char c = *from++;
        if (c == quote)
            return from == end || is_blank(*from) ? from : NULL;
        if (c == '\\' && from < end) {
            if (quote == '"')
                from = escape_read(from, end, &c);
            else if (*from == '\'')
                c = *from++;
        }
        *(*to)++ = c;
    }
    return NULL;
}

/* Copies one word to *to and moves *to on. Returns where the word ends, NULL for
 * unbalanced quotes. */
static const char *word_read(const char *from, const char *end, char **to)
{
    while (from < end && !ends_word(*from)) {
        char c = *from++;
        if (c == '"' || c == '\'')
            return quoted_read(from, end, c, to);
        *(*to)++ = c;
    }
    return from;
}

bool yn_words_visit(struct yn_bytes line, struct yn_buf *scratch, yn_word_fn visit,
                    void *ctx)
{
    yn_buf_reset(scratch, SIZE_MAX);
    /* Words are never longer than the line, so the bytes stay where they are written. */
    char *to = yn_buf_reserve(scratch, line.len + 1);
    if (to == NULL)
        return false;
    const char *from = line.data;
    const char *end = from + line.len;
    for (;;) {
        while (from < end && is_blank(*from))
            from++;
        if (from == end)
            return true;
        const char *word = to;
        from = word_read(from, end, &to);
        if (from == NULL)
            return false;
        scratch->len = (size_t)(to - scratch->data);
        if (!visit(ctx, (struct yn_bytes){word, (size_t)(to - word)}))
            return false;
    }
}

struct words_ctx {
    struct yn_request *req;
    bool failed;
};

static bool word_add(void *ctx, struct yn_bytes word)
{
    struct words_ctx *words = ctx;
    struct yn_request *req = words->req;
    words->failed = !spans_add(req, (size_t)(word.data - req->words.data), word.len);
    return !words->failed;
}

static enum yn_request_status parse_inline(struct yn_request *req, const char *data,
                                           size_t len,
                                           const struct yn_request_limits *limits)
{
    const char *newline = memchr(data + req->scan, '\n', len - req->scan);
    size_t line_len = newline != NULL ? (size_t)(newline - data) : len;
    if (line_len > limits->max_inline_len)
        return fail(req, "too big inline request");
    if (newline == NULL) {
        req->scan = len;
        return YN_REQUEST_MORE;
    }
    size_t used = line_len + 1;
    if (line_len > 0 && data[line_len - 1] == '\r')
        line_len--;
    struct words_ctx ctx = {req, false};
    if (!yn_words_visit((struct yn_bytes){data, line_len}, &req->words, word_add, &ctx)) {
        if (ctx.failed || req->words.failed)
            return fail_memory(req);
        return fail(req, "unbalanced quotes in request");
    }
    if (req->argc > 0)
        return finish(req, used);
    req->used = used;
    return YN_REQUEST_EMPTY;
}

enum yn_request_status yn_request_parse(struct yn_request *req, const char *data,
                                        size_t len,
                                        const struct yn_request_limits *limits)
{
    req->need = 0;
    if (len == 0)
        return YN_REQUEST_MORE;
    if (req->scan == 0) /* the first bytes of a request */
        req->is_inline = data[0] != '*';
    if (req->is_inline)
        return parse_inline(req, data, len, limits);
    return parse_multibulk(req, data, len, limits);
}
