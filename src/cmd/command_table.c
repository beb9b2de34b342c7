/*
 * command_table.c: COMMAND and its subcommands.
 */
#include "cmd/cmd_command.h"
#include "cmd/cmd_spec_parts.h"

static const struct cmd_arg command_names_args[] = {
    {.name = "command-name",
     .type = "string",
     .flags = CMD_ARG_OPTIONAL | CMD_ARG_MULTIPLE},
    END,
};
static const struct cmd_arg filter_forms[] = {
    {.name = "module-name", .type = "string", .token = "MODULE"},
    {.name = "category", .type = "string", .token = "ACLCAT"},
    {.name = "pattern", .type = "pattern", .token = "PATTERN"},
    END,
};
static const struct cmd_arg command_list_args[] = {
    {.name = "filterby",
     .type = "oneof",
     .token = "FILTERBY",
     .flags = CMD_ARG_OPTIONAL,
     .args = filter_forms},
    END,
};
static const struct cmd_arg command_call_args[] = {
    STRING("command"),
    {.name = "arg", .type = "string", .flags = CMD_ARG_OPTIONAL | CMD_ARG_MULTIPLE},
    END,
};

static const struct cmd_spec command_subcommands[] = {
    {
        .name = "command|count",
        .run = cmd_command_count,
        .arity = 2,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .group = "server",
        .since = "2.8.13",
        .summary = "Tells how many commands there are",
        .complexity = "O(1)",
    },
    {
        .name = "command|docs",
        .run = cmd_command_docs,
        .arity = -2,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .tips = "nondeterministic_output_order",
        .group = "server",
        .since = "7.0.0",
        .summary = "Describes commands for people",
        .complexity = "O(N) for N commands",
        .args = command_names_args,
    },
    {
        .name = "command|getkeys",
        .run = cmd_command_getkeys,
        .arity = -3,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .group = "server",
        .since = "2.8.13",
        .summary = "Finds the keys among the words of a command",
        .complexity = "O(N) for N words",
        .args = command_call_args,
    },
    {
        .name = "command|getkeysandflags",
        .run = cmd_command_getkeysandflags,
        .arity = -3,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .group = "server",
        .since = "7.0.0",
        .summary = "Finds the keys of a command and what it does to them",
        .complexity = "O(N) for N words",
        .args = command_call_args,
    },
    {
        .name = "command|help",
        .run = cmd_command_help,
        .arity = 2,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .group = "server",
        .since = "5.0.0",
        .summary = "Lists the subcommands",
        .complexity = "O(1)",
    },
    {
        .name = "command|info",
        .run = cmd_command_info,
        .arity = -2,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .tips = "nondeterministic_output_order",
        .group = "server",
        .since = "2.8.13",
        .summary = "Describes commands for programs",
        .complexity = "O(N) for N commands",
        .args = command_names_args,
    },
    {
        .name = "command|list",
        .run = cmd_command_list,
        .arity = -2,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .tips = "nondeterministic_output_order",
        .group = "server",
        .since = "7.0.0",
        .summary = "Lists the names of commands",
        .complexity = "O(N) for N commands",
        .args = command_list_args,
    },
    {.name = NULL},
};

const struct cmd_spec cmd_command_table[] = {
    {
        .name = "command",
        .run = cmd_command,
        .arity = -1,
        .flags = CMD_LOADING | CMD_STALE,
        .acl = "@slow @connection",
        .tips = "nondeterministic_output_order",
        .group = "server",
        .since = "2.8.13",
        .summary = "Describes all commands for programs",
        .complexity = "O(N) for N commands",
        .subcommands = command_subcommands,
    },
    {.name = NULL},
};
