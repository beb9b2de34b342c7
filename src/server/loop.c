#include "server/loop.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "server/conn.h"
#include "server/server.h"

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t loop_update_mono(struct loop *loop)
{
    loop->mono_ns = clock_ns(CLOCK_MONOTONIC);
    return loop->mono_ns;
}

void loop_update_clock(struct loop *loop)
{
    loop_update_mono(loop);
    loop->wall_less_mono_ns = (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)loop->mono_ns;
}

static void on_prepare(uv_prepare_t *prepare)
{
    const struct loop *loop = prepare->data;
    tracking_broadcast(&loop->server->tracking);
}

/* Numbers of its own: from what is drawn here nobody learns the seed of the hashes. */
static bool seed_random(struct loop *loop)
{
    return getrandom(&loop->random, sizeof loop->random, 0) ==
           (ssize_t)sizeof loop->random;
}

bool loop_init(struct loop *loop, struct server *server)
{
    loop->server = server;
    list_init(&loop->conns);
    list_init(&loop->ready);
    loop->cursor = &loop->conns;
    loop->n_conns = 0;
    yn_buf_init(&loop->spare_out);
    yn_buf_init(&loop->scrap);
    stats_init(&loop->stats);
    loop->untimed = (struct loop_untimed){.n = 0};

    loop_update_clock(loop);
    loop->read_buf = malloc(LOOP_READ_BYTES);
    batch_init(&loop->batch);
    loop->arena = cmd_arena_new();
    if (loop->read_buf == NULL || loop->arena == NULL || !seed_random(loop) ||
        uv_loop_init(&loop->uv) != 0) {
        free(loop->read_buf);
        cmd_arena_free(loop->arena);
        return false;
    }
    uv_idle_init(&loop->uv, &loop->idle);
    uv_prepare_init(&loop->uv, &loop->prepare);
    loop->idle.data = loop->prepare.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare);
    return true;
}

void loop_clear(struct loop *loop)
{
    uv_loop_close(&loop->uv);
    free(loop->read_buf);
    batch_clear(&loop->batch);
    cmd_arena_free(loop->arena);
    stats_clear(&loop->stats);
    yn_buf_clear(&loop->spare_out);
    yn_buf_clear(&loop->scrap);
}

static void on_idle(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    struct link batch;
    /* Those that are woken again meanwhile wait for the next iteration: sockets come
     * first. */
    list_move_all(&loop->ready, &batch);
    while (!list_is_empty(&batch)) {
        struct conn *conn = LIST_ITEM(batch.next, struct conn, in_ready);
        list_remove(&conn->in_ready);
        conn_turn(conn);
    }
    if (list_is_empty(&loop->ready))
        uv_idle_stop(idle);
}

void loop_wake(struct loop *loop, struct conn *conn)
{
    if (!list_is_empty(&conn->in_ready))
        return;
    list_append(&loop->ready, &conn->in_ready);
    uv_idle_start(&loop->idle, on_idle);
}

void loop_visit_conns(struct loop *loop, int64_t hz)
{
    size_t n = loop->n_conns / (size_t)hz + 8;
    if (n > loop->n_conns)
        n = loop->n_conns;
    for (size_t i = 0; i < n; i++) {
        if (loop->cursor == &loop->conns)
            loop->cursor = loop->conns.next;
        if (loop->cursor == &loop->conns)
            return;
        struct conn *conn = LIST_ITEM(loop->cursor, struct conn, in_conns);
        loop->cursor = loop->cursor->next;
        conn_visit(conn);
    }
}
