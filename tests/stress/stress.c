/*
 * stress.c: every command of the server, mixed, from several connections at once.
 *
 *     stress [--socket PATH] [--port PORT] [--seconds N] [--clients N] [--seed N]
 * [--patience S]
 *            [--big N] COMMANDS.TXT
 *
 * It is for a server built with TSan or ASan, whose reports are the findings (run.py
 * starts one and looks for them). What the program sees itself it checks where that is
 * cheap: kinds of replies, sums and pairs that no moment may show in halves, the server's
 * figures at the end, when all connections are gone. A command or an option of the server
 * that commands.txt has not got is a failure, so that what is added to the server is
 * added here.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "stress/client.h"

#define CLIENTS_DEFAULT 8
#define SETTLE_S 20
#define SECONDS_FOR_ALL 60 /* in which each line of commands.txt should have its turn */

/* ---- before ------------------------------------------------------------- */

static void to_text(const struct yn_reply *reply, char *out_text, size_t size)
{
    snprintf(out_text, size, "%.*s", (int)reply->text.len, reply->text.data);
}

static bool check_commands(struct client *control)
{
    bool is_complete = true;
    char name[128];
    struct yn_reply *list = client_ask(control, "COMMAND LIST", "a");
    for (size_t i = 0; list != NULL && i < list->n_items; i++) {
        to_text(list->items[i], name, sizeof name);
        /* a container is known by its subcommands */
        if (!catalogue_knows(&control->stress->catalogue, name)) {
            fprintf(stderr, "stress: the command \"%s\" is unknown to commands.txt\n",
                    name);
            is_complete = false;
        }
    }
    yn_reply_free(list);
    struct yn_reply *options = client_ask(control, "CONFIG GET *", "a");
    for (size_t i = 0; options != NULL && i + 1 < options->n_items; i += 2) {
        to_text(options->items[i], name, sizeof name);
        if (!catalogue_knows_option(&control->stress->catalogue, name)) {
            fprintf(stderr, "stress: the option \"%s\" is unknown to commands.txt\n",
                    name);
            is_complete = false;
        }
    }
    yn_reply_free(options);
    return is_complete && list != NULL && options != NULL;
}

/* ---- after -------------------------------------------------------------- */

static long info_field(struct client *control, const char *name)
{
    long value = 0;
    struct yn_reply *info = client_ask(control, "INFO everything", "b");
    if (info == NULL)
        return -1;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\n%s:", name);
    const char *at = memmem(info->text.data, info->text.len, wanted, strlen(wanted));
    if (at != NULL)
        value = strtol(at + strlen(wanted), NULL, 10);
    yn_reply_free(info);
    return value;
}

/* Nothing of the clients that are gone may be left. */
static void check_end(struct client *control)
{
    static const struct {
        const char *field;
        long wanted;
    } fields[] = {
        {"connected_clients", 1}, {"blocked_clients", 0},    {"tracking_clients", 0},
        {"pubsub_clients", 0},    {"pubsub_channels", 0},    {"pubsub_patterns", 0},
        {"watching_clients", 0},  {"total_watched_keys", 0},
    };
    control->phase = "end";
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        long value = -1;
        for (int k = 0; k < SETTLE_S * 20; k++) {
            value = info_field(control, fields[i].field);
            if (value == fields[i].wanted)
                break;
            usleep(50000);
        }
        if (value != fields[i].wanted)
            client_fail(control, "INFO %s is %ld", fields[i].field, value);
    }
    client_do(control, "CONFIG SET maxmemory 0", "s");
    client_do(control, "FLUSHALL", "s");
    struct yn_reply *size = client_ask(control, "DBSIZE", "i");
    if (size != NULL && size->integer != 0)
        client_fail(control, "%lld keys are left by FLUSHALL", (long long)size->integer);
    yn_reply_free(size);
}

static void report(const struct stress *stress, const struct client *clients,
                   long seconds)
{
    uint64_t n_commands = 0, n_pushes = 0, n_lost = 0;
    for (int i = 0; i < stress->values.n_clients; i++) {
        n_commands += clients[i].n_commands;
        n_pushes += clients[i].n_pushes;
        n_lost += clients[i].n_lost;
    }
    printf(
        "stress: %llu commands in %ld s from %d clients, %llu pushes, %llu connections "
        "ended, seed %llu\n",
        (unsigned long long)n_commands, seconds, stress->values.n_clients,
        (unsigned long long)n_pushes, (unsigned long long)n_lost,
        (unsigned long long)stress->seed);
    if (atomic_load(&stress->has_failed) || seconds < SECONDS_FOR_ALL)
        return;
    for (int s = 0; s < SECTION_SPECIAL; s++)
        for (size_t i = 0; i < stress->catalogue.n[s]; i++)
            if (stress->catalogue.templates[s][i].n_sent == 0)
                printf("never sent: %s\n", stress->catalogue.templates[s][i].text);
}

/* ---- the run ------------------------------------------------------------ */

static void run_clients(struct stress *stress, struct client *clients, long seconds)
{
    for (int i = 0; i < stress->values.n_clients; i++) {
        client_init(&clients[i], stress, i);
        if (pthread_create(&clients[i].thread, NULL, client_run, &clients[i]) != 0)
            abort();
    }
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        usleep(20000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (!atomic_load(&stress->is_over) && now.tv_sec - start.tv_sec < seconds);
    atomic_store(&stress->is_over, true);
    for (int i = 0; i < stress->values.n_clients; i++)
        pthread_join(clients[i].thread, NULL);
}

static bool run(struct stress *stress, long seconds)
{
    static struct client control, clients[STRESS_CLIENTS_MAX];
    client_init(&control, stress, stress->values.n_clients);
    control.phase = "control";
    bool is_complete = client_open(&control) && check_commands(&control);
    cli_link_close(&control.link);
    if (is_complete) {
        run_clients(stress, clients, seconds);
        if (!atomic_load(&stress->has_failed) && client_open(&control))
            check_end(&control);
        report(stress, clients, seconds);
        for (int i = 0; i < stress->values.n_clients; i++)
            client_clear(&clients[i]);
    }
    client_clear(&control);
    return is_complete && !atomic_load(&stress->has_failed);
}

static const struct option long_options[] = {
    {"socket", required_argument, NULL, 's'},  {"port", required_argument, NULL, 'p'},
    {"seconds", required_argument, NULL, 't'}, {"clients", required_argument, NULL, 'c'},
    {"seed", required_argument, NULL, 'r'},    {"patience", required_argument, NULL, 'w'},
    {"big", required_argument, NULL, 'b'},     {0},
};

int main(int argc, char **argv)
{
    static struct stress stress = {.patience_s = 60, .n_big = 20000};
    stress.values.n_clients = CLIENTS_DEFAULT;
    stress.seed = (uint64_t)time(NULL) * 1000003 + (uint64_t)getpid();
    long seconds = 10;
    int option;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        switch (option) {
        case 's':
            stress.socket_path = optarg;
            break;
        case 'p':
            stress.port = atoi(optarg);
            break;
        case 't':
            seconds = atol(optarg);
            break;
        case 'c':
            stress.values.n_clients = atoi(optarg);
            break;
        case 'r':
            stress.seed = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            stress.patience_s = atoi(optarg);
            break;
        case 'b':
            stress.n_big = strtoull(optarg, NULL, 10);
            break;
        default:
            return 2;
        }
    }
    if (optind != argc - 1 || stress.values.n_clients < 1 ||
        stress.values.n_clients > STRESS_CLIENTS_MAX - 1)
        return 2;
    if (!catalogue_open(&stress.catalogue, argv[optind]))
        return 2;
    printf("stress: seed %llu\n", (unsigned long long)stress.seed);
    fflush(stdout);
    pthread_mutex_init(&stress.values.dump_lock, NULL);

    bool is_well = run(&stress, seconds);
    catalogue_close(&stress.catalogue);
    yn_buf_clear(&stress.values.dump);
    return is_well ? 0 : 1;
}
