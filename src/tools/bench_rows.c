/*
 * The suite "geo". Names that begin with geo-60M and 1key-geo are those of the public
 * benchmark suite of Redis, whatever the number of points is here.
 *
 * Centres lie at random within 40 km of the stated one, a fifth of the radius or of the
 * box; within 1 km where all of four members are to be found. A row has a thousand of
 * them (a hundred polygons of 10,000 corners). Members are drawn at random from all. Long
 * searches run on few connections: each of them keeps a server busy, and more would only
 * wait.
 *
 * The worst cases. "All members in one cell" is there twice: a position is a cell of the
 * finest kind, so members of one such cell share their position (one-position); and a
 * million members in one of the nine cells that Redis has to scan, while the circle is
 * empty (beside-a-dense-city). For that row the city lies in the middle of a cell of 0.7
 * x 0.6 km, and centres 0.8 km east of it, in the next cell, with a radius of 0.5 km: far
 * enough to find nothing, and near enough that the city's cell is one of the nine. The
 * check of the row makes sure of both.
 */
#include "tools/bench_rows.h"

#include <stdlib.h>
#include <string.h>

#define CENTRE "FROMLONLAT {near:7,55,40km}"

static const struct bench_key keys[] = {
    {"key", "osm", NULL, "@N"},
    {"outlet", "outlet", NULL, "85318"},
    {"Sicily", "sicily", NULL, "4"},
    {"fleet", "fleet", NULL, "@F"},
    {"one-position", NULL, "GEOADD one-position 7.1 55.1 {index}", "1M"},
    {"city", NULL, "GEOADD city {near:7.004,55.0024,0.2km} {index}", "1M"},
    {"polar", NULL, "GEOADD polar {lon} {lat:80,85} {index}", "200k"},
    {"long-members", NULL, "GEOADD long-members {near:7,55,300km} {bytes:200}", "200k"},
    {"mixed-members", NULL, "GEOADD mixed-members {near:7,55,300km} {index}{bytes:0-60}",
     "200k"},
    {"value", NULL, "SET value {bytes:70000000}", "1"},
    {"three", NULL, "GEOADD three {near:7,55,50km} {index}", "3"},
};

/* A row and its variant with 10 requests a pipeline. */
#define WITH_PIPELINE(name_, ...)                                                 \
    {.name = name_, .n_threads = 1, .pipeline = 1, __VA_ARGS__},                  \
    {                                                                             \
        .name = name_ "-pipeline-10", .n_threads = 1, .pipeline = 10, __VA_ARGS__ \
    }
#define POINT(name_, command_)                                                  \
    WITH_PIPELINE("geo-60M-elements-" name_, .group = "point", .key = "key",    \
                  .command = command_, .n_connections = 50),                    \
    {                                                                           \
        .name = "geo-60M-elements-" name_ "-pipeline-100", .group = "point",    \
        .key = "key", .command = command_, .n_connections = 50, .n_threads = 1, \
        .pipeline = 100                                                         \
    }
#define WORST(name_, key_, ...)                                                    \
    {                                                                              \
        .name = "worst-" name_, .group = "worst", .key = key_, .n_connections = 2, \
        .n_threads = 1, .pipeline = 1, __VA_ARGS__                                 \
    }

/* A polygon within 100 km of its centre; the circle is a little larger, since a polygon's
 * corners are placed on a plane. */
#define POLYGON(kind)                                                                  \
    .command = "GEOSEARCH key BYPOLYGON {" kind ":7,55,40km,100km,10000}",             \
    .their_command = "GEOSEARCH key " CENTRE " BYRADIUS 102 km WITHCOORD",             \
    .note = "the peer has no BYPOLYGON: it sends the members of the circle around it " \
            "with their positions, among which a client has still to choose",          \
    .ring = 100, .n_checks = 5

static const struct bench_row rows[] = {
    {.name = "load",
     .group = "load",
     .key = "key",
     .command = "GEOADD, 100 points a command",
     .n_connections = 1,
     .n_threads = 1,
     .pipeline = 1,
     .is_load = true},
    WITH_PIPELINE("ping", .group = "empty", .command = "PING", .n_connections = 50),
    POINT("geodist", "GEODIST key {member:1-@N} {member:1-@N}"),
    POINT("geopos", "GEOPOS key {member:1-@N}"),
    POINT("geohash", "GEOHASH key {member:1-@N}"),
    {.name = "geopos-1-2-threads-4-pipeline-10",
     .group = "point",
     .key = "key",
     .command = "GEOPOS key 1 2",
     .n_connections = 200,
     .n_threads = 4,
     .pipeline = 10},
    WITH_PIPELINE("geo-60M-elements-geosearch-fromlonlat", .group = "search",
                  .key = "key", .command = "GEOSEARCH key " CENTRE " BYRADIUS 200 KM",
                  .n_connections = 2),
    WITH_PIPELINE("geo-60M-elements-geosearch-fromlonlat-bybox", .group = "search",
                  .key = "key", .command = "GEOSEARCH key " CENTRE " BYBOX 200 200 KM",
                  .n_connections = 2),
    WITH_PIPELINE("geo-60M-elements-geosearch-fromlonlat-count-10", .group = "search",
                  .key = "key",
                  .command = "GEOSEARCH key " CENTRE " BYRADIUS 200 KM ASC COUNT 10",
                  .check = "WITHDIST", .has_ties = true, .n_connections = 2),
    {.name = "geopos-beside-searches",
     .group = "search",
     .key = "key",
     .command = "GEOPOS key {member:1-@N}",
     .beside = "GEOSEARCH key " CENTRE " BYRADIUS 200 KM",
     .n_connections = 1,
     .n_threads = 1,
     .pipeline = 1},
    {.name = "outlet-georadius-withdist-50-connections",
     .group = "search",
     .key = "outlet",
     .command = "GEORADIUS outlet {near:112,-7,40km} 200 km WITHDIST",
     .n_connections = 50,
     .n_threads = 1,
     .pipeline = 1},
    {.name = "outlet-georadius-withdist-100-connections",
     .group = "search",
     .key = "outlet",
     .command = "GEORADIUS outlet {near:112,-7,40km} 200 km WITHDIST",
     .n_connections = 100,
     .n_threads = 1,
     .pipeline = 1},
    WITH_PIPELINE("1key-geo-2-elements-geopos", .group = "small", .key = "Sicily",
                  .command = "GEOPOS Sicily Palermo Catania", .n_connections = 50),
    WITH_PIPELINE("1key-geo-2-elements-geosearch-fromlonlat-withcoord", .group = "small",
                  .key = "Sicily",
                  .command = "GEOSEARCH Sicily FROMLONLAT {near:15,37,1km} BYBOX 400 400 "
                             "km ASC WITHCOORD WITHDIST",
                  .n_connections = 50),
    {.name = "moves-pipeline-100",
     .group = "update",
     .key = "fleet",
     .command = "GEOADD fleet {move:@F}",
     .n_connections = 10,
     .n_threads = 1,
     .pipeline = 100},
    {.name = "set-70-mb-in-1-kb-pieces",
     .group = "bulk",
     .key = "value",
     .command = "SET value {bytes:70000000}",
     .n_connections = 1,
     .n_threads = 1,
     .pipeline = 1,
     .n_min = 3,
     .ring = 1,
     .piece_len = 1000},
    {.name = "get-70-mb-in-1-kb-pieces",
     .group = "bulk",
     .key = "value",
     .command = "GET value",
     .n_connections = 1,
     .n_threads = 1,
     .pipeline = 1,
     .n_min = 3,
     .ring = 1,
     .piece_len = 1000},
    WORST("one-position", "one-position",
          .command =
              "GEOSEARCH one-position FROMLONLAT {near:7.1,55.1,1km} BYRADIUS 5 km"),
    WORST("one-position-count-10", "one-position", .check = "WITHDIST", .has_ties = true,
          .command =
              "GEOSEARCH one-position FROMLONLAT {near:7.1,55.1,1km} BYRADIUS 5 km "
              "ASC COUNT 10"),
    WORST("beside-a-dense-city", "city", .is_empty = true,
          .command =
              "GEOSEARCH city FROMLONLAT {near:7.01654,55.0024,0.03km} BYRADIUS 500 m"),
    WORST("near-pole", "polar", .has_more = true,
          .command = "GEOSEARCH polar FROMLONLAT {lon} {lat:83,85} BYRADIUS 200 km"),
    WORST(
        "near-pole-count-10", "polar", .check = "WITHDIST", .has_ties = true,
        .has_more = true,
        .command =
            "GEOSEARCH polar FROMLONLAT {lon} {lat:83,85} BYRADIUS 200 km ASC COUNT 10"),
    WORST("box-of-8000-by-1-km", "outlet", .has_more = true,
          .command = "GEOSEARCH outlet FROMLONLAT {near:112,-7,40km} BYBOX 8000 1 km"),
    WORST("box-of-1-by-8000-km", "outlet", .has_more = true,
          .command = "GEOSEARCH outlet FROMLONLAT {near:112,-7,40km} BYBOX 1 8000 km"),
    WORST("whole-earth", "outlet", .has_more = true,
          .command = "GEOSEARCH outlet FROMLONLAT {lon} {lat} BYRADIUS 20100 km"),
    WORST("whole-earth-count-10", "outlet", .has_more = true, .has_ties = true,
          .check = "WITHDIST",
          .command =
              "GEOSEARCH outlet FROMLONLAT {lon} {lat} BYRADIUS 20100 km ASC COUNT 10"),
    WORST("polygon-of-10000-corners", "key", POLYGON("coast")),
    WORST("star-of-10000-corners", "key", POLYGON("star")),
    WORST("members-of-200-bytes", "long-members",
          .command = "GEOSEARCH long-members " CENTRE " BYRADIUS 100 km"),
    WORST("members-of-mixed-lengths", "mixed-members",
          .command = "GEOSEARCH mixed-members " CENTRE " BYRADIUS 100 km"),
    WITH_PIPELINE("worst-three-members", .group = "worst", .key = "three",
                  .command = "GEOSEARCH three " CENTRE " BYRADIUS 200 km",
                  .n_connections = 50),
    WITH_PIPELINE("worst-100-m", .group = "worst", .key = "key",
                  .command = "GEOSEARCH key FROMLONLAT {point:osm:@N} BYRADIUS 100 m",
                  .n_connections = 50),
};

/* ---- suites -------------------------------------------------------------- */

bool bench_suite_open(struct bench_suite *suite, const char *name, uint64_t n_points)
{
    memset(suite, 0, sizeof *suite);
    if (strcmp(name, "growth") == 0)
        return bench_growth_open(suite, n_points);
    *suite = (struct bench_suite){.name = "geo",
                                  .keys = keys,
                                  .n_keys = sizeof keys / sizeof keys[0],
                                  .rows = rows,
                                  .n_rows = sizeof rows / sizeof rows[0],
                                  .n_rounds = 5,
                                  .duration_s = 1};
    return strcmp(name, "geo") == 0;
}

void bench_suite_close(struct bench_suite *suite)
{
    free(suite->owned);
    memset(suite, 0, sizeof *suite);
}

const struct bench_row *bench_suite_find_row(const struct bench_suite *suite,
                                             const char *name)
{
    for (size_t i = 0; i < suite->n_rows; i++) {
        if (strcmp(suite->rows[i].name, name) == 0)
            return &suite->rows[i];
    }
    return NULL;
}

const struct bench_key *bench_suite_find_key(const struct bench_suite *suite,
                                             const char *name)
{
    for (size_t i = 0; i < suite->n_keys; i++) {
        if (strcmp(suite->keys[i].name, name) == 0)
            return &suite->keys[i];
    }
    return NULL;
}

bool bench_row_is_search(const char *command)
{
    return strncmp(command, "GEOSEARCH", strlen("GEOSEARCH")) == 0 ||
           strncmp(command, "GEORADIUS", strlen("GEORADIUS")) == 0;
}
