/* infer-run/earlier.h - requests of a batch that earlier runs have answered.
 *
 * The records of --resume are compared with the requests of this run. A request is identified by its id
 * and the digest of its line. Confined to one thread. */
#ifndef INFER_RUN_EARLIER_H
#define INFER_RUN_EARLIER_H
#include <infer/record.h>
#include "lines.h"
#include "run.h"
#include "base/seen.h"

struct earlier {
	const struct run_opts *o;
	/* Set by the caller: model file and digest of the options of this run. */
	const infer_file *file;
	char options[65];
	struct seen done, done_lines; /* recorded requests; lines of error records without id */
	struct seen asked, wanted;    /* requests of this run: their ids; their ids with digests */
	int whole;                    /* asked and wanted are complete: the input was read twice */
	struct buf name;              /* scratch for the key of a request */
	uint64_t n_asked;             /* requests in the input; 0: unknown, it is a pipe */
	uint64_t records, failed;     /* kept records; kept records of errors */
	uint64_t there;               /* kept records that answer requests of the input */
};

void earlier_init(struct earlier *e, const struct run_opts *o);
void earlier_fini(struct earlier *e);
/* Read all requests of the input if it is a file, then rewind it.
 * INFER_EFORMAT  an id occurs twice; INFER_EIO INFER_ENOMEM */
int earlier_scan(struct earlier *e, struct lines *in, const infer_job_reader *reader,
                 infer_error *err);
/* Add a record of an earlier run, and decide if its request is run again. user: a struct earlier * */
infer_done_fn earlier_add;
/* Free what is needed only while records are added. */
void earlier_end(struct earlier *e);
/* Return 1 if a kept record answers the request, 0 if none does, -1 if out of memory. A record without a
 * digest answers every request with its id. */
int earlier_has(struct earlier *e, const infer_job *j);
#endif
