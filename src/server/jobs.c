#include "server/jobs.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/acl_conns.h"
#include "server/dispatch.h"
#include "server/met_expired.h"
#include "server/server.h"

/* A transaction that has answered much already goes on with its jobs in such steps before
 * it holds them: there may be thousands. */
#define SMALL_CHUNK ((size_t)4096)
/* What was long to work out is read from all over memory: a chunk of it takes the loop
 * about as long as a larger one of other replies. */
#define LONG_CHUNK (JOBS_CHUNK / 4)
/* A store is worked out so often beside the loop before it is done on it, since its
 * source changes all the time. */
#define APART_MAX 3

enum held_state {
    HELD_BEGUN,  /* to be stepped */
    HELD_LONG,   /* to be worked out, when it is the first */
    HELD_APART,  /* the pool has it */
    HELD_WORKED, /* to be begun */
};

struct held_job {
    struct link in_conn;
    struct conn *conn; /* NULL: it is gone; to be freed when the pool gives it back */
    struct loop *loop; /* its, also then */
    struct cmd_job *job;
    struct cmd_arena *arena; /* what its command took; NULL: nothing */
    int resp;                /* one reply, one protocol and one format */
    bool is_fixed17;
    size_t n_bytes;      /* that count as output */
    struct yn_buf after; /* what is answered behind it */

    /* of a long one */
    enum held_state state;
    bool is_quiet;                /* nobody wants the answer */
    struct request_copy *request; /* its words, the first of them if it changes nothing */
    size_t argc;                  /* all of them */
    int n_apart;                  /* how often it has been worked out apart */
    int64_t limit_ms;             /* search-timeout; 0: none */
    enum yn_status status;
    uint64_t spent_ns;
    struct pool_task task;
    struct loop_note note; /* the pool's, that it is done */
};

static struct held_job *first_of(const struct conn *conn)
{
    return LIST_ITEM(conn->jobs.next, struct held_job, in_conn);
}

bool jobs_are_apart(const struct conn *conn)
{
    return jobs_are_pending(conn) && first_of(conn)->state == HELD_APART;
}

struct yn_buf *jobs_out(struct conn *conn)
{
    if (!jobs_are_pending(conn))
        return &conn->out;
    return &LIST_ITEM(conn->jobs.prev, struct held_job, in_conn)->after;
}

/* ---- views ---- */

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
    if (job == NULL)
        return;
    begin_with_views(loop);
    job->free(job);
    end_with_views(loop);
}

/* ---- how long it may take ---- */

#define MS_NS UINT64_C(1000000)

static bool is_late(void *ctx)
{
    const uint64_t *deadline_ns = ctx;
    return uv_hrtime() >= *deadline_ns;
}

#define STOPPED_TEXT_MAX 128

static const char *stopped_text(int64_t limit_ms, char *text)
{
    snprintf(text, STOPPED_TEXT_MAX,
             "TIMEOUT the command was ended: it took longer than 'search-timeout' allows "
             "(%lld ms)",
             (long long)limit_ms);
    return text;
}

/* ---- holding ---- */

/* Makes the job independent of the keyspace and of the loop. Returns NULL when out of
 * memory. */
static struct held_job *hold(struct host *h, struct cmd_job *job)
{
    struct loop *loop = h->loop;
    bool takes_arena = cmd_arena_is_used(loop->arena);
    struct cmd_arena *fresh = takes_arena ? cmd_arena_new() : NULL;
    struct held_job *held = malloc(sizeof *held);
    if (held == NULL || (takes_arena && fresh == NULL) || !hold_job(loop, job)) {
        free(held);
        cmd_arena_free(fresh);
        return NULL;
    }
    *held = (struct held_job){.conn = h->conn,
                              .loop = loop,
                              .job = job,
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
    return held;
}

/* Under the lock. */
static void held_free(struct held_job *held)
{
    list_remove(&held->in_conn);
    free_job(held->loop, held->job);
    request_copy_free(held->request);
    cmd_arena_free(held->arena);
    yn_buf_clear(&held->after);
    free(held);
}

/* Gives up a job that a thread may be working on. */
static void held_drop(struct held_job *held)
{
    if (held->state == HELD_APART) {
        if (!pool_withdraw(&held->loop->server->pool, &held->task)) {
            pool_stop_task(&held->task);
            list_remove(&held->in_conn);
            held->conn = NULL;
            return;
        }
        loop_take_work(held->loop);
    }
    held_free(held);
}

void jobs_drop(struct conn *conn)
{
    while (jobs_are_pending(conn)) {
        struct held_job *held = first_of(conn);
        if (held->state != HELD_BEGUN)
            stats_add(&conn->loop->stats.jobs_given_up, 1);
        held_drop(held);
    }
    conn->jobs_bytes = 0;
}

/* ---- work apart ---- */

static struct held_job *held_of(struct pool_task *task)
{
    return LIST_ITEM(task, struct held_job, task);
}

static void work_apart(struct pool_task *task)
{
    struct held_job *held = held_of(task);
    struct yn_stop stop = {pool_is_stop_wanted, task};
    /* it may have waited for long */
    held->status =
        pool_is_stop_wanted(task) ? YN_ESTOPPED : held->job->work(held->job, &stop);
}

/* The work is done, or given up. */
static void take_back(struct held_job *held, enum yn_status status)
{
    held->status = status;
    held->state = HELD_WORKED;
    if (status == YN_ESTOPPED)
        stats_add(&held->loop->stats.jobs_timed_out, 1);
    loop_wake(held->loop, held->conn);
}

/* In the loop's thread, with no lock. */
static void on_worked(struct loop *loop, struct loop_note *note)
{
    struct held_job *held = LIST_ITEM(note, struct held_job, note);
    if (held->conn != NULL) {
        held->spent_ns += held->task.spent_ns;
        stats_add(&loop->stats.jobs_apart, 1);
        take_back(held, held->status);
    } else {
        loop_lock(loop, LOOP_SHARED);
        held_free(held);
        loop_unlock(loop);
    }
    loop_take_work(loop);
}

/* In the pool's. */
static void post_worked(struct pool_task *task)
{
    struct held_job *held = held_of(task);
    held->note.run = on_worked;
    loop_post(held->loop, &held->note);
}

void jobs_visit(struct conn *conn)
{
    if (!jobs_are_apart(conn))
        return;
    struct held_job *held = first_of(conn);
    if (pool_is_late(&held->task) &&
        pool_withdraw(&conn->loop->server->pool, &held->task)) {
        take_back(held, YN_ESTOPPED);
        loop_take_work(conn->loop);
    }
}

/* Hands the work to the pool, or does it if there is none. */
static void submit(struct held_job *held)
{
    struct loop *loop = held->loop;
    held->task = (struct pool_task){.work = work_apart, .done = post_worked};
    if (held->limit_ms > 0)
        held->task.deadline_ns = uv_hrtime() + (uint64_t)held->limit_ms * MS_NS;
    loop_leave_work(loop);
    held->state = HELD_APART;
    if (pool_submit(&loop->server->pool, &held->task))
        return;
    loop_take_work(loop);
    work_apart(&held->task);
    take_back(held, held->status);
}

/* ---- starting ---- */

/* Or until there is no room for more: the connection is closed then, and a reply can be
 * all but endless. */
static void run_to_end(struct cmd_job *job, struct host *h)
{
    while (!job->step(job, h, JOBS_CHUNK) && !h->out->failed)
        continue;
    job->free(job);
}

/* Does the work at once and begins the reply. Returns the job to go on with, or NULL. */
static struct cmd_job *begin_here(struct cmd_call *call)
{
    struct loop *loop = call->host->loop;
    char text[STOPPED_TEXT_MAX] = "";
    uint64_t deadline_ns = 0;
    struct yn_stop stop = {is_late, &deadline_ns};
    int64_t limit_ms = loop->server->config.search_timeout_ms;
    if (limit_ms > 0) {
        deadline_ns = uv_hrtime() + (uint64_t)limit_ms * MS_NS;
        stopped_text(limit_ms, text);
    }
    if (cmd_job_begin(call, limit_ms > 0 ? &stop : NULL, text) == YN_ESTOPPED)
        stats_add(&loop->stats.jobs_timed_out, 1);
    return call->job;
}

/* Whether the work is rather done by another thread. A store in a transaction is not:
 * what follows has to see it. */
static bool goes_apart(const struct host *h, const struct cmd_job *job)
{
    return job->is_long && h->n_apart < APART_MAX && !h->is_again &&
           !(job->changes_keys && h->is_in_exec);
}

/* Holds a job whose work is to be done apart. Returns false when out of memory. */
static bool hold_long(struct cmd_call *call)
{
    struct host *h = call->host;
    size_t n = call->argc;
    if (!call->job->changes_keys && n > SLOWLOG_ARGS_MAX)
        n = SLOWLOG_ARGS_MAX;
    struct request_copy *request = request_copy_new(call->spec, n, call->argv);
    struct held_job *held = request != NULL ? hold(h, call->job) : NULL;
    if (held == NULL) {
        request_copy_free(request);
        return false;
    }
    held->state = HELD_LONG;
    held->is_quiet = h->out == &h->loop->scrap;
    held->request = request;
    held->argc = call->argc;
    held->n_apart = h->n_apart + 1;
    held->limit_ms = h->loop->server->config.search_timeout_ms;
    if (first_of(h->conn) == held)
        submit(held);
    return true;
}

bool jobs_start(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_job *job = call->job;
    bool is_quiet = h->out == &h->loop->scrap; /* nobody wants the answer */
    if (is_quiet && !job->changes_keys) {
        job->free(job);
        return false;
    }
    if (job->work != NULL) {
        if (goes_apart(h, job) && hold_long(call))
            return true;
        job = begin_here(call);
        if (job == NULL)
            return false;
    }
    if (is_quiet) {
        job->free(job);
        return false;
    }
    bool is_small =
        h->is_in_exec && (jobs_are_pending(h->conn) || h->out->len >= JOBS_CHUNK);
    if (job->step(job, h, is_small ? SMALL_CHUNK : JOBS_CHUNK))
        job->free(job);
    else if (h->is_again || hold(h, job) == NULL)
        run_to_end(job, h); /* of another loop's connection, too */
    return false;
}

/* ---- answering ---- */

/* The command has to be run again. Nothing else can stand behind it: it changes keys, and
 * so is in no transaction. */
static void run_again(struct held_job *held)
{
    struct loop *loop = held->loop;
    list_remove(&held->in_conn);
    stats_add(&loop->stats.jobs_run_again, 1);
    stats_command_of(&loop->stats, held->request->spec)->time_ns += held->spent_ns;
    dispatch_long_again(held->conn, held->request, held->is_quiet, held->n_apart);
    held_free(held);
}

/* Answers, or begins to, and counts the call. Returns false when it has to be run again.
 */
static bool answer_worked(struct held_job *held, struct cmd_call *call)
{
    struct loop *loop = held->loop;
    char text[STOPPED_TEXT_MAX], reason[ACL_REFUSAL_MAX];
    const char *refusal =
        held->job->changes_keys ? dispatch_long_refusal(call, reason) : NULL;
    if (refusal != NULL) {
        host_reply_error(call->host, refusal);
        free_job(loop, call->job);
        call->job = NULL;
        return true;
    }
    begin_with_views(loop);
    bool is_answered =
        cmd_job_begin_worked(call, held->status, stopped_text(held->limit_ms, text));
    end_with_views(loop);
    if (is_answered)
        dispatch_count_long(call, held->argc, held->spent_ns);
    return is_answered;
}

/* Begins the reply of a job that has been worked out. Returns false when it is freed: it
 * begins anew. The lock is held as the job needs it. */
static bool begin_worked(struct held_job *held)
{
    struct loop *loop = held->loop;
    struct conn *conn = held->conn;
    struct host host =
        host_server_begin(loop, conn, held->is_quiet ? &loop->scrap : &conn->out);
    struct cmd_call call = {.spec = held->request->spec,
                            .host = &host,
                            .arena = loop->arena,
                            .argc = held->request->argc,
                            .argv = held->request->argv,
                            .job = held->job};
    host.resp = held->resp;
    host.is_fixed17 = held->is_fixed17;
    conn->is_running = true;
    bool is_answered = answer_worked(held, &call);
    conn->is_running = false;
    held->job = call.job;
    held->state = HELD_BEGUN;
    if (held->is_quiet) {
        free_job(loop, held->job);
        held->job = NULL;
        yn_buf_reset(&loop->scrap, JOBS_CHUNK);
    }
    cmd_arena_reset(loop->arena);
    if (!is_answered)
        run_again(held);
    return is_answered;
}

/* Nothing is stored during a pause of writes. */
static bool has_to_pause(const struct held_job *held)
{
    const struct request_copy *request = held->request;
    return held->job->changes_keys && pause_is_on(&held->loop->server->pause) &&
           pause_holds(held->conn, request->spec, request->argc, request->argv);
}

/* Makes the first job ready to be stepped. Returns false when it is not, or not yet. */
static bool make_ready(struct held_job *held)
{
    struct loop *loop = held->loop;
    if (held->state == HELD_LONG)
        submit(held);
    if (held->state == HELD_APART)
        return false;
    if (held->state == HELD_BEGUN)
        return true;
    loop_lock(loop, held->job->changes_keys ? LOOP_EXCLUSIVE : LOOP_SHARED);
    /* another thread may have killed the connection meanwhile: nothing is stored then */
    bool is_ready = conn_is_live(held->conn) && !has_to_pause(held) && begin_worked(held);
    dispatch_end_long(loop);
    loop_unlock(loop);
    met_expired_remove(loop);
    return is_ready;
}

/* What the first job may send in a turn. */
static size_t chunk_of(const struct conn *conn)
{
    return first_of(conn)->n_apart > 0 ? LONG_CHUNK : JOBS_CHUNK;
}

void jobs_step(struct conn *conn)
{
    struct loop *loop = conn->loop;
    /* no lock: a step looks at nothing but its job */
    struct host host = {.loop = loop, .conn = conn, .db = conn->db, .out = &conn->out};
    host.now_ms = loop_now_ms(loop);
    while (jobs_are_pending(conn) && conn->out.len < chunk_of(conn) &&
           !conn->out.failed) {
        struct held_job *held = first_of(conn);
        host.resp = held->resp;
        host.is_fixed17 = held->is_fixed17;
        if (!make_ready(held))
            return;
        if (held->job != NULL &&
            !held->job->step(held->job, &host, chunk_of(conn) - conn->out.len))
            return;
        if (held->after.len > 0)
            yn_buf_append(&conn->out, held->after.data, held->after.len);
        conn->jobs_bytes -= held->after.len + held->n_bytes;
        loop_lock(loop, LOOP_SHARED);
        held_free(held);
        loop_unlock(loop);
    }
}
