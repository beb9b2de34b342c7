/*
 * digest.h: SHA-256 of passwords, as text, and how such texts are compared.
 */
#ifndef DIGEST_H
#define DIGEST_H

#include "yonder.h"

/* Hexadecimal digits in lower case. */
#define DIGEST_LEN 64

/* Writes the digest of the bytes and a zero byte. Returns false when the library refuses
 * to work (out of memory). */
bool digest_of(struct yn_bytes bytes, char out[DIGEST_LEN + 1]);
/* Whether the text is one: 64 digits, lower case. */
bool digest_is_valid(struct yn_bytes text);
/* Compares two in a time that does not depend on where they differ. */
bool digest_is_equal(const char *a, const char *b);

#endif
