#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/acl_conns.h"
#include "server/acl_file.h"
#include "server/blob.h"
#include "server/blocking.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/databases.h"
#include "server/dispatch.h"
#include "server/log.h"
#include "server/memory.h"
#include "server/notify.h"
#include "server/tls.h"

/* Descriptors that are not clients: listeners, log, libuv's own. */
#define RESERVED_FDS 64
/* How long a stopping server waits for clients to take their replies, and for those that
 * have taken all to hang up. */
#define STOP_FLUSH_NS ((uint64_t)1500 * 1000 * 1000)
#define STOP_LINGER_NS ((uint64_t)150 * 1000 * 1000)
/* Expired and flushed keys are removed in slices of this length, with such pauses while
 * there are more: a fifth of the time at most, and no request waits longer than this. */
#define CLEAN_BUDGET_NS ((uint64_t)250 * 1000)
#define CLEAN_PAUSE_MS 1
/* More threads than this are for those who ask for them. */
#define THREADS_DEFAULT_MAX 8
/* How long the block of a large value is kept for the next one, at the least. */
#define TRIM_NS ((uint64_t)1000 * 1000 * 1000)

/* ---- start ---- */

static bool make_id(char id[SERVER_RUN_ID_LEN + 1])
{
    unsigned char bytes[SERVER_RUN_ID_LEN / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

void server_change_replication_id(struct server *server)
{
    memcpy(server->old_replication_id, server->replication_id,
           sizeof server->old_replication_id);
    make_id(server->replication_id);
}

static bool fill_random(struct server *server)
{
    if (!make_id(server->run_id) || !make_id(server->replication_id) ||
        getrandom(&server->hash_seed, sizeof server->hash_seed, 0) !=
            (ssize_t)sizeof server->hash_seed)
        return false;
    memset(server->old_replication_id, '0', SERVER_RUN_ID_LEN);
    if (server->hash_seed == 0)
        server->hash_seed = 1;
    return true;
}

/* maxclients needs as many descriptors: raises the limit, or lowers maxclients. */
static void fit_maxclients(struct server *server)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)server->config.maxclients + RESERVED_FDS;
    server->maxclients = (size_t)server->config.maxclients;
    server->maxclients_asked = server->config.maxclients;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    struct rlimit raised = limit;
    raised.rlim_cur = wanted;
    if (raised.rlim_max < wanted)
        raised.rlim_max = wanted;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        return;
    raised.rlim_cur = raised.rlim_max = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    if (limit.rlim_cur >= wanted)
        return;
    server->maxclients =
        limit.rlim_cur > RESERVED_FDS ? limit.rlim_cur - RESERVED_FDS : 1;
    log_warning("maxclients is %zu instead of %lld: the limit on open files is %llu",
                server->maxclients, (long long)server->config.maxclients,
                (unsigned long long)limit.rlim_cur);
}

static bool write_pidfile(struct server *server)
{
    if (server->config.pidfile[0] == '\0')
        return true;
    FILE *file = fopen(server->config.pidfile, "we");
    if (file == NULL) {
        log_warning("could not write pidfile \"%s\": %s", server->config.pidfile,
                    strerror(errno));
        return false;
    }
    fprintf(file, "%d\n", (int)getpid());
    server->has_pidfile = true;
    return fclose(file) == 0;
}

/* ---- the cron ---- */

/* One slice. Returns false when there is more to do. */
static bool clean(struct server *server)
{
    return databases_clean(server, loop_update_mono(&server->loops[0]) + CLEAN_BUDGET_NS);
}

/* The same, counted. */
static bool clean_counted(struct server *server)
{
    struct loop *loop = &server->loops[0];
    loop_lock(loop, LOOP_EXCLUSIVE);
    uint64_t began_ns = loop_update_mono(loop);
    bool is_done = clean(server);
    uint64_t duration_ns = loop_update_mono(loop) - began_ns;
    int64_t threshold_ms = server->config.latency_monitor_threshold_ms;
    server->expire_ns += duration_ns;
    server->expire_cuts += !is_done;
    if (threshold_ms > 0 && duration_ns / 1000000 >= (uint64_t)threshold_ms)
        latency_add(&server->latency, LATENCY_EXPIRE_CYCLE, loop_now_ms(loop) / 1000,
                    duration_ns / 1000000);
    loop_unlock(loop);
    return is_done;
}

static void on_clean_timer(uv_timer_t *timer)
{
    if (clean_counted(timer->data))
        uv_timer_stop(timer);
}

struct stats *server_stats(const struct server *server)
{
    struct stats *total = calloc(1, sizeof *total);
    for (size_t i = 0; total != NULL && i < server->n_loops; i++)
        stats_merge(total, &server->loops[i].stats);
    return total;
}

void server_stats_free(struct stats *stats)
{
    if (stats != NULL)
        stats_clear(stats);
    free(stats);
}

static void sample_rates(struct server *server)
{
    uint64_t span_ns = server->loops[0].mono_ns - server->sample_ns;
    uint64_t commands = 0, in = 0, out = 0;
    if (span_ns < UINT64_C(1000000000))
        return;
    for (size_t i = 0; i < server->n_loops; i++) {
        const struct stats *s = &server->loops[i].stats;
        commands += s->commands;
        in += s->bytes_in;
        out += s->bytes_out;
    }
    double span_s = (double)span_ns / 1e9;
    server->ops_per_s = (double)(commands - server->sample_commands) / span_s;
    server->in_kb_per_s = (double)(in - server->sample_in) / 1024 / span_s;
    server->out_kb_per_s = (double)(out - server->sample_out) / 1024 / span_s;
    server->sample_ns = server->loops[0].mono_ns;
    server->sample_commands = commands;
    server->sample_in = in;
    server->sample_out = out;
}

void server_note_readers(struct server *server)
{
    server->reads_are_noted = !list_is_empty(&server->monitors) ||
                              (server->config.notify_classes & NOTIFY_MISS) != 0 ||
                              pause_is_on(&server->pause) || server->is_over_memory;
}

static bool note_memory(struct server *server, size_t used)
{
    if (used > server->peak_memory)
        server->peak_memory = used;
    server->is_over_memory =
        server->config.maxmemory > 0 && used > (size_t)server->config.maxmemory;
    server_note_readers(server);
    return server->is_over_memory;
}

struct server_shares server_shares_of(const struct server *server, size_t allocated)
{
    struct server_shares shares = {.clients = 0};
    const struct link *conns = &server->conns;
    for (const struct link *l = conns->next; l != conns; l = l->next)
        shares.clients += conn_memory(LIST_ITEM(l, struct conn, in_conns));
    shares.overhead = server->startup_memory + shares.clients;
    for (size_t i = 0; i < server->n_databases; i++)
        shares.overhead += keyspace_overhead(server->databases[i]);
    if (allocated > shares.overhead)
        shares.dataset = allocated - shares.overhead;
    if (allocated > server->startup_memory)
        shares.since_start = allocated - server->startup_memory;
    return shares;
}

bool server_check_memory(struct server *server)
{
    if (!note_memory(server, memory_allocated()))
        return false;
    /* Nobody is refused for the sake of keys that are gone already. */
    blob_trim(true);
    databases_collect(server);
    return note_memory(server, memory_allocated());
}

/* About once a second. */
static void trim(struct server *server)
{
    if (server->loops[0].mono_ns - server->trimmed_ns < TRIM_NS)
        return;
    server->trimmed_ns = server->loops[0].mono_ns;
    blob_trim(false);
}

/* Tells the service manager that the server is alive, if it waits for that, when each
 * loop has run since the last time. One that hangs keeps it from being told; one that
 * waits for the lock for ever does, too, and so does this one. */
static void sign(struct server *server)
{
    if (server->systemd.watchdog_ns == 0)
        return;
    for (size_t i = 0; i < server->n_loops; i++) {
        struct loop *loop = &server->loops[i];
        if (atomic_load_explicit(&loop->n_beats, memory_order_relaxed) ==
            loop->n_beats_seen)
            return;
    }
    for (size_t i = 0; i < server->n_loops; i++) {
        struct loop *loop = &server->loops[i];
        loop->n_beats_seen = atomic_load_explicit(&loop->n_beats, memory_order_relaxed);
    }
    systemd_sign(&server->systemd, server->loops[0].mono_ns);
}

static void on_cron(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct loop *loop = &server->loops[0];
    loop_update_clock(loop);
    if (!uv_is_active((uv_handle_t *)&server->clean_timer) && !clean_counted(server))
        uv_timer_start(&server->clean_timer, on_clean_timer, CLEAN_PAUSE_MS,
                       CLEAN_PAUSE_MS);
    size_t used = memory_allocated(); /* takes its time: not under the lock */
    loop_lock(loop, LOOP_EXCLUSIVE);
    note_memory(server, used);
    sample_rates(server);
    loop_unlock(loop);
    trim(server);
    sign(server);
}

static void set_cron(struct server *server)
{
    uint64_t period_ms = 1000 / (uint64_t)server->config.hz;
    /* Starting it again puts it off: with CONFIG SET once a period it would never run. */
    if (uv_is_active((uv_handle_t *)&server->cron))
        uv_timer_set_repeat(&server->cron, period_ms);
    else
        uv_timer_start(&server->cron, on_cron, period_ms, period_ms);
}

static void begin_stop(struct server *server);

static void on_poke(struct loop *loop, struct loop_note *note)
{
    struct server *server = LIST_ITEM(note, struct server, poke);
    server->is_poked = false;
    loop_lock(loop, LOOP_EXCLUSIVE);
    if (!server->has_ended) {
        set_cron(server);
        blocking_set_timer(server);
        pause_set_timer(server);
    }
    loop_unlock(loop);
    if (server->is_stopping)
        begin_stop(server);
}

void server_poke(struct server *server)
{
    if (!atomic_exchange(&server->is_poked, true))
        loop_post(&server->loops[0], &server->poke);
}

bool server_apply_password(struct server *server)
{
    const char *text = server->config.requirepass;
    bool ok =
        acl_set_default_password(&server->acl, (struct yn_bytes){text, strlen(text)});
    acl_conns_refresh(server);
    return ok;
}

void server_apply_config(struct server *server)
{
    server->config_version++;
    server->acl.new_all_channels = server->config.acl_pubsub_default != 0;
    acl_log_shorten(&server->acl_log, (size_t)server->config.acllog_max_len);
    log_set_level((enum log_level)server->config.loglevel);
    if (server->maxclients_asked != server->config.maxclients)
        fit_maxclients(server);
    for (size_t i = 0; i < server->n_loops; i++)
        dispatch_configure(&server->loops[i]);
    server_check_memory(server);
    server_poke(server);
}

/* ---- stop ---- */

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Has every loop do something, this one at once. */
static void tell_loops(struct server *server,
                       void (*run)(struct loop *loop, struct loop_note *note))
{
    for (size_t i = 1; i < server->n_loops; i++) {
        struct loop_note *note = calloc(1, sizeof *note);
        if (note == NULL) {
            log_warning("could not stop in good order: out of memory");
            _exit(1);
        }
        note->run = run;
        loop_post(&server->loops[i], note);
    }
    run(&server->loops[0], NULL);
}

static void on_end(struct loop *loop, struct loop_note *note)
{
    loop_end(loop);
    free(note);
}

/* With its last handle closed a loop ends. */
static void end_loops(struct server *server)
{
    if (server->has_ended)
        return;
    server->has_ended = true;
    close_handle((uv_handle_t *)&server->cron);
    close_handle((uv_handle_t *)&server->clean_timer);
    close_handle((uv_handle_t *)&server->stop_timer);
    close_handle((uv_handle_t *)&server->pause.timer);
    close_handle((uv_handle_t *)&server->wait_timer);
    close_handle((uv_handle_t *)&server->signals[0]);
    close_handle((uv_handle_t *)&server->signals[1]);
    tell_loops(server, on_end);
}

static bool are_conns_done(struct server *server, uint64_t waited_ns)
{
    const struct link *conns = &server->conns;
    bool is_done = true;
    loop_lock(&server->loops[0], LOOP_SHARED);
    for (const struct link *l = conns->next; l != conns; l = l->next) {
        const struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn->state == CONN_OPEN ||
            (conn->state == CONN_LINGERING && waited_ns < STOP_LINGER_NS))
            is_done = false;
    }
    loop_unlock(&server->loops[0]);
    return is_done;
}

static void on_stop_timer(uv_timer_t *timer)
{
    struct server *server = timer->data;
    uint64_t waited_ns = loop_update_mono(&server->loops[0]) - server->stop_began_ns;
    if (are_conns_done(server, waited_ns) || waited_ns >= STOP_FLUSH_NS)
        end_loops(server);
}

static void on_finish(struct loop *loop, struct loop_note *note)
{
    for (struct link *l = loop->conns.next; l != &loop->conns; l = l->next)
        conn_finish(LIST_ITEM(l, struct conn, in_loop));
    free(note);
}

static void begin_stop(struct server *server)
{
    if (server->stop_began_ns != 0)
        return;
    server->stop_began_ns = loop_update_mono(&server->loops[0]);
    systemd_tell(&server->systemd, "STOPPING=1\nSTATUS=Finishing replies");
    listener_close_all(server);
    tell_loops(server, on_finish);
    uv_timer_start(&server->stop_timer, on_stop_timer, 10, 20);
}

void server_stop(struct server *server)
{
    server->is_stopping = true;
    server_poke(server);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *server = handle->data;
    const char *name = number == SIGINT ? "SIGINT" : "SIGTERM";
    if (server->is_stopping) {
        log_warning("received %s again: stopping at once", name);
        begin_stop(server);
        end_loops(server);
        return;
    }
    log_notice("received %s: stopping", name);
    server_stop(server);
}

/* ---- life ---- */

static void start_handles(struct server *server)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    uv_loop_t *uv = &server->loops[0].uv;
    uv_timer_init(uv, &server->cron);
    uv_timer_init(uv, &server->clean_timer);
    uv_timer_init(uv, &server->stop_timer);
    pause_init(&server->pause, uv);
    server->cron.data = server->clean_timer.data = server->stop_timer.data = server;
    server->pause.timer.data = server;
    for (size_t i = 0; i < 2; i++) {
        uv_signal_init(uv, &server->signals[i]);
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
}

static bool register_own(void)
{
    return cmd_register(connection_table) && cmd_register(server_table) &&
           cmd_register(pubsub_table) && cmd_register(transaction_table) &&
           cmd_register(inspect_table) && cmd_register(acl_table);
}

/* As many loops as the configuration says, or as there are processors. */
static bool create_loops(struct server *server)
{
    size_t n = (size_t)server->config.threads;
    if (n == 0) {
        n = uv_available_parallelism();
        n = n > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX : n;
    }
    list_init(&server->conns);
    server->loops = calloc(n, sizeof *server->loops);
    if (server->loops == NULL || !rwlock_init(&server->lock, n) ||
        uv_mutex_init(&server->notes_mutex) != 0 ||
        uv_mutex_init(&server->views_mutex) != 0)
        return false;
    for (; server->n_loops < n; server->n_loops++) {
        if (!loop_init(&server->loops[server->n_loops], server, server->n_loops))
            return false;
    }
    return true;
}

/* The users of the aclfile or of the configuration file, and the default user. */
static bool load_users(struct server *server)
{
    struct yn_buf errors;
    yn_buf_init(&errors);
    acl_commands_init();
    acl_log_init(&server->acl_log);
    bool ok = acl_file_load(&server->config, &server->acl, &errors);
    if (!ok)
        log_warning("could not start: users: %.*s", (int)errors.len,
                    errors.len > 0 ? errors.data : "");
    yn_buf_clear(&errors);
    return ok;
}

static void run_loop(void *arg)
{
    loop_run(arg);
}

static bool start_threads(struct server *server)
{
    for (size_t i = 1; i < server->n_loops; i++) {
        struct loop *loop = &server->loops[i];
        int err = uv_thread_create(&loop->thread, run_loop, loop);
        if (err != 0) {
            log_warning("could not start thread %zu of %zu: %s", i + 1, server->n_loops,
                        uv_strerror(err));
            return false;
        }
        loop->has_thread = true;
    }
    return true;
}

static bool prepare_tls(struct server *server)
{
    char error[TLS_ERROR_MAX];
    bool is_wanted = server->config.tls_port > 0;
    for (size_t i = 0; i < LISTENER_MAX; i++)
        is_wanted |= systemd_socket_is(i, "tls");
    if (!is_wanted)
        return true;
    server->tls = tls_context_new(&server->config, error);
    if (server->tls == NULL)
        log_warning("could not start: %s", error);
    return server->tls != NULL;
}

bool server_init(struct server *server, struct config *config)
{
    server->config = *config;
    memset(config, 0, sizeof *config);
    signal(SIGPIPE, SIG_IGN);
    server->active_expire = true;
    server->spare_fd = -1;
    server->poke.run = on_poke;
    server->zset_options = (struct yn_options){.allocator = NULL};
    list_init(&server->monitors);
    slowlog_init(&server->slowlog);
    if (!fill_random(server) || !cmd_register_data() || !register_own() ||
        !databases_create(server) ||
        !pool_init(&server->pool, (size_t)server->config.worker_threads) ||
        !create_loops(server)) {
        log_warning("could not start: out of memory or descriptors");
        return false;
    }
    if (!load_users(server) || !prepare_tls(server))
        return false;
    server->zset_options.hash_seed = server->hash_seed;
    pubsub_init(&server->pubsub, server->hash_seed);
    tracking_init(&server->tracking, server->hash_seed);
    watches_init(&server->watches, server->hash_seed);
    blocking_init(server);
    server->started_ms = loop_now_ms(&server->loops[0]);
    server->started_mono_ns = server->sample_ns = server->loops[0].mono_ns;
    server->startup_memory = memory_allocated();
    start_handles(server);
    server_apply_config(server);
    if (!listener_open_all(server) || !write_pidfile(server) || !start_threads(server)) {
        listener_close_all(server);
        end_loops(server);
        server_run(server);
        return false;
    }
    systemd_init(&server->systemd, (enum systemd_supervised)server->config.supervised);
    systemd_tell(&server->systemd, "READY=1\nSTATUS=Serving clients");
    return true;
}

void server_run(struct server *server)
{
    loop_run(&server->loops[0]);
    for (size_t i = 1; i < server->n_loops; i++) {
        if (server->loops[i].has_thread)
            uv_thread_join(&server->loops[i].thread);
        else
            loop_run(&server->loops[i]); /* to close its handles */
    }
    if (server->stop_began_ns != 0)
        log_notice("stopped");
}

void server_clear(struct server *server)
{
    if (server->has_pidfile)
        unlink(server->config.pidfile);
    systemd_clear(&server->systemd);
    acl_log_clear(&server->acl_log);
    acl_clear(&server->acl);
    pubsub_clear(&server->pubsub);
    slowlog_clear(&server->slowlog);
    tracking_clear(&server->tracking);
    watches_clear(&server->watches);
    blocked_clear(&server->blocked);
    pool_clear(&server->pool); /* a thread of it may still be about to wake a loop */
    for (size_t i = 0; i < server->n_loops; i++)
        loop_clear(&server->loops[i]);
    free(server->loops);
    databases_clear(server);
    tls_context_free(server->tls);
    rwlock_clear(&server->lock);
    uv_mutex_destroy(&server->notes_mutex);
    uv_mutex_destroy(&server->views_mutex);
    blob_trim(true);
    config_clear(&server->config);
}
