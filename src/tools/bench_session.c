#include "tools/bench_session.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

volatile sig_atomic_t bench_session_is_interrupted;

double bench_session_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool bench_session_fill_ring(const struct bench_session *session,
                             struct bench_result *result,
                             const struct bench_requests *requests,
                             struct bench_ring *ring)
{
    struct bench_template template = {0};
    char *text = NULL;
    unsigned pipeline = requests->seed == BENCH_SEED_MEASURE ? result->row->pipeline : 1;
    bool is_fine = bench_fill_open(&session->fill, &template, requests->command,
                                   requests->more, &text) &&
                   bench_ring_fill(ring, &template, requests->seed, requests->part,
                                   requests->n, pipeline);
    if (!is_fine)
        bench_session_fail(result, "%s",
                           template.error[0] != '\0' ? template.error : "out of memory");
    bench_template_close(&template);
    free(text);
    return is_fine;
}

const char *bench_session_command(const struct bench_session *session,
                                  const struct bench_row *row, int side)
{
    bool is_other = side == BENCH_THEIRS && row->their_command != NULL;
    return is_other && !session->is_baseline ? row->their_command : row->command;
}

bool bench_session_fail(struct bench_result *result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(result->reason, sizeof result->reason, format, args);
    va_end(args);
    result->outcome = BENCH_FAILED;
    return false;
}
