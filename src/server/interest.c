#include "server/interest.h"

#include <stdlib.h>
#include <string.h>

static struct interest_key *key_new(struct names *table, size_t db, struct yn_bytes name)
{
    struct interest_key *key = malloc(sizeof *key + name.len);
    if (key == NULL)
        return NULL;
    *key = (struct interest_key){.name = {.space = db, .bytes = {key->text, name.len}}};
    if (name.len > 0)
        memcpy(key->text, name.data, name.len);
    list_init(&key->in_marked);
    list_init(&key->interests);
    if (names_add(table, &key->name))
        return key;
    free(key);
    return NULL;
}

static void key_free(struct names *table, struct interest_key *key)
{
    names_remove(table, &key->name);
    list_remove(&key->in_marked);
    free(key);
}

bool interest_add(struct names *table, struct interest *interest, void *owner,
                  struct link *owner_list, size_t db, struct yn_bytes name)
{
    struct interest_key *key = interest_find(table, db, name);
    if (key == NULL && (key = key_new(table, db, name)) == NULL)
        return false;
    interest->key = key;
    interest->owner = owner;
    list_append(&key->interests, &interest->in_key);
    list_append(owner_list, &interest->in_owner);
    key->n++;
    return true;
}

void interest_remove(struct names *table, struct interest *interest)
{
    struct interest_key *key = interest->key;
    list_remove(&interest->in_key);
    list_remove(&interest->in_owner);
    if (--key->n == 0)
        key_free(table, key);
}
