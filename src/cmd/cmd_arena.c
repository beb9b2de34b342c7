/*
 * cmd_arena.c: scratch memory for one command.
 *
 * A list of chunks, filled from the front; a reset keeps one ordinary chunk, so
 * that a command takes nothing from malloc in the steady state. Sanitizer
 * builds give every piece a block of its own, so that an overrun or a use after
 * the reset is seen.
 */
#include <stdalign.h>
#include <stdlib.h>

#include "cmd/cmd.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_SPLITS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_SPLITS 1
#endif
#endif
#ifndef ARENA_SPLITS
#define ARENA_SPLITS 0
#endif

#define CHUNK_LEN ((size_t)16 * 1024)

struct chunk {
    struct chunk *next;
    size_t len; /* of bytes */
    size_t used;
    alignas(max_align_t) char bytes[];
};

struct cmd_arena {
    struct chunk *chunks; /* the one being filled comes first */
};

struct cmd_arena *cmd_arena_new(void)
{
    return calloc(1, sizeof(struct cmd_arena));
}

void cmd_arena_free(struct cmd_arena *arena)
{
    if (arena == NULL)
        return;
    while (arena->chunks != NULL) {
        struct chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    free(arena);
}

bool cmd_arena_is_used(const struct cmd_arena *arena)
{
    const struct chunk *chunk = arena->chunks;
    return chunk != NULL && (chunk->used > 0 || chunk->next != NULL);
}

void cmd_arena_reset(struct cmd_arena *arena)
{
    struct chunk *kept = NULL;
    if (!cmd_arena_is_used(arena)) /* most commands take nothing */
        return;
    while (arena->chunks != NULL) {
        struct chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        if (kept == NULL && chunk->len == CHUNK_LEN) {
            kept = chunk;
            kept->next = NULL;
            kept->used = 0;
        } else {
            free(chunk);
        }
    }
    arena->chunks = kept;
}

/* Adds a chunk that has room for n bytes; returns NULL when out of memory. */
static struct chunk *add_chunk(struct cmd_arena *arena, size_t n)
{
    size_t len = n;
    if (!ARENA_SPLITS && len < CHUNK_LEN)
        len = CHUNK_LEN;
    if (len > SIZE_MAX - sizeof(struct chunk))
        return NULL;
    struct chunk *chunk = malloc(sizeof(struct chunk) + len);
    if (chunk == NULL)
        return NULL;
    chunk->len = len;
    chunk->used = 0;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *cmd_arena_take(struct cmd_arena *arena, size_t n)
{
    const size_t align = alignof(max_align_t);
    if (n > SIZE_MAX - align)
        return NULL;
    if (!ARENA_SPLITS)
        n = (n + align - 1) / align * align;
    struct chunk *chunk = arena->chunks;
    if (ARENA_SPLITS || chunk == NULL || chunk->len - chunk->used < n)
        chunk = add_chunk(arena, n);
    if (chunk == NULL)
        return NULL;
    void *piece = chunk->bytes + chunk->used;
    chunk->used += n;
    return piece;
}
