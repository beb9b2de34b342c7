/*
 * cmd_geo.c: the GEO commands.
 *
 * A search goes four steps: the arguments become a struct geo_query
 * (geo_query.c), the engine plans and counts, and the results go to the client
 * (cmd_geo_reply.c) or into a key (cmd_geo_store.c). The commands of the
 * GEORADIUS family and the GEOSEARCH family differ in the first step only.
 */
#include "cmd/cmd_geo.h"

#include "cmd/cmd_scores.h"
#include "cmd/zset_add.h"

/* ---- adding ---- */

void cmd_geoadd(struct cmd_call *call)
{
    struct cmd_args args;
    struct zset_add add = {.key = call->argv[1], .event = "zadd"};
    cmd_args_init(&args, call, 2);
    for (;;) {
        if (cmd_args_option(&args, "nx", 0))
            add.only_new = true;
        else if (cmd_args_option(&args, "xx", 0))
            add.only_old = true;
        else if (cmd_args_option(&args, "ch", 0))
            add.counts_changed = true;
        else
            break;
    }

    size_t n = cmd_args_left(&args) / 3;
    if (n * 3 != cmd_args_left(&args) || n == 0 || (add.only_new && add.only_old)) {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
        return;
    }
    add.n_entries = n;
    add.entries = cmd_arena_take(call->arena, n * sizeof *add.entries);
    if (add.entries == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct yn_point point;
        if (!geo_query_parse_point(&args, &point)) {
            cmd_args_reply_error(&args, call->host);
            return;
        }
        add.entries[i].score = yn_score_encode(point);
        cmd_args_word(&args, &add.entries[i].member);
    }
    zset_add_run(call, &add);
}

/* ---- positions ---- */

void cmd_geopos(struct cmd_call *call)
{
    struct host *h = call->host;
    struct yn_zset *set;
    struct cmd_scores scores;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    host_reply_array(h, call->argc - 2);
    cmd_scores_init(&scores, call, set);
    for (size_t i = 2; i < call->argc; i++) {
        double score;
        if (!cmd_scores_next(&scores, &score)) {
            host_reply_null_array(h);
            continue;
        }
        struct yn_point point = yn_score_decode(score);
        host_reply_array(h, 2);
        host_reply_coordinate(h, point.lon);
        host_reply_coordinate(h, point.lat);
    }
}

void cmd_geohash(struct cmd_call *call)
{
    struct yn_zset *set;
    struct cmd_scores scores;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    host_reply_array(call->host, call->argc - 2);
    cmd_scores_init(&scores, call, set);
    for (size_t i = 2; i < call->argc; i++) {
        double score;
        char text[YN_GEOHASH_LEN];
        if (!cmd_scores_next(&scores, &score)) {
            host_reply_null(call->host);
            continue;
        }
        yn_geohash_format(score, text);
        host_reply_bulk(call->host, (struct yn_bytes){text, sizeof text});
    }
}

void cmd_geodist(struct cmd_call *call)
{
    struct cmd_args args;
    struct yn_zset *set;
    struct cmd_scores scores;
    double unit_m = 1, score_a, score_b;
    cmd_args_init(&args, call, 4);
    if (call->argc > 5)
        cmd_args_fail(&args, CMD_ERR_SYNTAX);
    else if (call->argc == 5)
        geo_query_parse_unit(&args, &unit_m);
    if (cmd_args_failed(&args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    cmd_scores_init(&scores, call, set);
    if (!cmd_scores_next(&scores, &score_a) || !cmd_scores_next(&scores, &score_b)) {
        host_reply_null(call->host);
        return;
    }
    double distance_m = yn_distance_m(yn_score_decode(score_a), yn_score_decode(score_b));
    host_reply_distance(call->host, distance_m / unit_m);
}

/* ---- searching ---- */

/* The last two steps of every search. */
static void answer(struct cmd_call *call, struct yn_zset *set, struct geo_query *query,
                   size_t source_at, const char *event)
{
    query->source_at = source_at;
    if (query->is_store)
        cmd_geo_store(call, set, query, event);
    else if (set == NULL)
        host_reply_array(call->host, 0);
    else
        cmd_geo_reply(call, set, query);
}

static void run_georadius(struct cmd_call *call, bool allows_store)
{
    struct cmd_args args;
    struct geo_query query;
    struct yn_zset *set;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    cmd_args_init(&args, call, 2);
    if (geo_query_parse_georadius(&query, &args, allows_store))
        answer(call, set, &query, 1, "georadiusstore");
    else
        cmd_args_reply_error(&args, call->host);
}

static void run_georadiusbymember(struct cmd_call *call, bool allows_store)
{
    struct cmd_args args;
    struct geo_query query;
    struct yn_zset *set;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    cmd_args_init(&args, call, 2);
    if (geo_query_parse_bymember(&query, &args, set, allows_store))
        answer(call, set, &query, 1, "georadiusstore");
    else
        cmd_args_reply_error(&args, call->host);
}

void cmd_georadius(struct cmd_call *call)
{
    run_georadius(call, true);
}

void cmd_georadius_ro(struct cmd_call *call)
{
    run_georadius(call, false);
}

void cmd_georadiusbymember(struct cmd_call *call)
{
    run_georadiusbymember(call, true);
}

void cmd_georadiusbymember_ro(struct cmd_call *call)
{
    run_georadiusbymember(call, false);
}

void cmd_geosearch(struct cmd_call *call)
{
    struct cmd_args args;
    struct geo_query query;
    struct yn_zset *set;
    if (!cmd_read_zset_or_reply(call, call->argv[1], &set))
        return;
    cmd_args_init(&args, call, 2);
    if (geo_query_parse_geosearch(&query, &args, set, false))
        answer(call, set, &query, 1, NULL);
    else
        cmd_args_reply_error(&args, call->host);
}

void cmd_geosearchstore(struct cmd_call *call)
{
    struct cmd_args args;
    struct geo_query query;
    struct yn_zset *set;
    if (!cmd_read_zset_or_reply(call, call->argv[2], &set))
        return;
    cmd_args_init(&args, call, 3);
    if (!geo_query_parse_geosearch(&query, &args, set, true)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    query.store_key = call->argv[1];
    answer(call, set, &query, 2, "geosearchstore");
}
