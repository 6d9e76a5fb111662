/* common/file.h - whole files: read into memory, and written so that a name never stands for half
 * of one. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

/* The bytes of a file behind what is in *out.  most: of them.
 * INFER_EIO  not there, not to be read; INFER_EFORMAT  longer than `most`; INFER_ENOMEM */
int file_read(struct buf *out, const char *path, size_t most, infer_error *err);

/* Write to a temporary name beside path, to the disk, and rename.  What the name stood for stays
 * until then. mode: of a new file, before the umask
 * INFER_EIO  a full disk, no permission; what is there is no regular file; INFER_ENOMEM */
int file_write(const char *path, const void *bytes, size_t n, unsigned mode, infer_error *err);

/* All n bytes to fd, whatever interrupts; -1 and errno.  Allocates nothing. */
int file_put(int fd, const char *at, size_t n);
#endif
