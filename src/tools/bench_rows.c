/*
 * The suite "geo". Names that begin with geo-60M and 1key-geo are those of the public
 * benchmark suite of Redis, whatever the number of points is here.
 *
 * Centres lie at random within 40 km of the stated one, a fifth of the radius or of the
 * box; within 1 km where all of four members are to be found. Members are drawn at random
 * from all. Long searches run on few connections: each of them keeps a server busy, and
 * more would only wait.
 */
#include "tools/bench_rows.h"

#define CENTRE "FROMLONLAT {near:7,55,40km}"

const struct bench_key bench_keys[] = {
    {"key", "osm", NULL, "@N"},
    {"outlet", "outlet", NULL, "85318"},
    {"Sicily", "sicily", NULL, "4"},
    {"fleet", "fleet", NULL, "@F"},
    {"one-position", NULL, "GEOADD one-position 7.1 55.1 {index}", "1M"},
    {"city", NULL, "GEOADD city {near:7,55,0.2km} {index}", "1M"},
    {"polar", NULL, "GEOADD polar {lon} {lat:80,85} {index}", "200k"},
    {"long-members", NULL, "GEOADD long-members {near:7,55,300km} {bytes:200}", "200k"},
    {"mixed-members", NULL, "GEOADD mixed-members {near:7,55,300km} {index}{bytes:0-60}",
     "200k"},
    {"value", NULL, "SET value {bytes:70000000}", "1"},
    {"three", NULL, "GEOADD three {near:7,55,50km} {index}", "3"},
};
const size_t bench_n_keys = sizeof bench_keys / sizeof bench_keys[0];

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

const struct bench_row bench_rows[] = {
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
          .command = "GEOSEARCH city FROMLONLAT {near:7.02,55,0.1km} BYRADIUS 500 m"),
    WORST("near-pole", "polar", .has_more = true,
          .command = "GEOSEARCH polar FROMLONLAT {lon} {lat:83,85} BYRADIUS 200 km"),
    WORST("box-1-by-8000-km", "outlet", .has_more = true,
          .command = "GEOSEARCH outlet FROMLONLAT {near:112,-7,40km} BYBOX 8000 1 km"),
    WORST("whole-earth", "outlet", .has_more = true,
          .command = "GEOSEARCH outlet FROMLONLAT {lon} {lat} BYRADIUS 20100 km"),
    WORST("members-of-200-bytes", "long-members",
          .command = "GEOSEARCH long-members " CENTRE " BYRADIUS 100 km"),
    WORST("members-of-mixed-lengths", "mixed-members",
          .command = "GEOSEARCH mixed-members " CENTRE " BYRADIUS 100 km"),
    WORST("three-members", "three",
          .command = "GEOSEARCH three " CENTRE " BYRADIUS 200 km"),
};
const size_t bench_n_rows = sizeof bench_rows / sizeof bench_rows[0];
