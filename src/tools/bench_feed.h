/*
 * bench_feed.h: a stream of requests into a server, as fast as it takes them.
 *
 * Requests are appended to `out`; bench_feed_push sends them on and counts the replies
 * that have come. Both directions move at once, so any amount may be under way.
 */
#ifndef BENCH_FEED_H
#define BENCH_FEED_H

#include "tools/bench_scan.h"
#include "tools/cli_link.h"

struct bench_feed {
    struct cli_link link;
    struct bench_scan scan;
    struct yn_buf out;
    uint64_t n_sent; /* requests appended; the caller counts */
    char error[640];
};

bool bench_feed_open(struct bench_feed *feed, const struct cli_options *server);
void bench_feed_close(struct bench_feed *feed);

/* Sends until at most `left` bytes wait. Error replies are failures. */
bool bench_feed_push(struct bench_feed *feed, size_t left);
/* Sends everything and waits for all replies. */
bool bench_feed_finish(struct bench_feed *feed);

#endif
