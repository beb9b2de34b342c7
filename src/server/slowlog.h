/*
 * slowlog.h: the commands that took longest to run, the latest first.
 *
 * The log keeps copies, cut to what an operator needs to recognise a command, and at most
 * `slowlog-max-len` of them. The time of a command is the time for which it kept
 * others waiting: of a reply that is made in pieces, up to its first piece. Of a command
 * whose work was done beside the loops it is the time of that work, which kept nobody.
 */
#ifndef SLOWLOG_H
#define SLOWLOG_H

#include "cmd/cmd.h"
#include "server/list.h"

/* So many arguments are kept, the last of which says how many are left out; and so many
 * bytes of each. */
#define SLOWLOG_ARGS_MAX 32
#define SLOWLOG_ARG_LEN_MAX 128

struct slowlog {
    struct link entries; /* the latest first */
    size_t n;
    uint64_t next_id;
};

/* A command that has run. Everything is borrowed. */
struct slowlog_call {
    size_t argc;
    const struct yn_bytes *argv;
    const bool *is_secret; /* for each of the first SLOWLOG_ARGS_MAX arguments */
    const char *address, *client_name;
    int64_t time_s; /* since 1970 */
    uint64_t duration_us;
};

void slowlog_init(struct slowlog *log);
void slowlog_clear(struct slowlog *log);
/* Forgets all entries; numbers go on. */
void slowlog_reset(struct slowlog *log);
/* Adds an entry and drops the oldest ones beyond max_len. Without memory there is none.
 */
void slowlog_add(struct slowlog *log, const struct slowlog_call *call, size_t max_len);

#endif
