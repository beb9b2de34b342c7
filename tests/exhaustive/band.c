/*
 * Points on the edge of shapes: do all kernels decide as the exact predicate does?
 *
 * Shapes lie anywhere, from 1 m to half the globe. Around a place on the edge lines of
 * cells along latitude, longitude and both diagonals are bisected to the last cell inside
 * and the first outside. A quarter of the shapes have the exact distance of a cell for a
 * size, or one of its neighbours. These cells fill leaves of the true formats, 1 to 255
 * of them, narrow and wide. A case is a cell of a leaf: each kernel that the processor
 * has must decide it as yn_region_contains does; what rectangles, measured distances and
 * roundings claim is held against exact distances too. And it is watched how much of each
 * proven bound (docs/point-test.md) is used up; more than all of it is a failure.
 *
 * The argument is the number of cases, 50 million without one. Seed: YN_SEED.
 */
#include <unistd.h>

#include "core/search.h"
#include "model/model.h"

/* The kernels' own functions once more, to look inside. */
#define KERNEL_TABLE band_kernel
#define KERNEL_NAME "band"
#define KERNEL_STEP 16
#include "core/kernel_body.h"

#define AXIS_LAST (YN_CELL_AXIS_MAX - 1)
#define N_FAULTS_SHOWN 20
#define VERTICES_MAX 300

struct cell {
    uint32_t lat, lon;
};

/* The largest share of a bound that was used up. */
struct used {
    double float_a, float_lat, double_a, distance, near_distance, sin_squared, arcsine;
};

static struct rng rng;
static const struct yn_kernel *kernels[3];
static size_t n_kernels;
static unsigned long long n_passed, n_failed, n_leaves[2], n_in_floats, n_in_band, n_cut;
static struct used used;

/* ---- faults ---- */

static void judge(bool is_right, const char *what, const struct yn_region *region,
                  struct cell cell)
{
    const struct yn_shape *s = &region->shape;
    if (is_right)
        return;
    n_failed++;
    if (n_failed <= N_FAULTS_SHOWN)
        printf("%s: cell %u %u, kind %d, centre %.17g %.17g, sizes %.17g %.17g %.17g\n",
               what, cell.lat, cell.lon, (int)s->kind, s->center.lon, s->center.lat,
               s->radius_m, s->width_m, s->height_m);
}

/* Notes that `error` of `bound` was seen. */
static bool note(double *share, double error, double bound)
{
    double ratio = fabs(error) / bound;
    if (ratio > *share)
        *share = ratio;
    return ratio <= 1;
}

/* ---- shapes ---- */

static struct yn_point position_of(struct cell cell)
{
    return (struct yn_point){yn_cell_lon_deg(cell.lon), yn_cell_lat_deg(cell.lat)};
}

static bool contains(const struct yn_region *region, struct cell cell)
{
    return yn_region_contains(region, position_of(cell));
}

static struct yn_point random_center(void)
{
    struct yn_point center = {rng_between(&rng, -180, 180),
                              rng_between(&rng, -YN_LAT_MAX_DEG, YN_LAT_MAX_DEG)};
    switch (rng_below(&rng, 8)) {
    case 0: /* about the antimeridian */
        center.lon = 180 - pow(10, rng_between(&rng, -8, 1));
        break;
    case 1:
        center.lon = rng_below(&rng, 2) ? 180 : -180;
        break;
    case 2: /* as near to the poles as positions go */
        center.lat = YN_LAT_MAX_DEG - pow(10, rng_between(&rng, -8, 1));
        break;
    case 3:
        center.lat = rng_below(&rng, 2) ? YN_LAT_MAX_DEG : 0;
        break;
    case 4: /* the position of a cell */
        center = yn_score_decode(yn_score_encode(center));
        break;
    default:
        break;
    }
    if (rng_below(&rng, 2)) {
        center.lon = -center.lon;
        center.lat = -center.lat;
    }
    return center;
}

/* Metres from 1 to half the circumference. */
static double random_size(void)
{
    double size = pow(10, rng_between(&rng, 0, 7.3014));
    return rng_below(&rng, 8) == 0 ? floor(size) : size;
}

/* Where one gets from the centre, `angle` radians in the direction `bearing`. */
static struct yn_point destination(struct yn_point center, double angle, double bearing)
{
    double lat = yn_rad_from_deg(center.lat);
    double s = sin(lat) * cos(angle) + cos(lat) * sin(angle) * cos(bearing);
    double lon = atan2(sin(bearing) * sin(angle) * cos(lat), cos(angle) - sin(lat) * s);
    return (struct yn_point){center.lon + yn_deg_from_rad(lon),
                             yn_deg_from_rad(asin(fmax(-1, fmin(s, 1))))};
}

static struct yn_point random_on_circle(const struct yn_shape *shape)
{
    return destination(shape->center, shape->radius_m / YN_EARTH_RADIUS_M,
                       rng_between(&rng, 0, 6.283185307179586));
}

static struct yn_point random_on_box(const struct yn_shape *shape)
{
    double dlat = yn_deg_from_rad(shape->height_m / 2 / YN_EARTH_RADIUS_M);
    bool is_level = rng_below(&rng, 3) == 0;
    double up = is_level ? (rng_below(&rng, 2) ? 1 : -1) : rng_between(&rng, -1, 1);
    struct yn_point p = {shape->center.lon, shape->center.lat + up * dlat};
    double s = sin(shape->width_m / 4 / YN_EARTH_RADIUS_M) / cos(yn_rad_from_deg(p.lat));
    double dlon = 2 * yn_deg_from_rad(asin(fmax(-1, fmin(s, 1))));
    double aside = is_level ? rng_between(&rng, -1, 1) : rng_below(&rng, 2) ? 1 : -1;
    p.lon += aside * dlon;
    return p;
}

static struct yn_point vertices[VERTICES_MAX];

static struct yn_shape random_polygon(void)
{
    size_t n = 3 + rng_below(&rng, rng_below(&rng, 2) ? 8 : VERTICES_MAX - 2);
    struct yn_point center = random_center();
    double spread = pow(10, rng_between(&rng, -5, 2));
    for (size_t i = 0; i < n; i++) {
        double turn = 6.283185307179586 * (double)i / (double)n;
        double reach = spread * rng_between(&rng, 0.3, 1);
        struct yn_point p = {center.lon + reach * cos(turn),
                             center.lat + reach * sin(turn)};
        p.lon = fmax(-180, fmin(p.lon, 180));
        p.lat = fmax(-YN_LAT_MAX_DEG, fmin(p.lat, YN_LAT_MAX_DEG));
        if (rng_below(&rng, 3) == 0) /* level with positions of cells */
            p = yn_score_decode(yn_score_encode(p));
        vertices[i] = p;
    }
    return (struct yn_shape){.kind = YN_POLYGON, .vertices = vertices, .n_vertices = n};
}

static struct yn_point random_on_polygon(const struct yn_shape *shape)
{
    size_t i = rng_below(&rng, shape->n_vertices);
    struct yn_point a = shape->vertices[i];
    struct yn_point b = shape->vertices[i > 0 ? i - 1 : shape->n_vertices - 1];
    double t = rng_unit(&rng);
    return (struct yn_point){a.lon + t * (b.lon - a.lon), a.lat + t * (b.lat - a.lat)};
}

static struct yn_shape random_shape(void)
{
    struct yn_shape shape = {.kind = YN_CIRCLE, .center = random_center()};
    uint64_t kind = rng_below(&rng, 16);
    if (kind == 0)
        return random_polygon();
    shape.radius_m = random_size();
    if (kind < 6) {
        shape.kind = YN_BOX;
        shape.width_m = 2 * random_size();
        shape.height_m = rng_below(&rng, 2) ? shape.width_m : 2 * random_size();
        shape.radius_m = 0;
    }
    return shape;
}

/* A cell at the edge, or near it where the edge leaves the range of latitudes. */
static struct cell random_on_edge(const struct yn_shape *shape)
{
    struct yn_point p = shape->center;
    for (int i = 0; i < 8; i++) {
        p = shape->kind == YN_CIRCLE ? random_on_circle(shape)
            : shape->kind == YN_BOX  ? random_on_box(shape)
                                     : random_on_polygon(shape);
        if (fabs(p.lat) <= YN_LAT_MAX_DEG)
            break;
    }
    p.lat = fmax(-YN_LAT_MAX_DEG, fmin(p.lat, YN_LAT_MAX_DEG));
    p.lon -= 360 * floor((p.lon + 180) / 360);
    struct cell cell;
    yn_cell_deinterleave((uint64_t)yn_score_encode(p), &cell.lat, &cell.lon);
    cell.lat = cell.lat < AXIS_LAST ? cell.lat : AXIS_LAST;
    cell.lon = cell.lon < AXIS_LAST ? cell.lon : AXIS_LAST;
    return cell;
}

/* The size, or the next double above or below it. */
static double nudged(double size)
{
    uint64_t way = rng_below(&rng, 3);
    return way == 0 ? size : nextafter(size, way == 1 ? HUGE_VAL : 0);
}

/* Makes a size of the shape what the exact expression says of a cell, so that the last
 * bit of the expression decides about it. */
static void snap(struct yn_shape *shape, struct cell cell)
{
    struct yn_point p = position_of(cell), abeam = {shape->center.lon, p.lat};
    if (shape->kind == YN_CIRCLE)
        shape->radius_m = nudged(yn_distance_m(shape->center, p));
    else if (rng_below(&rng, 2))
        shape->width_m = 2 * nudged(yn_distance_m(p, abeam));
    else
        shape->height_m = 2 * nudged(yn_lat_distance_m(shape->center.lat, p.lat));
}

/* ---- cells on the edge ---- */

/* A window of cells, inclusive. */
struct window {
    struct cell low, high;
};

static uint32_t clamped(int64_t index)
{
    return index < 0 ? 0 : index > AXIS_LAST ? AXIS_LAST : (uint32_t)index;
}

static struct window window_around(struct cell at, int64_t size)
{
    int64_t lat = (int64_t)at.lat - (int64_t)rng_below(&rng, (uint64_t)size);
    int64_t lon = (int64_t)at.lon - (int64_t)rng_below(&rng, (uint64_t)size);
    return (struct window){{clamped(lat), clamped(lon)},
                           {clamped(lat + size - 1), clamped(lon + size - 1)}};
}

static uint32_t between(uint32_t low, uint32_t high)
{
    return low + (uint32_t)rng_below(&rng, (uint64_t)high - low + 1);
}

static const struct {
    int lat, lon;
} directions[8] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};

static struct cell step(struct cell from, int direction, uint32_t t)
{
    from.lat += (uint32_t)directions[direction].lat * t;
    from.lon += (uint32_t)directions[direction].lon * t;
    return from;
}

/* How many steps there are until the window ends. */
static uint32_t steps_in(const struct window *window, struct cell from, int direction)
{
    uint32_t lat = directions[direction].lat > 0   ? window->high.lat - from.lat
                   : directions[direction].lat < 0 ? from.lat - window->low.lat
                                                   : UINT32_MAX;
    uint32_t lon = directions[direction].lon > 0   ? window->high.lon - from.lon
                   : directions[direction].lon < 0 ? from.lon - window->low.lon
                                                   : UINT32_MAX;
    return lat < lon ? lat : lon;
}

/* Finds two neighbours on a line through the window, one inside and one outside. */
static bool bisect(const struct yn_region *region, const struct window *window,
                   struct cell *out_pair)
{
    struct cell from = {between(window->low.lat, window->high.lat),
                        between(window->low.lon, window->high.lon)};
    int direction = (int)rng_below(&rng, 8);
    uint32_t low = 0, high = steps_in(window, from, direction);
    bool is_in = contains(region, from);
    if (contains(region, step(from, direction, high)) == is_in)
        return false;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (contains(region, step(from, direction, middle)) == is_in)
            low = middle;
        else
            high = middle;
    }
    out_pair[0] = step(from, direction, low);
    out_pair[1] = step(from, direction, high);
    return true;
}

/* Fills `cells` from lines through the window; where few of them meet the edge, some are
 * any cells of it. */
static void fill(const struct yn_region *region, const struct window *window,
                 struct cell *cells, size_t n)
{
    size_t n_missed = 0;
    for (size_t i = 0; i < n; i += 2) {
        struct cell pair[2];
        while (!bisect(region, window, pair)) {
            pair[0] = pair[1] = (struct cell){between(window->low.lat, window->high.lat),
                                              between(window->low.lon, window->high.lon)};
            if (++n_missed > n)
                break;
        }
        cells[i] = pair[0];
        if (i + 1 < n)
            cells[i + 1] = pair[1];
    }
}

/* ---- leaves ---- */

static int compare_items(const void *a, const void *b)
{
    const struct yn_item *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

/* Packs the cells in order, and puts them in that order, too. */
static const struct yn_leaf *pack(struct cell *cells, size_t n)
{
    static uint64_t space[1024];
    struct yn_leaf *leaf = (struct yn_leaf *)(void *)space;
    struct yn_item items[YN_LEAF_ENTRIES_MAX];
    struct yn_leaf_plan plan;
    for (size_t i = 0; i < n; i++) {
        yn_item_set_score(&items[i],
                          (double)yn_cell_interleave(cells[i].lat, cells[i].lon));
        items[i].wire = "$1\r\na\r\n";
        items[i].wire_len = 7;
    }
    qsort(items, n, sizeof items[0], compare_items);
    for (size_t i = 0; i < n; i++)
        cells[i] = (struct cell){items[i].lat, items[i].lon};
    yn_leaf_plan(items, n, &plan);
    yn_leaf_pack(leaf, sizeof space, 1, items, &plan);
    n_leaves[leaf->head.format == YN_LEAF_WIDE]++;
    return leaf;
}

/* ---- what is compared ---- */

/* The a's that the exact predicate compares. */
static double exact_a(const struct yn_region *region, struct yn_point p)
{
    struct yn_point c = region->shape.center;
    double lat1 = yn_rad_from_deg(c.lat), lat2 = yn_rad_from_deg(p.lat);
    double v = sin((yn_rad_from_deg(p.lon) - yn_rad_from_deg(c.lon)) / 2);
    if (region->shape.kind == YN_BOX)
        return cos(lat2) * cos(lat2) * v * v;
    double u = sin((lat2 - lat1) / 2);
    return u * u + cos(lat1) * cos(lat2) * v * v;
}

/* The errors of the float test. */
static void watch_floats(const struct yn_region *region, const struct yn_leaf *leaf,
                         const struct cell *cells)
{
    struct frame frame;
    float in, out, y[N_MAX], x[N_MAX];
    bool is_box = region->shape.kind == YN_BOX;
    frame_of(region, leaf, &frame);
    if (!float_band(region->limit_a, frame.half_max, &in, &out))
        return;
    half_angles(leaf, &frame, y, x);
    const float cos0 = (float)region->cos_lat, sin0 = (float)region->sin_lat;
    for (size_t i = 0; i < leaf->head.n; i++) {
        struct yn_point p = position_of(cells[i]);
        float a = is_box ? float_parallel_a(y[i], x[i], cos0, sin0)
                         : float_circle_a(y[i], x[i], cos0, sin0);
        double right = exact_a(region, p);
        double lat = (p.lat - region->shape.center.lat) * YN_HALF_RAD_PER_DEG;
        bool is_right =
            note(&used.float_a, (double)a - right, float_width(right, frame.half_max));
        is_right &=
            note(&used.float_lat, (double)y[i] - lat, float_error(frame.half_max));
        judge(is_right, "float error", region, cells[i]);
        n_in_floats++;
        n_in_band += a >= in && a <= out;
    }
}

/* Whether distances to the leaf's entries are measured from its offsets. */
static bool is_leaf_near(const struct yn_region *region, const struct yn_leaf *leaf)
{
    struct frame frame;
    if (leaf->head.format == YN_LEAF_GENERAL)
        return false;
    frame_of(region, leaf, &frame);
    return frame.half_max <= HALF_MAX;
}

/* Measured distances: their error, and the four decimals and the order made of them. */
static void watch_distances(const struct yn_region *region, const struct yn_leaf *leaf,
                            const struct cell *cells)
{
    static const double units[] = {1, 1000, 0.3048, 1609.34};
    static struct yn_search search;
    struct yn_positions at;
    double a[N_MAX], metres[N_MAX], near_m[N_MAX];
    uint64_t parts[N_MAX];
    size_t n = leaf->head.n;
    bool is_near = is_leaf_near(region, leaf);
    search.region = *region;
    kernel_measure(region, leaf, near_m);
    kernel_round(near_m, n, 1e4 / units[n % 4], parts);
    kernel_decode(leaf, &at);
    kernel_haversine(region, &at, n, a);
    kernel_distances(a, n, metres);
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = position_of(cells[i]);
        double right_m = yn_distance_m(region->shape.center, p);
        double right_a = exact_a(region, p);
        bool is_right = true;
        if (region->shape.kind != YN_BOX)
            is_right = note(&used.double_a, a[i] - right_a, yn_a_slack(right_a));
        if (metres[i] < 18.2e6)
            is_right &=
                note(&used.distance, metres[i] - right_m, yn_distance_slack_m(metres[i]));
        if (near_m[i] < 18.2e6)
            is_right &= note(is_near ? &used.near_distance : &used.distance,
                             near_m[i] - right_m, yn_distance_slack_m(near_m[i]));
        is_right &= parts[i] == YN_PARTS_OPEN ||
                    parts[i] == (uint64_t)llrint(right_m / units[n % 4] * 10000);
        judge(is_right, "measured", region, cells[i]);
        search.query.rounding_unit_m = units[i % 4];
        double refined_m = yn_search_refine(&search, leaf, i, metres[i]);
        judge(llrint(refined_m / units[i % 4] * 10000) ==
                  llrint(right_m / units[i % 4] * 10000),
              "four decimals", region, cells[i]);
    }
}

/* What is said of the rectangles around two neighbours in the leaf, and around all. */
static void compare_rects(const struct yn_region *region, const struct cell *cells,
                          size_t n, const bool *is_in)
{
    struct yn_rects rects;
    uint8_t relations[3][YN_TREE_FANOUT];
    size_t n_rects = n / 2 < YN_TREE_FANOUT ? n / 2 : YN_TREE_FANOUT;
    for (size_t r = 0; r < n_rects; r++) {
        struct yn_rect rect = {UINT32_MAX, 0, UINT32_MAX, 0};
        for (size_t i = 2 * r; i < (r == 0 ? n : 2 * r + 2); i++)
            yn_rect_extend(&rect, cells[i].lat, cells[i].lon);
        yn_rects_set(&rects, r, &rect);
    }
    for (size_t k = 0; k < n_kernels; k++)
        kernels[k]->relate(region, &rects, n_rects, relations[k]);
    for (size_t r = 0; r < n_rects; r++) {
        struct yn_rect rect = yn_rects_get(&rects, r);
        enum yn_relation one = yn_region_relate(region, &rect);
        for (size_t k = 0; k < n_kernels; k++)
            judge(relations[k][r] == relations[0][r], "relations differ", region,
                  cells[2 * r]);
        for (size_t i = 2 * r; i < (r == 0 ? n : 2 * r + 2); i++) {
            enum yn_relation wrong = is_in[i] ? YN_OUTSIDE : YN_INSIDE;
            judge(relations[0][r] != wrong && one != wrong, "rectangle", region,
                  cells[i]);
        }
    }
}

static void compare_leaf(const struct yn_region *region, struct cell *cells, size_t n)
{
    const struct yn_leaf *leaf = pack(cells, n);
    uint64_t masks[3][YN_MASK_WORDS];
    bool is_in[YN_LEAF_ENTRIES_MAX];
    size_t n_in = 0;
    unsigned long long n_failed_before = n_failed;
    for (size_t i = 0; i < n; i++) {
        is_in[i] = contains(region, cells[i]);
        n_in += is_in[i];
    }
    n_cut += n_in > 0 && n_in < n;
    for (size_t k = 0; k < n_kernels; k++) {
        size_t n_hits = kernels[k]->test(region, leaf, masks[k]);
        judge(n_hits == n_in, kernels[k]->name, region, cells[0]);
        for (size_t i = 0; i < n; i++)
            judge((masks[k][i / 64] >> i % 64 & 1) == is_in[i], kernels[k]->name, region,
                  cells[i]);
    }
    compare_rects(region, cells, n, is_in);
    if (region->shape.kind != YN_POLYGON)
        watch_floats(region, leaf, cells);
    watch_distances(region, leaf, cells);
    n_passed += n_failed == n_failed_before ? n : 0;
}

/* The index of edges answers as the comparison with all edges does. */
static void compare_index(const struct yn_region *region, const struct cell *cells,
                          size_t n)
{
    struct yn_polygon plain;
    yn_polygon_init(&plain, region->shape.vertices, region->shape.n_vertices);
    for (size_t i = 0; i < n; i++)
        judge(yn_polygon_contains(&plain, position_of(cells[i])) ==
                  contains(region, cells[i]),
              "index of edges", region, cells[i]);
}

static size_t compare_shape(void)
{
    struct yn_shape shape = random_shape();
    struct yn_region region;
    struct yn_mem mem;
    struct cell cells[YN_LEAF_ENTRIES_MAX];
    size_t n_cells = 0;
    bool is_snapped = shape.kind != YN_POLYGON && rng_below(&rng, 4) == 0;
    struct cell at = random_on_edge(&shape);
    if (is_snapped)
        snap(&shape, at);
    yn_mem_init(&mem, NULL);
    if (yn_region_init(&region, &shape) != YN_OK)
        MODEL_FAIL("a shape is none");
    if (shape.kind == YN_POLYGON)
        yn_polygon_index(&region.polygon, mem.hook);
    for (int round = 0; round < 3; round++) {
        if (!is_snapped)
            at = random_on_edge(&shape);
        /* a third are wide leaves, of any size */
        double bits = round == 0 ? rng_between(&rng, 16, 26) : rng_between(&rng, 1, 16);
        struct window window = window_around(at, (int64_t)pow(2, bits));
        size_t n = 1 + rng_below(&rng, YN_LEAF_ENTRIES_MAX);
        fill(&region, &window, cells, n);
        if (is_snapped)
            cells[0] = at;
        compare_leaf(&region, cells, n);
        if (shape.kind == YN_POLYGON)
            compare_index(&region, cells, n);
        n_cells += n;
    }
    if (shape.kind == YN_POLYGON)
        yn_polygon_clear(&region.polygon, mem.hook);
    return n_cells;
}

/* ---- the polynomials ---- */

/* sin^2 and arcsine of the kernels against long doubles. */
static void watch_polynomials(void)
{
    const struct yn_region none = {.shape.kind = YN_CIRCLE};
    const struct cell nowhere = {0, 0};
    for (int i = 1; i <= 1000000; i++) {
        double x = i * 1e-6, half = x * 1.5707963267948966;
        long double s = sinl((long double)half), t = asinl((long double)x);
        judge(note(&used.sin_squared,
                   (double)(((long double)sin_squared(half) - s * s) / (s * s)),
                   20 * 0x1p-53),
              "sin^2", &none, nowhere);
        judge(note(&used.arcsine, (double)(((long double)arcsine(x) - t) / t),
                   16 * 0x1p-53),
              "arcsine", &none, nowhere);
    }
}

/* ---- running ---- */

static void report(void)
{
    unsigned long long n = n_leaves[0] + n_leaves[1];
    printf("leaves: %llu narrow, %llu wide, %.1f %% cut by the edge\n", n_leaves[0],
           n_leaves[1], 100 * (double)n_cut / (double)n);
    printf("tested in floats: %llu cells, %.1f %% of them in the band\n", n_in_floats,
           100 * (double)n_in_band / (double)n_in_floats);
    printf("largest share of a bound: float a %.3f, float latitude %.3f, double a %.3f, "
           "distance %.3f, from offsets %.3f, sin^2 %.3f, arcsine %.3f\n",
           used.float_a, used.float_lat, used.double_a, used.distance, used.near_distance,
           used.sin_squared, used.arcsine);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    unsigned long long wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000000;
    unsigned long long n_done = 0, shown = 0;
    bool is_terminal = isatty(STDERR_FILENO) == 1;

    rng.state = model_seed();
    printf("kernels:");
    for (size_t i = 0; i < 3; i++)
        if ((kernels[n_kernels] = yn_kernel_find(names[i])) != NULL)
            printf(" %s", kernels[n_kernels++]->name);
    putchar('\n');
    watch_polynomials();
    while (n_done < wanted) {
        n_done += compare_shape();
        unsigned long long percent = n_done >= wanted ? 100 : n_done * 100 / wanted;
        if (percent != shown && (is_terminal || percent / 10 != shown / 10)) {
            fprintf(stderr, "%sband: %llu %%%s", is_terminal ? "\r" : "", percent,
                    is_terminal ? "" : "\n");
            shown = percent;
        }
    }
    fputs(is_terminal ? "\n" : "", stderr);
    report();
    printf("%llu passed, %llu failed\n", n_passed, n_failed);
    return n_failed == 0 ? 0 : 1;
}
