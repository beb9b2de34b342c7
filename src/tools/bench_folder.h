/* bench_folder.h: folders that yonder-bench works in and removes. */
#ifndef BENCH_FOLDER_H
#define BENCH_FOLDER_H

#include <stdbool.h>

#define BENCH_FOLDER_MAX 256

/* Makes an empty folder in $TMPDIR, else /tmp; its name starts with `name`. Returns
 * false, with out_path empty and errno set, when it cannot. */
bool bench_folder_new(const char *name, char out_path[BENCH_FOLDER_MAX]);

#endif
