/*
 * bench_cover.h: checks the answer of a polygon search against that of a search that
 * covers the polygon.
 */
#ifndef BENCH_COVER_H
#define BENCH_COVER_H

#include "resp/reply.h"
#include "yonder.h"

/* ours: members inside the polygon; theirs: members with positions (WITHCOORD) of a
 * search that covers it. True when ours are those of theirs that lie inside by the
 * crossing test over all edges, each once; a member closer than a cell to an edge may be
 * in or out. Else out_error says what is wrong. Sorts the elements of ours. */
bool bench_cover_check(struct yn_reply *ours, const struct yn_reply *theirs,
                       const struct yn_shape *polygon, char *out_error, size_t size);

#endif
