/* runner/delta.h - the new part of a sample, reported piece by piece. */
#ifndef RUNNER_DELTA_H
#define RUNNER_DELTA_H
#include <infer/api.h>

/* How much was reported; all zero: nothing. */
struct delta_given {
	int begin, end;
	size_t text, reasoning, calls, args, tokens;
	size_t chars; /* of the tokens told */
	int64_t read;
};

/* Returns 1 and the next new piece of c in *d, or 0 if nothing is new.  The caller sets d->index.
 * ended: c is complete.  *d borrows from c. */
int delta_next(struct delta_given *g, const infer_job *j, const struct infer_choice *c, int ended,
               const infer_tokenizer *t, struct infer_delta *d);
#endif
