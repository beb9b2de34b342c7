#include "cmd/key_args.h"

bool key_args_int32(struct cmd_args *args, const char *message, int64_t *out_value)
{
    if (!cmd_args_int64(args, message != NULL ? message : CMD_ERR_INTEGER, out_value))
        return false;
    if (*out_value >= INT32_MIN && *out_value <= INT32_MAX)
        return true;
    return cmd_args_fail(args, message != NULL
                                   ? message
                                   : "ERR value is out of range, value must between "
                                     "-2147483648 and 2147483647");
}

bool key_args_db(struct cmd_args *args, struct host *h, size_t *out_db)
{
    int64_t index;
    if (!key_args_int32(args, NULL, &index))
        return false;
    if (index < 0 || (size_t)index >= host_db_count(h))
        return cmd_args_fail(args, KEY_ERR_DB_RANGE);
    *out_db = (size_t)index;
    return true;
}

const char *key_type_name(enum host_type type)
{
    switch (type) {
    case HOST_STRING:
        return "string";
    case HOST_ZSET:
        return "zset";
    case HOST_OTHER:
        return "other";
    case HOST_NONE:
        break;
    }
    return "none";
}
