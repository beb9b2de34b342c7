/*
 * cmd_args.h: a cursor over the arguments of a command.
 *
 * It walks from left to right. The first thing that is wrong sets the error and
 * makes every later call fail, so that a command parses in one piece and
 * answers once, at one exit (cmd_args_reply_error).
 */
#ifndef CMD_ARGS_H
#define CMD_ARGS_H

#include <string.h>

#include "cmd/cmd.h"

/* True if both runs are the same but for the case of letters. */
bool cmd_letters_are(const char *a, const char *b, size_t len);

/* True if the word is this text, in any case of letters. Mostly their lengths differ;
 * that of a literal is known to the compiler. */
static inline bool cmd_word_is(struct yn_bytes word, const char *text)
{
    return word.len == strlen(text) && cmd_letters_are(word.data, text, word.len);
}

/* Reads a word as C reads a long double, but for blanks before it. False for what is no
 * number, too large or too small for one, or longer than 5 KB. */
bool cmd_word_parse_long_double(struct yn_bytes word, long double *out_value);

struct cmd_args {
    const struct yn_bytes *argv;
    size_t argc;
    size_t at; /* the next word */
    struct cmd_arena *arena;
    struct yn_bytes error; /* data is NULL while all is well */
};

/* Starts at argv[at]. */
void cmd_args_init(struct cmd_args *args, const struct cmd_call *call, size_t at);

static inline bool cmd_args_failed(const struct cmd_args *args)
{
    return args->error.data != NULL;
}

/* Words left; 0 after a failure, so that loops end. */
static inline size_t cmd_args_left(const struct cmd_args *args)
{
    return cmd_args_failed(args) ? 0 : args->argc - args->at;
}

/* Takes the next word. None left is a syntax error. */
bool cmd_args_word(struct cmd_args *args, struct yn_bytes *out_word);

/* Takes the next word if it is this option, in any case of letters, and at least n_values
 * words follow it. False is no failure. */
static inline bool cmd_args_option(struct cmd_args *args, const char *option,
                                   size_t n_values)
{
    if (cmd_args_left(args) < n_values + 1 || !cmd_word_is(args->argv[args->at], option))
        return false;
    args->at++;
    return true;
}

/* Take the next word as a number; one that is none fails with `message`. */
bool cmd_args_double(struct cmd_args *args, const char *message, double *out_value);
bool cmd_args_int64(struct cmd_args *args, const char *message, int64_t *out_value);

/* Fails with a message that outlives the command (a literal), unless there is an error
 * already. Returns false. */
bool cmd_args_fail(struct cmd_args *args, const char *message);
/* The same with a text that is printed now. */
bool cmd_args_fail_format(struct cmd_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sends the error. */
void cmd_args_reply_error(const struct cmd_args *args, struct host *h);

#endif
