/*
 * conn_parts.h: what the files of a connection (conn.c, conn_read.c, conn_run.c,
 * conn_write.c) share, and nobody else. All of it is for the thread of the connection's
 * loop.
 */
#ifndef CONN_PARTS_H
#define CONN_PARTS_H

#include "server/conn.h"
#include "server/loop.h"

/* Answers that are queued beyond this stop further commands until the client reads. */
#define OUT_HIGH ((size_t)1024 * 1024)
/* Least room for a read behind the bytes of half a request. */
#define READ_ROOM ((size_t)16 * 1024)

/* A reason to be closed that is not worth a log line. */
extern const char conn_expelled[];

/* ---- figures ---- */

/* conn->shown and statistics have one writer each: an ordinary store is enough. */
static inline void conn_note(_Atomic uint64_t *figure, uint64_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static inline void conn_note_size(atomic_size_t *figure, size_t value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static inline void conn_note_flag(atomic_bool *figure, bool value)
{
    atomic_store_explicit(figure, value, memory_order_relaxed);
}

static inline size_t conn_noted_size(const atomic_size_t *figure)
{
    return atomic_load_explicit(figure, memory_order_relaxed);
}


/* Bytes of answers that the kernel has not taken, pushes included. */
size_t conn_queued_now(const struct conn *conn);
/* Kills the connection, and counts it, if it is not about to be closed already. */
void conn_kill_counted(struct conn *conn, const char *reason, _Atomic uint64_t *count);

/* ---- the session; under the lock ---- */

enum config_class conn_class_of(const struct conn *conn);
struct yn_request_limits conn_limits_of(const struct conn *conn);
/* Copies what is looked at without the lock. */
void conn_note_session(struct conn *conn);

/* ---- conn_read.c ---- */

void conn_set_reading(struct conn *conn, bool wanted);

/* ---- conn_run.c ---- */

/* Runs the commands in these bytes, as long as they need not wait. Returns how many bytes
 * are done with. */
size_t conn_execute(struct conn *conn, const char *data, size_t len);
/* The same with what is in conn->in. */
void conn_execute_buffered(struct conn *conn);

/* ---- conn_write.c ---- */

/* Has the loop lend its buffer to conn->out. */
void conn_borrow_out(struct conn *conn);
/* Gives an empty buffer's memory to the loop, or back to the system. */
void conn_give_back(struct conn *conn, struct yn_buf *buf);
/* Messages that wait go behind the answers, unless one is under way; under the lock. */
void conn_merge_push(struct conn *conn);
/* The same with no lock. */
void conn_take_pushed(struct conn *conn);
/* Hands the output to the kernel: what it takes at once is gone, the rest waits in
 * conn->writing. */
void conn_flush(struct conn *conn);

/* ---- the end ---- */

/* Sends what TLS has to say, as far as the kernel takes it at once. */
void conn_send_records(struct conn *conn);
/* Closes a connection whose TLS is broken. */
void conn_break_off(struct conn *conn);
/* Closes when the client does, or a little later: all is said and written. */
void conn_linger(struct conn *conn);

#endif
