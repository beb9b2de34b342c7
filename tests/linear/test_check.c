/*
 * The check itself: histories made by hand, good ones and bad ones. A bad one is always a
 * good one with a fault of a kind that a server could have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "linear/check.h"

static struct check check;
static struct model_world world;
static struct model_state start;
static struct record history[CHECK_RECORDS_MAX];
static size_t n_history;

static int set_up(void **state)
{
    (void)state;
    check_init(&check);
    memset(&world, 0, sizeof world);
    for (uint8_t place = 0; place < MODEL_PLACES; place++) {
        world.score_rank[place] = place;
        for (int shape = 0; shape < MODEL_SHAPES; shape++)
            world.distance_rank[shape][place] = place;
    }
    world.inside[0] = (1u << MODEL_PLACES) - 1; /* shape 0: all places */
    world.inside[1] = 0x3F;                     /* shape 1: places 1 to 6 */
    memset(&start, 0, sizeof start);
    n_history = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    check_clear(&check);
    return 0;
}

/* ---- histories ---------------------------------------------------------- */

static struct record *add(unsigned client, uint32_t in_at, uint32_t out_at,
                          enum op_kind kind)
{
    struct record *record = &history[n_history++];
    memset(record, 0, sizeof *record);
    record->client = (uint8_t)client;
    record->in_at = in_at;
    record->out_at = out_at;
    record->op.kind = kind;
    return record;
}

static struct op geoadd(unsigned n, const uint8_t *members, uint8_t place)
{
    struct op op = {.kind = OP_GEOADD, .n = (uint8_t)n};
    for (unsigned i = 0; i < n; i++) {
        op.member[i] = members[i];
        op.place[i] = place;
    }
    return op;
}

/* GEOADD a, members 0 to n - 1 to one place */
static struct record *moves(unsigned client, uint32_t in_at, uint32_t out_at, unsigned n,
                            uint8_t place, int64_t added)
{
    static const uint8_t members[] = {0, 1, 2, 3, 4, 5};
    struct record *record = add(client, in_at, out_at, OP_GEOADD);
    record->op = geoadd(n, members, place);
    record->answer = (struct answer){.kind = ANSWER_INTEGER, .integer = added};
    return record;
}

/* GEOPOS a m0 m1, and where they are */
static struct record *looks(unsigned client, uint32_t in_at, uint32_t out_at,
                            uint8_t place_0, uint8_t place_1)
{
    struct record *record = add(client, in_at, out_at, OP_GEOPOS);
    record->op.n = 2;
    record->op.member[1] = 1;
    record->answer = (struct answer){
        .kind = ANSWER_ITEMS, .n = 2, .member = {0, 1}, .place = {place_0, place_1}};
    return record;
}

static struct record *answers(struct record *record, enum answer_kind kind,
                              int64_t integer)
{
    record->answer.kind = kind;
    record->answer.integer = integer;
    return record;
}

static enum check_result result(void)
{
    return check_history(&check, &world, &start, history, n_history);
}

static void start_with(uint8_t place_0, uint8_t place_1)
{
    start.place[0][0] = place_0;
    start.place[0][1] = place_1;
}

/* ---- one key ------------------------------------------------------------ */

static void test_nothing_happened(void **state)
{
    (void)state;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_read_beside_a_write_may_see_either(void **state)
{
    (void)state;
    start_with(1, 1);
    for (uint8_t seen = 1; seen <= 3; seen++) {
        n_history = 0;
        moves(0, 1, 10, 2, 2, 0);
        looks(1, 2, 9, seen, seen);
        assert_int_equal(result(), seen <= 2 ? CHECK_FINE : CHECK_BROKEN);
    }
}

static void test_stale_read(void **state)
{
    (void)state;
    start_with(1, 1);
    moves(0, 1, 2, 2, 2, 0);
    looks(1, 3, 4, 1, 1); /* the write was over */
    assert_int_equal(result(), CHECK_BROKEN);
}

static void test_two_readers_that_disagree_about_the_order(void **state)
{
    (void)state;
    start_with(1, 1);
    moves(0, 1, 20, 2, 2, 0);
    looks(1, 2, 3, 2, 2);
    looks(2, 4, 5, 1, 1); /* after one who saw the new place */
    assert_int_equal(result(), CHECK_BROKEN);
    history[2].in_at = 2; /* at the same time as that one */
    assert_int_equal(result(), CHECK_FINE);
}

static void test_own_order_of_a_client(void **state)
{
    (void)state;
    start_with(1, 1);
    /* sent together, so that their times tell nothing */
    moves(0, 1, 10, 2, 2, 0);
    looks(0, 1, 11, 1, 1);
    assert_int_equal(result(), CHECK_BROKEN);
}

static void test_lost_update(void **state)
{
    (void)state;
    start_with(1, 1);
    moves(0, 1, 2, 1, 2, 0);
    moves(1, 3, 4, 1, 3, 0);
    looks(2, 5, 6, 2, 1); /* the second move came to nothing */
    assert_int_equal(result(), CHECK_BROKEN);
    history[2].answer.place[0] = 3;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_member_added_twice(void **state)
{
    (void)state;
    moves(0, 1, 10, 1, 2, 1);
    moves(1, 1, 10, 1, 3, 1); /* one of the two must have moved it */
    assert_int_equal(result(), CHECK_BROKEN);
    history[1].answer.integer = 0;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_member_removed_twice(void **state)
{
    (void)state;
    start_with(1, 1);
    for (unsigned client = 0; client < 2; client++) {
        struct record *record = answers(add(client, 1, 10, OP_ZREM), ANSWER_INTEGER, 1);
        record->op.n = 1;
    }
    assert_int_equal(result(), CHECK_BROKEN);
    history[1].answer.integer = 0;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_half_of_a_geoadd(void **state)
{
    (void)state;
    start_with(1, 1);
    moves(0, 1, 10, 2, 2, 0);
    looks(1, 2, 9, 2, 1);
    assert_int_equal(result(), CHECK_BROKEN);
}

/* ---- searches ----------------------------------------------------------- */

static struct record *searches(unsigned client, uint32_t in_at, uint32_t out_at,
                               enum op_order order, uint8_t place_0, uint8_t place_1)
{
    struct record *record = add(client, in_at, out_at, OP_GEOSEARCH);
    record->op.order = order;
    record->op.with_coord = true;
    record->answer = (struct answer){
        .kind = ANSWER_ITEMS, .n = 2, .member = {0, 1}, .place = {place_0, place_1}};
    return record;
}

static void test_search_that_sees_half_of_a_geoadd(void **state)
{
    (void)state;
    start_with(1, 1);
    moves(0, 1, 10, 2, 2, 0);
    searches(1, 2, 9, ORDER_NONE, 2, 1);
    assert_int_equal(result(), CHECK_BROKEN);
    history[1].answer.place[1] = 2;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_search_that_misses_a_member_on_the_move(void **state)
{
    (void)state;
    start_with(1, 2);
    moves(0, 1, 10, 1, 3, 0);
    struct record *search = searches(1, 2, 9, ORDER_NONE, 0, 0);
    search->answer.n = 1;
    search->answer.member[0] = 1;
    search->answer.place[0] = 2;
    assert_int_equal(result(), CHECK_BROKEN);
}

static void test_search_that_finds_a_member_twice(void **state)
{
    (void)state;
    start_with(1, MODEL_ABSENT);
    moves(0, 1, 10, 1, 2, 0);
    searches(1, 2, 9, ORDER_NONE, 1, 2)->answer.member[1] = 0;
    assert_int_equal(result(), CHECK_BROKEN);
}

static void test_order_and_count_of_a_search(void **state)
{
    (void)state;
    start_with(1, 2);
    struct record *search = searches(0, 1, 2, ORDER_ASC, 1, 2);
    assert_int_equal(result(), CHECK_FINE);
    search->op.order = ORDER_DESC;
    assert_int_equal(result(), CHECK_BROKEN);
    search->op.order = ORDER_NONE;
    search->op.count = 1;
    search->answer.n = 1;
    assert_int_equal(result(), CHECK_FINE);
    search->answer.member[0] = 1;
    search->answer.place[0] = 2; /* not the nearest */
    assert_int_equal(result(), CHECK_BROKEN);
    search->op.is_any = true;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_member_outside_of_the_shape(void **state)
{
    (void)state;
    start_with(1, 7);
    struct record *search = searches(0, 1, 2, ORDER_NONE, 1, 7);
    search->op.shape = 1;
    assert_int_equal(result(), CHECK_BROKEN);
    search->answer.n = 1;
    assert_int_equal(result(), CHECK_FINE);
}

/* ---- several keys ------------------------------------------------------- */

static void test_store_that_is_seen_half(void **state)
{
    (void)state;
    start_with(1, 2);
    struct record *store = answers(add(0, 1, 10, OP_GEOSEARCHSTORE), ANSWER_INTEGER, 2);
    store->op.key = 2;
    struct record *range = add(1, 2, 9, OP_ZRANGE);
    range->op.key = 2;
    range->answer =
        (struct answer){.kind = ANSWER_ITEMS, .n = 1, .member = {0}, .place = {1}};
    assert_int_equal(result(), CHECK_BROKEN);
    range->answer.n = 0;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_rename_with_neither_key(void **state)
{
    (void)state;
    start_with(1, 2);
    struct record *rename = answers(add(0, 1, 10, OP_RENAME), ANSWER_OK, 0);
    rename->op.key = 1;
    struct record *first = answers(add(1, 2, 3, OP_ZCARD), ANSWER_INTEGER, 0);
    struct record *second = answers(add(1, 4, 5, OP_ZCARD), ANSWER_INTEGER, 2);
    first->op.key = 0;
    second->op.key = 1;
    assert_int_equal(result(), CHECK_FINE);
    second->answer.integer = 0; /* gone from the one and not yet at the other */
    assert_int_equal(result(), CHECK_BROKEN);
}

static void test_keys_apart_are_checked_apart(void **state)
{
    (void)state;
    start_with(1, 1);
    for (unsigned client = 0; client < 8; client++)
        for (unsigned i = 0; i < 8; i++)
            looks(client, 1, 100 + i, 1, 1)->op.key = (uint8_t)(client % 2 == 0 ? 0 : 1);
    for (size_t i = 0; i < n_history; i++)
        if (history[i].op.key == 1)
            memset(history[i].answer.place, MODEL_ABSENT, MODEL_MEMBERS);
    assert_int_equal(result(), CHECK_FINE);
    history[n_history - 1].answer.place[0] = 5;
    assert_int_equal(result(), CHECK_BROKEN);
    assert_int_equal(check.n_best, 31); /* all of the key but the wrong one */
}

/* ---- transactions ------------------------------------------------------- */

/* EXEC of two moves, of m0 and of m1 */
static struct record *executes(unsigned client, uint32_t in_at, uint32_t out_at,
                               uint8_t place)
{
    struct record *record = add(client, in_at, out_at, OP_EXEC);
    record->op.n = 2;
    record->answer.kind = ANSWER_ITEMS;
    for (uint8_t m = 0; m < 2; m++) {
        record->parts[m] = geoadd(1, &m, place);
        record->answers[m].kind = ANSWER_INTEGER;
    }
    return record;
}

static void test_torn_exec(void **state)
{
    (void)state;
    start_with(1, 1);
    executes(0, 1, 10, 2);
    looks(1, 2, 9, 2, 1);
    assert_int_equal(result(), CHECK_BROKEN);
    history[1].answer.place[1] = 2;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_write_between_the_parts_of_exec(void **state)
{
    (void)state;
    start_with(1, 1);
    struct record *exec = executes(0, 1, 10, 2);
    exec->parts[0] = exec->parts[1] = (struct op){.kind = OP_ZCARD};
    exec->answers[0].integer = 2;
    exec->answers[1].integer = 3;
    struct record *other = moves(1, 2, 9, 1, 4, 1);
    other->op.member[0] = 2;
    assert_int_equal(result(), CHECK_BROKEN);
    exec->answers[0].integer = 3;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_watch(void **state)
{
    (void)state;
    start_with(1, 1);
    answers(add(0, 1, 2, OP_WATCH), ANSWER_OK, 0);
    struct record *between = moves(1, 3, 4, 1, 3, 0);
    struct record *exec = executes(0, 5, 6, 2);
    assert_int_equal(result(), CHECK_BROKEN); /* it must fail */
    exec->answer.kind = ANSWER_NULL;
    assert_int_equal(result(), CHECK_FINE);
    between->op.place[0] = 1; /* where it was: nothing has changed */
    assert_int_equal(result(), CHECK_BROKEN);
    exec->answer.kind = ANSWER_ITEMS;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_watch_and_a_write_at_the_same_time(void **state)
{
    (void)state;
    start_with(1, 1);
    answers(add(0, 1, 3, OP_WATCH), ANSWER_OK, 0);
    moves(1, 2, 4, 1, 3, 0);
    struct record *exec = executes(0, 5, 6, 2);
    assert_int_equal(result(), CHECK_FINE); /* the write came first */
    exec->answer.kind = ANSWER_NULL;
    assert_int_equal(result(), CHECK_FINE);
}

static void test_unwatch_and_a_transaction_that_could_not_be_queued(void **state)
{
    (void)state;
    start_with(1, 1);
    answers(add(0, 1, 2, OP_WATCH), ANSWER_OK, 0);
    moves(1, 3, 4, 1, 3, 0);
    answers(add(0, 5, 6, OP_UNWATCH), ANSWER_OK, 0);
    struct record *exec = executes(0, 7, 8, 2);
    assert_int_equal(result(), CHECK_FINE);
    exec->op.is_broken = true;
    assert_int_equal(result(), CHECK_BROKEN);
    exec->answer.kind = ANSWER_ERROR;
    assert_int_equal(result(), CHECK_FINE);
    looks(1, 9, 10, 3, 1); /* and it did nothing */
    assert_int_equal(result(), CHECK_FINE);
}

/* ---- pops --------------------------------------------------------------- */

static struct record *pops(unsigned client, uint32_t in_at, uint32_t out_at,
                           uint8_t member, uint8_t place)
{
    struct record *record = add(client, in_at, out_at, OP_BZPOPMIN);
    record->op.other = 1;
    record->answer = (struct answer){
        .kind = ANSWER_ITEMS, .n = 1, .member = {member}, .place = {place}};
    return record;
}

static void test_two_who_wait_for_one_member(void **state)
{
    (void)state;
    pops(0, 1, 20, 0, 2);
    struct record *second = pops(1, 2, 21, 0, 2);
    moves(2, 3, 4, 1, 2, 1);
    assert_int_equal(result(), CHECK_BROKEN);
    answers(second, ANSWER_NULL, 0);
    assert_int_equal(result(), CHECK_FINE);
}

static void test_wait_that_ended_with_a_member_there(void **state)
{
    (void)state;
    start_with(1, 2);
    answers(pops(0, 1, 2, 0, 1), ANSWER_NULL, 0);
    assert_int_equal(result(), CHECK_BROKEN);
    answers(&history[0], ANSWER_ITEMS, 0);
    assert_int_equal(result(), CHECK_FINE);
    history[0].answer.member[0] = 1; /* not the lowest */
    history[0].answer.place[0] = 2;
    assert_int_equal(result(), CHECK_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_nothing_happened),
        TEST(test_read_beside_a_write_may_see_either),
        TEST(test_stale_read),
        TEST(test_two_readers_that_disagree_about_the_order),
        TEST(test_own_order_of_a_client),
        TEST(test_lost_update),
        TEST(test_member_added_twice),
        TEST(test_member_removed_twice),
        TEST(test_half_of_a_geoadd),
        TEST(test_search_that_sees_half_of_a_geoadd),
        TEST(test_search_that_misses_a_member_on_the_move),
        TEST(test_search_that_finds_a_member_twice),
        TEST(test_order_and_count_of_a_search),
        TEST(test_member_outside_of_the_shape),
        TEST(test_store_that_is_seen_half),
        TEST(test_rename_with_neither_key),
        TEST(test_keys_apart_are_checked_apart),
        TEST(test_torn_exec),
        TEST(test_write_between_the_parts_of_exec),
        TEST(test_watch),
        TEST(test_watch_and_a_write_at_the_same_time),
        TEST(test_unwatch_and_a_transaction_that_could_not_be_queued),
        TEST(test_two_who_wait_for_one_member),
        TEST(test_wait_that_ended_with_a_member_there),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
