/*
 * stats.h: what the server counts, for INFO. One struct per loop, so that counting needs
 * no lock; readers add the loops up.
 */
#ifndef STATS_H
#define STATS_H

#include <stdatomic.h>

#include "cmd/cmd.h"
#include "core/histogram.h"

/* Per command. */
struct stats_command {
    const struct cmd_spec *spec;
    uint64_t calls;
    uint64_t rejected; /* refused before it ran: arity, authentication, memory */
    uint64_t failed;   /* ran and answered with an error */
    uint64_t time_ns;
    struct yn_histogram *latency_ns; /* of its calls; NULL: none was counted */
};

/* Per error code ("ERR", "WRONGTYPE"). */
#define STATS_ERROR_CODE_MAX 24
struct stats_error {
    char code[STATS_ERROR_CODE_MAX];
    uint64_t count;
};

#define STATS_COMMAND_SLOTS \
    1024 /* a power of two, at least twice the number of commands */
#define STATS_ERRORS 64

/* Those that are atomic are counted with no lock, all others under it: by the loop's own
 * thread. Others may look at those under the lock, exclusively. */
struct stats {
    _Atomic uint64_t connections, rejected_connections;
    _Atomic uint64_t reads, writes, bytes_in, bytes_out;
    _Atomic uint64_t query_limit_kills, output_limit_kills; /* connections */
    /* yn_search_work */
    _Atomic uint64_t searches, search_leaves, search_tested, search_hits;
    _Atomic uint64_t jobs_apart, jobs_given_up, jobs_timed_out,
        jobs_run_again; /* jobs.h */
    uint64_t commands;
    uint64_t keyspace_hits, keyspace_misses;
    uint64_t changes; /* of keys */
    uint64_t errors;
    uint64_t denied_logins, denied_commands, denied_keys, denied_channels;
    struct stats_command command[STATS_COMMAND_SLOTS]; /* hashed by the spec's address */
    struct stats_error error[STATS_ERRORS];
    size_t n_errors;
};

void stats_init(struct stats *stats);
void stats_clear(struct stats *stats);

/* Where the search for a command's counters begins. Specs lie in tables, some 100 bytes
 * apart: a product spreads them. */
static inline size_t stats_slot_of(const struct cmd_spec *spec)
{
    return (size_t)((uint64_t)(uintptr_t)spec * UINT64_C(0x9e3779b97f4a7c15) >> 40) &
           (STATS_COMMAND_SLOTS - 1);
}

/* Searches on from there; gives a command that has none a place. */
struct stats_command *stats_command_take(struct stats *stats,
                                         const struct cmd_spec *spec);

/* The counters of a command; never NULL while STATS_COMMAND_SLOTS is large enough. */
static inline struct stats_command *stats_command_of(struct stats *stats,
                                                     const struct cmd_spec *spec)
{
    struct stats_command *c = &stats->command[stats_slot_of(spec)];
    return c->spec == spec ? c : stats_command_take(stats, spec);
}
/* The same if it has been counted, else NULL. */
const struct stats_command *stats_find_command(const struct stats *stats,
                                               const struct cmd_spec *spec);
/* Counts n calls that took so long each in the command's histogram. Without memory for
 * one they are not counted. */
void stats_count_latency(struct stats_command *command, uint64_t duration_ns, uint64_t n);
/* Counts an error reply: text begins with its code. */
void stats_count_error(struct stats *stats, struct yn_bytes text);
/* Sets all to zero, while others count. */
void stats_reset(struct stats *stats);
/* Adds what another loop has counted. */
void stats_merge(struct stats *total, const struct stats *part);

/* Adds to a figure that one thread alone writes: no locked instruction. */
static inline void stats_add(_Atomic uint64_t *figure, uint64_t n)
{
    uint64_t now = atomic_load_explicit(figure, memory_order_relaxed) + n;
    atomic_store_explicit(figure, now, memory_order_relaxed);
}

#endif
