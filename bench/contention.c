/*
 * How would the server's lock do on more cores than there are at hand?
 *
 * A discrete simulation of threads that run pipelines of requests as the server does: the
 * kernel's work and the parsing with no lock, then runs of reads under the shared lock,
 * given up between two of them when somebody waits, and writes alone. What it counts is
 * what limits such a lock: the time that holders keep others out, and the cache lines
 * that go from core to core, each of which takes line_ns one way:
 *
 *     a reader's mark         comes back to it when a writer has looked at it
 *     the lock's word         goes to the writer; then to each reader, one after the
 * other marks                   go to the writer that looks: some at a time, and the last
 *                             one again when its reader is gone
 *     changed data            N_DATA_LINES, to each who reads after a write
 *
 * The times of requests are measured by bench/threads with one thread; the line is
 * measured here (two threads pass one to and fro) or given. Waits are spent awake: with a
 * core for each thread they are short. docs/threads.md shows the tables, and how well the
 * simulation meets two threads as they were measured.
 *
 *   contention [--line-ns N] [--kernel-ns N] [--parse-ns N] [--read-ns N] [--write-ns N]
 *              [--pipeline N] [--threads N,N...] [--reads PERCENT,PERCENT...]
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/random.h"

#define THREADS_MAX 64
#define LIST_MAX 8
#define N_DATA_LINES 1     /* there are some, but they are fetched side by side */
#define LINES_AT_A_TIME 4  /* that one core fetches side by side */
#define ATOMIC_NS 5        /* an exchange on a line that is there */
#define N_REQUESTS 300000  /* in all, in one simulation */
#define BATCH_MAX 16       /* as the server's */
#define LONG_WAIT_NS 50000 /* from here on a thread would sleep */

struct costs {
    double line_ns, kernel_ns, parse_ns, read_ns, write_ns;
    size_t pipeline;
};

enum state {
    THINKING,
    CHECKING,
    MARKING,
    READING,
    UNMARKING,
    TAKING,
    SCANNING,
    DRAINING,
    WRITING,
    GIVING,
    WAITING
};

struct actor {
    enum state state;
    double at_ns; /* when the state ends; INFINITY: when others say */
    size_t n_left, n_parsed;
    bool is_write;               /* the next request */
    bool is_marked, is_mark_new; /* since a writer has looked */
    bool is_mark_lost, is_word_lost, are_data_lost;
    double waits_since_ns;
};

struct simulation {
    struct costs costs;
    double read_share;
    struct actor actors[THREADS_MAX];
    size_t n;
    struct actor *holder;      /* of the lock, exclusively; or NULL */
    const struct actor *owner; /* of the word's line, as long as nobody else reads it */
    uint64_t random;
    double now_ns, waited_ns;
    size_t n_done, n_waits, n_long;
};

static double draw(struct simulation *s)
{
    return (double)(yn_random_next(&s->random) >> 11) * 0x1p-53;
}

/* Times vary, by half of the mean either way: threads must not march in step. */
static double vary(struct simulation *s, double mean_ns)
{
    return mean_ns * (0.5 + draw(s));
}

static double line_if(const struct simulation *s, bool is_lost)
{
    return is_lost ? s->costs.line_ns : 0;
}

static void enter(struct simulation *s, struct actor *a, enum state state, double ns)
{
    a->state = state;
    a->at_ns = s->now_ns + ns;
}

/* ---- what a thread does next ---- */

static void begin_request(struct simulation *s, struct actor *a)
{
    if (a->is_write)
        enter(s, a, TAKING, ATOMIC_NS + line_if(s, s->owner != a));
    else
        enter(s, a, CHECKING, line_if(s, a->is_word_lost));
}

/* Draws the next request; thinks first when one must be read or parsed. Returns false
 * then. */
static bool next_request(struct simulation *s, struct actor *a)
{
    double think_ns = 0;
    a->is_write = draw(s) >= s->read_share;
    if (a->n_left == 0) {
        a->n_left = s->costs.pipeline;
        think_ns += vary(s, s->costs.kernel_ns);
    }
    if (a->n_parsed == 0) {
        a->n_parsed = a->n_left < BATCH_MAX ? a->n_left : BATCH_MAX;
        think_ns += (double)a->n_parsed * s->costs.parse_ns;
    }
    a->n_left--;
    a->n_parsed--;
    if (think_ns <= 0)
        return true;
    enter(s, a, THINKING, think_ns);
    return false;
}

static void wait(struct simulation *s, struct actor *a)
{
    a->state = WAITING;
    a->at_ns = (double)INFINITY;
    if (a->waits_since_ns < 0)
        a->waits_since_ns = s->now_ns;
}

static void end_wait(struct simulation *s, struct actor *a)
{
    if (a->waits_since_ns < 0)
        return;
    double ns = s->now_ns - a->waits_since_ns;
    s->waited_ns += ns;
    s->n_waits++;
    s->n_long += ns > LONG_WAIT_NS;
    a->waits_since_ns = -1;
}

/* The waiting threads get the word one after the other, in any order. */
static void wake(struct simulation *s)
{
    struct actor *waiting[THREADS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->actors[i].state == WAITING)
            waiting[n++] = &s->actors[i];
    for (size_t i = 0; i < n; i++) {
        size_t k = i + (size_t)(draw(s) * (double)(n - i));
        struct actor *a = waiting[k];
        waiting[k] = waiting[i];
        a->is_word_lost = false;
        s->owner = NULL;
        double ns = s->costs.line_ns * (1 + (double)i / LINES_AT_A_TIME);
        enter(s, a, a->is_write ? TAKING : CHECKING,
              ns + (a->is_write ? s->costs.line_ns : 0));
    }
}

/* ---- writers ---- */

static bool is_any_marked(const struct simulation *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->actors[i].is_marked)
            return true;
    return false;
}

static void write_on(struct simulation *s, struct actor *a)
{
    end_wait(s, a);
    double ns = line_if(s, a->are_data_lost) * N_DATA_LINES;
    a->are_data_lost = false;
    enter(s, a, WRITING, vary(s, s->costs.write_ns) + ns);
}

static void take(struct simulation *s, struct actor *a)
{
    size_t n_new = 0;
    if (s->holder != NULL) {
        wait(s, a);
        return;
    }
    s->holder = a;
    s->owner = a;
    for (size_t i = 0; i < s->n; i++) {
        struct actor *other = &s->actors[i];
        other->is_word_lost = other != a;
        n_new += other != a && other->is_mark_new;
        other->is_mark_lost |= other->is_mark_new && other != a;
        other->is_mark_new &= other == a;
    }
    a->is_word_lost = false;
    double lines = n_new == 0 ? 0 : 1 + (double)(n_new - 1) / LINES_AT_A_TIME;
    enter(s, a, SCANNING, lines * s->costs.line_ns);
}

static void scanned(struct simulation *s, struct actor *a)
{
    if (!is_any_marked(s)) {
        write_on(s, a);
        return;
    }
    a->state = DRAINING;
    a->at_ns = (double)INFINITY;
    if (a->waits_since_ns < 0)
        a->waits_since_ns = s->now_ns;
}

static void written(struct simulation *s, struct actor *a)
{
    bool is_watched = false;
    for (size_t i = 0; i < s->n; i++) {
        is_watched |= s->actors[i].state == WAITING;
        s->actors[i].are_data_lost |= &s->actors[i] != a;
    }
    enter(s, a, GIVING, ATOMIC_NS + line_if(s, is_watched));
}

static void give(struct simulation *s, struct actor *a)
{
    s->holder = NULL;
    s->n_done++;
    if (next_request(s, a)) /* the line is still here: it may well be the first again */
        begin_request(s, a);
    wake(s);
}

/* ---- readers ---- */

static void read_on(struct simulation *s, struct actor *a)
{
    end_wait(s, a);
    double ns = line_if(s, a->are_data_lost) * N_DATA_LINES;
    a->are_data_lost = false;
    enter(s, a, READING, vary(s, s->costs.read_ns) + ns);
}

static void check(struct simulation *s, struct actor *a)
{
    a->is_word_lost = false;
    s->owner = s->owner == a ? a : NULL;
    if (s->holder != NULL) {
        wait(s, a);
        return;
    }
    double ns = ATOMIC_NS + line_if(s, a->is_mark_lost);
    a->is_marked = a->is_mark_new = true;
    a->is_mark_lost = false;
    enter(s, a, MARKING, ns);
}

static void unmark(struct simulation *s, struct actor *a)
{
    enter(s, a, UNMARKING, ATOMIC_NS + line_if(s, a->is_mark_lost));
    a->is_mark_lost = false;
}

static void unmarked(struct simulation *s, struct actor *a)
{
    a->is_marked = false;
    a->is_mark_new = true;
    if (s->holder != NULL && s->holder->state == DRAINING && !is_any_marked(s)) {
        s->holder->state = SCANNING; /* sees the last mark go */
        s->holder->at_ns = s->now_ns + s->costs.line_ns;
    }
    if (a->waits_since_ns >= 0 && s->holder != NULL) /* its mark came too late */
        wait(s, a);
    else if (a->n_parsed != SIZE_MAX)
        begin_request(s, a);
}

static void marked(struct simulation *s, struct actor *a)
{
    if (s->holder == NULL) {
        read_on(s, a);
        return;
    }
    if (a->waits_since_ns < 0)
        a->waits_since_ns = s->now_ns;
    unmark(s, a);
}

/* A read is done; the next one follows under the same lock, or it is given back. */
static void was_read(struct simulation *s, struct actor *a)
{
    bool is_parsed = a->n_parsed > 0 && a->n_left > 0;
    s->n_done++;
    if (is_parsed && next_request(s, a) && !a->is_write && s->holder == NULL) {
        read_on(s, a);
        return;
    }
    unmark(s, a);
    if (!is_parsed)
        a->n_parsed = SIZE_MAX; /* it thinks when the mark is gone */
}

/* ---- running ---- */

static void think_or_begin(struct simulation *s, struct actor *a)
{
    a->n_parsed = 0;
    if (next_request(s, a))
        begin_request(s, a);
}

static void step(struct simulation *s, struct actor *a)
{
    s->now_ns = a->at_ns;
    switch (a->state) {
    case THINKING:
        begin_request(s, a);
        break;
    case CHECKING:
        check(s, a);
        break;
    case MARKING:
        marked(s, a);
        break;
    case READING:
        was_read(s, a);
        break;
    case UNMARKING:
        unmarked(s, a);
        if (a->n_parsed == SIZE_MAX)
            think_or_begin(s, a);
        break;
    case TAKING:
        take(s, a);
        break;
    case SCANNING:
        scanned(s, a);
        break;
    case WRITING:
        written(s, a);
        break;
    case GIVING:
        give(s, a);
        break;
    case DRAINING:
    case WAITING:
        break;
    }
}

/* Requests a second. */
static double simulate(struct simulation *s, const struct costs *costs, double read_share,
                       size_t n_threads)
{
    *s = (struct simulation){
        .costs = *costs, .read_share = read_share, .n = n_threads, .random = 1};
    if (n_threads == 1)
        s->costs.line_ns = 0; /* they all stay where they are */
    for (size_t i = 0; i < n_threads; i++) {
        s->actors[i].waits_since_ns = -1;
        think_or_begin(s, &s->actors[i]);
    }
    while (s->n_done < N_REQUESTS) {
        struct actor *next = &s->actors[0];
        for (size_t i = 1; i < n_threads; i++)
            if (s->actors[i].at_ns < next->at_ns)
                next = &s->actors[i];
        step(s, next);
    }
    return (double)s->n_done / s->now_ns * 1e9;
}

/* ---- the line ---- */

#define N_ROUNDS 20000
static atomic_uint ball;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *throw_back(void *unused)
{
    for (unsigned i = 1; i < 2 * N_ROUNDS; i += 2) {
        while (atomic_load(&ball) != i)
            continue;
        atomic_store(&ball, i + 1);
    }
    return unused;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Time for a line to go from core to core: the median of many throws. */
static double measure_line_ns(void)
{
    static double round_ns[N_ROUNDS];
    pthread_t other;
    if (pthread_create(&other, NULL, throw_back, NULL) != 0)
        return 100;
    for (unsigned i = 0; i < N_ROUNDS; i++) {
        double began_ns = now_ns();
        atomic_store(&ball, 2 * i + 1);
        while (atomic_load(&ball) != 2 * i + 2)
            continue;
        round_ns[i] = now_ns() - began_ns;
    }
    pthread_join(other, NULL);
    qsort(round_ns, N_ROUNDS, sizeof *round_ns, compare_doubles);
    return round_ns[N_ROUNDS / 2] / 2;
}

/* ---- output, options ---- */

static size_t parse_list(const char *text, double *out)
{
    size_t n = 0;
    for (char *end; n < LIST_MAX; text = end + 1) {
        out[n++] = strtod(text, &end);
        if (*end != ',')
            break;
    }
    return n;
}

static int fail(const char *what)
{
    fprintf(stderr, "contention: %s; see the head of bench/contention.c\n", what);
    return 1;
}

static void print_table(const struct costs *costs, const double *threads,
                        size_t n_threads, const double *reads, size_t n_reads)
{
    static struct simulation s;
    printf("Line %.0f ns; kernel %.0f ns a pipeline of %zu; request %.0f ns to parse, "
           "%.0f to read, %.0f to write.\n\n| reads | 1 thread: k/s |",
           costs->line_ns, costs->kernel_ns, costs->pipeline, costs->parse_ns,
           costs->read_ns, costs->write_ns);
    for (size_t t = 0; t < n_threads; t++)
        printf(" %.0f |", threads[t]);
    printf(" of the time waiting |\n| --- | --- |");
    for (size_t t = 0; t <= n_threads; t++)
        printf(" --- |");
    printf("\n");
    for (size_t r = 0; r < n_reads; r++) {
        double one = simulate(&s, costs, reads[r] / 100, 1);
        printf("| %.0f %% | %.0f |", reads[r], one / 1000);
        for (size_t t = 0; t < n_threads; t++)
            printf(" %.2f |",
                   simulate(&s, costs, reads[r] / 100, (size_t)threads[t]) / one);
        printf(" %.0f %% |\n", 100 * s.waited_ns / (s.now_ns * (double)s.n));
    }
}

int main(int argc, char **argv)
{
    struct costs costs = {0, 5500, 25, 300, 280, 1};
    double threads[LIST_MAX] = {2, 4, 8, 16, 32}, reads[LIST_MAX] = {100, 99, 90, 50};
    size_t n_threads = 5, n_reads = 4;
    for (int i = 1; i + 1 < argc; i += 2) {
        double number = strtod(argv[i + 1], NULL);
        if (strcmp(argv[i], "--line-ns") == 0)
            costs.line_ns = number;
        else if (strcmp(argv[i], "--kernel-ns") == 0)
            costs.kernel_ns = number;
        else if (strcmp(argv[i], "--parse-ns") == 0)
            costs.parse_ns = number;
        else if (strcmp(argv[i], "--read-ns") == 0)
            costs.read_ns = number;
        else if (strcmp(argv[i], "--write-ns") == 0)
            costs.write_ns = number;
        else if (strcmp(argv[i], "--pipeline") == 0)
            costs.pipeline = number >= 1 ? (size_t)number : 1;
        else if (strcmp(argv[i], "--threads") == 0)
            n_threads = parse_list(argv[i + 1], threads);
        else if (strcmp(argv[i], "--reads") == 0)
            n_reads = parse_list(argv[i + 1], reads);
        else
            return fail("no such option");
    }
    for (size_t t = 0; t < n_threads; t++)
        if (!(threads[t] >= 1 && threads[t] <= THREADS_MAX))
            return fail("a number of threads is out of range");
    if (costs.line_ns <= 0)
        costs.line_ns = measure_line_ns();
    print_table(&costs, threads, n_threads, reads, n_reads);
    return 0;
}
