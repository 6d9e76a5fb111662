/* quant/part.h - (private) the files while they are written: under names of their own, with a file
 * beside them that says how far they are, so that a run that was stopped can be continued. */
#ifndef QUANT_PART_H
#define QUANT_PART_H
#include "quant/plan.h"

struct part {
	const infer_quant *q;
	const char *path;  /* borrowed */
	struct buf resume; /* the name of the file that says how far it is */
	int resume_fd, *fds;
	/* what is done of it: all tensors before this one, and its first elements */
	uint64_t tensor, elements;
	int marks;          /* of this run and earlier ones */
	const char *suffix; /* of what gets the name at the end */
};

/* Open what an earlier run with this fingerprint has left, or begin.
 * INFER_EINVAL  path is the input
 * INFER_EIO     also where another process writes it, or the disk has no room */
int part_open(struct part *p, const infer_quant *q, const char *path, const char fingerprint[65],
              infer_error *err);
/* All before this is written: it goes to the disk, and counts. */
int part_mark(struct part *p, uint64_t tensor, uint64_t elements, infer_error *err);
/* To the disk. */
int part_sync(struct part *p, infer_error *err);
/* All is written and on the disk: it gets its names. */
int part_end(struct part *p, infer_error *err);
/* keep 0: what is unfinished is removed */
void part_close(struct part *p, int keep);

/* The name of file `no` of `count`, with a suffix, into *out, which is cleared. */
int part_path(struct buf *out, const char *path, int no, int count, const char *suffix,
              infer_error *err);
#define PART_SUFFIX ".part"
#define PART_PACKED ".part.zst"
#define PART_RESUME ".resume"
#endif
