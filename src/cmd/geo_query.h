/*
 * geo_query.h: the arguments of the search commands, parsed into one struct.
 *
 * Metres and degrees inside; unit_m turns them back into the unit of the query
 * when distances are printed or stored.
 */
#ifndef GEO_QUERY_H
#define GEO_QUERY_H

#include "cmd/cmd_args.h"

struct geo_query {
    struct yn_query search; /* polygon vertices lie in the command's arena */
    double unit_m;          /* metres in one unit */
    bool with_coord, with_dist, with_hash;
    bool is_store, stores_dist;
    struct yn_bytes store_key;
    size_t source_at; /* the word that names the key that is searched */
};

/*
 * Each parses the words behind the key and fails the cursor at the first thing that is
 * wrong. `set` is the key's set, where members are looked up; NULL when there is no such
 * key. `allows_store`: STORE and STOREDIST are options.
 *
 * georadius: longitude, latitude, radius, unit, options.
 *
 * bymember: member, radius, unit, options.
 *
 * geosearch: clauses and options; with is_store those of GEOSEARCHSTORE.
 */
bool geo_query_parse_georadius(struct geo_query *query, struct cmd_args *args,
                               bool allows_store);
bool geo_query_parse_bymember(struct geo_query *query, struct cmd_args *args,
                              const struct yn_zset *set, bool allows_store);
bool geo_query_parse_geosearch(struct geo_query *query, struct cmd_args *args,
                               const struct yn_zset *set, bool is_store);

/* Parse a position, and a unit of length as its metres; also used outside of searches. */
bool geo_query_parse_point(struct cmd_args *args, struct yn_point *out_point);
bool geo_query_parse_unit(struct cmd_args *args, double *out_unit_m);

static inline bool geo_query_has_with(const struct geo_query *query)
{
    return query->with_coord || query->with_dist || query->with_hash;
}

#endif
