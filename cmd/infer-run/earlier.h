/* infer-run/earlier.h - what earlier runs of a batch have answered: the records of --resume, compared
 * with the requests of this run.  Confined. */
#ifndef INFER_RUN_EARLIER_H
#define INFER_RUN_EARLIER_H
#include <infer/record.h>
#include "lines.h"
#include "run.h"
#include "base/seen.h"

struct earlier {
	const struct run_opts *o;
	/* of this run; the caller's to fill */
	const infer_file *file;
	char options[65];
	struct seen done, done_lines; /* names of records; the lines of errors without an id */
	struct seen asked, wanted;    /* ids of the requests, and their names */
	int whole;                    /* these two are of all requests */
	struct buf name;
	uint64_t n_asked;         /* requests of the file; 0: it is a pipe */
	uint64_t records, failed; /* that stay; those of them that are errors */
	uint64_t there;           /* those that answer requests of the file */
};

void earlier_init(struct earlier *e, const struct run_opts *o);
void earlier_fini(struct earlier *e);
/* Look at the ids of all lines, if they are of a file that can be read again; the next line is the
 * first one again.
 * INFER_EFORMAT  an id is there twice */
int earlier_look(struct earlier *e, struct lines *in, const infer_job_reader *reader,
                 infer_error *err);
/* A record of earlier: it stays, or is to be run again.  user: e. */
infer_done_fn earlier_found;
/* When there are no more records: what only they are compared with goes. */
void earlier_end(struct earlier *e);
/* 1: the request has its answer; 0; -1: no memory.  A record that does not say which line it answers
 * answers every line of its id. */
int earlier_has(struct earlier *e, const infer_job *j);
#endif
