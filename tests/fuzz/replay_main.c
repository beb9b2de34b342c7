/*
 * replay_main.c: runs a fuzz target over files, without a fuzzer.
 *
 * Arguments are files or folders (read one level deep, in the order of their names).
 * Every input lies at the end of a block of exactly its size, so that a sanitizer
 * sees a read past it.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t n_replayed;

static void fail(const char *path)
{
    fprintf(stderr, "could not read \"%s\": %s\n", path, strerror(errno));
    exit(2);
}

static void replay_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (file == NULL || data == NULL || fread(data, 1, size, file) != size)
        fail(path);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    n_replayed++;
}

static void replay_folder(const char *path)
{
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0)
        fail(path);
    for (int i = 0; i < n; i++) {
        char name[4096];
        struct stat info;
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (stat(name, &info) < 0)
            fail(name);
        if (S_ISREG(info.st_mode))
            replay_file(name, (size_t)info.st_size);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) < 0)
            fail(argv[i]);
        if (S_ISDIR(info.st_mode))
            replay_folder(argv[i]);
        else
            replay_file(argv[i], (size_t)info.st_size);
    }
    printf("%zu inputs replayed\n", n_replayed);
    return n_replayed > 0 ? 0 : 1;
}
