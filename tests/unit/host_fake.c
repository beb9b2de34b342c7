#include "host_fake.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "core/random.h"
#include "resp/write.h"

#define KEYS_MAX 64
#define DBS 3
#define WORDS_MAX 1024

struct fake_key {
    struct yn_buf name;
    enum host_type type; /* HOST_NONE: the slot is free */
    struct yn_zset *zset;
    struct host_blob *blob; /* HOST_STRING */
    enum host_form form;
    int64_t expiry_ms;
    int64_t used_ms;
};

/* Every string is one; commands are told so from this length on. */
#define BLOB_LEN_MIN 64
struct host_blob {
    size_t n_holders;
    size_t len;
    char bytes[];
};

struct host {
    struct yn_buf reply;
    struct yn_buf events;
    int resp;
    int64_t now_ms;
    bool fails_puts;
    size_t n_allocations_left; /* 0: no limit; 1: the next one fails */
    struct yn_allocator allocator;
    struct yn_options options;
    uint64_t random;
    size_t db;
    struct fake_key all_keys[DBS][KEYS_MAX];
    struct fake_key *keys; /* of the current database */
};

struct fake {
    struct host host; /* must be first */
    struct cmd_arena *arena;
    size_t budget;
    bool holds, fails_holds;
    void (*between)(struct fake *fake, void *ctx);
    void *between_ctx;
    size_t n_steps;
    struct cmd_block block;

    bool is_apart; /* how work is done */
    size_t stops_at, n_questions, n_runs;
    void (*around)(struct fake *fake, void *ctx); /* before and after work apart */
    void *around_ctx;
};

/* ---- set-up ---- */

static void *fake_alloc(void *ctx, size_t size)
{
    struct host *h = ctx;
    if (h->n_allocations_left == 1)
        return NULL;
    if (h->n_allocations_left > 1)
        h->n_allocations_left--;
    return malloc(size);
}

static void fake_dealloc(void *ctx, void *block, size_t size)
{
    (void)ctx;
    (void)size;
    free(block);
}

struct fake *fake_new(void)
{
    struct fake *fake = calloc(1, sizeof *fake);
    assert(fake != NULL);
    struct host *h = &fake->host;
    h->keys = h->all_keys[0];
    fake->arena = cmd_arena_new();
    assert(fake->arena != NULL);
    fake->budget = SIZE_MAX;
    yn_buf_init(&h->reply);
    yn_buf_init(&h->events);
    h->resp = 2;
    h->now_ms = FAKE_NOW_MS;
    h->allocator =
        (struct yn_allocator){.alloc = fake_alloc, .free = fake_dealloc, .ctx = h};
    h->options = (struct yn_options){.allocator = &h->allocator, .hash_seed = 7};
    bool is_registered = cmd_register_data();
    assert(is_registered);
    (void)is_registered;
    return fake;
}

static void drop_value(struct fake_key *key)
{
    yn_zset_free(key->zset);
    key->zset = NULL;
    if (key->blob != NULL)
        host_blob_drop(key->blob);
    key->blob = NULL;
    key->form = HOST_FORM_PLAIN;
    key->type = HOST_NONE;
}

static void drop_key(struct fake_key *key)
{
    drop_value(key);
    yn_buf_clear(&key->name);
    key->expiry_ms = -1;
}

void fake_free(struct fake *fake)
{
    host_key_flush_all(&fake->host, HOST_FLUSH_SYNC);
    yn_buf_clear(&fake->host.reply);
    yn_buf_clear(&fake->host.events);
    cmd_arena_free(fake->arena);
    free(fake);
}

void fake_set_resp(struct fake *fake, int resp)
{
    fake->host.resp = resp;
}

void fake_set_jobs(struct fake *fake, size_t budget, bool holds,
                   void (*between)(struct fake *fake, void *ctx), void *ctx)
{
    fake->budget = budget;
    fake->holds = holds;
    fake->between = between;
    fake->between_ctx = ctx;
}

void fake_set_work(struct fake *fake, bool is_apart, size_t stops_at,
                   void (*between)(struct fake *fake, void *ctx), void *ctx)
{
    fake->is_apart = is_apart;
    fake->stops_at = stops_at;
    fake->around = between;
    fake->around_ctx = ctx;
}

void fake_fail_allocations(struct fake *fake, size_t n)
{
    fake->host.n_allocations_left = n;
}

void fake_fail_holds(struct fake *fake, bool fails)
{
    fake->fails_holds = fails;
}

void fake_fail_puts(struct fake *fake, bool fails)
{
    fake->host.fails_puts = fails;
}

void fake_set_now(struct fake *fake, int64_t now_ms)
{
    fake->host.now_ms = now_ms;
}

void fake_set_random(struct fake *fake, uint64_t seed)
{
    fake->host.random = seed;
}

struct host *fake_host(struct fake *fake)
{
    return &fake->host;
}

/* ---- running ---- */

/* The hook may run commands of its own; the reply under way is put aside meanwhile. */
static void call_hook(struct fake *fake, void (*hook)(struct fake *fake, void *ctx),
                      void *ctx)
{
    struct host *h = &fake->host;
    struct fake saved = *fake;
    if (hook == NULL)
        return;
    fake_set_jobs(fake, SIZE_MAX, false, NULL, NULL);
    fake_set_work(fake, false, 0, NULL, NULL);
    fake->arena = cmd_arena_new();
    assert(fake->arena != NULL);
    yn_buf_init(&h->reply);
    yn_buf_init(&h->events);
    hook(fake, ctx);
    yn_buf_clear(&h->reply);
    yn_buf_clear(&h->events);
    cmd_arena_free(fake->arena);
    h->reply = saved.host.reply;
    h->events = saved.host.events;
    fake->arena = saved.arena;
    fake_set_jobs(fake, saved.budget, saved.holds, saved.between, saved.between_ctx);
    fake_set_work(fake, saved.is_apart, saved.stops_at, saved.around, saved.around_ctx);
    fake->n_steps = saved.n_steps;
    fake->n_questions = saved.n_questions;
    fake->n_runs = saved.n_runs;
}

/* Holds the job and throws away what it must not need any more. */
static bool hold(struct fake *fake, struct cmd_job *job)
{
    if (fake->fails_holds)
        fake_fail_allocations(fake, 1);
    bool is_held = job->hold(job);
    if (fake->fails_holds)
        fake_fail_allocations(fake, 0);
    if (is_held)
        cmd_arena_reset(fake->arena);
    return is_held;
}

static void run_job(struct fake *fake, struct cmd_job *job, bool is_held)
{
    size_t budget = fake->budget;
    for (;;) {
        fake->n_steps++;
        if (job->step(job, &fake->host, budget))
            break;
        if (fake->holds && !is_held) {
            is_held = hold(fake, job);
            if (!is_held)
                budget = SIZE_MAX;
        }
        if (is_held || !fake->holds)
            call_hook(fake, fake->between, fake->between_ctx);
    }
    job->free(job);
}

static bool is_stop_wanted(void *ctx)
{
    struct fake *fake = ctx;
    fake->n_questions++;
    return fake->stops_at != 0 && fake->n_questions >= fake->stops_at;
}

/* Does the work of the call's job apart. Returns false when the command has to be run
 * again. */
static bool work_apart(struct fake *fake, struct cmd_call *call)
{
    const struct yn_stop stop = {is_stop_wanted, fake};
    if (!hold(fake, call->job)) {
        cmd_job_begin(call, &stop, FAKE_STOPPED);
        return true;
    }
    call_hook(fake, fake->around, fake->around_ctx);
    enum yn_status status = call->job->work(call->job, &stop);
    call_hook(fake, fake->around, fake->around_ctx);
    return cmd_job_begin_worked(call, status, FAKE_STOPPED);
}

/* Runs the command; its job is left to be stepped. Returns whether that is held. */
static bool run_command(struct fake *fake, struct cmd_call *call)
{
    const struct yn_stop stop = {is_stop_wanted, fake};
    struct cmd_call again = *call;
    fake->n_runs++;
    cmd_run(call);
    if (call->job == NULL || call->job->work == NULL)
        return false;
    if (fake->is_apart) {
        if (work_apart(fake, call))
            return call->job != NULL;
        *call = again;
        fake->n_runs++;
        cmd_run(call);
        if (call->job == NULL)
            return false;
    }
    cmd_job_begin(call, &stop, FAKE_STOPPED);
    return false;
}

struct yn_bytes fake_run_words(struct fake *fake, size_t argc,
                               const struct yn_bytes *argv)
{
    struct host *h = &fake->host;
    struct cmd_call call = {.host = h, .arena = fake->arena, .argc = argc, .argv = argv};
    yn_buf_reset(&h->reply, 1 << 20);
    yn_buf_reset(&h->events, 1 << 16);
    fake->n_steps = fake->n_questions = fake->n_runs = 0;
    bool is_held = run_command(fake, &call);
    fake->block = call.block;
    if (call.job != NULL)
        run_job(fake, call.job, is_held);
    cmd_arena_reset(fake->arena);
    assert(!h->reply.failed);
    return (struct yn_bytes){h->reply.data, h->reply.len};
}

const char *fake_run(struct fake *fake, const char *line)
{
    struct yn_bytes argv[WORDS_MAX];
    size_t argc = 0;
    while (*line != '\0') {
        if (*line == ' ') {
            line++;
            continue;
        }
        bool is_quoted = *line == '\'';
        line += is_quoted;
        size_t len = strcspn(line, is_quoted ? "'" : " ");
        assert(argc < WORDS_MAX);
        argv[argc++] = (struct yn_bytes){line, len};
        line += len;
        if (is_quoted && *line == '\'')
            line++;
    }
    fake_run_words(fake, argc, argv);
    yn_buf_append(&fake->host.reply, "", 1);
    return fake->host.reply.data;
}

size_t fake_work_questions(const struct fake *fake)
{
    return fake->n_questions;
}

size_t fake_runs(const struct fake *fake)
{
    return fake->n_runs;
}

size_t fake_job_steps(const struct fake *fake)
{
    return fake->n_steps;
}

struct cmd_block fake_block(const struct fake *fake)
{
    return fake->block;
}

const char *fake_events(const struct fake *fake)
{
    struct yn_buf *events = (struct yn_buf *)&fake->host.events;
    yn_buf_append(events, "", 1);
    events->len--;
    return events->data;
}

/* ---- host.h: replies ---- */

static void reply_number(struct host *h, const char *text, size_t len)
{
    yn_write_double_text(&h->reply, h->resp, (struct yn_bytes){text, len});
}

void host_reply_status(struct host *h, const char *text)
{
    yn_write_status(&h->reply, text);
}

void host_reply_error(struct host *h, const char *text)
{
    host_reply_error_bytes(h, (struct yn_bytes){text, strlen(text)});
}

void host_reply_error_bytes(struct host *h, struct yn_bytes text)
{
    yn_write_error(&h->reply, text);
}

void host_reply_integer(struct host *h, int64_t value)
{
    yn_write_integer(&h->reply, value);
}

void host_reply_bulk(struct host *h, struct yn_bytes bytes)
{
    yn_write_bulk(&h->reply, bytes);
}

void host_reply_null(struct host *h)
{
    yn_write_null(&h->reply, h->resp);
}

void host_reply_null_array(struct host *h)
{
    yn_write_null_array(&h->reply, h->resp);
}

void host_reply_array(struct host *h, size_t n)
{
    yn_write_array(&h->reply, n);
}

void host_reply_map(struct host *h, size_t n)
{
    yn_write_map(&h->reply, h->resp, n);
}

void host_reply_set(struct host *h, size_t n)
{
    yn_write_set(&h->reply, h->resp, n);
}

void host_reply_score(struct host *h, double score)
{
    char text[YN_NUM_TEXT_MAX];
    reply_number(h, text, yn_num_format_shortest(score, text));
}

void host_reply_scan_score(struct host *h, double score, bool compact)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len =
        compact ? yn_num_format_shortest(score, text) : yn_num_format_scan(score, text);
    yn_write_bulk(&h->reply, (struct yn_bytes){text, len});
}

void host_reply_coordinate(struct host *h, double degrees)
{
    char text[YN_NUM_TEXT_MAX];
    reply_number(h, text, yn_num_format_shortest(degrees, text));
}

void host_reply_distance(struct host *h, double distance)
{
    char text[YN_NUM_FIXED17_MAX];
    size_t len = yn_num_format_distance(distance, text);
    yn_write_bulk(&h->reply, (struct yn_bytes){text, len});
}

size_t host_reply_hits(struct host *h, const struct yn_hits *hits, double unit_m)
{
    size_t before = h->reply.len;
    yn_write_hits(&h->reply, hits, unit_m);
    return h->reply.len - before;
}

void host_reply_wire(struct host *h, struct yn_bytes wire, size_t n)
{
    (void)n;
    yn_buf_append(&h->reply, wire.data, wire.len);
}

bool host_zset_is_compact(struct host *h, size_t n_members, size_t longest_len)
{
    (void)h;
    return n_members <= 128 && longest_len <= 64;
}

bool host_reply_nests_pairs(struct host *h)
{
    return h->resp == 3;
}

void host_view_free(struct yn_view *view)
{
    yn_garbage_free(yn_view_release(view));
}

uint64_t host_long_ns(struct host *h)
{
    struct fake *fake = (struct fake *)h;
    return fake->is_apart ? 0 : UINT64_MAX;
}

void host_count_search(struct host *h, const struct yn_search *search)
{
    (void)h;
    (void)search;
}

/* ---- host.h: keys ---- */

void host_blob_hold(struct host_blob *blob)
{
    blob->n_holders++;
}

void host_blob_drop(struct host_blob *blob)
{
    if (--blob->n_holders == 0)
        free(blob);
}

static bool names_key(const struct fake_key *key, struct yn_bytes name)
{
    return key->type != HOST_NONE && key->name.len == name.len &&
           (name.len == 0 || memcmp(key->name.data, name.data, name.len) == 0);
}

static struct fake_key *find_key(struct host *h, struct yn_bytes name)
{
    for (size_t i = 0; i < KEYS_MAX; i++) {
        struct fake_key *key = &h->keys[i];
        if (!names_key(key, name))
            continue;
        if (key->expiry_ms >= 0 && key->expiry_ms <= h->now_ms)
            return NULL;
        return key;
    }
    return NULL;
}

/* The key's slot, emptied: an old one, expired or not, or a free one. */
static struct fake_key *slot_for(struct host *h, struct yn_bytes name)
{
    struct fake_key *slot = NULL;
    for (size_t i = 0; i < KEYS_MAX; i++) {
        if (names_key(&h->keys[i], name)) {
            bool is_expired = find_key(h, name) == NULL;
            drop_value(&h->keys[i]);
            if (is_expired)
                h->keys[i].expiry_ms = -1;
            h->keys[i].used_ms = h->now_ms;
            return &h->keys[i];
        }
        if (slot == NULL && h->keys[i].type == HOST_NONE)
            slot = &h->keys[i];
    }
    assert(slot != NULL);
    yn_buf_init(&slot->name);
    yn_buf_append(&slot->name, name.data, name.len);
    slot->expiry_ms = -1;
    slot->used_ms = h->now_ms;
    return slot;
}

struct host_value host_key_read(struct host *h, struct yn_bytes name)
{
    host_key_touch(h, name);
    return host_key_peek(h, name);
}

bool host_key_holds(struct host *h, struct yn_bytes name, const struct yn_zset *set)
{
    struct host_value value = host_key_peek(h, name);
    return set == NULL ? value.type == HOST_NONE
                       : value.type == HOST_ZSET && value.zset == set;
}

struct host_value host_key_inspect(struct host *h, struct yn_bytes name)
{
    return host_key_peek(h, name);
}

struct host_value host_key_peek(struct host *h, struct yn_bytes name)
{
    const struct fake_key *key = find_key(h, name);
    if (key == NULL)
        return (struct host_value){.type = HOST_NONE};
    struct host_value value = {.type = key->type, .form = key->form, .zset = key->zset};
    if (key->blob != NULL)
        value.string = (struct yn_bytes){key->blob->bytes, key->blob->len};
    if (value.string.len >= BLOB_LEN_MIN)
        value.blob = key->blob;
    return value;
}

struct host_value host_key_write(struct host *h, struct yn_bytes name)
{
    return host_key_read(h, name);
}

static void set_expiry(struct fake_key *key, int64_t expiry_ms)
{
    if (expiry_ms != HOST_EXPIRY_KEEP)
        key->expiry_ms = expiry_ms;
}

bool host_key_put_zset(struct host *h, struct yn_bytes name, struct yn_zset *set)
{
    return host_key_put_zset_until(h, name, set, HOST_EXPIRY_NONE);
}

bool host_key_put_zset_until(struct host *h, struct yn_bytes name, struct yn_zset *set,
                             int64_t expiry_ms)
{
    if (h->fails_puts)
        return false;
    struct fake_key *key = slot_for(h, name);
    key->type = HOST_ZSET;
    key->zset = set;
    set_expiry(key, expiry_ms);
    return true;
}

static struct host_blob *blob_of(struct yn_bytes value, size_t len)
{
    struct host_blob *blob = malloc(sizeof *blob + len);
    if (blob == NULL)
        return NULL;
    *blob = (struct host_blob){.n_holders = 1, .len = len};
    if (value.len > 0)
        memcpy(blob->bytes, value.data, value.len);
    return blob;
}

static void put_blob(struct host *h, struct yn_bytes name, struct host_blob *blob,
                     int64_t expiry_ms)
{
    struct fake_key *key = slot_for(h, name);
    key->type = HOST_STRING;
    key->blob = blob;
    set_expiry(key, expiry_ms);
}

bool host_key_put_string(struct host *h, struct yn_bytes name, struct yn_bytes value,
                         bool keep_expiry)
{
    return host_key_put_string_until(h, name, value,
                                     keep_expiry ? HOST_EXPIRY_KEEP : HOST_EXPIRY_NONE);
}

bool host_key_put_string_until(struct host *h, struct yn_bytes name,
                               struct yn_bytes value, int64_t expiry_ms)
{
    struct host_blob *blob = h->fails_puts ? NULL : blob_of(value, value.len);
    if (blob == NULL)
        return false;
    put_blob(h, name, blob, expiry_ms);
    return true;
}

bool host_key_put_strings(struct host *h, size_t n, const struct yn_bytes *pairs)
{
    struct host_blob *blobs[KEYS_MAX];
    assert(n <= KEYS_MAX);
    for (size_t i = 0; i < n; i++) {
        blobs[i] = h->fails_puts ? NULL : blob_of(pairs[2 * i + 1], pairs[2 * i + 1].len);
        if (blobs[i] != NULL)
            continue;
        while (i-- > 0)
            host_blob_drop(blobs[i]);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        put_blob(h, pairs[2 * i], blobs[i], HOST_EXPIRY_NONE);
    return true;
}

char *host_key_edit_string(struct host *h, struct yn_bytes name, size_t len)
{
    struct host_value old = host_key_read(h, name);
    struct host_blob *blob =
        h->fails_puts ? NULL
                      : blob_of(old.string, len > old.string.len ? len : old.string.len);
    if (blob == NULL)
        return NULL;
    put_blob(h, name, blob, HOST_EXPIRY_KEEP);
    return blob->bytes;
}

size_t host_string_len_max(struct host *h)
{
    (void)h;
    return FAKE_STRING_MAX;
}

bool host_key_remove(struct host *h, struct yn_bytes name)
{
    struct fake_key *key = find_key(h, name);
    if (key == NULL)
        return false;
    drop_key(key);
    return true;
}

bool host_key_unlink(struct host *h, struct yn_bytes name)
{
    return host_key_remove(h, name);
}

void host_key_set_form(struct host *h, struct yn_bytes name, enum host_form form)
{
    struct fake_key *key = find_key(h, name);
    if (key != NULL)
        key->form = form;
}

bool host_key_touch(struct host *h, struct yn_bytes name)
{
    struct fake_key *key = find_key(h, name);
    if (key != NULL)
        key->used_ms = h->now_ms;
    return key != NULL;
}

int64_t host_key_idle_s(struct host *h, struct yn_bytes name)
{
    const struct fake_key *key = find_key(h, name);
    return key == NULL ? -1 : (h->now_ms - key->used_ms) / 1000;
}

bool host_key_random(struct host *h, struct yn_bytes *out_key)
{
    for (size_t i = 0; i < KEYS_MAX; i++) {
        *out_key = (struct yn_bytes){h->keys[i].name.data, h->keys[i].name.len};
        if (h->keys[i].type != HOST_NONE && find_key(h, *out_key) != NULL)
            return true;
    }
    return false;
}

bool host_key_copy(struct host *h, struct yn_bytes from, size_t to_db, struct yn_bytes to,
                   struct yn_zset *set)
{
    struct fake_key *key = find_key(h, from);
    size_t own_db = h->db;
    if (key == NULL || h->fails_puts)
        return false;
    host_db_use(h, to_db);
    struct fake_key *copy = slot_for(h, to);
    host_db_use(h, own_db);
    copy->type = key->type;
    copy->zset = set;
    copy->blob = key->blob;
    if (copy->blob != NULL)
        host_blob_hold(copy->blob);
    copy->form = key->form == HOST_FORM_PLAIN ? HOST_FORM_OWN : key->form;
    copy->expiry_ms = key->expiry_ms;
    return true;
}

bool host_key_move(struct host *h, struct yn_bytes from, size_t to_db, struct yn_bytes to)
{
    struct fake_key *key = find_key(h, from);
    size_t own_db = h->db;
    if (key == NULL || h->fails_puts)
        return false;
    if (own_db == to_db && names_key(key, to))
        return true;
    host_db_use(h, to_db);
    struct fake_key *moved = slot_for(h, to);
    host_db_use(h, own_db);
    struct yn_buf name = moved->name;
    yn_buf_clear(&key->name);
    *moved = *key;
    moved->name = name;
    *key = (struct fake_key){.expiry_ms = -1};
    return true;
}

void host_key_changed(struct host *h, struct yn_bytes key, const char *event)
{
    yn_buf_append_text(&h->events, event);
    yn_buf_append_text(&h->events, ":");
    yn_buf_append(&h->events, key.data, key.len);
    yn_buf_append_text(&h->events, " ");
}

struct yn_zset *host_zset_new(struct host *h)
{
    return yn_zset_new(&h->options);
}

const struct yn_options *host_zset_options(struct host *h)
{
    return &h->options;
}

int64_t host_key_expiry_ms(struct host *h, struct yn_bytes name)
{
    const struct fake_key *key = find_key(h, name);
    return key == NULL ? -2 : key->expiry_ms;
}

bool host_key_set_expiry_ms(struct host *h, struct yn_bytes name, int64_t at_ms)
{
    struct fake_key *key = find_key(h, name);
    if (key == NULL)
        return false;
    key->expiry_ms = at_ms;
    return true;
}

int64_t host_now_ms(struct host *h)
{
    return h->now_ms;
}

uint64_t host_random(struct host *h)
{
    return yn_random_next(&h->random);
}

size_t host_key_count(struct host *h)
{
    size_t n = 0;
    for (size_t i = 0; i < KEYS_MAX; i++)
        n += h->keys[i].type != HOST_NONE;
    return n;
}

uint64_t host_key_scan(struct host *h, uint64_t cursor, size_t count, host_key_fn visit,
                       void *ctx)
{
    size_t i = (size_t)cursor;
    for (; i < KEYS_MAX && count > 0; i++) {
        struct yn_bytes name = {h->keys[i].name.data, h->keys[i].name.len};
        if (h->keys[i].type == HOST_NONE || find_key(h, name) == NULL)
            continue;
        visit(ctx, name, h->keys[i].type);
        count--;
    }
    return i < KEYS_MAX ? i : 0;
}

void host_key_flush(struct host *h, enum host_flush how)
{
    (void)how;
    host_db_changed(h, h->db);
    for (size_t i = 0; i < KEYS_MAX; i++)
        if (h->keys[i].type != HOST_NONE)
            drop_key(&h->keys[i]);
}

void host_key_flush_all(struct host *h, enum host_flush how)
{
    size_t own_db = h->db;
    for (size_t db = 0; db < DBS; db++) {
        host_db_use(h, db);
        host_key_flush(h, how);
    }
    host_db_use(h, own_db);
}

size_t host_db_count(struct host *h)
{
    (void)h;
    return DBS;
}

size_t host_db_index(struct host *h)
{
    return h->db;
}

void host_db_use(struct host *h, size_t db)
{
    h->db = db;
    h->keys = h->all_keys[db];
}

void host_db_swap(struct host *h, size_t a, size_t b)
{
    for (size_t i = 0; a != b && i < KEYS_MAX; i++) {
        struct fake_key key = h->all_keys[a][i];
        h->all_keys[a][i] = h->all_keys[b][i];
        h->all_keys[b][i] = key;
    }
    host_db_changed(h, a);
    host_db_changed(h, b);
}

/* Recorded as an event: "db:0 ". */
void host_db_changed(struct host *h, size_t db)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len = yn_num_format_uint64(db, text);
    host_key_changed(h, (struct yn_bytes){text, len}, "db");
}
