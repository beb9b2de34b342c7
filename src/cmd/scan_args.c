#include "cmd/scan_args.h"

#include <string.h>

#include "cmd/glob.h"
#include "core/num.h"

#define COUNT_DEFAULT 10
#define LIST_CAP_FIRST 16

/* Cursors are unsigned and more lenient than other integers: a plus, leading zeros and
 * even nothing at all are taken. */
static bool parse_cursor(struct yn_bytes word, uint64_t *out_cursor)
{
    uint64_t cursor = 0;
    size_t i = word.len > 0 && word.data[0] == '+' ? 1 : 0;
    if (i == 1 && word.len == 1)
        return false;
    for (; i < word.len; i++) {
        if (word.data[i] < '0' || word.data[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(word.data[i] - '0');
        if (cursor > (UINT64_MAX - digit) / 10)
            return false;
        cursor = cursor * 10 + digit;
    }
    *out_cursor = cursor;
    return true;
}

bool scan_args_parse_cursor(struct scan_args *scan, struct cmd_args *args)
{
    struct yn_bytes word;
    *scan = (struct scan_args){.count = COUNT_DEFAULT};
    if (!cmd_args_word(args, &word))
        return false;
    return parse_cursor(word, &scan->cursor) || cmd_args_fail(args, "ERR invalid cursor");
}

bool scan_args_parse_options(struct scan_args *scan, struct cmd_args *args,
                             bool allows_type)
{
    while (cmd_args_left(args) > 0) {
        if (cmd_args_option(args, "count", 1)) {
            int64_t count;
            if (!cmd_args_int64(args, CMD_ERR_INTEGER, &count))
                return false;
            if (count < 1)
                return cmd_args_fail(args, CMD_ERR_SYNTAX);
            scan->count = (size_t)count;
        } else if (cmd_args_option(args, "match", 1)) {
            scan->has_pattern = true;
            cmd_args_word(args, &scan->pattern);
        } else if (allows_type && cmd_args_option(args, "type", 1)) {
            scan->has_type = true;
            cmd_args_word(args, &scan->type);
        } else if (cmd_args_option(args, "novalues", 0)) {
            return cmd_args_fail(args, "ERR NOVALUES option can only be used in HSCAN");
        } else {
            return cmd_args_fail(args, CMD_ERR_SYNTAX);
        }
    }
    return !cmd_args_failed(args);
}

bool scan_args_match(const struct scan_args *scan, struct yn_bytes name)
{
    return !scan->has_pattern || glob_matches(scan->pattern, name);
}

void scan_reply_cursor(struct host *h, uint64_t cursor)
{
    char text[YN_NUM_TEXT_MAX];
    size_t len = yn_num_format_uint64(cursor, text);
    host_reply_array(h, 2);
    host_reply_bulk(h, (struct yn_bytes){text, len});
}

void scan_list_init(struct scan_list *list, struct cmd_arena *arena, size_t item_size)
{
    *list = (struct scan_list){.arena = arena, .item_size = item_size};
}

/* Twice the room; the old room stays with the arena. */
static bool grow(struct scan_list *list)
{
    size_t cap = list->cap == 0 ? LIST_CAP_FIRST : list->cap * 2;
    if (cap > SIZE_MAX / 2 / list->item_size)
        return false;
    void *items = cmd_arena_take(list->arena, cap * list->item_size);
    if (items == NULL)
        return false;
    if (list->n > 0)
        memcpy(items, list->items, list->n * list->item_size);
    list->items = items;
    list->cap = cap;
    return true;
}

void scan_list_add(struct scan_list *list, const void *item)
{
    if (!list->failed && list->n == list->cap)
        list->failed = !grow(list);
    if (list->failed)
        return;
    memcpy((char *)list->items + list->n * list->item_size, item, list->item_size);
    list->n++;
}
