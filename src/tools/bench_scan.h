/*
 * bench_scan.h: counts replies in a stream of RESP without looking at what they say.
 *
 * A load generator that parses hides the server it measures. This scanner reads the
 * headers and jumps over the payloads; it keeps no value, allocates nothing, and needs no
 * stack: of a nested reply only the number of values still owed matters. RESP2, and
 * RESP3 but for streamed values. Not a check of the protocol: what it cannot follow is
 * refused, what is merely wrong inside a payload is not seen.
 */
#ifndef BENCH_SCAN_H
#define BENCH_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_SCAN_TEXT_MAX 128

struct bench_scan {
    uint64_t n_replies;
    uint64_t n_errors;               /* anywhere inside replies */
    uint64_t n_nulls;                /* $-1, *-1 and _, anywhere */
    uint64_t n_empty;                /* replies that are an aggregate of nothing */
    bool is_bad;                     /* the stream cannot be followed; final */
    char error[BENCH_SCAN_TEXT_MAX]; /* text of the first error, cut off */

    /* private */
    uint64_t n_owed; /* values missing in the reply under way; 0: between replies */
    uint64_t skip;   /* bytes of a payload still to come */
    size_t line_len; /* of the header line under way, all of it */
    char line[BENCH_SCAN_TEXT_MAX]; /* its beginning */
};

void bench_scan_init(struct bench_scan *scan);

/* Takes bytes in. Returns the number of replies that they completed. */
uint64_t bench_scan_feed(struct bench_scan *scan, const char *data, size_t len);

#endif
