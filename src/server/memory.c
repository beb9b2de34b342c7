#include "server/memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Sanitizer builds bring an allocator of their own: then libc's figures must do. */
#ifndef YN_HAVE_JEMALLOC
#define YN_HAVE_JEMALLOC 0
#endif

/* The allocator's report about itself is cut off here. */
#define REPORT_MAX ((size_t)256 * 1024)

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

void memory_flush_thread(void)
{
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

void memory_purge(void)
{
    char name[64];
    snprintf(name, sizeof name, "arena.%d.purge", MALLCTL_ARENAS_ALL);
    mallctl(name, NULL, NULL, NULL, 0);
}

struct report {
    char *text;
    size_t len, cap;
};

static void add_to_report(void *ctx, const char *text)
{
    struct report *report = ctx;
    size_t len = strlen(text);
    if (report->len + len >= report->cap)
        len = report->cap - 1 - report->len;
    memcpy(report->text + report->len, text, len);
    report->len += len;
    report->text[report->len] = '\0';
}

char *memory_report(void)
{
    struct report report = {.cap = REPORT_MAX, .text = malloc(REPORT_MAX)};
    if (report.text != NULL) {
        report.text[0] = '\0';
        malloc_stats_print(add_to_report, &report, NULL);
    }
    return report.text;
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

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

/* Of the sanitizers' runtime, whose header gcc's packages do not bring. */
size_t __sanitizer_get_current_allocated_bytes(void);

/* The sanitizers count; libc knows nothing of their blocks. */
size_t memory_allocated(void)
{
    return __sanitizer_get_current_allocated_bytes();
}

#else

size_t memory_allocated(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

#endif

static void measure_pages(struct memory_figures *figures)
{
    struct mallinfo2 info = mallinfo2();
    figures->active = figures->resident = info.arena + info.hblkhd;
}

void memory_flush_thread(void)
{
}

void memory_purge(void)
{
    malloc_trim(0);
}

char *memory_report(void)
{
    return NULL;
}

const char *memory_allocator_name(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return "sanitizer";
#else
    return "libc";
#endif
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
