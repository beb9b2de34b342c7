/*
 * cmd.h: the table of commands and how one is run.
 *
 * A command is a struct cmd_spec: name, arity, flags, keys, documentation and a
 * function. The specs are the one source for dispatch, arity checks, COMMAND
 * replies and the list in README. Specs come in tables; cmd_register adds one
 * (the data commands of src/cmd/, the server's own of src/server/).
 *
 * A run: cmd_find -> cmd_check_arity -> spec->run(call). The function replies
 * through host.h. What it wants done besides (close the connection, run a long
 * reply in steps, wait for a key) it leaves in call->wish, call->job and call->block;
 * the host acts on it.
 */
#ifndef CMD_H
#define CMD_H

#include "host.h"

/* ---- scratch memory ---- */

/* Memory for one command: everything taken from it goes when the host resets it after the
 * command. In sanitizer builds every piece is a block of its own. */
struct cmd_arena;
struct cmd_arena *cmd_arena_new(void);
void cmd_arena_free(struct cmd_arena *arena);
void cmd_arena_reset(struct cmd_arena *arena);
/* Whether anything has been taken since the last reset. */
bool cmd_arena_is_used(const struct cmd_arena *arena);
/* Returns n bytes, aligned for anything, or NULL when out of memory. */
void *cmd_arena_take(struct cmd_arena *arena, size_t n);

/* ---- jobs ---- */

struct cmd_call;

/*
 * A reply that may be large, or that takes long to work out. It has up to three phases:
 *
 * work, unless it is NULL: the long part of it. It reads what the job has (the live set,
 * or once held its frozen view), changes nothing but the job, and knows no host: if the
 * job is held before, it may be done in any thread. Returns YN_OK, or YN_ENOMEM or
 * YN_ESTOPPED, and then the job is only freed. is_long says that the host should rather
 * do it in another thread.
 *
 * begin, if and only if there is work: answers, begins the reply, or changes the keys
 * that the result is for (changes_keys). Its call has the host and, if it changes keys,
 * the words of the command. Returns false, nothing done, when keys that the work was
 * about have been changed since: the host frees the job and runs the command again. A job
 * left in call->job takes this one's place.
 *
 * step, unless it is NULL: called until it returns true (done). `budget` is the number of
 * reply bytes after which the host would like control back. Without work the reply's
 * header has been written by the command's function.
 *
 * Before anything else may change the keyspace the host calls hold, once, which makes the
 * job independent of the keyspace (frozen view) and of the request's bytes; if that fails
 * (false: out of memory) the host runs the job to its end at once. free ends the job,
 * done or not; with a frozen view it must be called where its set may be changed.
 *
 * n_bytes says about how much there is to send, and so what a held job may keep in memory
 * that nothing else does; the host counts it as output that waits, where a client can
 * have many jobs.
 */
struct cmd_job {
    enum yn_status (*work)(struct cmd_job *job, const struct yn_stop *stop);
    bool (*begin)(struct cmd_job *job, struct cmd_call *call);
    bool (*step)(struct cmd_job *job, struct host *h, size_t budget);
    bool (*hold)(struct cmd_job *job);
    void (*free)(struct cmd_job *job);
    size_t n_bytes;
    bool is_long;
    bool changes_keys;
};


/* ---- waiting ---- */

/*
 * What a blocking command leaves when there is nothing for it to do yet: it has sent no
 * reply and changed nothing. The host runs the same words again when one of the keys may
 * hold something, or answers for the command when the time is up; where no client can
 * wait (inside MULTI) it answers so at once.
 */
enum cmd_timeout_reply { CMD_TIMEOUT_NULL_ARRAY };

struct cmd_block {
    bool wanted;
    const struct yn_bytes *keys; /* among the words of the call */
    size_t n_keys;
    int64_t timeout_ms; /* 0: for ever */
    enum cmd_timeout_reply on_timeout;
};

/* ---- a call ---- */

enum cmd_wish { CMD_WISH_NONE, CMD_WISH_CLOSE, CMD_WISH_SHUTDOWN };

struct cmd_spec;

/* Scores of the members of a call, as the host has found them before (NaN: not there). */
struct cmd_ahead {
    const struct yn_zset *set; /* they are of this set, unchanged since; NULL: none */
    const double *scores;
    size_t n;
};
/* So many members of one command are looked up ahead; it does more by itself. */
#define CMD_AHEAD_MAX 16

struct cmd_call {
    const struct cmd_spec *spec; /* the subcommand's for container commands */
    struct host *host;
    struct cmd_arena *arena;
    size_t argc;                 /* command name included */
    const struct yn_bytes *argv; /* borrowed from the request */
    struct cmd_ahead ahead;      /* see cmd_scores.h */
    struct cmd_job *job;         /* out: the host owns it */
    struct cmd_block block;      /* out */
    enum cmd_wish wish;          /* out */
};

typedef void (*cmd_fn)(struct cmd_call *call);

/* Does the work of a job that has some at once, and begins its reply; call->job is the
 * job to go on with, or NULL: that was all. `stopped` is the error when `stop` (or NULL)
 * has ended it. Returns how the work went. */
enum yn_status cmd_job_begin(struct cmd_call *call, const struct yn_stop *stop,
                             const char *stopped);
/* The same when the work has been done, and has returned `status`. Returns false when the
 * command has to be run again; the job is freed. */
bool cmd_job_begin_worked(struct cmd_call *call, enum yn_status status,
                          const char *stopped);

/* ---- the table ---- */

/* Flags as COMMAND INFO shows them: the bit order is the order of the texts. */
#define CMD_FLAG_MAP(X)                     \
    X(WRITE, "write")                       \
    X(READONLY, "readonly")                 \
    X(DENYOOM, "denyoom")                   \
    X(ADMIN, "admin")                       \
    X(PUBSUB, "pubsub")                     \
    X(NOSCRIPT, "noscript")                 \
    X(BLOCKING, "blocking")                 \
    X(LOADING, "loading")                   \
    X(STALE, "stale")                       \
    X(SKIP_MONITOR, "skip_monitor")         \
    X(SKIP_SLOWLOG, "skip_slowlog")         \
    X(FAST, "fast")                         \
    X(NO_AUTH, "no_auth")                   \
    X(NO_ASYNC_LOADING, "no_async_loading") \
    X(NO_MULTI, "no_multi")                 \
    X(MOVABLEKEYS, "movablekeys")           \
    X(ALLOW_BUSY, "allow_busy")

enum cmd_flag_bit {
#define CMD_FLAG_BIT(name, text) CMD_FLAG_BIT_##name,
    CMD_FLAG_MAP(CMD_FLAG_BIT)
#undef CMD_FLAG_BIT
};
enum cmd_flag {
#define CMD_FLAG_ENUM(name, text) CMD_##name = 1 << CMD_FLAG_BIT_##name,
    CMD_FLAG_MAP(CMD_FLAG_ENUM)
#undef CMD_FLAG_ENUM
};

/* How a command's keys are found. KEYS_RANGE: argv[first], +step .. last (negative: from
 * the end). Others are named for their rule. */
enum cmd_keys {
    CMD_KEYS_NONE,
    CMD_KEYS_RANGE,
    CMD_KEYS_GEORADIUS, /* argv[1] and last STORE */
    CMD_KEYS_NUMKEYS    /* argv[key_first], if that is not 0 (a destination), and as many
                           words behind argv[numkeys] as that says */
};

/* One argument of a command, for COMMAND DOCS. A tree, ended by a NULL name. */
struct cmd_arg {
    const char *name;
    const char *type;  /* "key", "string", "integer", "double", "pure-token", "oneof",
                          "block" ... */
    const char *token; /* or NULL */
    unsigned flags;    /* CMD_ARG_* */
    const char *since; /* or NULL */
    const struct cmd_arg *args; /* of oneof and block */
};
enum { CMD_ARG_OPTIONAL = 1, CMD_ARG_MULTIPLE = 2, CMD_ARG_MULTIPLE_TOKEN = 4 };

/* One group of keys and what happens to them, for COMMAND INFO. A list, ended by NULL
 * flags. The keys start at argv[index], or, with a keyword, behind that word, searched
 * from argv[index] on; they go on to `last` (relative to the first; negative: from the
 * end). */
struct cmd_key_spec {
    const char *flags; /* "RO access" */
    int index;
    const char *keyword; /* or NULL */
    int last, step;
    const char *notes; /* or NULL */
    bool is_counted;   /* argv[index] is the number of the keys, which follow it */
};

/* Which arguments are members that the command will look up: argv[first], +step ..
 * argv[last] (0: to the end). The host may look them up ahead. step 0: none are known. */
struct cmd_members {
    uint8_t first, step, last;
};

struct cmd_spec {
    const char *name; /* lower case; "client|id" for a subcommand */
    cmd_fn run;       /* NULL for a container that only has subcommands */
    int arity;        /* exact, or minus the minimum; the name counts */
    unsigned flags;   /* enum cmd_flag */
    const char *acl;  /* categories: "@geo @read @slow" */
    enum cmd_keys keys;
    int key_first, key_last, key_step;
    uint8_t numkeys;            /* of CMD_KEYS_NUMKEYS: where the number is */
    struct cmd_members members; /* of the sorted set at argv[1] */
    const char *summary;
    const char *complexity;
    const char *group;          /* "geo", "sorted-set", "generic", "connection", "server",
                                   "string", "pubsub" */
    const char *since;          /* of the Redis version that brought it */
    const struct cmd_arg *args; /* or NULL */
    const struct cmd_spec *subcommands;   /* ended by a NULL name, or NULL */
    const struct cmd_key_spec *key_specs; /* or NULL */
    const char *tips; /* for clusters and proxies: "nondeterministic_output", or NULL */
    const char *deprecated_since; /* or NULL */
    const char *replaced_by;      /* of deprecated commands */
    const char *differs; /* how it differs from Redis, for docs/commands.md, or NULL */
};

/* The data commands, a table for each group. Ended by a NULL name. */
extern const struct cmd_spec cmd_geo_table[], cmd_zset_table[], cmd_string_table[],
    cmd_key_table[], cmd_command_table[];

/* Adds a table (ended by a NULL name; must live for ever) to the registry. Adding a table
 * again is no change. Returns false, and adds nothing, when there is no room or a name is
 * taken by another spec. Call it before any thread looks commands up. */
bool cmd_register(const struct cmd_spec *table);
/* Adds the tables of the data commands. */
bool cmd_register_data(void);
/* Finds a command, or a container's subcommand by name; any case. NULL: none. */
const struct cmd_spec *cmd_find(struct yn_bytes name);
const struct cmd_spec *cmd_find_sub(const struct cmd_spec *container,
                                    struct yn_bytes name);
/* Finds "name" or "container|name". */
const struct cmd_spec *cmd_find_full(struct yn_bytes name);
bool cmd_arity_is_ok(const struct cmd_spec *spec, size_t argc);
/* Walks all registered commands in registration order; i from 0. NULL after the last. */
const struct cmd_spec *cmd_at(size_t i);
/* Keys of a call: writes at most max argv indexes; returns how many there are: 0 when the
 * command has none, or its arguments are wrong. */
size_t cmd_keys_of(const struct cmd_spec *spec, size_t argc, const struct yn_bytes *argv,
                   size_t *out_index, size_t max);

/* The same with keys that are named in vain: destinations that a later one replaces. For
 * who decides whether the call may have them. */
size_t cmd_keys_named(const struct cmd_spec *spec, size_t argc,
                      const struct yn_bytes *argv, size_t *out_index, size_t max);
/* What the call does to the i-th of those keys: words of key specs ("RO access"). */
const char *cmd_key_flags_of(const struct cmd_spec *spec, size_t argc,
                             const struct yn_bytes *argv, size_t i);

/* Runs a request: finds, checks the arity, runs; replies the errors for unknown commands,
 * unknown subcommands and wrong arity. `call` has host, arena, argc, argv set, and spec
 * if the host has found the command already, else NULL. The host may instead find and
 * check by itself (cmd_lookup_or_reply) to put its own checks between. */
const struct cmd_spec *cmd_lookup_or_reply(struct cmd_call *call);
void cmd_run(struct cmd_call *call);
/* Answers that the number of arguments is wrong, for commands that find out by
 * themselves. */
void cmd_reply_wrong_arity(struct cmd_call *call);
/* Looks a key up for reading a sorted set. *out_set is NULL when there is no such key.
 * Returns false, and answers, when the key holds something else. */
bool cmd_read_zset_or_reply(struct cmd_call *call, struct yn_bytes key,
                            struct yn_zset **out_set);

/* Texts of errors that several commands give. */
#define CMD_ERR_WRONGTYPE \
    "WRONGTYPE Operation against a key holding the wrong kind of value"
#define CMD_ERR_SYNTAX "ERR syntax error"
#define CMD_ERR_FLOAT "ERR value is not a valid float"
#define CMD_ERR_INTEGER "ERR value is not an integer or out of range"
#define CMD_ERR_OOM "OOM command not allowed when used memory > 'maxmemory'."
#define CMD_ERR_NOMEM "ERR out of memory: the command was not executed"

#endif
