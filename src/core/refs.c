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
 * Where there are more runs than a few (a large set whose scores have all become one, as
 * with WEIGHTS 0), the bytes in which members differ first are fetched once: eight of
 * them stand in the place of the score, which is known, and are sorted as scores are.
 * What agrees in them is sorted by the bytes behind them.
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

/* ---- by score, or by eight bytes in its place ---- */

static inline uint64_t key_of(const struct yn_ref *ref, bool is_bytes)
{
    uint64_t bits;
    memcpy(&bits, &ref->score, sizeof bits);
    return is_bytes ? bits : yn_key_of_score(ref->score);
}

static inline size_t digit_of(const struct yn_ref *ref, size_t digit, bool is_bytes)
{
    return key_of(ref, is_bytes) >> 8 * digit & (N_VALUES - 1);
}

/* Counts how many refs have each value of each digit. Returns whether they are in order
 * already. */
static inline bool count_digits(const struct yn_ref *refs, size_t n, bool is_bytes,
                                size_t counts[DIGITS][N_VALUES])
{
    bool is_sorted = true;
    uint64_t before = 0;
    memset(counts, 0, DIGITS * sizeof counts[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = key_of(&refs[i], is_bytes);
        for (size_t digit = 0; digit < DIGITS; digit++)
            counts[digit][key >> 8 * digit & (N_VALUES - 1)]++;
        is_sorted &= before <= key;
        before = key;
    }
    return is_sorted;
}

/* What a sort works with. */
struct sorter {
    struct yn_stopper stopper;
    bool has_ended; /* stopped: the refs are spoilt */
};

/* Counts the work of a pass. Returns whether there shall be no more. */
static bool ends(struct sorter *sorter, size_t n)
{
    sorter->has_ended |= yn_stopper_ends(&sorter->stopper, n);
    return sorter->has_ended;
}

/* Sorts into refs; space holds as many. */
static inline void radix_sort(struct sorter *sorter, struct yn_ref *refs,
                              struct yn_ref *space, size_t n, bool is_bytes)
{
    size_t counts[DIGITS][N_VALUES];
    struct yn_ref *from = refs, *to = space;
    if (count_digits(refs, n, is_bytes, counts))
        return;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        size_t *start = counts[digit], total = 0;
        if (start[digit_of(&from[0], digit, is_bytes)] == n)
            continue;
        if (ends(sorter, n))
            return;
        for (size_t value = 0; value < N_VALUES; value++) {
            size_t count = start[value];
            start[value] = total;
            total += count;
        }
        for (size_t i = 0; i < n; i++)
            to[start[digit_of(&from[i], digit, is_bytes)]++] = from[i];
        struct yn_ref *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != refs)
        memcpy(refs, from, n * sizeof *refs);
}

static void sort_by_score(struct sorter *sorter, struct yn_ref *refs,
                          struct yn_ref *space, size_t n)
{
    radix_sort(sorter, refs, space, n, false);
}

static void sort_by_bytes(struct sorter *sorter, struct yn_ref *refs,
                          struct yn_ref *space, size_t n)
{
    radix_sort(sorter, refs, space, n, true);
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

/* Bytes that all members begin with. */
static size_t common_prefix(const struct yn_ref *refs, size_t n)
{
    struct yn_bytes first = yn_ref_member(refs[0].entry);
    size_t len = first.len;
    for (size_t i = 1; i < n && len > 0; i++) {
        ask_ahead(refs, i, n);
        struct yn_bytes member = yn_ref_member(refs[i].entry);
        size_t same = 0;
        len = member.len < len ? member.len : len;
        while (same < len && member.data[same] == first.data[same])
            same++;
        len = same;
    }
    return len;
}

/* The eight bytes from `at` on as a number that is in their order; zeros behind the end.
 */
static uint64_t bytes_at(struct yn_bytes member, size_t at)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < 8; i++)
        bytes =
            bytes << 8 | (at + i < member.len ? (unsigned char)member.data[at + i] : 0);
    return bytes;
}

/* All refs have this one score, to the bit: a zero may have either sign. */
static bool have_one_score(const struct yn_ref *refs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (memcmp(&refs[i].score, &refs[0].score, sizeof refs[0].score) != 0)
            return false;
    return true;
}

/* So few runs, of so few refs, or so deep in members, are merged to the end. */
#define FEW_RUNS 4
#define BYTES_MIN 512
#define DEPTH_MAX 8

static void sort_by_member(struct sorter *sorter, struct yn_ref *refs,
                           struct yn_ref *space, size_t n, int depth);

static void split_by_bytes(struct sorter *sorter, struct yn_ref *refs,
                           struct yn_ref *space, size_t n, int depth)
{
    const double score = refs[0].score;
    size_t at = common_prefix(refs, n);
    for (size_t i = 0; i < n; i++) {
        ask_ahead(refs, i, n);
        uint64_t bytes = bytes_at(yn_ref_member(refs[i].entry), at);
        memcpy(&refs[i].score, &bytes, sizeof bytes);
    }
    sort_by_bytes(sorter, refs, space, n);
    for (size_t first = 0, end; first < n && !sorter->has_ended; first = end) {
        uint64_t bytes = key_of(&refs[first], true);
        for (end = first; end < n && key_of(&refs[end], true) == bytes; end++)
            refs[end].score = score;
        if (end - first > SMALL)
            sort_by_member(sorter, refs + first, space, end - first, depth + 1);
        else if (end - first > 1)
            insertion_sort(refs + first, end - first);
    }
}

/* depth: how often members have been split so far. */
static void sort_by_member(struct sorter *sorter, struct yn_ref *refs,
                           struct yn_ref *space, size_t n, int depth)
{
    struct yn_ref *from = refs, *to = space;
    if (run_end(refs, 0, n) == n)
        return;
    size_t n_runs;
    do {
        if (ends(sorter, n))
            return;
        n_runs = merge_pass(from, to, n);
        struct yn_ref *swapped = from;
        from = to;
        to = swapped;
        if (n_runs > FEW_RUNS && n >= BYTES_MIN && depth < DEPTH_MAX &&
            have_one_score(from, n)) {
            split_by_bytes(sorter, from, to, n, depth);
            n_runs = 1;
        }
    } while (n_runs > 1);
    if (from != refs)
        memcpy(refs, from, n * sizeof *refs);
}

enum yn_status yn_refs_sort(struct yn_mem *mem, struct yn_ref *refs, size_t n,
                            const struct yn_stop *stop)
{
    struct sorter sorter = {.stopper = {.stop = stop}};
    if (n <= SMALL) {
        insertion_sort(refs, n);
        return YN_OK;
    }
    struct yn_ref *space = yn_mem_take(mem, n * sizeof *space);
    if (space == NULL)
        return YN_ENOMEM;
    sort_by_score(&sorter, refs, space, n);
    for (size_t first = 0, end; first < n && !sorter.has_ended; first = end) {
        end = first + 1;
        while (end < n && refs[end].score == refs[first].score)
            end++;
        if (end - first > 1)
            sort_by_member(&sorter, refs + first, space, end - first, 0);
    }
    yn_mem_give(mem, space, n * sizeof *space);
    return sorter.has_ended ? YN_ESTOPPED : YN_OK;
}
