/*
 * conn.h: one client: read, parse every complete command, run them, one write.
 *
 * A connection has turns (conn_turn): when bytes have come, when a write has been taken
 * by the kernel, or when it asked for one (loop_wake). In a turn it goes on with its
 * job, runs commands, and writes what has gathered. What stops it from running
 * commands is one of: no complete command, a reply under way, a command that waits for a
 * key, too much output that the client has not read yet, or its slice of time is over.
 * While it cannot run commands, it does not read: the kernel's buffers push back on the
 * client.
 *
 * A connection belongs to the thread of its loop. The fields are of four kinds; the lock
 * is the server's (loop.h).
 *
 *     OWN      the loop's thread alone
 *     SHOWN    written by the loop's thread alone, read by any: atomic, without order
 *     SHARED   read under the lock, changed by any thread that has it exclusively
 *     SESSION  changed by the loop's thread under the lock (exclusively what others look
 *              at), read by it at any time, and by others that have it exclusively
 */
#ifndef CONN_H
#define CONN_H

#include <stdatomic.h>
#include <uv.h>

#include "cmd/cmd.h"
#include "core/buf.h"
#include "resp/request.h"
#include "server/blocked.h"
#include "server/config.h"
#include "server/list.h"
#include "server/multi.h"
#include "server/pubsub.h"
#include "server/tracking.h"
#include "server/watch.h"

struct acl_user;
struct tls;
struct loop;
struct server;

#define CONN_ADDRESS_MAX 128

enum conn_state {
    CONN_OPEN,
    CONN_LINGERING, /* all is said; reading on until the client hangs up */
    CONN_CLOSED,    /* waits for its handle to be closed */
};

enum conn_reply { CONN_REPLY_ON, CONN_REPLY_OFF, CONN_REPLY_SKIP_NEXT, CONN_REPLY_SKIP };

/* SHOWN: as of the end of the last turn. */
struct conn_figures {
    atomic_size_t in_len, in_cap, out_len, out_cap;
    atomic_size_t queued; /* bytes that the kernel has not taken, but for pushes */
    atomic_size_t held;   /* bytes of buffers, and of what waits behind jobs */
    atomic_bool is_reading, is_writing, is_closing;
    _Atomic uint64_t active_ns, bytes_in, bytes_out;
};

/* A client that has been let in. */
struct conn_arrival {
    int fd;
    bool is_unix, is_local, is_tls;
    uint64_t id;
    char address[CONN_ADDRESS_MAX], local_address[CONN_ADDRESS_MAX];
};

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
    struct loop *loop;
    int fd;
    struct link in_loop;     /* OWN */
    struct link in_conns;    /* SHARED: of the server */
    struct link in_monitors; /* SESSION: of the server; alone: no monitor */
    struct conn_figures shown;

    /* HOT: side by side, what a push to one of many subscribers looks at */
    struct link in_ready;   /* OWN; or in the loop's `pushed` */
    struct link in_called;  /* SHARED; see loop_wake */
    enum conn_state state;  /* SESSION */
    int resp;               /* SESSION */
    bool is_running;        /* SHARED: a command of this connection is on some stack */
    bool is_called_to_push; /* SHARED */
    bool is_in_pushed;      /* OWN */
    _Atomic(const char *) kill_reason; /* to be closed at its next turn, for this */
    struct yn_buf push;     /* SHARED: messages nobody asked for, waiting for a gap */
    atomic_size_t push_len; /* of it, for those without the lock */

    struct tls *tls; /* OWN; NULL: plain text */
    bool is_unix;
    bool is_local; /* from this machine */

    /* OWN: input */
    struct yn_request_limits limits; /* as of the last batch */
    struct yn_request request;
    struct yn_buf
        in; /* bytes that are not executed yet, from the start of a request on */
    bool is_in_taken; /* the block of `in` is a value's from now on */
    bool is_reading;
    bool has_more;       /* `in` may hold complete commands */
    bool has_ended;      /* the client sends no more */
    atomic_bool is_held; /* SHARED: the next command waits for the end of a pause */

    /* OWN: output: what the kernel is taking, and what comes next */
    struct yn_buf writing;
    size_t writing_left; /* bytes of it that are not taken yet, as far as known */
    bool is_writing;
    struct yn_buf out;
    uv_write_t write_req;
    uv_shutdown_t shutdown_req;
    bool closes_when_flushed;
    uint64_t over_soft_since_ns;
    enum config_class output_class; /* as of the last batch */

    /* OWN: replies under way (jobs.h), and bytes of replies that wait behind them */
    struct link jobs;
    size_t jobs_bytes;

    /* SESSION: a transaction; SHARED: that a key is touched that it watches */
    struct multi multi;
    struct watch_client watch;

    /* SHARED: a command that waits for a key (blocking.h) */
    struct blocked_client blocked;
    struct request_copy *waiting;
    bool waits_quietly; /* its reply is not wanted */

    /* SESSION */
    uint64_t id;
    size_t db;
    bool is_authenticated;
    bool may_all;     /* nothing needs to be checked (acl_conns.h) */
    bool is_expelled; /* its user is gone; it is about to be closed */
    struct acl_user *user;
    enum conn_reply reply;
    bool is_no_evict, is_no_touch;
    char *name, *lib_name, *lib_ver; /* NULL or not empty */
    struct pubsub_list subscriptions[PUBSUB_KINDS];
    struct tracking_client tracking;

    /* SESSION: for CLIENT LIST */
    char address[CONN_ADDRESS_MAX], local_address[CONN_ADDRESS_MAX];
    uint64_t created_ns;
    const struct cmd_spec *last_spec;
    uint64_t n_commands;

    /* OWN: timeouts */
    size_t queue_at_visit; /* bytes that libuv held at the last visit */
    uint64_t linger_until_ns;
};

/* Serves a client that has been let in; on the loop's own thread, with no lock. Takes the
 * descriptor. */
void conn_open(struct loop *loop, const struct conn_arrival *arrival);
/* Closes at once; the memory goes when the loop comes round. On the loop's own thread,
 * with no lock. */
void conn_close(struct conn *conn);
/* Closes at the next turn, with a log line. By the loop's own thread at any time, by
 * others under the lock, exclusively. */
void conn_kill(struct conn *conn, const char *reason);
/* The same without a log line; and from now on nothing is sent to the client, and nothing
 * waits for it. Under the lock, exclusively. */
void conn_expel(struct conn *conn);
/* Closes when what has been answered so far is written; on the loop's own thread. */
void conn_finish(struct conn *conn);

/* Whether the connection is one that others may see: open, and not about to be closed. */
static inline bool conn_is_live(const struct conn *conn)
{
    return conn->state == CONN_OPEN &&
           atomic_load_explicit(&conn->kill_reason, memory_order_relaxed) == NULL;
}

/* A turn: see above. */
void conn_turn(struct conn *conn);
/* A visit, about once a second. */
void conn_visit(struct conn *conn);

/* Where to append a message that nobody asked for; call conn_pushed after it. Under the
 * lock, exclusively. */
struct yn_buf *conn_push(struct conn *conn);
void conn_pushed(struct conn *conn);

/* Whether these bytes, an argument of the command that runs, may keep the block of
 * conn->in for themselves: they fill it nearly. Who does keep it sets is_in_taken: then
 * the bytes must stay at least until the command has returned. */
bool conn_may_take_in(const struct conn *conn, struct yn_bytes bytes);

size_t conn_n_subscriptions(const struct conn *conn);
/* Brings conn->shown up to date; on the loop's own thread. */
void conn_show(struct conn *conn);
/* Bytes of answers that the kernel has not taken, as shown. Under the lock. */
size_t conn_queued(const struct conn *conn);
/* Bytes that the connection holds, as shown: itself and its buffers. Under the lock,
 * exclusively. */
size_t conn_memory(const struct conn *conn);
/* Kills the connection if it holds more output than its class may; on the loop's own
 * thread. */
void conn_check_output(struct conn *conn);
/* The open connection of this number, or NULL. Under the lock, exclusively. */
struct conn *conn_find(const struct server *server, int64_t id);
/* Ends what RESET ends: subscriptions, transaction, name, database, protocol,
 * authentication. */
void conn_reset_session(struct conn *conn);

#endif
