/*
 * bench_fill.h: the keys and commands of rows with the sizes of a run put in.
 */
#ifndef BENCH_FILL_H
#define BENCH_FILL_H

#include "tools/bench_feed.h"
#include "tools/bench_rows.h"
#include "tools/bench_template.h"

/* The row or key of a name, or NULL. */
const struct bench_row *bench_fill_row(const struct bench_suite *suite, const char *name);
const struct bench_key *bench_fill_find_key(const struct bench_suite *suite,
                                            const char *name);

/* A text with @N and @F replaced, for so many points. The caller frees it. NULL: out of
 * memory. */
char *bench_fill_sizes(const char *text, uint64_t n_points);

/* Opens a template of words separated by blanks, sizes put in. *out_text holds the words:
 * it is freed after the template, and also when the opening failed (template->error). */
bool bench_fill_open(struct bench_template *template, const char *command,
                     uint64_t n_points, const char *places, char **out_text);

/* Sends everything that makes a key, and waits until it is there. Returns false on
 * failure, told in feed->error. *out_n is the number of elements. */
bool bench_fill_key(const struct bench_key *key, uint64_t n_points, const char *places,
                    struct bench_feed *feed, uint64_t *out_n);

#endif
