/* base/replace.h - the rules for a file that takes the place of another: it is written under a
 * temporary name in the same directory, and renamed when it is complete.  Any thread. */
#ifndef BASE_REPLACE_H
#define BASE_REPLACE_H
#include <limits.h>
#include <infer/status.h>

/* The path that is written if `path` is named: path itself, or, if it is a symbolic link, what the
 * link leads to, which may be missing.  So the link stays a link.
 * INFER_EIO  too many links, or the result is too long */
int replace_target(char out[PATH_MAX], const char *path, infer_error *err);
/* Permissions for the temporary file, before the umask: `mode` if there is no regular file at path,
 * else those of that file with read and write permission for the owner. */
unsigned replace_mode(const char *path, unsigned mode);
/* Create `name` for reading and writing.  What has this name is removed before: a link to another
 * file goes, and the other file is not touched.
 * INFER_EIO  also if the name cannot be removed, such as that of a directory */
int replace_create(int *fd, const char *name, unsigned mode, infer_error *err);
/* Give the open file fd the owner, group and permissions (not set-user-ID and the like) of the
 * regular file at path, if there is one.  If the caller may not give it that group, people of the
 * group may do what others may.  What the file system refuses is left as it is. */
void replace_keep(int fd, const char *path);
#endif
