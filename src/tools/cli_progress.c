#include "tools/cli_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 30
#define TERMINAL_EVERY_S 0.1
#define LINE_EVERY_S 5.0

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void cli_progress_init(struct cli_progress *progress, uint64_t bytes_total, bool is_off)
{
    memset(progress, 0, sizeof *progress);
    progress->is_off = is_off;
    progress->is_terminal = isatty(STDERR_FILENO) != 0;
    progress->bytes_total = bytes_total;
    progress->start_s = now_s();
    progress->next_s =
        progress->start_s + (progress->is_terminal ? TERMINAL_EVERY_S : LINE_EVERY_S);
}

double cli_progress_seconds(const struct cli_progress *progress)
{
    return now_s() - progress->start_s;
}

const char *cli_progress_count(uint64_t count, char out_text[CLI_PROGRESS_COUNT_MAX])
{
    char digits[CLI_PROGRESS_COUNT_MAX];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *to = out_text;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return out_text;
}

static void print_bar(double share)
{
    int filled = (int)(share * BAR_WIDTH);
    fputc('[', stderr);
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < filled ? '=' : i == filled ? '>' : ' ', stderr);
    fprintf(stderr, "] %3.0f %%  ", share * 100);
}

void cli_progress_show(struct cli_progress *progress, uint64_t bytes, uint64_t rows)
{
    double now = now_s();
    if (progress->is_off || now < progress->next_s)
        return;
    char count[CLI_PROGRESS_COUNT_MAX], rate[CLI_PROGRESS_COUNT_MAX];
    cli_progress_count(rows, count);
    cli_progress_count((uint64_t)((double)rows / (now - progress->start_s)), rate);
    /* a file may grow while it is read */
    double share =
        progress->bytes_total > 0 ? (double)bytes / (double)progress->bytes_total : 0;
    if (share > 1)
        share = 1;

    if (progress->is_terminal) {
        fputs("\r\033[K", stderr);
        if (progress->bytes_total > 0)
            print_bar(share);
        fprintf(stderr, "%s rows  %s rows/s", count, rate);
        progress->is_drawn = true;
        progress->next_s = now + TERMINAL_EVERY_S;
    } else {
        fprintf(stderr, "%s rows", count);
        if (progress->bytes_total > 0)
            fprintf(stderr, " (%.0f %%)", share * 100);
        fprintf(stderr, ", %s rows/s\n", rate);
        progress->next_s = now + LINE_EVERY_S;
    }
    fflush(stderr);
}

void cli_progress_wipe(struct cli_progress *progress)
{
    if (progress->is_drawn)
        fputs("\r\033[K", stderr);
    progress->is_drawn = false;
}
