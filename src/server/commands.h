/*
 * commands.h: the server's own tables of commands, and the functions they are made of.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "cmd/cmd.h"

/* Ended by a NULL name. */
extern const struct cmd_spec connection_table[], server_table[], pubsub_table[],
    transaction_table[], inspect_table[], acl_table[];

/* What many of them have in common. */
#define SESSION_FLAGS (CMD_NOSCRIPT | CMD_LOADING | CMD_STALE)
#define LOGIN_FLAGS (SESSION_FLAGS | CMD_FAST | CMD_NO_AUTH | CMD_ALLOW_BUSY)
#define ADMIN_FLAGS (SESSION_FLAGS | CMD_ADMIN)
#define QUICK_FLAGS (CMD_LOADING | CMD_STALE | CMD_FAST)
#define HELP_FLAGS (CMD_LOADING | CMD_STALE)
#define PUBSUB_FLAGS (SESSION_FLAGS | CMD_PUBSUB)
#define ADMIN_ACL "@admin @slow @dangerous"

/* server_cmds.c */
void server_ping(struct cmd_call *call);
void server_echo(struct cmd_call *call);
void server_select(struct cmd_call *call);
void server_time(struct cmd_call *call);
void server_shutdown(struct cmd_call *call);
void server_role(struct cmd_call *call);
void server_lastsave(struct cmd_call *call);
/* Replies a list of lines, as every HELP does. Ended by NULL. */
void server_reply_help(struct cmd_call *call, const char *const *lines);
/* Replies an error with a word of the client's, in whole. The format has one %.*s. */
void server_reply_error_word(struct cmd_call *call, const char *format,
                             struct yn_bytes word);
/* For a subcommand that is known, but not with these arguments. */
void server_reply_subcommand_error(struct cmd_call *call, const char *format);

/* memory_cmds.c */
void memory_cmd_usage(struct cmd_call *call);
void memory_cmd_stats(struct cmd_call *call);
void memory_cmd_doctor(struct cmd_call *call);
void memory_cmd_purge(struct cmd_call *call);
void memory_cmd_malloc_stats(struct cmd_call *call);
void memory_cmd_help(struct cmd_call *call);

/* wait_cmds.c */
void wait_cmd(struct cmd_call *call);
void wait_cmd_aof(struct cmd_call *call);

/* session_cmds.c */
void session_hello(struct cmd_call *call);
void session_auth(struct cmd_call *call);
void session_quit(struct cmd_call *call);
void session_reset(struct cmd_call *call);
/* Sets the client's name. Replies and returns false when it is not valid. */
bool session_set_name_or_reply(struct cmd_call *call, struct yn_bytes name);

/* client_cmds.c, client_kill.c */
void client_id(struct cmd_call *call);
void client_info(struct cmd_call *call);
void client_list(struct cmd_call *call);
void client_setname(struct cmd_call *call);
void client_getname(struct cmd_call *call);
void client_setinfo(struct cmd_call *call);
void client_kill(struct cmd_call *call);
void client_unblock(struct cmd_call *call);
void client_reply(struct cmd_call *call);
void client_no_evict(struct cmd_call *call);
void client_no_touch(struct cmd_call *call);
void client_help(struct cmd_call *call);

/* pause.c */
void client_pause(struct cmd_call *call);
void client_unpause(struct cmd_call *call);

/* monitor.c */
void monitor_cmd(struct cmd_call *call);

/* slowlog.c */
void slowlog_get(struct cmd_call *call);
void slowlog_len(struct cmd_call *call);
void slowlog_reset_cmd(struct cmd_call *call);
void slowlog_help(struct cmd_call *call);

/* latency.c */
void latency_histogram(struct cmd_call *call);
void latency_history(struct cmd_call *call);
void latency_latest(struct cmd_call *call);
void latency_reset(struct cmd_call *call);
void latency_doctor(struct cmd_call *call);
void latency_graph(struct cmd_call *call);
void latency_help(struct cmd_call *call);

/* standalone.c */
void standalone_cluster(struct cmd_call *call);
void standalone_module_list(struct cmd_call *call);
void standalone_module_load(struct cmd_call *call);
void standalone_module_help(struct cmd_call *call);
void standalone_replicaof(struct cmd_call *call);
void standalone_save(struct cmd_call *call);

/* acl_cmds.c */
void acl_cmd_cat(struct cmd_call *call);
void acl_cmd_deluser(struct cmd_call *call);
void acl_cmd_dryrun(struct cmd_call *call);
void acl_cmd_genpass(struct cmd_call *call);
void acl_cmd_getuser(struct cmd_call *call);
void acl_cmd_help(struct cmd_call *call);
void acl_cmd_list(struct cmd_call *call);
void acl_cmd_load(struct cmd_call *call);
void acl_cmd_log(struct cmd_call *call);
void acl_cmd_save(struct cmd_call *call);
void acl_cmd_setuser(struct cmd_call *call);
void acl_cmd_users(struct cmd_call *call);
void acl_cmd_whoami(struct cmd_call *call);

/* lolwut.c */
void lolwut_cmd(struct cmd_call *call);

/* debug_cmds.c */
void debug_cmd(struct cmd_call *call);
/* tracking_cmds.c */
void client_tracking(struct cmd_call *call);
void client_caching(struct cmd_call *call);
void client_getredir(struct cmd_call *call);
void client_trackinginfo(struct cmd_call *call);
/* multi.c */
void multi_multi(struct cmd_call *call);
void multi_exec(struct cmd_call *call);
void multi_discard(struct cmd_call *call);
void multi_watch(struct cmd_call *call);
void multi_unwatch(struct cmd_call *call);

/* config_cmds.c */
void config_cmd_get(struct cmd_call *call);
void config_cmd_set(struct cmd_call *call);
void config_cmd_resetstat(struct cmd_call *call);
void config_cmd_rewrite(struct cmd_call *call);
void config_cmd_help(struct cmd_call *call);

/* info.c */
void info_cmd(struct cmd_call *call);

/* pubsub_cmds.c */
void pubsub_subscribe(struct cmd_call *call);
void pubsub_unsubscribe(struct cmd_call *call);
void pubsub_psubscribe(struct cmd_call *call);
void pubsub_punsubscribe(struct cmd_call *call);
void pubsub_ssubscribe(struct cmd_call *call);
void pubsub_sunsubscribe(struct cmd_call *call);
void pubsub_publish_cmd(struct cmd_call *call);
void pubsub_spublish(struct cmd_call *call);
void pubsub_channels(struct cmd_call *call);
void pubsub_numsub(struct cmd_call *call);
void pubsub_numpat(struct cmd_call *call);
void pubsub_shardchannels(struct cmd_call *call);
void pubsub_shardnumsub(struct cmd_call *call);
void pubsub_help(struct cmd_call *call);

#endif
