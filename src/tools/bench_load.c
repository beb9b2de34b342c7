/*
 * HOT: what is counted is the CPU time of the generator per reply, since it shares the
 * machine with the server. Per batch: one recv, one scan of its bytes, one clock, one
 * send; epoll directly, edge cases aside no other call. Requests are bytes of a ring that
 * is read in order, replies are counted where they were received and never copied.
 *
 * Threads share nothing while they run but a flag to stop, and counters that the
 * progress report reads. They connect first, wait for each other, and start together.
 */
#include "tools/bench_load.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli_link.h"

#define INPUT_LEN ((size_t)256 * 1024)
#define EVENTS_MAX 64
#define WAIT_MS 100
#define SHOW_EVERY_MS 200

struct run {
    const struct bench_load_options *options;
    pthread_barrier_t start;
    atomic_bool is_stopped;
    atomic_uint n_running;
    uint64_t start_ns;
};

struct connection {
    struct cli_link link;
    struct bench_scan scan;
    const char *out; /* rest of the batch that is being sent */
    size_t out_len;
    uint64_t sent_ns;  /* when its batch was sent */
    uint64_t n_waited; /* replies still to come */
    bool waits_to_write;
};

struct worker {
    struct run *run;
    struct bench_ring *ring;
    struct connection *connections;
    unsigned n_connections, n_busy;
    uint64_t n_allowed; /* requests left to send; UINT64_MAX: until the time is over */
    uint64_t n_min;
    uint64_t end_ns;
    uint64_t n_sent;
    size_t send_len, input_len; /* most bytes that a call moves */
    int epoll_fd;
    char *input;
    uint64_t bytes_in, bytes_out, last_ns;
    double cpu_s;
    struct yn_histogram latency_ns;
    atomic_ullong shown_replies, shown_bytes; /* for the progress report */
    char failure[256];
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double thread_cpu_s(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static void fail(struct worker *worker, const char *what, const char *reason)
{
    if (worker->failure[0] == '\0')
        snprintf(worker->failure, sizeof worker->failure, "%s: %.200s", what, reason);
    atomic_store(&worker->run->is_stopped, true);
}

/* ---- a batch ------------------------------------------------------------ */

static void watch_writing(struct worker *worker, struct connection *connection, bool on)
{
    if (connection->waits_to_write == on)
        return;
    connection->waits_to_write = on;
    struct epoll_event event = {.events = EPOLLIN | (on ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = connection};
    epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, connection->link.fd, &event);
}

static void write_out(struct worker *worker, struct connection *connection)
{
    while (connection->out_len > 0) {
        size_t len = connection->out_len;
        ssize_t n = cli_link_send(&connection->link, connection->out,
                                  len < worker->send_len ? len : worker->send_len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            fail(worker, "could not send", strerror(errno));
        if (n < 0)
            break;
        worker->bytes_out += (uint64_t)n;
        connection->out += n;
        connection->out_len -= (size_t)n;
    }
    watch_writing(worker, connection, connection->out_len > 0);
}

static bool may_send(const struct worker *worker, uint64_t now)
{
    const atomic_bool *is_over = worker->run->options->is_over;
    if (is_over != NULL)
        return !atomic_load_explicit(is_over, memory_order_relaxed);
    if (worker->n_allowed == UINT64_MAX)
        return now < worker->end_ns || worker->n_sent < worker->n_min;
    return worker->n_sent < worker->n_allowed;
}

static void send_batch(struct worker *worker, struct connection *connection, uint64_t now)
{
    struct bench_ring *ring = worker->ring;
    if (!may_send(worker, now)) {
        worker->n_busy--;
        return;
    }
    size_t batch = ring->next;
    ring->next = batch + 1 < ring->n_batches ? batch + 1 : 0;
    worker->n_sent += ring->pipeline;
    connection->out = ring->bytes.data + ring->starts[batch];
    connection->out_len = ring->starts[batch + 1] - ring->starts[batch];
    connection->n_waited = ring->pipeline;
    connection->sent_ns = now;
    write_out(worker, connection);
}

/* Returns whether there may be more that the socket does not tell of: TLS has it. */
static bool read_once(struct worker *worker, struct connection *connection)
{
    ssize_t len = cli_link_recv(&connection->link, worker->input, worker->input_len);
    if (len <= 0) {
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return false;
        fail(worker, "connection lost",
             len == 0 ? "closed by the server" : strerror(errno));
        return false;
    }
    struct bench_scan *scan = &connection->scan;
    uint64_t n = bench_scan_feed(scan, worker->input, (size_t)len);
    uint64_t now = now_ns();
    worker->bytes_in += (uint64_t)len;
    atomic_store_explicit(&worker->shown_bytes, worker->bytes_in, memory_order_relaxed);
    if (scan->is_bad || n > connection->n_waited) {
        fail(worker, "the server broke the protocol",
             scan->is_bad ? "no RESP" : "more replies than requests");
        return false;
    }
    bool is_full = connection->link.tls != NULL && (size_t)len == worker->input_len;
    if (n == 0)
        return is_full;
    yn_histogram_add(&worker->latency_ns, now - connection->sent_ns, n);
    atomic_store_explicit(&worker->shown_replies, worker->latency_ns.n,
                          memory_order_relaxed);
    worker->last_ns = now;
    connection->n_waited -= n;
    if (scan->n_errors > 0 && !worker->run->options->allow_errors)
        fail(worker, "error reply", scan->error);
    else if (connection->n_waited == 0)
        send_batch(worker, connection, now);
    return is_full;
}

static void read_in(struct worker *worker, struct connection *connection)
{
    while (read_once(worker, connection))
        continue;
}

/* ---- a thread ----------------------------------------------------------- */

static void watch(struct worker *worker)
{
    struct epoll_event events[EVENTS_MAX];
    while (worker->n_busy > 0 &&
           !atomic_load_explicit(&worker->run->is_stopped, memory_order_relaxed)) {
        int n = epoll_wait(worker->epoll_fd, events, EVENTS_MAX, WAIT_MS);
        if (n < 0 && errno != EINTR) {
            fail(worker, "epoll_wait", strerror(errno));
            return;
        }
        for (int i = 0; i < n; i++) {
            struct connection *connection = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT) != 0)
                write_out(worker, connection);
            if ((events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
                read_in(worker, connection);
        }
    }
}

static void connect_all(struct worker *worker)
{
    for (unsigned i = 0; i < worker->n_connections; i++) {
        struct connection *connection = &worker->connections[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        bench_scan_init(&connection->scan);
        if (!cli_link_open(&connection->link, worker->run->options->server)) {
            fail(worker, "connection", connection->link.error);
            return;
        }
        if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, connection->link.fd, &event) < 0) {
            fail(worker, "epoll_ctl", strerror(errno));
            return;
        }
    }
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    struct run *run = worker->run;
    connect_all(worker);
    if (pthread_barrier_wait(&run->start) == PTHREAD_BARRIER_SERIAL_THREAD)
        run->start_ns = now_ns();
    pthread_barrier_wait(&run->start);
    worker->end_ns = run->start_ns + (uint64_t)(run->options->duration_s * 1e9);
    worker->last_ns = run->start_ns;
    double before_s = thread_cpu_s();
    if (!atomic_load(&run->is_stopped)) {
        worker->n_busy = worker->n_connections;
        for (unsigned i = 0; i < worker->n_connections; i++)
            send_batch(worker, &worker->connections[i], now_ns());
        watch(worker);
    }
    worker->cpu_s = thread_cpu_s() - before_s;
    atomic_fetch_sub(&run->n_running, 1);
    return NULL;
}

static bool open_worker(struct worker *worker, struct run *run, unsigned index,
                        struct bench_ring *ring)
{
    const struct bench_load_options *options = run->options;
    unsigned n_threads = options->n_threads;
    worker->run = run;
    worker->ring = ring;
    worker->n_connections = options->n_connections / n_threads +
                            (index < options->n_connections % n_threads ? 1 : 0);
    worker->n_allowed = UINT64_MAX;
    if (options->n_requests > 0)
        worker->n_allowed = options->n_requests / n_threads +
                            (index < options->n_requests % n_threads ? 1 : 0);
    worker->n_min = (options->n_min + n_threads - 1) / n_threads;
    size_t piece_len = options->piece_len;
    worker->send_len = piece_len > 0 ? piece_len : SIZE_MAX;
    worker->input_len = piece_len > 0 && piece_len < INPUT_LEN ? piece_len : INPUT_LEN;
    worker->input = malloc(INPUT_LEN);
    worker->connections = calloc(worker->n_connections, sizeof worker->connections[0]);
    worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (worker->connections != NULL) {
        for (unsigned i = 0; i < worker->n_connections; i++)
            cli_link_init(&worker->connections[i].link);
    }
    return worker->input != NULL && worker->connections != NULL && worker->epoll_fd >= 0;
}

static void close_worker(struct worker *worker)
{
    if (worker->connections != NULL) {
        for (unsigned i = 0; i < worker->n_connections; i++)
            cli_link_close(&worker->connections[i].link);
    }
    if (worker->epoll_fd >= 0)
        close(worker->epoll_fd);
    free(worker->connections);
    free(worker->input);
}

/* ---- the run ------------------------------------------------------------ */

static void add_up(const struct worker *worker, struct bench_load_result *result,
                   uint64_t *last_ns)
{
    for (unsigned i = 0; i < worker->n_connections; i++) {
        const struct bench_scan *scan = &worker->connections[i].scan;
        result->n_replies += scan->n_replies;
        result->n_errors += scan->n_errors;
        result->n_nulls += scan->n_nulls;
        result->n_empty += scan->n_empty;
        if (scan->n_errors > 0 && result->first_error[0] == '\0')
            memcpy(result->first_error, scan->error, sizeof result->first_error);
    }
    result->own_cpu_s += worker->cpu_s;
    result->bytes_in += worker->bytes_in;
    result->bytes_out += worker->bytes_out;
    yn_histogram_merge(&result->latency_ns, &worker->latency_ns);
    if (worker->last_ns > *last_ns)
        *last_ns = worker->last_ns;
    if (worker->failure[0] != '\0' && result->failure[0] == '\0')
        memcpy(result->failure, worker->failure, sizeof result->failure);
}

static void show_progress(struct run *run, struct worker *workers, uint64_t from_ns)
{
    const struct bench_load_options *options = run->options;
    struct bench_load_state state = {(double)(now_ns() - from_ns) * 1e-9, 0, 0};
    for (unsigned i = 0; i < options->n_threads; i++) {
        state.n_replies +=
            atomic_load_explicit(&workers[i].shown_replies, memory_order_relaxed);
        state.bytes_in +=
            atomic_load_explicit(&workers[i].shown_bytes, memory_order_relaxed);
    }
    options->show(options->show_ctx, &state);
}

/* One thread runs here, others in threads of their own; this one reports. */
static bool run_threads(struct run *run, struct worker *workers)
{
    unsigned n = run->options->n_threads, n_started = 0;
    pthread_t *threads = calloc(n, sizeof *threads);
    if (threads == NULL)
        return false;
    while (n_started < n && pthread_create(&threads[n_started], NULL, run_worker,
                                           &workers[n_started]) == 0)
        n_started++;
    if (n_started < n) {
        /* those started wait for the others at the barrier, for ever */
        fputs("yonder-bench: could not start threads\n", stderr);
        exit(1);
    }
    uint64_t from_ns = now_ns();
    while (run->options->show != NULL && atomic_load(&run->n_running) > 0) {
        nanosleep(&(struct timespec){0, SHOW_EVERY_MS * 1000000}, NULL);
        show_progress(run, workers, from_ns);
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return true;
}

bool bench_load_run(const struct bench_load_options *options, struct bench_ring *rings,
                    struct bench_load_result *result)
{
    memset(result, 0, sizeof *result);
    struct run run = {.options = options};
    unsigned n = options->n_threads;
    atomic_store(&run.n_running, n);
    pthread_barrier_init(&run.start, NULL, n);
    struct worker *workers = calloc(n, sizeof *workers);
    bool is_fine = workers != NULL;
    for (unsigned i = 0; i < n && workers != NULL; i++)
        workers[i].epoll_fd = -1;
    for (unsigned i = 0; i < n && is_fine; i++)
        is_fine = open_worker(&workers[i], &run, i, &rings[i]);
    is_fine = is_fine && run_threads(&run, workers);
    uint64_t last_ns = 0;
    for (unsigned i = 0; workers != NULL && i < n; i++) {
        if (workers[i].connections != NULL)
            add_up(&workers[i], result, &last_ns);
        close_worker(&workers[i]);
    }
    free(workers);
    pthread_barrier_destroy(&run.start);
    if (last_ns > run.start_ns)
        result->elapsed_s = (double)(last_ns - run.start_ns) * 1e-9;
    if (!is_fine)
        snprintf(result->failure, sizeof result->failure, "out of memory");
    return result->failure[0] == '\0';
}
