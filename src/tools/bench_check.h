/*
 * bench_check.h: do two servers answer the same?
 */
#ifndef BENCH_CHECK_H
#define BENCH_CHECK_H

#include "resp/reply.h"

/* From best to worst; later ones hold for several replies together. */
enum bench_check_verdict {
    BENCH_CHECK_SAME,
    BENCH_CHECK_ORDER, /* the same elements in another order */
    BENCH_CHECK_TIES,  /* other members at the same distances */
    BENCH_CHECK_MORE,  /* ours has all elements of theirs, and more */
    BENCH_CHECK_OTHER,
};

struct bench_check_options {
    bool by_value; /* decimals of equal value are equal, whatever their text */
    bool has_ties; /* elements are member and distance, and a COUNT may cut at ties */
    bool has_more; /* ours may find members that theirs loses */
};

/* Sorts elements of both replies in place where their order differs. */
enum bench_check_verdict bench_check_replies(const struct bench_check_options *options,
                                             struct yn_reply *ours,
                                             struct yn_reply *theirs);

/* Elements of an array, 1 for other values, 0 for a null. *out_nulls grows by the nulls
 * anywhere in it. */
uint64_t bench_check_count(const struct yn_reply *reply, uint64_t *out_nulls);

/* A reply in one line, cut off; for messages. */
void bench_check_show(const struct yn_reply *reply, char *out_text, size_t size);

#endif
