/*
 * fuzz_request.c: the request parser over any bytes.
 *
 * The first two bytes choose the limits and how the rest is cut. What is understood must
 * not depend on the cut, and a request that is written again must read the same.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "resp/request.h"
#include "resp/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right, const char *what)
{
    if (is_right)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* A copy that ends where its block ends, so that a sanitizer sees a read past it. */
static char *copy_new(const char *bytes, size_t len)
{
    char *copy = malloc(len > 0 ? len : 1);
    check(copy != NULL, "out of memory");
    if (len > 0)
        memcpy(copy, bytes, len);
    return copy;
}

static void check_written_again(size_t argc, const struct yn_bytes *argv)
{
    static const struct yn_request_limits limits = {INT_MAX, INT64_MAX, 64, true};
    struct yn_buf wire;
    yn_buf_init(&wire);
    yn_write_command(&wire, argc, argv);
    struct yn_request req;
    yn_request_init(&req);
    check(yn_request_parse(&req, wire.data, wire.len, &limits) == YN_REQUEST_DONE,
          "a written request is not understood");
    check(req.used == wire.len && req.argc == argc,
          "a written request reads differently");
    const struct yn_bytes *again = yn_request_argv(&req, wire.data);
    for (size_t i = 0; i < argc; i++)
        check(again[i].len == argv[i].len &&
                  (argv[i].len == 0 ||
                   memcmp(again[i].data, argv[i].data, argv[i].len) == 0),
              "an argument reads differently");
    yn_request_clear(&req);
    yn_buf_clear(&wire);
}

/* Parses all requests; the bytes arrive in pieces whose lengths follow from seed (0: all
 * at once). What was understood goes to log. */
static void parse_all(const char *bytes, size_t len, unsigned seed,
                      const struct yn_request_limits *limits, struct yn_buf *log)
{
    struct yn_request req;
    yn_request_init(&req);
    size_t from = 0;
    size_t to = seed == 0 ? len : 0;
    enum yn_request_status status;
    do {
        char *piece = copy_new(bytes + from, to - from);
        status = yn_request_parse(&req, piece, to - from, limits);
        if (status == YN_REQUEST_DONE) {
            const struct yn_bytes *argv = yn_request_argv(&req, piece);
            yn_write_command(log, req.argc, argv);
            check_written_again(req.argc, argv);
        }
        free(piece);
        if (status == YN_REQUEST_DONE || status == YN_REQUEST_EMPTY) {
            check(req.used > 0 && req.used <= to - from, "used is out of range");
            from += req.used;
            yn_write_integer(log, (int64_t)from);
            yn_request_next(&req);
        } else if (status == YN_REQUEST_MORE) {
            check(req.need == 0 || req.need > to - from, "need is there already");
            if (to == len)
                break;
            seed = seed * 1664525 + 1013904223;
            size_t piece_len = 1 + (seed >> 16) % (seed >> 31 ? 8 : 200);
            to = len - to < piece_len ? len : to + piece_len;
        }
    } while (status != YN_REQUEST_ERROR);
    if (status == YN_REQUEST_ERROR)
        yn_write_error(log, (struct yn_bytes){req.error, strlen(req.error)});
    yn_request_clear(&req);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct yn_request_limits limits = {
        .max_args = data[0] & 1 ? 100 : INT_MAX,
        .max_bulk_len = data[0] & 2 ? 100 : INT64_C(512) * 1024 * 1024,
        .max_inline_len = data[0] & 4 ? 40 : 65536,
        .authenticated = !(data[0] & 8),
    };
    unsigned seed = 1u + data[1] + 256u * (data[0] >> 4);
    const char *bytes = (const char *)data + 2;
    struct yn_buf whole;
    struct yn_buf cut;
    yn_buf_init(&whole);
    yn_buf_init(&cut);
    parse_all(bytes, size - 2, 0, &limits, &whole);
    parse_all(bytes, size - 2, seed, &limits, &cut);
    check(whole.len == cut.len &&
              (whole.len == 0 || memcmp(whole.data, cut.data, whole.len) == 0),
          "the cut changes what is understood");
    yn_buf_clear(&whole);
    yn_buf_clear(&cut);
    return 0;
}
