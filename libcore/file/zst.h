/* file/zst.h - unpacking a GGUF file that is compressed with zstd (RFC 8878). */
#ifndef FILE_ZST_H
#define FILE_ZST_H
#include "file/file.h"

/* Whether these bytes begin a frame, or a skippable one. */
int zst_is(const unsigned char *at, size_t n);

/* Unpack *s, the last of f's shards, whose mapping is compressed, into private memory, which then
 * holds its bytes.  f's watcher is told of compressed bytes.
 * INFER_EFORMAT  damaged, cut short, or of another size than the header inside says
 * INFER_EUNSUP   a dictionary or a window that is too large is needed, or there is no GGUF file
 *                inside
 * INFER_ENOMEM   the header inside says more bytes than are available
 * INFER_EIO */
int zst_unpack(struct infer_file *f, struct file_shard *s, infer_error *err);
#endif
