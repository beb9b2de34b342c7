/*
 * config.h: the options of the server, in the names and the file syntax of redis.conf.
 *
 * Options come from built-in defaults, a file (or standard input), the command line
 * and CONFIG SET, each through config_set, so that one table says what is valid.
 * An option's value is text; the table says how it is parsed and where it goes.
 *
 * Ownership: struct config owns its strings. Texts handed out are borrowed until the
 * option is set again.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "core/buf.h"

enum config_coordinate_format { CONFIG_COORDINATE_SHORTEST, CONFIG_COORDINATE_FIXED17 };
enum config_debug { CONFIG_DEBUG_NO, CONFIG_DEBUG_LOCAL, CONFIG_DEBUG_YES };

/* Output limits of one class of clients; 0: none. */
struct config_output_limit {
    uint64_t hard;
    uint64_t soft;
    uint64_t soft_s;
};
/* Whether a client has to show a certificate. */
enum config_tls_auth {
    CONFIG_TLS_AUTH_NO,
    CONFIG_TLS_AUTH_YES,
    CONFIG_TLS_AUTH_OPTIONAL
};

enum config_class { CONFIG_CLASS_NORMAL, CONFIG_CLASS_REPLICA, CONFIG_CLASS_PUBSUB };
#define CONFIG_CLASSES 3

struct config {
    char *bind;       /* addresses, separated by blanks; "-" in front: may be missing */
    int64_t port;     /* 0: any free one; none if there is a tls_port */
    int64_t tls_port; /* 0: none */
    char *tls_cert_file, *tls_key_file, *tls_key_file_pass;
    char *tls_ca_cert_file, *tls_ca_cert_dir;
    int64_t tls_auth_clients; /* enum config_tls_auth */
    char *tls_protocols, *tls_ciphers, *tls_ciphersuites;
    bool tls_prefer_server_ciphers;
    bool tls_session_caching;
    int64_t tls_session_cache_size, tls_session_cache_timeout_s;
    char *unixsocket;
    int64_t unixsocketperm;
    int64_t timeout_s;
    int64_t tcp_keepalive_s;
    int64_t tcp_backlog;
    int64_t maxclients;
    int64_t threads; /* 0: as many as processors */
    int64_t databases;
    char *requirepass;
    char *aclfile;
    int64_t acllog_max_len;
    int64_t acl_pubsub_default; /* 1: new users may use all channels */
    bool protected_mode;
    int64_t loglevel; /* enum log_level */
    char *logfile;
    char *dir;
    int64_t proto_max_bulk_len;
    int64_t client_query_buffer_limit;
    struct config_output_limit output_limits[CONFIG_CLASSES];
    int64_t maxmemory; /* 0: no limit */
    int64_t maxmemory_policy;
    int64_t hz;
    bool daemonize;
    int64_t supervised; /* enum systemd_supervised */
    char *pidfile;
    bool always_show_logo;
    char *save;
    bool appendonly;
    int64_t coordinate_format; /* enum config_coordinate_format */
    int64_t zset_max_listpack_entries;
    int64_t zset_max_listpack_value;
    bool lazy_user_del;
    bool lazy_user_flush;
    bool lazy_expire;
    bool lazy_server_del;
    int64_t notify_classes;             /* enum notify_class */
    int64_t tracking_table_max_keys;    /* 0: no limit */
    int64_t enable_debug_command;       /* enum config_debug */
    int64_t slowlog_log_slower_than_us; /* negative: nothing is logged */
    int64_t slowlog_max_len;
    int64_t latency_monitor_threshold_ms; /* 0: not monitored */
    bool latency_tracking;
    int64_t worker_threads;       /* of the pool; 0: by the number of cores */
    int64_t offload_threshold_us; /* estimated work that goes there; negative: none */
    int64_t search_timeout_ms;    /* 0: none */
    char *latency_percentiles;    /* numbers from 0 to 100, separated by blanks */

    /* Users, which are no option: for each a line of quoted words: where it is from
     * ("yonder.conf:12"), its name, its rules. NULL: none. */
    char *users;
    /* Lines "user NAME RULE ..." that CONFIG REWRITE puts in the place of those that the
     * file has. NULL: it leaves them alone. */
    char *user_lines;
};

struct config_option;

#define CONFIG_ERROR_MAX 1024

/* Fills in the defaults. Returns false when out of memory. */
bool config_init(struct config *config);
void config_clear(struct config *config);

/* Finds an option by name, any case. NULL: no such option. */
const struct config_option *config_find(struct yn_bytes name);
/* Walks all options; i from 0. NULL after the last. */
const struct config_option *config_at(size_t i);
const char *config_name(const struct config_option *option);
/* True if CONFIG SET may change it while the server runs. */
bool config_is_dynamic(const struct config_option *option);

/* True if the word begins the line of a user. */
bool config_is_user(struct yn_bytes word);

/* True if the value is several words, which a file has side by side. */
bool config_takes_words(const struct config_option *option);

/* Sets the option from its text ("yes", "512mb", "normal 0 0 0"). On failure the config
 * is as before and error (CONFIG_ERROR_MAX bytes) says what is wrong, in the words CONFIG
 * SET answers with. */
bool config_set(struct config *config, const struct config_option *option,
                struct yn_bytes text, char *error);
/* Appends the value as CONFIG GET shows it. */
void config_get(const struct config *config, const struct config_option *option,
                struct yn_buf *out);
/* Appends the value as text that sets all of it: CONFIG GET hides what Redis hides. */
void config_format(const struct config *config, const struct config_option *option,
                   struct yn_buf *out);

/* Reads options in redis.conf syntax, one a line. origin names the text in errors
 * ("yonder.conf"). The error tells about the first line that is wrong,
 * "yonder.conf:12: unknown option 'foo' ...", and numbers the others; some options may
 * have been set by then. */
bool config_load_text(struct config *config, struct yn_bytes text, const char *origin,
                      char *error);
/* Reads a file ("-": standard input) the same way. */
bool config_load_file(struct config *config, const char *path, char *error);
/* Reads "--option value ..." words of a command line. */
bool config_load_args(struct config *config, int n_words, const char *const *words,
                      char *error);

#endif
