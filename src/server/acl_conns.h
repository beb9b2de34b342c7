/*
 * acl_conns.h: users and connections: whose a connection is, and what it may do.
 *
 * Every connection has a user, and a flag that says that nothing needs to be checked
 * (conn->may_all): it has logged in, or need not, and the user may do everything. The
 * flag is all that most commands pay. Whoever changes users calls the functions here,
 * which keep it true for all connections.
 */
#ifndef ACL_CONNS_H
#define ACL_CONNS_H

#include "server/acl.h"
#include "server/conn.h"

struct server;

/* Makes the connection the default user's, logged in if that takes no password. */
void acl_conn_begin(struct conn *conn);
/* Makes it this user's. */
void acl_conn_login(struct conn *conn, struct acl_user *user);
/* Whether it has to log in before anything else. */
bool acl_conn_must_login(const struct conn *conn);

#define ACL_REFUSAL_MAX 512

/* Checks a command of a connection whose may_all is false and that need not log in.
 * Returns NULL, or the error to answer with; then it is counted and logged. text:
 * ACL_REFUSAL_MAX bytes, in which the error may be. */
const char *acl_conn_refusal(struct conn *conn, const struct cmd_call *call, char *text);
/* The same for a command of a transaction that EXEC runs. */
const char *acl_conn_exec_refusal(struct conn *conn, const struct cmd_call *call,
                                  char *text);
/* Counts and logs a login that was refused. */
void acl_conn_note_login(struct conn *conn, struct yn_bytes word, struct yn_bytes user);

/* After the rules of a user were changed (`before`: what it was, NULL: it was made):
 * connections that listen to what they may not any more are closed. The caller's own
 * connection is closed after its reply. */
void acl_conns_user_changed(struct cmd_call *call, const struct acl_user *before,
                            const struct acl_user *user);
/* A user that is not in the table any more: closes its connections, and frees it. */
void acl_conns_drop_user(struct cmd_call *call, struct acl_user *user);
/* Puts other users in the place of all that there are. */
void acl_conns_replace(struct cmd_call *call, struct acl *users);
/* After the password of the default user was changed. */
void acl_conns_refresh(struct server *server);

#endif
