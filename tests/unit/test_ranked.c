/*
 * The order of measured distances is the order of exact ones: where distances tie, all
 * but tie, and near the antipode, where measuring is worst. Seed: YN_SEED.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/search.h"
#include "model/model.h"

#define N_LEAVES 4
#define N_LEAF 200
#define N (N_LEAVES * N_LEAF)

static struct rng rng;
static uint64_t space[N_LEAVES][600];
static struct yn_ranked ranked[N], right[N];
static bool is_desc;

static int compare(const void *a, const void *b)
{
    return yn_ranked_compare(a, b, is_desc);
}

static struct yn_mem heap(void)
{
    struct yn_mem mem;
    yn_mem_init(&mem, NULL);
    return mem;
}

/* Positions on both sides of the centre's meridian, at the same latitude and as far from
 * it: exact ties and distances that differ in their last bits. Some are near the
 * antipode, some in one place. */
static struct yn_point random_position(struct yn_point center)
{
    double reach = pow(10, rng_between(&rng, -6, 1.9));
    double lon = rng_below(&rng, 2) ? reach : -reach;
    double lat = rng_below(&rng, 2) ? center.lat : -center.lat;
    static struct yn_point last;
    switch (rng_below(&rng, 5)) {
    case 0: /* near the antipode */
        lon = rng_below(&rng, 2) ? 180 - reach : reach - 180;
        lat = -center.lat + rng_between(&rng, -reach, reach);
        break;
    case 1: /* where the last one was, or its mirror image */
        lat = last.lat;
        lon = rng_below(&rng, 2) ? last.lon - center.lon : center.lon - last.lon;
        break;
    default:
        lat += rng_between(&rng, -reach, reach);
        break;
    }
    lon += center.lon;
    lon -= 360 * floor((lon + 180) / 360);
    last.lon = lon;
    last.lat = fmax(-YN_LAT_MAX_DEG, fmin(lat, YN_LAT_MAX_DEG));
    return last;
}

static const struct yn_leaf *make_leaf(size_t number, struct yn_point center)
{
    struct yn_leaf *leaf = (struct yn_leaf *)(void *)space[number];
    struct yn_item items[N_LEAF];
    static char wires[N_LEAVES][N_LEAF][11];
    struct yn_leaf_plan plan;
    for (size_t i = 0; i < N_LEAF; i++) {
        char *wire = wires[number][i];
        snprintf(wire, sizeof wires[0][0], "$3\r\n%zu\r", 100 + i);
        wire[8] = '\n';
        yn_item_set_score(&items[i], yn_score_encode(random_position(center)));
        items[i].wire = wire;
        items[i].wire_len = 9;
    }
    yn_leaf_plan(items, N_LEAF, &plan);
    assert_true(plan.size <= sizeof space[0]);
    yn_leaf_pack(leaf, sizeof space[0], 1, items, &plan);
    return leaf;
}

/* Fills `ranked` with measured distances and `right` with exact ones. */
static void measure(const struct yn_region *region)
{
    struct yn_positions at;
    double a[N_LEAF], metres[N_LEAF];
    struct yn_point center = region->shape.center;
    for (size_t number = 0; number < N_LEAVES; number++) {
        const struct yn_leaf *leaf = make_leaf(number, center);
        yn_kernel()->decode(leaf, &at);
        yn_kernel()->haversine(region, &at, N_LEAF, a);
        yn_kernel()->distances(a, N_LEAF, metres);
        for (size_t i = 0; i < N_LEAF; i++) {
            size_t k = number * N_LEAF + i;
            ranked[k] = (struct yn_ranked){metres[i], leaf, i};
            right[k] = (struct yn_ranked){yn_leaf_distance_m(leaf, i, center), leaf, i};
        }
    }
}

static void measured_order_is_exact(void **state)
{
    (void)state;
    struct yn_mem mem = heap();
    struct yn_stopper stopper = {.stop = NULL};
    size_t n_ties = 0, n_beyond = 0;
    for (size_t round = 0; round < model_rounds(1000); round++) {
        struct yn_shape shape = {
            .kind = YN_CIRCLE,
            .center = {rng_between(&rng, -180, 180), rng_between(&rng, -85, 85)}};
        struct yn_region region;
        if (rng_below(&rng, 2)) /* such that mirror images are exact */
            shape.center = (struct yn_point){0, 0};
        assert_int_equal(yn_region_init(&region, &shape), YN_OK);
        measure(&region);
        is_desc = round & 1;
        /* also few, which are sorted otherwise */
        size_t n = round % 3 == 0 ? 1 + rng_below(&rng, 48) : N;
        qsort(right, n, sizeof right[0], compare);
        assert_int_equal(
            yn_ranked_sort(ranked, n, is_desc, shape.center, mem.hook, &stopper), YN_OK);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(ranked[i].i, right[i].i);
            assert_ptr_equal(ranked[i].leaf, right[i].leaf);
            n_ties += i > 0 && right[i].distance_m == right[i - 1].distance_m;
            n_beyond += right[i].distance_m > 18.2e6;
        }
    }
    assert_true(n_ties > 100 && n_beyond > 100);
}

/* Where one printed decimal hangs on the last bit, the exact distance is taken. */
static void four_decimals_are_exact(void **state)
{
    (void)state;
    static const double units[] = {1, 1000, 0.3048, 1609.34};
    static struct yn_search search;
    size_t n_exact = 0;
    for (size_t round = 0; round < model_rounds(200); round++) {
        struct yn_shape shape = {
            .kind = YN_CIRCLE,
            .center = {rng_between(&rng, -180, 180), rng_between(&rng, -85, 85)}};
        assert_int_equal(yn_region_init(&search.region, &shape), YN_OK);
        measure(&search.region);
        for (size_t i = 0; i < N; i++) {
            /* a unit that puts the distance next to the middle between two decimals */
            double unit_m = units[i % 4], right_m = right[i].distance_m;
            double parts = floor(right_m / unit_m * 10000) + 0.5;
            if (i & 4 && right_m > 1)
                unit_m = right_m / parts * 10000 * (1 + rng_between(&rng, -1e-15, 1e-15));
            search.query.rounding_unit_m = unit_m;
            double refined_m = yn_search_refine(&search, ranked[i].leaf, ranked[i].i,
                                                ranked[i].distance_m);
            assert_true(llrint(refined_m / unit_m * 10000) ==
                        llrint(right_m / unit_m * 10000));
            n_exact += refined_m == right_m;
        }
    }
    assert_true(n_exact > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_order_is_exact),
        cmocka_unit_test(four_decimals_are_exact),
    };
    rng.state = model_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
