/* cmd_zset.h: the functions of the sorted set commands, for the command table. */
#ifndef CMD_ZSET_H
#define CMD_ZSET_H

#include "cmd/cmd.h"

void cmd_bzmpop(struct cmd_call *call);
void cmd_bzpopmax(struct cmd_call *call);
void cmd_bzpopmin(struct cmd_call *call);
void cmd_zadd(struct cmd_call *call);
void cmd_zcard(struct cmd_call *call);
void cmd_zcount(struct cmd_call *call);
void cmd_zdiff(struct cmd_call *call);
void cmd_zdiffstore(struct cmd_call *call);
void cmd_zincrby(struct cmd_call *call);
void cmd_zinter(struct cmd_call *call);
void cmd_zintercard(struct cmd_call *call);
void cmd_zinterstore(struct cmd_call *call);
void cmd_zlexcount(struct cmd_call *call);
void cmd_zmpop(struct cmd_call *call);
void cmd_zmscore(struct cmd_call *call);
void cmd_zpopmax(struct cmd_call *call);
void cmd_zpopmin(struct cmd_call *call);
void cmd_zrandmember(struct cmd_call *call);
void cmd_zrange(struct cmd_call *call);
void cmd_zrangebylex(struct cmd_call *call);
void cmd_zrangebyscore(struct cmd_call *call);
void cmd_zrangestore(struct cmd_call *call);
void cmd_zrank(struct cmd_call *call);
void cmd_zrem(struct cmd_call *call);
void cmd_zremrangebylex(struct cmd_call *call);
void cmd_zremrangebyrank(struct cmd_call *call);
void cmd_zremrangebyscore(struct cmd_call *call);
void cmd_zrevrange(struct cmd_call *call);
void cmd_zrevrangebylex(struct cmd_call *call);
void cmd_zrevrangebyscore(struct cmd_call *call);
void cmd_zrevrank(struct cmd_call *call);
void cmd_zscan(struct cmd_call *call);
void cmd_zscore(struct cmd_call *call);
void cmd_zunion(struct cmd_call *call);
void cmd_zunionstore(struct cmd_call *call);

#endif
