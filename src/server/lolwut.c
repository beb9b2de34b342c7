/*
 * LOLWUT: a map of the world in 22 lines, and on it the shortest way between two points:
 * random ones, or those that are given. A character of land is one in which
 * data/cities.csv (GeoNames, CC BY 4.0) has a place.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/server.h"

#define COLUMNS 72
#define ROWS 22
#define NORTH_DEG 84.0
#define SOUTH_DEG -60.0
#define PI 3.14159265358979323846
/* Points that are drawn of a way. */
#define STEPS 400

static const char *const land[ROWS] = {
    "                                       :                                ",
    "    :                   :         :     ::          :   : :  :          ",
    "::::  :  :: :   :     :  :  :  :::    :::::::::::::: :    : : ::::: ::::",
    "  ::::::::::::   :  : :  ::    :: :::::::::::::::::::::::::::::::::::: :",
    "  :: :  :::::::::  :: :::        ::::::::::::::::::::::::::::::::  ::   ",
    "          ::::::::::::::::        :::::::::::::::::::::::::::::::: :    ",
    "           :::::::::::::     ::   ::::::::::::::::::::::::::::::::      ",
    "           ::::::::::  :      : : :::::::::::::::::::::::::::::::       ",
    "            :::::::::           ::::::::::::::::::::::::::::::: :       ",
    "    ::       ::::::::::         :: :::::: ::::::::::::::::::::          ",
    "               ::::::::::     :::::::::::::::::   ::: ::::::::  ::      ",
    "                  ::::::::      :::::::::::::::   ::: :::: :::::::::::: ",
    "    :            ::::::::::       :: :::::::::    :    :::::::::  : ::: ",
    "                   :::::::::::       ::::::::  :       :::::::::::::   :",
    ":::    ::           ::::::::::   :    :::::::: :       : ::::::::::::: :",
    ":::  :: :           :::::::::     :   :::::::::::          :::::::  :: :",
    "::  ::   :    :      :::::::          :::::::: :          ::: ::::: ::  ",
    "                     ::::::            ::::               ::: :::::  :  ",
    "                     :::::       :     :::                 ::  ::::   ::",
    ":                    :::                                         :   :::",
    "                     :: :                         :                     ",
    "                      :     :                                           ",
};

static double radians(double degrees)
{
    return degrees * PI / 180;
}

static void put(char map[ROWS][COLUMNS + 1], struct yn_point point, char mark)
{
    int x = (int)floor((point.lon + 180) / 360 * COLUMNS);
    int y = (int)floor((NORTH_DEG - point.lat) / (NORTH_DEG - SOUTH_DEG) * ROWS);
    x = x < COLUMNS ? x : COLUMNS - 1;
    if (x >= 0 && y >= 0 && y < ROWS)
        map[y][x] = mark;
}

static void to_vector(struct yn_point point, double out[3])
{
    out[0] = cos(radians(point.lat)) * cos(radians(point.lon));
    out[1] = cos(radians(point.lat)) * sin(radians(point.lon));
    out[2] = sin(radians(point.lat));
}

/* The straight line through the sphere, seen from its centre, is the great circle. */
static void draw_way(char map[ROWS][COLUMNS + 1], struct yn_point a, struct yn_point b)
{
    double from[3], to[3];
    to_vector(a, from);
    to_vector(b, to);
    for (int i = 0; i <= STEPS; i++) {
        double share = (double)i / STEPS, v[3];
        for (int k = 0; k < 3; k++)
            v[k] = from[k] + (to[k] - from[k]) * share;
        double len = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        if (len < 1e-9) /* the points lie opposite each other: any way is as short */
            continue;
        put(map,
            (struct yn_point){.lon = atan2(v[1], v[0]) * 180 / PI,
                              .lat = asin(v[2] / len) * 180 / PI},
            '*');
    }
    put(map, a, 'A');
    put(map, b, 'B');
}

static void reply_map(struct host *h, struct yn_point a, struct yn_point b)
{
    char map[ROWS][COLUMNS + 1];
    char text[400];
    struct yn_buf out;
    yn_buf_init(&out);
    for (size_t i = 0; i < ROWS; i++)
        memcpy(map[i], land[i], COLUMNS + 1);
    draw_way(map, a, b);
    for (size_t i = 0; i < ROWS; i++) {
        yn_buf_append(&out, map[i], COLUMNS);
        yn_buf_append_text(&out, "\n");
    }
    snprintf(text, sizeof text,
             "\nFrom A (%.2f, %.2f) to B (%.2f, %.2f) it is %.0f km.\n"
             "Yonder %s. Redis ver. %s\n",
             a.lon, a.lat, b.lon, b.lat, yn_distance_m(a, b) / 1000, SERVER_VERSION,
             SERVER_REDIS_VERSION);
    yn_buf_append_text(&out, text);
    if (out.failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        yn_write_verbatim(h->out, h->resp, "txt", (struct yn_bytes){out.data, out.len});
    yn_buf_clear(&out);
}

/* A number from 0 to 1, from the clock: another one each time is all that is asked. */
static double any(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static struct yn_point any_point(uint64_t *state)
{
    double lon = any(state) * 360 - 180;
    return (struct yn_point){.lon = lon, .lat = any(state) * 130 - 55};
}

void lolwut_cmd(struct cmd_call *call)
{
    size_t at = 1;
    int64_t version;
    double v[4];
    uint64_t state = call->host->loop->mono_ns;
    if (call->argc >= 3 && cmd_word_is(call->argv[1], "version")) {
        if (!yn_num_parse_int64(call->argv[2], &version)) {
            host_reply_error(call->host, CMD_ERR_INTEGER);
            return;
        }
        at = 3;
    }
    struct yn_point a = any_point(&state), b = any_point(&state);
    bool has_points = call->argc == at + 4;
    for (size_t i = 0; has_points && i < 4; i++)
        has_points = yn_num_parse_double(call->argv[at + i], &v[i]);
    if (has_points) {
        struct yn_point first = {v[0], v[1]}, second = {v[2], v[3]};
        if (yn_point_is_valid(first) && yn_point_is_valid(second)) {
            a = first;
            b = second;
        }
    }
    reply_map(call->host, a, b);
}
