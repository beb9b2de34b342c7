/*
 * cli_csv.h: a CSV file as a stream of rows, each with the line that it starts on.
 *
 * Feed the file's bytes in any pieces; every finished row is handed to `visit`. Memory is
 * that of the longest row, whatever the file's size. Lines end with LF, CR LF or CR; a
 * quoted field may hold delimiters, quotes (doubled) and line ends; blanks around a field
 * that is not quoted are dropped, and so are blank lines and a UTF-8 byte order mark.
 *
 * Text behind the closing quote of a field makes a row broken: nobody knows where its
 * fields end. It ends with that line, so that the rows after it are read as they are.
 */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include <csv.h>

#include "core/buf.h"

/* Longest field, so that a quote which is never closed does not eat all memory. */
#define CLI_CSV_FIELD_MAX ((size_t)64 * 1024 * 1024)

struct cli_csv_row {
    uint64_t line;                 /* from 1 */
    const struct yn_bytes *fields; /* borrowed for the visit */
    size_t n_fields;               /* 0 in a broken row */
    bool is_broken;
};

/* Returns false to stop. */
typedef bool (*cli_csv_fn)(void *ctx, const struct cli_csv_row *row);

enum cli_csv_status {
    CLI_CSV_OK,
    CLI_CSV_STOPPED,  /* by visit */
    CLI_CSV_TOO_LONG, /* a field longer than CLI_CSV_FIELD_MAX; row_line says where */
    CLI_CSV_UNCLOSED, /* the file ends inside a quoted field; row_line says where */
    CLI_CSV_NOMEM,
};

struct cli_csv {
    cli_csv_fn visit;
    void *ctx;
    uint64_t row_line; /* first line of the row under way, or of the one after the last */

    /* private */
    struct csv_parser parser;
    int idle_state; /* the parser's state between rows */
    uint64_t line;  /* the one that the next byte belongs to */
    bool after_cr;  /* the last piece ended with CR: LF at the start goes with it */
    size_t n_bom;   /* bytes of a byte order mark seen at the start */
    bool is_past_bom;
    struct yn_buf row; /* the fields of the row under way, back to back */
    size_t *ends;      /* where each ends in `row` */
    struct yn_bytes *fields;
    size_t n_fields, fields_cap;
    char delimiter;
    enum {
        CLI_CSV_START,
        CLI_CSV_PLAIN,
        CLI_CSV_QUOTED,
        CLI_CSV_QUOTE,
        CLI_CSV_BEHIND
    } place;        /* of the next byte: see is_out_of_place */
    bool is_broken; /* the row under way */
    enum cli_csv_status status;
};

void cli_csv_init(struct cli_csv *csv, char delimiter, cli_csv_fn visit, void *ctx);
void cli_csv_clear(struct cli_csv *csv);

/* Status other than OK is final. */
enum cli_csv_status cli_csv_feed(struct cli_csv *csv, const char *data, size_t len);
/* Tells that the file has ended: the last row may lack its line end. */
enum cli_csv_status cli_csv_finish(struct cli_csv *csv);

#endif
