/*
 * Fuzz target: the server's own commands, in a server with its loop and clients.
 * link: server
 *
 * An input is text, a command a line (fuzz_lines.h); a digit in front of a line says
 * which of the clients sends it, RAW "..." sends bytes as they are. Clients are socket
 * pairs within the process; after each line the loop runs until it has no more to do.
 * Checked: what each client gets is a row of well-formed replies and pushes, and without
 * HELLO 3 in the input nothing that RESP2 does not have; a client that is told more than
 * it asked (without a subscription or the like) is not wanted; all connections end when
 * their clients hang up, and nothing of them is left.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz_lines.h"
#include "resp/reply.h"
#include "resp/write.h"
#include "server/conn.h"
#include "server/databases.h"
#include "server/listener.h"
#include "server/log.h"
#include "server/server.h"

#define COMMANDS_MAX 16
#define CLIENTS 3
#define TURNS_MAX 400 /* of the loop, for one line */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct server server;
static struct config pristine;

static void die(const char *what, struct yn_bytes text)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)(text.len < 500 ? text.len : 500),
            text.len > 0 ? text.data : "");
    abort();
}

/* ---- the server ---- */

static void set_up_config(struct config *config)
{
    static const char text[] =
        "port 0\nbind 127.0.0.1\nthreads 1\ndatabases 4\nloglevel warning\n"
        "proto-max-bulk-len 1mb\n";
    char error[CONFIG_ERROR_MAX];
    if (!config_init(config) ||
        !config_load_text(config, (struct yn_bytes){text, strlen(text)}, "text", error))
        abort();
}

/* The table of commands is needed before the first line is made. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct config config;
    (void)argc;
    (void)argv;
    set_up_config(&pristine);
    set_up_config(&config);
    log_set_file("/dev/null");
    if (!server_init(&server, &config))
        abort();
    listener_close_all(&server);
    for (size_t i = 0; i < 2; i++) /* signals are for the fuzzer */
        uv_signal_stop(&server.signals[i]);
    uv_run(&server.loops[0].uv, UV_RUN_NOWAIT);
    return 0;
}

/* Everything as it was at the start. No client is there. */
static void reset_server(void)
{
    const struct config_option *option;
    char error[CONFIG_ERROR_MAX];
    struct yn_buf value;
    yn_buf_init(&value);
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        value.len = 0;
        config_format(&pristine, option, &value);
        if (!config_set(&server.config, option, (struct yn_bytes){value.data, value.len},
                        error))
            abort();
    }
    yn_buf_clear(&value);
    uv_timer_stop(&server.pause.timer);
    server.pause.mode = PAUSE_NONE;
    server_apply_config(&server);
    for (size_t db = 0; db < server.n_databases; db++)
        databases_flush(&server, db, HOST_FLUSH_SYNC);
    slowlog_reset(&server.slowlog);
    server.next_client_id = 0;
}

/* ---- clients ---- */

struct client {
    int fd; /* -1: hung up */
    struct yn_reply_parser *parser;
    size_t n_asked, n_told;
};

/* What may come, by the words of the input. */
struct expected {
    bool resp3;
    bool messages; /* that are no replies */
};

static void connect_client(struct client *client)
{
    int fds[2];
    struct conn_arrival arrival = {.is_unix = true,
                                   .is_local = true,
                                   .id = ++server.next_client_id,
                                   .address = "unix:0",
                                   .local_address = "unix:0"};
    client->parser = yn_reply_parser_new(NULL);
    if (client->parser == NULL ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    arrival.fd = fds[0];
    client->fd = fds[1];
    client->n_asked = client->n_told = 0;
    server.n_conns++;
    conn_open(&server.loops[0], &arrival);
}

static void hang_up(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
    yn_reply_parser_free(client->parser);
    client->parser = NULL;
}

static bool is_of_resp3(const struct yn_reply *reply)
{
    switch (reply->type) {
    case YN_REPLY_MAP:
    case YN_REPLY_SET:
    case YN_REPLY_PUSH:
    case YN_REPLY_DOUBLE:
    case YN_REPLY_BOOL:
    case YN_REPLY_BIGNUM:
    case YN_REPLY_VERBATIM:
        return true;
    default:
        break;
    }
    for (size_t i = 0; i < reply->n_items; i++)
        if (is_of_resp3(reply->items[i]))
            return true;
    return false;
}

static void take_replies(struct client *client, struct yn_bytes bytes,
                         const struct expected *expected)
{
    struct yn_reply *reply;
    if (yn_reply_feed(client->parser, bytes.data, bytes.len) == YN_REPLY_BAD)
        die(yn_reply_parser_error(client->parser), bytes);
    while (yn_reply_next(client->parser, &reply) == YN_REPLY_READY) {
        if (!expected->resp3 && is_of_resp3(reply))
            die("RESP3 for a client that has not asked for it", bytes);
        client->n_told += reply->type != YN_REPLY_PUSH;
        if (!expected->messages && client->n_told > client->n_asked)
            die("a reply to no request", bytes);
        yn_reply_free(reply);
    }
}

/* Reads what has come. Returns whether anything has. */
static bool read_replies(struct client *client, const struct expected *expected)
{
    static char buf[64 * 1024];
    if (client->fd < 0)
        return false;
    ssize_t n = read(client->fd, buf, sizeof buf);
    if (n > 0)
        take_replies(client, (struct yn_bytes){buf, (size_t)n}, expected);
    else if (n == 0 || errno != EAGAIN)
        hang_up(client);
    return n >= 0;
}

/* Lets the loop run until nothing happens any more. */
static void settle(struct client *clients, const struct expected *expected)
{
    int n_idle = 0;
    for (int turn = 0; turn < TURNS_MAX && n_idle < 2; turn++) {
        uv_run(&server.loops[0].uv, UV_RUN_NOWAIT);
        bool is_idle = list_is_empty(&server.loops[0].ready);
        for (size_t i = 0; i < CLIENTS; i++)
            is_idle = !read_replies(&clients[i], expected) && is_idle;
        n_idle = is_idle ? n_idle + 1 : 0;
    }
}

static void send_bytes(struct client *client, struct yn_bytes bytes)
{
    if (client->fd < 0)
        connect_client(client);
    /* what does not fit is lost: the server sees half a request then */
    if (send(client->fd, bytes.data, bytes.len, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
        hang_up(client);
}

/* ---- lines ---- */

static bool is_word(struct yn_bytes word, const char *text)
{
    return word.len == strlen(text) && strncasecmp(word.data, text, word.len) == 0;
}

/* What would end the process, or go on for very long. */
static bool is_left_out(const struct yn_bytes *words, size_t n)
{
    if (is_word(words[0], "shutdown") || is_word(words[0], "debug"))
        return true;
    if (is_word(words[0], "zrandmember") && n > 2 && words[2].len > 4)
        return true;
    for (size_t i = 0; i < n; i++)
        if (is_word(words[i], "proto-max-bulk-len"))
            return true;
    return false;
}

static void run_line(struct client *clients, const struct fuzz_line *line,
                     const struct expected *expected)
{
    const struct yn_bytes *words = line->words;
    size_t n = line->n, which = 0;
    if (n > 1 && words[0].len == 1 && words[0].data[0] >= '0' &&
        words[0].data[0] <= '9') {
        which = (size_t)(words[0].data[0] - '0') % CLIENTS;
        words++;
        n--;
    }
    if (is_word(words[0], "RAW") && n == 2) {
        /* a request that is in pieces of several lines is as bad as one in a line */
        send_bytes(&clients[which], words[1]);
    } else if (!is_left_out(words, n)) {
        struct yn_buf request;
        yn_buf_init(&request);
        yn_write_array(&request, n);
        for (size_t i = 0; i < n; i++)
            yn_write_bulk(&request, words[i]);
        send_bytes(&clients[which], (struct yn_bytes){request.data, request.len});
        clients[which].n_asked++;
        yn_buf_clear(&request);
    }
    settle(clients, expected);
}

static bool has_text(const uint8_t *data, size_t size, const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + len <= size; i++)
        if (strncasecmp((const char *)data + i, text, len) == 0)
            return true;
    return false;
}

static struct expected expect(const uint8_t *data, size_t size)
{
    /* a word in quotes may spell anything */
    bool is_open = memchr(data, '\\', size) != NULL || memchr(data, '"', size) != NULL ||
                   memchr(data, '\'', size) != NULL;
    return (struct expected){
        .resp3 = is_open || has_text(data, size, "hello"),
        .messages = is_open || has_text(data, size, "subscribe") ||
                    has_text(data, size, "monitor") || has_text(data, size, "raw"),
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct client clients[CLIENTS];
    struct yn_bytes rest = {(const char *)data, size};
    struct fuzz_line line;
    struct expected expected = {.resp3 = size == 0};
    if (size > 0)
        expected = expect(data, size);
    if (pristine.bind == NULL) /* a replay */
        LLVMFuzzerInitialize(NULL, NULL);
    yn_buf_init(&line.scratch);
    for (size_t i = 0; i < CLIENTS; i++)
        connect_client(&clients[i]);
    for (int i = 0; i < COMMANDS_MAX && fuzz_next_line(&rest, &line); i++)
        run_line(clients, &line, &expected);
    yn_buf_clear(&line.scratch);
    for (size_t i = 0; i < CLIENTS; i++)
        hang_up(&clients[i]);
    for (int turn = 0; turn < TURNS_MAX && server.loops[0].n_conns > 0; turn++)
        uv_run(&server.loops[0].uv, UV_RUN_NOWAIT);
    if (server.loops[0].n_conns > 0)
        die("a connection has not ended", rest);
    reset_server();
    return 0;
}
