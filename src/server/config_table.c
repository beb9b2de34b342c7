/* The options of the configuration: each has its line in yonder.conf. */
#include <limits.h>
#include <stddef.h>

#include "core/num.h"
#include "server/config_parts.h"
#include "server/log.h"
#include "server/notify.h"
#include "server/systemd.h"

static const char *refuse_daemonize(struct yn_bytes text)
{
    return config_text_is(text, "yes")
               ? "this server stays in the foreground: use a service manager "
                 "or a shell's & instead; the only accepted value is 'no'"
               : NULL;
}

static const char *refuse_supervised(struct yn_bytes text)
{
    if (config_text_is(text, "upstart"))
        return "upstart is not supported; the accepted values are no, systemd and auto";
    return config_text_is(text, "systemd") && !YN_HAVE_SYSTEMD
               ? "this server was built without support for systemd (YN_SYSTEMD=OFF)"
               : NULL;
}

static const char *refuse_save(struct yn_bytes text)
{
    return text.len > 0
               ? "snapshots are not built into this version, so nothing would be "
                 "saved; the only accepted value is \"\""
               : NULL;
}

static const char *refuse_appendonly(struct yn_bytes text)
{
    return config_text_is(text, "yes")
               ? "the append-only log is not built into this version, so "
                 "nothing would be logged; the only accepted value is 'no'"
               : NULL;
}

static const char *refuse_percentiles(struct yn_bytes text)
{
    struct yn_bytes word;
    double value;
    while (config_next_word(&text, &word)) {
        if (!yn_num_parse_double(word, &value))
            return "Invalid latency-tracking-info-percentiles parameters";
        if (!(value >= 0 && value <= 100))
            return "latency-tracking-info-percentiles parameters should sit between "
                   "[0.0,100.0]";
    }
    return NULL;
}

static const struct config_choice loglevels[] = {{"debug", LOG_LEVEL_DEBUG},
                                                 {"verbose", LOG_LEVEL_VERBOSE},
                                                 {"notice", LOG_LEVEL_NOTICE},
                                                 {"warning", LOG_LEVEL_WARNING},
                                                 {NULL, 0}};
static const struct config_choice coordinate_formats[] = {
    {"shortest", CONFIG_COORDINATE_SHORTEST},
    {"fixed17", CONFIG_COORDINATE_FIXED17},
    {NULL, 0}};
/* One, and no more: programs ask for it, and files for Redis have it. */
static const struct config_choice maxmemory_policies[] = {{"noeviction", 0}, {NULL, 0}};
static const struct config_choice debug_modes[] = {{"no", CONFIG_DEBUG_NO},
                                                   {"local", CONFIG_DEBUG_LOCAL},
                                                   {"yes", CONFIG_DEBUG_YES},
                                                   {NULL, 0}};
static const struct config_choice supervisors[] = {{"no", SYSTEMD_NO},
                                                   {"systemd", SYSTEMD_YES},
                                                   {"auto", SYSTEMD_AUTO},
                                                   {"upstart", SYSTEMD_UPSTART},
                                                   {NULL, 0}};
static const struct config_choice channel_defaults[] = {
    {"allchannels", 1}, {"resetchannels", 0}, {NULL, 0}};
static const struct config_choice tls_auths[] = {{"no", CONFIG_TLS_AUTH_NO},
                                                 {"yes", CONFIG_TLS_AUTH_YES},
                                                 {"optional", CONFIG_TLS_AUTH_OPTIONAL},
                                                 {NULL, 0}};
const struct config_choice config_booleans[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};

#define AT(field) offsetof(struct config, field)
#define MB ((int64_t)1 << 20)

static const struct config_option options[] = {
    /* name, kind, dynamic, default, place, min, max, choices, refuse */
    {"bind", KIND_WORDS, false, "127.0.0.1 -::1", AT(bind), 0, 0, NULL, NULL},
    {"port", KIND_INT, false, "6379", AT(port), 0, 65535, NULL, NULL},
    {"tls-port", KIND_INT, false, "0", AT(tls_port), 0, 65535, NULL, NULL},
    {"tls-cert-file", KIND_STRING, true, "", AT(tls_cert_file), 0, 0, NULL, NULL},
    {"tls-key-file", KIND_STRING, true, "", AT(tls_key_file), 0, 0, NULL, NULL},
    {"tls-key-file-pass", KIND_STRING, true, "", AT(tls_key_file_pass), 0, 0, NULL, NULL},
    {"tls-ca-cert-file", KIND_STRING, true, "", AT(tls_ca_cert_file), 0, 0, NULL, NULL},
    {"tls-ca-cert-dir", KIND_STRING, true, "", AT(tls_ca_cert_dir), 0, 0, NULL, NULL},
    {"tls-auth-clients", KIND_CHOICE, true, "yes", AT(tls_auth_clients), 0, 0, tls_auths,
     NULL},
    {"tls-protocols", KIND_WORDS, true, "", AT(tls_protocols), 0, 0, NULL, NULL},
    {"tls-ciphers", KIND_STRING, true, "", AT(tls_ciphers), 0, 0, NULL, NULL},
    {"tls-ciphersuites", KIND_STRING, true, "", AT(tls_ciphersuites), 0, 0, NULL, NULL},
    {"tls-prefer-server-ciphers", KIND_BOOL, true, "no", AT(tls_prefer_server_ciphers), 0,
     0, NULL, NULL},
    {"tls-session-caching", KIND_BOOL, true, "yes", AT(tls_session_caching), 0, 0, NULL,
     NULL},
    {"tls-session-cache-size", KIND_INT, true, "20480", AT(tls_session_cache_size), 0,
     INT_MAX, NULL, NULL},
    {"tls-session-cache-timeout", KIND_INT, true, "300", AT(tls_session_cache_timeout_s),
     0, INT_MAX, NULL, NULL},
    {"unixsocket", KIND_STRING, false, "", AT(unixsocket), 0, 0, NULL, NULL},
    {"unixsocketperm", KIND_OCTAL, false, "0", AT(unixsocketperm), 0, 0777, NULL, NULL},
    {"timeout", KIND_INT, true, "0", AT(timeout_s), 0, INT_MAX, NULL, NULL},
    {"tcp-keepalive", KIND_INT, true, "300", AT(tcp_keepalive_s), 0, INT_MAX, NULL, NULL},
    {"tcp-backlog", KIND_INT, false, "511", AT(tcp_backlog), 1, INT_MAX, NULL, NULL},
    {"maxclients", KIND_INT, true, "10000", AT(maxclients), 1, INT_MAX, NULL, NULL},
    {"threads", KIND_INT, false, "0", AT(threads), 0, 128, NULL, NULL},
    {"databases", KIND_INT, false, "16", AT(databases), 1, 65536, NULL, NULL},
    {"requirepass", KIND_STRING, true, "", AT(requirepass), 0, 0, NULL, NULL},
    {"aclfile", KIND_STRING, false, "", AT(aclfile), 0, 0, NULL, NULL},
    {"acllog-max-len", KIND_INT, true, "128", AT(acllog_max_len), 0, INT64_MAX, NULL,
     NULL},
    {"acl-pubsub-default", KIND_CHOICE, true, "resetchannels", AT(acl_pubsub_default), 0,
     0, channel_defaults, NULL},
    {"protected-mode", KIND_BOOL, true, "yes", AT(protected_mode), 0, 0, NULL, NULL},
    {"loglevel", KIND_CHOICE, true, "notice", AT(loglevel), 0, 0, loglevels, NULL},
    {"logfile", KIND_STRING, false, "", AT(logfile), 0, 0, NULL, NULL},
    {"dir", KIND_STRING, false, ".", AT(dir), 0, 0, NULL, NULL},
    {"proto-max-bulk-len", KIND_MEMORY, true, "512mb", AT(proto_max_bulk_len), MB,
     INT64_MAX, NULL, NULL},
    {"client-query-buffer-limit", KIND_MEMORY, true, "1gb", AT(client_query_buffer_limit),
     MB, INT64_MAX, NULL, NULL},
    {"client-output-buffer-limit", KIND_LIMITS, true,
     "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60", AT(output_limits), 0, 0,
     NULL, NULL},
    {"maxmemory", KIND_MEMORY, true, "0", AT(maxmemory), 0, INT64_MAX, NULL, NULL},
    {"maxmemory-policy", KIND_CHOICE, true, "noeviction", AT(maxmemory_policy), 0, 0,
     maxmemory_policies, NULL},
    {"hz", KIND_INT, true, "10", AT(hz), 1, 500, NULL, NULL},
    {"daemonize", KIND_BOOL, false, "no", AT(daemonize), 0, 0, NULL, refuse_daemonize},
    {"supervised", KIND_CHOICE, false, "no", AT(supervised), 0, 0, supervisors,
     refuse_supervised},
    {"pidfile", KIND_STRING, false, "", AT(pidfile), 0, 0, NULL, NULL},
    {"always-show-logo", KIND_BOOL, false, "no", AT(always_show_logo), 0, 0, NULL, NULL},
    {"save", KIND_WORDS, true, "", AT(save), 0, 0, NULL, refuse_save},
    {"appendonly", KIND_BOOL, true, "no", AT(appendonly), 0, 0, NULL, refuse_appendonly},
    {"coordinate-format", KIND_CHOICE, true, "shortest", AT(coordinate_format), 0, 0,
     coordinate_formats, NULL},
    {"zset-max-listpack-entries", KIND_INT, true, "128", AT(zset_max_listpack_entries), 0,
     INT64_MAX, NULL, NULL},
    {"zset-max-listpack-value", KIND_MEMORY, true, "64", AT(zset_max_listpack_value), 0,
     INT64_MAX, NULL, NULL},
    {"lazyfree-lazy-user-del", KIND_BOOL, true, "yes", AT(lazy_user_del), 0, 0, NULL,
     NULL},
    {"lazyfree-lazy-user-flush", KIND_BOOL, true, "yes", AT(lazy_user_flush), 0, 0, NULL,
     NULL},
    {"lazyfree-lazy-expire", KIND_BOOL, true, "yes", AT(lazy_expire), 0, 0, NULL, NULL},
    {"lazyfree-lazy-server-del", KIND_BOOL, true, "yes", AT(lazy_server_del), 0, 0, NULL,
     NULL},
    {"notify-keyspace-events", KIND_EVENTS, true, "", AT(notify_classes), 0, 0, NULL,
     NULL},
    {"tracking-table-max-keys", KIND_INT, true, "1000000", AT(tracking_table_max_keys), 0,
     INT64_MAX, NULL, NULL},
    {"enable-debug-command", KIND_CHOICE, false, "local", AT(enable_debug_command), 0, 0,
     debug_modes, NULL},
    {"slowlog-log-slower-than", KIND_INT, true, "10000", AT(slowlog_log_slower_than_us),
     -1, INT64_MAX, NULL, NULL},
    {"slowlog-max-len", KIND_INT, true, "128", AT(slowlog_max_len), 0, INT64_MAX, NULL,
     NULL},
    {"latency-monitor-threshold", KIND_INT, true, "0", AT(latency_monitor_threshold_ms),
     0, INT64_MAX, NULL, NULL},
    {"latency-tracking", KIND_BOOL, true, "yes", AT(latency_tracking), 0, 0, NULL, NULL},
    {"worker-threads", KIND_INT, false, "0", AT(worker_threads), 0, 64, NULL, NULL},
    {"offload-threshold", KIND_INT, true, "1000", AT(offload_threshold_us), -1,
     INT64_MAX / 1000, NULL, NULL},
    {"search-timeout", KIND_INT, true, "0", AT(search_timeout_ms), 0, INT64_MAX / 1000000,
     NULL, NULL},
    {"latency-tracking-info-percentiles", KIND_WORDS, true, "50 99 99.9",
     AT(latency_percentiles), 0, 0, NULL, refuse_percentiles},
};

#define N_OPTIONS (sizeof options / sizeof options[0])

const struct config_option *config_find(struct yn_bytes name)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (config_text_is(name, options[i].name))
            return &options[i];
    }
    return NULL;
}

const struct config_option *config_at(size_t i)
{
    return i < N_OPTIONS ? &options[i] : NULL;
}

const char *config_name(const struct config_option *option)
{
    return option->name;
}

bool config_is_dynamic(const struct config_option *option)
{
    return option->is_dynamic;
}

bool config_is_user(struct yn_bytes word)
{
    return config_text_is(word, "user");
}

bool config_takes_words(const struct config_option *option)
{
    return option->kind == KIND_WORDS || option->kind == KIND_LIMITS;
}
