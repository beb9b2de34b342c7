#include "server/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Sanitizer builds bring an allocator of their own: then libc's figures must do. */
#ifndef YN_HAVE_JEMALLOC
#define YN_HAVE_JEMALLOC 0
#endif

#if YN_HAVE_JEMALLOC

#include <jemalloc/jemalloc.h>

static size_t jemalloc_figure(const char *name)
{
    size_t value = 0;
    size_t len = sizeof value;
    return mallctl(name, &value, &len, NULL, 0) == 0 ? value : 0;
}

/* jemalloc's figures are snapshots; a new epoch takes a new one. */
static void jemalloc_refresh(void)
{
    uint64_t epoch = 1;
    size_t len = sizeof epoch;
    mallctl("epoch", &epoch, &len, &epoch, len);
}

size_t memory_allocated(void)
{
    jemalloc_refresh();
    return jemalloc_figure("stats.allocated");
}

static void measure_pages(struct memory_figures *figures)
{
    figures->active = jemalloc_figure("stats.active");
    figures->resident = jemalloc_figure("stats.resident");
}

const char *memory_allocator_name(void)
{
    static char name[64];
    const char *version = "";
    size_t len = sizeof version;
    mallctl("version", &version, &len, NULL, 0);
    int digits = 0;
    while (version[digits] != '\0' && version[digits] != '-')
        digits++;
    snprintf(name, sizeof name, "jemalloc-%.*s", digits, version);
    return name;
}

#else

size_t memory_allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void measure_pages(struct memory_figures *figures)
{
    struct mallinfo2 info = mallinfo2();
    figures->active = figures->resident = info.arena + info.hblkhd;
}

const char *memory_allocator_name(void)
{
    return "libc";
}

#endif

static size_t resident_set(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    char *end;
    strtoul(text, &end, 10);
    return strtoul(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

struct memory_figures memory_measure(void)
{
    struct memory_figures figures = {.allocated = memory_allocated(),
                                     .rss = resident_set()};
    measure_pages(&figures);
    return figures;
}

size_t memory_of_machine(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}
