/*
 * cli_csv.c: libcsv, and the line numbers that it does not keep.
 *
 * libcsv calls back for fields and rows, but does not tell where they began. So it is fed
 * one line at a time, up to and with the line end. A row starts on the line that is fed
 * while the parser is between rows; a line that leaves the parser inside a row (a quoted
 * field goes on) adds to the row's, and a blank line leaves it between rows again.
 * Whether it is between rows shows in its state: the one that it had when it was new.
 */
#include "tools/cli_csv.h"

#include <stdlib.h>

#define FIRST_BLOCK_LEN ((size_t)64 * 1024)

void cli_csv_init(struct cli_csv *csv, char delimiter, cli_csv_fn visit, void *ctx)
{
    memset(csv, 0, sizeof *csv);
    csv->visit = visit;
    csv->ctx = ctx;
    csv->line = 1;
    csv->row_line = 1;
    csv->delimiter = delimiter;
    yn_buf_init(&csv->row);
    csv_init(&csv->parser, 0);
    csv_set_delim(&csv->parser, (unsigned char)delimiter);
    csv_set_blk_size(&csv->parser, FIRST_BLOCK_LEN);
    csv->idle_state = csv->parser.pstate;
}

void cli_csv_clear(struct cli_csv *csv)
{
    csv_free(&csv->parser);
    yn_buf_clear(&csv->row);
    free(csv->ends);
    free(csv->fields);
    csv->ends = NULL;
    csv->fields = NULL;
}

static bool grow_fields(struct cli_csv *csv)
{
    size_t cap = csv->fields_cap * 2 + 16;
    size_t *ends = realloc(csv->ends, cap * sizeof *ends);
    if (ends != NULL)
        csv->ends = ends;
    struct yn_bytes *fields = realloc(csv->fields, cap * sizeof *fields);
    if (fields != NULL)
        csv->fields = fields;
    if (ends == NULL || fields == NULL)
        return false;
    csv->fields_cap = cap;
    return true;
}

static void on_field(void *data, size_t len, void *ctx)
{
    struct cli_csv *csv = ctx;
    if (csv->status != CLI_CSV_OK || csv->is_broken)
        return;
    char *to = yn_buf_reserve(&csv->row, len + 1);
    if (to == NULL || (csv->n_fields == csv->fields_cap && !grow_fields(csv))) {
        csv->status = CLI_CSV_NOMEM;
        return;
    }
    if (len > 0)
        memcpy(to, data, len);
    csv->row.len += len;
    csv->ends[csv->n_fields++] = csv->row.len;
}

static void on_row(int line_end, void *ctx)
{
    (void)line_end;
    struct cli_csv *csv = ctx;
    if (csv->status != CLI_CSV_OK || csv->is_broken)
        return;
    size_t start = 0;
    for (size_t i = 0; i < csv->n_fields; i++) {
        csv->fields[i] = (struct yn_bytes){csv->row.data + start, csv->ends[i] - start};
        start = csv->ends[i];
    }
    struct cli_csv_row row = {csv->row_line, csv->fields, csv->n_fields, false};
    if (!csv->visit(csv->ctx, &row))
        csv->status = CLI_CSV_STOPPED;
    csv->n_fields = 0;
    yn_buf_reset(&csv->row, 1024 * 1024);
}

/* ---- broken rows ---- */

/* Whether the byte stands where nothing but a delimiter or a line end may: behind the
 * closing quote of a field. libcsv would take that quote for text and read on to another
 * one, over any number of rows. */
static bool is_out_of_place(struct cli_csv *csv, char byte)
{
    bool is_blank = byte == ' ' || byte == '\t';
    if (csv->place == CLI_CSV_QUOTED) {
        if (byte == '"')
            csv->place = CLI_CSV_QUOTE;
    } else if (byte == csv->delimiter || byte == '\n' || byte == '\r') {
        csv->place = CLI_CSV_START;
    } else if (csv->place == CLI_CSV_START && !is_blank) {
        csv->place = byte == '"' ? CLI_CSV_QUOTED : CLI_CSV_PLAIN;
    } else if (csv->place == CLI_CSV_QUOTE && byte == '"') {
        csv->place = CLI_CSV_QUOTED; /* it was the first of two, which stand for one */
    } else if (csv->place == CLI_CSV_QUOTE || csv->place == CLI_CSV_BEHIND) {
        csv->place = CLI_CSV_BEHIND;
        return !is_blank;
    }
    return false;
}

static bool has_byte_out_of_place(struct cli_csv *csv, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (is_out_of_place(csv, data[i]))
            return true;
    }
    return false;
}

/* Lets the parser forget what it has of the row, and hands the row out as broken. */
static void end_broken_row(struct cli_csv *csv)
{
    csv_fini(&csv->parser, on_field, on_row, csv);
    csv->n_fields = 0;
    yn_buf_reset(&csv->row, 1024 * 1024);
    csv->is_broken = false;
    csv->place = CLI_CSV_START;
    struct cli_csv_row row = {csv->row_line, NULL, 0, true};
    if (csv->status == CLI_CSV_OK && !csv->visit(csv->ctx, &row))
        csv->status = CLI_CSV_STOPPED;
}

/* ---- feeding ---- */

/* Feeds a piece of one line, with its line end if that has come. */
static void feed_piece(struct cli_csv *csv, const char *data, size_t len)
{
    if (csv->parser.pstate == csv->idle_state && !csv->is_broken)
        csv->row_line = csv->line;
    if (!csv->is_broken)
        csv->is_broken = has_byte_out_of_place(csv, data, len);
    if (csv->is_broken) {
        if (len > 0 && (data[len - 1] == '\n' || data[len - 1] == '\r'))
            end_broken_row(csv);
        return;
    }
    if (csv_parse(&csv->parser, data, len, on_field, on_row, csv) != len)
        csv->status = CLI_CSV_NOMEM; /* the only failure without strict mode */
    else if (csv_get_buffer_size(&csv->parser) > CLI_CSV_FIELD_MAX)
        csv->status = CLI_CSV_TOO_LONG;
    else if (csv_get_buffer_size(&csv->parser) > FIRST_BLOCK_LEN)
        /* libcsv adds a block when its buffer is full: blocks that grow with it make that
         * linear in the field's length */
        csv_set_blk_size(&csv->parser, csv_get_buffer_size(&csv->parser));
}

/* Length of the line that starts at data, its end included; len when it goes on. */
static size_t line_len(const char *data, size_t len)
{
    const char *lf = memchr(data, '\n', len);
    size_t n = lf != NULL ? (size_t)(lf - data) + 1 : len;
    const char *cr = memchr(data, '\r', n);
    if (cr == NULL || (lf != NULL && cr == lf - 1))
        return n;
    return (size_t)(cr - data) + 1;
}

/* Returns how many bytes at the start of data belong to a byte order mark. The mark's
 * first bytes may have come before; when it turns out to be none they are fed. */
static size_t skip_bom(struct cli_csv *csv, const char *data, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";
    size_t i = 0;
    while (i < len && csv->n_bom < 3 && data[i] == bom[csv->n_bom]) {
        i++;
        csv->n_bom++;
    }
    if (csv->n_bom < 3 && i == len)
        return i;
    csv->is_past_bom = true;
    if (csv->n_bom < 3)
        feed_piece(csv, bom, csv->n_bom);
    return i;
}

enum cli_csv_status cli_csv_feed(struct cli_csv *csv, const char *data, size_t len)
{
    size_t at = csv->is_past_bom ? 0 : skip_bom(csv, data, len);
    while (at < len && csv->status == CLI_CSV_OK) {
        if (csv->after_cr) {
            csv->after_cr = false;
            if (data[at] == '\n') { /* the second half of a CR LF */
                feed_piece(csv, data + at++, 1);
                csv->line++;
                continue;
            }
            csv->line++;
        }
        size_t n = line_len(data + at, len - at);
        feed_piece(csv, data + at, n);
        at += n;
        csv->after_cr = data[at - 1] == '\r';
        if (data[at - 1] == '\n')
            csv->line++;
    }
    return csv->status;
}

enum cli_csv_status cli_csv_finish(struct cli_csv *csv)
{
    if (csv->status == CLI_CSV_OK && !csv->is_past_bom && csv->n_bom > 0 &&
        csv->n_bom < 3)
        feed_piece(csv, "\xef\xbb\xbf", csv->n_bom);
    if (csv->is_broken)
        end_broken_row(csv);
    /* from here on strict: an open quote is told; before, quotes inside plain fields are
     * not */
    csv_set_opts(&csv->parser, CSV_STRICT | CSV_STRICT_FINI);
    if (csv->status == CLI_CSV_OK && csv_fini(&csv->parser, on_field, on_row, csv) != 0)
        csv->status =
            csv_error(&csv->parser) == CSV_EPARSE ? CLI_CSV_UNCLOSED : CLI_CSV_NOMEM;
    return csv->status;
}
