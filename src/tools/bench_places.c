/*
 * Drawing by weight: the alias method (Walker 1977, in the form of Vose 1991). Each of n
 * slots holds its own place with some probability and one other, its alias, with the
 * rest; a draw takes a slot and one comparison. Slots are filled from places lighter than
 * the mean, topped up by heavier ones.
 */
#include "tools/bench_places.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"
#include "tools/cli_csv.h"

#define KM_A_DEGREE 111.2
#define TOWN_KM_MIN 1.0

struct reading {
    struct bench_places *places;
    const char *country;
    double *weights;
    size_t cap;
    uint32_t extra;
    bool is_titles_read;
};

/* Columns of data/cities.csv: id,name,country,population,lon,lat */
enum { COLUMN_COUNTRY = 2, COLUMN_POPULATION, COLUMN_LON, COLUMN_LAT, N_COLUMNS };

static bool fail(struct bench_places *places, const char *text)
{
    snprintf(places->error, sizeof places->error, "%s", text);
    return false;
}

static bool grow(struct reading *reading)
{
    struct bench_places *places = reading->places;
    if (places->n < reading->cap)
        return true;
    size_t cap = reading->cap > 0 ? 2 * reading->cap : 1024;
    void *p = realloc(places->places, cap * sizeof places->places[0]);
    if (p == NULL)
        return fail(places, "out of memory");
    places->places = p;
    p = realloc(reading->weights, cap * sizeof reading->weights[0]);
    if (p == NULL)
        return fail(places, "out of memory");
    reading->weights = p;
    reading->cap = cap;
    return true;
}

static bool add_row(void *ctx, const struct cli_csv_row *row)
{
    struct reading *reading = ctx;
    struct bench_places *places = reading->places;
    if (!reading->is_titles_read) {
        reading->is_titles_read = true;
        return true;
    }
    double population, lon, lat;
    if (row->n_fields != N_COLUMNS ||
        !yn_num_parse_double(row->fields[COLUMN_POPULATION], &population) ||
        !yn_num_parse_double(row->fields[COLUMN_LON], &lon) ||
        !yn_num_parse_double(row->fields[COLUMN_LAT], &lat) || fabs(lat) > 85 ||
        fabs(lon) > 180) {
        snprintf(places->error, sizeof places->error, "line %llu is no place",
                 (unsigned long long)row->line);
        return false;
    }
    struct yn_bytes country = row->fields[COLUMN_COUNTRY];
    if (reading->country != NULL && (country.len != strlen(reading->country) ||
                                     memcmp(country.data, reading->country, country.len)))
        return true;
    if (!grow(reading))
        return false;
    double town_km = TOWN_KM_MIN + sqrt(population) / 75;
    reading->weights[places->n] = population + reading->extra;
    places->places[places->n++] = (struct bench_place){
        .lon_e6 = (int32_t)lrint(lon * 1e6),
        .lat_e6 = (int32_t)lrint(lat * 1e6),
        .town_e6 = (float)(town_km / KM_A_DEGREE * 1e6),
        .stretch = (float)(1 / cos(lat * (3.14159265358979323846 / 180))),
    };
    return true;
}

static bool fill_aliases(struct bench_places *places, const double *weights)
{
    size_t n = places->n, n_light = 0, n_heavy = 0;
    double total = 0;
    double *share = malloc(n * sizeof *share);
    uint32_t *light = malloc(n * sizeof *light), *heavy = malloc(n * sizeof *heavy);
    bool is_done = share != NULL && light != NULL && heavy != NULL;
    if (!is_done)
        goto done;
    for (size_t i = 0; i < n; i++)
        total += weights[i];
    for (size_t i = 0; i < n; i++) {
        share[i] = weights[i] * (double)n / total;
        if (share[i] < 1)
            light[n_light++] = (uint32_t)i;
        else
            heavy[n_heavy++] = (uint32_t)i;
    }
    while (n_light > 0 && n_heavy > 0) {
        uint32_t i = light[--n_light], j = heavy[n_heavy - 1];
        places->places[i].threshold = (uint32_t)(share[i] * 0x1p32);
        places->places[i].alias = j;
        share[j] -= 1 - share[i];
        if (share[j] < 1) {
            n_heavy--;
            light[n_light++] = j;
        }
    }
    /* what rounding has left over weighs exactly the mean */
    while (n_light + n_heavy > 0) {
        uint32_t i = n_light > 0 ? light[--n_light] : heavy[--n_heavy];
        places->places[i].threshold = UINT32_MAX;
        places->places[i].alias = i;
    }
done:
    free(share);
    free(light);
    free(heavy);
    return is_done || fail(places, "out of memory");
}

static FILE *open_below(const char *folder, char *out_path, size_t size)
{
    snprintf(out_path, size, "%s/data/cities.csv", folder);
    return fopen(out_path, "rb");
}

static FILE *open_file(const char *path, char *out_path, size_t size)
{
    if (path != NULL) {
        snprintf(out_path, size, "%s", path);
        return fopen(path, "rb");
    }
    const char *root = getenv("YONDER_SOURCE_DIR");
    FILE *file = root != NULL ? open_below(root, out_path, size) : NULL;
    char program[512];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 4);
    char *slash = len > 0 ? memrchr(program, '/', (size_t)len) : NULL;
    if (file == NULL && slash != NULL) {
        memcpy(slash, "/..", 4);
        file = open_below(program, out_path, size);
    }
    return file != NULL ? file : open_below(".", out_path, size);
}

bool bench_places_open(struct bench_places *places, const char *path, const char *country,
                       uint32_t extra)
{
    memset(places, 0, sizeof *places);
    struct reading reading = {.places = places, .country = country, .extra = extra};
    char name[1024];
    FILE *file = open_file(path, name, sizeof name);
    if (file == NULL) {
        snprintf(places->error, sizeof places->error, "could not open \"%.200s\": %s",
                 name, strerror(errno));
        return false;
    }
    struct cli_csv csv;
    cli_csv_init(&csv, ',', add_row, &reading);
    static char chunk[64 * 1024];
    size_t n;
    enum cli_csv_status status = CLI_CSV_OK;
    while (status == CLI_CSV_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        status = cli_csv_feed(&csv, chunk, n);
    if (status == CLI_CSV_OK)
        status = cli_csv_finish(&csv);
    cli_csv_clear(&csv);
    fclose(file);

    bool is_fine = status == CLI_CSV_OK;
    if (!is_fine && places->error[0] == '\0')
        fail(places, "the file of places is no CSV");
    if (is_fine && places->n == 0)
        is_fine = fail(places, "no places in the file");
    is_fine = is_fine && fill_aliases(places, reading.weights);
    free(reading.weights);
    if (!is_fine)
        bench_places_close(places);
    return is_fine;
}

void bench_places_close(struct bench_places *places)
{
    free(places->places);
    places->places = NULL;
    places->n = 0;
}
