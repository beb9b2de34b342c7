/*
 * bench_data.h: data sets by formula. docs/benchmark-data.md defines each.
 *
 * Any point of a set can be had directly by its number; the same name, size and seed give
 * the same points on every machine. A set may be read by several threads at a time.
 */
#ifndef BENCH_DATA_H
#define BENCH_DATA_H

#include "core/buf.h"
#include "tools/bench_places.h"

enum bench_data_kind {
    BENCH_DATA_OSM,
    BENCH_DATA_OUTLET,
    BENCH_DATA_SICILY,
    BENCH_DATA_UNIFORM,
    BENCH_DATA_FLEET,
};

struct bench_data {
    enum bench_data_kind kind;
    uint64_t n;
    uint64_t seed;
    uint64_t stride; /* fleet: the order in which objects move */
    struct bench_places places;
    char error[320];
};

struct bench_data_point {
    int32_t lon_e6, lat_e6; /* millionths of a degree */
    uint64_t number;        /* from 0; see bench_data_member */
};

/* n 0: the set's own size. places_path: see bench_places_open. On failure `error` says
 * why, and nothing needs to be closed. */
bool bench_data_open(struct bench_data *data, const char *name, uint64_t n, uint64_t seed,
                     const char *places_path);
void bench_data_close(struct bench_data *data);

/* Points first..first+n-1. */
void bench_data_points(const struct bench_data *data, uint64_t first, size_t n,
                       struct bench_data_point *out_points);

/* The k-th move of a fleet: every n moves each object has moved once, by about 100 m. */
void bench_data_move(const struct bench_data *data, uint64_t k,
                     struct bench_data_point *out_point);

#define BENCH_DATA_TEXT_MAX 32
/* The member's name. Returns its length; no NUL. */
size_t bench_data_member(const struct bench_data *data, uint64_t number, char *out_text);
/* "-0.123456" of millionths. Returns its length; no NUL. */
size_t bench_data_format_e6(int32_t value, char *out_text);

/* The key that a set is usually stored under. */
const char *bench_data_key(const struct bench_data *data);

/* Appends one GEOADD of n points. */
void bench_data_write_geoadd(const struct bench_data *data, struct yn_bytes key,
                             const struct bench_data_point *points, size_t n,
                             struct yn_buf *out);

#endif
