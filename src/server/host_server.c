/*
 * The server's side of the seam: replies go into the connection's output as RESP2 or
 * RESP3, keys into the keyspace of the client's database.
 */
#include "server/host_server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/random.h"
#include "resp/write.h"
#include "server/blob.h"
#include "server/blocking.h"
#include "server/conn.h"
#include "server/databases.h"
#include "server/keyspace.h"
#include "server/met_expired.h"
#include "server/notify.h"
#include "server/server.h"

struct host host_server_begin(struct loop *loop, struct conn *conn, struct yn_buf *out)
{
    struct server *server = loop->server;
    return (struct host){
        .loop = loop,
        .conn = conn,
        .keyspace = server->databases[conn->db],
        .db = conn->db,
        .out = out,
        .resp = conn->resp,
        .is_fixed17 = server->config.coordinate_format == CONFIG_COORDINATE_FIXED17,
        .now_ms = loop_now_ms(loop),
    };
}

/* ---- replies ---- */

typedef size_t (*format_fn)(double value, char *out_text);

/*
 * HOT: a number as a bulk, printed where it is to stand: copying a text that has just
 * been written in small pieces makes the processor wait for all of them. The length
 * before it takes one or two digits; is_short is the guess that it takes one.
 */
static inline void reply_number(struct host *h, format_fn format, size_t text_max,
                                double value, bool is_short)
{
    char *to = yn_buf_reserve(h->out, sizeof "$99\r\n\r\n" + text_max);
    if (to == NULL)
        return;
    char *text = to + (is_short ? 4 : 5);
    size_t len = format(value, text);
    if (len >= 100) { /* too long for the header: fixed17 of what is no coordinate */
        char copy[YN_NUM_FIXED17_MAX];
        memcpy(copy, text, len);
        yn_write_bulk(h->out, (struct yn_bytes){copy, len});
        return;
    }
    size_t header_len = len < 10 ? 4 : 5;
    if (text != to + header_len)
        memmove(to + header_len, text, len);
    to[0] = '$';
    to[1] = (char)(len < 10 ? '0' + len : '0' + len / 10);
    to[2] = (char)('0' + len % 10); /* or the CR, below */
    to[header_len - 2] = '\r';
    to[header_len - 1] = '\n';
    to += header_len + len;
    to[0] = '\r';
    to[1] = '\n';
    h->out->len = (size_t)(to + 2 - h->out->data);
}

void host_reply_status(struct host *h, const char *text)
{
    yn_write_status(h->out, text);
}

void host_reply_error(struct host *h, const char *text)
{
    host_reply_error_bytes(h, (struct yn_bytes){text, strlen(text)});
}

void host_reply_error_bytes(struct host *h, struct yn_bytes text)
{
    struct loop *loop = h->loop;
    bool is_alone = loop->locked == LOOP_UNLOCKED; /* a job's step */
    h->n_errors++;
    if (is_alone)
        loop_lock(loop, LOOP_SHARED);
    stats_count_error(&loop->stats, text);
    if (is_alone)
        loop_unlock(loop);
    yn_write_error(h->out, text);
}

void host_reply_integer(struct host *h, int64_t value)
{
    yn_write_integer(h->out, value);
}

void host_reply_bulk(struct host *h, struct yn_bytes bytes)
{
    yn_write_bulk(h->out, bytes);
}

void host_reply_null(struct host *h)
{
    yn_write_null(h->out, h->resp);
}

void host_reply_null_array(struct host *h)
{
    yn_write_null_array(h->out, h->resp);
}

void host_reply_array(struct host *h, size_t n)
{
    yn_write_array(h->out, n);
}

void host_reply_map(struct host *h, size_t n)
{
    yn_write_map(h->out, h->resp, n);
}

void host_reply_set(struct host *h, size_t n)
{
    yn_write_set(h->out, h->resp, n);
}

void host_reply_score(struct host *h, double score)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len = h->is_fixed17 ? yn_num_format_g17(score, text)
                               : yn_num_format_shortest(score, text);
    yn_write_double_text(h->out, h->resp, (struct yn_bytes){text, len});
}

void host_reply_scan_score(struct host *h, double score, bool compact)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len;
    if (!compact) /* large sets: 17 digits in every version */
        len = yn_num_format_scan(score, text);
    else if (h->is_fixed17)
        len = yn_num_format_compact(score, text);
    else
        len = yn_num_format_shortest(score, text);
    yn_write_bulk(h->out, (struct yn_bytes){text, len});
}

bool host_zset_is_compact(struct host *h, size_t n_members, size_t longest_len)
{
    const struct config *config = &h->loop->server->config;
    return n_members <= (uint64_t)config->zset_max_listpack_entries &&
           longest_len <= (uint64_t)config->zset_max_listpack_value;
}

void host_reply_coordinate(struct host *h, double degrees)
{
    if (h->resp == 2 && h->is_fixed17) {
        reply_number(h, yn_num_format_fixed17, YN_NUM_FIXED17_MAX, degrees, false);
        return;
    }
    if (h->resp == 2) {
        reply_number(h, yn_num_format_shortest, YN_NUM_TEXT_MAX, degrees, false);
        return;
    }
    char text[YN_NUM_FIXED17_MAX];
    size_t len = h->is_fixed17 ? yn_num_format_fixed17(degrees, text)
                               : yn_num_format_shortest(degrees, text);
    yn_write_double_text(h->out, h->resp, (struct yn_bytes){text, len});
}

/* Below it four digits before the point and four behind. */
#define SHORT_DISTANCE 9999.9999

void host_reply_distance(struct host *h, double distance)
{
    reply_number(h, yn_num_format_distance, YN_NUM_TEXT_MAX, distance,
                 distance < SHORT_DISTANCE);
}

size_t host_reply_hits(struct host *h, const struct yn_hits *hits, double unit_m)
{
    size_t before = h->out->len;
    yn_write_hits(h->out, hits, unit_m);
    return h->out->len - before;
}

void host_reply_wire(struct host *h, struct yn_bytes wire, size_t n)
{
    (void)n;
    yn_buf_append(h->out, wire.data, wire.len);
}

bool host_reply_nests_pairs(struct host *h)
{
    return h->resp == 3;
}

/* ---- long work ---- */

/* So few blocks are freed on the spot. */
#define GARBAGE_FEW 64

void host_view_free(struct yn_view *view)
{
    const struct loop *loop = loop_current();
    struct yn_garbage garbage = yn_view_release(view);
    if (garbage.n <= GARBAGE_FEW || loop == NULL ||
        !pool_free_garbage(&loop->server->pool, garbage))
        yn_garbage_free(garbage);
}

uint64_t host_long_ns(struct host *h)
{
    int64_t threshold_us = h->loop->server->config.offload_threshold_us;
    return threshold_us < 0 ? UINT64_MAX : (uint64_t)threshold_us * 1000;
}

/* ---- statistics ---- */

void host_count_search(struct host *h, const struct yn_search *search)
{
    struct stats *stats = &h->loop->stats;
    struct yn_search_work work = yn_search_work(search);
    stats_add(&stats->searches, 1);
    stats_add(&stats->search_leaves, work.n_leaves);
    stats_add(&stats->search_tested, work.n_tested);
    stats_add(&stats->search_hits, yn_search_count(search));
}

/* ---- keys ---- */

static void drop_expired(struct host *h, struct yn_bytes key)
{
    if (h->loop->locked == LOOP_EXCLUSIVE)
        keyspace_drop_expired(h->keyspace, key, h->now_ms);
    else if (keyspace_has_expired(h->keyspace, key, h->now_ms))
        met_expired_add(&h->loop->met_expired, h->db, key);
}

/* Returns whether the key is there. */
static bool count_look_up(struct host *h, struct yn_bytes key, struct host_value value)
{
    if (value.type != HOST_NONE) {
        h->loop->stats.keyspace_hits++;
        return true;
    }
    h->loop->stats.keyspace_misses++;
    /* Who asks for a key that has expired is the first to hear that it has. */
    if (h->loop->server->pause.mode == PAUSE_NONE)
        drop_expired(h, key);
    return false;
}

/* A look-up that is a use of the key, unless the client wants none to be. */
static struct host_value look_up(struct host *h, struct yn_bytes key)
{
    return h->conn->is_no_touch ? keyspace_find(h->keyspace, key, h->now_ms)
                                : keyspace_use(h->keyspace, key, h->now_ms);
}

bool host_key_holds(struct host *h, struct yn_bytes key, const struct yn_zset *set)
{
    struct host_value value = keyspace_find(h->keyspace, key, h->now_ms);
    return set == NULL ? value.type == HOST_NONE
                       : value.type == HOST_ZSET && value.zset == set;
}

struct host_value host_key_read(struct host *h, struct yn_bytes key)
{
    struct host_value value = look_up(h, key);
    if (!count_look_up(h, key, value))
        databases_notify(h->loop->server, "keymiss", h->db, key);
    return value;
}

struct host_value host_key_peek(struct host *h, struct yn_bytes key)
{
    struct host_value value = keyspace_find(h->keyspace, key, h->now_ms);
    if (!count_look_up(h, key, value))
        databases_notify(h->loop->server, "keymiss", h->db, key);
    return value;
}

struct host_value host_key_inspect(struct host *h, struct yn_bytes key)
{
    struct host_value value = keyspace_find(h->keyspace, key, h->now_ms);
    count_look_up(h, key, value);
    return value;
}

struct host_value host_key_write(struct host *h, struct yn_bytes key)
{
    keyspace_drop_expired(h->keyspace, key, h->now_ms);
    return look_up(h, key);
}

bool host_key_put_zset(struct host *h, struct yn_bytes key, struct yn_zset *set)
{
    return host_key_put_zset_until(h, key, set, HOST_EXPIRY_NONE);
}

bool host_key_put_zset_until(struct host *h, struct yn_bytes key, struct yn_zset *set,
                             int64_t expiry_ms)
{
    return keyspace_put_zset(h->keyspace, key, set, expiry_ms, h->now_ms);
}

/* Makes the block that the value was read into the value itself. */
static bool put_in(struct host *h, struct yn_bytes key, struct yn_bytes value,
                   int64_t expiry_ms)
{
    struct host_blob *blob = blob_new_taking(h->conn->in.data, h->conn->in.cap, value);
    if (blob == NULL)
        return false;
    if (!keyspace_put_blob(h->keyspace, key, blob, expiry_ms, h->now_ms)) {
        blob->block = NULL; /* still the connection's */
        blob->block_len = 0;
        host_blob_drop(blob);
        return false;
    }
    h->conn->is_in_taken = true;
    return true;
}

bool host_key_put_string(struct host *h, struct yn_bytes key, struct yn_bytes value,
                         bool keep_expiry)
{
    return host_key_put_string_until(h, key, value,
                                     keep_expiry ? HOST_EXPIRY_KEEP : HOST_EXPIRY_NONE);
}

bool host_key_put_string_until(struct host *h, struct yn_bytes key, struct yn_bytes value,
                               int64_t expiry_ms)
{
    if (conn_may_take_in(h->conn, value))
        return put_in(h, key, value, expiry_ms);
    return keyspace_put_string(h->keyspace, key, value, expiry_ms, h->now_ms);
}

bool host_key_put_strings(struct host *h, size_t n, const struct yn_bytes *pairs)
{
    return keyspace_put_strings(h->keyspace, n, pairs, h->now_ms);
}

char *host_key_edit_string(struct host *h, struct yn_bytes key, size_t len)
{
    return keyspace_edit_string(h->keyspace, key, len, h->now_ms);
}

size_t host_string_len_max(struct host *h)
{
    return (size_t)h->loop->server->config.proto_max_bulk_len;
}

bool host_key_remove(struct host *h, struct yn_bytes key)
{
    return keyspace_remove(h->keyspace, key, KEYSPACE_DELETED, h->now_ms);
}

bool host_key_unlink(struct host *h, struct yn_bytes key)
{
    return keyspace_remove(h->keyspace, key, KEYSPACE_UNLINKED, h->now_ms);
}

void host_key_set_form(struct host *h, struct yn_bytes key, enum host_form form)
{
    keyspace_set_form(h->keyspace, key, form, h->now_ms);
}

bool host_key_move(struct host *h, struct yn_bytes from, size_t to_db, struct yn_bytes to)
{
    return keyspace_move(h->keyspace, from, h->loop->server->databases[to_db], to,
                         h->now_ms);
}

bool host_key_copy(struct host *h, struct yn_bytes from, size_t to_db, struct yn_bytes to,
                   struct yn_zset *set)
{
    return keyspace_copy(h->keyspace, from, h->loop->server->databases[to_db], to, set,
                         h->now_ms);
}

void host_key_changed(struct host *h, struct yn_bytes key, const char *event)
{
    struct server *server = h->loop->server;
    assert(h->loop->locked == LOOP_EXCLUSIVE);
    h->loop->stats.changes++;
    if (server->watches.n_clients > 0)
        watch_touch(&server->watches, h->db, key);
    if (tracking_is_on(&server->tracking))
        tracking_note_change(&server->tracking, key, h->conn);
    databases_notify(h->loop->server, event, h->db, key);
    if (server->blocked.n_clients > 0)
        blocking_key_changed(h, key);
}

bool host_key_touch(struct host *h, struct yn_bytes key)
{
    struct host_value value = keyspace_use(h->keyspace, key, h->now_ms);
    count_look_up(h, key, value);
    return value.type != HOST_NONE;
}

int64_t host_key_idle_s(struct host *h, struct yn_bytes key)
{
    return keyspace_idle_s(h->keyspace, key, h->now_ms);
}

bool host_key_random(struct host *h, struct yn_bytes *out_key)
{
    return keyspace_random(h->keyspace, &h->loop->random, h->now_ms, out_key);
}

struct yn_zset *host_zset_new(struct host *h)
{
    return yn_zset_new(host_zset_options(h));
}

const struct yn_options *host_zset_options(struct host *h)
{
    return &h->loop->server->zset_options;
}

int64_t host_key_expiry_ms(struct host *h, struct yn_bytes key)
{
    return keyspace_expiry_ms(h->keyspace, key, h->now_ms);
}

bool host_key_set_expiry_ms(struct host *h, struct yn_bytes key, int64_t at_ms)
{
    return keyspace_set_expiry_ms(h->keyspace, key, at_ms, h->now_ms);
}

int64_t host_now_ms(struct host *h)
{
    return h->now_ms;
}

uint64_t host_random(struct host *h)
{
    return yn_random_next(&h->loop->random);
}

size_t host_key_count(struct host *h)
{
    return keyspace_count(h->keyspace);
}

uint64_t host_key_scan(struct host *h, uint64_t cursor, size_t count, host_key_fn visit,
                       void *ctx)
{
    return keyspace_scan(h->keyspace, cursor, count, h->now_ms, visit, ctx);
}

void host_key_flush(struct host *h, enum host_flush how)
{
    databases_flush(h->loop->server, h->db, how);
    h->loop->stats.changes++;
    multi_touch_db(h, h->db); /* nobody waits for a key to go */
    tracking_note_flush(&h->loop->server->tracking);
}

void host_key_flush_all(struct host *h, enum host_flush how)
{
    struct server *server = h->loop->server;
    for (size_t i = 0; i < server->n_databases; i++)
        databases_flush(server, i, how);
    h->loop->stats.changes += server->n_databases;
    multi_touch_db(h, WATCH_EVERY_DB);
    tracking_note_flush(&server->tracking);
}

/* ---- databases ---- */

size_t host_db_count(struct host *h)
{
    return h->loop->server->n_databases;
}

size_t host_db_index(struct host *h)
{
    return h->db;
}

void host_db_use(struct host *h, size_t db)
{
    h->db = db;
    h->keyspace = h->loop->server->databases[db];
}

void host_db_swap(struct host *h, size_t a, size_t b)
{
    databases_swap(h->loop->server, a, b);
    host_db_use(h, h->db);
    host_db_changed(h, a);
    host_db_changed(h, b);
}

void host_db_changed(struct host *h, size_t db)
{
    h->loop->stats.changes++;
    multi_touch_db(h, db);
    blocking_db_changed(h, db);
}
