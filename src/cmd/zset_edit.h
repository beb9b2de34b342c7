/*
 * zset_edit.h: several changes of one set that happen all or not at all.
 *
 * An edit remembers in the command's arena what each step replaced. When a step
 * runs out of memory the caller undoes the edit, which takes the steps back in
 * reverse order.
 *
 * Undoing additions only frees memory and cannot fail unless a frozen view is
 * open. Undoing a move or a removal puts an entry back into the leaf it came
 * from, which may need a block again that was given back meanwhile; going
 * backwards frees what the later steps took first. If memory is so short that
 * even that fails, the entry keeps its new state and zset_edit_undo says so:
 * the set is then consistent, but the command is half done, and the caller
 * must report the key as changed.
 */
#ifndef ZSET_EDIT_H
#define ZSET_EDIT_H

#include "cmd/cmd.h"

struct zset_edit {
    struct yn_zset *set;
    struct zset_edit_step {
        struct yn_bytes member;
        double old_score;
        bool was_there;
    } * steps;
    size_t n_steps;
    size_t max_steps; /* 0: nothing is remembered, a single step being atomic by itself */
};

/* Prepares for at most max_steps steps. Returns false when out of memory. */
bool zset_edit_init(struct zset_edit *edit, struct cmd_arena *arena, struct yn_zset *set,
                    size_t max_steps);

/* One step each. Return false when out of memory: then undo. */
bool zset_edit_put(struct zset_edit *edit, struct yn_bytes member, double score,
                   enum yn_change *out_change);
bool zset_edit_remove(struct zset_edit *edit, struct yn_bytes member, bool *out_removed);

/* Takes all steps back. Returns false if not all could be (see above). */
bool zset_edit_undo(struct zset_edit *edit);

#endif
