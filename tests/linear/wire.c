#include "linear/wire.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS_MAX 64

/* Places are a grid of half degrees; shapes hold all of them, or some on one side. */
static const char *const shapes[MODEL_SHAPES] = {
    "FROMLONLAT 10.75 40.5 BYRADIUS 500 km", "FROMLONLAT 10 40 BYRADIUS 60 km",
    "FROMLONLAT 10.2 40.5 BYBOX 80 300 km",  "FROMLONLAT 11 41 BYBOX 2000 2000 km",
    "FROMLONLAT 11.3 40.9 BYRADIUS 90 km",
};

static double place_lon(unsigned place)
{
    return 10 + 0.5 * ((place - 1) % 4);
}

static double place_lat(unsigned place)
{
    return 40 + 0.5 * ((place - 1) / 4);
}

/* ---- commands ----------------------------------------------------------- */

bool wire_queue_text(struct cli_link *link, const char *text)
{
    struct yn_bytes argv[WORDS_MAX];
    size_t n = 0;
    while (*text != '\0') {
        size_t len = strcspn(text, " ");
        if (len > 0 && n < WORDS_MAX)
            argv[n++] = (struct yn_bytes){text, len};
        text += len + (text[len] == ' ');
    }
    return cli_link_queue(link, n, argv);
}

struct text {
    char data[1024];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text->len += (size_t)vsnprintf(text->data + text->len, sizeof text->data - text->len,
                                   format, args);
    va_end(args);
}

static void put_members(struct text *text, const struct op *op)
{
    for (unsigned i = 0; i < op->n; i++) {
        if (op->kind == OP_GEOADD)
            put(text, " %.1f %.1f", place_lon(op->place[i]), place_lat(op->place[i]));
        put(text, " m%u", op->member[i]);
    }
}

static void put_search(struct text *text, const struct op *op)
{
    static const char *const orders[] = {"", " ASC", " DESC"};
    put(text, "GEOSEARCH %c %s%s", 'a' + op->key, shapes[op->shape], orders[op->order]);
    if (op->count > 0)
        put(text, " COUNT %u%s", op->count, op->is_any ? " ANY" : "");
    put(text, "%s", op->with_coord ? " WITHCOORD" : "");
}

static void put_op(struct text *text, const struct op *op)
{
    int key = 'a' + op->key, other = 'a' + op->other;
    switch (op->kind) {
    case OP_GEOADD:
        put(text, "GEOADD %c%s%s%s", key, op->is_nx ? " NX" : "", op->is_xx ? " XX" : "",
            op->is_ch ? " CH" : "");
        break;
    case OP_ZREM:
        put(text, "ZREM %c", key);
        break;
    case OP_GEOPOS:
        put(text, "GEOPOS %c", key);
        break;
    case OP_GEOSEARCH:
        put_search(text, op);
        return;
    case OP_GEOSEARCHSTORE:
        put(text, "GEOSEARCHSTORE %c %c %s", key, other, shapes[op->shape]);
        return;
    case OP_ZRANGE:
        put(text, "ZRANGE %c 0 -1 WITHSCORES", key);
        return;
    case OP_ZCARD:
        put(text, "ZCARD %c", key);
        return;
    case OP_DEL:
        put(text, "DEL %c", key);
        return;
    case OP_RENAME:
        put(text, "RENAME %c %c", other, key);
        return;
    case OP_COPY:
        put(text, "COPY %c %c REPLACE", other, key);
        return;
    case OP_ZPOPMIN:
        put(text, "ZPOPMIN %c", key);
        return;
    case OP_BZPOPMIN:
        put(text, "BZPOPMIN %c %c 0.005", key, other);
        return;
    case OP_WATCH:
        put(text, "WATCH %c", key);
        return;
    case OP_UNWATCH:
        put(text, "UNWATCH");
        return;
    default:
        put(text, "EXEC");
        return;
    }
    put_members(text, op);
}

bool wire_queue(struct cli_link *link, const struct op *op)
{
    struct text text = {.len = 0};
    put_op(&text, op);
    return wire_queue_text(link, text.data);
}

/* ---- replies ------------------------------------------------------------ */

static bool is_text(const struct yn_reply *reply, const char *text)
{
    return reply->text.len == strlen(text) &&
           memcmp(reply->text.data, text, reply->text.len) == 0;
}

static bool parse_member(const struct yn_reply *reply, uint8_t *out_member)
{
    *out_member = reply->text.len == 2 ? (uint8_t)(reply->text.data[1] - '0') : 255;
    return reply->type == YN_REPLY_BULK && *out_member < MODEL_MEMBERS;
}

static bool parse_position(const struct wire *wire, const struct yn_reply *reply,
                           uint8_t *out_place)
{
    *out_place = MODEL_ABSENT;
    if (reply->type == YN_REPLY_NULL)
        return true;
    if (reply->type != YN_REPLY_ARRAY || reply->n_items != 2)
        return false;
    char text[64];
    snprintf(text, sizeof text, "%.*s %.*s", (int)reply->items[0]->text.len,
             reply->items[0]->text.data, (int)reply->items[1]->text.len,
             reply->items[1]->text.data);
    for (uint8_t place = 1; place <= MODEL_PLACES; place++)
        if (strcmp(text, wire->position[place - 1]) == 0)
            *out_place = place;
    return *out_place != MODEL_ABSENT;
}

static bool parse_score(const struct wire *wire, const struct yn_reply *reply,
                        uint8_t *out_place)
{
    for (uint8_t place = 1; place <= MODEL_PLACES; place++) {
        if (is_text(reply, wire->score[place - 1])) {
            *out_place = place;
            return true;
        }
    }
    return false;
}

static bool parse_positions(const struct wire *wire, const struct op *op,
                            const struct yn_reply *reply, struct answer *out)
{
    if (reply->n_items != op->n)
        return false;
    out->n = op->n;
    for (unsigned i = 0; i < op->n; i++)
        if (!parse_position(wire, reply->items[i], &out->place[i]))
            return false;
    return true;
}

static bool parse_hits(const struct wire *wire, const struct op *op,
                       const struct yn_reply *reply, struct answer *out)
{
    if (reply->n_items > MODEL_MEMBERS)
        return false;
    out->n = (uint8_t)reply->n_items;
    for (unsigned i = 0; i < out->n; i++) {
        const struct yn_reply *item = reply->items[i];
        out->place[i] = MODEL_NOT_SHOWN;
        if (op->with_coord) {
            if (item->type != YN_REPLY_ARRAY || item->n_items != 2 ||
                !parse_position(wire, item->items[1], &out->place[i]))
                return false;
            item = item->items[0];
        }
        if (!parse_member(item, &out->member[i]))
            return false;
    }
    return true;
}

/* Members and scores in turn; of BZPOPMIN a key before them. */
static bool parse_scored(const struct wire *wire, const struct op *op,
                         const struct yn_reply *reply, struct answer *out)
{
    struct yn_reply **items = reply->items;
    size_t n = reply->n_items;
    if (op->kind == OP_BZPOPMIN && n > 0) {
        out->key = (uint8_t)(items[0]->text.data[0] - 'a');
        items++;
        n--;
    }
    if (n > (size_t)2 * MODEL_MEMBERS || n % 2 != 0)
        return false;
    out->n = (uint8_t)(n / 2);
    for (unsigned i = 0; i < out->n; i++)
        if (!parse_member(items[2 * i], &out->member[i]) ||
            !parse_score(wire, items[2 * i + 1], &out->place[i]))
            return false;
    if (op->kind != OP_ZRANGE && n == 0)
        out->kind = ANSWER_NULL;
    return true;
}

bool wire_parse_op(const struct wire *wire, const struct op *op,
                   const struct yn_reply *reply, struct answer *out)
{
    memset(out, 0, sizeof *out);
    out->kind = ANSWER_ITEMS;
    if (reply->type == YN_REPLY_INTEGER) {
        out->kind = ANSWER_INTEGER;
        out->integer = reply->integer;
        if (op->kind == OP_ZCARD && op->key < 2)
            out->integer -= wire->n_ballast;
        return true;
    }
    if (reply->type == YN_REPLY_STATUS) {
        out->kind = ANSWER_OK;
        return is_text(reply, "OK");
    }
    if (reply->type == YN_REPLY_NULL) {
        out->kind = ANSWER_NULL;
        return true;
    }
    if (reply->type == YN_REPLY_ERROR) {
        out->kind = ANSWER_ERROR;
        return op->kind == OP_RENAME ? is_text(reply, "ERR no such key")
                                     : op->kind == OP_EXEC && op->is_broken;
    }
    if (reply->type != YN_REPLY_ARRAY)
        return false;
    switch (op->kind) {
    case OP_GEOPOS:
        return parse_positions(wire, op, reply, out);
    case OP_GEOSEARCH:
        return parse_hits(wire, op, reply, out);
    case OP_ZRANGE:
    case OP_ZPOPMIN:
    case OP_BZPOPMIN:
        return parse_scored(wire, op, reply, out);
    case OP_EXEC:
        return reply->n_items == op->n;
    default:
        return false;
    }
}

bool wire_parse(const struct wire *wire, struct record *record,
                const struct yn_reply *reply)
{
    if (!wire_parse_op(wire, &record->op, reply, &record->answer))
        return false;
    if (record->op.kind != OP_EXEC || record->answer.kind != ANSWER_ITEMS)
        return true;
    for (unsigned i = 0; i < record->op.n; i++)
        if (!wire_parse_op(wire, &record->parts[i], reply->items[i], &record->answers[i]))
            return false;
    return true;
}

/* ---- places and shapes -------------------------------------------------- */

static bool is_odd(struct cli_link *link, const char *what)
{
    snprintf(link->error, sizeof link->error, "an odd reply about %s", what);
    return false;
}

static struct yn_reply *ask(struct cli_link *link, const char *text)
{
    return wire_queue_text(link, text) ? cli_link_wait(link) : NULL;
}

static bool add_places(struct cli_link *link)
{
    struct text text = {.len = 0};
    put(&text, "GEOADD places");
    for (unsigned place = 1; place <= MODEL_PLACES; place++)
        put(&text, " %.1f %.1f %u", place_lon(place), place_lat(place), place);
    struct yn_reply *reply = ask(link, text.data);
    bool is_right = reply != NULL && reply->integer == MODEL_PLACES;
    yn_reply_free(reply);
    return is_right || is_odd(link, "new members");
}

static unsigned place_of(const struct yn_reply *reply)
{
    char text[8];
    snprintf(text, sizeof text, "%.*s", (int)reply->text.len, reply->text.data);
    unsigned place = (unsigned)atoi(text);
    return place >= 1 && place <= MODEL_PLACES ? place : 1;
}

static bool learn_scores(struct wire *wire, struct cli_link *link)
{
    struct yn_reply *reply = ask(link, "ZRANGE places 0 -1 WITHSCORES");
    bool is_right = reply != NULL && reply->n_items == (size_t)2 * MODEL_PLACES;
    for (uint8_t i = 0; is_right && i < MODEL_PLACES; i++) {
        unsigned place = place_of(reply->items[2 * i]);
        struct yn_bytes score = reply->items[2 * i + 1]->text;
        wire->world.score_rank[place - 1] = i;
        snprintf(wire->score[place - 1], sizeof wire->score[0], "%.*s", (int)score.len,
                 score.data);
    }
    yn_reply_free(reply);
    return is_right || is_odd(link, "scores");
}

/* Hits in order, with distances and coordinates. */
static bool learn_shape(struct wire *wire, struct cli_link *link, unsigned shape)
{
    struct text text = {.len = 0};
    put(&text, "GEOSEARCH places %s ASC WITHDIST WITHCOORD", shapes[shape]);
    struct yn_reply *reply = ask(link, text.data);
    bool is_right = reply != NULL && reply->type == YN_REPLY_ARRAY && reply->n_items > 0;
    const struct yn_reply *before = NULL;
    uint8_t rank = 0;
    for (size_t i = 0; is_right && i < reply->n_items; i++) {
        const struct yn_reply *hit = reply->items[i], *at = hit->items[2];
        unsigned place = place_of(hit->items[0]);
        if (before != NULL &&
            (hit->items[1]->text.len != before->text.len ||
             memcmp(hit->items[1]->text.data, before->text.data, before->text.len) != 0))
            rank++;
        before = hit->items[1];
        wire->world.inside[shape] |= (uint16_t)(1u << (place - 1));
        wire->world.distance_rank[shape][place - 1] = rank;
        snprintf(wire->position[place - 1], sizeof wire->position[0], "%.*s %.*s",
                 (int)at->items[0]->text.len, at->items[0]->text.data,
                 (int)at->items[1]->text.len, at->items[1]->text.data);
    }
    yn_reply_free(reply);
    return is_right || is_odd(link, "a search");
}

bool wire_learn(struct wire *wire, struct cli_link *link)
{
    memset(wire, 0, sizeof *wire);
    if (!add_places(link) || !learn_scores(wire, link))
        return false;
    for (unsigned shape = 0; shape < MODEL_SHAPES; shape++)
        if (!learn_shape(wire, link, shape))
            return false;
    if (wire->world.inside[0] != (1u << MODEL_PLACES) - 1)
        return is_odd(link, "the circle around all places");
    yn_reply_free(ask(link, "DEL places"));
    return true;
}
