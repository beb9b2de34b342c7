/*
 * scan_args.h: what the scanning commands share: cursor and options, and a list
 * that grows in the command's arena, since a reply starts with its length.
 */
#ifndef SCAN_ARGS_H
#define SCAN_ARGS_H

#include "cmd/cmd_args.h"

struct scan_args {
    uint64_t cursor;
    size_t count;
    bool has_pattern, has_type;
    struct yn_bytes pattern, type;
};

/* The cursor comes first; the caller may look at the key before it parses the options.
 * `allows_type`: TYPE is an option. */
bool scan_args_parse_cursor(struct scan_args *scan, struct cmd_args *args);
bool scan_args_parse_options(struct scan_args *scan, struct cmd_args *args,
                             bool allows_type);

/* True if the name passes MATCH. */
bool scan_args_match(const struct scan_args *scan, struct yn_bytes name);

/* Starts the reply of a scan: two elements, the first of which is the next cursor. */
void scan_reply_cursor(struct host *h, uint64_t cursor);

/* Items of one size, back to back. Its memory lives as long as the arena's. */
struct scan_list {
    struct cmd_arena *arena;
    void *items;
    size_t item_size, n, cap;
    bool failed; /* an item did not fit into memory; items is not to be used */
};

void scan_list_init(struct scan_list *list, struct cmd_arena *arena, size_t item_size);
/* Copies the item to the end. */
void scan_list_add(struct scan_list *list, const void *item);

#endif
