/* cmd_geo.h: the functions of the GEO commands, for the command table. */
#ifndef CMD_GEO_H
#define CMD_GEO_H

#include "cmd/cmd.h"
#include "cmd/geo_query.h"

void cmd_geoadd(struct cmd_call *call);
void cmd_geodist(struct cmd_call *call);
void cmd_geohash(struct cmd_call *call);
void cmd_geopos(struct cmd_call *call);
void cmd_georadius(struct cmd_call *call);
void cmd_georadius_ro(struct cmd_call *call);
void cmd_georadiusbymember(struct cmd_call *call);
void cmd_georadiusbymember_ro(struct cmd_call *call);
void cmd_geosearch(struct cmd_call *call);
void cmd_geosearchstore(struct cmd_call *call);

/* Answers a search over a set: makes the job that sends the reply, or reports that memory
 * is out. */
void cmd_geo_reply(struct cmd_call *call, struct yn_zset *set,
                   const struct geo_query *query);

/* Stores the results of a search over a set, which may be NULL (no results), under the
 * key that the query names, and answers their number: makes the job that does so, or
 * reports that memory is out. `event` names the change. */
void cmd_geo_store(struct cmd_call *call, struct yn_zset *set,
                   const struct geo_query *query, const char *event);

#endif
