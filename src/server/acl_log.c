#include "server/acl_log.h"

#include <stdlib.h>
#include <string.h>

#define SAME_WITHIN_MS 60000
/* So many entries are looked through for one that is the same. */
#define LOOKED_THROUGH 10

void acl_log_init(struct acl_log *log)
{
    *log = (struct acl_log){.n = 0};
    list_init(&log->entries);
}

static void drop(struct acl_log *log, struct acl_log_entry *entry)
{
    list_remove(&entry->in_log);
    log->n--;
    free(entry);
}

void acl_log_shorten(struct acl_log *log, size_t max)
{
    while (log->n > max)
        drop(log, LIST_ITEM(log->entries.prev, struct acl_log_entry, in_log));
}

void acl_log_clear(struct acl_log *log)
{
    acl_log_shorten(log, 0);
}

static struct yn_bytes cut(struct yn_bytes text)
{
    return (struct yn_bytes){text.data,
                             text.len < ACL_LOG_TEXT_MAX ? text.len : ACL_LOG_TEXT_MAX};
}

static bool is_same(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static struct acl_log_entry *find_same(const struct acl_log *log,
                                       const struct acl_log_entry *what, int64_t now_ms)
{
    int left = LOOKED_THROUGH;
    for (struct link *l = log->entries.next; l != &log->entries && left-- > 0;
         l = l->next) {
        struct acl_log_entry *e = LIST_ITEM(l, struct acl_log_entry, in_log);
        if (e->reason == what->reason && e->in_multi == what->in_multi &&
            now_ms - e->updated_ms <= SAME_WITHIN_MS &&
            is_same(e->object, cut(what->object)) && is_same(e->user, cut(what->user)))
            return e;
    }
    return NULL;
}

static struct yn_bytes put(char **at, struct yn_bytes text)
{
    struct yn_bytes copy = {*at, text.len};
    if (text.len > 0)
        memcpy(*at, text.data, text.len);
    *at += text.len;
    return copy;
}

void acl_log_add(struct acl_log *log, const struct acl_log_entry *what, int64_t now_ms,
                 size_t max)
{
    struct yn_bytes object = cut(what->object), user = cut(what->user);
    struct acl_log_entry *same = find_same(log, what, now_ms);
    struct acl_log_entry *e =
        malloc(sizeof *e + object.len + user.len + what->client.len);
    if (e == NULL)
        return;
    char *at = (char *)(e + 1);
    *e = (struct acl_log_entry){
        .id = same != NULL ? same->id : log->next_id++,
        .count = same != NULL ? same->count + 1 : 1,
        .reason = what->reason,
        .in_multi = what->in_multi,
        .created_ms = same != NULL ? same->created_ms : now_ms,
        .updated_ms = now_ms,
    };
    e->object = put(&at, object);
    e->user = put(&at, user);
    e->client = put(&at, what->client);
    if (same != NULL)
        drop(log, same);
    list_append(log->entries.next, &e->in_log); /* before the first */
    log->n++;
    acl_log_shorten(log, max);
}
