/* ACL. */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/acl_conns.h"
#include "server/acl_file.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/log.h"
#include "server/server.h"

static struct yn_bytes text_bytes(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

static struct acl *acl_of(const struct cmd_call *call)
{
    return &call->host->loop->server->acl;
}

/* Sends a text and empties the buffer. */
static void reply_buf(struct host *h, struct yn_buf *text)
{
    if (text->failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        host_reply_bulk(h, (struct yn_bytes){text->data, text->len});
    text->len = 0;
}

static void reply_usage_error(struct cmd_call *call)
{
    server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                        "arguments for '%.*s'. Try ACL HELP.");
}

/* ---- users ---- */

void acl_cmd_whoami(struct cmd_call *call)
{
    host_reply_bulk_text(call->host, call->host->conn->user->name);
}

void acl_cmd_users(struct cmd_call *call)
{
    const struct acl *acl = acl_of(call);
    host_reply_array(call->host, acl->n_users);
    for (size_t i = 0; i < acl->n_users; i++)
        host_reply_bulk_text(call->host, acl->users[i]->name);
}

void acl_cmd_list(struct cmd_call *call)
{
    const struct acl *acl = acl_of(call);
    struct yn_buf text;
    yn_buf_init(&text);
    host_reply_array(call->host, acl->n_users);
    for (size_t i = 0; i < acl->n_users; i++) {
        acl_user_format(acl->users[i], &text);
        reply_buf(call->host, &text);
    }
    yn_buf_clear(&text);
}

static void reply_rights(struct host *h, const struct acl_selector *s,
                         struct yn_buf *text)
{
    host_reply_bulk_text(h, "commands");
    acl_selector_format_commands(s, text);
    reply_buf(h, text);
    host_reply_bulk_text(h, "keys");
    acl_selector_format_keys(s, text);
    reply_buf(h, text);
    host_reply_bulk_text(h, "channels");
    acl_selector_format_channels(s, text);
    reply_buf(h, text);
}

void acl_cmd_getuser(struct cmd_call *call)
{
    struct host *h = call->host;
    const struct acl_user *user = acl_find(acl_of(call), call->argv[2]);
    struct yn_buf text;
    if (user == NULL) {
        host_reply_null(h);
        return;
    }
    yn_buf_init(&text);
    host_reply_map(h, 6);
    host_reply_bulk_text(h, "flags");
    host_reply_set(h, user->is_nopass ? 3 : 2);
    host_reply_bulk_text(h, user->is_on ? "on" : "off");
    if (user->is_nopass)
        host_reply_bulk_text(h, "nopass");
    host_reply_bulk_text(h, user->skips_sanitizing ? "skip-sanitize-payload"
                                                   : "sanitize-payload");
    host_reply_bulk_text(h, "passwords");
    host_reply_array(h, user->n_passwords);
    for (size_t i = 0; i < user->n_passwords; i++)
        host_reply_bulk_text(h, user->passwords[i]);
    reply_rights(h, &user->selectors[0], &text);
    host_reply_bulk_text(h, "selectors");
    host_reply_array(h, user->n_selectors - 1);
    for (size_t i = 1; i < user->n_selectors; i++) {
        host_reply_map(h, 3);
        reply_rights(h, &user->selectors[i], &text);
    }
    yn_buf_clear(&text);
}

void acl_cmd_setuser(struct cmd_call *call)
{
    struct host *h = call->host;
    struct acl *acl = acl_of(call);
    struct yn_bytes name = call->argv[2];
    struct acl_user *before;
    char error[ACL_ERROR_MAX];
    char text[ACL_ERROR_MAX + 8];
    if (!acl_name_is_valid(name)) {
        host_reply_error(h, "ERR Usernames can't contain spaces or null characters");
        return;
    }
    if (!acl_set_user(acl, name, call->argc - 3, call->argv + 3, &before, error)) {
        snprintf(text, sizeof text, "ERR %s", error);
        host_reply_error(h, text);
        return;
    }
    acl_conns_user_changed(call, before, acl_find(acl, name));
    acl_user_free(before);
    host_reply_status(h, "OK");
}

void acl_cmd_deluser(struct cmd_call *call)
{
    struct acl *acl = acl_of(call);
    int64_t n = 0;
    for (size_t i = 2; i < call->argc; i++) {
        struct yn_bytes name = call->argv[i];
        if (name.len == 7 && memcmp(name.data, "default", 7) == 0) {
            host_reply_error(call->host, "ERR The 'default' user cannot be removed");
            return;
        }
    }
    for (size_t i = 2; i < call->argc; i++) {
        struct acl_user *user = acl_remove(acl, call->argv[i]);
        if (user == NULL)
            continue;
        acl_conns_drop_user(call, user);
        n++;
    }
    host_reply_integer(call->host, n);
}

/* ---- CAT ---- */

/* The names of a category's commands; without `reply` they are counted only. */
static size_t visit_category(struct host *h, struct yn_bytes category, bool reply)
{
    size_t n = 0;
    for (size_t i = 0; i < acl_n_commands(); i++) {
        if (!acl_is_in_category(acl_command_at(i), category))
            continue;
        n++;
        if (reply)
            host_reply_bulk_text(h, acl_command_at(i)->name);
    }
    return n;
}

void acl_cmd_cat(struct cmd_call *call)
{
    struct host *h = call->host;
    size_t n = 0;
    if (call->argc > 3) {
        reply_usage_error(call);
        return;
    }
    if (call->argc == 2) {
        while (acl_category_at(n) != NULL)
            n++;
        host_reply_array(h, n);
        for (size_t i = 0; i < n; i++)
            host_reply_bulk_text(h, acl_category_at(i));
        return;
    }
    if (!acl_category_exists(call->argv[2])) {
        server_reply_error_word(call, "ERR Unknown category '%.*s'", call->argv[2]);
        return;
    }
    host_reply_array(h, visit_category(h, call->argv[2], false));
    visit_category(h, call->argv[2], true);
}

/* ---- DRYRUN ---- */

static const struct cmd_spec *find_command_or_reply(struct cmd_call *call)
{
    char text[160];
    const struct cmd_spec *spec = cmd_find(call->argv[3]);
    if (spec != NULL && spec->subcommands != NULL && call->argc > 4)
        spec = cmd_find_sub(spec, call->argv[4]);
    if (spec == NULL) {
        server_reply_error_word(call, "ERR Command '%.*s' not found", call->argv[3]);
        return NULL;
    }
    if (!cmd_arity_is_ok(spec, call->argc - 3)) {
        snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command",
                 spec->name);
        host_reply_error(call->host, text);
        return NULL;
    }
    return spec;
}

void acl_cmd_dryrun(struct cmd_call *call)
{
    struct host *h = call->host;
    const struct acl_user *user = acl_find(acl_of(call), call->argv[2]);
    const struct yn_bytes *argv = call->argv + 3;
    struct acl_denial denial;
    struct yn_buf text;
    if (user == NULL) {
        server_reply_error_word(call, "ERR User '%.*s' not found", call->argv[2]);
        return;
    }
    const struct cmd_spec *spec = find_command_or_reply(call);
    if (spec == NULL)
        return;
    if (acl_check(user, spec, call->argc - 3, argv, call->arena, &denial)) {
        host_reply_status(h, "OK");
        return;
    }
    if (denial.reason == ACL_FAILED) {
        host_reply_error(h, CMD_ERR_NOMEM);
        return;
    }
    bool is_command = denial.reason == ACL_DENIED_COMMAND;
    struct yn_bytes object = is_command ? text_bytes(spec->name) : argv[denial.index];
    yn_buf_init(&text);
    yn_buf_append_text(&text, "User ");
    yn_buf_append_text(&text, user->name);
    yn_buf_append_text(&text, is_command ? " has no permissions to run the '"
                                         : " has no permissions to access the '");
    yn_buf_append(&text, object.data, object.len);
    yn_buf_append_text(&text, is_command                        ? "' command"
                              : denial.reason == ACL_DENIED_KEY ? "' key"
                                                                : "' channel");
    reply_buf(h, &text);
    yn_buf_clear(&text);
}

/* ---- GENPASS ---- */

#define GENPASS_BITS 256
#define GENPASS_BITS_MAX 4096

void acl_cmd_genpass(struct cmd_call *call)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[GENPASS_BITS_MAX / 4];
    char text[GENPASS_BITS_MAX / 4];
    int64_t bits = GENPASS_BITS;
    if (call->argc > 3) {
        reply_usage_error(call);
        return;
    }
    if (call->argc == 3 && !yn_num_parse_int64(call->argv[2], &bits)) {
        host_reply_error(call->host, CMD_ERR_INTEGER);
        return;
    }
    if (bits < 1 || bits > GENPASS_BITS_MAX) {
        host_reply_error(call->host,
                         "ERR ACL GENPASS argument must be the number of bits for the "
                         "output password, a positive number up to 4096");
        return;
    }
    size_t n = (size_t)(bits + 3) / 4;
    for (size_t got = 0; got < n;) { /* the kernel gives up to 256 bytes at once */
        ssize_t more = getrandom(bytes + got, n - got, 0);
        if (more < 0) {
            host_reply_error(call->host, "ERR the system has no random numbers to give");
            return;
        }
        got += (size_t)more;
    }
    for (size_t i = 0; i < n; i++)
        text[i] = digits[bytes[i] & 15];
    host_reply_bulk(call->host, (struct yn_bytes){text, n});
}

/* ---- LOG ---- */

static void reply_integer_field(struct host *h, const char *name, int64_t value)
{
    host_reply_bulk_text(h, name);
    host_reply_integer(h, value);
}

static void reply_entry(struct host *h, const struct acl_log_entry *e)
{
    static const char *const reasons[] = {
        [ACL_DENIED_COMMAND] = "command",
        [ACL_DENIED_KEY] = "key",
        [ACL_DENIED_LOGIN] = "auth",
        [ACL_DENIED_CHANNEL] = "channel",
    };
    host_reply_map(h, 10);
    reply_integer_field(h, "count", (int64_t)e->count);
    host_reply_bulk_text(h, "reason");
    host_reply_bulk_text(h, reasons[e->reason]);
    host_reply_bulk_text(h, "context");
    host_reply_bulk_text(h, e->in_multi ? "multi" : "toplevel");
    host_reply_bulk_text(h, "object");
    host_reply_bulk(h, e->object);
    host_reply_bulk_text(h, "username");
    host_reply_bulk(h, e->user);
    host_reply_bulk_text(h, "age-seconds");
    host_reply_score(h, (double)(host_now_ms(h) - e->updated_ms) / 1000);
    host_reply_bulk_text(h, "client-info");
    host_reply_bulk(h, e->client);
    reply_integer_field(h, "entry-id", (int64_t)e->id);
    reply_integer_field(h, "timestamp-created", e->created_ms);
    reply_integer_field(h, "timestamp-last-updated", e->updated_ms);
}

void acl_cmd_log(struct cmd_call *call)
{
    struct host *h = call->host;
    struct acl_log *log = &h->loop->server->acl_log;
    int64_t max = 10;
    if (call->argc > 3) {
        reply_usage_error(call);
        return;
    }
    if (call->argc == 3 && cmd_word_is(call->argv[2], "reset")) {
        acl_log_clear(log);
        host_reply_status(h, "OK");
        return;
    }
    if (call->argc == 3 && !yn_num_parse_int64(call->argv[2], &max)) {
        host_reply_error(h, CMD_ERR_INTEGER);
        return;
    }
    size_t n = max < 0 ? 0 : (uint64_t)max < log->n ? (size_t)max : log->n;
    host_reply_array(h, n);
    for (const struct link *l = log->entries.next; n > 0; l = l->next, n--)
        reply_entry(h, LIST_ITEM(l, struct acl_log_entry, in_log));
}

/* ---- LOAD, SAVE ---- */

static bool has_file_or_reply(struct cmd_call *call)
{
    if (call->host->loop->server->config.aclfile[0] != '\0')
        return true;
    host_reply_error(
        call->host,
        "ERR This Redis instance is not configured to use an ACL file. You may want to "
        "specify users via the ACL SETUSER command and then issue a CONFIG REWRITE "
        "(assuming you have a Redis configuration file set) in order to store users in "
        "the Redis configuration.");
    return false;
}

void acl_cmd_load(struct cmd_call *call)
{
    struct server *server = call->host->loop->server;
    struct acl users;
    struct yn_buf text;
    if (!has_file_or_reply(call))
        return;
    yn_buf_init(&text);
    yn_buf_append_text(&text, "ERR ");
    if (acl_file_load(&server->config, &users, &text)) {
        acl_conns_replace(call, &users);
        host_reply_status(call->host, "OK");
    } else if (text.failed) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
    } else {
        log_warning("ACL LOAD: %.*s", (int)(text.len - 4), text.data + 4);
        host_reply_error_bytes(call->host, (struct yn_bytes){text.data, text.len});
    }
    yn_buf_clear(&text);
}

void acl_cmd_save(struct cmd_call *call)
{
    struct server *server = call->host->loop->server;
    char error[CONFIG_ERROR_MAX];
    if (!has_file_or_reply(call))
        return;
    if (acl_file_save(&server->config, &server->acl, error)) {
        host_reply_status(call->host, "OK");
        return;
    }
    log_warning("ACL SAVE: could not write \"%s\": %s", server->config.aclfile, error);
    host_reply_error(call->host, "ERR There was an error trying to save the ACLs. Please "
                                 "check the server logs for more information");
}

void acl_cmd_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "ACL <subcommand> [<arg> ...]. Subcommands are:",
        "CAT [<category>]",
        "    Return the categories of commands, or the commands of one.",
        "DELUSER <username> [<username> ...]",
        "    Delete users, and close their connections.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Tell whether the user may run the command; it is not run.",
        "GENPASS [<bits>]",
        "    Return a random password of so many bits (256).",
        "GETUSER <username>",
        "    Return what is known of a user.",
        "LIST",
        "    Return the users as lines of an ACL file.",
        "LOAD",
        "    Read the users from the ACL file: all of them, or none if a line is wrong.",
        "LOG [<count>|RESET]",
        "    Return what was refused, the latest first, or forget it.",
        "SAVE",
        "    Write the users into the ACL file.",
        "SETUSER <username> [<rule> ...]",
        "    Change a user, or make one.",
        "USERS",
        "    Return the names of the users.",
        "WHOAMI",
        "    Return the user of this connection.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
