/*
 * bench_template.h: a command with random parts, and rings of requests made from it.
 *
 * A template is a list of words. A placeholder in braces is replaced anew in each
 * request; everything else is fixed text. bench_template_help lists the placeholders.
 * Requests are made in advance, into a ring of bytes, so that sending costs nothing but
 * the send itself.
 */
#ifndef BENCH_TEMPLATE_H
#define BENCH_TEMPLATE_H

#include "core/buf.h"
#include "tools/bench_random.h"

extern const char bench_template_help[];

struct bench_template {
    struct bench_piece *pieces; /* owned */
    size_t n_pieces;
    uint64_t ring_max; /* requests after which a ring repeats itself; 0: no limit */
    char error[384];
};

/* places_path: see bench_places_open. On failure `error` says why. The words are
 * borrowed. */
bool bench_template_open(struct bench_template *template, int n_words, char **words,
                         const char *places_path);
void bench_template_close(struct bench_template *template);

/* Requests in batches that are sent as a whole. Threads may read it together. */
struct bench_ring {
    struct yn_buf bytes;
    size_t *starts; /* n_batches + 1: where each batch begins, and the end */
    size_t n_batches;
    size_t pipeline; /* requests a batch */
    size_t next;     /* batch to send next; a run goes on where the last one ended */
};

/* Fills a ring with about n_requests, a multiple of the pipeline. `part` of n_parts:
 * rings of threads that run together differ. Returns false when memory is out. */
bool bench_ring_fill(struct bench_ring *ring, const struct bench_template *template,
                     uint64_t seed, unsigned part, uint64_t n_requests, size_t pipeline);
void bench_ring_clear(struct bench_ring *ring);

#endif
