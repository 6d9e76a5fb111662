/* runner/delta.h - the parts of a sample that were not reported yet. */
#ifndef RUNNER_DELTA_H
#define RUNNER_DELTA_H
#include <infer/api.h>

/* The part of a sample that was reported; all zero: nothing. */
struct delta_given {
	int begin, end;         /* BEGIN, END were reported */
	size_t text, reasoning; /* bytes reported */
	size_t calls, args;     /* calls; bytes of the last call's arguments */
	size_t tokens, chars;   /* tokens, and their characters */
	int64_t read;           /* progress of the prefill: n_read of the choice */
};

/* Set *d to the next piece of c that was not reported.  Returns 0 if there is none.  The caller
 * sets d->index.  ended: c is complete.  *d borrows from c. */
int delta_next(struct delta_given *g, const infer_job *j, const struct infer_choice *c, int ended,
               const infer_tokenizer *t, struct infer_delta *d);
#endif
