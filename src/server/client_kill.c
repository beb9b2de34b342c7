/* CLIENT KILL: the old form (an address) and the new one (filters). */
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/client_list.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/server.h"

struct kill_filter {
    bool has_id, has_type, has_address, has_local_address, has_max_age, skips_me;
    int64_t id, max_age_s;
    enum client_list_type type;
    struct yn_bytes address, local_address;
    const struct acl_user *user; /* NULL: anyone's */
};

static bool is_text(struct yn_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static bool matches(const struct conn *conn, const struct kill_filter *filter)
{
    uint64_t now_ns = loop_current()->mono_ns;
    uint64_t age_s =
        now_ns > conn->created_ns ? (now_ns - conn->created_ns) / 1000000000u : 0;
    return (filter->user == NULL || conn->user == filter->user) &&
           (!filter->has_id || (uint64_t)filter->id == conn->id) &&
           (!filter->has_type || client_list_is_type(conn, filter->type)) &&
           (!filter->has_address || is_text(filter->address, conn->address)) &&
           (!filter->has_local_address ||
            is_text(filter->local_address, conn->local_address)) &&
           (!filter->has_max_age || age_s >= (uint64_t)filter->max_age_s);
}

/* Closes what matches. The caller's own connection is closed after its reply. */
static size_t kill_all(struct cmd_call *call, const struct kill_filter *filter)
{
    struct conn *self = call->host->conn;
    const struct link *conns = &call->host->loop->server->conns;
    size_t n = 0;
    for (const struct link *l = conns->next; l != conns; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (!conn_is_live(conn) || !matches(conn, filter) ||
            (conn == self && filter->skips_me))
            continue;
        n++;
        if (conn == self)
            call->wish = CMD_WISH_CLOSE;
        else
            conn_expel(conn);
    }
    return n;
}

static bool fail_with_word(struct cmd_call *call, const char *format,
                           struct yn_bytes word)
{
    server_reply_error_word(call, format, word);
    return false;
}

static bool fail(struct cmd_call *call, const char *text)
{
    host_reply_error(call->host, text);
    return false;
}

/* One "option value" pair. */
static bool parse_pair_or_reply(struct cmd_call *call, struct yn_bytes option,
                                struct yn_bytes value, struct kill_filter *filter)
{
    if (cmd_word_is(option, "id")) {
        filter->has_id = true;
        if (!yn_num_parse_int64(value, &filter->id) || filter->id < 1)
            return fail(call, "ERR client-id should be greater than 0");
    } else if (cmd_word_is(option, "type")) {
        filter->has_type = true;
        if (!client_list_parse_type(value, &filter->type))
            return fail_with_word(call, "ERR Unknown client type '%.*s'", value);
    } else if (cmd_word_is(option, "addr")) {
        filter->has_address = true;
        filter->address = value;
    } else if (cmd_word_is(option, "laddr")) {
        filter->has_local_address = true;
        filter->local_address = value;
    } else if (cmd_word_is(option, "user")) {
        filter->user = acl_find(&call->host->loop->server->acl, value);
        if (filter->user == NULL)
            return fail_with_word(call, "ERR No such user '%.*s'", value);
    } else if (cmd_word_is(option, "skipme") &&
               (cmd_word_is(value, "yes") || cmd_word_is(value, "no"))) {
        filter->skips_me = cmd_word_is(value, "yes");
    } else if (cmd_word_is(option, "maxage")) {
        filter->has_max_age = true;
        if (!yn_num_parse_int64(value, &filter->max_age_s))
            return fail(call, "ERR maxage is not an integer or out of range");
        if (filter->max_age_s <= 0)
            return fail(call, "ERR maxage should be greater than 0");
    } else {
        return fail(call, CMD_ERR_SYNTAX);
    }
    return true;
}

void client_kill(struct cmd_call *call)
{
    struct kill_filter filter = {.skips_me = true};
    if (call->argc == 3) {
        filter = (struct kill_filter){.has_address = true, .address = call->argv[2]};
        if (kill_all(call, &filter) > 0)
            host_reply_status(call->host, "OK");
        else
            host_reply_error(call->host, "ERR No such client");
        return;
    }
    for (size_t i = 2; i < call->argc; i += 2) {
        if (i + 1 == call->argc) {
            host_reply_error(call->host, CMD_ERR_SYNTAX);
            return;
        }
        if (!parse_pair_or_reply(call, call->argv[i], call->argv[i + 1], &filter))
            return;
    }
    host_reply_integer(call->host, (int64_t)kill_all(call, &filter));
}
