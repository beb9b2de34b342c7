/* zset.h: the inside of a set: a tree, and a dictionary once it has several leaves. */
#ifndef YN_ZSET_H
#define YN_ZSET_H

#include "core/dict.h"

struct yn_zset {
    struct yn_tree tree;
    struct yn_dict *dict; /* NULL while one leaf holds everything */
    uint64_t seed;
    uint8_t n_dicts; /* dictionaries made so far, wrapping around */
    bool is_dead;    /* freed, and waiting for its frozen views */
};

/* Ends the making of a set: links the tree, frees the builder (or NULL), builds the
 * dictionary. `status` is how adding went; when it, or this, failed, the set is freed and
 * the status returned (YN_EEXIST: a member occurs twice). */
enum yn_status yn_zset_finish(struct yn_zset *set, struct yn_builder *builder,
                              enum yn_status status, struct yn_zset **out_set);

/* Finds a member's place. */
bool yn_zset_locate(const struct yn_zset *set, struct yn_bytes member,
                    struct yn_path *out_path);

#endif
