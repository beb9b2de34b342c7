/*
 * due.h: what is due next: a heap of (time, owner).
 *
 * Each owner is told the number of its slot whenever it moves (the place function),
 * so that it can be changed or removed in O(log n). Slots live in chunks of fixed
 * size: the heap grows without copying.
 */
#ifndef DUE_H
#define DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct due_slot {
    int64_t at_ms;
    void *owner;
};

/* Times go up to 2^63, and there are many of them. */
__extension__ typedef __int128 due_sum;

typedef void (*due_place_fn)(void *owner, size_t slot);

struct due_heap {
    struct due_slot **chunks;
    size_t n_chunks;
    size_t n;
    due_sum sum_ms; /* of all times */
    due_place_fn place;
};

void due_init(struct due_heap *heap, due_place_fn place);
void due_clear(struct due_heap *heap);
/* Frees some of the memory of a heap that is not used any more, about 256 KB a call.
 * Returns true when all is freed. */
bool due_free_some(struct due_heap *heap);
/* Adds an owner. Returns false when out of memory. */
bool due_add(struct due_heap *heap, int64_t at_ms, void *owner);
void due_remove(struct due_heap *heap, size_t slot);
void due_change(struct due_heap *heap, size_t slot, int64_t at_ms);
int64_t due_at_ms(const struct due_heap *heap, size_t slot);
/* The owner that is due first, or NULL when there is none or it is due after now_ms. */
void *due_first(const struct due_heap *heap, int64_t now_ms);
/* How far ahead the times are on average; 0 when there are none, or they have passed. */
int64_t due_mean_left_ms(const struct due_heap *heap, int64_t now_ms);
/* For tests: who has a slot; NULL or what is wrong with the order. */
const void *due_owner(const struct due_heap *heap, size_t slot);
const char *due_check(const struct due_heap *heap);

#endif
