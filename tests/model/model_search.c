/*
 * model_search.c: random searches against brute force over all members.
 *
 * Every data set is searched with random circles, boxes and polygons, in every order,
 * with and without limits, while members are added, moved and removed; frozen views are
 * searched after the set has changed and must give the old answers. The expected answer
 * comes from the exact predicate applied to every member's decoded position, and from
 * sorting: no part of the index is used for it (but the nine cells, which are compared
 * with redis-server elsewhere, give the unsorted order).
 */
#include "model.h"

#include "core/geohash.h"
#include "core/leaf.h"

#define SIZE_LARGE 3000

struct point {
    char name[24];
    size_t len;
    double score;
    struct yn_point at;
    double distance_m; /* of the search under way */
    int rank;          /* cell number of the search under way */
};

struct data {
    struct point *points;
    size_t n;
};

enum kind {
    UNIFORM,
    CLUSTERED,
    NORTH_POLE,
    SOUTH_POLE,
    ANTIMERIDIAN,
    LIMITS,
    ONE_PLACE,
    FEW_PLACES,
    LATTICE,
    ODD_SCORES,
    ONE_CELL_ROW,
    CITY,
    N_KINDS
};

static struct yn_bytes name_of(const struct point *p)
{
    return (struct yn_bytes){p->name, p->len};
}

/* ---- data ---- */

static double clamp(double x, double limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

static double lattice_score(struct rng *rng)
{
    /* corners and neighbours of large cells: indices around multiples of a power of two
     */
    uint32_t step = (uint32_t)1 << (10 + rng_below(rng, 16));
    uint32_t lat = (uint32_t)rng_below(rng, ((1u << 26) / step) + 1) * step;
    uint32_t lon = (uint32_t)rng_below(rng, ((1u << 26) / step) + 1) * step;
    lat = (uint32_t)(lat - rng_below(rng, 2)) & 0x3ffffff;
    lon = (uint32_t)(lon - rng_below(rng, 2)) & 0x3ffffff;
    return (double)yn_cell_interleave(lat, lon);
}

static double odd_score(struct rng *rng)
{
    static const double odd[] = {-1,
                                 0.5,
                                 -0.0,
                                 1e300,
                                 -1e300,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 3377699720527872.5,
                                 4503599627370496.0,
                                 9007199254740992.0,
                                 18014398509481984.0,
                                 13510798882111488.0,
                                 -3.5,
                                 1e17};
    if (rng_below(rng, 3) == 0)
        return odd[rng_below(rng, sizeof odd / sizeof odd[0])];
    return (double)(rng_next(rng) >> 11) * (rng_below(rng, 2) ? 1 : -0.25);
}

static struct yn_point random_place(struct rng *rng, enum kind kind)
{
    const double top = YN_LAT_MAX_DEG;
    struct yn_point p = {rng_between(rng, -180, 180), rng_between(rng, -top, top)};
    switch (kind) {
    case CLUSTERED: {
        double lon = -170 + 340 * (double)rng_below(rng, 7) / 6;
        double lat = -80 + 160 * (double)rng_below(rng, 5) / 4;
        double spread = pow(10, rng_between(rng, -5, 0.5));
        p = (struct yn_point){lon + rng_between(rng, -spread, spread),
                              lat + rng_between(rng, -spread, spread)};
        break;
    }
    case NORTH_POLE:
        p.lat = top - pow(10, rng_between(rng, -6, 1));
        break;
    case SOUTH_POLE:
        p.lat = -top + pow(10, rng_between(rng, -6, 1));
        break;
    case ANTIMERIDIAN:
        p.lon = (rng_below(rng, 2) ? 1 : -1) * (180 - pow(10, rng_between(rng, -7, 1)));
        break;
    case LIMITS:
        if (rng_below(rng, 2))
            p.lon = rng_below(rng, 2) ? 180 : -180;
        if (rng_below(rng, 2))
            p.lat = rng_below(rng, 2) ? top : -top;
        break;
    case ONE_PLACE:
        p = (struct yn_point){2.35, 48.85};
        break;
    case FEW_PLACES:
        p = (struct yn_point){-180 + 60 * (double)rng_below(rng, 7),
                              -80 + 40 * (double)rng_below(rng, 5)};
        break;
    case ONE_CELL_ROW:
        p = (struct yn_point){rng_between(rng, -180, 180), 1e-6};
        break;
    case CITY:
        p = (struct yn_point){2.35 + rng_between(rng, -0.05, 0.05),
                              48.85 + rng_between(rng, -0.05, 0.05)};
        break;
    default:
        break;
    }
    return (struct yn_point){clamp(p.lon, 180), clamp(p.lat, top)};
}

static double random_score(struct rng *rng, enum kind kind)
{
    if (kind == LATTICE)
        return lattice_score(rng);
    if (kind == ODD_SCORES)
        return odd_score(rng);
    return yn_score_encode(random_place(rng, kind));
}

static void set_score(struct point *p, double score)
{
    p->score = score;
    p->at = yn_score_decode(score);
}

static void fill(struct rng *rng, struct yn_zset *set, struct data *data, enum kind kind,
                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct point *p = &data->points[data->n++];
        p->len =
            (size_t)snprintf(p->name, sizeof p->name, kind % 2 ? "%zu" : "m%07zu", i + 1);
        set_score(p, random_score(rng, kind));
        if (yn_zset_put(set, name_of(p), p->score, NULL) != YN_OK)
            MODEL_FAIL("put");
    }
}

static void change(struct rng *rng, struct yn_zset *set, struct data *data,
                   enum kind kind, size_t *next_id)
{
    if (data->n > 0 && rng_below(rng, 3) == 0) {
        size_t i = rng_below(rng, data->n);
        yn_zset_remove(set, name_of(&data->points[i]), NULL);
        data->points[i] = data->points[--data->n];
    } else if (data->n > 0 && rng_below(rng, 2)) {
        struct point *p = &data->points[rng_below(rng, data->n)];
        set_score(p, random_score(rng, kind));
        yn_zset_put(set, name_of(p), p->score, NULL);
    } else if (data->n < SIZE_LARGE) {
        struct point *p = &data->points[data->n++];
        p->len = (size_t)snprintf(p->name, sizeof p->name, "n%zu", (*next_id)++);
        set_score(p, random_score(rng, kind));
        yn_zset_put(set, name_of(p), p->score, NULL);
    }
}

/* ---- queries ---- */

static double random_size_m(struct rng *rng)
{
    switch (rng_below(rng, 12)) {
    case 0:
        return 0;
    case 1:
        return (double)INFINITY;
    case 2:
        return rng_between(rng, 1.9e7, 4.1e7);
    default:
        return pow(10, rng_between(rng, -1, 7.5));
    }
}

#define VERTICES_MAX 60
static struct yn_point vertices[VERTICES_MAX];

static void random_polygon(struct rng *rng, struct yn_shape *shape)
{
    size_t n = 3 + rng_below(rng, rng_below(rng, 3) ? 12 : VERTICES_MAX - 2);
    double spread = pow(10, rng_between(rng, -4, 2.3));
    bool is_snapped = rng_below(rng, 3) == 0;
    for (size_t i = 0; i < n; i++) {
        double lon = shape->center.lon + rng_between(rng, -spread, spread);
        double lat = shape->center.lat + rng_between(rng, -spread, spread);
        if (is_snapped) {
            lon = round(lon);
            lat = round(lat);
        }
        vertices[i] = (struct yn_point){clamp(lon, 180), clamp(lat, YN_LAT_MAX_DEG)};
    }
    shape->vertices = vertices;
    shape->n_vertices = n;
}

static struct yn_query random_query(struct rng *rng, const struct data *data,
                                    enum kind kind)
{
    struct yn_query query = {.shape = {.kind = (enum yn_shape_kind)rng_below(rng, 3)}};
    struct yn_shape *shape = &query.shape;
    const struct point *p = data->n > 0 ? &data->points[rng_below(rng, data->n)] : NULL;
    switch (rng_below(rng, 3)) {
    case 0:
        shape->center = random_place(rng, kind);
        break;
    case 1:
        shape->center = random_place(rng, UNIFORM);
        break;
    default:
        shape->center = p != NULL ? p->at : random_place(rng, kind);
    }
    shape->radius_m = random_size_m(rng);
    shape->width_m = random_size_m(rng);
    shape->height_m = random_size_m(rng);
    if (p != NULL && rng_below(rng, 4) == 0) { /* the edge goes through a member */
        struct yn_point abeam = {shape->center.lon, p->at.lat};
        shape->radius_m = yn_distance_m(shape->center, p->at);
        shape->width_m = 2 * yn_distance_m(p->at, abeam);
        shape->height_m = 2 * yn_lat_distance_m(p->at.lat, shape->center.lat);
        if (rng_below(rng, 2)) { /* or just misses it */
            shape->radius_m = nextafter(shape->radius_m, 0);
            shape->width_m = nextafter(shape->width_m, 0);
        }
    }
    if (shape->kind == YN_POLYGON)
        random_polygon(rng, shape);
    query.order = (enum yn_order)rng_below(rng, 3);
    if (rng_below(rng, 2))
        query.limit =
            rng_below(rng, 3) ? 1 + rng_below(rng, 20) : 1 + rng_below(rng, data->n + 2);
    query.any = rng_below(rng, 2);
    if (rng_below(rng, 3) == 0) {
        static const double units_m[] = {1, 1000, 0.3048, 1609.34};
        query.rounding_unit_m = units_m[rng_below(rng, 4)];
    }
    return query;
}

/* ---- the expected answer ---- */

static bool is_in_polygon(const struct yn_shape *shape, struct yn_point p)
{
    bool is_in = false;
    for (size_t i = 0; i < shape->n_vertices; i++) {
        struct yn_point a = shape->vertices[i];
        struct yn_point b =
            shape->vertices[(i + shape->n_vertices - 1) % shape->n_vertices];
        if ((a.lat > p.lat) == (b.lat > p.lat))
            continue;
        if (p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon)
            is_in = !is_in;
    }
    return is_in;
}

static bool is_in_shape(const struct yn_shape *shape, struct yn_point p)
{
    if (shape->kind == YN_CIRCLE)
        return yn_distance_m(shape->center, p) <= shape->radius_m;
    if (shape->kind == YN_POLYGON)
        return is_in_polygon(shape, p);
    struct yn_point abeam = {shape->center.lon, p.lat};
    return yn_lat_distance_m(shape->center.lat, p.lat) <= shape->height_m / 2 &&
           yn_distance_m(p, abeam) <= shape->width_m / 2;
}

static int by_entry(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(name_of(x), name_of(y));
}

static int by_cell(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : by_entry(a, b);
}

static int by_distance(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->distance_m != y->distance_m)
        return x->distance_m < y->distance_m ? -1 : 1;
    return by_entry(a, b);
}

static int by_distance_desc(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    if (x->distance_m != y->distance_m)
        return x->distance_m > y->distance_m ? -1 : 1;
    return by_entry(a, b);
}

static size_t expected_answer(const struct data *data, const struct yn_query *query,
                              struct yn_point center, struct point *out)
{
    struct yn_shape shape = query->shape;
    struct yn_cells cells;
    size_t n = 0;
    shape.center = center;
    yn_cells_of_shape(&shape, &cells);
    for (size_t i = 0; i < data->n; i++) {
        const struct point *p = &data->points[i];
        if (!is_in_shape(&shape, p->at))
            continue;
        out[n] = *p;
        out[n].distance_m = yn_distance_m(center, p->at);
        out[n].rank = cells.n;
        for (int c = cells.n - 1; c >= 0; c--)
            if (p->score >= (double)cells.range[c].min &&
                p->score < (double)cells.range[c].max)
                out[n].rank = c;
        n++;
    }
    bool is_cut = query->limit > 0 && query->limit < n;
    bool by_cells = query->order == YN_ORDER_CELLS || (query->limit > 0 && query->any);
    if (by_cells) {
        qsort(out, n, sizeof *out, by_cell);
        n = is_cut ? query->limit : n;
        is_cut = false;
    }
    if (query->order != YN_ORDER_CELLS)
        qsort(out, n, sizeof *out,
              query->order == YN_ORDER_ASC ? by_distance : by_distance_desc);
    return is_cut ? query->limit : n;
}

/* ---- comparing ---- */

static void describe(const struct yn_query *query)
{
    const struct yn_shape *s = &query->shape;
    fprintf(stderr,
            "shape %d centre %.17g,%.17g radius %.17g box %.17g x %.17g order %d "
            "limit %zu any %d\n",
            (int)s->kind, s->center.lon, s->center.lat, s->radius_m, s->width_m,
            s->height_m, (int)query->order, query->limit, (int)query->any);
    for (size_t i = 0; s->kind == YN_POLYGON && i < s->n_vertices; i++)
        fprintf(stderr, "  %.17g,%.17g\n", s->vertices[i].lon, s->vertices[i].lat);
}

/* As exact as the query asks for. */
static bool is_distance(const struct yn_query *query, double got_m, double exact_m)
{
    double unit_m = query->rounding_unit_m;
    if (unit_m == 0)
        return got_m == exact_m;
    return llrint(got_m / unit_m * 10000) == llrint(exact_m / unit_m * 10000);
}

static void compare_hits(struct yn_search *search, const struct yn_query *query,
                         const struct point *wanted, size_t n)
{
    struct yn_hit hit;
    for (size_t i = 0; i < n; i++) {
        if (!yn_search_next(search, &hit)) {
            describe(query);
            MODEL_FAIL("result %zu of %zu is missing", i, n);
        }
        if (yn_bytes_compare(hit.member, name_of(&wanted[i])) != 0 ||
            hit.score != wanted[i].score ||
            !is_distance(query, hit.distance_m, wanted[i].distance_m) ||
            hit.position.lon != wanted[i].at.lon ||
            hit.position.lat != wanted[i].at.lat) {
            describe(query);
            MODEL_FAIL("result %zu is %.*s at %.17g m, not %s at %.17g m", i,
                       (int)hit.member.len, hit.member.data, hit.distance_m,
                       wanted[i].name, wanted[i].distance_m);
        }
    }
    if (yn_search_next(search, &hit))
        MODEL_FAIL("more results than counted");
}

static void compare_runs(struct yn_search *search, const struct yn_query *query,
                         const struct point *wanted, size_t n)
{
    struct yn_run run;
    size_t at = 0;
    while (yn_search_next_run(search, &run)) {
        const char *p = run.wire.data;
        for (size_t k = 0; k < run.n; k++, at++) {
            char wire[64];
            size_t len = at < n ? yn_wire_format(name_of(&wanted[at]), wire) : 0;
            if (at >= n || memcmp(p, wire, len) != 0) {
                describe(query);
                MODEL_FAIL("wire result %zu differs", at);
            }
            p += len;
        }
        if (p != run.wire.data + run.wire.len)
            MODEL_FAIL("a run has a wrong length");
    }
    if (at != n)
        MODEL_FAIL("runs end at %zu of %zu", at, n);
}

static void compare_many(struct yn_search *search, const struct yn_query *query,
                         const struct point *wanted, size_t n)
{
    struct yn_hits hits;
    size_t at = 0;
    while (yn_search_next_hits(search, &hits)) {
        for (size_t k = 0; k < hits.n; k++, at++) {
            char wire[64];
            size_t len = at < n ? yn_wire_format(name_of(&wanted[at]), wire) : 0;
            if (at >= n || hits.wire[k].len != len ||
                memcmp(hits.wire[k].data, wire, len) != 0 ||
                !is_distance(query, hits.distance_m[k], wanted[at].distance_m)) {
                describe(query);
                MODEL_FAIL("result %zu of many differs", at);
            }
        }
    }
    if (at != n || hits.n != 0)
        MODEL_FAIL("results end at %zu of %zu", at, n);
}

static void search_once(struct rng *rng, const struct yn_view *view,
                        const struct data *data, enum kind kind, struct point *wanted)
{
    struct yn_query query = random_query(rng, data, kind);
    struct yn_search *search;
    enum yn_status status = yn_search_new(view, &query, &search);
    if (status != YN_OK)
        MODEL_FAIL("search: %s", yn_status_text(status));
    size_t n = expected_answer(data, &query, yn_search_center(search), wanted);
    if (yn_search_count(search) != n) {
        describe(&query);
        MODEL_FAIL("%zu results, not %zu", yn_search_count(search), n);
    }
    size_t way = rng_below(rng, 3);
    if (way == 0)
        compare_hits(search, &query, wanted, n);
    else if (way == 1)
        compare_runs(search, &query, wanted, n);
    else
        compare_many(search, &query, wanted, n);
    yn_search_free(search);
}

/* ---- a run: one data set ---- */

static void run(struct rng *rng, enum kind kind, size_t n, size_t n_searches)
{
    struct yn_zset *set = yn_zset_new(NULL);
    struct data data = {malloc(SIZE_LARGE * sizeof *data.points), 0};
    struct data frozen = {malloc(SIZE_LARGE * sizeof *frozen.points), 0};
    struct point *wanted = malloc(SIZE_LARGE * sizeof *wanted);
    struct yn_view *view = NULL;
    size_t next_id = 0;
    fill(rng, set, &data, kind, n);
    for (size_t i = 0; i < n_searches; i++) {
        if (i % 20 == 0)
            for (size_t k = rng_below(rng, 12); k > 0; k--)
                change(rng, set, &data, kind, &next_id);
        if (i % 100 == 0) {
            const char *wrong = yn_zset_check(set);
            if (wrong != NULL)
                MODEL_FAIL("%s", wrong);
            yn_view_free(view);
            if (yn_zset_freeze(set, &view) != YN_OK)
                MODEL_FAIL("freeze");
            memcpy(frozen.points, data.points, data.n * sizeof *data.points);
            frozen.n = data.n;
        }
        if (i % 4 == 0)
            search_once(rng, view, &frozen, kind, wanted);
        else
            search_once(rng, yn_zset_view(set), &data, kind, wanted);
    }
    yn_view_free(view);
    yn_zset_free(set);
    free(data.points);
    free(frozen.points);
    free(wanted);
}

int main(void)
{
    static const size_t sizes[] = {1, 5, 60, 300, 900, 2000};
    const size_t n_sizes = sizeof sizes / sizeof sizes[0];
    struct rng rng = {model_seed()};
    size_t n_sets = N_KINDS * n_sizes, per_set = model_rounds(1500), done = 0;
    for (int kind = 0; kind < N_KINDS; kind++) {
        for (size_t s = 0; s < n_sizes; s++) {
            run(&rng, (enum kind)kind, sizes[s], per_set);
            done += per_set;
        }
    }
    printf("%zu searches over %zu data sets\n%zu passed, 0 failed\n", done, n_sets,
           n_sets);
    return 0;
}
