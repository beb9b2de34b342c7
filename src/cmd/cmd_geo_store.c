/*
 * cmd_geo_store.c: the results of a search as a new set.
 *
 * The hits are collected in the command's arena, put into the order of the set
 * to come, and built into it in one go. Until the finished set is handed to the
 * host nothing has changed, so that a failure leaves both keys as they were;
 * source and destination may be the same key.
 */
#include "cmd/cmd_geo.h"

#include <stdlib.h>

#include "core/bytes.h"

static int compare_entries(const void *a, const void *b)
{
    const struct yn_entry *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(x->member, y->member);
}

/* Runs the search and collects its results as entries in ascending order. Their members
 * are borrowed from the set. Returns false when out of memory. */
static bool collect(struct cmd_call *call, const struct yn_zset *set,
                    const struct geo_query *query, struct yn_entry **out_entries,
                    size_t *out_n)
{
    struct yn_search *search;
    if (yn_search_new(yn_zset_view(set), &query->search, &search) != YN_OK)
        return false;
    host_count_search(call->host, search);
    size_t max = yn_search_count(search), n = 0;
    struct yn_entry *entries = NULL;
    if (max <= SIZE_MAX / sizeof *entries)
        entries = cmd_arena_take(call->arena, max * sizeof *entries);
    struct yn_hit hit;
    while (entries != NULL && n < max && yn_search_next(search, &hit)) {
        double score = query->stores_dist ? hit.distance_m / query->unit_m : hit.score;
        entries[n++] = (struct yn_entry){hit.member, score};
    }
    yn_search_free(search);
    if (entries == NULL)
        return false;
    qsort(entries, n, sizeof *entries, compare_entries);
    *out_entries = entries;
    *out_n = n;
    return true;
}

static void store_nothing(struct cmd_call *call, struct yn_bytes key)
{
    if (host_key_remove(call->host, key))
        host_key_changed(call->host, key, "del");
    host_reply_integer(call->host, 0);
}

void cmd_geo_store(struct cmd_call *call, const struct yn_zset *set,
                   const struct geo_query *query, const char *event)
{
    struct yn_entry *entries = NULL;
    size_t n = 0;
    if (set != NULL && !collect(call, set, query, &entries, &n)) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    if (n == 0) {
        store_nothing(call, query->store_key);
        return;
    }

    struct yn_zset *result = NULL;
    enum yn_status status =
        yn_zset_build(host_zset_options(call->host), entries, n, &result);
    if (status != YN_OK || !host_key_put_zset(call->host, query->store_key, result)) {
        yn_zset_free(result);
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    host_key_changed(call->host, query->store_key, event);
    host_reply_integer(call->host, (int64_t)n);
}
