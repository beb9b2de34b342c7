/*
 * model_zset.c: random changes of sets against a plain array.
 *
 * After every step the set's self-check runs; look-ups, ranks, cursors, counts,
 * scans, encoding and frozen views are compared with the array. Frozen views are
 * compared with a copy of the array from the time they were frozen.
 */
#include "model.h"

#include "core/leaf.h"

#define MEMBERS_MAX 6000
#define VIEWS_MAX 4

struct pair {
    char *member;
    size_t len;
    double score;
};

struct model {
    struct pair *pairs; /* in order */
    size_t n;
};

static struct yn_bytes bytes_of(const struct pair *pair)
{
    return (struct yn_bytes){pair->member, pair->len};
}

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(bytes_of(x), bytes_of(y));
}

static struct model model_copy(const struct model *model)
{
    struct model copy = {malloc((model->n + 1) * sizeof *copy.pairs), model->n};
    for (size_t i = 0; i < model->n; i++) {
        copy.pairs[i] = model->pairs[i];
        copy.pairs[i].member = malloc(model->pairs[i].len + 1);
        memcpy(copy.pairs[i].member, model->pairs[i].member, model->pairs[i].len);
    }
    return copy;
}

static void model_free(struct model *model)
{
    for (size_t i = 0; i < model->n; i++)
        free(model->pairs[i].member);
    free(model->pairs);
}

/* ---- one run's flavour ---- */

enum {
    SCORE_CELLS,
    SCORE_CLUSTER,
    SCORE_ONE,
    SCORE_FEW,
    SCORE_ODD,
    SCORE_MIXED,
    N_SCORES
};
enum { MEMBER_NUMBER, MEMBER_EIGHT, MEMBER_MIXED, MEMBER_LONG, N_MEMBERS };

static double random_score(struct rng *rng, int kind)
{
    static const double odd[] = {-1,
                                 -0.0,
                                 0,
                                 1e300,
                                 -1e300,
                                 0.5,
                                 3.25,
                                 (double)INFINITY,
                                 -(double)INFINITY,
                                 4503599627370496.0,
                                 9007199254740993.0,
                                 5e-324};
    switch (kind) {
    case SCORE_CELLS:
        return (double)(rng_next(rng) >> 12);
    case SCORE_CLUSTER:
        return 3479099956230698.0 + (double)rng_below(rng, 1 << 20);
    case SCORE_ONE:
        return 3479099956230698.0;
    case SCORE_FEW:
        return (double)(rng_below(rng, 5) << 40);
    case SCORE_ODD:
        return rng_below(rng, 2) ? odd[rng_below(rng, sizeof odd / sizeof odd[0])]
                                 : rng_between(rng, -100, 100);
    default:
        return random_score(rng, (int)rng_below(rng, SCORE_MIXED));
    }
}

static size_t random_member(struct rng *rng, int kind, size_t id, char *out)
{
    (void)rng;
    switch (kind) {
    case MEMBER_EIGHT:
        return (size_t)sprintf(out, "%08zu", id);
    case MEMBER_MIXED: {
        size_t len = id % 40;
        memset(out, 'a' + (int)(id % 7), len);
        return len + (size_t)sprintf(out + len, "%zu", id) * (id > 0);
    }
    case MEMBER_LONG: {
        size_t len = id % 3 == 0 ? 300 + id % 50 : 200 + id % 57;
        memset(out, 'x', len);
        size_t digits = (size_t)sprintf(out, "%zu", id);
        out[digits] = 'x';
        return len;
    }
    default:
        return (size_t)sprintf(out, "%zu", id);
    }
}

/* ---- comparing ---- */

static void check_view(const struct yn_view *view, const struct model *model)
{
    if (yn_view_count(view) != model->n)
        MODEL_FAIL("count %zu, not %zu", yn_view_count(view), model->n);
    struct yn_cursor cursor;
    size_t i = 0;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor), i++) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        if (i >= model->n || entry.score != model->pairs[i].score ||
            yn_bytes_compare(entry.member, bytes_of(&model->pairs[i])) != 0)
            MODEL_FAIL("entry %zu differs", i);
    }
    if (i != model->n)
        MODEL_FAIL("cursor ended at %zu of %zu", i, model->n);
    for (bool is_at = model->n > 0 && yn_cursor_seek(&cursor, view, model->n - 1); is_at;
         is_at = yn_cursor_prev(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        i--;
        if (entry.score != model->pairs[i].score)
            MODEL_FAIL("backwards, entry %zu differs", i);
    }
    if (i != 0)
        MODEL_FAIL("backwards cursor ended at %zu", i);
}

static void check_counts(struct rng *rng, const struct yn_view *view,
                         const struct model *model, int kind)
{
    double score = rng_below(rng, 2) && model->n > 0
                       ? model->pairs[rng_below(rng, model->n)].score
                       : random_score(rng, kind);
    size_t below = 0, up_to = 0;
    for (size_t i = 0; i < model->n; i++) {
        below += model->pairs[i].score < score;
        up_to += model->pairs[i].score <= score;
    }
    if (yn_view_count_below(view, score, false) != below ||
        yn_view_count_below(view, score, true) != up_to)
        MODEL_FAIL("count below %g", score);
}

static void check_member(struct yn_zset *set, const struct model *model,
                         struct yn_bytes member)
{
    double score;
    size_t rank, at = 0;
    while (at < model->n && yn_bytes_compare(bytes_of(&model->pairs[at]), member) != 0)
        at++;
    bool is_there = at < model->n;
    if (yn_zset_find(set, member, &score) != is_there ||
        (is_there && score != model->pairs[at].score))
        MODEL_FAIL("find %.*s", (int)member.len, member.data);
    if (yn_zset_rank(set, member, &rank) != is_there || (is_there && rank != at))
        MODEL_FAIL("rank of %.*s", (int)member.len, member.data);
}

#define MANY_MAX 40

/* Side by side as one by one; a member may be asked for twice. */
static void check_many(struct rng *rng, struct yn_zset *set, int member_kind,
                       size_t n_ids)
{
    static char names[MANY_MAX][512];
    struct yn_bytes members[MANY_MAX];
    struct yn_entry entries[MANY_MAX];
    double scores[MANY_MAX];
    size_t n = rng_below(rng, MANY_MAX + 1);
    for (size_t i = 0; i < n; i++) {
        size_t id = rng_below(rng, n_ids + n_ids / 4);
        members[i] =
            (struct yn_bytes){names[i], random_member(rng, member_kind, id, names[i])};
        entries[i] = (struct yn_entry){members[i], i % 3 == 0 ? (double)NAN : (double)i};
    }
    yn_zset_prefetch(set, entries, n);
    yn_zset_find_many(set, members, n, scores);
    for (size_t i = 0; i < n; i++) {
        double score;
        bool is_there = yn_zset_find(set, members[i], &score);
        if (is_there ? scores[i] != score : !isnan(scores[i]))
            MODEL_FAIL("find_many of %.*s", (int)members[i].len, members[i].data);
    }
}

struct seen {
    const struct model *model;
    unsigned char *times;
};

static void note_seen(void *ctx, struct yn_bytes member, double score)
{
    struct seen *seen = ctx;
    struct pair wanted = {(char *)(uintptr_t)member.data, member.len, score};
    struct pair *at =
        bsearch(&wanted, seen->model->pairs, seen->model->n, sizeof *at, compare_pairs);
    if (at == NULL)
        MODEL_FAIL("scan shows %.*s with a wrong score", (int)member.len, member.data);
    seen->times[at - seen->model->pairs]++;
}

static void check_scan(struct yn_zset *set, const struct model *model, size_t count)
{
    struct seen seen = {model, calloc(model->n + 1, 1)};
    uint64_t cursor = 0;
    do {
        cursor = yn_zset_scan(set, cursor, count, note_seen, &seen);
        if (cursor >> 53)
            MODEL_FAIL("cursor over 53 bits");
    } while (cursor != 0);
    for (size_t i = 0; i < model->n; i++)
        if (seen.times[i] != 1)
            MODEL_FAIL("scan shows a member %d times", seen.times[i]);
    free(seen.times);
}

static void check_encoding(struct yn_zset *set, const struct model *model)
{
    char *data;
    size_t len;
    struct yn_zset *copy;
    if (yn_view_encode(yn_zset_view(set), &data, &len) != YN_OK ||
        yn_zset_decode(NULL, (struct yn_bytes){data, len}, &copy) != YN_OK)
        MODEL_FAIL(
            "set does not encode and decode: %s",
            yn_status_text(yn_zset_decode(NULL, (struct yn_bytes){data, len}, &copy)));
    const char *wrong = yn_zset_check(copy);
    if (wrong != NULL)
        MODEL_FAIL("decoded set: %s", wrong);
    check_view(yn_zset_view(copy), model);
    if (model->n > 0)
        check_member(copy, model, bytes_of(&model->pairs[model->n / 2]));
    yn_zset_free(copy);
    data[len / 2] ^= 1;
    if (yn_zset_decode(NULL, (struct yn_bytes){data, len}, &copy) == YN_OK)
        MODEL_FAIL("a flipped bit is not noticed");
    free(data);
}

/* A copy of an interval of a view, and unions of it with the set and with itself. */
static void check_copies(struct rng *rng, const struct yn_zset *set,
                         const struct yn_view *view, const struct model *model)
{
    size_t first = rng_below(rng, model->n + 2), n = rng_below(rng, model->n + 2);
    size_t wanted = first >= model->n ? 0 : n < model->n - first ? n : model->n - first;
    struct model part = {&model->pairs[first], wanted};
    struct yn_zset *copy, *both;
    if (yn_zset_copy(view, first, n, NULL, &copy) != YN_OK)
        MODEL_FAIL("copy");
    const char *wrong = yn_zset_check(copy);
    if (wrong != NULL)
        MODEL_FAIL("copy: %s", wrong);
    check_view(yn_zset_view(copy), &part);
    struct yn_source sources[] = {{copy, 1}, {set, 1}, {copy, 1}};
    for (int k = 0; k < 3; k++) {
        struct yn_combination how = {.kind = (enum yn_combine_kind)k,
                                     .aggregate = YN_MAX,
                                     .sources =
                                         k == YN_DIFFERENCE ? &sources[1] : sources,
                                     .n_sources = k == YN_DIFFERENCE ? 2 : 3};
        if (yn_zset_combine(&how, NULL, &both) != YN_OK)
            MODEL_FAIL("combine");
        wrong = yn_zset_check(both);
        if (wrong != NULL)
            MODEL_FAIL("combined: %s", wrong);
        size_t n_common, n_set = yn_zset_count(set);
        how.kind = YN_INTERSECTION;
        if (yn_zset_count_common(&how, 0, NULL, &n_common) != YN_OK)
            MODEL_FAIL("count of common members");
        size_t expected = k == YN_UNION          ? wanted + n_set - n_common
                          : k == YN_INTERSECTION ? n_common
                                                 : n_set - n_common;
        if (yn_zset_count(both) != expected)
            MODEL_FAIL("combined: %zu, not %zu", yn_zset_count(both), expected);
        yn_zset_free(both);
    }
    yn_zset_free(copy);
}

/* ---- a run ---- */

static void apply(struct rng *rng, struct yn_zset *set, struct model *model,
                  int score_kind, int member_kind, size_t n_ids, bool shrinks)
{
    char name[512];
    struct yn_bytes member = {
        name, random_member(rng, member_kind, rng_below(rng, n_ids), name)};
    size_t at = 0;
    while (at < model->n && yn_bytes_compare(bytes_of(&model->pairs[at]), member) != 0)
        at++;
    bool is_there = at < model->n;
    if (rng_below(rng, 10) < (shrinks ? 7 : 2)) {
        bool removed;
        if (yn_zset_remove(set, member, &removed) != YN_OK || removed != is_there)
            MODEL_FAIL("remove");
        if (is_there) {
            free(model->pairs[at].member);
            memmove(&model->pairs[at], &model->pairs[at + 1],
                    (model->n - at - 1) * sizeof *model->pairs);
            model->n--;
        }
        return;
    }
    double score = random_score(rng, score_kind);
    if (is_there && rng_below(rng, 2)) /* a small move */
        score = model->pairs[at].score + (double)rng_below(rng, 9) - 4;
    if (isnan(score))
        score = 0;
    if (rng_below(rng, 2)) /* the put that follows goes by what this finds */
        yn_zset_prefetch(set, (struct yn_entry[]){{member, score}, {member, score}}, 2);
    struct yn_put put;
    enum yn_change expected = YN_ADDED;
    double old_score = is_there ? model->pairs[at].score : 0;
    if (is_there)
        expected = model->pairs[at].score == score ? YN_UNCHANGED : YN_UPDATED;
    if (yn_zset_put(set, member, score, &put) != YN_OK || put.change != expected ||
        put.old_score != old_score)
        MODEL_FAIL("put: %d, not %d", (int)put.change, (int)expected);
    if (is_there) {
        if (expected == YN_UPDATED)
            model->pairs[at].score = score;
    } else {
        struct pair *pair = &model->pairs[model->n++];
        *pair = (struct pair){malloc(member.len + 1), member.len, score};
        memcpy(pair->member, name, member.len);
    }
    qsort(model->pairs, model->n, sizeof *model->pairs, compare_pairs);
}

/* Removes an interval of ranks: mostly a short one. */
static void apply_range(struct rng *rng, struct yn_zset *set, struct model *model)
{
    size_t first = rng_below(rng, model->n + 2), removed;
    size_t n = rng_below(rng, rng_below(rng, 4) > 0 ? 12 : model->n + 2);
    size_t wanted = first >= model->n ? 0 : n < model->n - first ? n : model->n - first;
    if (yn_zset_remove_range(set, first, n, &removed) != YN_OK || removed != wanted)
        MODEL_FAIL("remove range: %zu, not %zu", removed, wanted);
    for (size_t i = first; i < first + wanted; i++)
        free(model->pairs[i].member);
    if (wanted > 0)
        memmove(&model->pairs[first], &model->pairs[first + wanted],
                (model->n - first - wanted) * sizeof *model->pairs);
    model->n -= wanted;
}

static void run(struct rng *rng, int score_kind, int member_kind, size_t n_ids,
                size_t n_steps)
{
    struct yn_zset *set = yn_zset_new(NULL);
    struct model model = {malloc((n_ids + 1) * sizeof *model.pairs), 0};
    struct yn_view *views[VIEWS_MAX] = {NULL};
    struct model frozen[VIEWS_MAX];
    for (size_t step = 0; step < n_steps; step++) {
        bool shrinks = step * 4 / n_steps == 2;
        apply(rng, set, &model, score_kind, member_kind, n_ids, shrinks);
        if (rng_below(rng, 40) == 0)
            apply_range(rng, set, &model);
        if (n_ids < 400 || step % 16 == 0) {
            const char *wrong = yn_zset_check(set);
            if (wrong != NULL)
                MODEL_FAIL("step %zu: %s", step, wrong);
        }
        check_counts(rng, yn_zset_view(set), &model, score_kind);
        char name[512];
        size_t len = random_member(rng, member_kind, rng_below(rng, n_ids), name);
        check_member(set, &model, (struct yn_bytes){name, len});
        if (step % 5 == 0)
            check_many(rng, set, member_kind, n_ids);
        size_t v = rng_below(rng, VIEWS_MAX * 20);
        if (v < VIEWS_MAX) {
            if (views[v] != NULL) {
                check_view(views[v], &frozen[v]);
                yn_view_free(views[v]);
                model_free(&frozen[v]);
                views[v] = NULL;
            } else {
                if (yn_zset_freeze(set, &views[v]) != YN_OK)
                    MODEL_FAIL("freeze");
                frozen[v] = model_copy(&model);
            }
        }
        if (step % 97 == 0) {
            check_view(yn_zset_view(set), &model);
            check_scan(set, &model, 1 + rng_below(rng, 40));
            check_encoding(set, &model);
            check_copies(rng, set, yn_zset_view(set), &model);
            for (size_t w = 0; w < VIEWS_MAX; w++)
                if (views[w] != NULL)
                    check_copies(rng, set, views[w], &frozen[w]);
        }
    }
    yn_zset_free(set);
    model_free(&model);
    for (size_t v = 0; v < VIEWS_MAX; v++) {
        if (views[v] == NULL)
            continue;
        check_view(views[v], &frozen[v]); /* outlives its set */
        yn_view_free(views[v]);
        model_free(&frozen[v]);
    }
}

int main(void)
{
    struct rng rng = {model_seed()};
    static const size_t sizes[] = {8, 60, 300, 1500};
    for (int score = 0; score < N_SCORES; score++)
        for (int member = 0; member < N_MEMBERS; member++)
            for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
                run(&rng, score, member, sizes[s], model_rounds(sizes[s] * 3));
    printf("%d passed, 0 failed\n", N_SCORES * N_MEMBERS * 4);
    return 0;
}
