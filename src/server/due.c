#include "server/due.h"

#include <stdlib.h>

#define CHUNK_SLOTS 4096

static struct due_slot *slot_at(const struct due_heap *heap, size_t i)
{
    return &heap->chunks[i / CHUNK_SLOTS][i % CHUNK_SLOTS];
}

static void put(struct due_heap *heap, size_t i, struct due_slot value)
{
    *slot_at(heap, i) = value;
    heap->place(value.owner, i);
}

void due_init(struct due_heap *heap, due_place_fn place)
{
    *heap = (struct due_heap){.place = place};
}

void due_clear(struct due_heap *heap)
{
    for (size_t i = 0; i < heap->n_chunks; i++)
        free(heap->chunks[i]);
    free(heap->chunks);
    due_init(heap, heap->place);
}

static void sift_up(struct due_heap *heap, size_t i, struct due_slot value)
{
    while (i > 0) {
        struct due_slot parent = *slot_at(heap, (i - 1) / 2);
        if (parent.at_ms <= value.at_ms)
            break;
        put(heap, i, parent);
        i = (i - 1) / 2;
    }
    put(heap, i, value);
}

static void sift_down(struct due_heap *heap, size_t i, struct due_slot value)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->n)
            break;
        if (child + 1 < heap->n &&
            slot_at(heap, child + 1)->at_ms < slot_at(heap, child)->at_ms)
            child++;
        struct due_slot lower = *slot_at(heap, child);
        if (value.at_ms <= lower.at_ms)
            break;
        put(heap, i, lower);
        i = child;
    }
    put(heap, i, value);
}

static bool add_chunk(struct due_heap *heap)
{
    struct due_slot **chunks =
        realloc(heap->chunks, (heap->n_chunks + 1) * sizeof(struct due_slot *));
    if (chunks == NULL)
        return false;
    heap->chunks = chunks;
    chunks[heap->n_chunks] = malloc(CHUNK_SLOTS * sizeof(struct due_slot));
    if (chunks[heap->n_chunks] == NULL)
        return false;
    heap->n_chunks++;
    return true;
}

bool due_add(struct due_heap *heap, int64_t at_ms, void *owner)
{
    if (heap->n == heap->n_chunks * CHUNK_SLOTS && !add_chunk(heap))
        return false;
    heap->n++;
    sift_up(heap, heap->n - 1, (struct due_slot){at_ms, owner});
    return true;
}

/* Puts a value into slot i, wherever it has to go from there. */
static void settle(struct due_heap *heap, size_t i, struct due_slot value)
{
    if (i > 0 && slot_at(heap, (i - 1) / 2)->at_ms > value.at_ms)
        sift_up(heap, i, value);
    else
        sift_down(heap, i, value);
}

void due_remove(struct due_heap *heap, size_t slot)
{
    struct due_slot last = *slot_at(heap, heap->n - 1);
    heap->n--;
    if (slot < heap->n)
        settle(heap, slot, last);
    /* One spare chunk is kept, so that a heap at the border does not allocate each time.
     */
    while (heap->n_chunks * CHUNK_SLOTS >= heap->n + 2 * CHUNK_SLOTS)
        free(heap->chunks[--heap->n_chunks]);
}

void due_change(struct due_heap *heap, size_t slot, int64_t at_ms)
{
    settle(heap, slot, (struct due_slot){at_ms, slot_at(heap, slot)->owner});
}

int64_t due_at_ms(const struct due_heap *heap, size_t slot)
{
    return slot_at(heap, slot)->at_ms;
}

void *due_first(const struct due_heap *heap, int64_t now_ms)
{
    if (heap->n == 0 || slot_at(heap, 0)->at_ms > now_ms)
        return NULL;
    return slot_at(heap, 0)->owner;
}
