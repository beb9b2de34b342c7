/*
 * bench_dump.h: data sets written out: as CSV, as RESP, or into a server; and the command
 * `yonder-bench data`.
 */
#ifndef BENCH_DUMP_H
#define BENCH_DUMP_H

#include "tools/bench_data.h"
#include "tools/bench_feed.h"

/* argv[0] is "data". Returns the exit status. */
int bench_dump_main(int argc, char **argv);

/* Called now and then with the number of points sent. Returns false to stop. */
typedef bool (*bench_dump_fn)(void *ctx, uint64_t n_points);

/* Loads all points into a key by GEOADD of 100 a command. `show` may be NULL. Returns
 * false on failure, told in feed->error. */
bool bench_dump_load(struct bench_feed *feed, const struct bench_data *data,
                     const char *key, bench_dump_fn show, void *ctx);

#endif
