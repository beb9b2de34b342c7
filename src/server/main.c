/*
 * yonder-server: options, then start, serve, stop.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/kernel.h"
#include "server/log.h"
#include "server/memory.h"
#include "server/server.h"

static const char help_text[] =
    "yonder-server: a geospatial server that speaks the Redis protocol\n"
    "\n"
    "usage: yonder-server [FILE|-] [--OPTION VALUE ...]\n"
    "\n"
    "  FILE              options in redis.conf syntax; - reads them from standard input\n"
    "  --OPTION VALUE    any option of the file, for example:\n"
    "      --port 7000 --bind 0.0.0.0 --requirepass secret\n"
    "      --port 0      any free port; the log tells which\n"
    "      --unixsocket /run/yonder.sock\n"
    "      --loglevel verbose\n"
    "  --help            this text\n"
    "  --version         the version\n"
    "\n"
    "YONDER_KERNEL in the environment chooses the code of searches: scalar, avx2, avx512.\n"
    "yonder.conf describes every option. The log goes to standard error. SIGTERM and SIGINT\n"
    "stop the server after the replies under way are written.\n";

static int fail(const char *error)
{
    fprintf(stderr, "yonder-server: %s\n", error);
    return 1;
}

/* The file first, then the command line, so that the latter wins. */
static bool load(struct server *server, struct config *config, int argc, char **argv,
                 char *error)
{
    int first = 1;
    if (argc > 1 && strncmp(argv[1], "--", 2) != 0) {
        if (!config_load_file(config, argv[1], error))
            return false;
        char path[PATH_MAX];
        if (strcmp(argv[1], "-") != 0 && realpath(argv[1], path) != NULL)
            snprintf(server->config_file, sizeof server->config_file, "%s", path);
        first = 2;
    }
    return config_load_args(config, argc - first, (const char *const *)argv + first,
                            error);
}

/* Opens what has to be open before the first log line of the server itself. */
static bool prepare(const struct config *config, char *error)
{
    if (chdir(config->dir) != 0) {
        snprintf(error, CONFIG_ERROR_MAX, "could not change to directory \"%.200s\": %s",
                 config->dir, strerror(errno));
        return false;
    }
    int err = log_set_file(config->logfile);
    if (err != 0) {
        snprintf(error, CONFIG_ERROR_MAX, "could not open log file \"%.200s\": %s",
                 config->logfile, strerror(-err));
        return false;
    }
    log_set_level((enum log_level)config->loglevel);
    return true;
}

/* The engine passes over a wish for kernels that it cannot meet; here it is said. */
static bool check_kernel(char *error)
{
    const char *wanted = getenv("YONDER_KERNEL");
    const struct yn_kernel *chosen = yn_kernel(); /* now, not by the first search */
    if (wanted == NULL || *wanted == '\0')
        return true;
    if (!yn_kernel_is_name(wanted)) {
        snprintf(error, CONFIG_ERROR_MAX,
                 "environment variable YONDER_KERNEL: \"%.40s\" is none of scalar, avx2, "
                 "avx512",
                 wanted);
        return false;
    }
    if (yn_kernel_find(wanted) == NULL)
        log_warning("this processor cannot run the kernels \"%s\" that YONDER_KERNEL "
                    "names, using \"%s\"",
                    wanted, chosen->name);
    return true;
}

int main(int argc, char **argv)
{
    static struct server server;
    struct config config;
    char error[CONFIG_ERROR_MAX];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return fputs(help_text, stdout) < 0;
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-v") == 0)
            return printf("yonder-server %s (answers as Redis %s; %s, %zu bits, %s)\n",
                          SERVER_VERSION, SERVER_REDIS_VERSION, memory_allocator_name(),
                          sizeof(void *) * 8, yn_kernel()->name) < 0;
    }
    if (!config_init(&config))
        return fail("out of memory");
    if (!load(&server, &config, argc, argv, error) || !prepare(&config, error) ||
        !check_kernel(error)) {
        config_clear(&config);
        return fail(error);
    }
    log_notice("yonder-server %s starting, process %d", SERVER_VERSION, (int)getpid());
    if (!server_init(&server, &config))
        return 1;
    server_run(&server);
    server_clear(&server);
    return 0;
}
