#include "server/blocked.h"

#include <stdlib.h>

static void place_deadline(void *owner, size_t slot)
{
    ((struct blocked_client *)owner)->deadline_slot = slot;
}

void blocked_init(struct blocked *blocked, uint64_t hash_seed)
{
    names_init(&blocked->table, hash_seed);
    due_init(&blocked->deadlines, place_deadline);
    list_init(&blocked->marked);
    blocked->n_clients = 0;
}

void blocked_clear(struct blocked *blocked)
{
    names_clear(&blocked->table);
    due_clear(&blocked->deadlines);
}

void blocked_client_init(struct blocked_client *client)
{
    *client = (struct blocked_client){.is_waiting = false};
    list_init(&client->places);
}

/* A client that waits for the key already, since it is named twice, stands last there. */
static bool stands_last(const struct interest_key *key,
                        const struct blocked_client *client)
{
    return key != NULL &&
           LIST_ITEM(key->interests.prev, struct interest, in_key)->owner == client;
}

static void leave_queues(struct blocked *blocked, struct blocked_client *client)
{
    while (!list_is_empty(&client->places))
        interest_remove(&blocked->table,
                        LIST_ITEM(client->places.next, struct interest, in_owner));
    free(client->place_block);
    client->place_block = NULL;
}

static bool join_queues(struct blocked *blocked, struct blocked_client *client, size_t db,
                        const struct yn_bytes *keys, size_t n_keys)
{
    client->place_block = malloc((n_keys > 0 ? n_keys : 1) * sizeof(struct interest));
    if (client->place_block == NULL)
        return false;
    for (size_t i = 0; i < n_keys; i++) {
        if (stands_last(interest_find(&blocked->table, db, keys[i]), client))
            continue;
        if (!interest_add(&blocked->table, &client->place_block[i], client,
                          &client->places, db, keys[i])) {
            leave_queues(blocked, client);
            return false;
        }
    }
    return true;
}

bool blocked_add(struct blocked *blocked, struct blocked_client *client, size_t db,
                 const struct yn_bytes *keys, size_t n_keys, int64_t deadline_ms)
{
    if (!join_queues(blocked, client, db, keys, n_keys))
        return false;
    client->has_deadline = deadline_ms != INT64_MAX;
    if (client->has_deadline && !due_add(&blocked->deadlines, deadline_ms, client)) {
        leave_queues(blocked, client);
        return false;
    }
    client->is_waiting = true;
    blocked->n_clients++;
    return true;
}

void blocked_remove(struct blocked *blocked, struct blocked_client *client)
{
    if (!client->is_waiting)
        return;
    leave_queues(blocked, client);
    if (client->has_deadline)
        due_remove(&blocked->deadlines, client->deadline_slot);
    client->is_waiting = client->has_deadline = false;
    blocked->n_clients--;
}

bool blocked_is_awaited(const struct blocked *blocked, size_t db, struct yn_bytes name)
{
    return interest_find(&blocked->table, db, name) != NULL;
}

void blocked_mark(struct blocked *blocked, size_t db, struct yn_bytes name)
{
    struct interest_key *key = interest_find(&blocked->table, db, name);
    if (key != NULL && list_is_empty(&key->in_marked))
        list_append(&blocked->marked, &key->in_marked);
}

struct interest_key *blocked_next_marked(struct blocked *blocked)
{
    if (list_is_empty(&blocked->marked))
        return NULL;
    struct interest_key *key =
        LIST_ITEM(blocked->marked.next, struct interest_key, in_marked);
    list_remove(&key->in_marked);
    return key;
}

struct blocked_client *blocked_due(const struct blocked *blocked, int64_t now_ms)
{
    return due_first(&blocked->deadlines, now_ms);
}

int64_t blocked_next_deadline_ms(const struct blocked *blocked)
{
    return blocked->deadlines.n > 0 ? due_at_ms(&blocked->deadlines, 0) : INT64_MAX;
}
