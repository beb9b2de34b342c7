/*
 * listener.h: listening sockets (TCP, unix) and the checks a new connection must pass.
 *
 * All listen on the main thread; connections that are let in are handed to the loops in
 * turn.
 */
#ifndef LISTENER_H
#define LISTENER_H

#include <stdbool.h>
#include <uv.h>

struct server;

#define LISTENER_MAX 33 /* 16 addresses, twice, and a unix socket */
#define LISTENER_NAME_MAX 128

struct listener {
    struct server *server;
    uv_poll_t poll;
    int fd;
    bool is_unix, is_tls;
    bool is_passed;               /* by the service manager, to whom its file belongs */
    char name[LISTENER_NAME_MAX]; /* "127.0.0.1:6379", a path */
};

/* Opens all sockets of the configuration and logs, for each, "ready to accept connections
 * on ADDRESS:PORT". Returns false after logging why one could not be opened. */
bool listener_open_all(struct server *server);
/* Stops listening. */
void listener_close_all(struct server *server);

#endif
