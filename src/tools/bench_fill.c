#include "tools/bench_fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench_args.h"

#define FLEET_MIN 1000u
#define FLEET_MAX 4000000u
#define WORDS_MAX 64
#define BATCH 100
#define PUSH_LEN ((size_t)256 * 1024)

char *bench_fill_sizes(const struct bench_fill *fill, const char *text)
{
    uint64_t fleet = fill->n_points / 5;
    fleet = fleet < FLEET_MIN ? FLEET_MIN : fleet > FLEET_MAX ? FLEET_MAX : fleet;
    char *out = malloc(strlen(text) * 12 + 1), *to = out;
    if (out == NULL)
        return NULL;
    for (const char *p = text; *p != '\0'; p++) {
        if (p[0] == '@' && (p[1] == 'N' || p[1] == 'F')) {
            to += sprintf(to, "%" PRIu64, p[1] == 'N' ? fill->n_points : fleet);
            p++;
        } else {
            *to++ = *p;
        }
    }
    *to = '\0';
    return out;
}

bool bench_fill_open(const struct bench_fill *fill, struct bench_template *template,
                     const char *command, const char *more, char **out_text)
{
    char *words[WORDS_MAX], *rest = NULL, *joined = NULL;
    int n = 0;
    memset(template, 0, sizeof *template);
    *out_text = NULL;
    if (asprintf(&joined, "%s %s", command, more != NULL ? more : "") < 0)
        joined = NULL;
    if (joined != NULL)
        *out_text = bench_fill_sizes(fill, joined);
    free(joined);
    if (*out_text == NULL) {
        snprintf(template->error, sizeof template->error, "out of memory");
        return false;
    }
    for (char *word = strtok_r(*out_text, " ", &rest); word != NULL && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return bench_template_open(template, n, words, fill->places);
}

uint64_t bench_fill_count(const struct bench_fill *fill, const struct bench_key *key)
{
    uint64_t n = 0;
    char *size = bench_fill_sizes(fill, key->size);
    if (size == NULL || !bench_args_parse_count(size, &n))
        n = 0;
    free(size);
    return n;
}

static bool feed_template(const struct bench_fill *fill, const struct bench_key *key,
                          uint64_t n, struct bench_feed *feed)
{
    struct bench_template template;
    struct bench_ring ring;
    char *text;
    if (!bench_fill_open(fill, &template, key->template, NULL, &text)) {
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
        is_fine = feed->out.len < PUSH_LEN || bench_feed_push(feed, PUSH_LEN / 2);
    }
    is_fine = is_fine && bench_feed_finish(feed);
    bench_ring_clear(&ring);
    bench_template_close(&template);
    free(text);
    return is_fine;
}

bool bench_fill_key(const struct bench_fill *fill, const struct bench_key *key,
                    struct bench_feed *feed, bench_dump_fn show, void *show_ctx)
{
    uint64_t n = bench_fill_count(fill, key);
    struct bench_data data;
    if (n == 0) {
        snprintf(feed->error, sizeof feed->error, "no size of key %s", key->name);
        return false;
    }
    if (key->set == NULL)
        return feed_template(fill, key, n, feed);
    if (!bench_data_open(&data, key->set, n, 1, fill->places)) {
        snprintf(feed->error, sizeof feed->error, "%s", data.error);
        return false;
    }
    bool is_fine = bench_dump_load(feed, &data, key->name, show, show_ctx);
    bench_data_close(&data);
    return is_fine;
}
