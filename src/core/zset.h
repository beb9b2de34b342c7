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

/* Builds the dictionary of a set whose tree has just been built. YN_OK, YN_ENOMEM, or
 * YN_EEXIST when a member occurs twice; after a failure the set is to be freed. */
enum yn_status yn_zset_index(struct yn_zset *set);

/* Finds a member's place. */
bool yn_zset_locate(const struct yn_zset *set, struct yn_bytes member,
                    struct yn_path *out_path);

#endif
