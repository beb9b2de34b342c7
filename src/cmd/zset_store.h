/* zset_store.h: a new set as the value of a key, as the commands that end in STORE do. */
#ifndef ZSET_STORE_H
#define ZSET_STORE_H

#include "cmd/cmd.h"

/* Stores a set, or removes the key when it is empty, and answers with its number. The set
 * is taken. `event` names the change. */
void zset_store(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                const char *event);
/* The same for nothing at all. */
void zset_store_nothing(struct cmd_call *call, struct yn_bytes key);

#endif
