#include "server/databases.h"

#include <stdlib.h>

#include "server/notify.h"
#include "server/server.h"

/* Expired keys that are removed between two looks at the clock. */
#define EXPIRE_BATCH 32

/* ---- what keyspaces tell ---- */

void databases_notify(struct server *server, const char *event, size_t db,
                      struct yn_bytes key)
{
    if (server->config.notify_classes != 0)
        notify_event(&server->pubsub, server->config.notify_classes, event, db, key);
}

static void on_added(void *ctx, size_t db, struct yn_bytes key)
{
    databases_notify(ctx, "new", db, key);
}

/* The one place where a key that expired is reported, whoever met it. */
static void on_expired(void *ctx, size_t db, struct yn_bytes key)
{
    struct server *server = ctx;
    tracking_note_change(&server->tracking, key, NULL);
    databases_notify(server, "expired", db, key);
}

static bool is_freed_at_once(const struct config *config, enum keyspace_drop why)
{
    switch (why) {
    case KEYSPACE_UNLINKED:
        return false;
    case KEYSPACE_DELETED:
        return !config->lazy_user_del;
    case KEYSPACE_EXPIRED:
        return !config->lazy_expire;
    case KEYSPACE_REPLACED:
        return !config->lazy_server_del;
    case KEYSPACE_FLUSHED:
        return false;
    case KEYSPACE_FLUSHED_AT_ONCE:
        break;
    }
    return true;
}

static void on_drop_zset(void *ctx, struct yn_zset *set, enum keyspace_drop why)
{
    struct server *server = ctx;
    if (is_freed_at_once(&server->config, why))
        yn_zset_free(set);
    else
        reaper_add_zset(&server->reaper, set);
}

/* ---- life ---- */

bool databases_create(struct server *server)
{
    server->keyspace_hooks = (struct keyspace_hooks){.ctx = server,
                                                     .added = on_added,
                                                     .expired = on_expired,
                                                     .drop_zset = on_drop_zset};
    server->n_databases = (size_t)server->config.databases;
    server->databases = calloc(server->n_databases, sizeof(struct keyspace *));
    if (server->databases == NULL || !reaper_init(&server->reaper))
        return false;
    for (size_t i = 0; i < server->n_databases; i++) {
        server->databases[i] = keyspace_new(server->hash_seed);
        if (server->databases[i] == NULL)
            return false;
        keyspace_set_hooks(server->databases[i], &server->keyspace_hooks, i);
    }
    return true;
}

void databases_clear(struct server *server)
{
    reaper_clear(&server->reaper);
    for (size_t i = 0; i < server->n_databases; i++)
        keyspace_free(server->databases[i]);
    free(server->databases);
}

/* ---- cleaning ---- */

static bool clean_one(struct server *server, struct keyspace *ks, int64_t now_ms,
                      uint64_t end_ns)
{
    while (!keyspace_collect(ks)) {
        if (loop_update_mono(&server->loops[0]) > end_ns)
            return false;
    }
    bool expires = server->active_expire && server->pause.mode == PAUSE_NONE;
    while (expires && keyspace_expire(ks, EXPIRE_BATCH, now_ms) > 0) {
        if (loop_update_mono(&server->loops[0]) > end_ns)
            return false;
    }
    return true;
}

bool databases_clean(struct server *server, uint64_t end_ns)
{
    int64_t now_ms = loop_now_ms(&server->loops[0]);
    reaper_poll(&server->reaper);
    for (size_t i = 0; i < server->n_databases; i++) {
        if (!clean_one(server, server->databases[i], now_ms, end_ns))
            return false;
    }
    return true;
}

void databases_collect(struct server *server)
{
    for (size_t i = 0; i < server->n_databases; i++) {
        while (!keyspace_collect(server->databases[i]))
            continue;
    }
    reaper_wait(&server->reaper);
}

/* ---- all keys at once ---- */

size_t databases_n_pending(struct server *server)
{
    size_t n = reaper_n_pending(&server->reaper);
    for (size_t i = 0; i < server->n_databases; i++)
        n += keyspace_n_garbage(server->databases[i]);
    return n;
}

uint64_t databases_n_freed(struct server *server)
{
    uint64_t n = reaper_n_freed(&server->reaper);
    for (size_t i = 0; i < server->n_databases; i++)
        n += keyspace_n_collected(server->databases[i]);
    return n;
}

void databases_flush(struct server *server, size_t db, enum host_flush how)
{
    bool at_once = how == HOST_FLUSH_SYNC ||
                   (how == HOST_FLUSH_DEFAULT && !server->config.lazy_user_flush);
    keyspace_flush(server->databases[db], at_once);
}

void databases_swap(struct server *server, size_t a, size_t b)
{
    struct keyspace *keys_of_a = server->databases[a];
    server->databases[a] = server->databases[b];
    server->databases[b] = keys_of_a;
    keyspace_set_number(server->databases[a], a);
    keyspace_set_number(server->databases[b], b);
}
