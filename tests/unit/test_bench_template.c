/*
 * test_bench_template.c: placeholders, and rings of requests.
 * link: tools
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench_template.h"

#define WORDS_MAX 256

/* The words of the requests of a ring, as texts. */
struct requests {
    struct bench_ring ring;
    char *text;
    char *words[4096][WORDS_MAX];
    size_t n_words[4096];
    size_t n;
};

/* Requests and replies look alike: an array of bulks. */
static void split(struct requests *requests)
{
    struct bench_ring *ring = &requests->ring;
    requests->text = malloc(ring->bytes.len + 1);
    assert_non_null(requests->text);
    memcpy(requests->text, ring->bytes.data, ring->bytes.len);
    requests->text[ring->bytes.len] = '\0';
    char *p = requests->text, *end = p + ring->bytes.len;
    while (p < end) {
        long n = strtol(p + 1, &p, 10);
        p += 2;
        assert_true(n <= WORDS_MAX && requests->n < 4096);
        for (long i = 0; i < n; i++) {
            assert_int_equal(*p, '$');
            long len = strtol(p + 1, &p, 10);
            requests->words[requests->n][i] = p + 2;
            p += 2 + len;
            assert_memory_equal(p, "\r\n", 2);
            *p = '\0';
            p += 2;
        }
        requests->n_words[requests->n++] = (size_t)n;
    }
}

static struct requests *make(size_t n, size_t pipeline, unsigned part, int n_words, ...)
{
    char *words[WORDS_MAX];
    va_list args;
    va_start(args, n_words);
    for (int i = 0; i < n_words; i++)
        words[i] = va_arg(args, char *);
    va_end(args);
    struct bench_template template;
    if (!bench_template_open(&template, n_words, words, NULL))
        fail_msg("%s", template.error);
    struct requests *requests = calloc(1, sizeof *requests);
    assert_non_null(requests);
    assert_true(bench_ring_fill(&requests->ring, &template, 7, part, n, pipeline));
    bench_template_close(&template);
    split(requests);
    return requests;
}

static void drop(struct requests *requests)
{
    bench_ring_clear(&requests->ring);
    free(requests->text);
    free(requests);
}

static void test_fixed_text(void **state)
{
    (void)state;
    struct requests *r = make(3, 2, 0, 3, "GEOPOS", "", "a{b");
    assert_int_equal(r->n, 4); /* whole pipelines */
    assert_int_equal(r->ring.n_batches, 2);
    assert_int_equal(r->ring.starts[2], r->ring.bytes.len);
    assert_int_equal(r->ring.starts[1] * 2, r->ring.bytes.len);
    for (size_t i = 0; i < r->n; i++) {
        assert_string_equal(r->words[i][0], "GEOPOS");
        assert_string_equal(r->words[i][1], "");
        assert_string_equal(r->words[i][2], "a{b");
    }
    drop(r);
}

static void test_members_and_index(void **state)
{
    (void)state;
    struct requests *r = make(1000, 1, 0, 3, "X", "m{member:3-5}:{index}", "{bytes:2-4}");
    bool seen[6] = {false}, seen_len[5] = {false};
    for (size_t i = 0; i < r->n; i++) {
        int member, index;
        assert_int_equal(sscanf(r->words[i][1], "m%d:%d", &member, &index), 2);
        assert_in_range(member, 3, 5);
        assert_int_equal(index, i + 1);
        seen[member] = true;
        assert_in_range(strlen(r->words[i][2]), 2, 4);
        seen_len[strlen(r->words[i][2])] = true;
    }
    assert_true(seen[3] && seen[4] && seen[5] && seen_len[2] && seen_len[3] &&
                seen_len[4]);
    drop(r);
}

static void test_positions(void **state)
{
    (void)state;
    struct requests *r = make(1000, 1, 0, 6, "X", "{near:7,55,40km}", "{near:7,55,20%}",
                              "{lon:-1,1}", "{lat:80,85}", "{point:sicily:1}");
    double far_km = 0, far_share = 0;
    for (size_t i = 0; i < r->n; i++) {
        char **w = r->words[i];
        assert_int_equal(r->n_words[i], 9);
        double north = (atof(w[2]) - 55) * 111.226;
        double east = (atof(w[1]) - 7) * 111.226 * cos(55 * 3.14159265358979 / 180);
        far_km = fmax(far_km, hypot(north, east));
        far_share = fmax(far_share, fabs(atof(w[3]) / 7 - 1));
        far_share = fmax(far_share, fabs(atof(w[4]) / 55 - 1));
        assert_true(fabs(atof(w[5])) <= 1);
        assert_true(atof(w[6]) >= 80 && atof(w[6]) <= 85);
        assert_string_equal(w[7], "13.361389");
        assert_string_equal(w[8], "38.115556");
    }
    assert_true(far_km > 35 && far_km <= 40.001);
    assert_true(far_share > 0.18 && far_share <= 0.2001);
    drop(r);
}

/* Around the same centres as {near:...}, no corner further out than said. */
static void test_polygons(void **state)
{
    (void)state;
    static const char *const words[] = {"{coast:7,55,40km,100km,100}",
                                        "{star:7,55,40km,100km,100}"};
    for (size_t kind = 0; kind < 2; kind++) {
        struct requests *r = make(50, 1, 0, 2, "X", words[kind]);
        struct requests *centers = make(50, 1, 0, 2, "X", "{near:7,55,40km}");
        for (size_t i = 0; i < r->n; i++) {
            double lon = atof(centers->words[i][1]), lat = atof(centers->words[i][2]);
            double nearest = 1000, farthest = 0;
            assert_int_equal(r->n_words[i], 202);
            assert_string_equal(r->words[i][1], "100");
            for (size_t k = 2; k < 202; k += 2) {
                double corner_lat = atof(r->words[i][k + 1]);
                double north = (corner_lat - lat) * 111.226;
                double east = (atof(r->words[i][k]) - lon) * 111.226 *
                              cos(corner_lat * 3.14159265358979 / 180);
                nearest = fmin(nearest, hypot(north, east));
                farthest = fmax(farthest, hypot(north, east));
            }
            assert_true(nearest > 39.9 && nearest < 75);
            assert_true(farthest > 75 && farthest < 100.1);
        }
        drop(r);
        drop(centers);
    }
}

static void test_points_of_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/yonder-bench-test-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fputs("id,lat,lon\n1,2.5,1.5\n2,4.25,3.75\n", file);
    fclose(file);
    char word[64];
    snprintf(word, sizeof word, "{from:%s}", path);
    struct requests *r = make(100, 1, 0, 2, "X", word);
    size_t n_first = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool is_first = strcmp(r->words[i][1], "1.500000") == 0;
        n_first += is_first;
        assert_string_equal(r->words[i][2], is_first ? "2.500000" : "4.250000");
    }
    assert_in_range(n_first, 20, 80);
    drop(r);
    remove(path);
}

/* Going round and round, no request moves an object to where it is. */
static void test_moves_are_moves(void **state)
{
    (void)state;
    static char at[100][2][32];
    for (unsigned part = 0; part < 2; part++) {
        memset(at, 0, sizeof at);
        struct requests *r = make(60, 10, part, 2, "GEOADD", "{move:100}");
        assert_int_equal(r->n, 60);
        for (size_t i = 0; i < 3 * r->n; i++) {
            char **w = r->words[i % r->n];
            int object = atoi(w[3]) - 1;
            assert_in_range(object, 0, 99);
            assert_true(strcmp(at[object][0], w[1]) != 0 ||
                        strcmp(at[object][1], w[2]) != 0);
            strcpy(at[object][0], w[1]);
            strcpy(at[object][1], w[2]);
        }
        drop(r);
    }
    struct requests *r = make(4000, 1, 0, 2, "GEOADD", "{move:100}");
    assert_int_equal(r->n, 200); /* a longer ring would meet an object twice */
    drop(r);
}

static void test_parts_differ(void **state)
{
    (void)state;
    struct requests *a = make(10, 1, 0, 2, "X", "{bytes:30}");
    struct requests *b = make(10, 1, 1, 2, "X", "{bytes:30}");
    struct requests *c = make(10, 1, 1, 2, "X", "{bytes:30}");
    assert_string_not_equal(a->words[0][1], b->words[0][1]);
    assert_string_equal(c->words[9][1], b->words[9][1]);
    drop(a);
    drop(b);
    drop(c);
}

static void test_wrong_placeholders(void **state)
{
    (void)state;
    static const char *const words[] = {"{member}",
                                        "{member:5-3}",
                                        "{member:a-3}",
                                        "{nothing}",
                                        "{near:1,2}",
                                        "{near:1,2,3}",
                                        "{near:1,2,3mi}",
                                        "x{near:1,2,3km}",
                                        "{near:1,99,3km}",
                                        "{bytes:0}",
                                        "{lon:2,1}",
                                        "{lat:0,99}",
                                        "{from:/nowhere}",
                                        "{point:osm}",
                                        "{point:moon:5}",
                                        "{move:x}",
                                        "{lon:1}",
                                        "{near:1,2,101%}",
                                        "{coast:1,2,3km,4km}",
                                        "{coast:1,2,3km,4km,2}",
                                        "{star:1,88,3km,4km,5}",
                                        "{star:1,2,3km,0km,5}",
                                        "{star:1,2,3km,4km,5x}"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char text[64];
        char *word = text;
        struct bench_template template;
        snprintf(text, sizeof text, "%s", words[i]);
        if (bench_template_open(&template, 1, &word, NULL))
            fail_msg("%s is accepted", words[i]);
        assert_true(template.error[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_text),
        cmocka_unit_test(test_members_and_index),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_polygons),
        cmocka_unit_test(test_points_of_a_file),
        cmocka_unit_test(test_moves_are_moves),
        cmocka_unit_test(test_parts_differ),
        cmocka_unit_test(test_wrong_placeholders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
