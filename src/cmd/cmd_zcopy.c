/*
 * cmd_zcopy.c: a part of one set as a new one: ZRANGESTORE, and COPY of a set.
 *
 * The copy is the work of a job, which another thread may do over a frozen view; then it
 * counts only while the source is still the set that was read, as it was read.
 */
#include "cmd/cmd_zcopy.h"

#include <stdlib.h>

#include "cmd/cmd_zset.h"
#include "cmd/zset_store.h"

struct copy_job {
    struct cmd_job base; /* must be first */
    struct yn_zset *set;
    struct yn_view *held; /* the frozen set, or NULL */
    size_t source_at;     /* the word of the call that names it */
    struct zrange_ranks ranks;
    struct yn_options options;
    struct yn_zset *result;
    zcopy_fn finish;
};

static enum yn_status job_work(struct cmd_job *base, const struct yn_stop *stop)
{
    struct copy_job *job = (struct copy_job *)base;
    const struct yn_view *view = job->held != NULL ? job->held : yn_zset_view(job->set);
    job->options.stop = stop;
    return yn_zset_copy(view, job->ranks.first, job->ranks.n, &job->options,
                        &job->result);
}

static bool job_begin(struct cmd_job *base, struct cmd_call *call)
{
    struct copy_job *job = (struct copy_job *)base;
    if (job->held != NULL &&
        !(host_key_holds(call->host, call->argv[job->source_at], job->set) &&
          yn_view_is_current(job->held)))
        return false;
    struct yn_zset *result = job->result;
    job->result = NULL;
    job->finish(call, result);
    return true;
}

static bool job_hold(struct cmd_job *base)
{
    struct copy_job *job = (struct copy_job *)base;
    return yn_zset_freeze(job->set, &job->held) == YN_OK;
}

static void job_free(struct cmd_job *base)
{
    struct copy_job *job = (struct copy_job *)base;
    host_view_free(job->held);
    yn_zset_free(job->result);
    free(job);
}

/* What it costs to copy an entry and to find it again, in nanoseconds. */
#define COPIED_NS 120

void zcopy_run(struct cmd_call *call, struct yn_zset *set, size_t source_at,
               struct zrange_ranks ranks, zcopy_fn finish)
{
    struct copy_job *job = malloc(sizeof *job);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    *job = (struct copy_job){
        .base = {.work = job_work,
                 .begin = job_begin,
                 .hold = job_hold,
                 .free = job_free,
                 .is_long = ranks.n >= host_long_ns(call->host) / COPIED_NS,
                 .changes_keys = true},
        .set = set,
        .source_at = source_at,
        .ranks = ranks,
        .options = *host_zset_options(call->host),
        .finish = finish,
    };
    call->job = &job->base;
}

/* ---- ZRANGESTORE ---- */

static void store_range(struct cmd_call *call, struct yn_zset *set)
{
    zset_store(call, call->argv[1], set, "zrangestore");
}

void cmd_zrangestore(struct cmd_call *call)
{
    struct zrange range = {.by = ZRANGE_BY_RANK, .takes_kind = true};
    struct zrange_ranks ranks = {0, 0};
    struct cmd_args args;
    struct yn_zset *source;
    cmd_args_init(&args, call, 3);
    if (!zrange_parse(&range, &args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[2], &source))
        return;
    if (source != NULL)
        ranks = zrange_ranks(&range, yn_zset_view(source));
    if (ranks.n > 0)
        zcopy_run(call, source, 2, ranks, store_range);
    else
        zset_store_nothing(call, call->argv[1]);
}
