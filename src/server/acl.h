/*
 * acl.h: users: who they are, and what they may do.
 *
 * A user has a name, passwords (as SHA-256), and selectors (acl_selector.h): the first is
 * the user's own, the others came in parentheses. There is always a user "default", whom
 * connections belong to that have not logged in. Rules are applied to a copy, which takes
 * the user's place when all were right, so that a user is changed as a whole or not at
 * all; the address of a user stays the same until it is deleted.
 *
 * Plain data: nothing here knows connections (acl_conns.h does) or files (acl_file.h).
 */
#ifndef ACL_H
#define ACL_H

#include "server/acl_selector.h"
#include "server/digest.h"

struct acl_user {
    char *name;
    bool is_on;
    bool is_nopass; /* any password is right */
    bool skips_sanitizing;
    bool may_all; /* whatever a command touches */
    char (*passwords)[DIGEST_LEN + 1];
    size_t n_passwords;
    struct acl_selector *selectors;
    size_t n_selectors;
};

struct acl {
    struct acl_user **users; /* sorted by name */
    size_t n_users;
    struct acl_user *default_user;
    bool new_all_channels;    /* acl-pubsub-default: of users and selectors to be */
    const char *rule_subject; /* what errors call a rule: "ACL SETUSER modifier" */
};

#define ACL_ERROR_MAX 1024

/* Makes the user "default", who needs no password and may do everything. Returns false
 * when out of memory. */
bool acl_init(struct acl *acl);
void acl_clear(struct acl *acl);

/* NULL: there is none. */
struct acl_user *acl_find(const struct acl *acl, struct yn_bytes name);
/* Gives the default user this password and no other one; "" is none at all. Returns
 * false, and changes nothing, when out of memory. */
bool acl_set_default_password(struct acl *acl, struct yn_bytes password);
bool acl_name_is_valid(struct yn_bytes name);

/*
 * Applies rules to a user, who is made if there is none. On failure nothing is changed,
 * and error (ACL_ERROR_MAX bytes) says why: "Error in ACL SETUSER modifier '...': ...".
 * With out_before the user from before is left there, to be freed (NULL: was none).
 */
bool acl_set_user(struct acl *acl, struct yn_bytes name, size_t n_rules,
                  const struct yn_bytes *rules, struct acl_user **out_before,
                  char *error);
/* Takes the user out; the caller frees it. NULL: there is none. */
struct acl_user *acl_remove(struct acl *acl, struct yn_bytes name);
void acl_user_free(struct acl_user *user);

/* Appends "user NAME on #... ~* &* +@all". */
void acl_user_format(const struct acl_user *user, struct yn_buf *out);

/* Whether the user is on and the password one of its own. `user` may be NULL: as long as
 * it takes for one who exists, the answer is no. */
bool acl_user_may_login(const struct acl_user *user, struct yn_bytes password);

/* ---- checks ---- */

enum acl_reason {
    ACL_OK,
    ACL_DENIED_COMMAND,
    ACL_DENIED_KEY,
    ACL_DENIED_LOGIN,
    ACL_DENIED_CHANNEL,
    ACL_FAILED, /* out of memory */
};

struct acl_denial {
    enum acl_reason reason;
    size_t index; /* of the key or the channel among the arguments */
};

/* Whether the user may run the command; if not, *out says what is in the way, of several
 * selectors the one that got farthest. */
bool acl_check(const struct acl_user *user, const struct cmd_spec *spec, size_t argc,
               const struct yn_bytes *argv, struct cmd_arena *arena,
               struct acl_denial *out);
/* Whether any selector of the user allows the channel, or the pattern. */
bool acl_user_allows_channel(const struct acl_user *user, struct yn_bytes channel,
                             bool is_pattern);

#endif
