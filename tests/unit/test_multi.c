/*
 * The queue of a transaction, and the copies of its requests.
 * link: server --wrap=malloc --wrap=realloc --wrap=calloc
 */
#include "server/multi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"

static const struct cmd_spec get = {.name = "get", .flags = CMD_READONLY};
static const struct cmd_spec set = {.name = "set", .flags = CMD_WRITE | CMD_DENYOOM};

static void test_copies_stand_alone(void **state)
{
    (void)state;
    char text[] = "set\0key";
    const struct yn_bytes argv[] = {{text, 3}, {text + 3, 4}, {NULL, 0}};
    struct request_copy *copy = request_copy_new(&set, 3, argv);
    memset(text, 'x', sizeof text);
    assert_int_equal(copy->argc, 3);
    assert_int_equal(copy->argv[0].len, 3);
    assert_memory_equal(copy->argv[0].data, "set", 3);
    assert_int_equal(copy->argv[1].len, 4);
    assert_memory_equal(copy->argv[1].data, "\0key", 4);
    assert_int_equal(copy->argv[2].len, 0);
    assert_true(copy->n_bytes >= 7 + sizeof *copy);
    request_copy_free(copy);
}

static void test_queue(void **state)
{
    (void)state;
    const struct yn_bytes argv[] = {{"get", 3}, {"k", 1}};
    struct multi multi = {.is_open = true};
    assert_true(multi_queue(&multi, &get, 2, argv));
    assert_int_equal(multi.flags, CMD_READONLY);
    size_t n_bytes = multi.n_bytes;
    assert_true(multi_queue(&multi, &set, 1, argv));
    assert_true(multi_queue(&multi, &get, 2, argv));
    assert_int_equal(multi.flags, CMD_READONLY | CMD_WRITE | CMD_DENYOOM);
    assert_int_equal(multi.n, 3);
    assert_true(multi.n_bytes > 2 * n_bytes);
    assert_ptr_equal(multi.first->spec, &get);
    assert_ptr_equal(multi.first->next->spec, &set);
    assert_ptr_equal(multi.first->next->next, multi.last);
    multi_note_failure(&multi);
    assert_true(multi.has_failed);
    multi_drop(&multi);
    assert_false(multi.is_open || multi.has_failed);
    assert_int_equal(multi.n_bytes, 0);
    multi_note_failure(&multi); /* there is none to fail */
    assert_false(multi.has_failed);
}

static void test_without_memory(void **state)
{
    (void)state;
    const struct yn_bytes argv[] = {{"get", 3}, {"k", 1}};
    struct multi multi = {.is_open = true};
    assert_true(multi_queue(&multi, &get, 2, argv));
    size_t n_bytes = multi.n_bytes;
    allocs_reset(1, true);
    assert_false(multi_queue(&multi, &set, 2, argv));
    allocs_reset(0, false);
    assert_int_equal(multi.n, 1);
    assert_int_equal(multi.n_bytes, n_bytes);
    assert_int_equal(multi.flags, CMD_READONLY);
    assert_true(multi_queue(&multi, &set, 2, argv));
    multi_drop(&multi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_stand_alone),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
