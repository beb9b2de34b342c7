#include "server/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool fail(char *error, const char *what)
{
    snprintf(error, FILE_ERROR_MAX, "%s: %s", what, strerror(errno));
    return false;
}

bool file_read(const char *path, struct yn_buf *out, mode_t *out_mode, char *error)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(error, "open");
    bool ok = fstat(fd, &status) == 0;
    if (ok && out_mode != NULL)
        *out_mode = status.st_mode & 07777;
    for (ssize_t n = 1; ok && n > 0;) {
        char *to = yn_buf_reserve(out, 4096);
        n = to != NULL ? read(fd, to, 4096) : -1;
        ok = n >= 0 || errno == EINTR;
        out->len += n > 0 ? (size_t)n : 0;
        n = n < 0 && ok ? 1 : n;
    }
    if (!ok)
        fail(error, "read");
    close(fd);
    return ok;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return false;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* So that the new name survives a crash, too. */
static void sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        snprintf(folder, sizeof folder, ".");
    else
        slash[slash == folder] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

bool file_replace(const char *path, const struct yn_buf *text, mode_t mode, char *error)
{
    char other[PATH_MAX];
    int n = snprintf(other, sizeof other, "%s.%d.tmp", path, (int)getpid());
    errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n >= sizeof other)
        return fail(error, "open");
    int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail(error, "open");
    bool ok =
        write_all(fd, text->data, text->len) && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    if (!ok)
        fail(error, "write");
    if (close(fd) != 0 && ok)
        ok = fail(error, "close");
    if (ok && rename(other, path) != 0)
        ok = fail(error, "rename");
    if (!ok)
        unlink(other);
    else
        sync_folder(path);
    return ok;
}
