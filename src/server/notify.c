#include "server/notify.h"

#include <stdio.h>
#include <string.h>

static const struct {
    char letter;
    int64_t classes;
} letters[] = {
    /* in the order in which they are printed */
    {'A', NOTIFY_ALL},      {'g', NOTIFY_GENERIC},  {'$', NOTIFY_STRING},
    {'l', NOTIFY_LIST},     {'s', NOTIFY_SET},      {'h', NOTIFY_HASH},
    {'z', NOTIFY_ZSET},     {'x', NOTIFY_EXPIRED},  {'e', NOTIFY_EVICTED},
    {'t', NOTIFY_STREAM},   {'d', NOTIFY_MODULE},   {'n', NOTIFY_NEW},
    {'K', NOTIFY_KEYSPACE}, {'E', NOTIFY_KEYEVENT}, {'m', NOTIFY_MISS},
};
#define N_LETTERS (sizeof letters / sizeof letters[0])

bool notify_parse(struct yn_bytes text, int64_t *out_classes)
{
    int64_t classes = 0;
    for (size_t i = 0; i < text.len; i++) {
        size_t k = 0;
        while (k < N_LETTERS && letters[k].letter != text.data[i])
            k++;
        if (k == N_LETTERS)
            return false;
        classes |= letters[k].classes;
    }
    *out_classes = classes;
    return true;
}

void notify_format(int64_t classes, struct yn_buf *out)
{
    /* Behind an A the other classes are not listed, n neither: as Redis prints it. */
    const int64_t classes_of_keys = NOTIFY_ALL | NOTIFY_NEW;
    bool has_all = (classes & NOTIFY_ALL) == NOTIFY_ALL;
    for (size_t i = 0; i < N_LETTERS; i++) {
        bool is_all = letters[i].letter == 'A';
        bool is_class = !is_all && (letters[i].classes & classes_of_keys) != 0;
        if (is_all ? has_all
                   : (classes & letters[i].classes) != 0 && !(is_class && has_all))
            yn_buf_append(out, &letters[i].letter, 1);
    }
}

/* Events of the keys as such; others are named for the type of the value. */
static const struct {
    const char *event;
    int64_t class;
} events[] = {
    {"del", NOTIFY_GENERIC},         {"expire", NOTIFY_GENERIC},
    {"persist", NOTIFY_GENERIC},     {"rename_from", NOTIFY_GENERIC},
    {"rename_to", NOTIFY_GENERIC},   {"move_from", NOTIFY_GENERIC},
    {"move_to", NOTIFY_GENERIC},     {"copy_to", NOTIFY_GENERIC},
    {"restore", NOTIFY_GENERIC},     {"expired", NOTIFY_EXPIRED},
    {"evicted", NOTIFY_EVICTED},     {"new", NOTIFY_NEW},
    {"keymiss", NOTIFY_MISS},        {"geosearchstore", NOTIFY_ZSET},
    {"georadiusstore", NOTIFY_ZSET},
};

static int64_t class_of(const char *event)
{
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (strcmp(event, events[i].event) == 0)
            return events[i].class;
    }
    return event[0] == 'z' ? NOTIFY_ZSET : NOTIFY_STRING;
}

/* Publishes on the channel "__<kind>@<db>__:<name>". */
static void publish(struct pubsub *pubsub, const char *kind, size_t db,
                    struct yn_bytes name, struct yn_bytes message)
{
    char head[48];
    int head_len = snprintf(head, sizeof head, "__%s@%zu__:", kind, db);
    struct yn_buf channel;
    yn_buf_init(&channel);
    yn_buf_append(&channel, head, (size_t)head_len);
    yn_buf_append(&channel, name.data, name.len);
    if (!channel.failed) /* without memory nobody hears of it */
        pubsub_publish(pubsub, PUBSUB_CHANNEL,
                       (struct yn_bytes){channel.data, channel.len}, message);
    yn_buf_clear(&channel);
}

void notify_event(struct pubsub *pubsub, int64_t chosen, const char *event, size_t db,
                  struct yn_bytes key)
{
    if ((chosen & (NOTIFY_KEYSPACE | NOTIFY_KEYEVENT)) == 0 ||
        (chosen & class_of(event)) == 0)
        return;
    struct yn_bytes name = {event, strlen(event)};
    if ((chosen & NOTIFY_KEYSPACE) != 0)
        publish(pubsub, "keyspace", db, key, name);
    if ((chosen & NOTIFY_KEYEVENT) != 0)
        publish(pubsub, "keyevent", db, name, key);
}
