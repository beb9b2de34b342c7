#include "server/blob.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Smaller blocks are malloc's to keep. */
#define KEPT_LEN_MIN ((size_t)1024 * 1024)

/* The block of a value that is gone, for the next large one. */
static struct {
    pthread_mutex_t mutex;
    char *block; /* NULL: none */
    size_t len;
    bool is_old; /* blob_trim has seen it */
} kept = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct host_blob *blob_new(struct yn_bytes bytes)
{
    struct host_blob *blob = malloc(sizeof *blob + bytes.len);
    if (blob == NULL)
        return NULL;
    char *copy = (char *)(blob + 1);
    memcpy(copy, bytes.data, bytes.len);
    *blob = (struct host_blob){.n_holders = 1, .bytes = {copy, bytes.len}};
    return blob;
}

struct host_blob *blob_new_taking(char *block, size_t block_len, struct yn_bytes bytes)
{
    struct host_blob *blob = malloc(sizeof *blob);
    if (blob != NULL)
        *blob = (struct host_blob){
            .n_holders = 1, .bytes = bytes, .block = block, .block_len = block_len};
    return blob;
}

/* With some bytes to spare; without them when memory is short. */
static char *take_block(size_t len, size_t *out_block_len)
{
    size_t spare = len / 4;
    char *block = spare < PTRDIFF_MAX - len ? malloc(len + spare) : NULL;
    *out_block_len = len + spare;
    if (block == NULL) {
        block = malloc(len);
        *out_block_len = len;
    }
    return block;
}

struct host_blob *blob_new_growing(struct yn_bytes bytes, size_t len)
{
    size_t block_len;
    char *block = take_block(len, &block_len);
    if (block == NULL)
        return NULL;
    if (bytes.len > 0)
        memcpy(block, bytes.data, bytes.len);
    struct host_blob *blob =
        blob_new_taking(block, block_len, (struct yn_bytes){block, len});
    if (blob == NULL)
        free(block);
    return blob;
}

struct host_blob *blob_grow(struct host_blob *blob, size_t len)
{
    struct yn_bytes old = blob->bytes;
    if (len < old.len)
        len = old.len;
    if (blob->n_holders > 1 || (blob->block == NULL && len > old.len)) {
        struct host_blob *copy = blob_new_growing(old, len);
        if (copy != NULL)
            host_blob_drop(blob);
        return copy;
    }
    size_t at = blob->block == NULL ? 0 : (size_t)(old.data - blob->block);
    if (blob->block != NULL && len > blob->block_len - at) {
        size_t block_len;
        char *block = take_block(len, &block_len);
        if (block == NULL)
            return NULL;
        memcpy(block, old.data, old.len);
        free(blob->block);
        blob->block = block;
        blob->block_len = block_len;
        blob->bytes.data = block;
    }
    blob->bytes.len = len;
    return blob;
}

void host_blob_hold(struct host_blob *blob)
{
    atomic_fetch_add_explicit(&blob->n_holders, 1, memory_order_relaxed);
}

/* Takes the block in place of what is kept. */
static void keep(char *block, size_t len)
{
    pthread_mutex_lock(&kept.mutex);
    char *old = kept.block;
    kept.block = block;
    kept.len = len;
    kept.is_old = false;
    pthread_mutex_unlock(&kept.mutex);
    free(old);
}

void host_blob_drop(struct host_blob *blob)
{
    if (atomic_fetch_sub_explicit(&blob->n_holders, 1, memory_order_acq_rel) > 1)
        return;
    if (blob->block_len >= KEPT_LEN_MIN)
        keep(blob->block, blob->block_len);
    else
        free(blob->block);
    free(blob);
}

char *blob_reuse(size_t len, size_t *out_len)
{
    char *block = NULL;
    pthread_mutex_lock(&kept.mutex);
    if (kept.block != NULL && kept.len >= len && kept.len - len <= len / 16) {
        block = kept.block;
        *out_len = kept.len;
        kept.block = NULL;
    }
    pthread_mutex_unlock(&kept.mutex);
    return block;
}

void blob_trim(bool at_once)
{
    char *old = NULL;
    pthread_mutex_lock(&kept.mutex);
    if (kept.is_old || at_once) {
        old = kept.block;
        kept.block = NULL;
    }
    kept.is_old = true;
    pthread_mutex_unlock(&kept.mutex);
    free(old);
}
