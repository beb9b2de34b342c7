/*
 * redact.h: arguments that are secrets. MONITOR and SLOWLOG do not show them.
 */
#ifndef REDACT_H
#define REDACT_H

#include "cmd/cmd.h"

/* What is shown in their place. */
#define REDACTED "(redacted)"

/* Fills in, for each of the first n arguments, whether it is a secret. n is at most
 * argc. */
void redact_find(const struct cmd_spec *spec, size_t argc, const struct yn_bytes *argv,
                 bool *out_is_secret, size_t n);

#endif
