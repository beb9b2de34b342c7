/*
 * pubsub.h: channels and patterns, and who listens to them.
 *
 * A topic is a channel or a pattern that has subscribers. A subscription stands in two
 * lists, its topic's and its connection's, so that ending it costs the same however many
 * there are; finding it walks the shorter of the two.
 */
#ifndef PUBSUB_H
#define PUBSUB_H

#include "core/buf.h"
#include "server/names.h"

struct conn;

struct pubsub_topic;

/* Sharded channels are names of their own, which patterns do not match. */
enum pubsub_kind { PUBSUB_CHANNEL, PUBSUB_PATTERN, PUBSUB_SHARD };
#define PUBSUB_KINDS 3

struct pubsub {
    struct names topics[PUBSUB_KINDS];
};

/* What one connection listens to, the oldest first. Embedded in the connection; all zero
 * at first. */
struct pubsub_list {
    struct link all; /* initialised by the first subscription */
    size_t n;
};

void pubsub_init(struct pubsub *pubsub, uint64_t hash_seed);
void pubsub_clear(struct pubsub *pubsub);

/* Returns false when out of memory; subscribing twice is fine. */
bool pubsub_add(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind,
                struct yn_bytes name);
/* Returns false when the connection did not listen to it. */
bool pubsub_remove(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind,
                   struct yn_bytes name);
/* Name of the oldest subscription of a list that is not empty; borrowed. */
struct yn_bytes pubsub_first(const struct pubsub_list *list);
/* Ends that subscription. */
void pubsub_remove_first(struct pubsub *pubsub, struct conn *conn, enum pubsub_kind kind);
/* Ends every subscription of the connection. */
void pubsub_forget(struct pubsub *pubsub, struct conn *conn);

/* Whether `test` holds for the names of all subscriptions of a list. */
typedef bool (*pubsub_test_fn)(void *ctx, struct yn_bytes name);
bool pubsub_all(const struct pubsub_list *list, pubsub_test_fn test, void *ctx);

/* Sends the message to everyone who listens to the channel (PUBSUB_CHANNEL, and patterns
 * that match it) or to the sharded channel. Returns how many that were. */
size_t pubsub_publish(struct pubsub *pubsub, enum pubsub_kind kind,
                      struct yn_bytes channel, struct yn_bytes message);

/* Subscribers of a topic. */
size_t pubsub_n_subscribers(const struct pubsub *pubsub, enum pubsub_kind kind,
                            struct yn_bytes name);
/* Visits the names of all topics of a kind. */
typedef void (*pubsub_name_fn)(void *ctx, struct yn_bytes name);
void pubsub_visit(const struct pubsub *pubsub, enum pubsub_kind kind,
                  pubsub_name_fn visit, void *ctx);

#endif
