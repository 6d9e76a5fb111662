/* common/file.h - whole files: read into memory, and written so that a name never refers to a
 * partial file. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

/* Append the bytes of a file to *out.  most: the most bytes.
 * INFER_EIO  missing or unreadable
 * INFER_EFORMAT  longer than `most`; INFER_ENOMEM */
int file_read(struct buf *out, const char *path, size_t most, infer_error *err);
int file_read_any(struct buf *out, const char *path, size_t most,
                  infer_error *err); /* path "-": standard input */

/* Write to a temporary file beside path, sync it, and rename it.  Until then path keeps its old
 * contents.  A link is followed; a file that is replaced keeps its owner and permissions.
 * mode: of a new file, before the umask
 * INFER_EIO  a full disk, no permission, or path is not a regular file; INFER_ENOMEM */
int file_write(const char *path, const void *bytes, size_t n, unsigned mode, infer_error *err);

/* Create a file beside path under a name of its own, which goes into *tmp; returns its descriptor,
 * or -1.  It has the owner and permissions of the file at path, or `mode` before the umask if there is
 * none.
 * INFER_EIO INFER_ENOMEM */
int file_beside(struct buf *tmp, const char *path, unsigned mode, infer_error *err);

/* Write all n bytes to fd, continuing after interruptions; -1 and errno on failure.  Allocates
 * nothing. */
int file_put(int fd, const char *at, size_t n);
#endif
