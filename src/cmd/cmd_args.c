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

/* Whether four bytes and four others are the same but for the case of letters. In the
 * sums, bit 7 of a byte tells whether it is at least 'a', or above 'z'; nothing is
 * carried into the next. */
static bool four_letters_are(uint32_t x, uint32_t y)
{
    const uint32_t ones = 0x01010101;
    uint32_t low = (x | ones * 0x20) & ones * 0x7f;
    uint32_t letters = (low + ones * (0x80 - 'a')) & ~(low + ones * (0x7f - 'z')) & ~x;
    return ((x ^ y) & ~((letters & ones * 0x80) >> 2)) == 0;
}

static uint32_t load_four(const char *from)
{
    uint32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return bytes;
}

/* One to three bytes, some of them twice. */
static uint32_t load_few(const char *from, size_t len)
{
    return (uint32_t)(unsigned char)from[0] |
           (uint32_t)(unsigned char)from[len / 2] << 8 |
           (uint32_t)(unsigned char)from[len - 1] << 16;
}

bool cmd_letters_are(const char *a, const char *b, size_t len)
{
    if (len < 4)
        return len == 0 || four_letters_are(load_few(a, len), load_few(b, len));
    for (size_t i = 0; i + 4 < len; i += 4)
        if (!four_letters_are(load_four(a + i), load_four(b + i)))
            return false;
    return four_letters_are(load_four(a + len - 4), load_four(b + len - 4));
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
