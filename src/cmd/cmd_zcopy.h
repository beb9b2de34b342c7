/* cmd_zcopy.h: a command whose result is a part of one set, copied. */
#ifndef CMD_ZCOPY_H
#define CMD_ZCOPY_H

#include "cmd/zrange.h"

/* What is done with the copy, which is taken: changes keys and answers. */
typedef void (*zcopy_fn)(struct cmd_call *call, struct yn_zset *copy);

/* Makes the job that copies these ranks (at least one) of the set, which the word
 * source_at of the call names, and then calls `finish`; or answers that memory is out. */
void zcopy_run(struct cmd_call *call, struct yn_zset *set, size_t source_at,
               struct zrange_ranks ranks, zcopy_fn finish);

#endif
