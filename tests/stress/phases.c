/*
 * phases.c: what a connection of the stress program does, phase by phase.
 *
 * Each phase leaves the connection as client_open made it, or closed. Bursts mix commands
 * of a kind: only reads (the server runs such a batch under the shared lock), only
 * writes, or both. The other phases are the states that a connection can be in. Two of
 * them check what must hold at every moment: the scores of "bank" add up to 0, the two
 * members of "pair" are at one place.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stress/client.h"

#define BURST_MAX 32

static void sleep_us(unsigned us)
{
    struct timespec time = {.tv_sec = us / 1000000,
                            .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&time, NULL);
}

static bool is_text(const struct yn_reply *reply, const char *text)
{
    return reply->text.len == strlen(text) &&
           memcmp(reply->text.data, text, reply->text.len) == 0;
}

/* Keeps the payload of a DUMP for everybody's RESTORE. */
static void keep_dump(struct client *client, const struct yn_reply *reply)
{
    struct shared_values *values = &client->stress->values;
    if (reply->type != YN_REPLY_BULK)
        return;
    pthread_mutex_lock(&values->dump_lock);
    yn_buf_reset(&values->dump, 0);
    yn_buf_append(&values->dump, reply->text.data, reply->text.len);
    pthread_mutex_unlock(&values->dump_lock);
}

/* ---- bursts ------------------------------------------------------------- */

static struct template *choose(struct client *client, enum section section)
{
    return catalogue_choose(&client->stress->catalogue, section, &client->random);
}

/* Takes the replies to templates that were queued. */
static bool take_replies(struct client *client, struct template *const *sent, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        client->command = sent[i]->text;
        struct yn_reply *reply = client_wait(client);
        if (reply == NULL)
            return false;
        client_check(client, sent[i]->text, sent[i]->kinds, reply);
        if (strncmp(sent[i]->text, "DUMP", 4) == 0)
            keep_dump(client, reply);
        yn_reply_free(reply);
    }
    return client->link.fd >= 0;
}

static bool burst(struct client *client, enum section one, enum section other,
                  unsigned max)
{
    struct template *sent[BURST_MAX];
    unsigned n = 1 + client_below(client, max);
    for (unsigned i = 0; i < n; i++) {
        sent[i] = choose(client, client_below(client, 2) == 0 ? one : other);
        client_queue_template(client, sent[i]);
    }
    return take_replies(client, sent, n);
}

static void read_phase(struct client *client)
{
    for (unsigned i = client_below(client, 20); i > 0; i--)
        if (!burst(client, SECTION_READ, SECTION_READ,
                   client_below(client, 2) == 0 ? 1 : BURST_MAX))
            return;
}

static void write_phase(struct client *client)
{
    for (unsigned i = client_below(client, 6); i > 0; i--)
        if (!burst(client, SECTION_WRITE, SECTION_WRITE, 10))
            return;
}

static void mixed_phase(struct client *client)
{
    for (unsigned i = client_below(client, 10); i > 0; i--)
        if (!burst(client, SECTION_READ, SECTION_WRITE, BURST_MAX))
            return;
}

static void server_phase(struct client *client)
{
    burst(client, SECTION_SERVER, SECTION_READ, 8);
}

static void session_phase(struct client *client)
{
    if (burst(client, SECTION_SESSION, SECTION_SESSION, 4) &&
        burst(client, SECTION_READ, SECTION_WRITE, 8) &&
        burst(client, SECTION_SESSION, SECTION_SERVER, 4))
        client_reset(client);
}

/* ---- transactions ------------------------------------------------------- */

/* EXEC's reply: as many as were queued, or null (a watched key has changed), or an error.
 */
static void check_exec(struct client *client, const struct yn_reply *reply, unsigned n)
{
    client_check(client, "EXEC", "an", reply);
    if (reply->type == YN_REPLY_ARRAY && reply->n_items != n)
        client_fail(client, "EXEC of %u commands has %zu replies", n, reply->n_items);
}

static void transaction_phase(struct client *client)
{
    if (client_below(client, 2) == 0 && !client_do(client, "WATCH {<any> }*4", "s"))
        return;
    if (client_below(client, 4) == 0 && !burst(client, SECTION_READ, SECTION_WRITE, 4))
        return;
    if (client_below(client, 6) == 0 && !client_do(client, "UNWATCH", "s"))
        return;
    unsigned n = client_below(client, 10);
    bool is_piped = client_below(client, 2) == 0;
    if (is_piped)
        client_queue(client, "MULTI");
    else if (!client_do(client, "MULTI", "s"))
        return;
    for (unsigned i = 0; i < n; i++) {
        static const enum section from[] = {SECTION_READ, SECTION_WRITE, SECTION_WRITE,
                                            SECTION_BLOCK, SECTION_BIG};
        unsigned kind = client_below(client, 20);
        client_queue_template(client, choose(client, from[kind < 5 ? kind : kind % 3]));
    }
    client_queue(client, client_below(client, 8) == 0 ? "DISCARD" : "EXEC");
    unsigned n_queued = 0;
    struct yn_reply *reply = NULL;
    for (unsigned i = is_piped ? 0 : 1; i < n + 2; i++) {
        yn_reply_free(reply);
        reply = client_wait(client);
        if (reply == NULL)
            return;
        n_queued += reply->type == YN_REPLY_STATUS && is_text(reply, "QUEUED");
    }
    if (reply->type != YN_REPLY_STATUS) /* OK of DISCARD */
        check_exec(client, reply, n_queued);
    yn_reply_free(reply);
}

static bool exec(struct client *client, const char *const *commands, unsigned n,
                 struct yn_reply **out_reply)
{
    client_queue(client, "MULTI");
    for (unsigned i = 0; i < n; i++)
        client_queue(client, commands[i]);
    client_queue(client, "EXEC");
    *out_reply = NULL;
    for (unsigned i = 0; i < n + 2; i++) {
        yn_reply_free(*out_reply);
        *out_reply = client_wait(client);
        if (*out_reply == NULL)
            return false;
    }
    check_exec(client, *out_reply, n);
    return true;
}

static double number_of(const struct yn_reply *reply)
{
    if (reply->type == YN_REPLY_DOUBLE)
        return reply->number;
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)reply->text.len, reply->text.data);
    return reply->type == YN_REPLY_BULK ? strtod(text, NULL) : 0;
}

/* Money goes from one member of "bank" to another; what is there is 0 in all. */
static void bank_phase(struct client *client)
{
    client->command = "bank";
    struct yn_reply *reply;
    if (client_below(client, 2) == 0) {
        char take[64], give[64];
        int amount = 1 + (int)client_below(client, 100);
        snprintf(take, sizeof take, "ZINCRBY bank %d %c", -amount,
                 'a' + (int)client_below(client, 4));
        snprintf(give, sizeof give, "ZINCRBY bank %d %c", amount,
                 'a' + (int)client_below(client, 4));
        const char *commands[] = {"ZADD bank NX 0 a 0 b 0 c 0 d", take, give};
        if (exec(client, commands, 3, &reply))
            yn_reply_free(reply);
        return;
    }
    for (unsigned k = client_below(client, 20); k > 0; k--) {
        reply = client_ask(client, "ZMSCORE bank a b c d", "a");
        if (reply == NULL)
            return;
        double sum = 0;
        for (size_t i = 0; i < reply->n_items; i++)
            sum += number_of(reply->items[i]);
        if (sum != 0) /* whole numbers */
            client_fail(client, "half a transaction was seen: the sum is %g", sum);
        yn_reply_free(reply);
    }
}

static bool is_same(const struct yn_reply *a, const struct yn_reply *b)
{
    if (a->type != b->type || a->n_items != b->n_items || a->text.len != b->text.len)
        return false;
    for (size_t i = 0; i < a->n_items; i++)
        if (!is_same(a->items[i], b->items[i]))
            return false;
    return a->text.len == 0 || memcmp(a->text.data, b->text.data, a->text.len) == 0;
}

static void move_pair(struct client *client)
{
    char both[128], one[64], other[64];
    int lon = (int)client_below(client, 100), lat = (int)client_below(client, 80);
    snprintf(both, sizeof both, "GEOADD pair %d %d a %d %d b", lon, lat, lon, lat);
    snprintf(one, sizeof one, "GEOADD pair %d %d a", lon, lat);
    snprintf(other, sizeof other, "GEOADD pair %d %d b", lon, lat);
    const char *commands[] = {one, other};
    struct yn_reply *reply;
    if (client_below(client, 2) == 0)
        client_do(client, both, "i");
    else if (exec(client, commands, 2, &reply))
        yn_reply_free(reply);
}

/* Both members of "pair" move together, in one GEOADD or in a transaction. */
static void pair_phase(struct client *client)
{
    static const char search[] =
        "GEOSEARCH pair FROMLONLAT 50 40 BYRADIUS 20000 km [ASC] WITHCOORD";
    client->command = "pair";
    if (client_below(client, 3) == 0) {
        move_pair(client);
        return;
    }
    bool by_search = client_below(client, 2) == 0;
    const char *text = by_search ? search : "GEOPOS pair a b";
    for (unsigned k = client_below(client, 20); k > 0; k--) {
        struct yn_reply *reply = client_ask(client, text, "a");
        if (reply == NULL)
            return;
        if (reply->type == YN_REPLY_ARRAY && reply->n_items != 0) {
            bool is_whole = reply->n_items == 2;
            if (is_whole && by_search)
                is_whole = is_same(reply->items[0]->items[1], reply->items[1]->items[1]);
            else if (is_whole)
                is_whole = is_same(reply->items[0], reply->items[1]);
            if (!is_whole)
                client_fail(client, "half a change was seen");
        }
        yn_reply_free(reply);
    }
}

/* ---- states of a connection --------------------------------------------- */

static void block_phase(struct client *client)
{
    struct template *sent[4];
    unsigned n = 1 + client_below(client, 3);
    for (unsigned i = 0; i < n; i++) {
        sent[i] =
            choose(client, client_below(client, 4) == 0 ? SECTION_READ : SECTION_BLOCK);
        client_queue_template(client, sent[i]);
    }
    if (client_below(client, 10) == 0) { /* gone while it waits */
        client_flush(client);
        sleep_us(client_below(client, 20000));
        cli_link_close(&client->link);
        return;
    }
    take_replies(client, sent, n);
}

/* Reads whatever comes for a while. */
static bool listen_for(struct client *client, unsigned ms)
{
    while (ms > 0) {
        unsigned step_ms = ms < 10 ? ms : 10;
        for (;;) {
            struct yn_reply *reply = client_read(client, 0);
            if (reply == NULL)
                break;
            yn_reply_free(reply);
        }
        if (client->link.fd < 0)
            return false;
        sleep_us(step_ms * 1000);
        ms -= step_ms;
    }
    return client_flush(client);
}

static void subscribe_phase(struct client *client)
{
    static const char *const commands[] = {
        "SUBSCRIBE {<chan> }*3",   "PSUBSCRIBE {c*|__key*__:*|?1|__keyspace@0__:z*}",
        "SSUBSCRIBE {<schan> }*2", "SUBSCRIBE __redis__:invalidate",
        "UNSUBSCRIBE [<chan>]",    "PUNSUBSCRIBE [c*]",
        "SUNSUBSCRIBE [<schan>]",  "PING",
    };
    for (unsigned i = 1 + client_below(client, 5); i > 0; i--)
        client_queue(client, commands[client_below(client, 8)]);
    if (client_below(client, 12) == 0 && client_flush(client)) { /* does not read */
        sleep_us(client_below(client, 50000));
        cli_link_close(&client->link);
        return;
    }
    if (listen_for(client, client_below(client, 50)))
        client_reset(client);
}

static void monitor_phase(struct client *client)
{
    if (client_do(client, "MONITOR", "s") && listen_for(client, client_below(client, 30)))
        client_reset(client);
}

static void tracking_phase(struct client *client)
{
    static const char *const modes[] = {
        "CLIENT TRACKING ON [NOLOOP]",
        "CLIENT TRACKING ON BCAST [PREFIX z PREFIX s]",
        "CLIENT TRACKING ON OPTIN",
        "CLIENT TRACKING ON OPTOUT",
        "CLIENT TRACKING ON REDIRECT <client>",
        "CLIENT TRACKING ON BCAST PREFIX z REDIRECT <client>",
    };
    unsigned mode = client_below(client, 6);
    if (!client_do(client, modes[mode], "se"))
        return;
    for (unsigned i = client_below(client, 10); i > 0; i--) {
        if ((mode == 2 || mode == 3) && client_below(client, 2) == 0 &&
            !client_do(client, mode == 2 ? "CLIENT CACHING YES" : "CLIENT CACHING NO",
                       "se"))
            return;
        if (!burst(client, SECTION_READ,
                   client_below(client, 4) == 0 ? SECTION_WRITE : SECTION_READ, 6))
            return;
        sleep_us(client_below(client, 3000));
    }
    if (client_below(client, 2) == 0)
        client_do(client, "CLIENT TRACKING OFF", "s");
    client_reset(client);
}

/* CLIENT REPLY ON answers, so that it is known where replies begin again. */
static void silent_phase(struct client *client)
{
    if (client_below(client, 2) == 0) {
        client_queue(client, "CLIENT REPLY SKIP");
        client_queue_template(client, choose(client, SECTION_WRITE));
        client_do(client, "ECHO after", "b");
        return;
    }
    client_queue(client, "CLIENT REPLY OFF");
    for (unsigned i = client_below(client, 20); i > 0; i--)
        client_queue_template(
            client,
            choose(client, client_below(client, 2) == 0 ? SECTION_READ : SECTION_WRITE));
    client_do(client, "CLIENT REPLY ON", "s");
}

static void pause_phase(struct client *client)
{
    static const char *const commands[] = {"CLIENT PAUSE 15 WRITE", "CLIENT PAUSE 5",
                                           "CLIENT PAUSE 10 ALL"};
    if (client_do(client, commands[client_below(client, 3)], "s") &&
        client_below(client, 2) == 0 && client_do(client, "CLIENT LIST", "b"))
        client_do(client, "CLIENT UNPAUSE", "s");
}

static void memory_phase(struct client *client)
{
    if (client_do(client, "CONFIG SET maxmemory 1mb", "s") &&
        burst(client, SECTION_WRITE, SECTION_READ, 10))
        client_do(client, "CONFIG SET maxmemory 0", "s");
}

static void kill_phase(struct client *client)
{
    static const char *const commands[] = {
        "CLIENT KILL ID <client>",
        "CLIENT KILL ID <client>",
        "CLIENT KILL ID <client> SKIPME no",
        "CLIENT KILL TYPE pubsub",
        "CLIENT KILL USER <user>",
        "CLIENT KILL ADDR 127.0.0.1:1",
        "CLIENT KILL MAXAGE 100",
        "CLIENT KILL TYPE normal",
    };
    client_do(client,
              commands[client_below(client, client_below(client, 10) == 0 ? 8 : 7)],
              "ie");
}

static void user_phase(struct client *client)
{
    if (!client_do(client, "ACL SETUSER <user> reset on >pass ~* &* +@all", "s"))
        return;
    client_do(client, "AUTH <user> pass", "se");
    if (burst(client, SECTION_READ, SECTION_WRITE, 10))
        client_reset(client);
}

static void flush_phase(struct client *client)
{
    static const char *const commands[] = {"FLUSHDB",       "FLUSHDB ASYNC",
                                           "FLUSHDB SYNC",  "FLUSHALL ASYNC",
                                           "FLUSHALL SYNC", "FLUSHALL"};
    client_do(client, commands[client_below(client, 6)], "s");
}

/* ---- large replies ------------------------------------------------------ */

static bool fill_big(struct client *client)
{
    size_t n = client->stress->n_big / 60;
    for (size_t i = 0; i < n; i++) {
        char command[4096], *at = command;
        at += sprintf(at, "GEOADD big");
        for (int k = 0; k < 60; k++)
            at += sprintf(
                at, " %d.%04u %d.%04u place%zu", (int)client_below(client, 358) - 179,
                client_below(client, 10000), (int)client_below(client, 168) - 84,
                client_below(client, 10000), i * 60 + (size_t)k);
        client_queue(client, command);
    }
    for (size_t i = 0; i < n; i++) {
        struct yn_reply *reply = client_wait(client);
        if (reply == NULL)
            return false;
        client_check(client, "GEOADD big", "i", reply);
        yn_reply_free(reply);
    }
    return true;
}

/* Searches of the large set, whose replies are read at once, slowly, in part, or not at
 * all. */
static void big_phase(struct client *client)
{
    struct yn_reply *reply = client_ask(client, "ZCARD big", "i");
    bool is_small = reply == NULL || (size_t)reply->integer < client->stress->n_big / 2;
    yn_reply_free(reply);
    if (client->link.fd < 0 || (is_small && !fill_big(client)))
        return;
    unsigned way = client_below(client, 5);
    if (way < 2) {
        /* So that the server meets a full socket soon. With less than the loopback's
         * segments of 64 KB the kernel would send by its timers. */
        int small = 200000;
        setsockopt(client->link.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    }
    struct template *sent[BURST_MAX];
    unsigned n = 1 + client_below(client, 4);
    for (unsigned i = 0; i < n; i++) {
        sent[i] =
            choose(client, client_below(client, 4) == 0 ? SECTION_READ : SECTION_BIG);
        client_queue_template(client, sent[i]);
    }
    if (way < 2 && client_flush(client)) {
        sleep_us(client_below(client, 100000));
        for (unsigned i = client_below(client, 20); i > 0 && client_pump(client, 1); i--)
            sleep_us(client_below(client, 5000));
    }
    if (way == 0) {
        cli_link_close(&client->link);
        return;
    }
    if (take_replies(client, sent, n) && way < 2)
        cli_link_close(&client->link); /* the next one has a socket of the usual size */
}

/* ---- connections and their ends ----------------------------------------- */

static void send_raw(struct client *client, const char *bytes, size_t len)
{
    /* the connection may be gone already, which is as good */
    ssize_t n = send(client->link.fd, bytes, len, MSG_NOSIGNAL);
    (void)n;
}

static void broken_phase(struct client *client)
{
    static const char *const pieces[] = {
        "*3\r\n$6\r\nGEOADD\r\n$1\r\n",
        "*1\r\n$-5\r\n",
        "*2\r\n$3\r\nGET\r\n$99999999999\r\n",
        "PING\r\n\"unbalanced\r\n",
        "*x\r\n",
        "*1\r\n+OK\r\n",
        "SET inline 1\r\nGET inline\r\n",
    };
    const char *piece = pieces[client_below(client, 7)];
    send_raw(client, piece, strlen(piece));
    if (client_below(client, 2) == 0)
        listen_for(client, client_below(client, 5));
    cli_link_close(&client->link);
}

static void churn_phase(struct client *client)
{
    for (unsigned i = client_below(client, 20); i > 0; i--) {
        if (client_below(client, 2) == 0 && client->link.fd >= 0) {
            client_queue_template(client, choose(client, SECTION_READ));
            client_flush(client);
        }
        if (client_below(client, 3) == 0 && client->link.fd >= 0) { /* a reset */
            struct linger linger = {.l_onoff = 1};
            setsockopt(client->link.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        }
        if (!client_open(client))
            return;
    }
    if (client_below(client, 3) == 0) {
        client_do(client, "QUIT", "s");
        cli_link_close(&client->link);
    }
}

/* ---- the choice --------------------------------------------------------- */

static const struct phase {
    const char *name;
    void (*run)(struct client *client);
    unsigned weight;
} phases[] = {
    {"read", read_phase, 300},      {"write", write_phase, 150},
    {"mixed", mixed_phase, 150},    {"server", server_phase, 150},
    {"session", session_phase, 40}, {"transaction", transaction_phase, 150},
    {"bank", bank_phase, 80},       {"pair", pair_phase, 80},
    {"block", block_phase, 100},    {"subscribe", subscribe_phase, 50},
    {"monitor", monitor_phase, 10}, {"tracking", tracking_phase, 50},
    {"silent", silent_phase, 40},   {"pause", pause_phase, 6},
    {"memory", memory_phase, 6},    {"kill", kill_phase, 30},
    {"user", user_phase, 30},       {"flush", flush_phase, 6},
    {"big", big_phase, 40},         {"broken", broken_phase, 20},
    {"churn", churn_phase, 20},
};

void phase_run(struct client *client)
{
    unsigned sum = 0;
    size_t n = sizeof phases / sizeof *phases;
    for (size_t i = 0; i < n; i++)
        sum += phases[i].weight;
    unsigned at = client_below(client, sum);
    const struct phase *phase = phases;
    while (at >= phase->weight)
        at -= (phase++)->weight;
    client->phase = phase->name;
    phase->run(client);
    if (client->link.fd < 0)
        atomic_fetch_add_explicit(&client->n_lost, 1, memory_order_relaxed);
}
