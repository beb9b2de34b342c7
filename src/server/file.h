/* file.h: small files that are read and written as a whole. */
#ifndef FILE_H
#define FILE_H

#include <sys/stat.h>

#include "core/buf.h"

#define FILE_ERROR_MAX 1024

/* Appends the content. On failure error (FILE_ERROR_MAX bytes) says why, and errno is
 * that of the call that failed: ENOENT when there is no such file. out_mode may be NULL.
 */
bool file_read(const char *path, struct yn_buf *out, mode_t *out_mode, char *error);
/* Puts another content in the file's place: whoever opens it finds the old one or the new
 * one, also after a crash. */
bool file_replace(const char *path, const struct yn_buf *text, mode_t mode, char *error);

#endif
