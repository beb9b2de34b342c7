/* cmd_zset.h: the functions of the sorted set commands, for the command table. */
#ifndef CMD_ZSET_H
#define CMD_ZSET_H

#include "cmd/cmd.h"

void cmd_zadd(struct cmd_call *call);
void cmd_zcard(struct cmd_call *call);
void cmd_zmscore(struct cmd_call *call);
void cmd_zrange(struct cmd_call *call);
void cmd_zrangebyscore(struct cmd_call *call);
void cmd_zrank(struct cmd_call *call);
void cmd_zrem(struct cmd_call *call);
void cmd_zrevrank(struct cmd_call *call);
void cmd_zscan(struct cmd_call *call);
void cmd_zscore(struct cmd_call *call);

#endif
