#include "tools/bench_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

static int compare_texts(struct yn_bytes a, struct yn_bytes b, bool by_value)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n > 0 ? memcmp(a.data, b.data, n) : 0;
    if (order == 0)
        order = (a.len > b.len) - (a.len < b.len);
    double x, y;
    if (order != 0 && by_value && memchr(a.data, '.', a.len) != NULL &&
        yn_num_parse_double(a, &x) && yn_num_parse_double(b, &y) && x == y)
        return 0;
    return order;
}

/* Any fixed order of values that differ. Nesting is a few levels in the replies here. */
static int compare_values(const struct yn_reply *a, const struct yn_reply *b,
                          bool by_value)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    int order = compare_texts(a->text, b->text, by_value);
    if (order != 0)
        return order;
    if (a->integer != b->integer)
        return a->integer < b->integer ? -1 : 1;
    if (a->is_null_array != b->is_null_array)
        return a->is_null_array ? 1 : -1;
    for (size_t i = 0; i < a->n_items && i < b->n_items; i++) {
        order = compare_values(a->items[i], b->items[i], by_value);
        if (order != 0)
            return order;
    }
    return (a->n_items > b->n_items) - (a->n_items < b->n_items);
}

static int compare_elements(const void *a, const void *b, void *by_value)
{
    return compare_values(*(struct yn_reply *const *)a, *(struct yn_reply *const *)b,
                          *(bool *)by_value);
}

static void sort(struct yn_reply *reply, bool by_value)
{
    if (reply->n_items > 1)
        qsort_r(reply->items, reply->n_items, sizeof reply->items[0], compare_elements,
                &by_value);
}

/* Are the second parts of the elements, the distances, the same in both? */
static bool has_same_distances(const struct yn_reply *ours, const struct yn_reply *theirs)
{
    if (ours->n_items != theirs->n_items)
        return false;
    for (size_t i = 0; i < ours->n_items; i++) {
        const struct yn_reply *a = ours->items[i], *b = theirs->items[i];
        if (a->n_items < 2 || b->n_items < 2 ||
            compare_texts(a->items[1]->text, b->items[1]->text, false) != 0)
            return false;
    }
    return true;
}

enum bench_check_verdict bench_check_replies(const struct bench_check_options *options,
                                             struct yn_reply *ours,
                                             struct yn_reply *theirs)
{
    bool by_value = options->by_value;
    if (compare_values(ours, theirs, by_value) == 0)
        return BENCH_CHECK_SAME;
    if (ours->type != YN_REPLY_ARRAY || theirs->type != YN_REPLY_ARRAY)
        return BENCH_CHECK_OTHER;
    bool has_ties = options->has_ties && has_same_distances(ours, theirs);
    sort(ours, by_value);
    sort(theirs, by_value);
    size_t i = 0, j = 0, n_more = 0;
    while (j < theirs->n_items) {
        int order = i < ours->n_items
                        ? compare_values(ours->items[i], theirs->items[j], by_value)
                        : 1;
        if (order > 0)
            return has_ties ? BENCH_CHECK_TIES : BENCH_CHECK_OTHER;
        n_more += order < 0;
        j += order == 0;
        i++;
    }
    n_more += ours->n_items - i;
    if (n_more == 0)
        return BENCH_CHECK_ORDER;
    return options->has_more ? BENCH_CHECK_MORE : BENCH_CHECK_OTHER;
}

static void count_nulls(const struct yn_reply *reply, uint64_t *out_nulls)
{
    *out_nulls += reply->type == YN_REPLY_NULL;
    for (size_t i = 0; i < reply->n_items; i++)
        count_nulls(reply->items[i], out_nulls);
}

uint64_t bench_check_count(const struct yn_reply *reply, uint64_t *out_nulls)
{
    count_nulls(reply, out_nulls);
    if (reply->type == YN_REPLY_NULL)
        return 0;
    return reply->type == YN_REPLY_ARRAY ? reply->n_items : 1;
}

void bench_check_show(const struct yn_reply *reply, char *out_text, size_t size)
{
    int n = 0;
    switch (reply->type) {
    case YN_REPLY_INTEGER:
        n = snprintf(out_text, size, "%lld", (long long)reply->integer);
        break;
    case YN_REPLY_NULL:
        n = snprintf(out_text, size, "null");
        break;
    case YN_REPLY_ARRAY:
        n = snprintf(out_text, size, "%zu elements [", reply->n_items);
        break;
    default:
        snprintf(out_text, size, "%.*s", (int)reply->text.len, reply->text.data);
        return;
    }
    for (size_t i = 0; i < reply->n_items && n >= 0 && (size_t)n + 8 < size; i++) {
        bench_check_show(reply->items[i], out_text + n, size - (size_t)n - 1);
        n += (int)strlen(out_text + n);
        n += snprintf(out_text + n, size - (size_t)n, " ");
    }
}
