/*
 * memory.h: how much memory the process uses, as the allocator and the kernel see it.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

struct memory_figures {
    size_t allocated; /* bytes handed out by the allocator */
    size_t active;    /* bytes of pages that hold them */
    size_t resident;  /* bytes the allocator has mapped and touched */
    size_t rss;       /* resident set of the process */
};

struct memory_figures memory_measure(void);
/* The cheap part of it: bytes handed out by the allocator. */
size_t memory_allocated(void);
/* Gives back what the allocator keeps for the calling thread's next allocations, which
 * will be none for a while. */
void memory_flush_thread(void);
/* Gives pages that are free back to the kernel, all of them. */
void memory_purge(void);
/* What the allocator says about itself; to be freed by free(). NULL: nothing, or no
 * memory. */
char *memory_report(void);
/* "jemalloc-5.3.0", "libc". Borrowed for ever. */
const char *memory_allocator_name(void);
/* Bytes of memory of the machine. */
size_t memory_of_machine(void);

#endif
