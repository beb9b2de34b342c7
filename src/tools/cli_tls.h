/*
 * cli_tls.h: the client's side of TLS over a socket, with OpenSSL.
 *
 * cli_tls_recv and cli_tls_send are what recv and send are without TLS; the socket may
 * block or not.
 */
#ifndef CLI_TLS_H
#define CLI_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What the command line says; texts are borrowed, NULL where nothing was said. */
struct cli_tls_options {
    bool is_on;
    bool is_insecure;             /* any certificate will do */
    const char *ca_file, *ca_dir; /* whose certificates are good; neither: the system's */
    const char *cert_file, *key_file; /* our own */
    const char *server_name; /* that the certificate has to have; NULL: the host's */
    const char *ciphers, *ciphersuites;
};

/* The lines of --help about them. */
extern const char cli_tls_usage[];

/* Reads one option. Returns the number of words that it takes (1, or 2 with its value), 0
 * if it is not about TLS, -1 if its value is missing. value: the next word, or NULL. */
int cli_tls_parse(struct cli_tls_options *options, const char *name, const char *value);

struct cli_tls;

/* Shakes hands over a connected socket that blocks. Returns NULL, and says why. */
struct cli_tls *cli_tls_open(int fd, const struct cli_tls_options *options,
                             const char *host, char *error, size_t error_size);
void cli_tls_free(struct cli_tls *tls);

/* As recv and send: the number of bytes, 0 at the end, -1 with errno; with EPROTO
 * cli_tls_reason tells what TLS has to say. Receiving goes on
 * until the room is full or nothing is left: there may be more without the socket being
 * readable only after a call that has filled its room. */
ssize_t cli_tls_recv(struct cli_tls *tls, void *out, size_t len);
ssize_t cli_tls_send(struct cli_tls *tls, const void *data, size_t len);
const char *cli_tls_reason(const struct cli_tls *tls);

#endif
