/*
 * cli_import.c: CSV rows to pipelined GEOADD commands.
 *
 * Rows are checked here, so that a bad one costs itself and not its neighbours: the
 * server refuses a whole GEOADD for one bad number. Good rows gather in a batch; a full
 * batch is queued on the link, whose pump writes requests and reads replies at the same
 * time. A few dozen batches may be under way; their line ranges wait in a ring, since
 * replies come in the order of the requests.
 */
#include "tools/cli_import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/num.h"
#include "resp/quote.h"
#include "tools/cli_csv.h"
#include "tools/cli_link.h"
#include "tools/cli_print.h"
#include "tools/cli_progress.h"

enum { EXIT_ALL = 0, EXIT_SOME = 1, EXIT_FAILED = 2 };

#define CHUNK_LEN ((size_t)64 * 1024)
#define BATCH_DEFAULT 250
#define BATCH_MAX 100000
#define BATCH_BYTES_MAX ((size_t)1024 * 1024)
#define OUT_LEN_MAX ((size_t)512 * 1024)
#define IN_FLIGHT_MAX 64
#define REJECTIONS_SHOWN 20
#define SHOWN_LEN_MAX 40

/* ---- options ------------------------------------------------------------ */

struct import_options {
    const char *file, *key;
    const char *columns[3]; /* by enum column; NULL: by the usual names */
    char delimiter;
    size_t batch;
    bool no_progress;
};

enum column { COLUMN_LON, COLUMN_LAT, COLUMN_ID, N_COLUMNS };

static const char *const column_titles[N_COLUMNS] = {"longitude", "latitude", "id"};
static const char *const column_options[N_COLUMNS] = {"--lon-column", "--lat-column",
                                                      "--id-column"};
/* Names that a column usually has, the likeliest first. */
static const char *const column_names[N_COLUMNS][10] = {
    {"lon", "lng", "long", "longitude", "x"},
    {"lat", "latitude", "y"},
    {"id", "geonameid", "osm_id", "member", "key", "uuid", "code", "name"},
};

static const char usage_text[] =
    "Usage: yonder-cli [options] import FILE.csv --key KEY [import options]\n"
    "\n"
    "Loads rows of a CSV file into KEY with GEOADD. The first row names the columns.\n"
    "FILE may be - for standard input.\n"
    "\n"
    "  --key KEY            the key\n"
    "  --lon-column NAME    longitude in degrees (default: lon, lng, long, longitude or x)\n"
    "  --lat-column NAME    latitude in degrees (default: lat, latitude or y)\n"
    "  --id-column NAME     member (default: id, geonameid, osm_id, member, key, uuid,\n"
    "                       code or name)\n"
    "  --delimiter CHAR     between fields (default: a comma; \"tab\" for a tab)\n"
    "  --batch N            members a command (default: 250)\n"
    "  --no-progress        no progress report\n"
    "\n"
    "Rows that cannot be loaded are listed with their line; the others are loaded.\n"
    "Exit status: 0 all rows loaded; 1 some rejected; 2 nothing loaded, or the file or\n"
    "the server failed.\n";

static bool parse_delimiter(const char *text, char *out_delimiter)
{
    if (strcmp(text, "tab") == 0 || strcmp(text, "\\t") == 0)
        *out_delimiter = '\t';
    else if (strlen(text) == 1 && strchr("\"\r\n ", text[0]) == NULL)
        *out_delimiter = text[0];
    else
        return false;
    return true;
}

static bool parse_value(struct import_options *import, const char *name,
                        const char *value)
{
    long batch;
    for (int i = 0; i < N_COLUMNS; i++) {
        if (strcmp(name, column_options[i]) == 0) {
            import->columns[i] = value;
            return true;
        }
    }
    if (strcmp(name, "--key") == 0) {
        import->key = value;
    } else if (strcmp(name, "--delimiter") == 0) {
        if (!parse_delimiter(value, &import->delimiter)) {
            fputs("yonder-cli: --delimiter must be one character or \"tab\"\n", stderr);
            return false;
        }
    } else if (strcmp(name, "--batch") == 0) {
        if (!cli_options_parse_number(value, 1, BATCH_MAX, &batch)) {
            fprintf(stderr, "yonder-cli: --batch must be a number of 1 to %d\n",
                    BATCH_MAX);
            return false;
        }
        import->batch = (size_t)batch;
    } else {
        fprintf(stderr, "yonder-cli: unknown option %s; see yonder-cli import --help\n",
                name);
        return false;
    }
    return true;
}

static bool parse_options(struct import_options *import, int argc, char **argv)
{
    *import = (struct import_options){.delimiter = ',', .batch = BATCH_DEFAULT};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (import->file != NULL) {
                fputs("yonder-cli: one file at a time, please\n", stderr);
                return false;
            }
            import->file = argv[i];
        } else if (strcmp(argv[i], "--no-progress") == 0) {
            import->no_progress = true;
        } else if (i + 1 == argc) {
            fprintf(stderr, "yonder-cli: no value for %s, or it is unknown\n", argv[i]);
            return false;
        } else if (!parse_value(import, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    if (import->file == NULL || import->key == NULL) {
        fputs("yonder-cli: import needs a file and --key; see yonder-cli import --help\n",
              stderr);
        return false;
    }
    return true;
}

/* ---- the state of an import --------------------------------------------- */

struct batch_lines {
    uint64_t first, last;
    size_t n_rows;
};

struct import {
    const struct import_options *options;
    struct cli_link link;
    struct cli_csv csv;
    struct cli_progress progress;
    uint64_t bytes_read;

    bool has_header;
    size_t columns[N_COLUMNS]; /* index in the row */

    /* the batch that is being filled: lon, lat and id of each row, back to back */
    struct yn_buf batch;
    size_t *ends;          /* of 3 fields a row */
    struct yn_bytes *argv; /* GEOADD, key, fields */
    struct batch_lines lines;

    struct batch_lines in_flight[IN_FLIGHT_MAX]; /* ring of batches without a reply */
    size_t first_in_flight, n_in_flight;

    uint64_t n_rows, n_rejected, n_sent, n_confirmed, n_added;
    bool has_failed; /* told already; stop */
};

/* Tells about a failure and stops the import. Returns false. */
static bool fail(struct import *import, const char *text)
{
    if (!import->has_failed) {
        cli_progress_wipe(&import->progress);
        fprintf(stderr, "yonder-cli: %s\n", text);
    }
    import->has_failed = true;
    return false;
}

/* ---- batches and replies ------------------------------------------------ */

static bool take_reply(struct import *import, const struct yn_reply *reply)
{
    if (reply->type == YN_REPLY_PUSH || import->n_in_flight == 0)
        return true;
    struct batch_lines lines = import->in_flight[import->first_in_flight];
    import->first_in_flight = (import->first_in_flight + 1) % IN_FLIGHT_MAX;
    import->n_in_flight--;
    if (reply->type == YN_REPLY_INTEGER) {
        if (reply->integer < 0 || (uint64_t)reply->integer > lines.n_rows)
            return fail(import, "the server says that it added more rows than it got");
        import->n_confirmed += lines.n_rows;
        import->n_added += (uint64_t)reply->integer;
        return true;
    }
    char text[512];
    snprintf(text, sizeof text,
             "the server refused the rows of lines %" PRIu64 " to %" PRIu64 ": %.*s",
             lines.first, lines.last, (int)reply->text.len,
             reply->text.data != NULL ? reply->text.data : "");
    return fail(import, text);
}

/* Takes the replies that have come. */
static bool take_replies(struct import *import)
{
    struct yn_reply *reply;
    while (cli_link_poll(&import->link, &reply)) {
        if (reply == NULL)
            return true;
        bool is_good = take_reply(import, reply);
        yn_reply_free(reply);
        if (!is_good)
            return false;
    }
    return fail(import, import->link.error);
}

/* Moves bytes until no more than these limits are under way. */
static bool drain(struct import *import, size_t max_in_flight, size_t max_out_len)
{
    while (import->n_in_flight > max_in_flight || import->link.out.len > max_out_len) {
        if (!cli_link_pump(&import->link))
            return fail(import, import->link.error);
        if (!take_replies(import))
            return false;
    }
    return true;
}

static bool send_batch(struct import *import)
{
    size_t n_rows = import->lines.n_rows;
    if (n_rows == 0)
        return true;
    import->argv[0] = (struct yn_bytes){"GEOADD", 6};
    import->argv[1] =
        (struct yn_bytes){import->options->key, strlen(import->options->key)};
    size_t start = 0;
    for (size_t i = 0; i < 3 * n_rows; i++) {
        import->argv[2 + i] =
            (struct yn_bytes){import->batch.data + start, import->ends[i] - start};
        start = import->ends[i];
    }
    if (!cli_link_queue(&import->link, 2 + 3 * n_rows, import->argv))
        return fail(import, import->link.error);

    size_t slot = (import->first_in_flight + import->n_in_flight) % IN_FLIGHT_MAX;
    import->in_flight[slot] = import->lines;
    import->n_in_flight++;
    import->n_sent += n_rows;
    import->lines.n_rows = 0;
    yn_buf_reset(&import->batch, BATCH_BYTES_MAX);
    return drain(import, IN_FLIGHT_MAX - 1, OUT_LEN_MAX);
}

/* ---- rows --------------------------------------------------------------- */

/* Counts a bad row and tells why, if not too many have been told already. */
static void reject(struct import *import, uint64_t line, const char *reason,
                   const struct yn_bytes *value)
{
    import->n_rejected++;
    if (import->n_rejected > REJECTIONS_SHOWN)
        return;
    cli_progress_wipe(&import->progress);
    fprintf(stderr, "line %" PRIu64 ": %s", line, reason);
    if (value != NULL) {
        struct yn_buf text;
        yn_buf_init(&text);
        bool is_long = value->len > SHOWN_LEN_MAX;
        yn_quote(&text,
                 (struct yn_bytes){value->data, is_long ? SHOWN_LEN_MAX : value->len});
        fprintf(stderr, ": %.*s%s", (int)text.len, text.data, is_long ? "..." : "");
        yn_buf_clear(&text);
    }
    fputc('\n', stderr);
}

static struct yn_bytes trim(struct yn_bytes text)
{
    while (text.len > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (struct yn_bytes){text.data + 1, text.len - 1};
    while (text.len > 0 &&
           (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

/* Checks a row's fields as the server will. Returns false when it has been rejected. */
static bool check_row(struct import *import, uint64_t line, const struct yn_bytes *fields)
{
    struct yn_point point;
    if (!yn_num_parse_double(fields[COLUMN_LON], &point.lon))
        reject(import, line, "longitude is not a number", &fields[COLUMN_LON]);
    else if (!yn_num_parse_double(fields[COLUMN_LAT], &point.lat))
        reject(import, line, "latitude is not a number", &fields[COLUMN_LAT]);
    else if (!(point.lon >= -YN_LON_MAX_DEG && point.lon <= YN_LON_MAX_DEG))
        reject(import, line, "longitude is not within -180 and 180", &fields[COLUMN_LON]);
    else if (!(point.lat >= -YN_LAT_MAX_DEG && point.lat <= YN_LAT_MAX_DEG))
        reject(import, line, "latitude is not within -85.05112878 and 85.05112878",
               &fields[COLUMN_LAT]);
    else if (fields[COLUMN_ID].len == 0)
        reject(import, line, "id is empty", NULL);
    else
        return true;
    return false;
}

static bool add_row(struct import *import, const struct cli_csv_row *row)
{
    import->n_rows++;
    struct yn_bytes fields[N_COLUMNS];
    if (row->is_broken) {
        reject(import, row->line, "text behind the closing quote of a field", NULL);
        return true;
    }
    for (int i = 0; i < N_COLUMNS; i++) {
        if (import->columns[i] >= row->n_fields) {
            char reason[128];
            snprintf(reason, sizeof reason,
                     "row has %zu columns; %s should be in column %zu", row->n_fields,
                     column_titles[i], import->columns[i] + 1);
            reject(import, row->line, reason, NULL);
            return true;
        }
        fields[i] = row->fields[import->columns[i]];
        if (i != COLUMN_ID)
            fields[i] = trim(fields[i]);
    }
    if (!check_row(import, row->line, fields))
        return true;

    struct batch_lines *lines = &import->lines;
    for (int i = 0; i < N_COLUMNS; i++) {
        cli_print_bytes(&import->batch, fields[i]);
        import->ends[3 * lines->n_rows + (size_t)i] = import->batch.len;
    }
    if (import->batch.failed)
        return fail(import, "out of memory");
    if (lines->n_rows == 0)
        lines->first = row->line;
    lines->last = row->line;
    lines->n_rows++;
    if (lines->n_rows == import->options->batch || import->batch.len > BATCH_BYTES_MAX)
        return send_batch(import);
    return true;
}

/* ---- the header --------------------------------------------------------- */

static bool find_column(const struct cli_csv_row *row, const char *name,
                        size_t *out_index)
{
    for (size_t i = 0; i < row->n_fields; i++) {
        struct yn_bytes field = trim(row->fields[i]);
        if (field.len == strlen(name) && strncasecmp(field.data, name, field.len) == 0) {
            *out_index = i;
            return true;
        }
    }
    return false;
}

static bool fail_without_column(struct import *import, int column,
                                const struct cli_csv_row *row)
{
    struct yn_buf text;
    yn_buf_init(&text);
    cli_print_text(&text, "no column for the ");
    cli_print_text(&text, column_titles[column]);
    if (import->options->columns[column] != NULL) {
        cli_print_text(&text, " is called \"");
        cli_print_text(&text, import->options->columns[column]);
        cli_print_text(&text, "\"");
    } else {
        cli_print_text(&text, " has a usual name; say which with ");
        cli_print_text(&text, column_options[column]);
    }
    cli_print_text(&text, "; the file has");
    for (size_t i = 0; i < row->n_fields && i < 30; i++) {
        struct yn_bytes name = row->fields[i];
        cli_print_text(&text, i > 0 ? ", " : " ");
        yn_quote(&text,
                 (struct yn_bytes){name.data,
                                   name.len < SHOWN_LEN_MAX ? name.len : SHOWN_LEN_MAX});
    }
    if (row->n_fields == 1)
        cli_print_text(&text, " (if fields are not separated by commas, say how with "
                              "--delimiter)");
    cli_print_bytes(&text, (struct yn_bytes){"", 1});
    fail(import, text.failed ? "out of memory" : text.data);
    yn_buf_clear(&text);
    return false;
}

static bool read_header(struct import *import, const struct cli_csv_row *row)
{
    import->has_header = true;
    for (int i = 0; i < N_COLUMNS; i++) {
        const char *name = import->options->columns[i];
        bool is_found = name != NULL && find_column(row, name, &import->columns[i]);
        for (size_t k = 0; name == NULL && !is_found && column_names[i][k] != NULL; k++)
            is_found = find_column(row, column_names[i][k], &import->columns[i]);
        if (!is_found)
            return fail_without_column(import, i, row);
    }
    return true;
}

static bool visit_row(void *ctx, const struct cli_csv_row *row)
{
    struct import *import = ctx;
    return import->has_header ? add_row(import, row) : read_header(import, row);
}

/* ---- the file ----------------------------------------------------------- */

static void check_csv(struct import *import, enum cli_csv_status status)
{
    char text[128];
    switch (status) {
    case CLI_CSV_OK:
    case CLI_CSV_STOPPED:
        break;
    case CLI_CSV_TOO_LONG:
        snprintf(text, sizeof text,
                 "line %" PRIu64
                 ": a field is longer than %zu MB; is a quote not closed?",
                 import->csv.row_line, CLI_CSV_FIELD_MAX / 1024 / 1024);
        fail(import, text);
        break;
    case CLI_CSV_UNCLOSED:
        import->n_rows++;
        reject(import, import->csv.row_line, "a quote is not closed until the file ends",
               NULL);
        break;
    case CLI_CSV_NOMEM:
        fail(import, "out of memory");
        break;
    }
}

static void fail_file(struct import *import, const char *what)
{
    char text[512];
    snprintf(text, sizeof text, "could not %s \"%s\": %s", what, import->options->file,
             strerror(errno));
    fail(import, text);
}

static void read_rows(struct import *import, int fd)
{
    char chunk[CHUNK_LEN];
    enum cli_csv_status status = CLI_CSV_OK;
    while (status == CLI_CSV_OK && !import->has_failed) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            fail_file(import, "read");
            break;
        }
        if (n == 0) {
            check_csv(import, cli_csv_finish(&import->csv));
            break;
        }
        import->bytes_read += (uint64_t)n;
        status = cli_csv_feed(&import->csv, chunk, (size_t)n);
        check_csv(import, status);
        cli_progress_show(&import->progress, import->bytes_read, import->n_rows);
    }
    if (!import->has_failed && !import->has_header)
        fail(import, "the file is empty: there is no header row");
}

static int open_file(struct import *import)
{
    const char *path = import->options->file;
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0) {
        fail_file(import, "open");
        return -1;
    }
    bool has_size = S_ISREG(info.st_mode) && info.st_size > 0;
    cli_progress_init(&import->progress, has_size ? (uint64_t)info.st_size : 0,
                      import->options->no_progress);
    return fd;
}

/* ---- the whole ---------------------------------------------------------- */

static bool import_init(struct import *import, const struct import_options *options)
{
    memset(import, 0, sizeof *import);
    import->options = options;
    cli_link_init(&import->link);
    cli_csv_init(&import->csv, options->delimiter, visit_row, import);
    yn_buf_init(&import->batch);
    import->ends = calloc(3 * options->batch, sizeof *import->ends);
    import->argv = calloc(2 + 3 * options->batch, sizeof *import->argv);
    return (import->ends != NULL && import->argv != NULL) ||
           fail(import, "out of memory");
}

static void import_clear(struct import *import)
{
    cli_link_close(&import->link);
    cli_csv_clear(&import->csv);
    yn_buf_clear(&import->batch);
    free(import->ends);
    free(import->argv);
}

static void print_totals(struct import *import)
{
    char rows[CLI_PROGRESS_COUNT_MAX], added[CLI_PROGRESS_COUNT_MAX];
    char updated[CLI_PROGRESS_COUNT_MAX], rejected[CLI_PROGRESS_COUNT_MAX];
    char rate[CLI_PROGRESS_COUNT_MAX], unsure[CLI_PROGRESS_COUNT_MAX];
    double seconds = cli_progress_seconds(&import->progress) + 1e-6; /* never 0 */

    cli_progress_wipe(&import->progress);
    if (import->n_rejected > REJECTIONS_SHOWN)
        fprintf(stderr, "and %s more rejected rows\n",
                cli_progress_count(import->n_rejected - REJECTIONS_SHOWN, rejected));
    printf("%s rows in %.2f s (%s rows/s): %s added, %s updated (id was there already), "
           "%s rejected",
           cli_progress_count(import->n_rows, rows), seconds,
           cli_progress_count((uint64_t)((double)import->n_rows / seconds), rate),
           cli_progress_count(import->n_added, added),
           cli_progress_count(import->n_confirmed - import->n_added, updated),
           cli_progress_count(import->n_rejected, rejected));
    if (import->n_sent > import->n_confirmed)
        printf(", %s sent without an answer",
               cli_progress_count(import->n_sent - import->n_confirmed, unsure));
    putchar('\n');
}

static int exit_status(const struct import *import)
{
    bool nothing_loaded = import->n_rows > 0 && import->n_confirmed == 0;
    if (import->has_failed || nothing_loaded)
        return EXIT_FAILED;
    return import->n_rejected > 0 ? EXIT_SOME : EXIT_ALL;
}

int cli_import_run(const struct cli_options *options)
{
    if (options->n_words == 2 && strcmp(options->words[1], "--help") == 0) {
        fputs(usage_text, stdout);
        return EXIT_ALL;
    }
    struct import_options import_options;
    if (!parse_options(&import_options, options->n_words, options->words))
        return EXIT_FAILED;

    struct import import;
    int fd = -1;
    if (import_init(&import, &import_options) && (fd = open_file(&import)) >= 0) {
        if (!cli_link_open(&import.link, options))
            fail(&import, import.link.error);
        else
            read_rows(&import, fd);
        if (!import.has_failed && send_batch(&import))
            drain(&import, 0, 0);
        if (import.has_header && (!import.has_failed || import.n_rows > 0))
            print_totals(&import);
        if (fd != STDIN_FILENO)
            close(fd);
    }
    int status = exit_status(&import);
    import_clear(&import);
    return status;
}
