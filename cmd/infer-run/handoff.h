/* infer-run/handoff.h - --server: let an infer-serve answer the request. */
#ifndef INFER_RUN_HANDOFF_H
#define INFER_RUN_HANDOFF_H
#include "run.h"

/* Send the request to the server and print its answer. Prints its own errors and returns the exit code. */
int handoff(const struct run_opts *o, const struct opt_rest *rest);

struct handoff {
	const struct run_opts *o;
	const struct opt_rest *rest;
	struct constrain constrain;
	struct buf words; /* the user's turn, or the prompt */
	struct buf body;  /* body of the request, JSON */
	struct arena mem; /* memory of messages, tools and args */
	const struct json *messages, *tools, *args;
	uint64_t seed;
	/* The answer. */
	struct buf text;  /* scratch: text to write next */
	struct buf whole; /* --no-stream: output so far */
	struct buf calls; /* tool calls, printed after the text */
	int text_written; /* text has been printed */
	int aside;        /* 1: the text printed last is reasoning */
	int ended;        /* the server has sent a finish reason */
	int length;       /* the finish reason is "length" */
};
/* ---- handoff_ask.c ---- */

/* Read the options, files and standard input into *h, whose buffers are initialised.
 * INFER_EINVAL  a malformed option, or the prompt is not UTF-8; INFER_EFORMAT INFER_EEMPTY INFER_EIO
 * INFER_ENOMEM */
int handoff_read(struct handoff *h, infer_error *err);
/* Write the body of request `number`, from 1, to h->body. INFER_EINVAL INFER_ENOMEM */
int handoff_body(struct handoff *h, int64_t number, infer_error *err);
#endif
