/*
 * bench_places.h: the populated places of data/cities.csv, from which data sets are
 * scattered, with a table that draws a place by weight in constant time.
 */
#ifndef BENCH_PLACES_H
#define BENCH_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_place {
    int32_t lon_e6, lat_e6; /* millionths of a degree */
    float town_e6;          /* extent of the town in millionths of a degree of latitude */
    float stretch;          /* degrees of longitude that a degree of latitude is long */
    uint32_t threshold;     /* draws below it stay, others go to the alias */
    uint32_t alias;
};

struct bench_places {
    struct bench_place *places; /* owned */
    size_t n;
    char error[256];
};

/* Reads the places of a country ("ID"), or all (NULL), in the order of the file. Each
 * weighs its population plus `extra`. path NULL: data/cities.csv below
 * $YONDER_SOURCE_DIR, beside the folder of this program, or in the working folder. On
 * failure `error` says why. */
bool bench_places_open(struct bench_places *places, const char *path, const char *country,
                       uint32_t extra);
void bench_places_close(struct bench_places *places);

#endif
