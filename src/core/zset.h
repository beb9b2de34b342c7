/* zset.h: the inside of a set: a tree, and a dictionary once it has several leaves. */
#ifndef YN_ZSET_H
#define YN_ZSET_H

#include "core/dict.h"
#include "core/stop.h"

/* Where the entries of yn_zset_prefetch will stand: the puts that follow need not go down
 * the tree again. */
struct yn_ahead {
    uint64_t keys[YN_AHEAD_MAX];
    struct yn_path paths[YN_AHEAD_MAX];
    size_t n, at;       /* entries from `at` on are to come */
    uint64_t n_dropped; /* the tree's when the paths were found */
};

struct yn_zset {
    struct yn_tree tree;
    struct yn_dict *dict;   /* NULL while one leaf holds everything */
    struct yn_ahead *ahead; /* NULL until it is wanted */
    uint64_t seed;
    uint8_t n_dicts; /* dictionaries made so far, wrapping around */
    bool is_dead;    /* freed, and waiting for its frozen views */
};

/* Ends the making of a set: links the tree, frees the builder (or NULL), builds the
 * dictionary, unless `stop` (or NULL) ends that. `status` is how adding went; when it, or
 * this, failed, the set is freed and the status returned (YN_EEXIST: a member occurs
 * twice). */
enum yn_status yn_zset_finish(struct yn_zset *set, struct yn_builder *builder,
                              enum yn_status status, const struct yn_stop *stop,
                              struct yn_zset **out_set);

/* The same without a dictionary: look-ups go through all leaves. */
enum yn_status yn_zset_finish_tree(struct yn_zset *set, struct yn_builder *builder,
                                   enum yn_status status, struct yn_zset **out_set);

/* Whether frozen views of the set are open. A set that has none, and that nobody else
 * knows, may be freed by any thread. */
bool yn_zset_is_viewed(const struct yn_zset *set);

/* Finds a member's place. */
bool yn_zset_locate(const struct yn_zset *set, struct yn_bytes member,
                    struct yn_path *out_path);

#endif
