/*
 * zset_form.h: which of Redis's two forms a set would have there: that of small sets
 * (listpack) or the other (skiplist). Here all sets are alike; it shows in some replies.
 */
#ifndef ZSET_FORM_H
#define ZSET_FORM_H

#include "cmd/host.h"

/* By what the set holds now, by the limits of the configuration. */
bool zset_form_is_compact(struct host *h, const struct yn_view *view);

#endif
