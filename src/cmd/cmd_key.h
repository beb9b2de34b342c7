/* cmd_key.h: the functions of the commands about keys of any type, for the command table.
 */
#ifndef CMD_KEY_H
#define CMD_KEY_H

#include "cmd/cmd.h"

void cmd_dbsize(struct cmd_call *call);
void cmd_del(struct cmd_call *call); /* UNLINK too */
void cmd_exists(struct cmd_call *call);
void cmd_expire(struct cmd_call *call);
void cmd_expireat(struct cmd_call *call);
void cmd_expiretime(struct cmd_call *call);
void cmd_flushall(struct cmd_call *call);
void cmd_flushdb(struct cmd_call *call);
void cmd_keys(struct cmd_call *call);
void cmd_persist(struct cmd_call *call);
void cmd_pexpire(struct cmd_call *call);
void cmd_pexpireat(struct cmd_call *call);
void cmd_pexpiretime(struct cmd_call *call);
void cmd_pttl(struct cmd_call *call);
void cmd_scan(struct cmd_call *call);
void cmd_ttl(struct cmd_call *call);
void cmd_type(struct cmd_call *call);

#endif
