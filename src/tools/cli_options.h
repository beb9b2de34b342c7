/*
 * cli_options.h: the command line of yonder-cli.
 *
 * Options come first; the first word that is none starts the command. Everything
 * points into argv or the environment and is borrowed for the program's life.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

#include "tools/cli_tls.h"

struct cli_options {
    const char *host;
    int port;
    const char *socket_path; /* instead of host and port, or NULL */
    const char *password;    /* or NULL */
    int db;
    struct cli_tls_options tls;
    bool resp3;
    bool is_raw;          /* replies without quotes, types and numbers */
    bool last_from_stdin; /* -x */
    bool fail_on_error;   /* -e: an error reply makes the exit status 1 */
    int n_words;          /* the command: words that are no options */
    char **words;
};

enum cli_options_result { CLI_OPTIONS_OK, CLI_OPTIONS_BAD, CLI_OPTIONS_DONE };

/* Reads options; DONE when --help or --version has been answered. BAD is explained on
 * stderr. */
enum cli_options_result cli_options_parse(struct cli_options *options, int argc,
                                          char **argv);

/* Parses a whole decimal number of min..max. Returns false for anything else. */
bool cli_options_parse_number(const char *text, long min, long max, long *out_number);

#endif
