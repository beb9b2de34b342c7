/*
 * fuzz_commands.h: what the targets that run commands on the fake host share: commands
 * out of an input, and checks of replies.
 */
#ifndef FUZZ_COMMANDS_H
#define FUZZ_COMMANDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/reply.h"
#include "unit/host_fake.h"

#define FUZZ_WORDS_MAX 48

/* A byte of the input below this is a word of the dictionary (modulo its length); one
 * from it on is FUZZ_RAW_FIRST + the length of the raw word that follows; the last value
 * ends the command. */
#define FUZZ_RAW_FIRST 200
#define FUZZ_END_OF_COMMAND 255

static inline void fuzz_die(const char *what, struct yn_bytes reply)
{
    fprintf(stderr, "%s: %.*s\n", what, (int)(reply.len < 500 ? reply.len : 500),
            reply.data);
    abort();
}

/* Takes the words of the next command; returns how many, 0 at the end of the input. */
static inline size_t fuzz_take_command(const uint8_t **data, size_t *size,
                                       const char *const *dictionary, size_t n_dictionary,
                                       struct yn_bytes *words)
{
    size_t n = 0;
    while (*size > 0 && n < FUZZ_WORDS_MAX) {
        uint8_t byte = *(*data)++;
        --*size;
        if (byte == FUZZ_END_OF_COMMAND)
            break;
        if (byte < FUZZ_RAW_FIRST) {
            const char *word = dictionary[byte % n_dictionary];
            words[n++] = (struct yn_bytes){word, strlen(word)};
            continue;
        }
        size_t len = (size_t)(byte - FUZZ_RAW_FIRST) < *size
                         ? (size_t)(byte - FUZZ_RAW_FIRST)
                         : *size;
        words[n++] = (struct yn_bytes){(const char *)*data, len};
        *data += len;
        *size -= len;
    }
    return n;
}

/* Aborts unless the bytes are one reply. */
static inline void fuzz_check_form(struct yn_bytes reply)
{
    struct yn_reply_parser *parser = yn_reply_parser_new(NULL);
    struct yn_reply *parsed = NULL, *another = NULL;
    if (parser == NULL)
        return;
    if (yn_reply_feed(parser, reply.data, reply.len) == YN_REPLY_BAD ||
        yn_reply_next(parser, &parsed) != YN_REPLY_READY)
        fuzz_die("the reply is not one reply", reply);
    if (yn_reply_next(parser, &another) != YN_REPLY_MORE ||
        yn_reply_parser_offset(parser) > reply.len)
        fuzz_die("the reply is more than one reply", reply);
    yn_reply_free(parsed);
    yn_reply_parser_free(parser);
}

/* Whether the command may be run: ZRANDMEMBER with a very negative count would go on for
 * ever. */
static inline bool fuzz_ends(size_t n, const struct yn_bytes *words)
{
    const struct cmd_spec *spec = cmd_find(words[0]);
    return spec == NULL || strcmp(spec->name, "zrandmember") != 0 || n < 3 ||
           words[2].len < 5;
}

/* Whether the command, run again, must answer the same. */
static inline bool fuzz_repeats(struct yn_bytes name)
{
    const struct cmd_spec *spec = cmd_find(name);
    return spec != NULL && (spec->flags & CMD_READONLY) != 0 &&
           strcmp(spec->name, "zrandmember") != 0;
}

/* Runs the command again, its job held and in steps, with `between` after each: the reply
 * must be the same. */
static inline void fuzz_check_steps(struct fake *fake, size_t n,
                                    const struct yn_bytes *words, struct yn_bytes reply,
                                    void (*between)(struct fake *fake, void *ctx))
{
    char *whole = malloc(reply.len);
    if (whole == NULL)
        return;
    memcpy(whole, reply.data, reply.len);
    size_t len = reply.len;
    fake_set_jobs(fake, 40, true, between, NULL);
    reply = fake_run_words(fake, n, words);
    if (reply.len != len || memcmp(reply.data, whole, len) != 0)
        fuzz_die("in steps the reply differs", reply);
    fake_set_jobs(fake, SIZE_MAX, false, NULL, NULL);
    free(whole);
}

/* Aborts when the set of a key is broken. */
static inline void fuzz_check_set(struct fake *fake, const char *name)
{
    struct yn_bytes key = {name, strlen(name)};
    struct host_value value = host_key_read(fake_host(fake), key);
    const char *fault = value.type == HOST_ZSET ? yn_zset_check(value.zset) : NULL;
    if (fault != NULL)
        fuzz_die("a set is broken", (struct yn_bytes){fault, strlen(fault)});
}

#endif
