/* The arguments of searches: what they become, and the first error that is found. */
#include "cmd/geo_query.h"

#include <math.h>

#include "check_reply.h"

#define WORDS_MAX 40

/* One parse of a line of words. */
struct parse {
    struct cmd_arena *arena;
    struct yn_zset *set; /* holds Palermo */
    struct cmd_args args;
    struct geo_query query;
    struct yn_bytes argv[WORDS_MAX];
};

static int setup(void **state)
{
    struct parse *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->arena = cmd_arena_new();
    p->set = yn_zset_new(NULL);
    assert_non_null(p->arena);
    assert_non_null(p->set);
    assert_int_equal(
        yn_zset_put(p->set, (struct yn_bytes){"Palermo", 7}, 3479099956230698, NULL),
        YN_OK);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct parse *p = *state;
    yn_zset_free(p->set);
    cmd_arena_free(p->arena);
    free(p);
    return 0;
}

static void start(struct parse *p, const char *line)
{
    struct cmd_call call = {.arena = p->arena, .argv = p->argv};
    while (*line != '\0') {
        size_t len = strcspn(line, " ");
        assert_true(call.argc < WORDS_MAX);
        p->argv[call.argc++] = (struct yn_bytes){line, len};
        line += len + (line[len] == ' ');
    }
    cmd_args_init(&p->args, &call, 2);
}

static bool geosearch(struct parse *p, const char *line)
{
    start(p, line);
    return geo_query_parse_geosearch(&p->query, &p->args, p->set, false);
}

static bool georadius(struct parse *p, const char *line)
{
    start(p, line);
    return geo_query_parse_georadius(&p->query, &p->args, true);
}

static void expect_error(struct parse *p, bool is_parsed, const char *error)
{
    assert_false(is_parsed);
    assert_true(cmd_args_failed(&p->args));
    char text[256];
    snprintf(text, sizeof text, "%.*s", (int)p->args.error.len, p->args.error.data);
    assert_string_equal(text, error);
}

static void test_circle(void **state)
{
    struct parse *p = *state;
    assert_true(geosearch(p, "geosearch k fromlonlat 15 37 BYRADIUS 200 km WITHDIST"));
    assert_int_equal(p->query.search.shape.kind, YN_CIRCLE);
    assert_true(p->query.search.shape.center.lon == 15 &&
                p->query.search.shape.center.lat == 37);
    assert_true(p->query.search.shape.radius_m == 200000);
    assert_true(p->query.unit_m == 1000);
    assert_int_equal(p->query.search.order, YN_ORDER_CELLS);
    assert_true(p->query.with_dist && !p->query.with_coord && !p->query.with_hash);
    assert_true(geosearch(p, "geosearch k BYRADIUS inf mi FROMMEMBER Palermo"));
    assert_true(isinf(p->query.search.shape.radius_m));
    assert_true(fabs(p->query.search.shape.center.lon - 13.361389) < 1e-5);
}

static void test_box(void **state)
{
    struct parse *p = *state;
    assert_true(geosearch(p, "g k BYBOX 2 3 ft FROMLONLAT 0 0 desc count 7"));
    assert_int_equal(p->query.search.shape.kind, YN_BOX);
    assert_true(p->query.search.shape.width_m == 2 * 0.3048);
    assert_true(p->query.search.shape.height_m == 3 * 0.3048);
    assert_int_equal(p->query.search.order, YN_ORDER_DESC);
    assert_int_equal(p->query.search.limit, 7);
    assert_true(geosearch(p, "g k BYBOX 2 3 mi FROMLONLAT 0 0 BYBOX 1 1 mi"));
    assert_true(p->query.search.shape.width_m == 1609.34);
}

static void test_polygon(void **state)
{
    struct parse *p = *state;
    assert_true(
        geosearch(p, "g k BYPOLYGON 3 -1 -1 1 -1 0 1 BYPOLYGON 4 0 0 5 0 5 5 0 5"));
    assert_int_equal(p->query.search.shape.kind, YN_POLYGON);
    assert_int_equal(p->query.search.shape.n_vertices, 4);
    assert_true(p->query.search.shape.vertices[2].lat == 5);
    assert_true(p->query.unit_m == 1);
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 1 -1 0 1 FROMLONLAT 0 0"),
                 "ERR syntax error");
    expect_error(p, geosearch(p, "g k BYRADIUS 1 m BYPOLYGON 3 -1 -1 1 -1 0 1"),
                 "ERR syntax error");
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 1 -1 0"),
                 "ERR GEOSEARCH BYPOLYGON must have at least 3 vertices");
    expect_error(p, geosearch(p, "g k BYPOLYGON 2147483648 -1 -1 1 -1 0 1"),
                 "ERR invalid number of vertices");
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 1 x 0 1"),
                 "ERR value is not a valid float");
    /* the first wrong one from the left decides */
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 181 0 x 1"),
                 "ERR invalid longitude,latitude pair 181.000000,0.000000");
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 x 0 181 1"),
                 "ERR value is not a valid float");
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 181 x 0 1"),
                 "ERR value is not a valid float");
    expect_error(p, geosearch(p, "g k BYPOLYGON 3 -1 -1 0 1 0 -86 ASC"),
                 "ERR invalid longitude,latitude pair 0.000000,-86.000000");
    expect_error(p, geosearch(p, "g k ASC BYPOLYGON"), "ERR syntax error");
}

/* COUNT without a direction means the nearest ones; with ANY it does not sort. */
static void test_order(void **state)
{
    struct parse *p = *state;
    assert_true(geosearch(p, "g k FROMLONLAT 0 0 BYRADIUS 1 m COUNT 5"));
    assert_int_equal(p->query.search.order, YN_ORDER_ASC);
    assert_true(geosearch(p, "g k FROMLONLAT 0 0 BYRADIUS 1 m ANY COUNT 5"));
    assert_int_equal(p->query.search.order, YN_ORDER_CELLS);
    assert_true(p->query.search.any);
    assert_true(geosearch(p, "g k FROMLONLAT 0 0 BYRADIUS 1 m ANY COUNT 5 DESC ASC"));
    assert_int_equal(p->query.search.order, YN_ORDER_ASC);
    /* a destination keeps no order */
    assert_true(georadius(p, "g k 0 0 1 m DESC STORE d"));
    assert_int_equal(p->query.search.order, YN_ORDER_CELLS);
    assert_true(georadius(p, "g k 0 0 1 m DESC COUNT 2 STORE d"));
    assert_int_equal(p->query.search.order, YN_ORDER_DESC);
}

static void test_store(void **state)
{
    struct parse *p = *state;
    assert_true(georadius(p, "g k 0 0 1 m STORE a STOREDIST b"));
    assert_true(p->query.is_store && p->query.stores_dist);
    assert_memory_equal(p->query.store_key.data, "b", 1);
    assert_true(georadius(p, "g k 0 0 1 m STOREDIST b STORE a"));
    assert_false(p->query.stores_dist);
    assert_memory_equal(p->query.store_key.data, "a", 1);
    expect_error(p, georadius(p, "g k 0 0 1 m STORE"), "ERR syntax error");
    expect_error(
        p, georadius(p, "g k 0 0 1 m STORE a WITHCOORD"),
        "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and "
        "WITHCOORD options");
    start(p, "g k 0 0 1 m STORE a");
    expect_error(p, geo_query_parse_georadius(&p->query, &p->args, false),
                 "ERR syntax error");
    start(p, "gss d FROMLONLAT 0 0 BYRADIUS 1 m STOREDIST");
    assert_true(geo_query_parse_geosearch(&p->query, &p->args, p->set, true));
    assert_true(p->query.is_store && p->query.stores_dist);
}

/* The first wrong word decides; what involves several is checked at the end, in order. */
static void test_error_order(void **state)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"g k FROMLONLAT x 0 BYRADIUS y m", "ERR value is not a valid float"},
        {"g k FROMLONLAT 181 0 BYRADIUS y m",
         "ERR invalid longitude,latitude pair 181.000000,0.000000"},
        {"g k FROMLONLAT 0 0 BYRADIUS y q", "ERR need numeric radius"},
        {"g k FROMLONLAT 0 0 BYRADIUS -1 q", "ERR radius cannot be negative"},
        {"g k FROMLONLAT 0 0 BYRADIUS 1 q",
         "ERR unsupported unit provided. please use M, KM, FT, MI"},
        {"g k FROMLONLAT 0 0 BYBOX x y m", "ERR need numeric width"},
        {"g k FROMLONLAT 0 0 BYBOX -1 y m", "ERR need numeric height"},
        {"g k FROMLONLAT 0 0 BYBOX -1 1 q", "ERR height or width cannot be negative"},
        {"g k FROMLONLAT 0 0 BYBOX 1 1", "ERR syntax error"},
        {"g k FROMLONLAT 0 0 FROMMEMBER Palermo BYRADIUS 1 m", "ERR syntax error"},
        {"g k FROMMEMBER nobody BYRADIUS 1 q",
         "ERR could not decode requested zset member"},
        {"g k BYRADIUS 1 q FROMMEMBER nobody",
         "ERR unsupported unit provided. please use M, KM, FT, MI"},
        {"g k FROMLONLAT 0 0 BYRADIUS 1 m BYBOX 1 1 m", "ERR syntax error"},
        {"g k COUNT x COUNT 0", "ERR value is not an integer or out of range"},
        {"g k COUNT 0 COUNT x", "ERR COUNT must be > 0"},
        {"g k COUNT", "ERR syntax error"},
        {"gEo k ANY BYRADIUS 1 m",
         "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for gEo"},
        {"gEo k ANY FROMLONLAT 0 0",
         "ERR exactly one of BYRADIUS and BYBOX can be specified for gEo"},
        {"g k ANY FROMLONLAT 0 0 BYRADIUS 1 m",
         "ERR the ANY argument requires COUNT argument"},
        {"g k FROMLONLAT 0 0 BYRADIUS 1 m STORE d", "ERR syntax error"},
        {"g k FROMLONLAT 0 0 BYRADIUS 1 m STOREDIST", "ERR syntax error"},
        {"g k", "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for g"},
    };
    struct parse *p = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_error(p, geosearch(p, cases[i].line), cases[i].error);
    start(p, "gss d WITHDIST");
    expect_error(
        p, geo_query_parse_geosearch(&p->query, &p->args, p->set, true),
        "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD "
        "options");
}

/* A key that does not exist: members are not looked up, and GEORADIUSBYMEMBER looks at
 * neither radius nor unit. */
static void test_missing_key(void **state)
{
    struct parse *p = *state;
    start(p, "g k FROMMEMBER nobody BYRADIUS 1 m");
    assert_true(geo_query_parse_geosearch(&p->query, &p->args, NULL, false));
    start(p, "g k FROMMEMBER nobody BYRADIUS x m");
    expect_error(p, geo_query_parse_geosearch(&p->query, &p->args, NULL, false),
                 "ERR need numeric radius");
    start(p, "g k nobody x y WITHDIST");
    assert_true(geo_query_parse_bymember(&p->query, &p->args, NULL, true));
    start(p, "g k nobody x y z");
    expect_error(p, geo_query_parse_bymember(&p->query, &p->args, NULL, true),
                 "ERR syntax error");
    start(p, "g k nobody 1 m");
    expect_error(p, geo_query_parse_bymember(&p->query, &p->args, p->set, true),
                 "ERR could not decode requested zset member");
    start(p, "g k Palermo x m");
    expect_error(p, geo_query_parse_bymember(&p->query, &p->args, p->set, true),
                 "ERR need numeric radius");
}

#define query_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        query_test(test_circle),      query_test(test_box),
        query_test(test_polygon),     query_test(test_order),
        query_test(test_store),       query_test(test_error_order),
        query_test(test_missing_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
