/*
 * bench_verify.h: the check of a row: do both servers answer the same, and what do they
 * look at to find it?
 */
#ifndef BENCH_VERIFY_H
#define BENCH_VERIFY_H

#include "tools/bench_session.h"

/* Sends a few requests of the row to both and compares; notes hits, candidates and work
 * in the result. False: the row has failed. */
bool bench_verify_row(struct bench_session *session, struct bench_result *result);

#endif
