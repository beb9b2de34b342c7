/*
 * dispatch.h: runs one request of a connection: the checks between the table of
 * commands and its functions, the counters, and what a command wished for.
 */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "server/batch.h"
#include "server/conn.h"
#include "server/loop.h"

/* Runs request i of the loop's batch, which has looked ahead. The reply is appended to
 * conn->out, or begun there when a job has to go on (jobs.h).
 * loop->mono_ns is up to date on return, unless the command was a brief one. */
void dispatch_run(struct conn *conn, struct batch *batch, size_t i);
/* Looks at the clock for brief commands, which share one look: to be called at the end of
 * a batch. */
void dispatch_settle_time(struct loop *loop);
/* To be called when what commands are watched for may have changed: the options of the
 * slow log and of latencies, monitors, a pause. */
void dispatch_configure(struct loop *loop);
/* How the lock has to be taken for the batch's requests from `first` on, as far as they
 * tell. *out_end: how many of them need it in this way, which is all of the batch where
 * one loop has the lock for itself. */
enum loop_lock dispatch_lock_of(const struct conn *conn, const struct batch *batch,
                                size_t first, size_t *out_end);
/* Runs a command of the transaction that EXEC runs. Returns what it wished for. */
enum cmd_wish dispatch_queued(struct cmd_call *exec, const struct request_copy *request);
/* Runs the command again that the connection, of any loop, waits with. Returns false when
 * it has found nothing again, and goes on waiting. */
bool dispatch_again(struct conn *conn);
/* Counts a call whose long work was done apart, which took so long, when its reply
 * begins. argc: of all its words; its argv may have only the first ones. */
void dispatch_count_long(const struct cmd_call *call, size_t argc, uint64_t spent_ns);
/* Runs a command again whose work was done apart, n_apart times so far, and was in vain.
 */
void dispatch_long_again(struct conn *conn, const struct request_copy *request,
                         bool is_quiet, int n_apart);
/* Why such a call may not change keys any more, since the rights of its user were
 * changed; NULL: it may. text: room for the reason. */
const char *dispatch_long_refusal(const struct cmd_call *call, char *text);
/* What follows on the beginning of such a reply: others are served and told. Under the
 * lock, as that had it. */
void dispatch_end_long(struct loop *loop);
/* Goes on with the replies under way (jobs_step), in the time of their command. */
void dispatch_step_jobs(struct conn *conn);

#endif
