/* infer-bench/forecast.h - what infer-inspect plan predicts, and the options that measure it. */
#ifndef INFER_BENCH_FORECAST_H
#define INFER_BENCH_FORECAST_H
#include "bench.h"
#include "base/arena.h"

/* The predicted time of a step, and the part of it that depends on the rate of memory. */
struct forecast_step {
	double ms, memory_ms;
};
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
	/* the rates that the predictions were made from; 0: the plan does not say */
	double memory_gb_s, i8_gop_s;
	struct forecast_step prefill, decode;
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
/* The time of a step at these rates over the time that was predicted; memory_gb_s 0: the plan's rate.
 * 0: the plan does not say what it was made from. */
double forecast_longer(const struct forecast *f, const struct forecast_step *s, double memory_gb_s,
                       double i8_gop_s);
void forecast_serve(struct bench_opts *out, const struct forecast *f, const struct bench_opts *o);
#endif
