/*
 * batch.h: the next complete requests of a connection, parsed before the first of them
 * runs, so that what all of them will read can be fetched from memory side by side.
 *
 * A look-up in a large set waits for memory about six times, one after the other; sixteen
 * look-ups that wait together take little longer than one. Requests that come one at a
 * time pass through as they are.
 *
 * A loop has one batch, for the connection whose turn it is. A request that is not
 * complete yet stays with its connection.
 */
#ifndef BATCH_H
#define BATCH_H

#include "cmd/cmd.h"
#include "resp/request.h"

#define BATCH_MAX 16
#define BATCH_MEMBERS_MAX 64 /* looked up ahead, of all requests together */

struct batch {
    struct yn_request request[BATCH_MAX];
    const struct cmd_spec *spec[BATCH_MAX]; /* as far as known; for cmd_call.spec */
    struct cmd_ahead ahead[BATCH_MAX];      /* for cmd_call.ahead */
    const struct yn_bytes *argv[BATCH_MAX]; /* their arguments, once resolved */
    double scores[BATCH_MEMBERS_MAX];
    bool has_scores; /* `ahead` tells of some */
    size_t n;
};

void batch_init(struct batch *batch);
void batch_clear(struct batch *batch);

/*
 * Parses up to n_max (1..BATCH_MAX) requests. `started` is the connection's: it may hold
 * the beginning of the first one, and gets that of the last. data, len: all bytes from
 * the start of the first request on. Returns YN_REQUEST_DONE when there is at least one
 * request, and otherwise what has become of the first: YN_REQUEST_MORE or
 * YN_REQUEST_ERROR, with `error` or `need` in `started`. An error behind complete
 * requests is found again when they are done. Empty requests are counted, with argc 0.
 */
enum yn_request_status batch_parse(struct batch *batch, struct yn_request *started,
                                   const char *data, size_t len,
                                   const struct yn_request_limits *limits, size_t n_max);

/* Forgets the requests. */
void batch_drop(struct batch *batch);

/* Finds the arguments and the commands of the requests. data: as for batch_parse; it must
 * stay where it is. */
void batch_resolve(struct batch *batch, const char *data);
/* Looks up ahead the members of sets that requests first .. end-1 name; under the
 * server's lock, and the scores are good as long as it is held. */
struct keyspace;
void batch_look_ahead(struct batch *batch, size_t first, size_t end,
                      const struct keyspace *keyspace, int64_t now_ms);
/* Forgets the scores. */
void batch_forget_scores(struct batch *batch);
/* To be called when sets may have changed. */
static inline void batch_sets_changed(struct batch *batch)
{
    if (batch->has_scores) /* most batches that change something have looked up nothing */
        batch_forget_scores(batch);
}

#endif
