/*
 * cli_print.h: replies to text, in the two layouts that users of redis-cli know.
 */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "resp/reply.h"

/* For people: strings quoted, types named, elements numbered. Ends with a line feed. */
void cli_print_pretty(struct yn_buf *out, const struct yn_reply *reply);

/* For programs: bytes as they are, one element a line. No line feed at the end. */
void cli_print_raw(struct yn_buf *out, const struct yn_reply *reply);

/* Appends bytes, or a C string. */
void cli_print_bytes(struct yn_buf *out, struct yn_bytes bytes);
void cli_print_text(struct yn_buf *out, const char *text);

#endif
