/*
 * blocked.h: who waits for which key, in order of arrival, and until when.
 *
 * Plain data: it neither runs commands nor replies; blocking.h does. A key that may have
 * become ready is put on a list (blocked_mark); its owner takes the keys from there
 * and offers each to the clients that wait for it.
 */
#ifndef BLOCKED_H
#define BLOCKED_H

#include <stdatomic.h>

#include "server/due.h"
#include "server/interest.h"

struct blocked {
    struct names table;
    struct due_heap deadlines;
    struct link marked; /* keys that may be ready, in the order of marking */
    size_t n_clients;
};

/* One client's side; embed it. */
struct blocked_client {
    atomic_bool is_waiting; /* looked at without the lock, too */
    bool has_deadline;
    size_t deadline_slot;
    struct link places;           /* where it waits */
    struct interest *place_block; /* the memory of all places */
};

void blocked_init(struct blocked *blocked, uint64_t hash_seed);
void blocked_clear(struct blocked *blocked);
void blocked_client_init(struct blocked_client *client);

/* Puts the client at the end of the queue of each key; a key that is named twice counts
 * once. deadline_ms: INT64_MAX: none. Returns false, nothing changed, when out of memory.
 */
bool blocked_add(struct blocked *blocked, struct blocked_client *client, size_t db,
                 const struct yn_bytes *keys, size_t n_keys, int64_t deadline_ms);
/* Takes the client out of all queues; no change if it does not wait. */
void blocked_remove(struct blocked *blocked, struct blocked_client *client);

/* Whether anybody waits for the key. */
bool blocked_is_awaited(const struct blocked *blocked, size_t db, struct yn_bytes name);
/* Notes that the key may be ready, if anybody waits for it. */
void blocked_mark(struct blocked *blocked, size_t db, struct yn_bytes name);
static inline bool blocked_has_marked(const struct blocked *blocked)
{
    return !list_is_empty(&blocked->marked);
}
/* Takes the key that was marked first off the list; NULL: none is marked. */
struct interest_key *blocked_next_marked(struct blocked *blocked);
/* A client whose deadline is not after now_ms, or NULL. */
struct blocked_client *blocked_due(const struct blocked *blocked, int64_t now_ms);
/* The next deadline; INT64_MAX: none. */
int64_t blocked_next_deadline_ms(const struct blocked *blocked);

#endif
