/*
 * tracking.h: client-side caching: which client has to hear that a key has changed.
 *
 * A client with CLIENT TRACKING ON keeps copies of what it reads; the server tells it
 * which of them are stale. By default the server remembers the keys that the client has
 * read, and tells it once about each (default mode); with BCAST it remembers nothing and
 * tells of every change of a key with one of the client's prefixes.
 *
 * A message goes to the client itself as a push (RESP3), or to the connection that it has
 * named (REDIRECT); to a RESP2 connection as a message of the channel
 * __redis__:invalidate, if that is subscribed to anything.
 *
 * Keys are names without a database: a change in any database makes the copy stale.
 */
#ifndef TRACKING_H
#define TRACKING_H

#include "core/buf.h"
#include "server/names.h"

struct conn;
struct tracker;

enum tracking_flag {
    TRACKING_BCAST = 1,
    TRACKING_OPTIN = 2,  /* only what is read behind CLIENT CACHING YES */
    TRACKING_OPTOUT = 4, /* all but what is read behind CLIENT CACHING NO */
    TRACKING_NOLOOP = 8, /* not of what the client changes itself */
};

struct tracking {
    struct names keys;     /* that clients have read */
    size_t n_items;        /* (client, key) pairs among them */
    struct names prefixes; /* of clients with BCAST */
    struct link changed;   /* prefixes with keys to tell of */
    struct link trackers;  /* all clients with tracking on */
    size_t n_trackers;
};

/* One client's side: all zero, but for `redirected`, while tracking is off. */
struct tracking_client {
    struct tracker *tracker; /* NULL: off */
    struct tracker *former;  /* while it is off; NULL: it was never on */
    struct link redirected;  /* trackers whose messages go to this connection */
};

void tracking_init(struct tracking *tracking, uint64_t hash_seed);
/* Every client must be gone. */
void tracking_clear(struct tracking *tracking);

/* ---- what a client asks for ---- */

struct tracking_options {
    unsigned flags;
    struct conn *redirect; /* NULL: to the client itself */
    const struct yn_bytes *prefixes;
    size_t n_prefixes; /* with BCAST; none: every key */
};

/* Turns tracking on, or changes its options when it is on; prefixes are added to those
 * that are there. Returns false, nothing changed, when out of memory. */
bool tracking_start(struct tracking *tracking, struct conn *conn,
                    const struct tracking_options *options);
/* Turns it off. Keys that the client has read are still known when it is turned on again.
 */
void tracking_stop(struct tracking *tracking, struct conn *conn);
/* The connection closes: stops, and messages to it go nowhere from now on. */
void tracking_forget(struct tracking *tracking, struct conn *conn);

/* What the next command reads is (OPTIN) or is not (OPTOUT) remembered. */
void tracking_set_caching(struct tracker *tracker, bool is_set);

unsigned tracking_flags(const struct tracker *tracker);
bool tracking_is_caching(const struct tracker *tracker);
/* -1: off, 0: no redirection. */
int64_t tracking_redirect_id(const struct tracking_client *client);
/* Whether a message could not be sent since the connection named by REDIRECT is gone. */
bool tracking_is_broken(const struct tracker *tracker);
/* Visits the prefixes of a client; returns how many there are. visit may be NULL. */
size_t tracking_prefixes(const struct tracker *tracker,
                         void (*visit)(void *ctx, struct yn_bytes prefix), void *ctx);

/* ---- what happens ---- */

/* Whether changes matter to anybody. */
static inline bool tracking_is_on(const struct tracking *tracking)
{
    return tracking->keys.n > 0 || tracking->prefixes.n > 0;
}

/* The client has read a key. At most max_keys keys are remembered (0: any number): the
 * oldest make room, their clients being told that they are stale. */
void tracking_note_read(struct tracking *tracking, struct tracker *tracker,
                        struct yn_bytes key, size_t max_keys);
/* Whether what a client reads now is to be remembered. */
bool tracking_wants_reads(const struct tracker *tracker);
/* A key was changed, by a command of `by` or (NULL) by the server. */
void tracking_note_change(struct tracking *tracking, struct yn_bytes key,
                          const struct conn *by);
/* A database was emptied. */
void tracking_note_flush(struct tracking *tracking);
/* Tells clients with BCAST of what has changed since the last call: before the loop
 * waits. */
void tracking_broadcast(struct tracking *tracking);

#endif
