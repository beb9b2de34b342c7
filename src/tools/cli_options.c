#include "tools/cli_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/num.h"

static const char usage_text[] =
    "Usage: yonder-cli [options] [command [argument ...]]\n"
    "       yonder-cli [options] import FILE.csv --key KEY [import options]\n"
    "\n"
    "Without a command, commands are read from standard input, one a line.\n"
    "SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and MONITOR show what comes until Ctrl-C.\n"
    "\n"
    "  -h HOST        server's host name (127.0.0.1)\n"
    "  -p PORT        server's port (6379)\n"
    "  -s SOCKET      server's unix socket, instead of host and port\n"
    "  -a PASSWORD    password; better given in the environment as YONDER_AUTH or\n"
    "                 REDISCLI_AUTH, where other users do not see it\n"
    "  -n DB          number of the database\n"
    "  -3             speak RESP3\n"
    "  -x             take the last argument from standard input\n"
    "  -e             exit with 1 when the server answers with an error\n"
    "  --raw          print replies as they are (default when the output is no terminal)\n"
    "  --no-raw       print replies for people, whatever the output is\n"
    "  --help         this text; `yonder-cli import --help` tells about import\n"
    "  --version      the version\n";

static const char usage_end[] =
    "\n"
    "Exit status: 0; 1 when the server cannot be reached or understood, or with -e.\n";

bool cli_options_parse_number(const char *text, long min, long max, long *out_number)
{
    int64_t number;
    struct yn_bytes bytes = {text, strlen(text)};
    if (!yn_num_parse_int64(bytes, &number) || number < min || number > max)
        return false;
    *out_number = (long)number;
    return true;
}

static bool parse_number_option(const char *name, const char *text, int max,
                                int *out_number)
{
    long number;
    if (!cli_options_parse_number(text, 0, max, &number)) {
        fprintf(stderr, "yonder-cli: %s must be a number of 0 to %d, not \"%s\"\n", name,
                max, text);
        return false;
    }
    *out_number = (int)number;
    return true;
}

static bool parse_with_value(struct cli_options *options, const char *name,
                             const char *value)
{
    switch (name[1]) {
    case 'h':
        options->host = value;
        return true;
    case 'p':
        return parse_number_option(name, value, 65535, &options->port);
    case 's':
        options->socket_path = value;
        return true;
    case 'a':
        options->password = value;
        return true;
    default: /* 'n' */
        return parse_number_option(name, value, 1 << 30, &options->db);
    }
}

/* Options without a value. Returns false for an unknown one. */
static bool parse_flag(struct cli_options *options, const char *name)
{
    if (strcmp(name, "-3") == 0)
        options->resp3 = true;
    else if (strcmp(name, "-x") == 0)
        options->last_from_stdin = true;
    else if (strcmp(name, "-e") == 0)
        options->fail_on_error = true;
    else if (strcmp(name, "--raw") == 0)
        options->is_raw = true;
    else if (strcmp(name, "--no-raw") == 0)
        options->is_raw = false;
    else
        return false;
    return true;
}

static void set_defaults(struct cli_options *options)
{
    memset(options, 0, sizeof *options);
    options->host = "127.0.0.1";
    options->port = 6379;
    options->is_raw = isatty(STDOUT_FILENO) == 0;
    options->password = getenv("YONDER_AUTH");
    if (options->password == NULL)
        options->password = getenv("REDISCLI_AUTH");
}

enum cli_options_result cli_options_parse(struct cli_options *options, int argc,
                                          char **argv)
{
    set_defaults(options);
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--help") == 0) {
            fputs(usage_text, stdout);
            fputs(cli_tls_usage, stdout);
            fputs(usage_end, stdout);
            return CLI_OPTIONS_DONE;
        }
        if (strcmp(name, "--version") == 0) {
            puts("yonder-cli " YN_VERSION);
            return CLI_OPTIONS_DONE;
        }
        int n_tls = cli_tls_parse(&options->tls, name, i + 1 < argc ? argv[i + 1] : NULL);
        bool has_value =
            n_tls < 0 || (strlen(name) == 2 && strchr("hpsan", name[1]) != NULL);
        if (n_tls > 0) {
            i += n_tls - 1;
        } else if (n_tls == 0 && has_value && i + 1 < argc) {
            if (!parse_with_value(options, name, argv[++i]))
                return CLI_OPTIONS_BAD;
        } else if (has_value || !parse_flag(options, name)) {
            fprintf(stderr, "yonder-cli: %s %s; see yonder-cli --help\n",
                    has_value ? "no value for" : "unknown option", name);
            return CLI_OPTIONS_BAD;
        }
    }
    options->n_words = argc - i;
    options->words = argv + i;
    return CLI_OPTIONS_OK;
}
