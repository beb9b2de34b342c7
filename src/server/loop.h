/*
 * loop.h: one thread's event loop and what its connections share.
 *
 * Buffers here are scratch for the connection whose turn it is: the bytes of a read, the
 * reply while it grows, the arena of a command. So an idle connection holds none.
 */
#ifndef LOOP_H
#define LOOP_H

#include <uv.h>

#include "cmd/cmd.h"
#include "core/buf.h"
#include "server/batch.h"
#include "server/list.h"
#include "server/pool.h"
#include "server/stats.h"

struct server;
struct conn;

#define LOOP_READ_BYTES ((size_t)64 * 1024)

/* Brief commands of one kind in a row, which share one look at the clock. */
struct loop_untimed {
    const struct cmd_spec *spec; /* NULL: none */
    uint64_t n;
    struct conn *conn; /* the last of them: its words are good until the batch ends */
    size_t argc;
    const struct yn_bytes *argv;
};

struct loop {
    struct server *server;
    uv_loop_t uv;
    uv_idle_t idle;       /* runs while `ready` is not empty */
    uv_prepare_t prepare; /* before the loop waits */

    struct pool_port pool_port;

    struct link conns;
    size_t n_conns;
    struct link *cursor;   /* of the cron's walk over conns */
    struct link ready;     /* connections that want a turn without waiting for an event */
    struct link pushed;    /* connections with nothing but messages to be sent */
    uint64_t pushed_ns;    /* when the first of them came there */
    uint64_t push_wait_ns; /* how long they wait at most */

    char *read_buf;          /* LOOP_READ_BYTES */
    struct yn_buf spare_out; /* lent to the connection that has its turn */
    struct yn_buf scrap;     /* replies nobody wants (CLIENT REPLY OFF) */
    struct cmd_arena *arena;
    struct batch batch; /* of the connection whose turn it is */

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
    uint64_t random; /* for yn_random_next */
};

/* Returns false when out of memory or descriptors. */
bool loop_init(struct loop *loop, struct server *server);
/* All handles must be closed. */
void loop_clear(struct loop *loop);

/* Gives the connection a turn in the next iteration. */
void loop_wake(struct loop *loop, struct conn *conn);
/* Gives it a turn when those that are ready have had theirs and want no other, or soon:
 * while a client publishes one message after the other, several are written at once. */
void loop_wake_pushed(struct loop *loop, struct conn *conn);

/* The open connection of this number, or NULL. */
struct conn *loop_find_conn(const struct loop *loop, int64_t id);

/* Reads the clocks. */
void loop_update_clock(struct loop *loop);
/* Reads the monotonic clock only. */
uint64_t loop_update_mono(struct loop *loop);
static inline int64_t loop_now_ms(const struct loop *loop)
{
    return ((int64_t)loop->mono_ns + loop->wall_less_mono_ns) / 1000000;
}

/* Walks some connections: idle timeouts, lingering closes, buffers to shrink. Each
 * connection gets its visit about once a second at `hz` calls a second. */
void loop_visit_conns(struct loop *loop, int64_t hz);

#endif
