/* quant/partial.h - (private) unfinished output files.  They have temporary names, and
 * PATH.resume records the progress, so that a stopped run can be continued. */
#ifndef QUANT_PARTIAL_H
#define QUANT_PARTIAL_H
#include "quant/plan.h"

struct partial {
	const infer_quant *q;
	const char *path;  /* borrowed */
	struct buf resume; /* name of the file that records the progress */
	int resume_fd, *fds;
	/* progress: all tensors before `tensor`, and its first `elements` elements, are written */
	uint64_t tensor, elements;
	int marks;          /* number of progress records of this run and earlier ones */
	const char *suffix; /* suffix of the files that partial_end renames */
};

/* Open the files of an earlier run with this fingerprint, or create them.  A temporary name that is
 * a symbolic link or has further hard links is removed and created anew.  q and path are borrowed.
 * INFER_EINVAL  path is the input
 * INFER_EIO  also if another process is writing it, or the disk is full
 * INFER_ENOMEM */
int partial_open(struct partial *p, const infer_quant *q, const char *path,
                 const char fingerprint[65], infer_error *err);
/* Start to flush elements [from, to) of a tensor to the disk, to speed up the next partial_mark. */
void partial_want(const struct partial *p, const struct quant_tensor *t, uint64_t from,
                  uint64_t to);
/* Sync the files, and record that all before element `elements` of `tensor` is written. */
int partial_mark(struct partial *p, uint64_t tensor, uint64_t elements, infer_error *err);
/* Sync the files to the disk. */
int partial_sync(struct partial *p, infer_error *err);
/* Sync the complete files, and rename them to their final names.  Replaced files keep their
 * owner and permissions. */
int partial_end(struct partial *p, infer_error *err);
/* Close the files, and remove them unless `keep`. */
void partial_close(struct partial *p, int keep);

/* Create a temporary file with this suffix for file `no`, with the permissions of the file that it
 * replaces. Sets *fd and *name.  INFER_EIO INFER_ENOMEM */
int partial_create(int *fd, struct buf *name, const struct partial *p, int no, const char *suffix,
                   infer_error *err);
/* Read or write n bytes at an offset.  Returns 0 or an errno; EIO: the file is too short. */
int partial_io(int is_read, int fd, void *at, size_t n, uint64_t offset);
/* Set *out to the name of file `no` of `count`, with a suffix.  If path is a link, its target is
 * used. INFER_ENOMEM */
int partial_path(struct buf *out, const char *path, int no, int count, const char *suffix,
                 infer_error *err);
#define PARTIAL_SUFFIX ".part"
#define PARTIAL_PACKED ".part.zst"
#define PARTIAL_RESUME ".resume"
#endif
