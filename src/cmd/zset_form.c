#include "cmd/zset_form.h"

bool zset_form_is_compact(struct host *h, const struct yn_view *view)
{
    struct yn_cursor cursor;
    size_t n = yn_view_count(view), longest_len = 0;
    if (!host_zset_is_compact(h, n, 0)) /* large sets are not walked through */
        return false;
    bool has_entry = yn_cursor_seek(&cursor, view, 0);
    for (; has_entry; has_entry = yn_cursor_next(&cursor)) {
        size_t len = yn_cursor_entry(&cursor).member.len;
        longest_len = len > longest_len ? len : longest_len;
    }
    return host_zset_is_compact(h, n, longest_len);
}
