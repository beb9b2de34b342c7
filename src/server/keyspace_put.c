/* keyspace_put.c: keys that get a value: a new one, a longer one, that of another key. */
#include <stdlib.h>
#include <string.h>

#include "server/blob.h"
#include "server/keyspace_parts.h"

/* ---- entries for values ---- */

static void tell_added(const struct keyspace *ks, const struct key_entry *e)
{
    if (ks->hooks->added != NULL)
        ks->hooks->added(ks->hooks->ctx, ks->number, key_entry_name(e));
}

/* Gives the entry this expiry, or what a HOST_EXPIRY_* says. False: out of memory. */
static bool put_expiry(struct keyspace *ks, struct key_entry **link, int64_t expiry_ms)
{
    if (expiry_ms == HOST_EXPIRY_KEEP)
        return true;
    if (expiry_ms == HOST_EXPIRY_NONE)
        return !(*link)->has_expiry || keyspace_drop_expiry(ks, link);
    if (!(*link)->has_expiry)
        return keyspace_add_expiry(ks, link, expiry_ms);
    due_change(&ks->heap, keyspace_slot_of(*link), expiry_ms);
    return true;
}

/* The entry for a key that is to get a new value: an old one, or a new one of type
 * HOST_NONE. It has the new expiry. NULL when out of memory, nothing changed. */
static struct key_entry *entry_for_put(struct keyspace *ks, struct yn_bytes key,
                                       int64_t expiry_ms, int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return NULL;
    keyspace_drop_expired(ks, key, now_ms);
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    bool is_new = *link == NULL;
    if (is_new) {
        struct key_entry *e = keyspace_entry_new(key, false, now_ms);
        if (e == NULL)
            return NULL;
        keydir_add(&ks->keys, e, hash);
        link = keydir_find(&ks->keys, key, hash);
    }
    if (put_expiry(ks, link, expiry_ms)) {
        (*link)->used_s = keyspace_clock_s(now_ms);
        return *link;
    }
    if (is_new)
        keyspace_remove_at(ks, link, hash, KEYSPACE_DELETED);
    return NULL;
}

bool keyspace_put_zset(struct keyspace *ks, struct yn_bytes key, struct yn_zset *set,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    if (e->type == HOST_ZSET && e->value.zset == set)
        return true;
    bool is_new = e->type == HOST_NONE;
    keyspace_value_drop(ks->hooks, e, KEYSPACE_REPLACED);
    e->type = HOST_ZSET;
    e->value.zset = set;
    if (is_new)
        tell_added(ks, e);
    return true;
}

/* A string that belongs to no key yet. */
struct loose_string {
    bool is_blob;
    union entry_value value;
};

static bool loose_string_init(struct loose_string *loose, struct yn_bytes text)
{
    loose->is_blob = text.len >= BLOB_LEN_MIN;
    if (loose->is_blob) {
        loose->value.blob = blob_new(text);
        return loose->value.blob != NULL;
    }
    struct string_value *string = malloc(sizeof *string + text.len);
    loose->value.string = string;
    if (string == NULL)
        return false;
    string->len = text.len;
    if (text.len > 0)
        memcpy(string->data, text.data, text.len);
    return true;
}

static void loose_string_clear(struct loose_string *loose)
{
    if (loose->is_blob)
        host_blob_drop(loose->value.blob);
    else
        free(loose->value.string);
}

static void entry_take_string(struct keyspace *ks, struct key_entry *e,
                              const struct loose_string *loose)
{
    bool is_new = e->type == HOST_NONE;
    keyspace_value_drop(ks->hooks, e, KEYSPACE_REPLACED);
    e->type = HOST_STRING;
    e->is_blob = loose->is_blob;
    e->value = loose->value;
    if (is_new)
        tell_added(ks, e);
}

bool keyspace_put_string(struct keyspace *ks, struct yn_bytes key, struct yn_bytes value,
                         int64_t expiry_ms, int64_t now_ms)
{
    struct loose_string loose;
    if (!loose_string_init(&loose, value))
        return false;
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL) {
        loose_string_clear(&loose);
        return false;
    }
    entry_take_string(ks, e, &loose);
    return true;
}

bool keyspace_put_blob(struct keyspace *ks, struct yn_bytes key, struct host_blob *blob,
                       int64_t expiry_ms, int64_t now_ms)
{
    struct loose_string loose = {.is_blob = true, .value.blob = blob};
    struct key_entry *e = entry_for_put(ks, key, expiry_ms, now_ms);
    if (e == NULL)
        return false;
    entry_take_string(ks, e, &loose);
    return true;
}

/* What a put of one of several strings needs: its value, and an entry for its key. */
struct prepared_string {
    struct loose_string loose;
    struct key_entry *fresh; /* NULL: the key is there */
};

static bool prepare_string(struct keyspace *ks, struct yn_bytes key,
                           struct yn_bytes value, struct prepared_string *out_prepared,
                           int64_t now_ms)
{
    out_prepared->fresh = NULL;
    if (!loose_string_init(&out_prepared->loose, value))
        return false;
    if (*keydir_find(&ks->keys, key, keydir_hash(&ks->keys, key)) != NULL)
        return true;
    out_prepared->fresh = keyspace_entry_new(key, false, now_ms);
    if (out_prepared->fresh != NULL)
        return true;
    loose_string_clear(&out_prepared->loose);
    return false;
}

/* Cannot fail. */
static void put_prepared(struct keyspace *ks, struct yn_bytes key,
                         const struct prepared_string *prepared)
{
    uint64_t hash = keydir_hash(&ks->keys, key);
    struct key_entry **link = keydir_find(&ks->keys, key, hash);
    if (*link == NULL) {
        keydir_add(&ks->keys, prepared->fresh, hash);
        link = keydir_find(&ks->keys, key, hash);
    } else {
        free(prepared->fresh);
        put_expiry(ks, link, HOST_EXPIRY_NONE);
    }
    entry_take_string(ks, *link, &prepared->loose);
}

bool keyspace_put_strings(struct keyspace *ks, size_t n, const struct yn_bytes *pairs,
                          int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return false;
    struct prepared_string *prepared = malloc(n * sizeof *prepared);
    if (prepared == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        keyspace_drop_expired(ks, pairs[2 * i], now_ms);
        if (prepare_string(ks, pairs[2 * i], pairs[2 * i + 1], &prepared[i], now_ms))
            continue;
        while (i-- > 0) {
            loose_string_clear(&prepared[i].loose);
            free(prepared[i].fresh);
        }
        free(prepared);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        put_prepared(ks, pairs[2 * i], &prepared[i]);
    free(prepared);
    return true;
}

/* Makes a string of this length or a longer one out of a shorter one, or out of none. */
static char *entry_grow_string(struct key_entry *e, size_t len)
{
    struct string_value *string = e->type == HOST_NONE ? NULL : e->value.string;
    if (e->is_blob || len >= BLOB_LEN_MIN) {
        struct yn_bytes small = {NULL, 0};
        if (!e->is_blob && string != NULL)
            small = (struct yn_bytes){string->data, string->len};
        struct host_blob *blob =
            e->is_blob ? blob_grow(e->value.blob, len) : blob_new_growing(small, len);
        if (blob == NULL)
            return NULL;
        if (!e->is_blob)
            free(string);
        e->is_blob = true;
        e->value.blob = blob;
        e->type = HOST_STRING;
        return blob_bytes(blob);
    }
    if (string != NULL && len <= string->len)
        return string->data;
    string = realloc(string, sizeof *string + len);
    if (string == NULL)
        return NULL;
    string->len = len;
    e->type = HOST_STRING;
    e->value.string = string;
    return string->data;
}

char *keyspace_edit_string(struct keyspace *ks, struct yn_bytes key, size_t len,
                           int64_t now_ms)
{
    struct key_entry *e = entry_for_put(ks, key, HOST_EXPIRY_KEEP, now_ms);
    if (e == NULL)
        return NULL;
    bool is_new = e->type == HOST_NONE;
    char *bytes = entry_grow_string(e, len);
    if (bytes == NULL && is_new) {
        uint64_t hash = keydir_hash(&ks->keys, key);
        keyspace_remove_at(ks, keydir_find(&ks->keys, key, hash), hash, KEYSPACE_DELETED);
    }
    if (bytes != NULL && is_new)
        tell_added(ks, e);
    return bytes;
}

void keyspace_set_form(struct keyspace *ks, struct yn_bytes key, enum host_form form,
                       int64_t now_ms)
{
    struct key_entry *e = keyspace_entry(ks, key, now_ms);
    if (e != NULL)
        e->form = (unsigned)form & 3;
}

/* ---- moving, copying ---- */

/* Puts an entry that is complete, and whose value is the caller's to give, in the place
 * of what the database has under its key. Returns false, nothing changed, when out of
 * memory. */
static bool install(struct keyspace *ks, struct key_entry *e, int64_t at_ms,
                    int64_t now_ms)
{
    if (!keydir_prepare(&ks->keys))
        return false;
    if (e->has_expiry && !due_add(&ks->heap, at_ms, e))
        return false;
    struct yn_bytes key = key_entry_name(e);
    keyspace_remove(ks, key, KEYSPACE_REPLACED, now_ms);
    keydir_add(&ks->keys, e, keydir_hash(&ks->keys, key));
    tell_added(ks, e);
    return true;
}

static int64_t entry_at_ms(const struct keyspace *ks, const struct key_entry *e)
{
    return e->has_expiry ? due_at_ms(&ks->heap, keyspace_slot_of(e)) : -1;
}

static bool is_same_name(struct yn_bytes a, struct yn_bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool keyspace_move(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, int64_t now_ms)
{
    struct key_entry *old = keyspace_entry(ks, from, now_ms);
    if (old == NULL)
        return false;
    if (ks == to_ks && is_same_name(from, to))
        return true;
    struct key_entry *e = keyspace_entry_new(to, old->has_expiry, now_ms);
    if (e == NULL)
        return false;
    keyspace_entry_take(e, old);
    if (!install(to_ks, e, entry_at_ms(ks, old), now_ms)) {
        free(e);
        return false;
    }
    uint64_t hash = keydir_hash(&ks->keys, from);
    old = keydir_unlink(&ks->keys, keydir_find(&ks->keys, from, hash), hash);
    if (old->has_expiry)
        due_remove(&ks->heap, keyspace_slot_of(old));
    free(old);
    return true;
}

bool keyspace_copy(struct keyspace *ks, struct yn_bytes from, struct keyspace *to_ks,
                   struct yn_bytes to, struct yn_zset *set, int64_t now_ms)
{
    const struct key_entry *old = keyspace_entry(ks, from, now_ms);
    struct key_entry *e =
        old == NULL ? NULL : keyspace_entry_new(to, old->has_expiry, now_ms);
    if (e == NULL)
        return false;
    keyspace_entry_take(e, old);
    e->used_s = keyspace_clock_s(now_ms);
    struct loose_string loose = {.is_blob = old->is_blob, .value = old->value};
    bool has_value = true;
    if (e->form == HOST_FORM_PLAIN)
        e->form = HOST_FORM_OWN;
    if (old->type == HOST_ZSET)
        e->value.zset = set;
    else if (old->is_blob)
        host_blob_hold(old->value.blob);
    else
        has_value = loose_string_init(&loose, keyspace_value_of(old).string);
    if (old->type != HOST_ZSET)
        e->value = loose.value;
    if (has_value && install(to_ks, e, entry_at_ms(ks, old), now_ms))
        return true;
    if (old->type != HOST_ZSET && has_value)
        loose_string_clear(&loose);
    free(e);
    return false;
}
