/*
 * latency.h: moments in which the server kept everybody waiting, for LATENCY.
 *
 * An event is a kind of work: fast commands, other commands, the removal of expired keys.
 * Of each the latest 160 spikes are kept: those of `latency-monitor-threshold`
 * milliseconds and more, at most one a second (the longest).
 */
#ifndef LATENCY_H
#define LATENCY_H

#include <stdint.h>

enum latency_event { LATENCY_COMMAND, LATENCY_FAST_COMMAND, LATENCY_EXPIRE_CYCLE };
#define LATENCY_EVENTS 3
#define LATENCY_SAMPLES 160

struct latency_sample {
    int64_t time_s; /* since 1970; 0: none */
    uint64_t latency_ms;
};

struct latency_series {
    struct latency_sample samples[LATENCY_SAMPLES]; /* a ring */
    uint32_t n, next;
    uint64_t max_ms; /* since the last reset */
};

struct latency {
    struct latency_series series[LATENCY_EVENTS];
};

void latency_add(struct latency *latency, enum latency_event event, int64_t time_s,
                 uint64_t latency_ms);

#endif
