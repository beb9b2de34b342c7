/*
 * Reply parser. Streams are given as tables: bytes in, a text of the replies out.
 * link: --wrap=malloc --wrap=realloc --wrap=calloc --wrap=yn_buf_consume
 */
#include "resp/reply.h"

#include <math.h>
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
#define MB (KB * KB)

/* Bytes that the parser moved inside its buffer of raw input. */
static size_t n_moved;

void __real_yn_buf_consume(struct yn_buf *buf, size_t n);
void __wrap_yn_buf_consume(struct yn_buf *buf, size_t n);

void __wrap_yn_buf_consume(struct yn_buf *buf, size_t n)
{
    n_moved += buf->len - n;
    __real_yn_buf_consume(buf, n);
}

/* ---- replies as text ---- */

static void dump_text(struct yn_buf *out, struct yn_bytes text)
{
    assert_non_null(text.data);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        char piece[8];
        snprintf(piece, sizeof piece, c >= ' ' && c < 127 ? "%c" : "\\x%02x", c);
        yn_buf_append_text(out, piece);
    }
}

static void dump(struct yn_buf *out, const struct yn_reply *reply);

static void dump_items(struct yn_buf *out, const struct yn_reply *reply,
                       const char *brackets)
{
    yn_buf_append(out, brackets, 1);
    for (size_t i = 0; i < reply->n_items; i++) {
        yn_buf_append_text(out, i > 0 ? " " : "");
        dump(out, reply->items[i]);
    }
    yn_buf_append(out, brackets + 1, 1);
}

static void dump_double(struct yn_buf *out, const struct yn_reply *reply)
{
    char text[64];
    snprintf(text, sizeof text, ",%.17g=", reply->number);
    yn_buf_append_text(out, isnan(reply->number) ? ",nan=" : text);
    dump_text(out, reply->text);
}

static void dump(struct yn_buf *out, const struct yn_reply *reply)
{
    static const char *const marks[] = {
        [YN_REPLY_STATUS] = "+",   [YN_REPLY_ERROR] = "-", [YN_REPLY_INTEGER] = ":",
        [YN_REPLY_BULK] = "$",     [YN_REPLY_NULL] = "",   [YN_REPLY_ARRAY] = "",
        [YN_REPLY_MAP] = "",       [YN_REPLY_SET] = "~",   [YN_REPLY_PUSH] = ">",
        [YN_REPLY_DOUBLE] = "",    [YN_REPLY_BOOL] = "#",  [YN_REPLY_BIGNUM] = "(",
        [YN_REPLY_VERBATIM] = "=",
    };
    char text[32];
    if (reply->attributes != NULL) {
        yn_buf_append_text(out, "|");
        dump(out, reply->attributes);
    }
    yn_buf_append_text(out, marks[reply->type]);
    switch (reply->type) {
    case YN_REPLY_INTEGER:
    case YN_REPLY_BOOL:
        snprintf(text, sizeof text, "%lld", (long long)reply->integer);
        yn_buf_append_text(out, text);
        break;
    case YN_REPLY_NULL:
        yn_buf_append_text(out, reply->is_null_array ? "nil*" : "nil");
        break;
    case YN_REPLY_ARRAY:
    case YN_REPLY_SET:
    case YN_REPLY_PUSH:
        dump_items(out, reply, "[]");
        break;
    case YN_REPLY_MAP:
        assert_int_equal(reply->n_items % 2, 0);
        dump_items(out, reply, "{}");
        break;
    case YN_REPLY_DOUBLE:
        dump_double(out, reply);
        break;
    case YN_REPLY_VERBATIM:
        assert_int_equal(reply->format[3], '\0');
        yn_buf_append_text(out, reply->format);
        yn_buf_append_text(out, ":");
        dump_text(out, reply->text);
        break;
    default:
        dump_text(out, reply->text);
        break;
    }
}

static struct guard stage;

/* Takes what is ready. Replies are separated by blanks; a fault is "!text". */
static enum yn_reply_status take_all(struct yn_reply_parser *parser, struct yn_buf *out)
{
    struct yn_reply *reply;
    enum yn_reply_status status;
    while ((status = yn_reply_next(parser, &reply)) == YN_REPLY_READY) {
        yn_buf_append_text(out, out->len > 0 ? " " : "");
        dump(out, reply);
        yn_reply_free(reply);
    }
    assert_null(reply);
    return status;
}

/* Parses a stream in pieces: the first is `first` bytes long, the others `rest`; every
 * piece ends at an unreadable page and is gone when the next one comes. */
static void stream_parse(const char *bytes, size_t len, size_t first, size_t rest,
                         bool takes_early, const struct yn_reply_limits *limits,
                         struct yn_buf *out)
{
    struct yn_reply_parser *parser = yn_reply_parser_new(limits);
    assert_non_null(parser);
    yn_buf_reset(out, SIZE_MAX);
    size_t piece = first;
    for (size_t from = 0; from < len; from += piece, piece = rest) {
        if (piece > len - from)
            piece = len - from;
        const char *data = guard_put(&stage, bytes + from, piece);
        enum yn_reply_status fed = yn_reply_feed(parser, data, piece);
        memset(stage.base + stage.len - piece, '~', piece);
        if (takes_early) {
            size_t before = out->len;
            enum yn_reply_status left = take_all(parser, out);
            assert_int_equal(fed, out->len > before ? YN_REPLY_READY : left);
        }
    }
    enum yn_reply_status status = take_all(parser, out);
    if (status == YN_REPLY_BAD) {
        yn_buf_append_text(out, out->len > 0 ? " !" : "!");
        yn_buf_append_text(out, yn_reply_parser_error(parser));
        char at[32];
        snprintf(at, sizeof at, " at byte %llu",
                 (unsigned long long)yn_reply_parser_offset(parser));
        assert_non_null(strstr(yn_reply_parser_error(parser), at));
        /* final */
        struct yn_reply *reply;
        assert_int_equal(yn_reply_feed(parser, "+OK\r\n", 5), YN_REPLY_BAD);
        assert_int_equal(yn_reply_next(parser, &reply), YN_REPLY_BAD);
    } else {
        assert_int_equal(status, YN_REPLY_MORE);
        assert_string_equal(yn_reply_parser_error(parser), "");
        assert_int_equal(yn_reply_parser_offset(parser), len);
    }
    yn_buf_append(out, "", 1);
    yn_reply_parser_free(parser);
}

/* Whole, cut in two at every byte, and byte by byte; replies taken at once and at the
 * end. */
static void stream_check(const char *bytes, size_t len, const char *expected,
                         const struct yn_reply_limits *limits)
{
    struct yn_buf out;
    yn_buf_init(&out);
    for (int early = 0; early < 2; early++) {
        stream_parse(bytes, len, 1, 1, early == 1, limits, &out);
        assert_string_equal(out.data, expected);
        for (size_t first = 1; first <= len; first++) {
            stream_parse(bytes, len, first, len, early == 1, limits, &out);
            assert_string_equal(out.data, expected);
        }
    }
    yn_buf_clear(&out);
}

struct row {
    const char *bytes;
    size_t len;
    const char *expected;
};

#define ROW(bytes, expected)               \
    {                                      \
        bytes, sizeof(bytes) - 1, expected \
    }

static void rows_check(const struct row *rows, size_t n_rows,
                       const struct yn_reply_limits *limits)
{
    for (size_t i = 0; i < n_rows; i++)
        stream_check(rows[i].bytes, rows[i].len, rows[i].expected, limits);
}

#define ROWS_CHECK(rows, limits) \
    rows_check((rows), sizeof(rows) / sizeof((rows)[0]), (limits))

static void test_resp2(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("+OK\r\n", "+OK"),
        ROW("+\r\n", "+"),
        ROW("-ERR no\r\n", "-ERR no"),
        ROW("-\r\n", "-"),
        ROW(":0\r\n:-1\r\n:1234\r\n", ":0 :-1 :1234"),
        ROW("$5\r\nhello\r\n$0\r\n\r\n", "$hello $"),
        ROW("$6\r\na\r\n\0\xff \r\n", "$a\\x0d\\x0a\\x00\\xff "),
        ROW("$-1\r\n*-1\r\n", "nil nil*"),
        ROW("*0\r\n", "[]"),
        ROW("*3\r\n$1\r\na\r\n:2\r\n*2\r\n+x\r\n*0\r\n", "[$a :2 [+x []]]"),
        ROW("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n:3\r\n:4\r\n", "[[:1 :2] [:3]] :4"),
        ROW("*12\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n:10\r\n"
            ":11\r\n:12\r\n",
            "[:1 :2 :3 :4 :5 :6 :7 :8 :9 :10 :11 :12]"),
        ROW("+unfinished", ""),
        ROW("$5\r\nhell", ""),
        ROW("*1\r\n", ""),
    };
    ROWS_CHECK(rows, NULL);
}

static void test_resp3(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("_\r\n#t\r\n#f\r\n", "nil #1 #0"),
        ROW(",1.5\r\n,-1.5e3\r\n,10\r\n,1E2\r\n,-0\r\n,+3\r\n,5.\r\n,.5\r\n",
            ",1.5=1.5 ,-1500=-1.5e3 ,10=10 ,100=1E2 ,-0=-0 ,3=+3 ,5=5. ,0.5=.5"),
        ROW(",inf\r\n,-inf\r\n,nan\r\n,-nan\r\n",
            ",inf=inf ,-inf=-inf ,nan=nan ,nan=-nan"),
        /* the nearest double, even where the parser for arguments refuses */
        ROW(",5e-324\r\n,1e-400\r\n,1e400\r\n,-1e400\r\n",
            ",4.9406564584124654e-324=5e-324 ,0=1e-400 ,inf=1e400 ,-inf=-1e400"),
        ROW(",13.361389338970184\r\n,13.36138933897018433\r\n",
            ",13.361389338970184=13.361389338970184 "
            ",13.361389338970184=13.36138933897018433"),
        ROW("(123456789012345678901234567890\r\n(-1\r\n(0\r\n",
            "(123456789012345678901234567890 (-1 (0"),
        ROW("=15\r\ntxt:Some string\r\n=4\r\nmkd:\r\n", "=txt:Some string =mkd:"),
        ROW("!21\r\nSYNTAX invalid syntax\r\n!0\r\n\r\n", "-SYNTAX invalid syntax -"),
        ROW("!7\r\nERR a\r\n\r\n", "-ERR a\\x0d\\x0a"),
        ROW("%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:2\r\n:3\r\n", "{+a :1 +b [:2 :3]}"),
        ROW("%0\r\n~0\r\n>0\r\n", "{} ~[] >[]"),
        ROW("~3\r\n:1\r\n#t\r\n_\r\n", "~[:1 #1 nil]"),
        ROW(">2\r\n+message\r\n$2\r\nhi\r\n+OK\r\n", ">[+message $hi] +OK"),
        /* EXEC of SUBSCRIBE: servers put the push in the middle of the array */
        ROW("*1\r\n>3\r\n+subscribe\r\n+c\r\n:1\r\n", "[>[+subscribe +c :1]]"),
    };
    ROWS_CHECK(rows, NULL);
}

static void test_attributes(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("|1\r\n+ttl\r\n:3600\r\n*2\r\n:1\r\n:2\r\n", "|{+ttl :3600}[:1 :2]"),
        ROW("*2\r\n:1\r\n|1\r\n+a\r\n+b\r\n:2\r\n:3\r\n", "[:1 |{+a +b}:2] :3"),
        ROW("|0\r\n+OK\r\n+OK\r\n", "|{}+OK +OK"),
        ROW("|1\r\n+a\r\n|1\r\n+b\r\n+c\r\n:1\r\n:2\r\n", "|{+a |{+b +c}:1}:2"),
        ROW("|1\r\n+a\r\n:1\r\n|1\r\n+b\r\n:2\r\n:3\r\n", "||{+a :1}{+b :2}:3"),
        ROW("%1\r\n|1\r\n+a\r\n:1\r\n+k\r\n|1\r\n+b\r\n:2\r\n+v\r\n",
            "{|{+a :1}+k |{+b :2}+v}"),
        ROW("|1\r\n+a\r\n:1\r\n>1\r\n+p\r\n", "|{+a :1}>[+p]"),
        ROW("|1\r\n+a\r\n:1\r\n$?\r\n;1\r\nx\r\n;0\r\n", "|{+a :1}$x"),
        ROW("*?\r\n|1\r\n+a\r\n:1\r\n:2\r\n.\r\n", "[|{+a :1}:2]"),
        ROW("*?\r\n|1\r\n+a\r\n:1\r\n.\r\n", "!attribute without a value at byte 16"),
    };
    ROWS_CHECK(rows, NULL);
}

static void test_streamed(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("$?\r\n;4\r\nHell\r\n;5\r\no wor\r\n;1\r\nd\r\n;0\r\n:1\r\n",
            "$Hello word :1"),
        ROW("$?\r\n;0\r\n", "$"),
        ROW("*?\r\n:1\r\n:2\r\n.\r\n*?\r\n.\r\n", "[:1 :2] []"),
        ROW("~?\r\n:1\r\n.\r\n%?\r\n+a\r\n:1\r\n+b\r\n:2\r\n.\r\n%?\r\n.\r\n",
            "~[:1] {+a :1 +b :2} {}"),
        ROW("*?\r\n*?\r\n*1\r\n:1\r\n.\r\n$?\r\n;1\r\nx\r\n;0\r\n.\r\n", "[[[:1]] $x]"),
        ROW("*2\r\n$?\r\n;2\r\nab\r\n;0\r\n$1\r\nc\r\n", "[$ab $c]"),
        ROW("$?\r\n+OK\r\n", "!part of a streamed string expected at byte 4"),
        ROW("$?\r\n;-1\r\n", "!invalid length of a part at byte 4"),
        ROW("$?\r\n;01\r\n", "!invalid length of a part at byte 4"),
        ROW("$?\r\n;1\r\nab\r\n", "!bulk not followed by CR LF at byte 9"),
        ROW(";1\r\na\r\n", "!unknown type of value at byte 0"),
        ROW(".\r\n", "!end without a streamed aggregate at byte 0"),
        ROW("*1\r\n.\r\n", "!end without a streamed aggregate at byte 4"),
        ROW("*?\r\n.x\r\n", "!invalid end of a streamed aggregate at byte 4"),
        ROW("%?\r\n+a\r\n.\r\n", "!map key without a value at byte 8"),
        ROW(">?\r\n", "!invalid number of elements at byte 0"),
        ROW("|?\r\n", "!invalid number of elements at byte 0"),
        ROW("=?\r\n", "!invalid bulk length at byte 0"),
        ROW("!?\r\n", "!invalid bulk length at byte 0"),
        ROW("$? \r\n", "!invalid bulk length at byte 0"),
    };
    ROWS_CHECK(rows, NULL);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct row rows[] = {
        ROW("+OK\r\nx\r\n", "+OK !unknown type of value at byte 5"),
        ROW("\0", "!unknown type of value at byte 0"),
        ROW("\r\n", "!unknown type of value at byte 0"),
        ROW("+OK\n", "!LF without CR at byte 3"),
        ROW("+O\rK\r\n", "!CR without LF at byte 3"),
        ROW("+O\r\r\n", "!CR without LF at byte 3"),
        ROW(":\r\n", "!invalid integer at byte 0"),
        ROW(":+1\r\n", "!invalid integer at byte 0"),
        ROW(":-0\r\n", "!invalid integer at byte 0"),
        ROW(":01\r\n", "!invalid integer at byte 0"),
        ROW(": 1\r\n", "!invalid integer at byte 0"),
        ROW(":1 \r\n", "!invalid integer at byte 0"),
        ROW(":1.0\r\n", "!invalid integer at byte 0"),
        ROW(":9223372036854775808\r\n", "!invalid integer at byte 0"),
        ROW(":-9223372036854775809\r\n", "!invalid integer at byte 0"),
        ROW("$\r\n", "!invalid bulk length at byte 0"),
        ROW("$-2\r\n", "!invalid bulk length at byte 0"),
        ROW("$+1\r\na\r\n", "!invalid bulk length at byte 0"),
        ROW("$01\r\na\r\n", "!invalid bulk length at byte 0"),
        ROW("$1099511627777\r\n", "!invalid bulk length at byte 0"),
        ROW("$18446744073709551617\r\n", "!invalid bulk length at byte 0"),
        ROW("=-1\r\n", "!invalid bulk length at byte 0"),
        ROW("!-1\r\n", "!invalid bulk length at byte 0"),
        ROW("=3\r\ntxt\r\n", "!invalid verbatim string length at byte 0"),
        ROW("=4\r\ntxt;\r\n", "!verbatim string without a format at byte 0"),
        ROW("$1\r\nab", "!bulk not followed by CR LF at byte 5"),
        ROW("$1\r\na\n", "!bulk not followed by CR LF at byte 5"),
        ROW("$1\r\na\rb", "!bulk not followed by CR LF at byte 6"),
        ROW("$0\r\na\r\n", "!bulk not followed by CR LF at byte 4"),
        ROW("*\r\n", "!invalid number of elements at byte 0"),
        ROW("*-2\r\n", "!invalid number of elements at byte 0"),
        ROW("*+1\r\n", "!invalid number of elements at byte 0"),
        ROW("*01\r\n", "!invalid number of elements at byte 0"),
        ROW("*4294967296\r\n", "!invalid number of elements at byte 0"),
        ROW("%2147483648\r\n", "!invalid number of elements at byte 0"),
        ROW("*4294967295\r\n%2147483647\r\n", ""),
        ROW("%-1\r\n", "!invalid number of elements at byte 0"),
        ROW("~-1\r\n", "!invalid number of elements at byte 0"),
        ROW(">-1\r\n", "!invalid number of elements at byte 0"),
        ROW("|-1\r\n", "!invalid number of elements at byte 0"),
        ROW("_x\r\n", "!invalid null at byte 0"),
        ROW("#\r\n", "!invalid boolean at byte 0"),
        ROW("#T\r\n", "!invalid boolean at byte 0"),
        ROW("#tt\r\n", "!invalid boolean at byte 0"),
        ROW(",\r\n", "!invalid double at byte 0"),
        ROW(",.\r\n", "!invalid double at byte 0"),
        ROW(",-\r\n", "!invalid double at byte 0"),
        ROW(",1e\r\n", "!invalid double at byte 0"),
        ROW(",1e+\r\n", "!invalid double at byte 0"),
        ROW(",e5\r\n", "!invalid double at byte 0"),
        ROW(", 1\r\n", "!invalid double at byte 0"),
        ROW(",1 \r\n", "!invalid double at byte 0"),
        ROW(",0x10\r\n", "!invalid double at byte 0"),
        ROW(",infinity\r\n", "!invalid double at byte 0"),
        ROW(",NaN\r\n", "!invalid double at byte 0"),
        ROW(",1,5\r\n", "!invalid double at byte 0"),
        ROW(",1\0\r\n", "!invalid double at byte 0"),
        ROW("(\r\n", "!invalid big number at byte 0"),
        ROW("(-\r\n", "!invalid big number at byte 0"),
        ROW("(+1\r\n", "!invalid big number at byte 0"),
        ROW("(12a\r\n", "!invalid big number at byte 0"),
        ROW("(1.5\r\n", "!invalid big number at byte 0"),
        ROW("*3\r\n:1\r\n:x\r\n:3\r\n", "!invalid integer at byte 8"),
    };
    ROWS_CHECK(rows, NULL);
}

/* The byte-level cases of the public bug reports, K01 to K33. */
static void test_reported_cases(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* K01 */
        ROW(":9223372036854775807\r\n:-9223372036854775808\r\n",
            ":9223372036854775807 :-9223372036854775808"),
        /* K03 */
        ROW(":43a\r\n", "!invalid integer at byte 0"),
        /* K05 */
        ROW("*2\r\n*-1\r\n$-1\r\n$-1\r\n*-1\r\n", "[nil* nil] nil nil*"),
        /* K07 */
        ROW("*-2\r\n", "!invalid number of elements at byte 0"),
        /* K09 */
        ROW("*18446744073709551615\r\n", "!invalid number of elements at byte 0"),
        /* K13 */
        ROW(",1.2673605809254695e-6\r\n,180\r\n,.5\r\n",
            ",1.2673605809254695e-06=1.2673605809254695e-6 ,180=180 ,0.5=.5"),
        /* K15 */
        ROW(",1.5x\r\n", "!invalid double at byte 0"),
        /* K17 */
        ROW("=3\r\ntxt\r\n", "!invalid verbatim string length at byte 0"),
        /* K19 */
        ROW("+OK\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n:1\r\n",
            "+OK >[$message $c $hi] :1"),
        /* K21 */
        ROW("(123456789012345678901234567890\r\n", "(123456789012345678901234567890"),
        /* K23 */
        ROW("%9223372036854775807\r\n", "!invalid number of elements at byte 0"),
        /* K25 */
        ROW("*2\r\n$3\r\nfoo\r\n$0\r\n\r\n", "[$foo $]"),
        /* K27 */
        ROW("*1\r\n:1\r\n:2\r\n", "[:1] :2"),
        /* K29 */
        ROW("HTTP/1.1 400 Bad\r\n", "!unknown type of value at byte 0"),
        /* K31 */
        ROW("+OK\n+OK\r\n", "!LF without CR at byte 3"),
    };
    ROWS_CHECK(rows, NULL);

    /* K11: nested 128 */
    struct yn_buf wire;
    struct yn_buf expected;
    yn_buf_init(&wire);
    yn_buf_init(&expected);
    for (int i = 0; i < 128; i++) {
        yn_buf_append_text(&wire, "*1\r\n");
        yn_buf_append_text(&expected, "[");
    }
    yn_buf_append_text(&wire, ":1\r\n");
    yn_buf_append_text(&expected, ":1");
    for (int i = 0; i < 128; i++)
        yn_buf_append_text(&expected, "]");
    yn_buf_append(&expected, "", 1);
    stream_check(wire.data, wire.len, expected.data, NULL);
    yn_buf_clear(&wire);
    yn_buf_clear(&expected);
}

/* ---- limits ---- */

static void test_limits(void **state)
{
    (void)state;
    struct yn_reply_limits limits = {.max_depth = 2, .max_bulk_len = 5, .max_items = 4};
    static const struct row rows[] = {
        ROW("*1\r\n*1\r\n:1\r\n", "[[:1]]"),
        ROW("*1\r\n*1\r\n*1\r\n", "!too deep nesting at byte 8"),
        ROW("*1\r\n*1\r\n*0\r\n", "!too deep nesting at byte 8"),
        ROW("*1\r\n*1\r\n*?\r\n", "!too deep nesting at byte 8"),
        ROW("*1\r\n*1\r\n|1\r\n", "!too deep nesting at byte 8"),
        ROW("*2\r\n*0\r\n*1\r\n:1\r\n*1\r\n*0\r\n", "[[] [:1]] [[]]"),
        ROW("$5\r\nabcde\r\n", "$abcde"),
        ROW("$6\r\nabcdef\r\n", "!invalid bulk length at byte 0"),
        ROW("!6\r\n", "!invalid bulk length at byte 0"),
        ROW("=6\r\n", "!invalid bulk length at byte 0"),
        ROW("+abcde\r\n", "+abcde"),
        ROW("+abcdef\r\n", "!too long line at byte 0"),
        ROW("+abcdef\n", "!too long line at byte 0"),
        ROW("-abcdef", "!too long line at byte 0"),
        ROW("(123456\r\n", "!too long line at byte 0"),
        ROW(":123456\r\n,1.23456\r\n", ":123456 ,1.2345600000000001=1.23456"),
        ROW("$?\r\n;3\r\nabc\r\n;2\r\nde\r\n;0\r\n", "$abcde"),
        ROW("$?\r\n;3\r\nabc\r\n;3\r\n", "!invalid length of a part at byte 13"),
        ROW("*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "[:1 :2 :3 :4]"),
        ROW("*5\r\n", "!invalid number of elements at byte 0"),
        ROW("%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "{:1 :2 :3 :4}"),
        ROW("%3\r\n", "!invalid number of elements at byte 0"),
        ROW("*?\r\n:1\r\n:2\r\n:3\r\n:4\r\n.\r\n", "[:1 :2 :3 :4]"),
        ROW("*?\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n", "!too many elements at byte 20"),
    };
    ROWS_CHECK(rows, &limits);
}

/* The default depth is reached without recursion, and given back without it. */
static void test_default_depth(void **state)
{
    (void)state;
    for (size_t depth = 1024; depth <= 1025; depth++) {
        struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
        enum yn_reply_status status = YN_REPLY_MORE;
        for (size_t i = 0; i < depth; i++)
            status = yn_reply_feed(parser, "*1\r\n", 4);
        if (depth == 1024) {
            assert_int_equal(status, YN_REPLY_MORE);
            assert_int_equal(yn_reply_feed(parser, "_\r\n", 3), YN_REPLY_READY);
        } else {
            assert_int_equal(status, YN_REPLY_BAD);
            assert_string_equal(yn_reply_parser_error(parser),
                                "too deep nesting at byte 4096");
            assert_int_equal(yn_reply_parser_offset(parser), 4096);
        }
        yn_reply_parser_free(parser);
    }
    /* a million levels, where the caller wants them */
    struct yn_reply_limits limits = {.max_depth = 1000000};
    struct yn_reply_parser *parser = yn_reply_parser_new(&limits);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(yn_reply_feed(parser, "*1\r\n", 4), YN_REPLY_MORE);
    assert_int_equal(yn_reply_feed(parser, "*0\r\n", 4), YN_REPLY_BAD);
    yn_reply_parser_free(parser);
}

/* Lines with a number have a limit of their own, whatever max_bulk_len is. */
static void test_long_lines(void **state)
{
    (void)state;
    char line[2000];
    const char types[] = ":,$*_#%";
    struct yn_buf out;
    yn_buf_init(&out);
    for (size_t i = 0; i < sizeof types - 1; i++) {
        memset(line, '1', sizeof line);
        line[0] = types[i];
        for (size_t piece = 1; piece <= sizeof line; piece = piece * 2 + 1) {
            stream_parse(line, sizeof line, piece, piece, true, NULL, &out);
            assert_string_equal(out.data, "!too long line at byte 0");
        }
    }
    /* 1024 digits of a double: too large, but a number */
    memset(line, '1', sizeof line);
    line[0] = ',';
    memcpy(line + 1025, "\r\n", 2);
    stream_parse(line, 1027, 100, 100, true, NULL, &out);
    assert_memory_equal(out.data, ",inf=1111", 9);
    yn_buf_clear(&out);
}

/* ---- large replies, cost ---- */

static struct yn_reply *take_one(struct yn_reply_parser *parser)
{
    struct yn_reply *reply;
    assert_int_equal(yn_reply_next(parser, &reply), YN_REPLY_READY);
    return reply;
}

static void feed_in_pieces(struct yn_reply_parser *parser, struct yn_buf *wire,
                           size_t piece)
{
    for (size_t from = 0; from < wire->len; from += piece) {
        size_t n = wire->len - from < piece ? wire->len - from : piece;
        enum yn_reply_status status = yn_reply_feed(parser, wire->data + from, n);
        assert_int_equal(status, from + n < wire->len ? YN_REPLY_MORE : YN_REPLY_READY);
    }
}

/* A bulk of many bytes costs memory for thrice its size in all, in a few steps. */
static void test_large_bulk(void **state)
{
    (void)state;
    size_t len = 32 * MB;
    struct yn_buf wire;
    yn_buf_init(&wire);
    char *big = malloc(len);
    for (size_t i = 0; i < len; i++)
        big[i] = (char)(i * 2654435761u >> 13);
    yn_write_bulk(&wire, (struct yn_bytes){big, len});
    size_t pieces[] = {1000, 70000, wire.len};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        allocs_reset(0, false);
        n_moved = 0;
        struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
        feed_in_pieces(parser, &wire, pieces[i]);
        struct yn_reply *reply = take_one(parser);
        yn_reply_parser_free(parser);
        assert_int_equal(reply->type, YN_REPLY_BULK);
        assert_int_equal(reply->text.len, len);
        assert_memory_equal(reply->text.data, big, len);
        yn_reply_free(reply);
        assert_true(allocs.n_calls <= 20);
        assert_true(allocs.n_bytes <= (pieces[i] < wire.len ? 3 : 1) * len + 4 * KB);
        assert_int_equal(n_moved, 0);
    }
    free(big);
    yn_buf_clear(&wire);
}

static void test_large_streamed_string(void **state)
{
    (void)state;
    struct yn_buf wire;
    yn_buf_init(&wire);
    yn_buf_append_text(&wire, "$?\r\n");
    size_t n = 100000;
    for (size_t i = 0; i < n; i++)
        yn_buf_append_text(&wire, ";10\r\n0123456789\r\n");
    yn_buf_append_text(&wire, ";0\r\n");
    allocs_reset(0, false);
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    feed_in_pieces(parser, &wire, 777);
    struct yn_reply *reply = take_one(parser);
    assert_int_equal(reply->text.len, 10 * n);
    for (size_t i = 0; i < n; i++)
        assert_memory_equal(reply->text.data + 10 * i, "0123456789", 10);
    assert_true(allocs.n_calls <= 20);
    assert_true(allocs.n_bytes <= 5 * 10 * n);
    yn_reply_free(reply);
    yn_reply_parser_free(parser);
    yn_buf_clear(&wire);
}

/* The cost of an aggregate follows its elements, whatever the pieces. */
static void test_large_array(void **state)
{
    (void)state;
    size_t n = 100000;
    struct yn_buf wire;
    yn_buf_init(&wire);
    yn_write_array(&wire, n);
    for (size_t i = 0; i < n; i++)
        yn_write_bulk(&wire, (struct yn_bytes){"12345678", 8});
    size_t pieces[] = {1, 1000, wire.len};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        allocs_reset(0, false);
        n_moved = 0;
        struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
        feed_in_pieces(parser, &wire, pieces[i]);
        struct yn_reply *reply = take_one(parser);
        assert_int_equal(reply->n_items, n);
        for (size_t j = 0; j < n; j++)
            assert_memory_equal(reply->items[j]->text.data, "12345678", 8);
        assert_true(allocs.n_calls <= 150);
        assert_true(allocs.n_bytes <=
                    n * (sizeof(struct yn_reply) + 8 + 4 * sizeof(void *)));
        assert_int_equal(n_moved, 0);
        yn_reply_free(reply);
        yn_reply_parser_free(parser);
    }
    yn_buf_clear(&wire);
}

/* Texts of every length between values: all ways in which a block can end. */
static void test_block_ends(void **state)
{
    (void)state;
    static const char text[80] =
        "0123456789012345678901234567890123456789012345678901234567890";
    for (size_t len = 0; len < sizeof text; len++) {
        struct yn_buf wire;
        yn_buf_init(&wire);
        yn_write_array(&wire, 60);
        for (size_t i = 0; i < 60; i++)
            yn_write_bulk(&wire, (struct yn_bytes){text, i % 7 == 6 ? 1 : len});
        struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
        assert_int_equal(yn_reply_feed(parser, wire.data, wire.len), YN_REPLY_READY);
        struct yn_reply *reply = take_one(parser);
        for (size_t i = 0; i < 60; i++) {
            assert_int_equal(reply->items[i]->text.len, i % 7 == 6 ? 1 : len);
            assert_memory_equal(reply->items[i]->text.data, text,
                                reply->items[i]->text.len);
        }
        yn_reply_free(reply);
        yn_reply_parser_free(parser);
        yn_buf_clear(&wire);
    }
}

/* What is announced costs nothing. */
static void test_no_memory_for_promises(void **state)
{
    (void)state;
    allocs_reset(0, false);
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    for (int i = 0; i < 100; i++)
        yn_reply_feed(parser, "*4294967295\r\n", 13);
    yn_reply_feed(parser, "$1099511627776\r\nabc", 19);
    assert_true(allocs.n_bytes <= 128 * KB);
    yn_reply_parser_free(parser);
}

/* K33, and feeding on while nobody takes: bytes are moved at most once on average. */
static void test_many_replies(void **state)
{
    (void)state;
    size_t n = 100000;
    struct yn_buf wire;
    yn_buf_init(&wire);
    for (size_t i = 0; i < n; i++)
        yn_buf_append_text(&wire, "+OK\r\n");
    size_t pieces[] = {wire.len, 3, 1000};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        /* per piece, take as many replies as keep about 1000 bytes, or all, waiting */
        for (size_t backlog = 0; backlog <= 100000; backlog += 50000) {
            allocs_reset(0, false);
            n_moved = 0;
            struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
            size_t n_taken = 0;
            for (size_t from = 0; from < wire.len; from += pieces[i]) {
                size_t len = wire.len - from < pieces[i] ? wire.len - from : pieces[i];
                yn_reply_feed(parser, wire.data + from, len);
                while (n_taken * 5 + backlog + 5 <= from + len) {
                    yn_reply_free(take_one(parser));
                    n_taken++;
                }
            }
            for (; n_taken < n; n_taken++)
                yn_reply_free(take_one(parser));
            struct yn_reply *none;
            assert_int_equal(yn_reply_next(parser, &none), YN_REPLY_MORE);
            assert_true(allocs.n_calls <= n + 100);
            assert_true(n_moved <= wire.len);
            yn_reply_parser_free(parser);
        }
    }
    yn_buf_clear(&wire);
}

/* A reply outlives its parser, and an unfinished one goes with it (the sanitizer looks).
 */
static void test_ownership(void **state)
{
    (void)state;
    static const char *const unfinished[] = {
        "+O",
        "+OK\r\n+OK\r\n*1\r\n",
        "*2\r\n:1\r\n",
        "$100000\r\nabc",
        "*1\r\n$100000\r\nabc",
        "$?\r\n;3\r\nabc\r\n",
        "|1\r\n+a\r\n+b\r\n",
        "*1\r\n|1\r\n+a\r\n+b\r\n",
        "*1\r\nx",
    };
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
        yn_reply_feed(parser, unfinished[i], strlen(unfinished[i]));
        yn_reply_parser_free(parser);
    }
    yn_reply_parser_free(NULL);
    yn_reply_free(NULL);
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    assert_int_equal(yn_reply_feed(parser, NULL, 0), YN_REPLY_MORE);
    yn_reply_feed(parser, "*1\r\n$3\r\nabc\r\n+", 14);
    struct yn_reply *reply = take_one(parser);
    yn_reply_parser_free(parser);
    assert_memory_equal(reply->items[0]->text.data, "abc", 3);
    yn_reply_free(reply);
}

/* ---- allocation failure ---- */

static void wire_of_everything(struct yn_buf *wire)
{
    static char big[200000];
    memset(big, 'b', sizeof big);
    yn_buf_append_text(wire,
                       "+OK\r\n-ERR\r\n:1\r\n_\r\n#t\r\n,1.5\r\n(123\r\n=5\r\ntxt:a\r\n");
    yn_buf_append_text(wire, "!3\r\nERR\r\n$1\r\na\r\n*0\r\n$?\r\n;2\r\nab\r\n;0\r\n");
    yn_buf_append_text(wire, "|1\r\n+a\r\n:1\r\n*?\r\n+a\r\n.\r\n");
    yn_write_bulk(wire, (struct yn_bytes){big, sizeof big});
    yn_write_array(wire, 60);
    for (int i = 0; i < 30; i++) {
        yn_write_bulk(wire, (struct yn_bytes){big, 100 * (size_t)i});
        yn_buf_append_text(wire, "%1\r\n*2\r\n:1\r\n:2\r\n,1e400\r\n");
    }
    for (int i = 0; i < 20; i++)
        yn_buf_append_text(wire, "*1\r\n");
    yn_buf_append_text(wire, "+end\r\n");
}

/* Runs the stream with the fail_at-th allocation failing. Returns the number of replies;
 * *out_failed tells whether the parser reported it. */
static size_t run_failing(struct yn_buf *wire, size_t piece, size_t fail_at,
                          bool for_good, bool *out_failed)
{
    *out_failed = false;
    size_t n_replies = 0;
    allocs_reset(fail_at, for_good);
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    *out_failed = parser == NULL;
    for (size_t from = 0; from < wire->len && !*out_failed; from += piece) {
        size_t n = wire->len - from < piece ? wire->len - from : piece;
        yn_reply_feed(parser, wire->data + from, n);
        struct yn_reply *reply;
        enum yn_reply_status status;
        while ((status = yn_reply_next(parser, &reply)) == YN_REPLY_READY) {
            n_replies++;
            yn_reply_free(reply);
        }
        *out_failed = status == YN_REPLY_NOMEM;
        assert_true(*out_failed || status == YN_REPLY_MORE);
    }
    allocs_reset(0, false);
    if (*out_failed && parser != NULL) {
        assert_string_equal(yn_reply_parser_error(parser), "out of memory");
        assert_int_equal(yn_reply_feed(parser, "+OK\r\n", 5), YN_REPLY_NOMEM);
    }
    yn_reply_parser_free(parser);
    return n_replies;
}

static void test_allocation_failure(void **state)
{
    (void)state;
    struct yn_buf wire;
    yn_buf_init(&wire);
    wire_of_everything(&wire);
    size_t pieces[] = {wire.len, 10, 1000};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        bool failed;
        size_t n_all = run_failing(&wire, pieces[i], 0, false, &failed);
        assert_false(failed);
        assert_int_equal(n_all, 16);
        size_t n_failed = 0;
        for (size_t fail_at = 1;; fail_at++) {
            size_t n = run_failing(&wire, pieces[i], fail_at, false, &failed);
            assert_true(failed ? n < n_all : n == n_all);
            n_failed += failed;
            n = run_failing(&wire, pieces[i], fail_at, true, &failed);
            assert_true(failed ? n < n_all : n == n_all);
            if (!failed)
                break;
        }
        assert_true(n_failed >= 20);
    }
    yn_buf_clear(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resp2),
        cmocka_unit_test(test_resp3),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_streamed),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_reported_cases),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_default_depth),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_large_bulk),
        cmocka_unit_test(test_large_streamed_string),
        cmocka_unit_test(test_large_array),
        cmocka_unit_test(test_block_ends),
        cmocka_unit_test(test_no_memory_for_promises),
        cmocka_unit_test(test_many_replies),
        cmocka_unit_test(test_ownership),
        cmocka_unit_test(test_allocation_failure),
    };
    stage = guard_new(64 * KB);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    guard_free(&stage);
    return n_failed;
}
