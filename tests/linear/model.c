#include "linear/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- the keyspace ------------------------------------------------------- */

static unsigned count(const struct model_state *state, unsigned key)
{
    unsigned n = 0;
    for (unsigned m = 0; m < MODEL_MEMBERS; m++)
        n += state->place[key][m] != MODEL_ABSENT;
    return n;
}

/* A key has changed: transactions of those who watch it fail. */
static void touch(struct model_state *state, unsigned key)
{
    for (unsigned c = 0; c < MODEL_CLIENTS; c++)
        if ((state->watched[c] >> key & 1) != 0)
            state->is_dirty[c] = 1;
}

static bool is_integer(const struct answer *answer, int64_t wanted)
{
    return answer->kind == ANSWER_INTEGER && answer->integer == wanted;
}

/* ---- writers ------------------------------------------------------------ */

static bool geoadd(struct model_state *state, const struct op *op, const struct answer *a)
{
    int n_added = 0, n_moved = 0;
    for (unsigned i = 0; i < op->n; i++) {
        uint8_t *place = &state->place[op->key][op->member[i]];
        bool is_there = *place != MODEL_ABSENT;
        if (is_there ? op->is_nx : op->is_xx)
            continue;
        n_added += !is_there;
        n_moved += is_there && *place != op->place[i];
        *place = op->place[i];
    }
    if (n_added + n_moved > 0)
        touch(state, op->key);
    return is_integer(a, op->is_ch ? n_added + n_moved : n_added);
}

static bool zrem(struct model_state *state, const struct op *op, const struct answer *a)
{
    int n = 0;
    for (unsigned i = 0; i < op->n; i++) {
        uint8_t *place = &state->place[op->key][op->member[i]];
        n += *place != MODEL_ABSENT;
        *place = MODEL_ABSENT;
    }
    if (n > 0)
        touch(state, op->key);
    return is_integer(a, n);
}

static bool del(struct model_state *state, const struct op *op, const struct answer *a)
{
    bool was_there = count(state, op->key) > 0;
    memset(state->place[op->key], MODEL_ABSENT, MODEL_MEMBERS);
    if (was_there)
        touch(state, op->key);
    return is_integer(a, was_there);
}

static bool copy(struct model_state *state, const struct op *op, const struct answer *a)
{
    bool is_there = count(state, op->other) > 0;
    if (is_there) {
        memcpy(state->place[op->key], state->place[op->other], MODEL_MEMBERS);
        touch(state, op->key);
    }
    return is_integer(a, is_there);
}

static bool rename_key(struct model_state *state, const struct op *op,
                       const struct answer *a)
{
    if (count(state, op->other) == 0)
        return a->kind == ANSWER_ERROR;
    memcpy(state->place[op->key], state->place[op->other], MODEL_MEMBERS);
    memset(state->place[op->other], MODEL_ABSENT, MODEL_MEMBERS);
    touch(state, op->key);
    touch(state, op->other);
    return a->kind == ANSWER_OK;
}

static bool is_inside(const struct model_world *world, unsigned shape, uint8_t place)
{
    return place != MODEL_ABSENT && (world->inside[shape] >> (place - 1) & 1) != 0;
}

static bool geosearchstore(const struct model_world *world, struct model_state *state,
                           const struct op *op, const struct answer *a)
{
    unsigned n_before = count(state, op->key), n = 0;
    uint8_t found[MODEL_MEMBERS];
    for (unsigned m = 0; m < MODEL_MEMBERS; m++) {
        uint8_t place = state->place[op->other][m];
        found[m] = is_inside(world, op->shape, place) ? place : MODEL_ABSENT;
        n += found[m] != MODEL_ABSENT;
    }
    memcpy(state->place[op->key], found, MODEL_MEMBERS);
    if (n_before + n > 0)
        touch(state, op->key);
    return is_integer(a, n);
}

/* The member with the lowest score; of several at one place the first by name. */
static unsigned lowest(const struct model_world *world, const uint8_t *places)
{
    unsigned best = MODEL_MEMBERS;
    for (unsigned m = 0; m < MODEL_MEMBERS; m++) {
        if (places[m] != MODEL_ABSENT &&
            (best == MODEL_MEMBERS ||
             world->score_rank[places[m] - 1] < world->score_rank[places[best] - 1]))
            best = m;
    }
    return best;
}

static bool zpopmin(const struct model_world *world, struct model_state *state,
                    const struct op *op, const struct answer *a)
{
    unsigned key = op->key;
    if (op->kind == OP_BZPOPMIN && count(state, key) == 0)
        key = op->other;
    unsigned member = lowest(world, state->place[key]);
    if (member == MODEL_MEMBERS)
        return a->kind == ANSWER_NULL;
    uint8_t place = state->place[key][member];
    state->place[key][member] = MODEL_ABSENT;
    touch(state, key);
    return a->kind == ANSWER_ITEMS && a->n == 1 && a->member[0] == member &&
           a->place[0] == place && (op->kind == OP_ZPOPMIN || a->key == key);
}

/* ---- readers ------------------------------------------------------------ */

static bool geopos(const struct model_state *state, const struct op *op,
                   const struct answer *a)
{
    if (a->kind != ANSWER_ITEMS || a->n != op->n)
        return false;
    for (unsigned i = 0; i < op->n; i++)
        if (a->place[i] != state->place[op->key][op->member[i]])
            return false;
    return true;
}

static void sort(uint8_t *values, unsigned n, bool is_descending)
{
    for (unsigned i = 1; i < n; i++) {
        for (unsigned k = i; k > 0 && (is_descending ? values[k - 1] < values[k]
                                                     : values[k - 1] > values[k]);
             k--) {
            uint8_t value = values[k];
            values[k] = values[k - 1];
            values[k - 1] = value;
        }
    }
}

/* Is each item a member, seen once, of the set and inside the shape? */
static bool are_hits(const struct model_world *world, const uint8_t *places,
                     const struct op *op, const struct answer *a)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < a->n; i++) {
        uint8_t place = places[a->member[i]];
        if ((seen >> a->member[i] & 1) != 0 || !is_inside(world, op->shape, place) ||
            (a->place[i] != MODEL_NOT_SHOWN && a->place[i] != place))
            return false;
        seen |= 1u << a->member[i];
    }
    return true;
}

static bool geosearch(const struct model_world *world, const struct model_state *state,
                      const struct op *op, const struct answer *a)
{
    const uint8_t *places = state->place[op->key];
    uint8_t all[MODEL_MEMBERS], given[MODEL_MEMBERS];
    unsigned n = 0;
    for (unsigned m = 0; m < MODEL_MEMBERS; m++)
        if (is_inside(world, op->shape, places[m]))
            all[n++] = world->distance_rank[op->shape][places[m] - 1];
    unsigned n_wanted = op->count > 0 && op->count < n ? op->count : n;
    if (a->kind != ANSWER_ITEMS || a->n != n_wanted || !are_hits(world, places, op, a))
        return false;
    /* COUNT alone means the nearest */
    bool is_sorted = op->order != ORDER_NONE || (op->count > 0 && !op->is_any);
    if (!is_sorted)
        return true;
    for (unsigned i = 0; i < n_wanted; i++)
        given[i] = world->distance_rank[op->shape][places[a->member[i]] - 1];
    bool is_descending = op->order == ORDER_DESC;
    if (!op->is_any) {
        sort(all, n, is_descending);
        return memcmp(all, given, n_wanted) == 0;
    }
    memcpy(all, given, n_wanted);
    sort(all, n_wanted, is_descending);
    return memcmp(all, given, n_wanted) == 0;
}

static bool zrange(const struct model_world *world, const struct model_state *state,
                   const struct op *op, const struct answer *a)
{
    uint8_t left[MODEL_MEMBERS];
    memcpy(left, state->place[op->key], sizeof left);
    if (a->kind != ANSWER_ITEMS)
        return false;
    for (unsigned i = 0; i < a->n; i++) {
        unsigned member = lowest(world, left);
        if (member == MODEL_MEMBERS || a->member[i] != member ||
            a->place[i] != left[member])
            return false;
        left[member] = MODEL_ABSENT;
    }
    return lowest(world, left) == MODEL_MEMBERS;
}

/* ---- steps -------------------------------------------------------------- */

static bool step(const struct model_world *world, struct model_state *state,
                 const struct op *op, const struct answer *a)
{
    switch (op->kind) {
    case OP_GEOADD:
        return geoadd(state, op, a);
    case OP_ZREM:
        return zrem(state, op, a);
    case OP_GEOPOS:
        return geopos(state, op, a);
    case OP_GEOSEARCH:
        return geosearch(world, state, op, a);
    case OP_GEOSEARCHSTORE:
        return geosearchstore(world, state, op, a);
    case OP_ZRANGE:
        return zrange(world, state, op, a);
    case OP_ZCARD:
        return is_integer(a, count(state, op->key));
    case OP_DEL:
        return del(state, op, a);
    case OP_RENAME:
        return rename_key(state, op, a);
    case OP_COPY:
        return copy(state, op, a);
    case OP_ZPOPMIN:
    case OP_BZPOPMIN:
        return zpopmin(world, state, op, a);
    default:
        return false;
    }
}

static bool exec(const struct model_world *world, struct model_state *state,
                 const struct record *record)
{
    bool is_dirty = state->is_dirty[record->client];
    state->watched[record->client] = state->is_dirty[record->client] = 0;
    if (record->op.is_broken)
        return record->answer.kind == ANSWER_ERROR;
    if (is_dirty)
        return record->answer.kind == ANSWER_NULL;
    if (record->answer.kind != ANSWER_ITEMS)
        return false;
    for (unsigned i = 0; i < record->op.n; i++)
        if (!step(world, state, &record->parts[i], &record->answers[i]))
            return false;
    return true;
}

bool model_step(const struct model_world *world, struct model_state *state,
                const struct record *record)
{
    switch (record->op.kind) {
    case OP_WATCH:
        state->watched[record->client] |= (uint8_t)(1u << record->op.key);
        return record->answer.kind == ANSWER_OK;
    case OP_UNWATCH:
        state->watched[record->client] = state->is_dirty[record->client] = 0;
        return record->answer.kind == ANSWER_OK;
    case OP_EXEC:
        return exec(world, state, record);
    default:
        return step(world, state, &record->op, &record->answer);
    }
}

static unsigned keys_of(const struct op *op)
{
    bool has_other = op->kind == OP_GEOSEARCHSTORE || op->kind == OP_RENAME ||
                     op->kind == OP_COPY || op->kind == OP_BZPOPMIN;
    return 1u << op->key | (has_other ? 1u << op->other : 0);
}

unsigned model_keys(const struct record *record)
{
    if (record->op.kind == OP_UNWATCH)
        return 0;
    if (record->op.kind != OP_EXEC)
        return keys_of(&record->op);
    unsigned keys = 0;
    for (unsigned i = 0; i < record->op.n; i++)
        keys |= keys_of(&record->parts[i]);
    return keys;
}

/* ---- text --------------------------------------------------------------- */

struct text {
    char *data;
    size_t len, size;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->data + text->len, text->size - text->len, format, args);
    va_end(args);
    text->len +=
        (size_t)n < text->size - text->len ? (size_t)n : text->size - text->len - 1;
}

static const char *const kind_names[N_OP_KINDS] = {
    "GEOADD", "ZREM", "GEOPOS",  "GEOSEARCH", "GEOSEARCHSTORE", "ZRANGE",  "ZCARD", "DEL",
    "RENAME", "COPY", "ZPOPMIN", "BZPOPMIN",  "WATCH",          "UNWATCH", "EXEC",
};

static void put_op(struct text *text, const struct op *op)
{
    put(text, "%s", kind_names[op->kind]);
    if (op->kind == OP_EXEC || op->kind == OP_UNWATCH)
        return;
    if ((keys_of(op) & ~(1u << op->key)) != 0)
        put(text, " %c", 'a' + op->other);
    put(text, " %c%s%s%s", 'a' + op->key, op->is_nx ? " NX" : "", op->is_xx ? " XX" : "",
        op->is_ch ? " CH" : "");
    for (unsigned i = 0; i < op->n; i++) {
        put(text, " m%u", op->member[i]);
        if (op->kind == OP_GEOADD)
            put(text, "@%u", op->place[i]);
    }
    if (op->kind == OP_GEOSEARCH || op->kind == OP_GEOSEARCHSTORE)
        put(text, " shape %u%s", op->shape,
            op->order == ORDER_ASC    ? " ASC"
            : op->order == ORDER_DESC ? " DESC"
                                      : "");
    if (op->count > 0)
        put(text, " COUNT %u%s", op->count, op->is_any ? " ANY" : "");
}

static void put_answer(struct text *text, const struct op *op, const struct answer *a)
{
    static const char *const names[] = {"", "", "null", "error", "OK"};
    if (a->kind == ANSWER_INTEGER)
        put(text, "%lld", (long long)a->integer);
    put(text, "%s", names[a->kind]);
    if (a->kind == ANSWER_ITEMS)
        put(text, "(");
    for (unsigned i = 0; a->kind == ANSWER_ITEMS && i < a->n; i++) {
        put(text, i > 0 ? " " : "");
        if (op->kind != OP_GEOPOS)
            put(text, "m%u", a->member[i]);
        if (a->place[i] != MODEL_NOT_SHOWN)
            put(text, "@%u", a->place[i]);
    }
    if (a->kind == ANSWER_ITEMS)
        put(text, ")");
}

void model_format(const struct record *record, char *out_text, size_t size)
{
    struct text text = {.data = out_text, .size = size};
    put(&text, "%4u..%-4u client %u: ", record->in_at, record->out_at, record->client);
    put_op(&text, &record->op);
    put(&text, " -> ");
    if (record->op.kind != OP_EXEC || record->answer.kind != ANSWER_ITEMS) {
        put_answer(&text, &record->op, &record->answer);
        return;
    }
    for (unsigned i = 0; i < record->op.n; i++) {
        put(&text, i > 0 ? "; " : "");
        put_op(&text, &record->parts[i]);
        put(&text, " -> ");
        put_answer(&text, &record->parts[i], &record->answers[i]);
    }
}

void model_format_state(const struct model_state *state, char *out_text, size_t size)
{
    struct text text = {.data = out_text, .size = size};
    for (unsigned key = 0; key < MODEL_KEYS; key++) {
        put(&text, "%s%c:", key > 0 ? "  " : "", 'a' + key);
        for (unsigned m = 0; m < MODEL_MEMBERS; m++)
            if (state->place[key][m] != MODEL_ABSENT)
                put(&text, " m%u@%u", m, state->place[key][m]);
    }
}
