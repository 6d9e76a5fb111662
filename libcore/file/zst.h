/* file/zst.h - unpack a GGUF file compressed with zstd (RFC 8878). */
#ifndef FILE_ZST_H
#define FILE_ZST_H
#include "file/file.h"

/* True if these bytes begin a frame, or a skippable frame. */
int zst_is(const unsigned char *at, size_t n);

/* Unpack *s, the last of f's shards, whose mapping is compressed, into private memory, which
 * becomes its data.  f's watch receives compressed bytes.
 * INFER_EFORMAT: damaged, truncated, or not of the size that the header inside says.
 * INFER_EUNSUP: it needs a dictionary or too large a window, or contains no GGUF file.
 * INFER_ENOMEM: the header inside says more bytes than are available.
 * INFER_EIO */
int zst_unpack(struct infer_file *f, struct file_shard *s, infer_error *err);
#endif
