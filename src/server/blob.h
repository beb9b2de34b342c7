/*
 * blob.h: the bytes of a large string value, which a reply under way may hold beside the
 * key: the key can get another value, or go, while a client still reads the old one.
 *
 * A blob either follows its header in one block, or owns the block that it came in: the
 * input buffer of a connection, whose other bytes (the request's words) stay with it.
 *
 * The block of the last large blob that went is kept for a moment, for the next request
 * of that size: making all its pages anew would cost the kernel more time than to fill
 * them.
 *
 * All of this is for one thread.
 */
#ifndef BLOB_H
#define BLOB_H

#include <stdatomic.h>

#include "cmd/host.h"

/* Strings from here on are blobs. */
#define BLOB_LEN_MIN ((size_t)64 * 1024)

struct host_blob {
    atomic_size_t n_holders;
    struct yn_bytes bytes;
    char *block; /* malloc'ed, has the bytes in it; NULL: they follow */
    size_t block_len;
};

/* A copy of the bytes. Held once; NULL when out of memory. */
struct host_blob *blob_new(struct yn_bytes bytes);
/* The bytes in a malloc'ed block, which the blob owns from now on. Held once; NULL when
 * out of memory: then the block is still the caller's. */
struct host_blob *blob_new_taking(char *block, size_t block_len, struct yn_bytes bytes);

/* A blob of `len` bytes, at least as many as `bytes`, which are its first ones; the rest
 * is for the caller to write. It has room to grow. Held once; NULL when out of memory. */
struct host_blob *blob_new_growing(struct yn_bytes bytes, size_t len);
/*
 * Makes a blob longer (or leaves its length, with len no greater), so that its bytes may
 * be written to: the new ones are for the caller to write. Takes the hold and returns a
 * blob that has it: the same one, or a copy if others hold this one too. NULL when out of
 * memory: then nothing is changed.
 * Cost: a blob that grows a little at a time moves seldom: each byte about four times in
 * its life.
 */
struct host_blob *blob_grow(struct host_blob *blob, size_t len);
/* The bytes of a blob that blob_grow or blob_new_growing has handed out. */
static inline char *blob_bytes(struct host_blob *blob)
{
    return (char *)(uintptr_t)blob->bytes.data;
}

/* Hands out the block that is kept if it has at least `len` bytes and not many more.
 * NULL: none. To be freed by the caller. */
char *blob_reuse(size_t len, size_t *out_len);
/* Frees the block that is kept, at once or if it has been so since the last call. */
void blob_trim(bool at_once);

#endif
