#include "cmd/zset_edit.h"

bool zset_edit_init(struct zset_edit *edit, struct cmd_arena *arena, struct yn_zset *set,
                    size_t max_steps)
{
    *edit = (struct zset_edit){.set = set};
    if (max_steps < 2)
        return true;
    if (max_steps > SIZE_MAX / sizeof *edit->steps)
        return false;
    edit->steps = cmd_arena_take(arena, max_steps * sizeof *edit->steps);
    edit->max_steps = max_steps;
    return edit->steps != NULL;
}

/* Notes what a step that has been done replaced. */
static void remember(struct zset_edit *edit, struct yn_bytes member, double old_score,
                     bool was_there)
{
    if (edit->max_steps > 0)
        edit->steps[edit->n_steps++] =
            (struct zset_edit_step){member, old_score, was_there};
}

bool zset_edit_put(struct zset_edit *edit, struct yn_bytes member, double score,
                   enum yn_change *out_change)
{
    struct yn_put put;
    if (yn_zset_put(edit->set, member, score, &put) != YN_OK)
        return false;
    *out_change = put.change;
    if (put.change != YN_UNCHANGED)
        remember(edit, member, put.old_score, put.change == YN_UPDATED);
    return true;
}

bool zset_edit_remove(struct zset_edit *edit, struct yn_bytes member, bool *out_removed)
{
    double old_score = 0;
    if (edit->max_steps > 0)
        yn_zset_find(edit->set, member, &old_score);
    if (yn_zset_remove(edit->set, member, out_removed) != YN_OK)
        return false;
    if (*out_removed)
        remember(edit, member, old_score, true);
    return true;
}

bool zset_edit_undo(struct zset_edit *edit)
{
    bool is_undone = true;
    while (edit->n_steps > 0) {
        const struct zset_edit_step *step = &edit->steps[--edit->n_steps];
        enum yn_status status =
            step->was_there ? yn_zset_put(edit->set, step->member, step->old_score, NULL)
                            : yn_zset_remove(edit->set, step->member, NULL);
        is_undone &= status == YN_OK;
    }
    return is_undone;
}
