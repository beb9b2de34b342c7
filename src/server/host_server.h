/*
 * host_server.h: one execution in the server, as host.h's struct host. Filled by
 * dispatch.c before a command or a job's step; read by host_server.c.
 */
#ifndef HOST_SERVER_H
#define HOST_SERVER_H

#include "cmd/host.h"
#include "core/buf.h"

struct conn;
struct loop;
struct keyspace;

struct host {
    struct loop *loop;
    struct conn *conn;
    size_t db;                 /* the current one: the client's, unless host_db_use */
    struct keyspace *keyspace; /* of it */
    struct yn_buf *out;        /* the reply under way */
    int resp;                  /* 2 or 3 */
    bool is_fixed17;           /* coordinate-format */
    bool is_in_exec;           /* the command was queued in a transaction */
    int n_apart;   /* how often its long work has been done in vain (jobs.c) */
    bool is_again; /* it has waited, and may run on another thread */
    int64_t now_ms;
    size_t n_errors; /* error replies of this command */
};

/* An execution for the connection's client, as things are now. */
struct host host_server_begin(struct loop *loop, struct conn *conn, struct yn_buf *out);

#endif
