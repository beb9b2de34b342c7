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
    size_t used; /* bytes taken and not given back; see yn_mem_used */
};

/* options may be NULL: malloc and free. */
void yn_mem_init(struct yn_mem *mem, const struct yn_options *options);
void *yn_mem_take(struct yn_mem *mem, size_t size); /* NULL: out of memory */
void yn_mem_give(struct yn_mem *mem, void *block, size_t size);
/* Counts so many bytes as given back, since somebody else will free the blocks. */
void yn_mem_forget(struct yn_mem *mem, size_t size);

/* Bytes taken and not given back. May be asked while another thread takes and gives:
 * views are made and freed beside readers. */
static inline size_t yn_mem_used(const struct yn_mem *mem)
{
    return __atomic_load_n(&mem->used, __ATOMIC_RELAXED);
}

/* A growing array of fixed-size elements outside any count. Doubles its capacity; returns
 * false, array unchanged, when memory is out. */
bool yn_mem_grow(const struct yn_allocator *hook, void **array, size_t *cap,
                 size_t n_wanted, size_t element_size);

#endif
