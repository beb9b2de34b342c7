#include "cmd/cmd_unsupported.h"

#include <stddef.h>

#include "cmd/cmd_args.h"

/* The names are those of Redis 8.0's own commands and of its bundled types. */
static const char *const list_names[] = {
    "blmove", "blmpop", "blpop", "brpop", "brpoplpush", "lindex",    "linsert", "llen",
    "lmove",  "lmpop",  "lpop",  "lpos",  "lpush",      "lpushx",    "lrange",  "lrem",
    "lset",   "ltrim",  "rpop",  "rpush", "rpushx",     "rpoplpush", NULL,
};
static const char *const hash_names[] = {
    "hdel",         "hexists", "hexpire",    "hexpireat", "hexpiretime",  "hget",
    "hgetall",      "hgetdel", "hgetex",     "hincrby",   "hincrbyfloat", "hkeys",
    "hlen",         "hmget",   "hmset",      "hpersist",  "hpexpire",     "hpexpireat",
    "hpexpiretime", "hpttl",   "hrandfield", "hscan",     "hset",         "hsetex",
    "hsetnx",       "hstrlen", "httl",       "hvals",     NULL,
};
static const char *const set_names[] = {
    "sadd",        "scard",     "sdiff",    "sdiffstore", "sinter",      "sintercard",
    "sinterstore", "sismember", "smembers", "smismember", "smove",       "spop",
    "srandmember", "srem",      "sscan",    "sunion",     "sunionstore", NULL,
};
static const char *const stream_names[] = {
    "xack",      "xadd",   "xautoclaim", "xclaim", "xdel",  "xgroup",
    "xinfo",     "xlen",   "xpending",   "xrange", "xread", "xreadgroup",
    "xrevrange", "xsetid", "xtrim",      NULL,
};
static const char *const bitmap_names[] = {
    "bitcount", "bitfield", "bitfield_ro", "bitop", "bitpos", "getbit", "setbit", NULL,
};
static const char *const log_log_names[] = {
    "pfadd", "pfcount", "pfdebug", "pfmerge", "pfselftest", NULL,
};
static const char *const script_names[] = {
    "eval",     "evalsha",  "evalsha_ro", "eval_ro", "fcall",
    "fcall_ro", "function", "script",     NULL,
};
static const char *const sort_names[] = {"sort", "sort_ro", NULL};
static const char *const lcs_names[] = {"lcs", NULL};
static const char *const replica_names[] = {
    "failover", "migrate", "psync", "replconf", "sync", NULL,
};

/* clang-format off */
static const struct {
    const char *const *names;
    const char *subject; /* with its verb */
} kinds[] = {
    {list_names, "lists are"},
    {hash_names, "hashes are"},
    {set_names, "plain sets are"},
    {stream_names, "streams are"},
    {bitmap_names, "bit operations are"},
    {log_log_names, "HyperLogLogs are"},
    {script_names, "scripts are"},
    {sort_names, "sorting of lists and sets is"},
    {lcs_names, "common subsequences of strings are"},
    {replica_names, "replication and moving keys to other servers are"},
};
/* clang-format on */

const char *cmd_unsupported(struct yn_bytes name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (size_t k = 0; kinds[i].names[k] != NULL; k++) {
            if (cmd_word_is(name, kinds[i].names[k]))
                return kinds[i].subject;
        }
    }
    return NULL;
}
