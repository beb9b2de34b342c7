/*
 * One thread serves all connections, with real-time priority where the system gives it:
 * requests are few, and the thread sleeps between them, in epoll_pwait2 with a time-out
 * in nanoseconds. Requests of a connection are answered in order, so the times of those
 * under way stand in a queue: a ring of a power of two, which grows when a server stalls.
 *
 * Moment k of a connection is k intervals and a random share of one: the connections do
 * not beat with each other, nor with a server that does something at regular times, and
 * the rate is kept.
 */
#include "tools/bench_pace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench_priority.h"
#include "tools/bench_scan.h"
#include "tools/cli_link.h"

#define INPUT_LEN ((size_t)64 * 1024)
#define EVENTS_MAX 64
#define QUEUE_START 64
#define DRAIN_MAX_NS 60000000000u /* after the last request; then the server is dead */
#define IDLE_WAIT_NS 100000000u

struct connection {
    struct cli_link link;
    struct bench_scan scan;
    const struct bench_pace_kind *kind;
    unsigned kind_index;
    double interval_ns;
    uint64_t n_intervals;             /* begun */
    uint64_t due_ns;                  /* of the next request */
    uint64_t *times;                  /* of the requests under way: a ring */
    size_t n_times, first_time, room; /* room: a power of two */
    struct yn_buf out;                /* what the socket did not take */
    bool waits_to_write;
};

struct pace {
    const struct bench_pace_options *options;
    struct bench_pace_result *result;
    struct connection *connections;
    unsigned n_connections;
    int epoll_fd;
    char *input;
    uint64_t start_ns, end_ns;
    struct bench_random random;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool fail(struct pace *pace, const char *what, const char *reason)
{
    char *failure = pace->result->failure;
    if (failure[0] == '\0')
        snprintf(failure, sizeof pace->result->failure, "%s: %.250s", what, reason);
    return false;
}

/* ---- the time-table -------------------------------------------------------- */

static void plan_next(struct pace *pace, struct connection *connection)
{
    double at = (double)connection->n_intervals++ + bench_random_unit(&pace->random);
    connection->due_ns = pace->start_ns + (uint64_t)(at * connection->interval_ns);
}

static bool push_time(struct connection *connection, uint64_t time_ns)
{
    if (connection->n_times == connection->room) {
        size_t room = connection->room > 0 ? connection->room * 2 : QUEUE_START;
        uint64_t *times = malloc(room * sizeof *times);
        if (times == NULL)
            return false;
        for (size_t i = 0; i < connection->n_times; i++)
            times[i] =
                connection->times[(connection->first_time + i) & (connection->room - 1)];
        free(connection->times);
        connection->times = times;
        connection->room = room;
        connection->first_time = 0;
    }
    size_t at = (connection->first_time + connection->n_times) & (connection->room - 1);
    connection->times[at] = time_ns;
    connection->n_times++;
    return true;
}

static uint64_t pop_time(struct connection *connection)
{
    uint64_t time_ns = connection->times[connection->first_time];
    connection->first_time = (connection->first_time + 1) & (connection->room - 1);
    connection->n_times--;
    return time_ns;
}

/* ---- bytes ----------------------------------------------------------------- */

static void watch_writing(struct pace *pace, struct connection *connection, bool on)
{
    if (connection->waits_to_write == on)
        return;
    connection->waits_to_write = on;
    struct epoll_event event = {.events = EPOLLIN | (on ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = connection};
    epoll_ctl(pace->epoll_fd, EPOLL_CTL_MOD, connection->link.fd, &event);
}

/* Returns how many of the bytes the socket took; SIZE_MAX: it is broken. */
static size_t send_some(struct pace *pace, struct connection *connection,
                        const char *data, size_t len)
{
    ssize_t n;
    do {
        n = send(connection->link.fd, data, len, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return (size_t)n;
    if (errno == EAGAIN)
        return 0;
    fail(pace, "could not send", strerror(errno));
    return SIZE_MAX;
}

static bool write_rest(struct pace *pace, struct connection *connection)
{
    struct yn_buf *out = &connection->out;
    if (out->len > 0) {
        size_t n = send_some(pace, connection, out->data, out->len);
        if (n == SIZE_MAX)
            return false;
        yn_buf_consume(out, n);
    }
    watch_writing(pace, connection, out->len > 0);
    return true;
}

static bool send_request(struct pace *pace, struct connection *connection)
{
    struct bench_ring *ring = connection->kind->ring;
    const char *data = ring->bytes.data + ring->starts[ring->next];
    size_t len = ring->starts[ring->next + 1] - ring->starts[ring->next];
    ring->next = ring->next + 1 < ring->n_batches ? ring->next + 1 : 0;
    if (!push_time(connection, connection->due_ns))
        return fail(pace, "request", "out of memory");
    uint64_t now = now_ns();
    yn_histogram_add(&pace->result->lag_ns, now - connection->due_ns, 1);
    size_t n = 0;
    if (connection->out.len == 0)
        n = send_some(pace, connection, data, len);
    if (n == SIZE_MAX)
        return false;
    yn_buf_append(&connection->out, data + n, len - n);
    if (connection->out.failed)
        return fail(pace, "request", "out of memory");
    watch_writing(pace, connection, connection->out.len > 0);
    return true;
}

static bool read_in(struct pace *pace, struct connection *connection)
{
    ssize_t len = recv(connection->link.fd, pace->input, INPUT_LEN, 0);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (len <= 0)
        return fail(pace, "connection lost",
                    len == 0 ? "closed by the server" : strerror(errno));
    struct bench_scan *scan = &connection->scan;
    uint64_t n = bench_scan_feed(scan, pace->input, (size_t)len);
    uint64_t now = now_ns();
    if (scan->is_bad || n > connection->n_times)
        return fail(pace, "the server broke the protocol",
                    scan->is_bad ? "no RESP" : "more replies than requests");
    if (scan->n_errors > 0)
        return fail(pace, "error reply", scan->error);
    for (; n > 0; n--)
        yn_histogram_add(&pace->result->latency_ns[connection->kind_index],
                         now - pop_time(connection), 1);
    return true;
}

/* ---- the loop -------------------------------------------------------------- */

/* Sends what is due. Returns when the next request is: UINT64_MAX when there is none;
 * *out_n_waited is how many are under way. */
static uint64_t send_due(struct pace *pace, uint64_t *out_n_waited)
{
    uint64_t next_ns = UINT64_MAX;
    *out_n_waited = 0;
    for (unsigned i = 0; i < pace->n_connections; i++) {
        struct connection *connection = &pace->connections[i];
        while (connection->due_ns < pace->end_ns && connection->due_ns <= now_ns()) {
            if (!send_request(pace, connection))
                return UINT64_MAX;
            plan_next(pace, connection);
        }
        if (connection->due_ns < pace->end_ns && connection->due_ns < next_ns)
            next_ns = connection->due_ns;
        *out_n_waited += connection->n_times;
    }
    return next_ns;
}

static bool handle_event(struct pace *pace, const struct epoll_event *event)
{
    struct connection *connection = event->data.ptr;
    return ((event->events & EPOLLOUT) == 0 || write_rest(pace, connection)) &&
           ((event->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 ||
            read_in(pace, connection));
}

static bool wait_until(struct pace *pace, uint64_t next_ns)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t now = now_ns();
    uint64_t wait_ns = next_ns <= now ? 0 : next_ns - now;
    if (wait_ns > IDLE_WAIT_NS)
        wait_ns = IDLE_WAIT_NS;
    const struct timespec wait = {0, (long)wait_ns};
    int n = epoll_pwait2(pace->epoll_fd, events, EVENTS_MAX, &wait, NULL);
    if (n < 0 && errno != EINTR)
        return fail(pace, "epoll_pwait2", strerror(errno));
    for (int i = 0; i < n; i++) {
        if (!handle_event(pace, &events[i]))
            return false;
    }
    return true;
}

static bool keep_pace(struct pace *pace)
{
    for (;;) {
        uint64_t n_waited, next_ns = send_due(pace, &n_waited);
        if (pace->result->failure[0] != '\0')
            return false;
        if (next_ns == UINT64_MAX && n_waited == 0)
            return true;
        if (pace->options->is_interrupted != NULL && *pace->options->is_interrupted)
            return fail(pace, "stopped", "interrupted");
        if (now_ns() > pace->end_ns + DRAIN_MAX_NS)
            return fail(pace, "the server does not answer",
                        "60 s since the last request");
        if (!wait_until(pace, next_ns))
            return false;
    }
}

/* ---- the run --------------------------------------------------------------- */

static bool open_connection(struct pace *pace, unsigned kind_index,
                            struct connection *connection)
{
    connection->kind_index = kind_index;
    connection->kind = &pace->options->kinds[kind_index];
    connection->interval_ns = 1e9 / connection->kind->rate;
    bench_scan_init(&connection->scan);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (!cli_link_open(&connection->link, pace->options->server))
        return fail(pace, "connection", connection->link.error);
    return epoll_ctl(pace->epoll_fd, EPOLL_CTL_ADD, connection->link.fd, &event) == 0 ||
           fail(pace, "epoll_ctl", strerror(errno));
}

static bool open_all(struct pace *pace)
{
    const struct bench_pace_options *options = pace->options;
    unsigned n = 0;
    for (unsigned i = 0; i < options->n_kinds; i++)
        n += options->kinds[i].n_connections;
    pace->connections = calloc(n, sizeof pace->connections[0]);
    pace->input = malloc(INPUT_LEN);
    pace->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (pace->connections == NULL || pace->input == NULL || pace->epoll_fd < 0)
        return fail(pace, "connections", "out of memory");
    for (; pace->n_connections < n; pace->n_connections++) {
        struct connection *connection = &pace->connections[pace->n_connections];
        cli_link_init(&connection->link);
        yn_buf_init(&connection->out);
    }
    n = 0;
    for (unsigned i = 0; i < options->n_kinds; i++) {
        for (unsigned j = 0; j < options->kinds[i].n_connections; j++) {
            if (!open_connection(pace, i, &pace->connections[n++]))
                return false;
        }
    }
    return true;
}

static void close_all(struct pace *pace)
{
    for (unsigned i = 0; i < pace->n_connections; i++) {
        struct connection *connection = &pace->connections[i];
        pace->result->n_nulls += connection->scan.n_nulls;
        cli_link_close(&connection->link);
        yn_buf_clear(&connection->out);
        free(connection->times);
    }
    free(pace->connections);
    free(pace->input);
    if (pace->epoll_fd >= 0)
        close(pace->epoll_fd);
}

static void *run(void *arg)
{
    struct pace *pace = arg;
    if (open_all(pace)) {
        pace->result->priority = bench_priority_set(BENCH_PRIORITY_FIRST);
        pace->start_ns = now_ns();
        pace->end_ns = pace->start_ns + (uint64_t)(pace->options->duration_s * 1e9);
        for (unsigned i = 0; i < pace->n_connections; i++)
            plan_next(pace, &pace->connections[i]);
        keep_pace(pace);
        pace->result->elapsed_s += (double)(now_ns() - pace->start_ns) * 1e-9;
    }
    close_all(pace);
    return NULL;
}

bool bench_pace_run(const struct bench_pace_options *options,
                    struct bench_pace_result *result)
{
    struct pace pace = {.options = options,
                        .result = result,
                        .epoll_fd = -1,
                        .random.seed = options->seed};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &pace) != 0)
        return fail(&pace, "thread", "could not be started");
    pthread_join(thread, NULL);
    return result->failure[0] == '\0';
}
