/*
 * mem.h: the memory of one set: the host's allocator and a count of what was taken.
 *
 * Every block is given back with the size it was taken with, so hosts without
 * usable-size calls can count too.
 */
#ifndef YN_MEM_H
#define YN_MEM_H

#include "yonder.h"

struct yn_mem {
    const struct yn_allocator *hook;
    size_t used; /* bytes taken and not given back */
};

/* options may be NULL: malloc and free. */
void yn_mem_init(struct yn_mem *mem, const struct yn_options *options);
void *yn_mem_take(struct yn_mem *mem, size_t size); /* NULL: out of memory */
void yn_mem_give(struct yn_mem *mem, void *block, size_t size);

/* A growing array of fixed-size elements outside any count. Doubles its capacity; returns
 * false, array unchanged, when memory is out. */
bool yn_mem_grow(const struct yn_allocator *hook, void **array, size_t *cap,
                 size_t n_wanted, size_t element_size);

#endif
