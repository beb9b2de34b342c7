/*
 * cmd_table.c: the data commands: GEO, sorted sets, strings, keys, and COMMAND.
 *
 * The one source for dispatch, arity checks, COMMAND replies and lists of
 * commands. Flags, key positions and argument names are what clients of
 * compatible servers expect; the prose is our own.
 */
#include "cmd/cmd_command.h"
#include "cmd/cmd_geo.h"
#include "cmd/cmd_key.h"
#include "cmd/cmd_string.h"
#include "cmd/cmd_zset.h"

/* ---- keys ---- */

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
static const struct cmd_key_spec keys_set[] = {
    {.flags = "RW access update variable_flags",
     .index = 1,
     .step = 1,
     .notes = "RW and access only with GET"},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_geosearchstore[] = {
    {.flags = "OW update", .index = 1, .step = 1},
    {.flags = "RO access", .index = 2, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_georadius[] = {
    {.flags = "RO access", .index = 1, .step = 1},
    {.flags = "OW update", .index = 6, .keyword = "STORE", .step = 1},
    {.flags = "OW update", .index = 6, .keyword = "STOREDIST", .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_georadiusbymember[] = {
    {.flags = "RO access", .index = 1, .step = 1},
    {.flags = "OW update", .index = 5, .keyword = "STORE", .step = 1},
    {.flags = "OW update", .index = 5, .keyword = "STOREDIST", .step = 1},
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

static const struct cmd_arg unit_forms[] = {
    TOKEN("m", "M"), TOKEN("km", "KM"), TOKEN("ft", "FT"), TOKEN("mi", "MI"), END,
};
static const struct cmd_arg order_forms[] = {
    TOKEN("asc", "ASC"),
    TOKEN("desc", "DESC"),
    END,
};
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
static const struct cmd_arg lonlat_args[] = {
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    END,
};
static const struct cmd_arg count_args[] = {
    {.name = "count", .type = "integer", .token = "COUNT"},
    OPTION_SINCE("any", "ANY", "6.2.0"),
    END,
};
static const struct cmd_arg limit_args[] = {
    INTEGER("offset"),
    INTEGER("count"),
    END,
};
static const struct cmd_arg flush_forms[] = {
    TOKEN_SINCE("async", "ASYNC", "4.0.0"),
    TOKEN_SINCE("sync", "SYNC", "6.2.0"),
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
static const struct cmd_arg rank_args[] = {
    KEY,
    STRING("member"),
    OPTION_SINCE("withscore", "WITHSCORE", "7.2.0"),
    END,
};

static const struct cmd_arg geoadd_triple[] = {
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    STRING("member"),
    END,
};
static const struct cmd_arg geoadd_args[] = {
    KEY,
    OPTION_OF_SINCE("condition", nx_xx_forms, "6.2.0"),
    OPTION_SINCE("change", "CH", "6.2.0"),
    BLOCKS("longitude_latitude_member", geoadd_triple),
    END,
};
static const struct cmd_arg geodist_args[] = {
    KEY, STRING("member1"), STRING("member2"), OPTION_OF("unit", unit_forms), END,
};
#define SEARCH_OPTIONS                                                                 \
    OPTION("withcoord", "WITHCOORD"), OPTION("withdist", "WITHDIST"),                  \
        OPTION("withhash", "WITHHASH"), OPTION_BLOCK("count-block", NULL, count_args), \
        OPTION_OF("order", order_forms)
#define STORE_OPTIONS                                                                 \
    {.name = "key", .type = "key", .token = "STORE", .flags = CMD_ARG_OPTIONAL},      \
    {                                                                                 \
        .name = "key", .type = "key", .token = "STOREDIST", .flags = CMD_ARG_OPTIONAL \
    }
static const struct cmd_arg georadius_args[] = {
    KEY,
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    STORE_OPTIONS,
    END,
};
static const struct cmd_arg georadius_ro_args[] = {
    KEY,
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    END,
};
static const struct cmd_arg georadiusbymember_args[] = {
    KEY,
    STRING("member"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    STORE_OPTIONS,
    END,
};
static const struct cmd_arg georadiusbymember_ro_args[] = {
    KEY, STRING("member"), DOUBLE("radius"), ONE_OF("unit", unit_forms), SEARCH_OPTIONS,
    END,
};
static const struct cmd_arg from_forms[] = {
    {.name = "member", .type = "string", .token = "FROMMEMBER"},
    BLOCK_AFTER("longitude_latitude", "FROMLONLAT", lonlat_args),
    END,
};
static const struct cmd_arg circle_args[] = {
    {.name = "radius", .type = "double", .token = "BYRADIUS"},
    ONE_OF("unit", unit_forms),
    END,
};
static const struct cmd_arg box_args[] = {
    {.name = "width", .type = "double", .token = "BYBOX"},
    DOUBLE("height"),
    ONE_OF("unit", unit_forms),
    END,
};
static const struct cmd_arg by_forms[] = {
    BLOCK("circle", circle_args),
    BLOCK("box", box_args),
    END,
};
static const struct cmd_arg center_args[] = {
    ONE_OF("from", from_forms),
    ONE_OF("by", by_forms),
    END,
};
static const struct cmd_arg polygon_args[] = {
    {.name = "num_vertices", .type = "integer", .token = "BYPOLYGON"},
    BLOCKS("longitude_latitude", lonlat_args),
    END,
};
static const struct cmd_arg shape_forms[] = {
    BLOCK("center", center_args),
    BLOCK("polygon", polygon_args),
    END,
};
static const struct cmd_arg geosearch_args[] = {
    KEY,
    ONE_OF("shape", shape_forms),
    OPTION_OF("order", order_forms),
    OPTION_BLOCK("count-block", NULL, count_args),
    OPTION("withcoord", "WITHCOORD"),
    OPTION("withdist", "WITHDIST"),
    OPTION("withhash", "WITHHASH"),
    END,
};
static const struct cmd_arg geosearchstore_args[] = {
    {.name = "destination", .type = "key"},
    {.name = "source", .type = "key"},
    ONE_OF("shape", shape_forms),
    OPTION_OF("order", order_forms),
    OPTION_BLOCK("count-block", NULL, count_args),
    OPTION("storedist", "STOREDIST"),
    END,
};

static const struct cmd_arg zadd_pair[] = {
    DOUBLE("score"),
    STRING("member"),
    END,
};
static const struct cmd_arg zadd_args[] = {
    KEY,
    OPTION_OF_SINCE("condition", nx_xx_forms, "3.0.2"),
    OPTION_OF_SINCE("comparison", gt_lt_forms, "6.2.0"),
    OPTION_SINCE("change", "CH", "3.0.2"),
    OPTION_SINCE("increment", "INCR", "3.0.2"),
    BLOCKS("score_member", zadd_pair),
    END,
};
static const struct cmd_arg sortby_forms[] = {
    TOKEN("byscore", "BYSCORE"),
    TOKEN("bylex", "BYLEX"),
    END,
};
static const struct cmd_arg zrange_args[] = {
    KEY,
    STRING("start"),
    STRING("stop"),
    OPTION_OF_SINCE("sortby", sortby_forms, "6.2.0"),
    OPTION_SINCE("rev", "REV", "6.2.0"),
    OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    OPTION("withscores", "WITHSCORES"),
    END,
};
static const struct cmd_arg zrangebyscore_args[] = {
    KEY,
    DOUBLE("min"),
    DOUBLE("max"),
    OPTION_SINCE("withscores", "WITHSCORES", "2.0.0"),
    OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    END,
};
#define SCAN_OPTIONS                                                                     \
    {.name = "pattern", .type = "pattern", .token = "MATCH", .flags = CMD_ARG_OPTIONAL}, \
    {                                                                                    \
        .name = "count", .type = "integer", .token = "COUNT", .flags = CMD_ARG_OPTIONAL  \
    }
static const struct cmd_arg zscan_args[] = {
    KEY,
    INTEGER("cursor"),
    SCAN_OPTIONS,
    END,
};
static const struct cmd_arg scan_all_args[] = {
    INTEGER("cursor"),
    SCAN_OPTIONS,
    {.name = "type",
     .type = "string",
     .token = "TYPE",
     .flags = CMD_ARG_OPTIONAL,
     .since = "6.0.0"},
    END,
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
static const struct cmd_arg keys_pattern_args[] = {
    {.name = "pattern", .type = "pattern"},
    END,
};
static const struct cmd_arg flush_args[] = {
    OPTION_OF("flush-type", flush_forms),
    END,
};
static const struct cmd_arg expire_args[] = {
    KEY,
    {.name = "seconds", .type = "integer"},
    OPTION_OF_SINCE("condition", nx_xx_gt_lt_forms, "7.0.0"),
    END,
};
static const struct cmd_arg pexpire_args[] = {
    KEY,
    {.name = "milliseconds", .type = "integer"},
    OPTION_OF_SINCE("condition", nx_xx_gt_lt_forms, "7.0.0"),
    END,
};
static const struct cmd_arg expireat_args[] = {
    KEY,
    {.name = "unix-time-seconds", .type = "unix-time"},
    OPTION_OF_SINCE("condition", nx_xx_gt_lt_forms, "7.0.0"),
    END,
};
static const struct cmd_arg pexpireat_args[] = {
    KEY,
    {.name = "unix-time-milliseconds", .type = "unix-time"},
    OPTION_OF_SINCE("condition", nx_xx_gt_lt_forms, "7.0.0"),
    END,
};

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

/* ---- COMMAND's subcommands ---- */

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
        .args_text = "",
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
        .args_text = "[command-name [command-name ...]]",
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
        .args_text = "command [arg [arg ...]]",
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
        .args_text = "command [arg [arg ...]]",
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
        .args_text = "",
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
        .args_text = "[command-name [command-name ...]]",
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
        .args_text = "[FILTERBY MODULE module-name | ACLCAT category | PATTERN pattern]",
        .args = command_list_args,
    },
    {.name = NULL},
};

/* ---- the commands ---- */

const struct cmd_spec cmd_data_table[] = {
    {
        .name = "geoadd",
        .run = cmd_geoadd,
        .arity = -5,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {4, 3, 0},
        .key_specs = keys_rw_update,
        .group = "geo",
        .since = "3.2.0",
        .summary = "Adds members with positions to a key, or moves them",
        .complexity = "O(log N) for each member",
        .args_text =
            "key [NX | XX] [CH] longitude latitude member [longitude latitude member "
            "...]",
        .args = geoadd_args,
    },
    {
        .name = "geodist",
        .run = cmd_geodist,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 3},
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "3.2.0",
        .summary = "Measures the distance between two members",
        .complexity = "O(1)",
        .args_text = "key member1 member2 [M | KM | FT | MI]",
        .args = geodist_args,
    },
    {
        .name = "geohash",
        .run = cmd_geohash,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 0},
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "3.2.0",
        .summary = "Returns the geohash texts of members",
        .complexity = "O(1) for each member",
        .args_text = "key [member [member ...]]",
        .args = key_any_members_args,
    },
    {
        .name = "geopos",
        .run = cmd_geopos,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 0},
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "3.2.0",
        .summary = "Returns the positions of members",
        .complexity = "O(1) for each member",
        .args_text = "key [member [member ...]]",
        .args = key_any_members_args,
    },
    {
        .name = "georadius",
        .run = cmd_georadius,
        .arity = -6,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_GEORADIUS,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_georadius,
        .group = "geo",
        .since = "3.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
        .summary =
            "Finds the members within a distance of a point, and returns or stores "
            "them",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "key longitude latitude radius M | KM | FT | MI [WITHCOORD] [WITHDIST] "
            "[WITHHASH] [COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        .args = georadius_args,
    },
    {
        .name = "georadius_ro",
        .run = cmd_georadius_ro,
        .arity = -6,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "3.2.10",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` with the `BYRADIUS` argument",
        .summary = "Finds the members within a distance of a point",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "key longitude latitude radius M | KM | FT | MI [WITHCOORD] [WITHDIST] "
            "[WITHHASH] [COUNT count [ANY]] [ASC | DESC]",
        .args = georadius_ro_args,
    },
    {
        .name = "georadiusbymember",
        .run = cmd_georadiusbymember,
        .arity = -5,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_GEORADIUS,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_georadiusbymember,
        .group = "geo",
        .since = "3.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and "
                       "`FROMMEMBER` arguments",
        .summary =
            "Finds the members within a distance of a member, and returns or stores "
            "them",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "key member radius M | KM | FT | MI [WITHCOORD] [WITHDIST] [WITHHASH] "
            "[COUNT count [ANY]] [ASC | DESC] [STORE key | STOREDIST key]",
        .args = georadiusbymember_args,
    },
    {
        .name = "georadiusbymember_ro",
        .run = cmd_georadiusbymember_ro,
        .arity = -5,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "3.2.10",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
        .summary = "Finds the members within a distance of a member",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "key member radius M | KM | FT | MI [WITHCOORD] [WITHDIST] [WITHHASH] "
            "[COUNT count [ANY]] [ASC | DESC]",
        .args = georadiusbymember_ro_args,
    },
    {
        .name = "geosearch",
        .run = cmd_geosearch,
        .arity = -7,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "geo",
        .since = "6.2.0",
        .summary = "Finds the members inside a circle, a box or a polygon",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "key FROMMEMBER member | FROMLONLAT longitude latitude BYRADIUS radius M "
            "| KM | FT | MI | BYBOX width height M | KM | FT | MI | BYPOLYGON "
            "num-vertices longitude latitude [longitude latitude ...] [ASC | DESC] "
            "[COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
        .args = geosearch_args,
    },
    {
        .name = "geosearchstore",
        .run = cmd_geosearchstore,
        .arity = -8,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 2,
        .key_step = 1,
        .key_specs = keys_geosearchstore,
        .group = "geo",
        .since = "6.2.0",
        .summary =
            "Stores the members inside a circle, a box or a polygon under another key",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args_text =
            "destination source FROMMEMBER member | FROMLONLAT longitude latitude "
            "BYRADIUS radius M | KM | FT | MI | BYBOX width height M | KM | FT | MI "
            "| BYPOLYGON num-vertices longitude latitude [longitude latitude ...] "
            "[ASC | DESC] [COUNT count [ANY]] [STOREDIST]",
        .args = geosearchstore_args,
    },
    {
        .name = "zadd",
        .run = cmd_zadd,
        .arity = -4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
        .acl = "@write @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {3, 2, 0},
        .key_specs = keys_rw_update,
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Adds members with scores to a key, or changes their scores",
        .complexity = "O(log N) for each member",
        .args_text =
            "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
        .args = zadd_args,
    },
    {
        .name = "zcard",
        .run = cmd_zcard,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro,
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Counts the members of a key",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "zmscore",
        .run = cmd_zmscore,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 0},
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns the scores of several members",
        .complexity = "O(1) for each member",
        .args_text = "key member [member ...]",
        .args = key_members_args,
    },
    {
        .name = "zrange",
        .run = cmd_zrange,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Returns the members of a range of ranks, scores or names",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args_text =
            "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        .args = zrange_args,
    },
    {
        .name = "zrangebyscore",
        .run = cmd_zrangebyscore,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "1.0.5",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `BYSCORE` argument",
        .summary = "Returns the members of a range of scores",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args_text = "key min max [WITHSCORES] [LIMIT offset count]",
        .args = zrangebyscore_args,
    },
    {
        .name = "zrank",
        .run = cmd_zrank,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 2},
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Returns the place of a member in ascending order",
        .complexity = "O(log N)",
        .args_text = "key member [WITHSCORE]",
        .args = rank_args,
    },
    {
        .name = "zrem",
        .run = cmd_zrem,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@write @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 0},
        .key_specs = keys_rw_delete,
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Removes members from a key",
        .complexity = "O(log N) for each member",
        .args_text = "key member [member ...]",
        .args = key_members_args,
    },
    {
        .name = "zrevrank",
        .run = cmd_zrevrank,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 2},
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Returns the place of a member in descending order",
        .complexity = "O(log N)",
        .args_text = "key member [WITHSCORE]",
        .args = rank_args,
    },
    {
        .name = "zscan",
        .run = cmd_zscan,
        .arity = -3,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .tips = "nondeterministic_output",
        .group = "sorted-set",
        .since = "2.8.0",
        .summary = "Hands out the members and scores of a key in steps",
        .complexity = "O(1) for each member handed out",
        .args_text = "key cursor [MATCH pattern] [COUNT count]",
        .args = zscan_args,
    },
    {
        .name = "zscore",
        .run = cmd_zscore,
        .arity = 3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .members = {2, 1, 2},
        .key_specs = keys_ro_access,
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Returns the score of a member",
        .complexity = "O(1)",
        .args_text = "key member",
        .args = key_member_args,
    },
    {
        .name = "get",
        .run = cmd_get,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @string @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
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
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = -1,
        .key_step = 1,
        .key_specs = keys_ro_access_all,
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
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_set,
        .group = "string",
        .since = "1.0.0",
        .summary = "Stores a string under a key, whatever was there before",
        .complexity = "O(1)",
        .args_text = "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT "
                     "unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        .args = set_args,
    },
    {
        .name = "dbsize",
        .run = cmd_dbsize,
        .arity = 1,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .tips = "request_policy:all_shards response_policy:agg_sum",
        .group = "server",
        .since = "1.0.0",
        .summary = "Counts the keys of the database",
        .complexity = "O(1)",
        .args_text = "",
    },
    {
        .name = "del",
        .run = cmd_del,
        .arity = -2,
        .flags = CMD_WRITE,
        .acl = "@keyspace @write @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = -1,
        .key_step = 1,
        .key_specs = keys_rm_delete_all,
        .tips = "request_policy:multi_shard response_policy:agg_sum",
        .group = "generic",
        .since = "1.0.0",
        .summary = "Removes keys",
        .complexity = "O(N) for N keys",
        .args_text = "key [key ...]",
        .args = keys_args,
    },
    {
        .name = "exists",
        .run = cmd_exists,
        .arity = -2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = -1,
        .key_step = 1,
        .key_specs = keys_ro_all,
        .tips = "request_policy:multi_shard response_policy:agg_sum",
        .group = "generic",
        .since = "1.0.0",
        .summary = "Counts how many of the keys exist",
        .complexity = "O(N) for N keys",
        .args_text = "key [key ...]",
        .args = keys_args,
    },
    {
        .name = "expire",
        .run = cmd_expire,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_rw_update,
        .group = "generic",
        .since = "1.0.0",
        .summary = "Lets a key live for so many seconds",
        .complexity = "O(1)",
        .args_text = "key seconds [NX | XX | GT | LT]",
        .args = expire_args,
    },
    {
        .name = "expireat",
        .run = cmd_expireat,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_rw_update,
        .group = "generic",
        .since = "1.2.0",
        .summary = "Lets a key live until a time in seconds",
        .complexity = "O(1)",
        .args_text = "key unix-time-seconds [NX | XX | GT | LT]",
        .args = expireat_args,
    },
    {
        .name = "pexpire",
        .run = cmd_pexpire,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_rw_update,
        .group = "generic",
        .since = "2.6.0",
        .summary = "Lets a key live for so many milliseconds",
        .complexity = "O(1)",
        .args_text = "key milliseconds [NX | XX | GT | LT]",
        .args = pexpire_args,
    },
    {
        .name = "pexpireat",
        .run = cmd_pexpireat,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_rw_update,
        .group = "generic",
        .since = "2.6.0",
        .summary = "Lets a key live until a time in milliseconds",
        .complexity = "O(1)",
        .args_text = "key unix-time-milliseconds [NX | XX | GT | LT]",
        .args = pexpireat_args,
    },
    {
        .name = "expiretime",
        .run = cmd_expiretime,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "generic",
        .since = "7.0.0",
        .summary = "Tells until when a key lives, in seconds",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "flushall",
        .run = cmd_flushall,
        .arity = -1,
        .flags = CMD_WRITE,
        .acl = "@keyspace @write @slow @dangerous",
        .tips = "request_policy:all_shards response_policy:all_succeeded",
        .group = "server",
        .since = "1.0.0",
        .summary = "Removes all keys of all databases",
        .complexity = "O(N) for N keys",
        .args_text = "[ASYNC | SYNC]",
        .args = flush_args,
    },
    {
        .name = "flushdb",
        .run = cmd_flushdb,
        .arity = -1,
        .flags = CMD_WRITE,
        .acl = "@keyspace @write @slow @dangerous",
        .tips = "request_policy:all_shards response_policy:all_succeeded",
        .group = "server",
        .since = "1.0.0",
        .summary = "Removes all keys of the database",
        .complexity = "O(N) for N keys",
        .args_text = "[ASYNC | SYNC]",
        .args = flush_args,
    },
    {
        .name = "keys",
        .run = cmd_keys,
        .arity = 2,
        .flags = CMD_READONLY,
        .acl = "@keyspace @read @slow @dangerous",
        .tips = "request_policy:all_shards nondeterministic_output_order",
        .group = "generic",
        .since = "1.0.0",
        .summary = "Returns the keys whose names match a pattern",
        .complexity = "O(N) for N keys in the database",
        .args_text = "pattern",
        .args = keys_pattern_args,
    },
    {
        .name = "persist",
        .run = cmd_persist,
        .arity = 2,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_rw_update,
        .group = "generic",
        .since = "2.2.0",
        .summary = "Lets a key live for ever",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "pexpiretime",
        .run = cmd_pexpiretime,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .group = "generic",
        .since = "7.0.0",
        .summary = "Tells until when a key lives, in milliseconds",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "pttl",
        .run = cmd_pttl,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .tips = "nondeterministic_output",
        .group = "generic",
        .since = "2.6.0",
        .summary = "Tells how long a key will live, in milliseconds",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "scan",
        .run = cmd_scan,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@keyspace @read @slow",
        .tips = "nondeterministic_output request_policy:special",
        .group = "generic",
        .since = "2.8.0",
        .summary = "Hands out the keys of the database in steps",
        .complexity = "O(1) for each key handed out",
        .args_text = "cursor [MATCH pattern] [COUNT count] [TYPE type]",
        .args = scan_all_args,
    },
    {
        .name = "ttl",
        .run = cmd_ttl,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro_access,
        .tips = "nondeterministic_output",
        .group = "generic",
        .since = "1.0.0",
        .summary = "Tells how long a key will live, in seconds",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "type",
        .run = cmd_type,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@keyspace @read @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_ro,
        .group = "generic",
        .since = "1.0.0",
        .summary = "Tells what a key holds",
        .complexity = "O(1)",
        .args_text = "key",
        .args = key_args,
    },
    {
        .name = "unlink",
        .run = cmd_del,
        .arity = -2,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@keyspace @write @fast",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = -1,
        .key_step = 1,
        .key_specs = keys_rm_delete_all,
        .tips = "request_policy:multi_shard response_policy:agg_sum",
        .group = "generic",
        .since = "4.0.0",
        .summary = "Removes keys",
        .complexity = "O(N) for N keys",
        .args_text = "key [key ...]",
        .args = keys_args,
    },
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
        .args_text = "[subcommand [argument ...]]",
        .subcommands = command_subcommands,
    },
    {.name = NULL},
};
