/*
 * refs.c: sorting by (score, member).
 *
 * First by score: a radix sort from the lowest byte up over the keys of the scores (see
 * leaf.h). Bytes in which all agree are skipped: whole numbers below a million differ in
 * four. It is stable, so that refs of one score keep the order they came in, which is
 * that of their members wherever they come from one set. Then runs of one score are
 * sorted by member: a merge sort that takes the ascending runs that are there, so that
 * two sets of one score each are merged in one pass, and one set is only looked through.
 *
 * Rejected: comparing (score, member) in one sort, which waits for a member's bytes some
 * twenty times a ref.
 */
#include "core/refs.h"

#define SMALL 48 /* insertion sort up to here */
#define DIGITS 8
#define N_VALUES 256

static int compare_refs(const struct yn_ref *a, const struct yn_ref *b)
{
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return yn_bytes_compare(yn_ref_member(a->entry), yn_ref_member(b->entry));
}

static void insertion_sort(struct yn_ref *refs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct yn_ref moved = refs[i];
        size_t k = i;
        for (; k > 0 && compare_refs(&refs[k - 1], &moved) > 0; k--)
            refs[k] = refs[k - 1];
        refs[k] = moved;
    }
}

/* ---- by score ---- */

static size_t digit_of(const struct yn_ref *ref, size_t digit)
{
    return yn_key_of_score(ref->score) >> 8 * digit & (N_VALUES - 1);
}

/* Counts how many refs have each value of each digit. Returns whether the scores are in
 * order already. */
static bool count_digits(const struct yn_ref *refs, size_t n,
                         size_t counts[DIGITS][N_VALUES])
{
    bool is_sorted = true;
    memset(counts, 0, DIGITS * sizeof counts[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = yn_key_of_score(refs[i].score);
        for (size_t digit = 0; digit < DIGITS; digit++)
            counts[digit][key >> 8 * digit & (N_VALUES - 1)]++;
        is_sorted &= i == 0 || refs[i - 1].score <= refs[i].score;
    }
    return is_sorted;
}

/* Sorts by score into refs; space holds as many. */
static void sort_by_score(struct yn_ref *refs, struct yn_ref *space, size_t n)
{
    size_t counts[DIGITS][N_VALUES];
    struct yn_ref *from = refs, *to = space;
    if (count_digits(refs, n, counts))
        return;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t *start = counts[digit], total = 0;
        if (start[digit_of(&from[0], digit)] == n)
            continue;
        for (size_t value = 0; value < N_VALUES; value++) {
            size_t count = start[value];
            start[value] = total;
            total += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[digit_of(&from[i], digit)]++] = from[i];
        struct yn_ref *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != refs)
        memcpy(refs, from, n * sizeof *refs);
}

/* ---- by member ---- */

static bool is_in_order(const struct yn_ref *a, const struct yn_ref *b)
{
    return yn_bytes_compare(yn_ref_member(a->entry), yn_ref_member(b->entry)) <= 0;
}

/* Asks for the member of the ref that will be compared so many steps later: members of
 * one score may lie anywhere. */
#define FAR 8
static void ask_ahead(const struct yn_ref *refs, size_t at, size_t end)
{
    if (at + FAR < end)
        __builtin_prefetch(refs[at + FAR].entry);
}

/* End of the ascending run that starts at `at`. */
static size_t run_end(const struct yn_ref *refs, size_t at, size_t n)
{
    do
        ask_ahead(refs, at++, n);
    while (at < n && is_in_order(&refs[at - 1], &refs[at]));
    return at;
}

/* Merges runs [at, middle) and [middle, end). */
static void merge_runs(const struct yn_ref *from, struct yn_ref *to, size_t at,
                       size_t middle, size_t end)
{
    size_t a = at, b = middle;
    for (size_t i = at; i < end; i++) {
        bool takes_first = a < middle && (b == end || is_in_order(&from[a], &from[b]));
        ask_ahead(from, takes_first ? a : b, takes_first ? middle : end);
        to[i] = takes_first ? from[a++] : from[b++];
    }
}

/* Merges each two neighbouring runs. Returns how many runs are left. */
static size_t merge_pass(const struct yn_ref *from, struct yn_ref *to, size_t n)
{
    size_t n_runs = 0;
    for (size_t at = 0; at < n; n_runs++) {
        size_t middle = run_end(from, at, n);
        size_t end = middle < n ? run_end(from, middle, n) : n;
        merge_runs(from, to, at, middle, end);
        at = end;
    }
    return n_runs;
}

static void sort_by_member(struct yn_ref *refs, struct yn_ref *space, size_t n)
{
    struct yn_ref *from = refs, *to = space;
    if (run_end(refs, 0, n) == n)
        return;
    size_t n_runs;
    do {
        n_runs = merge_pass(from, to, n);
        struct yn_ref *swapped = from;
        from = to;
        to = swapped;
    } while (n_runs > 1);
    if (from != refs)
        memcpy(refs, from, n * sizeof *refs);
}

enum yn_status yn_refs_sort(struct yn_mem *mem, struct yn_ref *refs, size_t n)
{
    if (n <= SMALL) {
        insertion_sort(refs, n);
        return YN_OK;
    }
    struct yn_ref *space = yn_mem_take(mem, n * sizeof *space);
    if (space == NULL)
        return YN_ENOMEM;
    sort_by_score(refs, space, n);
    for (size_t first = 0, end; first < n; first = end) {
        end = first + 1;
        while (end < n && refs[end].score == refs[first].score)
            end++;
        if (end - first > 1)
            sort_by_member(refs + first, space, end - first);
    }
    yn_mem_give(mem, space, n * sizeof *space);
    return YN_OK;
}
