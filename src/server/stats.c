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

void stats_count_error(struct stats *stats, struct yn_bytes text)
{
    size_t len = 0;
    while (len < text.len && text.data[len] != ' ' && len < STATS_ERROR_CODE_MAX - 1)
        len++;
    stats->errors++;
    for (size_t i = 0; i < stats->n_errors; i++) {
        struct stats_error *e = &stats->error[i];
        if (strncmp(e->code, text.data, len) == 0 && e->code[len] == '\0') {
            e->count++;
            return;
        }
    }
    if (stats->n_errors == STATS_ERRORS)
        return;
    struct stats_error *e = &stats->error[stats->n_errors++];
    memcpy(e->code, text.data, len);
    e->code[len] = '\0';
    e->count = 1;
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

void stats_reset(struct stats *stats)
{
    stats_clear(stats);
    stats_init(stats);
}
