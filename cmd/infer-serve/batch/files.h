/* infer-serve/batch/files.h - OpenAI's file objects: the descriptions of the files in --files-dir.
 *
 * A file belongs to the group of the API key that it was uploaded with; other groups cannot find
 * it. A file that was uploaded without a key belongs to requests without a key. */
#ifndef INFER_SERVE_BATCH_FILES_H
#define INFER_SERVE_BATCH_FILES_H
#include "infer-serve/ops/store.h"

#define FILES_PREFIX "file-"

/* Write NAME.json, the description of the file `name`. group: its owner; empty: requests without a key.
 * INFER_EAGAIN  the disk is full; INFER_EIO INFER_ENOMEM */
int files_describe(struct store *s, const char *name, const char *group, int64_t bytes,
                   const char *filename, const char *purpose, infer_error *err);
/* Append the file object that clients see.
 * INFER_EIO     there is no such file, or it belongs to another group
 * INFER_EFORMAT the description is not JSON; INFER_ENOMEM: also if to->bad */
int files_read(const struct store *s, const char *name, const char *group, struct buf *to,
               infer_error *err);
/* True if the file `name` exists and belongs to this group. */
int files_has(const struct store *s, const char *name, const char *group);
#endif
