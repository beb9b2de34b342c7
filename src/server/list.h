/*
 * list.h: an intrusive, circular, doubly linked list, nothing more.
 *
 * A list is a struct link that is its own neighbour when empty. An item embeds a
 * link; LIST_ITEM gets back from the link to the item. Removing is O(1) and
 * leaves the link empty, so removing twice is harmless.
 */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>

struct link {
    struct link *prev, *next;
};

#define LIST_ITEM(link_ptr, type, member) \
    ((type *)(void *)((char *)(link_ptr)-offsetof(type, member)))

static inline void list_init(struct link *list)
{
    list->prev = list->next = list;
}

static inline bool list_is_empty(const struct link *list)
{
    return list->next == list;
}

static inline void list_append(struct link *list, struct link *item)
{
    item->prev = list->prev;
    item->next = list;
    list->prev->next = item;
    list->prev = item;
}

static inline void list_remove(struct link *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

/* Moves everything from one list to the (empty) other. */
static inline void list_move_all(struct link *from, struct link *to)
{
    list_init(to);
    if (list_is_empty(from))
        return;
    to->next = from->next;
    to->prev = from->prev;
    to->next->prev = to;
    to->prev->next = to;
    list_init(from);
}

#endif
