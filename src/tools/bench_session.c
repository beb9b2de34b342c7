#include "tools/bench_session.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLEET_MIN 1000u
#define FLEET_MAX 4000000u
#define WORDS_MAX 64

volatile sig_atomic_t bench_session_is_interrupted;

double bench_session_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

char *bench_session_put_sizes(const struct bench_session *session, const char *text)
{
    uint64_t n_points = session->report.n_points, fleet = n_points / 5;
    fleet = fleet < FLEET_MIN ? FLEET_MIN : fleet > FLEET_MAX ? FLEET_MAX : fleet;
    char *out = malloc(strlen(text) * 12 + 1), *to = out;
    for (const char *p = text; out != NULL && *p != '\0'; p++) {
        if (p[0] == '@' && (p[1] == 'N' || p[1] == 'F')) {
            to += sprintf(to, "%" PRIu64, p[1] == 'N' ? n_points : fleet);
            p++;
        } else {
            *to++ = *p;
        }
    }
    if (out != NULL)
        *to = '\0';
    return out;
}

bool bench_session_open_template(const struct bench_session *session, const char *command,
                                 const char *more, struct bench_template *template,
                                 char **out_text)
{
    char *words[WORDS_MAX];
    int n = 0;
    size_t size = strlen(command) + (more != NULL ? strlen(more) : 0) + 2;
    char *text = *out_text = malloc(size), *rest = NULL;
    if (text == NULL)
        return false;
    snprintf(text, size, "%s %s", command, more != NULL ? more : "");
    for (char *word = strtok_r(text, " ", &rest); word != NULL && n < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    return bench_template_open(template, n, words, session->places);
}

bool bench_session_fill_ring(const struct bench_session *session,
                             struct bench_result *result, const char *command,
                             const char *more, uint64_t seed, unsigned part, uint64_t n,
                             struct bench_ring *ring)
{
    struct bench_template template = {0};
    char *sized = bench_session_put_sizes(session, command), *text = NULL;
    unsigned pipeline = seed == BENCH_SEED_MEASURE ? result->row->pipeline : 1;
    bool is_fine = sized != NULL &&
                   bench_session_open_template(session, sized, more, &template, &text) &&
                   bench_ring_fill(ring, &template, seed, part, n, pipeline);
    if (!is_fine)
        bench_session_fail(result, "%s",
                           template.error[0] != '\0' ? template.error : "out of memory");
    bench_template_close(&template);
    free(text);
    free(sized);
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
