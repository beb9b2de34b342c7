/*
 * scarce_heap.h: sets whose memory is counted and may run out. To be included by one file
 * of a program, after cmocka.h.
 */
#ifndef SCARCE_HEAP_H
#define SCARCE_HEAP_H

#include <stdlib.h>

#include "yonder.h"

static struct {
    size_t left;  /* allocations that succeed from now on */
    size_t bytes; /* taken and not given back */
} heap;

static inline void *heap_alloc(void *ctx, size_t size)
{
    (void)ctx;
    if (heap.left == 0)
        return NULL;
    heap.left--;
    heap.bytes += size;
    return malloc(size);
}

static inline void heap_free(void *ctx, void *block, size_t size)
{
    (void)ctx;
    heap.bytes -= size;
    free(block);
}

static const struct yn_allocator heap_hook = {heap_alloc, heap_free, NULL};

/* An empty set, and a heap without end that holds nothing else. */
static inline struct yn_zset *new_set(uint64_t hash_seed)
{
    struct yn_options options = {.allocator = &heap_hook, .hash_seed = hash_seed};
    heap.left = SIZE_MAX;
    heap.bytes = 0;
    struct yn_zset *set = yn_zset_new(&options);
    assert_non_null(set);
    return set;
}

/* Frees the heap's only set. */
static inline void free_set(struct yn_zset *set)
{
    assert_int_equal(yn_zset_memory(set), heap.bytes);
    yn_zset_free(set);
    assert_int_equal(heap.bytes, 0);
}

static inline void assert_sound(const struct yn_zset *set)
{
    const char *wrong = yn_zset_check(set);
    if (wrong != NULL)
        fail_msg("%s", wrong);
}

#endif
