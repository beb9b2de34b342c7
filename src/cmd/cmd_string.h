/* cmd_string.h: the functions of the string commands, for the command table. */
#ifndef CMD_STRING_H
#define CMD_STRING_H

#include "cmd/cmd.h"

void cmd_get(struct cmd_call *call);
void cmd_mget(struct cmd_call *call);
void cmd_set(struct cmd_call *call);

#endif
