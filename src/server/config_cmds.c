/* CONFIG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/glob.h"
#include "server/acl_file.h"
#include "server/commands.h"
#include "server/config_rewrite.h"
#include "server/conn.h"
#include "server/host_server.h"
#include "server/log.h"
#include "server/server.h"
#include "server/tls.h"

/* ---- CONFIG GET ---- */

static bool is_asked_for(const struct cmd_call *call, const struct config_option *option)
{
    const char *name = config_name(option);
    struct yn_bytes text = {name, strlen(name)};
    for (size_t i = 2; i < call->argc; i++) {
        if (glob_matches_nocase(call->argv[i], text))
            return true;
    }
    return false;
}

void config_cmd_get(struct cmd_call *call)
{
    const struct config *config = &call->host->loop->server->config;
    const struct config_option *option;
    struct yn_buf value;
    size_t n = 0;
    for (size_t i = 0; (option = config_at(i)) != NULL; i++)
        n += is_asked_for(call, option);
    host_reply_map(call->host, n);
    yn_buf_init(&value);
    for (size_t i = 0; (option = config_at(i)) != NULL; i++) {
        if (!is_asked_for(call, option))
            continue;
        const char *name = config_name(option);
        value.len = 0;
        config_get(config, option, &value);
        host_reply_bulk_text(call->host, name);
        host_reply_bulk(call->host, (struct yn_bytes){value.data, value.len});
    }
    yn_buf_clear(&value);
}

/* ---- CONFIG SET ---- */

static void reply_failed(struct cmd_call *call, const struct config_option *option,
                         const char *reason)
{
    char text[CONFIG_ERROR_MAX + 128];
    snprintf(text, sizeof text,
             "ERR CONFIG SET failed (possibly related to argument '%s') - %s",
             config_name(option), reason);
    host_reply_error(call->host, text);
}

/* Finds the options of all pairs and checks that they may be set. */
static bool find_options_or_reply(struct cmd_call *call,
                                  const struct config_option **options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct yn_bytes name = call->argv[2 + 2 * i];
        options[i] = config_find(name);
        if (options[i] == NULL) {
            server_reply_error_word(
                call, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                name);
            return false;
        }
        if (!config_is_dynamic(options[i])) {
            reply_failed(call, options[i], "can't set immutable config");
            return false;
        }
        for (size_t k = 0; k < i; k++) {
            if (options[k] == options[i]) {
                reply_failed(call, options[i], "duplicate parameter");
                return false;
            }
        }
    }
    return true;
}

static bool has_password(const struct config_option **options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(config_name(options[i]), "requirepass") == 0)
            return true;
    }
    return false;
}

/* What is set of TLS is tried, and in force for clients that come from now on. */
static bool apply_tls_or_reply(struct cmd_call *call,
                               const struct config_option **options, size_t n)
{
    struct server *server = call->host->loop->server;
    char error[TLS_ERROR_MAX];
    size_t i = 0;
    while (i < n && !tls_is_option(config_name(options[i])))
        i++;
    if (i == n || server->tls == NULL)
        return true;
    struct tls_context *context = tls_context_new(&server->config, error);
    if (context == NULL) {
        log_warning("CONFIG SET: TLS stays as it was: %s", error);
        reply_failed(call, options[i], error);
        return false;
    }
    tls_context_free(server->tls);
    server->tls = context;
    return true;
}

/* Sets all pairs, or none: on failure the values from before are put back. */
static void set_all_or_reply(struct cmd_call *call, const struct config_option **options,
                             size_t n)
{
    struct server *server = call->host->loop->server;
    struct config *config = &server->config;
    char error[CONFIG_ERROR_MAX];
    char ignored[CONFIG_ERROR_MAX];
    struct yn_buf *old = calloc(n, sizeof *old);
    if (old == NULL) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return;
    }
    size_t n_set = 0;
    for (; n_set < n; n_set++) {
        yn_buf_init(&old[n_set]);
        config_get(config, options[n_set], &old[n_set]);
        if (!config_set(config, options[n_set], call->argv[3 + 2 * n_set], error)) {
            reply_failed(call, options[n_set], error);
            break;
        }
    }
    bool ok = n_set == n && apply_tls_or_reply(call, options, n);
    for (size_t i = 0; !ok && i < n_set; i++)
        config_set(config, options[i], (struct yn_bytes){old[i].data, old[i].len},
                   ignored);
    for (size_t i = 0; i < n; i++)
        yn_buf_clear(&old[i]);
    free(old);
    if (!ok)
        return;
    server_apply_config(server);
    if (has_password(options, n) && !server_apply_password(server))
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else
        host_reply_status(call->host, "OK");
}

void config_cmd_set(struct cmd_call *call)
{
    if (call->argc % 2 != 0) {
        host_reply_error(call->host, CMD_ERR_SYNTAX);
        return;
    }
    size_t n = (call->argc - 2) / 2;
    const struct config_option **options =
        cmd_arena_take(call->arena, n * sizeof(const struct config_option *));
    if (options == NULL)
        host_reply_error(call->host, CMD_ERR_NOMEM);
    else if (find_options_or_reply(call, options, n))
        set_all_or_reply(call, options, n);
}

/* ---- the others ---- */

void config_cmd_resetstat(struct cmd_call *call)
{
    struct server *server = call->host->loop->server;
    for (size_t i = 0; i < server->n_loops; i++)
        stats_reset(&server->loops[i].stats);
    for (size_t i = 0; i < server->n_databases; i++)
        keyspace_reset_stats(server->databases[i]);
    reaper_reset_stats(&server->reaper);
    server->expire_ns = server->expire_cuts = 0;
    server->sample_commands = server->sample_in = server->sample_out = 0;
    host_reply_status(call->host, "OK");
}

/* The lines of users for the file, unless they are in one of their own: none for a
 * default user who is what requirepass makes of it. */
static bool note_users(struct server *server)
{
    struct yn_buf lines;
    struct acl fresh;
    struct config *config = &server->config;
    const char *pass = config->requirepass;
    free(config->user_lines);
    config->user_lines = NULL;
    if (config->aclfile[0] != '\0')
        return true;
    yn_buf_init(&lines);
    bool ok = acl_init(&fresh) &&
              acl_set_default_password(&fresh, (struct yn_bytes){pass, strlen(pass)});
    if (ok) {
        acl_file_format(&fresh, &lines);
        size_t plain = lines.len;
        acl_file_format(&server->acl, &lines);
        bool is_plain =
            lines.len == 2 * plain && memcmp(lines.data, lines.data + plain, plain) == 0;
        yn_buf_append(&lines, "", 1); /* the zero byte */
        if (!lines.failed)
            config->user_lines = strdup(is_plain ? "" : lines.data + plain);
        ok = config->user_lines != NULL;
    }
    acl_clear(&fresh);
    yn_buf_clear(&lines);
    return ok;
}

void config_cmd_rewrite(struct cmd_call *call)
{
    struct server *server = call->host->loop->server;
    char error[CONFIG_ERROR_MAX];
    char text[CONFIG_ERROR_MAX + 64];
    if (server->config_file[0] == '\0') {
        host_reply_error(call->host, "ERR The server is running without a config file");
    } else if (!note_users(server)) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
    } else if (config_rewrite_file(&server->config, server->config_file, error)) {
        log_notice("CONFIG REWRITE: %s is written", server->config_file);
        host_reply_status(call->host, "OK");
    } else {
        log_warning("CONFIG REWRITE failed: %s", error);
        snprintf(text, sizeof text, "ERR Rewriting config file: %s", error);
        host_reply_error(call->host, text);
    }
}

void config_cmd_help(struct cmd_call *call)
{
    static const char *const help[] = {
        "CONFIG <subcommand> [<arg> ...]. Subcommands are:",
        "GET <pattern> [<pattern> ...]",
        "    Return the options that match, with their values.",
        "SET <option> <value> [<option> <value> ...]",
        "    Set options: all of them, or none if one value is refused.",
        "REWRITE",
        "    Write the options that are in force into the configuration file.",
        "RESETSTAT",
        "    Set the counters of INFO to zero.",
        "HELP",
        "    Print this help.",
        NULL,
    };
    server_reply_help(call, help);
}
