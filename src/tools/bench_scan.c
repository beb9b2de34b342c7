/*
 * HOT: what is counted is nanoseconds an element of a reply of 100 thousand. The common
 * element, a bulk of less than 100 bytes, is stepped over in skip_bulks(): its header is
 * compared with the last but one (members and their distances take turns), and if they
 * are equal the same stride is added. The processor guesses that branch, so the next
 * header is loaded before this one is known; parsing each length would chain load after
 * load. Headers of short arrays, which stand before each pair, are stepped over as well.
 * Everything else takes the slow path, which gathers a line and interprets it, and gives
 * the same counts alone.
 */
#include "tools/bench_scan.h"

#include <string.h>

#include "core/num.h"

void bench_scan_init(struct bench_scan *scan)
{
    memset(scan, 0, sizeof *scan);
}

static void finish_value(struct bench_scan *scan)
{
    if (--scan->n_owed == 0)
        scan->n_replies++;
}

/* Header, payload and line ends of a short bulk; 0 for anything else. */
static size_t bulk_stride(const char *p)
{
    unsigned a = (unsigned)p[1] - '0', b = (unsigned)p[2] - '0';
    if (p[0] != '$' || a > 9)
        return 0;
    if (p[2] == '\r')
        return 4 + a + 2;
    return b <= 9 && p[3] == '\r' ? 5 + 10 * a + b + 2 : 0;
}

/* The header of an array of one to nine elements, as most results of searches are one. */
static bool is_short_array(const char *p)
{
    return p[0] == '*' && (unsigned)(p[1] - '1') < 9 && p[2] == '\r';
}

/* Steps over bulks that are wholly there, and headers of short arrays between them. Stops
 * at the end of a reply. */
static const char *skip_bulks(struct bench_scan *scan, const char *p, const char *end)
{
    uint32_t known = 0, other = 0, header;
    size_t stride = 0, other_stride = 0;
    uint64_t n_owed = scan->n_owed;
    while (n_owed > 0 && end - p >= 128) {
        if (is_short_array(p)) {
            n_owed += (uint64_t)(p[1] - '0') - 1;
            p += 4;
            continue;
        }
        uint32_t last = known;
        size_t last_stride = stride;
        known = other;
        stride = other_stride;
        memcpy(&header, p, sizeof header);
        if (header != known) {
            stride = bulk_stride(p);
            if (stride == 0)
                break;
            known = header;
        }
        other = last;
        other_stride = last_stride;
        p += stride;
        n_owed--;
    }
    if (n_owed == 0 && scan->n_owed > 0)
        scan->n_replies++;
    scan->n_owed = n_owed;
    return p;
}

static void note_error(struct bench_scan *scan, const char *text, size_t len)
{
    if (scan->n_errors++ > 0)
        return;
    if (len >= sizeof scan->error)
        len = sizeof scan->error - 1;
    memcpy(scan->error, text, len);
    scan->error[len] = '\0';
}

static void open_aggregate(struct bench_scan *scan, int64_t n, bool is_top)
{
    if (n < 0)
        scan->n_nulls++;
    else if (n == 0 && is_top)
        scan->n_empty++;
    if (n > 0)
        scan->n_owed += (uint64_t)n;
    finish_value(scan);
}

/* A whole header line, CR LF cut off. */
static void read_header(struct bench_scan *scan, const char *line, size_t len)
{
    bool is_top = scan->n_owed == 0;
    int64_t n = 0;
    if (is_top)
        scan->n_owed = 1;
    char kind = len > 0 ? line[0] : '\0';
    if (kind != '\0' && strchr("$=!*~>%|", kind) != NULL &&
        (!yn_num_parse_int64((struct yn_bytes){line + 1, len - 1}, &n) || n < -1 ||
         n > INT64_MAX / 4 || (kind == '!' && n < 0))) {
        scan->is_bad = true;
        return;
    }
    switch (kind) {
    case '-':
        note_error(scan, line + 1, len - 1);
        finish_value(scan);
        break;
    case '_':
        scan->n_nulls++;
        finish_value(scan);
        break;
    case '+':
    case ':':
    case ',':
    case '#':
    case '(':
        finish_value(scan);
        break;
    case '!':
        note_error(scan, "a bulk error", strlen("a bulk error"));
        scan->skip = (uint64_t)n + 2;
        break;
    case '$':
    case '=':
        if (n < 0) {
            scan->n_nulls++;
            finish_value(scan);
        } else {
            scan->skip = (uint64_t)n + 2;
        }
        break;
    case '*':
    case '~':
    case '>':
        open_aggregate(scan, n, is_top);
        break;
    case '%':
        open_aggregate(scan, 2 * n, is_top);
        break;
    case '|': /* the value that it hangs on is still owed */
        scan->n_owed += n > 0 ? 2 * (uint64_t)n : 0;
        break;
    default:
        scan->is_bad = true;
    }
}

/* Gathers a header line, which may come in pieces. */
static const char *take_line(struct bench_scan *scan, const char *p, const char *end)
{
    const char *lf = memchr(p, '\n', (size_t)(end - p));
    const char *stop = lf != NULL ? lf + 1 : end;
    size_t n = (size_t)(stop - p);
    if (scan->line_len < sizeof scan->line) {
        size_t room = sizeof scan->line - scan->line_len;
        memcpy(scan->line + scan->line_len, p, n < room ? n : room);
    }
    scan->line_len += n;
    if (lf != NULL) {
        size_t len = scan->line_len >= 2 ? scan->line_len - 2 : 0;
        scan->line_len = 0;
        read_header(scan, scan->line, len < sizeof scan->line ? len : sizeof scan->line);
    }
    return stop;
}

uint64_t bench_scan_feed(struct bench_scan *scan, const char *data, size_t len)
{
    const char *p = data, *end = data + len;
    uint64_t before = scan->n_replies;
    while (p < end && !scan->is_bad) {
        if (scan->skip > 0) {
            uint64_t left = (uint64_t)(end - p);
            uint64_t n = scan->skip < left ? scan->skip : left;
            p += n;
            scan->skip -= n;
            if (scan->skip == 0)
                finish_value(scan);
            continue;
        }
        if (scan->line_len == 0 && end - p >= 128 &&
            (*p == '$' || (scan->n_owed > 0 && is_short_array(p)))) {
            if (scan->n_owed == 0)
                scan->n_owed = 1;
            const char *after = skip_bulks(scan, p, end);
            if (after != p) {
                p = after;
                continue;
            }
            if (scan->n_owed == 1) /* may be a reply of its own: read_header decides */
                scan->n_owed = 0;
        }
        p = take_line(scan, p, end);
    }
    return scan->n_replies - before;
}
