/*
 * The kernels of every instruction set: equal answers, and no access outside of what they
 * are given. Inputs and outputs end at an unreadable page, or start right after one.
 * Seed: YN_SEED.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/kernel.h"
#include "guard.h"
#include "model/model.h"

static struct rng rng;
static const struct yn_kernel *kernels[3]; /* scalar first */
static size_t n_kernels;

/* One guarded piece of memory for each thing a kernel is given. */
enum { LEAF, RECTS, IN_1, IN_2, OUT_1, OUT_2, N_GUARDS };
static struct guard guards[N_GUARDS];

/* `len` bytes at the end of a guarded piece, or at its start. */
static void *place(int guard, bool is_at_end, size_t len)
{
    return is_at_end ? guard_tail(&guards[guard], len) : guards[guard].base;
}

/* ---- shapes ---- */

static struct yn_point vertices[5];

/* A shape of each kind whose edge runs through the window of cells that leaves are made
 * in. */
static void make_regions(struct yn_point center, double size_m, struct yn_region *out)
{
    double deg = size_m / 111e3;
    struct yn_shape shapes[] = {
        {.kind = YN_CIRCLE, .center = center, .radius_m = size_m},
        {.kind = YN_BOX, .center = center, .width_m = 2 * size_m, .height_m = size_m},
        {.kind = YN_POLYGON, .vertices = vertices, .n_vertices = 5},
    };
    for (size_t i = 0; i < 5; i++) {
        vertices[i].lon = fmax(-180, fmin(center.lon + deg * cos((double)i), 180));
        vertices[i].lat = fmax(-85, fmin(center.lat + deg * sin((double)i), 85));
    }
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(yn_region_init(&out[i], &shapes[i]), YN_OK);
}

/* ---- leaves ---- */

#define WIRE_MAX 64
static struct yn_item items[YN_LEAF_ENTRIES_MAX];
static char wires[YN_LEAF_ENTRIES_MAX][WIRE_MAX];

static void set_wire(struct yn_item *item, char *wire, size_t wire_len)
{
    memset(wire, 'x', wire_len);
    wire[0] = '$';
    item->wire = wire;
    item->wire_len = (uint32_t)wire_len;
}

/* n entries in the window, of the format, with members of one length or of several. The
 * size of their leaf is a multiple of 8, so that it can end where a page does. */
static void make_items(enum yn_leaf_format format, size_t n, bool is_mixed)
{
    uint32_t span = format == YN_LEAF_NARROW ? 65535 : (uint32_t)1 << 22;
    uint32_t lat = (uint32_t)rng_below(&rng, YN_CELL_AXIS_MAX - span);
    uint32_t lon = (uint32_t)rng_below(&rng, YN_CELL_AXIS_MAX - span);
    size_t position = format == YN_LEAF_NARROW ? 4 : 8;
    size_t size = 0;
    is_mixed &= n > 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t code =
            yn_cell_interleave(lat + (uint32_t)rng_below(&rng, (uint64_t)span + 1),
                               lon + (uint32_t)rng_below(&rng, (uint64_t)span + 1));
        if (format == YN_LEAF_WIDE && i < 2) /* too far apart to be narrow */
            code = yn_cell_interleave(lat + (i == 0 ? 0 : span), lon);
        double odd = format == YN_LEAF_GENERAL && rng_below(&rng, 2) ? 0.5 : 0;
        if (format == YN_LEAF_GENERAL && i == 0)
            odd = 0.5;
        yn_item_set_score(&items[i], (double)code + odd);
        size_t wire_len = is_mixed ? 8 + rng_below(&rng, 20) : 16 - position;
        if (is_mixed && i == 0) /* another length than all others */
            wire_len = 7;
        size += position + (is_mixed ? 2 : 0) + wire_len;
        if (is_mixed && i + 1 == n)
            wire_len += (8 - size % 8) % 8;
        set_wire(&items[i], wires[i], wire_len);
    }
}

/* Their leaf in guarded memory. Without members it ends with its positions. */
static const struct yn_leaf *make_leaf(size_t n, bool is_at_end, bool has_members)
{
    static uint64_t space[2048];
    struct yn_leaf *leaf = (struct yn_leaf *)(void *)space;
    struct yn_leaf_plan plan;
    yn_leaf_plan(items, n, &plan);
    yn_leaf_pack(leaf, plan.size, 1, items, &plan);
    size_t len = plan.size;
    assert_int_equal(len % 8, 0);
    if (!has_members)
        len = sizeof *leaf + n * yn_leaf_position_size(plan.format);
    len = (len + 7) / 8 * 8; /* alignment: 4 bytes are left of some without members */
    void *to = place(LEAF, is_at_end, len);
    memcpy(to, leaf, len);
    return to;
}

/* A wide leaf of one entry is what is left of a larger one. */
static const struct yn_leaf *make_single_wide(bool is_at_end)
{
    struct yn_leaf_plan plan;
    make_items(YN_LEAF_WIDE, 2, false);
    yn_leaf_plan(items, 2, &plan);
    static uint64_t space[64];
    struct yn_leaf *leaf = (struct yn_leaf *)(void *)space;
    yn_leaf_pack(leaf, plan.size, 1, items, &plan);
    yn_leaf_remove(leaf, 1);
    assert_int_equal(leaf->head.format, YN_LEAF_WIDE);
    leaf->head.cap = (uint32_t)yn_leaf_used(leaf);
    void *to = place(LEAF, is_at_end, leaf->head.cap);
    memcpy(to, leaf, leaf->head.cap);
    return to;
}

/* ---- comparing ---- */

static void compare_test(const struct yn_leaf *leaf, const struct yn_region *regions,
                         bool is_at_end)
{
    size_t n = leaf->head.n;
    uint64_t *mask = place(OUT_1, is_at_end, YN_MASK_WORDS * sizeof *mask);
    for (size_t r = 0; r < 3; r++) {
        uint64_t right[YN_MASK_WORDS] = {0};
        size_t n_in = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t lat, lon;
            yn_leaf_cell(leaf, i, &lat, &lon);
            struct yn_point p = {yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
            uint64_t is_in = yn_region_contains(&regions[r], p);
            right[i / 64] |= is_in << i % 64;
            n_in += is_in;
        }
        for (size_t k = 0; k < n_kernels; k++) {
            memset(mask, 0xaa, sizeof right);
            assert_int_equal(kernels[k]->test(&regions[r], leaf, mask), n_in);
            assert_memory_equal(mask, right, sizeof right);
        }
    }
}

/* measure and round: the same bits from all, and right. */
static void compare_rounding(const struct yn_leaf *leaf, const struct yn_region *region,
                             bool is_at_end)
{
    static const double units[] = {1, 1000, 0.3048, 1609.34};
    size_t n = leaf->head.n, n_open = 0;
    double unit_m = units[rng_below(&rng, 4)];
    double *metres = place(OUT_1, is_at_end, (YN_LEAF_ENTRIES_MAX + 1) * sizeof *metres);
    double *from = place(IN_1, is_at_end, n * sizeof *from);
    uint64_t *parts = place(OUT_2, is_at_end, n * sizeof *parts);
    double first_m[YN_LEAF_ENTRIES_MAX];
    uint64_t first_parts[YN_LEAF_ENTRIES_MAX];
    for (size_t k = 0; k < n_kernels; k++) {
        kernels[k]->measure(region, leaf, metres);
        memcpy(from, metres, n * sizeof *from);
        bool is_sure = kernels[k]->round(from, n, 1e4 / unit_m, parts);
        if (k == 0) {
            memcpy(first_m, metres, n * sizeof *metres);
            memcpy(first_parts, parts, n * sizeof *parts);
        }
        assert_memory_equal(metres, first_m, n * sizeof *metres);
        assert_memory_equal(parts, first_parts, n * sizeof *parts);
        n_open = 0;
        for (size_t i = 0; i < n; i++)
            n_open += parts[i] == YN_PARTS_OPEN;
        assert_true(is_sure == (n_open == 0));
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t lat, lon;
        yn_leaf_cell(leaf, i, &lat, &lon);
        struct yn_point p = {yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
        double right_m = yn_distance_m(region->shape.center, p);
        assert_true(fabs(metres[i] - right_m) <= yn_distance_slack_m(metres[i]));
        assert_true(parts[i] == YN_PARTS_OPEN ||
                    parts[i] == (uint64_t)llrint(right_m / unit_m * 10000));
    }
}

/* decode, haversine and distances: the same bits from all. */
static void compare_measures(const struct yn_leaf *leaf, const struct yn_region *region,
                             bool is_at_end)
{
    size_t n = leaf->head.n;
    struct yn_positions *at = place(OUT_1, is_at_end, sizeof *at), first_at;
    double first_a[YN_LEAF_ENTRIES_MAX], first_m[YN_LEAF_ENTRIES_MAX];
    double *a = place(IN_1, is_at_end, n * sizeof *a);
    double *metres = place(OUT_2, is_at_end, n * sizeof *metres);
    for (size_t k = 0; k < n_kernels; k++) {
        kernels[k]->decode(leaf, at);
        kernels[k]->haversine(region, at, n, a);
        kernels[k]->distances(a, n, metres);
        if (k == 0) {
            first_at = *at;
            memcpy(first_a, a, n * sizeof *a);
            memcpy(first_m, metres, n * sizeof *a);
        }
        assert_memory_equal(at->lat, first_at.lat, n * sizeof *a);
        assert_memory_equal(at->lon, first_at.lon, n * sizeof *a);
        assert_memory_equal(a, first_a, n * sizeof *a);
        assert_memory_equal(metres, first_m, n * sizeof *a);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t lat, lon;
        yn_leaf_cell(leaf, i, &lat, &lon);
        struct yn_point p = {yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
        assert_true(first_at.lat[i] == p.lat && first_at.lon[i] == p.lon);
        double right_m = yn_distance_m(region->shape.center, p);
        assert_true(fabs(metres[i] - right_m) <= yn_distance_slack_m(metres[i]));
    }
}

static void compare_leaf(const struct yn_leaf *leaf, bool is_at_end)
{
    struct yn_region regions[3];
    uint32_t lat, lon;
    yn_leaf_cell(leaf, rng_below(&rng, leaf->head.n), &lat, &lon);
    struct yn_point center = {yn_cell_lon_deg(lon), yn_cell_lat_deg(lat)};
    make_regions(center, pow(10, rng_between(&rng, 0, 5.5)), regions);
    compare_test(leaf, regions, is_at_end);
    compare_measures(leaf, &regions[rng_below(&rng, 3)], is_at_end);
    compare_rounding(leaf, &regions[rng_below(&rng, 3)], is_at_end);
}

static void leaves_of_every_size(void **state)
{
    (void)state;
    for (int format = YN_LEAF_NARROW; format <= YN_LEAF_GENERAL; format++)
        for (size_t n = format == YN_LEAF_WIDE ? 2 : 1; n <= YN_LEAF_ENTRIES_MAX; n++)
            for (int variant = 0; variant < 8; variant++) {
                bool is_at_end = variant & 1, has_members = variant & 2;
                make_items((enum yn_leaf_format)format, n, variant & 4);
                const struct yn_leaf *leaf = make_leaf(n, is_at_end, has_members);
                assert_int_equal(leaf->head.format, format);
                compare_leaf(leaf, is_at_end);
            }
    for (int i = 0; i < 100; i++)
        compare_leaf(make_single_wide(i & 1), i & 1);
}

/* ---- rectangles ---- */

static uint32_t random_index(void)
{
    return (uint32_t)rng_below(&rng, YN_CELL_AXIS_MAX);
}

static void random_rects(struct yn_rects *rects)
{
    for (size_t i = 0; i < YN_TREE_FANOUT; i++) {
        struct yn_rect rect = {UINT32_MAX, 0, UINT32_MAX, 0};
        uint32_t lat = random_index(), lon = random_index();
        uint32_t reach = (uint32_t)1 << rng_below(&rng, 26);
        yn_rect_extend(&rect, lat, lon);
        yn_rect_extend(&rect, lat < YN_CELL_AXIS_MAX - reach ? lat + reach : lat,
                       lon < YN_CELL_AXIS_MAX - reach ? lon + reach : lon);
        yn_rects_set(rects, i, &rect);
    }
}

static void compare_relate(const struct yn_region *region, const struct yn_rects *rects,
                           size_t n, bool is_at_end)
{
    uint8_t *relations = place(OUT_1, is_at_end, n), first[YN_TREE_FANOUT];
    for (size_t k = 0; k < n_kernels; k++) {
        kernels[k]->relate(region, rects, n, relations);
        if (k == 0)
            memcpy(first, relations, n);
        assert_memory_equal(relations, first, n);
    }
    for (size_t i = 0; i < n; i++) {
        struct yn_rect rect = yn_rects_get(rects, i);
        enum yn_relation one = yn_region_relate(region, &rect);
        assert_true(one == YN_CROSSING || first[i] == YN_CROSSING || one == first[i]);
    }
}

static void compare_overlap(const struct yn_rects *rects, size_t n)
{
    struct yn_rects others;
    random_rects(&others);
    struct yn_rect box = yn_rects_get(&others, 0);
    uint64_t expected = 0;
    for (size_t i = 0; i < n; i++) {
        struct yn_rect rect = yn_rects_get(rects, i);
        bool is_apart = rect.lat_min > box.lat_max || rect.lat_max < box.lat_min ||
                        rect.lon_min > box.lon_max || rect.lon_max < box.lon_min;
        expected |= (uint64_t)!is_apart << i;
    }
    for (size_t k = 0; k < n_kernels; k++)
        assert_int_equal(kernels[k]->overlap(&box, rects, n), expected);
}

static void compare_bounds(const struct yn_region *region, const struct yn_rects *rects,
                           size_t n, bool is_at_end)
{
    double first[2][YN_TREE_FANOUT];
    double *low = place(OUT_1, is_at_end, n * sizeof *low);
    double *high = place(OUT_2, is_at_end, n * sizeof *high);
    for (size_t k = 0; k < n_kernels; k++) {
        kernels[k]->bounds(region, rects, n, low, high);
        if (k == 0) {
            memcpy(first[0], low, n * sizeof *low);
            memcpy(first[1], high, n * sizeof *high);
        }
        assert_memory_equal(low, first[0], n * sizeof *low);
        assert_memory_equal(high, first[1], n * sizeof *high);
    }
    for (size_t i = 0; i < n; i++) {
        struct yn_rect rect = yn_rects_get(rects, i);
        /* the bounds of one rectangle are tighter */
        assert_true(low[i] <= yn_region_min_a(region, &rect) + 1e-12);
        assert_true(high[i] >= yn_region_max_a(region, &rect) - 1e-12);
    }
}

static void rectangles_of_every_number(void **state)
{
    (void)state;
    struct yn_region regions[3];
    for (size_t n = 1; n <= YN_TREE_FANOUT; n++)
        for (int variant = 0; variant < 16; variant++) {
            bool is_at_end = variant & 1;
            struct yn_rects *rects = place(RECTS, is_at_end, sizeof *rects);
            struct yn_point center = {yn_cell_lon_deg(random_index()),
                                      yn_cell_lat_deg(random_index())};
            random_rects(rects);
            compare_overlap(rects, n);
            make_regions(center, pow(10, rng_between(&rng, 0, 7.3)), regions);
            for (size_t r = 0; r < 3; r++) {
                compare_relate(&regions[r], rects, n, is_at_end);
                compare_bounds(&regions[r], rects, n, is_at_end);
            }
        }
}

/* ---- arrays ---- */

/* haversine and distances with every array on its own. */
static void arrays_of_every_length(void **state)
{
    (void)state;
    struct yn_region regions[3];
    for (size_t n = 1; n <= YN_LEAF_ENTRIES_MAX; n++)
        for (int variant = 0; variant < 2; variant++) {
            bool is_at_end = variant == 0;
            struct yn_positions *at = place(IN_1, is_at_end, sizeof *at);
            double *a = place(OUT_1, is_at_end, n * sizeof *a);
            double *from = place(IN_2, is_at_end, n * sizeof *from);
            double *to = place(OUT_2, is_at_end, n * sizeof *to);
            double first_a[YN_LEAF_ENTRIES_MAX], first_m[YN_LEAF_ENTRIES_MAX];
            for (size_t i = 0; i < n; i++) {
                at->lat[i] = yn_cell_lat_deg(random_index());
                at->lon[i] = yn_cell_lon_deg(random_index());
                from[i] = rng_below(&rng, 4) ? rng_unit(&rng) : (double)(i & 1);
            }
            struct yn_point center = {at->lon[0], at->lat[0]};
            make_regions(center, 1000, regions);
            for (size_t k = 0; k < n_kernels; k++) {
                kernels[k]->haversine(&regions[0], at, n, a);
                kernels[k]->distances(from, n, to);
                if (k == 0) {
                    memcpy(first_a, a, n * sizeof *a);
                    memcpy(first_m, to, n * sizeof *to);
                }
                assert_memory_equal(a, first_a, n * sizeof *a);
                assert_memory_equal(to, first_m, n * sizeof *to);
            }
        }
}

/* ---- a leaf at the very centre ---- */

/* What is left of a wide leaf may lie within one cell of the centre. Then the centre's
 * rounding to cells, some 1e-8 of one, must not decide about a radius as small. */
static void wide_leaf_at_the_center(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        static uint64_t space[64];
        struct yn_leaf *leaf = (struct yn_leaf *)(void *)space;
        struct yn_leaf_plan plan;
        struct yn_region region;
        uint64_t mask[YN_MASK_WORDS];
        make_items(YN_LEAF_WIDE, 2, false);
        yn_leaf_plan(items, 2, &plan);
        yn_leaf_pack(leaf, plan.size, 1, items, &plan);
        yn_leaf_remove(leaf, 1);
        struct yn_point p = {yn_cell_lon_deg(items[0].lon),
                             yn_cell_lat_deg(items[0].lat)};
        struct yn_shape shape = {.kind = YN_CIRCLE, .center = p};
        double off_deg = pow(10, rng_between(&rng, -14, -5));
        shape.center.lon += rng_between(&rng, -off_deg, off_deg);
        shape.center.lat += rng_between(&rng, -off_deg, off_deg);
        double exact_m = yn_distance_m(shape.center, p);
        shape.radius_m = exact_m * (1 + rng_between(&rng, -1e-4, 1e-4));
        if (!yn_point_is_valid(shape.center))
            continue;
        assert_int_equal(yn_region_init(&region, &shape), YN_OK);
        for (size_t k = 0; k < n_kernels; k++)
            assert_int_equal(kernels[k]->test(&region, leaf, mask),
                             yn_region_contains(&region, p));
    }
}

/* ---- the choice ---- */

static void kernels_by_name(void **state)
{
    (void)state;
    assert_string_equal(yn_kernel_find("scalar")->name, "scalar");
    assert_null(yn_kernel_find(""));
    assert_null(yn_kernel_find("AVX2"));
    assert_null(yn_kernel_find("avx"));
    for (size_t i = 0; i < n_kernels; i++)
        assert_true(yn_kernel_is_name(kernels[i]->name));
    assert_true(yn_kernel_is_name("avx512")); /* whatever this processor is */
    assert_false(yn_kernel_is_name(""));
    assert_false(yn_kernel_is_name("AVX2"));
}

int main(void)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_of_every_size),
        cmocka_unit_test(rectangles_of_every_number),
        cmocka_unit_test(arrays_of_every_length),
        cmocka_unit_test(wide_leaf_at_the_center),
        cmocka_unit_test(kernels_by_name),
    };
    rng.state = model_seed();
    for (size_t i = 0; i < 3; i++)
        if ((kernels[n_kernels] = yn_kernel_find(names[i])) != NULL)
            print_message("kernels: %s\n", kernels[n_kernels++]->name);
    for (size_t i = 0; i < N_GUARDS; i++)
        guards[i] = guard_new(16384);
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < N_GUARDS; i++)
        guard_free(&guards[i]);
    return n_failed;
}
