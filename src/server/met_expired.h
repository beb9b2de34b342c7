/*
 * met_expired.h: expired keys that reads have met. A read takes such a key for gone and
 * changes nothing; it is noted here, and removed when the batch is over and the lock can
 * be had exclusively.
 */
#ifndef MET_EXPIRED_H
#define MET_EXPIRED_H

#include "core/buf.h"

struct loop;

struct met_expired {
    struct yn_buf keys; /* one after the other: database, length, bytes */
};

/* Without memory the key is left to the cron. */
void met_expired_add(struct met_expired *met, size_t db, struct yn_bytes key);
/* Removes the keys, unless they have been set again meanwhile. The loop holds no lock. */
void met_expired_remove(struct loop *loop);

#endif
