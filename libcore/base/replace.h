/* base/replace.h - replace a file safely: write a temporary file in the same directory, and rename
 * it when it is complete.  Any thread. */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H
#include <limits.h>
#include <infer/status.h>

/* Return the path to write for `path`: path itself, or the target of a symbolic link, which may be
 * missing.  So the link stays a link.
 * INFER_EIO: too many links, or the result is too long. */
int replace_target(char out[PATH_MAX], const char *path, infer_error *err);
/* Return the permissions for the temporary file, before the umask: `mode` if there is no regular
 * file at path, else those of that file plus read and write for the owner. */
unsigned replace_mode(const char *path, unsigned mode);
/* Create `name` for reading and writing.  A file or link of this name is removed first; the target
 * of a link is not touched.
 * INFER_EIO: also if the name cannot be removed (a directory). */
int replace_create(int *fd, const char *name, unsigned mode, infer_error *err);
/* Give the open file fd the owner, group and permissions (not set-user-ID and the like) of the
 * regular file at path, if there is one.  If the group cannot be set, its members get the
 * permissions of others.  Refusals of the file system are ignored. */
void replace_keep(int fd, const char *path);
#endif
