/*
 * Two tables. `keys` holds, for each key that somebody has read, an array of trackers in
 * the order of their addresses: a client that reads the same key again is found by
 * halving. A change takes the key out, since everybody has been told then.
 * `prefixes` holds the prefixes of BCAST, each with its clients and with the keys that
 * have changed since the last broadcast.
 *
 * A tracker outlives its connection as long as keys name it, so that closing a connection
 * costs nothing for each key that it has read; its conn is NULL then. When a client turns
 * tracking off, its tracker stays aside: turned on again, the client hears of the keys
 * that it has read before, as it does from Redis.
 */
#include "server/tracking.h"

#include <stdlib.h>
#include <string.h>

#include "core/bytes.h"
#include "resp/write.h"
#include "server/conn.h"
#include "server/loop.h"

struct tracker {
    struct conn *conn; /* NULL: it is gone */
    bool is_on;
    size_t n_refs; /* the connection, and keys that name it */
    unsigned flags;
    bool is_caching; /* CLIENT CACHING stands before the present command */
    bool is_broken;
    uint64_t redirect_id;  /* 0: none */
    struct conn *redirect; /* NULL: none, or it is gone */
    struct link in_redirected, in_trackers;
    struct link prefixes; /* of struct prefix_client */
};

struct key {
    struct name name; /* in tracking->keys */
    struct tracker **trackers;
    size_t n, cap;
    char text[];
};

struct prefix {
    struct name name; /* in tracking->prefixes */
    struct link clients;
    struct names changed; /* of struct change */
    struct link in_changed;
    char text[];
};

struct prefix_client {
    struct link in_prefix, in_tracker;
    struct prefix *prefix;
    struct tracker *tracker;
};

/* A key that was changed since the last broadcast. */
struct change {
    struct name name; /* in prefix->changed */
    uint64_t by; /* number of the client that changed it; 0: several, or the server */
    char text[];
};

#define KEY_OF(name_ptr) LIST_ITEM(name_ptr, struct key, name)
#define PREFIX_OF(name_ptr) LIST_ITEM(name_ptr, struct prefix, name)
#define CHANGE_OF(name_ptr) LIST_ITEM(name_ptr, struct change, name)

/* Takes room for a thing with a name behind it, which is filled in. NULL: out of memory.
 */
#define NEW_NAMED(type, bytes_) \
    ((type *)named_new(sizeof(type), offsetof(type, name), (bytes_)))

static void *named_new(size_t size, size_t name_at, struct yn_bytes bytes)
{
    char *thing = calloc(1, size + bytes.len);
    if (thing == NULL)
        return NULL;
    char *text = thing + size;
    if (bytes.len > 0)
        memcpy(text, bytes.data, bytes.len);
    ((struct name *)(void *)(thing + name_at))->bytes =
        (struct yn_bytes){text, bytes.len};
    return thing;
}

void tracking_init(struct tracking *tracking, uint64_t hash_seed)
{
    *tracking = (struct tracking){.n_items = 0};
    names_init(&tracking->keys, hash_seed);
    names_init(&tracking->prefixes, hash_seed);
    list_init(&tracking->changed);
    list_init(&tracking->trackers);
}

/* ---- messages ---- */

static void tell_broken(struct tracker *tracker)
{
    tracker->is_broken = true;
    if (tracker->conn->resp < 3)
        return;
    struct yn_buf *out = conn_push(tracker->conn);
    yn_write_push(out, 3, 2);
    yn_write_bulk_text(out, "tracking-redir-broken");
    yn_write_integer(out, (int64_t)tracker->redirect_id);
    conn_pushed(tracker->conn);
}

/* Sends that keys are stale: `keys` is an array in wire form; NULL: all keys are. */
static void tell(struct tracker *tracker, const struct yn_buf *keys)
{
    struct conn *to = tracker->redirect_id != 0 ? tracker->redirect : tracker->conn;
    if (to == NULL) {
        tell_broken(tracker);
        return;
    }
    bool is_channel = to->resp == 2;
    if (is_channel && (tracker->redirect_id == 0 || conn_n_subscriptions(to) == 0))
        return;
    struct yn_buf *out = conn_push(to);
    yn_write_push(out, to->resp, is_channel ? 3 : 2);
    if (is_channel)
        yn_write_bulk_text(out, "message");
    yn_write_bulk_text(out, is_channel ? "__redis__:invalidate" : "invalidate");
    if (keys != NULL)
        yn_buf_append(out, keys->data, keys->len);
    else
        yn_write_null(out, to->resp);
    conn_pushed(to);
}

/* ---- keys that were read ---- */

static void drop_ref(struct tracker *tracker)
{
    if (--tracker->n_refs == 0)
        free(tracker);
}

static void key_free(struct tracking *tracking, struct key *key)
{
    for (size_t i = 0; i < key->n; i++)
        drop_ref(key->trackers[i]);
    tracking->n_items -= key->n;
    names_remove(&tracking->keys, &key->name);
    free(key->trackers);
    free(key);
}

/* Tells all who have read the key, but the one whose command changed it if that is
 * NOLOOP, and forgets it. */
static void key_is_stale(struct tracking *tracking, struct key *key,
                         const struct conn *by)
{
    struct yn_buf keys;
    yn_buf_init(&keys);
    yn_write_array(&keys, 1);
    yn_write_bulk(&keys, key->name.bytes);
    for (size_t i = 0; i < key->n; i++) {
        struct tracker *tracker = key->trackers[i];
        bool is_own = tracker->conn == by && (tracker->flags & TRACKING_NOLOOP) != 0;
        /* who has turned to BCAST meanwhile hears of it that way */
        if (tracker->is_on && !is_own && (tracker->flags & TRACKING_BCAST) == 0)
            tell(tracker, &keys);
    }
    yn_buf_clear(&keys);
    key_free(tracking, key);
}

/* Where the tracker stands in the key's array, or would. */
static size_t place_of(const struct key *key, const struct tracker *tracker)
{
    size_t low = 0, high = key->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((uintptr_t)key->trackers[mid] < (uintptr_t)tracker)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Drops the trackers of connections that are gone: of a key that is read by one client
 * after the other, and never changed, there would be ever more. */
static void key_drop_gone(struct tracking *tracking, struct key *key)
{
    size_t n = 0;
    for (size_t i = 0; i < key->n; i++) {
        if (key->trackers[i]->conn != NULL)
            key->trackers[n++] = key->trackers[i];
        else
            drop_ref(key->trackers[i]);
    }
    tracking->n_items -= key->n - n;
    key->n = n;
}

static bool key_has_room(struct tracking *tracking, struct key *key)
{
    if (key->n < key->cap)
        return true;
    key_drop_gone(tracking, key);
    if (key->n < key->cap - key->cap / 4)
        return true;
    size_t cap = key->cap == 0 ? 1 : 2 * key->cap;
    struct tracker **trackers = realloc(key->trackers, cap * sizeof(struct tracker *));
    if (trackers == NULL)
        return false;
    key->trackers = trackers;
    key->cap = cap;
    return true;
}

static bool key_add(struct tracking *tracking, struct key *key, struct tracker *tracker)
{
    size_t at = place_of(key, tracker);
    if (at < key->n && key->trackers[at] == tracker)
        return true;
    if (!key_has_room(tracking, key))
        return false;
    at = place_of(key, tracker);
    memmove(key->trackers + at + 1, key->trackers + at,
            (key->n - at) * sizeof(struct tracker *));
    key->trackers[at] = tracker;
    key->n++;
    tracking->n_items++;
    tracker->n_refs++;
    return true;
}

static struct key *key_new(struct tracking *tracking, struct yn_bytes name)
{
    struct key *key = NEW_NAMED(struct key, name);
    if (key == NULL || names_add(&tracking->keys, &key->name))
        return key;
    free(key);
    return NULL;
}

void tracking_note_read(struct tracking *tracking, struct tracker *tracker,
                        struct yn_bytes name, size_t max_keys)
{
    struct name *found = names_find(&tracking->keys, 0, name);
    struct key *key = found != NULL ? KEY_OF(found) : key_new(tracking, name);
    if (key == NULL ||
        !key_add(
            tracking, key,
            tracker)) { /* out of memory: the client must not keep what it has read */
        if (key != NULL)
            key_is_stale(tracking, key, NULL);
        tell(tracker, NULL);
    }
    while (max_keys > 0 && tracking->keys.n > max_keys)
        key_is_stale(tracking, KEY_OF(NAME_OF(tracking->keys.all.next)), NULL);
}

bool tracking_wants_reads(const struct tracker *tracker)
{
    if ((tracker->flags & TRACKING_BCAST) != 0)
        return false;
    if ((tracker->flags & TRACKING_OPTIN) != 0)
        return tracker->is_caching;
    return (tracker->flags & TRACKING_OPTOUT) == 0 || !tracker->is_caching;
}

/* ---- prefixes ---- */

static struct prefix *prefix_get(struct tracking *tracking, struct yn_bytes text)
{
    struct name *name = names_find(&tracking->prefixes, 0, text);
    if (name != NULL)
        return PREFIX_OF(name);
    struct prefix *prefix = NEW_NAMED(struct prefix, text);
    if (prefix == NULL)
        return NULL;
    list_init(&prefix->clients);
    list_init(&prefix->in_changed);
    names_init(&prefix->changed, tracking->prefixes.seed);
    if (names_add(&tracking->prefixes, &prefix->name))
        return prefix;
    free(prefix);
    return NULL;
}

static void forget_changes(struct prefix *prefix)
{
    while (prefix->changed.n > 0) {
        struct name *name = NAME_OF(prefix->changed.all.next);
        names_remove(&prefix->changed, name);
        free(CHANGE_OF(name));
    }
    list_remove(&prefix->in_changed);
}

static void prefix_free_if_unused(struct tracking *tracking, struct prefix *prefix)
{
    if (!list_is_empty(&prefix->clients))
        return;
    forget_changes(prefix);
    names_clear(&prefix->changed);
    names_remove(&tracking->prefixes, &prefix->name);
    free(prefix);
}

static void prefix_client_free(struct tracking *tracking, struct prefix_client *client)
{
    list_remove(&client->in_prefix);
    list_remove(&client->in_tracker);
    prefix_free_if_unused(tracking, client->prefix);
    free(client);
}

/* Looks among the prefix's clients: a client may have thousands of prefixes. */
static bool has_client(const struct prefix *prefix, const struct tracker *tracker)
{
    const struct link *all = &prefix->clients;
    for (struct link *l = all->next; l != all; l = l->next) {
        if (LIST_ITEM(l, struct prefix_client, in_prefix)->tracker == tracker)
            return true;
    }
    return false;
}

static bool add_prefix(struct tracking *tracking, struct tracker *tracker,
                       struct yn_bytes text)
{
    struct prefix *prefix = prefix_get(tracking, text);
    if (prefix != NULL && has_client(prefix, tracker))
        return true;
    struct prefix_client *client = malloc(sizeof *client);
    if (prefix == NULL || client == NULL) {
        free(client);
        if (prefix != NULL)
            prefix_free_if_unused(tracking, prefix);
        return false;
    }
    client->prefix = prefix;
    client->tracker = tracker;
    list_append(&prefix->clients, &client->in_prefix);
    list_append(&tracker->prefixes, &client->in_tracker);
    return true;
}

/* Ends the client's latest prefixes until n are left. */
static void shorten_prefixes(struct tracking *tracking, struct tracker *tracker, size_t n)
{
    for (size_t have = tracking_prefixes(tracker, NULL, NULL); have > n; have--)
        prefix_client_free(tracking, LIST_ITEM(tracker->prefixes.prev,
                                               struct prefix_client, in_tracker));
}

/* ---- a client's side ---- */

static struct tracker *tracker_new(struct tracking *tracking, struct conn *conn)
{
    struct tracker *tracker = conn->tracking.former;
    if (tracker == NULL && (tracker = calloc(1, sizeof *tracker)) == NULL)
        return NULL;
    if (conn->tracking.former == NULL) {
        tracker->conn = conn;
        tracker->n_refs = 1;
        list_init(&tracker->in_redirected);
        list_init(&tracker->prefixes);
    }
    tracker->is_on = true;
    conn->tracking.former = NULL;
    list_append(&tracking->trackers, &tracker->in_trackers);
    tracking->n_trackers++;
    conn->tracking.tracker = tracker;
    return tracker;
}

bool tracking_start(struct tracking *tracking, struct conn *conn,
                    const struct tracking_options *options)
{
    const struct yn_bytes every = {"", 0};
    bool is_bcast = (options->flags & TRACKING_BCAST) != 0;
    struct tracker *tracker = conn->tracking.tracker;
    bool is_new = tracker == NULL;
    if (is_new && (tracker = tracker_new(tracking, conn)) == NULL)
        return false;
    size_t n_before = tracking_prefixes(tracker, NULL, NULL);
    bool is_done =
        !is_bcast || options->n_prefixes > 0 || add_prefix(tracking, tracker, every);
    for (size_t i = 0; is_done && i < options->n_prefixes; i++)
        is_done = add_prefix(tracking, tracker, options->prefixes[i]);
    if (!is_done) {
        shorten_prefixes(tracking, tracker, n_before);
        if (is_new)
            tracking_stop(tracking, conn);
        return false;
    }
    tracker->flags = options->flags;
    tracker->is_broken = false;
    tracker->redirect = options->redirect;
    tracker->redirect_id = options->redirect != NULL ? options->redirect->id : 0;
    list_remove(&tracker->in_redirected);
    if (options->redirect != NULL)
        list_append(&options->redirect->tracking.redirected, &tracker->in_redirected);
    return true;
}

void tracking_stop(struct tracking *tracking, struct conn *conn)
{
    struct tracker *tracker = conn->tracking.tracker;
    if (tracker == NULL)
        return;
    shorten_prefixes(tracking, tracker, 0);
    list_remove(&tracker->in_redirected);
    list_remove(&tracker->in_trackers);
    tracking->n_trackers--;
    tracker->is_on = tracker->is_caching = false;
    conn->tracking.tracker = NULL;
    conn->tracking.former = tracker;
}

void tracking_forget(struct tracking *tracking, struct conn *conn)
{
    struct link *all = &conn->tracking.redirected;
    tracking_stop(tracking, conn);
    if (conn->tracking.former != NULL) {
        conn->tracking.former->conn = NULL;
        drop_ref(conn->tracking.former);
        conn->tracking.former = NULL;
    }
    while (!list_is_empty(all)) {
        struct tracker *tracker = LIST_ITEM(all->next, struct tracker, in_redirected);
        tracker->redirect = NULL;
        list_remove(&tracker->in_redirected);
    }
}

void tracking_clear(struct tracking *tracking)
{
    while (tracking->keys.n > 0)
        key_free(tracking, KEY_OF(NAME_OF(tracking->keys.all.next)));
    names_clear(&tracking->keys);
    names_clear(&tracking->prefixes);
}

void tracking_set_caching(struct tracker *tracker, bool is_set)
{
    tracker->is_caching = is_set;
}

unsigned tracking_flags(const struct tracker *tracker)
{
    return tracker->flags;
}

bool tracking_is_caching(const struct tracker *tracker)
{
    return tracker->is_caching;
}

bool tracking_is_broken(const struct tracker *tracker)
{
    return tracker->is_broken;
}

int64_t tracking_redirect_id(const struct tracking_client *client)
{
    return client->tracker == NULL ? -1 : (int64_t)client->tracker->redirect_id;
}

size_t tracking_prefixes(const struct tracker *tracker,
                         void (*visit)(void *ctx, struct yn_bytes prefix), void *ctx)
{
    const struct link *all = &tracker->prefixes;
    size_t n = 0;
    for (struct link *l = all->next; l != all; l = l->next, n++) {
        if (visit != NULL)
            visit(ctx,
                  LIST_ITEM(l, struct prefix_client, in_tracker)->prefix->name.bytes);
    }
    return n;
}

/* ---- changes ---- */

static bool starts_with(struct yn_bytes text, struct yn_bytes prefix)
{
    return text.len >= prefix.len &&
           (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

static void prefix_note_change(struct tracking *tracking, struct prefix *prefix,
                               struct yn_bytes key, const struct conn *by)
{
    uint64_t by_id = by != NULL ? by->id : 0;
    struct name *name = names_find(&prefix->changed, 0, key);
    if (name != NULL) {
        if (CHANGE_OF(name)->by != by_id)
            CHANGE_OF(name)->by = 0;
        return;
    }
    struct change *change = NEW_NAMED(struct change, key);
    if (change == NULL || !names_add(&prefix->changed, &change->name)) {
        free(change); /* out of memory: every copy may be stale */
        struct link *all = &prefix->clients;
        for (struct link *l = all->next; l != all; l = l->next)
            tell(LIST_ITEM(l, struct prefix_client, in_prefix)->tracker, NULL);
        return;
    }
    change->by = by_id;
    if (list_is_empty(&prefix->in_changed))
        list_append(&tracking->changed, &prefix->in_changed);
    loop_current()->has_to_broadcast = true;
}

void tracking_note_change(struct tracking *tracking, struct yn_bytes key,
                          const struct conn *by)
{
    struct link *all = &tracking->prefixes.all;
    for (struct link *l = all->next; l != all; l = l->next) {
        if (starts_with(key, NAME_OF(l)->bytes))
            prefix_note_change(tracking, PREFIX_OF(NAME_OF(l)), key, by);
    }
    struct name *name = names_find(&tracking->keys, 0, key);
    if (name != NULL)
        key_is_stale(tracking, KEY_OF(name), by);
}

void tracking_note_flush(struct tracking *tracking)
{
    struct link *all = &tracking->trackers;
    for (struct link *l = all->next; l != all; l = l->next)
        tell(LIST_ITEM(l, struct tracker, in_trackers), NULL);
    while (tracking->keys.n > 0)
        key_free(tracking, KEY_OF(NAME_OF(tracking->keys.all.next)));
}

static int compare_changes(const void *a, const void *b)
{
    return yn_bytes_compare((*(struct change *const *)a)->name.bytes,
                            (*(struct change *const *)b)->name.bytes);
}

/* Writes the keys, but for those that this client changed (0: of nobody), as an array.
 * Returns how many. */
static size_t write_changes(struct change *const *changes, size_t n, uint64_t but_by,
                            struct yn_buf *out)
{
    size_t n_wanted = 0;
    for (size_t i = 0; i < n; i++)
        n_wanted += but_by == 0 || changes[i]->by != but_by;
    yn_buf_reset(out, SIZE_MAX);
    yn_write_array(out, n_wanted);
    for (size_t i = 0; i < n; i++) {
        if (but_by == 0 || changes[i]->by != but_by)
            yn_write_bulk(out, changes[i]->name.bytes);
    }
    return n_wanted;
}

/* Tells the prefix's clients of the keys, in the order of their bytes. */
static void tell_changes(const struct prefix *prefix, struct change **changes, size_t n)
{
    struct yn_buf all_keys, others;
    yn_buf_init(&all_keys);
    yn_buf_init(&others);
    qsort(changes, n, sizeof(struct change *), compare_changes);
    write_changes(changes, n, 0, &all_keys);
    const struct link *all = &prefix->clients;
    for (const struct link *l = all->next; l != all; l = l->next) {
        struct tracker *tracker = LIST_ITEM(l, struct prefix_client, in_prefix)->tracker;
        bool skips_own = (tracker->flags & TRACKING_NOLOOP) != 0;
        if (!skips_own)
            tell(tracker, &all_keys);
        else if (write_changes(changes, n, tracker->conn->id, &others) > 0)
            tell(tracker, &others);
    }
    yn_buf_clear(&all_keys);
    yn_buf_clear(&others);
}

void tracking_broadcast(struct tracking *tracking)
{
    while (!list_is_empty(&tracking->changed)) {
        struct prefix *prefix =
            LIST_ITEM(tracking->changed.next, struct prefix, in_changed);
        size_t n = prefix->changed.n, at = 0;
        struct change **changes = malloc(n * sizeof(struct change *));
        if (changes != NULL) {
            const struct link *all = &prefix->changed.all;
            for (struct link *l = all->next; l != all; l = l->next)
                changes[at++] = CHANGE_OF(NAME_OF(l));
            tell_changes(prefix, changes, n);
            free(changes);
        } else {
            const struct link *all = &prefix->clients;
            for (struct link *l = all->next; l != all; l = l->next)
                tell(LIST_ITEM(l, struct prefix_client, in_prefix)->tracker, NULL);
        }
        forget_changes(prefix);
    }
}
