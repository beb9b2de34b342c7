#include "cmd/zset_remove.h"

#include "cmd/zset_edit.h"

bool zset_remove_find_or_reply(struct cmd_call *call, struct yn_bytes key,
                               struct yn_zset **out_set)
{
    struct host_value value = host_key_write(call->host, key);
    *out_set = value.zset;
    if (value.type == HOST_NONE)
        *out_set = NULL;
    else if (value.type != HOST_ZSET)
        host_reply_error(call->host, CMD_ERR_WRONGTYPE);
    return value.type == HOST_NONE || value.type == HOST_ZSET;
}

/* Copies the members of these ranks, whose own bytes go with them. */
static struct yn_bytes *copy_members(struct cmd_call *call, const struct yn_zset *set,
                                     struct zrange_ranks ranks)
{
    struct yn_bytes *members = cmd_arena_take(call->arena, ranks.n * sizeof *members);
    struct yn_cursor cursor;
    yn_cursor_seek(&cursor, yn_zset_view(set), ranks.first);
    for (size_t i = 0; members != NULL && i < ranks.n; i++) {
        struct yn_bytes member = yn_cursor_entry(&cursor).member;
        char *copy = cmd_arena_take(call->arena, member.len + 1);
        if (copy == NULL)
            return NULL;
        if (member.len > 0)
            memcpy(copy, member.data, member.len);
        members[i] = (struct yn_bytes){copy, member.len};
        yn_cursor_next(&cursor);
    }
    return members;
}

static bool remove_ranks(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                         struct zrange_ranks ranks, const char *event)
{
    struct zset_edit edit;
    struct yn_bytes *members = copy_members(call, set, ranks);
    if (members == NULL || !zset_edit_init(&edit, call->arena, set, ranks.n))
        return false;
    for (size_t i = 0; i < ranks.n; i++) {
        bool is_removed;
        if (!zset_edit_remove(&edit, members[i], &is_removed)) {
            if (!zset_edit_undo(&edit))
                host_key_changed(call->host, key, event);
            return false;
        }
    }
    return true;
}

bool zset_remove_ranks(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                       struct zrange_ranks ranks, const char *event)
{
    if (ranks.n == yn_zset_count(set)) { /* the set goes as a whole, and cannot fail */
        host_key_remove(call->host, key);
        host_key_changed(call->host, key, event);
        host_key_changed(call->host, key, "del");
        return true;
    }
    if (!remove_ranks(call, key, set, ranks, event))
        return false;
    host_key_changed(call->host, key, event);
    return true;
}
