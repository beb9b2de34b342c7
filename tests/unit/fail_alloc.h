/*
 * fail_alloc.h: counts the program's allocations and makes chosen ones fail. To be
 * included by one file of a program that is linked with --wrap=malloc --wrap=realloc
 * --wrap=calloc.
 */
#ifndef FAIL_ALLOC_H
#define FAIL_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

static struct {
    size_t n_calls;
    size_t n_bytes;      /* asked for in total */
    size_t fail_at;      /* the call of this number fails; 0: none */
    bool fails_for_good; /* and all after it */
} allocs;

static inline void allocs_reset(size_t fail_at, bool fails_for_good)
{
    allocs.n_calls = 0;
    allocs.n_bytes = 0;
    allocs.fail_at = fail_at;
    allocs.fails_for_good = fails_for_good;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool alloc_is_refused(size_t size)
{
    allocs.n_calls++;
    allocs.n_bytes += size;
    if (allocs.fail_at == 0 || allocs.n_calls < allocs.fail_at)
        return false;
    return allocs.n_calls == allocs.fail_at || allocs.fails_for_good;
}

void *__wrap_malloc(size_t size)
{
    return alloc_is_refused(size) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return alloc_is_refused(n * size) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return alloc_is_refused(size) ? NULL : __real_realloc(block, size);
}

#endif
