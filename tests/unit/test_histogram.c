/*
 * test_histogram.c: quantiles against sorted samples.
 * link: core
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/histogram.h"
#include "tools/bench_random.h"

static struct bench_random random_numbers;

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Values of all sizes: the logarithm is uniform. */
static uint64_t draw(double max_bits)
{
    return (uint64_t)exp2(bench_random_unit(&random_numbers) * max_bits);
}

static void check_samples(size_t n, double max_bits)
{
    static const double shares[] = {0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1};
    static struct yn_histogram h;
    uint64_t *samples = malloc(n * sizeof *samples);
    double sum = 0;
    assert_non_null(samples);
    yn_histogram_clear(&h);
    for (size_t i = 0; i < n; i++) {
        samples[i] = draw(max_bits);
        sum += (double)samples[i];
        yn_histogram_add(&h, samples[i], 1);
    }
    qsort(samples, n, sizeof *samples, compare);
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        size_t rank = (size_t)ceil(shares[i] * (double)n);
        double wanted = (double)samples[rank - 1];
        double got = yn_histogram_quantile(&h, shares[i]);
        if (fabs(got - wanted) > 0.005 * wanted)
            fail_msg("p%g of %zu samples is %g, not %g", 100 * shares[i], n, got, wanted);
    }
    assert_int_equal(h.max, samples[n - 1]);
    assert_true(fabs(yn_histogram_mean(&h) - sum / (double)n) <= 1e-9 * sum);
    free(samples);
}

static void test_quantiles(void **state)
{
    (void)state;
    for (size_t n = 1; n < 100000; n = n * 3 / 2 + 1)
        check_samples(n, 39.9);
    check_samples(50000, 8);
    check_samples(50000, 12);
}

/* Every bucket's values are reported within 0.4 % of themselves, none is skipped. */
static void test_buckets(void **state)
{
    (void)state;
    static struct yn_histogram h;
    size_t last = 0;
    for (uint64_t value = 0; value >> YN_HISTOGRAM_BITS == 0; value += 1 + value / 1000) {
        size_t bucket = yn_histogram_bucket(value);
        assert_true(bucket == last || bucket == last + 1);
        assert_true(bucket < YN_HISTOGRAM_BUCKETS);
        last = bucket;
        yn_histogram_clear(&h);
        yn_histogram_add(&h, value, 1);
        h.max = UINT64_MAX; /* asks the bucket, not the maximum */
        h.n = 2;
        double got = yn_histogram_quantile(&h, 0.5);
        assert_true(fabs(got - (double)value) <= 0.004 * (double)value);
    }
    assert_int_equal(last, YN_HISTOGRAM_BUCKETS - 1);
    assert_int_equal(yn_histogram_bucket(UINT64_MAX), YN_HISTOGRAM_BUCKETS - 1);
}

static void test_merge(void **state)
{
    (void)state;
    static struct yn_histogram a, b, both;
    yn_histogram_clear(&a);
    yn_histogram_clear(&b);
    yn_histogram_clear(&both);
    for (int i = 0; i < 1000; i++) {
        uint64_t value = draw(30);
        yn_histogram_add(i % 2 == 0 ? &a : &b, value, 3);
        yn_histogram_add(&both, value, 1);
        yn_histogram_add(&both, value, 2);
    }
    yn_histogram_merge(&a, &b);
    assert_memory_equal(&a, &both, sizeof a);
}

static void test_empty(void **state)
{
    (void)state;
    static struct yn_histogram h;
    yn_histogram_clear(&h);
    assert_true(yn_histogram_quantile(&h, 0.5) == 0);
    assert_true(yn_histogram_mean(&h) == 0);
}

int main(void)
{
    const char *seed = getenv("YN_SEED");
    random_numbers.seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    printf("YN_SEED=%llu\n", (unsigned long long)random_numbers.seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
