#include "tools/bench_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/bench_args.h"
#include "tools/cli_progress.h"

#define BATCH 100
#define OUT_LEN ((size_t)256 * 1024)

static const char usage[] =
    "Usage: yonder-bench data NAME [N] [options]\n"
    "\n"
    "Makes a data set by formula: the same points for the same NAME, N and seed.\n"
    "\n"
    "  osm N        points around the real places of data/cities.csv (60,841,557)\n"
    "  outlet N     points around the places of Indonesia (85,318)\n"
    "  sicily N     the 2 or 4 members of the documentation's example (4)\n"
    "  uniform N    points all over the globe (60,841,557)\n"
    "  fleet N      moving objects: positions, then moves (1,000,000)\n"
    "\n"
    "  --csv              write id,lon,lat to standard output (the default)\n"
    "  --resp             write GEOADD commands of 100 points to standard output\n"
    "  --load HOST:PORT   send them to a server\n"
    "  --key KEY          key of the commands (key, outlet, Sicily, uniform, fleet)\n"
    "  --moves N          fleet: N moves of about 100 m follow the positions, as one\n"
    "                     command each\n"
    "  --seed N           another set of the same kind (1)\n"
    "  --places FILE      places (data/cities.csv)\n"
    "  --no-progress      no progress report\n";

/* Where the points go: standard output, or a server. */
struct sink {
    struct bench_feed feed;
    bool is_server;
    bool is_csv;
    struct yn_bytes key;
    struct cli_progress progress;
};

static bool write_all(struct yn_buf *out)
{
    size_t done = 0;
    while (done < out->len) {
        ssize_t n = write(STDOUT_FILENO, out->data + done, out->len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (size_t)n;
    }
    yn_buf_reset(out, SIZE_MAX);
    return true;
}

static bool flush(struct sink *sink, size_t left)
{
    struct yn_buf *out = &sink->feed.out;
    if (out->len <= left)
        return true;
    if (sink->is_server)
        return bench_feed_push(&sink->feed, left);
    if (!out->failed && write_all(out))
        return true;
    snprintf(sink->feed.error, sizeof sink->feed.error, "could not write: %s",
             strerror(errno));
    return false;
}

static void put_csv(const struct bench_data *data, const struct bench_data_point *points,
                    size_t n, struct yn_buf *out)
{
    char *to = yn_buf_reserve(out, n * 3 * BENCH_DATA_TEXT_MAX);
    if (to == NULL)
        return;
    for (size_t i = 0; i < n; i++) {
        to += bench_data_member(data, points[i].number, to);
        *to++ = ',';
        to += bench_data_format_e6(points[i].lon_e6, to);
        *to++ = ',';
        to += bench_data_format_e6(points[i].lat_e6, to);
        *to++ = '\n';
    }
    out->len = (size_t)(to - out->data);
}

static void put(struct sink *sink, const struct bench_data *data,
                const struct bench_data_point *points, size_t n)
{
    if (sink->is_csv) {
        put_csv(data, points, n, &sink->feed.out);
        return;
    }
    bench_data_write_geoadd(data, sink->key, points, n, &sink->feed.out);
    sink->feed.n_sent++;
}

static bool dump_points(struct sink *sink, const struct bench_data *data)
{
    struct bench_data_point points[BATCH];
    for (uint64_t first = 0; first < data->n; first += BATCH) {
        size_t n = data->n - first < BATCH ? (size_t)(data->n - first) : BATCH;
        bench_data_points(data, first, n, points);
        put(sink, data, points, n);
        if (!flush(sink, OUT_LEN))
            return false;
        cli_progress_show(&sink->progress, 0, first + n);
    }
    return true;
}

static bool dump_moves(struct sink *sink, const struct bench_data *data, uint64_t n_moves)
{
    struct bench_data_point point;
    for (uint64_t k = 0; k < n_moves; k++) {
        bench_data_move(data, k, &point);
        put(sink, data, &point, 1);
        if (!flush(sink, OUT_LEN))
            return false;
    }
    return true;
}

static int dump(struct sink *sink, const struct bench_data *data, uint64_t n_moves)
{
    cli_progress_init(&sink->progress, 0, sink->progress.is_off);
    if (sink->is_csv)
        yn_buf_append_text(&sink->feed.out, "id,lon,lat\n");
    bool is_fine = dump_points(sink, data) && dump_moves(sink, data, n_moves) &&
                   flush(sink, 0) && (!sink->is_server || bench_feed_finish(&sink->feed));
    cli_progress_wipe(&sink->progress);
    if (!is_fine) {
        fprintf(stderr, "yonder-bench: %s\n", sink->feed.error);
        return 1;
    }
    if (sink->is_server) {
        char count[CLI_PROGRESS_COUNT_MAX], rate[CLI_PROGRESS_COUNT_MAX];
        double s = cli_progress_seconds(&sink->progress);
        uint64_t n = data->n + n_moves;
        printf("%s points in %.2f s (%s/s)\n", cli_progress_count(n, count), s,
               cli_progress_count((uint64_t)((double)n / s), rate));
    }
    return 0;
}

bool bench_dump_load(struct bench_feed *feed, const struct bench_data *data,
                     const char *key, bench_dump_fn show, void *ctx)
{
    struct bench_data_point points[BATCH];
    struct yn_bytes key_bytes = {key, strlen(key)};
    for (uint64_t first = 0; first < data->n; first += BATCH) {
        size_t n = data->n - first < BATCH ? (size_t)(data->n - first) : BATCH;
        bench_data_points(data, first, n, points);
        bench_data_write_geoadd(data, key_bytes, points, n, &feed->out);
        feed->n_sent++;
        if (feed->out.len > OUT_LEN && !bench_feed_push(feed, OUT_LEN / 2))
            return false;
        if (show != NULL && !show(ctx, first + n)) {
            snprintf(feed->error, sizeof feed->error, "interrupted");
            return false;
        }
    }
    return bench_feed_finish(feed);
}

struct dump_options {
    uint64_t seed, n_moves;
    const char *key, *places;
    char *load;
    bool is_csv, is_resp, no_progress;
};

static int dump_named(const struct dump_options *options, const char *name, uint64_t n)
{
    struct bench_data data;
    if (!bench_data_open(&data, name, n, options->seed, options->places)) {
        fprintf(stderr, "yonder-bench: %s\n", data.error);
        return 2;
    }
    if (options->n_moves > 0 && data.kind != BENCH_DATA_FLEET) {
        fputs("yonder-bench: only the fleet moves\n", stderr);
        bench_data_close(&data);
        return 2;
    }
    const char *key = options->key != NULL ? options->key : bench_data_key(&data);
    struct sink sink = {.is_server = options->load != NULL,
                        .is_csv = options->load == NULL && !options->is_resp,
                        .key = {key, strlen(key)}};
    sink.progress.is_off = options->no_progress;
    struct cli_options server;
    bench_args_init_server(&server);
    int status = 2;
    const char *host = NULL;
    yn_buf_init(&sink.feed.out);
    if (sink.is_server && !bench_args_parse_address(options->load, &host, &server.port)) {
        fprintf(stderr, "yonder-bench: no address: \"%s\"\n", options->load);
    } else {
        server.host = host != NULL ? host : server.host;
        if (sink.is_server && !bench_feed_open(&sink.feed, &server))
            fprintf(stderr, "yonder-bench: %s\n", sink.feed.error);
        else
            status = dump(&sink, &data, options->n_moves);
    }
    if (sink.is_server)
        bench_feed_close(&sink.feed);
    yn_buf_clear(&sink.feed.out);
    bench_data_close(&data);
    return status;
}

int bench_dump_main(int argc, char **argv)
{
    struct dump_options options = {.seed = 1};
    const struct bench_arg table[] = {
        {"--csv", NULL, BENCH_ARG_FLAG, &options.is_csv},
        {"--resp", NULL, BENCH_ARG_FLAG, &options.is_resp},
        {"--load", NULL, BENCH_ARG_TEXT, &options.load},
        {"--key", NULL, BENCH_ARG_TEXT, &options.key},
        {"--moves", NULL, BENCH_ARG_COUNT, &options.n_moves},
        {"--seed", NULL, BENCH_ARG_COUNT, &options.seed},
        {"--places", NULL, BENCH_ARG_TEXT, &options.places},
        {"--no-progress", NULL, BENCH_ARG_FLAG, &options.no_progress},
        {0},
    };
    int first, exit_status;
    if (!bench_args_parse(table, usage, false, argc, argv, &first, &exit_status))
        return exit_status;
    uint64_t n = 0;
    int n_words = argc - first;
    if (n_words < 1 || n_words > 2 ||
        (n_words == 2 && !bench_args_parse_count(argv[first + 1], &n))) {
        fputs("yonder-bench: data wants a name and a number of points; see --help\n",
              stderr);
        return 2;
    }
    return dump_named(&options, argv[first], n);
}
