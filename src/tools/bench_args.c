#include "tools/bench_args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/num.h"

void bench_args_init_server(struct cli_options *server)
{
    *server = (struct cli_options){.host = "127.0.0.1", .port = 6379};
    server->password = getenv("YONDER_AUTH");
    if (server->password == NULL)
        server->password = getenv("REDISCLI_AUTH");
}

bool bench_args_parse_count(const char *text, uint64_t *out_count)
{
    uint64_t count = 0;
    const char *p = text;
    for (; (*p >= '0' && *p <= '9') || (*p == '_' && p > text); p++) {
        if (*p == '_')
            continue;
        if (count > UINT64_MAX / 100)
            return false;
        count = count * 10 + (uint64_t)(*p - '0');
    }
    uint64_t unit = 1;
    if (*p == 'k' || *p == 'K')
        unit = 1000, p++;
    else if (*p == 'm' || *p == 'M')
        unit = 1000000, p++;
    if (*p != '\0' || count == 0 || count > UINT64_MAX / 1000000)
        return false;
    *out_count = count * unit;
    return true;
}

bool bench_args_parse_address(char *text, const char **out_host, int *out_port)
{
    char *colon = strrchr(text, ':');
    const char *port_text = colon != NULL ? colon + 1 : text;
    long port;
    if (!cli_options_parse_number(port_text, 1, 65535, &port))
        return false;
    *out_port = (int)port;
    *out_host = NULL;
    if (colon != NULL && colon > text) {
        *colon = '\0';
        *out_host = text;
    }
    return true;
}

static bool parse_value(const struct bench_arg *arg, const char *text)
{
    long number;
    double value;
    switch (arg->kind) {
    case BENCH_ARG_TEXT:
        *(const char **)arg->value = text;
        return true;
    case BENCH_ARG_INT:
        if (!cli_options_parse_number(text, 0, INT32_MAX, &number))
            return false;
        *(int *)arg->value = (int)number;
        return true;
    case BENCH_ARG_COUNT:
        return bench_args_parse_count(text, arg->value);
    case BENCH_ARG_NUMBER:
        if (!yn_num_parse_double((struct yn_bytes){text, strlen(text)}, &value) ||
            value < 0 || isinf(value))
            return false;
        *(double *)arg->value = value;
        return true;
    default:
        return false;
    }
}

static const struct bench_arg *find(const struct bench_arg *table, const char *name)
{
    for (; table->name != NULL; table++) {
        if (strcmp(table->name, name) == 0 ||
            (table->other_name != NULL && strcmp(table->other_name, name) == 0))
            return table;
    }
    return NULL;
}

bool bench_args_parse(const struct bench_arg *table, const char *usage,
                      bool options_first, int argc, char **argv, int *out_first,
                      int *out_exit_status)
{
    int n_words = 0, i = 1;
    *out_exit_status = 2;
    for (; i < argc; i++) {
        char *name = argv[i];
        if (name[0] != '-' || name[1] == '\0') {
            if (options_first)
                break;
            argv[1 + n_words++] = name;
            continue;
        }
        if (strcmp(name, "--help") == 0) {
            fputs(usage, stdout);
            *out_exit_status = 0;
            return false;
        }
        const struct bench_arg *arg = find(table, name);
        if (arg == NULL) {
            fprintf(stderr, "yonder-bench: unknown option %s; see --help\n", name);
            return false;
        }
        if (arg->kind == BENCH_ARG_FLAG) {
            *(bool *)arg->value = true;
            continue;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "yonder-bench: no value for %s\n", name);
            return false;
        }
        if (!parse_value(arg, argv[++i])) {
            fprintf(stderr, "yonder-bench: wrong value for %s: \"%s\"\n", name, argv[i]);
            return false;
        }
    }
    if (options_first) {
        *out_first = i;
        return true;
    }
    /* words were gathered at the front; hand them out from the end */
    *out_first = argc - n_words;
    memmove(&argv[argc - n_words], &argv[1], (size_t)n_words * sizeof argv[0]);
    return true;
}
