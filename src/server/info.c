/*
 * INFO: sections of "name:value" lines, in the names that exporters of Redis read.
 *
 * A section is a function in the table below. Lines about parts that this server has not
 * (replicas, forks, eviction, scripts) are there, since tools expect them, with what a
 * server of its own shows that does not use them: no_parts lists such lines.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/cmd_args.h"
#include "core/kernel.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/databases.h"
#include "server/host_server.h"
#include "server/memory.h"
#include "server/server.h"

static void line(struct yn_buf *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void line(struct yn_buf *out, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0)
        return;
    yn_buf_append(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    yn_buf_append(out, "\r\n", 2);
}

/* "1.49M" */
static const char *human(size_t bytes, char text[32])
{
    static const char units[] = "BKMGTP";
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit < sizeof units - 2) {
        value /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 32, "%zuB", bytes);
    else
        snprintf(text, 32, "%.2f%c", value, units[unit]);
    return text;
}

/* Lines that never change. */
static void no_parts(struct yn_buf *out, const char *const *lines)
{
    for (; *lines != NULL; lines++)
        line(out, "%s", *lines);
}

static double ratio(size_t a, size_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

/* ---- sections ---- */

/* "listener0:name=tcp,bind=127.0.0.1,port=6379" */
static void add_listener(const struct listener *listener, size_t i, struct yn_buf *out)
{
    const char *colon = strrchr(listener->name, ':');
    if (listener->is_unix || colon == NULL)
        line(out, "listener%zu:name=unix,bind=%s", i, listener->name);
    else
        line(out, "listener%zu:name=%s,bind=%.*s,port=%s", i,
             listener->is_tls ? "tls" : "tcp", (int)(colon - listener->name),
             listener->name, colon + 1);
}

static void add_server(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    struct utsname os;
    char executable[512];
    uint64_t up_s = (loop_current()->mono_ns - s->started_mono_ns) / 1000000000u;
    ssize_t len = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[len > 0 ? len : 0] = '\0';
    uname(&os);
    line(out, "redis_version:%s", SERVER_REDIS_VERSION);
    line(out, "yonder_version:%s", SERVER_VERSION);
    line(out, "yonder_kernel:%s", yn_kernel()->name);
    line(out, "redis_git_sha1:00000000");
    line(out, "redis_git_dirty:0");
    line(out, "redis_build_id:0");
    line(out, "redis_mode:standalone");
    line(out, "os:%s %s %s", os.sysname, os.release, os.machine);
    line(out, "arch_bits:%zu", sizeof(void *) * 8);
    line(out, "monotonic_clock:POSIX clock_gettime");
    line(out, "multiplexing_api:epoll");
    line(out, "atomicvar_api:c11-builtin");
    line(out, "gcc_version:%s", __VERSION__);
    line(out, "process_id:%d", (int)getpid());
    line(out, "process_supervised:%s", s->systemd.is_told ? "systemd" : "no");
    line(out, "run_id:%s", s->run_id);
    line(out, "tcp_port:%d", s->tcp_port);
    line(out, "server_time_usec:%lld", (long long)loop_now_ms(loop_current()) * 1000);
    line(out, "uptime_in_seconds:%llu", (unsigned long long)up_s);
    line(out, "uptime_in_days:%llu", (unsigned long long)(up_s / 86400));
    line(out, "hz:%lld", (long long)s->config.hz);
    line(out, "configured_hz:%lld", (long long)s->config.hz);
    line(out, "lru_clock:%lld",
         (long long)(loop_now_ms(loop_current()) / 1000 & 0xffffff));
    line(out, "executable:%s", executable);
    line(out, "config_file:%s", s->config_file);
    line(out, "io_threads_active:0");
    line(out, "yonder_threads:%zu", s->n_loops);
    for (size_t i = 0; i < s->n_listeners; i++)
        add_listener(&s->listeners[i], i, out);
}

static void add_clients(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    size_t max_in = 0, max_out = 0, n_pubsub = 0, n = 0;
    const struct link *conns = &s->conns;
    for (const struct link *l = conns->next; l != conns; l = l->next) {
        const struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (!conn_is_live(conn))
            continue;
        n++;
        n_pubsub += conn_n_subscriptions(conn) > 0;
        size_t in_cap = conn->shown.in_cap;
        max_in = in_cap > max_in ? in_cap : max_in;
        max_out = conn_queued(conn) > max_out ? conn_queued(conn) : max_out;
    }
    line(out, "connected_clients:%zu", n);
    line(out, "cluster_connections:0");
    line(out, "maxclients:%zu", s->maxclients);
    line(out, "client_recent_max_input_buffer:%zu", max_in);
    line(out, "client_recent_max_output_buffer:%zu", max_out);
    line(out, "blocked_clients:%zu", s->blocked.n_clients + s->pause.n_held);
    line(out, "tracking_clients:0");
    line(out, "pubsub_clients:%zu", n_pubsub);
    line(out, "watching_clients:%zu", s->watches.n_clients);
    line(out, "clients_in_timeout_table:%zu", s->blocked.deadlines.n);
    line(out, "total_watched_keys:%zu", s->watches.table.n);
    line(out, "total_blocking_keys:%zu", s->blocked.table.n);
    line(out, "total_blocking_keys_on_nokey:0");
}

static void add_pair(struct yn_buf *out, const char *name, size_t bytes)
{
    char text[32];
    line(out, "%s:%zu", name, bytes);
    line(out, "%s_human:%s", name, human(bytes, text));
}

static void add_used(const struct server *s, const struct memory_figures *m,
                     struct yn_buf *out)
{
    size_t peak = m->allocated > s->peak_memory ? m->allocated : s->peak_memory;
    struct server_shares shares = server_shares_of(s, m->allocated);
    add_pair(out, "used_memory", m->allocated);
    add_pair(out, "used_memory_rss", m->rss);
    add_pair(out, "used_memory_peak", peak);
    line(out, "used_memory_peak_perc:%.2f%%", 100 * ratio(m->allocated, peak));
    line(out, "used_memory_overhead:%zu", shares.overhead);
    line(out, "used_memory_startup:%zu", s->startup_memory);
    line(out, "used_memory_dataset:%zu", shares.dataset);
    line(out, "used_memory_dataset_perc:%.2f%%",
         100 * ratio(shares.dataset, shares.since_start));
}

static void add_memory(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    static const char *const scripts[] = {"used_memory_lua:0",
                                          "used_memory_vm_eval:0",
                                          "used_memory_lua_human:0B",
                                          "used_memory_scripts_eval:0",
                                          "number_of_cached_scripts:0",
                                          "number_of_functions:0",
                                          "number_of_libraries:0",
                                          "used_memory_vm_functions:0",
                                          "used_memory_vm_total:0",
                                          "used_memory_vm_total_human:0B",
                                          "used_memory_functions:0",
                                          "used_memory_scripts:0",
                                          "used_memory_scripts_human:0B",
                                          NULL};
    static const char *const others[] = {"mem_not_counted_for_evict:0",
                                         "mem_replication_backlog:0",
                                         "mem_total_replication_buffers:0",
                                         "mem_replica_full_sync_buffer:0",
                                         "mem_clients_slaves:0",
                                         NULL};
    struct memory_figures m = memory_measure();
    add_used(s, &m, out);
    line(out, "allocator_allocated:%zu", m.allocated);
    line(out, "allocator_active:%zu", m.active);
    line(out, "allocator_resident:%zu", m.resident);
    line(out, "allocator_muzzy:0");
    add_pair(out, "total_system_memory", memory_of_machine());
    no_parts(out, scripts);
    add_pair(out, "maxmemory", (size_t)s->config.maxmemory);
    line(out, "maxmemory_policy:noeviction");
    line(out, "allocator_frag_ratio:%.2f", ratio(m.active, m.allocated));
    line(out, "allocator_frag_bytes:%lld", (long long)m.active - (long long)m.allocated);
    line(out, "allocator_rss_ratio:%.2f", ratio(m.resident, m.active));
    line(out, "allocator_rss_bytes:%lld", (long long)m.resident - (long long)m.active);
    line(out, "rss_overhead_ratio:%.2f", ratio(m.rss, m.resident));
    line(out, "rss_overhead_bytes:%lld", (long long)m.rss - (long long)m.resident);
    line(out, "mem_fragmentation_ratio:%.2f", ratio(m.rss, m.allocated));
    line(out, "mem_fragmentation_bytes:%lld", (long long)m.rss - (long long)m.allocated);
    no_parts(out, others);
    line(out, "mem_clients_normal:%zu", server_shares_of(s, m.allocated).clients);
    line(out, "mem_cluster_links:0");
    line(out, "mem_aof_buffer:0");
    line(out, "mem_allocator:%s", memory_allocator_name());
    line(out, "mem_overhead_db_hashtable_rehashing:0");
    line(out, "active_defrag_running:0");
    line(out, "lazyfree_pending_objects:%zu", databases_n_pending((struct server *)s));
    line(out, "lazyfreed_objects:%llu",
         (unsigned long long)databases_n_freed((struct server *)s));
}

static void add_persistence(const struct server *s, const struct stats *c,
                            struct yn_buf *out)
{
    static const char *const before[] = {"loading:0",
                                         "async_loading:0",
                                         "current_cow_peak:0",
                                         "current_cow_size:0",
                                         "current_cow_size_age:0",
                                         "current_fork_perc:0.00",
                                         "current_save_keys_processed:0",
                                         "current_save_keys_total:0",
                                         NULL};
    static const char *const after[] = {"rdb_last_bgsave_status:ok",
                                        "rdb_last_bgsave_time_sec:-1",
                                        "rdb_current_bgsave_time_sec:-1",
                                        "rdb_saves:0",
                                        "rdb_last_cow_size:0",
                                        "rdb_last_load_keys_expired:0",
                                        "rdb_last_load_keys_loaded:0",
                                        "aof_enabled:0",
                                        "aof_rewrite_in_progress:0",
                                        "aof_rewrite_scheduled:0",
                                        "aof_last_rewrite_time_sec:-1",
                                        "aof_current_rewrite_time_sec:-1",
                                        "aof_last_bgrewrite_status:ok",
                                        "aof_rewrites:0",
                                        "aof_rewrites_consecutive_failures:0",
                                        "aof_last_write_status:ok",
                                        "aof_last_cow_size:0",
                                        "module_fork_in_progress:0",
                                        "module_fork_last_cow_size:0",
                                        NULL};
    no_parts(out, before);
    line(out, "rdb_changes_since_last_save:%llu", (unsigned long long)c->changes);
    line(out, "rdb_bgsave_in_progress:0");
    line(out, "rdb_last_save_time:%lld", (long long)s->started_ms / 1000);
    no_parts(out, after);
}

static void add_stats(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    struct pool_figures pool = pool_figures(&s->pool);
    static const char *const parts[] = {
        "latest_fork_usec:0",         "total_forks:0",
        "migrate_cached_sockets:0",   "slave_expires_tracked_keys:0",
        "active_defrag_hits:0",       "active_defrag_misses:0",
        "active_defrag_key_hits:0",   "active_defrag_key_misses:0",
        "total_active_defrag_time:0", "current_active_defrag_time:0",


        "unexpected_error_replies:0", NULL};
    uint64_t n_expired = 0;
    for (size_t i = 0; i < s->n_databases; i++)
        n_expired += keyspace_n_expired(s->databases[i]);
    line(out, "total_connections_received:%llu", (unsigned long long)c->connections);
    line(out, "total_commands_processed:%llu", (unsigned long long)c->commands);
    line(out, "instantaneous_ops_per_sec:%.0f", s->ops_per_s);
    line(out, "total_net_input_bytes:%llu", (unsigned long long)c->bytes_in);
    line(out, "total_net_output_bytes:%llu", (unsigned long long)c->bytes_out);
    line(out, "total_net_repl_input_bytes:0");
    line(out, "total_net_repl_output_bytes:0");
    line(out, "instantaneous_input_kbps:%.2f", s->in_kb_per_s);
    line(out, "instantaneous_output_kbps:%.2f", s->out_kb_per_s);
    line(out, "instantaneous_input_repl_kbps:0.00");
    line(out, "instantaneous_output_repl_kbps:0.00");
    line(out, "rejected_connections:%llu", (unsigned long long)c->rejected_connections);
    line(out, "sync_full:0");
    line(out, "sync_partial_ok:0");
    line(out, "sync_partial_err:0");
    line(out, "expired_keys:%llu", (unsigned long long)n_expired);
    line(out, "expired_stale_perc:0.00");
    line(out, "expired_time_cap_reached_count:%llu", (unsigned long long)s->expire_cuts);
    line(out, "expire_cycle_cpu_milliseconds:%llu",
         (unsigned long long)(s->expire_ns / 1000000));
    line(out, "evicted_keys:0");
    line(out, "evicted_clients:0");
    line(out, "evicted_scripts:0");
    line(out, "total_eviction_exceeded_time:0");
    line(out, "current_eviction_exceeded_time:0");
    line(out, "keyspace_hits:%llu", (unsigned long long)c->keyspace_hits);
    line(out, "keyspace_misses:%llu", (unsigned long long)c->keyspace_misses);
    line(out, "geo_searches:%llu", (unsigned long long)c->searches);
    line(out, "geo_leaves_visited:%llu", (unsigned long long)c->search_leaves);
    line(out, "geo_points_tested:%llu", (unsigned long long)c->search_tested);
    line(out, "geo_hits:%llu", (unsigned long long)c->search_hits);
    line(out, "offload_threads:%zu", pool.n_threads);
    line(out, "offload_running:%zu", pool.n_running);
    line(out, "offload_waiting:%zu", pool.n_waiting);
    line(out, "offload_done:%llu", (unsigned long long)c->jobs_apart);
    line(out, "offload_given_up:%llu", (unsigned long long)c->jobs_given_up);
    line(out, "offload_run_again:%llu", (unsigned long long)c->jobs_run_again);
    line(out, "search_timeouts:%llu", (unsigned long long)c->jobs_timed_out);
    line(out, "pubsub_channels:%zu", s->pubsub.topics[PUBSUB_CHANNEL].n);
    line(out, "pubsub_patterns:%zu", s->pubsub.topics[PUBSUB_PATTERN].n);
    line(out, "pubsubshard_channels:%zu", s->pubsub.topics[PUBSUB_SHARD].n);
    line(out, "tracking_total_keys:%zu", s->tracking.keys.n);
    line(out, "tracking_total_items:%zu", s->tracking.n_items);
    line(out, "tracking_total_prefixes:%zu", s->tracking.prefixes.n);
    no_parts(out, parts);
    line(out, "total_error_replies:%llu", (unsigned long long)c->errors);
    line(out, "dump_payload_sanitizations:0");
    line(out, "total_reads_processed:%llu", (unsigned long long)c->reads);
    line(out, "total_writes_processed:%llu", (unsigned long long)c->writes);
    line(out, "io_threaded_reads_processed:0");
    line(out, "io_threaded_writes_processed:0");
    line(out, "client_query_buffer_limit_disconnections:%llu",
         (unsigned long long)c->query_limit_kills);
    line(out, "client_output_buffer_limit_disconnections:%llu",
         (unsigned long long)c->output_limit_kills);
    line(out, "reply_buffer_shrinks:0");
    line(out, "reply_buffer_expands:0");
    line(out, "acl_access_denied_auth:%llu", (unsigned long long)c->denied_logins);
    line(out, "acl_access_denied_cmd:%llu", (unsigned long long)c->denied_commands);
    line(out, "acl_access_denied_key:%llu", (unsigned long long)c->denied_keys);
    line(out, "acl_access_denied_channel:%llu", (unsigned long long)c->denied_channels);
}

static void add_replication(const struct server *s, const struct stats *c,
                            struct yn_buf *out)
{
    (void)c;
    line(out, "role:master");
    line(out, "connected_slaves:0");
    line(out, "master_failover_state:no-failover");
    line(out, "master_replid:%s", s->replication_id);
    line(out, "master_replid2:%s", s->old_replication_id);
    line(out, "master_repl_offset:0");
    line(out, "second_repl_offset:-1");
    line(out, "repl_backlog_active:0");
    line(out, "repl_backlog_size:1048576");
    line(out, "repl_backlog_first_byte_offset:0");
    line(out, "repl_backlog_histlen:0");
}

static void add_times(struct yn_buf *out, const char *suffix, int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    line(out, "used_cpu_sys%s:%ld.%06ld", suffix, (long)usage.ru_stime.tv_sec,
         (long)usage.ru_stime.tv_usec);
    line(out, "used_cpu_user%s:%ld.%06ld", suffix, (long)usage.ru_utime.tv_sec,
         (long)usage.ru_utime.tv_usec);
}

static void add_cpu(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    (void)s;
    add_times(out, "", RUSAGE_SELF);
    add_times(out, "_children", RUSAGE_CHILDREN);
    add_times(out, "_main_thread", RUSAGE_THREAD);
}

static void add_modules(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    (void)s;
    (void)out;
}

static void add_commandstats(const struct server *s, const struct stats *c,
                             struct yn_buf *out)
{
    (void)s;
    for (size_t i = 0; i < STATS_COMMAND_SLOTS; i++) {
        const struct stats_command *m = &c->command[i];
        if (m->spec == NULL || m->calls + m->rejected + m->failed == 0)
            continue;
        line(out,
             "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
             "failed_calls=%llu",
             m->spec->name, (unsigned long long)m->calls,
             (unsigned long long)(m->time_ns / 1000),
             m->calls > 0 ? (double)m->time_ns / 1000 / (double)m->calls : 0.0,
             (unsigned long long)m->rejected, (unsigned long long)m->failed);
    }
}

static void add_errorstats(const struct server *s, const struct stats *c,
                           struct yn_buf *out)
{
    (void)s;
    for (size_t i = 0; i < c->n_errors; i++)
        line(out, "errorstat_%s:count=%llu", c->error[i].code,
             (unsigned long long)c->error[i].count);
}

/* "p50=0.123,p99=1.003,p99.9=9.087", in microseconds. */
static void add_percentiles(const struct server *s, const struct stats_command *c,
                            struct yn_buf *out)
{
    char text[512];
    size_t len = 0;
    const char *at = s->config.latency_percentiles;
    for (char *end; len < sizeof text - 64; at = end) {
        double share = strtod(at, &end);
        if (end == at)
            break;
        len += (size_t)snprintf(text + len, sizeof text - len, "%sp%.9g=%.3f",
                                len > 0 ? "," : "", share,
                                yn_histogram_quantile(c->latency_ns, share / 100) / 1000);
    }
    text[len] = '\0';
    line(out, "latency_percentiles_usec_%s:%s", c->spec->name, text);
}

static void add_latencystats(const struct server *s, const struct stats *c,
                             struct yn_buf *out)
{
    for (size_t i = 0; s->config.latency_tracking && i < STATS_COMMAND_SLOTS; i++) {
        const struct stats_command *m = &c->command[i];
        if (m->spec != NULL && m->latency_ns != NULL && m->latency_ns->n > 0)
            add_percentiles(s, m, out);
    }
}

static void add_cluster(const struct server *s, const struct stats *c, struct yn_buf *out)
{
    (void)c;
    (void)s;
    line(out, "cluster_enabled:0");
}

static void add_keyspace(const struct server *s, const struct stats *c,
                         struct yn_buf *out)
{
    (void)c;
    for (size_t i = 0; i < s->n_databases; i++) {
        const struct keyspace *ks = s->databases[i];
        if (keyspace_count(ks) > 0)
            line(out, "db%zu:keys=%zu,expires=%zu,avg_ttl=%lld,subexpiry=0", i,
                 keyspace_count(ks), keyspace_n_volatile(ks),
                 (long long)keyspace_mean_ttl_ms(ks, loop_now_ms(loop_current())));
    }
}

struct section {
    const char *name;
    const char *title;
    bool is_default;
    void (*add)(const struct server *server, const struct stats *stats,
                struct yn_buf *out);
};

static const struct section sections[] = {
    {"server", "Server", true, add_server},
    {"clients", "Clients", true, add_clients},
    {"memory", "Memory", true, add_memory},
    {"persistence", "Persistence", true, add_persistence},
    {"stats", "Stats", true, add_stats},
    {"replication", "Replication", true, add_replication},
    {"cpu", "CPU", true, add_cpu},
    {"modules", "Modules", true, add_modules},
    {"commandstats", "Commandstats", false, add_commandstats},
    {"errorstats", "Errorstats", true, add_errorstats},
    {"latencystats", "Latencystats", false, add_latencystats},
    {"cluster", "Cluster", true, add_cluster},
    {"keyspace", "Keyspace", true, add_keyspace},
};

static bool is_wanted(const struct cmd_call *call, const struct section *section)
{
    if (call->argc == 1)
        return section->is_default;
    for (size_t i = 1; i < call->argc; i++) {
        struct yn_bytes word = call->argv[i];
        if (cmd_word_is(word, section->name) || cmd_word_is(word, "all") ||
            cmd_word_is(word, "everything") ||
            (section->is_default && cmd_word_is(word, "default")))
            return true;
    }
    return false;
}

void info_cmd(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_buf text;
    struct stats *stats = server_stats(h->loop->server);
    yn_buf_init(&text);
    text.failed = stats == NULL;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (text.failed || !is_wanted(call, &sections[i]))
            continue;
        if (text.len > 0)
            yn_buf_append(&text, "\r\n", 2);
        line(&text, "# %s", sections[i].title);
        sections[i].add(h->loop->server, stats, &text);
    }
    if (text.failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        yn_write_verbatim(h->out, h->resp, "txt", (struct yn_bytes){text.data, text.len});
    yn_buf_clear(&text);
    server_stats_free(stats);
}
