/*
 * acl_selector.h: one set of rights: which commands, with which keys, on which channels.
 *
 * A user has one and may have more of them (acl.h); a command may run when one allows all
 * that it needs. Commands are a bit each, subcommands too, numbered in the order of
 * registration; the words that set the bits are kept for ACL LIST. Plain data: nothing
 * here knows connections.
 *
 * acl_commands_init must have been called, after all commands were registered.
 */
#ifndef ACL_SELECTOR_H
#define ACL_SELECTOR_H

#include "cmd/cmd.h"
#include "core/buf.h"

#define ACL_COMMANDS_MAX 1024

/* ---- numbers of commands, and categories ---- */

/* Numbers all registered commands and their subcommands. */
void acl_commands_init(void);
size_t acl_n_commands(void);
const struct cmd_spec *acl_command_at(size_t i);

/* Names of categories without '@'; NULL after the last. */
const char *acl_category_at(size_t i);
bool acl_category_exists(struct yn_bytes name);
bool acl_is_in_category(const struct cmd_spec *spec, struct yn_bytes name);

/* ---- rights ---- */

enum { ACL_READ = 1, ACL_WRITE = 2, ACL_READ_WRITE = 3 };

struct acl_pattern {
    struct yn_bytes text; /* owned */
    unsigned access;      /* of keys: ACL_READ, ACL_WRITE or both */
};

struct acl_patterns {
    struct acl_pattern *list;
    size_t n;
    bool all; /* everything matches, and there is no list */
};

/* A command that is allowed with this first argument. */
struct acl_first_arg {
    const struct cmd_spec *spec;
    struct yn_bytes text; /* owned */
};

struct acl_selector {
    uint64_t commands[ACL_COMMANDS_MAX / 64];
    bool all_commands; /* also those that are in no table yet */
    bool begins_with_all;
    struct yn_buf rules; /* "+get -@read": what came after +@all or -@all */
    struct acl_patterns keys, channels;
    struct acl_first_arg *first_args;
    size_t n_first_args;
};

/* No right at all, but for all channels if that is said. */
void acl_selector_init(struct acl_selector *s, bool all_channels);
void acl_selector_clear(struct acl_selector *s);
/* Returns false, and leaves *to empty, when out of memory. */
bool acl_selector_copy(struct acl_selector *to, const struct acl_selector *from);

/* What is wrong with a rule, in Redis's words. */
#define ACL_ERR_UNKNOWN "Unknown command or category name in ACL"
#define ACL_ERR_SYNTAX "Syntax error"
#define ACL_ERR_NOMEM "out of memory"

/* Applies one rule: commands, keys or channels. Returns NULL, or what is wrong; then the
 * selector is as before, but not when out of memory. */
const char *acl_selector_apply(struct acl_selector *s, struct yn_bytes rule);

/* Append the rights as rules: "~* resetchannels -@all +get", and their parts. */
void acl_selector_format(const struct acl_selector *s, struct yn_buf *out);
void acl_selector_format_commands(const struct acl_selector *s, struct yn_buf *out);
void acl_selector_format_keys(const struct acl_selector *s, struct yn_buf *out);
void acl_selector_format_channels(const struct acl_selector *s, struct yn_buf *out);

/* Whether everything is allowed. */
bool acl_selector_may_all(const struct acl_selector *s);

bool acl_selector_allows_command(const struct acl_selector *s,
                                 const struct cmd_spec *spec, size_t argc,
                                 const struct yn_bytes *argv);
/* access: what is done to the key; 0: neither its value is told nor changed. */
bool acl_selector_allows_key(const struct acl_selector *s, struct yn_bytes key,
                             unsigned access);
/* A pattern is allowed if it is one of the selector's, letter for letter. */
bool acl_selector_allows_channel(const struct acl_selector *s, struct yn_bytes channel,
                                 bool is_pattern);

#endif
