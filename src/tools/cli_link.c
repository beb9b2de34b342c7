#include "tools/cli_link.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "resp/write.h"

#define CHUNK_LEN ((size_t)64 * 1024)
#define OUT_KEEP_LEN ((size_t)1024 * 1024)

void cli_link_init(struct cli_link *link)
{
    memset(link, 0, sizeof *link);
    link->fd = -1;
    yn_buf_init(&link->out);
}

void cli_link_close(struct cli_link *link)
{
    cli_tls_free(link->tls);
    link->tls = NULL;
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    link->n_pending = 0;
    yn_reply_parser_free(link->parser);
    link->parser = NULL;
    yn_buf_clear(&link->out);
}

__attribute__((format(printf, 2, 3))) static bool fail(struct cli_link *link,
                                                       const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(link->error, sizeof link->error, format, args);
    va_end(args);
    cli_link_close(link);
    return false;
}

/* ---- opening ------------------------------------------------------------ */

static bool connect_unix(struct cli_link *link, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return fail(link, "path of the socket is too long: \"%s\"", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    link->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->fd < 0 ||
        connect(link->fd, (struct sockaddr *)&address, sizeof address) < 0)
        return fail(link, "could not connect to \"%s\": %s", path, strerror(errno));
    return true;
}

static bool connect_tcp(struct cli_link *link, const char *host, int port)
{
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    int status = getaddrinfo(host, service, &hints, &addresses);
    if (status != 0)
        return fail(link, "could not resolve \"%s\": %s", host, gai_strerror(status));

    int reason = 0;
    for (struct addrinfo *a = addresses; a != NULL && link->fd < 0; a = a->ai_next) {
        link->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (link->fd >= 0 && connect(link->fd, a->ai_addr, a->ai_addrlen) == 0)
            break;
        reason = errno;
        if (link->fd >= 0)
            close(link->fd);
        link->fd = -1;
    }
    freeaddrinfo(addresses);
    if (link->fd < 0)
        return fail(link, "could not connect to %s:%d: %s", host, port, strerror(reason));
    int on = 1;
    setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return true;
}

static bool start_tls(struct cli_link *link, const struct cli_options *options)
{
    char error[400];
    const char *host = options->socket_path != NULL ? "localhost" : options->host;
    link->tls = cli_tls_open(link->fd, &options->tls, host, error, sizeof error);
    return link->tls != NULL || fail(link, "TLS: %s", error);
}

/* Sends one command and wants a reply that is no error. */
static bool set_up(struct cli_link *link, const char *what, const char *name,
                   const char *argument)
{
    struct yn_bytes argv[2] = {{name, strlen(name)}, {argument, strlen(argument)}};
    if (!cli_link_queue(link, 2, argv))
        return false;
    struct yn_reply *reply = cli_link_wait(link);
    if (reply == NULL)
        return false;
    bool is_error = reply->type == YN_REPLY_ERROR;
    if (is_error)
        fail(link, "could not %s: %.*s", what, (int)reply->text.len, reply->text.data);
    yn_reply_free(reply);
    return !is_error;
}

bool cli_link_open(struct cli_link *link, const struct cli_options *options)
{
    cli_link_close(link);
    link->was_lost = false;
    bool is_connected = options->socket_path != NULL
                            ? connect_unix(link, options->socket_path)
                            : connect_tcp(link, options->host, options->port);
    if (!is_connected || (options->tls.is_on && !start_tls(link, options)))
        return false;
    if (fcntl(link->fd, F_SETFL, O_NONBLOCK) < 0)
        return fail(link, "could not set up the socket: %s", strerror(errno));
    link->parser = yn_reply_parser_new(NULL);
    if (link->parser == NULL)
        return fail(link, "out of memory");

    char db[16];
    snprintf(db, sizeof db, "%d", options->db);
    return (options->password == NULL ||
            set_up(link, "authenticate", "AUTH", options->password)) &&
           (!options->resp3 || set_up(link, "switch to RESP3", "HELLO", "3")) &&
           (options->db == 0 || set_up(link, "select the database", "SELECT", db));
}

/* ---- moving bytes ------------------------------------------------------- */

bool cli_link_queue(struct cli_link *link, size_t argc, const struct yn_bytes *argv)
{
    yn_write_command(&link->out, argc, argv);
    if (link->out.failed)
        return fail(link, "out of memory");
    link->n_pending++;
    return true;
}

ssize_t cli_link_recv(struct cli_link *link, void *out, size_t len)
{
    return link->tls != NULL ? cli_tls_recv(link->tls, out, len)
                             : recv(link->fd, out, len, 0);
}

ssize_t cli_link_send(struct cli_link *link, const void *data, size_t len)
{
    return link->tls != NULL ? cli_tls_send(link->tls, data, len)
                             : send(link->fd, data, len, MSG_NOSIGNAL);
}

static bool lose(struct cli_link *link, const char *reason)
{
    link->was_lost = true;
    return fail(link, "connection lost: %s", reason);
}

static const char *reason_of(const struct cli_link *link)
{
    return link->tls != NULL && errno == EPROTO ? cli_tls_reason(link->tls)
                                                : strerror(errno);
}

static bool read_some(struct cli_link *link)
{
    char chunk[CHUNK_LEN];
    ssize_t n = cli_link_recv(link, chunk, sizeof chunk);
    if (n == 0)
        return lose(link, "closed by the server");
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || lose(link, reason_of(link));
    /* a protocol error is told by the parser when the replies before it are taken */
    if (yn_reply_feed(link->parser, chunk, (size_t)n) == YN_REPLY_NOMEM)
        return fail(link, "out of memory");
    return true;
}

static bool write_some(struct cli_link *link)
{
    ssize_t n = cli_link_send(link, link->out.data, link->out.len);
    if (n < 0) {
        /* what the server said before it closed is still to be read */
        if (errno == EPIPE || errno == ECONNRESET) {
            yn_buf_reset(&link->out, OUT_KEEP_LEN);
            return true;
        }
        return errno == EAGAIN || errno == EINTR || lose(link, reason_of(link));
    }
    yn_buf_consume(&link->out, (size_t)n);
    return true;
}

bool cli_link_pump(struct cli_link *link)
{
    if (link->fd < 0)
        return false;
    struct pollfd wait = {.fd = link->fd, .events = POLLIN};
    if (link->out.len > 0)
        wait.events |= POLLOUT;
    if (poll(&wait, 1, -1) < 0)
        return errno == EINTR || fail(link, "poll: %s", strerror(errno));
    if ((wait.revents & POLLOUT) != 0 && !write_some(link))
        return false;
    if ((wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_some(link))
        return false;
    return true;
}

bool cli_link_poll(struct cli_link *link, struct yn_reply **out_reply)
{
    *out_reply = NULL;
    if (link->parser == NULL)
        return false;
    switch (yn_reply_next(link->parser, out_reply)) {
    case YN_REPLY_MORE:
        return true;
    case YN_REPLY_READY:
        if ((*out_reply)->type != YN_REPLY_PUSH && link->n_pending > 0)
            link->n_pending--;
        return true;
    case YN_REPLY_NOMEM:
        return fail(link, "out of memory");
    default:
        return fail(link, "the server broke the protocol at byte %llu: %s",
                    (unsigned long long)yn_reply_parser_offset(link->parser),
                    yn_reply_parser_error(link->parser));
    }
}

struct yn_reply *cli_link_wait(struct cli_link *link)
{
    struct yn_reply *reply = NULL;
    while (cli_link_poll(link, &reply) && reply == NULL) {
        if (!cli_link_pump(link))
            return NULL;
    }
    return reply;
}
