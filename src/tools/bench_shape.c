#include "tools/bench_shape.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/geohash.h"
#include "core/num.h"
#include "resp/request.h"

struct words {
    const struct yn_bytes *argv;
    size_t n, at;
};

static bool is_word(struct yn_bytes word, const char *text)
{
    return word.len == strlen(text) && strncasecmp(word.data, text, word.len) == 0;
}

static bool take_number(struct words *words, double *out_number)
{
    return words->at < words->n &&
           yn_num_parse_double(words->argv[words->at++], out_number);
}

static bool take_point(struct words *words, struct yn_point *out_point)
{
    return take_number(words, &out_point->lon) && take_number(words, &out_point->lat);
}

static bool take_unit(struct words *words, double *out_unit_m)
{
    if (words->at == words->n)
        return false;
    struct yn_bytes word = words->argv[words->at++];
    *out_unit_m = is_word(word, "m") ? 1 : is_word(word, "km") ? 1000 : 0;
    return *out_unit_m > 0;
}

static bool take_circle(struct words *words, struct yn_shape *shape)
{
    double unit_m;
    shape->kind = YN_CIRCLE;
    if (!take_number(words, &shape->radius_m) || !take_unit(words, &unit_m))
        return false;
    shape->radius_m *= unit_m;
    return true;
}

static bool take_box(struct words *words, struct yn_shape *shape)
{
    double unit_m;
    shape->kind = YN_BOX;
    if (!take_number(words, &shape->width_m) || !take_number(words, &shape->height_m) ||
        !take_unit(words, &unit_m))
        return false;
    shape->width_m *= unit_m;
    shape->height_m *= unit_m;
    return true;
}

static bool take_polygon(struct words *words, struct bench_shape *shape)
{
    double count;
    if (!take_number(words, &count) || count < 3 ||
        count > (double)(words->n - words->at) / 2)
        return false;
    size_t n = (size_t)count;
    struct yn_point *vertices = malloc(n * sizeof *vertices);
    if (vertices == NULL)
        return false;
    free(shape->vertices);
    shape->vertices = vertices;
    shape->shape.kind = YN_POLYGON;
    shape->shape.vertices = vertices;
    shape->shape.n_vertices = n;
    for (size_t i = 0; i < n; i++) {
        if (!take_point(words, &vertices[i]))
            return false;
    }
    return true;
}

/* The clauses of GEOSEARCH, others being skipped. */
static bool take_clauses(struct words *words, struct bench_shape *shape)
{
    bool has_center = false, has_size = false;
    while (words->at < words->n) {
        struct yn_bytes word = words->argv[words->at++];
        bool is_fine = true;
        if (is_word(word, "fromlonlat")) {
            is_fine = has_center = take_point(words, &shape->shape.center);
        } else if (is_word(word, "byradius")) {
            is_fine = has_size = take_circle(words, &shape->shape);
        } else if (is_word(word, "bybox")) {
            is_fine = has_size = take_box(words, &shape->shape);
        } else if (is_word(word, "bypolygon")) {
            is_fine = has_center = has_size = take_polygon(words, shape);
        }
        if (!is_fine)
            return false;
    }
    return has_center && has_size;
}

static bool take_request(struct words *words, struct bench_shape *shape)
{
    if (words->n < 3 || words->argv[1].len >= sizeof shape->key)
        return false;
    memcpy(shape->key, words->argv[1].data, words->argv[1].len);
    words->at = 2;
    if (is_word(words->argv[0], "geosearch"))
        return take_clauses(words, shape);
    return is_word(words->argv[0], "georadius") &&
           take_point(words, &shape->shape.center) && take_circle(words, &shape->shape);
}

bool bench_shape_parse(struct bench_shape *shape, const char *request, size_t len)
{
    const struct yn_request_limits limits = {INT_MAX, INT_MAX, 64 * 1024, true};
    struct yn_request parsed;
    memset(shape, 0, sizeof *shape);
    yn_request_init(&parsed);
    bool is_fine = yn_request_parse(&parsed, request, len, &limits) == YN_REQUEST_DONE;
    if (is_fine) {
        struct words words = {yn_request_argv(&parsed, request), parsed.argc, 0};
        is_fine = take_request(&words, shape);
    }
    yn_request_clear(&parsed);
    if (!is_fine)
        bench_shape_clear(shape);
    return is_fine;
}

void bench_shape_clear(struct bench_shape *shape)
{
    free(shape->vertices);
    memset(shape, 0, sizeof *shape);
}

bool bench_shape_candidates(const struct bench_shape *shape, struct bench_server *server,
                            uint64_t *out_n)
{
    struct yn_cells cells;
    if (shape->shape.kind == YN_POLYGON)
        return false;
    yn_cells_of_shape(&shape->shape, &cells);
    *out_n = 0;
    for (int i = 0; i < cells.n; i++) {
        char command[BENCH_SHAPE_KEY_MAX + 64];
        snprintf(command, sizeof command, "ZCOUNT %s %" PRIu64 " (%" PRIu64, shape->key,
                 cells.range[i].min, cells.range[i].max);
        struct yn_reply *reply = bench_server_ask(server, command);
        bool is_fine = reply != NULL && reply->type == YN_REPLY_INTEGER;
        *out_n += is_fine ? (uint64_t)reply->integer : 0;
        yn_reply_free(reply);
        if (!is_fine)
            return false;
    }
    return true;
}
