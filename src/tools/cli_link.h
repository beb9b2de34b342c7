/*
 * cli_link.h: a connection to a server, for programs that may wait.
 *
 * Requests are queued and written when the link is pumped; replies are parsed as they
 * come. Pumping reads and writes at the same time, so that any number of requests may be
 * queued before the first reply is taken: neither side can block the other for ever.
 * Failures leave a text in `error` and close the link.
 */
#ifndef CLI_LINK_H
#define CLI_LINK_H

#include "resp/reply.h"
#include "tools/cli_options.h"

struct cli_link {
    int fd;              /* -1: closed */
    struct cli_tls *tls; /* NULL: plain text */
    struct yn_reply_parser *parser;
    struct yn_buf out; /* requests not yet written */
    size_t n_pending;  /* replies that are owed */
    bool was_lost;     /* the server closed the connection */
    char error[512];
};

void cli_link_init(struct cli_link *link);
/* Closes the link; it may be opened again. */
void cli_link_close(struct cli_link *link);

/* Connects, and authenticates, selects the database and RESP3 as the options say. */
bool cli_link_open(struct cli_link *link, const struct cli_options *options);

/* recv and send over the link, with TLS or without, for programs that parse by
 * themselves. */
ssize_t cli_link_recv(struct cli_link *link, void *out, size_t len);
ssize_t cli_link_send(struct cli_link *link, const void *data, size_t len);

/* Queues a request; nothing is written yet. Returns false when out of memory. */
bool cli_link_queue(struct cli_link *link, size_t argc, const struct yn_bytes *argv);

/* Waits until bytes can be moved and moves them: requests out, replies in. */
bool cli_link_pump(struct cli_link *link);

/* Takes the next reply if it is there; *out_reply is NULL when not. The caller frees it.
 */
bool cli_link_poll(struct cli_link *link, struct yn_reply **out_reply);

/* Pumps until the next reply is there. Returns NULL on failure. The caller frees it. */
struct yn_reply *cli_link_wait(struct cli_link *link);

#endif
