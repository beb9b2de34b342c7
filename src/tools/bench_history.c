#include "tools/bench_history.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "tools/bench_args.h"
#include "tools/bench_json.h"

#define WIDTH 640.0
#define HEIGHT 120.0
#define MARGIN 50.0

static const char usage[] =
    "Usage: yonder-bench history [--html FILE] REPORT.json ...\n"
    "\n"
    "Puts reports of `compare --json` in the order of their dates on one page: for each row\n"
    "the server's CPU time a request over the commits, with its spread.\n"
    "Reports of different numbers of points are kept apart.\n"
    "\n"
    "  --html FILE   where to write the page (standard output)\n";

struct history {
    struct bench_json **reports; /* by date */
    size_t n;
};

/* ---- reading ------------------------------------------------------------ */

static struct bench_json *read_report(const char *path)
{
    struct yn_buf text;
    yn_buf_init(&text);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "yonder-bench: could not open \"%s\": %s\n", path,
                strerror(errno));
        return NULL;
    }
    char chunk[16 * 1024];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        yn_buf_append(&text, chunk, n);
    fclose(file);
    struct bench_json *json =
        text.failed || text.len == 0 ? NULL : bench_json_parse(text.data, text.len);
    yn_buf_clear(&text);
    const struct bench_json *rows = bench_json_find(json, "rows");
    if (rows == NULL || rows->type != BENCH_JSON_ARRAY) {
        fprintf(stderr, "yonder-bench: \"%s\" is no report of compare\n", path);
        bench_json_free(json);
        return NULL;
    }
    return json;
}

static int compare_dates(const void *a, const void *b)
{
    return strcmp(bench_json_text(*(struct bench_json *const *)a, "date"),
                  bench_json_text(*(struct bench_json *const *)b, "date"));
}

/* The row of a name in a report, if it succeeded there; else NULL. */
static const struct bench_json *find_row(const struct bench_json *report,
                                         const char *name)
{
    const struct bench_json *rows = bench_json_find(report, "rows");
    for (size_t i = 0; i < rows->n_items; i++) {
        const struct bench_json *row = &rows->items[i];
        if (strcmp(bench_json_text(row, "name"), name) == 0)
            return bench_json_find(row, "a") != NULL ? row : NULL;
    }
    return NULL;
}

static double cpu_of(const struct bench_json *row, const char *side, const char *what)
{
    return bench_json_number(bench_json_find(bench_json_find(row, side), "cpu_us"), what);
}

/* ---- writing ------------------------------------------------------------ */

static void write_escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            fputc(*text, out);
    }
}

static double x_of(size_t i, size_t n)
{
    return MARGIN + (n > 1 ? (double)i * (WIDTH - 2 * MARGIN) / (double)(n - 1)
                           : (WIDTH - 2 * MARGIN) / 2);
}

static double y_of(double value, double max)
{
    return HEIGHT - 15 - value / max * (HEIGHT - 30);
}

/* The line of one side, with the spread of each report. */
static void write_line(const struct history *history, const char *name, const char *side,
                       const char *colour, double max, FILE *out)
{
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
    for (size_t i = 0; i < history->n; i++) {
        const struct bench_json *row = find_row(history->reports[i], name);
        if (row != NULL)
            fprintf(out, "%.1f,%.1f ", x_of(i, history->n),
                    y_of(cpu_of(row, side, "median"), max));
    }
    fputs("\"/>\n", out);
    for (size_t i = 0; i < history->n; i++) {
        const struct bench_json *row = find_row(history->reports[i], name);
        if (row == NULL)
            continue;
        double median = cpu_of(row, side, "median");
        double deviation = cpu_of(row, side, "deviation");
        double x = x_of(i, history->n);
        fprintf(out,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>"
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%.4g us, ",
                x, x, y_of(median + deviation, max),
                y_of(fmax(0, median - deviation), max), colour, x, y_of(median, max),
                colour, median);
        write_escaped(bench_json_text(history->reports[i], "commit"), out);
        fputs(", ", out);
        write_escaped(bench_json_text(history->reports[i], "date"), out);
        fputs("</title></circle>\n", out);
    }
}

static void write_chart(const struct history *history, const char *name, FILE *out)
{
    double max = 0;
    for (size_t i = 0; i < history->n; i++) {
        const struct bench_json *row = find_row(history->reports[i], name);
        max = fmax(max, cpu_of(row, "a", "median") + cpu_of(row, "a", "deviation"));
    }
    if (max <= 0)
        return;
    fputs("<h3>", out);
    write_escaped(name, out);
    fprintf(out,
            "</h3><svg width=\"%.0f\" height=\"%.0f\" font-size=\"11\"><text x=\"2\" "
            "y=\"%.1f\">%.3g</text><text x=\"2\" y=\"%.1f\">0</text><line x1=\"%.1f\" "
            "x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ccc\"/>\n",
            WIDTH, HEIGHT, y_of(max, max), max, y_of(0, max), MARGIN, WIDTH - MARGIN,
            y_of(0, max), y_of(0, max));
    write_line(history, name, "a", "#2c6fae", max, out);
    for (size_t i = 0; i < history->n; i++) {
        if (history->n > 12 && i % (history->n / 12 + 1) != 0)
            continue;
        char commit[8];
        snprintf(commit, sizeof commit, "%s",
                 bench_json_text(history->reports[i], "commit"));
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                x_of(i, history->n), HEIGHT - 2);
        write_escaped(commit, out);
        fputs("</text>\n", out);
    }
    fputs("</svg>\n", out);
}

/* Has an earlier report of these the row? Then its chart is there. */
static bool is_new(const struct history *history, size_t n_before, const char *name)
{
    for (size_t i = 0; i < n_before; i++) {
        if (find_row(history->reports[i], name) != NULL)
            return false;
    }
    return true;
}

static void write_section(const struct history *history, FILE *out)
{
    fprintf(out, "<h2>%.0f points</h2>\n",
            bench_json_number(history->reports[0], "points"));
    for (size_t i = 0; i < history->n; i++) {
        const struct bench_json *rows = bench_json_find(history->reports[i], "rows");
        for (size_t j = 0; j < rows->n_items; j++) {
            const char *name = bench_json_text(&rows->items[j], "name");
            if (bench_json_find(&rows->items[j], "a") != NULL && is_new(history, i, name))
                write_chart(history, name, out);
        }
    }
}

static bool write_page(const struct history *history, FILE *out)
{
    struct history part = {calloc(history->n, sizeof part.reports[0]), 0};
    bool *is_written = calloc(history->n, sizeof *is_written);
    bool is_fine = part.reports != NULL && is_written != NULL;
    if (is_fine)
        fputs(
            "<!doctype html><meta charset=\"utf-8\"><title>yonder-bench history</title>\n"
            "<style>body{font:14px sans-serif;margin:2em}h3{margin:1em 0 0}</style>\n"
            "<h1>Server CPU a request, microseconds</h1>\n",
            out);
    for (size_t i = 0; i < history->n && is_fine; i++) {
        if (is_written[i])
            continue;
        part.n = 0;
        for (size_t j = i; j < history->n; j++) {
            if (bench_json_number(history->reports[j], "points") ==
                bench_json_number(history->reports[i], "points")) {
                part.reports[part.n++] = history->reports[j];
                is_written[j] = true;
            }
        }
        write_section(&part, out);
    }
    free(part.reports);
    free(is_written);
    return is_fine && ferror(out) == 0;
}

static int write_history(const struct history *history, const char *path)
{
    FILE *out = path != NULL ? fopen(path, "w") : stdout;
    bool is_fine = out != NULL && write_page(history, out);
    if (out != NULL && (out == stdout ? fflush(out) : fclose(out)) != 0)
        is_fine = false;
    if (!is_fine)
        fprintf(stderr, "yonder-bench: could not write the page: %s\n", strerror(errno));
    return is_fine ? 0 : 1;
}

int bench_history_main(int argc, char **argv)
{
    const char *html = NULL;
    const struct bench_arg table[] = {{"--html", NULL, BENCH_ARG_TEXT, &html}, {0}};
    int first, exit_status;
    if (!bench_args_parse(table, usage, false, argc, argv, &first, &exit_status))
        return exit_status;
    if (first == argc) {
        fputs("yonder-bench: history wants reports; see --help\n", stderr);
        return 2;
    }
    struct history history = {calloc((size_t)(argc - first), sizeof(void *)), 0};
    int status = history.reports != NULL ? 0 : 1;
    for (int i = first; i < argc && status == 0; i++) {
        history.reports[history.n] = read_report(argv[i]);
        if (history.reports[history.n] == NULL)
            status = 2;
        else
            history.n++;
    }
    if (status == 0) {
        qsort(history.reports, history.n, sizeof history.reports[0], compare_dates);
        status = write_history(&history, html);
    }
    for (size_t i = 0; i < history.n; i++)
        bench_json_free(history.reports[i]);
    free(history.reports);
    return status;
}
