/*
 * The search of Wing and Gong ("Testing and verifying concurrent objects", 1993): of the
 * operations that may come next, those that no other one precedes, try one, let the model
 * do it, and go on; where the model answers otherwise, or no way leads on, go back and
 * try another.
 *
 * With Lowe's improvement ("Testing for linearizability", 2017): a configuration, that is
 * the set of operations done and the model's state, from which no way led to the end is
 * remembered, and not tried again when it is reached in another order. A client does one
 * thing after the other, so a set of operations is a number for each client, and only the
 * first of each client that is not done can come next.
 *
 * And a history of several keys is linearizable if its parts for each key are (Herlihy
 * and Wing, "Linearizability: a correctness condition for concurrent objects", 1990; used
 * for checking by Horn and Kroening, "Faster linearizability checking via
 * P-compositionality", 2015). Keys that an operation takes together are one part: those
 * of a transaction and those that its client watched before it, of a store, of a pop from
 * the first of two keys.
 *
 * Configurations are kept whole, not as hashes: a collision would hide the right way and
 * report a fault that is none.
 */
#include "linear/check.h"

#include <stdlib.h>
#include <string.h>

#define CONFIGURATIONS_MAX (1u << 20)

struct configuration {
    uint8_t n_done[MODEL_CLIENTS];
    struct model_state state;
};

struct check_memory {
    struct configuration *seen; /* CONFIGURATIONS_MAX */
    uint32_t n_seen;
    uint32_t *slots; /* number in seen, from 1; 0 is free */
    uint32_t n_slots;
};

struct search {
    struct check *check;
    const struct model_world *world;
    const struct record *queue[MODEL_CLIENTS][CHECK_RECORDS_MAX];
    uint8_t n_queue[MODEL_CLIENTS];
    const struct record *way[CHECK_RECORDS_MAX];
    bool is_given_up;
};

/* ---- configurations ----------------------------------------------------- */

static uint64_t hash(const struct configuration *configuration)
{
    const unsigned char *bytes = (const unsigned char *)configuration;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof *configuration; i++) {
        h = (h ^ bytes[i]) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return h;
}

static uint32_t *find_slot(struct check_memory *memory,
                           const struct configuration *wanted)
{
    uint32_t at = (uint32_t)hash(wanted) & (memory->n_slots - 1);
    while (memory->slots[at] != 0 &&
           memcmp(&memory->seen[memory->slots[at] - 1], wanted, sizeof *wanted) != 0)
        at = (at + 1) & (memory->n_slots - 1);
    return &memory->slots[at];
}

static void forget_all(struct check_memory *memory)
{
    memory->n_seen = 0;
    memory->n_slots = 1u << 10;
    memset(memory->slots, 0, memory->n_slots * sizeof *memory->slots);
}

static void grow(struct check_memory *memory)
{
    memory->n_slots *= 2;
    memset(memory->slots, 0, memory->n_slots * sizeof *memory->slots);
    for (uint32_t i = 0; i < memory->n_seen; i++)
        *find_slot(memory, &memory->seen[i]) = i + 1;
}

/* Returns false if the configuration was known. */
static bool remember(struct search *search, const struct configuration *configuration)
{
    struct check_memory *memory = search->check->memory;
    uint32_t *slot = find_slot(memory, configuration);
    if (*slot != 0)
        return false;
    if (memory->n_seen == CONFIGURATIONS_MAX) {
        search->is_given_up = true;
        return false;
    }
    memory->seen[memory->n_seen++] = *configuration;
    *slot = memory->n_seen;
    if (memory->n_seen * 2 > memory->n_slots)
        grow(memory);
    return true;
}

void check_init(struct check *check)
{
    memset(check, 0, sizeof *check);
    check->memory = calloc(1, sizeof *check->memory);
    if (check->memory == NULL)
        abort();
    check->memory->seen = malloc(CONFIGURATIONS_MAX * sizeof *check->memory->seen);
    check->memory->slots = malloc(CONFIGURATIONS_MAX * 4 * sizeof *check->memory->slots);
    if (check->memory->seen == NULL || check->memory->slots == NULL)
        abort();
}

void check_clear(struct check *check)
{
    free(check->memory->seen);
    free(check->memory->slots);
    free(check->memory);
}

/* ---- the search --------------------------------------------------------- */

/* The next operation of each client that may come next; those that ended first are tried
 * first, which is mostly right at once. */
static unsigned candidates(const struct search *search, const uint8_t *n_done,
                           const struct record *out[MODEL_CLIENTS])
{
    uint32_t first_out_at = UINT32_MAX;
    for (unsigned c = 0; c < MODEL_CLIENTS; c++)
        if (n_done[c] < search->n_queue[c] &&
            search->queue[c][n_done[c]]->out_at < first_out_at)
            first_out_at = search->queue[c][n_done[c]]->out_at;
    unsigned n = 0;
    for (unsigned c = 0; c < MODEL_CLIENTS; c++) {
        if (n_done[c] == search->n_queue[c])
            continue;
        const struct record *record = search->queue[c][n_done[c]];
        if (record->in_at > first_out_at)
            continue;
        unsigned at = n++;
        for (; at > 0 && out[at - 1]->out_at > record->out_at; at--)
            out[at] = out[at - 1];
        out[at] = record;
    }
    return n;
}

static void note_best(struct search *search, const struct configuration *now,
                      size_t n_way)
{
    struct check *check = search->check;
    if (n_way < check->n_best)
        return;
    check->n_best = n_way;
    memcpy(check->best, search->way, n_way * sizeof *search->way);
    check->best_state = now->state;
}

static bool search_on(struct search *search, const struct configuration *now,
                      size_t n_way)
{
    const struct record *next[MODEL_CLIENTS];
    unsigned n = candidates(search, now->n_done, next);
    if (n == 0)
        return true;
    if (!remember(search, now))
        return false;
    note_best(search, now, n_way);
    for (unsigned i = 0; i < n && !search->is_given_up; i++) {
        struct configuration then = *now;
        then.n_done[next[i]->client]++;
        search->way[n_way] = next[i];
        search->check->n_steps++;
        if (model_step(search->world, &then.state, next[i]) &&
            search_on(search, &then, n_way + 1))
            return true;
    }
    return false;
}

/* ---- parts -------------------------------------------------------------- */

/* The keys of each record, those counted that its client watches when it runs EXEC or
 * UNWATCH. */
static void find_keys(const struct record *records, size_t n, unsigned *out_keys)
{
    unsigned watched[MODEL_CLIENTS] = {0};
    for (size_t i = 0; i < n; i++) {
        unsigned *of_client = &watched[records[i].client];
        out_keys[i] = model_keys(&records[i]);
        if (records[i].op.kind == OP_WATCH)
            *of_client |= out_keys[i];
        if (records[i].op.kind == OP_EXEC || records[i].op.kind == OP_UNWATCH) {
            out_keys[i] |= *of_client;
            *of_client = 0;
        }
        if (out_keys[i] == 0)
            out_keys[i] = 1; /* nothing to do: any part will do */
    }
}

/* Makes out_part[key] the keys that belong together with the key. */
static void find_parts(const unsigned *keys, size_t n, unsigned out_part[MODEL_KEYS])
{
    for (unsigned k = 0; k < MODEL_KEYS; k++)
        out_part[k] = 1u << k;
    for (unsigned round = 0; round < MODEL_KEYS; round++) {
        for (size_t i = 0; i < n; i++) {
            unsigned all = keys[i];
            for (unsigned k = 0; k < MODEL_KEYS; k++)
                if ((keys[i] >> k & 1) != 0)
                    all |= out_part[k];
            for (unsigned k = 0; k < MODEL_KEYS; k++)
                if ((all >> k & 1) != 0)
                    out_part[k] |= all;
        }
    }
}

enum check_result check_history(struct check *check, const struct model_world *world,
                                const struct model_state *start,
                                const struct record *records, size_t n)
{
    unsigned keys[CHECK_RECORDS_MAX], part[MODEL_KEYS];
    find_keys(records, n, keys);
    find_parts(keys, n, part);
    for (unsigned k = 0; k < MODEL_KEYS; k++) {
        if ((part[k] & ((1u << k) - 1)) != 0)
            continue; /* was checked with a key before */
        struct search search = {.check = check, .world = world};
        for (size_t i = 0; i < n; i++) {
            unsigned c = records[i].client;
            if ((keys[i] & part[k]) != 0)
                search.queue[c][search.n_queue[c]++] = &records[i];
        }
        forget_all(check->memory);
        check->n_best = 0;
        struct configuration first = {.state = *start};
        if (!search_on(&search, &first, 0))
            return search.is_given_up ? CHECK_UNDECIDED : CHECK_BROKEN;
    }
    return CHECK_FINE;
}
