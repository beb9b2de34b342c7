/*
 * config_rewrite.h: the configuration that is in force, written into its file.
 *
 * The file keeps its comments, its order and every line that still says what is true.
 * Only options whose value is another one than the file gives are touched: their last
 * line gets the new value, earlier lines of theirs go; those without a line are added at
 * the end. Lines of users are all written anew, at the end (config->user_lines).
 */
#ifndef CONFIG_REWRITE_H
#define CONFIG_REWRITE_H

#include "server/config.h"

/* Appends the new text of a file that holds `old`. Returns false when out of memory, or
 * when `old` is not valid: then error (CONFIG_ERROR_MAX bytes) says why. No I/O. */
bool config_rewrite_text(const struct config *config, struct yn_bytes old,
                         struct yn_buf *out, char *error);

/* Replaces the file, or makes it: readers see the old one or the new one, also after a
 * crash. On failure the file is as before, and error says why. */
bool config_rewrite_file(const struct config *config, const char *path, char *error);

#endif
