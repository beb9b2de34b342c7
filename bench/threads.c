/*
 * How does the server's way of executing requests scale with threads?
 * link: server
 *
 * Each thread has a loop, a connection and a batch as in the server, and runs requests as
 * conn.c does: parse a batch, take the lock, look members up ahead, run the commands,
 * give the lock back; but with no sockets, where a server spends most of its time, and
 * with no lock. What is seen here is the worst that the lock can do; with --sockets the
 * replies of each pipeline go through a pair of sockets of the thread's own, which is
 * less than what the kernel does for a client. Prints Markdown tables; docs/threads.md
 * shows them.
 *
 * A slice of time counts only if other processes left the processors alone; of the slices
 * of each kind the median counts, and of ratios the median over rounds.
 *
 *   threads [--ms N] [--rounds N] [--threads LIST] [--work NAME] [--batch LIST]
 *           [--lock run|batch|pthread|none|parse] [--members N] [--sockets] [--busy-too]
 *           [--first]
 *
 * --lock: the server's lock for each run of requests of one kind, which ends early when
 * somebody waits, or for a whole batch; the C library's for a batch; none at all (reads
 * only); or the requests are parsed and not run. --busy-too: every slice counts.
 * --first: the threads go before all others (SCHED_FIFO; root only), for a machine that
 * is never quiet; slices should be short then.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/random.h"
#include "server/conn.h"
#include "server/databases.h"
#include "server/dispatch.h"
#include "server/rwlock.h"
#include "server/server.h"

#define THREADS_MAX 64
#define LIST_MAX 8
#define ROUNDS_MAX 99
#define REQUESTS 4096 /* that a thread has, and repeats */
#define REQUEST_MAX 256
#define OTHERS_MAX 0.05 /* of the machine's time that others may take in a slice */
#define TRIES_MAX 200

enum locking { LOCK_RUN, LOCK_BATCH, LOCK_PTHREAD, LOCK_NONE, LOCK_PARSE };

struct work {
    const char *name;
    unsigned write_percent;
    void (*write_read)(uint64_t *random, size_t n_members, char *out_text);
};

struct options {
    unsigned ms, rounds;
    size_t threads[LIST_MAX], n_threads, batch[LIST_MAX], n_batch, n_members;
    const char *work;
    enum locking locking;
    bool busy_too, is_first, has_sockets;
};

struct worker {
    pthread_t thread;
    size_t slot;
    struct loop *loop;
    struct conn *conn;
    char *requests;
    size_t start[REQUESTS + 1]; /* where each begins; the end */
    size_t batch;
    int sockets[2]; /* -1: none */
    uint64_t n_done;
    double seconds;
    double delayed_s; /* it could have run, but had no processor */
};

static struct server server;
static pthread_rwlock_t system_lock = PTHREAD_RWLOCK_INITIALIZER;
static enum locking locking;
static pthread_barrier_t barrier;
static atomic_bool is_over;

static void die(const char *what)
{
    fprintf(stderr, "threads: %s\n", what);
    exit(1);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- requests ---- */

/* As RESP, from words separated by blanks. */
static size_t write_request(const char *text, char *out)
{
    char copy[REQUEST_MAX], *save = NULL, body[REQUEST_MAX];
    size_t n = 0, len = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *w = strtok_r(copy, " ", &save); w != NULL;
         w = strtok_r(NULL, " ", &save)) {
        len += (size_t)snprintf(body + len, sizeof body - len, "$%zu\r\n%s\r\n",
                                strlen(w), w);
        n++;
    }
    return (size_t)snprintf(out, REQUEST_MAX, "*%zu\r\n%s", n, body);
}

static double random_unit(uint64_t *random)
{
    return (double)(yn_random_next(random) >> 11) * 0x1p-53;
}

static double random_lon(uint64_t *random)
{
    return -10 + 40 * random_unit(random);
}

static double random_lat(uint64_t *random)
{
    return 35 + 25 * random_unit(random);
}

static size_t random_member(uint64_t *random, size_t n)
{
    return yn_random_next(random) % n;
}

static void write_geopos(uint64_t *random, size_t n, char *out)
{
    snprintf(out, REQUEST_MAX, "GEOPOS k m%zu", random_member(random, n));
}

static void write_geodist(uint64_t *random, size_t n, char *out)
{
    size_t a = random_member(random, n), b = random_member(random, n);
    snprintf(out, REQUEST_MAX, "GEODIST k m%zu m%zu", a, b);
}

/* Some twenty results of 100,000 members. */
static void write_geosearch(uint64_t *random, size_t n, char *out)
{
    (void)n;
    double lon = random_lon(random), lat = random_lat(random);
    snprintf(out, REQUEST_MAX,
             "GEOSEARCH k FROMLONLAT %.6f %.6f BYRADIUS 20 km ASC WITHDIST", lon, lat);
}

static void write_geoadd(uint64_t *random, size_t member, char *out)
{
    double lon = random_lon(random), lat = random_lat(random);
    snprintf(out, REQUEST_MAX, "GEOADD k %.6f %.6f m%zu", lon, lat, member);
}

static void write_move(uint64_t *random, size_t n, char *out)
{
    write_geoadd(random, random_member(random, n), out);
}

static const struct work works[] = {
    {"geopos", 0, write_geopos},
    {"geodist", 0, write_geodist},
    {"geosearch", 0, write_geosearch},
    {"mixed", 10, write_geopos},           /* nine GEOPOS, one GEOADD that moves */
    {"mixed-search", 10, write_geosearch}, /* nine GEOSEARCH, one GEOADD */
    {"half", 50, write_geopos},
    {"geoadd", 100, write_geopos},
};
#define N_WORKS (sizeof works / sizeof *works)

static void fill_requests(struct worker *worker, const struct work *work, size_t n)
{
    uint64_t random = 0x5851f42d4c957f2d * (worker->slot + 1);
    char text[REQUEST_MAX];
    size_t at = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
        if (yn_random_next(&random) % 100 < work->write_percent)
            write_move(&random, n, text);
        else
            work->write_read(&random, n, text);
        worker->start[i] = at;
        at += write_request(text, worker->requests + at);
    }
    worker->start[REQUESTS] = at;
}

/* ---- execution, as in conn.c ---- */

static bool is_read(const struct batch *batch, size_t i)
{
    return batch->spec[i] != NULL && (batch->spec[i]->flags & CMD_READONLY) != 0;
}

static void take_lock(struct worker *worker, bool shared)
{
    if (locking == LOCK_PTHREAD && shared)
        pthread_rwlock_rdlock(&system_lock);
    else if (locking == LOCK_PTHREAD)
        pthread_rwlock_wrlock(&system_lock);
    else if (locking != LOCK_NONE && shared)
        rwlock_lock_shared(&server.lock, worker->slot);
    else if (locking != LOCK_NONE)
        rwlock_lock_exclusive(&server.lock);
    worker->loop->locked = shared ? LOOP_SHARED : LOOP_EXCLUSIVE;
}

static void give_lock(struct worker *worker, bool shared)
{
    worker->loop->locked = LOOP_UNLOCKED;
    if (locking == LOCK_PTHREAD)
        pthread_rwlock_unlock(&system_lock);
    else if (locking != LOCK_NONE && shared)
        rwlock_unlock_shared(&server.lock, worker->slot);
    else if (locking != LOCK_NONE)
        rwlock_unlock_exclusive(&server.lock);
}

/* How many requests from i on go under one lock. */
static size_t end_of_run(const struct batch *batch, size_t i, bool *out_shared)
{
    size_t end = i;
    *out_shared = is_read(batch, i);
    if (locking == LOCK_RUN) {
        while (end < batch->n && is_read(batch, end) == *out_shared)
            end++;
        return end;
    }
    for (; end < batch->n; end++)
        *out_shared &= is_read(batch, end);
    return end;
}

static void run_batch(struct worker *worker, const char *data)
{
    struct loop *loop = worker->loop;
    struct batch *batch = &loop->batch;
    size_t i = 0;
    batch_resolve(batch, data);
    while (locking != LOCK_PARSE && i < batch->n) {
        bool shared;
        size_t end = end_of_run(batch, i, &shared);
        take_lock(worker, shared);
        if (i == 0)
            batch_look_ahead(batch, 0, batch->n, server.databases[0], loop_now_ms(loop));
        else
            batch_sets_changed(batch); /* others may have had the lock */
        do
            dispatch_run(worker->conn, batch, i++);
        while (i < end &&
               !(locking == LOCK_RUN && shared && rwlock_is_wanted(&server.lock)));
        if (i == batch->n)
            dispatch_settle_time(loop);
        give_lock(worker, shared);
    }
}

/* Sends what is in the connection's output, and receives it again. */
static void send_replies(struct worker *worker)
{
    const struct yn_buf *out = &worker->conn->out;
    char space[65536];
    for (size_t sent = 0, received = 0; received < out->len;) {
        size_t len = out->len - sent < 16384 ? out->len - sent : 16384;
        ssize_t n = len == 0 ? 0 : send(worker->sockets[0], out->data + sent, len, 0);
        ssize_t m = recv(worker->sockets[1], space, sizeof space, 0);
        if (n < 0 || m <= 0)
            die("the sockets fail");
        sent += (size_t)n;
        received += (size_t)m;
    }
}

/* Runs the requests of one read from a socket. */
static void run_requests(struct worker *worker, size_t first, size_t n)
{
    const struct yn_request_limits limits = {.max_args = 1024 * 1024,
                                             .max_bulk_len = 512 * 1024 * 1024,
                                             .max_inline_len = 64 * 1024,
                                             .authenticated = true};
    const char *data = worker->requests + worker->start[first];
    const char *end = worker->requests + worker->start[first + n];
    struct batch *batch = &worker->loop->batch;
    while (data < end) {
        size_t used = 0;
        if (batch_parse(batch, &worker->conn->request, data, (size_t)(end - data),
                        &limits, BATCH_MAX) != YN_REQUEST_DONE)
            die("a request that cannot be parsed");
        for (size_t i = 0; i < batch->n; i++)
            used += batch->request[i].used;
        run_batch(worker, data);
        batch_drop(batch);
        data += used;
    }
    if (locking == LOCK_PARSE)
        return;
    if (worker->conn->out.len == 0 || worker->conn->out.data[0] == '-')
        die("an error reply");
    if (worker->sockets[0] >= 0)
        send_replies(worker);
    worker->conn->out.len = 0;
}

/* Seconds that this thread has waited for a processor so far. */
static double delay_s(void)
{
    double ran_ns = 0, delayed_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL || fscanf(file, "%lf %lf", &ran_ns, &delayed_ns) != 2)
        die("cannot read /proc/thread-self/schedstat");
    fclose(file);
    return delayed_ns * 1e-9;
}

static bool goes_first;

static void go_first(int priority)
{
    struct sched_param param = {.sched_priority = priority};
    if (goes_first && pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
        die("--first needs the right to it");
}

/* A slice is too short to wait until the system has spread its threads over the
 * processors. */
static void spread(size_t i)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(i % (size_t)sysconf(_SC_NPROCESSORS_ONLN), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    size_t at = 0;
    worker->n_done = 0;
    worker->delayed_s = -delay_s();
    go_first(1);
    spread(worker->slot);
    pthread_barrier_wait(&barrier);
    double began_s = now_s();
    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        if (at + worker->batch > REQUESTS)
            at = 0;
        run_requests(worker, at, worker->batch);
        at += worker->batch;
        worker->n_done += worker->batch;
    }
    worker->seconds = now_s() - began_s;
    worker->delayed_s += delay_s();
    return NULL;
}

/* ---- a server without sockets ---- */

static struct worker *worker_new(size_t slot)
{
    struct worker *worker = calloc(1, sizeof *worker);
    struct loop *loop = calloc(1, sizeof *loop);
    struct conn *conn = calloc(1, sizeof *conn);
    char *requests = malloc((size_t)REQUESTS * REQUEST_MAX);
    if (worker == NULL || loop == NULL || conn == NULL || requests == NULL ||
        !loop_init(loop, &server, slot))
        die("out of memory");
    dispatch_configure(loop);
    *worker = (struct worker){.slot = slot,
                              .loop = loop,
                              .conn = conn,
                              .requests = requests,
                              .sockets = {-1, -1}};
    conn->loop = loop;
    conn->resp = 2;
    conn->may_all = true;
    list_init(&conn->jobs);
    yn_request_init(&conn->request);
    yn_buf_init(&conn->out);
    return worker;
}

static void server_start(size_t n_threads)
{
    if (!config_init(&server.config) || !cmd_register_data())
        die("out of memory");
    server.config.databases = 1;
    server.config.slowlog_log_slower_than_us = -1;
    list_init(&server.monitors);
    if (!databases_create(&server) || !rwlock_init(&server.lock, n_threads))
        die("out of memory");
    pubsub_init(&server.pubsub, 1);
    tracking_init(&server.tracking, 1);
    watches_init(&server.watches, 1);
    blocked_init(&server.blocked, 1);
}

static void fill_set(struct worker *worker, size_t n_members)
{
    uint64_t random = 1;
    char text[REQUEST_MAX];
    for (size_t i = 0; i < n_members; i++) {
        write_geoadd(&random, i, text);
        worker->start[0] = 0;
        worker->start[1] = write_request(text, worker->requests);
        run_requests(worker, 0, 1);
    }
}

/* ---- measuring ---- */

/* Seconds that processors were idle, all together, and that this process ran. */
static void read_cpu(double *out_idle_s, double *out_own_s)
{
    double user, nice, system, idle = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL ||
        fscanf(file, "cpu %lf %lf %lf %lf", &user, &nice, &system, &idle) != 4)
        die("cannot read /proc/stat");
    fclose(file);
    *out_idle_s = idle / (double)sysconf(_SC_CLK_TCK);
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    *out_own_s = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Requests a second of n threads in one slice; *out_others: the share of time that others
 * have taken away. With a processor for each thread that is what they waited for one. */
static double run_slice(struct worker **workers, size_t n, unsigned ms,
                        double *out_others)
{
    double idle_s[2], own_s[2], sum = 0, seconds = 0, delayed_s = 0;
    struct timespec slice = {ms / 1000, (long)(ms % 1000) * 1000000};
    atomic_store(&is_over, false);
    pthread_barrier_init(&barrier, NULL, (unsigned)n + 1);
    for (size_t i = 0; i < n; i++)
        if (pthread_create(&workers[i]->thread, NULL, run_worker, workers[i]) != 0)
            die("no thread");
    double began_s = now_s();
    read_cpu(&idle_s[0], &own_s[0]);
    pthread_barrier_wait(&barrier);
    nanosleep(&slice, NULL);
    atomic_store(&is_over, true);
    for (size_t i = 0; i < n; i++) {
        pthread_join(workers[i]->thread, NULL);
        sum += (double)workers[i]->n_done / workers[i]->seconds;
        seconds += workers[i]->seconds;
        delayed_s += workers[i]->delayed_s;
    }
    read_cpu(&idle_s[1], &own_s[1]);
    pthread_barrier_destroy(&barrier);
    size_t n_processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    double all_s = (now_s() - began_s) * (double)n_processors;
    *out_others = n <= n_processors
                      ? delayed_s / seconds
                      : 1 - (idle_s[1] - idle_s[0] + own_s[1] - own_s[0]) / all_s;
    return sum;
}

/* The first slice that others left alone; the last one when there is none. */
static double measure(const struct options *options, struct worker **workers, size_t n)
{
    double others = 1, per_s = 0;
    for (int i = 0; i < TRIES_MAX && (i == 0 || others > OTHERS_MAX); i++) {
        per_s = run_slice(workers, n, options->ms, &others);
        if (options->busy_too)
            break;
        if (others > OTHERS_MAX)
            usleep(50000);
    }
    return per_s;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static void print_head(const struct options *options)
{
    printf("| work | batch |");
    for (size_t t = 0; t < options->n_threads; t++)
        printf(t == 0 ? " %zu thread: k/s |" : " %zu |", options->threads[t]);
    printf(" a write waited | a read waited |\n| --- | --- |");
    for (size_t t = 0; t < options->n_threads; t++)
        printf(" --- |");
    printf(" --- | --- |\n");
}

/* A row: requests a second with the first number of threads, and how many times that with
 * the others. */
static void measure_row(const struct options *options, struct worker **workers,
                        const struct work *work, size_t batch)
{
    double per_s[LIST_MAX][ROUNDS_MAX];
    for (size_t i = 0; i < THREADS_MAX && workers[i] != NULL; i++) {
        workers[i]->batch = batch;
        fill_requests(workers[i], work, options->n_members);
    }
    struct rwlock_figures before = rwlock_figures(&server.lock);
    for (unsigned r = 0; r < options->rounds; r++) {
        for (size_t t = 0; t < options->n_threads; t++) {
            per_s[t][r] = measure(options, workers, options->threads[t]);
            if (t > 0)
                per_s[t][r] /= per_s[0][r];
        }
    }
    struct rwlock_figures after = rwlock_figures(&server.lock);
    printf("| %s | %zu | %.0f |", work->name, batch,
           median(per_s[0], options->rounds) / 1000);
    for (size_t t = 1; t < options->n_threads; t++)
        printf(" %.2f |", median(per_s[t], options->rounds));
    uint64_t n = after.n_exclusive - before.n_exclusive;
    printf(" %.0f %% | %.0f a thousand writes |\n",
           n == 0
               ? 0.0
               : 100.0 * (double)(after.n_exclusive_waited - before.n_exclusive_waited) /
                     (double)n,
           n == 0 ? 0.0
                  : 1000.0 * (double)(after.n_shared_waited - before.n_shared_waited) /
                        (double)n);
    fflush(stdout);
}

/* ---- options ---- */

static size_t parse_list(const char *text, size_t max, size_t *out)
{
    size_t n = 0;
    for (char *end; n < LIST_MAX; text = end + 1) {
        out[n] = strtoul(text, &end, 10);
        if (out[n] == 0 || out[n] > max)
            die("a number in a list is out of range");
        n++;
        if (*end == '\0')
            break;
    }
    return n;
}

static enum locking parse_locking(const char *text)
{
    static const char *const names[] = {"run", "batch", "pthread", "none", "parse"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum locking)i;
    die("--lock: run, batch, pthread, none or parse");
    return LOCK_RUN;
}

static void parse_options(int argc, char **argv, struct options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--busy-too") == 0) {
            options->busy_too = true;
            continue;
        }
        if (strcmp(name, "--sockets") == 0) {
            options->has_sockets = true;
            continue;
        }
        if (strcmp(name, "--first") == 0) {
            options->is_first = true;
            continue;
        }
        if (++i == argc)
            die("an option without a value; see the head of bench/threads.c");
        if (strcmp(name, "--ms") == 0)
            options->ms = (unsigned)atoi(argv[i]);
        else if (strcmp(name, "--rounds") == 0)
            options->rounds = (unsigned)atoi(argv[i]);
        else if (strcmp(name, "--threads") == 0)
            options->n_threads = parse_list(argv[i], THREADS_MAX, options->threads);
        else if (strcmp(name, "--batch") == 0)
            options->n_batch = parse_list(argv[i], REQUESTS, options->batch);
        else if (strcmp(name, "--work") == 0)
            options->work = argv[i];
        else if (strcmp(name, "--members") == 0)
            options->n_members = (size_t)atol(argv[i]);
        else if (strcmp(name, "--lock") == 0)
            options->locking = parse_locking(argv[i]);
        else
            die("no such option; see the head of bench/threads.c");
    }
    if (options->ms == 0 || options->rounds == 0 || options->rounds > ROUNDS_MAX ||
        options->n_members == 0)
        die("a number is out of range");
}

int main(int argc, char **argv)
{
    struct options options = {.ms = 100,
                              .rounds = 7,
                              .threads = {1, 2, 4, 8},
                              .n_threads = 4,
                              .batch = {1, 10, 100},
                              .n_batch = 3,
                              .n_members = 100000};
    struct worker *workers[THREADS_MAX + 1] = {NULL};
    size_t n_workers = 0;
    parse_options(argc, argv, &options);
    for (size_t t = 0; t < options.n_threads; t++)
        n_workers = options.threads[t] > n_workers ? options.threads[t] : n_workers;
    server_start(n_workers);
    goes_first = options.is_first;
    go_first(2); /* to end a slice it must run */
    for (size_t i = 0; i < n_workers; i++)
        workers[i] = worker_new(i);
    fill_set(workers[0], options.n_members);
    for (size_t i = 0; options.has_sockets && i < n_workers; i++)
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, workers[i]->sockets) != 0)
            die("no sockets");
    locking = options.locking;
    print_head(&options);
    for (size_t w = 0; w < N_WORKS; w++) {
        if (options.work != NULL ? strcmp(works[w].name, options.work) != 0
                                 : works[w].write_percent == 100)
            continue;
        for (size_t b = 0; b < options.n_batch; b++)
            measure_row(&options, workers, &works[w], options.batch[b]);
    }
    return 0;
}
