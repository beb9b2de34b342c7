/* test_refs.c: refs are sorted as qsort sorts them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/refs.h"

#define N_MAX 5000

static char wires[N_MAX][32];
static struct yn_ref refs[N_MAX], wanted[N_MAX];

static int compare(const void *a, const void *b)
{
    const struct yn_ref *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return yn_bytes_compare(yn_ref_member(x->entry), yn_ref_member(y->entry));
}

static uint64_t next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 20;
}

static double score_of(int kind, uint64_t draw)
{
    static const double odd[] = {
        (double)INFINITY, -(double)INFINITY, 0, -0.0, 5e-324, -1.5, 1e300};
    switch (kind) {
    case 0:
        return (double)draw;
    case 1:
        return (double)(draw % 3);
    case 2:
        return 7;
    case 3:
        return odd[draw % (sizeof odd / sizeof odd[0])];
    default:
        return (double)draw / -7.0;
    }
}

static void sorts_as_qsort_does(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 50, 300, N_MAX};
    struct yn_mem mem;
    uint64_t random = 1;
    yn_mem_init(&mem, NULL);
    for (size_t i = 0; i < N_MAX; i++) {
        char text[16];
        size_t len = (size_t)snprintf(text, sizeof text, "%zu", i * 7919 % N_MAX);
        yn_wire_format((struct yn_bytes){text, len}, wires[i]);
    }
    for (int kind = 0; kind < 5; kind++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int order = 0; order < 3; order++) {
                size_t n = sizes[s];
                for (size_t i = 0; i < n; i++)
                    refs[i] = (struct yn_ref){wires[i], score_of(kind, next(&random))};
                if (order > 0) /* all in order, or two runs */
                    qsort(refs, n / (size_t)order, sizeof *refs, compare);
                if (order == 2)
                    qsort(refs + n / 2, n - n / 2, sizeof *refs, compare);
                memcpy(wanted, refs, sizeof refs);
                qsort(wanted, n, sizeof *wanted, compare);
                assert_int_equal(yn_refs_sort(&mem, refs, n, NULL), YN_OK);
                for (size_t i = 0; i < n; i++) {
                    assert_ptr_equal(refs[i].entry, wanted[i].entry);
                    assert_memory_equal(&refs[i].score, &wanted[i].score, sizeof(double));
                }
            }
    assert_int_equal(mem.used, 0);
}

/* Members that begin alike, that others begin with, or that end in zero bytes; many
 * agree in any eight bytes. All have one score, or zeros of both signs. */
static void sorts_members_that_begin_alike(void **state)
{
    (void)state;
    static char texts[N_MAX][200], wires_here[N_MAX][220];
    struct yn_mem mem;
    uint64_t random = 1;
    yn_mem_init(&mem, NULL);
    for (int round = 0; round < 40; round++) {
        size_t same = (size_t)(round % 4) * 9, alphabet = round % 5 == 0 ? 1 : 2;
        size_t len_max = round % 7 == 0 ? 150 : 20, n = 500 + next(&random) % 4500;
        for (size_t i = 0; i < n; i++) {
            size_t len = same + next(&random) % len_max;
            for (size_t k = 0; k < len; k++)
                texts[i][k] = k < same ? 'p' : (char)(next(&random) % alphabet);
            yn_wire_format((struct yn_bytes){texts[i], len}, wires_here[i]);
            refs[i] = (struct yn_ref){wires_here[i],
                                      round % 3 == 0 && next(&random) % 2 ? -0.0 : 0.0};
        }
        memcpy(wanted, refs, sizeof refs);
        qsort(wanted, n, sizeof *wanted, compare);
        assert_int_equal(yn_refs_sort(&mem, refs, n, NULL), YN_OK);
        for (size_t i = 0; i < n; i++) {
            struct yn_bytes is = yn_ref_member(refs[i].entry);
            assert_int_equal(yn_bytes_compare(is, yn_ref_member(wanted[i].entry)), 0);
            const char *text = texts[(refs[i].entry - wires_here[0]) / 220];
            assert_memory_equal(is.data, text, is.len);
            assert_true(refs[i].score == 0);
        }
    }
    assert_int_equal(mem.used, 0);
}

static void tells_members(void **state)
{
    (void)state;
    static char text[400], wire[420];
    for (size_t len = 0; len < sizeof text; len++) {
        memset(text, 'a', len);
        yn_wire_format((struct yn_bytes){text, len}, wire);
        struct yn_bytes member = yn_ref_member(wire);
        assert_int_equal(member.len, len);
        assert_memory_equal(member.data, text, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_as_qsort_does),
        cmocka_unit_test(sorts_members_that_begin_alike),
        cmocka_unit_test(tells_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
