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
 * Everything here runs on the thread of the connection's loop.
 */
#ifndef CONN_H
#define CONN_H

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
struct loop;

#define CONN_ADDRESS_MAX 128

enum conn_state {
    CONN_OPEN,
    CONN_LINGERING, /* all is said; reading on until the client hangs up */
    CONN_CLOSED,    /* waits for its handle to be closed */
};

enum conn_reply { CONN_REPLY_ON, CONN_REPLY_OFF, CONN_REPLY_SKIP_NEXT, CONN_REPLY_SKIP };

struct conn {
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } io;
    struct loop *loop;
    struct link in_conns;
    struct link in_monitors; /* of the server; alone: no monitor */

    /* HOT: side by side, what a push to one of many subscribers looks at */
    struct link in_ready; /* or in the loop's `pushed` */
    enum conn_state state;
    int resp;
    bool is_running; /* a command of this connection is on the stack */
    bool is_in_pushed;
    const char *kill_reason; /* to be closed at its next turn, for this */
    struct yn_buf push;      /* messages nobody asked for, waiting for a gap */

    bool is_unix;
    bool is_local; /* from this machine */

    /* input */
    struct yn_request request;
    struct yn_buf
        in; /* bytes that are not executed yet, from the start of a request on */
    bool is_in_taken; /* the block of `in` is a value's from now on */
    bool is_reading;
    bool has_more;  /* `in` may hold complete commands */
    bool has_ended; /* the client sends no more */
    bool is_held;   /* the next command waits for the end of a pause */

    /* output: what the kernel is taking, and what comes next */
    struct yn_buf writing;
    size_t writing_left; /* bytes of it that are not taken yet, as far as known */
    bool is_writing;
    struct yn_buf out;
    uv_write_t write_req;
    uv_shutdown_t shutdown_req;
    bool closes_when_flushed;
    uint64_t over_soft_since_ns;

    /* replies under way (jobs.h), and bytes of replies that wait behind them */
    struct link jobs;
    size_t jobs_bytes;

    /* a transaction */
    struct multi multi;
    struct watch_client watch;

    /* a command that waits for a key (blocking.h) */
    struct blocked_client blocked;
    struct request_copy *waiting;
    bool waits_quietly; /* its reply is not wanted */

    /* the session */
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

    /* for CLIENT LIST and timeouts */
    char address[CONN_ADDRESS_MAX], local_address[CONN_ADDRESS_MAX];
    uint64_t created_ns, active_ns;
    size_t queue_at_visit; /* bytes that libuv held at the cron's last visit */
    const struct cmd_spec *last_spec;
    uint64_t bytes_in, bytes_out, n_commands;
    uint64_t linger_until_ns;
};

/* Makes a connection whose handle is initialised but not open. NULL: out of memory. */
struct conn *conn_new(struct loop *loop, bool is_unix);
/* Starts to serve the client: the handle is open, the addresses are filled in. */
void conn_start(struct conn *conn);
/* Closes at once; the memory goes when the loop comes round. */
void conn_close(struct conn *conn);
/* Closes at the next turn, with a log line. May be called by anyone at any time. */
void conn_kill(struct conn *conn, const char *reason);
/* Closes when what has been answered so far is written. */
void conn_finish(struct conn *conn);

/* A turn: see above. */
void conn_turn(struct conn *conn);
/* The cron's visit, about once a second. */
void conn_visit(struct conn *conn);

/* Where to append a message that nobody asked for; call conn_pushed after it. */
struct yn_buf *conn_push(struct conn *conn);
void conn_pushed(struct conn *conn);

/* Whether these bytes, an argument of the command that runs, may keep the block of
 * conn->in for themselves: they fill it nearly. Who does keep it sets is_in_taken: then
 * the bytes must stay at least until the command has returned. */
bool conn_may_take_in(const struct conn *conn, struct yn_bytes bytes);

size_t conn_n_subscriptions(const struct conn *conn);
enum config_class conn_class(const struct conn *conn);
/* Bytes of answers that the kernel has not taken. */
size_t conn_queued(const struct conn *conn);
/* Bytes that the connection holds: itself and its buffers. */
size_t conn_memory(const struct conn *conn);
/* Kills the connection if it holds more output than its class may. */
void conn_check_output(struct conn *conn);
/* Ends what RESET ends: subscriptions, transaction, name, database, protocol,
 * authentication. */
void conn_reset_session(struct conn *conn);

#endif
