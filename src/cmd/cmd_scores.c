#include "cmd/cmd_scores.h"

#include <math.h>

/* The members are consecutive arguments. */
void cmd_scores_init(struct cmd_scores *scores, const struct cmd_call *call,
                     const struct yn_zset *set)
{
    scores->call = call;
    scores->set = set;
    scores->i = call->spec->members.first;
    scores->n_found = 0;
    if (set != NULL && call->ahead.set == set) {
        scores->found = call->ahead.scores;
        scores->n_found = call->ahead.n;
    }
}

static void find_more(struct cmd_scores *scores)
{
    const struct cmd_call *call = scores->call;
    size_t last = call->spec->members.last, end = last > 0 ? last + 1 : call->argc;
    size_t n = end - scores->i;
    n = n < CMD_AHEAD_MAX ? n : CMD_AHEAD_MAX;
    yn_zset_find_many(scores->set, call->argv + scores->i, n, scores->space);
    scores->found = scores->space;
    scores->n_found = n;
}

bool cmd_scores_next(struct cmd_scores *scores, double *out_score)
{
    if (scores->set == NULL)
        return false;
    if (scores->n_found == 0)
        find_more(scores);
    *out_score = *scores->found++;
    scores->n_found--;
    scores->i++;
    return !isnan(*out_score);
}
