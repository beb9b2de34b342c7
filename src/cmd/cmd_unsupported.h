/*
 * cmd_unsupported.h: commands of Redis that this server does not have, and why.
 */
#ifndef CMD_UNSUPPORTED_H
#define CMD_UNSUPPORTED_H

#include "yonder.h"

/* What a command of Redis would need that is not here: "lists are", "scripts are". NULL:
 * Redis has no command of that name either. Any case. */
const char *cmd_unsupported(struct yn_bytes name);

#endif
