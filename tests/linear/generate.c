#include "linear/generate.h"

#include <string.h>

#include "core/random.h"

unsigned generate_below(uint64_t *random, unsigned n)
{
    return (unsigned)((unsigned __int128)yn_random_next(random) * n >> 64);
}

static const unsigned weights[N_OP_KINDS] = {
    [OP_GEOADD] = 24,        [OP_ZREM] = 8,    [OP_GEOPOS] = 16, [OP_GEOSEARCH] = 16,
    [OP_GEOSEARCHSTORE] = 5, [OP_ZRANGE] = 6,  [OP_ZCARD] = 3,   [OP_DEL] = 1,
    [OP_RENAME] = 2,         [OP_COPY] = 3,    [OP_ZPOPMIN] = 2, [OP_BZPOPMIN] = 2,
    [OP_WATCH] = 6,          [OP_UNWATCH] = 1, [OP_EXEC] = 14,
};

void mixture_choose(struct mixture *mixture, bool has_ballast, uint64_t *random)
{
    memset(mixture, 0, sizeof *mixture);
    mixture->n_clients = 2 + generate_below(random, MODEL_CLIENTS - 1);
    mixture->n_members = 2 + generate_below(random, MODEL_MEMBERS - 1);
    mixture->n_keys = 1 + generate_below(random, 2);
    mixture->has_ballast = has_ballast;
    memcpy(mixture->weight, weights, sizeof weights);
    for (unsigned i = 0; i < 2; i++)
        mixture->weight[generate_below(random, N_OP_KINDS)] *= 4;
    if (has_ballast) /* of the destination they would be fine, but not of the others */
        mixture->weight[OP_RENAME] = mixture->weight[OP_COPY] = 0;
}

static uint8_t choose_key(const struct mixture *mixture, uint64_t *random)
{
    unsigned chance = generate_below(random, 100);
    if (chance < 20)
        return 2;
    return mixture->n_keys == 2 && chance < 50 ? 1 : 0;
}

static enum op_kind choose_kind(const struct mixture *mixture, uint64_t *random)
{
    unsigned sum = 0;
    for (unsigned k = 0; k < N_OP_KINDS; k++)
        sum += mixture->weight[k];
    unsigned at = generate_below(random, sum), kind = 0;
    while (at >= mixture->weight[kind])
        at -= mixture->weight[kind++];
    return (enum op_kind)kind;
}

/* n different members, in any order */
static void choose_members(const struct mixture *mixture, struct op *op, uint64_t *random)
{
    uint8_t members[MODEL_MEMBERS];
    for (uint8_t m = 0; m < MODEL_MEMBERS; m++)
        members[m] = m;
    op->n = (uint8_t)(1 + generate_below(random, mixture->n_members));
    for (unsigned i = 0; i < op->n; i++) {
        unsigned at = i + generate_below(random, mixture->n_members - i);
        op->member[i] = members[at];
        members[at] = members[i];
        op->place[i] = (uint8_t)(1 + generate_below(random, MODEL_PLACES));
    }
}

static void choose_add(struct op *op, uint64_t *random)
{
    unsigned how = generate_below(random, 8);
    op->is_nx = how == 0;
    op->is_xx = how == 1;
    op->is_ch = generate_below(random, 2) == 0;
}

static void choose_search(struct op *op, uint64_t *random)
{
    op->shape = (uint8_t)generate_below(random, MODEL_SHAPES);
    if (op->kind != OP_GEOSEARCH)
        return;
    op->order = (enum op_order)generate_below(random, 3);
    op->with_coord = generate_below(random, 4) != 0;
    if (generate_below(random, 3) == 0) {
        op->count = (uint8_t)(1 + generate_below(random, 4));
        op->is_any = generate_below(random, 3) == 0;
    }
}

static void choose_op(const struct mixture *mixture, struct op *op, uint64_t *random)
{
    op->key = choose_key(mixture, random);
    op->other = choose_key(mixture, random);
    bool shows_all = op->kind == OP_ZRANGE || op->kind == OP_ZPOPMIN ||
                     op->kind == OP_BZPOPMIN || op->kind == OP_DEL ||
                     op->kind == OP_GEOSEARCHSTORE;
    if (mixture->has_ballast && shows_all)
        op->key = 2;
    if (mixture->has_ballast && op->kind == OP_BZPOPMIN)
        op->other = 2;
    if (op->kind == OP_RENAME || op->kind == OP_COPY)
        while (op->other == op->key)
            op->other = choose_key(mixture, random);
    if (op->kind == OP_GEOADD || op->kind == OP_ZREM || op->kind == OP_GEOPOS)
        choose_members(mixture, op, random);
    if (op->kind == OP_GEOADD)
        choose_add(op, random);
    choose_search(op, random);
}

void generate_record(const struct mixture *mixture, unsigned client,
                     struct record *record, uint64_t *random)
{
    memset(record, 0, sizeof *record);
    record->client = (uint8_t)client;
    record->op.kind = choose_kind(mixture, random);
    if (record->op.kind != OP_EXEC) {
        choose_op(mixture, &record->op, random);
        return;
    }
    record->op.n = (uint8_t)(1 + generate_below(random, MODEL_PARTS));
    record->op.is_broken = generate_below(random, 12) == 0;
    for (unsigned i = 0; i < record->op.n; i++) {
        do
            record->parts[i].kind = choose_kind(mixture, random);
        while (record->parts[i].kind >= OP_BZPOPMIN);
        choose_op(mixture, &record->parts[i], random);
    }
}
