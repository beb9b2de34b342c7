#include "cmd/zset_reply.h"

#include <stdlib.h>

struct reply_job {
    struct cmd_job base;  /* must be first */
    struct yn_zset *set;  /* until the job is held; or NULL */
    struct yn_view *held; /* the frozen set, or NULL */
    struct yn_cursor cursor;
    size_t rank; /* of the entry under the cursor */
    size_t n_left;
    bool is_reverse;
    enum zset_reply_shape shape;
};

#define ENTRY_WIRE_LEN 48 /* about what an entry takes besides its member */

static bool is_flat(struct host *h, enum zset_reply_shape shape)
{
    return shape == ZSET_REPLY_FLAT ||
           (shape == ZSET_REPLY_SCORES && !host_reply_nests_pairs(h));
}

/* A sum of some millions of them is no overflow. */
#define REPLY_BYTES_MAX 0x1p42

size_t zset_reply_bytes(const struct yn_zset *set, uint64_t n)
{
    size_t count = yn_zset_count(set);
    double a_entry = count == 0 ? 0 : (double)yn_zset_memory(set) / (double)count;
    double bytes = (double)n * a_entry;
    return (size_t)(bytes < REPLY_BYTES_MAX ? bytes : REPLY_BYTES_MAX);
}

void zset_reply_header(struct host *h, size_t n, enum zset_reply_shape shape)
{
    host_reply_array(h, is_flat(h, shape) ? n * 2 : n);
}

void zset_reply_entry(struct host *h, struct yn_entry entry, enum zset_reply_shape shape)
{
    if (shape != ZSET_REPLY_MEMBERS && !is_flat(h, shape))
        host_reply_array(h, 2);
    host_reply_bulk(h, entry.member);
    if (shape != ZSET_REPLY_MEMBERS)
        host_reply_score(h, entry.score);
}

static bool job_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct reply_job *job = (struct reply_job *)base;
    for (size_t sent = 0; job->n_left > 0 && (sent < budget || sent == 0);) {
        struct yn_entry entry = yn_cursor_entry(&job->cursor);
        zset_reply_entry(h, entry, job->shape);
        sent += entry.member.len + ENTRY_WIRE_LEN;
        job->n_left--;
        if (job->n_left == 0)
            break;
        if (job->is_reverse) {
            yn_cursor_prev(&job->cursor);
            job->rank--;
        } else {
            yn_cursor_next(&job->cursor);
            job->rank++;
        }
    }
    return job->n_left == 0;
}

/* The cursor belongs to the live view; its place is sought again in the frozen one. */
static bool job_hold(struct cmd_job *base)
{
    struct reply_job *job = (struct reply_job *)base;
    if (job->held != NULL)
        return true;
    if (yn_zset_freeze(job->set, &job->held) != YN_OK)
        return false;
    if (job->n_left > 0)
        yn_cursor_seek(&job->cursor, job->held, job->rank);
    return true;
}

static void job_free(struct cmd_job *base)
{
    struct reply_job *job = (struct reply_job *)base;
    host_view_free(job->held);
    free(job);
}

static struct reply_job *job_new(const struct yn_view *view, struct zrange_ranks ranks,
                                 bool is_reverse, enum zset_reply_shape shape)
{
    struct reply_job *job = malloc(sizeof *job);
    if (job == NULL)
        return NULL;
    *job = (struct reply_job){
        .base = {.step = job_step, .hold = job_hold, .free = job_free},
        .rank = is_reverse && ranks.n > 0 ? ranks.first + ranks.n - 1 : ranks.first,
        .n_left = ranks.n,
        .is_reverse = is_reverse,
        .shape = shape,
    };
    if (ranks.n > 0)
        yn_cursor_seek(&job->cursor, view, job->rank);
    return job;
}

void zset_reply_run(struct cmd_call *call, struct yn_zset *set, struct zrange_ranks ranks,
                    bool is_reverse, enum zset_reply_shape shape)
{
    struct reply_job *job = job_new(yn_zset_view(set), ranks, is_reverse, shape);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    job->set = set;
    job->base.n_bytes = zset_reply_bytes(set, ranks.n);
    zset_reply_header(call->host, ranks.n, shape);
    call->job = &job->base;
}

struct cmd_job *zset_reply_new(struct yn_view *view, struct zrange_ranks ranks,
                               bool is_reverse, enum zset_reply_shape shape)
{
    struct reply_job *job = job_new(view, ranks, is_reverse, shape);
    if (job == NULL)
        return NULL;
    job->held = view;
    return &job->base;
}
