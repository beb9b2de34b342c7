/*
 * INFO: sections of "name:value" lines, in the names that exporters of Redis read.
 *
 * A section is a function in the table below. Figures that this server has no part
 * for (replicas, forks, eviction) are left out, or are the constant that is true
 * here, where tools expect the line.
 */
#include <stdarg.h>
#include <stdio.h>
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

static double ratio(size_t a, size_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

/* ---- sections ---- */

static void add_server(const struct server *s, struct yn_buf *out)
{
    struct utsname os;
    char executable[512];
    uint64_t up_s = (s->loop.mono_ns - s->started_mono_ns) / 1000000000u;
    ssize_t len = readlink("/proc/self/exe", executable, sizeof executable - 1);
    executable[len > 0 ? len : 0] = '\0';
    uname(&os);
    line(out, "redis_version:%s", SERVER_REDIS_VERSION);
    line(out, "yonder_version:%s", SERVER_VERSION);
    line(out, "yonder_kernel:%s", yn_kernel()->name);
    line(out, "redis_mode:standalone");
    line(out, "os:%s %s %s", os.sysname, os.release, os.machine);
    line(out, "arch_bits:%zu", sizeof(void *) * 8);
    line(out, "multiplexing_api:epoll");
    line(out, "gcc_version:%s", __VERSION__);
    line(out, "process_id:%d", (int)getpid());
    line(out, "run_id:%s", s->run_id);
    line(out, "tcp_port:%d", s->tcp_port);
    line(out, "server_time_usec:%lld", (long long)loop_now_ms(&s->loop) * 1000);
    line(out, "uptime_in_seconds:%llu", (unsigned long long)up_s);
    line(out, "uptime_in_days:%llu", (unsigned long long)(up_s / 86400));
    line(out, "hz:%lld", (long long)s->config.hz);
    line(out, "configured_hz:%lld", (long long)s->config.hz);
    line(out, "executable:%s", executable);
    line(out, "config_file:%s", s->config_file);
}

static void add_clients(const struct server *s, struct yn_buf *out)
{
    size_t max_in = 0, max_out = 0, n_pubsub = 0, n = 0;
    const struct link *conns = &s->loop.conns;
    for (const struct link *l = conns->next; l != conns; l = l->next) {
        const struct conn *conn = LIST_ITEM(l, struct conn, in_conns);
        if (conn->state != CONN_OPEN)
            continue;
        n++;
        n_pubsub += conn_n_subscriptions(conn) > 0;
        max_in = conn->in.cap > max_in ? conn->in.cap : max_in;
        max_out = conn_queued(conn) > max_out ? conn_queued(conn) : max_out;
    }
    line(out, "connected_clients:%zu", n);
    line(out, "cluster_connections:0");
    line(out, "maxclients:%zu", s->maxclients);
    line(out, "client_recent_max_input_buffer:%zu", max_in);
    line(out, "client_recent_max_output_buffer:%zu", max_out);
    line(out, "blocked_clients:%zu", s->blocked.n_clients);
    line(out, "tracking_clients:0");
    line(out, "pubsub_clients:%zu", n_pubsub);
    line(out, "watching_clients:%zu", s->watches.n_clients);
    line(out, "clients_in_timeout_table:%zu", s->blocked.deadlines.n);
    line(out, "total_watched_keys:%zu", s->watches.table.n);
    line(out, "total_blocking_keys:%zu", s->blocked.table.n);
    line(out, "total_blocking_keys_on_nokey:0");
}

static void add_memory(const struct server *s, struct yn_buf *out)
{
    struct memory_figures m = memory_measure();
    size_t peak = m.allocated > s->peak_memory ? m.allocated : s->peak_memory;
    size_t machine = memory_of_machine();
    char text[32];
    line(out, "used_memory:%zu", m.allocated);
    line(out, "used_memory_human:%s", human(m.allocated, text));
    line(out, "used_memory_rss:%zu", m.rss);
    line(out, "used_memory_rss_human:%s", human(m.rss, text));
    line(out, "used_memory_peak:%zu", peak);
    line(out, "used_memory_peak_human:%s", human(peak, text));
    line(out, "used_memory_peak_perc:%.2f%%", 100 * ratio(m.allocated, peak));
    line(out, "allocator_allocated:%zu", m.allocated);
    line(out, "allocator_active:%zu", m.active);
    line(out, "allocator_resident:%zu", m.resident);
    line(out, "total_system_memory:%zu", machine);
    line(out, "total_system_memory_human:%s", human(machine, text));
    line(out, "maxmemory:%lld", (long long)s->config.maxmemory);
    line(out, "maxmemory_human:%s", human((size_t)s->config.maxmemory, text));
    line(out, "maxmemory_policy:noeviction");
    line(out, "allocator_frag_ratio:%.2f", ratio(m.active, m.allocated));
    line(out, "allocator_rss_ratio:%.2f", ratio(m.resident, m.active));
    line(out, "mem_fragmentation_ratio:%.2f", ratio(m.rss, m.allocated));
    line(out, "mem_fragmentation_bytes:%lld", (long long)m.rss - (long long)m.allocated);
    line(out, "mem_allocator:%s", memory_allocator_name());
    line(out, "lazyfree_pending_objects:%zu", databases_n_pending((struct server *)s));
    line(out, "lazyfreed_objects:%llu",
         (unsigned long long)databases_n_freed((struct server *)s));
}

static void add_persistence(const struct server *s, struct yn_buf *out)
{
    line(out, "loading:0");
    line(out, "async_loading:0");
    line(out, "rdb_changes_since_last_save:%llu",
         (unsigned long long)s->loop.stats.changes);
    line(out, "rdb_bgsave_in_progress:0");
    line(out, "rdb_last_save_time:%lld", (long long)s->started_ms / 1000);
    line(out, "rdb_last_bgsave_status:ok");
    line(out, "rdb_last_bgsave_time_sec:-1");
    line(out, "rdb_current_bgsave_time_sec:-1");
    line(out, "aof_enabled:0");
    line(out, "aof_rewrite_in_progress:0");
    line(out, "aof_rewrite_scheduled:0");
    line(out, "aof_last_rewrite_time_sec:-1");
    line(out, "aof_current_rewrite_time_sec:-1");
    line(out, "aof_last_bgrewrite_status:ok");
    line(out, "aof_last_write_status:ok");
}

static void add_stats(const struct server *s, struct yn_buf *out)
{
    const struct stats *c = &s->loop.stats;
    uint64_t n_expired = 0;
    for (size_t i = 0; i < s->n_databases; i++)
        n_expired += keyspace_n_expired(s->databases[i]);
    line(out, "total_connections_received:%llu", (unsigned long long)c->connections);
    line(out, "total_commands_processed:%llu", (unsigned long long)c->commands);
    line(out, "instantaneous_ops_per_sec:%.0f", s->ops_per_s);
    line(out, "total_net_input_bytes:%llu", (unsigned long long)c->bytes_in);
    line(out, "total_net_output_bytes:%llu", (unsigned long long)c->bytes_out);
    line(out, "instantaneous_input_kbps:%.2f", s->in_kb_per_s);
    line(out, "instantaneous_output_kbps:%.2f", s->out_kb_per_s);
    line(out, "rejected_connections:%llu", (unsigned long long)c->rejected_connections);
    line(out, "sync_full:0");
    line(out, "sync_partial_ok:0");
    line(out, "sync_partial_err:0");
    line(out, "expired_keys:%llu", (unsigned long long)n_expired);
    line(out, "evicted_keys:0");
    line(out, "evicted_clients:0");
    line(out, "keyspace_hits:%llu", (unsigned long long)c->keyspace_hits);
    line(out, "keyspace_misses:%llu", (unsigned long long)c->keyspace_misses);
    line(out, "geo_searches:%llu", (unsigned long long)c->searches);
    line(out, "geo_leaves_visited:%llu", (unsigned long long)c->search_leaves);
    line(out, "geo_points_tested:%llu", (unsigned long long)c->search_tested);
    line(out, "geo_hits:%llu", (unsigned long long)c->search_hits);
    line(out, "pubsub_channels:%zu", s->pubsub.topics[PUBSUB_CHANNEL].n);
    line(out, "pubsub_patterns:%zu", s->pubsub.topics[PUBSUB_PATTERN].n);
    line(out, "pubsubshard_channels:%zu", s->pubsub.topics[PUBSUB_SHARD].n);
    line(out, "tracking_total_keys:%zu", s->tracking.keys.n);
    line(out, "tracking_total_items:%zu", s->tracking.n_items);
    line(out, "tracking_total_prefixes:%zu", s->tracking.prefixes.n);
    line(out, "latest_fork_usec:0");
    line(out, "total_forks:0");
    line(out, "total_error_replies:%llu", (unsigned long long)c->errors);
    line(out, "total_reads_processed:%llu", (unsigned long long)c->reads);
    line(out, "total_writes_processed:%llu", (unsigned long long)c->writes);
}

static void add_replication(const struct server *s, struct yn_buf *out)
{
    line(out, "role:master");
    line(out, "connected_slaves:0");
    line(out, "master_failover_state:no-failover");
    line(out, "master_replid:%s", s->run_id);
    line(out, "master_repl_offset:0");
    line(out, "repl_backlog_active:0");
    line(out, "repl_backlog_size:0");
    line(out, "repl_backlog_first_byte_offset:0");
    line(out, "repl_backlog_histlen:0");
}

static void add_cpu(const struct server *s, struct yn_buf *out)
{
    (void)s;
    struct rusage all, children;
    getrusage(RUSAGE_SELF, &all);
    getrusage(RUSAGE_CHILDREN, &children);
    line(out, "used_cpu_sys:%ld.%06ld", (long)all.ru_stime.tv_sec,
         (long)all.ru_stime.tv_usec);
    line(out, "used_cpu_user:%ld.%06ld", (long)all.ru_utime.tv_sec,
         (long)all.ru_utime.tv_usec);
    line(out, "used_cpu_sys_children:%ld.%06ld", (long)children.ru_stime.tv_sec,
         (long)children.ru_stime.tv_usec);
    line(out, "used_cpu_user_children:%ld.%06ld", (long)children.ru_utime.tv_sec,
         (long)children.ru_utime.tv_usec);
}

static void add_commandstats(const struct server *s, struct yn_buf *out)
{
    for (size_t i = 0; i < STATS_COMMAND_SLOTS; i++) {
        const struct stats_command *c = &s->loop.stats.command[i];
        if (c->spec == NULL)
            continue;
        line(out,
             "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
             "failed_calls=%llu",
             c->spec->name, (unsigned long long)c->calls,
             (unsigned long long)(c->time_ns / 1000),
             c->calls > 0 ? (double)c->time_ns / 1000 / (double)c->calls : 0.0,
             (unsigned long long)c->rejected, (unsigned long long)c->failed);
    }
}

static void add_errorstats(const struct server *s, struct yn_buf *out)
{
    for (size_t i = 0; i < s->loop.stats.n_errors; i++)
        line(out, "errorstat_%s:count=%llu", s->loop.stats.error[i].code,
             (unsigned long long)s->loop.stats.error[i].count);
}

static void add_cluster(const struct server *s, struct yn_buf *out)
{
    (void)s;
    line(out, "cluster_enabled:0");
}

static void add_keyspace(const struct server *s, struct yn_buf *out)
{
    for (size_t i = 0; i < s->n_databases; i++) {
        const struct keyspace *ks = s->databases[i];
        if (keyspace_count(ks) > 0)
            line(out, "db%zu:keys=%zu,expires=%zu,avg_ttl=%lld", i, keyspace_count(ks),
                 keyspace_n_volatile(ks),
                 (long long)keyspace_mean_ttl_ms(ks, loop_now_ms(&s->loop)));
    }
}

struct section {
    const char *name;
    const char *title;
    bool is_default;
    void (*add)(const struct server *server, struct yn_buf *out);
};

static const struct section sections[] = {
    {"server", "Server", true, add_server},
    {"clients", "Clients", true, add_clients},
    {"memory", "Memory", true, add_memory},
    {"persistence", "Persistence", true, add_persistence},
    {"stats", "Stats", true, add_stats},
    {"replication", "Replication", true, add_replication},
    {"cpu", "CPU", true, add_cpu},
    {"commandstats", "Commandstats", false, add_commandstats},
    {"errorstats", "Errorstats", true, add_errorstats},
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
    yn_buf_init(&text);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!is_wanted(call, &sections[i]))
            continue;
        if (text.len > 0)
            yn_buf_append(&text, "\r\n", 2);
        line(&text, "# %s", sections[i].title);
        sections[i].add(h->loop->server, &text);
    }
    if (text.failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        yn_write_verbatim(h->out, h->resp, "txt", (struct yn_bytes){text.data, text.len});
    yn_buf_clear(&text);
}
