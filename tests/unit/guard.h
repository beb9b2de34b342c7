/*
 * guard.h: memory between two unreadable pages, so that a read past the end of an input,
 * or before its start, stops the test.
 */
#ifndef GUARD_H
#define GUARD_H

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
    char *base;
    size_t len; /* readable bytes, whole pages */
};

static inline size_t guard_page_len(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static inline struct guard guard_new(size_t len)
{
    size_t page = guard_page_len();
    struct guard guard = {NULL, (len + page - 1) / page * page};
    char *start = mmap(NULL, guard.len + 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(start != MAP_FAILED);
    guard.base = start + page;
    int failed = mprotect(start, page, PROT_NONE) |
                 mprotect(guard.base + guard.len, page, PROT_NONE);
    assert(failed == 0);
    (void)failed;
    return guard;
}

static inline void guard_free(struct guard *guard)
{
    munmap(guard->base - guard_page_len(), guard->len + 2 * guard_page_len());
    guard->base = NULL;
}

/* Where `len` bytes have to start so that they end the guarded memory. */
static inline char *guard_tail(const struct guard *guard, size_t len)
{
    assert(len <= guard->len);
    return guard->base + guard->len - len;
}

/* Copies bytes to the end of the guarded memory. */
static inline char *guard_put(struct guard *guard, const char *bytes, size_t len)
{
    char *to = guard_tail(guard, len);
    if (len > 0)
        memcpy(to, bytes, len);
    return to;
}

#endif
