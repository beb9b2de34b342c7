/*
 * zset_table.c: the commands of sorted sets.
 */
#include "cmd/cmd_spec_parts.h"
#include "cmd/cmd_zset.h"

static const struct cmd_key_spec keys_zincrby[] = {
    {.flags = "RW access update", .index = 1, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_rw_access_delete[] = {
    {.flags = "RW access delete", .index = 1, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_rw_access_delete_but_last[] = {
    {.flags = "RW access delete", .index = 1, .last = -2, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_zmpop[] = {
    {.flags = "RW access delete", .index = 1, .is_counted = true},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_bzmpop[] = {
    {.flags = "RW access delete", .index = 2, .is_counted = true},
    {.flags = NULL},
};
/* All arguments but the last are keys. */
#define KEYS_BUT_LAST(specs)                                               \
    .keys = CMD_KEYS_RANGE, .key_first = 1, .key_last = -2, .key_step = 1, \
    .key_specs = specs

static const struct cmd_key_spec keys_counted[] = {
    {.flags = "RO access", .index = 1, .is_counted = true},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_stored_counted[] = {
    {.flags = "OW update", .index = 1, .step = 1},
    {.flags = "RO access", .index = 2, .is_counted = true},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_zrangestore[] = {
    {.flags = "OW update", .index = 1, .step = 1},
    {.flags = "RO access", .index = 2, .step = 1},
    {.flags = NULL},
};
/* Keys behind their number, without and with a destination before it. */
#define KEYS_COUNTED .keys = CMD_KEYS_NUMKEYS, .numkeys = 1, .key_specs = keys_counted
#define KEYS_STORED                                                         \
    .keys = CMD_KEYS_NUMKEYS, .key_first = 1, .key_last = 1, .key_step = 1, \
    .numkeys = 2, .key_specs = keys_stored_counted

static const struct cmd_arg rank_args[] = {
    KEY,
    STRING("member"),
    OPTION_SINCE("withscore", "WITHSCORE", "7.2.0"),
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
static const struct cmd_arg zscan_args[] = {
    KEY,
    INTEGER("cursor"),
    SCAN_OPTIONS,
    END,
};

static const struct cmd_arg score_range_args[] = {
    KEY,
    DOUBLE("min"),
    DOUBLE("max"),
    END,
};
static const struct cmd_arg lex_range_args[] = {
    KEY,
    STRING("min"),
    STRING("max"),
    END,
};
static const struct cmd_arg zrangebylex_args[] = {
    KEY, STRING("min"), STRING("max"), OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    END,
};
static const struct cmd_arg zrevrange_args[] = {
    KEY, INTEGER("start"), INTEGER("stop"), OPTION("withscores", "WITHSCORES"), END,
};
static const struct cmd_arg zrevrangebylex_args[] = {
    KEY, STRING("max"), STRING("min"), OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    END,
};
static const struct cmd_arg zrevrangebyscore_args[] = {
    KEY,
    DOUBLE("max"),
    DOUBLE("min"),
    OPTION("withscores", "WITHSCORES"),
    OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    END,
};

static const struct cmd_arg rank_range_args[] = {
    KEY,
    INTEGER("start"),
    INTEGER("stop"),
    END,
};
static const struct cmd_arg zincrby_args[] = {
    KEY,
    INTEGER("increment"),
    STRING("member"),
    END,
};
static const struct cmd_arg zpop_args[] = {
    KEY,
    {.name = "count", .type = "integer", .flags = CMD_ARG_OPTIONAL},
    END,
};
static const struct cmd_arg aggregate_forms[] = {
    TOKEN("sum", "SUM"),
    TOKEN("min", "MIN"),
    TOKEN("max", "MAX"),
    END,
};
#define DESTINATION                          \
    {                                        \
        .name = "destination", .type = "key" \
    }
#define COUNTED_KEYS                                            \
    INTEGER("numkeys"),                                         \
    {                                                           \
        .name = "key", .type = "key", .flags = CMD_ARG_MULTIPLE \
    }
#define WEIGHTS_AGGREGATE                                           \
    {.name = "weight",                                              \
     .type = "integer",                                             \
     .token = "WEIGHTS",                                            \
     .flags = CMD_ARG_OPTIONAL | CMD_ARG_MULTIPLE},                 \
    {                                                               \
        .name = "aggregate", .type = "oneof", .token = "AGGREGATE", \
        .flags = CMD_ARG_OPTIONAL, .args = aggregate_forms          \
    }
static const struct cmd_arg zunion_args[] = {
    COUNTED_KEYS,
    WEIGHTS_AGGREGATE,
    OPTION("withscores", "WITHSCORES"),
    END,
};
static const struct cmd_arg zunionstore_args[] = {
    DESTINATION,
    COUNTED_KEYS,
    WEIGHTS_AGGREGATE,
    END,
};
static const struct cmd_arg zdiff_args[] = {
    COUNTED_KEYS,
    OPTION("withscores", "WITHSCORES"),
    END,
};
static const struct cmd_arg zdiffstore_args[] = {
    DESTINATION,
    COUNTED_KEYS,
    END,
};
static const struct cmd_arg zintercard_args[] = {
    COUNTED_KEYS,
    {.name = "limit", .type = "integer", .token = "LIMIT", .flags = CMD_ARG_OPTIONAL},
    END,
};
static const struct cmd_arg zrangestore_args[] = {
    {.name = "dst", .type = "key"},
    {.name = "src", .type = "key"},
    STRING("min"),
    STRING("max"),
    OPTION_OF("sortby", sortby_forms),
    OPTION("rev", "REV"),
    OPTION_BLOCK("offset_count", "LIMIT", limit_args),
    END,
};
static const struct cmd_arg min_max_forms[] = {
    TOKEN("min", "MIN"),
    TOKEN("max", "MAX"),
    END,
};
#define ZMPOP_ARGS                                                                      \
    INTEGER("numkeys"), {.name = "key", .type = "key", .flags = CMD_ARG_MULTIPLE},      \
        ONE_OF("where", min_max_forms),                                                 \
    {                                                                                   \
        .name = "count", .type = "integer", .token = "COUNT", .flags = CMD_ARG_OPTIONAL \
    }
static const struct cmd_arg zmpop_args[] = {
    ZMPOP_ARGS,
    END,
};
static const struct cmd_arg bzmpop_args[] = {
    DOUBLE("timeout"),
    ZMPOP_ARGS,
    END,
};
static const struct cmd_arg bzpop_args[] = {
    {.name = "key", .type = "key", .flags = CMD_ARG_MULTIPLE},
    DOUBLE("timeout"),
    END,
};
static const struct cmd_arg zrandmember_options[] = {
    INTEGER("count"),
    OPTION("withscores", "WITHSCORES"),
    END,
};
static const struct cmd_arg zrandmember_args[] = {
    KEY,
    {.name = "options",
     .type = "block",
     .flags = CMD_ARG_OPTIONAL,
     .args = zrandmember_options},
    END,
};

const struct cmd_spec cmd_zset_table[] = {
    {
        .name = "bzmpop",
        .run = cmd_bzmpop,
        .arity = -5,
        .flags = CMD_WRITE | CMD_BLOCKING | CMD_MOVABLEKEYS,
        .acl = "@write @sortedset @slow @blocking",
        .keys = CMD_KEYS_NUMKEYS,
        .numkeys = 2,
        .key_specs = keys_bzmpop,
        .group = "sorted-set",
        .since = "7.0.0",
        .summary =
            "Removes members from an end of the first key that has some, or waits for one",
        .complexity = "O(K + log N + M) for K keys and M members popped",
        .args = bzmpop_args,
    },
    {
        .name = "bzpopmax",
        .run = cmd_bzpopmax,
        .arity = -3,
        .flags = CMD_WRITE | CMD_NOSCRIPT | CMD_BLOCKING | CMD_FAST,
        .acl = "@write @sortedset @fast @blocking",
        KEYS_BUT_LAST(keys_rw_access_delete_but_last),
        .group = "sorted-set",
        .since = "5.0.0",
        .summary =
            "Removes the member with the highest score of several keys, or waits for one",
        .complexity = "O(K + log N) for K keys",
        .args = bzpop_args,
    },
    {
        .name = "bzpopmin",
        .run = cmd_bzpopmin,
        .arity = -3,
        .flags = CMD_WRITE | CMD_NOSCRIPT | CMD_BLOCKING | CMD_FAST,
        .acl = "@write @sortedset @fast @blocking",
        KEYS_BUT_LAST(keys_rw_access_delete_but_last),
        .group = "sorted-set",
        .since = "5.0.0",
        .summary =
            "Removes the member with the lowest score of several keys, or waits for one",
        .complexity = "O(K + log N) for K keys",
        .args = bzpop_args,
    },
    {
        .name = "zadd",
        .run = cmd_zadd,
        .arity = -4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
        .acl = "@write @sortedset @fast",
        ONE_KEY(keys_rw_update),
        .members = {3, 2, 0},
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Adds members with scores to a key, or changes their scores",
        .complexity = "O(log N) for each member",
        .args = zadd_args,
    },
    {
        .name = "zcard",
        .run = cmd_zcard,
        .arity = 2,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro),
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Counts the members of a key",
        .complexity = "O(1)",
        .args = key_args,
    },
    {
        .name = "zcount",
        .run = cmd_zcount,
        .arity = 4,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Counts the members of a range of scores",
        .complexity = "O(log N)",
        .args = score_range_args,
    },
    {
        .name = "zdiff",
        .run = cmd_zdiff,
        .arity = -3,
        .flags = CMD_READONLY | CMD_MOVABLEKEYS,
        .acl = "@read @sortedset @slow",
        KEYS_COUNTED,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns the members that only the first key has",
        .complexity = "O(N) for N members in all keys",
        .args = zdiff_args,
    },
    {
        .name = "zdiffstore",
        .run = cmd_zdiffstore,
        .arity = -4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @sortedset @slow",
        KEYS_STORED,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Stores the members that only the first key has",
        .complexity = "O(N) for N members in all keys",
        .args = zdiffstore_args,
    },
    {
        .name = "zincrby",
        .run = cmd_zincrby,
        .arity = 4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_FAST,
        .acl = "@write @sortedset @fast",
        ONE_KEY(keys_zincrby),
        .members = {3, 1, 3},
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Adds to the score of a member, which is added if need be",
        .complexity = "O(log N)",
        .args = zincrby_args,
    },
    {
        .name = "zinter",
        .run = cmd_zinter,
        .arity = -3,
        .flags = CMD_READONLY | CMD_MOVABLEKEYS,
        .acl = "@read @sortedset @slow",
        KEYS_COUNTED,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns the members that all keys have",
        .complexity =
            "O(N*K + M log M) for N members in the smallest of K keys and M in the result",
        .args = zunion_args,
    },
    {
        .name = "zintercard",
        .run = cmd_zintercard,
        .arity = -3,
        .flags = CMD_READONLY | CMD_MOVABLEKEYS,
        .acl = "@read @sortedset @slow",
        KEYS_COUNTED,
        .group = "sorted-set",
        .since = "7.0.0",
        .summary = "Counts the members that all keys have",
        .complexity = "O(N*K) for N members in the smallest of K keys",
        .args = zintercard_args,
    },
    {
        .name = "zinterstore",
        .run = cmd_zinterstore,
        .arity = -4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @sortedset @slow",
        KEYS_STORED,
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Stores the members that all keys have",
        .complexity =
            "O(N*K + M log M) for N members in the smallest of K keys and M in the result",
        .args = zunionstore_args,
    },
    {
        .name = "zlexcount",
        .run = cmd_zlexcount,
        .arity = 4,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "2.8.9",
        .summary = "Counts the members of a range of names",
        .complexity = "O((log N)^2)",
        .differs =
            "over members of different scores: another order of what is not defined",
        .args = lex_range_args,
    },
    {
        .name = "zmpop",
        .run = cmd_zmpop,
        .arity = -4,
        .flags = CMD_WRITE | CMD_MOVABLEKEYS,
        .acl = "@write @sortedset @slow",
        .keys = CMD_KEYS_NUMKEYS,
        .numkeys = 1,
        .key_specs = keys_zmpop,
        .group = "sorted-set",
        .since = "7.0.0",
        .summary =
            "Removes members from an end of the first key that has some, and returns them",
        .complexity = "O(K + log N + M) for K keys and M members popped",
        .args = zmpop_args,
    },
    {
        .name = "zmscore",
        .run = cmd_zmscore,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 0},
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns the scores of several members",
        .complexity = "O(1) for each member",
        .args = key_members_args,
    },
    {
        .name = "zpopmax",
        .run = cmd_zpopmax,
        .arity = -2,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@write @sortedset @fast",
        ONE_KEY(keys_rw_access_delete),
        .group = "sorted-set",
        .since = "5.0.0",
        .summary = "Removes the members with the highest scores and returns them",
        .complexity = "O(log N + M) for M members popped",
        .args = zpop_args,
    },
    {
        .name = "zpopmin",
        .run = cmd_zpopmin,
        .arity = -2,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@write @sortedset @fast",
        ONE_KEY(keys_rw_access_delete),
        .group = "sorted-set",
        .since = "5.0.0",
        .summary = "Removes the members with the lowest scores and returns them",
        .complexity = "O(log N + M) for M members popped",
        .args = zpop_args,
    },
    {
        .name = "zrandmember",
        .run = cmd_zrandmember,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .tips = "nondeterministic_output",
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns members drawn at random",
        .complexity = "O(M log N) for M members in the reply",
        .args = zrandmember_args,
    },
    {
        .name = "zrange",
        .run = cmd_zrange,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "1.2.0",
        .differs =
            "BYLEX over members of different scores: another order of what is not defined",
        .summary = "Returns the members of a range of ranks, scores or names",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args = zrange_args,
    },
    {
        .name = "zrangebylex",
        .run = cmd_zrangebylex,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "2.8.9",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `BYLEX` argument",
        .summary = "Returns the members of a range of names",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .differs =
            "over members of different scores: another order of what is not defined",
        .args = zrangebylex_args,
    },
    {
        .name = "zrangebyscore",
        .run = cmd_zrangebyscore,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "1.0.5",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `BYSCORE` argument",
        .summary = "Returns the members of a range of scores",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args = zrangebyscore_args,
    },
    {
        .name = "zrangestore",
        .run = cmd_zrangestore,
        .arity = -5,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @sortedset @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 2,
        .key_step = 1,
        .key_specs = keys_zrangestore,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Stores the members of a range of ranks, scores or names",
        .complexity = "O(log N + M) for N members in the source and M in the result",
        .args = zrangestore_args,
    },
    {
        .name = "zrank",
        .run = cmd_zrank,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 2},
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Returns the place of a member in ascending order",
        .complexity = "O(log N)",
        .args = rank_args,
    },
    {
        .name = "zrem",
        .run = cmd_zrem,
        .arity = -3,
        .flags = CMD_WRITE | CMD_FAST,
        .acl = "@write @sortedset @fast",
        ONE_KEY(keys_rw_delete),
        .members = {2, 1, 0},
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Removes members from a key",
        .complexity = "O(log N) for each member",
        .args = key_members_args,
    },
    {
        .name = "zremrangebylex",
        .run = cmd_zremrangebylex,
        .arity = 4,
        .flags = CMD_WRITE,
        .acl = "@write @sortedset @slow",
        ONE_KEY(keys_rw_delete),
        .group = "sorted-set",
        .since = "2.8.9",
        .summary = "Removes the members of a range of names",
        .complexity = "O(log N + M) for M members removed",
        .differs =
            "over members of different scores: another order of what is not defined",
        .args = lex_range_args,
    },
    {
        .name = "zremrangebyrank",
        .run = cmd_zremrangebyrank,
        .arity = 4,
        .flags = CMD_WRITE,
        .acl = "@write @sortedset @slow",
        ONE_KEY(keys_rw_delete),
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Removes the members of a range of ranks",
        .complexity = "O(log N + M) for M members removed",
        .args = rank_range_args,
    },
    {
        .name = "zremrangebyscore",
        .run = cmd_zremrangebyscore,
        .arity = 4,
        .flags = CMD_WRITE,
        .acl = "@write @sortedset @slow",
        ONE_KEY(keys_rw_delete),
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Removes the members of a range of scores",
        .complexity = "O(log N + M) for M members removed",
        .args = score_range_args,
    },
    {
        .name = "zrevrange",
        .run = cmd_zrevrange,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "1.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `REV` argument",
        .summary = "Returns the members of a range of ranks, from the highest down",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args = zrevrange_args,
    },
    {
        .name = "zrevrangebylex",
        .run = cmd_zrevrangebylex,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "2.8.9",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `REV` and `BYLEX` arguments",
        .summary = "Returns the members of a range of names, from the highest down",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .differs =
            "over members of different scores: another order of what is not defined",
        .args = zrevrangebylex_args,
    },
    {
        .name = "zrevrangebyscore",
        .run = cmd_zrevrangebyscore,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .group = "sorted-set",
        .since = "2.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`ZRANGE` with the `REV` and `BYSCORE` arguments",
        .summary = "Returns the members of a range of scores, from the highest down",
        .complexity = "O(log N + M) for N members in the key and M in the reply",
        .args = zrevrangebyscore_args,
    },
    {
        .name = "zrevrank",
        .run = cmd_zrevrank,
        .arity = -3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 2},
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Returns the place of a member in descending order",
        .complexity = "O(log N)",
        .args = rank_args,
    },
    {
        .name = "zscan",
        .run = cmd_zscan,
        .arity = -3,
        .flags = CMD_READONLY,
        .acl = "@read @sortedset @slow",
        ONE_KEY(keys_ro_access),
        .tips = "nondeterministic_output",
        .group = "sorted-set",
        .since = "2.8.0",
        .summary = "Hands out the members and scores of a key in steps",
        .complexity = "O(1) for each member handed out",
        .args = zscan_args,
    },
    {
        .name = "zscore",
        .run = cmd_zscore,
        .arity = 3,
        .flags = CMD_READONLY | CMD_FAST,
        .acl = "@read @sortedset @fast",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 2},
        .group = "sorted-set",
        .since = "1.2.0",
        .summary = "Returns the score of a member",
        .complexity = "O(1)",
        .args = key_member_args,
    },
    {
        .name = "zunion",
        .run = cmd_zunion,
        .arity = -3,
        .flags = CMD_READONLY | CMD_MOVABLEKEYS,
        .acl = "@read @sortedset @slow",
        KEYS_COUNTED,
        .group = "sorted-set",
        .since = "6.2.0",
        .summary = "Returns the members of any of the keys",
        .complexity = "O(N + M log M) for N members in all keys and M in the result",
        .args = zunion_args,
    },
    {
        .name = "zunionstore",
        .run = cmd_zunionstore,
        .arity = -4,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @sortedset @slow",
        KEYS_STORED,
        .group = "sorted-set",
        .since = "2.0.0",
        .summary = "Stores the members of any of the keys",
        .complexity = "O(N + M log M) for N members in all keys and M in the result",
        .args = zunionstore_args,
    },
    {.name = NULL},
};
