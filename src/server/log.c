#include "server/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

static atomic_int min_level = LOG_LEVEL_NOTICE;
static int log_fd = STDERR_FILENO;

void log_set_level(enum log_level level)
{
    min_level = (int)level;
}

int log_set_file(const char *path)
{
    int fd = STDERR_FILENO;
    if (path[0] != '\0') {
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd < 0)
            return -errno;
    }
    if (log_fd != STDERR_FILENO)
        close(log_fd);
    log_fd = fd;
    return 0;
}

/* A client's bytes can get into a log line (names, addresses): no control characters. */
static void scrub(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            text[i] = '?';
    }
}

void log_line(enum log_level level, const char *format, ...)
{
    static const char *const level_text[] = {"debug", "verbose", "notice", "warning"};
    if ((int)level < min_level)
        return;
    char line[LINE_MAX_BYTES];
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    size_t len = strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S", &local);
    len += (size_t)snprintf(line + len, sizeof line - len,
                            ".%03d [%d] %s: ", (int)(now.tv_nsec / 1000000),
                            (int)getpid(), level_text[level]);
    size_t start = len;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + len, sizeof line - len - 1, format, args);
    va_end(args);
    if (n > 0)
        len += (size_t)n < sizeof line - len - 1 ? (size_t)n : sizeof line - len - 2;
    scrub(line + start, len - start);
    line[len++] = '\n';
    /* A log that cannot be written must not stop the server; there is nobody to tell. */
    ssize_t written = write(log_fd, line, len);
    (void)written;
}
