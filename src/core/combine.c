/*
 * combine.c: union, intersection and difference of sets.
 *
 * Union. A table finds members again: eight bytes a slot, half a hash and the number of a
 * ref (refs.h), at most half full. The sources are gone through from the smallest to the
 * largest. The first only fills the table, the last only asks it, since a member occurs
 * but once in each; so of two sets the larger one is never entered. Entries go sixteen at
 * a time, and each step (slot, ref, bytes of the member) is asked for before it is read.
 * Then the refs are sorted and go through the builder in order, whole leaves at a time.
 *
 * Intersection. Members of the smallest source are looked for in the others (join.h):
 * by their dictionaries, sixteen side by side, or, where scores are all alike, by walking
 * through both.
 *
 * Difference. The same with the first source; where the others have fewer members than it
 * has, or not many more but all of one score, and are not walked through, they go into a
 * table instead. What is left is in order
 * already.
 *
 * Scores. Sums depend on the order in which they are added, to the last bit. It is that
 * of Redis: sources by their number of members, those of one number as they were named. A
 * product that is no number counts as 0 in a union, and in an intersection for the
 * smallest source; in its others it makes a sum 0, and a minimum or maximum passes it
 * over. inf + -inf is 0.
 *
 * Frozen views have no dictionaries. Where the sources are views and cannot be walked
 * side by side, members of the smaller side go into a table and the larger side is gone
 * through: an intersection counts for each member how many sources have it, a difference
 * marks those that are found.
 *
 * Cost: two sources of a million members, half of them in both: about 0.2 microseconds
 * for each entry that is read. Memory besides the result: 16 bytes for each entry of all
 * sources, 8 to 16 for each but those of the largest, and for sorting 16 for each that
 * results.
 *
 * Rejected: asking the larger set's dictionary instead of a table (it has to be told
 * which of its members were found); putting one member after the other into a set.
 */
#include <math.h>
#include <stdlib.h>

#include "core/combine_parts.h"

/* So many sources may be walked through; in others members are looked up. */
#define JOINS_MAX 8
/* Where look-ups are slow, up to so many times as many members are gone through first. */
#define SLOW_LARGER 4

/* ---- scores ---- */

static double number_or_zero(double score)
{
    return isnan(score) ? 0 : score;
}

static double aggregate(enum yn_aggregate how, double score, double other)
{
    if (how == YN_SUM)
        return number_or_zero(score + other);
    if (how == YN_MIN)
        return other < score ? other : score;
    return other > score ? other : score;
}

/* ---- the work ---- */

struct combine {
    const struct yn_combination *how;
    struct yn_mem mem;         /* of everything but the result */
    struct part *sources;      /* those that have members, in the order of the work */
    size_t n_sources, n_taken; /* n_taken: room for so many */
    struct yn_ref *refs;       /* what will be in the result */
    size_t n, cap;
    struct yn_zset *set; /* the result, and how it is built */
    struct yn_builder *builder;
    struct yn_stopper stopper;
    uint64_t seed; /* of the table's hash */
};

/* Counts work on n entries. */
static bool ends(struct combine *combine, size_t n)
{
    return yn_stopper_ends(&combine->stopper, n);
}

static bool take_refs(struct combine *combine, size_t n)
{
    combine->cap = n > 0 ? n : 1;
    if (n <= SIZE_MAX / sizeof *combine->refs)
        combine->refs = yn_mem_take(&combine->mem, combine->cap * sizeof *combine->refs);
    return combine->refs != NULL;
}

static void give_refs(struct combine *combine)
{
    yn_mem_give(&combine->mem, combine->refs, combine->cap * sizeof *combine->refs);
    combine->refs = NULL;
}

/* Adds the refs, which are in order, to the result. */
#define FAR 16 /* refs ahead whose bytes are asked for */
static enum yn_status add_refs(struct combine *combine)
{
    const struct yn_ref *refs = combine->refs;
    enum yn_status status = YN_OK;
    for (size_t i = 0; status == YN_OK && i < combine->n; i++) {
        if (i + FAR < combine->n)
            __builtin_prefetch(refs[i + FAR].entry);
        status =
            yn_builder_add(combine->builder, yn_ref_member(refs[i].entry), refs[i].score);
        if (status == YN_OK && ends(combine, 1))
            status = YN_ESTOPPED;
    }
    return status;
}

/* ---- union ---- */

/* Takes one source in: `asks` the table whether members are known, and `fills` it with
 * those that are not. Returns false when it has to end. */
static bool unite(struct combine *combine, struct table *table, const struct part *source,
                  bool asks, bool fills)
{
    struct yn_cursor cursor;
    struct batch batch;
    uint64_t hashes[BATCH];
    size_t found[BATCH];
    start_reading(&cursor, source->view);
    for (size_t i = 0; i < BATCH; i++)
        found[i] = NO_REF;
    while (read_batch(&cursor, &batch)) {
        if (ends(combine, batch.n))
            return false;
        if (asks || fills)
            hash_batch(table, &batch, hashes);
        if (asks)
            table_find_many(table, combine->refs, batch.members, hashes, batch.n, found);
        for (size_t i = 0; i < batch.n; i++) {
            double score = number_or_zero(source->weight * batch.scores[i]);
            if (found[i] != NO_REF) {
                struct yn_ref *ref = &combine->refs[found[i]];
                ref->score = aggregate(combine->how->aggregate, ref->score, score);
                continue;
            }
            if (fills)
                table_add(table, hashes[i], combine->n);
            combine->refs[combine->n++] = (struct yn_ref){batch.entries[i], score};
        }
    }
    return true;
}

/* Puts the refs in order and into the result. */
static enum yn_status finish_refs(struct combine *combine)
{
    enum yn_status status =
        yn_refs_sort(&combine->mem, combine->refs, combine->n, combine->stopper.stop);
    return status == YN_OK ? add_refs(combine) : status;
}

static enum yn_status unite_all(struct combine *combine)
{
    size_t total = 0, n_sources = combine->n_sources;
    struct table table;
    for (size_t i = 0; i < n_sources; i++)
        total += count_of(&combine->sources[i]);
    if (n_sources == 1 && combine->sources[0].weight == 1)
        return yn_builder_add_range(combine->builder, combine->sources[0].view, 0, total,
                                    combine->stopper.stop);
    size_t n_last = count_of(&combine->sources[n_sources - 1]);
    if (!take_refs(combine, total) ||
        !table_init(&table, &combine->mem, total - n_last, combine->seed))
        return YN_ENOMEM;
    bool is_whole = true;
    for (size_t i = 0; is_whole && i < n_sources; i++)
        is_whole = unite(combine, &table, &combine->sources[i], i > 0, i + 1 < n_sources);
    table_clear(&table, &combine->mem);
    return is_whole ? finish_refs(combine) : YN_ESTOPPED;
}

/* ---- views alone ---- */

/* Puts the members of a source into the table, with their scores as they are. Returns
 * false when it has to end. */
static bool fill_table(struct combine *combine, struct table *table,
                       const struct part *source)
{
    struct yn_cursor cursor;
    struct batch batch;
    uint64_t hashes[BATCH];
    start_reading(&cursor, source->view);
    while (read_batch(&cursor, &batch)) {
        if (ends(combine, batch.n))
            return false;
        hash_batch(table, &batch, hashes);
        for (size_t i = 0; i < batch.n; i++) {
            table_add(table, hashes[i], combine->n);
            combine->refs[combine->n++] =
                (struct yn_ref){batch.entries[i], batch.scores[i]};
        }
    }
    return true;
}

/* A table of the first source, and a number for each member: how many of the sources
 * looked at so far have it. Whatever comes of it, clear_first frees both. */
static enum yn_status table_of_first(struct combine *combine, struct table *table,
                                     uint32_t **out_n_seen)
{
    size_t n = count_of(&combine->sources[0]);
    *table = (struct table){.slots = NULL};
    *out_n_seen = yn_mem_take(&combine->mem, n * sizeof **out_n_seen);
    if (*out_n_seen == NULL || (combine->refs == NULL && !take_refs(combine, n)) ||
        !table_init(table, &combine->mem, n, combine->seed))
        return YN_ENOMEM;
    memset(*out_n_seen, 0, n * sizeof **out_n_seen);
    return fill_table(combine, table, &combine->sources[0]) ? YN_OK : YN_ESTOPPED;
}

static void clear_first(struct combine *combine, struct table *table, uint32_t *n_seen)
{
    size_t n = count_of(&combine->sources[0]);
    table_clear(table, &combine->mem);
    yn_mem_give(&combine->mem, n_seen, n * sizeof *n_seen);
}

/* Goes through source s, and counts it for members of the first that it has. For an
 * intersection these are only those that all sources between have, and their scores
 * become what results. */
static enum yn_status count_seen(struct combine *combine, const struct table *table,
                                 size_t s, uint32_t *n_seen)
{
    const struct part *source = &combine->sources[s];
    bool is_common = combine->how->kind == YN_INTERSECTION;
    struct yn_cursor cursor;
    struct batch batch;
    uint64_t hashes[BATCH];
    size_t found[BATCH];
    start_reading(&cursor, source->view);
    while (read_batch(&cursor, &batch)) {
        if (ends(combine, batch.n))
            return YN_ESTOPPED;
        hash_batch(table, &batch, hashes);
        table_find_many(table, combine->refs, batch.members, hashes, batch.n, found);
        for (size_t i = 0; i < batch.n; i++) {
            if (found[i] == NO_REF || (is_common && n_seen[found[i]] + 1 < s))
                continue;
            n_seen[found[i]] = (uint32_t)s;
            if (is_common) {
                struct yn_ref *ref = &combine->refs[found[i]];
                ref->score = aggregate(combine->how->aggregate, ref->score,
                                       source->weight * batch.scores[i]);
            }
        }
    }
    return YN_OK;
}

/* ---- intersection ---- */

/* Looks for members of the source that drives the work in source s. */
static void find_in(struct yn_join *joins, const struct part *sources, size_t s,
                    const struct batch *batch, double *out_scores)
{
    if (s < JOINS_MAX)
        yn_join_find_many(&joins[s], batch->members, batch->n, out_scores);
    else
        yn_zset_find_many(sources[s].set, batch->members, batch->n, out_scores);
}

static void start_joins(struct yn_join *joins, const struct part *sources, size_t n,
                        size_t driver)
{
    for (size_t s = 0; s < n && s < JOINS_MAX; s++)
        if (s != driver)
            yn_join_init(&joins[s], sources[driver].view, sources[s].set,
                         sources[s].view);
}

/* Whether members can be found in all sources but the driver: that takes a dictionary, or
 * walking through both. */
static bool can_join(const struct yn_join *joins, const struct part *sources, size_t n,
                     size_t driver)
{
    for (size_t s = 0; s < n; s++)
        if (s != driver && sources[s].set == NULL &&
            (s >= JOINS_MAX || !joins[s].is_merge))
            return false;
    return true;
}

/* Drops from the batch what source s has not got, and puts its scores, which others
 * receives, beside what stays. */
static void keep_common(struct batch *batch, struct yn_join *joins,
                        const struct part *sources, size_t s, double *others)
{
    size_t n = 0;
    find_in(joins, sources, s, batch, others);
    for (size_t i = 0; i < batch->n; i++) {
        if (isnan(others[i]))
            continue;
        batch->entries[n] = batch->entries[i];
        batch->members[n] = batch->members[i];
        batch->scores[n] = batch->scores[i];
        others[n++] = others[i];
    }
    batch->n = n;
}

/* Keeps what all other sources have, with the scores that result. */
static void intersect_batch(const struct combine *combine, struct yn_join *joins,
                            struct batch *batch)
{
    const struct part *sources = combine->sources;
    double others[BATCH];
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = number_or_zero(sources[0].weight * batch->scores[i]);
    for (size_t s = 1; s < combine->n_sources && batch->n > 0; s++) {
        keep_common(batch, joins, sources, s, others);
        for (size_t i = 0; i < batch->n; i++)
            batch->scores[i] = aggregate(combine->how->aggregate, batch->scores[i],
                                         sources[s].weight * others[i]);
    }
}

/* The same where members cannot be looked up. */
static enum yn_status intersect_by_table(struct combine *combine)
{
    struct table table;
    uint32_t *n_seen;
    const double weight = combine->sources[0].weight;
    enum yn_status status = table_of_first(combine, &table, &n_seen);
    for (size_t i = 0; i < combine->n; i++)
        combine->refs[i].score = number_or_zero(weight * combine->refs[i].score);
    for (size_t s = 1; status == YN_OK && s < combine->n_sources; s++)
        status = count_seen(combine, &table, s, n_seen);
    if (status == YN_OK) {
        size_t n = 0;
        for (size_t i = 0; i < combine->n; i++)
            if (n_seen[i] + 1 == combine->n_sources)
                combine->refs[n++] = combine->refs[i];
        combine->n = n;
        status = finish_refs(combine);
    }
    clear_first(combine, &table, n_seen);
    return status;
}

static enum yn_status intersect_all(struct combine *combine)
{
    struct yn_cursor cursor;
    struct batch batch;
    if (combine->n_sources < combine->how->n_sources) /* one is empty */
        return YN_OK;
    if (!take_refs(combine, count_of(&combine->sources[0])))
        return YN_ENOMEM;
    struct yn_join joins[JOINS_MAX];
    start_joins(joins, combine->sources, combine->n_sources, 0);
    if (!can_join(joins, combine->sources, combine->n_sources, 0))
        return intersect_by_table(combine);
    start_reading(&cursor, combine->sources[0].view);
    while (read_batch(&cursor, &batch)) {
        if (ends(combine, combine->n_sources * batch.n))
            return YN_ESTOPPED;
        intersect_batch(combine, joins, &batch);
        for (size_t i = 0; i < batch.n; i++)
            combine->refs[combine->n++] =
                (struct yn_ref){batch.entries[i], batch.scores[i]};
    }
    return finish_refs(combine);
}

/* ---- difference ---- */

/* Puts the members of all sources but the first into a table. */
static enum yn_status table_of_others(struct combine *combine, struct table *table,
                                      size_t n)
{
    if (!take_refs(combine, n) || !table_init(table, &combine->mem, n, combine->seed))
        return YN_ENOMEM;
    for (size_t s = 1; s < combine->n_sources; s++)
        if (!fill_table(combine, table, &combine->sources[s]))
            return YN_ESTOPPED;
    return YN_OK;
}

/* The difference of views, when those that are subtracted have more members: of the first
 * source's members those go that are found among them. */
static enum yn_status subtract_by_table(struct combine *combine)
{
    struct table table;
    uint32_t *n_seen;
    enum yn_status status = table_of_first(combine, &table, &n_seen);
    for (size_t s = 1; status == YN_OK && s < combine->n_sources; s++)
        status = count_seen(combine, &table, s, n_seen);
    if (status == YN_OK) {
        size_t n = 0;
        for (size_t i = 0; i < combine->n; i++)
            if (n_seen[i] == 0)
                combine->refs[n++] = combine->refs[i];
        combine->n = n;
        status = add_refs(combine);
    }
    clear_first(combine, &table, n_seen);
    return status;
}

/* Tells which members of a batch are in a source but the first. table: of those, or
 * NULL: then they are joined. */
static void find_others(const struct combine *combine, const struct table *table,
                        struct yn_join *joins, const struct batch *batch, bool *out_found)
{
    uint64_t hashes[BATCH];
    size_t found[BATCH];
    double scores[BATCH];
    if (table != NULL) {
        hash_batch(table, batch, hashes);
        table_find_many(table, combine->refs, batch->members, hashes, batch->n, found);
        for (size_t i = 0; i < batch->n; i++)
            out_found[i] = found[i] != NO_REF;
        return;
    }
    for (size_t i = 0; i < batch->n; i++)
        out_found[i] = false;
    for (size_t s = 1; s < combine->n_sources; s++) {
        find_in(joins, combine->sources, s, batch, scores);
        for (size_t i = 0; i < batch->n; i++)
            out_found[i] |= !isnan(scores[i]);
    }
}

/* Whether all sources but the first are walked through beside it. */
static bool are_merged(const struct combine *combine, const struct yn_join *joins)
{
    for (size_t s = 1; s < combine->n_sources; s++)
        if (s >= JOINS_MAX || !joins[s].is_merge)
            return false;
    return true;
}

/* Whether look-ups in one of them are slow. */
static bool has_slow(const struct combine *combine, const struct yn_join *joins)
{
    for (size_t s = 1; s < combine->n_sources && s < JOINS_MAX; s++)
        if (joins[s].is_slow)
            return true;
    return false;
}

static enum yn_status subtract_all(struct combine *combine)
{
    const struct part *first = &combine->sources[0];
    size_t n_others = 0;
    if (count_of(first) == 0)
        return YN_OK;
    for (size_t s = 1; s < combine->n_sources; s++) {
        if (are_same(&combine->sources[s], first))
            return YN_OK;
        n_others += count_of(&combine->sources[s]);
    }
    if (n_others == 0)
        return yn_builder_add_range(combine->builder, first->view, 0, count_of(first),
                                    combine->stopper.stop);
    struct table table = {.slots = NULL};
    struct yn_join joins[JOINS_MAX];
    start_joins(joins, combine->sources, combine->n_sources, 0);
    bool has_table = n_others < SLOW_LARGER * count_of(first) && has_slow(combine, joins);
    has_table |= n_others < count_of(first) && !are_merged(combine, joins);
    if (!has_table && !can_join(joins, combine->sources, combine->n_sources, 0))
        return subtract_by_table(combine);
    enum yn_status status =
        has_table ? table_of_others(combine, &table, n_others) : YN_OK;
    struct yn_cursor cursor;
    struct batch batch;
    bool is_found[BATCH];
    start_reading(&cursor, first->view);
    while (status == YN_OK && read_batch(&cursor, &batch)) {
        if (ends(combine, combine->n_sources * batch.n))
            status = YN_ESTOPPED;
        find_others(combine, has_table ? &table : NULL, joins, &batch, is_found);
        for (size_t i = 0; status == YN_OK && i < batch.n; i++)
            if (!is_found[i])
                status =
                    yn_builder_add(combine->builder, batch.members[i], batch.scores[i]);
    }
    table_clear(&table, &combine->mem);
    return status;
}

/* ---- interface ---- */

/* A source and where it was named: qsort would else be free to swap equals. */
struct placed {
    struct part source;
    size_t at;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    size_t n = count_of(&x->source), m = count_of(&y->source);
    if (n != m)
        return n < m ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/* Notes the sources that have members, from the smallest to the largest if they are to be
 * sorted. */
static bool take_sources(struct combine *combine, bool is_sorted)
{
    const struct yn_combination *how = combine->how;
    size_t n = how->n_sources;
    struct placed *placed = yn_mem_take(&combine->mem, (n + 1) * sizeof *placed);
    if (placed == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        placed[i] = (struct placed){part_of(how, i), i};
    if (is_sorted)
        qsort(placed, n, sizeof *placed, compare_placed);
    combine->n_taken = n + 1;
    combine->sources =
        yn_mem_take(&combine->mem, combine->n_taken * sizeof *combine->sources);
    for (size_t i = 0; combine->sources != NULL && i < n; i++)
        if (count_of(&placed[i].source) > 0 || (i == 0 && !is_sorted))
            combine->sources[combine->n_sources++] = placed[i].source;
    yn_mem_give(&combine->mem, placed, (n + 1) * sizeof *placed);
    for (size_t i = 0; combine->sources != NULL && i < combine->n_sources; i++)
        if (combine->sources[i].view != NULL) /* a set's first field is its tree */
            combine->seed =
                ((const struct yn_zset *)(const void *)combine->sources[i].view->tree)
                    ->seed;
    return combine->sources != NULL;
}

static enum yn_status run(struct combine *combine)
{
    enum yn_combine_kind kind = combine->how->kind;
    if (!take_sources(combine, kind != YN_DIFFERENCE))
        return YN_ENOMEM;
    combine->builder = yn_builder_new(&combine->set->tree);
    if (combine->builder == NULL)
        return YN_ENOMEM;
    if (combine->n_sources == 0)
        return YN_OK;
    if (kind == YN_UNION)
        return unite_all(combine);
    return kind == YN_INTERSECTION ? intersect_all(combine) : subtract_all(combine);
}

enum yn_status yn_zset_combine(const struct yn_combination *how,
                               const struct yn_options *options, struct yn_zset **out_set)
{
    struct combine combine = {.how = how, .set = yn_zset_new(options)};
    combine.stopper.stop = yn_stop_of(options);
    if (combine.set == NULL)
        return YN_ENOMEM;
    yn_mem_init(&combine.mem, options);
    enum yn_status status = run(&combine);
    give_refs(&combine);
    yn_mem_give(&combine.mem, combine.sources, combine.n_taken * sizeof *combine.sources);
    return how->is_for_cursors
               ? yn_zset_finish_tree(combine.set, combine.builder, status, out_set)
               : yn_zset_finish(combine.set, combine.builder, status,
                                combine.stopper.stop, out_set);
}

/* The source to go through: the smallest, or one of one score that is not much larger,
 * since to look members up in that is slow. */
static size_t choose_driver(const struct part *sources, size_t n_sources)
{
    size_t smallest = 0, n;
    for (size_t s = 0; s < n_sources; s++)
        if (count_of(&sources[s]) < count_of(&sources[smallest]))
            smallest = s;
    n = count_of(&sources[smallest]);
    if (n == 0 || yn_has_one_score(sources[smallest].view))
        return smallest;
    for (size_t s = 0; s < n_sources; s++)
        if (count_of(&sources[s]) < SLOW_LARGER * n && yn_has_one_score(sources[s].view))
            return s;
    return smallest;
}

/* Counts what all sources have by looking members of the driver up. */
static bool count_by_look_ups(struct combine *combine, size_t driver,
                              struct yn_join *joins, size_t limit, size_t *out_n)
{
    const struct part *sources = combine->sources;
    struct yn_cursor cursor;
    struct batch batch;
    double others[BATCH];
    start_reading(&cursor, sources[driver].view);
    while (*out_n < limit && read_batch(&cursor, &batch)) {
        if (ends(combine, combine->n_sources * batch.n))
            return false;
        for (size_t s = 0; s < combine->n_sources && batch.n > 0; s++)
            if (!are_same(&sources[s], &sources[driver]))
                keep_common(&batch, joins, sources, s, others);
        *out_n += batch.n;
    }
    return true;
}

/* The same in views. */
static enum yn_status count_by_table(struct combine *combine, size_t *out_n)
{
    struct table table;
    uint32_t *n_seen;
    enum yn_status status = table_of_first(combine, &table, &n_seen);
    for (size_t s = 1; status == YN_OK && s < combine->n_sources; s++)
        status = count_seen(combine, &table, s, n_seen);
    for (size_t i = 0; status == YN_OK && i < combine->n; i++)
        *out_n += n_seen[i] + 1 == combine->n_sources;
    clear_first(combine, &table, n_seen);
    return status;
}

enum yn_status yn_zset_count_common(const struct yn_combination *how, size_t limit,
                                    const struct yn_options *options, size_t *out_n)
{
    struct combine combine = {.how = how, .stopper = {.stop = yn_stop_of(options)}};
    struct yn_join joins[JOINS_MAX];
    enum yn_status status = YN_OK;
    *out_n = 0;
    yn_mem_init(&combine.mem, options);
    if (limit == 0)
        limit = SIZE_MAX;
    if (!take_sources(&combine, true)) {
        status = YN_ENOMEM;
    } else if (combine.n_sources == how->n_sources && how->n_sources > 0) {
        size_t driver = choose_driver(combine.sources, combine.n_sources);
        start_joins(joins, combine.sources, combine.n_sources, driver);
        if (!can_join(joins, combine.sources, combine.n_sources, driver))
            status = count_by_table(&combine, out_n);
        else if (!count_by_look_ups(&combine, driver, joins, limit, out_n))
            status = YN_ESTOPPED;
    }
    if (*out_n > limit)
        *out_n = limit;
    give_refs(&combine);
    yn_mem_give(&combine.mem, combine.sources, combine.n_taken * sizeof *combine.sources);
    return status;
}
