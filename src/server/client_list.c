#include "server/client_list.h"

#include <stdio.h>

#include "cmd/cmd_args.h"
#include "server/acl.h"
#include "server/loop.h"

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static size_t tracking_letters(const struct tracker *tracker, char *out)
{
    size_t n = 0;
    if (tracker == NULL)
        return 0;
    out[n++] = 't';
    if (tracking_is_broken(tracker))
        out[n++] = 'R';
    if ((tracking_flags(tracker) & TRACKING_BCAST) != 0)
        out[n++] = 'B';
    return n;
}

static void flags_of(const struct conn *conn, char out[16])
{
    size_t n = 0;
    if (!list_is_empty(&conn->in_monitors))
        out[n++] = 'O';
    if (conn_n_subscriptions(conn) > 0)
        out[n++] = 'P';
    if (conn->multi.is_open)
        out[n++] = 'x';
    if (conn->blocked.is_waiting || conn->is_held)
        out[n++] = 'b';
    if (conn->watch.is_touched)
        out[n++] = 'd';
    if (conn->shown.is_closing)
        out[n++] = 'c';
    if (conn->is_unix)
        out[n++] = 'U';
    if (conn->is_no_evict)
        out[n++] = 'e';
    if (conn->is_no_touch)
        out[n++] = 'T';
    n += tracking_letters(conn->tracking.tracker, out + n);
    if (n == 0)
        out[n++] = 'N';
    out[n] = '\0';
}

void client_list_append(const struct conn *conn, struct yn_buf *out)
{
    const struct conn_figures *f = &conn->shown;
    uint64_t now_ns = loop_current()->mono_ns, active_ns = f->active_ns;
    size_t in_len = f->in_len, out_cap = f->out_cap;
    char flags[16];
    char text[2048];
    flags_of(conn, flags);
    /* What a connection holds: itself, its buffers. */
    size_t output = conn_queued(conn);
    size_t waiting = conn->waiting != NULL ? conn->waiting->n_bytes : 0;
    size_t total = conn_memory(conn);
    int n = snprintf(
        text, sizeof text,
        "id=%llu addr=%s laddr=%s fd=%d name=%.128s age=%llu idle=%llu flags=%s db=%zu sub=%zu "
        "psub=%zu ssub=%zu multi=%d watch=%zu qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu "
        "rbs=%zu rbp=%zu obl=%zu oll=0 omem=%zu tot-mem=%zu events=%s%s cmd=%s user=%.200s "
        "redir=%lld resp=%d lib-name=%.64s lib-ver=%.64s io-thread=%zu tot-net-in=%llu tot-net-out=%llu "
        "tot-cmds=%llu\n",
        (unsigned long long)conn->id, conn->address, conn->local_address, conn->fd,
        text_or_empty(conn->name),
        (unsigned long long)((now_ns - conn->created_ns) / 1000000000u),
        (unsigned long long)(now_ns > active_ns ? (now_ns - active_ns) / 1000000000u : 0),
        flags, conn->db, conn->subscriptions[PUBSUB_CHANNEL].n,
        conn->subscriptions[PUBSUB_PATTERN].n, conn->subscriptions[PUBSUB_SHARD].n,
        conn->multi.is_open ? (int)conn->multi.n : -1, conn->watch.n, in_len,
        f->in_cap - in_len, waiting, conn->multi.n_bytes, out_cap, f->out_len, output,
        output, total, f->is_reading ? "r" : "", f->is_writing ? "w" : "",
        conn->last_spec != NULL ? conn->last_spec->name : "NULL", conn->user->name,
        (long long)tracking_redirect_id(&conn->tracking), conn->resp,
        text_or_empty(conn->lib_name), text_or_empty(conn->lib_ver), conn->loop->index,
        (unsigned long long)f->bytes_in, (unsigned long long)f->bytes_out,
        (unsigned long long)conn->n_commands);
    if (n > 0)
        yn_buf_append(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

bool client_list_parse_type(struct yn_bytes text, enum client_list_type *out_type)
{
    static const char *const names[] = {"normal", "master", "replica", "pubsub"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (cmd_word_is(text, names[i])) {
            *out_type = (enum client_list_type)i;
            return true;
        }
    }
    *out_type = CLIENT_LIST_REPLICA;
    return cmd_word_is(text, "slave");
}

bool client_list_is_type(const struct conn *conn, enum client_list_type type)
{
    bool is_pubsub = conn_n_subscriptions(conn) > 0;
    return (type == CLIENT_LIST_NORMAL && !is_pubsub) ||
           (type == CLIENT_LIST_PUBSUB && is_pubsub);
}
