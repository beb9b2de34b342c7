/*
 * due.c: the heap of what is due next.
 *
 * Eight children a node: a removal from the top of five million goes down seven levels
 * rather than twenty-two, and each level costs the write of a slot's number into an owner
 * somewhere in memory. To choose among eight children takes two cache lines, which lie
 * side by side: the array begins PAD slots before the root, so that each group of
 * children starts at a multiple of eight.
 *
 * Rejected: two children (three times the writes to owners); a wheel of time slots
 * (constant time, but cascades that move many owners at once, and nothing in order); no
 * slot numbers at all, with stale slots that are skipped when they come up (a key whose
 * expiry is renewed again and again leaves one each time).
 */
#include "server/due.h"

#include <stdlib.h>

#define CHILDREN 8
#define PAD (CHILDREN - 1)
#define CHUNK_SLOTS 4096
#define CHUNK_ALIGNMENT 64

static struct due_slot *slot_at(const struct due_heap *heap, size_t i)
{
    size_t at = i + PAD;
    return &heap->chunks[at / CHUNK_SLOTS][at % CHUNK_SLOTS];
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

bool due_free_some(struct due_heap *heap)
{
    const size_t max_chunks = 4;
    for (size_t i = 0; i < max_chunks && heap->n_chunks > 0; i++)
        free(heap->chunks[--heap->n_chunks]);
    if (heap->n_chunks > 0)
        return false;
    free(heap->chunks);
    heap->chunks = NULL;
    return true;
}

void due_clear(struct due_heap *heap)
{
    while (!due_free_some(heap))
        continue;
    due_init(heap, heap->place);
}

static void sift_up(struct due_heap *heap, size_t i, struct due_slot value)
{
    while (i > 0) {
        size_t above = (i - 1) / CHILDREN;
        struct due_slot parent = *slot_at(heap, above);
        if (parent.at_ms <= value.at_ms)
            break;
        put(heap, i, parent);
        i = above;
    }
    put(heap, i, value);
}

/* The child that is due first; the node has at least one. */
static size_t first_child(const struct due_heap *heap, size_t i)
{
    size_t first = CHILDREN * i + 1;
    size_t n = heap->n - first < CHILDREN ? heap->n - first : CHILDREN;
    const struct due_slot *children = slot_at(heap, first);
    size_t best = 0;
    for (size_t k = 1; k < n; k++) {
        if (children[k].at_ms < children[best].at_ms)
            best = k;
    }
    return first + best;
}

static void sift_down(struct due_heap *heap, size_t i, struct due_slot value)
{
    while (CHILDREN * i + 1 < heap->n) {
        size_t child = first_child(heap, i);
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
    chunks[heap->n_chunks] =
        aligned_alloc(CHUNK_ALIGNMENT, CHUNK_SLOTS * sizeof(struct due_slot));
    if (chunks[heap->n_chunks] == NULL)
        return false;
    heap->n_chunks++;
    return true;
}

bool due_add(struct due_heap *heap, int64_t at_ms, void *owner)
{
    if (heap->n + PAD >= heap->n_chunks * CHUNK_SLOTS && !add_chunk(heap))
        return false;
    heap->n++;
    heap->sum_ms += (due_sum)at_ms;
    sift_up(heap, heap->n - 1, (struct due_slot){at_ms, owner});
    return true;
}

/* Puts a value into slot i, wherever it has to go from there. */
static void settle(struct due_heap *heap, size_t i, struct due_slot value)
{
    if (i > 0 && slot_at(heap, (i - 1) / CHILDREN)->at_ms > value.at_ms)
        sift_up(heap, i, value);
    else
        sift_down(heap, i, value);
}

void due_remove(struct due_heap *heap, size_t slot)
{
    struct due_slot last = *slot_at(heap, heap->n - 1);
    heap->sum_ms -= (due_sum)slot_at(heap, slot)->at_ms;
    heap->n--;
    if (slot < heap->n)
        settle(heap, slot, last);
    /* One spare chunk is kept, so that a heap at the border does not allocate each time.
     */
    while (heap->n_chunks * CHUNK_SLOTS >= heap->n + PAD + 2 * CHUNK_SLOTS)
        free(heap->chunks[--heap->n_chunks]);
}

void due_change(struct due_heap *heap, size_t slot, int64_t at_ms)
{
    heap->sum_ms += (due_sum)at_ms - (due_sum)slot_at(heap, slot)->at_ms;
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

int64_t due_mean_left_ms(const struct due_heap *heap, int64_t now_ms)
{
    if (heap->n == 0)
        return 0;
    due_sum left_ms = heap->sum_ms - (due_sum)now_ms * (due_sum)heap->n;
    return left_ms > 0 ? (int64_t)(left_ms / (due_sum)heap->n) : 0;
}

const void *due_owner(const struct due_heap *heap, size_t slot)
{
    return slot_at(heap, slot)->owner;
}

const char *due_check(const struct due_heap *heap)
{
    due_sum sum_ms = 0;
    for (size_t i = 0; i < heap->n; i++) {
        sum_ms += (due_sum)due_at_ms(heap, i);
        if (i > 0 && due_at_ms(heap, (i - 1) / CHILDREN) > due_at_ms(heap, i))
            return "heap out of order";
    }
    return sum_ms == heap->sum_ms ? NULL : "wrong sum of times in the heap";
}
