/*
 * memory_cmds.c: MEMORY: where the server's memory is.
 *
 * STATS has the names that Redis uses, for what there is here; "overhead" is what keys
 * and databases take besides names and values.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/memory.h"
#include "server/server.h"

/* ---- one key ---- */

/* SAMPLES is checked and makes no difference: sets know their memory. */
static bool parse_usage(struct cmd_args *args)
{
    while (cmd_args_left(args) > 0) {
        int64_t n_samples;
        if (!cmd_args_option(args, "samples", 1))
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        if (!cmd_args_int64(args, CMD_ERR_INTEGER, &n_samples))
            return false;
        if (n_samples < 0)
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
    }
    return true;
}

void memory_cmd_usage(struct cmd_call *call)
{
    struct host *h = call->host;
    struct cmd_args args;
    cmd_args_init(&args, call, 3);
    if (!parse_usage(&args)) {
        cmd_args_reply_error(&args, h);
        return;
    }
    struct host_value value = host_key_inspect(h, call->argv[2]);
    if (value.type == HOST_NONE) {
        host_reply_null(h);
        return;
    }
    size_t bytes = keyspace_key_memory(h->keyspace, call->argv[2], h->now_ms);
    bytes += value.type == HOST_ZSET ? yn_zset_memory(value.zset) : value.string.len;
    host_reply_integer(h, (int64_t)bytes);
}

/* ---- all ---- */

static void add_text(struct host *h, const char *text)
{
    host_reply_bulk_text(h, text);
}

static void add_size(struct host *h, const char *name, size_t value)
{
    add_text(h, name);
    host_reply_integer(h, (int64_t)value);
}

static void add_ratio(struct host *h, const char *name, size_t a, size_t b, double factor)
{
    add_text(h, name);
    host_reply_score(h, b > 0 ? factor * (double)a / (double)b : 0);
}

static void add_difference(struct host *h, const char *name, size_t a, size_t b)
{
    add_text(h, name);
    host_reply_integer(h, (int64_t)a - (int64_t)b);
}

static void add_shares(struct host *h, const struct server_shares *shares)
{
    size_t n_keys = 0;
    const struct server *server = h->loop->server;
    for (size_t i = 0; i < server->n_databases; i++)
        n_keys += keyspace_count(server->databases[i]);
    add_size(h, "overhead.total", shares->overhead);
    add_size(h, "keys.count", n_keys);
    add_size(h, "keys.bytes-per-key", n_keys > 0 ? shares->since_start / n_keys : 0);
    add_size(h, "dataset.bytes", shares->dataset);
    add_ratio(h, "dataset.percentage", shares->dataset, shares->since_start, 100);
}

void memory_cmd_stats(struct cmd_call *call)
{
    struct host *h = call->host;
    const struct server *server = h->loop->server;
    struct memory_figures m = memory_measure();
    struct server_shares shares = server_shares_of(server, m.allocated);
    size_t peak = m.allocated > server->peak_memory ? m.allocated : server->peak_memory;
    host_reply_map(h, 27);
    add_size(h, "peak.allocated", peak);
    add_size(h, "total.allocated", m.allocated);
    add_size(h, "startup.allocated", server->startup_memory);
    add_size(h, "replication.backlog", 0);
    add_size(h, "clients.slaves", 0);
    add_size(h, "clients.normal", shares.clients);
    add_size(h, "cluster.links", 0);
    add_size(h, "aof.buffer", 0);
    add_size(h, "lua.caches", 0);
    add_size(h, "functions.caches", 0);
    add_shares(h, &shares);
    add_ratio(h, "peak.percentage", m.allocated, peak, 100);
    add_size(h, "allocator.allocated", m.allocated);
    add_size(h, "allocator.active", m.active);
    add_size(h, "allocator.resident", m.resident);
    add_ratio(h, "allocator-fragmentation.ratio", m.active, m.allocated, 1);
    add_difference(h, "allocator-fragmentation.bytes", m.active, m.allocated);
    add_ratio(h, "allocator-rss.ratio", m.resident, m.active, 1);
    add_difference(h, "allocator-rss.bytes", m.resident, m.active);
    add_ratio(h, "rss-overhead.ratio", m.rss, m.resident, 1);
    add_difference(h, "rss-overhead.bytes", m.rss, m.resident);
    add_ratio(h, "fragmentation", m.rss, m.allocated, 1);
    add_difference(h, "fragmentation.bytes", m.rss, m.allocated);
}

/* ---- the allocator ---- */

static void reply_text(struct host *h, const char *text)
{
    yn_write_verbatim(h->out, h->resp, "txt", (struct yn_bytes){text, strlen(text)});
}

void memory_cmd_doctor(struct cmd_call *call)
{
    const size_t small = (size_t)5 * 1024 * 1024;
    struct memory_figures m = memory_measure();
    struct host *h = call->host;
    if (m.allocated < small)
        reply_text(h, "There is too little data here for a diagnosis.\n");
    else if (h->loop->server->is_over_memory)
        reply_text(h,
                   "More memory is used than 'maxmemory' allows, so commands that need "
                   "more are refused: remove keys, or raise the limit.\n");
    else if (m.rss > m.allocated / 2 * 3)
        reply_text(h, "The process holds more than one and a half times the memory that "
                      "its data takes. After many keys have gone this passes within some "
                      "seconds; MEMORY PURGE gives free pages back at once.\n");
    else
        reply_text(h, "No problems were found.\n");
}

void memory_cmd_purge(struct cmd_call *call)
{
    memory_purge();
    host_reply_status(call->host, "OK");
}

void memory_cmd_malloc_stats(struct cmd_call *call)
{
    char *report = memory_report();
    reply_text(call->host, report != NULL
                               ? report
                               : "The allocator of this build gives no statistics.\n");
    free(report);
}

void memory_cmd_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "MEMORY <subcommand> [<arg> ...]. Subcommands are:",
        "DOCTOR",
        "    What looks wrong about the use of memory.",
        "MALLOC-STATS",
        "    What the allocator says about itself.",
        "PURGE",
        "    Give free pages back to the system.",
        "STATS",
        "    Where the memory is.",
        "USAGE <key> [SAMPLES <count>]",
        "    Bytes that a key and its value take. The count makes no difference.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
