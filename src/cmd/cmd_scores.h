/*
 * cmd_scores.h: the scores of the members that a command names, looked up side by side
 * (yn_zset_find_many): by the host, together with those of the commands that follow in a
 * pipeline (cmd_call.ahead), or else here, some at a time.
 */
#ifndef CMD_SCORES_H
#define CMD_SCORES_H

#include "cmd/cmd.h"

struct cmd_scores {
    const struct cmd_call *call;
    const struct yn_zset *set;
    const double *found; /* of the members from argv[i] on */
    size_t i, n_found;
    double space[CMD_AHEAD_MAX];
};

/* Starts at the first of the members that the command's spec names. set: or NULL. */
void cmd_scores_init(struct cmd_scores *scores, const struct cmd_call *call,
                     const struct yn_zset *set);
/* Tells the next member's score. Returns false when it is not there, or the set is not.
 * To be called at most once for each member. */
bool cmd_scores_next(struct cmd_scores *scores, double *out_score);

#endif
