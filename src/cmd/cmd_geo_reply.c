/*
 * cmd_geo_reply.c: the reply of a search, as a job.
 *
 * The engine plans and counts first, since a reply starts with its length: that is the
 * job's work, which another thread may do. Then it hands out results: whole runs of
 * members in wire form when nothing else was asked for, leaf by leaf when only distances
 * were, else hit by hit. Everything that it needs later lies in the job itself: once
 * held, it knows neither the request nor the keyspace.
 */
#include "cmd/cmd_geo.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/zset_reply.h"
#include "core/geodesy.h"

struct geo_job {
    struct cmd_job base; /* must be first */
    struct yn_search *search;
    struct yn_zset *set;  /* until the job is held */
    struct yn_view *held; /* the frozen set, or NULL */
    size_t entry_bytes;   /* of the set, about */
    double unit_m;
    bool with_coord, with_dist, with_hash;
    size_t n_extras; /* how many of the three */
    struct yn_point vertices[];
};

/* Upper estimates of what one field takes on the wire. */
#define NUMBER_WIRE_LEN 32
#define BULK_WIRE_LEN 16

/* Sends one hit with its extras; returns about how many bytes that were. */
static size_t reply_hit(const struct geo_job *job, struct host *h,
                        const struct yn_hit *hit)
{
    host_reply_array(h, 1 + job->n_extras);
    host_reply_bulk(h, hit->member);
    if (job->with_dist)
        host_reply_distance(h, hit->distance_m / job->unit_m);
    if (job->with_hash)
        host_reply_integer(h, yn_score_to_int64(hit->score));
    if (job->with_coord) {
        host_reply_array(h, 2);
        host_reply_coordinate(h, hit->position.lon);
        host_reply_coordinate(h, hit->position.lat);
    }
    return hit->member.len + BULK_WIRE_LEN + 2 * job->n_extras * NUMBER_WIRE_LEN;
}

static bool step_hits(struct geo_job *job, struct host *h, size_t budget)
{
    struct yn_hit hit;
    for (size_t sent = 0; sent < budget || sent == 0;) {
        if (!yn_search_next(job->search, &hit))
            return true;
        sent += reply_hit(job, h, &hit);
    }
    return false;
}

/* The same for replies with distances and nothing else, a leaf at a time. */
static bool step_distances(struct geo_job *job, struct host *h, size_t budget)
{
    struct yn_hits hits;
    size_t sent = 0;
    do {
        if (!yn_search_next_hits(job->search, &hits))
            return true;
        size_t len = host_reply_hits(h, &hits, job->unit_m);
        if (len == 0) /* out of memory: the reply is lost, whatever follows */
            len = budget;
        sent += len;
    } while (sent < budget);
    return false;
}

static bool step_runs(struct geo_job *job, struct host *h, size_t budget)
{
    struct yn_run run;
    for (size_t sent = 0; sent < budget || sent == 0;) {
        if (!yn_search_next_run(job->search, &run))
            return true;
        host_reply_wire(h, run.wire, run.n);
        sent += run.wire.len;
    }
    return false;
}

static bool job_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct geo_job *job = (struct geo_job *)base;
    if (job->n_extras == 0)
        return step_runs(job, h, budget);
    if (job->with_dist && job->n_extras == 1)
        return step_distances(job, h, budget);
    return step_hits(job, h, budget);
}

static bool job_hold(struct cmd_job *base)
{
    struct geo_job *job = (struct geo_job *)base;
    return yn_zset_freeze(job->set, &job->held) == YN_OK;
}

static void job_free(struct cmd_job *base)
{
    struct geo_job *job = (struct geo_job *)base;
    yn_search_free(job->search);
    host_view_free(job->held);
    free(job);
}

static enum yn_status job_work(struct cmd_job *base, const struct yn_stop *stop)
{
    struct geo_job *job = (struct geo_job *)base;
    return yn_search_plan(job->search,
                          job->held != NULL ? job->held : yn_zset_view(job->set), stop);
}

static bool job_begin(struct cmd_job *base, struct cmd_call *call)
{
    struct geo_job *job = (struct geo_job *)base;
    size_t n = yn_search_count(job->search);
    base->n_bytes = n * job->entry_bytes;
    host_count_search(call->host, job->search);
    host_reply_array(call->host, n);
    return true;
}

/* A search that another thread should do may have to wait, with a frozen set, for its
 * turn. */
static void estimate(struct geo_job *job, struct host *h)
{
    const struct yn_view *view = yn_zset_view(job->set);
    uint64_t long_ns = host_long_ns(h);
    size_t n_results;
    if (yn_search_cost_ns(job->search, view, long_ns, NULL) < long_ns)
        return;
    yn_search_cost_ns(job->search, view, long_ns, &n_results);
    job->base.is_long = true;
    job->base.n_bytes = n_results * job->entry_bytes;
}

static struct geo_job *job_new(struct yn_zset *set, const struct geo_query *query)
{
    const struct yn_shape *shape = &query->search.shape;
    size_t vertices_len = shape->n_vertices * sizeof *shape->vertices;
    struct geo_job *job = malloc(sizeof *job + vertices_len);
    if (job == NULL)
        return NULL;
    *job = (struct geo_job){
        .base = {.work = job_work,
                 .begin = job_begin,
                 .step = job_step,
                 .hold = job_hold,
                 .free = job_free},
        .set = set,
        .entry_bytes = zset_reply_bytes(set, 1),
        .unit_m = query->unit_m,
        .with_coord = query->with_coord,
        .with_dist = query->with_dist,
        .with_hash = query->with_hash,
        .n_extras = (size_t)query->with_coord + query->with_dist + query->with_hash,
    };

    struct yn_query search = query->search;
    search.rounding_unit_m = query->unit_m; /* distances are printed, not stored */
    if (shape->n_vertices > 0) {
        memcpy(job->vertices, shape->vertices, vertices_len);
        search.shape.vertices = job->vertices;
    }
    if (yn_search_prepare(yn_zset_view(set), &search, &job->search) != YN_OK) {
        free(job);
        return NULL;
    }
    return job;
}

void cmd_geo_reply(struct cmd_call *call, struct yn_zset *set,
                   const struct geo_query *query)
{
    /* The parser lets no shape through that the engine refuses, so a failure is memory.
     */
    struct geo_job *job = job_new(set, query);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    estimate(job, call->host);
    call->job = &job->base;
}
