/*
 * string_reply.h: replies with strings, which may be large.
 *
 * A large string is not copied into the reply: a job sends it piece by piece from the
 * bytes of the value, which it holds, so that the key may change or go meanwhile.
 */
#ifndef STRING_REPLY_H
#define STRING_REPLY_H

#include "cmd/cmd.h"

/* Bytes of a reply as they are sent, frames included. Those of no blob are copied when
 * the job is made. */
struct string_piece {
    struct yn_bytes bytes;
    struct host_blob *blob;
    bool is_null; /* a null stands here */
};

/* Makes a job that sends the pieces one after the other. It holds their blobs, and needs
 * nothing else afterwards. NULL when out of memory. */
struct cmd_job *string_job_new(const struct string_piece *pieces, size_t n);

/* Writes the pieces of `bytes`, which are of the value, as a bulk to out_pieces. NULL
 * when out of memory, else the piece behind the last one. */
#define STRING_PIECES 3
struct string_piece *string_pieces(struct cmd_call *call, const struct host_value *value,
                                   struct yn_bytes bytes,
                                   struct string_piece *out_pieces);

/* Replies the value's string, or the part of it, as a bulk; says so when memory is out,
 * and then returns false. The value may be changed afterwards. */
bool string_reply(struct cmd_call *call, const struct host_value *value);
bool string_reply_part(struct cmd_call *call, const struct host_value *value,
                       struct yn_bytes part);

#endif
