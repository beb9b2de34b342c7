/*
 * What clients ask of every server, and a server of its own has nothing to say to:
 * clusters, modules, replicas, snapshots. The answers are those of a Redis that
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
