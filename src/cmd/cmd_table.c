/*
 * cmd_table.c: the tables of the data commands, which are the one source for dispatch,
 * arity checks, COMMAND replies and lists of commands. Flags, key positions and argument
 * names are what clients of compatible servers expect; the prose is our own.
 */
#include "cmd/cmd.h"

bool cmd_register_data(void)
{
    return cmd_register(cmd_geo_table) && cmd_register(cmd_zset_table) &&
           cmd_register(cmd_string_table) && cmd_register(cmd_key_table) &&
           cmd_register(cmd_command_table);
}
