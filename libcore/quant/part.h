/* quant/part.h - (private) output files until they are complete.  They are written under temporary
 * names; a file beside them records the progress, so that a run that was stopped can continue. */
#ifndef QUANT_PART_H
#define QUANT_PART_H
#include "quant/plan.h"

struct part {
	const infer_quant *q;
	const char *path;  /* borrowed */
	struct buf resume; /* the name of the file that says how far it is */
	int resume_fd, *fds;
	/* the progress: all tensors before this one, and its first elements */
	uint64_t tensor, elements;
	int marks;          /* of this run and earlier ones */
	const char *suffix; /* of what gets the name at the end */
};

/* Open the files that an earlier run with this fingerprint has left, or create them.  A file under a
 * temporary name that is a link, or that has other names too, is not opened: the name is removed.
 * INFER_EINVAL  path is the input
 * INFER_EIO     also where another process writes it, or the disk has no room */
int part_open(struct part *p, const infer_quant *q, const char *path, const char fingerprint[65],
              infer_error *err);
/* Elements [from, to) of a tensor are in the file: the system begins to bring them to the disk, so
 * that the next mark waits for little. */
void part_want(const struct part *p, const struct quant_tensor *t, uint64_t from, uint64_t to);
/* Everything before this position is written: sync it, and record the position. */
int part_mark(struct part *p, uint64_t tensor, uint64_t elements, infer_error *err);
/* To the disk. */
int part_sync(struct part *p, infer_error *err);
/* Everything is written and synced: rename the files to their final names.  Files that are replaced
 * keep their owner and permissions. */
int part_end(struct part *p, infer_error *err);
/* keep 0: remove unfinished files */
void part_close(struct part *p, int keep);

/* Create the temporary file with this suffix for file `no`, with the permissions of the file that it
 * will replace; *name is its name.  INFER_EIO INFER_ENOMEM */
int part_create(int *fd, struct buf *name, const struct part *p, int no, const char *suffix,
                infer_error *err);
/* Read or write n bytes at an offset.  0 or an errno; EIO if the file ends before. */
int part_io(int is_read, int fd, void *at, size_t n, uint64_t offset);
/* The name of file `no` of `count`, with a suffix, into *out, which is cleared.  If the name without
 * suffix is a link, it is what the link leads to. */
int part_path(struct buf *out, const char *path, int no, int count, const char *suffix,
              infer_error *err);
#define PART_SUFFIX ".part"
#define PART_PACKED ".part.zst"
#define PART_RESUME ".resume"
#endif
