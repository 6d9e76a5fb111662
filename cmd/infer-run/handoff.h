/* infer-run/handoff.h - --server: the request goes to an infer-serve. */
#ifndef INFER_RUN_HANDOFF_H
#define INFER_RUN_HANDOFF_H
#include "run.h"

/* Send the request to the server of --server and print its answer. Prints its own errors and returns the exit code. */
int handoff(const struct run_opts *o, const struct opt_rest *rest);

struct handoff {
	const struct run_opts *o;
	const struct opt_rest *rest;
	struct constrain constrain;
	struct buf words; /* of the user */
	struct buf body;  /* of the request */
	struct arena mem;
	const struct json *messages, *tools, *args;
	uint64_t seed;
	/* of the answer */
	struct buf text, whole, calls; /* whole: --no-stream; calls: lines behind the text */
	int text_written, aside, ended, length;
};
/* handoff_ask.c: options and files into *h, whose members are initialised; the body of a request.
 * Errors are those of the options. */
int handoff_read(struct handoff *h, infer_error *err);
int handoff_body(struct handoff *h, int64_t number, infer_error *err);
#endif
