/* infer-run/outfile.h - the file that a batch appends its records to: ours alone, on the disk, and
 * still there.  Confined. */
#ifndef INFER_RUN_OUTFILE_H
#define INFER_RUN_OUTFILE_H
#include <sys/types.h>
#include <infer/record.h>

struct outfile {
	int fd;           /* -1: none is open */
	const char *path; /* borrowed */
	off_t bytes;      /* that it has in whole records */
	int dirty;        /* written to since the last outfile_sync */
};

/* Open or create the records of a batch to go on where they end: nobody else may have them open
 * this way, a last line that is torn is cut off, one that is damaged is taken out, done is called
 * for every record of a request.  What it returns ends it, INFER_OK aside: then the file is as it
 * was.  The directory of a new file is synced.
 * w          the records go on: infer_records_continue
 * INFER_EFORMAT  a line that is no record
 * INFER_EIO      cannot be opened, no regular file, in use */
int outfile_open(struct outfile *f, const char *path, infer_records *w, infer_done_fn *done,
                 void *user, infer_error *err);
void outfile_close(struct outfile *f);
/* What w holds goes behind it; of a record that could not be written whole nothing stays. */
int outfile_add(struct outfile *f, infer_records *w, infer_error *err);
/* To the disk, if anything was written since the last time.
 * INFER_EIO  refused, or the file was removed or cut by another */
int outfile_sync(struct outfile *f, infer_error *err);
#endif
