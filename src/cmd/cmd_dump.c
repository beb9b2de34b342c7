/*
 * cmd_dump.c: values as bytes in Redis's format (rdb.h), and back.
 *
 * A small value is written to a buffer. A large string goes out as it lies in memory,
 * with some bytes before and behind it. A large set is written entry by entry by a job,
 * which sums its checksum as it goes; only its length is worked out beforehand.
 */
#include "cmd/cmd_dump.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/string_reply.h"
#include "cmd/zset_form.h"
#include "core/num.h"
#include "rdb/crc64.h"
#include "rdb/rdb.h"

/* ---- DUMP of small values ---- */

/* Ends the payload in the buffer, replies it and frees the buffer. */
static void reply_payload(struct cmd_call *call, struct yn_buf *buf)
{
    rdb_write_footer(buf);
    if (buf->failed)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        host_reply_bulk(call->host, (struct yn_bytes){buf->data, buf->len});
    yn_buf_clear(buf);
}

static void dump_small_string(struct cmd_call *call, struct yn_bytes string)
{
    struct yn_buf buf;
    yn_buf_init(&buf);
    rdb_write_string_value(&buf, string);
    reply_payload(call, &buf);
}

/* ---- DUMP of a large string ---- */

static void dump_large_string(struct cmd_call *call, const struct host_value *value)
{
    struct string_piece *pieces = cmd_arena_take(call->arena, 4 * sizeof *pieces);
    char *before = cmd_arena_take(call->arena, RDB_HEAD_MAX + YN_NUM_TEXT_MAX + 4);
    char *behind = cmd_arena_take(call->arena, RDB_FOOTER_LEN + 2);
    if (pieces == NULL || before == NULL || behind == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    char head[1 + RDB_HEAD_MAX] = {RDB_STRING};
    size_t head_len = 1 + rdb_format_length(value->string.len, head + 1);
    uint64_t crc = crc64(0, head, head_len);
    crc = crc64(crc, value->string.data, value->string.len);
    rdb_format_footer(crc, behind);
    memcpy(behind + RDB_FOOTER_LEN, "\r\n", 2);

    before[0] = '$';
    size_t len = 1 + yn_num_format_uint64(head_len + value->string.len + RDB_FOOTER_LEN,
                                          before + 1);
    before[len++] = '\r';
    before[len++] = '\n';
    memcpy(before + len, head, head_len);
    pieces[0] = (struct string_piece){.bytes = {before, len + head_len}};
    pieces[1] = (struct string_piece){.bytes = value->string, .blob = value->blob};
    pieces[2] = (struct string_piece){.bytes = {behind, RDB_FOOTER_LEN + 2}};
    call->job = string_job_new(pieces, 3);
    if (call->job == NULL)
        host_reply_error(call->host, CMD_ERR_NOMEM);
}

/* ---- DUMP of a large set ---- */

/* Entries with members up to this length are put together before they are sent. */
#define MEMBER_COPIED_MAX 256

struct dump_job {
    struct cmd_job base;  /* must be first */
    struct yn_zset *set;  /* until the job is held */
    struct yn_view *held; /* the frozen set, or NULL */
    struct yn_cursor cursor;
    size_t n_left; /* the cursor is at the entry of rank n_left - 1 */
    uint64_t crc;
};

static void send(struct dump_job *job, struct host *h, struct yn_bytes bytes)
{
    job->crc = crc64(job->crc, bytes.data, bytes.len);
    host_reply_wire(h, bytes, 0);
}

static size_t send_entry(struct dump_job *job, struct host *h)
{
    char bytes[MEMBER_COPIED_MAX + RDB_ENTRY_EXTRA];
    struct yn_entry entry = yn_cursor_entry(&job->cursor);
    if (entry.member.len <= MEMBER_COPIED_MAX) {
        size_t len = rdb_format_entry(&entry, bytes);
        send(job, h, (struct yn_bytes){bytes, len});
        return len;
    }
    send(job, h, (struct yn_bytes){bytes, rdb_format_length(entry.member.len, bytes)});
    send(job, h, entry.member);
    send(job, h, (struct yn_bytes){bytes, rdb_format_score(entry.score, bytes)});
    return entry.member.len;
}

static bool dump_step(struct cmd_job *base, struct host *h, size_t budget)
{
    struct dump_job *job = (struct dump_job *)base;
    char footer[RDB_FOOTER_LEN];
    for (size_t sent = 0; job->n_left > 0 && (sent < budget || sent == 0);) {
        sent += send_entry(job, h);
        job->n_left--;
        yn_cursor_prev(&job->cursor);
    }
    if (job->n_left > 0)
        return false;
    rdb_format_footer(job->crc, footer);
    host_reply_wire(h, (struct yn_bytes){footer, sizeof footer}, 0);
    host_reply_wire(h, (struct yn_bytes){"\r\n", 2}, 0);
    return true;
}

/* The cursor belongs to the live view; its place is sought again in the frozen one. */
static bool dump_hold(struct cmd_job *base)
{
    struct dump_job *job = (struct dump_job *)base;
    if (yn_zset_freeze(job->set, &job->held) != YN_OK)
        return false;
    if (job->n_left > 0)
        yn_cursor_seek(&job->cursor, job->held, job->n_left - 1);
    return true;
}

static void dump_free(struct cmd_job *base)
{
    struct dump_job *job = (struct dump_job *)base;
    host_view_free(job->held);
    free(job);
}

static size_t entries_len(const struct yn_view *view)
{
    struct yn_cursor cursor;
    size_t len = 0;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor))
        len += rdb_entry_len(yn_cursor_entry(&cursor).member);
    return len;
}

static void dump_large_zset(struct cmd_call *call, struct yn_zset *set)
{
    const struct yn_view *view = yn_zset_view(set);
    struct dump_job *job = malloc(sizeof *job);
    if (job == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    *job = (struct dump_job){
        .base = {.step = dump_step, .hold = dump_hold, .free = dump_free},
        .set = set,
        .n_left = yn_view_count(view),
    };
    yn_cursor_seek(&job->cursor, view, job->n_left - 1);
    char head[1 + RDB_HEAD_MAX] = {RDB_ZSET};
    size_t head_len = 1 + rdb_format_length(job->n_left, head + 1);
    char frame[YN_NUM_TEXT_MAX + 3] = "$";
    job->base.n_bytes = head_len + entries_len(view) + RDB_FOOTER_LEN;
    size_t len = 1 + yn_num_format_uint64(job->base.n_bytes, frame + 1);
    frame[len++] = '\r';
    frame[len++] = '\n';
    host_reply_wire(call->host, (struct yn_bytes){frame, len}, 0);
    send(job, call->host, (struct yn_bytes){head, head_len});
    call->job = &job->base;
}

static void dump_zset(struct cmd_call *call, struct yn_zset *set)
{
    const struct yn_view *view = yn_zset_view(set);
    struct yn_buf buf;
    yn_buf_init(&buf);
    if (zset_form_is_compact(call->host, view) && rdb_write_packed_zset(&buf, view))
        reply_payload(call, &buf);
    else
        dump_large_zset(call, set);
}

void cmd_dump(struct cmd_call *call)
{
    struct host_value value = host_key_read(call->host, call->argv[1]);
    if (value.type == HOST_NONE)
        host_reply_null(call->host);
    else if (value.type == HOST_ZSET)
        dump_zset(call, value.zset);
    else if (value.blob != NULL)
        dump_large_string(call, &value);
    else
        dump_small_string(call, value.string);
}

/* ---- RESTORE ---- */

struct restore_options {
    bool replaces, is_absolute;
    int64_t idle_s, frequency; /* -1: not given. Nothing here depends on them. */
};

static bool parse_options(struct cmd_args *args, struct restore_options *options)
{
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "replace", 0)) {
            options->replaces = true;
        } else if (cmd_args_option(args, "absttl", 0)) {
            options->is_absolute = true;
        } else if (options->frequency == -1 && cmd_args_option(args, "idletime", 1)) {
            if (!cmd_args_int64(args, CMD_ERR_INTEGER, &options->idle_s))
                return false;
            if (options->idle_s < 0)
                return cmd_args_fail(args, "ERR Invalid IDLETIME value, must be >= 0");
        } else if (options->idle_s == -1 && cmd_args_option(args, "freq", 1)) {
            if (!cmd_args_int64(args, CMD_ERR_INTEGER, &options->frequency))
                return false;
            if (options->frequency < 0 || options->frequency > 255)
                return cmd_args_fail(args,
                                     "ERR Invalid FREQ value, must be >= 0 and <= 255");
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    return true;
}

/* What comes before the payload is looked at. 0 becomes HOST_EXPIRY_NONE; a time that
 * does not fit lies in the past, as in Redis. */
static bool parse_ttl(struct cmd_call *call, struct cmd_args *args,
                      const struct restore_options *options, int64_t *out_expiry_ms)
{
    struct host *h = call->host;
    int64_t ttl_ms;
    if (!options->replaces && host_key_write(h, call->argv[1]).type != HOST_NONE)
        return cmd_args_fail(args, "BUSYKEY Target key name already exists.");
    if (!yn_num_parse_int64(call->argv[2], &ttl_ms))
        return cmd_args_fail(args, CMD_ERR_INTEGER);
    if (ttl_ms < 0)
        return cmd_args_fail(args, "ERR Invalid TTL value, must be >= 0");
    *out_expiry_ms = ttl_ms;
    if (ttl_ms == 0)
        *out_expiry_ms = HOST_EXPIRY_NONE;
    else if (!options->is_absolute)
        *out_expiry_ms =
            ttl_ms > INT64_MAX - host_now_ms(h) ? 0 : ttl_ms + host_now_ms(h);
    return true;
}

/* Reads the payload. Nothing that is there is changed. */
static bool parse_payload(struct cmd_call *call, struct cmd_args *args,
                          struct rdb_value *out_value)
{
    struct yn_bytes bytes;
    if (!rdb_open_payload(call->argv[3], &bytes))
        return cmd_args_fail(args, "ERR DUMP payload version or checksum are wrong");
    switch (rdb_read_value(bytes, host_zset_options(call->host), out_value)) {
    case RDB_OK:
        return true;
    case RDB_ENOMEM:
        return cmd_args_fail(args, CMD_ERR_NOMEM);
    case RDB_ECORRUPT:
        return cmd_args_fail(args, "ERR Bad data format");
    case RDB_ETYPE:
        return cmd_args_fail(
            args, "ERR Bad data format: not a string and not a sorted set, and other "
                  "types are not supported");
    }
    return false;
}

/* Stores the value, whose set is taken. */
static bool store(struct cmd_call *call, struct rdb_value *value, int64_t expiry_ms)
{
    struct yn_bytes key = call->argv[1];
    if (value->zset == NULL)
        return host_key_put_string_until(call->host, key, value->string, expiry_ms);
    if (!host_key_put_zset_until(call->host, key, value->zset, expiry_ms))
        return false;
    value->zset = NULL;
    return true;
}

static void restore(struct cmd_call *call, struct rdb_value *value, int64_t expiry_ms)
{
    struct host *h = call->host;
    struct yn_bytes key = call->argv[1];
    if (expiry_ms >= 0 && expiry_ms <= host_now_ms(h)) {
        /* expired before it was there: only what it would replace goes */
        if (host_key_remove(h, key))
            host_key_changed(h, key, "del");
    } else if (store(call, value, expiry_ms)) {
        host_key_changed(h, key, "restore");
    } else {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    host_reply_status(h, "OK");
}

void cmd_restore(struct cmd_call *call)
{
    struct cmd_args args;
    struct restore_options options = {.idle_s = -1, .frequency = -1};
    struct rdb_value value = {.zset = NULL};
    int64_t expiry_ms = HOST_EXPIRY_NONE;
    cmd_args_init(&args, call, 4);
    if (parse_options(&args, &options) && parse_ttl(call, &args, &options, &expiry_ms) &&
        parse_payload(call, &args, &value))
        restore(call, &value, expiry_ms);
    else
        cmd_args_reply_error(&args, call->host);
    rdb_value_clear(&value);
}
