/* LATENCY. */
#include "server/latency.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "core/histogram.h"
#include "resp/write.h"
#include "server/commands.h"
#include "server/host_server.h"
#include "server/server.h"

static const char *const event_names[LATENCY_EVENTS] = {"command", "fast-command",
                                                        "expire-cycle"};

/* ---- samples ---- */

void latency_add(struct latency *latency, enum latency_event event, int64_t time_s,
                 uint64_t latency_ms)
{
    struct latency_series *series = &latency->series[event];
    struct latency_sample *last =
        &series->samples[(series->next + LATENCY_SAMPLES - 1) % LATENCY_SAMPLES];
    if (latency_ms > series->max_ms)
        series->max_ms = latency_ms;
    if (series->n > 0 && last->time_s == time_s) {
        if (latency_ms > last->latency_ms)
            last->latency_ms = latency_ms;
        return;
    }
    series->samples[series->next] = (struct latency_sample){time_s, latency_ms};
    series->next = (series->next + 1) % LATENCY_SAMPLES;
    if (series->n < LATENCY_SAMPLES)
        series->n++;
}

/* The i-th sample, from the oldest. */
static const struct latency_sample *sample_at(const struct latency_series *series,
                                              size_t i)
{
    size_t first = series->next + LATENCY_SAMPLES - series->n;
    return &series->samples[(first + i) % LATENCY_SAMPLES];
}

static struct latency *latency_of(const struct cmd_call *call)
{
    return &call->host->loop->server->latency;
}

/* The series of an event that has samples. NULL: there is none of this name. */
static struct latency_series *find_series(const struct cmd_call *call,
                                          struct yn_bytes name)
{
    struct latency *latency = latency_of(call);
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        if (latency->series[i].n > 0 && name.len == strlen(event_names[i]) &&
            memcmp(name.data, event_names[i], name.len) == 0)
            return &latency->series[i];
    }
    return NULL;
}

/* ---- HISTORY, LATEST, RESET ---- */

void latency_history(struct cmd_call *call)
{
    const struct latency_series *series = find_series(call, call->argv[2]);
    size_t n = series != NULL ? series->n : 0;
    host_reply_array(call->host, n);
    for (size_t i = 0; i < n; i++) {
        const struct latency_sample *sample = sample_at(series, i);
        host_reply_array(call->host, 2);
        host_reply_integer(call->host, sample->time_s);
        host_reply_integer(call->host, (int64_t)sample->latency_ms);
    }
}

void latency_latest(struct cmd_call *call)
{
    const struct latency *latency = latency_of(call);
    size_t n = 0;
    for (size_t i = 0; i < LATENCY_EVENTS; i++)
        n += latency->series[i].n > 0;
    host_reply_array(call->host, n);
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        const struct latency_series *series = &latency->series[i];
        if (series->n == 0)
            continue;
        const struct latency_sample *last = sample_at(series, series->n - 1);
        host_reply_array(call->host, 4);
        host_reply_bulk_text(call->host, event_names[i]);
        host_reply_integer(call->host, last->time_s);
        host_reply_integer(call->host, (int64_t)last->latency_ms);
        host_reply_integer(call->host, (int64_t)series->max_ms);
    }
}

void latency_reset(struct cmd_call *call)
{
    struct latency *latency = latency_of(call);
    int64_t n = 0;
    for (size_t i = 0; call->argc == 2 && i < LATENCY_EVENTS; i++) {
        n += latency->series[i].n > 0;
        memset(&latency->series[i], 0, sizeof latency->series[i]);
    }
    for (size_t i = 2; i < call->argc; i++) {
        struct latency_series *series = find_series(call, call->argv[i]);
        if (series == NULL)
            continue;
        memset(series, 0, sizeof *series);
        n++;
    }
    host_reply_integer(call->host, n);
}

/* ---- DOCTOR, GRAPH ---- */

static void print(struct yn_buf *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(struct yn_buf *out, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        yn_buf_append(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void reply_verbatim(struct host *h, struct yn_buf *text)
{
    if (text->failed)
        host_reply_error(h, CMD_ERR_NOMEM);
    else
        yn_write_verbatim(h->out, h->resp, "txt",
                          (struct yn_bytes){text->data, text->len});
    yn_buf_clear(text);
}

struct summary {
    uint64_t min_ms, max_ms;
    double mean_ms, deviation_ms; /* the mean distance from the mean */
    int64_t span_s;               /* from the first sample to now */
};

static struct summary summarise(const struct latency_series *series, int64_t now_s)
{
    struct summary s = {.min_ms = UINT64_MAX, .span_s = now_s};
    for (size_t i = 0; i < series->n; i++) {
        uint64_t ms = sample_at(series, i)->latency_ms;
        s.mean_ms += (double)ms / series->n;
        s.min_ms = ms < s.min_ms ? ms : s.min_ms;
        s.max_ms = ms > s.max_ms ? ms : s.max_ms;
    }
    for (size_t i = 0; i < series->n; i++) {
        double off = (double)sample_at(series, i)->latency_ms - s.mean_ms;
        s.deviation_ms += (off < 0 ? -off : off) / series->n;
    }
    s.span_s = now_s - sample_at(series, 0)->time_s;
    return s;
}

static const char *advice_for(size_t event)
{
    switch ((enum latency_event)event) {
    case LATENCY_COMMAND:
        return "SLOWLOG GET names the commands, if slowlog-log-slower-than is low "
               "enough. KEYS, ranges and searches without COUNT over many members, and "
               "STORE forms of them, take time in proportion to what they visit; SCAN "
               "and COUNT do the same work in small pieces.";
    case LATENCY_FAST_COMMAND:
        return "These commands take microseconds by themselves. A spike here is most "
               "likely the machine: memory that was swapped out, other processes on "
               "the same cores, or a virtual machine that stood still. "
               "redis-cli --intrinsic-latency 100, run there, shows how it does alone.";
    case LATENCY_EXPIRE_CYCLE:
        return "Large keys expired. Spread the times at which keys expire.";
    }
    return "";
}

void latency_doctor(struct cmd_call *call)
{
    const struct server *server = call->host->loop->server;
    int64_t now_s = call->host->now_ms / 1000;
    struct yn_buf text;
    size_t n = 0;
    yn_buf_init(&text);
    for (size_t i = 0; i < LATENCY_EVENTS; i++)
        n += server->latency.series[i].n > 0;
    if (n == 0 && server->config.latency_monitor_threshold_ms == 0) {
        print(&text, "Latency is not monitored. CONFIG SET latency-monitor-threshold "
                     "<milliseconds> says from when on a delay is worth noting.\n");
    } else if (n == 0) {
        print(&text, "No delay of %" PRId64 " ms or more has been seen.\n",
              server->config.latency_monitor_threshold_ms);
    }
    for (size_t i = 0; i < LATENCY_EVENTS; i++) {
        const struct latency_series *series = &server->latency.series[i];
        if (series->n == 0)
            continue;
        struct summary s = summarise(series, now_s);
        print(&text,
              "%s: %u %s in %" PRId64 " seconds, of %" PRIu64 " to %" PRIu64
              " ms (mean %.0f ms, mean deviation %.0f ms, worst ever %" PRIu64 " ms).\n"
              "  %s\n",
              event_names[i], (unsigned)series->n, series->n == 1 ? "spike" : "spikes",
              s.span_s, s.min_ms, s.max_ms, s.mean_ms, s.deviation_ms, series->max_ms,
              advice_for(i));
    }
    reply_verbatim(call->host, &text);
}

#define GRAPH_ROWS 4
#define GRAPH_COLUMNS 80

/* Bars of up to four rows, the latest to the right; below them how long ago it was. */
static void draw_bars(struct yn_buf *out, const struct latency_series *series,
                      const struct summary *s)
{
    size_t n = series->n < GRAPH_COLUMNS ? series->n : GRAPH_COLUMNS;
    uint64_t span_ms = s->max_ms - s->min_ms;
    for (int row = GRAPH_ROWS; row > 0; row--) {
        for (size_t i = 0; i < n; i++) {
            uint64_t ms = sample_at(series, series->n - n + i)->latency_ms - s->min_ms;
            double height =
                span_ms > 0 ? 1 + (GRAPH_ROWS - 1) * (double)ms / (double)span_ms : 1;
            print(out, height >= row ? "#" : height >= row - 0.5 ? "_" : " ");
        }
        print(out, "\n");
    }
}

static void draw_ages(struct yn_buf *out, const struct latency_series *series,
                      int64_t now_s)
{
    size_t n = series->n < GRAPH_COLUMNS ? series->n : GRAPH_COLUMNS;
    char ages[GRAPH_COLUMNS][8];
    for (size_t i = 0; i < n; i++) {
        int64_t age_s = now_s - sample_at(series, series->n - n + i)->time_s;
        int64_t value = age_s < 60      ? age_s
                        : age_s < 3600  ? age_s / 60
                        : age_s < 86400 ? age_s / 3600
                                        : age_s / 86400 % 10000;
        char unit = age_s < 60 ? 's' : age_s < 3600 ? 'm' : age_s < 86400 ? 'h' : 'd';
        snprintf(ages[i], sizeof ages[i], "%d%c", (int)value, unit);
    }
    for (size_t row = 0; row < 5; row++) { /* written downwards */
        for (size_t i = 0; i < n; i++)
            print(out, "%c", row < strlen(ages[i]) ? ages[i][row] : ' ');
        print(out, "\n");
    }
}

void latency_graph(struct cmd_call *call)
{
    const struct latency_series *series = find_series(call, call->argv[2]);
    struct yn_buf text;
    if (series == NULL) {
        server_reply_error_word(call, "ERR No samples available for event '%.*s'",
                                call->argv[2]);
        return;
    }
    yn_buf_init(&text);
    struct summary s = summarise(series, call->host->now_ms / 1000);
    const char *name = event_names[series - call->host->loop->server->latency.series];
    print(&text,
          "%s - high %" PRIu64 " ms, low %" PRIu64 " ms (all time high %" PRIu64 " ms)\n",
          name, s.max_ms, s.min_ms, series->max_ms);
    for (size_t i = 0; i < GRAPH_COLUMNS; i++)
        print(&text, "-");
    print(&text, "\n");
    draw_bars(&text, series, &s);
    draw_ages(&text, series, call->host->now_ms / 1000);
    reply_verbatim(call->host, &text);
}

/* ---- HISTOGRAM ---- */

/* Bounds are 1, 2, 4 ... units of 1024 ns, up to the histogram's end. */
#define BOUND_MIN_NS ((uint64_t)1024)

/* For each bound with more calls at or below it than below the one before: the bound in
 * microseconds and their number. Without a host they are counted only. */
static size_t visit_bounds(struct host *h, const struct yn_histogram *histogram)
{
    size_t n = 0, i = 0;
    uint64_t sum = 0, shown = 0;
    for (uint64_t ns = BOUND_MIN_NS; ns >> YN_HISTOGRAM_BITS == 0 && sum < histogram->n;
         ns *= 2) {
        size_t last = yn_histogram_bucket(ns);
        for (; i <= last; i++)
            sum += histogram->buckets[i];
        if (sum == shown)
            continue;
        shown = sum;
        n++;
        if (h != NULL) {
            /* the bucket of the bound reaches up to 1/128 further */
            host_reply_integer(h, (int64_t)((ns + ns / 128 - 1) / 1000));
            host_reply_integer(h, (int64_t)sum);
        }
    }
    return n;
}

static const struct stats_command *counted(const struct stats *stats,
                                           const struct cmd_spec *spec)
{
    const struct stats_command *c = stats_find_command(stats, spec);
    return c != NULL && c->latency_ns != NULL && c->latency_ns->n > 0 ? c : NULL;
}

/* The histogram of one command, if it has run. Without `reply` it is counted only. */
static size_t visit_histogram(struct host *h, const struct stats *stats,
                              const struct cmd_spec *spec, bool reply)
{
    const struct stats_command *c = counted(stats, spec);
    if (c == NULL)
        return 0;
    if (!reply)
        return 1;
    host_reply_bulk_text(h, spec->name);
    host_reply_map(h, 2);
    host_reply_bulk_text(h, "calls");
    host_reply_integer(h, (int64_t)c->latency_ns->n);
    host_reply_bulk_text(h, "histogram_usec");
    host_reply_map(h, visit_bounds(NULL, c->latency_ns));
    visit_bounds(h, c->latency_ns);
    return 1;
}

/* A container stands for itself and all of its subcommands. */
static size_t visit_command(struct host *h, const struct stats *stats,
                            const struct cmd_spec *spec, bool reply)
{
    size_t n = visit_histogram(h, stats, spec, reply);
    for (const struct cmd_spec *sub = spec->subcommands; sub != NULL && sub->name != NULL;
         sub++)
        n += visit_histogram(h, stats, sub, reply);
    return n;
}

static size_t visit_asked(struct cmd_call *call, const struct stats *stats, bool reply)
{
    size_t n = 0;
    if (call->argc == 2) {
        for (size_t i = 0; cmd_at(i) != NULL; i++)
            n += visit_command(call->host, stats, cmd_at(i), reply);
        return n;
    }
    for (size_t i = 2; i < call->argc; i++) {
        const struct cmd_spec *spec = cmd_find_full(call->argv[i]);
        if (spec != NULL)
            n += visit_command(call->host, stats, spec, reply);
    }
    return n;
}

void latency_histogram(struct cmd_call *call)
{
    struct stats *stats = server_stats(call->host->loop->server);
    if (stats == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    host_reply_map(call->host, visit_asked(call, stats, false));
    visit_asked(call, stats, true);
    server_stats_free(stats);
}

void latency_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "LATENCY <subcommand> [<arg> ...]. Subcommands are:",
        "DOCTOR",
        "    Return what was slow, in words.",
        "GRAPH <event>",
        "    Return the spikes of an event as a picture.",
        "HISTOGRAM [<command> ...]",
        "    Return how many calls of each command took at most so many microseconds.",
        "HISTORY <event>",
        "    Return the spikes of an event: times and milliseconds.",
        "LATEST",
        "    Return the latest spike of each event.",
        "RESET [<event> ...]",
        "    Forget the spikes of these events, or of all.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
