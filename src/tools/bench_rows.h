/*
 * bench_rows.h: what a comparison measures: keys, and rows of requests on them.
 *
 * A suite is a list of both. "geo" is a table (bench_rows.c): the work of users, and the
 * worst cases. "growth" is made for a number of points (bench_growth.c): the same few
 * requests over keys and radii of many sizes, for plots.
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
    const char *key;     /* of the suite's keys, or NULL */
    const char *command; /* words between blanks, see bench_template.h */
    const char *check;  /* added to the command where the servers are compared, or NULL */
    const char *beside; /* a command that four clients repeat meanwhile, or NULL */
    /* What a peer without BYPOLYGON is asked instead, or NULL: a search around the same
     * centre that covers the polygon and gives positions, see bench_cover.h. */
    const char *their_command;
    const char *note; /* what a reader of the report must know of the row, or NULL */
    unsigned n_connections, n_threads, pipeline;
    unsigned n_min;     /* requests a round at least; 0: 20 */
    unsigned n_checks;  /* requests whose answers are compared; 0: as is fit */
    unsigned ring;      /* requests prepared; 0: as is fit for the command */
    unsigned piece_len; /* most bytes a send or receive takes; 0: no limit */
    bool is_load;       /* the loading of the key itself; the command says what is sent */
    bool has_ties;      /* a COUNT may cut at equal distances */
    bool has_more;      /* Redis loses members here, see docs/compat.md */
    bool is_empty;      /* empty replies are what is wanted, in cells full of members */
    bool may_be_empty;  /* of a small key, all replies may be empty */

    const char *series; /* the line of a plot that the row is a point of, or NULL */
    double x;           /* where on it; 0: at the row's hits */
};

struct bench_suite {
    const char *name;
    const struct bench_key *keys;
    size_t n_keys;
    const struct bench_row *rows;
    size_t n_rows;
    unsigned n_rounds; /* unless the user says otherwise */
    double duration_s;
    void *owned;
};

/* Opens a suite by its name for a number of points. Returns false when there is none of
 * that name, or memory is out. Close it after the last use of its keys and rows. */
bool bench_suite_open(struct bench_suite *suite, const char *name, uint64_t n_points);
void bench_suite_close(struct bench_suite *suite);

/* The suite "growth": false when out of memory. */
bool bench_growth_open(struct bench_suite *suite, uint64_t n_points);

/* The row or key of a name, or NULL. */
const struct bench_row *bench_suite_find_row(const struct bench_suite *suite,
                                             const char *name);
const struct bench_key *bench_suite_find_key(const struct bench_suite *suite,
                                             const char *name);

/* Is the command one of the GEOSEARCH or GEORADIUS family? */
bool bench_row_is_search(const char *command);

#endif
