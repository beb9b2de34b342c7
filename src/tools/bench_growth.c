/*
 * The suite "growth": how cost grows, as series of rows for plots (scripts/plot_growth).
 *
 * The keys hold N, N/4, N/16, ... points of the data set `uniform`, the smallest at least
 * 10,000. They are loaded in ascending order, and each goes after its last row, so that
 * only one is in memory at a time. Uniform, because then the hits of a circle follow from
 * its size: what a row is to keep fixed it keeps fixed.
 *
 *   load            loading a point, against the points of the key
 *   memory          bytes a point (the same rows; of the servers' own count)
 *   look-up         GEOPOS of a random member, against the points of the key
 *   total           a circle of about 1,000 hits, against the points of the key
 *   count-by-total  the 10 nearest within 200 km, against the points of the key
 *   hits            circles over N points, against the hits
 *   count-by-radius the 10 nearest over N points, against the radius in km
 *
 * Centres lie within 60 degrees of the equator, away from the edges of the projection.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_rows.h"

#define SIZE_MIN 10000u
#define SIZES_MAX 16
#define HITS 1000.0
#define TOTAL_MIN                                                         \
    40000u /* below, a circle of so many hits is a good part of the Earth \
            */
#define ROWS_MAX (SIZES_MAX * 4 + 32)
#define TEXT_LEN 160
#define CENTRE "FROMLONLAT {lon} {lat:-60,60}"
#define PI 3.14159265358979323846
#define RADIUS_OF_EARTH_KM 6372.797560856

struct growth {
    struct bench_key keys[SIZES_MAX];
    struct bench_row rows[ROWS_MAX];
    char texts[SIZES_MAX * 2 + ROWS_MAX * 2][TEXT_LEN];
    size_t n_keys, n_rows, n_texts;
};

static const char *keep(struct growth *growth, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *keep(struct growth *growth, const char *format, ...)
{
    char *text = growth->texts[growth->n_texts++];
    va_list args;
    va_start(args, format);
    vsnprintf(text, TEXT_LEN, format, args);
    va_end(args);
    return text;
}

/* Adds a row of a series; the caller completes it. */
static struct bench_row *add_row(struct growth *growth, const char *series,
                                 const char *key, double x)
{
    struct bench_row *row = &growth->rows[growth->n_rows++];
    *row = (struct bench_row){.name = keep(growth, "growth-%s-%.0f", series, x),
                              .group = series,
                              .key = key,
                              .n_connections = 1,
                              .n_threads = 1,
                              .pipeline = 1,
                              .series = series,
                              .x = x,
                              .n_min = 10};
    return row;
}

/* The radius of a circle with so many hits among n points spread evenly between the
 * parallels of 85 degrees, as `uniform` is. */
static double radius_km(double hits, double n)
{
    return RADIUS_OF_EARTH_KM * acos(1 - 2 * sin(85 * PI / 180) * hits / n);
}

static void add_size(struct growth *growth, uint64_t n)
{
    struct bench_key *key = &growth->keys[growth->n_keys++];
    const char *name = keep(growth, "uniform-%" PRIu64, n);
    double x = (double)n;
    *key = (struct bench_key){name, "uniform", NULL, keep(growth, "%" PRIu64, n)};

    struct bench_row *row = add_row(growth, "load", name, x);
    row->command = "GEOADD, 100 points a command";
    row->is_load = true;

    row = add_row(growth, "look-up", name, x);
    row->command = keep(growth, "GEOPOS %s {member:1-%" PRIu64 "}", name, n);
    row->n_connections = 10;
    row->pipeline = 100;

    row = add_row(growth, "count-by-total", name, x);
    row->command =
        keep(growth, "GEOSEARCH %s " CENTRE " BYRADIUS 200 km ASC COUNT 10", name);
    row->check = "WITHDIST";
    row->has_ties = row->has_more = row->may_be_empty = true;

    if (n < TOTAL_MIN)
        return;
    row = add_row(growth, "total", name, x);
    row->command = keep(growth, "GEOSEARCH %s " CENTRE " BYRADIUS %.3f km", name,
                        radius_km(HITS, x));
    row->has_more = true;
}

/* The rows over the largest key. */
static void add_radii(struct growth *growth, const char *name)
{
    static const unsigned hits_km[] = {1, 3, 10, 30, 100, 200, 500};
    static const unsigned count_km[] = {1, 3, 10, 30, 100, 300, 1000, 2000};
    for (size_t i = 0; i < sizeof hits_km / sizeof hits_km[0]; i++) {
        struct bench_row *row = add_row(growth, "hits", name, hits_km[i]);
        row->command =
            keep(growth, "GEOSEARCH %s " CENTRE " BYRADIUS %u km", name, hits_km[i]);
        row->x = 0; /* its hits */
        row->n_checks = 100;
        row->has_more = row->may_be_empty = true;
    }
    for (size_t i = 0; i < sizeof count_km / sizeof count_km[0]; i++) {
        struct bench_row *row = add_row(growth, "count-by-radius", name, count_km[i]);
        row->command = keep(growth, "GEOSEARCH %s " CENTRE " BYRADIUS %u km ASC COUNT 10",
                            name, count_km[i]);
        row->check = "WITHDIST";
        row->n_min = 3;
        row->has_ties = row->has_more = row->may_be_empty = true;
    }
}

bool bench_growth_open(struct bench_suite *suite, uint64_t n_points)
{
    struct growth *growth = calloc(1, sizeof *growth);
    if (growth == NULL)
        return false;
    uint64_t sizes[SIZES_MAX];
    size_t n = 0;
    do {
        sizes[n++] = n_points;
        n_points /= 4;
    } while (n_points >= SIZE_MIN && n < SIZES_MAX);
    while (n > 0)
        add_size(growth, sizes[--n]);
    add_radii(growth, growth->keys[growth->n_keys - 1].name);
    *suite = (struct bench_suite){.name = "growth",
                                  .keys = growth->keys,
                                  .n_keys = growth->n_keys,
                                  .rows = growth->rows,
                                  .n_rows = growth->n_rows,
                                  .n_rounds = 3,
                                  .duration_s = 0.3,
                                  .owned = growth};
    return true;
}
