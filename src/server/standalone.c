/*
 * What clients ask of every server, and a server of its own has nothing to say to:
 * clusters, modules, replicas, users, snapshots. The answers are those of a Redis that
 * has none of them.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/num.h"
#include "server/commands.h"
#include "server/host_server.h"

/* ---- CLUSTER, MODULE ---- */

void standalone_cluster(struct cmd_call *call)
{
    host_reply_error(call->host, "ERR This instance has cluster support disabled");
}

void standalone_module_list(struct cmd_call *call)
{
    host_reply_array(call->host, 0);
}

void standalone_module_load(struct cmd_call *call)
{
    host_reply_error(
        call->host,
        "ERR MODULE command not allowed. If the enable-module-command option is "
        "set to \"local\", you can run it from a local connection, otherwise you "
        "need to set this option in the configuration file, and then restart the "
        "server.");
}

void standalone_module_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "MODULE <subcommand> [<arg> ...]. Subcommands are:",
        "LIST",
        "    Return the modules that are loaded: none.",
        "LOAD, LOADEX, UNLOAD",
        "    Refused: this server loads no modules.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}

/* ---- REPLICAOF ---- */

void standalone_replicaof(struct cmd_call *call)
{
    int64_t port;
    if (cmd_word_is(call->argv[1], "no") && cmd_word_is(call->argv[2], "one"))
        host_reply_status(call->host, "OK");
    else if (!yn_num_parse_int64(call->argv[2], &port) || port < 0 || port > 65535)
        host_reply_error(call->host, "ERR Invalid master port");
    else
        host_reply_error(call->host, "ERR replication is not built into this version: "
                                     "this server cannot be a replica");
}

/* ---- SAVE, BGSAVE, BGREWRITEAOF ---- */

void standalone_save(struct cmd_call *call)
{
    bool is_bgsave = strcmp(call->spec->name, "bgsave") == 0;
    if (is_bgsave && call->argc > 1 &&
        (call->argc > 2 || !cmd_word_is(call->argv[1], "schedule")))
        host_reply_error(call->host, CMD_ERR_SYNTAX);
    else if (strcmp(call->spec->name, "bgrewriteaof") == 0)
        host_reply_error(call->host, "ERR the append-only log is not built into this "
                                     "version: there is nothing to rewrite");
    else
        host_reply_error(call->host, "ERR snapshots are not built into this version: "
                                     "nothing can be saved");
}

/* ---- ACL ---- */

static const char *const categories[] = {
    "keyspace",   "read",        "write",     "set",         "sortedset", "list",
    "hash",       "string",      "bitmap",    "hyperloglog", "geo",       "stream",
    "pubsub",     "admin",       "fast",      "slow",        "blocking",  "dangerous",
    "connection", "transaction", "scripting",
};
#define N_CATEGORIES (sizeof categories / sizeof categories[0])

static bool is_in(const struct cmd_spec *spec, struct yn_bytes category)
{
    const char *at = spec->acl != NULL ? spec->acl : "";
    while ((at = strchr(at, '@')) != NULL) {
        at++;
        size_t len = strcspn(at, " ");
        if (len == category.len && cmd_letters_are(category.data, at, len))
            return true;
    }
    return false;
}

/* The names of a category's commands; without `reply` they are counted only. */
static size_t visit_category(struct host *h, struct yn_bytes category, bool reply)
{
    size_t n = 0;
    for (size_t i = 0; cmd_at(i) != NULL; i++) {
        const struct cmd_spec *spec = cmd_at(i);
        for (const struct cmd_spec *s = spec; s != NULL && s->name != NULL;
             s = s == spec ? spec->subcommands : s + 1) {
            if (!is_in(s, category))
                continue;
            n++;
            if (reply)
                host_reply_bulk(h, (struct yn_bytes){s->name, strlen(s->name)});
        }
    }
    return n;
}

void acl_cat(struct cmd_call *call)
{
    struct host *h = call->host;
    if (call->argc > 3) {
        server_reply_subcommand_error(call, "ERR unknown subcommand or wrong number of "
                                            "arguments for '%.*s'. Try ACL HELP.");
        return;
    }
    if (call->argc == 2) {
        host_reply_array(h, N_CATEGORIES);
        for (size_t i = 0; i < N_CATEGORIES; i++)
            host_reply_bulk(h, (struct yn_bytes){categories[i], strlen(categories[i])});
        return;
    }
    size_t i = 0;
    while (i < N_CATEGORIES && !cmd_word_is(call->argv[2], categories[i]))
        i++;
    if (i == N_CATEGORIES) {
        server_reply_error_word(call, "ERR Unknown category '%.*s'", call->argv[2]);
        return;
    }
    host_reply_array(h, visit_category(h, call->argv[2], false));
    visit_category(h, call->argv[2], true);
}

void acl_users(struct cmd_call *call)
{
    host_reply_array(call->host, 1);
    host_reply_bulk(call->host, (struct yn_bytes){"default", 7});
}

void acl_whoami(struct cmd_call *call)
{
    host_reply_bulk(call->host, (struct yn_bytes){"default", 7});
}

void acl_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "ACL <subcommand> [<arg> ...]. Subcommands are:",
        "CAT [<category>]",
        "    Return the categories of commands, or the commands of one.",
        "USERS",
        "    Return the users: there is one, \"default\".",
        "WHOAMI",
        "    Return the user of this connection.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
