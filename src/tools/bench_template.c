/*
 * A template is compiled to pieces: fixed text, placeholders, and ends of words. To make
 * a request the pieces are run into a scratch buffer that holds the words back to back,
 * and the words are then written as a command.
 */
#include "tools/bench_template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "resp/write.h"
#include "tools/bench_data.h"
#include "tools/cli_csv.h"

#define PI 3.14159265358979323846
#define KM_A_DEGREE 111.226
#define COAST_WAVES 10
#define TEXT_MAX ((uint64_t)512 * 1024 * 1024)

const char bench_template_help[] =
    "Placeholders, replaced anew in each request:\n"
    "  {member:A-B}           a random whole number of A to B\n"
    "  {index}                1, 2, 3, ... through the ring of requests\n"
    "  {lon} {lat}            a random longitude or latitude of the globe\n"
    "  {lon:A,B} {lat:A,B}    the same between A and B degrees\n"
    "  {bytes:LEN}            LEN random letters; {bytes:A-B}: A to B of them\n"
    "Placeholders that stand for a whole word and make two, longitude and latitude:\n"
    "  {near:LON,LAT,40km}    a random position at most 40 km from LON, LAT\n"
    "  {near:LON,LAT,20%}     each coordinate times a random number of 0.8 to 1.2\n"
    "  {from:FILE}            a random row of a CSV file with columns lon and lat\n"
    "  {point:NAME:N}         a random point of data set NAME of N points\n"
    "  {coast:LON,LAT,40km,100km,N} a polygon of N corners around a position as of\n"
    "                         {near:LON,LAT,40km}: the number of corners, and their\n"
    "                         positions, at most 100 km away, winding like a coast\n"
    "  {star:LON,LAT,40km,100km,N}  the same, every second corner far out\n"
    "and three, longitude, latitude and member:\n"
    "  {move:N}               the next move in a fleet of N objects: about 100 m\n";

enum piece_kind {
    PIECE_TEXT,
    PIECE_MEMBER,
    PIECE_INDEX,
    PIECE_LON,
    PIECE_LAT,
    PIECE_BYTES,
    PIECE_NEAR_KM,
    PIECE_NEAR_SHARE,
    PIECE_FROM,
    PIECE_POINT,
    PIECE_MOVE,
    PIECE_COAST,
    PIECE_STAR,
    PIECE_END, /* of a word */
};

struct bench_piece {
    enum piece_kind kind;
    struct yn_bytes text;   /* fixed text, borrowed */
    uint64_t low, n;        /* member, bytes: low..low+n-1; from, polygons: n */
    double lon, lat, range; /* near: km or share; lon, lat: a span from there */
    double radius_km;       /* of polygons */
    int32_t *points;        /* from: lon, lat, lon, lat, ... in millionths; owned */
    struct bench_data data; /* point, move */
};

static bool fail(struct bench_template *template, const char *what, struct yn_bytes text)
{
    snprintf(template->error, sizeof template->error, "%s: \"%.*s\"", what,
             (int)(text.len < 200 ? text.len : 200), text.data);
    return false;
}

static struct bench_piece *add_piece(struct bench_template *template,
                                     enum piece_kind kind)
{
    size_t n = template->n_pieces;
    if ((n & (n - 1)) == 0) {
        size_t cap = n > 0 ? 2 * n : 1;
        void *p = realloc(template->pieces, cap * sizeof template->pieces[0]);
        if (p == NULL) {
            fail(template, "out of memory", (struct yn_bytes){"", 0});
            return NULL;
        }
        template->pieces = p;
    }
    struct bench_piece *piece = &template->pieces[template->n_pieces++];
    memset(piece, 0, sizeof *piece);
    piece->kind = kind;
    return piece;
}

/* ---- placeholders ------------------------------------------------------- */

struct file_reading {
    struct bench_piece *piece;
    size_t lon_column, lat_column;
    bool is_titles_read;
    bool is_bad;
};

static bool is_text(struct yn_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static bool add_row(void *ctx, const struct cli_csv_row *row)
{
    struct file_reading *reading = ctx;
    struct bench_piece *piece = reading->piece;
    if (!reading->is_titles_read) {
        reading->is_titles_read = true;
        reading->lon_column = reading->lat_column = SIZE_MAX;
        for (size_t i = 0; i < row->n_fields; i++) {
            if (is_text(row->fields[i], "lon"))
                reading->lon_column = i;
            else if (is_text(row->fields[i], "lat"))
                reading->lat_column = i;
        }
        return true;
    }
    double lon, lat;
    if (reading->lon_column >= row->n_fields || reading->lat_column >= row->n_fields ||
        !yn_num_parse_double(row->fields[reading->lon_column], &lon) ||
        !yn_num_parse_double(row->fields[reading->lat_column], &lat) || fabs(lon) > 180 ||
        fabs(lat) > 90) {
        reading->is_bad = true;
        return false;
    }
    if ((piece->n & (piece->n - 1)) == 0) {
        size_t cap = piece->n > 0 ? 2 * (size_t)piece->n : 1;
        void *p = realloc(piece->points, cap * 2 * sizeof piece->points[0]);
        if (p == NULL)
            return false;
        piece->points = p;
    }
    piece->points[2 * piece->n] = (int32_t)lrint(lon * 1e6);
    piece->points[2 * piece->n + 1] = (int32_t)lrint(lat * 1e6);
    piece->n++;
    return true;
}

static bool read_points(struct bench_template *template, struct bench_piece *piece,
                        struct yn_bytes name)
{
    char path[512], chunk[16 * 1024];
    snprintf(path, sizeof path, "%.*s", (int)name.len, name.data);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fail(template, "could not open", name);
    struct file_reading reading = {.piece = piece};
    struct cli_csv csv;
    cli_csv_init(&csv, ',', add_row, &reading);
    enum cli_csv_status status = CLI_CSV_OK;
    size_t n;
    while (status == CLI_CSV_OK && (n = fread(chunk, 1, sizeof chunk, file)) > 0)
        status = cli_csv_feed(&csv, chunk, n);
    if (status == CLI_CSV_OK)
        status = cli_csv_finish(&csv);
    cli_csv_clear(&csv);
    fclose(file);
    return (status == CLI_CSV_OK && piece->n > 0) ||
           fail(template, "not a CSV file with numbers in columns lon and lat", name);
}

static bool parse_range(struct yn_bytes text, struct bench_piece *piece)
{
    int64_t low, high;
    const char *dash = text.len > 0 ? memchr(text.data + 1, '-', text.len - 1) : NULL;
    if (dash == NULL)
        return false;
    size_t at = (size_t)(dash - text.data);
    if (!yn_num_parse_int64((struct yn_bytes){text.data, at}, &low) ||
        !yn_num_parse_int64((struct yn_bytes){dash + 1, text.len - at - 1}, &high) ||
        low < 0 || high < low)
        return false;
    piece->low = (uint64_t)low;
    piece->n = (uint64_t)(high - low) + 1;
    return true;
}

/* "A,B", or nothing for all there is. Latitudes without a span are not uniform. */
static bool parse_span(struct yn_bytes text, struct bench_piece *piece)
{
    double max = piece->kind == PIECE_LON ? 180 : 85;
    double *from = piece->kind == PIECE_LON ? &piece->lon : &piece->lat;
    *from = -max;
    piece->range = piece->kind == PIECE_LON ? 2 * max : 0;
    if (text.len == 0)
        return true;
    const char *comma = memchr(text.data, ',', text.len);
    double to;
    if (comma == NULL)
        return false;
    size_t at = (size_t)(comma - text.data);
    if (!yn_num_parse_double((struct yn_bytes){text.data, at}, from) ||
        !yn_num_parse_double((struct yn_bytes){comma + 1, text.len - at - 1}, &to) ||
        *from < -max || to > max || to <= *from)
        return false;
    piece->range = to - *from;
    return true;
}

static bool parse_near(struct yn_bytes text, struct bench_piece *piece)
{
    char copy[128], unit[4] = "";
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    int used = 0;
    if (sscanf(copy, "%lf,%lf,%lf%3[km%%]%n", &piece->lon, &piece->lat, &piece->range,
               unit, &used) != 4 ||
        copy[used] != '\0' || fabs(piece->lon) > 180 || fabs(piece->lat) > 85 ||
        piece->range < 0)
        return false;
    if (strcmp(unit, "%") == 0) {
        piece->kind = PIECE_NEAR_SHARE;
        piece->range /= 100;
        return piece->range <= 1;
    }
    return strcmp(unit, "km") == 0;
}

/* "LON,LAT,AWAYkm,RADIUSkm,N" */
static bool parse_polygon(struct yn_bytes text, struct bench_piece *piece)
{
    char copy[128];
    if (text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    int used = 0;
    unsigned n;
    if (sscanf(copy, "%lf,%lf,%lfkm,%lfkm,%u%n", &piece->lon, &piece->lat, &piece->range,
               &piece->radius_km, &n, &used) != 5)
        return false;
    piece->n = n;
    return copy[used] == '\0' && fabs(piece->lon) <= 180 && fabs(piece->lat) <= 80 &&
           piece->range >= 0 && piece->range <= 500 && piece->radius_km > 0 &&
           piece->radius_km <= 500 && n >= 3 && n <= 100000;
}

static bool parse_count(struct yn_bytes text, uint64_t max, uint64_t *out_n)
{
    int64_t n;
    if (!yn_num_parse_int64(text, &n) || n < 1 || (uint64_t)n > max)
        return false;
    *out_n = (uint64_t)n;
    return true;
}

static bool open_data(struct bench_template *template, struct bench_piece *piece,
                      struct yn_bytes name, struct yn_bytes count, const char *places)
{
    char text[64];
    uint64_t n;
    snprintf(text, sizeof text, "%.*s", (int)name.len, name.data);
    if (!parse_count(count, (uint64_t)1 << 32, &n))
        return fail(template, "not a number of points", count);
    if (bench_data_open(&piece->data, text, n, 1, places))
        return true;
    snprintf(template->error, sizeof template->error, "%s", piece->data.error);
    return false;
}

/* The inside of a pair of braces. */
static bool parse_placeholder(struct bench_template *template, struct yn_bytes inside,
                              bool is_whole_word, const char *places)
{
    static const struct {
        const char *name;
        enum piece_kind kind;
        bool is_whole_word;
    } names[] = {
        {"member", PIECE_MEMBER, false}, {"index", PIECE_INDEX, false},
        {"lon", PIECE_LON, false},       {"lat", PIECE_LAT, false},
        {"bytes", PIECE_BYTES, false},   {"near", PIECE_NEAR_KM, true},
        {"from", PIECE_FROM, true},      {"point", PIECE_POINT, true},
        {"move", PIECE_MOVE, true},      {"coast", PIECE_COAST, true},
        {"star", PIECE_STAR, true},
    };
    const char *colon = memchr(inside.data, ':', inside.len);
    size_t name_len = colon != NULL ? (size_t)(colon - inside.data) : inside.len;
    struct yn_bytes name = {inside.data, name_len};
    struct yn_bytes argument = {"", 0};
    if (colon != NULL)
        argument = (struct yn_bytes){colon + 1, inside.len - name_len - 1};
    size_t i = 0, n_names = sizeof names / sizeof names[0];
    while (i < n_names && !is_text(name, names[i].name))
        i++;
    if (i == n_names)
        return fail(template, "unknown placeholder", inside);
    if (names[i].is_whole_word && !is_whole_word)
        return fail(template, "must be a word of its own", inside);
    struct bench_piece *piece = add_piece(template, names[i].kind);
    if (piece == NULL)
        return false;

    bool is_fine = true;
    switch (piece->kind) {
    case PIECE_MEMBER:
        is_fine = parse_range(argument, piece);
        break;
    case PIECE_BYTES:
        is_fine = parse_range(argument, piece);
        if (!is_fine) {
            piece->n = 1;
            is_fine = parse_count(argument, TEXT_MAX, &piece->low);
        }
        is_fine = is_fine && piece->low + piece->n - 1 <= TEXT_MAX;
        break;
    case PIECE_LON:
    case PIECE_LAT:
        is_fine = parse_span(argument, piece);
        break;
    case PIECE_NEAR_KM:
        is_fine = parse_near(argument, piece);
        break;
    case PIECE_COAST:
    case PIECE_STAR:
        is_fine = parse_polygon(argument, piece);
        break;
    case PIECE_FROM:
        return read_points(template, piece, argument);
    case PIECE_MOVE:
        if (!open_data(template, piece, (struct yn_bytes){"fleet", 5}, argument, places))
            return false;
        template->ring_max = 2 * piece->data.n;
        break;
    case PIECE_POINT: {
        colon = memchr(argument.data, ':', argument.len);
        if (colon == NULL)
            return fail(template, "no number of points", inside);
        size_t len = (size_t)(colon - argument.data);
        return open_data(template, piece, (struct yn_bytes){argument.data, len},
                         (struct yn_bytes){colon + 1, argument.len - len - 1}, places);
    }
    default:
        is_fine = argument.len == 0;
    }
    return is_fine || fail(template, "wrong placeholder", inside);
}

static bool add_text(struct bench_template *template, const char *text, size_t len)
{
    if (len == 0)
        return true;
    struct bench_piece *piece = add_piece(template, PIECE_TEXT);
    if (piece != NULL)
        piece->text = (struct yn_bytes){text, len};
    return piece != NULL;
}

static bool parse_word(struct bench_template *template, const char *word,
                       const char *places)
{
    const char *p = word;
    for (;;) {
        const char *open = strchr(p, '{');
        const char *close = open != NULL ? strchr(open, '}') : NULL;
        if (close == NULL)
            break;
        bool is_whole_word = open == word && close[1] == '\0';
        struct yn_bytes inside = {open + 1, (size_t)(close - open - 1)};
        if (!add_text(template, p, (size_t)(open - p)) ||
            !parse_placeholder(template, inside, is_whole_word, places))
            return false;
        p = close + 1;
    }
    return add_text(template, p, strlen(p)) && add_piece(template, PIECE_END) != NULL;
}

bool bench_template_open(struct bench_template *template, int n_words, char **words,
                         const char *places_path)
{
    memset(template, 0, sizeof *template);
    bool is_fine = n_words > 0 || fail(template, "no command", (struct yn_bytes){"", 0});
    for (int i = 0; i < n_words && is_fine; i++)
        is_fine = parse_word(template, words[i], places_path);
    if (!is_fine)
        bench_template_close(template);
    return is_fine;
}

void bench_template_close(struct bench_template *template)
{
    for (size_t i = 0; i < template->n_pieces; i++) {
        free(template->pieces[i].points);
        bench_data_close(&template->pieces[i].data);
    }
    free(template->pieces);
    template->pieces = NULL;
    template->n_pieces = 0;
}

/* ---- requests ----------------------------------------------------------- */

/* The request under way: words back to back, and where each ends. */
struct request {
    struct yn_buf text;
    size_t *ends;
    size_t n_words, cap;
};

struct draw {
    struct bench_random random;
    uint64_t index;  /* of the request in its ring */
    uint64_t n_ring; /* requests in the ring */
    unsigned part;
};

static void end_word(struct request *request)
{
    if (request->n_words == request->cap) {
        size_t cap = request->cap > 0 ? 2 * request->cap : 32;
        size_t *ends = realloc(request->ends, cap * sizeof *ends);
        if (ends == NULL) {
            request->text.failed = true;
            return;
        }
        request->ends = ends;
        request->cap = cap;
    }
    request->ends[request->n_words++] = request->text.len;
}

static void put_e6(struct request *request, double value_e6)
{
    char text[BENCH_DATA_TEXT_MAX];
    size_t len = bench_data_format_e6((int32_t)lrint(value_e6), text);
    yn_buf_append(&request->text, text, len);
}

/* Two words. */
static void put_position(struct request *request, double lon_e6, double lat_e6)
{
    if (lon_e6 > 180e6)
        lon_e6 -= 360e6;
    else if (lon_e6 < -180e6)
        lon_e6 += 360e6;
    lat_e6 = lat_e6 > 85e6 ? 85e6 : lat_e6 < -85e6 ? -85e6 : lat_e6;
    put_e6(request, lon_e6);
    end_word(request);
    put_e6(request, lat_e6);
}

static void put_near(struct request *request, const struct bench_piece *piece,
                     struct bench_random *random)
{
    double u = bench_random_unit(random), v = bench_random_unit(random);
    if (piece->kind == PIECE_NEAR_SHARE) {
        put_position(request, piece->lon * (1 + piece->range * (2 * u - 1)) * 1e6,
                     piece->lat * (1 + piece->range * (2 * v - 1)) * 1e6);
        return;
    }
    double away = piece->range / KM_A_DEGREE * sqrt(u); /* equal areas */
    double east = away * cos(2 * PI * v) / cos(piece->lat * PI / 180);
    put_position(request, (piece->lon + east) * 1e6,
                 (piece->lat + away * sin(2 * PI * v)) * 1e6);
}

/* The distance of a corner as a share of the radius. A coast is the sum of waves, each
 * of twice the frequency and 0.6 times the height of the one before: 0.4 to 1. */
static double share_of_corner(const struct bench_piece *piece, uint64_t i, double angle,
                              const double *phases, struct bench_random *random)
{
    if (piece->kind == PIECE_STAR)
        return i % 2 == 0 ? 1 : 0.4 + 0.4 * bench_random_unit(random);
    double share = 0.7, height = 0.12, waves = 1;
    for (size_t k = 0; k < COAST_WAVES; k++) {
        share += height * sin(waves * angle + phases[k]);
        height *= 0.6;
        waves *= 2;
    }
    return share;
}

/* Takes as many random numbers as {near:...}, so that both have the same centres. */
static void put_polygon(struct request *request, const struct bench_piece *piece,
                        struct bench_random *random)
{
    double u = bench_random_unit(random), v = bench_random_unit(random);
    struct bench_random own = {(uint64_t)(u * 0x1p53), (uint64_t)(v * 0x1p53)};
    double away = piece->range / KM_A_DEGREE * sqrt(u), phases[COAST_WAVES];
    double lon = piece->lon + away * cos(2 * PI * v) / cos(piece->lat * PI / 180);
    double lat = piece->lat + away * sin(2 * PI * v);
    char text[YN_NUM_TEXT_MAX];
    yn_buf_append(&request->text, text, yn_num_format_uint64(piece->n, text));
    for (size_t k = 0; k < COAST_WAVES; k++)
        phases[k] = 2 * PI * bench_random_unit(&own);
    for (uint64_t i = 0; i < piece->n; i++) {
        double angle = 2 * PI * (double)i / (double)piece->n;
        double far = piece->radius_km / KM_A_DEGREE *
                     share_of_corner(piece, i, angle, phases, &own);
        double corner_lat = lat + far * sin(angle);
        end_word(request);
        put_position(request, (lon + far * cos(angle) / cos(corner_lat * PI / 180)) * 1e6,
                     corner_lat * 1e6);
    }
}

static void put_lat(struct request *request, const struct bench_piece *piece,
                    struct bench_random *random)
{
    double u = bench_random_unit(random);
    if (piece->range > 0)
        put_e6(request, (piece->lat + piece->range * u) * 1e6);
    else /* equal areas: the sine is uniform */
        put_e6(request, asin((2 * u - 1) * sin(85 * PI / 180)) * (180e6 / PI));
}

static void put_bytes(struct request *request, uint64_t n, struct bench_random *random)
{
    char *to = yn_buf_reserve(&request->text, n);
    if (to == NULL)
        return;
    uint64_t letters = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i % 16 == 0)
            letters = bench_random_next(random);
        to[i] = (char)('a' + (letters & 15));
        letters >>= 4;
    }
    request->text.len += n;
}

/* The first half of a ring moves its objects once, the second half moves the same ones
 * on; a ring that goes round moves them back. Each request is a real move. */
static void put_move(struct request *request, const struct bench_piece *piece,
                     const struct draw *draw)
{
    struct bench_data_point point;
    uint64_t half = (draw->n_ring + 1) / 2;
    uint64_t place = draw->index % half + draw->part * half;
    uint64_t step = draw->index / half;
    bench_data_move(&piece->data, place % piece->data.n + step * piece->data.n, &point);
    put_position(request, point.lon_e6, point.lat_e6);
    end_word(request);
    char text[BENCH_DATA_TEXT_MAX];
    size_t len = bench_data_member(&piece->data, point.number, text);
    yn_buf_append(&request->text, text, len);
}

static void put_piece(struct request *request, const struct bench_piece *piece,
                      struct draw *draw)
{
    struct bench_random *random = &draw->random;
    char text[YN_NUM_TEXT_MAX];
    struct bench_data_point point;
    uint64_t i;
    switch (piece->kind) {
    case PIECE_TEXT:
        yn_buf_append(&request->text, piece->text.data, piece->text.len);
        break;
    case PIECE_MEMBER:
        i = piece->low + bench_random_below(random, piece->n);
        yn_buf_append(&request->text, text, yn_num_format_uint64(i, text));
        break;
    case PIECE_INDEX:
        yn_buf_append(&request->text, text, yn_num_format_uint64(draw->index + 1, text));
        break;
    case PIECE_LON:
        put_e6(request, (piece->lon + piece->range * bench_random_unit(random)) * 1e6);
        break;
    case PIECE_LAT:
        put_lat(request, piece, random);
        break;
    case PIECE_BYTES:
        put_bytes(request, piece->low + bench_random_below(random, piece->n), random);
        break;
    case PIECE_NEAR_KM:
    case PIECE_NEAR_SHARE:
        put_near(request, piece, random);
        break;
    case PIECE_COAST:
    case PIECE_STAR:
        put_polygon(request, piece, random);
        break;
    case PIECE_FROM:
        i = bench_random_below(random, piece->n);
        put_position(request, piece->points[2 * i], piece->points[2 * i + 1]);
        break;
    case PIECE_POINT:
        i = bench_random_below(random, piece->data.n);
        bench_data_points(&piece->data, i, 1, &point);
        put_position(request, point.lon_e6, point.lat_e6);
        break;
    case PIECE_MOVE:
        put_move(request, piece, draw);
        break;
    case PIECE_END:
        end_word(request);
        break;
    }
}

static void write_request(const struct request *request, struct yn_buf *out)
{
    size_t at = 0;
    yn_write_array(out, request->n_words);
    for (size_t i = 0; i < request->n_words; i++) {
        yn_write_bulk(out,
                      (struct yn_bytes){request->text.data + at, request->ends[i] - at});
        at = request->ends[i];
    }
}

bool bench_ring_fill(struct bench_ring *ring, const struct bench_template *template,
                     uint64_t seed, unsigned part, uint64_t n_requests, size_t pipeline)
{
    memset(ring, 0, sizeof *ring);
    yn_buf_init(&ring->bytes);
    if (template->ring_max > 0 && n_requests > template->ring_max)
        n_requests = template->ring_max;
    ring->pipeline = pipeline;
    ring->n_batches = (size_t)((n_requests + pipeline - 1) / pipeline);
    if (ring->n_batches == 0)
        ring->n_batches = 1;
    ring->starts = malloc((ring->n_batches + 1) * sizeof ring->starts[0]);
    struct request request = {0};
    yn_buf_init(&request.text);
    struct draw draw = {.random = {bench_random_at(seed, part), 0},
                        .n_ring = ring->n_batches * pipeline,
                        .part = part};
    bool is_fine = ring->starts != NULL;
    for (size_t batch = 0; batch < ring->n_batches && is_fine; batch++) {
        ring->starts[batch] = ring->bytes.len;
        for (size_t i = 0; i < pipeline; i++, draw.index++) {
            yn_buf_reset(&request.text, SIZE_MAX);
            request.n_words = 0;
            for (size_t p = 0; p < template->n_pieces; p++)
                put_piece(&request, &template->pieces[p], &draw);
            is_fine = is_fine && !request.text.failed;
            write_request(&request, &ring->bytes);
        }
        is_fine = is_fine && !ring->bytes.failed;
    }
    if (is_fine)
        ring->starts[ring->n_batches] = ring->bytes.len;
    free(request.ends);
    yn_buf_clear(&request.text);
    if (!is_fine)
        bench_ring_clear(ring);
    return is_fine;
}

void bench_ring_clear(struct bench_ring *ring)
{
    yn_buf_clear(&ring->bytes);
    free(ring->starts);
    ring->starts = NULL;
    ring->n_batches = 0;
}
