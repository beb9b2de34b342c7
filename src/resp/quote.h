/*
 * quote.h: bytes as a quoted word, which yn_words_visit reads back as it was. No I/O.
 */
#ifndef YN_RESP_QUOTE_H
#define YN_RESP_QUOTE_H

#include "core/buf.h"

/* Appends the bytes in double quotes, with escapes for all that is not printable ASCII.
 */
void yn_quote(struct yn_buf *out, struct yn_bytes bytes);

#endif
