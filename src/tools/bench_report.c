#include "tools/bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "tools/bench_baseline.h"

#ifndef YN_BUILD_FLAGS
#define YN_BUILD_FLAGS "not known"
#endif

/* ---- facts -------------------------------------------------------------- */

static void ask_git(const char *arguments, char *out_text, size_t size)
{
    if (!bench_baseline_git(arguments, out_text, size))
        snprintf(out_text, size, "unknown");
}

static void find_processor(char *out_text, size_t size)
{
    snprintf(out_text, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(out_text, size, "%.*s", (int)size - 1, colon + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

void bench_report_describe(struct bench_report *report)
{
    char dirty[256];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(report->date, sizeof report->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    ask_git("rev-parse HEAD", report->commit, sizeof report->commit - 16);
    ask_git("rev-parse --abbrev-ref HEAD", report->branch, sizeof report->branch);
    if (bench_baseline_git("status --porcelain --untracked-files=no", dirty,
                           sizeof dirty))
        strcat(report->commit, " (changed)");
    find_processor(report->processor, sizeof report->processor);
    report->n_processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
    struct utsname os;
    if (uname(&os) == 0)
        snprintf(report->kernel, sizeof report->kernel, "%.40s %.60s %.20s", os.sysname,
                 os.release, os.machine);
#ifdef __clang__
    snprintf(report->compiler, sizeof report->compiler, "%.120s", __VERSION__);
#else
    snprintf(report->compiler, sizeof report->compiler, "gcc %.100s", __VERSION__);
#endif
    snprintf(report->flags, sizeof report->flags, "%s", YN_BUILD_FLAGS);
}

void bench_report_count(const struct bench_report *report, size_t out_n[3])
{
    memset(out_n, 0, 3 * sizeof out_n[0]);
    for (size_t i = 0; i < report->n_results; i++)
        out_n[report->results[i].outcome]++;
}

double bench_report_rate_ratio(const struct bench_result *result)
{
    double ours = bench_stats_median(&result->sides[0].rate);
    double theirs = bench_stats_median(&result->sides[1].rate);
    return theirs > 0 ? ours / theirs : 0;
}

double bench_report_cpu_ratio(const struct bench_result *result)
{
    double ours = bench_stats_median(&result->sides[0].cpu_us);
    double theirs = bench_stats_median(&result->sides[1].cpu_us);
    return ours > 0 ? theirs / ours : 0;
}

/* ---- numbers ------------------------------------------------------------ */

/* Three or four digits that mean something: "1,234,567", "12.34", "0.012". A zero is
 * nothing that was measured. */
static const char *number(double value, char out_text[48])
{
    char digits[40];
    if (value == 0)
        return "-";
    if (value < 1000) {
        int decimals = value >= 100 ? 1 : value >= 10 ? 2 : 3;
        snprintf(out_text, 48, "%.*f", decimals, value);
        return out_text;
    }
    int len = snprintf(digits, sizeof digits, "%.0f", value);
    char *to = out_text;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out_text;
}

/* The same for what was counted: a zero is a count too, below zero nothing is known. */
static const char *amount(double value, char out_text[48])
{
    if (value < 0)
        return "-";
    if (value == 0)
        return "0";
    return number(value < 10 ? value : round(value), out_text);
}

static double deviation_percent(const struct bench_stats *stats)
{
    double median = bench_stats_median(stats);
    return median > 0 ? bench_stats_deviation(stats) / median * 100 : 0;
}

static double p99_ms(const struct bench_side *side)
{
    return yn_histogram_quantile(&side->latency_ns, 0.99) * 1e-6;
}

static const char *outcome_name(enum bench_outcome outcome)
{
    static const char *const names[] = {"pending", "succeeded", "failed"};
    return names[outcome];
}

/* ---- changes between two builds ------------------------------------------ */

/* Is the change of CPU a request beyond the water line and beyond the spread of both? */
static const char *change_of(const struct bench_report *report,
                             const struct bench_result *result)
{
    double ratio = bench_report_cpu_ratio(result);
    if (result->outcome != BENCH_SUCCEEDED || ratio == 0)
        return "";
    double change = (1 / ratio - 1) * 100; /* of the time: less is better */
    double spread = deviation_percent(&result->sides[0].cpu_us) +
                    deviation_percent(&result->sides[1].cpu_us);
    if (fabs(change) < report->water_percent || fabs(change) < spread)
        return "";
    return change < 0 ? "improvement" : "regression";
}

/* ---- tables ------------------------------------------------------------- */

static void write_cells(const struct bench_report *report,
                        const struct bench_result *result, const char *separator,
                        FILE *out)
{
    char a[48], b[48];
    for (int i = 0; i < 2; i++) {
        const struct bench_side *side = &result->sides[i];
        fprintf(out, "%s ± %.1f %%%s%s%s", number(bench_stats_median(&side->rate), a),
                deviation_percent(&side->rate), separator,
                number(bench_stats_median(&side->cpu_us), b), separator);
        fprintf(out, "%s%s", number(p99_ms(side), a), separator);
    }
    fprintf(out, "%s%s%s", number(bench_report_rate_ratio(result), a), separator,
            number(bench_report_cpu_ratio(result), b));
    if (report->water_percent > 0) {
        double ratio = bench_report_cpu_ratio(result);
        fprintf(out, "%s%+.1f %% %s", separator, ratio > 0 ? (1 / ratio - 1) * 100 : 0,
                change_of(report, result));
    }
}

static void write_facts(const struct bench_report *report, const char *start,
                        const char *end, FILE *out)
{
    char a[48], b[48];
    fprintf(out, "%sSuite %s, %s points, %u rounds of %.1f s, %s%s", start, report->suite,
            number((double)report->n_points, a), report->n_rounds, report->duration_s,
            report->date, end);
    fprintf(out, "%sA: %s. B: %s%s", start, report->servers[0].name,
            report->servers[1].name, end);
    fprintf(out, "%sCommit %s, branch %s%s", start, report->commit, report->branch, end);
    fprintf(out, "%s%d x %s, %s%s", start, report->n_processors, report->processor,
            report->kernel, end);
    fprintf(out, "%s%s, %s%s", start, report->compiler, report->flags, end);
    if (report->servers[0].bytes_per_point > 0 && report->servers[1].bytes_per_point > 0)
        fprintf(out, "%sResident memory a point: A %s bytes, B %s bytes%s", start,
                number(report->servers[0].bytes_per_point, a),
                number(report->servers[1].bytes_per_point, b), end);
}

static void write_counts(const struct bench_report *report, FILE *out)
{
    size_t n[3];
    bench_report_count(report, n);
    fprintf(out, "%zu rows: %zu succeeded, %zu failed, %zu pending", report->n_results,
            n[BENCH_SUCCEEDED], n[BENCH_FAILED], n[BENCH_PENDING]);
}

static void write_text_side(const struct bench_side *side, FILE *out)
{
    char rate[48], cpu[48], p99[48];
    fprintf(out, " %10s %5.1f %9s %8s", number(bench_stats_median(&side->rate), rate),
            deviation_percent(&side->rate),
            number(bench_stats_median(&side->cpu_us), cpu), number(p99_ms(side), p99));
}

void bench_report_write_text(const struct bench_report *report, FILE *out)
{
    write_facts(report, "", "\n", out);
    fprintf(out, "\n%-66s %10s %5s %9s %8s %10s %5s %9s %8s %8s %8s\n", "row", "A /s",
            "+-%", "CPU us", "p99 ms", "B /s", "+-%", "CPU us", "p99 ms", "A/B rate",
            "B/A CPU");
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        fprintf(out, "%-66s", r->row->name);
        if (r->outcome != BENCH_SUCCEEDED) {
            fprintf(out, " %s: %s\n", outcome_name(r->outcome), r->reason);
            continue;
        }
        write_text_side(&r->sides[0], out);
        write_text_side(&r->sides[1], out);
        char ratio[48], cpu_ratio[48];
        fprintf(out, " %8s %8s %s\n", number(bench_report_rate_ratio(r), ratio),
                number(bench_report_cpu_ratio(r), cpu_ratio),
                report->water_percent > 0 ? change_of(report, r) : "");
    }
    fputs("\n", out);
    write_counts(report, out);
    fputs("\n", out);
}

#define LOOKED_AT_NOTE                                                                    \
    "- Hits: members a reply. Candidates: members of the cells that Redis scans for it. " \
    "Tested: points that Yonder tests one by one; the others it takes or leaves by the "  \
    "leaf.\n\n"

/* What a reader must know of single rows. */
static void write_notes(const struct bench_report *report, const char *start,
                        const char *end, FILE *out)
{
    bool is_any = false;
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_row *row = report->results[i].row;
        if (row->note == NULL)
            continue;
        fprintf(out, "%s%s: %s.%s", start, row->name, row->note, end);
        is_any = true;
    }
    if (is_any)
        fputs("\n", out);
}

void bench_report_write_markdown(const struct bench_report *report, FILE *out)
{
    char a[48], b[48], c[48];
    bool has_change = report->water_percent > 0;
    write_facts(report, "- ", "\n", out);
    fputs(
        "- CPU: the server's processor time a request in microseconds, user and system. "
        "Rate: requests a second. p99: milliseconds. Medians of the rounds; ± is the standard deviation.\n",
        out);
    fputs(LOOKED_AT_NOTE, out);
    fprintf(
        out,
        "| row | hits | candidates | tested | A rate | A CPU | A p99 | B rate | B CPU | B p99 | rate A/B | CPU B/A |%s "
        "checked |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |%s --- |\n",
        has_change ? " change of CPU |" : "", has_change ? " ---: |" : "");
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        if (r->outcome != BENCH_SUCCEEDED) {
            fprintf(out, "| %s | %s: %s |\n", r->row->name, outcome_name(r->outcome),
                    r->reason);
            continue;
        }
        fprintf(out, "| %s | %s | %s | %s | ", r->row->name, number(r->hits, a),
                amount(r->candidates, b), amount(r->tested, c));
        write_cells(report, r, " | ", out);
        fprintf(out, " | %s |\n", r->checked);
    }
    fputs("\n", out);
    write_notes(report, "- ", "\n", out);
    write_counts(report, out);
    fputs("\n", out);
}

void bench_report_write_brief(const struct bench_report *report, FILE *out)
{
    char a[48], b[48], c[48];
    write_facts(report, "- ", "\n", out);
    fputs("- CPU: the server's processor time a request in microseconds, all of it; "
          "medians of the rounds.\n",
          out);
    fputs(LOOKED_AT_NOTE, out);
    fputs("| row | hits | candidates | tested | A CPU | B CPU | CPU B/A | rate A/B |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
          out);
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        if (r->outcome != BENCH_SUCCEEDED) {
            fprintf(out, "| %s | %s: %s |\n", r->row->name, outcome_name(r->outcome),
                    r->reason);
            continue;
        }
        fprintf(out, "| %s | %s | %s | %s |", r->row->name, number(r->hits, a),
                amount(r->candidates, b), amount(r->tested, c));
        for (int side = 0; side < 2; side++)
            fprintf(out, " %s |", number(bench_stats_median(&r->sides[side].cpu_us), a));
        fprintf(out, " %s | %s |\n", number(bench_report_cpu_ratio(r), a),
                number(bench_report_rate_ratio(r), b));
    }
    fputs("\n", out);
    write_notes(report, "- ", "\n", out);
}

/* ---- JSON --------------------------------------------------------------- */

static void write_string(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_field(const char *name, const char *text, FILE *out)
{
    fprintf(out, "  \"%s\": ", name);
    write_string(text, out);
    fputs(",\n", out);
}

static void write_stats(const char *name, const struct bench_stats *stats, FILE *out)
{
    fprintf(out, "\"%s\": {\"median\": %.6g, \"deviation\": %.6g, \"values\": [", name,
            bench_stats_median(stats), bench_stats_deviation(stats));
    for (size_t i = 0; i < stats->n; i++)
        fprintf(out, "%s%.6g", i > 0 ? ", " : "", stats->values[i]);
    fputs("]}, ", out);
}

static void write_side(const struct bench_side *side, FILE *out)
{
    const struct yn_histogram *h = &side->latency_ns;
    fputs("{", out);
    write_stats("rate", &side->rate, out);
    write_stats("cpu_us", &side->cpu_us, out);
    write_stats("cpu_user_us", &side->user_us, out);
    write_stats("cpu_system_us", &side->system_us, out);
    write_stats("generator_cpu_us", &side->own_cpu_us, out);
    fprintf(
        out,
        "\"latency_us\": {\"average\": %.3f, \"p50\": %.3f, \"p99\": %.3f, \"p99.9\": "
        "%.3f, \"max\": %.3f}, \"requests\": %" PRIu64 ", \"bytes_per_reply\": %.1f}",
        yn_histogram_mean(h) * 1e-3, yn_histogram_quantile(h, 0.5) * 1e-3,
        yn_histogram_quantile(h, 0.99) * 1e-3, yn_histogram_quantile(h, 0.999) * 1e-3,
        (double)h->max * 1e-3, side->n_requests, side->bytes_per_reply);
}

static void write_known(const char *name, double value, FILE *out)
{
    if (value >= 0)
        fprintf(out, ", \"%s\": %.2f", name, value);
}

static void write_result(const struct bench_report *report,
                         const struct bench_result *result, FILE *out)
{
    const struct bench_row *row = result->row;
    fputs("    {\"name\": ", out);
    write_string(row->name, out);
    fputs(", \"group\": ", out);
    write_string(row->group, out);
    fputs(", \"command\": ", out);
    write_string(result->command, out);
    fprintf(
        out,
        ", \"connections\": %u, \"threads\": %u, \"pipeline\": %u, \"outcome\": \"%s\", "
        "\"reason\": ",
        row->n_connections, row->n_threads, row->pipeline, outcome_name(result->outcome));
    write_string(result->reason, out);
    fputs(", \"checked\": ", out);
    write_string(result->checked, out);
    fprintf(out, ", \"hits\": %.2f", result->hits);
    write_known("candidates", result->candidates, out);
    write_known("points_tested", result->tested, out);
    write_known("leaves_visited", result->leaves, out);
    if (row->their_command != NULL) {
        fputs(", \"their_command\": ", out);
        write_string(row->their_command, out);
    }
    if (row->note != NULL) {
        fputs(", \"note\": ", out);
        write_string(row->note, out);
    }
    if (row->series != NULL) {
        fputs(", \"series\": ", out);
        write_string(row->series, out);
        fprintf(out, ", \"x\": %.6g", row->x > 0 ? row->x : result->hits);
    }
    if (row->is_load)
        fprintf(out, ", \"bytes_per_point\": {\"a\": %.2f, \"b\": %.2f}",
                result->sides[0].counted_bytes, result->sides[1].counted_bytes);
    if (result->outcome == BENCH_SUCCEEDED) {
        fprintf(out, ", \"rate_ratio\": %.4f, \"cpu_ratio\": %.4f",
                bench_report_rate_ratio(result), bench_report_cpu_ratio(result));
        if (report->water_percent > 0)
            fprintf(out, ", \"change\": \"%s\"", change_of(report, result));
        fputs(",\n     \"a\": ", out);
        write_side(&result->sides[0], out);
        fputs(",\n     \"b\": ", out);
        write_side(&result->sides[1], out);
    }
    fputs("}", out);
}

void bench_report_write_json_facts(const struct bench_report *report, FILE *out)
{
    write_field("date", report->date, out);
    write_field("commit", report->commit, out);
    write_field("branch", report->branch, out);
    write_field("processor", report->processor, out);
    write_field("kernel", report->kernel, out);
    write_field("compiler", report->compiler, out);
    write_field("flags", report->flags, out);
}

void bench_report_write_json(const struct bench_report *report, FILE *out)
{
    size_t n[3];
    bench_report_count(report, n);
    fputs("{\n", out);
    write_field("suite", report->suite, out);
    bench_report_write_json_facts(report, out);
    write_field("a", report->servers[0].name, out);
    write_field("b", report->servers[1].name, out);
    fprintf(out,
            "  \"processors\": %d,\n  \"points\": %" PRIu64 ",\n  \"rounds\": %u,\n"
            "  \"duration_s\": %.3f,\n  \"water_percent\": %.1f,\n"
            "  \"bytes_per_point\": {\"a\": %.2f, \"b\": %.2f},\n"
            "  \"succeeded\": %zu,\n  \"failed\": %zu,\n  \"pending\": %zu,\n"
            "  \"rows\": [\n",
            report->n_processors, report->n_points, report->n_rounds, report->duration_s,
            report->water_percent, report->servers[0].bytes_per_point,
            report->servers[1].bytes_per_point, n[BENCH_SUCCEEDED], n[BENCH_FAILED],
            n[BENCH_PENDING]);
    for (size_t i = 0; i < report->n_results; i++) {
        write_result(report, &report->results[i], out);
        fputs(i + 1 < report->n_results ? ",\n" : "\n", out);
    }
    fputs("  ]\n}\n", out);
}

/* ---- HTML --------------------------------------------------------------- */

static void write_escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else
            fputc(*text, out);
    }
}

#define LABEL_WIDTH 420.0
#define CHART_WIDTH 460.0
#define BAR_HEIGHT 10.0

/* Bars on a logarithmic scale: how often A is better, by rate and by CPU. */
static void write_chart(const struct bench_report *report, FILE *out)
{
    double low = 1, high = 10;
    size_t n = 0;
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        double ratios[2] = {bench_report_rate_ratio(r), bench_report_cpu_ratio(r)};
        n += r->outcome == BENCH_SUCCEEDED;
        for (int j = 0; j < 2 && r->outcome == BENCH_SUCCEEDED; j++) {
            high = fmax(high, ratios[j]);
            low = ratios[j] > 0 ? fmin(low, ratios[j]) : low;
        }
    }
    low = pow(10, floor(log10(low)));
    high = pow(10, ceil(log10(high)));
    double scale = CHART_WIDTH / log(high / low),
           zero = LABEL_WIDTH + log(1 / low) * scale;
    fprintf(out, "<svg width=\"%.0f\" height=\"%.0f\" font-size=\"11\">\n",
            LABEL_WIDTH + CHART_WIDTH + 60, 30 + 2.6 * BAR_HEIGHT * (double)n);
    for (double tick = low; tick <= high * 1.001; tick *= 10) {
        double x = LABEL_WIDTH + log(tick / low) * scale;
        fprintf(out,
                "<line x1=\"%.1f\" y1=\"16\" x2=\"%.1f\" y2=\"100%%\" stroke=\"#ddd\"/>"
                "<text x=\"%.1f\" y=\"11\" text-anchor=\"middle\">%gx</text>\n",
                x, x, x, tick);
    }
    double y = 20;
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        double ratios[2] = {bench_report_rate_ratio(r), bench_report_cpu_ratio(r)};
        if (r->outcome != BENCH_SUCCEEDED)
            continue;
        fprintf(out, "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", LABEL_WIDTH - 8,
                y + BAR_HEIGHT * 1.3);
        write_escaped(r->row->name, out);
        fputs("</text>", out);
        for (int j = 0; j < 2; j++) {
            double x = ratios[j] > 0 ? LABEL_WIDTH + log(ratios[j] / low) * scale : zero;
            fprintf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                    "fill=\"%s\"><title>%.2fx</title></rect>",
                    fmin(x, zero), y + j * BAR_HEIGHT, fabs(x - zero) + 0.5,
                    BAR_HEIGHT - 1, j == 0 ? "#8fb8de" : "#2c6fae", ratios[j]);
        }
        fputs("\n", out);
        y += 2.6 * BAR_HEIGHT;
    }
    fputs("</svg>\n", out);
}

void bench_report_write_html(const struct bench_report *report, FILE *out)
{
    char a[48], b[48], c[48];
    bool has_change = report->water_percent > 0;
    fputs("<!doctype html><meta charset=\"utf-8\"><title>yonder-bench</title>\n<style>"
          "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}"
          "td,th{padding:3px 9px;border-bottom:1px solid #ddd;text-align:right}"
          "td:first-child,th:first-child{text-align:left}.failed{color:#b00}</style>\n"
          "<h1>yonder-bench</h1>\n",
          out);
    write_facts(report, "<p>", "</p>\n", out);
    fputs("<h2>How many times better A is than B</h2><p>Light: requests a second. Dark: "
          "server CPU a request.</p>\n",
          out);
    write_chart(report, out);
    fprintf(
        out,
        "<h2>Figures</h2><table><tr><th>row<th>hits<th>candidates<th>tested<th>A rate<th>A CPU &micro;s<th>A p99 ms<th>B "
        "rate<th>B CPU &micro;s<th>B p99 ms<th>rate A/B<th>CPU B/A%s<th>checked</tr>\n",
        has_change ? "<th>change of CPU" : "");
    for (size_t i = 0; i < report->n_results; i++) {
        const struct bench_result *r = &report->results[i];
        fputs("<tr><td title=\"", out);
        for (const char *p = r->command; *p != '\0'; p++)
            fputc(*p == '"' ? '\'' : *p, out);
        fputs("\">", out);
        write_escaped(r->row->name, out);
        if (r->outcome != BENCH_SUCCEEDED) {
            fprintf(out,
                    "<td class=\"failed\" colspan=\"12\">%s: ", outcome_name(r->outcome));
            write_escaped(r->reason, out);
            fputs("</tr>\n", out);
            continue;
        }
        fprintf(out, "<td>%s<td>%s<td>%s<td>", number(r->hits, a),
                amount(r->candidates, b), amount(r->tested, c));
        write_cells(report, r, "<td>", out);
        fputs("<td>", out);
        write_escaped(r->checked, out);
        fputs("</tr>\n", out);
    }
    fputs(
        "</table>\n<p>Hits: members a reply. Candidates: members of the cells that Redis "
        "scans for it. Tested: points that Yonder tests one by one.</p>\n",
        out);
    write_notes(report, "<p>", "</p>\n", out);
    fputs("<p>", out);
    write_counts(report, out);
    fputs("</p>\n", out);
}
