/* infer-run/outfile.h - the file of --resume, to which a batch appends records. It is locked against other
 * processes, and synced to disk. Confined to one thread. */
#ifndef INFER_RUN_OUTFILE_H
#define INFER_RUN_OUTFILE_H
#include <sys/types.h>
#include <infer/record.h>

struct outfile {
	int fd;           /* -1: none is open */
	const char *path; /* borrowed */
	off_t bytes;      /* length of the complete records */
	int dirty;        /* 1: written to since the last outfile_sync */
};

/* Open or create the file and lock it. Call done for every record of a request; if it fails, return its error
 * and leave the file unchanged. Then remove an incomplete last line and damaged lines. Sync the directory of
 * a new file.
 * w              the writer; continues after the records (infer_records_continue)
 * INFER_EFORMAT  a line is not a record
 * INFER_EIO      the file cannot be opened, is not a regular file, or is locked by another process
 * INFER_ENOMEM */
int outfile_open(struct outfile *f, const char *path, infer_records *w, infer_done_fn *done,
                 void *user, infer_error *err);
void outfile_close(struct outfile *f);
/* Append the records in w. If a write fails, a partly written record is cut off. INFER_EIO */
int outfile_add(struct outfile *f, infer_records *w, infer_error *err);
/* Sync the file to disk if it was written to since the last sync.
 * INFER_EIO  the sync failed, or another process removed or truncated the file */
int outfile_sync(struct outfile *f, infer_error *err);
#endif
