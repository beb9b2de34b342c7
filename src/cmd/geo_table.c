/*
 * geo_table.c: the GEO commands.
 */
#include "cmd/cmd_geo.h"
#include "cmd/cmd_spec_parts.h"

static const struct cmd_key_spec keys_geosearchstore[] = {
    {.flags = "OW update", .index = 1, .step = 1},
    {.flags = "RO access", .index = 2, .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_georadius[] = {
    {.flags = "RO access", .index = 1, .step = 1},
    {.flags = "OW update", .index = 6, .keyword = "STORE", .step = 1},
    {.flags = "OW update", .index = 6, .keyword = "STOREDIST", .step = 1},
    {.flags = NULL},
};
static const struct cmd_key_spec keys_georadiusbymember[] = {
    {.flags = "RO access", .index = 1, .step = 1},
    {.flags = "OW update", .index = 5, .keyword = "STORE", .step = 1},
    {.flags = "OW update", .index = 5, .keyword = "STOREDIST", .step = 1},
    {.flags = NULL},
};

static const struct cmd_arg unit_forms[] = {
    TOKEN("m", "M"), TOKEN("km", "KM"), TOKEN("ft", "FT"), TOKEN("mi", "MI"), END,
};
static const struct cmd_arg order_forms[] = {
    TOKEN("asc", "ASC"),
    TOKEN("desc", "DESC"),
    END,
};
static const struct cmd_arg lonlat_args[] = {
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    END,
};
static const struct cmd_arg count_args[] = {
    {.name = "count", .type = "integer", .token = "COUNT"},
    OPTION_SINCE("any", "ANY", "6.2.0"),
    END,
};
static const struct cmd_arg geoadd_triple[] = {
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    STRING("member"),
    END,
};
static const struct cmd_arg geoadd_args[] = {
    KEY,
    OPTION_OF_SINCE("condition", nx_xx_forms, "6.2.0"),
    OPTION_SINCE("change", "CH", "6.2.0"),
    BLOCKS("longitude_latitude_member", geoadd_triple),
    END,
};
static const struct cmd_arg geodist_args[] = {
    KEY, STRING("member1"), STRING("member2"), OPTION_OF("unit", unit_forms), END,
};
#define SEARCH_OPTIONS                                                                 \
    OPTION("withcoord", "WITHCOORD"), OPTION("withdist", "WITHDIST"),                  \
        OPTION("withhash", "WITHHASH"), OPTION_BLOCK("count-block", NULL, count_args), \
        OPTION_OF("order", order_forms)
#define STORE_OPTIONS                                                                 \
    {.name = "key", .type = "key", .token = "STORE", .flags = CMD_ARG_OPTIONAL},      \
    {                                                                                 \
        .name = "key", .type = "key", .token = "STOREDIST", .flags = CMD_ARG_OPTIONAL \
    }
static const struct cmd_arg georadius_args[] = {
    KEY,
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    STORE_OPTIONS,
    END,
};
static const struct cmd_arg georadius_ro_args[] = {
    KEY,
    DOUBLE("longitude"),
    DOUBLE("latitude"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    END,
};
static const struct cmd_arg georadiusbymember_args[] = {
    KEY,
    STRING("member"),
    DOUBLE("radius"),
    ONE_OF("unit", unit_forms),
    SEARCH_OPTIONS,
    STORE_OPTIONS,
    END,
};
static const struct cmd_arg georadiusbymember_ro_args[] = {
    KEY, STRING("member"), DOUBLE("radius"), ONE_OF("unit", unit_forms), SEARCH_OPTIONS,
    END,
};
static const struct cmd_arg from_forms[] = {
    {.name = "member", .type = "string", .token = "FROMMEMBER"},
    BLOCK_AFTER("longitude_latitude", "FROMLONLAT", lonlat_args),
    END,
};
static const struct cmd_arg circle_args[] = {
    {.name = "radius", .type = "double", .token = "BYRADIUS"},
    ONE_OF("unit", unit_forms),
    END,
};
static const struct cmd_arg box_args[] = {
    {.name = "width", .type = "double", .token = "BYBOX"},
    DOUBLE("height"),
    ONE_OF("unit", unit_forms),
    END,
};
static const struct cmd_arg by_forms[] = {
    BLOCK("circle", circle_args),
    BLOCK("box", box_args),
    END,
};
static const struct cmd_arg center_args[] = {
    ONE_OF("from", from_forms),
    ONE_OF("by", by_forms),
    END,
};
static const struct cmd_arg polygon_args[] = {
    {.name = "num_vertices", .type = "integer", .token = "BYPOLYGON"},
    BLOCKS("longitude_latitude", lonlat_args),
    END,
};
static const struct cmd_arg shape_forms[] = {
    BLOCK("center", center_args),
    BLOCK("polygon", polygon_args),
    END,
};
static const struct cmd_arg geosearch_args[] = {
    KEY,
    ONE_OF("shape", shape_forms),
    OPTION_OF("order", order_forms),
    OPTION_BLOCK("count-block", NULL, count_args),
    OPTION("withcoord", "WITHCOORD"),
    OPTION("withdist", "WITHDIST"),
    OPTION("withhash", "WITHHASH"),
    END,
};
static const struct cmd_arg geosearchstore_args[] = {
    {.name = "destination", .type = "key"},
    {.name = "source", .type = "key"},
    ONE_OF("shape", shape_forms),
    OPTION_OF("order", order_forms),
    OPTION_BLOCK("count-block", NULL, count_args),
    OPTION("storedist", "STOREDIST"),
    END,
};

const struct cmd_spec cmd_geo_table[] = {
    {
        .name = "geoadd",
        .run = cmd_geoadd,
        .arity = -5,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @geo @slow",
        ONE_KEY(keys_rw_update),
        .members = {4, 3, 0},
        .group = "geo",
        .since = "3.2.0",
        .summary = "Adds members with positions to a key, or moves them",
        .complexity = "O(log N) for each member",
        .args = geoadd_args,
    },
    {
        .name = "geodist",
        .run = cmd_geodist,
        .arity = -4,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 3},
        .group = "geo",
        .since = "3.2.0",
        .summary = "Measures the distance between two members",
        .complexity = "O(1)",
        .args = geodist_args,
    },
    {
        .name = "geohash",
        .run = cmd_geohash,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 0},
        .group = "geo",
        .since = "3.2.0",
        .summary = "Returns the geohash texts of members",
        .complexity = "O(1) for each member",
        .args = key_any_members_args,
    },
    {
        .name = "geopos",
        .run = cmd_geopos,
        .arity = -2,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .members = {2, 1, 0},
        .group = "geo",
        .since = "3.2.0",
        .summary = "Returns the positions of members",
        .complexity = "O(1) for each member",
        .args = key_any_members_args,
    },
    {
        .name = "georadius",
        .run = cmd_georadius,
        .arity = -6,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_GEORADIUS,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_georadius,
        .group = "geo",
        .since = "3.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined",
        .summary =
            "Finds the members within a distance of a point, and returns or stores "
            "them",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = georadius_args,
    },
    {
        .name = "georadius_ro",
        .run = cmd_georadius_ro,
        .arity = -6,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .group = "geo",
        .since = "3.2.10",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` with the `BYRADIUS` argument",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined",
        .summary = "Finds the members within a distance of a point",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = georadius_ro_args,
    },
    {
        .name = "georadiusbymember",
        .run = cmd_georadiusbymember,
        .arity = -5,
        .flags = CMD_WRITE | CMD_DENYOOM | CMD_MOVABLEKEYS,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_GEORADIUS,
        .key_first = 1,
        .key_last = 1,
        .key_step = 1,
        .key_specs = keys_georadiusbymember,
        .group = "geo",
        .since = "3.2.0",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and "
                       "`FROMMEMBER` arguments",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined",
        .summary =
            "Finds the members within a distance of a member, and returns or stores "
            "them",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = georadiusbymember_args,
    },
    {
        .name = "georadiusbymember_ro",
        .run = cmd_georadiusbymember_ro,
        .arity = -5,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .group = "geo",
        .since = "3.2.10",
        .deprecated_since = "6.2.0",
        .replaced_by = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined",
        .summary = "Finds the members within a distance of a member",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = georadiusbymember_ro_args,
    },
    {
        .name = "geosearch",
        .run = cmd_geosearch,
        .arity = -7,
        .flags = CMD_READONLY,
        .acl = "@read @geo @slow",
        ONE_KEY(keys_ro_access),
        .group = "geo",
        .since = "6.2.0",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined; BYPOLYGON",
        .summary = "Finds the members inside a circle, a box or a polygon",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = geosearch_args,
    },
    {
        .name = "geosearchstore",
        .run = cmd_geosearchstore,
        .arity = -8,
        .flags = CMD_WRITE | CMD_DENYOOM,
        .acl = "@write @geo @slow",
        .keys = CMD_KEYS_RANGE,
        .key_first = 1,
        .key_last = 2,
        .key_step = 1,
        .key_specs = keys_geosearchstore,
        .group = "geo",
        .since = "6.2.0",
        .differs = "finds the members that Redis loses; order among equal distances is "
                   "defined; BYPOLYGON",
        .summary =
            "Stores the members inside a circle, a box or a polygon under another key",
        .complexity =
            "O(log N + M + K) for N members in the key, M at the edge of the shape "
            "and K in the reply",
        .args = geosearchstore_args,
    },
    {.name = NULL},
};
