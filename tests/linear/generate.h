/*
 * generate.h: random operations for histories.
 */
#ifndef LINEAR_GENERATE_H
#define LINEAR_GENERATE_H

#include "linear/model.h"

/* What a history is made of. */
struct mixture {
    unsigned n_clients, n_members, n_keys; /* keys: a alone, or a and b; c always */
    unsigned weight[N_OP_KINDS];
    bool has_ballast; /* a and b hold more than the model knows: nothing that shows it */
};

/* A mixture by chance: few or many members, some kinds of operations more often. */
void mixture_choose(struct mixture *mixture, bool has_ballast, uint64_t *random);

/* Makes record->op (and its parts) of the client. */
void generate_record(const struct mixture *mixture, unsigned client,
                     struct record *record, uint64_t *random);

/* 0 <= result < n */
unsigned generate_below(uint64_t *random, unsigned n);

#endif
