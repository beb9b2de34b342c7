#include "tools/bench_baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the repository is. A path with a quote would not survive the shell. */
static bool find_root(char out_path[600])
{
    const char *root = getenv("YONDER_SOURCE_DIR");
    if (root != NULL) {
        snprintf(out_path, 600, "%s", root);
    } else {
        ssize_t len = readlink("/proc/self/exe", out_path, 599);
        char *slash = len > 0 ? memrchr(out_path, '/', (size_t)len) : NULL;
        if (slash == NULL)
            return false;
        *slash = '\0';
    }
    return strchr(out_path, '\'') == NULL;
}

bool bench_baseline_git(const char *arguments, char *out_line, size_t size)
{
    char root[600], command[1024];
    if (!find_root(root))
        return false;
    snprintf(command, sizeof command, "git -C '%s' %s 2>/dev/null", root, arguments);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return false;
    bool is_read = fgets(out_line, (int)size, pipe) != NULL;
    pclose(pipe);
    if (is_read)
        out_line[strcspn(out_line, "\n")] = '\0';
    return is_read;
}

static bool fail(struct bench_baseline *baseline, const char *what, const char *revision)
{
    snprintf(baseline->error, sizeof baseline->error, "%s \"%.100s\"", what, revision);
    return false;
}

bool bench_baseline_build(struct bench_baseline *baseline, const char *revision)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789._/~^-";
    char root[600], command[2048];
    memset(baseline, 0, sizeof *baseline);
    if (revision[0] == '-' || strlen(revision) > 100 ||
        strspn(revision, plain) != strlen(revision))
        return fail(baseline, "no revision:", revision);
    snprintf(command, sizeof command, "rev-parse --verify --quiet '%s^{commit}'",
             revision);
    if (!find_root(root) ||
        !bench_baseline_git(command, baseline->commit, sizeof baseline->commit))
        return fail(baseline, "the repository does not know", revision);
    if (!bench_folder_new("yonder-baseline", baseline->folder))
        return fail(baseline, "no folder for", revision);
    if (strchr(baseline->folder, '\'') != NULL) { /* it goes through a shell */
        rmdir(baseline->folder);
        baseline->folder[0] = '\0';
        return fail(baseline, "TMPDIR has a quote in it; no place for", revision);
    }
    fprintf(stderr, "building %s\n", baseline->commit);
    const char *folder = baseline->folder;
    snprintf(command, sizeof command,
             /* from a folder below its top git would take only that folder */
             "cd '%s' && top=$(git -C '%s' rev-parse --show-toplevel) && "
             "git -C \"$top\" archive '%s' >source.tar && "
             "tar -xf source.tar && "
             "(cmake -G Ninja -S . -B build -DYN_VARIANT=release && "
             "cmake --build build --target yonder-server) >log 2>&1 || "
             "{ tail -n 20 log >&2; exit 1; }",
             folder, root, baseline->commit);
    if (system(command) != 0)
        return fail(baseline, "could not build", revision);
    snprintf(baseline->program, sizeof baseline->program, "%s/build/yonder-server",
             folder);
    return true;
}

void bench_baseline_remove(struct bench_baseline *baseline)
{
    char command[BENCH_FOLDER_MAX + 16];
    if (baseline->folder[0] == '\0')
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", baseline->folder);
    if (system(command) != 0)
        fprintf(stderr, "yonder-bench: could not remove %s\n", baseline->folder);
    baseline->folder[0] = '\0';
}
