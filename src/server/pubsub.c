#include "server/pubsub.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cmd/glob.h"
#include "resp/write.h"
#include "server/conn.h"

struct pubsub_topic {
    struct link in_all;
    struct pubsub_topic *next; /* of the same bucket */
    enum pubsub_kind kind;
    struct link subscriptions;
    size_t n;
    size_t name_len;
    char name[];
};

struct subscription {
    struct link in_topic, in_conn;
    struct pubsub_topic *topic;
    struct conn *conn;
};

#define FIRST_BUCKETS 64

void pubsub_init(struct pubsub *pubsub, uint64_t hash_seed)
{
    memset(pubsub, 0, sizeof *pubsub);
    for (size_t i = 0; i < PUBSUB_KINDS; i++) {
        list_init(&pubsub->tables[i].all);
        pubsub->tables[i].seed = hash_seed;
    }
}

void pubsub_clear(struct pubsub *pubsub)
{
    /* Topics exist as long as they have subscribers: with the last connection they went.
     */
    for (size_t i = 0; i < PUBSUB_KINDS; i++)
        free(pubsub->tables[i].buckets);
    pubsub_init(pubsub, 0);
}

static struct yn_bytes topic_name(const struct pubsub_topic *topic)
{
    return (struct yn_bytes){topic->name, topic->name_len};
}

/* ---- the table ---- */

static struct pubsub_topic **bucket_of(const struct pubsub_table *table,
                                       struct yn_bytes name)
{
    uint64_t hash = XXH3_64bits_withSeed(name.data, name.len, table->seed);
    return &table->buckets[hash & (table->n_buckets - 1)];
}

static struct pubsub_topic *topic_find(const struct pubsub_table *table,
                                       struct yn_bytes name)
{
    if (table->n_buckets == 0)
        return NULL;
    struct pubsub_topic *t = *bucket_of(table, name);
    while (t != NULL && (t->name_len != name.len ||
                         (name.len > 0 && memcmp(t->name, name.data, name.len) != 0)))
        t = t->next;
    return t;
}

/* Without memory the table stays as it is; buckets just get longer. */
static bool grow(struct pubsub_table *table)
{
    size_t n = table->n_buckets == 0 ? FIRST_BUCKETS : 2 * table->n_buckets;
    struct pubsub_topic **buckets = calloc(n, sizeof(struct pubsub_topic *));
    if (buckets == NULL)
        return table->n_buckets > 0;
    free(table->buckets);
    table->buckets = buckets;
    table->n_buckets = n;
    for (struct link *l = table->all.next; l != &table->all; l = l->next) {
        struct pubsub_topic *t = LIST_ITEM(l, struct pubsub_topic, in_all);
        struct pubsub_topic **bucket = bucket_of(table, topic_name(t));
        t->next = *bucket;
        *bucket = t;
    }
    return true;
}

static struct pubsub_topic *topic_new(struct pubsub_table *table, enum pubsub_kind kind,
                                      struct yn_bytes name)
{
    if (table->n >= table->n_buckets && !grow(table))
        return NULL;
    struct pubsub_topic *t = malloc(sizeof *t + name.len);
    if (t == NULL)
        return NULL;
    *t = (struct pubsub_topic){.kind = kind, .name_len = name.len};
    if (name.len > 0)
        memcpy(t->name, name.data, name.len);
    struct pubsub_topic **bucket = bucket_of(table, name);
    t->next = *bucket;
    *bucket = t;
    list_init(&t->subscriptions);
    list_append(&table->all, &t->in_all);
    table->n++;
    return t;
}

static void topic_free_if_unused(struct pubsub_table *table, struct pubsub_topic *t)
{
    if (t->n > 0)
        return;
    struct pubsub_topic **link = bucket_of(table, topic_name(t));
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    list_remove(&t->in_all);
    table->n--;
    free(t);
}

/* ---- the two sides ---- */

/* The subscription, or NULL. */
static struct subscription *find(const struct pubsub_topic *t, const struct conn *conn)
{
    const struct pubsub_list *list = &conn->subscriptions[t->kind];
    if (list->n == 0)
        return NULL;
    bool by_conn = list->n < t->n;
    const struct link *all = by_conn ? &list->all : &t->subscriptions;
    for (struct link *l = all->next; l != all; l = l->next) {
        struct subscription *s = by_conn ? LIST_ITEM(l, struct subscription, in_conn)
                                         : LIST_ITEM(l, struct subscription, in_topic);
        if (s->topic == t && s->conn == conn)
            return s;
    }
    return NULL;
}

bool pubsub_add(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind,
                struct yn_bytes name)
{
    struct pubsub_table *table = &pubsub->tables[kind];
    struct pubsub_list *list = &conn->subscriptions[kind];
    struct pubsub_topic *t = topic_find(table, name);
    if (t != NULL && find(t, conn) != NULL)
        return true;
    if (t == NULL && (t = topic_new(table, kind, name)) == NULL)
        return false;
    struct subscription *s = malloc(sizeof *s);
    if (s == NULL) {
        topic_free_if_unused(table, t);
        return false;
    }
    s->topic = t;
    s->conn = conn;
    if (list->n++ == 0)
        list_init(&list->all);
    list_append(&list->all, &s->in_conn);
    list_append(&t->subscriptions, &s->in_topic);
    t->n++;
    return true;
}

static void end_subscription(struct pubsub *pubsub, struct subscription *s)
{
    struct pubsub_topic *t = s->topic;
    list_remove(&s->in_conn);
    list_remove(&s->in_topic);
    s->conn->subscriptions[t->kind].n--;
    t->n--;
    free(s);
    topic_free_if_unused(&pubsub->tables[t->kind], t);
}

bool pubsub_remove(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind,
                   struct yn_bytes name)
{
    const struct pubsub_topic *t = topic_find(&pubsub->tables[kind], name);
    struct subscription *s = t != NULL ? find(t, conn) : NULL;
    if (s == NULL)
        return false;
    end_subscription(pubsub, s);
    return true;
}

struct yn_bytes pubsub_first(const struct pubsub_list *list)
{
    return topic_name(LIST_ITEM(list->all.next, struct subscription, in_conn)->topic);
}

void pubsub_remove_first(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind)
{
    struct link *first = conn->subscriptions[kind].all.next;
    end_subscription(pubsub, LIST_ITEM(first, struct subscription, in_conn));
}

void pubsub_forget(struct pubsub *pubsub, struct conn *conn)
{
    for (int kind = 0; kind < PUBSUB_KINDS; kind++) {
        while (conn->subscriptions[kind].n > 0)
            pubsub_remove_first(pubsub, conn, (enum pubsub_kind)kind);
    }
}

/* ---- messages ---- */

static void write_text(struct yn_buf *out, const char *text)
{
    yn_write_bulk(out, (struct yn_bytes){text, strlen(text)});
}

static void send_to_all(const struct pubsub_topic *t, struct yn_bytes channel,
                        struct yn_bytes message)
{
    static const char *const verbs[PUBSUB_KINDS] = {"message", "pmessage", "smessage"};
    const struct link *all = &t->subscriptions;
    bool by_pattern = t->kind == PUBSUB_PATTERN;
    for (const struct link *l = all->next; l != all; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct subscription, in_topic)->conn;
        struct yn_buf *out = conn_push(conn);
        yn_write_push(out, conn->resp, by_pattern ? 4 : 3);
        write_text(out, verbs[t->kind]);
        if (by_pattern)
            yn_write_bulk(out, topic_name(t));
        yn_write_bulk(out, channel);
        yn_write_bulk(out, message);
        conn_pushed(conn);
    }
}

size_t pubsub_publish(struct pubsub *pubsub, enum pubsub_kind kind,
                      struct yn_bytes channel, struct yn_bytes message)
{
    size_t n = 0;
    const struct pubsub_topic *t = topic_find(&pubsub->tables[kind], channel);
    if (t != NULL) {
        send_to_all(t, channel, message);
        n += t->n;
    }
    if (kind != PUBSUB_CHANNEL)
        return n;
    struct link *all = &pubsub->tables[PUBSUB_PATTERN].all;
    for (struct link *l = all->next; l != all; l = l->next) {
        t = LIST_ITEM(l, struct pubsub_topic, in_all);
        if (glob_matches(topic_name(t), channel)) {
            send_to_all(t, channel, message);
            n += t->n;
        }
    }
    return n;
}

/* ---- figures ---- */

size_t pubsub_n_subscribers(const struct pubsub *pubsub, enum pubsub_kind kind,
                            struct yn_bytes name)
{
    const struct pubsub_topic *t = topic_find(&pubsub->tables[kind], name);
    return t != NULL ? t->n : 0;
}

void pubsub_visit(const struct pubsub *pubsub, enum pubsub_kind kind,
                  pubsub_name_fn visit, void *ctx)
{
    const struct link *all = &pubsub->tables[kind].all;
    for (const struct link *l = all->next; l != all; l = l->next)
        visit(ctx, topic_name(LIST_ITEM(l, struct pubsub_topic, in_all)));
}
