#include "tools/bench_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_TRIES 600
#define STOP_TRIES 600
#define TRY_EVERY_MS 50
#define WORDS_MAX 32

static bool fail(struct bench_server *server, const char *what, const char *reason)
{
    snprintf(server->error, sizeof server->error, "%s: %.300s", what, reason);
    return false;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){0, TRY_EVERY_MS * 1000000}, NULL);
}

/* ---- questions ---------------------------------------------------------- */

struct yn_reply *bench_server_ask(struct bench_server *server, const char *command)
{
    struct yn_bytes words[WORDS_MAX];
    size_t n = 0;
    for (const char *p = command; *p != '\0' && n < WORDS_MAX; p += strspn(p, " ")) {
        size_t len = strcspn(p, " ");
        words[n++] = (struct yn_bytes){p, len};
        p += len;
    }
    struct yn_reply *reply = NULL;
    if (cli_link_queue(&server->link, n, words))
        reply = cli_link_wait(&server->link);
    if (reply == NULL)
        fail(server, command, server->link.error);
    return reply;
}

bool bench_server_do(struct bench_server *server, const char *command)
{
    struct yn_reply *reply = bench_server_ask(server, command);
    if (reply == NULL)
        return false;
    bool is_fine = reply->type != YN_REPLY_ERROR;
    if (!is_fine) {
        char text[300];
        snprintf(text, sizeof text, "%.*s", (int)reply->text.len, reply->text.data);
        fail(server, command, text);
    }
    yn_reply_free(reply);
    return is_fine;
}

double bench_server_memory(struct bench_server *server)
{
    char text[64];
    if (server->cpu.pid > 0) {
        snprintf(text, sizeof text, "/proc/%d/statm", (int)server->cpu.pid);
        FILE *file = fopen(text, "r");
        unsigned long pages = 0;
        if (file != NULL) {
            if (fscanf(file, "%*u %lu", &pages) != 1)
                pages = 0;
            fclose(file);
        }
        if (pages > 0)
            return (double)pages * (double)sysconf(_SC_PAGE_SIZE);
    }
    return bench_cpu_info(&server->link, "used_memory_rss", text, sizeof text)
               ? atof(text)
               : 0;
}

const char *bench_server_beside(const char *name, char out_path[BENCH_SERVER_PATH_MAX])
{
    char program[512];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = len > 0 ? memrchr(program, '/', (size_t)len) : NULL;
    if (slash == NULL)
        return name;
    *slash = '\0';
    snprintf(out_path, BENCH_SERVER_PATH_MAX, "%s/%s", program, name);
    return out_path;
}

static void find_version(struct bench_server *server)
{
    static const struct {
        const char *field, *name;
    } fields[] = {{"yonder_version", "yonder"},
                  {"valkey_version", "valkey"},
                  {"dragonfly_version", "dragonfly"},
                  {"redis_version", "redis"}};
    snprintf(server->name, sizeof server->name, "peer");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (bench_cpu_info(&server->link, fields[i].field, server->version,
                           sizeof server->version)) {
            snprintf(server->name, sizeof server->name, "%s", fields[i].name);
            return;
        }
    }
}

/* ---- starting ----------------------------------------------------------- */

/* A port that was free a moment ago. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port = 0;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}

#define LOG_PATH_MAX (sizeof((struct bench_server *)0)->folder + 8)

static void log_path(const struct bench_server *server, char out_path[LOG_PATH_MAX])
{
    snprintf(out_path, LOG_PATH_MAX, "%s/log", server->folder);
}

/* In the child: becomes the server. */
static void become(const struct bench_server *server, const char *cpus, pid_t parent)
{
    char port[16], path[LOG_PATH_MAX];
    log_path(server, path);
    snprintf(port, sizeof port, "%d", server->at.port);
    int log = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int null = open("/dev/null", O_RDONLY);
    if (log < 0 || null < 0 || dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || (cpus != NULL && !bench_cpu_pin(cpus)))
        _exit(126);
    setpgid(0, 0); /* Ctrl-C is for the comparison, which then stops its servers */
    const char *argv[] = {server->program,
                          "--port",
                          port,
                          "--bind",
                          "127.0.0.1",
                          "--save",
                          "",
                          "--appendonly",
                          "no",
                          "--dir",
                          server->folder,
                          server->threads != NULL ? "--threads" : NULL,
                          server->threads,
                          NULL};
    execvp(server->program, (char *const *)argv);
    fprintf(stderr, "could not run \"%s\": %s\n", server->program, strerror(errno));
    _exit(127);
}

/* Yonder is given port 0 and logs the one that it got. */
static bool read_port(struct bench_server *server)
{
    static const char mark[] = "ready to accept connections on ";
    char path[LOG_PATH_MAX], line[512];
    log_path(server, path);
    FILE *file = fopen(path, "r");
    bool is_found = false;
    while (file != NULL && !is_found && fgets(line, sizeof line, file) != NULL) {
        char *at = strcasestr(line, mark);
        char *colon = at != NULL ? strrchr(at, ':') : NULL;
        if (colon != NULL && strchr(colon, '\n') != NULL) {
            server->at.port = atoi(colon + 1);
            is_found = server->at.port > 0;
        }
    }
    if (file != NULL)
        fclose(file);
    return is_found;
}

static bool is_ready(struct bench_server *server)
{
    if (server->at.port == 0 && !read_port(server))
        return false;
    if (server->link.fd < 0 && !cli_link_open(&server->link, &server->at))
        return false;
    struct yn_reply *reply = bench_server_ask(server, "PING");
    bool is_ready = reply != NULL && reply->type == YN_REPLY_STATUS;
    yn_reply_free(reply);
    return is_ready;
}

static void tell_log(struct bench_server *server)
{
    char path[LOG_PATH_MAX], text[256] = "";
    log_path(server, path);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        size_t n = fread(text, 1, sizeof text - 1, file);
        text[n] = '\0';
        fclose(file);
    }
    fail(server, "the server did not start", text);
}

static bool wait_ready(struct bench_server *server)
{
    for (int i = 0; i < START_TRIES; i++) {
        if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
            server->pid = 0;
            break;
        }
        if (is_ready(server))
            return true;
        wait_a_little();
    }
    tell_log(server);
    return false;
}

static void clear(struct bench_server *server)
{
    memset(server, 0, sizeof *server);
    cli_link_init(&server->link);
    cli_link_init(&server->cpu.link);
    server->at.host = "127.0.0.1";
}

static void end_process(struct bench_server *server)
{
    if (server->pid <= 0)
        return;
    kill(server->pid, SIGTERM);
    int i = 0;
    while (i < STOP_TRIES && waitpid(server->pid, NULL, WNOHANG) == 0) {
        wait_a_little();
        i++;
    }
    if (i == STOP_TRIES) {
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

static bool launch(struct bench_server *server, const char *cpus)
{
    char path[LOG_PATH_MAX];
    pid_t parent = getpid();
    server->at.port = server->kind == BENCH_SERVER_YONDER ? 0 : free_port();
    log_path(server, path);
    unlink(path); /* a server before this one has logged its port there */
    server->pid = fork();
    if (server->pid == 0)
        become(server, cpus, parent);
    if (server->pid < 0)
        return fail(server, "fork", strerror(errno));
    return wait_ready(server);
}

unsigned bench_server_count_threads(struct bench_server *server)
{
    char text[64];
    return bench_cpu_info(&server->link, "yonder_threads", text, sizeof text)
               ? (unsigned)strtoul(text, NULL, 10)
               : 0;
}

static bool prepare(struct bench_server *server, enum bench_server_kind kind,
                    const char *program)
{
    clear(server);
    server->kind = kind;
    server->program = program;
    return bench_folder_new("yonder-bench", server->folder) ||
           fail(server, "no folder for the server", strerror(errno));
}

static void look_at(struct bench_server *server)
{
    bench_cpu_open(&server->cpu, &server->at, server->pid);
    find_version(server);
}

bool bench_server_start(struct bench_server *server, enum bench_server_kind kind,
                        const char *program, const char *cpus)
{
    if (!prepare(server, kind, program) || !launch(server, cpus))
        return false;
    if (kind == BENCH_SERVER_YONDER && bench_server_count_threads(server) > 1) {
        cli_link_close(&server->link);
        end_process(server);
        server->threads = "1";
        if (!launch(server, cpus))
            return false;
    }
    look_at(server);
    return true;
}

bool bench_server_start_threads(struct bench_server *server, enum bench_server_kind kind,
                                const char *program, const char *cpus,
                                const char *threads)
{
    if (!prepare(server, kind, program))
        return false;
    server->threads = threads;
    if (!launch(server, cpus))
        return false;
    look_at(server);
    return true;
}

bool bench_server_join(struct bench_server *server, const struct cli_options *at)
{
    clear(server);
    server->kind = BENCH_SERVER_RUNNING;
    server->at = *at;
    if (!cli_link_open(&server->link, at))
        return fail(server, "connection", server->link.error);
    bench_cpu_open(&server->cpu, at, 0);
    find_version(server);
    return true;
}

/* ---- stopping ----------------------------------------------------------- */

static void remove_folder(const struct bench_server *server)
{
    char path[LOG_PATH_MAX];
    if (server->folder[0] == '\0')
        return;
    log_path(server, path);
    unlink(path);
    rmdir(server->folder);
}

void bench_server_stop(struct bench_server *server)
{
    cli_link_close(&server->link);
    bench_cpu_close(&server->cpu);
    end_process(server);
    remove_folder(server);
    server->folder[0] = '\0';
}
