/*
 * Data sets. Everything about point i comes from the random numbers at places 4i..4i+3 of
 * the stream of the seed, so that any point can be had alone and members, which are
 * numbered by i, are in random order of place.
 *
 * osm and outlet: a place is drawn by weight. Seven points of ten lie in the town, within
 * an extent that grows with the root of its population, the others in the countryside
 * within 60 km. In both axes the offset is the sum of two uniform numbers (a triangle):
 * no trigonometry. docs/benchmark-data.md has the formulas in full.
 */
#include "tools/bench_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/num.h"
#include "tools/bench_random.h"

#define PI 3.14159265358979323846
#define OSM_N 60841557u
#define OUTLET_N 85318u
#define FLEET_N 1000000u
/* Weight of a place beside its population; chosen so that 100 thousand of the 60,841,557
 * points of osm lie within 200 km of (7, 55). */
#define OSM_EXTRA 22000u
#define OUTLET_EXTRA 10000u
#define COUNTRY_E6 ((float)(60.0 / 111.2 * 1e6))
#define TOWN_SHARE 7u /* of 10 */
#define LAT_MAX_E6 85000000
#define M_A_DEGREE 111226.0
#define MOVE_M 100.0

static const struct {
    const char *name, *key;
    uint64_t n;
    const char *country;
    uint32_t extra; /* 0: not scattered around places */
} kinds[] = {
    [BENCH_DATA_OSM] = {"osm", "key", OSM_N, NULL, OSM_EXTRA},
    [BENCH_DATA_OUTLET] = {"outlet", "outlet", OUTLET_N, "ID", OUTLET_EXTRA},
    [BENCH_DATA_SICILY] = {"sicily", "Sicily", 4, NULL, 0},
    [BENCH_DATA_UNIFORM] = {"uniform", "uniform", OSM_N, NULL, 0},
    [BENCH_DATA_FLEET] = {"fleet", "fleet", FLEET_N, NULL, OSM_EXTRA},
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* The example of the documentation of GEOADD and GEOSEARCH. */
static const struct {
    int32_t lon_e6, lat_e6;
    const char *member;
} sicily[] = {
    {13361389, 38115556, "Palermo"},
    {15087269, 37502669, "Catania"},
    {12758489, 38788135, "edge1"},
    {17241510, 38788135, "edge2"},
};

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool bench_data_open(struct bench_data *data, const char *name, uint64_t n, uint64_t seed,
                     const char *places_path)
{
    memset(data, 0, sizeof *data);
    size_t kind = 0;
    while (kind < N_KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    if (kind == N_KINDS) {
        snprintf(
            data->error, sizeof data->error,
            "no data set \"%.40s\"; there are osm, outlet, sicily, uniform and fleet",
            name);
        return false;
    }
    data->kind = (enum bench_data_kind)kind;
    data->n = n > 0 ? n : kinds[kind].n;
    data->seed = bench_random_at(seed, kind);
    if (data->kind == BENCH_DATA_SICILY && data->n > 4)
        data->n = 4;
    /* about the golden section of n, without a common divisor: visits all, far apart */
    data->stride = (uint64_t)((double)data->n * 0.6180339887498949) | 1;
    while (greatest_divisor(data->n, data->stride) != 1)
        data->stride += 2;
    if (kinds[kind].extra > 0 &&
        !bench_places_open(&data->places, places_path, kinds[kind].country,
                           kinds[kind].extra)) {
        snprintf(data->error, sizeof data->error, "%s", data->places.error);
        return false;
    }
    return true;
}

void bench_data_close(struct bench_data *data)
{
    bench_places_close(&data->places);
}

const char *bench_data_key(const struct bench_data *data)
{
    return kinds[data->kind].key;
}

/* ---- points ------------------------------------------------------------- */

/* -1..1, most often near 0: the sum of two uniform numbers, less 1. */
static double triangle(uint64_t random)
{
    uint64_t sum = (random >> 32) + (random & 0xFFFFFFFFu);
    return (double)sum * 0x1p-32 - 1;
}

static int32_t wrap_lon(double lon_e6)
{
    if (lon_e6 > 180e6)
        lon_e6 -= 360e6;
    else if (lon_e6 < -180e6)
        lon_e6 += 360e6;
    return (int32_t)lrint(lon_e6);
}

static int32_t clamp_lat(double lat_e6)
{
    if (lat_e6 > LAT_MAX_E6)
        return LAT_MAX_E6;
    return lat_e6 < -LAT_MAX_E6 ? -LAT_MAX_E6 : (int32_t)lrint(lat_e6);
}

static size_t slot_of(const struct bench_data *data, uint64_t random)
{
    return (size_t)((random >> 32) * data->places.n >> 32);
}

static void scatter(const struct bench_data *data, uint64_t first, size_t n,
                    struct bench_data_point *out_points)
{
    const struct bench_place *places = data->places.places;
    for (size_t i = 0; i < n; i++) /* the table is larger than the second cache */
        __builtin_prefetch(
            &places[slot_of(data, bench_random_at(data->seed, 4 * (first + i)))]);
    for (size_t i = 0; i < n; i++) {
        uint64_t k = 4 * (first + i);
        uint64_t random = bench_random_at(data->seed, k);
        const struct bench_place *place = &places[slot_of(data, random)];
        if ((uint32_t)random >= place->threshold)
            place = &places[place->alias];
        bool is_town = bench_random_at(data->seed, k + 1) % 10 < TOWN_SHARE;
        double extent = (double)(is_town ? place->town_e6 : COUNTRY_E6);
        double east = extent * triangle(bench_random_at(data->seed, k + 2));
        double north = extent * triangle(bench_random_at(data->seed, k + 3));
        out_points[i].lon_e6 = wrap_lon(place->lon_e6 + east * (double)place->stretch);
        out_points[i].lat_e6 = clamp_lat(place->lat_e6 + north);
        out_points[i].number = first + i;
    }
}

static void spread(const struct bench_data *data, uint64_t first, size_t n,
                   struct bench_data_point *out_points)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t k = 4 * (first + i);
        double u = (double)(bench_random_at(data->seed, k) >> 11) * 0x1p-53;
        double v = (double)(bench_random_at(data->seed, k + 1) >> 11) * 0x1p-53;
        /* equal areas: the sine of the latitude is uniform */
        double lat_e6 = asin((2 * v - 1) * sin(85 * PI / 180)) * (180e6 / PI);
        out_points[i] = (struct bench_data_point){
            .lon_e6 = wrap_lon((2 * u - 1) * 180e6),
            .lat_e6 = clamp_lat(lat_e6),
            .number = first + i,
        };
    }
}

/* Where an object of the fleet is after `step` moves: on a circle around its home. */
static void drive(const struct bench_data *data, uint64_t object, uint64_t step,
                  struct bench_data_point *out_point)
{
    scatter(data, object, 1, out_point);
    uint64_t random = bench_random_at(~data->seed, object);
    double radius_m = 200 + 1800 * ((double)(uint32_t)random * 0x1p-32);
    double angle = 2 * PI * ((double)(random >> 32) * 0x1p-32);
    angle += (double)step * MOVE_M / radius_m;
    double north_e6 = radius_m * sin(angle) / M_A_DEGREE * 1e6;
    double east_e6 = radius_m * cos(angle) / M_A_DEGREE * 1e6;
    east_e6 /= cos((double)out_point->lat_e6 * (PI / 180e6));
    out_point->lon_e6 = wrap_lon(out_point->lon_e6 + east_e6);
    out_point->lat_e6 = clamp_lat(out_point->lat_e6 + north_e6);
}

void bench_data_move(const struct bench_data *data, uint64_t k,
                     struct bench_data_point *out_point)
{
    uint64_t at = k % data->n;
    uint64_t object = (uint64_t)((unsigned __int128)at * data->stride % data->n);
    drive(data, object, 1 + k / data->n, out_point);
}

void bench_data_points(const struct bench_data *data, uint64_t first, size_t n,
                       struct bench_data_point *out_points)
{
    switch (data->kind) {
    case BENCH_DATA_OSM:
    case BENCH_DATA_OUTLET:
        scatter(data, first, n, out_points);
        break;
    case BENCH_DATA_SICILY:
        for (size_t i = 0; i < n; i++)
            out_points[i] = (struct bench_data_point){
                sicily[first + i].lon_e6, sicily[first + i].lat_e6, first + i};
        break;
    case BENCH_DATA_UNIFORM:
        spread(data, first, n, out_points);
        break;
    case BENCH_DATA_FLEET:
        for (size_t i = 0; i < n; i++)
            drive(data, first + i, 0, &out_points[i]);
        break;
    }
}

/* ---- text --------------------------------------------------------------- */

size_t bench_data_member(const struct bench_data *data, uint64_t number, char *out_text)
{
    if (data->kind == BENCH_DATA_SICILY) {
        size_t len = strlen(sicily[number].member);
        memcpy(out_text, sicily[number].member, len);
        return len;
    }
    return yn_num_format_uint64(number + 1, out_text);
}

size_t bench_data_format_e6(int32_t value, char *out_text)
{
    char *p = out_text;
    uint32_t size = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    if (value < 0)
        *p++ = '-';
    uint32_t whole = size / 1000000, rest = size % 1000000;
    if (whole >= 100)
        *p++ = (char)('0' + whole / 100 % 10);
    if (whole >= 10)
        *p++ = (char)('0' + whole / 10 % 10);
    *p++ = (char)('0' + whole % 10);
    *p++ = '.';
    for (int i = 5; i >= 0; i--) {
        p[i] = (char)('0' + rest % 10);
        rest /= 10;
    }
    return (size_t)(p + 6 - out_text);
}

/* A bulk of up to 99 bytes; `to` has room for 5 + len + 2. */
static char *put_bulk(char *to, const char *text, size_t len)
{
    *to++ = '$';
    if (len >= 10)
        *to++ = (char)('0' + len / 10);
    *to++ = (char)('0' + len % 10);
    *to++ = '\r';
    *to++ = '\n';
    memcpy(to, text, len);
    to += len;
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

void bench_data_write_geoadd(const struct bench_data *data, struct yn_bytes key,
                             const struct bench_data_point *points, size_t n,
                             struct yn_buf *out)
{
    char head[64];
    int head_len = snprintf(head, sizeof head, "*%zu\r\n$6\r\nGEOADD\r\n$%zu\r\n",
                            2 + 3 * n, key.len);
    yn_buf_append(out, head, (size_t)head_len);
    yn_buf_append(out, key.data, key.len);
    yn_buf_append(out, "\r\n", 2);
    char *to = yn_buf_reserve(out, n * 3 * (BENCH_DATA_TEXT_MAX + 7));
    if (to == NULL)
        return;
    char text[BENCH_DATA_TEXT_MAX + YN_NUM_TEXT_MAX];
    for (size_t i = 0; i < n; i++) {
        to = put_bulk(to, text, bench_data_format_e6(points[i].lon_e6, text));
        to = put_bulk(to, text, bench_data_format_e6(points[i].lat_e6, text));
        to = put_bulk(to, text, bench_data_member(data, points[i].number, text));
    }
    out->len = (size_t)(to - out->data);
}
