/*
 * Who watches which keys: random watches and changes beside a plain table; memory that
 * runs out.
 * link: server --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "server/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"

#define CLIENTS 8
#define DBS 2
#define KEYS 6

/* What the table should say. */
struct plain {
    bool watches[CLIENTS][DBS][KEYS], existed[CLIENTS][DBS][KEYS];
    bool is_touched[CLIENTS];
    bool exists[DBS][KEYS];
};

struct world {
    struct watches watches;
    struct watch_client clients[CLIENTS];
    struct plain plain;
};

static char names[KEYS][8];

static struct yn_bytes name_of(size_t key)
{
    return (struct yn_bytes){names[key], strlen(names[key])};
}

static bool exists(void *ctx, size_t db, struct yn_bytes name)
{
    const struct plain *plain = ctx;
    for (size_t key = 0; key < KEYS; key++)
        if (name.len == strlen(names[key]) &&
            memcmp(name.data, names[key], name.len) == 0)
            return plain->exists[db][key];
    fail_msg("a name that nobody watches");
    return false;
}

static size_t below(size_t n)
{
    return (size_t)rand() % n;
}

static void plain_touch(struct plain *plain, size_t client)
{
    memset(plain->watches[client], 0, sizeof plain->watches[client]);
    plain->is_touched[client] = true;
}

static void change_key(struct world *w, size_t db, size_t key)
{
    for (size_t c = 0; c < CLIENTS; c++)
        if (w->plain.watches[c][db][key])
            plain_touch(&w->plain, c);
    watch_touch(&w->watches, db, name_of(key));
}

static void change_db(struct world *w, size_t db)
{
    for (size_t key = 0; key < KEYS; key++)
        w->plain.exists[db][key] = below(2) == 0;
    for (size_t c = 0; c < CLIENTS; c++)
        for (size_t key = 0; key < KEYS; key++)
            if (w->plain.watches[c][db][key] &&
                (w->plain.existed[c][db][key] || w->plain.exists[db][key]))
                plain_touch(&w->plain, c);
    watch_touch_db(&w->watches, db, exists, &w->plain);
}

static void forget(struct world *w, size_t client)
{
    memset(w->plain.watches[client], 0, sizeof w->plain.watches[client]);
    w->plain.is_touched[client] = false;
    watch_forget(&w->watches, &w->clients[client]);
}

static void add(struct world *w, size_t client, size_t db, size_t key)
{
    bool is_there = w->plain.exists[db][key];
    if (!w->plain.watches[client][db][key])
        w->plain.existed[client][db][key] = is_there;
    w->plain.watches[client][db][key] = true;
    assert_true(watch_add(&w->watches, &w->clients[client], db, name_of(key), is_there));
}

static void check(struct world *w)
{
    bool is_watched[DBS][KEYS] = {{false}};
    size_t n_keys = 0, n_clients = 0;
    for (size_t c = 0; c < CLIENTS; c++) {
        size_t n = 0;
        bool has_expired = false;
        for (size_t i = 0; i < DBS * KEYS; i++) {
            size_t db = i / KEYS, key = i % KEYS;
            if (!w->plain.watches[c][db][key])
                continue;
            n++;
            n_keys += !is_watched[db][key];
            is_watched[db][key] = true;
            has_expired |= w->plain.existed[c][db][key] && !w->plain.exists[db][key];
        }
        n_clients += n > 0;
        assert_int_equal(w->clients[c].n, n);
        assert_int_equal(w->clients[c].is_touched, w->plain.is_touched[c]);
        assert_int_equal(watch_has_expired(&w->clients[c], exists, &w->plain),
                         has_expired);
    }
    assert_int_equal(w->watches.n_clients, n_clients);
    assert_int_equal(w->watches.table.n, n_keys);
}

static void init(struct world *w)
{
    memset(w, 0, sizeof *w);
    watches_init(&w->watches, 7);
    for (size_t c = 0; c < CLIENTS; c++)
        watch_client_init(&w->clients[c]);
    for (size_t key = 0; key < KEYS; key++)
        snprintf(names[key], sizeof names[key], "%.*s", (int)key, "watched");
}

static void test_random(void **state)
{
    (void)state;
    const char *given = getenv("YN_SEED");
    unsigned seed = given != NULL ? (unsigned)atoi(given) : 1;
    printf("seed %u\n", seed);
    srand(seed);
    struct world w;
    init(&w);
    for (int i = 0; i < 20000; i++) {
        size_t client = below(CLIENTS), db = below(DBS), key = below(KEYS);
        switch (below(12)) {
        case 0:
            change_key(&w, db, key);
            break;
        case 1:
            w.plain.exists[db][key] = !w.plain.exists[db][key]; /* nobody is told */
            break;
        case 2:
            if (below(4) == 0)
                change_db(&w, db);
            break;
        case 3:
            forget(&w, client);
            break;
        default:
            if (!w.plain.is_touched[client])
                add(&w, client, db, key);
        }
        check(&w);
    }
    for (size_t c = 0; c < CLIENTS; c++)
        forget(&w, c);
    check(&w);
    watches_clear(&w.watches);
}

static void test_shortening_takes_the_latest(void **state)
{
    (void)state;
    struct world w;
    init(&w);
    for (size_t key = 0; key < KEYS; key++)
        add(&w, 0, 0, key);
    watch_shorten(&w.watches, &w.clients[0], 2);
    assert_int_equal(w.clients[0].n, 2);
    watch_touch(&w.watches, 0, name_of(2));
    assert_false(w.clients[0].is_touched);
    watch_touch(&w.watches, 0, name_of(1));
    assert_true(w.clients[0].is_touched);
    watch_forget(&w.watches, &w.clients[0]);
    watches_clear(&w.watches);
}

static void test_without_memory(void **state)
{
    (void)state;
    struct world w;
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        init(&w);
        allocs_reset(fail_at, true);
        is_done = watch_add(&w.watches, &w.clients[0], 0, name_of(3), true);
        allocs_reset(0, false);
        assert_int_equal(w.clients[0].n, is_done);
        assert_int_equal(w.watches.table.n, is_done);
        assert_int_equal(w.watches.n_clients, is_done);
        watch_forget(&w.watches, &w.clients[0]);
        watches_clear(&w.watches);
        assert_true(fail_at < 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_shortening_takes_the_latest),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
