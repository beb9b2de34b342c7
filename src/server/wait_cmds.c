/*
 * wait_cmds.c: WAIT and WAITAOF. This server has neither replicas nor a log, and none
 * will turn up while a client waits, so the answer is known at once.
 */
#include "cmd/cmd_args.h"
#include "server/commands.h"

static bool parse_timeout(struct cmd_args *args)
{
    int64_t timeout_ms;
    return cmd_args_int64(args, "ERR timeout is not an integer or out of range",
                          &timeout_ms) &&
           (timeout_ms >= 0 || cmd_args_fail(args, "ERR timeout is negative"));
}

void wait_cmd(struct cmd_call *call)
{
    struct cmd_args args;
    int64_t n_replicas;
    cmd_args_init(&args, call, 1);
    if (cmd_args_int64(&args, CMD_ERR_INTEGER, &n_replicas) && parse_timeout(&args))
        host_reply_integer(call->host, 0);
    else
        cmd_args_reply_error(&args, call->host);
}

static bool parse_waitaof(struct cmd_args *args)
{
    int64_t n_local, n_replicas;
    if (!cmd_args_int64(args, CMD_ERR_INTEGER, &n_local))
        return false;
    if (n_local < 0 || n_local > 1)
        return cmd_args_fail(args,
                             "ERR value is out of range, value must between 0 and 1");
    if (!cmd_args_int64(args, CMD_ERR_INTEGER, &n_replicas))
        return false;
    if (n_replicas < 0)
        return cmd_args_fail(args, "ERR value is out of range, must be positive");
    if (!parse_timeout(args))
        return false;
    return n_local == 0 ||
           cmd_args_fail(args, "ERR WAITAOF cannot be used when numlocal is set but "
                               "appendonly is disabled.");
}

void wait_cmd_aof(struct cmd_call *call)
{
    struct cmd_args args;
    cmd_args_init(&args, call, 1);
    if (!parse_waitaof(&args)) {
        cmd_args_reply_error(&args, call->host);
        return;
    }
    host_reply_array(call->host, 2);
    host_reply_integer(call->host, 0);
    host_reply_integer(call->host, 0);
}
