/*
 * host.h: what a command may ask of the program it runs in. The seam.
 *
 * The functions declared here are defined once per program: by the server
 * (src/server/host_server.c), by the module, and by tests/unit/host_fake.c. The linker
 * chooses; there is no table of pointers and no #ifdef. Commands reach replies
 * and keys through this header only: they know neither sockets nor the version
 * of the protocol, and the host knows no command.
 *
 * struct host is one execution: one client, one database, one reply under way.
 */
#ifndef HOST_H
#define HOST_H

#include <string.h>

#include "yonder.h"

struct host;

/* ---- replies ---- */

void host_reply_status(struct host *h, const char *text); /* +text */
/* Error with its code, no '-': "ERR syntax error". CR and LF inside become blanks. */
void host_reply_error(struct host *h, const char *text);
void host_reply_error_bytes(struct host *h, struct yn_bytes text);
void host_reply_integer(struct host *h, int64_t value);
void host_reply_bulk(struct host *h, struct yn_bytes bytes);
static inline void host_reply_bulk_text(struct host *h, const char *text)
{
    host_reply_bulk(h, (struct yn_bytes){text, strlen(text)});
}
void host_reply_null(struct host *h);            /* $-1, or _ */
void host_reply_null_array(struct host *h);      /* *-1, or _ */
void host_reply_array(struct host *h, size_t n); /* n elements follow */
void host_reply_map(struct host *h, size_t n);   /* n pairs follow; RESP2: array of 2n */
void host_reply_set(struct host *h, size_t n);   /* n elements follow; RESP2: array */
/* A score: bulk in RESP2, double in RESP3; text by the host's number style. */
void host_reply_score(struct host *h, double score);
/* A score as ZSCAN shows it: always a bulk. `compact`: the set is small (Redis
 * keeps those in another form and prints them in another way). */
void host_reply_scan_score(struct host *h, double score, bool compact);
/* Whether a set of n members, the longest of so many bytes, counts as small. */
bool host_zset_is_compact(struct host *h, size_t n_members, size_t longest_len);
/* A coordinate in degrees: bulk in RESP2, double in RESP3; text by `coordinate-format`.
 */
void host_reply_coordinate(struct host *h, double degrees);
/* A distance in the unit of the query: a bulk with four decimals, in RESP3 too. */
void host_reply_distance(struct host *h, double distance);
/* n members in wire form ("$3\r\nabc\r\n"...), passed on as they are; a large bulk may
 * come in several parts of 0 members. */
void host_reply_wire(struct host *h, struct yn_bytes wire, size_t n);
/* Results with their distances in the unit: for each an array of the member and of what
 * host_reply_distance writes. Returns the number of bytes, 0 when out of memory. */
size_t host_reply_hits(struct host *h, const struct yn_hits *hits, double unit_m);
/* True for RESP3 clients: only for replies whose *shape* differs by version
 * (score pairs nested or flat), never for how a value is written. */
bool host_reply_nests_pairs(struct host *h);

/* ---- long work ---- */

/* Frees a frozen view (or NULL) where yn_view_free may be called; what only it needed may
 * be freed by another thread. */
void host_view_free(struct yn_view *view);

/* Work that takes so long, in nanoseconds, is better done in another thread (is_long of
 * a job, see cmd.h). 0: any; UINT64_MAX: none. */
uint64_t host_long_ns(struct host *h);

/* ---- statistics ---- */

/* Notes a search that has been planned: what it cost and how many results it has. */
void host_count_search(struct host *h, const struct yn_search *search);

/* ---- keys ---- */

enum host_type { HOST_NONE, HOST_STRING, HOST_ZSET, HOST_OTHER };

/* The bytes of a large string, which outlive the key's value while they are held. */
struct host_blob;
void host_blob_hold(struct host_blob *blob);
void host_blob_drop(struct host_blob *blob); /* for each hold */

/* How OBJECT ENCODING tells a string, since Redis remembers how it was made: an integer
 * as "int", other short ones as "embstr", long ones as "raw"; raw whatever it is (APPEND
 * to a value, SETRANGE); or text, never "int" (INCRBYFLOAT). OWN is PLAIN, but that a
 * small integer is not the one that all keys share (COPY). */
enum host_form { HOST_FORM_PLAIN, HOST_FORM_RAW, HOST_FORM_TEXT, HOST_FORM_OWN };

struct host_value {
    enum host_type type;    /* HOST_NONE: no such key */
    enum host_form form;    /* HOST_STRING */
    struct yn_zset *zset;   /* HOST_ZSET; borrowed */
    struct yn_bytes string; /* HOST_STRING; borrowed until the next write */
    struct host_blob *blob; /* a large string's, to be held; else NULL */
};

/* Whether the key holds this very set; NULL: whether there is no such key. No look-up is
 * counted. */
bool host_key_holds(struct host *h, struct yn_bytes key, const struct yn_zset *set);
/* Looks a key up for reading; the set must not be changed through it. */
struct host_value host_key_read(struct host *h, struct yn_bytes key);
/* The same where it is no use of the key, which OBJECT IDLETIME counts from. */
struct host_value host_key_peek(struct host *h, struct yn_bytes key);
/* The same for those who look at a key from outside: no event when it is not there. */
struct host_value host_key_inspect(struct host *h, struct yn_bytes key);
/* Looks a key up for changing its set in place; after changes call host_key_changed. */
struct host_value host_key_write(struct host *h, struct yn_bytes key);
/* Stores a set or a string under the key whatever was there before; the key loses its
 * expiry unless keep_expiry. The set is taken on success; on failure (out of memory)
 * they return false and the caller still owns it. A string's bytes are copied, or stay
 * where they are, in the request: its words are good for the rest of the command as long
 * as the key keeps the value. No notification: call host_key_changed. */
bool host_key_put_zset(struct host *h, struct yn_bytes key, struct yn_zset *set);
bool host_key_put_string(struct host *h, struct yn_bytes key, struct yn_bytes value,
                         bool keep_expiry);
/* The same with an expiry: a time, past ones too (the key is expired at once), or what to
 * do about the one that the key has. All or nothing. */
#define HOST_EXPIRY_NONE INT64_C(-1)
#define HOST_EXPIRY_KEEP INT64_C(-2)
bool host_key_put_zset_until(struct host *h, struct yn_bytes key, struct yn_zset *set,
                             int64_t expiry_ms);
bool host_key_put_string_until(struct host *h, struct yn_bytes key, struct yn_bytes value,
                               int64_t expiry_ms);
/* Stores n strings, whose expiry goes: pairs[2i] is a key, pairs[2i + 1] its value. All
 * or nothing: false when out of memory. Of a key that comes twice the last value counts.
 */
bool host_key_put_strings(struct host *h, size_t n, const struct yn_bytes *pairs);
/* Makes the key's string longer (or leaves its length, with len no greater), to be
 * written to in place; without a key, makes one. The key must hold a string or be none;
 * it keeps its expiry. New bytes are for the caller to write. Returns the first byte,
 * good until the next change; NULL when out of memory, then nothing is changed. No
 * notification. Cost: growing a string by small pieces is linear in its length. */
char *host_key_edit_string(struct host *h, struct yn_bytes key, size_t len);
/* The longest string that a command may make (proto-max-bulk-len). */
size_t host_string_len_max(struct host *h);
/* Says how the string under the key is told; every put makes it PLAIN. */
void host_key_set_form(struct host *h, struct yn_bytes key, enum host_form form);
/* Removes the key. Returns false when there is none. No notification. The second one
 * never waits until a large value's memory is given back. */
bool host_key_remove(struct host *h, struct yn_bytes key);
bool host_key_unlink(struct host *h, struct yn_bytes key);
/*
 * Gives the value and the expiry of `from` in the current database to `to` in another one
 * (or the same): moves them, or copies them. What was there before goes. All or nothing:
 * false when memory is out, or there is no such key. No notification. `set` is a copy of
 * the set that `from` holds, taken on success; NULL if it holds another value.
 */
bool host_key_move(struct host *h, struct yn_bytes from, size_t to_db,
                   struct yn_bytes to);
bool host_key_copy(struct host *h, struct yn_bytes from, size_t to_db, struct yn_bytes to,
                   struct yn_zset *set);
/* Tells the host that a key was changed, for WATCH, notifications and the log. event is a
 * keyspace event ("zadd", "del", "geosearchstore"). */
void host_key_changed(struct host *h, struct yn_bytes key, const char *event);
/* A set for a new key: with the host's allocator and hash seed. NULL: out of memory. */
struct yn_zset *host_zset_new(struct host *h);
/* Options for yn_zset_build and yn_zset_decode; borrowed. */
const struct yn_options *host_zset_options(struct host *h);

/* Expiry as absolute milliseconds since 1970; -1: the key has none; -2: no such key. */
int64_t host_key_expiry_ms(struct host *h, struct yn_bytes key);
/* Sets it (at_ms >= 0) or drops it (at_ms == -1). Returns false when there is no such
 * key. */
bool host_key_set_expiry_ms(struct host *h, struct yn_bytes key, int64_t at_ms);
/* Counts as a use of the key, for a client with CLIENT NO-TOUCH too. Returns false when
 * there is no such key. */
bool host_key_touch(struct host *h, struct yn_bytes key);
/* Seconds since the key was used; -1: no such key. */
int64_t host_key_idle_s(struct host *h, struct yn_bytes key);
/* The clock, the same during one command. */
int64_t host_now_ms(struct host *h);
/* A random number, all 64 bits of it. Not for secrets. */
uint64_t host_random(struct host *h);

size_t host_key_count(struct host *h); /* keys of the current database */
/* Visits keys in the order of a cursor that is stable under changes: start with 0, 0 back
 * means done. About `count` keys a call. visit must not change keys. Expired keys are
 * left out. */
typedef void (*host_key_fn)(void *ctx, struct yn_bytes key, enum host_type type);
uint64_t host_key_scan(struct host *h, uint64_t cursor, size_t count, host_key_fn visit,
                       void *ctx);
/* A key of the current database, each as likely as another; never an expired one. The
 * bytes are borrowed until the next change. Returns false when there is none, or when
 * nearly all keys are expired and some ten thousands of them were looked at in vain. */
bool host_key_random(struct host *h, struct yn_bytes *out_key);

/* Removes every key of the current database, or of all. */
enum host_flush {
    HOST_FLUSH_DEFAULT, /* as the host is configured */
    HOST_FLUSH_SYNC,    /* memory is given back when the command ends */
    HOST_FLUSH_ASYNC    /* later */
};
void host_key_flush(struct host *h, enum host_flush how);
void host_key_flush_all(struct host *h, enum host_flush how);

/* ---- databases ---- */

/* The current database is the client's; a command may turn to another one for the rest
 * of its run. */
size_t host_db_count(struct host *h);
size_t host_db_index(struct host *h);
void host_db_use(struct host *h, size_t db);
/* All keys of one database against those of another. Calls host_db_changed for both. */
void host_db_swap(struct host *h, size_t a, size_t b);
/* Tells the host that any key of the database may have changed, or gone. */
void host_db_changed(struct host *h, size_t db);

#endif
