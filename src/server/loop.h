/*
 * loop.h: one thread's event loop and what its connections share.
 *
 * There are `threads` of them (server.h), each with a thread of its own; the first one
 * belongs to the main thread. A connection stays with its loop.
 *
 * Buffers here are scratch for the connection whose turn it is: the bytes of a read, the
 * reply while it grows, the arena of a command. So an idle connection holds none.
 *
 * Who may touch what (docs/threads.md has it at length):
 *
 *     with no lock        one's own loop and one's own connections, but for what they let
 *                         others change (marked in conn.h); nothing else
 *     LOOP_SHARED         read all that is shared
 *     LOOP_EXCLUSIVE      change it, and what connections of other loops let others
 * change
 *
 * Never, under no lock: the handles, the sockets of another loop. `loop_post` makes a
 * loop do something by itself; `loop_wake` gives any connection a turn.
 */
#ifndef LOOP_H
#define LOOP_H

#include <uv.h>

#include "cmd/cmd.h"
#include "core/buf.h"
#include "server/batch.h"
#include "server/config.h"
#include "server/list.h"
#include "server/met_expired.h"
#include "server/stats.h"

struct server;
struct conn;
struct conn_arrival;

#define LOOP_READ_BYTES ((size_t)64 * 1024)

/* Brief commands of one kind in a row, which share one look at the clock. */
struct loop_untimed {
    const struct cmd_spec *spec; /* NULL: none */
    uint64_t n;
    struct conn *conn; /* the last of them: its words are good until the batch ends */
    size_t argc;
    const struct yn_bytes *argv;
};

enum loop_lock { LOOP_UNLOCKED, LOOP_SHARED, LOOP_EXCLUSIVE };

/* Something that a loop is to do by itself; see loop_post. */
struct loop_note {
    struct loop_note *next;
    void (*run)(struct loop *loop, struct loop_note *note);
};

/* What is looked at with no lock: a copy, renewed under it when CONFIG SET has run. */
struct loop_config {
    uint64_t version; /* server->config_version */
    int64_t hz;
    uint64_t timeout_s;
    size_t query_max;
    int64_t bulk_max; /* proto-max-bulk-len */
    struct config_output_limit output_limits[CONFIG_CLASSES];
};

struct loop {
    struct server *server;
    size_t index;          /* in server->loops */
    enum loop_lock locked; /* how this thread holds the server's lock */
    uv_loop_t uv;
    uv_thread_t thread;
    bool has_thread;      /* the first one has not: it runs on the main thread */
    uv_idle_t idle;       /* runs while `ready` is not empty */
    uv_prepare_t prepare; /* before the loop waits */
    uv_async_t call;      /* another thread has left a note, or called a connection */
    uv_timer_t visits;    /* of connections */
    /* How often that timer ran, for the watchdog, and what it saw last (main thread). */
    _Atomic uint64_t n_beats;
    uint64_t n_beats_seen;

    size_t n_apart; /* jobs that the pool works on */
    bool is_ending;

    uv_mutex_t notes_mutex;
    struct loop_note *first_note, **notes_end;
    struct link called; /* connections that others want to have a turn; under the lock */

    struct link conns;
    size_t n_conns;
    struct link *cursor;   /* of the walk over conns */
    struct link ready;     /* connections that want a turn without waiting for an event */
    struct link pushed;    /* connections with nothing but messages to be sent */
    uint64_t pushed_ns;    /* when the first of them came there */
    uint64_t push_wait_ns; /* how long they wait at most */

    char *read_buf;          /* LOOP_READ_BYTES */
    struct yn_buf spare_out; /* lent to the connection that has its turn */
    struct yn_buf scrap;     /* replies nobody wants (CLIENT REPLY OFF) */
    struct cmd_arena *arena;
    struct batch batch; /* of the connection whose turn it is */
    struct loop_config config;
    bool has_to_broadcast; /* of keys that have changed: tracking_broadcast */
    struct met_expired met_expired;

    struct stats stats;
    uint64_t mono_ns; /* monotonic clock at the end of the last command that was timed */
    struct loop_untimed untimed; /* the commands after it */
    /* as dispatch_configure has found */
    bool times_each; /* no sharing */
    bool has_monitors;
    bool tracks_latency; /* in histograms */
    uint64_t notable_ns; /* commands that take so long go into a log */
    int64_t wall_less_mono_ns;
    uint64_t attack_logged_ns;
    uint64_t tls_logged_ns; /* when a refused certificate was logged last */
    uint64_t random;        /* for yn_random_next */
};

/* Returns false when out of memory or descriptors. */
bool loop_init(struct loop *loop, struct server *server, size_t index);
/* Runs the loop on the calling thread until all of its handles are closed. */
void loop_run(struct loop *loop);
/* Closes the handles and the connections that are left; on the loop's own thread. */
void loop_end(struct loop *loop);
/* All handles must be closed. */
void loop_clear(struct loop *loop);

/* The loop of the calling thread; NULL on threads that have none. */
struct loop *loop_current(void);

/* Takes the server's lock, and gives it back; by the loop's own thread, which must not
 * have it yet. With one loop it is taken in name only. */
void loop_lock(struct loop *loop, enum loop_lock how);
void loop_unlock(struct loop *loop);

/* Has the loop run a note on its own thread, with no lock held, soon. Any thread may call
 * it. The note is the receiver's from now on, and has to stay until it is run. */
void loop_post(struct loop *loop, struct loop_note *note);

/* Another thread is going to post a note, or that has come: the loop does not end in
 * between. By the loop's own thread. */
void loop_leave_work(struct loop *loop);
void loop_take_work(struct loop *loop);

/* Gives the connection a turn in the next iteration. Of another loop's under the lock,
 * exclusively. */
void loop_wake(struct loop *loop, struct conn *conn);
/* Gives it a turn when those that are ready have had theirs and want no other, or soon:
 * while a client publishes one message after the other, several are written at once. */
void loop_wake_pushed(struct loop *loop, struct conn *conn);

/* Tells those who track by prefixes which keys have changed, before anybody else hears of
 * it: at the end of what is done under the lock. Returns whether there was anything to
 * tell; where the lock is held shared there is not. */
bool loop_broadcast(struct loop *loop);

/* Reads the clocks. */
void loop_update_clock(struct loop *loop);
/* Reads the monotonic clock only. */
uint64_t loop_update_mono(struct loop *loop);
static inline int64_t loop_now_ms(const struct loop *loop)
{
    return ((int64_t)loop->mono_ns + loop->wall_less_mono_ns) / 1000000;
}

/* Renews loop->config, if need be. The loop holds the lock. */
void loop_note_config(struct loop *loop);

#endif
