#include "server/systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/num.h"
#include "server/log.h"

/* The first descriptor that is passed; those before are the standard ones. */
#define FIRST_FD 3
#define SEND_TIMEOUT_S 1

/* A number of the environment; false when it is not there or is none. */
static bool number_of(const char *name, int64_t *out_value)
{
    const char *text = getenv(name);
    return text != NULL &&
           yn_num_parse_int64((struct yn_bytes){text, strlen(text)}, out_value);
}

/* ---- telling ---- */

/* "/run/systemd/notify", or "@name" for one without a file. */
static bool parse_address(struct systemd *systemd, const char *text)
{
    size_t len = strlen(text);
    memset(&systemd->address, 0, sizeof systemd->address);
    systemd->address.sun_family = AF_UNIX;
    if ((text[0] != '/' && text[0] != '@') || len < 2 ||
        len >= sizeof systemd->address.sun_path)
        return false;
    memcpy(systemd->address.sun_path, text, len);
    if (text[0] == '@')
        systemd->address.sun_path[0] = '\0';
    systemd->address_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

/* The watchdog is for the process that WATCHDOG_PID names, or for all. */
static void find_watchdog(struct systemd *systemd)
{
    int64_t usec, pid;
    if (!number_of("WATCHDOG_USEC", &usec) || usec <= 0 || usec > INT64_MAX / 1000)
        return;
    if (!number_of("WATCHDOG_PID", &pid) || pid == (int64_t)getpid())
        systemd->watchdog_ns = (uint64_t)usec * 1000;
}

void systemd_init(struct systemd *systemd, enum systemd_supervised supervised)
{
    *systemd = (struct systemd){.fd = -1};
    const char *where = getenv("NOTIFY_SOCKET");
    if (!YN_HAVE_SYSTEMD || supervised == SYSTEMD_NO)
        return;
    if (where == NULL || where[0] == '\0') {
        if (supervised == SYSTEMD_YES)
            log_warning(
                "supervised systemd: there is no NOTIFY_SOCKET in the environment, "
                "nobody is told that the server is ready (Type=notify in the unit)");
        return;
    }
    if (!parse_address(systemd, where)) {
        log_warning("NOTIFY_SOCKET \"%s\" is no address of a unix socket: the service "
                    "manager is told nothing",
                    where);
        return;
    }
    /* One descriptor for life: the signs must not stop when all others are in use. */
    systemd->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (systemd->fd < 0) {
        log_warning("could not open a socket for the service manager: %s",
                    strerror(errno));
        return;
    }
    struct timeval patience = {.tv_sec = SEND_TIMEOUT_S};
    setsockopt(systemd->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    systemd->is_told = true;
    find_watchdog(systemd);
}

void systemd_clear(struct systemd *systemd)
{
    if (systemd->is_told)
        close(systemd->fd);
    systemd->is_told = false;
    systemd->fd = -1;
}

/* Not connected: a manager that starts anew binds another socket to the same address. */
static bool send_lines(const struct systemd *systemd, const char *lines, int flags)
{
    size_t len = strlen(lines);
    return sendto(systemd->fd, lines, len, MSG_NOSIGNAL | flags,
                  (const struct sockaddr *)&systemd->address,
                  systemd->address_len) == (ssize_t)len;
}

void systemd_tell(struct systemd *systemd, const char *lines)
{
    if (systemd->is_told && !send_lines(systemd, lines, 0))
        log_warning("could not tell the service manager \"%.*s\": %s",
                    (int)strcspn(lines, "\n"), lines, strerror(errno));
}

void systemd_sign(struct systemd *systemd, uint64_t now_ns)
{
    if (!systemd->is_told || systemd->watchdog_ns == 0 ||
        (systemd->signed_ns != 0 &&
         now_ns - systemd->signed_ns < systemd->watchdog_ns / 4))
        return;
    /* What does not get through is tried again at the next call. */
    if (send_lines(systemd, "WATCHDOG=1", MSG_DONTWAIT))
        systemd->signed_ns = now_ns;
}

/* ---- sockets ---- */

/* Returns why the descriptor is no socket to accept clients from, or NULL. */
static const char *fault_of(int fd)
{
    int type = 0, is_listening = 0;
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t type_len = sizeof type, listening_len = sizeof is_listening;
    socklen_t address_len = sizeof address;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &listening_len) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &address_len) != 0)
        return strerror(errno);
    if (type != SOCK_STREAM)
        return "it is no stream socket (ListenStream= in the unit)";
    if (!is_listening)
        return "it does not listen (Accept=no in the unit)";
    if (address.ss_family != AF_INET && address.ss_family != AF_INET6 &&
        address.ss_family != AF_UNIX)
        return "it is neither a TCP socket nor a unix socket";
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return strerror(errno);
    return NULL;
}

/* How many this process, and no other, is passed. */
static int64_t n_passed(void)
{
    int64_t pid, n;
    bool are_ours = YN_HAVE_SYSTEMD && number_of("LISTEN_PID", &pid) &&
                    pid == (int64_t)getpid() && number_of("LISTEN_FDS", &n) && n > 0;
    return are_ours ? n : 0;
}

bool systemd_socket_is(size_t i, const char *name)
{
    const char *at = getenv("LISTEN_FDNAMES"); /* "tls:web:tls" */
    if (at == NULL || i >= (uint64_t)n_passed())
        return false;
    for (; i > 0 && *at != '\0'; i--) {
        at += strcspn(at, ":");
        at += *at == ':';
    }
    size_t len = strcspn(at, ":");
    return len == strlen(name) && memcmp(at, name, len) == 0;
}

int systemd_sockets(int *out_fds, size_t max)
{
    int64_t n = n_passed();
    if (n == 0)
        return 0;
    if ((uint64_t)n > max) {
        log_warning("the service manager passes %lld sockets: %zu are the most",
                    (long long)n, max);
        return -1;
    }
    for (int i = 0; i < (int)n; i++) {
        const char *fault = fault_of(FIRST_FD + i);
        if (fault != NULL) {
            log_warning("socket %d of %d that the service manager passes: %s", i + 1,
                        (int)n, fault);
            return -1;
        }
        out_fds[i] = FIRST_FD + i;
    }
    return (int)n;
}
