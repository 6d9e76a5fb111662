/* common/file.h - read files into memory, and replace files atomically. */
#ifndef COMMON_FILE_H
#define COMMON_FILE_H
#include <stddef.h>
#include <infer/status.h>
#include "base/buf.h"

/* Append the bytes of a file to *out.
 * INFER_EIO      the file is missing or cannot be read
 * INFER_EFORMAT  the file is longer than `most` bytes; INFER_ENOMEM */
int file_read(struct buf *out, const char *path, size_t most, infer_error *err);
/* Like file_read; path "-" is standard input. */
int file_read_any(struct buf *out, const char *path, size_t most, infer_error *err);

/* Replace a file: write a temporary file in the same directory, sync it, and rename it to path. A
 * symbolic link is followed. An existing file keeps its owner and permissions.
 * mode: permissions of a new file, before the umask
 * INFER_EIO  a full disk, no permission, or path is not a regular file; INFER_ENOMEM */
int file_write(const char *path, const void *bytes, size_t n, unsigned mode, infer_error *err);

/* Create a temporary file in the directory of path and write its name to *tmp. It gets the owner and
 * permissions of the file at path, or `mode` (before the umask) if path does not exist. Returns its
 * descriptor, or -1 with *err set (INFER_EIO, INFER_ENOMEM). */
int file_beside(struct buf *tmp, const char *path, unsigned mode, infer_error *err);

/* Write n bytes to fd, continuing after interruptions. Returns 0, or -1 with errno set. Allocates no
 * memory. */
int file_put(int fd, const char *at, size_t n);
#endif
