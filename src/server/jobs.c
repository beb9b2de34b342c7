#include "server/jobs.h"

#include <stdlib.h>

#include "server/server.h"

/* A transaction that has answered much already goes on with its jobs in such steps before
 * it holds them: there may be thousands. */
#define SMALL_CHUNK ((size_t)4096)

struct held_job {
    struct link in_conn;
    struct cmd_job *job;
    struct cmd_arena *arena; /* what its command took; NULL: nothing */
    int resp;                /* one reply, one protocol and one format */
    bool is_fixed17;
    size_t n_bytes;      /* that count as output */
    struct yn_buf after; /* what is answered behind it */
};

static struct held_job *first_of(const struct conn *conn)
{
    return LIST_ITEM(conn->jobs.next, struct held_job, in_conn);
}

struct yn_buf *jobs_out(struct conn *conn)
{
    if (!jobs_are_pending(conn))
        return &conn->out;
    return &LIST_ITEM(conn->jobs.prev, struct held_job, in_conn)->after;
}

/* Or until there is no room for more: the connection is closed then, and a reply can be
 * all but endless. */
static void run_to_end(struct cmd_job *job, struct host *h)
{
    while (!job->step(job, h, JOBS_CHUNK) && !h->out->failed)
        continue;
    job->free(job);
}

/* Views of a set are frozen and freed by those who have the lock; by one at a time. */
static void begin_with_views(struct loop *loop)
{
    if (loop->locked != LOOP_EXCLUSIVE)
        uv_mutex_lock(&loop->server->views_mutex);
}

static void end_with_views(struct loop *loop)
{
    if (loop->locked != LOOP_EXCLUSIVE)
        uv_mutex_unlock(&loop->server->views_mutex);
}

static bool hold_job(struct loop *loop, struct cmd_job *job)
{
    begin_with_views(loop);
    bool ok = job->hold(job);
    end_with_views(loop);
    return ok;
}

static void free_job(struct loop *loop, struct cmd_job *job)
{
    begin_with_views(loop);
    job->free(job);
    end_with_views(loop);
}

/* Makes the job independent of the keyspace and of the loop. Returns false when out of
 * memory. */
static bool hold(struct host *h, struct cmd_job *job)
{
    struct loop *loop = h->loop;
    bool takes_arena = cmd_arena_is_used(loop->arena);
    struct cmd_arena *fresh = takes_arena ? cmd_arena_new() : NULL;
    struct held_job *held = malloc(sizeof *held);
    if (held == NULL || (takes_arena && fresh == NULL) || !hold_job(loop, job)) {
        free(held);
        cmd_arena_free(fresh);
        return false;
    }
    *held = (struct held_job){.job = job,
                              .arena = takes_arena ? loop->arena : NULL,
                              .resp = h->resp,
                              .is_fixed17 = h->is_fixed17};
    yn_buf_init(&held->after);
    /* One job holds one value at most, which is rather the keyspace's. A transaction can
     * leave any number, each with a value that has lost its key. */
    if (jobs_are_pending(h->conn))
        held->n_bytes = job->n_bytes;
    h->conn->jobs_bytes += held->n_bytes;
    list_append(&h->conn->jobs, &held->in_conn);
    if (takes_arena) /* the job goes on using what its command took */
        loop->arena = fresh;
    return true;
}

void jobs_start(struct host *h, struct cmd_job *job)
{
    if (h->out == &h->loop->scrap) { /* nobody wants the answer */
        job->free(job);
        return;
    }
    bool is_small =
        h->is_in_exec && (jobs_are_pending(h->conn) || h->out->len >= JOBS_CHUNK);
    if (job->step(job, h, is_small ? SMALL_CHUNK : JOBS_CHUNK))
        job->free(job);
    else if (h->is_again || !hold(h, job)) /* a job stays with the connection's thread */
        run_to_end(job, h);
}

/* Under the lock. */
static void held_free(struct loop *loop, struct held_job *held)
{
    list_remove(&held->in_conn);
    free_job(loop, held->job);
    cmd_arena_free(held->arena);
    yn_buf_clear(&held->after);
    free(held);
}

void jobs_step(struct conn *conn)
{
    struct loop *loop = conn->loop;
    /* no lock: a step looks at nothing but its job */
    struct host host = {.loop = loop, .conn = conn, .db = conn->db, .out = &conn->out};
    host.now_ms = loop_now_ms(loop);
    while (jobs_are_pending(conn) && conn->out.len < JOBS_CHUNK && !conn->out.failed) {
        struct held_job *held = first_of(conn);
        host.resp = held->resp;
        host.is_fixed17 = held->is_fixed17;
        if (!held->job->step(held->job, &host, JOBS_CHUNK - conn->out.len))
            return;
        if (held->after.len > 0)
            yn_buf_append(&conn->out, held->after.data, held->after.len);
        conn->jobs_bytes -= held->after.len + held->n_bytes;
        loop_lock(loop, LOOP_SHARED);
        held_free(loop, held);
        loop_unlock(loop);
    }
}

void jobs_drop(struct conn *conn)
{
    while (jobs_are_pending(conn))
        held_free(conn->loop, first_of(conn));
    conn->jobs_bytes = 0;
}
