#include "server/listener.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/log.h"
#include "server/server.h"

#define FD_WARNING_INTERVAL_NS ((uint64_t)60 * 1000 * 1000 * 1000)

/* ---- accepting ---- */

/* "127.0.0.1:6379", "[::1]:6379". */
static void format_address(const struct sockaddr_storage *address, char *out, size_t size)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
        uv_ip6_name(in6, ip, sizeof ip);
        snprintf(out, size, "[%s]:%d", ip, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)address;
        uv_ip4_name(in, ip, sizeof ip);
        snprintf(out, size, "%s:%d", ip, ntohs(in->sin_port));
    }
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6) {
        const struct in6_addr *ip = &((const struct sockaddr_in6 *)address)->sin6_addr;
        return IN6_IS_ADDR_LOOPBACK(ip) ||
               (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127);
    }
    return (ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24) == 127;
}

/* Says why and closes. The text is short: a fresh socket takes it at once. */
static void refuse(struct conn *conn, const char *text)
{
    uv_buf_t buf = {.base = (char *)(uintptr_t)text, .len = strlen(text)};
    uv_try_write(&conn->io.stream, &buf, 1);
    conn->loop->stats.rejected_connections++;
    conn_close(conn);
}

#define DENIED_TEXT                                                                          \
    "-DENIED this server runs in protected mode: it has no password, so it serves clients "  \
    "of its own machine only. To serve others, set a password (requirepass in the "          \
    "configuration, or CONFIG SET requirepass from this machine), or, if everybody who can " \
    "reach it may read and change its data, switch the protection off (protected-mode no).\r\n"

/* Returns false when the peer is gone already. */
static bool fill_tcp(struct conn *conn, struct sockaddr_storage *peer)
{
    struct sockaddr_storage local;
    int len = sizeof *peer;
    int keepalive_s = (int)conn->loop->server->config.tcp_keepalive_s;
    memset(peer, 0, sizeof *peer);
    memset(&local, 0, sizeof local);
    if (uv_tcp_getpeername(&conn->io.tcp, (struct sockaddr *)peer, &len) != 0)
        return false;
    format_address(peer, conn->address, sizeof conn->address);
    len = sizeof local;
    uv_tcp_getsockname(&conn->io.tcp, (struct sockaddr *)&local, &len);
    format_address(&local, conn->local_address, sizeof conn->local_address);
    uv_tcp_nodelay(&conn->io.tcp, 1);
    if (keepalive_s > 0)
        uv_tcp_keepalive(&conn->io.tcp, 1, (unsigned)keepalive_s);
    return true;
}

static void admit(struct listener *listener, struct conn *conn)
{
    struct server *server = listener->server;
    const struct config *config = &server->config;
    conn->loop->stats.connections++;
    if (listener->is_unix) {
        snprintf(conn->address, sizeof conn->address, "%.*s:0",
                 (int)sizeof conn->address - 4, config->unixsocket);
        memcpy(conn->local_address, conn->address, sizeof conn->address);
    } else {
        struct sockaddr_storage peer;
        if (!fill_tcp(conn, &peer)) {
            conn_close(conn);
            return;
        }
        if (config->protected_mode && server->acl.default_user->is_nopass &&
            !is_loopback(&peer)) {
            log_warning("connection from %s refused: protected mode", conn->address);
            refuse(conn, DENIED_TEXT);
            return;
        }
        conn->is_local = is_loopback(&peer);
    }
    conn->is_local |= listener->is_unix;
    if (conn->loop->n_conns > server->maxclients) {
        refuse(conn, "-ERR max number of clients reached\r\n");
        return;
    }
    conn->id = ++server->next_client_id;
    log_debug("client %s connected (id %llu)", conn->address,
              (unsigned long long)conn->id);
    conn_start(conn);
}

/*
 * Without a free descriptor libuv accepts with one that it keeps in reserve, hangs up,
 * and says nothing. Descriptors are given out lowest first: getting the last one the
 * limit allows means that the next client will be turned away.
 */
static void warn_if_last_descriptor(struct conn *conn)
{
    struct server *server = conn->loop->server;
    struct rlimit limit;
    uv_os_fd_t fd;
    if (uv_fileno(&conn->io.handle, &fd) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        (rlim_t)fd + 1 < limit.rlim_cur)
        return;
    if (server->fd_warned_ns == 0 ||
        conn->loop->mono_ns - server->fd_warned_ns > FD_WARNING_INTERVAL_NS)
        log_warning(
            "all %llu file descriptors are in use: further clients are turned away "
            "until some leave (raise the limit on open files, or lower maxclients)",
            (unsigned long long)limit.rlim_cur);
    server->fd_warned_ns = conn->loop->mono_ns;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;
    if (status < 0) {
        log_verbose("could not accept a connection on %s: %s", listener->name,
                    uv_strerror(status));
        return;
    }
    struct conn *conn = conn_new(&listener->server->loop, listener->is_unix);
    if (conn == NULL) {
        log_warning("could not accept a connection: out of memory");
        return;
    }
    int err = uv_accept(stream, &conn->io.stream);
    if (err != 0) {
        log_verbose("could not accept a connection: %s", uv_strerror(err));
        conn_close(conn);
        return;
    }
    loop_update_clock(conn->loop);
    warn_if_last_descriptor(conn);
    admit(listener, conn);
}

/* ---- listening ---- */

static struct listener *add(struct server *server, bool is_unix)
{
    if (server->n_listeners == LISTENER_MAX)
        return NULL;
    struct listener *listener = &server->listeners[server->n_listeners];
    memset(listener, 0, sizeof *listener);
    listener->server = server;
    listener->is_unix = is_unix;
    int err = is_unix ? uv_pipe_init(&server->loop.uv, &listener->io.pipe, 0)
                      : uv_tcp_init(&server->loop.uv, &listener->io.tcp);
    if (err != 0)
        return NULL;
    listener->io.handle.data = listener;
    server->n_listeners++;
    return listener;
}

/* Closes the listener that was added last. Its memory is used again: let the loop finish.
 */
static void drop_last(struct server *server)
{
    struct listener *listener = &server->listeners[--server->n_listeners];
    uv_close(&listener->io.handle, NULL);
    uv_run(&server->loop.uv, UV_RUN_NOWAIT);
}

static int listen_at(struct listener *listener, const struct sockaddr *address)
{
    const struct config *config = &listener->server->config;
    unsigned flags = address->sa_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0;
    int err = uv_tcp_bind(&listener->io.tcp, address, flags);
    if (err == 0)
        err = uv_listen(&listener->io.stream, (int)config->tcp_backlog, on_connection);
    if (err != 0)
        return err;
    struct sockaddr_storage bound;
    int len = sizeof bound;
    memset(&bound, 0, sizeof bound);
    uv_tcp_getsockname(&listener->io.tcp, (struct sockaddr *)&bound, &len);
    format_address(&bound, listener->name, sizeof listener->name);
    /* With port 0 the first address chooses, and the others take the same port. */
    listener->server->tcp_port = bound.ss_family == AF_INET6
                                     ? ntohs(((struct sockaddr_in6 *)&bound)->sin6_port)
                                     : ntohs(((struct sockaddr_in *)&bound)->sin_port);
    return 0;
}

/* Opens one address of `bind`. Returns 0 or a negative errno. */
static int open_tcp(struct server *server, const char *name)
{
    char service[8];
    int port = server->tcp_port > 0 ? server->tcp_port : (int)server->config.port;
    snprintf(service, sizeof service, "%d", port);
    const char *node = name;
    int family = AF_UNSPEC;
    if (strcmp(name, "*") == 0) {
        node = NULL;
        family = AF_INET;
    } else if (strcmp(name, "::*") == 0) {
        node = NULL;
        family = AF_INET6;
    }
    struct addrinfo hints = {.ai_family = family,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int err = getaddrinfo(node, service, &hints, &found);
    if (err != 0) {
        log_verbose("address '%s': %s", name, gai_strerror(err));
        return -EADDRNOTAVAIL;
    }
    struct listener *listener = add(server, false);
    int result = listener == NULL ? -ENOMEM : listen_at(listener, found->ai_addr);
    freeaddrinfo(found);
    if (result != 0 && listener != NULL)
        drop_last(server);
    return result;
}

static bool is_missing_family(int err)
{
    return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT || err == -EPROTONOSUPPORT ||
           err == -ENOPROTOOPT;
}

static bool open_bound(struct server *server)
{
    char addresses[1024];
    char *rest = NULL;
    snprintf(addresses, sizeof addresses, "%s", server->config.bind);
    for (char *name = strtok_r(addresses, " \t", &rest); name != NULL;
         name = strtok_r(NULL, " \t", &rest)) {
        bool is_optional = name[0] == '-';
        int err = open_tcp(server, name + is_optional);
        if (err == 0 || (is_optional && is_missing_family(err)))
            continue;
        if (err == -EADDRINUSE)
            log_warning(
                "could not listen on %s, port %d: the port is in use by another "
                "program (choose another with --port, or --port 0 for any free one)",
                name + is_optional,
                server->tcp_port > 0 ? server->tcp_port : (int)server->config.port);
        else
            log_warning("could not listen on %s, port %d: %s", name + is_optional,
                        (int)server->config.port, uv_strerror(err));
        return false;
    }
    return true;
}

/* A socket file that nobody answers is a leftover and is removed. */
static bool path_is_free(const char *path)
{
    struct stat info;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        log_warning("could not listen on unix socket \"%s\": the path is longer than %zu "
                    "bytes",
                    path, sizeof address.sun_path - 1);
        return false;
    }
    if (lstat(path, &info) != 0)
        return true;
    if (!S_ISSOCK(info.st_mode)) {
        log_warning("could not listen on unix socket \"%s\": a file of that name exists",
                    path);
        return false;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err = fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0
                  ? errno
                  : 0;
    if (fd >= 0)
        close(fd);
    /* Any other error tells that somebody may be there: another kind of socket, one that
     * only others may connect to, one whose queue is full. */
    if (err == ECONNREFUSED) {
        unlink(path);
        return true;
    }
    log_warning(
        "could not listen on unix socket \"%s\": it is in use by another program%s%s",
        path, err != 0 ? ", it seems: " : "", err != 0 ? strerror(err) : "");
    return false;
}

static bool open_unix(struct server *server)
{
    const char *path = server->config.unixsocket;
    if (path[0] == '\0')
        return true;
    if (!path_is_free(path))
        return false;
    struct listener *listener = add(server, true);
    int err = listener == NULL ? UV_ENOMEM : uv_pipe_bind(&listener->io.pipe, path);
    if (err == 0)
        err = uv_listen(&listener->io.stream, (int)server->config.tcp_backlog,
                        on_connection);
    if (err == 0 && server->config.unixsocketperm != 0 &&
        chmod(path, (mode_t)server->config.unixsocketperm) != 0)
        err = -errno;
    if (err != 0) {
        log_warning("could not listen on unix socket \"%s\": %s", path, uv_strerror(err));
        return false;
    }
    snprintf(listener->name, sizeof listener->name, "%s", path);
    return true;
}

bool listener_open_all(struct server *server)
{
    if (!open_bound(server) || !open_unix(server))
        return false;
    if (server->n_listeners == 0) {
        log_warning("nothing to listen on: 'bind' and 'unixsocket' are both empty");
        return false;
    }
    for (size_t i = 0; i < server->n_listeners; i++)
        log_notice("ready to accept connections on %s", server->listeners[i].name);
    return true;
}

void listener_close_all(struct server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        if (!uv_is_closing(&server->listeners[i].io.handle))
            uv_close(&server->listeners[i].io.handle, NULL);
    }
}
