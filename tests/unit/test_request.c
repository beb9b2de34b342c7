/*
 * Request parser. Streams are given as tables: bytes in, a text of what was understood
 * out. link: --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "resp/request.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "guard.h"
#include "resp/write.h"

#define KB ((size_t)1024)
#define LINE_MAX_LEN (64 * KB)

static const struct yn_request_limits limits_open = {
    .max_args = INT_MAX,
    .max_bulk_len = INT64_C(512) * 1024 * 1024,
    .max_inline_len = LINE_MAX_LEN,
    .authenticated = true,
};

static struct yn_request_limits limits_closed(void)
{
    struct yn_request_limits limits = limits_open;
    limits.authenticated = false;
    return limits;
}

/* ---- streams ---- */

/* What a stream was understood as: "<word><word>;" a request, "-;" an empty one, "!text"
 * an error, "?" unfinished bytes at the end. Bytes outside of ASCII print as \xHH. */
struct log {
    char text[4096];
    size_t len;
};

static void log_add(struct log *log, const char *text)
{
    size_t len = strlen(text);
    assert_true(log->len + len < sizeof log->text);
    memcpy(log->text + log->len, text, len + 1);
    log->len += len;
}

static void log_add_word(struct log *log, struct yn_bytes word)
{
    log_add(log, "<");
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.data[i];
        char text[8];
        snprintf(text, sizeof text, c >= ' ' && c < 127 ? "%c" : "\\x%02x", c);
        log_add(log, text);
    }
    log_add(log, ">");
}

static struct guard stage;

/* Parses a stream in pieces: the first is `first` bytes long, the others `rest`. Every
 * call sees the bytes at another address, with an unreadable page behind. */
static void stream_parse(const char *bytes, size_t len, size_t first, size_t rest,
                         const struct yn_request_limits *limits, struct log *log)
{
    struct yn_request req;
    yn_request_init(&req);
    log->len = 0;
    log->text[0] = '\0';
    size_t from = 0;
    size_t to = first;
    for (;;) {
        const char *data = guard_put(&stage, bytes + from, to - from);
        enum yn_request_status status = yn_request_parse(&req, data, to - from, limits);
        if (status == YN_REQUEST_ERROR) {
            assert_true(strlen(req.error) < sizeof req.error);
            log_add(log, "!");
            log_add(log, req.error);
            break;
        }
        if (status == YN_REQUEST_MORE) {
            if (to == len) {
                log_add(log, from < to ? "?" : "");
                break;
            }
            to = len - to < rest ? len : to + rest;
            continue;
        }
        assert_in_range(req.used, 1, to - from);
        if (status == YN_REQUEST_DONE) {
            assert_in_range(req.argc, 1, INT_MAX);
            const struct yn_bytes *argv = yn_request_argv(&req, data);
            for (size_t i = 0; i < req.argc; i++)
                log_add_word(log, argv[i]);
            log_add(log, ";");
        } else {
            log_add(log, "-;");
        }
        from += req.used;
        yn_request_next(&req);
    }
    yn_request_clear(&req);
}

/* Whole, cut in two at every byte, and byte by byte. */
static void stream_check(const char *bytes, size_t len, const char *expected,
                         const struct yn_request_limits *limits)
{
    static struct log log;
    stream_parse(bytes, len, 0, 1, limits, &log);
    assert_string_equal(log.text, expected);
    for (size_t first = 0; first <= len; first++) {
        stream_parse(bytes, len, first, len, limits, &log);
        assert_string_equal(log.text, expected);
    }
}

struct row {
    const char *bytes;
    size_t len;
    const char *expected;
    bool is_closed; /* not authenticated */
};

#define ROW(bytes, expected)                      \
    {                                             \
        bytes, sizeof(bytes) - 1, expected, false \
    }
#define ROW_CLOSED(bytes, expected)              \
    {                                            \
        bytes, sizeof(bytes) - 1, expected, true \
    }

static void rows_check(const struct row *rows, size_t n_rows)
{
    struct yn_request_limits closed = limits_closed();
    for (size_t i = 0; i < n_rows; i++)
        stream_check(rows[i].bytes, rows[i].len, rows[i].expected,
                     rows[i].is_closed ? &closed : &limits_open);
}

#define ROWS_CHECK(rows) rows_check((rows), sizeof(rows) / sizeof((rows)[0]))

static void test_multibulk(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("", ""),
        ROW("*", "?"),
        ROW("*1\r\n$4\r\nPING\r\n", "<PING>;"),
        ROW("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "<ECHO><>;"),
        ROW("*1\r\n$4\r\nPING\r\n*1\r\n$1\r\na\r\nGET b\r\n", "<PING>;<a>;<GET><b>;"),
        ROW("*12\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n"
            "$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$2\r\n10\r\n$2\r\n11\r\n"
            "$12\r\n0123456789ab\r\n",
            "<1><2><3><4><5><6><7><8><9><10><11><0123456789ab>;"),
        ROW("*1\r\n$4\r\nPI\0G\r\n", "<PI\\x00G>;"),
        ROW("*1\r\n$4\r\nPING\r", "?"),
        ROW("*1\r\n$4\r\nPING", "?"),
        ROW("*1\r\n$4\r\n", "?"),
        ROW("*1\r\n$4\r", "?"),
        ROW("*1\r\n", "?"),
        ROW("*1\r", "?"),
        /* empty requests */
        ROW("*0\r\n*-1\r\n*1\r\n$1\r\na\r\n", "-;-;<a>;"),
        ROW("*-9223372036854775808\r\n", "-;"),
        /* strict counts */
        ROW("*-9223372036854775809\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*-\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*-0\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*00\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*+1\r\n", "!Protocol error: invalid multibulk length"),
        ROW("* 1\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*1x\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*1\n\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*1.0\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*1\0\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*9999999999999999999\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*99999999999999999999\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*2147483648\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*2147483647\r\n", "?"),
        ROW("*1234567890123\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*1\r\n$\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$-0\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$04\r\nPING\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$+4\r\nPING\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$4 \r\nPING\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$12345678x\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$536870912\r\n", "?"),
        ROW("*1\r\n$536870913\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$9223372036854775807\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$9223372036854775808\r\n", "!Protocol error: invalid bulk length"),
        ROW("*1\r\n$9999999999999999999\r\n", "!Protocol error: invalid bulk length"),
        /* a wrong type byte is reported when its line is complete */
        ROW("*1\r\nX", "?"),
        ROW("*1\r\nX\r", "?"),
        ROW("*1\r\nX\r\n", "!Protocol error: expected '$', got 'X'"),
        ROW("*1\r\n\r\n", "!Protocol error: expected '$', got '\r'"),
        ROW("*1\r\n\n\r\n", "!Protocol error: expected '$', got '\n'"),
        ROW("*1\r\n\0\r\n", "!Protocol error: expected '$', got ' '"),
        ROW("*1\r\n*1\r\n$1\r\na\r\n", "!Protocol error: expected '$', got '*'"),
        ROW("*1\r\n\xff\r\n", "!Protocol error: expected '$', got '\xff'"),
        /* of CR LF only CR is looked for; lines in LF alone do not end */
        ROW("*1\rX$4\rYPING__*1\r\n$1\r\na\r\n", "<PING>;<a>;"),
        ROW("*1\n$4\nPING\n", "?"),
    };
    ROWS_CHECK(rows);
}

static void test_inline(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("PING\r\n", "<PING>;"),
        ROW("PING\n", "<PING>;"),
        ROW("PING", "?"),
        ROW("PING\r", "?"),
        ROW("\n\r\n \t \r\n\v\f\n", "-;-;-;-;"),
        ROW("  SET\tkey   value \r\n", "<SET><key><value>;"),
        ROW("a\rb\n", "<a><b>;"),
        ROW("PING\r\r\n", "<PING>;"),
        /* vertical tab and form feed are skipped before a word and part of it inside */
        ROW("a\v\fb \v\fc\n", "<a\\x0b\\x0cb><c>;"),
        ROW("GET \"\" ''\n", "<GET><><>;"),
        ROW("\"\"\n", "<>;"),
        ROW("GET \"a b\"\n", "<GET><a b>;"),
        ROW("GET x\"a b\"\n", "<GET><xa b>;"),
        ROW("GET x'a b'\n", "<GET><xa b>;"),
        ROW("\"a\"\t\"b\"\v'c'\n", "<a><b><c>;"),
        ROW("\"\\n\\r\\t\\b\\a\"\n", "<\\x0a\\x0d\\x09\\x08\\x07>;"),
        ROW("\"\\\\\\\"\\q\"\n", "<\\\"q>;"),
        ROW("\"\\x41\\x4a\\x4A\\x00\"\n", "<AJJ\\x00>;"),
        ROW("\"\\x4\" \"\\x\" \"\\xg1\" \"\\x1g\"\n", "<x4><x><xg1><x1g>;"),
        ROW("'a\\nb' 'a\\'b' 'a\\\\b' 'a\"b' \"a'b\"\n",
            "<a\\nb><a'b><a\\\\b><a\"b><a'b>;"),
        ROW("a\\nb \\x41\n", "<a\\nb><\\x41>;"),
        ROW("PI\0NG a\0\n", "<PI\\x00NG><a\\x00>;"),
        ROW("\xc3\xbc\n", "<\\xc3\\xbc>;"),
        ROW("\"abc\n", "!Protocol error: unbalanced quotes in request"),
        ROW("'abc\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"abc\\\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"abc\\\"\n", "!Protocol error: unbalanced quotes in request"),
        ROW("'abc\\\n", "!Protocol error: unbalanced quotes in request"),
        ROW("'abc\\'\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"a\"b\n", "!Protocol error: unbalanced quotes in request"),
        ROW("'a'b\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"a\"'b'\n", "!Protocol error: unbalanced quotes in request"),
        ROW("a \"\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"\\x4", "?"),
        ROW("\"\\x4\n", "!Protocol error: unbalanced quotes in request"),
        ROW("\"\\x41\n", "!Protocol error: unbalanced quotes in request"),
    };
    ROWS_CHECK(rows);
}

/* The byte-level cases of the public bug reports (R.. parsing, X.. limits), with what is
 * to be understood; their replies are checked against the server. */
static void test_reported_cases(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* R01 */
        ROW("\r\n\r\n\nPING\r\n   PING    \r\nPING\thello\r\n",
            "-;-;-;<PING>;<PING>;<PING><hello>;"),
        /* R03 */
        ROW("ECHO \"abc\r\nPING\r\n", "!Protocol error: unbalanced quotes in request"),
        /* R05 */
        ROW("ECHO \"a b\\x41\\n\"\r\nECHO 'a\\'b'\r\n", "<ECHO><a bA\\x0a>;<ECHO><a'b>;"),
        /* R07 */
        ROW("*0\r\n*-1\r\n*-10\r\n*-2147483649\r\nPING\r\n", "-;-;-;-;<PING>;"),
        /* R09 */
        ROW("*01\r\n$4\r\nPING\r\n", "!Protocol error: invalid multibulk length"),
        /* R11 */
        ROW("*1 \r\n$4\r\nPING\r\n", "!Protocol error: invalid multibulk length"),
        /* R13 */
        ROW("*2147483648\r\n", "!Protocol error: invalid multibulk length"),
        /* R15 */
        ROW("*1\r\n$-1\r\n", "!Protocol error: invalid bulk length"),
        /* R17 */
        ROW("*1\r\n$abc\r\n", "!Protocol error: invalid bulk length"),
        /* R19 */
        ROW("*2\r\n$4\r\nECHO\r\n$536870912\r\n", "?"),
        /* R21 */
        ROW("*2\r\n$4\r\nECHO\r\n:5\r\n", "!Protocol error: expected '$', got ':'"),
        /* R23 */
        ROW("*2\r\n$4\r\nECHO\r\n_\r\n", "!Protocol error: expected '$', got '_'"),
        /* R25: any two bytes end a bulk */
        ROW("*1\r\n$3\r\nPING\r\n", "<PIN>;-;"),
        /* R27 */
        ROW("*2\r\n$4\r\nECHO\r\n$8\r\na\r\nb\0\xff\r\n\r\n",
            "<ECHO><a\\x0d\\x0ab\\x00\\xff\\x0d\\x0a>;"),
        /* R35 */
        ROW("*2\r\n$3\r\nFOO\r\n$6\r\na\r\n+OK\r\n", "<FOO><a\\x0d\\x0a+OK>;"),
        /* R37 */
        ROW("POST / HTTP/1.1\r\nHost: x\r\n\r\nPING\r\n",
            "<POST></><HTTP/1.1>;<Host:><x>;-;<PING>;"),
        /* R39 */
        ROW("HELLO 4\r\nHELLO 1\r\nHELLO x\r\n", "<HELLO><4>;<HELLO><1>;<HELLO><x>;"),
        /* R41 */
        ROW("PING\r\nQUIT\r\nPING\r\n", "<PING>;<QUIT>;<PING>;"),
        /* R43 */
        ROW("$4\r\nPING\r\n", "<$4>;<PING>;"),
        /* R45 */
        ROW("GEOADD k 13.361389 38.115556 Palermo\r\nGEOPOS k nope\r\n",
            "<GEOADD><k><13.361389><38.115556><Palermo>;<GEOPOS><k><nope>;"),
        /* R47, R49 */
        ROW("SUBSCRIBE c\r\nCLIENT REPLY OFF\r\n",
            "<SUBSCRIBE><c>;<CLIENT><REPLY><OFF>;"),
        /* X02 */
        ROW_CLOSED("*11\r\n", "!Protocol error: unauthenticated multibulk length"),
        ROW_CLOSED("*2147483648\r\n", "!Protocol error: invalid multibulk length"),
        ROW("*11\r\n", "?"),
        /* X04 */
        ROW_CLOSED("*10\r\n$16384\r\n", "?"),
        ROW_CLOSED("*10\r\n$16385\r\n", "!Protocol error: unauthenticated bulk length"),
        ROW_CLOSED("*1\r\n$-1\r\n", "!Protocol error: invalid bulk length"),
        ROW_CLOSED("*1\r\n$536870913\r\n", "!Protocol error: invalid bulk length"),
        ROW("*10\r\n$16385\r\n", "?"),
        ROW_CLOSED("a b c d e f g h i j k l\n", "<a><b><c><d><e><f><g><h><i><j><k><l>;"),
        /* X06 */
        ROW_CLOSED("*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*1\r\n$4\r\nPING\r\n",
                   "<AUTH><pw>;<PING>;"),
    };
    ROWS_CHECK(rows);
}

/* ---- long lines ---- */

/* prefix, n times c, suffix: in one call, in two, and in pieces of step bytes. */
static void long_line_check(const char *prefix, char c, size_t n, const char *suffix,
                            enum yn_request_status expected, const char *expected_error)
{
    size_t prefix_len = strlen(prefix);
    size_t len = prefix_len + n + strlen(suffix);
    char *bytes = malloc(len + 1);
    memcpy(bytes, prefix, prefix_len);
    memset(bytes + prefix_len, c, n);
    memcpy(bytes + prefix_len + n, suffix, strlen(suffix) + 1);
    size_t steps[] = {len, (len + 1) / 2, 1, 997};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        struct yn_request req;
        yn_request_init(&req);
        enum yn_request_status status = YN_REQUEST_MORE;
        for (size_t to = 0; to < len && status == YN_REQUEST_MORE;) {
            to = len - to < steps[i] ? len : to + steps[i];
            status = yn_request_parse(&req, bytes, to, &limits_open);
        }
        assert_int_equal(status, expected);
        if (expected == YN_REQUEST_ERROR)
            assert_string_equal(req.error, expected_error);
        if (expected == YN_REQUEST_DONE)
            assert_int_equal(req.used, len);
        yn_request_clear(&req);
    }
    free(bytes);
}

static void test_long_lines(void **state)
{
    (void)state;
    const char *too_big_inline = "Protocol error: too big inline request";
    /* R31 */
    long_line_check("", 'A', 70000, "", YN_REQUEST_ERROR, too_big_inline);
    long_line_check("", 'A', LINE_MAX_LEN, "", YN_REQUEST_MORE, NULL);
    long_line_check("", 'A', LINE_MAX_LEN, "\n", YN_REQUEST_DONE, NULL);
    long_line_check("", 'A', LINE_MAX_LEN - 1, "\r\n", YN_REQUEST_DONE, NULL);
    long_line_check("", 'A', LINE_MAX_LEN + 1, "", YN_REQUEST_ERROR, too_big_inline);
    long_line_check("", 'A', LINE_MAX_LEN + 1, "\n", YN_REQUEST_ERROR, too_big_inline);
    long_line_check("", 'A', LINE_MAX_LEN, "\r\n", YN_REQUEST_ERROR, too_big_inline);
    long_line_check("", ' ', LINE_MAX_LEN, "\n", YN_REQUEST_EMPTY, NULL);

    const char *too_big_count = "Protocol error: too big mbulk count string";
    const char *invalid_count = "Protocol error: invalid multibulk length";
    long_line_check("*", '1', 70000, "", YN_REQUEST_ERROR, too_big_count);
    long_line_check("*", '1', LINE_MAX_LEN, "\r\n", YN_REQUEST_ERROR, too_big_count);
    long_line_check("*", '1', LINE_MAX_LEN - 1, "", YN_REQUEST_MORE, NULL);
    long_line_check("*", '1', LINE_MAX_LEN - 1, "\r\n", YN_REQUEST_ERROR, invalid_count);

    /* R33 */
    const char *too_big_bulk = "Protocol error: too big bulk count string";
    const char *invalid_bulk = "Protocol error: invalid bulk length";
    long_line_check("*1\r\n$", '1', 70000, "", YN_REQUEST_ERROR, too_big_bulk);
    long_line_check("*1\r\n$", '1', LINE_MAX_LEN, "\r\n", YN_REQUEST_ERROR, too_big_bulk);
    long_line_check("*1\r\n$", '1', LINE_MAX_LEN - 1, "", YN_REQUEST_MORE, NULL);
    long_line_check("*1\r\n$", '1', LINE_MAX_LEN - 1, "\r\n", YN_REQUEST_ERROR,
                    invalid_bulk);
    /* without its end, a line of the wrong type is too long before it is wrong */
    long_line_check("*1\r\n", 'X', 70000, "\r\n", YN_REQUEST_ERROR, too_big_bulk);
}

/* ---- large requests ---- */

static void command_write(struct yn_buf *out, size_t argc, struct yn_bytes arg)
{
    struct yn_bytes *argv = malloc(argc * sizeof *argv);
    for (size_t i = 0; i < argc; i++)
        argv[i] = arg;
    yn_write_command(out, argc, argv);
    free(argv);
    assert_false(out->failed);
}

/* R29, and what "arguments are borrowed" means when the buffer moves afterwards. */
static void test_many_arguments(void **state)
{
    (void)state;
    size_t counts[] = {16, 17, 9002, 1000000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct yn_buf wire;
        yn_buf_init(&wire);
        command_write(&wire, counts[i], (struct yn_bytes){"AAAAAAAA", 8});
        struct yn_request req;
        yn_request_init(&req);
        enum yn_request_status status = YN_REQUEST_MORE;
        for (size_t to = 0; to < wire.len;) {
            assert_int_equal(status, YN_REQUEST_MORE);
            to = wire.len - to < 1000 ? wire.len : to + 1000;
            status = yn_request_parse(&req, wire.data, to, &limits_open);
        }
        assert_int_equal(status, YN_REQUEST_DONE);
        assert_int_equal(req.argc, counts[i]);
        assert_int_equal(req.used, wire.len);
        char *moved = malloc(wire.len);
        memcpy(moved, wire.data, wire.len);
        yn_buf_clear(&wire);
        const struct yn_bytes *argv = yn_request_argv(&req, moved);
        for (size_t j = 0; j < req.argc; j++) {
            assert_int_equal(argv[j].len, 8);
            assert_memory_equal(argv[j].data, "AAAAAAAA", 8);
        }
        free(moved);
        yn_request_next(&req);
        assert_true(req.spans_cap <= 4096 && req.argv_cap <= 4096);
        yn_request_clear(&req);
    }
}

/* Bytes that were parsed are not read again: pages behind the current byte are
 * unreadable, but for the short header that the byte may belong to. */
static void no_rescan_check(const char *bytes, size_t len, size_t n_readable_at_end,
                            enum yn_request_status expected)
{
    size_t page = guard_page_len();
    size_t header_len = 16;
    struct guard guard = guard_new(len);
    char *data = guard_put(&guard, bytes, len);
    struct yn_request req;
    yn_request_init(&req);
    enum yn_request_status status = YN_REQUEST_MORE;
    size_t n_locked = 0;
    for (size_t to = 1; to <= len; to++) {
        assert_int_equal(status, YN_REQUEST_MORE);
        size_t at = (size_t)(data + to - 1 - guard.base);
        if (at >= n_locked + page + header_len) {
            n_locked += page;
            assert_int_equal(mprotect(guard.base, n_locked, PROT_NONE), 0);
        }
        if (to == len - n_readable_at_end + 1)
            assert_int_equal(mprotect(guard.base, guard.len, PROT_READ), 0);
        status = yn_request_parse(&req, data, to, &limits_open);
    }
    assert_int_equal(status, expected);
    assert_true(n_locked + 2 * page >= guard.len);
    yn_request_clear(&req);
    guard_free(&guard);
}

static void test_never_rescans(void **state)
{
    (void)state;
    struct yn_buf wire;
    yn_buf_init(&wire);
    command_write(&wire, 5000, (struct yn_bytes){"a member of some length", 23});
    /* the first byte, which tells the kind of request, is remembered too */
    no_rescan_check(wire.data, wire.len, 0, YN_REQUEST_DONE);
    yn_buf_clear(&wire);

    static char big[200000];
    memset(big, 'x', sizeof big);
    command_write(&wire, 3, (struct yn_bytes){big, sizeof big});
    no_rescan_check(wire.data, wire.len, 0, YN_REQUEST_DONE);
    yn_buf_clear(&wire);

    /* A line is read once more as a whole when its end has come. */
    for (size_t i = 0; i + 1 < 60000; i++)
        big[i] = i % 8 == 7 ? ' ' : 'x';
    big[60000 - 1] = '\n';
    no_rescan_check(big, 60000, 1, YN_REQUEST_DONE);
    memset(big, '1', sizeof big);
    big[0] = '*';
    memcpy(big + 60000, "\r\n", 2);
    no_rescan_check(big, 60002, 1, YN_REQUEST_ERROR);
    memcpy(big, "*1\r\n$", 5);
    no_rescan_check(big, 60002, 1, YN_REQUEST_ERROR);
}

static void test_need(void **state)
{
    (void)state;
    struct yn_request req;
    yn_request_init(&req);
    const char *wire = "*2\r\n$4\r\nECHO\r\n$536870912\r\nabcdef";
    size_t header = strlen(wire) - 6;
    assert_int_equal(yn_request_parse(&req, wire, 3, &limits_open), YN_REQUEST_MORE);
    assert_int_equal(req.need, 0);
    assert_int_equal(yn_request_parse(&req, wire, 9, &limits_open), YN_REQUEST_MORE);
    assert_int_equal(req.need, 14);
    assert_int_equal(yn_request_parse(&req, wire, 16, &limits_open), YN_REQUEST_MORE);
    assert_int_equal(req.need, 0);
    for (size_t len = header; len <= header + 6; len++) {
        assert_int_equal(yn_request_parse(&req, wire, len, &limits_open),
                         YN_REQUEST_MORE);
        assert_int_equal(req.need, header + 536870912 + 2);
    }
    /* the largest length a configuration can allow does not overflow */
    struct yn_request_limits limits = limits_open;
    limits.max_bulk_len = INT64_MAX;
    const char *huge = "*1\r\n$9223372036854775807\r\n";
    yn_request_next(&req);
    assert_int_equal(yn_request_parse(&req, huge, strlen(huge), &limits),
                     YN_REQUEST_MORE);
    assert_true(req.need == (size_t)INT64_MAX + strlen(huge) + 2);
    yn_request_clear(&req);
}

/* ---- memory ---- */

static void test_no_memory_for_promises(void **state)
{
    (void)state;
    const char *wire = "*2147483647\r\n$1\r\na\r\n$536870912\r\nabc";
    struct yn_request req;
    yn_request_init(&req);
    allocs_reset(0, false);
    assert_int_equal(yn_request_parse(&req, wire, strlen(wire), &limits_open),
                     YN_REQUEST_MORE);
    assert_true(allocs.n_bytes <= 1024);
    yn_request_clear(&req);
}

static void test_steady_state_allocates_nothing(void **state)
{
    (void)state;
    const char *wires[] = {
        "*3\r\n$3\r\nGET\r\n$1\r\na\r\n$1\r\nb\r\n",
        "GET \"a b\" c\r\n",
        "*0\r\n",
        "\r\n",
        "*18\r\n"
        "$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n"
        "$1\r\n8\r\n$1\r\n9\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n"
        "$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n",
    };
    struct yn_request req;
    yn_request_init(&req);
    for (int round = 0; round < 100; round++) {
        if (round == 1)
            allocs_reset(0, false);
        for (size_t i = 0; i < sizeof wires / sizeof wires[0]; i++) {
            enum yn_request_status status =
                yn_request_parse(&req, wires[i], strlen(wires[i]), &limits_open);
            assert_true(status == YN_REQUEST_DONE || status == YN_REQUEST_EMPTY);
            assert_int_equal(req.used, strlen(wires[i]));
            if (status == YN_REQUEST_DONE)
                assert_non_null(yn_request_argv(&req, wires[i]));
            yn_request_next(&req);
        }
    }
    assert_int_equal(allocs.n_calls, 0);
    yn_request_clear(&req);
}

/* Every allocation fails once, alone and with all after it. */
static void test_allocation_failure(void **state)
{
    (void)state;
    struct yn_buf wire;
    yn_buf_init(&wire);
    command_write(&wire, 100, (struct yn_bytes){"arg", 3});
    for (int i = 0; i < 60; i++)
        yn_buf_append_text(&wire, "word ");
    yn_buf_append_text(&wire, "\"end\"\r\n");
    size_t n_failed = 0;
    for (size_t fail_at = 1;; fail_at++) {
        bool failed = false;
        for (int for_good = 0; for_good < 2; for_good++) {
            struct yn_request req;
            yn_request_init(&req);
            allocs_reset(fail_at, for_good == 1);
            size_t from = 0;
            enum yn_request_status status;
            while ((status = yn_request_parse(&req, wire.data + from, wire.len - from,
                                              &limits_open)) == YN_REQUEST_DONE) {
                from += req.used;
                yn_request_next(&req);
            }
            allocs_reset(0, false);
            if (status == YN_REQUEST_ERROR) {
                assert_string_equal(req.error, "out of memory");
                failed = true;
                n_failed++;
            } else {
                assert_int_equal(status, YN_REQUEST_MORE);
                assert_int_equal(from, wire.len);
            }
            yn_request_clear(&req);
        }
        if (!failed)
            break;
    }
    assert_true(n_failed >= 10);
    yn_buf_clear(&wire);
}

/* ---- words ---- */

struct words {
    struct yn_bytes word[8];
    size_t n, max;
};

static bool word_keep(void *ctx, struct yn_bytes word)
{
    struct words *words = ctx;
    if (words->n == words->max)
        return false;
    words->word[words->n++] = word;
    return true;
}

static void test_words(void **state)
{
    (void)state;
    struct yn_buf scratch;
    yn_buf_init(&scratch);
    struct words words = {.max = 8};
    const char *line = " save 3600 \"\" 'a b' \"\\x41\" ";
    const char *expected[] = {"save", "3600", "", "a b", "A"};
    struct guard guard = guard_new(100);
    struct yn_bytes bytes = {guard_put(&guard, line, strlen(line)), strlen(line)};
    assert_true(yn_words_visit(bytes, &scratch, word_keep, &words));
    assert_int_equal(words.n, 5);
    /* all words are still there, and may be given as offsets */
    for (size_t i = 0; i < words.n; i++) {
        assert_int_equal(words.word[i].len, strlen(expected[i]));
        assert_memory_equal(words.word[i].data, expected[i], strlen(expected[i]));
        assert_true(words.word[i].data >= scratch.data);
        assert_true(words.word[i].data + words.word[i].len <= scratch.data + scratch.len);
    }

    /* lines that end where the memory does, inside an escape too */
    const char *const cut[] = {"\"\\", "\"\\x", "\"\\x4", "\"\\x41", "'\\", "'\\'", "\""};
    for (size_t i = 0; i < sizeof cut / sizeof cut[0]; i++) {
        bytes =
            (struct yn_bytes){guard_put(&guard, cut[i], strlen(cut[i])), strlen(cut[i])};
        assert_false(yn_words_visit(bytes, &scratch, word_keep, &words));
    }
    guard_free(&guard);

    words = (struct words){.max = 2};
    bytes = (struct yn_bytes){"a b c", 5};
    assert_false(yn_words_visit(bytes, &scratch, word_keep, &words));
    assert_int_equal(words.n, 2);
    assert_false(scratch.failed);

    words = (struct words){.max = 8};
    assert_true(yn_words_visit((struct yn_bytes){"", 0}, &scratch, word_keep, &words));
    assert_true(yn_words_visit((struct yn_bytes){"  ", 2}, &scratch, word_keep, &words));
    assert_int_equal(words.n, 0);
    assert_false(
        yn_words_visit((struct yn_bytes){"a \"", 3}, &scratch, word_keep, &words));
    assert_int_equal(words.n, 1);
    assert_false(scratch.failed);
    yn_buf_clear(&scratch);

    allocs_reset(1, true);
    bool is_ok = yn_words_visit((struct yn_bytes){"a", 1}, &scratch, word_keep, &words);
    allocs_reset(0, false);
    assert_false(is_ok);
    assert_true(scratch.failed);
    yn_buf_clear(&scratch);
}

/* ---- random ---- */

static uint64_t seed;

static uint64_t random_next(void)
{
    /* xorshift64* (Vigna 2014) */
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(2685821657736338717);
}

static size_t random_below(size_t n)
{
    return (size_t)(random_next() >> 11) % n;
}

/* Writes a word the way a careful user would type it. */
static void word_quote(struct yn_buf *out, struct yn_bytes word)
{
    yn_buf_append(out, "\"", 1);
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.data[i];
        char text[8];
        if (c < ' ' || c > 126 || random_below(4) == 0)
            snprintf(text, sizeof text, "\\x%02x", c);
        else
            snprintf(text, sizeof text, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        yn_buf_append_text(out, text);
    }
    yn_buf_append(out, "\" ", 2);
}

#define N_RANDOM_ARGS 40

static void random_command(struct yn_buf *wire, char pool[N_RANDOM_ARGS][32],
                           struct yn_bytes *argv, size_t argc)
{
    for (size_t i = 0; i < argc; i++) {
        argv[i] = (struct yn_bytes){pool[i], random_below(33)};
        for (size_t j = 0; j < argv[i].len; j++)
            pool[i][j] = (char)random_below(random_below(2) ? 256 : 16);
    }
    if (random_below(2) == 0) {
        yn_write_command(wire, argc, argv);
        return;
    }
    for (size_t i = 0; i < argc; i++)
        word_quote(wire, argv[i]);
    yn_buf_append_text(wire, random_below(2) ? "\r\n" : "\n");
}

static void test_random_commands(void **state)
{
    (void)state;
    const char *text = getenv("YN_SEED");
    seed = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)getpid() * 2654435761u + 1;
    printf("YN_SEED=%llu\n", (unsigned long long)seed);
    struct yn_request req;
    yn_request_init(&req);
    for (int round = 0; round < 5000; round++) {
        static char pool[N_RANDOM_ARGS][32];
        struct yn_bytes expected[N_RANDOM_ARGS];
        size_t argc = 1 + random_below(N_RANDOM_ARGS);
        struct yn_buf wire;
        yn_buf_init(&wire);
        random_command(&wire, pool, expected, argc);
        size_t to = 0;
        enum yn_request_status status = YN_REQUEST_MORE;
        const char *data = NULL;
        while (status == YN_REQUEST_MORE) {
            assert_true(to < wire.len);
            to += 1 + random_below(wire.len - to);
            assert_true(req.need <= wire.len);
            data = guard_put(&stage, wire.data, to);
            status = yn_request_parse(&req, data, to, &limits_open);
        }
        assert_int_equal(status, YN_REQUEST_DONE);
        assert_int_equal(req.used, wire.len);
        assert_int_equal(req.argc, argc);
        const struct yn_bytes *argv = yn_request_argv(&req, data);
        for (size_t i = 0; i < argc; i++) {
            assert_int_equal(argv[i].len, expected[i].len);
            assert_memory_equal(argv[i].data, expected[i].data, expected[i].len);
        }
        yn_request_next(&req);
        yn_buf_clear(&wire);
    }
    yn_request_clear(&req);
}

/* A parser that rests in the middle of a request holds what that needs, not what a wide
 * one before it took; and goes on. */
static void test_shrink(void **state)
{
    struct yn_request req;
    char line[3 * 4000 + 2];
    static const char cut[] = "*3\r\n$1\r\na\r\n$1\r\nb\r\n$5\r\nhe";
    static const char whole[] = "*3\r\n$1\r\na\r\n$1\r\nb\r\n$5\r\nhello\r\n";
    (void)state;
    for (size_t i = 0; i < 4000; i++)
        memcpy(line + 3 * i, "ab ", 3);
    memcpy(line + sizeof line - 2, "\r\n", 2);
    yn_request_init(&req);
    assert_int_equal(yn_request_memory(&req), 0);
    assert_int_equal(yn_request_parse(&req, line, sizeof line, &limits_open),
                     YN_REQUEST_DONE);
    assert_int_equal(req.argc, 4000);
    yn_request_next(&req);
    assert_true(yn_request_memory(&req) > 4000 * 2 * sizeof(struct yn_bytes));
    assert_int_equal(yn_request_parse(&req, cut, sizeof cut - 1, &limits_open),
                     YN_REQUEST_MORE);
    yn_request_shrink(&req);
    assert_in_range(yn_request_memory(&req), 1, 4096);
    assert_int_equal(yn_request_parse(&req, whole, sizeof whole - 1, &limits_open),
                     YN_REQUEST_DONE);
    assert_int_equal(req.argc, 3);
    struct yn_bytes last = yn_request_argv(&req, whole)[2];
    assert_int_equal(last.len, 5);
    assert_memory_equal(last.data, "hello", 5);
    yn_request_clear(&req);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multibulk),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_reported_cases),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_many_arguments),
        cmocka_unit_test(test_never_rescans),
        cmocka_unit_test(test_need),
        cmocka_unit_test(test_no_memory_for_promises),
        cmocka_unit_test(test_steady_state_allocates_nothing),
        cmocka_unit_test(test_allocation_failure),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_random_commands),
        cmocka_unit_test(test_shrink),
    };
    stage = guard_new(64 * KB);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    guard_free(&stage);
    return n_failed;
}
