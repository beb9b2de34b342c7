#include "server/blob.h"

#include <stdlib.h>
#include <string.h>

/* Smaller blocks are malloc's to keep. */
#define KEPT_LEN_MIN ((size_t)1024 * 1024)

static struct {
    char *block; /* NULL: none */
    size_t len;
    bool is_old; /* blob_trim has seen it */
} kept;

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

void host_blob_hold(struct host_blob *blob)
{
    blob->n_holders++;
}

void host_blob_drop(struct host_blob *blob)
{
    if (--blob->n_holders > 0)
        return;
    if (blob->block_len >= KEPT_LEN_MIN) {
        free(kept.block);
        kept.block = blob->block;
        kept.len = blob->block_len;
        kept.is_old = false;
    } else {
        free(blob->block);
    }
    free(blob);
}

char *blob_reuse(size_t len, size_t *out_len)
{
    char *block = kept.block;
    if (block == NULL || kept.len < len || kept.len - len > len / 16)
        return NULL;
    kept.block = NULL;
    *out_len = kept.len;
    return block;
}

void blob_trim(bool at_once)
{
    if (kept.is_old || at_once) {
        free(kept.block);
        kept.block = NULL;
    }
    kept.is_old = true;
}
