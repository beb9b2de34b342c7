#include "tools/bench_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool bench_folder_new(const char *name, char out_path[BENCH_FOLDER_MAX])
{
    const char *parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] == '\0')
        parent = "/tmp";
    int len = snprintf(out_path, BENCH_FOLDER_MAX, "%s/%s-XXXXXX", parent, name);
    if (len < 0 || len >= BENCH_FOLDER_MAX)
        errno = ENAMETOOLONG;
    else if (mkdtemp(out_path) != NULL)
        return true;
    out_path[0] = '\0';
    return false;
}
