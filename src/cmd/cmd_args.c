#include "cmd/cmd_args.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/num.h"

void cmd_args_init(struct cmd_args *args, const struct cmd_call *call, size_t at)
{
    *args = (struct cmd_args){
        .argv = call->argv,
        .argc = call->argc,
        .at = at < call->argc ? at : call->argc,
        .arena = call->arena,
    };
}

bool cmd_args_word(struct cmd_args *args, struct yn_bytes *out_word)
{
    if (cmd_args_left(args) == 0)
        return cmd_args_fail(args, CMD_ERR_SYNTAX);
    *out_word = args->argv[args->at++];
    return true;
}

bool cmd_args_double(struct cmd_args *args, const char *message, double *out_value)
{
    struct yn_bytes word;
    if (!cmd_args_word(args, &word))
        return false;
    return yn_num_parse_double(word, out_value) || cmd_args_fail(args, message);
}

bool cmd_args_int64(struct cmd_args *args, const char *message, int64_t *out_value)
{
    struct yn_bytes word;
    if (!cmd_args_word(args, &word))
        return false;
    return yn_num_parse_int64(word, out_value) || cmd_args_fail(args, message);
}

bool cmd_args_fail(struct cmd_args *args, const char *message)
{
    if (!cmd_args_failed(args))
        args->error = (struct yn_bytes){message, strlen(message)};
    return false;
}

bool cmd_args_fail_format(struct cmd_args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int len = vsnprintf(NULL, 0, format, list);
    va_end(list);
    char *text = len < 0 ? NULL : cmd_arena_take(args->arena, (size_t)len + 1);
    if (text == NULL)
        return cmd_args_fail(args, CMD_ERR_NOMEM);

    va_start(list, format);
    vsnprintf(text, (size_t)len + 1, format, list);
    va_end(list);
    return cmd_args_fail(args, text);
}

void cmd_args_reply_error(const struct cmd_args *args, struct host *h)
{
    host_reply_error_bytes(h, args->error);
}

bool cmd_letters_are(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x == y)
            continue;
        x |= 0x20; /* to lower case, if it is a letter */
        if (x != (y | 0x20) || x < 'a' || x > 'z')
            return false;
    }
    return true;
}

#define LONG_DOUBLE_TEXT_MAX ((size_t)5 * 1024)

bool cmd_word_parse_long_double(struct yn_bytes word, long double *out_value)
{
    char text[LONG_DOUBLE_TEXT_MAX], *end;
    if (word.len == 0 || word.len >= sizeof text ||
        memchr(" \t\n\v\f\r", word.data[0], 6) != NULL)
        return false;
    memcpy(text, word.data, word.len);
    text[word.len] = '\0';
    errno = 0;
    *out_value = strtold(text, &end);
    bool is_beyond = errno == ERANGE && (isinf(*out_value) || *out_value == 0);
    return end == text + word.len && !isnan(*out_value) && !is_beyond;
}
