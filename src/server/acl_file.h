/*
 * acl_file.h: users in files: the aclfile, and the lines of the configuration file.
 *
 * All or nothing: users are read into a table of their own, and the caller puts it in the
 * place of the one in force. A user "default" that the text does not tell is the one that
 * requirepass makes.
 */
#ifndef ACL_FILE_H
#define ACL_FILE_H

#include "server/acl.h"
#include "server/config.h"

/* Reads the text of an aclfile. path names it in errors. On failure *out is empty, and
 * errors, with the number of each line that is wrong, are appended. */
bool acl_file_parse(struct yn_bytes text, const char *path, const struct config *config,
                    struct acl *out, struct yn_buf *errors);
/* The same for config->aclfile, read now, or, if there is none, for config->users. */
bool acl_file_load(const struct config *config, struct acl *out, struct yn_buf *errors);
/* Appends a line for each user. */
void acl_file_format(const struct acl *acl, struct yn_buf *out);
/* Writes config->aclfile: the old file stays until the new one is whole. On failure error
 * (CONFIG_ERROR_MAX bytes) says why. */
bool acl_file_save(const struct config *config, const struct acl *acl, char *error);

#endif
