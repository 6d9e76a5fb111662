/* infer-run/source.h - the input of a batch: the lines of --batch, or of the files of --lines. */
#ifndef INFER_RUN_SOURCE_H
#define INFER_RUN_SOURCE_H
#include "lines.h"
#include "run.h"

struct source {
	struct lines in; /* the file that is being read */
	struct source_file {
		const char *name; /* borrowed */
		int fd;
	} * files;
	int n, at; /* number of files; index of the file of `in` */
	int text;  /* 1: a line is a prompt; 0: a request in JSON */
};

/* Open all files. The caller calls source_close, on failure too.
 * INFER_EIO     a file is missing or cannot be opened
 * INFER_EINVAL  there is no input; INFER_ENOMEM */
int source_open(struct source *s, const struct run_opts *o, const struct opt_rest *rest,
                infer_error *err);
void source_close(struct source *s);
/* Read the next line, like lines_next; continues with the next file. */
int source_next(struct source *s, int wait_ms, enum lines_got *got, const char **at, size_t *n,
                infer_error *err);
#endif
