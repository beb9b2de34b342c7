/*
 * slow.h: connections that ask for everything there is in a large set and read it slowly,
 * so that the server holds frozen views of the set while others change it. A thread of
 * their own.
 */
#ifndef LINEAR_SLOW_H
#define LINEAR_SLOW_H

#include "tools/cli_options.h"

struct slow;

/* Starts n connections. Returns NULL, with a text on standard error, when that fails. */
struct slow *slow_new(const struct cli_options *server, unsigned n);
/* Ends them. Returns how many replies were read to the end; -1 if a connection was lost.
 */
long slow_free(struct slow *slow);

#endif
