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

static void remember(struct zset_edit *edit, struct yn_bytes member)
{
    struct zset_edit_step *step = &edit->steps[edit->n_steps];
    step->member = member;
    step->was_there = yn_zset_find(edit->set, member, &step->old_score);
}

bool zset_edit_put(struct zset_edit *edit, struct yn_bytes member, double score,
                   enum yn_change *out_change)
{
    bool remembers = edit->max_steps > 0;
    if (remembers)
        remember(edit, member);
    if (yn_zset_put(edit->set, member, score, out_change) != YN_OK)
        return false;
    edit->n_steps += remembers && *out_change != YN_UNCHANGED;
    return true;
}

bool zset_edit_remove(struct zset_edit *edit, struct yn_bytes member, bool *out_removed)
{
    bool remembers = edit->max_steps > 0;
    if (remembers)
        remember(edit, member);
    if (yn_zset_remove(edit->set, member, out_removed) != YN_OK)
        return false;
    edit->n_steps += remembers && *out_removed;
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
