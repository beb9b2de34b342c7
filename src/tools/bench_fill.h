/*
 * bench_fill.h: the keys and commands of rows with the sizes of a run put in.
 */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "tools/bench_dump.h"
#include "tools/bench_rows.h"
#include "tools/bench_template.h"

/* What a run is about. */
struct bench_fill {
    uint64_t n_points;
    const char *places; /* see bench_places_open */
};

/* A text with @N and @F replaced. The caller frees it. NULL: out of memory. */
char *bench_fill_sizes(const struct bench_fill *fill, const char *text);

/* Opens a template of words separated by blanks, those of `more` (may be NULL) behind
 * those of command, sizes put in. *out_text holds the words: it is freed after the
 * template, and also when the opening failed (template->error). */
bool bench_fill_open(const struct bench_fill *fill, struct bench_template *template,
                     const char *command, const char *more, char **out_text);

/* How many elements a key has. 0: its size is no number. */
uint64_t bench_fill_count(const struct bench_fill *fill, const struct bench_key *key);

/* Sends everything that makes a key, and waits until it is there. `show` (may be NULL) is
 * called for keys that are data sets. Returns false on failure, told in feed->error. */
bool bench_fill_key(const struct bench_fill *fill, const struct bench_key *key,
                    struct bench_feed *feed, bench_dump_fn show, void *show_ctx);

#endif
