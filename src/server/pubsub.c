#include "server/pubsub.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/glob.h"
#include "resp/write.h"
#include "server/conn.h"

struct pubsub_topic {
    struct name name; /* in the table of its kind */
    enum pubsub_kind kind;
    struct link subscriptions;
    size_t n;
    char text[];
};

struct subscription {
    struct link in_topic, in_conn;
    struct pubsub_topic *topic;
    struct conn *conn;
};

static struct pubsub_topic *topic_of(struct name *name)
{
    return name == NULL ? NULL : LIST_ITEM(name, struct pubsub_topic, name);
}

void pubsub_init(struct pubsub *pubsub, uint64_t hash_seed)
{
    for (size_t i = 0; i < PUBSUB_KINDS; i++)
        names_init(&pubsub->topics[i], hash_seed);
}

void pubsub_clear(struct pubsub *pubsub)
{
    /* Topics exist as long as they have subscribers: with the last connection they went.
     */
    for (size_t i = 0; i < PUBSUB_KINDS; i++)
        names_clear(&pubsub->topics[i]);
}

/* ---- topics ---- */

static struct pubsub_topic *topic_find(const struct pubsub *pubsub, enum pubsub_kind kind,
                                       struct yn_bytes name)
{
    return topic_of(names_find(&pubsub->topics[kind], 0, name));
}

static struct pubsub_topic *topic_new(struct pubsub *pubsub, enum pubsub_kind kind,
                                      struct yn_bytes name)
{
    struct pubsub_topic *t = malloc(sizeof *t + name.len);
    if (t == NULL)
        return NULL;
    *t = (struct pubsub_topic){.kind = kind, .name.bytes = {t->text, name.len}};
    if (name.len > 0)
        memcpy(t->text, name.data, name.len);
    list_init(&t->subscriptions);
    if (names_add(&pubsub->topics[kind], &t->name))
        return t;
    free(t);
    return NULL;
}

static void topic_free_if_unused(struct pubsub *pubsub, struct pubsub_topic *t)
{
    if (t->n > 0)
        return;
    names_remove(&pubsub->topics[t->kind], &t->name);
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
    struct pubsub_list *list = &conn->subscriptions[kind];
    struct pubsub_topic *t = topic_find(pubsub, kind, name);
    if (t != NULL && find(t, conn) != NULL)
        return true;
    if (t == NULL && (t = topic_new(pubsub, kind, name)) == NULL)
        return false;
    struct subscription *s = malloc(sizeof *s);
    if (s == NULL) {
        topic_free_if_unused(pubsub, t);
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
    topic_free_if_unused(pubsub, t);
}

bool pubsub_remove(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind,
                   struct yn_bytes name)
{
    const struct pubsub_topic *t = topic_find(pubsub, kind, name);
    struct subscription *s = t != NULL ? find(t, conn) : NULL;
    if (s == NULL)
        return false;
    end_subscription(pubsub, s);
    return true;
}

bool pubsub_all(const struct pubsub_list *list, pubsub_test_fn test, void *ctx)
{
    if (list->n == 0)
        return true;
    for (struct link *l = list->all.next; l != &list->all; l = l->next) {
        if (!test(ctx, LIST_ITEM(l, struct subscription, in_conn)->topic->name.bytes))
            return false;
    }
    return true;
}

struct yn_bytes pubsub_first(const struct pubsub_list *list)
{
    return LIST_ITEM(list->all.next, struct subscription, in_conn)->topic->name.bytes;
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

static void write_message(struct yn_buf *out, int resp, const struct pubsub_topic *t,
                          struct yn_bytes channel, struct yn_bytes message)
{
    static const char *const verbs[PUBSUB_KINDS] = {"message", "pmessage", "smessage"};
    bool by_pattern = t->kind == PUBSUB_PATTERN;
    yn_write_push(out, resp, by_pattern ? 4 : 3);
    yn_write_bulk_text(out, verbs[t->kind]);
    if (by_pattern)
        yn_write_bulk(out, t->name.bytes);
    yn_write_bulk(out, channel);
    yn_write_bulk(out, message);
}

/* The message is written once for each version of the protocol, and copied; if there is
 * no memory for that, once for each subscriber. */
static void send_to_all(const struct pubsub_topic *t, struct yn_bytes channel,
                        struct yn_bytes message)
{
    struct yn_buf wires[2];
    const struct link *all = &t->subscriptions;
    yn_buf_init(&wires[0]);
    yn_buf_init(&wires[1]);
    for (const struct link *l = all->next; l != all; l = l->next) {
        struct conn *conn = LIST_ITEM(l, struct subscription, in_topic)->conn;
        struct yn_buf *out = conn_push(conn), *wire = &wires[conn->resp - 2];
        if (t->n > 1 && wire->len == 0 && !wire->failed)
            write_message(wire, conn->resp, t, channel, message);
        if (t->n > 1 && !wire->failed)
            yn_buf_append(out, wire->data, wire->len);
        else
            write_message(out, conn->resp, t, channel, message);
        conn_pushed(conn);
    }
    yn_buf_clear(&wires[0]);
    yn_buf_clear(&wires[1]);
}

size_t pubsub_publish(struct pubsub *pubsub, enum pubsub_kind kind,
                      struct yn_bytes channel, struct yn_bytes message)
{
    size_t n = 0;
    const struct pubsub_topic *t = topic_find(pubsub, kind, channel);
    if (t != NULL) {
        send_to_all(t, channel, message);
        n += t->n;
    }
    if (kind != PUBSUB_CHANNEL)
        return n;
    struct link *all = &pubsub->topics[PUBSUB_PATTERN].all;
    for (struct link *l = all->next; l != all; l = l->next) {
        t = topic_of(NAME_OF(l));
        if (glob_matches(t->name.bytes, channel)) {
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
    const struct pubsub_topic *t = topic_find(pubsub, kind, name);
    return t != NULL ? t->n : 0;
}

void pubsub_visit(const struct pubsub *pubsub, enum pubsub_kind kind,
                  pubsub_name_fn visit, void *ctx)
{
    const struct link *all = &pubsub->topics[kind].all;
    for (const struct link *l = all->next; l != all; l = l->next)
        visit(ctx, NAME_OF(l)->bytes);
}
