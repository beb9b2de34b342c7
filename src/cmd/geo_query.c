/*
 * geo_query.c: parsing of the search commands' arguments.
 *
 * Arguments are checked from left to right, and the first wrong one decides the
 * error; what involves several of them is checked at the end (finish), in a
 * fixed order. Three groups of words share the work: options that every search
 * has (parse_common), the destination of the GEORADIUS family, and the clauses
 * of GEOSEARCH, of which FROMMEMBER and FROMLONLAT exclude each other, BYRADIUS
 * and BYBOX exclude each other, and BYPOLYGON excludes all four. A repeated
 * clause replaces the earlier one.
 */
#include "cmd/geo_query.h"

#include <limits.h>
#include <math.h>

#include "core/num.h"

#define ERR_UNIT "ERR unsupported unit provided. please use M, KM, FT, MI"
#define ERR_NO_MEMBER "ERR could not decode requested zset member"
#define ERR_VERTICES "ERR GEOSEARCH BYPOLYGON must have at least 3 vertices"

/* Which clauses of GEOSEARCH were given. */
enum clause {
    FROM_MEMBER = 1,
    FROM_LONLAT = 2,
    BY_RADIUS = 4,
    BY_BOX = 8,
    BY_POLYGON = 16,
    ANY_FROM = FROM_MEMBER | FROM_LONLAT,
    ANY_BY = BY_RADIUS | BY_BOX,
};

/* One parse: the query under construction and what only the end of it needs. */
struct parser {
    struct geo_query *query;
    struct cmd_args *args;
    const struct yn_zset *set;
    unsigned clauses;
    bool is_sorted;
};

/* ---- values ---- */

bool geo_query_parse_unit(struct cmd_args *args, double *out_unit_m)
{
    static const struct {
        const char *name;
        double unit_m;
    } units[] = {{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}};

    struct yn_bytes word;
    if (!cmd_args_word(args, &word))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (cmd_word_is(word, units[i].name)) {
            *out_unit_m = units[i].unit_m;
            return true;
        }
    }
    return cmd_args_fail(args, ERR_UNIT);
}

bool geo_query_parse_point(struct cmd_args *args, struct yn_point *out_point)
{
    if (!cmd_args_double(args, CMD_ERR_FLOAT, &out_point->lon) ||
        !cmd_args_double(args, CMD_ERR_FLOAT, &out_point->lat))
        return false;
    return yn_point_is_valid(*out_point) ||
           cmd_args_fail_format(args, "ERR invalid longitude,latitude pair %f,%f",
                                out_point->lon, out_point->lat);
}

/* radius unit */
static bool parse_circle(struct geo_query *query, struct cmd_args *args)
{
    double radius;
    if (!cmd_args_double(args, "ERR need numeric radius", &radius))
        return false;
    if (radius < 0)
        return cmd_args_fail(args, "ERR radius cannot be negative");
    if (!geo_query_parse_unit(args, &query->unit_m))
        return false;
    query->search.shape.kind = YN_CIRCLE;
    query->search.shape.radius_m = radius * query->unit_m;
    return true;
}

/* width height unit */
static bool parse_box(struct geo_query *query, struct cmd_args *args)
{
    double width, height;
    if (!cmd_args_double(args, "ERR need numeric width", &width) ||
        !cmd_args_double(args, "ERR need numeric height", &height))
        return false;
    if (width < 0 || height < 0)
        return cmd_args_fail(args, "ERR height or width cannot be negative");
    if (!geo_query_parse_unit(args, &query->unit_m))
        return false;
    query->search.shape.kind = YN_BOX;
    query->search.shape.width_m = width * query->unit_m;
    query->search.shape.height_m = height * query->unit_m;
    return true;
}

/* n longitude latitude ... */
static bool parse_polygon(struct geo_query *query, struct cmd_args *args)
{
    const char *not_a_number = "ERR invalid number of vertices";
    int64_t n;
    if (!cmd_args_int64(args, not_a_number, &n))
        return false;
    if (n < INT_MIN || n > INT_MAX)
        return cmd_args_fail(args, not_a_number);
    if (n < 3 || (uint64_t)n > cmd_args_left(args) / 2)
        return cmd_args_fail(args, ERR_VERTICES);

    struct yn_point *vertices = cmd_arena_take(args->arena, (size_t)n * sizeof *vertices);
    if (vertices == NULL)
        return cmd_args_fail(args, CMD_ERR_NOMEM);
    /* all at once; the first that is wrong is read again for its error */
    size_t n_read =
        yn_num_parse_doubles(args->argv + args->at, (size_t)n * 2, &vertices[0].lon) / 2;
    size_t n_valid = 0;
    while (n_valid < n_read && fabs(vertices[n_valid].lon) <= YN_LON_MAX_DEG &&
           fabs(vertices[n_valid].lat) <= YN_LAT_MAX_DEG)
        n_valid++;
    args->at += n_valid * 2;
    if (n_valid < (size_t)n)
        return geo_query_parse_point(args, &vertices[n_valid]);
    query->search.shape.kind = YN_POLYGON;
    query->search.shape.vertices = vertices;
    query->search.shape.n_vertices = (size_t)n;
    query->unit_m = 1;
    return true;
}

/* A member as the centre. Without a key any will do: nothing will be found. */
static bool parse_member(struct parser *p)
{
    struct yn_bytes member;
    double score;
    if (!cmd_args_word(p->args, &member))
        return false;
    if (p->set == NULL)
        return true;
    if (!yn_zset_find(p->set, member, &score))
        return cmd_args_fail(p->args, ERR_NO_MEMBER);
    p->query->search.shape.center = yn_score_decode(score);
    return true;
}

static bool parse_count(struct parser *p)
{
    int64_t count;
    if (!cmd_args_int64(p->args, CMD_ERR_INTEGER, &count))
        return false;
    if (count <= 0)
        return cmd_args_fail(p->args, "ERR COUNT must be > 0");
    p->query->search.limit = (size_t)count;
    return true;
}

static void set_order(struct parser *p, enum yn_order order)
{
    p->query->search.order = order;
    p->is_sorted = true;
}

/* ---- words ----
 * Each of these takes the next word, with what belongs to it, if it is one of its own.
 * They return false when it is not; whether the values were right is the cursor's to
 * know. */

static bool parse_common(struct parser *p)
{
    struct geo_query *query = p->query;
    if (cmd_args_option(p->args, "withdist", 0))
        query->with_dist = true;
    else if (cmd_args_option(p->args, "withhash", 0))
        query->with_hash = true;
    else if (cmd_args_option(p->args, "withcoord", 0))
        query->with_coord = true;
    else if (cmd_args_option(p->args, "any", 0))
        query->search.any = true;
    else if (cmd_args_option(p->args, "asc", 0))
        set_order(p, YN_ORDER_ASC);
    else if (cmd_args_option(p->args, "desc", 0))
        set_order(p, YN_ORDER_DESC);
    else if (cmd_args_option(p->args, "count", 1))
        parse_count(p);
    else
        return false;
    return true;
}

static bool parse_store(struct parser *p)
{
    if (cmd_args_option(p->args, "store", 1))
        p->query->stores_dist = false;
    else if (cmd_args_option(p->args, "storedist", 1))
        p->query->stores_dist = true;
    else
        return false;
    p->query->is_store = true;
    cmd_args_word(p->args, &p->query->store_key);
    return true;
}

/* True if the next word is this clause, has its values, and goes with those before it. */
static bool clause_fits(struct parser *p, const char *name, size_t n_values,
                        enum clause clause, unsigned excluded)
{
    if ((p->clauses & excluded) != 0 || !cmd_args_option(p->args, name, n_values))
        return false;
    p->clauses |= clause;
    return true;
}

static bool parse_clause(struct parser *p)
{
    if (clause_fits(p, "frommember", 1, FROM_MEMBER, FROM_LONLAT | BY_POLYGON))
        parse_member(p);
    else if (clause_fits(p, "fromlonlat", 2, FROM_LONLAT, FROM_MEMBER | BY_POLYGON))
        geo_query_parse_point(p->args, &p->query->search.shape.center);
    else if (clause_fits(p, "byradius", 2, BY_RADIUS, BY_BOX | BY_POLYGON))
        parse_circle(p->query, p->args);
    else if (clause_fits(p, "bybox", 3, BY_BOX, BY_RADIUS | BY_POLYGON))
        parse_box(p->query, p->args);
    else if (clause_fits(p, "bypolygon", 1, BY_POLYGON, ANY_FROM | ANY_BY))
        parse_polygon(p->query, p->args);
    else
        return false;
    return true;
}

/* ---- commands ---- */

static void init(struct parser *p, struct geo_query *query, struct cmd_args *args,
                 const struct yn_zset *set)
{
    *query = (struct geo_query){.search.order = YN_ORDER_CELLS, .unit_m = 1};
    *p = (struct parser){.query = query, .args = args, .set = set};
}

/* What is left once the clauses of GEOSEARCH are known to be complete. */
static bool finish(struct parser *p)
{
    struct yn_query *search = &p->query->search;
    if (search->any && search->limit == 0)
        return cmd_args_fail(p->args, "ERR the ANY argument requires COUNT argument");

    /* The nearest ones are meant when only a number is given. A set keeps no order, so
     * sorting matters to a STORE only where it decides who is cut off. */
    if (search->limit > 0 && !search->any && !p->is_sorted)
        search->order = YN_ORDER_ASC;
    if (p->query->is_store && (search->limit == 0 || search->any))
        search->order = YN_ORDER_CELLS;
    return true;
}

static bool parse_georadius_options(struct parser *p, bool allows_store)
{
    while (cmd_args_left(p->args) > 0) {
        if (!parse_common(p) && !(allows_store && parse_store(p)))
            return cmd_args_fail(p->args, CMD_ERR_SYNTAX);
    }
    if (cmd_args_failed(p->args))
        return false;
    if (p->query->is_store && geo_query_has_with(p->query))
        return cmd_args_fail(p->args,
                             "ERR STORE option in GEORADIUS is not compatible with "
                             "WITHDIST, WITHHASH and WITHCOORD options");
    return finish(p);
}

bool geo_query_parse_georadius(struct geo_query *query, struct cmd_args *args,
                               bool allows_store)
{
    struct parser p;
    init(&p, query, args, NULL);
    return geo_query_parse_point(args, &query->search.shape.center) &&
           parse_circle(query, args) && parse_georadius_options(&p, allows_store);
}

bool geo_query_parse_bymember(struct geo_query *query, struct cmd_args *args,
                              const struct yn_zset *set, bool allows_store)
{
    struct parser p;
    init(&p, query, args, set);
    if (!parse_member(&p))
        return false;
    if (set == NULL)
        args->at += 2; /* without a key radius and unit are not looked at */
    else if (!parse_circle(query, args))
        return false;
    return parse_georadius_options(&p, allows_store);
}

/* The GEOSEARCH commands name themselves in errors as the client wrote it. */
static bool fail_missing_clause(struct cmd_args *args, const char *clauses)
{
    return cmd_args_fail_format(args, "ERR exactly one of %s can be specified for %.*s",
                                clauses, (int)args->argv[0].len, args->argv[0].data);
}

bool geo_query_parse_geosearch(struct geo_query *query, struct cmd_args *args,
                               const struct yn_zset *set, bool is_store)
{
    struct parser p;
    init(&p, query, args, set);
    query->is_store = is_store;
    while (cmd_args_left(args) > 0) {
        if (parse_common(&p) || parse_clause(&p))
            continue;
        if (!is_store || !cmd_args_option(args, "storedist", 0))
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        query->stores_dist = true;
    }
    if (cmd_args_failed(args))
        return false;
    if (is_store && geo_query_has_with(query))
        return cmd_args_fail(args, "ERR GEOSEARCHSTORE is not compatible with "
                                   "WITHDIST, WITHHASH and WITHCOORD options");
    if ((p.clauses & (ANY_FROM | BY_POLYGON)) == 0)
        return fail_missing_clause(args, "FROMMEMBER or FROMLONLAT");
    if ((p.clauses & (ANY_BY | BY_POLYGON)) == 0)
        return fail_missing_clause(args, "BYRADIUS and BYBOX");
    return finish(&p);
}
