/*
 * HOT: what is counted is the processor time a byte. Nobody reads the replies: recv with
 * MSG_TRUNC drops the bytes of a TCP socket in the kernel, which saves the copy.
 *
 * To see where a reply ends without reading it, a PING is sent right behind each request:
 * its "+PONG" stands behind the reply, and in no member of a data set. Of what has come
 * all but the last seven bytes are dropped, and those are read and compared. They are not
 * left in the socket to be looked at: a few bytes hold the whole block that they came in,
 * which may fill the receive buffer, and the server would wait for ever. Of the beginning
 * eleven bytes are read for the number of members: the shortest reply, an empty array and
 * the mark, has as many.
 */
#include "tools/bench_repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "tools/bench_priority.h"
#include "tools/cli_link.h"

#define MARK "+PONG\r\n"
#define MARK_LEN 7
#define HEAD_LEN 11 /* "*0\r\n" MARK */
#define DISCARD_LEN ((size_t)1024 * 1024)

static char ping[] = "*1\r\n$4\r\nPING\r\n";

struct client {
    struct bench_repeat *repeat;
    struct cli_link link;
    pthread_t thread;
    bool is_running;
    size_t next; /* in the ring */
    char *discarded;
    atomic_ullong n_shown;
    struct bench_repeat_result result; /* its own share */
};

struct bench_repeat {
    const struct cli_options *server;
    const struct bench_ring *ring;
    atomic_bool is_over;
    uint64_t start_ns;
    unsigned n;
    struct client clients[];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool fail(struct client *client, const char *what, const char *reason)
{
    char *failure = client->result.failure;
    snprintf(failure, sizeof client->result.failure, "%s: %.250s", what, reason);
    atomic_store(&client->repeat->is_over, true);
    return false;
}

/* ---- one request ----------------------------------------------------------- */

static bool send_request(struct client *client)
{
    const struct bench_ring *ring = client->repeat->ring;
    struct iovec parts[2] = {
        {ring->bytes.data + ring->starts[client->next],
         ring->starts[client->next + 1] - ring->starts[client->next]},
        {ping, sizeof ping - 1},
    };
    client->next = client->next + 1 < ring->n_batches ? client->next + 1 : 0;
    size_t left = parts[0].iov_len + parts[1].iov_len;
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n;
    do {
        n = sendmsg(client->link.fd, &message, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    /* the socket blocks and was empty: it takes all or is broken */
    return (n >= 0 && (size_t)n == left) ||
           fail(client, "could not send", n < 0 ? strerror(errno) : "cut short");
}

/* Receives up to len bytes, at least one. 0: the connection is lost. */
static size_t receive(struct client *client, char *data, size_t len, int flags)
{
    ssize_t n;
    do {
        n = recv(client->link.fd, data, len, flags);
    } while (n < 0 && errno == EINTR);
    if (n > 0)
        return (size_t)n;
    fail(client, "connection lost", n == 0 ? "closed by the server" : strerror(errno));
    return 0;
}

/* Drops what has come but for the last seven bytes. */
static bool drop(struct client *client)
{
    int there;
    if (ioctl(client->link.fd, FIONREAD, &there) < 0)
        return fail(client, "FIONREAD", strerror(errno));
    size_t left = there > MARK_LEN ? (size_t)(there - MARK_LEN) : 0;
    client->result.n_bytes += left;
    while (left > 0) {
        size_t n = receive(client, client->discarded,
                           left < DISCARD_LEN ? left : DISCARD_LEN, MSG_TRUNC);
        if (n == 0)
            return false;
        left -= n;
    }
    return true;
}

/* "*123\r\n": the number of members. */
static bool read_head(struct client *client, const char *head, uint64_t *out_n)
{
    *out_n = 0;
    const char *p = head + 1;
    while (p < head + HEAD_LEN && *p >= '0' && *p <= '9')
        *out_n = *out_n * 10 + (uint64_t)(*p++ - '0');
    if (head[0] == '*' && p > head + 1 && p < head + HEAD_LEN && *p == '\r')
        return true;
    char text[256];
    memcpy(text, head, HEAD_LEN);
    ssize_t n =
        recv(client->link.fd, text + HEAD_LEN, sizeof text - 1 - HEAD_LEN, MSG_DONTWAIT);
    text[HEAD_LEN + (n > 0 ? n : 0)] = '\0';
    text[strcspn(text, "\r")] = '\0';
    return fail(client, "not the reply of a search", text);
}

static bool read_start(struct client *client, char head[HEAD_LEN], uint64_t *out_n)
{
    for (size_t len = 0; len < HEAD_LEN;) {
        size_t n = receive(client, head + len, HEAD_LEN - len, 0);
        if (n == 0)
            return false;
        len += n;
    }
    return read_head(client, head, out_n);
}

static bool take_reply(struct client *client)
{
    char head[HEAD_LEN], tail[2 * MARK_LEN];
    uint64_t n_members;
    struct bench_repeat_result *result = &client->result;
    if (!read_start(client, head, &n_members))
        return false;
    memcpy(tail, head + HEAD_LEN - MARK_LEN, MARK_LEN);
    while (memcmp(tail, MARK, MARK_LEN) != 0) {
        if (!drop(client))
            return false;
        size_t n = receive(client, tail + MARK_LEN, MARK_LEN, 0);
        if (n == 0)
            return false;
        memmove(tail, tail + n, MARK_LEN);
        result->n_bytes += n;
    }
    result->n_replies++;
    result->n_members += n_members;
    result->n_empty += n_members == 0;
    result->n_bytes += HEAD_LEN - MARK_LEN;
    return true;
}

/* ---- the run --------------------------------------------------------------- */

static void *run(void *arg)
{
    struct client *client = arg;
    struct bench_repeat *repeat = client->repeat;
    client->result.priority = bench_priority_set(BENCH_PRIORITY_LAST);
    while (!atomic_load_explicit(&repeat->is_over, memory_order_relaxed)) {
        uint64_t sent_ns = now_ns();
        if (!send_request(client) || !take_reply(client))
            break;
        yn_histogram_add(&client->result.latency_ns, now_ns() - sent_ns, 1);
        atomic_fetch_add_explicit(&client->n_shown, 1, memory_order_relaxed);
    }
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    client->result.own_cpu_s = (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
    return NULL;
}

static void open_client(struct client *client, unsigned index)
{
    struct bench_repeat *repeat = client->repeat;
    client->next = repeat->ring->n_batches * index / repeat->n;
    if (!cli_link_open(&client->link, repeat->server)) {
        fail(client, "connection", client->link.error);
        return;
    }
    int flags = fcntl(client->link.fd, F_GETFL);
    if (flags < 0 || fcntl(client->link.fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
        fail(client, "connection", strerror(errno));
    else if ((client->discarded = malloc(DISCARD_LEN)) == NULL)
        fail(client, "connection", "out of memory");
    else if (pthread_create(&client->thread, NULL, run, client) != 0)
        fail(client, "thread", "could not be started");
    else
        client->is_running = true;
}

struct bench_repeat *bench_repeat_start(const struct cli_options *server,
                                        const struct bench_ring *ring, unsigned n)
{
    struct bench_repeat *repeat =
        calloc(1, sizeof *repeat + n * sizeof repeat->clients[0]);
    if (repeat == NULL)
        return NULL;
    repeat->server = server;
    repeat->ring = ring;
    repeat->n = n;
    repeat->start_ns = now_ns();
    for (unsigned i = 0; i < n; i++) {
        repeat->clients[i].repeat = repeat;
        cli_link_init(&repeat->clients[i].link);
        open_client(&repeat->clients[i], i);
    }
    return repeat;
}

void bench_repeat_add(struct bench_repeat_result *to,
                      const struct bench_repeat_result *from)
{
    to->n_replies += from->n_replies;
    to->n_members += from->n_members;
    to->n_bytes += from->n_bytes;
    to->n_empty += from->n_empty;
    to->elapsed_s += from->elapsed_s;
    to->own_cpu_s += from->own_cpu_s;
    to->priority = from->priority != NULL ? from->priority : to->priority;
    yn_histogram_merge(&to->latency_ns, &from->latency_ns);
    if (to->failure[0] == '\0')
        memcpy(to->failure, from->failure, sizeof to->failure);
}

bool bench_repeat_stop(struct bench_repeat *repeat, struct bench_repeat_result *result)
{
    atomic_store(&repeat->is_over, true);
    for (unsigned i = 0; i < repeat->n; i++) {
        if (repeat->clients[i].is_running)
            pthread_join(repeat->clients[i].thread, NULL);
    }
    result->elapsed_s += (double)(now_ns() - repeat->start_ns) * 1e-9;
    for (unsigned i = 0; i < repeat->n; i++) {
        bench_repeat_add(result, &repeat->clients[i].result);
        cli_link_close(&repeat->clients[i].link);
        free(repeat->clients[i].discarded);
    }
    free(repeat);
    return result->failure[0] == '\0';
}

uint64_t bench_repeat_count(const struct bench_repeat *repeat)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < repeat->n; i++)
        n += atomic_load_explicit(&repeat->clients[i].n_shown, memory_order_relaxed);
    return n;
}

bool bench_repeat_has_failed(const struct bench_repeat *repeat)
{
    return atomic_load(&repeat->is_over); /* nobody but a failure or the end sets it */
}
