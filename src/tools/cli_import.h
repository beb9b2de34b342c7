/*
 * cli_import.h: loads the positions of a CSV file into a key.
 */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "tools/cli_options.h"

/* Runs `import FILE --key KEY ...`, options->words. Returns the exit status: 0 all rows
 * are loaded, 1 some were rejected, 2 nothing was loaded, or the file or the server
 * failed. */
int cli_import_run(const struct cli_options *options);

#endif
