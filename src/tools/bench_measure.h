/*
 * bench_measure.h: the rounds of a row, on both servers in turn.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "tools/bench_session.h"

/* Measures a row whose key is there and whose answers are right; the sides of the result
 * take the figures. False: the row has failed. */
bool bench_measure_row(struct bench_session *session, struct bench_result *result);

/* How long a row of fast requests takes on one server. */
double bench_measure_seconds(unsigned n_rounds, double duration_s);

/* The least number of requests of a round, when the row asks for n_min and one takes
 * request_s: fewer where they take so long that a round would last more than a few
 * seconds, but always two of each connection's batches. */
uint64_t bench_measure_least(uint64_t n_min, double request_s, uint64_t n_batch);

#endif
