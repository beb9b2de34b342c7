/*
 * The engine among threads, by the rule of yonder.h: readers share the lock, one writer
 * takes it alone, and holders of views freeze and free under the shared lock and a mutex
 * and read with none. Answers are checked; what else may go wrong is a sanitizer's to
 * see. Seed: YN_SEED. link: server
 */
#include "server/rwlock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "model/model.h"

#define READERS 2
#define HOLDERS 2
#define THREADS (READERS + HOLDERS + 1)
#define MEMBERS 3000 /* names; most of them are in the set */
#define NAME_MAX_LEN 400
#define CHANGES_MAX 8 /* in one turn of the writer */

struct world {
    struct rwlock lock;
    uv_mutex_t views;
    struct yn_zset *set;
    size_t n_turns; /* of the writer */
    atomic_bool is_over;
    uint64_t seed;
    _Atomic uint64_t n_read, n_held;
};

struct actor {
    uv_thread_t thread;
    struct world *world;
    size_t slot;
    struct rng rng;
};

/* cmocka's assertions leave by longjmp, which only the main thread can. */
static void must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

/* Each sixteenth name is too long to stand in a leaf. */
static struct yn_bytes format_name(size_t i, char *out_name)
{
    int len = snprintf(out_name, NAME_MAX_LEN, "member:%zu", i);
    if (i % 16 != 0)
        return (struct yn_bytes){out_name, (size_t)len};
    memset(out_name + len, 'x', NAME_MAX_LEN - (size_t)len);
    return (struct yn_bytes){out_name, NAME_MAX_LEN};
}

static struct yn_bytes random_name(struct rng *rng, char *out_name)
{
    return format_name(rng_below(rng, MEMBERS), out_name);
}

static struct yn_point random_point(struct rng *rng)
{
    return (struct yn_point){rng_between(rng, 10, 12), rng_between(rng, 50, 51)};
}

/* Mostly positions, some of them crowded; some scores that are none. */
static double random_score(struct rng *rng)
{
    switch (rng_below(rng, 16)) {
    case 0:
        return rng_unit(rng);
    case 1:
        return yn_score_encode((struct yn_point){11, 50.5});
    default:
        return yn_score_encode(random_point(rng));
    }
}

static struct yn_query random_query(struct rng *rng)
{
    struct yn_query query = {.shape = {.kind = YN_CIRCLE,
                                       .center = random_point(rng),
                                       .radius_m = rng_between(rng, 100, 50000)},
                             .order = (enum yn_order)rng_below(rng, 3),
                             .limit =
                                 rng_below(rng, 3) == 0 ? 1 + rng_below(rng, 20) : 0};
    if (rng_below(rng, 3) == 0) {
        query.shape.kind = YN_BOX;
        query.shape.width_m = rng_between(rng, 100, 100000);
        query.shape.height_m = rng_between(rng, 100, 100000);
    }
    return query;
}

/* ---- reading ------------------------------------------------------------- */

static bool is_ascending(struct yn_entry a, struct yn_entry b)
{
    if (a.score != b.score)
        return a.score < b.score;
    size_t len = a.member.len < b.member.len ? a.member.len : b.member.len;
    int c = memcmp(a.member.data, b.member.data, len);
    return c != 0 ? c < 0 : a.member.len < b.member.len;
}

static void walk(const struct yn_view *view)
{
    struct yn_cursor cursor;
    struct yn_entry last = {.score = 0};
    size_t n = 0;
    for (bool is_at = yn_cursor_seek(&cursor, view, 0); is_at;
         is_at = yn_cursor_next(&cursor)) {
        struct yn_entry entry = yn_cursor_entry(&cursor);
        must(n == 0 || is_ascending(last, entry), "a view out of order");
        last = entry;
        n++;
    }
    must(n == yn_view_count(view), "a view with another number of entries");
}

static void search_all(const struct yn_view *view, const struct yn_query *query)
{
    struct yn_search *search;
    struct yn_hit hit;
    size_t n = 0;
    must(yn_search_new(view, query, &search) == YN_OK, "a search fails");
    for (; yn_search_next(search, &hit); n++)
        must(query->shape.kind != YN_CIRCLE ||
                 yn_distance_m(query->shape.center, hit.position) <=
                     query->shape.radius_m,
             "a hit outside of the circle");
    must(n == yn_search_count(search), "a search that counts wrongly");
    yn_search_free(search);
}

static void visit_scanned(void *ctx, struct yn_bytes member, double score)
{
    (void)score;
    *(size_t *)ctx += member.len > 0;
}

static void look_up(const struct yn_zset *set, struct rng *rng)
{
    char names[4][NAME_MAX_LEN];
    struct yn_bytes members[4];
    double scores[4], score;
    for (size_t i = 0; i < 4; i++)
        members[i] = random_name(rng, names[i]);
    yn_zset_find_many(set, members, 4, scores);
    for (size_t i = 0; i < 4; i++) {
        size_t rank;
        bool is_there = yn_zset_find(set, members[i], &score);
        must(is_there ? score == scores[i] : isnan(scores[i]), "two look-ups differ");
        must(yn_zset_rank(set, members[i], &rank) == is_there, "rank and look-up differ");
        must(!is_there || rank < yn_zset_count(set), "rank is too high");
    }
}

static void scan_all(const struct yn_zset *set)
{
    uint64_t cursor = 0;
    size_t n_seen = 0;
    do
        cursor = yn_zset_scan(set, cursor, 100, visit_scanned, &n_seen);
    while (cursor != 0);
    must(n_seen >= yn_zset_count(set), "a scan that misses some");
}

static void read_once(const struct yn_zset *set, struct rng *rng)
{
    struct yn_query query = random_query(rng);
    must(yn_zset_memory(set) > 0, "a set without memory");
    look_up(set, rng);
    switch (rng_below(rng, 4)) {
    case 0:
        walk(yn_zset_view(set));
        break;
    case 1:
        scan_all(set);
        break;
    default:
        search_all(yn_zset_view(set), &query);
    }
}

static void run_reader(void *arg)
{
    struct actor *actor = arg;
    struct world *world = actor->world;
    do {
        rwlock_lock_shared(&world->lock, actor->slot);
        read_once(world->set, &actor->rng);
        rwlock_unlock_shared(&world->lock, actor->slot);
        atomic_fetch_add(&world->n_read, 1);
    } while (!atomic_load(&world->is_over));
}

/* ---- holding views --------------------------------------------------------- */

struct image {
    char *data;
    size_t len;
};

static struct image take_image(const struct yn_view *view)
{
    struct image image;
    must(yn_view_encode(view, &image.data, &image.len) == YN_OK, "encoding fails");
    return image;
}

static void compare_image(const struct yn_view *view, const struct image *image)
{
    struct image now = take_image(view);
    must(now.len == image->len && memcmp(now.data, image->data, now.len) == 0,
         "a frozen view has changed");
    free(now.data);
}

/* A copy of some of it, as an offloaded store makes one. */
static void copy_some(const struct yn_view *view, struct rng *rng)
{
    struct yn_zset *copy;
    size_t count = yn_view_count(view), first = rng_below(rng, count + 1);
    size_t n = rng_below(rng, count + 1);
    must(yn_zset_copy(view, first, n, NULL, &copy) == YN_OK, "a copy fails");
    must(yn_zset_count(copy) == (n < count - first ? n : count - first),
         "a copy of another number");
    must(yn_zset_check(copy) == NULL, "a broken copy");
    yn_zset_free(copy);
}

/* The hits of a search that was planned over the live view, beside the same search over
 * what was frozen then. */
static void compare_hits(struct yn_search *planned, const struct yn_view *view,
                         const struct yn_query *query)
{
    struct yn_search *search;
    struct yn_hit a, b;
    must(yn_search_new(view, query, &search) == YN_OK, "a search fails");
    while (yn_search_next(search, &a)) {
        must(yn_search_next(planned, &b), "a planned hit is missing");
        must(a.member.len == b.member.len && a.score == b.score &&
                 memcmp(a.member.data, b.member.data, a.member.len) == 0,
             "a planned hit has changed");
    }
    must(!yn_search_next(planned, &b), "a planned hit too many");
    yn_search_free(search);
}

static void hold_once(struct actor *actor)
{
    struct world *world = actor->world;
    struct yn_query query = random_query(&actor->rng);
    struct yn_search *planned;
    struct yn_view *view;

    rwlock_lock_shared(&world->lock, actor->slot);
    must(yn_search_new(yn_zset_view(world->set), &query, &planned) == YN_OK,
         "a search fails");
    struct image image = take_image(yn_zset_view(world->set));
    uv_mutex_lock(&world->views);
    must(yn_zset_freeze(world->set, &view) == YN_OK, "freezing fails");
    uv_mutex_unlock(&world->views);
    rwlock_unlock_shared(&world->lock, actor->slot);

    compare_hits(planned, view, &query);
    yn_search_free(planned);
    walk(view);
    search_all(view, &query);
    copy_some(view, &actor->rng);
    compare_image(view, &image);
    free(image.data);

    rwlock_lock_shared(&world->lock, actor->slot);
    uv_mutex_lock(&world->views);
    yn_view_free(view);
    uv_mutex_unlock(&world->views);
    rwlock_unlock_shared(&world->lock, actor->slot);
}

static void run_holder(void *arg)
{
    struct actor *actor = arg;
    do {
        hold_once(actor);
        atomic_fetch_add(&actor->world->n_held, 1);
    } while (!atomic_load(&actor->world->is_over));
}

/* ---- writing --------------------------------------------------------------- */

static void put_some(struct yn_zset *set, struct rng *rng)
{
    char names[CHANGES_MAX][NAME_MAX_LEN];
    struct yn_entry entries[CHANGES_MAX];
    size_t n = 1 + rng_below(rng, CHANGES_MAX);
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct yn_entry){random_name(rng, names[i]), random_score(rng)};
    if (rng_below(rng, 2) == 0)
        yn_zset_prefetch(set, entries, n);
    for (size_t i = 0; i < n; i++)
        must(yn_zset_put(set, entries[i].member, entries[i].score, NULL) == YN_OK,
             "a put fails");
}

static void remove_some(struct yn_zset *set, struct rng *rng)
{
    char name[NAME_MAX_LEN];
    if (rng_below(rng, 4) == 0) {
        size_t first = rng_below(rng, yn_zset_count(set) + 1);
        must(yn_zset_remove_range(set, first, rng_below(rng, 200), NULL) == YN_OK,
             "removing many fails");
        return;
    }
    for (size_t i = 0; i < CHANGES_MAX; i++)
        must(yn_zset_remove(set, random_name(rng, name), NULL) == YN_OK,
             "removing fails");
}

/* The key gets another set; views of the old one are still open. */
static void replace(struct world *world)
{
    struct yn_zset *copy;
    must(yn_zset_copy(yn_zset_view(world->set), 0, SIZE_MAX, NULL, &copy) == YN_OK,
         "a copy fails");
    yn_zset_free(world->set);
    world->set = copy;
}

static void run_writer(void *arg)
{
    struct actor *actor = arg;
    struct world *world = actor->world;
    for (size_t i = 0; i < world->n_turns; i++) {
        rwlock_lock_exclusive(&world->lock);
        uint64_t what = rng_below(&actor->rng, 100);
        if (what < 80)
            put_some(world->set, &actor->rng);
        else if (what < 98)
            remove_some(world->set, &actor->rng);
        else
            replace(world);
        if (i % 64 == 0)
            must(yn_zset_check(world->set) == NULL, "a broken set");
        rwlock_unlock_exclusive(&world->lock);
    }
    atomic_store(&world->is_over, true);
}

/* ---- all of them ------------------------------------------------------------- */

static void fill(struct yn_zset *set, struct rng *rng)
{
    char name[NAME_MAX_LEN];
    for (size_t i = 0; i < MEMBERS; i++)
        must(yn_zset_put(set, format_name(i, name), random_score(rng), NULL) == YN_OK,
             "a put fails");
}

static void test_readers_writer_holders(void **state)
{
    (void)state;
    struct world world = {.n_turns = 1500, .seed = model_seed()};
    struct rng rng = {world.seed};
    assert_true(rwlock_init(&world.lock, THREADS));
    assert_int_equal(uv_mutex_init(&world.views), 0);
    world.set = yn_zset_new(NULL);
    assert_non_null(world.set);
    fill(world.set, &rng);

    struct actor actors[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        actors[i] = (struct actor){
            .world = &world, .slot = i, .rng = {world.seed + i * 7919 + 1}};
        uv_thread_cb run = i < READERS             ? run_reader
                           : i < READERS + HOLDERS ? run_holder
                                                   : run_writer;
        assert_int_equal(uv_thread_create(&actors[i].thread, run, &actors[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(uv_thread_join(&actors[i].thread), 0);
    printf("%zu turns of the writer, %zu of readers, %zu views\n", world.n_turns,
           (size_t)world.n_read, (size_t)world.n_held);
    assert_null(yn_zset_check(world.set));
    yn_zset_free(world.set);
    uv_mutex_destroy(&world.views);
    rwlock_clear(&world.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers_writer_holders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
