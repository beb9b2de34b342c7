#include "server/interest.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/bytes.h"

#define FIRST_BUCKETS 64

void interest_init(struct interest_table *table, uint64_t hash_seed)
{
    *table = (struct interest_table){.seed = hash_seed};
    list_init(&table->all);
}

void interest_clear(struct interest_table *table)
{
    free(table->buckets);
    interest_init(table, 0);
}

static struct interest_key **bucket_of(const struct interest_table *table, size_t db,
                                       struct yn_bytes name)
{
    uint64_t hash = XXH3_64bits_withSeed(name.data, name.len, table->seed + db);
    return &table->buckets[hash & (table->n_buckets - 1)];
}

struct interest_key *interest_find(const struct interest_table *table, size_t db,
                                   struct yn_bytes name)
{
    if (table->n == 0)
        return NULL;
    struct interest_key *key = *bucket_of(table, db, name);
    while (key != NULL &&
           (key->db != db || yn_bytes_compare(interest_name(key), name) != 0))
        key = key->next;
    return key;
}

/* Without memory the table stays as it is; buckets just get longer. */
static bool grow(struct interest_table *table)
{
    size_t n = table->n_buckets == 0 ? FIRST_BUCKETS : 2 * table->n_buckets;
    struct interest_key **buckets = calloc(n, sizeof(struct interest_key *));
    if (buckets == NULL)
        return table->n_buckets > 0;
    free(table->buckets);
    table->buckets = buckets;
    table->n_buckets = n;
    for (struct link *l = table->all.next; l != &table->all; l = l->next) {
        struct interest_key *key = LIST_ITEM(l, struct interest_key, in_all);
        struct interest_key **bucket = bucket_of(table, key->db, interest_name(key));
        key->next = *bucket;
        *bucket = key;
    }
    return true;
}

static struct interest_key *key_new(struct interest_table *table, size_t db,
                                    struct yn_bytes name)
{
    if (table->n >= table->n_buckets && !grow(table))
        return NULL;
    struct interest_key *key = malloc(sizeof *key + name.len);
    if (key == NULL)
        return NULL;
    *key = (struct interest_key){.db = db, .name_len = name.len};
    if (name.len > 0)
        memcpy(key->name, name.data, name.len);
    list_init(&key->in_marked);
    list_init(&key->interests);
    list_append(&table->all, &key->in_all);
    struct interest_key **bucket = bucket_of(table, db, name);
    key->next = *bucket;
    *bucket = key;
    table->n++;
    return key;
}

static void key_free(struct interest_table *table, struct interest_key *key)
{
    struct interest_key **place = bucket_of(table, key->db, interest_name(key));
    while (*place != key)
        place = &(*place)->next;
    *place = key->next;
    list_remove(&key->in_all);
    list_remove(&key->in_marked);
    table->n--;
    free(key);
}

bool interest_add(struct interest_table *table, struct interest *interest, void *owner,
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

void interest_remove(struct interest_table *table, struct interest *interest)
{
    struct interest_key *key = interest->key;
    list_remove(&interest->in_key);
    list_remove(&interest->in_owner);
    if (--key->n == 0)
        key_free(table, key);
}
