/*
 * jobs.h: the replies of a connection that are under way.
 *
 * A job (cmd.h) that does not fit into one chunk is held and goes on in later turns, when
 * the kernel has taken what came before. Outside of a transaction there is one at most,
 * since nothing else runs before it is done. The commands of a transaction all run at
 * once: each may leave a job, and what is answered after it waits behind it.
 *
 * A job that is long to work out is held at once, and its work is done by a thread of the
 * pool (pool.h) when its turn has come to be answered; the connection waits until then.
 * What it found is answered, or stored, in the connection's next turn. A store whose
 * source has been written to meanwhile is worked out again.
 */
#ifndef JOBS_H
#define JOBS_H

#include "server/conn.h"
#include "server/host_server.h"

/* Reply bytes after which a job gives control back. */
#define JOBS_CHUNK ((size_t)128 * 1024)

static inline bool jobs_are_pending(const struct conn *conn)
{
    return !list_is_empty(&conn->jobs);
}

/* Whether the first job waits for a thread of the pool: there is nothing to be done for
 * the connection before that has woken it. */
bool jobs_are_apart(const struct conn *conn);
/* Where the next reply has to go: the output, or behind the last job. Who appends there
 * adds the bytes to conn->jobs_bytes in the second case. */
struct yn_buf *jobs_out(struct conn *conn);

/* Runs the job of a call whose reply goes to its host's `out`; keeps it with the
 * connection if it is large or long. Returns true when all of the answer comes later,
 * and jobs_step will count the call. */
bool jobs_start(struct cmd_call *call);
/* Goes on with the jobs for about a chunk; frees those that are done. */
void jobs_step(struct conn *conn);
/* Now and then: ends a job that has waited for a thread beyond its time. */
void jobs_visit(struct conn *conn);
/* Gives up the jobs. */
void jobs_drop(struct conn *conn);

#endif
