/*
 * Geohash text, and the nine cells around a centre.
 *
 * The cells follow from a few steps, every number of which is part of the order that
 * clients see, edge cases included:
 *  1. bounding box of the shape: the latitude reaches degrees(h / R) to either side, the
 *     longitude degrees(w / R / cos(latitude of the box's edge nearer to the pole)).
 *     Over a pole the cosine is negative, for an endless shape it is NaN; comparisons
 *     with such limits are simply false;
 *  2. bits an axis: double the shape's radius until it passes half the circumference;
 *     as many bits as doublings, less one; one less beyond 66 degrees, one more beyond
 *     80; within 1..26. One less if the cell N, S, E or W of the centre's cell does not
 *     reach the bounding box;
 *  3. the eight neighbours, wrapping around on both axes, without those on a side where
 *     the centre's own cell already reaches past the bounding box (from 2 bits on);
 *  4. a cell equal to the one walked just before is skipped. The very first cell is
 *     never compared with: peers remember it as number 0, which stands for "none".
 *
 * Cells are kept as pairs of axis numbers here, not as interleaved codes: a neighbour
 * is then a masked addition. A centre on the upper limit of an axis has the number
 * 2^bits, one past the last; moving along that axis masks it to a real cell, moving
 * along the other one leaves it as it is.
 */
#include "core/geohash.h"

#include <math.h>
#include <stdbool.h>

#include "core/geodesy.h"

/* ---- text ---------------------------------------------------------------- */

#define GEOHASH_LAT_MAX_DEG 90.0
#define GEOHASH_BITS_A_CHAR 5

void yn_geohash_format(double score, char out_text[YN_GEOHASH_LEN])
{
    static const char alphabet[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    struct yn_point point = yn_score_decode(score);
    uint64_t code = yn_cell_interleave(
        yn_cell_encode_axis(point.lat, GEOHASH_LAT_MAX_DEG, YN_CELL_BITS),
        yn_cell_encode_axis(point.lon, YN_LON_MAX_DEG, YN_CELL_BITS));

    /* Ten characters take 50 of the 52 bits. Of the eleventh only two bits exist, and
     * peers print it as zero. A bit above the 52 (longitude 180) is dropped. */
    for (int i = 0; i < YN_GEOHASH_LEN - 1; i++) {
        int shift = 2 * YN_CELL_BITS - GEOHASH_BITS_A_CHAR * (i + 1);
        out_text[i] = alphabet[(code >> shift) & 31];
    }
    out_text[YN_GEOHASH_LEN - 1] = alphabet[0];
}

/* ---- nine cells ---------------------------------------------------------- */

#define CELLS_HALF_CIRCUMFERENCE_M 20037726.37

struct rectangle {
    double lon_min, lon_max, lat_min, lat_max; /* degrees */
};

struct cell {
    uint32_t lat, lon;
};

/* The walk: one step north (+1), south (-1), east, west from the centre. */
static const struct {
    int lat, lon;
} directions[YN_CELLS_MAX] = {{0, 0}, {1, 0},  {-1, 0}, {0, 1},  {0, -1},
                              {1, 1}, {1, -1}, {-1, 1}, {-1, -1}};

static struct rectangle bounds_of_sides(struct yn_point center, double width_m,
                                        double height_m)
{
    double lat_delta = yn_deg_from_rad(height_m / YN_EARTH_RADIUS_M);
    double edge_lat = center.lat < 0 ? center.lat - lat_delta : center.lat + lat_delta;
    double lon_delta =
        yn_deg_from_rad(width_m / YN_EARTH_RADIUS_M / cos(yn_rad_from_deg(edge_lat)));

    return (struct rectangle){center.lon - lon_delta, center.lon + lon_delta,
                              center.lat - lat_delta, center.lat + lat_delta};
}

static struct rectangle bounds_of_vertices(const struct yn_point *vertices,
                                           size_t n_vertices)
{
    struct rectangle bounds = {vertices[0].lon, vertices[0].lon, vertices[0].lat,
                               vertices[0].lat};

    for (size_t i = 1; i < n_vertices; i++) {
        struct yn_point p = vertices[i]; /* comparisons: fmin is a call for each */
        bounds.lon_min = p.lon < bounds.lon_min ? p.lon : bounds.lon_min;
        bounds.lon_max = p.lon > bounds.lon_max ? p.lon : bounds.lon_max;
        bounds.lat_min = p.lat < bounds.lat_min ? p.lat : bounds.lat_min;
        bounds.lat_max = p.lat > bounds.lat_max ? p.lat : bounds.lat_max;
    }
    return bounds;
}

static double radius_of_bounds(const struct rectangle *bounds)
{
    return yn_distance_m((struct yn_point){bounds->lon_min, bounds->lat_min},
                         (struct yn_point){bounds->lon_max, bounds->lat_max}) /
           2;
}

/* The shape's bounding box and the radius that the size of the cells depends on. */
static struct rectangle bounds_of_shape(const struct yn_shape *shape,
                                        double *out_radius_m)
{
    if (shape->kind == YN_CIRCLE) {
        *out_radius_m = shape->radius_m;
        return bounds_of_sides(shape->center, shape->radius_m, shape->radius_m);
    }
    if (shape->kind == YN_BOX) {
        double width = shape->width_m / 2, height = shape->height_m / 2;
        *out_radius_m = sqrt(width * width + height * height);
        return bounds_of_sides(shape->center, width, height);
    }
    struct rectangle bounds = bounds_of_vertices(shape->vertices, shape->n_vertices);
    *out_radius_m = radius_of_bounds(&bounds);
    return bounds;
}

static int estimate_bits(double radius_m, double lat_deg)
{
    int bits = -1;

    if (radius_m == 0)
        return YN_CELL_BITS;
    while (radius_m < CELLS_HALF_CIRCUMFERENCE_M) {
        radius_m *= 2;
        bits++;
    }
    if (fabs(lat_deg) > 66)
        bits--;
    if (fabs(lat_deg) > 80)
        bits--;
    return bits < 1 ? 1 : bits > YN_CELL_BITS ? YN_CELL_BITS : bits;
}

/* The mean of a polygon's vertices may lie nearer to a pole than any cell. */
static struct cell cell_of_point(struct yn_point point, int bits)
{
    point.lat = fmax(-YN_LAT_MAX_DEG, fmin(point.lat, YN_LAT_MAX_DEG));
    return (struct cell){yn_cell_encode_axis(point.lat, YN_LAT_MAX_DEG, bits),
                         yn_cell_encode_axis(point.lon, YN_LON_MAX_DEG, bits)};
}

static struct cell neighbor(struct cell cell, int direction, int bits)
{
    uint32_t mask = ((uint32_t)1 << bits) - 1;

    if (directions[direction].lat != 0)
        cell.lat = (cell.lat + (uint32_t)directions[direction].lat) & mask;
    if (directions[direction].lon != 0)
        cell.lon = (cell.lon + (uint32_t)directions[direction].lon) & mask;
    return cell;
}

static struct rectangle bounds_of_cell(struct cell cell, int bits)
{
    double scale = (double)((uint32_t)1 << bits);

    return (struct rectangle){
        -YN_LON_MAX_DEG + (cell.lon / scale) * YN_LON_SPAN_DEG,
        -YN_LON_MAX_DEG + ((cell.lon + 1) / scale) * YN_LON_SPAN_DEG,
        -YN_LAT_MAX_DEG + (cell.lat / scale) * YN_LAT_SPAN_DEG,
        -YN_LAT_MAX_DEG + ((cell.lat + 1) / scale) * YN_LAT_SPAN_DEG,
    };
}

/* Whether the cells N, S, E and W of the centre reach the bounding box. One that has
 * wrapped around does not, on its own side, unless the box ends before. */
static bool neighbors_reach(struct cell center, int bits, const struct rectangle *bounds)
{
    struct rectangle north = bounds_of_cell(neighbor(center, 1, bits), bits);
    struct rectangle south = bounds_of_cell(neighbor(center, 2, bits), bits);
    struct rectangle east = bounds_of_cell(neighbor(center, 3, bits), bits);
    struct rectangle west = bounds_of_cell(neighbor(center, 4, bits), bits);

    return !(north.lat_max < bounds->lat_max || south.lat_min > bounds->lat_min ||
             east.lon_max < bounds->lon_max || west.lon_min > bounds->lon_min);
}

/* Whether a neighbour may be left out, the centre's cell reaching past the bounding
 * box on a side that the neighbour lies on. */
static bool is_useless(int direction, const struct rectangle *center,
                       const struct rectangle *bounds)
{
    int lat = directions[direction].lat, lon = directions[direction].lon;

    return (lat < 0 && center->lat_min < bounds->lat_min) ||
           (lat > 0 && center->lat_max > bounds->lat_max) ||
           (lon < 0 && center->lon_min < bounds->lon_min) ||
           (lon > 0 && center->lon_max > bounds->lon_max);
}

/* A limit of a range as a score has it: above 2^53 rounded to a double. */
static uint64_t score_limit(uint64_t code, int bits)
{
    return (uint64_t)(double)(code << (2 * (YN_CELL_BITS - bits)));
}

static void cells_about(struct yn_point point, const struct rectangle *bounds,
                        double radius_m, struct yn_cells *out_cells)
{
    int bits = estimate_bits(radius_m, point.lat);
    struct cell center = cell_of_point(point, bits);

    if (bits > 1 && !neighbors_reach(center, bits, bounds)) {
        bits--;
        center = cell_of_point(point, bits);
    }
    struct rectangle center_bounds = bounds_of_cell(center, bits);
    int last = 0;

    out_cells->n = 0;
    for (int i = 0; i < YN_CELLS_MAX; i++) {
        if (bits >= 2 && is_useless(i, &center_bounds, bounds))
            continue;
        struct cell cell = neighbor(center, i, bits);
        struct cell previous = neighbor(center, last, bits);
        if (last != 0 && cell.lat == previous.lat && cell.lon == previous.lon)
            continue;
        uint64_t code = yn_cell_interleave(cell.lat, cell.lon);
        out_cells->range[out_cells->n].min = score_limit(code, bits);
        out_cells->range[out_cells->n].max = score_limit(code + 1, bits);
        out_cells->n++;
        last = i;
    }
}

void yn_cells_of_shape(const struct yn_shape *shape, struct yn_cells *out_cells)
{
    double radius_m;
    struct rectangle bounds = bounds_of_shape(shape, &radius_m);

    cells_about(shape->center, &bounds, radius_m, out_cells);
}

/* All follows from the number of bits and the centre's cell. Both go up and down with the
 * latitude and the longitude: what four corners agree about holds between them. */
bool yn_cells_of_polygon(struct yn_point center, double error_deg, struct yn_point low,
                         struct yn_point high, struct yn_cells *out_cells)
{
    struct rectangle bounds = {low.lon, high.lon, low.lat, high.lat};
    double radius_m = radius_of_bounds(&bounds);
    int bits = estimate_bits(radius_m, center.lat);
    struct cell cell = cell_of_point(center, bits);

    if (error_deg > 0 && fabs(center.lon) + error_deg > YN_LON_MAX_DEG)
        return false;
    for (int i = 0; error_deg > 0 && i < 4; i++) {
        struct yn_point corner = {center.lon + (i & 1 ? error_deg : -error_deg),
                                  center.lat + (i & 2 ? error_deg : -error_deg)};
        struct cell its = cell_of_point(corner, bits);
        if (estimate_bits(radius_m, corner.lat) != bits || its.lat != cell.lat ||
            its.lon != cell.lon)
            return false;
    }
    cells_about(center, &bounds, radius_m, out_cells);
    return true;
}
