/*
 * bench_server.h: a server that a comparison starts and stops, or one that runs already.
 */
#ifndef BENCH_SERVER_H
#define BENCH_SERVER_H

#include "tools/bench_cpu.h"
#include "tools/bench_folder.h"

enum bench_server_kind { BENCH_SERVER_YONDER, BENCH_SERVER_REDIS, BENCH_SERVER_RUNNING };

struct bench_server {
    enum bench_server_kind kind;
    const char *program; /* borrowed; NULL for one that runs already */
    const char *threads; /* value of --threads that it is started with, or NULL */
    pid_t pid;           /* of the process that was started, or 0 */
    struct cli_options at;
    struct cli_link link; /* for questions */
    struct bench_cpu cpu;
    char folder[BENCH_FOLDER_MAX]; /* its working folder, removed at the end */
    char name[64];                 /* "yonder", "redis", "valkey", ... */
    char version[64];
    char error[512];
};

/* Starts program in a folder of its own, without persistence, on a free port, on the
 * processors of a list (NULL: any); it ends with this process. Yonder runs on one thread,
 * whatever its default is. Returns when it answers. */
bool bench_server_start(struct bench_server *server, enum bench_server_kind kind,
                        const char *program, const char *cpus);
/* The same with a number of threads; NULL: with the server's own default. */
bool bench_server_start_threads(struct bench_server *server, enum bench_server_kind kind,
                                const char *program, const char *cpus,
                                const char *threads);
/* Connects to a server that runs. */
bool bench_server_join(struct bench_server *server, const struct cli_options *at);
/* How many threads run commands, as Yonder tells; 0: it does not. */
unsigned bench_server_count_threads(struct bench_server *server);
/* Stops a server that was started; leaves one that ran. */
void bench_server_stop(struct bench_server *server);

/* Sends a command of words separated by blanks. Returns the reply, which the caller
 * frees, or NULL (told in server->error). Error replies are replies. */
struct yn_reply *bench_server_ask(struct bench_server *server, const char *command);
/* The same for commands that must not fail. */
bool bench_server_do(struct bench_server *server, const char *command);

#define BENCH_SERVER_PATH_MAX 600
/* The path of a program that stands beside this one. */
const char *bench_server_beside(const char *name, char out_path[BENCH_SERVER_PATH_MAX]);

/* Resident memory in bytes; 0: not known. */
double bench_server_memory(struct bench_server *server);

#endif
