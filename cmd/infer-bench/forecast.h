/* infer-bench/forecast.h - what infer-inspect plan predicts, and the options that measure it. */
#ifndef INFER_BENCH_FORECAST_H
#define INFER_BENCH_FORECAST_H
#include "bench.h"
#include "base/arena.h"

struct forecast {
	struct arena mem;
	const char *model;
	char kv_type[64], prompt_text[16], output_text[16]; /* as options have them */
	int32_t users, prompt, output;
	double gpu_part;
	double prefill_tok_s; /* of a prompt alone; 0: the plan does not predict it */
	double decode_tok_s;  /* of all users in a step; likewise */
	double all_tok_s;     /* of all users, whose prompts are read in between; likewise */
	/* the most of the same kind; 0: the plan does not say */
	double limit_prefill_tok_s, limit_all_tok_s;
};
/* Read the record of kind plan in a file of JSON lines; path "-": standard input.  *f is the
 * caller's on failure too.
 * INFER_EFORMAT  no such record, or one without what a run needs
 * INFER_EIO, INFER_ENOMEM */
int forecast_read(struct forecast *f, const char *path, infer_error *err);
void forecast_fini(struct forecast *f);
/* The options of o, and for those that are not given the plan's: of run, and of serve.  Borrows from
 * both.  INFER_EUNSUP: a plan for accelerators, of which the engine has none to measure. */
int forecast_run(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o,
                 infer_error *err);
void forecast_serve(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o);
#endif
