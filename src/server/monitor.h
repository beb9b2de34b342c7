/*
 * monitor.h: MONITOR: connections that are shown every command that runs.
 *
 * Nobody limits how much others send, so a monitor that does not read is cut off as a
 * subscriber is, by the limits of the class `pubsub`.
 */
#ifndef MONITOR_H
#define MONITOR_H

#include "cmd/cmd.h"

struct conn;
struct server;

/* Shows a command of this connection, which has run, to all monitors. */
void monitor_feed(const struct conn *conn, const struct cmd_call *call);
/* The connection is no longer a monitor, if it was one. */
void monitor_remove(struct conn *conn);

#endif
