#include "tools/bench_fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_args.h"
#include "tools/bench_dump.h"

#define FLEET_MIN 1000u
#define FLEET_MAX 4000000u
#define WORDS_MAX 64
#define BATCH 100

const struct bench_row *bench_fill_row(const struct bench_suite *suite, const char *name)
{
    for (size_t i = 0; i < suite->n_rows; i++) {
        if (strcmp(suite->rows[i].name, name) == 0)
            return &suite->rows[i];
    }
    return NULL;
}

const struct bench_key *bench_fill_find_key(const struct bench_suite *suite,
                                            const char *name)
{
    for (size_t i = 0; i < suite->n_keys; i++) {
        if (strcmp(suite->keys[i].name, name) == 0)
            return &suite->keys[i];
    }
    return NULL;
}

char *bench_fill_sizes(const char *text, uint64_t n_points)
{
    uint64_t fleet = n_points / 5;
    fleet = fleet < FLEET_MIN ? FLEET_MIN : fleet > FLEET_MAX ? FLEET_MAX : fleet;
    char *out = malloc(strlen(text) * 12 + 1), *to = out;
    if (out == NULL)
        return NULL;
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '@' && (p[1] == 'N' || p[1] == 'F')) {
            to += sprintf(to, "%" PRIu64, p[1] == 'N' ? n_points : fleet);
            p++;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return out;
}

bool bench_fill_open(struct bench_template *template, const char *command,
                     uint64_t n_points, const char *places, char **out_text)
{
    char *words[WORDS_MAX], *rest = NULL;
    int n = 0;
    memset(template, 0, sizeof *template);
    *out_text = bench_fill_sizes(command, n_points);
    if (*out_text == NULL) {
        snprintf(template->error, sizeof template->error, "out of memory");
        return false;
    }
    for (char *word = strtok_r(*out_text, " ", &rest); word != NULL && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return bench_template_open(template, n, words, places);
}

static bool feed_template(const struct bench_key *key, uint64_t n_points, uint64_t n,
                          const char *places, struct bench_feed *feed)
{
    struct bench_template template;
    struct bench_ring ring;
    char *text;
    if (!bench_fill_open(&template, key->template, n_points, places, &text)) {
        snprintf(feed->error, sizeof feed->error, "%s", template.error);
        free(text);
        return false;
    }
    bool is_fine =
        bench_ring_fill(&ring, &template, 1, 0, n, n < BATCH ? (size_t)n : BATCH);
    if (!is_fine)
        snprintf(feed->error, sizeof feed->error, "out of memory");
    for (size_t i = 0; is_fine && i < ring.n_batches; i++) {
        yn_buf_append(&feed->out, ring.bytes.data + ring.starts[i],
                      ring.starts[i + 1] - ring.starts[i]);
        feed->n_sent += ring.pipeline;
        is_fine = feed->out.len < 256 * 1024 || bench_feed_push(feed, 128 * 1024);
    }
    is_fine = is_fine && bench_feed_finish(feed);
    bench_ring_clear(&ring);
    bench_template_close(&template);
    free(text);
    return is_fine;
}

bool bench_fill_key(const struct bench_key *key, uint64_t n_points, const char *places,
                    struct bench_feed *feed, uint64_t *out_n)
{
    char *size = bench_fill_sizes(key->size, n_points);
    bool is_fine = size != NULL && bench_args_parse_count(size, out_n);
    free(size);
    if (!is_fine) {
        snprintf(feed->error, sizeof feed->error, "no size of key %s", key->name);
        return false;
    }
    if (key->set == NULL)
        return feed_template(key, n_points, *out_n, places, feed);
    struct bench_data data;
    if (!bench_data_open(&data, key->set, *out_n, 1, places)) {
        snprintf(feed->error, sizeof feed->error, "%s", data.error);
        return false;
    }
    is_fine = bench_dump_load(feed, &data, key->name, NULL, NULL);
    bench_data_close(&data);
    return is_fine;
}
