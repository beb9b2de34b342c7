/*
 * Who waits for which key: order, deadlines, marks; memory that runs out.
 * link: server --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "server/blocked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"

#define CLIENTS 10
#define KEYS 5

static struct yn_bytes bytes_of(const char *text)
{
    return (struct yn_bytes){text, strlen(text)};
}

/* The clients that wait for the key, as "310". */
static const char *queue_of(const struct blocked *blocked,
                            const struct blocked_client *clients, const char *name)
{
    static char text[CLIENTS + 1];
    size_t n = 0;
    const struct interest_key *key = interest_find(&blocked->table, 0, bytes_of(name));
    for (const struct link *l = key == NULL ? NULL : key->interests.next;
         l != NULL && l != &key->interests; l = l->next) {
        const struct blocked_client *client =
            LIST_ITEM(l, struct interest, in_key)->owner;
        text[n++] = (char)('0' + (client - clients));
    }
    text[n] = '\0';
    return text;
}

static void init(struct blocked *blocked, struct blocked_client *clients)
{
    blocked_init(blocked, 7);
    for (size_t i = 0; i < CLIENTS; i++)
        blocked_client_init(&clients[i]);
}

static void test_order_of_arrival(void **state)
{
    (void)state;
    struct blocked blocked;
    struct blocked_client clients[CLIENTS];
    const struct yn_bytes aba[] = {bytes_of("a"), bytes_of("b"), bytes_of("a")};
    init(&blocked, clients);
    assert_true(blocked_add(&blocked, &clients[3], 0, aba, 3, INT64_MAX));
    assert_true(blocked_add(&blocked, &clients[1], 0, aba + 1, 1, INT64_MAX));
    assert_true(blocked_add(&blocked, &clients[0], 0, aba, 1, INT64_MAX));
    assert_true(blocked_add(&blocked, &clients[2], 1, aba, 1, INT64_MAX));
    assert_string_equal(queue_of(&blocked, clients, "a"), "30");
    assert_string_equal(queue_of(&blocked, clients, "b"), "31");
    assert_int_equal(blocked.table.n, 3);
    blocked_remove(&blocked, &clients[3]);
    blocked_remove(&blocked, &clients[3]); /* no change */
    assert_string_equal(queue_of(&blocked, clients, "a"), "0");
    assert_string_equal(queue_of(&blocked, clients, "b"), "1");
    assert_true(blocked_add(&blocked, &clients[3], 0, aba, 3, INT64_MAX));
    assert_string_equal(queue_of(&blocked, clients, "a"), "03");
    assert_int_equal(blocked.n_clients, 4);
    for (size_t i = 0; i < CLIENTS; i++)
        blocked_remove(&blocked, &clients[i]);
    assert_int_equal(blocked.n_clients, 0);
    assert_int_equal(blocked.table.n, 0);
    blocked_clear(&blocked);
}

static void test_marks(void **state)
{
    (void)state;
    struct blocked blocked;
    struct blocked_client clients[CLIENTS];
    const struct yn_bytes keys[] = {bytes_of("a"), bytes_of("b"), bytes_of("c")};
    init(&blocked, clients);
    assert_true(blocked_add(&blocked, &clients[0], 0, keys, 3, INT64_MAX));
    assert_true(blocked_add(&blocked, &clients[1], 0, keys + 1, 1, INT64_MAX));
    blocked_mark(&blocked, 0, bytes_of("c"));
    blocked_mark(&blocked, 0, bytes_of("nobody's"));
    blocked_mark(&blocked, 1, bytes_of("a")); /* another database */
    blocked_mark(&blocked, 0, bytes_of("b"));
    blocked_mark(&blocked, 0, bytes_of("c")); /* once */
    struct interest_key *key = blocked_next_marked(&blocked);
    assert_memory_equal(key->text, "c", 1);
    blocked_remove(&blocked, &clients[0]);
    key = blocked_next_marked(&blocked);
    assert_memory_equal(key->text, "b", 1);
    assert_null(blocked_next_marked(&blocked));
    /* a mark goes with its key */
    blocked_mark(&blocked, 0, bytes_of("b"));
    blocked_remove(&blocked, &clients[1]);
    assert_null(blocked_next_marked(&blocked));
    blocked_clear(&blocked);
}

static void test_deadlines(void **state)
{
    (void)state;
    struct blocked blocked;
    struct blocked_client clients[CLIENTS];
    const struct yn_bytes key = bytes_of("k");
    init(&blocked, clients);
    assert_int_equal(blocked_next_deadline_ms(&blocked), INT64_MAX);
    for (size_t i = 0; i < CLIENTS; i++) {
        int64_t at_ms = i == 4 ? INT64_MAX : 100 + (int64_t)(i * 7 % CLIENTS);
        assert_true(blocked_add(&blocked, &clients[i], 0, &key, 1, at_ms));
    }
    blocked_remove(&blocked, &clients[3]); /* 101 */
    assert_int_equal(blocked_next_deadline_ms(&blocked), 100);
    assert_null(blocked_due(&blocked, 99));
    static const size_t order[] = {0, 6, 9, 2, 5, 8, 1, 7}; /* 100, 102, 103 ... */
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        struct blocked_client *client = blocked_due(&blocked, 1000);
        assert_ptr_equal(client, &clients[order[i]]);
        blocked_remove(&blocked, client);
    }
    assert_null(blocked_due(&blocked, INT64_MAX));
    assert_true(clients[4].is_waiting);
    blocked_remove(&blocked, &clients[4]);
    blocked_clear(&blocked);
}

static void test_without_memory(void **state)
{
    (void)state;
    const struct yn_bytes keys[] = {bytes_of("a"), bytes_of("b"), bytes_of("c")};
    bool is_done = false;
    for (size_t fail_at = 1; !is_done; fail_at++) {
        struct blocked blocked;
        struct blocked_client clients[CLIENTS];
        init(&blocked, clients);
        allocs_reset(fail_at, true);
        is_done = blocked_add(&blocked, &clients[0], 0, keys, 3, 50);
        allocs_reset(0, false);
        assert_int_equal(clients[0].is_waiting, is_done);
        assert_int_equal(blocked.n_clients, is_done);
        assert_int_equal(blocked.table.n, is_done ? 3 : 0);
        assert_int_equal(blocked.deadlines.n, is_done);
        blocked_remove(&blocked, &clients[0]);
        blocked_clear(&blocked);
        assert_true(fail_at < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_arrival),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
