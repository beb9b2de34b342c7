/*
 * server.h: the process: configuration, databases, listeners, loops.
 *
 * One struct server per process, one struct loop per thread. All that connections share
 * hangs here, under one lock; all that belongs to one thread hangs in its loop.
 *
 * The lock: whoever reads holds it shared, whoever changes something exclusively, one
 * batch of requests at a time; nobody holds it while reading from a socket, writing to
 * one, parsing, or waiting. A read changes nothing that is shared, but for the time at
 * which a key was used, and for what has a small lock of its own: `notes_mutex` for the
 * logs of what was slow or refused, `views_mutex` for the list of frozen views of a set.
 * These are taken last, and nothing is waited for under them. docs/threads.md tells why
 * it is done like this.
 */
#ifndef SERVER_H
#define SERVER_H

#include <uv.h>

#include "server/acl.h"
#include "server/acl_log.h"
#include "server/blocked.h"
#include "server/config.h"
#include "server/keyspace.h"
#include "server/latency.h"
#include "server/listener.h"
#include "server/loop.h"
#include "server/pause.h"
#include "server/pool.h"
#include "server/pubsub.h"
#include "server/reaper.h"
#include "server/rwlock.h"
#include "server/slowlog.h"
#include "server/systemd.h"
#include "server/tracking.h"
#include "server/watch.h"

/* Given by the build. */
#define SERVER_VERSION YN_VERSION
/* The version whose behaviour clients may count on. */
#define SERVER_REDIS_VERSION "8.0.0"
#define SERVER_RUN_ID_LEN 40

struct tls_context;

struct server {
    struct rwlock lock;
    uv_mutex_t notes_mutex; /* slowlog, latency, acl_log: where the lock is held shared */
    uv_mutex_t views_mutex; /* freezing and freeing views: where it is held shared */
    struct config config;
    uint64_t config_version; /* goes up with every change */
    char config_file[4096];  /* absolute path, "" when there is none */
    char run_id[SERVER_RUN_ID_LEN + 1];
    char replication_id[SERVER_RUN_ID_LEN + 1];
    char old_replication_id[SERVER_RUN_ID_LEN + 1]; /* from before it was changed */
    uint64_t hash_seed;
    struct yn_options zset_options;

    size_t n_databases;
    struct keyspace **databases;
    struct keyspace_hooks keyspace_hooks;
    struct reaper reaper;
    struct pool pool;
    struct tls_context *tls; /* NULL: no port for it */
    struct acl acl;
    struct acl_log acl_log;
    struct pubsub pubsub;
    struct link monitors; /* connections */
    struct pause pause;
    struct slowlog slowlog;
    struct latency latency;
    struct tracking tracking;
    struct watches watches;
    struct blocked blocked;

    struct link conns;     /* of all loops, in the order of their arrival */
    atomic_size_t n_conns; /* those that are on their way to a loop included */
    /* Whether somebody is to hear of reads (MONITOR, the event keymiss), or whether they
     * may have to wait or to be refused (CLIENT PAUSE, maxmemory): then they need the
     * lock exclusively. */
    bool reads_are_noted;

    struct loop
        *loops; /* [0] is the main thread's, which has the listeners and the cron */
    size_t n_loops;
    size_t next_loop; /* the one that the next client goes to */
    struct listener listeners[LISTENER_MAX];
    size_t n_listeners;
    int tcp_port; /* as bound; 0: none */
    int spare_fd; /* for a client that comes when there is no other; -1: none */

    uint64_t next_client_id;
    size_t maxclients; /* as the limit on open files allows */
    int64_t maxclients_asked;
    bool has_pidfile;
    struct systemd systemd;
    int64_t started_ms;
    uint64_t started_mono_ns;
    uint64_t fd_warned_ns; /* when the lack of descriptors was logged last */
    bool is_over_memory;
    bool active_expire;
    size_t startup_memory; /* when nothing was in it */
    size_t peak_memory;
    uint64_t expire_ns;   /* spent on the removal of expired keys */
    uint64_t expire_cuts; /* how often that took longer than it may at once */

    uv_timer_t cron;
    uv_timer_t clean_timer; /* runs while there is more to clean than one slice does */
    uv_timer_t stop_timer;
    uv_timer_t wait_timer; /* the next deadline of blocking.h */
    int64_t wait_timer_ms; /* for when it is set; INT64_MAX: it is not */
    uv_signal_t signals[2];
    struct loop_note poke; /* see server_poke */
    atomic_bool is_poked;
    atomic_bool is_stopping;
    uint64_t stop_began_ns; /* 0: has not begun */
    bool has_ended;         /* the loops were told to end */

    /* sampled by the cron */
    uint64_t trimmed_ns;
    uint64_t sample_ns, sample_commands, sample_in, sample_out;
    double ops_per_s, in_kb_per_s, out_kb_per_s;
};

/* Builds everything up to listening sockets. config is moved in. Returns false after
 * logging the reason. */
bool server_init(struct server *server, struct config *config);
/* Serves until the server is stopped. */
void server_run(struct server *server);
void server_clear(struct server *server);

/* Gives the server another replication id, and keeps the one before. */
void server_change_replication_id(struct server *server);

/* Begins to stop: no new connections, replies under way are finished within about a
 * second. From any thread of a loop. */
void server_stop(struct server *server);

/* Has the main thread set its timers anew: of the cron, of clients that wait, of a pause.
 * From any thread of a loop. */
void server_poke(struct server *server);

/* Finds out whether reads have to be noted. Under the lock, exclusively. */
void server_note_readers(struct server *server);
/* What all loops have counted. The caller frees it with server_stats_free; NULL: out of
 * memory. Under the lock, exclusively. */
struct stats *server_stats(const struct server *server);
void server_stats_free(struct stats *stats);

/* Makes requirepass the default user's password. Returns false when out of memory. */
bool server_apply_password(struct server *server);
/* Acts on options that CONFIG SET changed. Under the lock, exclusively. */
void server_apply_config(struct server *server);
/* What allocated memory is for, in bytes. */
struct server_shares {
    size_t clients;     /* connections and their buffers */
    size_t overhead;    /* the server itself, its clients, and the places of keys */
    size_t dataset;     /* the rest */
    size_t since_start; /* what was taken since the server was ready */
};
struct server_shares server_shares_of(const struct server *server, size_t allocated);

/* Measures memory against maxmemory again; when it is over, waits for what is being
 * freed. Returns true when it still is. */
bool server_check_memory(struct server *server);

#endif
