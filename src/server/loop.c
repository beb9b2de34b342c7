#include "server/loop.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#include "server/conn.h"
#include "server/server.h"

/* How long messages wait for others while clients are busy: as long as it took to send
 * the last ones, so that sending takes half of the time at most; within these bounds. */
#define PUSHED_MIN_NS ((uint64_t)1000 * 1000)
#define PUSHED_MAX_NS ((uint64_t)20 * 1000 * 1000)

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
    list_init(&loop->pushed);
    loop->push_wait_ns = PUSHED_MIN_NS;
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
    return pool_port_init(&loop->pool_port, &loop->uv);
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

/* Those that are woken again meanwhile wait for the next iteration: sockets come first.
 */
static void give_turns(struct link *conns)
{
    struct link batch;
    list_move_all(conns, &batch);
    while (!list_is_empty(&batch)) {
        struct conn *conn = LIST_ITEM(batch.next, struct conn, in_ready);
        list_remove(&conn->in_ready);
        conn->is_in_pushed = false;
        conn_turn(conn);
    }
}

static void send_pushed(struct loop *loop)
{
    uint64_t began_ns = loop_update_mono(loop);
    give_turns(&loop->pushed);
    uint64_t took_ns = loop_update_mono(loop) - began_ns;
    loop->push_wait_ns = took_ns < PUSHED_MIN_NS   ? PUSHED_MIN_NS
                         : took_ns > PUSHED_MAX_NS ? PUSHED_MAX_NS
                                                   : took_ns;
}

static void on_idle(uv_idle_t *idle)
{
    struct loop *loop = idle->data;
    give_turns(&loop->ready);
    if (!list_is_empty(&loop->pushed) &&
        (list_is_empty(&loop->ready) ||
         loop->mono_ns - loop->pushed_ns > loop->push_wait_ns))
        send_pushed(loop);
    if (list_is_empty(&loop->ready) && list_is_empty(&loop->pushed))
        uv_idle_stop(idle);
}

static void wake(struct loop *loop, struct conn *conn, struct link *list)
{
    list_append(list, &conn->in_ready);
    conn->is_in_pushed = list == &loop->pushed;
    uv_idle_start(&loop->idle, on_idle);
}

void loop_wake(struct loop *loop, struct conn *conn)
{
    if (conn->is_in_pushed)
        list_remove(&conn->in_ready);
    if (list_is_empty(&conn->in_ready))
        wake(loop, conn, &loop->ready);
}

void loop_wake_pushed(struct loop *loop, struct conn *conn)
{
    if (!list_is_empty(&conn->in_ready))
        return;
    if (list_is_empty(&loop->pushed))
        loop->pushed_ns = loop->mono_ns;
    wake(loop, conn, &loop->pushed);
}

struct conn *loop_find_conn(const struct loop *loop, int64_t id)
{
    const struct link *all = &loop->conns;
    for (struct link *l = all->next; l != all; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn->state == CONN_OPEN && (int64_t)conn->id == id)
            return conn;
    }
    return NULL;
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
