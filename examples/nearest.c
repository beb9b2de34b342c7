/*
 * nearest.c: the engine as a library: add places, ask for the nearest ones.
 *
 *     cc nearest.c -lyonder -lm && ./a.out
 */
#include <stdio.h>
#include <string.h>

#include <yonder.h>

static const struct place {
    const char *name;
    struct yn_point at;
} places[] = {
    {"Paris", {2.3488, 48.85341}},    {"London", {-0.12574, 51.50853}},
    {"Berlin", {13.41053, 52.52437}}, {"Madrid", {-3.70256, 40.4165}},
    {"Rome", {12.51133, 41.89193}},   {"Vienna", {16.37208, 48.20849}},
};

/* Adds all places. Returns false when out of memory. */
static bool add_places(struct yn_zset *set)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct yn_bytes name = {places[i].name, strlen(places[i].name)};
        double score = yn_score_encode(places[i].at);
        if (yn_zset_put(set, name, score, NULL) != YN_OK)
            return false;
    }
    return true;
}

int main(void)
{
    struct yn_zset *set = yn_zset_new(NULL);
    if (set == NULL || !add_places(set)) {
        yn_zset_free(set);
        return 1;
    }

    /* the three places nearest to Brussels, at most 1,000 km away */
    struct yn_query query = {
        .shape = {.kind = YN_CIRCLE, .center = {4.34878, 50.85045}, .radius_m = 1000e3},
        .order = YN_ORDER_ASC,
        .limit = 3,
    };
    struct yn_search *search;
    enum yn_status status = yn_search_new(yn_zset_view(set), &query, &search);
    if (status != YN_OK) {
        fprintf(stderr, "search: %s\n", yn_status_text(status));
        yn_zset_free(set);
        return 1;
    }
    struct yn_hit hit;
    while (yn_search_next(search, &hit))
        printf("%.*s %.1f km\n", (int)hit.member.len, hit.member.data,
               hit.distance_m / 1000);

    yn_search_free(search);
    yn_zset_free(set);
    return 0;
}
