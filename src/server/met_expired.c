#include "server/met_expired.h"

#include <string.h>

#include "server/keyspace.h"
#include "server/server.h"

/* More than this of keys is not gathered by one batch. */
#define KEYS_BYTES_MAX ((size_t)64 * 1024)

struct head {
    size_t db, len;
};

void met_expired_add(struct met_expired *met, size_t db, struct yn_bytes key)
{
    struct head head = {db, key.len};
    if (met->keys.len + key.len > KEYS_BYTES_MAX)
        return;
    char *to = yn_buf_reserve(&met->keys, sizeof head + key.len);
    if (to == NULL) {
        met->keys.failed = false;
        return;
    }
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, key.data, key.len);
    met->keys.len += sizeof head + key.len;
}

void met_expired_remove(struct loop *loop)
{
    struct yn_buf *keys = &loop->met_expired.keys;
    if (keys->len == 0)
        return;
    loop_lock(loop, LOOP_EXCLUSIVE);
    for (size_t at = 0; at < keys->len;) {
        struct head head;
        memcpy(&head, keys->data + at, sizeof head);
        at += sizeof head;
        if (!pause_is_on(&loop->server->pause))
            keyspace_drop_expired(loop->server->databases[head.db],
                                  (struct yn_bytes){keys->data + at, head.len},
                                  loop_now_ms(loop));
        at += head.len;
    }
    loop_unlock(loop);
    yn_buf_clear(keys);
}
