/*
 * log.h: the server's log: one line an event, with a timestamp and a level.
 *
 * There is one log per process (stderr, or the file of `logfile`); a line is one
 * write, so lines of several threads do not mix.
 */
#ifndef LOG_H
#define LOG_H

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_VERBOSE,
    LOG_LEVEL_NOTICE,
    LOG_LEVEL_WARNING
};

/* Lines below this level are dropped. Default: notice. */
void log_set_level(enum log_level level);
/* Sends the log to a file (appended to); "" is stderr. Returns 0 or a negative errno, and
 * then logs on as before. */
int log_set_file(const char *path);

void log_line(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_verbose(...) log_line(LOG_LEVEL_VERBOSE, __VA_ARGS__)
#define log_notice(...) log_line(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)

#endif
