#include "cmd/zset_store.h"

void zset_store_nothing(struct cmd_call *call, struct yn_bytes key)
{
    if (host_key_remove(call->host, key))
        host_key_changed(call->host, key, "del");
    host_reply_integer(call->host, 0);
}

void zset_store(struct cmd_call *call, struct yn_bytes key, struct yn_zset *set,
                const char *event)
{
    size_t n = yn_zset_count(set);
    if (n == 0) {
        yn_zset_free(set);
        zset_store_nothing(call, key);
        return;
    }
    if (!host_key_put_zset(call->host, key, set)) {
        yn_zset_free(set);
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    host_key_changed(call->host, key, event);
    host_reply_integer(call->host, (int64_t)n);
}
