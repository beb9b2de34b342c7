/*
 * multi.h: a connection's transaction: the commands between MULTI and EXEC.
 *
 * Queued commands keep copies of their words. EXEC runs them one after the other with
 * nothing in between; whatever went wrong while they were queued makes it fail instead.
 */
#ifndef MULTI_H
#define MULTI_H

#include "server/request_copy.h"

struct conn;

struct multi {
    bool is_open;
    bool has_failed;   /* a command was refused: EXEC will fail */
    unsigned flags;    /* of the queued commands, all together */
    size_t n, n_bytes; /* queued */
    struct request_copy *first, *last;
};

/* Queues a command. Returns false when out of memory. */
bool multi_queue(struct multi *multi, const struct cmd_spec *spec, size_t argc,
                 const struct yn_bytes *argv);
/* A command was refused: if a transaction is open, it will fail. */
void multi_note_failure(struct multi *multi);
/* Ends the transaction without running it. */
void multi_drop(struct multi *multi);
/* Whether the command is run inside a transaction instead of queued. */
bool multi_runs_at_once(const struct cmd_spec *spec);
/* Answers an EXEC that is refused, and ends the transaction and the watches. reason: an
 * error with its code. */
void multi_abort(struct conn *conn, struct host *h, const char *reason);

/* Ends transaction and watches, as DISCARD and RESET do. */
void multi_reset(struct conn *conn);

/* For database db, or WATCH_EVERY_DB: all its keys may have changed. */
void multi_touch_db(struct host *h, size_t db);

#endif
