/*
 * write.h: reply (and request) writers: values to RESP bytes in a buffer.
 * No I/O. `resp` is the protocol version, 2 or 3.
 */
#ifndef YN_RESP_WRITE_H
#define YN_RESP_WRITE_H

#include "core/buf.h"

void yn_write_status(struct yn_buf *out, const char *text);
/* "-" text CR LF; CR and LF inside become blanks, trailing ones are dropped. */
void yn_write_error(struct yn_buf *out, struct yn_bytes text);
void yn_write_integer(struct yn_buf *out, int64_t value);
void yn_write_bulk(struct yn_buf *out, struct yn_bytes bytes);
void yn_write_bulk_text(struct yn_buf *out, const char *text); /* a C string */
void yn_write_null(struct yn_buf *out, int resp);              /* $-1 or _ */
void yn_write_null_array(struct yn_buf *out, int resp);        /* *-1 or _ */
void yn_write_array(struct yn_buf *out, size_t n);
void yn_write_map(struct yn_buf *out, int resp, size_t n_pairs);
void yn_write_set(struct yn_buf *out, int resp, size_t n);
void yn_write_push(struct yn_buf *out, int resp, size_t n);   /* RESP2: array */
void yn_write_bool(struct yn_buf *out, int resp, bool value); /* :1 or #t */
/* Text of a number that the caller formatted: bulk in RESP2, ",text" in RESP3. */
void yn_write_double_text(struct yn_buf *out, int resp, struct yn_bytes text);
void yn_write_verbatim(struct yn_buf *out, int resp, const char format[3],
                       struct yn_bytes text);
/* n results of a search: for each an array of the member, which is in wire form, and
 * of its distance in the unit, a bulk as yn_num_format_distance prints it. */
void yn_write_hits(struct yn_buf *out, const struct yn_hits *hits, double unit_m);
/* A request: an array of bulks. */
void yn_write_command(struct yn_buf *out, size_t argc, const struct yn_bytes *argv);

#endif
