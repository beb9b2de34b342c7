#include "tools/bench_mixed_report.h"

#include <inttypes.h>

static const char *const kind_names[] = {"GEOPOS", "GEOADD"};

static double quantile_ms(const struct yn_histogram *h, double share)
{
    return yn_histogram_quantile(h, share) * 1e-6;
}

static double per_second(double n, double seconds)
{
    return seconds > 0 ? n / seconds : 0;
}

static double mean_members(const struct bench_repeat_result *repeat)
{
    return repeat->n_replies > 0 ? (double)repeat->n_members / (double)repeat->n_replies
                                 : 0;
}

/* Of one processor; below 0: not known. */
static double cpu_percent(double cpu_s, double elapsed_s)
{
    return cpu_s < 0 ? -1 : per_second(cpu_s * 100, elapsed_s);
}

static double add_known(double sum, double value)
{
    return sum < 0 || value < 0 ? -1 : sum + value;
}

void bench_mixed_report_add(struct bench_mixed_phase *phase,
                            const struct bench_mixed_round *round)
{
    const struct bench_pace_result *pace = &round->pace;
    for (int kind = 0; kind < BENCH_MIXED_N_KINDS; kind++) {
        const struct yn_histogram *h = &pace->latency_ns[kind];
        struct bench_mixed_latency *latency = &phase->latencies[kind];
        yn_histogram_merge(&latency->all_ns, h);
        if (h->n == 0)
            continue;
        bench_stats_add(&latency->p50, quantile_ms(h, 0.5));
        bench_stats_add(&latency->p99, quantile_ms(h, 0.99));
        bench_stats_add(&latency->p999, quantile_ms(h, 0.999));
    }
    yn_histogram_merge(&phase->lag_ns, &pace->lag_ns);
    phase->priority = pace->priority;
    bench_repeat_add(&phase->repeat, &round->repeat);
    phase->elapsed_s += round->elapsed_s;
    phase->server_cpu_s = add_known(phase->server_cpu_s, round->server_cpu_s);
    phase->others_cpu_s = add_known(phase->others_cpu_s, round->others_cpu_s);
}

/* ---- tables ---------------------------------------------------------------- */

static void write_facts(const struct bench_mixed_report *report, const char *start,
                        FILE *out)
{
    const struct bench_report *facts = &report->facts;
    fprintf(out,
            "%sA key of %" PRIu64 " points; %u clients send GEOPOS and %u GEOADD, %.0f "
            "requests a second each;\n%s%u clients repeat GEOSEARCH BYRADIUS %.1f km.\n",
            start, report->n_points, report->n_connections[BENCH_MIXED_READ],
            report->n_connections[BENCH_MIXED_WRITE], report->rate,
            start[0] != '\0' ? "  " : "", report->n_searchers, report->radius_km);
    fprintf(out, "%s%u rounds of %.1f s, %s. Processors %s.", start, report->n_rounds,
            report->duration_s, facts->date,
            report->is_awake ? "kept awake" : "may sleep");
    if (report->calm_percent > 0)
        fprintf(out, " Other programs at most %.0f %% of one.", report->calm_percent);
    fputc('\n', out);
    fprintf(out, "%sCommit %s, branch %s\n", start, facts->commit, facts->branch);
    fprintf(out, "%s%d x %s, %s\n", start, facts->n_processors, facts->processor,
            facts->kernel);
    fprintf(
        out,
        "%sLatencies in ms, from the moment that a request was due to its reply; medians "
        "of the rounds.\n",
        start);
}

/* "0.031", "12.3", "1234"; what was never measured is a dash. */
static const char *ms(double value, char out_text[32])
{
    if (value <= 0)
        return "-";
    snprintf(out_text, 32, "%.*f", value < 10 ? 3 : value < 1000 ? 1 : 0, value);
    return out_text;
}

static void write_latencies(const struct bench_mixed_side *side, const char *format,
                            FILE *out)
{
    char texts[5][32];
    for (int kind = 0; kind < BENCH_MIXED_N_KINDS; kind++) {
        for (int phase = 0; phase < BENCH_MIXED_N_PHASES; phase++) {
            const struct bench_mixed_latency *latency =
                &side->phases[phase].latencies[kind];
            snprintf(texts[4], sizeof texts[4], "%" PRIu64, latency->all_ns.n);
            fprintf(out, format, side->name, kind_names[kind],
                    phase == BENCH_MIXED_QUIET ? "quiet" : "beside searches",
                    ms(bench_stats_median(&latency->p50), texts[0]),
                    ms(bench_stats_median(&latency->p99), texts[1]),
                    ms(bench_stats_median(&latency->p999), texts[2]),
                    ms((double)latency->all_ns.max * 1e-6, texts[3]), texts[4]);
        }
    }
}

static void percent(double value, char out_text[32])
{
    if (value < 0)
        snprintf(out_text, 32, "-");
    else
        snprintf(out_text, 32, "%.0f %%", value);
}

static void write_searches(const struct bench_mixed_side *side, const char *format,
                           FILE *out)
{
    const struct bench_mixed_phase *quiet = &side->phases[BENCH_MIXED_QUIET],
                                   *loaded = &side->phases[BENCH_MIXED_LOADED];
    const struct bench_repeat_result *repeat = &loaded->repeat;
    char texts[8][32], p50[32], p99[32];
    snprintf(texts[0], 32, "%.1f",
             per_second((double)repeat->n_replies, repeat->elapsed_s));
    snprintf(texts[1], 32, "%.0f", mean_members(repeat));
    snprintf(texts[2], 32, "%.1f",
             per_second((double)repeat->n_bytes * 1e-6, repeat->elapsed_s));
    percent(cpu_percent(quiet->server_cpu_s, quiet->elapsed_s), texts[3]);
    percent(cpu_percent(loaded->server_cpu_s, loaded->elapsed_s), texts[4]);
    percent(cpu_percent(repeat->own_cpu_s, repeat->elapsed_s), texts[5]);
    percent(cpu_percent(loaded->others_cpu_s, loaded->elapsed_s), texts[6]);
    fprintf(out, format, side->name, texts[0], texts[1], texts[2],
            ms(quantile_ms(&repeat->latency_ns, 0.5), p50),
            ms(quantile_ms(&repeat->latency_ns, 0.99), p99), texts[3], texts[4], texts[5],
            texts[6], ms(quantile_ms(&loaded->lag_ns, 0.99), texts[7]));
}

void bench_mixed_report_write_text(const struct bench_mixed_report *report, FILE *out)
{
    static const char row[] = "%-26s %-7s %-16s %9s %9s %9s %9s %9s\n";
    static const char searches[] = "%-26s %9s %8s %8s %8s %8s %6s %6s %9s %7s %8s\n";
    write_facts(report, "", out);
    fputc('\n', out);
    fprintf(out, row, "server", "command", "", "p50", "p99", "p99.9", "max", "requests");
    for (size_t i = 0; i < report->n_sides; i++) {
        if (report->sides[i].is_done)
            write_latencies(&report->sides[i], row, out);
    }
    fputs("\nsearches; processor time of the server without and with them, of the "
          "searching clients\nand of other programs, in per cent of a processor; how "
          "late the generator was with small\nrequests (p99)\n\n",
          out);
    fprintf(out, searches, "server", "a second", "members", "MB/s", "p50", "p99", "quiet",
            "beside", "searchers", "others", "late");
    for (size_t i = 0; i < report->n_sides; i++) {
        if (report->sides[i].is_done)
            write_searches(&report->sides[i], searches, out);
    }
}

void bench_mixed_report_write_markdown(const struct bench_mixed_report *report, FILE *out)
{
    write_facts(report, "- ", out);
    fputs("\n| server | command | phase | p50 ms | p99 ms | p99.9 ms | max ms | "
          "requests |\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
          out);
    for (size_t i = 0; i < report->n_sides; i++) {
        if (report->sides[i].is_done)
            write_latencies(&report->sides[i],
                            "| %s | %s | %s | %s | %s | %s | %s | %s |\n", out);
    }
    fputs(
        "\n| server | searches a second | members each | MB/s | p50 ms | p99 ms | "
        "server CPU, quiet | beside searches | of the searchers | of other programs | "
        "generator late, p99 ms |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | "
        "---: |\n",
        out);
    for (size_t i = 0; i < report->n_sides; i++) {
        if (report->sides[i].is_done)
            write_searches(&report->sides[i],
                           "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
                           out);
    }
}

/* ---- JSON ------------------------------------------------------------------ */

static void write_histogram(const char *name, const struct yn_histogram *h, FILE *out)
{
    fprintf(out,
            "\"%s\": {\"requests\": %" PRIu64 ", \"average\": %.4f, \"p50\": %.4f, "
            "\"p99\": %.4f, \"p99.9\": %.4f, \"max\": %.4f}",
            name, h->n, yn_histogram_mean(h) * 1e-6, quantile_ms(h, 0.5),
            quantile_ms(h, 0.99), quantile_ms(h, 0.999), (double)h->max * 1e-6);
}

/* The medians of the rounds, and what all requests together say. */
static void write_latency(const char *name, const struct bench_mixed_latency *latency,
                          FILE *out)
{
    fprintf(out, "\"%s\": {\"p50\": %.4f, \"p99\": %.4f, \"p99.9\": %.4f, ", name,
            bench_stats_median(&latency->p50), bench_stats_median(&latency->p99),
            bench_stats_median(&latency->p999));
    fputs("\"p99_of_rounds\": [", out);
    for (size_t i = 0; i < latency->p99.n; i++)
        fprintf(out, "%s%.4f", i > 0 ? ", " : "", latency->p99.values[i]);
    fputs("], ", out);
    write_histogram("all", &latency->all_ns, out);
    fputc('}', out);
}

static void write_phase(const struct bench_mixed_phase *phase, FILE *out)
{
    const struct bench_repeat_result *repeat = &phase->repeat;
    fputc('{', out);
    write_latency("geopos_ms", &phase->latencies[BENCH_MIXED_READ], out);
    fputs(",\n       ", out);
    write_latency("geoadd_ms", &phase->latencies[BENCH_MIXED_WRITE], out);
    fputs(",\n       ", out);
    write_histogram("lag_ms", &phase->lag_ns, out);
    fputs(",\n       ", out);
    write_histogram("search_ms", &repeat->latency_ns, out);
    fprintf(out,
            ",\n       \"searches_per_second\": %.3f, \"members\": %.1f, "
            "\"mb_per_second\": %.3f, \"searchers_cpu_percent\": %.2f",
            per_second((double)repeat->n_replies, repeat->elapsed_s),
            mean_members(repeat),
            per_second((double)repeat->n_bytes * 1e-6, repeat->elapsed_s),
            cpu_percent(repeat->own_cpu_s, repeat->elapsed_s));
    if (phase->server_cpu_s >= 0)
        fprintf(out, ", \"server_cpu_percent\": %.2f",
                cpu_percent(phase->server_cpu_s, phase->elapsed_s));
    if (phase->others_cpu_s >= 0)
        fprintf(out, ", \"others_cpu_percent\": %.2f",
                cpu_percent(phase->others_cpu_s, phase->elapsed_s));
    fputc('}', out);
}

static void write_side(const struct bench_mixed_side *side, FILE *out)
{
    fprintf(out,
            "    {\"server\": \"%s\", \"threads\": %u, \"load_s\": %.3f, "
            "\"resident_bytes\": %.0f, \"done\": %s,\n     \"quiet\": ",
            side->name, side->n_threads, side->load_s, side->resident_bytes,
            side->is_done ? "true" : "false");
    write_phase(&side->phases[BENCH_MIXED_QUIET], out);
    fputs(",\n     \"beside\": ", out);
    write_phase(&side->phases[BENCH_MIXED_LOADED], out);
    fputc('}', out);
}

void bench_mixed_report_write_json(const struct bench_mixed_report *report, FILE *out)
{
    const char *priority = "", *searcher_priority = "";
    for (size_t i = 0; i < report->n_sides; i++) {
        const struct bench_mixed_phase *phase =
            &report->sides[i].phases[BENCH_MIXED_LOADED];
        if (phase->priority != NULL)
            priority = phase->priority;
        if (phase->repeat.priority != NULL)
            searcher_priority = phase->repeat.priority;
    }
    fputs("{\n  \"suite\": \"mixed\",\n", out);
    bench_report_write_json_facts(&report->facts, out);
    fprintf(out,
            "  \"processors\": %d,\n  \"points\": %" PRIu64 ",\n  \"radius_km\": %.3f,\n"
            "  \"searchers\": %u,\n  \"readers\": %u,\n  \"writers\": %u,\n"
            "  \"rate\": %.1f,\n  \"rounds\": %u,\n  \"duration_s\": %.3f,\n"
            "  \"awake\": %s,\n  \"priority\": \"%s\",\n"
            "  \"searcher_priority\": \"%s\",\n  \"servers\": [\n",
            report->facts.n_processors, report->n_points, report->radius_km,
            report->n_searchers, report->n_connections[BENCH_MIXED_READ],
            report->n_connections[BENCH_MIXED_WRITE], report->rate, report->n_rounds,
            report->duration_s, report->is_awake ? "true" : "false", priority,
            searcher_priority);
    for (size_t i = 0; i < report->n_sides; i++) {
        write_side(&report->sides[i], out);
        fputs(i + 1 < report->n_sides ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
}
