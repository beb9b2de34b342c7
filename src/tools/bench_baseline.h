/*
 * bench_baseline.h: yonder-server as it was at another revision, built for a comparison.
 */
#ifndef BENCH_BASELINE_H
#define BENCH_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/bench_folder.h"

struct bench_baseline {
    char folder[BENCH_FOLDER_MAX];       /* of source and build, removed at the end */
    char program[BENCH_FOLDER_MAX + 32]; /* the server */
    char commit[64];
    char error[256];
};

/* Takes the tree of a revision from the repository that this program was built in, or
 * that $YONDER_SOURCE_DIR names, and builds its server (release) in a folder of its own.
 * Progress goes to standard error. */
bool bench_baseline_build(struct bench_baseline *baseline, const char *revision);
void bench_baseline_remove(struct bench_baseline *baseline);

/* Runs git with arguments in that repository, and takes the first line that it prints.
 * Returns false when there is no repository, or nothing was printed. */
bool bench_baseline_git(const char *arguments, char *out_line, size_t size);

#endif
