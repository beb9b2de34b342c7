#include "cmd/string_reply.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"

/* One block: the job, the pieces, and the bytes of those that are no blob's. */
struct pieces_job {
    struct cmd_job base; /* must be first */
    size_t n, at;
    size_t n_sent; /* bytes of the piece at `at` */
    struct string_piece pieces[];
};

static bool pieces_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct pieces_job *job = (struct pieces_job *)base;
    while (job->at < job->n && budget > 0) {
        struct yn_bytes rest = job->pieces[job->at].bytes;
        if (job->pieces[job->at].is_null) {
            host_reply_null(h);
            job->at++;
            continue;
        }
        rest.data += job->n_sent;
        rest.len -= job->n_sent;
        if (rest.len > budget) {
            rest.len = budget;
            job->n_sent += budget;
        } else {
            job->n_sent = 0;
            job->at++;
        }
        host_reply_wire(h, rest, 0);
        budget -= rest.len;
    }
    return job->at == job->n;
}

/* Held from the beginning. */
static bool pieces_hold(struct cmd_job *base)
{
    (void)base;
    return true;
}

static void pieces_free(struct cmd_job *base)
{
    struct pieces_job *job = (struct pieces_job *)base;
    for (size_t i = 0; i < job->n; i++) {
        if (job->pieces[i].blob != NULL)
            host_blob_drop(job->pieces[i].blob);
    }
    free(job);
}

struct cmd_job *string_job_new(const struct string_piece *pieces, size_t n)
{
    size_t n_copied = 0;
    for (size_t i = 0; i < n; i++)
        n_copied += pieces[i].blob == NULL ? pieces[i].bytes.len : 0;
    struct pieces_job *job = malloc(sizeof *job + n * sizeof *pieces + n_copied);
    if (job == NULL)
        return NULL;
    *job = (struct pieces_job){
        .base = {.step = pieces_step, .hold = pieces_hold, .free = pieces_free},
        .n = n,
    };
    char *to = (char *)(job->pieces + n);
    for (size_t i = 0; i < n; i++) {
        struct string_piece *piece = &job->pieces[i];
        *piece = pieces[i];
        job->base.n_bytes += piece->bytes.len;
        if (piece->blob != NULL) {
            host_blob_hold(piece->blob);
        } else if (piece->bytes.len > 0) {
            memcpy(to, piece->bytes.data, piece->bytes.len);
            piece->bytes.data = to;
            to += piece->bytes.len;
        }
    }
    return &job->base;
}

struct string_piece *string_pieces(struct cmd_call *call, const struct host_value *value,
                                   struct yn_bytes bytes, struct string_piece *out_pieces)
{
    char *head = cmd_arena_take(call->arena, YN_NUM_TEXT_MAX + 3);
    if (head == NULL)
        return NULL;
    head[0] = '$';
    size_t len = 1 + yn_num_format_uint64(bytes.len, head + 1);
    head[len++] = '\r';
    head[len++] = '\n';
    *out_pieces++ = (struct string_piece){.bytes = {head, len}};
    *out_pieces++ = (struct string_piece){.bytes = bytes, .blob = value->blob};
    *out_pieces++ = (struct string_piece){.bytes = {"\r\n", 2}};
    return out_pieces;
}

/* Smaller parts of a large string are copied. */
#define PART_LEN_MIN ((size_t)16 * 1024)

bool string_reply_part(struct cmd_call *call, const struct host_value *value,
                       struct yn_bytes part)
{
    bool is_whole = part.len == value->string.len;
    if (value->blob == NULL || (!is_whole && part.len < PART_LEN_MIN)) {
        host_reply_bulk(call->host, part);
        return true;
    }
    struct string_piece *pieces =
        cmd_arena_take(call->arena, STRING_PIECES * sizeof *pieces);
    if (pieces != NULL && string_pieces(call, value, part, pieces) != NULL)
        call->job = string_job_new(pieces, STRING_PIECES);
    if (call->job == NULL)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    return call->job != NULL;
}

bool string_reply(struct cmd_call *call, const struct host_value *value)
{
    return string_reply_part(call, value, value->string);
}
