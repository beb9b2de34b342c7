#include "server/stats.h"

#include <stdlib.h>
#include <string.h>

struct stats_command *stats_command_take(struct stats *stats, const struct cmd_spec *spec)
{
    for (size_t i = stats_slot_of(spec);; i++) {
        struct stats_command *c = &stats->command[i & (STATS_COMMAND_SLOTS - 1)];
        if (c->spec == NULL)
            c->spec = spec;
        if (c->spec == spec)
            return c;
    }
}

const struct stats_command *stats_find_command(const struct stats *stats,
                                               const struct cmd_spec *spec)
{
    for (size_t i = stats_slot_of(spec);; i++) {
        const struct stats_command *c = &stats->command[i & (STATS_COMMAND_SLOTS - 1)];
        if (c->spec == spec || c->spec == NULL)
            return c->spec == spec ? c : NULL;
    }
}

void stats_count_latency(struct stats_command *command, uint64_t duration_ns, uint64_t n)
{
    if (command->latency_ns == NULL)
        command->latency_ns = calloc(1, sizeof *command->latency_ns);
    if (command->latency_ns != NULL)
        yn_histogram_add(command->latency_ns, duration_ns, n);
}

static void count_errors(struct stats *stats, const char *code, size_t len, uint64_t n)
{
    for (size_t i = 0; i < stats->n_errors; i++) {
        struct stats_error *e = &stats->error[i];
        if (strncmp(e->code, code, len) == 0 && e->code[len] == '\0') {
            e->count += n;
            return;
        }
    }
    if (stats->n_errors == STATS_ERRORS)
        return;
    struct stats_error *e = &stats->error[stats->n_errors++];
    memcpy(e->code, code, len);
    e->code[len] = '\0';
    e->count = n;
}

void stats_count_error(struct stats *stats, struct yn_bytes text)
{
    size_t len = 0;
    while (len < text.len && text.data[len] != ' ' && len < STATS_ERROR_CODE_MAX - 1)
        len++;
    stats->errors++;
    count_errors(stats, text.data, len, 1);
}

void stats_init(struct stats *stats)
{
    memset(stats, 0, sizeof *stats);
}

void stats_clear(struct stats *stats)
{
    for (size_t i = 0; i < STATS_COMMAND_SLOTS; i++)
        free(stats->command[i].latency_ns);
}

/* The figures that are atomic. */
/* clang-format off */
#define STATS_SHOWN_MAP(X)                                                          \
    X(connections) X(rejected_connections) X(reads) X(writes) X(bytes_in) X(bytes_out) \
    X(query_limit_kills) X(output_limit_kills) X(searches) X(search_leaves)          \
    X(search_tested) X(search_hits) X(jobs_apart) X(jobs_given_up)                   \
    X(jobs_timed_out) X(jobs_run_again)
/* The others that are plain numbers. */
#define STATS_LOCKED_MAP(X)                                                     \
    X(commands) X(keyspace_hits) X(keyspace_misses) X(changes) X(errors)        \
    X(denied_logins) X(denied_commands) X(denied_keys) X(denied_channels)
/* clang-format on */

void stats_reset(struct stats *stats)
{
    stats_clear(stats);
#define RESET(name) atomic_store_explicit(&stats->name, 0, memory_order_relaxed);
    STATS_SHOWN_MAP(RESET)
#undef RESET
#define RESET(name) stats->name = 0;
    STATS_LOCKED_MAP(RESET)
#undef RESET
    memset(stats->command, 0, sizeof stats->command);
    memset(stats->error, 0, sizeof stats->error);
    stats->n_errors = 0;
}

static void merge_command(struct stats *total, const struct stats_command *part)
{
    struct stats_command *c = stats_command_of(total, part->spec);
    c->calls += part->calls;
    c->rejected += part->rejected;
    c->failed += part->failed;
    c->time_ns += part->time_ns;
    if (part->latency_ns == NULL)
        return;
    if (c->latency_ns == NULL)
        c->latency_ns = calloc(1, sizeof *c->latency_ns);
    if (c->latency_ns != NULL)
        yn_histogram_merge(c->latency_ns, part->latency_ns);
}

void stats_merge(struct stats *total, const struct stats *part)
{
#define MERGE(name) \
    stats_add(&total->name, atomic_load_explicit(&part->name, memory_order_relaxed));
    STATS_SHOWN_MAP(MERGE)
#undef MERGE
#define MERGE(name) total->name += part->name;
    STATS_LOCKED_MAP(MERGE)
#undef MERGE
    for (size_t i = 0; i < STATS_COMMAND_SLOTS; i++) {
        if (part->command[i].spec != NULL)
            merge_command(total, &part->command[i]);
    }
    for (size_t i = 0; i < part->n_errors; i++)
        count_errors(total, part->error[i].code, strlen(part->error[i].code),
                     part->error[i].count);
}
