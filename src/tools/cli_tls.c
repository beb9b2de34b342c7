#include "tools/cli_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cli_tls {
    SSL_CTX *ctx;
    SSL *ssl;
    char reason[200];
};

/* ---- options ------------------------------------------------------------ */

const char cli_tls_usage[] =
    "  --tls          speak TLS; the server's certificate has to be a good one\n"
    "  --cacert FILE  certificates of those who vouch for the server (the system's)\n"
    "  --cacertdir DIR  the same, a folder of them\n"
    "  --cert FILE    our own certificate, for servers that want one; with --key\n"
    "  --key FILE     its key\n"
    "  --sni NAME     the server's name in its certificate, if it is not HOST\n"
    "  --insecure     take any certificate: anybody may be at the other end\n"
    "  --tls-ciphers LIST, --tls-ciphersuites LIST   ciphers up to TLS 1.2, and of 1.3\n";

int cli_tls_parse(struct cli_tls_options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } texts[] = {{"--cacert", &options->ca_file},
                 {"--cacertdir", &options->ca_dir},
                 {"--cert", &options->cert_file},
                 {"--key", &options->key_file},
                 {"--sni", &options->server_name},
                 {"--tls-ciphers", &options->ciphers},
                 {"--tls-ciphersuites", &options->ciphersuites}};
    if (strcmp(name, "--tls") == 0) {
        options->is_on = true;
        return 1;
    }
    if (strcmp(name, "--insecure") == 0) {
        options->is_insecure = true;
        return 1;
    }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) != 0)
            continue;
        *texts[i].place = value;
        return value != NULL ? 2 : -1;
    }
    return 0;
}

/* ---- opening ------------------------------------------------------------ */

static const char *reason_of(unsigned long code)
{
    const char *reason = NULL;
    if (ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    else if (code != 0)
        reason = ERR_reason_error_string(code);
    return reason != NULL ? reason : "unknown error";
}

struct errand { /* what is under way, for its error */
    char *error;
    size_t error_size;
};

static bool fail(const struct errand *errand, const char *what, const char *name)
{
    snprintf(errand->error, errand->error_size, "%s \"%s\": %s", what, name,
             reason_of(ERR_peek_error()));
    return false;
}

static bool load_files(SSL_CTX *ctx, const struct cli_tls_options *options,
                       const struct errand *errand)
{
    const char *cert = options->cert_file, *key = options->key_file;
    if (options->ca_file != NULL && SSL_CTX_load_verify_file(ctx, options->ca_file) != 1)
        return fail(errand, "--cacert", options->ca_file);
    if (options->ca_dir != NULL && SSL_CTX_load_verify_dir(ctx, options->ca_dir) != 1)
        return fail(errand, "--cacertdir", options->ca_dir);
    if (options->ca_file == NULL && options->ca_dir == NULL)
        SSL_CTX_set_default_verify_paths(ctx);
    if (cert != NULL && SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return fail(errand, "--cert", cert);
    if (key != NULL && SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return fail(errand, "--key", key);
    if ((cert == NULL) != (key == NULL)) {
        snprintf(errand->error, errand->error_size,
                 "--cert and --key have to be given together");
        return false;
    }
    return true;
}

static bool set_ciphers(SSL_CTX *ctx, const struct cli_tls_options *options,
                        const struct errand *errand)
{
    const char *list = options->ciphers, *suites = options->ciphersuites;
    if (list != NULL && SSL_CTX_set_cipher_list(ctx, list) != 1)
        return fail(errand, "--tls-ciphers", list);
    if (suites != NULL && SSL_CTX_set_ciphersuites(ctx, suites) != 1)
        return fail(errand, "--tls-ciphersuites", suites);
    return true;
}

/* Whose name the certificate has to have. */
static void expect_name(SSL *ssl, const struct cli_tls_options *options, const char *host)
{
    unsigned char address[16];
    const char *name = options->server_name != NULL ? options->server_name : host;
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
    if (inet_pton(AF_INET, name, address) == 1 ||
        inet_pton(AF_INET6, name, address) == 1) {
        X509_VERIFY_PARAM_set1_ip_asc(param, name);
        return;
    }
    SSL_set_tlsext_host_name(ssl, name);
    SSL_set1_host(ssl, name);
}

static bool shake_hands(SSL *ssl, const struct errand *errand)
{
    if (SSL_connect(ssl) == 1)
        return true;
    long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK)
        snprintf(errand->error, errand->error_size, "the server's certificate: %s",
                 X509_verify_cert_error_string(verified));
    else
        snprintf(errand->error, errand->error_size, "no TLS handshake: %s",
                 ERR_peek_error() != 0 ? reason_of(ERR_peek_error())
                                       : "the server has hung up");
    return false;
}

struct cli_tls *cli_tls_open(int fd, const struct cli_tls_options *options,
                             const char *host, char *error, size_t error_size)
{
    struct errand errand = {error, error_size};
    struct cli_tls *tls = calloc(1, sizeof *tls);
    snprintf(error, error_size, "out of memory");
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without saying that it minds */
    ERR_clear_error();
    if (tls != NULL)
        tls->ctx = SSL_CTX_new(TLS_client_method());
    if (tls != NULL && tls->ctx != NULL && load_files(tls->ctx, options, &errand) &&
        set_ciphers(tls->ctx, options, &errand) &&
        (tls->ssl = SSL_new(tls->ctx)) != NULL) {
        SSL_set_verify(tls->ssl, options->is_insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       NULL);
        SSL_set_mode(tls->ssl,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        if (!options->is_insecure)
            expect_name(tls->ssl, options, host);
        if (SSL_set_fd(tls->ssl, fd) == 1 && shake_hands(tls->ssl, &errand))
            return tls;
    }
    cli_tls_free(tls);
    return NULL;
}

void cli_tls_free(struct cli_tls *tls)
{
    if (tls == NULL)
        return;
    if (tls->ssl != NULL && SSL_is_init_finished(tls->ssl))
        SSL_shutdown(tls->ssl);
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->ctx);
    free(tls);
}

/* ---- moving bytes ------------------------------------------------------- */

/* What a call that moved nothing says, in the words of recv and send. */
static ssize_t result_of(struct cli_tls *tls)
{
    int saved = errno;
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_SYSCALL:
        errno = saved;
        return saved == 0 ? 0 : -1;
    default:
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
            return 0;
        snprintf(tls->reason, sizeof tls->reason, "TLS: %s", reason_of(ERR_peek_error()));
        errno = EPROTO;
        return -1;
    }
}

ssize_t cli_tls_recv(struct cli_tls *tls, void *out, size_t len)
{
    size_t have = 0, n;
    while (have < len) {
        ERR_clear_error();
        errno = 0;
        if (SSL_read_ex(tls->ssl, (char *)out + have, len - have, &n) != 1)
            break;
        have += n;
    }
    return have > 0 ? (ssize_t)have : result_of(tls);
}

ssize_t cli_tls_send(struct cli_tls *tls, const void *data, size_t len)
{
    size_t n;
    ERR_clear_error();
    errno = 0;
    if (SSL_write_ex(tls->ssl, data, len, &n) == 1)
        return (ssize_t)n;
    return result_of(tls);
}

const char *cli_tls_reason(const struct cli_tls *tls)
{
    return tls->reason;
}
