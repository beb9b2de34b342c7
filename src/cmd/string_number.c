/*
 * string_number.c: strings that are numbers.
 *
 * INCRBYFLOAT computes in the long double of the machine and prints 17 decimals of the
 * sum, trailing zeros removed. On x86-64 that is the 80-bit format, whose 64 bits of
 * mantissa hide most of the error of decimal fractions: 0.1 + 0.2 is 0.3, and 3.0e3 +
 * 1e-4 is 3000.0001. Where long double is another format (128 bits on Linux for arm64,
 * that of double on others) the last digits differ.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd_args.h"
#include "cmd/cmd_string.h"
#include "core/num.h"

/* The key's string for changing, or the text "0" when there is no key. Answers when it is
 * something else. */
static bool read_or_reply(struct cmd_call *call, struct yn_bytes *out_text)
{
    struct host_value value = host_key_write(call->host, call->argv[1]);
    *out_text = value.type == HOST_STRING ? value.string : (struct yn_bytes){"0", 1};
    if (value.type == HOST_STRING || value.type == HOST_NONE)
        return true;
    host_reply_error(call->host, CMD_ERR_WRONGTYPE);
    return false;
}

static bool store_or_reply(struct cmd_call *call, struct yn_bytes text, const char *event)
{
    if (!host_key_put_string(call->host, call->argv[1], text, true)) {
        host_reply_error(call->host, CMD_ERR_NOMEM);
        return false;
    }
    host_key_changed(call->host, call->argv[1], event);
    return true;
}

/* ---- integers ---- */

static void add_integer(struct cmd_call *call, int64_t increment)
{
    struct yn_bytes text;
    int64_t value;
    char out[YN_NUM_TEXT_MAX];
    if (!read_or_reply(call, &text))
        return;
    if (!yn_num_parse_int64(text, &value)) {
        host_reply_error(call->host, CMD_ERR_INTEGER);
        return;
    }
    if (increment < 0 ? value < INT64_MIN - increment : value > INT64_MAX - increment) {
        host_reply_error(call->host, "ERR increment or decrement would overflow");
        return;
    }
    value += increment;
    if (store_or_reply(call, (struct yn_bytes){out, yn_num_format_int64(value, out)},
                       "incrby"))
        host_reply_integer(call->host, value);
}

void cmd_incr(struct cmd_call *call)
{
    add_integer(call, 1);
}

void cmd_decr(struct cmd_call *call)
{
    add_integer(call, -1);
}

void cmd_incrby(struct cmd_call *call)
{
    int64_t increment;
    if (yn_num_parse_int64(call->argv[2], &increment))
        add_integer(call, increment);
    else
        host_reply_error(call->host, CMD_ERR_INTEGER);
}

void cmd_decrby(struct cmd_call *call)
{
    int64_t decrement;
    if (!yn_num_parse_int64(call->argv[2], &decrement))
        host_reply_error(call->host, CMD_ERR_INTEGER);
    else if (decrement == INT64_MIN)
        host_reply_error(call->host, "ERR decrement would overflow");
    else
        add_integer(call, -decrement);
}

/* ---- long doubles ---- */

/* The largest 80-bit number has 4,933 digits before the point; 17 decimals follow. */
#define FLOAT_TEXT_MAX ((size_t)5 * 1024)

/* All digits before the point and 17 behind it, without the zeros at the end. */
static size_t format_long_double(long double value, char *out_text)
{
    int len = snprintf(out_text, FLOAT_TEXT_MAX, "%.17Lf", value);
    while (out_text[len - 1] == '0')
        len--;
    if (out_text[len - 1] == '.')
        len--;
    if (len == 2 && memcmp(out_text, "-0", 2) == 0) {
        out_text[0] = '0';
        len = 1;
    }
    return (size_t)len;
}

void cmd_incrbyfloat(struct cmd_call *call)
{
    struct yn_bytes text;
    long double value, increment;
    char out[FLOAT_TEXT_MAX];
    if (!read_or_reply(call, &text))
        return;
    if (!cmd_word_parse_long_double(text, &value) ||
        !cmd_word_parse_long_double(call->argv[2], &increment)) {
        host_reply_error(call->host, CMD_ERR_FLOAT);
        return;
    }
    value += increment;
    if (isnan(value) || isinf(value)) {
        host_reply_error(call->host, "ERR increment would produce NaN or Infinity");
        return;
    }
    text = (struct yn_bytes){out, format_long_double(value, out)};
    if (!store_or_reply(call, text, "incrbyfloat"))
        return;
    host_key_set_form(call->host, call->argv[1], HOST_FORM_TEXT);
    host_reply_bulk(call->host, text);
}
