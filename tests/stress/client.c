#include "stress/client.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define POLL_STEP_MS 100

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void client_init(struct client *client, struct stress *stress, int number)
{
    memset(client, 0, sizeof *client);
    client->stress = stress;
    client->number = number;
    client->random = stress->seed * 1000 + (uint64_t)number;
    client->phase = client->command = "";
    cli_link_init(&client->link);
    words_init(&client->words);
}

void client_clear(struct client *client)
{
    cli_link_close(&client->link);
    words_clear(&client->words);
}

unsigned client_below(struct client *client, unsigned n)
{
    return (unsigned)random_below(&client->random, n);
}

void client_fail(struct client *client, const char *format, ...)
{
    if (!atomic_exchange(&client->stress->has_failed, true)) {
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        fprintf(stderr,
                "stress: client %d, phase \"%s\", command \"%s\": %s (seed %llu)\n",
                client->number, client->phase, client->command, text,
                (unsigned long long)client->stress->seed);
    }
    atomic_store(&client->stress->is_over, true);
    cli_link_close(&client->link);
}

/* ---- requests and replies ----------------------------------------------- */

void client_queue(struct client *client, const char *text)
{
    words_fill(&client->words, text, &client->stress->values, &client->random);
    if (client->link.fd >= 0 &&
        !cli_link_queue(&client->link, client->words.n, client->words.argv))
        client_fail(client, "%s", client->link.error);
    atomic_fetch_add_explicit(&client->n_commands, 1, memory_order_relaxed);
}

void client_queue_template(struct client *client, struct template *template)
{
    atomic_fetch_add_explicit(&template->n_sent, 1, memory_order_relaxed);
    client_queue(client, template->text);
}

bool client_pump(struct client *client, int timeout_ms)
{
    struct pollfd wait = {.fd = client->link.fd, .events = POLLIN};
    if (client->link.fd < 0)
        return false;
    if (client->link.out.len > 0)
        wait.events |= POLLOUT;
    if (poll(&wait, 1, timeout_ms) <= 0)
        return true;
    if (cli_link_pump(&client->link))
        return true;
    if (!client->link.was_lost)
        client_fail(client, "%s", client->link.error);
    return false;
}

bool client_flush(struct client *client)
{
    int64_t end_ms = now_ms() + client->stress->patience_s * 1000;
    while (client->link.out.len > 0) {
        if (!client_pump(client, POLL_STEP_MS))
            return false;
        if (now_ms() > end_ms)
            client_fail(client, "the server does not read");
    }
    return client->link.fd >= 0;
}

struct yn_reply *client_read(struct client *client, int timeout_ms)
{
    int64_t end_ms = now_ms() + timeout_ms;
    struct yn_reply *reply = NULL;
    while (client->link.fd >= 0) {
        if (!cli_link_poll(&client->link, &reply)) {
            client_fail(client, "%s", client->link.error);
            return NULL;
        }
        if (reply != NULL)
            break;
        int64_t left_ms = end_ms - now_ms();
        if (left_ms < 0)
            break;
        if (!client_pump(client, (int)(left_ms < POLL_STEP_MS ? left_ms : POLL_STEP_MS)))
            break;
    }
    if (reply != NULL && reply->type == YN_REPLY_PUSH)
        atomic_fetch_add_explicit(&client->n_pushes, 1, memory_order_relaxed);
    return reply;
}

struct yn_reply *client_wait(struct client *client)
{
    for (;;) {
        struct yn_reply *reply = client_read(client, client->stress->patience_s * 1000);
        if (reply == NULL) {
            if (client->link.fd >= 0)
                client_fail(client, "no reply for %d s", client->stress->patience_s);
            return NULL;
        }
        if (reply->type != YN_REPLY_PUSH)
            return reply;
        yn_reply_free(reply);
    }
}

/* ---- checks ------------------------------------------------------------- */

/* Errors that need nobody's mistake: the key was of another kind, memory was low, the
 * user had not the right, somebody ended the waiting. */
static bool is_circumstance(const struct yn_reply *reply)
{
    static const char *const beginnings[] = {
        "WRONGTYPE ",
        "OOM ",
        "NOPERM ",
        "UNBLOCKED ",
        "BUSYKEY ",
        "EXECABORT ",
        "ERR no such key",
        "ERR value is not an integer",
        "ERR value is not a valid float",
        "ERR hash value is not",
        "ERR increment or decrement would overflow",
        "ERR increment would produce",
        "ERR resulting score is not a number",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t len = strlen(beginnings[i]);
        if (reply->text.len >= len && memcmp(reply->text.data, beginnings[i], len) == 0)
            return true;
    }
    return false;
}

static const char *kinds_of(const struct yn_reply *reply)
{
    static const char *const kinds[] = {
        [YN_REPLY_STATUS] = "s",   [YN_REPLY_ERROR] = "e", [YN_REPLY_INTEGER] = "i",
        [YN_REPLY_BULK] = "bd",    [YN_REPLY_NULL] = "n",  [YN_REPLY_ARRAY] = "a",
        [YN_REPLY_MAP] = "a",      [YN_REPLY_SET] = "a",   [YN_REPLY_PUSH] = "",
        [YN_REPLY_DOUBLE] = "d",   [YN_REPLY_BOOL] = "i",  [YN_REPLY_BIGNUM] = "b",
        [YN_REPLY_VERBATIM] = "b",
    };
    return kinds[reply->type];
}

void client_check(struct client *client, const char *text, const char *kinds,
                  const struct yn_reply *reply)
{
    if (*kinds == '\0' || strpbrk(kinds_of(reply), kinds) != NULL ||
        (reply->type == YN_REPLY_ERROR && is_circumstance(reply)))
        return;
    client->command = text;
    client_fail(client, "a reply of kind \"%s\" and not \"%s\": %.*s", kinds_of(reply),
                kinds, (int)(reply->text.len < 500 ? reply->text.len : 500),
                reply->text.len > 0 ? reply->text.data : "");
}

struct yn_reply *client_ask(struct client *client, const char *text, const char *kinds)
{
    client->command = text;
    client_queue(client, text);
    struct yn_reply *reply = client_wait(client);
    if (reply != NULL)
        client_check(client, text, kinds, reply);
    return reply;
}

bool client_do(struct client *client, const char *text, const char *kinds)
{
    struct yn_reply *reply = client_ask(client, text, kinds);
    bool is_there = reply != NULL;
    yn_reply_free(reply);
    return is_there && client->link.fd >= 0;
}

/* ---- life --------------------------------------------------------------- */

static bool set_up(struct client *client)
{
    char select[16];
    snprintf(select, sizeof select, "SELECT %d", client->db);
    return (!client->resp3 || client_do(client, "HELLO 3", "a")) &&
           client_do(client, select, "s");
}

bool client_open(struct client *client)
{
    struct stress *stress = client->stress;
    bool by_socket = stress->socket_path != NULL &&
                     (stress->port == 0 || client_below(client, 2) == 0);
    struct cli_options options = {
        .host = "127.0.0.1",
        .port = stress->port,
        .socket_path = by_socket ? stress->socket_path : NULL,
    };
    if (!cli_link_open(&client->link, &options)) {
        client_fail(client, "%s", client->link.error);
        return false;
    }
    client->resp3 = client_below(client, 2) == 0;
    client->db = client_below(client, 3) == 0 ? 1 : 0;
    if (!set_up(client))
        return false;
    struct yn_reply *id = client_ask(client, "CLIENT ID", "i");
    if (id != NULL)
        atomic_store(&stress->values.client_ids[client->number], id->integer);
    yn_reply_free(id);
    return id != NULL && client->link.fd >= 0;
}

bool client_reset(struct client *client)
{
    client->command = "RESET";
    client_queue(client, "RESET");
    for (;;) {
        struct yn_reply *reply = client_wait(client);
        if (reply == NULL)
            return false;
        bool is_end = reply->type == YN_REPLY_STATUS && reply->text.len == 5 &&
                      memcmp(reply->text.data, "RESET", 5) == 0;
        yn_reply_free(reply);
        if (is_end)
            return set_up(client);
    }
}

void *client_run(void *ctx)
{
    struct client *client = ctx;
    while (!atomic_load(&client->stress->is_over)) {
        if (client->link.fd < 0) {
            client->phase = "open";
            if (!client_open(client))
                atomic_fetch_add_explicit(&client->n_lost, 1, memory_order_relaxed);
            continue;
        }
        phase_run(client);
    }
    cli_link_close(&client->link);
    return NULL;
}
