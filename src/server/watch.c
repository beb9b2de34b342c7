#include "server/watch.h"

#include <stdlib.h>

struct watch {
    struct interest interest;
    bool existed; /* when the watch began */
};

static struct watch *watch_of(struct link *in_owner)
{
    struct interest *interest = LIST_ITEM(in_owner, struct interest, in_owner);
    return LIST_ITEM(interest, struct watch, interest);
}

void watches_init(struct watches *watches, uint64_t hash_seed)
{
    names_init(&watches->table, hash_seed);
    watches->n_clients = 0;
}

void watches_clear(struct watches *watches)
{
    names_clear(&watches->table);
}

void watch_client_init(struct watch_client *client)
{
    list_init(&client->all);
    list_init(&client->in_touched);
    client->n = 0;
    client->is_touched = false;
}

/* Looks in the shorter of the two lists. */
static bool is_watching(const struct watch_client *client, const struct interest_key *key)
{
    bool by_client = client->n < key->n;
    const struct link *all = by_client ? &client->all : &key->interests;
    for (const struct link *l = all->next; l != all; l = l->next) {
        const struct interest *i = by_client ? LIST_ITEM(l, struct interest, in_owner)
                                             : LIST_ITEM(l, struct interest, in_key);
        if (i->key == key && i->owner == client)
            return true;
    }
    return false;
}

bool watch_add(struct watches *watches, struct watch_client *client, size_t db,
               struct yn_bytes name, bool existed)
{
    const struct interest_key *key = interest_find(&watches->table, db, name);
    if (key != NULL && is_watching(client, key))
        return true;
    struct watch *watch = malloc(sizeof *watch);
    if (watch == NULL)
        return false;
    watch->existed = existed;
    if (!interest_add(&watches->table, &watch->interest, client, &client->all, db,
                      name)) {
        free(watch);
        return false;
    }
    watches->n_clients += client->n == 0;
    client->n++;
    return true;
}

void watch_shorten(struct watches *watches, struct watch_client *client, size_t n)
{
    if (client->n <= n)
        return;
    while (client->n > n) {
        struct watch *watch = watch_of(client->all.prev);
        interest_remove(&watches->table, &watch->interest);
        free(watch);
        client->n--;
    }
    watches->n_clients -= client->n == 0;
}

void watch_forget(struct watches *watches, struct watch_client *client)
{
    watch_shorten(watches, client, 0);
    client->is_touched = false;
}

static void touch_client(struct watches *watches, struct watch_client *client)
{
    watch_shorten(watches, client, 0);
    client->is_touched = true;
}

void watch_touch(struct watches *watches, size_t db, struct yn_bytes name)
{
    struct interest_key *key = interest_find(&watches->table, db, name);
    for (size_t n = key != NULL ? key->n : 0; n > 0; n--) /* the key goes with the last */
        touch_client(watches,
                     LIST_ITEM(key->interests.next, struct interest, in_key)->owner);
}

/* Gathers those who watch the key and knew it, or all if it is there now. */
static void gather_touched(struct interest_key *key, bool exists, struct link *touched)
{
    for (struct link *l = key->interests.next; l != &key->interests; l = l->next) {
        struct interest *interest = LIST_ITEM(l, struct interest, in_key);
        struct watch_client *client = interest->owner;
        if ((exists || LIST_ITEM(interest, struct watch, interest)->existed) &&
            list_is_empty(&client->in_touched))
            list_append(touched, &client->in_touched);
    }
}

/* Touching a client ends its watches, and keys leave the table with them: so not while
 * walking over the table. */
void watch_touch_db(struct watches *watches, size_t db, watch_exists_fn exists, void *ctx)
{
    struct link touched;
    list_init(&touched);
    struct link *all = &watches->table.all;
    for (struct link *l = all->next; l != all; l = l->next) {
        struct interest_key *key = interest_key_of(NAME_OF(l));
        if (db == WATCH_EVERY_DB || key->name.space == db)
            gather_touched(key, exists(ctx, key->name.space, key->name.bytes), &touched);
    }
    while (!list_is_empty(&touched)) {
        struct watch_client *client =
            LIST_ITEM(touched.next, struct watch_client, in_touched);
        list_remove(&client->in_touched);
        touch_client(watches, client);
    }
}

bool watch_has_expired(const struct watch_client *client, watch_exists_fn exists,
                       void *ctx)
{
    for (struct link *l = client->all.next; l != &client->all; l = l->next) {
        const struct watch *watch = watch_of(l);
        const struct interest_key *key = watch->interest.key;
        if (watch->existed && !exists(ctx, key->name.space, key->name.bytes))
            return true;
    }
    return false;
}
