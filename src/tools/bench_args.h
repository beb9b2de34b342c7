/*
 * bench_args.h: the command line of yonder-bench's commands: options with and without
 * values, checked, from a table.
 */
#ifndef BENCH_ARGS_H
#define BENCH_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli_options.h"

enum bench_arg_kind {
    BENCH_ARG_FLAG,   /* bool */
    BENCH_ARG_TEXT,   /* const char * */
    BENCH_ARG_INT,    /* int, 0..2^31-1 */
    BENCH_ARG_COUNT,  /* uint64_t; "60_841_557", "5M" and "100k" are fine */
    BENCH_ARG_NUMBER, /* double, at least 0 */
};

struct bench_arg {
    const char *name, *other_name; /* "-c", "--clients" or NULL */
    enum bench_arg_kind kind;
    void *value;
};

/* Reads options from argv[1] on. `options_first`: the first word that is no option ends
 * them (a command follows); else words may stand anywhere, and are moved to the end.
 * *out_first is the index of the first word. The table ends with a name of NULL.
 * Returns false when the program is to end with *out_exit_status: 0 after --help, which
 * prints usage; 2 when something is wrong, which is explained on stderr. */
bool bench_args_parse(const struct bench_arg *table, const char *usage,
                      bool options_first, int argc, char **argv, int *out_first,
                      int *out_exit_status);

/* 127.0.0.1:6379, the password from the environment as in yonder-cli. */
void bench_args_init_server(struct cli_options *server);

/* "60841557", "60_841_557", "5M", "100k": at least 1. */
bool bench_args_parse_count(const char *text, uint64_t *out_count);

/* "host:port", ":port" or "port" into a host (NULL: not said) and a port. The text is
 * changed. */
bool bench_args_parse_address(char *text, const char **out_host, int *out_port);

#endif
