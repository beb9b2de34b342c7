/*
 * OpenSSL reads and writes through a BIO, its name for a stream. Ours has two ends in
 * memory: reading takes from the bytes of the last tls_feed, which lie in the loop's
 * buffer, so that nothing is copied unless a connection has to wait with them; writing
 * appends to `produced`.
 *
 * Renegotiation and compression are off: the one lets a client make the server work, the
 * other tells secrets by lengths.
 */
#include "server/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tls_context {
    SSL_CTX *ctx;
};

struct tls {
    SSL *ssl;
    const char *fed; /* ciphertext to be read */
    size_t fed_len;
    struct yn_buf kept; /* where it lies, if it had to wait */
    struct yn_buf produced;
    bool is_certificate; /* what broke it */
    bool is_admitted;    /* the handshake is over, and the peer may come in */
    char error[256];
};

/* What a connection's state takes, as measured with OpenSSL 3.0. */
#define SSL_BYTES ((size_t)24 * 1024)

/* ---- the stream ---- */

static int bio_read(BIO *bio, char *out, size_t len, size_t *out_len)
{
    struct tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->fed_len == 0) {
        BIO_set_retry_read(bio);
        *out_len = 0;
        return 0;
    }
    size_t n = tls->fed_len < len ? tls->fed_len : len;
    memcpy(out, tls->fed, n);
    tls->fed += n;
    tls->fed_len -= n;
    *out_len = n;
    return 1;
}

static int bio_write(BIO *bio, const char *data, size_t len, size_t *out_len)
{
    struct tls *tls = BIO_get_data(bio);
    yn_buf_append(&tls->produced, data, len);
    *out_len = tls->produced.failed ? 0 : len;
    return !tls->produced.failed;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

/* Made at the first use, which is at start-up, by one thread. */
static BIO_METHOD *stream_method(void)
{
    static BIO_METHOD *method;
    if (method != NULL)
        return method;
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "yonder");
    if (method != NULL) {
        BIO_meth_set_read_ex(method, bio_read);
        BIO_meth_set_write_ex(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
    return method;
}

/* ---- contexts ---- */

static const char *openssl_reason(void)
{
    unsigned long code = ERR_peek_error();
    const char *reason = NULL;
    if (ERR_SYSTEM_ERROR(code))
        reason = strerror(ERR_GET_REASON(code));
    else if (code != 0)
        reason = ERR_reason_error_string(code);
    return reason != NULL ? reason : "unknown error";
}

static bool fail(char *error, const char *what, const char *name, const char *reason)
{
    snprintf(error, TLS_ERROR_MAX, "%s \"%.200s\": %s", what, name, reason);
    ERR_clear_error();
    return false;
}

static int give_password(char *out, int size, int is_writing, void *config_ptr)
{
    const struct config *config = config_ptr;
    size_t len = strlen(config->tls_key_file_pass);
    (void)is_writing;
    if (len > (size_t)size)
        return 0;
    memcpy(out, config->tls_key_file_pass, len);
    return (int)len;
}

/* A server whose certificate has expired would be refused by its clients, and nobody
 * would see it here. */
static bool check_dates(SSL_CTX *ctx, const char *file, char *error)
{
    const X509 *certificate = SSL_CTX_get0_certificate(ctx);
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
        return fail(error, "tls-cert-file", file, "the certificate has expired");
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        return fail(error, "tls-cert-file", file, "the certificate is not valid yet");
    return true;
}

static bool load_certificate(SSL_CTX *ctx, const struct config *config, char *error)
{
    const char *cert = config->tls_cert_file, *key = config->tls_key_file;
    if (cert[0] == '\0' || key[0] == '\0') {
        snprintf(error, TLS_ERROR_MAX,
                 "tls-port needs a certificate: set both tls-cert-file and tls-key-file");
        return false;
    }
    SSL_CTX_set_default_passwd_cb(ctx, give_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, (void *)(uintptr_t)config);
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return fail(error, "tls-cert-file", cert, openssl_reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return fail(error, "tls-key-file", key, openssl_reason());
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    if (SSL_CTX_check_private_key(ctx) != 1)
        return fail(error, "tls-key-file", key, "is not the key of the certificate");
    return check_dates(ctx, cert, error);
}

static bool load_authorities(SSL_CTX *ctx, const struct config *config, char *error)
{
    const char *file = config->tls_ca_cert_file, *dir = config->tls_ca_cert_dir;
    int mode = SSL_VERIFY_NONE;
    if (config->tls_auth_clients != CONFIG_TLS_AUTH_NO)
        mode = SSL_VERIFY_PEER;
    if (config->tls_auth_clients == CONFIG_TLS_AUTH_YES)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(ctx, mode, NULL);
    if (mode != SSL_VERIFY_NONE && file[0] == '\0' && dir[0] == '\0') {
        snprintf(
            error, TLS_ERROR_MAX,
            "clients are to show certificates (tls-auth-clients), so tls-ca-cert-file "
            "or tls-ca-cert-dir has to say whose are good; or set tls-auth-clients no");
        return false;
    }
    if (file[0] != '\0') {
        if (SSL_CTX_load_verify_file(ctx, file) != 1)
            return fail(error, "tls-ca-cert-file", file, openssl_reason());
        SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(file));
    }
    if (dir[0] != '\0' && SSL_CTX_load_verify_dir(ctx, dir) != 1)
        return fail(error, "tls-ca-cert-dir", dir, openssl_reason());
    return true;
}

/* "TLSv1.2 TLSv1.3"; empty: those two. */
static bool set_protocols(SSL_CTX *ctx, const char *text, char *error)
{
    static const struct {
        const char *name;
        uint64_t without;
    } versions[] = {{"TLSv1", SSL_OP_NO_TLSv1},
                    {"TLSv1.1", SSL_OP_NO_TLSv1_1},
                    {"TLSv1.2", SSL_OP_NO_TLSv1_2},
                    {"TLSv1.3", SSL_OP_NO_TLSv1_3}};
    char words[256];
    char *rest = NULL;
    uint64_t without = 0;
    size_t n = sizeof versions / sizeof versions[0];
    snprintf(words, sizeof words, "%s", text[0] != '\0' ? text : "TLSv1.2 TLSv1.3");
    for (size_t i = 0; i < n; i++)
        without |= versions[i].without;
    for (char *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        size_t i = 0;
        while (i < n && strcasecmp(word, versions[i].name) != 0)
            i++;
        if (i == n)
            return fail(error, "tls-protocols", text,
                        "each word has to be one of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3");
        without &= ~versions[i].without;
    }
    SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
    SSL_CTX_set_options(ctx, without);
    return true;
}

static bool set_ciphers(SSL_CTX *ctx, const struct config *config, char *error)
{
    const char *list = config->tls_ciphers, *suites = config->tls_ciphersuites;
    if (list[0] != '\0' && SSL_CTX_set_cipher_list(ctx, list) != 1)
        return fail(error, "tls-ciphers", list, "names no cipher that there is");
    if (suites[0] != '\0' && SSL_CTX_set_ciphersuites(ctx, suites) != 1)
        return fail(error, "tls-ciphersuites", suites, "names a suite that there is not");
    if (config->tls_prefer_server_ciphers)
        SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE);
    return true;
}

static void set_sessions(SSL_CTX *ctx, const struct config *config)
{
    static const unsigned char id[] = "yonder";
    if (!config->tls_session_caching) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
        return;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER);
    SSL_CTX_sess_set_cache_size(ctx, (long)config->tls_session_cache_size);
    SSL_CTX_set_timeout(ctx, (long)config->tls_session_cache_timeout_s);
    SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
}

static bool configure(SSL_CTX *ctx, const struct config *config, char *error)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    set_sessions(ctx, config);
    return set_protocols(ctx, config->tls_protocols, error) &&
           set_ciphers(ctx, config, error) && load_certificate(ctx, config, error) &&
           load_authorities(ctx, config, error);
}

struct tls_context *tls_context_new(const struct config *config, char *error)
{
    struct tls_context *context = malloc(sizeof *context);
    SSL_CTX *ctx = context != NULL ? SSL_CTX_new(TLS_server_method()) : NULL;
    if (ctx == NULL || stream_method() == NULL) {
        snprintf(error, TLS_ERROR_MAX, "out of memory");
        SSL_CTX_free(ctx);
        free(context);
        return NULL;
    }
    context->ctx = ctx;
    if (configure(ctx, config, error))
        return context;
    tls_context_free(context);
    return NULL;
}

void tls_context_free(struct tls_context *context)
{
    if (context == NULL)
        return;
    SSL_CTX_free(context->ctx);
    free(context);
}

bool tls_is_option(const char *name)
{
    return strncmp(name, "tls-", 4) == 0 && strcmp(name, "tls-port") != 0;
}

/* ---- connections ---- */

struct tls *tls_new(struct tls_context *context)
{
    struct tls *tls = calloc(1, sizeof *tls);
    BIO *bio = tls != NULL ? BIO_new(stream_method()) : NULL;
    if (bio != NULL)
        tls->ssl = SSL_new(context->ctx);
    if (bio == NULL || tls->ssl == NULL) {
        BIO_free(bio);
        free(tls);
        return NULL;
    }
    yn_buf_init(&tls->kept);
    yn_buf_init(&tls->produced);
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void tls_free(struct tls *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    yn_buf_clear(&tls->kept);
    yn_buf_clear(&tls->produced);
    free(tls);
}

bool tls_feed(struct tls *tls, const char *data, size_t len)
{
    if (tls->fed_len == 0) {
        tls->fed = data;
        tls->fed_len = len;
        return true;
    }
    yn_buf_append(&tls->kept, data, len); /* behind what waits, which lies there */
    if (tls->kept.failed)
        return false;
    tls->fed = tls->kept.data + (tls->kept.len - len - tls->fed_len);
    tls->fed_len += len;
    return true;
}

bool tls_keep(struct tls *tls)
{
    struct yn_buf rest;
    yn_buf_init(&rest);
    yn_buf_append(&rest, tls->fed, tls->fed_len);
    yn_buf_clear(&tls->kept);
    tls->kept = rest;
    tls->fed = rest.data;
    tls->fed_len = rest.len;
    return !rest.failed;
}

static enum tls_status note_failure(struct tls *tls)
{
    long verified = SSL_get_verify_result(tls->ssl);
    tls->is_certificate = verified != X509_V_OK && !SSL_is_init_finished(tls->ssl);
    snprintf(tls->error, sizeof tls->error, "%s",
             tls->is_certificate ? X509_verify_cert_error_string(verified)
                                 : openssl_reason());
    return TLS_BROKEN;
}

/* A session that is taken up again shows no certificate: OpenSSL does not look at that of
 * the first time once more, and it may have expired since. */
static bool admit(struct tls *tls)
{
    X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
    if (certificate == NULL || !SSL_session_reused(tls->ssl) ||
        X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0) {
        tls->is_admitted = true;
        return true;
    }
    tls->is_certificate = true;
    snprintf(tls->error, sizeof tls->error, "%s",
             X509_verify_cert_error_string(X509_V_ERR_CERT_HAS_EXPIRED));
    return false;
}

enum tls_status tls_read(struct tls *tls, char *out, size_t len, size_t *out_len)
{
    ERR_clear_error();
    bool has_read = SSL_read_ex(tls->ssl, out, len, out_len) == 1;
    if (!tls->is_admitted && SSL_is_init_finished(tls->ssl) && !admit(tls)) {
        *out_len = 0;
        return TLS_BROKEN;
    }
    if (has_read)
        return TLS_DONE;
    *out_len = 0;
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        return TLS_MORE;
    case SSL_ERROR_ZERO_RETURN:
        tls->fed_len = 0; /* what follows the end is nobody's */
        return TLS_ENDED;
    default:
        return note_failure(tls);
    }
}

bool tls_write(struct tls *tls, const char *data, size_t len)
{
    size_t written;
    ERR_clear_error();
    if (len == 0 || (SSL_write_ex(tls->ssl, data, len, &written) == 1 && written == len))
        return true;
    note_failure(tls);
    return false;
}

void tls_end(struct tls *tls)
{
    if (SSL_is_init_finished(tls->ssl))
        SSL_shutdown(tls->ssl);
    ERR_clear_error();
}

struct yn_buf *tls_produced(struct tls *tls)
{
    return &tls->produced;
}

bool tls_has_input(const struct tls *tls)
{
    return tls->fed_len > 0 || SSL_pending(tls->ssl) > 0;
}

bool tls_is_ready(const struct tls *tls)
{
    return SSL_is_init_finished(tls->ssl);
}

const char *tls_error(const struct tls *tls, bool *out_is_certificate)
{
    *out_is_certificate = tls->is_certificate;
    return tls->error;
}

size_t tls_memory(const struct tls *tls)
{
    return sizeof *tls + SSL_BYTES + tls->kept.cap + tls->produced.cap;
}
