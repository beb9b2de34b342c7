/*
 * dispatch.h: runs one request of a connection: the checks between the table of
 * commands and its functions, the counters, and what a command wished for.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "server/batch.h"
#include "server/conn.h"

/* Runs request i of the loop's batch; argv are its arguments. The reply is appended to
 * conn->out, or begun there when a job has to go on (conn->job is set and held).
 * loop->mono_ns is up to date on return, unless the command was a brief one. */
void dispatch_run(struct conn *conn, struct batch *batch, size_t i,
                  const struct yn_bytes *argv);
/* Looks at the clock for brief commands, which share one look: to be called at the end of
 * a batch. */
void dispatch_settle_time(struct loop *loop);
/* To be called when what commands are watched for may have changed: the options of the
 * slow log and of latencies, monitors, a pause. */
void dispatch_configure(struct loop *loop);
/* Goes on with the connection's job for one chunk; frees it when it is done. */
void dispatch_step_job(struct conn *conn);
/* Gives up the job, if there is one. */
void dispatch_drop_job(struct conn *conn);

/* Reply bytes after which a job gives control back. */
#define DISPATCH_CHUNK ((size_t)128 * 1024)

#endif
