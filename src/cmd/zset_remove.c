#include "cmd/zset_remove.h"

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

bool zset_remove_ranks(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                       struct zrange_ranks ranks, const char *event)
{
    if (ranks.n == yn_zset_count(set)) { /* the set goes as a whole, and cannot fail */
        host_key_remove(call->host, key);
        host_key_changed(call->host, key, event);
        host_key_changed(call->host, key, "del");
        return true;
    }
    if (yn_zset_remove_range(set, ranks.first, ranks.n, NULL) != YN_OK)
        return false;
    host_key_changed(call->host, key, event);
    return true;
}
