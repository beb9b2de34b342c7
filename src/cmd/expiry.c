#include "cmd/expiry.h"

bool expiry_at_ms(int64_t value, enum expiry_unit unit, bool is_relative, int64_t now_ms,
                  int64_t *out_at_ms)
{
    if (value > INT64_MAX / (int64_t)unit || value < INT64_MIN / (int64_t)unit)
        return false;
    value *= (int64_t)unit;
    if (is_relative && value > INT64_MAX - now_ms)
        return false;
    *out_at_ms = is_relative ? value + now_ms : value;
    return true;
}

bool expiry_fail(struct cmd_args *args, const char *name)
{
    return cmd_args_fail_format(args, "ERR invalid expire time in '%s' command", name);
}
