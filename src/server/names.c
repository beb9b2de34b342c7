#include "server/names.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/bytes.h"

#define FIRST_BUCKETS 64

void names_init(struct names *names, uint64_t hash_seed)
{
    *names = (struct names){.seed = hash_seed};
    list_init(&names->all);
}

void names_clear(struct names *names)
{
    free(names->buckets);
    names_init(names, 0);
}

static struct name **bucket_of(const struct names *names, size_t space,
                               struct yn_bytes bytes)
{
    uint64_t hash = XXH3_64bits_withSeed(bytes.data, bytes.len, names->seed + space);
    return &names->buckets[hash & (names->n_buckets - 1)];
}

struct name *names_search(const struct names *names, size_t space, struct yn_bytes bytes)
{
    struct name *name = *bucket_of(names, space, bytes);
    while (name != NULL &&
           (name->space != space || yn_bytes_compare(name->bytes, bytes) != 0))
        name = name->next;
    return name;
}

static void put(struct names *names, struct name *name)
{
    struct name **bucket = bucket_of(names, name->space, name->bytes);
    name->next = *bucket;
    *bucket = name;
}

/* Without memory the table stays as it is; buckets just get longer. */
static bool grow(struct names *names)
{
    size_t n = names->n_buckets == 0 ? FIRST_BUCKETS : 2 * names->n_buckets;
    struct name **buckets = calloc(n, sizeof(struct name *));
    if (buckets == NULL)
        return names->n_buckets > 0;
    free(names->buckets);
    names->buckets = buckets;
    names->n_buckets = n;
    for (struct link *l = names->all.next; l != &names->all; l = l->next)
        put(names, NAME_OF(l));
    return true;
}

bool names_add(struct names *names, struct name *name)
{
    if (names->n >= names->n_buckets && !grow(names))
        return false;
    put(names, name);
    list_append(&names->all, &name->in_all);
    names->n++;
    return true;
}

void names_remove(struct names *names, struct name *name)
{
    struct name **place = bucket_of(names, name->space, name->bytes);
    while (*place != name)
        place = &(*place)->next;
    *place = name->next;
    list_remove(&name->in_all);
    names->n--;
}
