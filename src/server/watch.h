/*
 * watch.h: which clients watch which keys, for WATCH and EXEC.
 *
 * A client's watches end at the first change of a key among them: from then on it is
 * "touched", until watch_forget. A key that expires is not a change that anybody reports;
 * whoever asks at EXEC (watch_visit) finds it gone though it was there.
 */
#ifndef WATCH_H
#define WATCH_H

#include "server/interest.h"

struct watches {
    struct names table;
    size_t n_clients; /* that watch something */
};

/* One client's side; embed it. */
struct watch_client {
    struct link all;
    struct link in_touched; /* of watch_touch_db */
    size_t n;
    bool is_touched;
};

void watches_init(struct watches *watches, uint64_t hash_seed);
void watches_clear(struct watches *watches);
void watch_client_init(struct watch_client *client);

/* Watches a key, unless the client does so already. existed: whether the key is there
 * now. Returns false when out of memory. */
bool watch_add(struct watches *watches, struct watch_client *client, size_t db,
               struct yn_bytes name, bool existed);
/* Ends the client's latest watches until n are left. */
void watch_shorten(struct watches *watches, struct watch_client *client, size_t n);
/* Ends all watches of the client, and forgets that it was touched. */
void watch_forget(struct watches *watches, struct watch_client *client);

/* A key was changed: touches all who watch it. */
void watch_touch(struct watches *watches, size_t db, struct yn_bytes name);

/* Whether there is such a key. */
typedef bool (*watch_exists_fn)(void *ctx, size_t db, struct yn_bytes name);
/* Instead of the number of a database. */
#define WATCH_EVERY_DB SIZE_MAX
/* A whole database was emptied or exchanged: touches all who watch a key in it that was
 * there or is there now. */
void watch_touch_db(struct watches *watches, size_t db, watch_exists_fn exists,
                    void *ctx);
/* Whether a watched key was there, and is not any more: it has expired. */
bool watch_has_expired(const struct watch_client *client, watch_exists_fn exists,
                       void *ctx);

#endif
