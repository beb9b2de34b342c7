/*
 * request_copy.h: a request that outlives its bytes: a command that waits in a
 * transaction's queue, or for a key. One block of memory each.
 */
#ifndef REQUEST_COPY_H
#define REQUEST_COPY_H

#include "cmd/cmd.h"

struct request_copy {
    struct request_copy *next; /* for the owner */
    const struct cmd_spec *spec;
    size_t n_bytes; /* of the block */
    size_t argc;
    struct yn_bytes argv[]; /* the words stand behind them */
};

/* Returns NULL when out of memory. */
struct request_copy *request_copy_new(const struct cmd_spec *spec, size_t argc,
                                      const struct yn_bytes *argv);
void request_copy_free(struct request_copy *copy);

#endif
