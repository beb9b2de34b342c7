/*
 * check.h: is a history linearizable? That is: can each operation be put at one moment
 * between its beginning and its end, so that the model, doing them one after the other in
 * that order, gives the answers that were recorded?
 */
#ifndef LINEAR_CHECK_H
#define LINEAR_CHECK_H

#include "linear/model.h"

#define CHECK_RECORDS_MAX 128

enum check_result {
    CHECK_FINE,
    CHECK_BROKEN,
    CHECK_UNDECIDED, /* given up: too many ways */
};

struct check {
    struct check_memory *memory;
    uint64_t n_steps; /* of the model, over all histories */
    /* of the last history that was broken: the longest way that led somewhere */
    size_t n_best;
    const struct record *best[CHECK_RECORDS_MAX];
    struct model_state best_state;
};

void check_init(struct check *check);
void check_clear(struct check *check);

/* Checks n <= CHECK_RECORDS_MAX records. Those of one client follow each other in the
 * array as it sent them; between clients there is no order but that of the times. */
enum check_result check_history(struct check *check, const struct model_world *world,
                                const struct model_state *start,
                                const struct record *records, size_t n);

#endif
