#include "cmd/zset_add.h"

#include <math.h>

#include "cmd/zset_edit.h"

struct outcome {
    int64_t n_added, n_updated;
    double score;      /* of the last entry, after the command */
    bool is_skipped;   /* an option kept the last entry from being applied */
    const char *error; /* or NULL */
};

/* Decides what becomes of one entry. Returns false when it is to be left alone. */
static bool wants(const struct zset_add *add, const struct yn_zset *set,
                  const struct yn_entry *entry, double *out_score)
{
    bool asks = add->only_new || add->only_old || add->only_greater || add->only_less ||
                add->increments;
    double old_score;
    *out_score = entry->score;
    if (!asks)
        return true;
    if (!yn_zset_find(set, entry->member, &old_score))
        return !add->only_old;
    if (add->only_new)
        return false;
    if (add->increments)
        *out_score = old_score + entry->score;
    if (add->only_greater && *out_score <= old_score)
        return false;
    if (add->only_less && *out_score >= old_score)
        return false;
    return true;
}

/* Has the next entries fetched into the caches; a few members are so already. */
static void prefetch(const struct zset_add *add, struct yn_zset *set, size_t i)
{
    size_t left = add->n_entries - i;
    if (i % CMD_AHEAD_MAX == 0 && add->n_entries > CMD_AHEAD_MAX)
        yn_zset_prefetch(set, &add->entries[i],
                         left < CMD_AHEAD_MAX ? left : CMD_AHEAD_MAX);
}

/* Applies all entries; stops at the first error. */
static void apply(const struct zset_add *add, struct zset_edit *edit, struct outcome *out)
{
    for (size_t i = 0; i < add->n_entries; i++) {
        enum yn_change change = YN_UNCHANGED;
        prefetch(add, edit->set, i);
        out->is_skipped = !wants(add, edit->set, &add->entries[i], &out->score);
        if (out->is_skipped)
            continue;
        if (isnan(out->score))
            out->error = "ERR resulting score is not a number (NaN)";
        else if (!zset_edit_put(edit, add->entries[i].member, out->score, &change))
            out->error = CMD_ERR_NOMEM;
        if (out->error != NULL)
            return;
        out->n_added += change == YN_ADDED;
        out->n_updated += change == YN_UPDATED;
    }
}

static void reply_outcome(struct host *h, const struct zset_add *add,
                          const struct outcome *out)
{
    if (out->error != NULL)
        host_reply_error(h, out->error);
    else if (!add->increments)
        host_reply_integer(h, out->n_added + (add->counts_changed ? out->n_updated : 0));
    else if (out->is_skipped)
        host_reply_null(h);
    else
        host_reply_score(h, out->score);
}

/* A set that is not in the keyspace yet: a failure just throws it away. */
static void add_to_new(struct cmd_call *call, const struct zset_add *add,
                       struct outcome *out)
{
    struct zset_edit edit = {.set = host_zset_new(call->host)};
    if (edit.set == NULL) {
        out->error = CMD_ERR_NOMEM;
        return;
    }
    apply(add, &edit, out);
    if (out->error == NULL && !host_key_put_zset(call->host, add->key, edit.set))
        out->error = CMD_ERR_NOMEM;
    if (out->error == NULL)
        host_key_changed(call->host, add->key, add->event);
    else
        yn_zset_free(edit.set);
}

static void add_to_old(struct cmd_call *call, const struct zset_add *add,
                       struct yn_zset *set, struct outcome *out)
{
    struct zset_edit edit;
    if (!zset_edit_init(&edit, call->arena, set, add->n_entries)) {
        out->error = CMD_ERR_NOMEM;
        return;
    }
    apply(add, &edit, out);
    bool is_changed = out->n_added + out->n_updated > 0;
    if (out->error != NULL && zset_edit_undo(&edit))
        is_changed = false;
    if (is_changed)
        host_key_changed(call->host, add->key, add->event);
}

void zset_add_run(struct cmd_call *call, const struct zset_add *add)
{
    struct outcome out = {.is_skipped = true};
    struct host_value value = host_key_write(call->host, add->key);
    if (value.type == HOST_ZSET)
        add_to_old(call, add, value.zset, &out);
    else if (value.type != HOST_NONE)
        out.error = CMD_ERR_WRONGTYPE;
    else if (!add->only_old)
        add_to_new(call, add, &out);
    reply_outcome(call->host, add, &out);
}
