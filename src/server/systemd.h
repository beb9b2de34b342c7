/*
 * systemd.h: what a service manager gives to the server and is told by it: sockets that
 * it has opened, readiness, signs of life. Any manager that speaks systemd's protocols
 * will do; none of its libraries is needed. Built with YN_SYSTEMD=OFF all of this does
 * nothing.
 */
#ifndef SYSTEMD_H
#define SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The option `supervised`. */
enum systemd_supervised {
    SYSTEMD_NO,      /* nobody is told anything */
    SYSTEMD_YES,     /* the manager is told, and its absence is worth a warning */
    SYSTEMD_AUTO,    /* the manager is told if there is one */
    SYSTEMD_UPSTART, /* refused when the configuration is read */
};

struct systemd {
    bool is_told; /* there is somebody to tell */
    int fd;
    struct sockaddr_un address;
    socklen_t address_len;
    uint64_t watchdog_ns; /* a sign of life is due in this time; 0: none is awaited */
    uint64_t signed_ns;   /* when the last one was given */
};

/* Looks in the environment (NOTIFY_SOCKET, WATCHDOG_USEC) for a manager to tell. That
 * there is none, or that it cannot be reached, is logged and no failure. */
void systemd_init(struct systemd *systemd, enum systemd_supervised supervised);
void systemd_clear(struct systemd *systemd);

/* Tells it lines of sd_notify(3): "READY=1\nSTATUS=...". Waits about a second at most. */
void systemd_tell(struct systemd *systemd, const char *lines);

/* Gives a sign of life when a quarter of the manager's patience is over; to be called
 * several times in it. Never waits. */
void systemd_sign(struct systemd *systemd, uint64_t now_ns);

/* Sockets that the manager has opened for this process (sd_listen_fds(3)). Writes up to
 * max descriptors of listening stream sockets, made non-blocking and closed on exec.
 * Returns how many there are: 0 when the process was not started for its sockets, -1
 * after logging why they cannot be used. */
int systemd_sockets(int *out_fds, size_t max);
/* Whether the socket, the first one being 0, was given this name (FileDescriptorName= in
 * the unit). */
bool systemd_socket_is(size_t i, const char *name);

#endif
