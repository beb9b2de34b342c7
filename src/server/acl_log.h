/*
 * acl_log.h: what was refused to whom, for ACL LOG. The newest entry is the first; what
 * is refused again within a minute is counted in its entry.
 */
#ifndef ACL_LOG_H
#define ACL_LOG_H

#include "server/acl.h"
#include "server/list.h"

/* Objects and names are cut there: a client must not fill the log with what it likes. */
#define ACL_LOG_TEXT_MAX 1024

struct acl_log_entry {
    struct link in_log;
    uint64_t id, count;
    enum acl_reason reason;
    bool in_multi;
    struct yn_bytes object, user, client; /* owned, in one block with the entry's own */
    int64_t created_ms, updated_ms;
};

struct acl_log {
    struct link entries;
    size_t n;
    uint64_t next_id;
};

void acl_log_init(struct acl_log *log);
void acl_log_clear(struct acl_log *log); /* leaves it empty */
/* Adds what was refused: reason, in_multi, object, user and client (a line of CLIENT
 * LIST) are taken from `what` and copied. No more than `max` entries are kept. Without
 * memory it is not noted. */
void acl_log_add(struct acl_log *log, const struct acl_log_entry *what, int64_t now_ms,
                 size_t max);
/* Drops the oldest entries beyond max. */
void acl_log_shorten(struct acl_log *log, size_t max);

#endif
