/*
 * bench_keys.h: the keys of a comparison, loaded when a row first needs them and dropped
 * after the last.
 */
#ifndef BENCH_KEYS_H
#define BENCH_KEYS_H

#include "tools/bench_session.h"

/* Loads the key of a row into both servers unless it is there. Of a row that is the
 * loading itself, the result takes the figures. False: the row has failed. */
bool bench_keys_load(struct bench_session *session, struct bench_result *result);

/* Deletes the key of the i-th result from both servers unless a later one needs it. */
void bench_keys_drop_unused(struct bench_session *session, size_t i);

#endif
