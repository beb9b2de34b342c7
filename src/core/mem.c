#include "core/mem.h"

#include <stdlib.h>
#include <string.h>

/* Blocks that are read in whole cache lines start at one. */
#define LINE 64
#define ALIGNED_FROM 2048

static void *malloc_hook(void *ctx, size_t size)
{
    (void)ctx;
    if (size < ALIGNED_FROM || size % LINE != 0)
        return malloc(size);
    return aligned_alloc(LINE, size);
}

static void free_hook(void *ctx, void *block, size_t size)
{
    (void)ctx;
    (void)size;
    free(block);
}

static const struct yn_allocator libc_allocator = {malloc_hook, free_hook, NULL};

void yn_mem_init(struct yn_mem *mem, const struct yn_options *options)
{
    mem->hook = options != NULL && options->allocator != NULL ? options->allocator
                                                              : &libc_allocator;
    mem->used = 0;
}

/* One thread at a time takes and gives, so that this need not be one step. */
static void set_used(struct yn_mem *mem, size_t used)
{
    __atomic_store_n(&mem->used, used, __ATOMIC_RELAXED);
}

void *yn_mem_take(struct yn_mem *mem, size_t size)
{
    void *block = mem->hook->alloc(mem->hook->ctx, size);
    if (block != NULL)
        set_used(mem, mem->used + size);
    return block;
}

void yn_mem_give(struct yn_mem *mem, void *block, size_t size)
{
    if (block == NULL)
        return;
    set_used(mem, mem->used - size);
    mem->hook->free(mem->hook->ctx, block, size);
}

void yn_mem_forget(struct yn_mem *mem, size_t size)
{
    set_used(mem, mem->used - size);
}

bool yn_mem_grow(const struct yn_allocator *hook, void **array, size_t *cap,
                 size_t n_wanted, size_t element_size)
{
    if (n_wanted <= *cap)
        return true;
    size_t new_cap = *cap < 16 ? 16 : *cap * 2;
    if (new_cap < n_wanted)
        new_cap = n_wanted;
    if (new_cap > SIZE_MAX / element_size)
        return false;
    void *block = hook->alloc(hook->ctx, new_cap * element_size);
    if (block == NULL)
        return false;
    if (*array != NULL) {
        memcpy(block, *array, *cap * element_size);
        hook->free(hook->ctx, *array, *cap * element_size);
    }
    *array = block;
    *cap = new_cap;
    return true;
}
