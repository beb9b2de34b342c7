/*
 * pause.h: CLIENT PAUSE: for a while, commands wait, those that write or all of them.
 *
 * A connection whose next command has to wait is held: it keeps the command's bytes, runs
 * nothing and does not read, until the pause is over. Keys do not expire meanwhile.
 */
#ifndef PAUSE_H
#define PAUSE_H

#include <uv.h>

#include "cmd/cmd.h"

struct conn;
struct server;

enum pause_mode { PAUSE_NONE, PAUSE_WRITES, PAUSE_ALL };

struct pause {
    enum pause_mode mode;
    uint64_t end_ns; /* on the monotonic clock */
    size_t n_held;   /* connections */
    uv_timer_t timer;
};

/* The timer is to be closed by the caller in the end. */
void pause_init(struct pause *pause, uv_loop_t *uv);
/* Sets the timer to the end of the pause; another thread than the main one has it set. */
void pause_set_timer(struct server *server);

static inline bool pause_is_on(const struct pause *pause)
{
    return pause->mode != PAUSE_NONE;
}
/* Whether the connection has to wait with this command; then it is held. spec: as far as
 * it is known, or NULL. */
bool pause_holds(struct conn *conn, const struct cmd_spec *spec, size_t argc,
                 const struct yn_bytes *argv);
/* The connection is not held any more, if it was. */
void pause_release(struct conn *conn);

#endif
