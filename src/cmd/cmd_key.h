/* cmd_key.h: the functions of the commands about keys of any type, for the command table.
 */
#ifndef CMD_KEY_H
#define CMD_KEY_H

#include "cmd/cmd.h"

void cmd_copy(struct cmd_call *call);
void cmd_dbsize(struct cmd_call *call);
void cmd_del(struct cmd_call *call);
void cmd_exists(struct cmd_call *call);
void cmd_expire(struct cmd_call *call);
void cmd_expireat(struct cmd_call *call);
void cmd_expiretime(struct cmd_call *call);
void cmd_flushall(struct cmd_call *call);
void cmd_flushdb(struct cmd_call *call);
void cmd_keys(struct cmd_call *call);
void cmd_move(struct cmd_call *call);
void cmd_object_encoding(struct cmd_call *call);
void cmd_object_freq(struct cmd_call *call);
void cmd_object_help(struct cmd_call *call);
void cmd_object_idletime(struct cmd_call *call);
void cmd_object_refcount(struct cmd_call *call);
void cmd_persist(struct cmd_call *call);
void cmd_pexpire(struct cmd_call *call);
void cmd_pexpireat(struct cmd_call *call);
void cmd_pexpiretime(struct cmd_call *call);
void cmd_pttl(struct cmd_call *call);
void cmd_randomkey(struct cmd_call *call);
void cmd_rename(struct cmd_call *call);
void cmd_renamenx(struct cmd_call *call);
void cmd_scan(struct cmd_call *call);
void cmd_swapdb(struct cmd_call *call);
void cmd_touch(struct cmd_call *call);
void cmd_ttl(struct cmd_call *call);
void cmd_type(struct cmd_call *call);
void cmd_unlink(struct cmd_call *call);

#endif
