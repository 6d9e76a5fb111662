/* infer-serve/batch/batch_output.h - append answers of a batch to a file, even if the disk is full for a
 * while.
 *
 * Lines stay in memory until they are on the disk. A later call writes what an earlier one could not
 * write, and completes a line that was written in part. */
#ifndef INFER_SERVE_BATCH_BATCH_OUTPUT_H
#define INFER_SERVE_BATCH_BATCH_OUTPUT_H
#include "base/buf.h"
#include "base/seen.h"
#include "infer-serve/ops/store.h"

struct batch_output {
	int fd;           /* -1: not open */
	int64_t synced;   /* bytes of the file that are on the disk (fdatasync) */
	struct buf lines; /* lines after the first `synced` bytes */
	size_t written;   /* bytes of `lines` that are in the file */
};
void batch_output_init(struct batch_output *o);
void batch_output_fini(struct batch_output *o);
/* Open the file, or create it.
 * INFER_EAGAIN  the disk is full; INFER_EIO */
int batch_output_open(struct batch_output *o, const struct store *s, const char *name,
                      infer_error *err);
/* Add the ids of the lines in the file to *ids and their number to *n. Truncate the file after its last
 * complete line. INFER_EIO INFER_ENOMEM */
int batch_output_read(struct batch_output *o, struct seen *ids, int64_t *n, infer_error *err);
/* Add a line, which batch_output_write writes.
 * INFER_ENOMEM */
int batch_output_put(struct batch_output *o, const struct buf *line, infer_error *err);
/* Write all lines to the file; batch_output_sync also syncs it to disk.
 * INFER_EAGAIN  the disk is full: nothing is lost, call it again later
 * INFER_EIO     another error of the disk */
int batch_output_write(struct batch_output *o, infer_error *err);
int batch_output_sync(struct batch_output *o, infer_error *err);
/* Truncate the file after its last complete line and discard lines that are not in it. For a batch that
 * ends although they cannot be written. */
void batch_output_cut(struct batch_output *o);
#endif
