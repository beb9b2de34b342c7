/*
 * notify.h: keyspace notifications: messages to channels about what happens to keys.
 *
 * An event ("zadd", "del", "expired") belongs to a class. The option
 * notify-keyspace-events chooses classes, and K (messages to __keyspace@<db>__:<key>
 * that name the event), E (messages to __keyevent@<db>__:<event> that name the key), or
 * both. Without K or E nothing is sent.
 */
#ifndef NOTIFY_H
#define NOTIFY_H

#include "core/buf.h"
#include "server/pubsub.h"

/* The classes by their letters. ALL is what the letter A stands for: without n and m. */
enum notify_class {
    NOTIFY_GENERIC = 1 << 0, /* g */
    NOTIFY_STRING = 1 << 1,  /* $ */
    NOTIFY_LIST = 1 << 2,    /* l; these are of types that are not here */
    NOTIFY_SET = 1 << 3,     /* s */
    NOTIFY_HASH = 1 << 4,    /* h */
    NOTIFY_ZSET = 1 << 5,    /* z */
    NOTIFY_EXPIRED = 1 << 6, /* x */
    NOTIFY_EVICTED = 1 << 7, /* e */
    NOTIFY_STREAM = 1 << 8,  /* t */
    NOTIFY_MODULE = 1 << 9,  /* d */
    NOTIFY_ALL = (1 << 10) - 1,
    NOTIFY_NEW = 1 << 10,      /* n: a key that was not there */
    NOTIFY_KEYSPACE = 1 << 11, /* K */
    NOTIFY_KEYEVENT = 1 << 12, /* E */
    NOTIFY_MISS = 1 << 13,     /* m: a key that was read and is not there */
};

/* Reads letters. Returns false when one is unknown. */
bool notify_parse(struct yn_bytes text, int64_t *out_classes);
/* Appends the letters, in one fixed order. */
void notify_format(int64_t classes, struct yn_buf *out);

/* Sends what the chosen classes want to be sent about the event. */
void notify_event(struct pubsub *pubsub, int64_t chosen, const char *event, size_t db,
                  struct yn_bytes key);

#endif
