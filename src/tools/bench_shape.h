/*
 * bench_shape.h: what a search request asks for, and what it makes Redis look at.
 */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include "tools/bench_server.h"
#include "yonder.h"

#define BENCH_SHAPE_KEY_MAX 64

struct bench_shape {
    char key[BENCH_SHAPE_KEY_MAX];
    struct yn_shape shape;     /* of a polygon without centre */
    struct yn_point *vertices; /* of a polygon; owned */
};

/* Reads the bytes of a request of GEOSEARCH with FROMLONLAT or BYPOLYGON, or of
 * GEORADIUS. Returns false for anything else, and when memory is out; the shape is empty
 * then. */
bool bench_shape_parse(struct bench_shape *shape, const char *request, size_t len);
void bench_shape_clear(struct bench_shape *shape);

/* Counts the members that Redis looks at for a circle or a box: those of the up to nine
 * cells that it scans, by ZCOUNT. Returns false when the server does not tell. */
bool bench_shape_candidates(const struct bench_shape *shape, struct bench_server *server,
                            uint64_t *out_n);

#endif
