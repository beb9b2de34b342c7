/*
 * linear.c: records histories of a running server and checks that they are linearizable.
 *
 *     linear [--socket PATH] [--port PORT] [--seconds N] [--seed N] [--ballast N] [--slow
 * N]
 *            [--plant NAME]
 *
 * Each history is short: two to eight clients send at most six operations each, all at
 * the same time, some of them several in a row, on two or three keys with two to six
 * members. Then everything begins anew from a known state. Short histories are checked at
 * once, and with so few members nearly every operation meets another one.
 *
 * With --ballast two of the keys hold so many members besides, far from where the model
 * looks, and with --slow so many connections read all of them slowly: the same histories
 * while views are frozen and large searches run. With --plant the recorder makes a fault
 * of its own, which the check must find; the exit status is 0 then if it was found.
 */
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "linear/generate.h"
#include "linear/participant.h"
#include "linear/slow.h"

#define OPS_MAX 6 /* of a client in a history */
#define STALL_MS 60000
#define BALLAST_STEP 500

static const char *const plant_names[N_PLANTS] = {
    "none", "torn-exec", "split-geoadd", "stale-read", "lost-move",
};

struct run {
    const char *socket_path;
    int port;
    long seconds;
    uint64_t seed;
    long n_ballast;
    unsigned n_slow;
    struct clock clock;
    struct wire wire;
    struct check check;
    struct cli_link control;
    struct participant participants[MODEL_CLIENTS];
    struct record records[MODEL_CLIENTS * OPS_MAX];
    size_t n_records;
    struct model_state start;
    uint64_t n_histories, n_operations, n_undecided;
    uint64_t n_given_up, n_popped; /* EXEC of a key that changed; BZPOPMIN that got one */
};

static bool complain(const struct run *run, const char *what)
{
    fprintf(stderr, "linear: %s (seed %llu)\n", what, (unsigned long long)run->seed);
    return false;
}

/* ---- the start of a history --------------------------------------------- */

static bool ask(struct run *run, const char *text)
{
    if (!wire_queue_text(&run->control, text))
        return complain(run, run->control.error);
    struct yn_reply *reply = cli_link_wait(&run->control);
    if (reply == NULL)
        return complain(run, run->control.error);
    bool is_error = reply->type == YN_REPLY_ERROR;
    if (is_error)
        fprintf(stderr, "linear: %s: %.*s\n", text, (int)reply->text.len,
                reply->text.data);
    yn_reply_free(reply);
    return !is_error;
}

/* Members all over the south. */
static bool add_ballast(struct run *run, char key)
{
    for (long i = 0; i < run->n_ballast; i += BALLAST_STEP) {
        char text[64];
        struct yn_buf words;
        yn_buf_init(&words);
        snprintf(text, sizeof text, "*%d\r\n$6\r\nGEOADD\r\n$1\r\n%c\r\n",
                 2 + 3 * BALLAST_STEP, key);
        yn_buf_append_text(&words, text);
        for (long k = i; k < i + BALLAST_STEP; k++) {
            char lon[24], lat[24], name[32];
            snprintf(lon, sizeof lon, "%.4f", (double)(k * 7919 % 3600000) / 1e4 - 180);
            snprintf(lat, sizeof lat, "%.4f", (double)(k * 104729 % 500000) / 1e4 - 70);
            snprintf(name, sizeof name, "ballast%ld", k);
            const char *const three[] = {lon, lat, name};
            for (int w = 0; w < 3; w++) {
                snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(three[w]), three[w]);
                yn_buf_append_text(&words, text);
            }
        }
        yn_buf_append(&run->control.out, words.data, words.len);
        yn_buf_clear(&words);
        struct yn_reply *reply = cli_link_wait(&run->control);
        if (reply == NULL || reply->integer != BALLAST_STEP)
            return complain(run, "the ballast could not be added");
        yn_reply_free(reply);
    }
    return true;
}

static bool start_history(struct run *run, const struct mixture *mixture)
{
    memset(&run->start, 0, sizeof run->start);
    bool is_clear = run->n_ballast > 0
                        ? ask(run, "ZREM a m0 m1 m2 m3 m4 m5") &&
                              ask(run, "ZREM b m0 m1 m2 m3 m4 m5") && ask(run, "DEL c")
                        : ask(run, "DEL a b c");
    /* searches of such small sets would never be worked out by the pool's threads else */
    bool is_long_work = generate_below(&run->clock.random, 2) == 0;
    if (!is_clear || !ask(run, is_long_work ? "CONFIG SET offload-threshold 0"
                                            : "CONFIG SET offload-threshold 1000"))
        return false;
    for (uint8_t key = 0; key < 2; key++) {
        struct op op = {.kind = OP_GEOADD, .key = key};
        for (uint8_t m = 0; m < mixture->n_members; m++) {
            if (generate_below(&run->clock.random, 2) == 0)
                continue;
            op.member[op.n] = m;
            op.place[op.n] =
                (uint8_t)(1 + generate_below(&run->clock.random, MODEL_PLACES));
            run->start.place[key][m] = op.place[op.n++];
        }
        if (op.n == 0)
            continue;
        if (!wire_queue(&run->control, &op))
            return false;
        yn_reply_free(cli_link_wait(&run->control));
    }
    return run->control.fd >= 0 || complain(run, run->control.error);
}

static void plan(struct run *run, const struct mixture *mixture)
{
    run->n_records = 0;
    run->clock.now = 1;
    for (unsigned c = 0; c < mixture->n_clients; c++) {
        struct record *first = &run->records[run->n_records];
        unsigned n = 1 + generate_below(&run->clock.random, OPS_MAX);
        for (unsigned i = 0; i < n; i++)
            generate_record(mixture, c, &run->records[run->n_records++],
                            &run->clock.random);
        participant_give(&run->participants[c], first, n);
    }
}

/* A history ends with no key watched. */
static bool stop_watching(struct run *run, unsigned n_clients)
{
    for (unsigned c = 0; c < n_clients; c++) {
        struct participant *p = &run->participants[c];
        if (!p->is_watching)
            continue;
        struct yn_reply *reply =
            wire_queue_text(&p->link, "UNWATCH") ? cli_link_wait(&p->link) : NULL;
        if (reply == NULL)
            return complain(run, p->link.error);
        yn_reply_free(reply);
    }
    return true;
}

/* ---- recording ---------------------------------------------------------- */

static bool record_history(struct run *run, unsigned n_clients)
{
    for (unsigned c = 0; c < n_clients; c++)
        if (!participant_go_on(&run->participants[c]))
            return complain(run, run->participants[c].error);
    for (;;) {
        struct pollfd waits[MODEL_CLIENTS];
        unsigned who[MODEL_CLIENTS];
        nfds_t n = 0;
        for (unsigned c = 0; c < n_clients; c++) {
            struct participant *p = &run->participants[c];
            if (participant_is_done(p))
                continue;
            who[n] = c;
            waits[n].fd = p->link.fd;
            waits[n++].events = (short)(POLLIN | (p->link.out.len > 0 ? POLLOUT : 0));
        }
        if (n == 0)
            return stop_watching(run, n_clients);
        if (poll(waits, n, STALL_MS) <= 0)
            return complain(run, "the server does not answer");
        for (nfds_t i = 0; i < n; i++)
            if (waits[i].revents != 0 && !participant_receive(&run->participants[who[i]]))
                return complain(run, run->participants[who[i]].error);
    }
}

/* ---- findings ----------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;
    return (*x)->in_at < (*y)->in_at ? -1 : (*x)->in_at > (*y)->in_at;
}

static void show(const struct run *run)
{
    const struct record *sorted[CHECK_RECORDS_MAX];
    char text[1024];
    for (size_t i = 0; i < run->n_records; i++)
        sorted[i] = &run->records[i];
    qsort(sorted, run->n_records, sizeof *sorted, by_time);
    model_format_state(&run->start, text, sizeof text);
    fprintf(stderr, "linear: history %llu is not linearizable (seed %llu)\nstart: %s\n",
            (unsigned long long)run->n_histories, (unsigned long long)run->seed, text);
    for (size_t i = 0; i < run->n_records; i++) {
        model_format(sorted[i], text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    fprintf(stderr, "the longest way that the model can follow:\n");
    for (size_t i = 0; i < run->check.n_best; i++) {
        model_format(run->check.best[i], text, sizeof text);
        fprintf(stderr, "%s\n", text);
    }
    model_format_state(&run->check.best_state, text, sizeof text);
    fprintf(stderr, "there: %s\n", text);
}

static void count(struct run *run)
{
    run->n_histories++;
    run->n_operations += run->n_records;
    for (size_t i = 0; i < run->n_records; i++) {
        const struct record *record = &run->records[i];
        run->n_given_up +=
            record->op.kind == OP_EXEC && record->answer.kind == ANSWER_NULL;
        run->n_popped +=
            record->op.kind == OP_BZPOPMIN && record->answer.kind == ANSWER_ITEMS;
    }
}

/* Records and checks histories until the time is over or one is broken. */
static bool check_histories(struct run *run, bool *out_is_broken)
{
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    *out_is_broken = false;
    do {
        struct mixture mixture;
        mixture_choose(&mixture, run->n_ballast > 0, &run->clock.random);
        if (!start_history(run, &mixture))
            return false;
        plan(run, &mixture);
        if (!record_history(run, mixture.n_clients))
            return false;
        enum check_result result = check_history(
            &run->check, &run->wire.world, &run->start, run->records, run->n_records);
        count(run);
        run->n_undecided += result == CHECK_UNDECIDED;
        *out_is_broken = result == CHECK_BROKEN;
        if (*out_is_broken && run->clock.plant == PLANT_NONE)
            show(run);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!*out_is_broken && now.tv_sec - start.tv_sec < run->seconds);
    return true;
}

/* ---- the run ------------------------------------------------------------ */

static struct cli_options address(const struct run *run, unsigned number)
{
    bool by_socket = run->socket_path != NULL && (run->port == 0 || number % 2 == 0);
    return (struct cli_options){.host = "127.0.0.1",
                                .port = run->port,
                                .socket_path = by_socket ? run->socket_path : NULL};
}

static bool open_all(struct run *run)
{
    struct cli_options server = address(run, 0);
    cli_link_init(&run->control);
    if (!cli_link_open(&run->control, &server) || !wire_learn(&run->wire, &run->control))
        return complain(run, run->control.error);
    if (run->n_ballast > 0 && (!add_ballast(run, 'a') || !add_ballast(run, 'b')))
        return false;
    run->wire.n_ballast = run->n_ballast;
    for (unsigned c = 0; c < MODEL_CLIENTS; c++) {
        struct participant *p = &run->participants[c];
        server = address(run, c);
        cli_link_init(&p->link);
        p->wire = &run->wire;
        p->clock = &run->clock;
        if (!cli_link_open(&p->link, &server))
            return complain(run, p->link.error);
    }
    return true;
}

static void close_all(struct run *run)
{
    cli_link_close(&run->control);
    for (unsigned c = 0; c < MODEL_CLIENTS; c++)
        cli_link_close(&run->participants[c].link);
    check_clear(&run->check);
}

static int run_all(struct run *run)
{
    struct cli_options server = address(run, 1);
    struct slow *slow = NULL;
    bool is_broken = false;
    check_init(&run->check);
    bool is_well = open_all(run);
    if (is_well && run->n_slow > 0)
        is_well = (slow = slow_new(&server, run->n_slow)) != NULL;
    is_well = is_well && check_histories(run, &is_broken);
    long n_slow_replies = slow != NULL ? slow_free(slow) : 0;
    if (n_slow_replies < 0)
        is_well = complain(run, "a slow reader's connection was lost");
    close_all(run);
    printf("linear: %llu histories, %llu operations (%llu EXEC given up, %llu BZPOPMIN "
           "served), %llu steps of the model, %llu undecided, "
           "%ld slow replies, seed %llu%s\n",
           (unsigned long long)run->n_histories, (unsigned long long)run->n_operations,
           (unsigned long long)run->n_given_up, (unsigned long long)run->n_popped,
           (unsigned long long)run->check.n_steps, (unsigned long long)run->n_undecided,
           n_slow_replies, (unsigned long long)run->seed, is_broken ? ", BROKEN" : "");
    if (run->n_undecided > run->n_histories / 1000)
        is_well = complain(run, "too many histories are undecided");
    return is_well && is_broken == (run->clock.plant != PLANT_NONE) ? 0 : 1;
}

static const struct option long_options[] = {
    {"socket", required_argument, NULL, 's'},  {"port", required_argument, NULL, 'p'},
    {"seconds", required_argument, NULL, 't'}, {"seed", required_argument, NULL, 'r'},
    {"ballast", required_argument, NULL, 'b'}, {"slow", required_argument, NULL, 'l'},
    {"plant", required_argument, NULL, 'f'},   {0},
};

int main(int argc, char **argv)
{
    static struct run run = {.seconds = 10};
    run.seed = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (option) {
        case 's':
            run.socket_path = optarg;
            break;
        case 'p':
            run.port = atoi(optarg);
            break;
        case 't':
            run.seconds = atol(optarg);
            break;
        case 'r':
            run.seed = strtoull(optarg, NULL, 10);
            break;
        case 'b':
            run.n_ballast = atol(optarg) / BALLAST_STEP * BALLAST_STEP;
            break;
        case 'l':
            run.n_slow = (unsigned)atoi(optarg);
            break;
        case 'f':
            for (int i = 0; i < N_PLANTS; i++)
                if (strcmp(optarg, plant_names[i]) == 0)
                    run.clock.plant = (enum plant)i;
            if (run.clock.plant == PLANT_NONE)
                return 2;
            break;
        default:
            return 2;
        }
    }
    run.clock.random = run.seed;
    return run_all(&run);
}
