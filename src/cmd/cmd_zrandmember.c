/*
 * cmd_zrandmember.c: ZRANDMEMBER, members drawn at random, each rank as likely as any.
 *
 * How they are drawn, all but the first as jobs:
 *   one        a random rank is sought
 *   all        the whole set is sent, from the highest rank down, as Redis does
 *   repeated   (a negative count) a random rank is sought for each; nothing is kept, so
 *              that any number can be asked for
 *   few        of many distinct ones: the same, and ranks that were drawn before are
 * drawn again; a table remembers them a part     of the set that is not small: selection
 * sampling (Knuth, volume 2, 3.4.2, algorithm S): a walk along the set, on which each
 * entry is taken with the likelihood that the numbers of those wanted and those left
 * leave it. It needs no memory, and the walk costs less than that many look-ups by rank.
 *
 * Redis promises neither an order nor which members; both are uniform here.
 */
#include <stdlib.h>

#include "cmd/cmd_zset.h"
#include "cmd/zset_reply.h"

/* A uniform number below n, which is not 0. What would make low numbers likelier is
 * thrown away: the first 2^64 mod n. */
static uint64_t random_below(struct host *h, uint64_t n)
{
    uint64_t x, rest = (0 - n) % n;
    do
        x = host_random(h);
    while (x < rest);
    return x % n;
}

static struct yn_entry entry_at(const struct yn_view *view, size_t rank)
{
    struct yn_cursor cursor;
    yn_cursor_seek(&cursor, view, rank);
    return yn_cursor_entry(&cursor);
}

/* ---- the job ---- */

/* From so many members for each that is wanted on, those drawn are remembered instead of
 * walking: the table then takes at most 2 bytes for each member of the set. */
#define SPARSE_RATIO 16

struct random_job {
    struct cmd_job base;        /* must be first */
    struct yn_zset *set;        /* until the job is held */
    struct yn_view *held;       /* the frozen set, or NULL */
    const struct yn_view *view; /* the live or the frozen one */
    uint64_t n_left;            /* members that are still to be sent */
    enum zset_reply_shape shape;
    bool walks;
    struct yn_cursor cursor; /* of the walk */
    size_t rank;             /* of the entry under it */
    size_t n_drawn_slots;    /* a power of two, or 0: ranks may be drawn again */
    uint64_t drawn[];        /* ranks + 1, by hash; 0: free */
};

#define ENTRY_WIRE_LEN 48 /* about what an entry takes besides its member */

/* Remembers a rank. Returns false when it was there. The ranks are random already, but
 * their low bits alone would make runs. */
static bool add_drawn(struct random_job *job, uint64_t rank)
{
    size_t mask = job->n_drawn_slots - 1;
    size_t i = (size_t)((rank * 0x9e3779b97f4a7c15u) >> 32) & mask;
    for (; job->drawn[i] != 0; i = (i + 1) & mask) {
        if (job->drawn[i] == rank + 1)
            return false;
    }
    job->drawn[i] = rank + 1;
    return true;
}

static struct yn_entry draw(struct random_job *job, struct host *h)
{
    uint64_t rank;
    do
        rank = random_below(h, yn_view_count(job->view));
    while (job->n_drawn_slots > 0 && !add_drawn(job, rank));
    return entry_at(job->view, rank);
}

/* Goes on to the next entry that is taken. There always is one: where only as many are
 * left as are wanted, each is. */
static struct yn_entry walk(struct random_job *job, struct host *h)
{
    for (;;) {
        struct yn_entry entry = yn_cursor_entry(&job->cursor);
        bool is_taken =
            random_below(h, yn_view_count(job->view) - job->rank) < job->n_left;
        job->rank++;
        if (job->rank < yn_view_count(job->view))
            yn_cursor_next(&job->cursor);
        if (is_taken)
            return entry;
    }
}

static bool job_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct random_job *job = (struct random_job *)base;
    for (size_t sent = 0; job->n_left > 0 && (sent < budget || sent == 0);) {
        struct yn_entry entry = job->walks ? walk(job, h) : draw(job, h);
        zset_reply_entry(h, entry, job->shape);
        sent += entry.member.len + ENTRY_WIRE_LEN;
        job->n_left--;
    }
    return job->n_left == 0;
}

static bool job_hold(struct cmd_job *base)
{
    struct random_job *job = (struct random_job *)base;
    if (yn_zset_freeze(job->set, &job->held) != YN_OK)
        return false;
    job->view = job->held;
    if (job->walks)
        yn_cursor_seek(&job->cursor, job->view, job->rank);
    return true;
}

static void job_free(struct cmd_job *base)
{
    struct random_job *job = (struct random_job *)base;
    host_view_free(job->held);
    free(job);
}

static struct random_job *job_new(struct yn_zset *set, uint64_t n, bool repeats,
                                  enum zset_reply_shape shape)
{
    size_t count = yn_zset_count(set), n_slots = 0;
    bool walks = !repeats && n > count / SPARSE_RATIO;
    if (!repeats && !walks)
        for (n_slots = 4; n_slots < n * 2;)
            n_slots *= 2;

    struct random_job *job = calloc(1, sizeof *job + n_slots * sizeof job->drawn[0]);
    if (job == NULL)
        return NULL;
    job->base = (struct cmd_job){.step = job_step, .hold = job_hold, .free = job_free};
    job->base.n_bytes = zset_reply_bytes(set, n);
    job->set = set;
    job->view = yn_zset_view(set);
    job->n_left = n;
    job->shape = shape;
    job->walks = walks;
    job->n_drawn_slots = n_slots;
    if (walks)
        yn_cursor_seek(&job->cursor, job->view, 0);
    return job;
}

/* ---- the command ---- */

/* `count` members, or, when it is negative, -count that may repeat. */
static void reply_many(struct cmd_call *call, struct yn_zset *set, int64_t count,
                       enum zset_reply_shape shape)
{
    size_t n_members = yn_zset_count(set);
    if (count > 0 && (uint64_t)count >= n_members) {
        zset_reply_run(call, set, (struct zrange_ranks){0, n_members}, true, shape);
        return;
    }
    uint64_t n = count < 0 ? (uint64_t)-count : (uint64_t)count;
    struct random_job *job = job_new(set, n, count < 0, shape);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    zset_reply_header(call->host, n, shape);
    call->job = &job->base;
}

/* count [WITHSCORES] */
static bool parse_count(struct cmd_args *args, int64_t *out_count,
                        enum zset_reply_shape *out_shape)
{
    *out_shape = ZSET_REPLY_MEMBERS;
    if (!cmd_args_int64(args, CMD_ERR_INTEGER, out_count))
        return false;
    if (*out_count == INT64_MIN)
        return cmd_args_fail(args, "ERR value is out of range, value must between "
                                   "-9223372036854775807 and 9223372036854775807");
    if (cmd_args_option(args, "withscores", 0))
        *out_shape = ZSET_REPLY_SCORES;
    if (cmd_args_left(args) > 0)
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    if (*out_shape == ZSET_REPLY_SCORES &&
        (*out_count < -(INT64_MAX / 2) || *out_count > INT64_MAX / 2))
        return cmd_args_fail(args, "ERR value is out of range");
    return true;
}

void cmd_zrandmember(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    struct yn_zset *set;
    int64_t count = 0;
    enum zset_reply_shape shape = ZSET_REPLY_MEMBERS;
    bool has_count = call->argc > 2;
    cmd_args_init(&args, call, 2);
    if (has_count && !parse_count(&args, &count, &shape)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    if (has_count && set != NULL && count != 0)
        reply_many(call, set, count, shape);
    else if (has_count)
        host_reply_array(h, 0);
    else if (set == NULL)
        host_reply_null(h);
    else
        host_reply_bulk(
            h, entry_at(yn_zset_view(set), random_below(h, yn_zset_count(set))).member);
}
