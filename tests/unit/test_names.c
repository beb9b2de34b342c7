/*
 * A table of names beside a plain array: names of all lengths, spaces, growth, order, and
 * memory that runs out.
 * link: server --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "server/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"

#define THINGS 600
#define SPACES 3

struct thing {
    struct name name;
    bool is_in;
    unsigned added_at;
    char text[8];
};

static struct thing things[THINGS];

static size_t below(size_t n)
{
    return (size_t)rand() % n;
}

/* Every text in every space; the first is empty, others hold zeros. */
static void init_things(void)
{
    memset(things, 0, sizeof things);
    for (size_t i = 0; i < THINGS; i++) {
        size_t number = i / SPACES;
        size_t len = number == 0 ? 0 : 1 + number % (sizeof things[i].text - 1);
        memcpy(things[i].text, &number, len < sizeof number ? len : sizeof number);
        if (len >= 2)
            things[i].text[len - 1] = (char)(number >> 1);
        things[i].name.space = i % SPACES;
        things[i].name.bytes = (struct yn_bytes){things[i].text, len};
    }
}

static bool is_same(const struct thing *a, const struct thing *b)
{
    return a->name.space == b->name.space && a->name.bytes.len == b->name.bytes.len &&
           memcmp(a->text, b->text, a->name.bytes.len) == 0;
}

/* The thing in the table with this one's name, or NULL. */
static struct thing *plain_find(const struct thing *like)
{
    for (size_t i = 0; i < THINGS; i++)
        if (things[i].is_in && is_same(&things[i], like))
            return &things[i];
    return NULL;
}

static void check_all(const struct names *names)
{
    size_t n = 0, n_in = 0;
    unsigned last = 0;
    for (const struct link *l = names->all.next; l != &names->all; l = l->next, n++) {
        const struct thing *thing = LIST_ITEM(NAME_OF(l), struct thing, name);
        assert_true(thing->is_in);
        assert_true(thing->added_at > last);
        last = thing->added_at;
    }
    for (size_t i = 0; i < THINGS; i++)
        n_in += things[i].is_in;
    assert_int_equal(n, n_in);
    assert_int_equal(names->n, n_in);
    assert_true(names->n_buckets >= names->n);
    assert_int_equal(names->n_buckets & (names->n_buckets - 1), 0);
}

static void test_random(void **state)
{
    (void)state;
    const char *given = getenv("YN_SEED");
    unsigned seed = given != NULL ? (unsigned)atoi(given) : 1, clock = 0;
    printf("seed %u\n", seed);
    srand(seed);
    init_things();
    struct names names;
    names_init(&names, seed);
    for (int i = 0; i < 40000; i++) {
        struct thing *thing = &things[below(THINGS)];
        /* a copy of the bytes: a name is found by what it says */
        char text[sizeof thing->text];
        memcpy(text, thing->text, sizeof text);
        struct yn_bytes bytes = {text, thing->name.bytes.len};
        struct name *found = names_find(&names, thing->name.space, bytes);
        struct thing *expected = plain_find(thing);
        assert_ptr_equal(found, expected == NULL ? NULL : &expected->name);
        if (found == NULL) {
            assert_true(names_add(&names, &thing->name));
            thing->is_in = true;
            thing->added_at = ++clock;
        } else if (below(THINGS) > names.n / 2) {
            names_remove(&names, found);
            expected->is_in = false;
        }
        if (i % 100 == 0)
            check_all(&names);
    }
    while (names.n > 0) {
        struct name *first = NAME_OF(names.all.next);
        names_remove(&names, first);
        LIST_ITEM(first, struct thing, name)->is_in = false;
    }
    check_all(&names);
    names_clear(&names);
    assert_null(names.buckets);
    assert_null(names_find(&names, 0, things[0].name.bytes));
}

static void test_without_memory(void **state)
{
    (void)state;
    struct names names;
    init_things();
    names_init(&names, 1);
    allocs_reset(1, true); /* there is no room for the first buckets */
    assert_false(names_add(&names, &things[0].name));
    allocs_reset(0, false);
    assert_int_equal(names.n, 0);
    assert_null(names_find(&names, 0, things[0].name.bytes));
    assert_true(names_add(&names, &things[0].name));
    things[0].is_in = true;
    allocs_reset(1,
                 true); /* the table does not grow, and takes every name all the same */
    for (size_t i = 1; i < THINGS; i++) {
        if (plain_find(&things[i]) != NULL)
            continue;
        assert_true(names_add(&names, &things[i].name));
        things[i].is_in = true;
    }
    allocs_reset(0, false);
    assert_true(names.n > names.n_buckets);
    for (size_t i = 0; i < THINGS; i++)
        assert_non_null(names_find(&names, things[i].name.space, things[i].name.bytes));
    names_clear(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
