#include "server/batch.h"

#include "core/bytes.h"
#include "server/keyspace.h"

void batch_init(struct batch *batch)
{
    batch->n = 0;
    batch->has_scores = false;
    for (size_t i = 0; i < BATCH_MAX; i++)
        yn_request_init(&batch->request[i]);
}

void batch_clear(struct batch *batch)
{
    for (size_t i = 0; i < BATCH_MAX; i++)
        yn_request_clear(&batch->request[i]);
    batch->n = 0;
}

void batch_drop(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        yn_request_next(&batch->request[i]);
    batch->n = 0;
}

static void swap_requests(struct yn_request *a, struct yn_request *b)
{
    struct yn_request t = *a;
    *a = *b;
    *b = t;
}

enum yn_request_status batch_parse(struct batch *batch, struct yn_request *started,
                                   const char *data, size_t len,
                                   const struct yn_request_limits *limits, size_t n_max)
{
    size_t at = 0;
    enum yn_request_status status = YN_REQUEST_MORE;
    batch->n = 0;
    /* a request is parsed where it will be run from; it moves only when it is cut in two
     */
    if (yn_request_has_begun(started))
        swap_requests(started, &batch->request[0]);
    while (batch->n < n_max && at < len) {
        struct yn_request *request = &batch->request[batch->n];
        status = yn_request_parse(request, data + at, len - at, limits);
        if (status == YN_REQUEST_MORE || status == YN_REQUEST_ERROR) {
            swap_requests(started, request);
            break;
        }
        at += request->used;
        batch->spec[batch->n++] = NULL;
    }
    /* the connection may rest now, with what large requests of others have left behind */
    yn_request_shrink(started);
    if (batch->n == 0)
        return status;
    if (status == YN_REQUEST_ERROR)
        yn_request_next(started);
    return YN_REQUEST_DONE;
}

/* ---- looking ahead ---- */

/* Members of one set, gathered over requests. */
struct gathered {
    struct yn_bytes key;
    const struct yn_zset *set; /* NULL: none */
    struct yn_bytes members[BATCH_MEMBERS_MAX];
    size_t first, n; /* their scores go to batch->scores + first */
};

static void look_up(struct batch *batch, struct gathered *gathered)
{
    if (gathered->n > 0)
        yn_zset_find_many(gathered->set, gathered->members, gathered->n,
                          batch->scores + gathered->first);
    gathered->first += gathered->n;
    gathered->n = 0;
}

/* Number of members that the request names; 0: none, or very many, which the command
 * looks up by itself. */
static size_t members_of(const struct cmd_spec *spec, size_t argc)
{
    if (spec == NULL || spec->members.step == 0 || argc <= spec->members.first)
        return 0;
    size_t last = spec->members.last > 0 ? spec->members.last : argc - 1;
    last = last < argc ? last : argc - 1;
    size_t n = (last - spec->members.first) / spec->members.step + 1;
    return n <= CMD_AHEAD_MAX ? n : 0;
}

/* Makes the key's set the one that members are gathered for. */
static void turn_to(struct batch *batch, struct gathered *gathered, struct yn_bytes key,
                    const struct keyspace *keyspace, int64_t now_ms)
{
    if (gathered->key.data != NULL && yn_bytes_compare(gathered->key, key) == 0)
        return;
    look_up(batch, gathered);
    struct host_value value = keyspace_find(keyspace, key, now_ms);
    gathered->key = key;
    gathered->set = value.type == HOST_ZSET ? value.zset : NULL;
}

void batch_resolve(struct batch *batch, const char *data)
{
    for (size_t i = 0; i < batch->n; i++) {
        batch->argv[i] = yn_request_argv(&batch->request[i], data);
        batch->ahead[i].set = NULL;
        batch->spec[i] = batch->request[i].argc > 0 ? cmd_find(batch->argv[i][0]) : NULL;
        data += batch->request[i].used;
    }
}

void batch_look_ahead(struct batch *batch, size_t first, size_t end,
                      const struct keyspace *keyspace, int64_t now_ms)
{
    struct gathered gathered; /* large: members are set when they are gathered */
    gathered.key = (struct yn_bytes){NULL, 0};
    gathered.set = NULL;
    gathered.first = gathered.n = 0;
    batch->has_scores = false;
    for (size_t i = first; i < end; i++) {
        batch->ahead[i].set = NULL;
        const struct yn_bytes *argv = batch->argv[i];
        const struct cmd_spec *spec = batch->spec[i];
        size_t n = members_of(spec, batch->request[i].argc);
        if (n == 0 || (end - first == 1 && n == 1))
            continue;
        turn_to(batch, &gathered, argv[1], keyspace, now_ms);
        size_t at = gathered.first + gathered.n;
        if (gathered.set == NULL || at + n > BATCH_MEMBERS_MAX)
            continue;
        for (size_t k = 0; k < n; k++)
            gathered.members[gathered.n++] =
                argv[spec->members.first + k * spec->members.step];
        batch->ahead[i] = (struct cmd_ahead){gathered.set, batch->scores + at, n};
        batch->has_scores = true;
    }
    look_up(batch, &gathered);
}

void batch_forget_scores(struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        batch->ahead[i].set = NULL;
    batch->has_scores = false;
}
