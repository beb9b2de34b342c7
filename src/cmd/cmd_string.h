/* cmd_string.h: the functions of the string commands, for the command table. */
#ifndef CMD_STRING_H
#define CMD_STRING_H

#include "cmd/cmd.h"

/* cmd_string.c: whole values */
void cmd_get(struct cmd_call *call);
void cmd_getdel(struct cmd_call *call);
void cmd_mget(struct cmd_call *call);
void cmd_mset(struct cmd_call *call);
void cmd_msetnx(struct cmd_call *call);

/* string_set.c: SET and its relatives */
void cmd_getex(struct cmd_call *call);
void cmd_getset(struct cmd_call *call);
void cmd_psetex(struct cmd_call *call);
void cmd_set(struct cmd_call *call);
void cmd_setex(struct cmd_call *call);
void cmd_setnx(struct cmd_call *call);

/* string_part.c: parts of a value */
void cmd_append(struct cmd_call *call);
void cmd_getrange(struct cmd_call *call); /* SUBSTR too */
void cmd_setrange(struct cmd_call *call);
void cmd_strlen(struct cmd_call *call);

/* string_number.c: values that are numbers */
void cmd_decr(struct cmd_call *call);
void cmd_decrby(struct cmd_call *call);
void cmd_incr(struct cmd_call *call);
void cmd_incrby(struct cmd_call *call);
void cmd_incrbyfloat(struct cmd_call *call);

#endif
