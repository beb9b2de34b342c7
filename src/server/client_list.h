/* client_list.h: the line that CLIENT LIST and CLIENT INFO show for a connection. */
#ifndef CLIENT_LIST_H
#define CLIENT_LIST_H

#include "server/conn.h"

/* Appends "id=3 addr=127.0.0.1:48942 ..." and a line feed. */
void client_list_append(const struct conn *conn, struct yn_buf *out);

enum client_list_type {
    CLIENT_LIST_NORMAL,
    CLIENT_LIST_MASTER,
    CLIENT_LIST_REPLICA,
    CLIENT_LIST_PUBSUB,
};
/* Parses "normal", "master", "replica" or "slave", "pubsub", any case. */
bool client_list_parse_type(struct yn_bytes text, enum client_list_type *out_type);
bool client_list_is_type(const struct conn *conn, enum client_list_type type);

#endif
