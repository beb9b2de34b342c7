/*
 * cmd_geo_store.c: the results of a search as a new set.
 *
 * The hits are collected, put into the order of the set to come, and built into it in one
 * go: that is the work of a job, which another thread may do. Nothing changes before the
 * finished set is handed to the host, so that a failure leaves both keys as they were;
 * source and destination may be the same key. If the work was done apart the result
 * counts only while the source is still the set that was read, as it was read.
 */
#include "cmd/cmd_geo.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/zset_store.h"
#include "core/bytes.h"
#include "core/stop.h"

struct store_job {
    struct cmd_job base; /* must be first */
    const char *event;
    struct yn_zset *set;              /* the source */
    struct yn_view *held;             /* the frozen source, or NULL */
    size_t source_at, destination_at; /* words of the call */
    struct yn_options options;        /* of the new set */
    struct yn_search *search;
    bool stores_dist;
    double unit_m;
    struct yn_zset *result; /* NULL: nothing was found */
    struct yn_point vertices[];
};

/* ---- the order of the set to come ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct yn_entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(x->member, y->member);
}

static void merge(const struct yn_entry *from, struct yn_entry *to, size_t at,
                  size_t middle, size_t end)
{
    size_t a = at, b = middle;
    for (size_t i = at; i < end; i++) {
        bool takes_first =
            a < middle && (b == end || compare_entries(&from[a], &from[b]) <= 0);
        to[i] = takes_first ? from[a++] : from[b++];
    }
}

/* Sorts pieces and merges them, so that it can be stopped in between. `space` holds as
 * many; the result is in *entries, which may be swapped with it. */
#define PIECE YN_STOP_EVERY
static bool sort_entries(struct yn_entry **entries, struct yn_entry **space, size_t n,
                         struct yn_stopper *stopper)
{
    for (size_t at = 0; at < n; at += PIECE) {
        size_t len = n - at < PIECE ? n - at : PIECE;
        qsort(*entries + at, len, sizeof **entries, compare_entries);
        if (yn_stopper_ends(stopper, len))
            return false;
    }
    for (size_t len = PIECE; len < n; len *= 2) {
        for (size_t at = 0; at < n; at += 2 * len) {
            size_t middle = n - at < len ? n : at + len;
            size_t end = n - middle < len ? n : middle + len;
            merge(*entries, *space, at, middle, end);
            if (yn_stopper_ends(stopper, end - at))
                return false;
        }
        struct yn_entry *swapped = *entries;
        *entries = *space;
        *space = swapped;
    }
    return true;
}

/* ---- the work ---- */

/* The results in ascending order, into `entries`. Their members are borrowed. */
static size_t collect(struct store_job *job, struct yn_entry *entries,
                      struct yn_stopper *stopper)
{
    struct yn_hit hit;
    size_t n = 0;
    while (yn_search_next(job->search, &hit) && !yn_stopper_ends(stopper, 1)) {
        double score = job->stores_dist ? hit.distance_m / job->unit_m : hit.score;
        entries[n++] = (struct yn_entry){hit.member, score};
    }
    return n;
}

static enum yn_status build(struct store_job *job, const struct yn_stop *stop)
{
    struct yn_stopper stopper = {.stop = stop};
    job->options.stop = stop;
    size_t n = yn_search_count(job->search);
    struct yn_entry *entries = calloc(n, sizeof *entries);
    struct yn_entry *space = n > PIECE ? calloc(n, sizeof *space) : NULL;
    enum yn_status status = YN_ENOMEM;
    if (entries != NULL && (space != NULL || n <= PIECE)) {
        bool is_sorted = collect(job, entries, &stopper) == n &&
                         sort_entries(&entries, &space, n, &stopper);
        status = is_sorted ? yn_zset_build(&job->options, entries, n, &job->result)
                           : YN_ESTOPPED;
    }
    free(entries);
    free(space);
    return status;
}

static enum yn_status job_work(struct cmd_job *base, const struct yn_stop *stop)
{
    struct store_job *job = (struct store_job *)base;
    enum yn_status status = yn_search_plan(
        job->search, job->held != NULL ? job->held : yn_zset_view(job->set), stop);
    if (status == YN_OK && yn_search_count(job->search) > 0)
        status = build(job, stop);
    return status;
}

/* ---- the keys ---- */

static bool job_begin(struct cmd_job *base, struct cmd_call *call)
{
    struct store_job *job = (struct store_job *)base;
    struct host *h = call->host;
    struct yn_bytes key = call->argv[job->destination_at];
    if (job->held != NULL && !(host_key_holds(h, call->argv[job->source_at], job->set) &&
                               yn_view_is_current(job->held)))
        return false;
    host_count_search(h, job->search);
    struct yn_zset *result = job->result;
    job->result = NULL;
    if (result == NULL)
        zset_store_nothing(call, key);
    else
        zset_store(call, key, result, job->event);
    return true;
}

/* ---- the job ---- */

static bool job_hold(struct cmd_job *base)
{
    struct store_job *job = (struct store_job *)base;
    return yn_zset_freeze(job->set, &job->held) == YN_OK;
}

static void job_free(struct cmd_job *base)
{
    struct store_job *job = (struct store_job *)base;
    yn_search_free(job->search);
    host_view_free(job->held);
    yn_zset_free(job->result);
    free(job);
}

/* Which word of the call a key is. Words without bytes may lie in the same place. */
static size_t word_of(const struct cmd_call *call, struct yn_bytes key)
{
    size_t i = 1;
    while (call->argv[i].data != key.data || call->argv[i].len != key.len)
        i++;
    return i;
}

/* Building costs so much for each result, in nanoseconds. */
#define STORED_NS 400

static bool is_long(const struct store_job *job, struct host *h)
{
    const struct yn_view *view = yn_zset_view(job->set);
    uint64_t long_ns = host_long_ns(h);
    size_t n_results;
    uint64_t cost_ns = yn_search_cost_ns(job->search, view, long_ns, &n_results);
    return cost_ns >= long_ns || n_results > (long_ns - cost_ns) / STORED_NS;
}

static struct store_job *job_new(const struct cmd_call *call, struct yn_zset *set,
                                 const struct geo_query *query, const char *event)
{
    const struct yn_shape *shape = &query->search.shape;
    size_t vertices_len = shape->n_vertices * sizeof *shape->vertices;
    struct store_job *job = malloc(sizeof *job + vertices_len);
    if (job == NULL)
        return NULL;
    *job = (struct store_job){
        .base = {.work = job_work,
                 .begin = job_begin,
                 .hold = job_hold,
                 .free = job_free,
                 .changes_keys = true},
        .event = event,
        .set = set,
        .source_at = query->source_at,
        .destination_at = word_of(call, query->store_key),
        .options = *host_zset_options(call->host),
        .stores_dist = query->stores_dist,
        .unit_m = query->unit_m,
    };
    struct yn_query search = query->search;
    if (vertices_len > 0) {
        memcpy(job->vertices, shape->vertices, vertices_len);
        search.shape.vertices = job->vertices;
    }
    if (yn_search_prepare(yn_zset_view(set), &search, &job->search) != YN_OK) {
        free(job);
        return NULL;
    }
    job->base.is_long = is_long(job, call->host);
    return job;
}

void cmd_geo_store(struct cmd_call *call, struct yn_zset *set,
                   const struct geo_query *query, const char *event)
{
    if (set == NULL) {
        zset_store_nothing(call, query->store_key);
        return;
    }
    struct store_job *job = job_new(call, set, query, event);
    if (job == NULL)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        call->job = &job->base;
}
