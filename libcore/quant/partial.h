/* quant/partial.h - (private) output files until they are complete.  They are written under temporary
 * names; a file beside them records the progress, so that a run that was stopped can continue. */
#ifndef QUANT_PARTIAL_H
#define QUANT_PARTIAL_H
#include "quant/plan.h"

struct partial {
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
int partial_open(struct partial *p, const infer_quant *q, const char *path,
                 const char fingerprint[65], infer_error *err);
/* Elements [from, to) of a tensor are in the file: the system begins to bring them to the disk, so
 * that the next mark waits for little. */
void partial_want(const struct partial *p, const struct quant_tensor *t, uint64_t from,
                  uint64_t to);
/* Everything before this position is written: sync it, and record the position. */
int partial_mark(struct partial *p, uint64_t tensor, uint64_t elements, infer_error *err);
/* To the disk. */
int partial_sync(struct partial *p, infer_error *err);
/* Everything is written and synced: rename the files to their final names.  Files that are replaced
 * keep their owner and permissions. */
int partial_end(struct partial *p, infer_error *err);
/* keep 0: remove unfinished files */
void partial_close(struct partial *p, int keep);

/* Create the temporary file with this suffix for file `no`, with the permissions of the file that it
 * will replace; *name is its name.  INFER_EIO INFER_ENOMEM */
int partial_create(int *fd, struct buf *name, const struct partial *p, int no, const char *suffix,
                   infer_error *err);
/* Read or write n bytes at an offset.  0 or an errno; EIO if the file ends before. */
int partial_io(int is_read, int fd, void *at, size_t n, uint64_t offset);
/* The name of file `no` of `count`, with a suffix, into *out, which is cleared.  If the name without
 * suffix is a link, it is what the link leads to. */
int partial_path(struct buf *out, const char *path, int no, int count, const char *suffix,
                 infer_error *err);
#define PARTIAL_SUFFIX ".part"
#define PARTIAL_PACKED ".part.zst"
#define PARTIAL_RESUME ".resume"
#endif
