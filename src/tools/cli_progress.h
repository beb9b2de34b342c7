/*
 * cli_progress.h: how far a long job has come, on standard error: a bar that is drawn
 * anew on a terminal, a line every few seconds elsewhere.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    bool is_off;
    bool is_terminal;
    bool is_drawn;        /* a bar stands on the current line */
    uint64_t bytes_total; /* 0: not known */
    double start_s, next_s;
};

void cli_progress_init(struct cli_progress *progress, uint64_t bytes_total, bool is_off);

/* Shows the state when it is time to; cheap to call often. */
void cli_progress_show(struct cli_progress *progress, uint64_t bytes, uint64_t rows);

/* Wipes the bar, so that other text may follow. */
void cli_progress_wipe(struct cli_progress *progress);

double cli_progress_seconds(const struct cli_progress *progress);

#define CLI_PROGRESS_COUNT_MAX 32
/* Writes "1,234,567" and a NUL; returns out_text. */
const char *cli_progress_count(uint64_t count, char out_text[CLI_PROGRESS_COUNT_MAX]);

#endif
