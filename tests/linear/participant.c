#include "linear/participant.h"

#include <stdio.h>

#include "linear/generate.h"

#define BATCH_MAX 4

static bool fail(struct participant *p, const char *what, const struct record *record)
{
    char text[160] = "";
    if (record != NULL)
        model_format(record, text, sizeof text);
    snprintf(p->error, sizeof p->error, "%s %s", what, text);
    return false;
}

void participant_give(struct participant *p, struct record *records, unsigned n)
{
    p->records = records;
    p->n_records = n;
    p->n_started = p->n_expected = p->n_taken = 0;
    p->is_watching = false;
    p->stale.op.n = 0;
}

bool participant_is_done(const struct participant *p)
{
    return p->n_started == p->n_records && p->n_taken == p->n_expected &&
           p->exec_left == NULL && p->torn == NULL;
}

static bool by_chance(struct participant *p, unsigned one_in)
{
    return generate_below(&p->clock->random, one_in) == 0;
}

/* ---- sending ------------------------------------------------------------ */

static void expect(struct participant *p, struct record *record)
{
    p->expected[p->n_expected++] = record;
}

static bool queue_exec(struct participant *p, struct record *record, bool is_split)
{
    bool is_queued = wire_queue_text(&p->link, "MULTI");
    expect(p, NULL);
    for (unsigned i = 0; i < record->op.n; i++) {
        is_queued = is_queued && wire_queue(&p->link, &record->parts[i]);
        expect(p, NULL);
    }
    if (record->op.is_broken) {
        is_queued = is_queued && wire_queue_text(&p->link, "GEOADD");
        expect(p, NULL);
    }
    if (is_split) {
        p->exec_left = record;
        return is_queued;
    }
    expect(p, record);
    return is_queued && wire_queue(&p->link, &record->op);
}

/* Planted faults: the parts of a transaction or the members of a GEOADD, one by one. */
static bool tear(struct participant *p, struct record *record)
{
    if (p->clock->plant == PLANT_TORN_EXEC && record->op.kind == OP_EXEC &&
        !record->op.is_broken && !p->is_watching) {
        memcpy(p->pieces, record->parts, sizeof record->parts);
    } else if (p->clock->plant == PLANT_SPLIT_GEOADD && record->op.kind == OP_GEOADD) {
        for (unsigned i = 0; i < record->op.n; i++) {
            p->pieces[i] = record->op;
            p->pieces[i].n = 1;
            p->pieces[i].member[0] = record->op.member[i];
            p->pieces[i].place[0] = record->op.place[i];
        }
        record->answer.kind = ANSWER_INTEGER;
    } else {
        return false;
    }
    p->torn = record;
    p->n_pieces = record->op.n;
    p->n_pieces_done = 0;
    return true;
}

static bool send_piece(struct participant *p)
{
    expect(p, p->torn);
    return wire_queue(&p->link, &p->pieces[p->n_pieces_done]);
}

static bool queue(struct participant *p, struct record *record, bool is_alone)
{
    if (record->op.kind == OP_WATCH)
        p->is_watching = true;
    if (is_alone && tear(p, record))
        return send_piece(p);
    if (record->op.kind == OP_EXEC || record->op.kind == OP_UNWATCH)
        p->is_watching = false;
    if (record->op.kind == OP_EXEC)
        return queue_exec(p, record, is_alone && by_chance(p, 3));
    expect(p, record);
    bool is_lost = p->clock->plant == PLANT_LOST_MOVE && record->op.kind == OP_GEOADD &&
                   !record->op.is_ch && by_chance(p, 4);
    if (!is_lost)
        return wire_queue(&p->link, &record->op);
    return wire_queue_text(&p->link, "ZCARD nowhere"); /* 0, as GEOADD says of a move */
}

/* Queues what comes next: EXEC, the next piece, or one or several operations. */
static bool queue_next(struct participant *p)
{
    p->n_expected = p->n_taken = 0;
    if (p->torn != NULL)
        return send_piece(p);
    if (p->exec_left != NULL) {
        struct record *record = p->exec_left;
        p->exec_left = NULL;
        record->in_at = p->clock->now++;
        expect(p, record);
        return wire_queue(&p->link, &record->op);
    }
    unsigned n = by_chance(p, 3) ? 1 + generate_below(&p->clock->random, BATCH_MAX) : 1;
    uint32_t in_at = p->clock->now++;
    for (unsigned i = 0; i < n && p->n_started < p->n_records; i++) {
        struct record *record = &p->records[p->n_started++];
        record->in_at = in_at;
        if (!queue(p, record, n == 1))
            return false;
    }
    return true;
}

bool participant_go_on(struct participant *p)
{
    while (p->n_taken == p->n_expected && !participant_is_done(p)) {
        if (!queue_next(p))
            return fail(p, p->link.error, NULL);
        /* one system call in the usual case; what is left goes when the caller has polled
         */
        if (!cli_link_pump(&p->link))
            return fail(p, p->link.error, NULL);
        if (p->n_expected > p->n_taken)
            break;
    }
    return true;
}

/* ---- replies ------------------------------------------------------------ */

static bool take_piece(struct participant *p, struct record *record,
                       const struct yn_reply *reply)
{
    struct answer answer;
    unsigned at = p->n_pieces_done++;
    if (!wire_parse_op(p->wire, &p->pieces[at], reply, &answer))
        return fail(p, "an odd reply to a piece of", record);
    if (record->op.kind == OP_EXEC)
        record->answers[at] = answer;
    else
        record->answer.integer += answer.integer;
    if (p->n_pieces_done < p->n_pieces)
        return true;
    if (record->op.kind == OP_EXEC)
        record->answer.kind = ANSWER_ITEMS;
    record->out_at = p->clock->now++;
    p->torn = NULL;
    return true;
}

/* A planted fault: the answer of another time. */
static void falsify(struct participant *p, struct record *record)
{
    if (p->clock->plant != PLANT_STALE_READ || record->op.kind != OP_GEOPOS)
        return;
    if (p->stale.op.n > 0 && by_chance(p, 3)) {
        record->op = p->stale.op;
        record->answer = p->stale.answer;
    } else {
        p->stale = *record;
    }
}

static bool take(struct participant *p, const struct yn_reply *reply)
{
    struct record *record = p->expected[p->n_taken++];
    if (record == NULL) /* what EXEC says shows whether it was queued */
        return reply->type == YN_REPLY_STATUS || reply->type == YN_REPLY_ERROR ||
               fail(p, "an odd reply inside of a transaction", NULL);
    if (record == p->torn)
        return take_piece(p, record, reply);
    if (!wire_parse(p->wire, record, reply))
        return fail(p, "an odd reply to", record);
    falsify(p, record);
    record->out_at = p->clock->now++;
    return true;
}

bool participant_receive(struct participant *p)
{
    if (!cli_link_pump(&p->link))
        return fail(p, p->link.error, NULL);
    for (;;) {
        struct yn_reply *reply;
        if (!cli_link_poll(&p->link, &reply))
            return fail(p, p->link.error, NULL);
        if (reply == NULL)
            break;
        bool is_right = p->n_taken < p->n_expected ? take(p, reply)
                                                   : fail(p, "a reply too many", NULL);
        yn_reply_free(reply);
        if (!is_right)
            return false;
    }
    return participant_go_on(p);
}
