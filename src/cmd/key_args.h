/* key_args.h: what commands about keys have in common: numbers of databases, names of
 * types.
 */
#ifndef KEY_ARGS_H
#define KEY_ARGS_H

#include "cmd/cmd_args.h"

#define KEY_ERR_DB_RANGE "ERR DB index is out of range"

/* Takes the next word as an integer of 32 bits. `message` is the error whatever is wrong;
 * NULL: the usual ones. */
bool key_args_int32(struct cmd_args *args, const char *message, int64_t *out_value);
/* Takes the next word as the number of a database that there is. */
bool key_args_db(struct cmd_args *args, struct host *h, size_t *out_db);

/* "string", "zset", "none". */
const char *key_type_name(enum host_type type);

#endif
