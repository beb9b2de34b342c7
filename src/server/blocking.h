/*
 * blocking.h: commands that wait for a key (cmd_block in cmd.h).
 *
 * A command that finds nothing leaves the wish to wait in its call. Its connection then
 * stands in a queue for each of the keys and runs nothing else. When a key that somebody
 * waits for has been changed, its clients are served after the command or the transaction
 * that changed it: in order of arrival, each runs its command again. One that still finds
 * nothing keeps its place.
 *
 * A client that has hung up is not served: what it would have been given stays.
 */
#ifndef BLOCKING_H
#define BLOCKING_H

#include "server/conn.h"
#include "server/host_server.h"

struct server;

void blocking_init(struct server *server);

/* Sets the timer of deadlines; another thread than the main one has it set. */
void blocking_set_timer(struct server *server);

/* Lets the call's connection wait, or go on waiting. Returns false when it cannot, and
 * has replied: in a transaction, or without memory. */
bool blocking_wait_or_reply(struct cmd_call *call);

/* A key of the host's database was changed. */
void blocking_key_changed(struct host *h, struct yn_bytes key);
/* Any key of the database may have been changed. */
void blocking_db_changed(struct host *h, size_t db);
/* Serves those who wait for keys that were changed. To be called when no command is under
 * way. */
void blocking_serve(struct server *server);

/* Ends the waiting of a connection as a timeout does, or with an error. */
void blocking_end(struct conn *conn, bool is_error);
/* Ends it without a reply: the connection goes. */
void blocking_forget(struct conn *conn);

#endif
