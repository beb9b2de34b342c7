/*
 * databases.h: the databases of the server: their keyspaces, what happens to all of them
 * alike (cleaning, flushing, swapping), and what becomes of keys that expire.
 */
#ifndef DATABASES_H
#define DATABASES_H

#include "cmd/host.h"

struct server;

/* Creates config.databases of them. Returns false when out of memory. */
bool databases_create(struct server *server);
void databases_clear(struct server *server);

/* Removes keys that are due and frees flushed ones until the clock says end_ns. Returns
 * false when it ran out of time. */
bool databases_clean(struct server *server, uint64_t end_ns);
/* Waits until the memory of all that was flushed or removed is given back. */
void databases_collect(struct server *server);

/* Objects (keys, and sets without a key) that are to be freed in the background, and that
 * were. */
size_t databases_n_pending(struct server *server);
uint64_t databases_n_freed(struct server *server);

/* Tells who listens to keyspace notifications what happened to a key. */
void databases_notify(struct server *server, const char *event, size_t db,
                      struct yn_bytes key);

void databases_flush(struct server *server, size_t db, enum host_flush how);
void databases_swap(struct server *server, size_t a, size_t b);

#endif
