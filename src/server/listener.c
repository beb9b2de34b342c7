#include "server/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/conn.h"
#include "server/log.h"
#include "server/server.h"
#include "server/systemd.h"

/* Connections that are accepted before others have their turn. */
#define ACCEPTS_A_TURN 64
#define FD_WARNING_INTERVAL_NS ((uint64_t)60 * 1000 * 1000 * 1000)

/* ---- who comes ---- */

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

/* Says why and hangs up. The text is short: a fresh socket takes it at once. */
static void refuse(struct listener *listener, int fd, const char *text)
{
    /* The client may be gone already; one that expects TLS would not understand. */
    ssize_t n =
        listener->is_tls ? 0 : send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)n;
    close(fd);
    stats_add(&listener->server->loops[0].stats.rejected_connections, 1);
}

#define DENIED_TEXT                                                                          \
    "-DENIED this server runs in protected mode: it has no password, so it serves clients "  \
    "of its own machine only. To serve others, set a password (requirepass in the "          \
    "configuration, or CONFIG SET requirepass from this machine), or, if everybody who can " \
    "reach it may read and change its data, switch the protection off (protected-mode no).\r\n"

/* Why the peer may not come in, or NULL. */
static const char *refusal_of(const struct listener *listener, const char *address,
                              bool is_local)
{
    struct server *server = listener->server;
    loop_lock(&server->loops[0], LOOP_SHARED);
    bool is_open_to_all =
        !server->config.protected_mode || !server->acl.default_user->is_nopass;
    size_t n_max = server->maxclients;
    loop_unlock(&server->loops[0]);
    if (!is_open_to_all && !is_local) {
        log_warning("connection from %s refused: protected mode", address);
        return DENIED_TEXT;
    }
    if (server->n_conns >= n_max)
        return "-ERR max number of clients reached\r\n";
    return NULL;
}

/* The addresses of the two ends, as CLIENT LIST shows them. */
static void fill_addresses(const struct listener *listener,
                           const struct sockaddr_storage *peer, struct conn_arrival *a)
{
    struct sockaddr_storage local;
    socklen_t len = sizeof local;
    if (listener->is_unix) {
        snprintf(a->address, sizeof a->address, "%.*s:0", (int)sizeof a->address - 4,
                 listener->name);
        memcpy(a->local_address, a->address, sizeof a->local_address);
        a->is_local = true;
        return;
    }
    memset(&local, 0, sizeof local);
    getsockname(a->fd, (struct sockaddr *)&local, &len);
    format_address(peer, a->address, sizeof a->address);
    format_address(&local, a->local_address, sizeof a->local_address);
    a->is_local = is_loopback(peer);
}

/* A client that is on its way to its loop. */
struct passenger {
    struct loop_note note;
    struct conn_arrival arrival;
};

static void on_arrival(struct loop *loop, struct loop_note *note)
{
    struct passenger *passenger = LIST_ITEM(note, struct passenger, note);
    conn_open(loop, &passenger->arrival);
    free(passenger);
}

/* The loops have their turns. Without memory for the way the client stays here. */
static void hand_over(struct server *server, const struct conn_arrival *arrival)
{
    struct loop *loop = &server->loops[server->next_loop++ % server->n_loops];
    struct passenger *passenger =
        loop == loop_current() ? NULL : malloc(sizeof *passenger);
    atomic_fetch_add(&server->n_conns, 1);
    if (passenger == NULL) {
        conn_open(loop_current(), arrival);
        return;
    }
    *passenger = (struct passenger){.note.run = on_arrival, .arrival = *arrival};
    loop_post(loop, &passenger->note);
}

static void admit(struct listener *listener, int fd, const struct sockaddr_storage *peer)
{
    struct server *server = listener->server;
    struct conn_arrival arrival = {
        .fd = fd, .is_unix = listener->is_unix, .is_tls = listener->is_tls};
    stats_add(&server->loops[0].stats.connections, 1);
    fill_addresses(listener, peer, &arrival);
    const char *refusal = refusal_of(listener, arrival.address, arrival.is_local);
    if (refusal != NULL) {
        refuse(listener, fd, refusal);
        return;
    }
    arrival.id = ++server->next_client_id;
    log_debug("client %s connected (id %llu)", arrival.address,
              (unsigned long long)arrival.id);
    hand_over(server, &arrival);
}

/* ---- out of descriptors ---- */

static void warn_about_descriptors(struct server *server)
{
    struct rlimit limit = {.rlim_cur = 0};
    if (server->fd_warned_ns != 0 &&
        server->loops[0].mono_ns - server->fd_warned_ns < FD_WARNING_INTERVAL_NS)
        return;
    server->fd_warned_ns = server->loops[0].mono_ns;
    getrlimit(RLIMIT_NOFILE, &limit);
    log_warning("all %llu file descriptors are in use: further clients are turned away "
                "until some leave (raise the limit on open files, or lower maxclients)",
                (unsigned long long)limit.rlim_cur);
}

/* A client that cannot be accepted would stay in the queue, and the loop would be told of
 * it without end. It is accepted with a descriptor that is kept for that, and sent away.
 * Returns false when not even that is possible. */
static bool turn_away(struct listener *listener)
{
    struct server *server = listener->server;
    warn_about_descriptors(server);
    if (server->spare_fd < 0)
        return false;
    close(server->spare_fd);
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        refuse(listener, fd, "-ERR max number of clients reached\r\n");
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

/* ---- accepting ---- */

static bool is_out_of_descriptors(int err)
{
    return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

/* Takes one connection. Returns false when there is none for now. */
static bool accept_one(struct listener *listener)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    memset(&peer, 0, sizeof peer);
    int fd = accept4(listener->fd, (struct sockaddr *)&peer, &len,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        admit(listener, fd, &peer);
        return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return false;
    if (is_out_of_descriptors(errno))
        return turn_away(listener);
    /* the client has gone again, or the network says something about it */
    log_verbose("could not accept a connection on %s: %s", listener->name,
                strerror(errno));
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    (void)events;
    if (status < 0) {
        log_verbose("could not accept connections on %s: %s", listener->name,
                    uv_strerror(status));
        return;
    }
    loop_update_clock(&listener->server->loops[0]);
    for (int i = 0; i < ACCEPTS_A_TURN && accept_one(listener); i++)
        continue;
}

/* ---- listening ---- */

enum kind { KIND_TCP, KIND_TLS, KIND_UNIX };

/* Takes the socket over and closes it on failure. Returns 0 or a negative errno. */
static int add(struct server *server, int fd, enum kind kind, const char *name)
{
    if (server->n_listeners == LISTENER_MAX) {
        close(fd);
        return -ENOBUFS;
    }
    struct listener *listener = &server->listeners[server->n_listeners];
    *listener = (struct listener){.server = server,
                                  .fd = fd,
                                  .is_unix = kind == KIND_UNIX,
                                  .is_tls = kind == KIND_TLS};
    snprintf(listener->name, sizeof listener->name, "%s", name);
    int err = uv_poll_init(&server->loops[0].uv, &listener->poll, fd);
    if (err != 0) {
        close(fd);
        return err;
    }
    listener->poll.data = listener;
    server->n_listeners++;
    return 0;
}

/* Makes a socket with that address. Returns it, or a negative errno. */
static int bind_at(const struct sockaddr *address, socklen_t len)
{
    int on = 1;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if ((address->sa_family != AF_UNIX &&
         setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) ||
        (address->sa_family == AF_INET6 &&
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
        bind(fd, address, len) != 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

/* The same of a unix socket. Its file has the permissions from the first moment on, and
 * nobody can connect before it listens. */
static int bind_unix(const struct sockaddr_un *address, mode_t permissions)
{
    if (permissions == 0)
        return bind_at((const struct sockaddr *)address, sizeof *address);
    mode_t before = umask(0777 & ~permissions);
    int fd = bind_at((const struct sockaddr *)address, sizeof *address);
    umask(before);
    /* A folder with an ACL of its own for new files does not ask the umask. */
    if (fd < 0 || chmod(address->sun_path, permissions) == 0)
        return fd;
    int err = -errno;
    unlink(address->sun_path);
    close(fd);
    return err;
}

static int port_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6
               ? ntohs(((const struct sockaddr_in6 *)address)->sin6_port)
               : ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static int listen_tcp(struct server *server, enum kind kind, const struct addrinfo *at)
{
    char name[LISTENER_NAME_MAX];
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    int fd = bind_at(at->ai_addr, at->ai_addrlen);
    if (fd < 0)
        return fd;
    if (listen(fd, (int)server->config.tcp_backlog) != 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    memset(&bound, 0, sizeof bound);
    getsockname(fd, (struct sockaddr *)&bound, &len);
    format_address(&bound, name, sizeof name);
    /* With port 0 the first address chooses, and the others take the same port. */
    if (kind == KIND_TCP)
        server->tcp_port = port_of(&bound);
    return add(server, fd, kind, name);
}

static int port_for(const struct server *server, enum kind kind)
{
    if (kind == KIND_TLS)
        return (int)server->config.tls_port;
    return server->tcp_port > 0 ? server->tcp_port : (int)server->config.port;
}

/* Opens one address of `bind`. Returns 0 or a negative errno. */
static int open_tcp(struct server *server, enum kind kind, const char *name)
{
    char service[8];
    snprintf(service, sizeof service, "%d", port_for(server, kind));
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
    int result = listen_tcp(server, kind, found);
    freeaddrinfo(found);
    return result;
}

static bool is_missing_family(int err)
{
    return err == -EADDRNOTAVAIL || err == -EAFNOSUPPORT || err == -EPROTONOSUPPORT ||
           err == -ENOPROTOOPT;
}

static bool open_bound(struct server *server, enum kind kind)
{
    char addresses[1024];
    char *rest = NULL;
    snprintf(addresses, sizeof addresses, "%s", server->config.bind);
    for (char *name = strtok_r(addresses, " \t", &rest); name != NULL;
         name = strtok_r(NULL, " \t", &rest)) {
        bool is_optional = name[0] == '-';
        int err = open_tcp(server, kind, name + is_optional);
        if (err == 0 || (is_optional && is_missing_family(err)))
            continue;
        if (err == -EADDRINUSE)
            log_warning(
                "could not listen on %s, port %d: the port is in use by another "
                "program (choose another with --port, or --port 0 for any free one)",
                name + is_optional, port_for(server, kind));
        else
            log_warning("could not listen on %s, port %d: %s", name + is_optional,
                        port_for(server, kind), uv_strerror(err));
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
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] == '\0')
        return true;
    if (!path_is_free(path))
        return false;
    strcpy(address.sun_path, path); /* path_is_free has looked at its length */
    int fd = bind_unix(&address, (mode_t)server->config.unixsocketperm);
    int err = fd < 0 ? fd : 0;
    if (err == 0 && listen(fd, (int)server->config.tcp_backlog) != 0)
        err = -errno;
    if (err == 0)
        err = add(server, fd, KIND_UNIX, path);
    else if (fd >= 0)
        close(fd);
    if (err != 0)
        log_warning("could not listen on unix socket \"%s\": %s", path, uv_strerror(err));
    return err == 0;
}

/* ---- sockets that the service manager has opened ---- */

static void format_unix(const struct sockaddr_un *address, socklen_t len, char *out,
                        size_t size)
{
    size_t n = len - offsetof(struct sockaddr_un, sun_path);
    if (n > 0 && address->sun_path[0] == '\0')
        snprintf(out, size, "@%.*s", (int)n - 1, address->sun_path + 1);
    else
        snprintf(out, size, "%.*s", (int)n, address->sun_path);
}

/* Those that are named "tls" in the unit are for TLS. */
static int add_passed(struct server *server, int fd, bool is_tls)
{
    char name[LISTENER_NAME_MAX];
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    memset(&bound, 0, sizeof bound);
    if (getsockname(fd, (struct sockaddr *)&bound, &len) != 0)
        return -errno;
    bool is_unix = bound.ss_family == AF_UNIX;
    if (is_unix)
        format_unix((const struct sockaddr_un *)&bound, len, name, sizeof name);
    else
        format_address(&bound, name, sizeof name);
    enum kind kind = is_unix ? KIND_UNIX : is_tls ? KIND_TLS : KIND_TCP;
    int err = add(server, fd, kind, name);
    if (err != 0)
        return err;
    server->listeners[server->n_listeners - 1].is_passed = true;
    if (kind == KIND_TCP && server->tcp_port == 0)
        server->tcp_port = port_of(&bound);
    return 0;
}

/* They take the place of `bind`, `port` and `unixsocket`. Returns how many there are, or
 * -1 after logging what is wrong. */
static int open_passed(struct server *server)
{
    int fds[LISTENER_MAX];
    int n = systemd_sockets(fds, LISTENER_MAX);
    for (int i = 0; i < n; i++) {
        int err = add_passed(server, fds[i], systemd_socket_is((size_t)i, "tls"));
        if (err != 0) {
            log_warning("could not listen on a socket of the service manager: %s",
                        uv_strerror(err));
            return -1;
        }
    }
    return n;
}

/* With a port for TLS, port 0 means none for plain text. */
static bool open_configured(struct server *server)
{
    bool has_tls = server->config.tls_port > 0;
    return ((has_tls && server->config.port == 0) || open_bound(server, KIND_TCP)) &&
           (!has_tls || open_bound(server, KIND_TLS)) && open_unix(server);
}

bool listener_open_all(struct server *server)
{
    int n_passed = open_passed(server);
    if (n_passed < 0 || (n_passed == 0 && !open_configured(server)))
        return false;
    if (server->n_listeners == 0) {
        log_warning("nothing to listen on: 'bind' and 'unixsocket' are both empty");
        return false;
    }
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < server->n_listeners; i++) {
        struct listener *listener = &server->listeners[i];
        uv_poll_start(&listener->poll, UV_READABLE, on_readable);
        log_notice("ready to accept %sconnections on %s", listener->is_tls ? "TLS " : "",
                   listener->name);
    }
    return true;
}

void listener_close_all(struct server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++) {
        struct listener *listener = &server->listeners[i];
        if (uv_is_closing((uv_handle_t *)&listener->poll))
            continue;
        uv_close((uv_handle_t *)&listener->poll, NULL); /* stops, too */
        close(listener->fd);
        if (listener->is_unix && !listener->is_passed)
            unlink(listener->name);
    }
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    server->spare_fd = -1;
}
