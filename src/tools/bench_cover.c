/*
 * Every member of the covering search is tested against every edge: the check shares
 * neither index nor rounding with the engine.
 */
#include "tools/bench_cover.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

/* A little more than the sides of a cell in degrees. */
#define CELL_LON_DEG (361.0 / (1 << 26))
#define CELL_LAT_DEG (171.0 / (1 << 26))

/* The even-odd rule: does a ray to the east cross the edges an odd number of times? */
static bool is_inside(const struct yn_shape *polygon, struct yn_point point)
{
    const struct yn_point *v = polygon->vertices;
    bool is_in = false;
    for (size_t i = 0, j = polygon->n_vertices - 1; i < polygon->n_vertices; j = i++) {
        if ((v[i].lat > point.lat) != (v[j].lat > point.lat) &&
            point.lon < v[i].lon + (v[j].lon - v[i].lon) * (point.lat - v[i].lat) /
                                       (v[j].lat - v[i].lat))
            is_in = !is_in;
    }
    return is_in;
}

/* Is the point closer than a cell to an edge? In units of cells, on a plane. */
static bool is_on_edge(const struct yn_shape *polygon, struct yn_point point)
{
    for (size_t i = 0, j = polygon->n_vertices - 1; i < polygon->n_vertices; j = i++) {
        double ax = (polygon->vertices[j].lon - point.lon) / CELL_LON_DEG;
        double ay = (polygon->vertices[j].lat - point.lat) / CELL_LAT_DEG;
        double dx = (polygon->vertices[i].lon - point.lon) / CELL_LON_DEG - ax;
        double dy = (polygon->vertices[i].lat - point.lat) / CELL_LAT_DEG - ay;
        double len2 = dx * dx + dy * dy;
        double t = len2 > 0 ? fmax(0, fmin(1, -(ax * dx + ay * dy) / len2)) : 0;
        if (hypot(ax + t * dx, ay + t * dy) < 1)
            return true;
    }
    return false;
}

static int compare_members(const void *a, const void *b)
{
    const struct yn_bytes x = (*(struct yn_reply *const *)a)->text,
                          y = (*(struct yn_reply *const *)b)->text;
    size_t n = x.len < y.len ? x.len : y.len;
    int order = n > 0 ? memcmp(x.data, y.data, n) : 0;
    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

static bool has_position(const struct yn_reply *element, struct yn_point *out_point)
{
    if (element->n_items != 2 || element->items[1]->n_items != 2)
        return false;
    const struct yn_reply *position = element->items[1];
    return yn_num_parse_double(position->items[0]->text, &out_point->lon) &&
           yn_num_parse_double(position->items[1]->text, &out_point->lat);
}

bool bench_cover_check(struct yn_reply *ours, const struct yn_reply *theirs,
                       const struct yn_shape *polygon, char *out_error, size_t size)
{
    size_t n_found = 0;
    if (ours->n_items > 1)
        qsort(ours->items, ours->n_items, sizeof ours->items[0], compare_members);
    for (size_t i = 1; i < ours->n_items; i++) {
        if (compare_members(&ours->items[i - 1], &ours->items[i]) == 0) {
            snprintf(out_error, size, "member twice: %.*s", (int)ours->items[i]->text.len,
                     ours->items[i]->text.data);
            return false;
        }
    }
    for (size_t i = 0; i < theirs->n_items; i++) {
        const struct yn_reply *element = theirs->items[i];
        struct yn_point point;
        if (!has_position(element, &point)) {
            snprintf(out_error, size, "no positions in the covering search");
            return false;
        }
        bool is_ours =
            ours->n_items > 0 && bsearch(&element->items[0], ours->items, ours->n_items,
                                         sizeof ours->items[0], compare_members) != NULL;
        n_found += is_ours;
        if (is_ours == is_inside(polygon, point) || is_on_edge(polygon, point))
            continue;
        snprintf(out_error, size, "member %.*s at %.9f %.9f is %s the polygon",
                 (int)element->items[0]->text.len, element->items[0]->text.data,
                 point.lon, point.lat,
                 is_ours ? "in the answer and outside of" : "missing and inside");
        return false;
    }
    if (n_found == ours->n_items)
        return true;
    snprintf(out_error, size, "%zu members are not in the covering search",
             ours->n_items - n_found);
    return false;
}
