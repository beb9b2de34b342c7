/* expiry.h: times of expiry as clients write them. */
#ifndef EXPIRY_H
#define EXPIRY_H

#include "cmd/cmd_args.h"

enum expiry_unit { EXPIRY_MS = 1, EXPIRY_SECONDS = 1000 };

/*
 * Turns a client's number into milliseconds since 1970: relative ones are added to
 * now_ms. Returns false when the result does not fit.
 */
bool expiry_at_ms(int64_t value, enum expiry_unit unit, bool is_relative, int64_t now_ms,
                  int64_t *out_at_ms);

/* Fails the cursor: the time does not fit the command that is called `name`. */
bool expiry_fail(struct cmd_args *args, const char *name);

#endif
