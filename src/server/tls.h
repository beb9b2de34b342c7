/*
 * tls.h: TLS between a connection's socket and its buffers, with OpenSSL.
 *
 * Nothing here touches a socket: ciphertext that has come is given to tls_feed,
 * ciphertext to be sent is taken from tls_produced. So it works with any event loop, and
 * one connection's records are made and read by its own thread, with no lock.
 *
 * A context (certificate, key, rules) is shared by all connections. CONFIG SET makes a
 * new one; connections that are open keep theirs.
 */
#ifndef TLS_H
#define TLS_H

#include "core/buf.h"
#include "server/config.h"

struct tls_context;
struct tls;

/* Bytes of an error text. */
#define TLS_ERROR_MAX 512

/* Makes a context from the options that begin with "tls-". Everything is checked: files,
 * that the key is the certificate's, that the certificate is valid today. Returns NULL,
 * and says why, naming the file. */
struct tls_context *tls_context_new(const struct config *config, char *error);
/* Connections that have it keep it. */
void tls_context_free(struct tls_context *context);
/* Whether the option is one that a context is made from. */
bool tls_is_option(const char *name);

/* One connection, which has not said anything yet. NULL: out of memory. */
struct tls *tls_new(struct tls_context *context);
void tls_free(struct tls *tls);

/* Takes ciphertext that has come from the peer. The bytes are looked at by tls_read; what
 * that leaves is kept by tls_keep, which has to be called before the bytes go. Returns
 * false, with nothing taken, when out of memory. */
bool tls_feed(struct tls *tls, const char *data, size_t len);
/* Returns false when out of memory. */
bool tls_keep(struct tls *tls);

enum tls_status {
    TLS_DONE,   /* *out_len bytes were moved */
    TLS_MORE,   /* more has to come from the peer first */
    TLS_ENDED,  /* the peer says that nothing more comes; what does is dropped */
    TLS_BROKEN, /* tls_error says why */
};

/* Reads what the peer has sent, at most len bytes; goes on with the handshake. */
enum tls_status tls_read(struct tls *tls, char *out, size_t len, size_t *out_len);
/* Turns these bytes into records, which are added to what tls_produced has. Returns false
 * when that is not possible. */
bool tls_write(struct tls *tls, const char *data, size_t len);
/* Adds the notice that no more is sent. */
void tls_end(struct tls *tls);

/* What is to be sent to the peer; the caller takes it out. */
struct yn_buf *tls_produced(struct tls *tls);
/* Whether ciphertext has come that was not read yet. */
bool tls_has_input(const struct tls *tls);
/* Whether the handshake is over. */
bool tls_is_ready(const struct tls *tls);
/* Why it broke, in words. is_certificate: it is about the peer's certificate. */
const char *tls_error(const struct tls *tls, bool *out_is_certificate);
/* Bytes that it holds, about. */
size_t tls_memory(const struct tls *tls);

#endif
