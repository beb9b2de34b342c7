/* cmd_command.h: the functions of COMMAND, for the command table. */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include "cmd/cmd.h"

void cmd_command(struct cmd_call *call);
void cmd_command_count(struct cmd_call *call);
void cmd_command_docs(struct cmd_call *call);
void cmd_command_getkeys(struct cmd_call *call);
void cmd_command_getkeysandflags(struct cmd_call *call);
void cmd_command_help(struct cmd_call *call);
void cmd_command_info(struct cmd_call *call);
void cmd_command_list(struct cmd_call *call);

#endif
