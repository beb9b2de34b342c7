/*
 * jobs.h: the replies of a connection that are under way.
 *
 * A job (cmd.h) that does not fit into one chunk is held and goes on in later turns, when
 * the kernel has taken what came before. Outside of a transaction there is one at most,
 * since nothing else runs before it is done. The commands of a transaction all run at
 * once: each may leave a job, and what is answered after it waits behind it.
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

/* Where the next reply has to go: the output, or behind the last job. Who appends there
 * adds the bytes to conn->jobs_bytes in the second case. */
struct yn_buf *jobs_out(struct conn *conn);

/* Runs a job whose reply goes to h->out; keeps it with the connection if it is large. */
void jobs_start(struct host *h, struct cmd_job *job);
/* Goes on with the jobs for about a chunk; frees those that are done. */
void jobs_step(struct conn *conn);
/* Gives up the jobs. */
void jobs_drop(struct conn *conn);

#endif
