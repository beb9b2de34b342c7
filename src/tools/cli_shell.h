/*
 * cli_shell.h: commands to the server and their replies to standard output: one command,
 * or one a line from standard input, with a prompt when that is a terminal.
 */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include "tools/cli_options.h"

/* Both return the program's exit status. */
int cli_shell_run_words(const struct cli_options *options);
int cli_shell_run_input(const struct cli_options *options);

#endif
