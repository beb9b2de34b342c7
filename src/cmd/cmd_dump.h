/* cmd_dump.h: the functions of DUMP and RESTORE, for the command table. */
#ifndef CMD_DUMP_H
#define CMD_DUMP_H

#include "cmd/cmd.h"

void cmd_dump(struct cmd_call *call);
void cmd_restore(struct cmd_call *call);

#endif
