#include "server/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "server/conn.h"
#include "server/jobs.h"
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

/* ---- the lock ---- */

static _Thread_local struct loop *current;

struct loop *loop_current(void)
{
    return current;
}

void loop_lock(struct loop *loop, enum loop_lock how)
{
    struct server *server = loop->server;
    assert(loop == current && loop->locked == LOOP_UNLOCKED);
    if (server->n_loops > 1 && how == LOOP_SHARED)
        rwlock_lock_shared(&server->lock, loop->index);
    else if (server->n_loops > 1)
        rwlock_lock_exclusive(&server->lock);
    loop->locked = how;
}

void loop_unlock(struct loop *loop)
{
    struct server *server = loop->server;
    enum loop_lock how = loop->locked;
    loop->locked = LOOP_UNLOCKED;
    if (server->n_loops > 1 && how == LOOP_SHARED)
        rwlock_unlock_shared(&server->lock, loop->index);
    else if (server->n_loops > 1)
        rwlock_unlock_exclusive(&server->lock);
}

void loop_note_config(struct loop *loop)
{
    const struct server *server = loop->server;
    const struct config *config = &server->config;
    if (loop->config.version == server->config_version)
        return;
    loop->config =
        (struct loop_config){.version = server->config_version,
                             .hz = config->hz,
                             .timeout_s = (uint64_t)config->timeout_s,
                             .query_max = (size_t)config->client_query_buffer_limit,
                             .bulk_max = config->proto_max_bulk_len};
    memcpy(loop->config.output_limits, config->output_limits,
           sizeof loop->config.output_limits);
}

/* ---- from other threads ---- */

void loop_post(struct loop *loop, struct loop_note *note)
{
    note->next = NULL;
    uv_mutex_lock(&loop->notes_mutex);
    *loop->notes_end = note;
    loop->notes_end = &note->next;
    uv_mutex_unlock(&loop->notes_mutex);
    uv_async_send(&loop->call);
}

static void run_notes(struct loop *loop)
{
    uv_mutex_lock(&loop->notes_mutex);
    struct loop_note *note = loop->first_note;
    loop->first_note = NULL;
    loop->notes_end = &loop->first_note;
    uv_mutex_unlock(&loop->notes_mutex);
    while (note != NULL) {
        struct loop_note *next = note->next;
        note->run(loop, note);
        note = next;
    }
}

/* Has a connection of another loop called by that. */
static void call(struct loop *loop, struct conn *conn, bool is_pushed)
{
    assert(current != NULL && current->locked == LOOP_EXCLUSIVE);
    if (!list_is_empty(&conn->in_called)) {
        conn->is_called_to_push &= is_pushed;
        return;
    }
    conn->is_called_to_push = is_pushed;
    list_append(&loop->called, &conn->in_called);
    uv_async_send(&loop->call);
}

/* What others have called. The lock keeps them from calling more. */
static void answer_calls(struct loop *loop)
{
    loop_lock(loop, LOOP_SHARED);
    while (!list_is_empty(&loop->called)) {
        struct conn *conn = LIST_ITEM(loop->called.next, struct conn, in_called);
        list_remove(&conn->in_called);
        if (conn->is_called_to_push)
            loop_wake_pushed(loop, conn);
        else
            loop_wake(loop, conn);
    }
    loop_unlock(loop);
}

static void on_call(uv_async_t *async)
{
    struct loop *loop = async->data;
    loop_update_clock(loop);
    run_notes(loop);
    answer_calls(loop);
}

/* ---- visits ---- */

/* Each connection gets its visit about once a second: idle timeouts, lingering closes,
 * buffers to shrink. */
static void on_visits(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    atomic_fetch_add_explicit(&loop->n_beats, 1, memory_order_relaxed);
    loop_update_clock(loop);
    loop_lock(loop, LOOP_SHARED);
    loop_note_config(loop);
    loop_unlock(loop);
    size_t hz = (size_t)loop->config.hz;
    uv_timer_start(timer, on_visits, 1000 / hz, 0);
    for (size_t n = loop->n_conns / hz + 8; n > 0; n--) {
        if (loop->cursor == &loop->conns)
            loop->cursor = loop->conns.next;
        if (loop->cursor == &loop->conns)
            return;
        struct conn *conn = LIST_ITEM(loop->cursor, struct conn, in_loop);
        loop->cursor = loop->cursor->next;
        conn_visit(conn);
        if (loop->cursor == &loop->conns)
            return;
    }
}

/* ---- life ---- */

bool loop_broadcast(struct loop *loop)
{
    /* Reads have changed nothing; what is to be told then comes from an earlier turn (an
     * expired key was removed, say), and can wait for on_prepare. */
    if (!loop->has_to_broadcast || loop->locked != LOOP_EXCLUSIVE)
        return false;
    loop->has_to_broadcast = false;
    tracking_broadcast(&loop->server->tracking);
    return true;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;
    if (!loop->has_to_broadcast)
        return;
    loop_lock(loop, LOOP_EXCLUSIVE);
    loop_broadcast(loop);
    loop_unlock(loop);
}

/* Numbers of its own: from what is drawn here nobody learns the seed of the hashes. */
static bool seed_random(struct loop *loop)
{
    return getrandom(&loop->random, sizeof loop->random, 0) ==
           (ssize_t)sizeof loop->random;
}

static void start_handles(struct loop *loop)
{
    uv_idle_init(&loop->uv, &loop->idle);
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_timer_init(&loop->uv, &loop->visits);
    loop->idle.data = loop->prepare.data = loop->visits.data = loop->call.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare);
    uv_timer_start(&loop->visits, on_visits, 0, 0);
}

bool loop_init(struct loop *loop, struct server *server, size_t index)
{
    loop->server = server;
    loop->index = index;
    list_init(&loop->conns);
    list_init(&loop->ready);
    list_init(&loop->pushed);
    list_init(&loop->called);
    loop->notes_end = &loop->first_note;
    loop->push_wait_ns = PUSHED_MIN_NS;
    loop->cursor = &loop->conns;
    loop->config.version = UINT64_MAX;
    yn_buf_init(&loop->spare_out);
    yn_buf_init(&loop->scrap);
    yn_buf_init(&loop->met_expired.keys);
    stats_init(&loop->stats);

    if (index == 0)
        current = loop; /* the main thread prepares much before it runs the loop */
    loop_update_clock(loop);
    loop->read_buf = malloc(LOOP_READ_BYTES);
    batch_init(&loop->batch);
    loop->arena = cmd_arena_new();
    if (loop->read_buf == NULL || loop->arena == NULL || !seed_random(loop) ||
        uv_mutex_init(&loop->notes_mutex) != 0 || uv_loop_init(&loop->uv) != 0 ||
        uv_async_init(&loop->uv, &loop->call, on_call) != 0) {
        free(loop->read_buf);
        cmd_arena_free(loop->arena);
        return false;
    }
    start_handles(loop);
    return true;
}

void loop_run(struct loop *loop)
{
    current = loop;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* What other threads work on comes back through `call`. */
static void end_if_done(struct loop *loop)
{
    if (loop->is_ending && loop->n_apart == 0)
        close_handle((uv_handle_t *)&loop->call);
}

void loop_end(struct loop *loop)
{
    for (struct link *l = loop->conns.next; l != &loop->conns; l = l->next)
        conn_close(LIST_ITEM(l, struct conn, in_loop));
    close_handle((uv_handle_t *)&loop->idle);
    close_handle((uv_handle_t *)&loop->prepare);
    close_handle((uv_handle_t *)&loop->visits);
    loop->is_ending = true;
    end_if_done(loop);
}

void loop_leave_work(struct loop *loop)
{
    loop->n_apart++;
}

void loop_take_work(struct loop *loop)
{
    loop->n_apart--;
    end_if_done(loop);
}

void loop_clear(struct loop *loop)
{
    uv_loop_close(&loop->uv);
    uv_mutex_destroy(&loop->notes_mutex);
    free(loop->read_buf);
    batch_clear(&loop->batch);
    cmd_arena_free(loop->arena);
    stats_clear(&loop->stats);
    yn_buf_clear(&loop->spare_out);
    yn_buf_clear(&loop->scrap);
    yn_buf_clear(&loop->met_expired.keys);
}

/* ---- turns ---- */

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

static void move_items(struct link *from, struct link *to)
{
    while (!list_is_empty(from)) {
        struct link *item = from->next;
        list_remove(item);
        list_append(to, item);
    }
}

/* The same for those that are ready, but of the connections whose reply is being emitted
 * only the first: a chunk takes some hundredth of a millisecond to make and to send, and
 * a request that has come meanwhile shall wait for one of them and not for all. The
 * others come first in the next iteration. */
static void give_ready_turns(struct loop *loop)
{
    struct link batch, later;
    bool has_stepped = false;
    list_move_all(&loop->ready, &batch);
    list_init(&later);
    while (!list_is_empty(&batch)) {
        struct conn *conn = LIST_ITEM(batch.next, struct conn, in_ready);
        list_remove(&conn->in_ready);
        bool has_job = jobs_are_pending(conn);
        if (has_job && has_stepped) {
            list_append(&later, &conn->in_ready);
            continue;
        }
        has_stepped = has_stepped || has_job;
        conn_turn(conn);
    }
    move_items(&loop->ready, &later);
    move_items(&later, &loop->ready);
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
    give_ready_turns(loop);
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
    if (loop != current) {
        call(loop, conn, false);
        return;
    }
    if (conn->is_in_pushed)
        list_remove(&conn->in_ready);
    if (list_is_empty(&conn->in_ready))
        wake(loop, conn, &loop->ready);
}

void loop_wake_pushed(struct loop *loop, struct conn *conn)
{
    if (loop != current) {
        call(loop, conn, true);
        return;
    }
    if (!list_is_empty(&conn->in_ready))
        return;
    if (list_is_empty(&loop->pushed))
        loop->pushed_ns = loop->mono_ns;
    wake(loop, conn, &loop->pushed);
}
