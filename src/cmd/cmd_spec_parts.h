/*
 * cmd_spec_parts.h: what the tables of commands are put together from: groups of keys,
 * and arguments for COMMAND DOCS. For the *_table.c files only; each has its own copy of
 * those that it uses.
 */
#ifndef CMD_SPEC_PARTS_H
#define CMD_SPEC_PARTS_H

#include "cmd/cmd.h"

/* ---- keys ---- */

/* The command's key is argv[1]. */
#define ONE_KEY(specs)                                                    \
    .keys = CMD_KEYS_RANGE, .key_first = 1, .key_last = 1, .key_step = 1, \
    .key_specs = specs
/* All its arguments are keys. */
#define ALL_KEYS(specs)                                                    \
    .keys = CMD_KEYS_RANGE, .key_first = 1, .key_last = -1, .key_step = 1, \
    .key_specs = specs

static const struct cmd_key_spec keys_ro_access[] = {
    {.flags = "RO access", .index = 1, .last = 0, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_ro[] = {
    {.flags = "RO", .index = 1, .last = 0, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_rw_update[] = {
    {.flags = "RW update", .index = 1, .last = 0, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_rw_delete[] = {
    {.flags = "RW delete", .index = 1, .last = 0, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_ro_access_all[] = {
    {.flags = "RO access", .index = 1, .last = -1, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_ro_all[] = {
    {.flags = "RO", .index = 1, .last = -1, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_rm_delete_all[] = {
    {.flags = "RM delete", .index = 1, .last = -1, .step = 1},
    {.flags = NULL},
};

/* ---- arguments ---- */

#define KEY                          \
    {                                \
        .name = "key", .type = "key" \
    }
#define STRING(n)                   \
    {                               \
        .name = n, .type = "string" \
    }
#define STRINGS(n)                                             \
    {                                                          \
        .name = n, .type = "string", .flags = CMD_ARG_MULTIPLE \
    }
#define DOUBLE(n)                   \
    {                               \
        .name = n, .type = "double" \
    }
#define INTEGER(n)                   \
    {                                \
        .name = n, .type = "integer" \
    }
#define TOKEN(n, t)                                 \
    {                                               \
        .name = n, .type = "pure-token", .token = t \
    }
#define TOKEN_SINCE(n, t, v)                                    \
    {                                                           \
        .name = n, .type = "pure-token", .token = t, .since = v \
    }
#define OPTION(n, t)                                                           \
    {                                                                          \
        .name = n, .type = "pure-token", .token = t, .flags = CMD_ARG_OPTIONAL \
    }
#define OPTION_SINCE(n, t, v)                                                   \
    {                                                                           \
        .name = n, .type = "pure-token", .token = t, .flags = CMD_ARG_OPTIONAL, \
        .since = v                                                              \
    }
#define ONE_OF(n, list)                          \
    {                                            \
        .name = n, .type = "oneof", .args = list \
    }
#define OPTION_OF(n, list)                                                  \
    {                                                                       \
        .name = n, .type = "oneof", .flags = CMD_ARG_OPTIONAL, .args = list \
    }
#define OPTION_OF_SINCE(n, list, v)                                                     \
    {                                                                                   \
        .name = n, .type = "oneof", .flags = CMD_ARG_OPTIONAL, .since = v, .args = list \
    }
#define BLOCK(n, list)                           \
    {                                            \
        .name = n, .type = "block", .args = list \
    }
#define BLOCKS(n, list)                                                     \
    {                                                                       \
        .name = n, .type = "block", .flags = CMD_ARG_MULTIPLE, .args = list \
    }
#define BLOCK_AFTER(n, t, list)                              \
    {                                                        \
        .name = n, .type = "block", .token = t, .args = list \
    }
#define OPTION_BLOCK(n, t, list)                                                        \
    {                                                                                   \
        .name = n, .type = "block", .token = t, .flags = CMD_ARG_OPTIONAL, .args = list \
    }
#define END          \
    {                \
        .name = NULL \
    }

#define SCAN_OPTIONS                                                                     \
    {.name = "pattern", .type = "pattern", .token = "MATCH", .flags = CMD_ARG_OPTIONAL}, \
    {                                                                                    \
        .name = "count", .type = "integer", .token = "COUNT", .flags = CMD_ARG_OPTIONAL  \
    }

static const struct cmd_arg nx_xx_forms[] = {
    TOKEN("nx", "NX"),
    TOKEN("xx", "XX"),
    END,
};
static const struct cmd_arg gt_lt_forms[] = {
    TOKEN("gt", "GT"),
    TOKEN("lt", "LT"),
    END,
};
static const struct cmd_arg nx_xx_gt_lt_forms[] = {
    TOKEN("nx", "NX"), TOKEN("xx", "XX"), TOKEN("gt", "GT"), TOKEN("lt", "LT"), END,
};
static const struct cmd_arg limit_args[] = {
    INTEGER("offset"),
    INTEGER("count"),
    END,
};
static const struct cmd_arg key_args[] = {
    KEY,
    END,
};
static const struct cmd_arg keys_args[] = {
    {.name = "key", .type = "key", .flags = CMD_ARG_MULTIPLE},
    END,
};
static const struct cmd_arg key_member_args[] = {
    KEY,
    STRING("member"),
    END,
};
static const struct cmd_arg key_members_args[] = {
    KEY,
    STRINGS("member"),
    END,
};
static const struct cmd_arg key_any_members_args[] = {
    KEY,
    {.name = "member", .type = "string", .flags = CMD_ARG_OPTIONAL | CMD_ARG_MULTIPLE},
    END,
};

#endif
