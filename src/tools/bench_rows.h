/*
 * bench_rows.h: what a comparison measures: keys, and rows of requests on them.
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In texts of keys and rows, @N stands for the number of points of the comparison, and
 * @F for the size of its fleet. */

struct bench_key {
    const char *name;
    const char *set;      /* name of a data set, or NULL: made by the template */
    const char *template; /* one command an element */
    const char *size;     /* number of elements: "@N", "1M" */
};

struct bench_row {
    const char *name;
    const char *group;
    const char *key;     /* of bench_keys, or NULL */
    const char *command; /* words between blanks, see bench_template.h */
    const char *check;  /* added to the command where the servers are compared, or NULL */
    const char *beside; /* a command that four clients repeat meanwhile, or NULL */
    unsigned n_connections, n_threads, pipeline;
    unsigned n_min;     /* requests a round at least; 0: 20 */
    unsigned ring;      /* requests prepared; 0: as is fit for the command */
    unsigned piece_len; /* most bytes a send or receive takes; 0: no limit */
    bool is_load;       /* the loading of the key itself; the command says what is sent */
    bool has_ties;      /* a COUNT may cut at equal distances */
    bool has_more;      /* Redis loses members here, see docs/compat.md */
    bool is_empty;      /* empty replies are what is wanted */
};

extern const struct bench_key bench_keys[];
extern const size_t bench_n_keys;
extern const struct bench_row bench_rows[];
extern const size_t bench_n_rows;

#endif
