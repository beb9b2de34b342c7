/*
 * string_table.c: the commands of strings.
 */
#include "cmd/cmd_spec_parts.h"
#include "cmd/cmd_string.h"

static const struct cmd_key_spec keys_set[] = {
    {.flags = "RW access update variable_flags",
     .index = 1,
     .step = 1,
     .notes = "RW and access only with GET"},
    {.flags = NULL},
};

static const struct cmd_arg expiration_forms[] = {
    {.name = "seconds", .type = "integer", .token = "EX", .since = "2.6.12"},
    {.name = "milliseconds", .type = "integer", .token = "PX", .since = "2.6.12"},
    {.name = "unix-time-seconds", .type = "unix-time", .token = "EXAT", .since = "6.2.0"},
    {.name = "unix-time-milliseconds",
     .type = "unix-time",
     .token = "PXAT",
     .since = "6.2.0"},
    TOKEN_SINCE("keepttl", "KEEPTTL", "6.0.0"),
    END,
};
static const struct cmd_arg set_args[] = {
    KEY,
    STRING("value"),
    OPTION_OF_SINCE("condition", nx_xx_forms, "2.6.12"),
    OPTION_SINCE("get", "GET", "6.2.0"),
    OPTION_OF("expiration", expiration_forms),
    END,
};

const struct cmd_spec cmd_string_table[] = {
    {
        .name = "get",
        .run = cmd_get,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @string @fast",
        ONE_KEY(keys_ro_access),
        .group = "string",
        .since = "1.0.0",
        .summary = "Returns the string of a key",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "mget",
        .run = cmd_mget,
        .arity = -2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @string @fast",
        ALL_KEYS(keys_ro_access_all),
        .tips = "request_policy:multi_shard",
        .group = "string",
        .since = "1.0.0",
        .summary = "Returns the strings of several keys",
        .complexity = "O(N) for N keys",
        .args_text = "key [key ...]",
        .args = keys_args,
    },
    {
        .name = "set",
        .run = cmd_set,
        .arity = -3,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @string @slow",
        ONE_KEY(keys_set),
        .group = "string",
        .since = "1.0.0",
        .summary = "Stores a string under a key, whatever was there before",
        .complexity = "O(1)",
        .args_text = "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT "
                     "unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        .args = set_args,
    },
    {.name = NULL},
};
