/*
 * test_bench_shape.c: what a request searches for; answers against a covering search.
 * link: tools
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "resp/write.h"
#include "tools/bench_cover.h"
#include "tools/bench_shape.h"

/* The request of a line of words. */
static struct yn_buf request_of(const char *line)
{
    struct yn_buf out;
    size_t n = 1;
    yn_buf_init(&out);
    for (const char *p = line; *p != '\0'; p++)
        n += *p == ' ';
    yn_write_array(&out, n);
    for (const char *p = line; n > 0; n--) {
        size_t len = strcspn(p, " ");
        yn_write_bulk(&out, (struct yn_bytes){p, len});
        p += len + 1;
    }
    return out;
}

static bool parse(const char *line, struct bench_shape *shape)
{
    struct yn_buf request = request_of(line);
    bool is_fine = bench_shape_parse(shape, request.data, request.len);
    yn_buf_clear(&request);
    return is_fine;
}

static void test_circles_and_boxes(void **state)
{
    (void)state;
    struct bench_shape shape;
    assert_true(parse("GEOSEARCH key FROMLONLAT 7.5 -55 BYRADIUS 200 KM ASC COUNT 10 "
                      "WITHDIST",
                      &shape));
    assert_string_equal(shape.key, "key");
    assert_int_equal(shape.shape.kind, YN_CIRCLE);
    assert_true(shape.shape.center.lon == 7.5 && shape.shape.center.lat == -55);
    assert_true(shape.shape.radius_m == 200e3);
    bench_shape_clear(&shape);

    assert_true(parse("geosearch k BYBOX 30 40 m FROMLONLAT 1 2", &shape));
    assert_int_equal(shape.shape.kind, YN_BOX);
    assert_true(shape.shape.width_m == 30 && shape.shape.height_m == 40);
    assert_true(shape.shape.center.lon == 1 && shape.shape.center.lat == 2);
    bench_shape_clear(&shape);

    assert_true(parse("GEORADIUS k 112 -7 3 km WITHDIST", &shape));
    assert_int_equal(shape.shape.kind, YN_CIRCLE);
    assert_true(shape.shape.center.lat == -7 && shape.shape.radius_m == 3000);
    bench_shape_clear(&shape);
}

static void test_polygons(void **state)
{
    (void)state;
    struct bench_shape shape;
    assert_true(parse("GEOSEARCH k BYPOLYGON 3 1 2 3 4 5 6 DESC", &shape));
    assert_int_equal(shape.shape.kind, YN_POLYGON);
    assert_int_equal(shape.shape.n_vertices, 3);
    assert_true(shape.shape.vertices[2].lon == 5 && shape.shape.vertices[2].lat == 6);
    bench_shape_clear(&shape);
    assert_null(shape.vertices);
}

static void test_other_requests(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "PING",
        "GEOPOS k m",
        "GEOSEARCH k FROMMEMBER m BYRADIUS 1 km",
        "GEOSEARCH k FROMLONLAT 1 2",
        "GEOSEARCH k FROMLONLAT 1 2 BYRADIUS 1",
        "GEOSEARCH k FROMLONLAT 1 2 BYRADIUS x km",
        "GEOSEARCH k FROMLONLAT 1 2 BYRADIUS 1 parsec",
        "GEOSEARCH k BYPOLYGON 3 1 2 3 4 5",
        "GEOSEARCH k BYPOLYGON 2 1 2 3 4",
        "GEORADIUS k 1 2",
        "GEOSEARCH "
        "a-key-with-a-name-that-is-far-too-long-for-anything-that-the-harness-would-use "
        "FROMLONLAT 1 2 BYRADIUS 1 km",
    };
    struct bench_shape shape;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (parse(lines[i], &shape))
            fail_msg("%s", lines[i]);
        assert_null(shape.vertices);
    }
    assert_false(bench_shape_parse(&shape, "*3\r\n$9\r\nGEOSE", 14));
}

/* ---- covering searches ----------------------------------------------------- */

static struct yn_reply *reply_of(const char *text)
{
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    struct yn_reply *reply = NULL;
    assert_non_null(parser);
    yn_reply_feed(parser, text, strlen(text));
    assert_int_equal(yn_reply_next(parser, &reply), YN_REPLY_READY);
    yn_reply_parser_free(parser);
    return reply;
}

#define AT(member, lon, lat) \
    "*2\r\n$1\r\n" member "\r\n*2\r\n$4\r\n" lon "\r\n$4\r\n" lat "\r\n"
#define M(member) "$1\r\n" member "\r\n"

/* An L: the square of 0..4 without that of 2..4. */
static const struct yn_point corners[] = {{0, 0}, {4, 0}, {4, 2}, {2, 2}, {2, 4}, {0, 4}};

/* Is the answer right? error: what is said else. */
static bool covers(const char *ours, const char *theirs, char error[200])
{
    const struct yn_shape polygon = {
        .kind = YN_POLYGON, .vertices = corners, .n_vertices = 6};
    struct yn_reply *a = reply_of(ours), *b = reply_of(theirs);
    error[0] = '\0';
    bool is_right = bench_cover_check(a, b, &polygon, error, 200);
    yn_reply_free(a);
    yn_reply_free(b);
    return is_right;
}

static void test_cover(void **state)
{
    (void)state;
    static const char theirs[] = "*5\r\n" AT("a", "1.00", "1.00") AT("b", "3.00", "1.00")
        AT("c", "3.00", "3.00") AT("d", "1.00", "3.00") AT("e", "9.00", "1.00");
    char error[200];
    assert_true(covers("*3\r\n" M("d") M("a") M("b"), theirs, error));
    assert_string_equal(error, "");

    assert_false(covers("*2\r\n" M("a") M("b"), theirs, error));
    assert_string_equal(
        error, "member d at 1.000000000 3.000000000 is missing and inside the polygon");
    assert_false(covers("*4\r\n" M("a") M("b") M("c") M("d"), theirs, error));
    assert_non_null(
        strstr(error, "member c at 3.000000000 3.000000000 is in the answer"));
    assert_false(covers("*4\r\n" M("a") M("b") M("d") M("x"), theirs, error));
    assert_string_equal(error, "1 members are not in the covering search");
    assert_false(covers("*4\r\n" M("a") M("b") M("d") M("a"), theirs, error));
    assert_string_equal(error, "member twice: a");
    assert_false(covers("*0\r\n", "*1\r\n" M("a"), error));
    assert_true(covers("*0\r\n", "*0\r\n", error));
    assert_true(covers("*0\r\n", "*1\r\n" AT("c", "3.00", "3.00"), error));
}

/* A member on an edge may be in or out. */
static void test_edges(void **state)
{
    (void)state;
    char error[200];
    static const char on[] = "*1\r\n" AT("a", "2.00", "3.00");
    assert_true(covers("*1\r\n" M("a"), on, error));
    assert_true(covers("*0\r\n", on, error));
    static const char corner[] = "*1\r\n" AT("a", "4.00", "0.00");
    assert_true(covers("*1\r\n" M("a"), corner, error));
    assert_true(covers("*0\r\n", corner, error));
    static const char near[] =
        "*1\r\n*2\r\n$1\r\na\r\n*2\r\n$8\r\n1.999990\r\n$1\r\n3\r\n";
    assert_true(covers("*1\r\n" M("a"), near, error));
    assert_false(covers("*0\r\n", near, error)); /* two cells inside */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_circles_and_boxes),
        cmocka_unit_test(test_polygons),
        cmocka_unit_test(test_other_requests),
        cmocka_unit_test(test_cover),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
