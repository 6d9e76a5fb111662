/* infer-serve/batch/batch_output.h - the file that answers of a batch are appended to.  The disk
 * may be full for a while.
 *
 * Lines stay in memory until they are on the disk.  A later call writes what an earlier one could
 * not write, and completes a line that was written in part. */
#ifndef INFER_SERVE_BATCH_BATCH_OUTPUT_H
#define INFER_SERVE_BATCH_BATCH_OUTPUT_H
#include "base/buf.h"
#include "base/seen.h"
#include "infer-serve/ops/store.h"

struct batch_output {
	int fd;           /* -1: not open */
	int64_t synced;   /* bytes of the file that are on the disk (fdatasync) */
	struct buf lines; /* lines after these bytes */
	size_t written;   /* bytes of `lines` that are in the file */
};
void batch_output_init(struct batch_output *o);
void batch_output_fini(struct batch_output *o);
/* Open the file, or create it.
 * INFER_EAGAIN  the disk is full; INFER_EIO */
int batch_output_open(struct batch_output *o, const struct store *s, const char *name,
                      infer_error *err);
/* Add the ids of lines that the file has to *ids, and their number to *n, and cut the file after
 * the last whole line. INFER_EIO INFER_ENOMEM */
int batch_output_read(struct batch_output *o, struct seen *ids, int64_t *n, infer_error *err);
/* Add a line, which is written later.
 * INFER_ENOMEM */
int batch_output_put(struct batch_output *o, const struct buf *line, infer_error *err);
/* Write all lines to the file; batch_output_sync: also to the disk.
 * INFER_EAGAIN  the disk is full: nothing is lost, call it again later
 * INFER_EIO     another error of the disk */
int batch_output_write(struct batch_output *o, infer_error *err);
int batch_output_sync(struct batch_output *o, infer_error *err);
/* Cut the file after the last whole line and forget lines that are not in it, before it is read
 * without them. */
void batch_output_cut(struct batch_output *o);
#endif
