/*
 * client.h: one connection of the stress program, and the thread that drives it.
 *
 * A connection may be lost at any time (others send CLIENT KILL); then functions return
 * NULL or false, the phase ends, and client_run opens another one. What must never happen
 * (a reply of a wrong kind, broken protocol, no reply for long) goes to client_fail,
 * which ends the program.
 */
#ifndef STRESS_CLIENT_H
#define STRESS_CLIENT_H

#include "stress/words.h"
#include "tools/cli_link.h"

struct stress {
    const char *socket_path; /* or NULL */
    int port;                /* or 0 */
    uint64_t seed;
    int patience_s; /* a reply that takes longer is a failure */
    size_t n_big;   /* members of the large set */
    struct catalogue catalogue;
    struct shared_values values;
    _Atomic bool is_over, has_failed;
};

struct client {
    struct stress *stress;
    int number;
    pthread_t thread;
    struct cli_link link;
    uint64_t random;
    bool resp3;
    int db;
    struct words words;
    const char *phase, *command; /* what it does, for failures */
    _Atomic uint64_t n_commands, n_pushes, n_lost;
};

void client_init(struct client *client, struct stress *stress, int number);
void client_clear(struct client *client);

/* The thread: phases until stress->is_over. ctx: struct client. */
void *client_run(void *ctx);

/* Opens the connection anew, with RESP2 or RESP3 and a database by chance. */
bool client_open(struct client *client);
/* Back to the state after client_open, whatever the connection is in: subscribed,
 * watching, inside MULTI. */
bool client_reset(struct client *client);

/* Queues a command; nothing is sent before a reply is waited for, or client_flush. */
void client_queue(struct client *client, const char *text);
void client_queue_template(struct client *client, struct template *template);
bool client_flush(struct client *client);

/* Moves bytes if some can be moved within so many milliseconds. False: lost. */
bool client_pump(struct client *client, int timeout_ms);

/* The next reply, pushes left out. NULL: connection lost (or the program has failed). The
 * caller frees it. */
struct yn_reply *client_wait(struct client *client);
/* The next reply or push within so many milliseconds. NULL: lost, or nothing came. */
struct yn_reply *client_read(struct client *client, int timeout_ms);

/* Sends one command and takes its reply, which must be of one of the kinds. NULL: lost.
 */
struct yn_reply *client_ask(struct client *client, const char *text, const char *kinds);
/* The same without a look at the reply. False: lost. */
bool client_do(struct client *client, const char *text, const char *kinds);

/* Fails unless a reply is of one of the kinds, or an error that others may have caused.
 */
void client_check(struct client *client, const char *text, const char *kinds,
                  const struct yn_reply *reply);

/* Tells what is wrong and ends the program. */
__attribute__((format(printf, 2, 3))) void client_fail(struct client *client,
                                                       const char *format, ...);

unsigned client_below(struct client *client, unsigned n);

/* One phase, chosen by chance (phases.c). */
void phase_run(struct client *client);

#endif
