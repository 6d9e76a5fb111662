/* job/delta.h - what is new of a sample, told piece by piece. */
#ifndef JOB_DELTA_H
#define JOB_DELTA_H
#include <infer/form.h>

/* What was told; all zero: nothing. */
struct delta_given {
	int begin, end;
	size_t text, reasoning, calls, args, tokens;
	size_t chars; /* of the tokens told */
};

/* 1: *d, whose index is set, is the next piece of c, as far as that has come; 0: nothing is new.
 * ended: nothing more comes.  *d borrows from c. */
int delta_next(struct delta_given *g, const infer_job *j, const struct infer_choice *c, int ended,
               const infer_tokenizer *t, struct infer_delta *d);
#endif
