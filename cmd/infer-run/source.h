/* infer-run/source.h - the lines that a batch reads: of its file, or of the files of --lines. */
#ifndef INFER_RUN_SOURCE_H
#define INFER_RUN_SOURCE_H
#include "lines.h"
#include "run.h"

struct source {
	struct lines in; /* of the file that is being read */
	struct source_file {
		const char *name; /* borrowed */
		int fd;
	} * files;
	int n, at;
	int text; /* a line is a prompt, not a request */
};

/* Open every file; on failure too *s is the caller's to source_close.
 * INFER_EIO     one is not there
 * INFER_EINVAL  there is nothing to read
 * INFER_ENOMEM */
int source_open(struct source *s, const struct run_opts *o, const struct opt_rest *rest,
                infer_error *err);
void source_close(struct source *s);
/* As lines_next, through all files. */
int source_next(struct source *s, int wait_ms, enum lines_got *got, const char **at, size_t *n,
                infer_error *err);
#endif
