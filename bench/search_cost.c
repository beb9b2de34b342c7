/*
 * How well is the time of a search known before it is planned?
 *
 * For searches of many kinds over one set (2 million members, half of them in a thousand
 * towns; or as many as the first argument says): what yn_search_cost_ns estimates, what
 * planning then takes, and what the estimate itself takes. The constants of
 * src/core/estimate.c are from here. Prints a Markdown table.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "yonder.h"

#define N_RUNS 5
#define TOWNS 1000
#define VERTICES_MAX 100000

static uint64_t state = 42;

static double draw(double low, double high)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (double)(state >> 11) * 0x1p-53 * (high - low);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static struct yn_zset *make_set(size_t n)
{
    struct yn_zset *set = yn_zset_new(NULL);
    static struct yn_point towns[TOWNS];
    char text[32];
    for (size_t i = 0; i < TOWNS; i++)
        towns[i] = (struct yn_point){draw(-20, 20), draw(-20, 20)};
    for (size_t i = 0; i < n; i++) {
        struct yn_point p = {draw(-20, 20), draw(-20, 20)};
        if (i % 2 == 0) {
            const struct yn_point *town = &towns[i / 2 % TOWNS];
            p = (struct yn_point){town->lon + draw(-0.05, 0.05),
                                  town->lat + draw(-0.05, 0.05)};
        }
        struct yn_bytes member = {text, (size_t)snprintf(text, sizeof text, "%zu", i)};
        yn_zset_put(set, member, yn_score_encode(p), NULL);
    }
    return set;
}

/* A ring of n vertices whose radius goes up and down `waves` times. */
static void fill_ring(struct yn_point *vertices, size_t n, double radius_deg,
                      double waves)
{
    for (size_t i = 0; i < n; i++) {
        double angle = 2 * M_PI * (double)i / (double)n;
        double radius = radius_deg * (1 + 0.3 * sin(waves * angle));
        vertices[i] = (struct yn_point){radius * cos(angle), radius * sin(angle)};
    }
}

static void fill_scribble(struct yn_point *vertices, size_t n, double radius_deg)
{
    for (size_t i = 0; i < n; i++)
        vertices[i] = (struct yn_point){draw(-radius_deg, radius_deg),
                                        draw(-radius_deg, radius_deg)};
}

static void measure(const struct yn_zset *set, const char *name,
                    const struct yn_query *query)
{
    const struct yn_view *view = yn_zset_view(set);
    double best_ns = HUGE_VAL, asked_ns = HUGE_VAL;
    uint64_t cost_ns = 0;
    size_t n_results = 0, n_told = 0;
    double left_ns = 1e9;
    for (int run = 0; run < N_RUNS && left_ns > 0; run++) {
        struct yn_search *search;
        if (yn_search_prepare(view, query, &search) != YN_OK)
            return;
        double began = now_ns();
        yn_search_cost_ns(search, view, 1000000, NULL);
        double asked = now_ns();
        asked_ns = fmin(asked_ns, asked - began);
        cost_ns = yn_search_cost_ns(search, view, UINT64_MAX, &n_told);
        began = now_ns();
        yn_search_plan(search, view, NULL);
        double took_ns = now_ns() - began;
        left_ns -= took_ns;
        best_ns = fmin(best_ns, took_ns);
        n_results = yn_search_count(search);
        yn_search_free(search);
    }
    printf("| %-34s | %8zu | %8zu | %10.1f | %10.1f | %6.2f | %8.2f |\n", name, n_results,
           n_told, best_ns / 1e3, (double)cost_ns / 1e3, (double)cost_ns / best_ns,
           asked_ns / 1e3);
}

static void measure_circles(const struct yn_zset *set)
{
    static const double radii_m[] = {1e3, 1e4, 1e5, 3e5, 1e6, 3e6};
    static const struct {
        const char *name;
        enum yn_order order;
        size_t limit;
        bool any;
    } kinds[] = {{"", YN_ORDER_CELLS, 0, false},
                 {" sorted", YN_ORDER_ASC, 0, false},
                 {" count 10", YN_ORDER_ASC, 10, false},
                 {" count 1000", YN_ORDER_ASC, 1000, false},
                 {" count 100000", YN_ORDER_ASC, 100000, false},
                 {" count 100000 desc", YN_ORDER_DESC, 100000, false},
                 {" count 10 any", YN_ORDER_CELLS, 10, true},
                 {" count 100000 any", YN_ORDER_CELLS, 100000, true},
                 {" count 100000 any asc", YN_ORDER_ASC, 100000, true}};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t i = 0; i < sizeof radii_m / sizeof radii_m[0]; i++) {
            char name[64];
            struct yn_query query = {
                .shape = {.kind = YN_CIRCLE, .center = {1, 1}, .radius_m = radii_m[i]},
                .order = kinds[k].order,
                .limit = kinds[k].limit,
                .any = kinds[k].any};
            snprintf(name, sizeof name, "circle %.0f km%s", radii_m[i] / 1e3,
                     kinds[k].name);
            measure(set, name, &query);
        }
    }
    struct yn_query far = {
        .shape = {.kind = YN_CIRCLE, .center = {179.9, 1}, .radius_m = 1e5}};
    measure(set, "circle across the antimeridian", &far);
}

static void measure_polygons(const struct yn_zset *set)
{
    static const size_t sizes[] = {4, 100, 1000, 10000, VERTICES_MAX};
    static struct yn_point vertices[VERTICES_MAX];
    for (int kind = 0; kind < 3; kind++) {
        for (double radius = 0.1; radius < 20; radius *= 12) {
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                if (kind == 2 && sizes[i] > 1000)
                    continue; /* minutes */
                char name[64];
                if (kind == 2)
                    fill_scribble(vertices, sizes[i], radius);
                else
                    fill_ring(vertices, sizes[i], radius,
                              kind == 0 ? 7 : (double)sizes[i] / 4);
                struct yn_query query = {.shape = {.kind = YN_POLYGON,
                                                   .vertices = vertices,
                                                   .n_vertices = sizes[i]}};
                snprintf(name, sizeof name, "%s %.1f deg, %zu vertices",
                         kind == 0   ? "ring"
                         : kind == 1 ? "star"
                                     : "scribble",
                         radius, sizes[i]);
                measure(set, name, &query);
                query.limit = 100;
                query.order = YN_ORDER_ASC;
                snprintf(name + strlen(name), sizeof name - strlen(name), " 100");
                measure(set, name, &query);
            }
        }
    }
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000;
    struct yn_zset *set = make_set(n);
    printf("| search | results | told | takes µs | estimate µs | ratio | asking µs |\n");
    printf("| --- | --- | --- | --- | --- | --- | --- |\n");
    measure_circles(set);
    measure_polygons(set);
    yn_zset_free(set);
    return 0;
}
